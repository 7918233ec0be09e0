/* `tinkc models` and `tinkc model list`. */
#include "cli/clifix.h"

#define MODELS                                                                           \
    "{\"supported_models\":[{\"model_name\":\"Qwen/Big\",\"max_context_length\":32768,"  \
    "\"trainable\":true,\"sampleable\":false},{\"model_name\":\"tinkc/small\"}]}"

#define NONE "\"parameters\": null, \"precision\": null, \"source\": null}\n"

/* All models, those with a part of the name in any case, both flags; as the official
 * program shows them. */
static void test_cli_model_list(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "get_server_capabilities",
                    &fakeapi_json(MODELS));
    clifix_expect(&f, "model list",
                  "Model        Max Context  Trainable  Sampleable\n"
                  "───────────  ───────────  ─────────  ──────────\n"
                  "Qwen/Big     32768        Yes        No\n"
                  "tinkc/small  N/A          N/A        N/A\n");
    clifix_expect(&f, "model list qwen -f jsonl",
                  "{\"model_name\": \"Qwen/Big\", \"max_context_length\": 32768, "
                  "\"trainable\": true, \"sampleable\": false}\n");
    clifix_expect(&f, "model list C/SMALL -f json",
                  "{\n  \"models\": [\n    {\n      \"model_name\": \"tinkc/small\",\n"
                  "      \"max_context_length\": null,\n      \"trainable\": null,\n"
                  "      \"sampleable\": null\n    }\n  ]\n}\n");
    clifix_refused(&f, "model list llama", 1, "No model name contains 'llama'");
    clifix_refused(&f, "model list llama -f json", 1, "No model name contains 'llama'");
    clifix_refused(&f, "model list a b", 2, "b");
    fakeapi_default(f.api, "GET", CLI_API "get_server_capabilities",
                    &fakeapi_detail(404, "Not Found"));
    clifix_refused(&f, "model list", 1, "Not Found");
    clifix_end(&f);
}

static void test_cli_models(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "get_server_capabilities",
                    &fakeapi_json(MODELS));
    clifix_expect(&f, "models",
                  "2 models\n"
                  "Model        Context  Parameters  Precision  Source\n"
                  "───────────  ───────  ──────────  ─────────  ──────\n"
                  "Qwen/Big     32768    -           -          -\n"
                  "tinkc/small  N/A      -           -          -\n");
    clifix_expect(
        &f, "models -f jsonl",
        "{\"model_name\": \"Qwen/Big\", \"max_context_length\": 32768, " NONE
        "{\"model_name\": \"tinkc/small\", \"max_context_length\": null, " NONE);
    /* a server that says more, and one that answers nonsense */
    fakeapi_default(f.api, "GET", "/tinkc/v1/models",
                    &fakeapi_json("{\"models\":[{\"model_name\":\"tinkc/small\","
                                  "\"parameters\":1700000,\"precision\":\"BF16\","
                                  "\"source\":\"embedded\"},7]}"));
    clifix_expect(&f, "models",
                  "2 models\n"
                  "Model        Context  Parameters  Precision  Source\n"
                  "───────────  ───────  ──────────  ─────────  ────────\n"
                  "Qwen/Big     32768    -           -          -\n"
                  "tinkc/small  N/A      1.7M        BF16       embedded\n");
    static const char *const nonsense[] = {
        "[]",
        "{\"models\":7}",
        "{\"models\":[1,2]}",
        "{\"models\":{\"a\":{}}}",
        "<html>",
        ("{\"models\":[{\"model_name\":\"tinkc/small\","
         "\"parameters\":-7,\"precision\":1}]}")};
    for (size_t i = 0; i < TK_ARRAY_LEN(nonsense); i++) {
        fakeapi_default(f.api, "GET", "/tinkc/v1/models", &fakeapi_json(nonsense[i]));
        clifix_expect(
            &f, "models -f jsonl",
            "{\"model_name\": \"Qwen/Big\", \"max_context_length\": 32768, " NONE
            "{\"model_name\": \"tinkc/small\", \"max_context_length\": null, " NONE);
    }
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_model_list),
        cmocka_unit_test(test_cli_models),
    };
    return cmocka_run_group_tests_name("cmd_models", tests, NULL, NULL);
}
