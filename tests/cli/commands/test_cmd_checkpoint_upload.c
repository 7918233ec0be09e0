/* `tinkc checkpoint upload` and `copy`: the path of the new checkpoint, or a clear
 * error. What is sent with an upload is in test_upload. */
#include <stdlib.h>

#include "cli/clifix.h"

#define START  CLI_API "external_weights_upload_start"
#define FINISH CLI_API "external_weights_upload_finish"
#define COPY   CLI_API "copy_weights"
#define MADE   "tinker://u:train:0/external_weights/uploaded"
#define HEADER "{\"x.self_attn.q_proj.lora_A.weight\":{}}"

static void put_file(const char *dir, const char *name, const char *p, size_t n)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(p, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void test_cli_checkpoint_upload(void **unused)
{
    clifix f;
    char dir[] = "/tmp/tinkc-adapter.XXXXXX", line[256], text[512];
    clifix_begin(&f);
    assert_non_null(mkdtemp(dir));
    (void)snprintf(text, sizeof(text),
                   "{\"upload_id\":\"u\",\"urls\":{\"adapter_config.json\":\"%s/put/c\","
                   "\"adapter_model.safetensors\":\"%s/put/m\"},"
                   "\"expires\":\"2124-01-01T00:00:00Z\"}",
                   fakeapi_url(f.api), fakeapi_url(f.api));
    fakeapi_default(f.api, "POST", START, &fakeapi_json(text));
    fakeapi_default(f.api, "PUT", "/put/*", &fakeapi_json(""));
    fakeapi_default(f.api, "POST", FINISH,
                    &fakeapi_json("{\"tinker_path\":\"" MADE "\"}"));
    (void)snprintf(line, sizeof(line), "checkpoint upload %s", dir);
    clifix_refused(&f, line, 1, "adapter_config.json");
    put_file(dir, "adapter_config.json", "{\"r\":0}", 7);
    clifix_refused(&f, line, 1, "adapter_config.json: has no rank (r)");
    put_file(dir, "adapter_config.json", "{\"r\":4}", 7);
    clifix_refused(&f, line, 1, "names no base model, and none was given");
    (void)snprintf(line, sizeof(line), "checkpoint upload %s -m m/b", dir);
    clifix_refused(&f, line, 1, "adapter_model.safetensors");
    put_file(dir, "adapter_model.safetensors", "\x27\0\0\0\0\0\0\0" HEADER,
             8 + strlen(HEADER));
    assert_int_equal(strlen(HEADER), 0x27);
    assert_int_equal(fakeapi_count(f.api, "POST", START), 0);
    (void)snprintf(line, sizeof(line), "checkpoint upload %s -m m/b --project-id p", dir);
    clifix_expect(&f, line, MADE "\n");
    const char *body = fakeapi_nth(f.api, "POST", START, 0)->body;
    assert_non_null(strstr(body, "\"base_model\":\"m/b\""));
    assert_non_null(strstr(body, "\"destination_project_id\":\"p\""));
    assert_int_equal(fakeapi_count(f.api, "PUT", "/put/*"), 2);
    (void)snprintf(line, sizeof(line), "checkpoint upload %s -m m/b -f jsonl", dir);
    (void)snprintf(text, sizeof(text),
                   "{\"source\": \"%s\", \"tinker_path\": \"" MADE "\"}\n", dir);
    clifix_expect(&f, line, text);
    /* The server refuses it, or has no uploads. */
    fakeapi_reply(f.api, "POST", FINISH, &fakeapi_detail(400, "rank is 4, not 8"));
    clifix_refused(&f, line, 1, "rank is 4, not 8");
    fakeapi_default(f.api, "POST", START, &fakeapi_detail(404, "Not Found"));
    clifix_refused(&f, line, 1, "Cannot upload");
    clifix_refused(&f, "checkpoint upload", 2, "Missing argument");
    (void)snprintf(line, sizeof(line), "rm -r %s", dir);
    assert_int_equal(system(line), 0);
    clifix_end(&f);
}

static void test_cli_checkpoint_copy(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "POST", COPY,
                    &fakeapi_json("{\"tinker_path\":\"tinker://n/weights/0001\"}"));
    clifix_refused(&f, "checkpoint copy " CLI_ONE, 1, "project");
    clifix_refused(&f, "checkpoint copy nowhere --project-id p", 1, "nowhere");
    clifix_refused(&f, "checkpoint copy " CLI_ONE " --ttl 0", 2,
                   "--ttl must be 1 or more");
    assert_int_equal(fakeapi_count(f.api, "POST", COPY), 0);
    clifix_expect(&f, "checkpoint copy " CLI_ONE " --project-id p",
                  "tinker://n/weights/0001\n");
    assert_string_equal(clifix_last(&f)->body,
                        "{\"destination_project_id\":\"p\",\"source_path\":\"" CLI_ONE
                        "\"}");
    clifix_expect(&f, "checkpoint copy " CLI_TWO " --project-id p --ttl 7200 -f jsonl",
                  "{\"source\": \"" CLI_TWO
                  "\", \"tinker_path\": \"tinker://n/weights/0001\"}\n");
    assert_non_null(strstr(clifix_last(&f)->body, "\"ttl_seconds\":7200"));
    fakeapi_default(f.api, "POST", COPY, &fakeapi_detail(404, "Checkpoint not found"));
    clifix_refused(&f, "checkpoint copy " CLI_ONE " --project-id p", 1,
                   "Checkpoint not found");
    clifix_end(&f);
}

/* The key of another account is sent where it belongs, and not shown. */
static void test_cli_checkpoint_copy_of_others(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "POST", COPY, &fakeapi_detail(403, "no: tml-the-other-key"));
    proc *p = clifix_run(&f, "checkpoint copy " CLI_ONE
                             " --project-id p --token tml-the-other-key -v");
    assert_int_equal(p->status, 1);
    const char *token = fakeapi_header(fakeapi_nth(f.api, "POST", COPY, 0),
                                       "X-Tinker-Weights-Access-Token");
    assert_non_null(token);
    assert_string_equal(token, "tml-the-other-key");
    assert_null(strstr(proc_err(p), "tml-the-other-key"));
    proc_free(&p);
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_checkpoint_upload),
        cmocka_unit_test(test_cli_checkpoint_copy),
        cmocka_unit_test(test_cli_checkpoint_copy_of_others),
    };
    return cmocka_run_group_tests_name("cmd_checkpoint_upload", tests, NULL, NULL);
}
