/* The small commands that ask one thing of the server: whoami, models, audit, health,
 * weights-info and sampler-info, each in the three formats. They are tested together
 * because each is a page of code and a few lines of test. */
#include "cli/clifix.h"

/* {"iss": "passport-x", "sub": "urn:user:1", "email": "a@example.com", "exp": ...} */
#define JWT_CLAIMS                                                                       \
    "eyJpc3MiOiJwYXNzcG9ydC14Iiwic3ViIjoidXJuOnVzZXI6MSIsImVtYWls"                       \
    "IjoiYUBleGFtcGxlLmNvbSIsImV4cCI6NDAwMDAwMDAwMH0"
#define JWT "eyJhbGciOiJub25lIn0." JWT_CLAIMS ".c2ln"

/* M-160, C-088: shows the owner of a token; a plain key has none to show. */
static void test_cli_whoami(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_refused(&f, "whoami", 1, "the credential is a plain key");
    f.env[1] = "TINKER_API_KEY=" JWT;
    clifix_expect(&f, "whoami",
                  "Property  Value\n────────  ─────────────\nUser      urn:user:1\n"
                  "Email     a@example.com\n");
    clifix_expect(&f, "whoami -f jsonl",
                  "{\"user_urn\": \"urn:user:1\", \"email\": \"a@example.com\"}\n");
    clifix_end(&f);
}

/* M-160, C-088: models, health, weights, samplers. */
static void test_cli_single_answers(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "get_server_capabilities",
                    &fakeapi_json("{\"supported_models\":[{\"model_name\":\"m\","
                                  "\"max_context_length\":1024},{}]}"));
    fakeapi_default(f.api, "GET", CLI_API "healthz",
                    &fakeapi_json("{\"status\":\"ok\"}"));
    fakeapi_default(f.api, "POST", CLI_API "weights_info",
                    &fakeapi_json("{\"base_model\":\"m\",\"is_lora\":true,"
                                  "\"lora_rank\":16,\"train_mlp\":false}"));
    fakeapi_default(f.api, "GET", CLI_API "samplers/x",
                    &fakeapi_json("{\"sampler_id\":\"x\",\"base_model\":\"m\"}"));
    clifix_expect(&f, "models",
                  "2 models\nModel  Context  Parameters  Precision  Source\n"
                  "─────  ───────  ──────────  ─────────  ──────\n"
                  "m      1024     -           -          -\n"
                  "N/A    N/A      -           -          -\n");
    clifix_expect(&f, "models -f jsonl",
                  "{\"model_name\": \"m\", \"max_context_length\": 1024, "
                  "\"parameters\": null, \"precision\": null, \"source\": null}\n"
                  "{\"model_name\": null, \"max_context_length\": null, "
                  "\"parameters\": null, \"precision\": null, \"source\": null}\n");
    clifix_expect(&f, "health", "ok\n");
    clifix_expect(&f, "health -f json", "{\n  \"status\": \"ok\"\n}\n");
    clifix_expect(&f, "weights-info " CLI_ONE,
                  "Weights: " CLI_ONE "\nProperty          Value\n"
                  "────────────────  ─────────────\nBase Model        m\n"
                  "LoRA              Yes (Rank 16)\nTrains Unembed    N/A\n"
                  "Trains MLP        No\nTrains Attention  N/A\n");
    clifix_expect(
        &f, "weights-info -f jsonl " CLI_ONE,
        "{\"base_model\": \"m\", \"is_lora\": true, \"lora_rank\": 16, "
        "\"train_unembed\": null, \"train_mlp\": false, \"train_attn\": null}\n");
    clifix_refused(&f, "weights-info tinker:x", 2, "Invalid checkpoint path");
    clifix_expect(&f, "sampler-info x",
                  "Property    Value\n──────────  ─────\nSampler ID  x\nBase Model  m\n"
                  "Model Path  N/A\n");
    clifix_expect(
        &f, "sampler-info x -f jsonl",
        "{\"sampler_id\": \"x\", \"base_model\": \"m\", \"model_path\": null}\n");
    clifix_end(&f);
}

/* M-160, C-088. */
static void test_cli_audit(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "audit",
                    &fakeapi_json("{\"entries\":[{\"timestamp\":\"2026-07-13T08:00:00Z\","
                                  "\"event\":\"save\",\"model_id\":\"x\"}]}"));
    clifix_expect(&f, "audit --day 2026-07-13 --events checkpoints",
                  "1 audit entries\n"
                  "Time                  Event  Model  Path  Purpose\n"
                  "────────────────────  ─────  ─────  ────  ───────\n"
                  "2026-07-13T08:00:00Z  save   x\n");
    assert_non_null(strstr(clifix_last(&f)->query, "2026-07-13"));
    clifix_expect(&f, "audit -f jsonl",
                  "{\"timestamp\": \"2026-07-13T08:00:00Z\", \"event\": \"save\", "
                  "\"model_id\": \"x\", \"tinker_path\": null, \"purpose\": null}\n");
    clifix_refused(&f, "audit --day soon", 1, "soon");
    clifix_refused(&f, "audit today", 2, "Got unexpected extra argument (today).");
    clifix_refused(&f, "audit --day", 2, "Option '--day' requires an argument.");
    clifix_refused(&f, "audit --events some", 2, "is not one of all|checkpoints.");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_whoami),
        cmocka_unit_test(test_cli_single_answers),
        cmocka_unit_test(test_cli_audit),
    };
    return cmocka_run_group_tests_name("cli_account", tests, NULL, NULL);
}
