/* `tinkc checkpoint list`, `info`, `publish`, `unpublish` and `set-ttl`: their output,
 * byte for byte, in the three formats, and their requests. */
#include "cli/clifix.h"

/* M-151, C-017, C-043, C-045, C-046: checkpoints of all runs, and of one. */
static void test_cli_checkpoint_list(void **unused)
{
    static const char rows[] =
        "Checkpoint ID        Type      Size    Public  Created     Expires     Path\n"
        "───────────────────  ────────  ──────  ──────  ──────────  ──────────  "
        "──────────────────────────────────────\n"
        "weights/0001         training  1.5 KB  Yes     2024-07-13  2124-08-01  " CLI_ONE
        "\n"
        "sampler_weights/two  sampler   N/A     No      2024-07-14  Never       " CLI_TWO
        "\n";
    clifix f;
    char out[1024];
    clifix_begin(&f);
    (void)snprintf(out, sizeof(out), "2 checkpoints\n%s", rows);
    clifix_expect(&f, "checkpoint list", out);
    assert_string_equal(clifix_last(&f)->query, "limit=20&offset=0");
    (void)snprintf(out, sizeof(out), "2 checkpoints for run S:train:0\n%s", rows);
    clifix_expect(&f, "checkpoint list --run-id S:train:0", out);
    fakeapi_default(f.api, "GET", CLI_API "checkpoints",
                    &fakeapi_json("{\"checkpoints\":[]}"));
    clifix_expect(&f, "checkpoint list", "No checkpoints found\n");
    clifix_expect(&f, "checkpoint list -f json", "{\n  \"checkpoints\": []\n}\n");
    clifix_expect(&f, "checkpoint list -f jsonl", "");
    clifix_end(&f);
}

#define SKYRL_RUN(id)                                                                    \
    "{\"training_run_id\":\"" id "\",\"base_model\":\"m\",\"model_owner\":\"default\","  \
    "\"is_lora\":true,\"corrupted\":false,\"lora_rank\":8,\"last_request_time\":"        \
    "\"2024-07-15T08:00:00.5\",\"last_checkpoint\":null}"
#define SKYRL_CHECKPOINT(run, name, day)                                                 \
    "{\"checkpoint_id\":\"" name "\",\"checkpoint_type\":\"training\",\"time\":"         \
    "\"2024-07-" day "T08:00:00Z\",\"tinker_path\":\"tinker://" run "/weights/" name     \
    "\"}"

/* A server without a list of all checkpoints or of sessions (SkyRL): the checkpoints of
 * the runs are shown instead, the newest first; what it cannot list, it does not offer. */
static void test_cli_checkpoint_list_walks(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "checkpoints",
                    &fakeapi_detail(404, "Not Found"));
    fakeapi_default(f.api, "GET", CLI_API "sessions", &fakeapi_detail(404, "Not Found"));
    fakeapi_default(
        f.api, "GET", CLI_RUNS,
        &fakeapi_json("{\"training_runs\":[" SKYRL_RUN("a") "," SKYRL_RUN(
            "b") "],"
                 "\"cursor\":{\"offset\":0,\"limit\":20,\"total_count\":2}}"));
    fakeapi_default(f.api, "GET", CLI_RUNS "/a/checkpoints",
                    &fakeapi_json("{\"checkpoints\":[" SKYRL_CHECKPOINT(
                        "a", "one", "13") "," SKYRL_CHECKPOINT("a", "three", "15") "]}"));
    fakeapi_default(
        f.api, "GET", CLI_RUNS "/b/checkpoints",
        &fakeapi_json("{\"checkpoints\":[" SKYRL_CHECKPOINT("b", "two", "14") "]}"));
    clifix_expect(&f, "checkpoint list",
                  "3 checkpoints\n"
                  "Checkpoint ID  Type      Size  Public  Created     Expires  Path\n"
                  "─────────────  ────────  ────  ──────  ──────────  ───────  "
                  "────────────────────────\n"
                  "three          training  N/A   No      2024-07-15  Never    "
                  "tinker://a/weights/three\n"
                  "two            training  N/A   No      2024-07-14  Never    "
                  "tinker://b/weights/two\n"
                  "one            training  N/A   No      2024-07-13  Never    "
                  "tinker://a/weights/one\n");
    proc *p = clifix_run(&f, "checkpoint list --limit 1 --offset 1");
    assert_non_null(strstr(proc_out(p), "1 checkpoint (1 more not shown, use --limit"));
    assert_non_null(strstr(proc_out(p), "tinker://b/weights/two"));
    proc_free(&p);
    clifix_refused(&f, "session list", 1,
                   "Error: the server does not offer GET /api/v1/sessions (HTTP 404: Not "
                   "Found)\n");
    assert_true(fakeapi_count(f.api, "GET", CLI_API "sessions") == 1);
    fakeapi_default(f.api, "DELETE", "*", &fakeapi_detail(404, "Not Found"));
    p = clifix_run(&f, "checkpoint delete -y tinker://a/weights/one");
    assert_non_null(strstr(proc_out(p),
                           "HTTP 404: Not Found (no such id, or the server "
                           "does not offer DELETE /api/v1/training_runs/{})"));
    proc_free(&p);
    fakeapi_default(f.api, "DELETE", "*", &fakeapi_detail(405, "Method Not Allowed"));
    p = clifix_run(&f, "checkpoint delete -y tinker://a/one");
    assert_non_null(strstr(proc_out(p), "the server does not offer DELETE "
                                        "/api/v1/training_runs/{} (HTTP 405: "));
    proc_free(&p);
    assert_true(fakeapi_count(f.api, "DELETE", CLI_RUNS "/a/checkpoints/one") == 1);
    clifix_end(&f);
}

/* C-047: the run's id is in the document, not in the lines. */
static void test_cli_checkpoint_list_json(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_expect(&f, "checkpoint list --run-id S:train:0 -f jsonl",
                  CLI_CHECKPOINT_ONE_LINE
                  "\n{\"checkpoint_id\": \"sampler_weights/two\", "
                  "\"checkpoint_type\": \"sampler\", "
                  "\"time\": \"2024-07-14T08:00:00.250000Z\", "
                  "\"tinker_path\": \"" CLI_TWO "\", \"size_bytes\": null, "
                  "\"public\": false, \"expires_at\": null}\n");
    proc *p = clifix_run(&f, "checkpoint list --run-id S:train:0 -f json");
    assert_ptr_equal(
        strstr(proc_out(p), "{\n  \"run_id\": \"S:train:0\",\n  \"checkpoints\": [\n"),
        proc_out(p));
    proc_free(&p);
    clifix_end(&f);
}

static void reply_pages(fakeapi *api, size_t total, size_t page)
{
    for (size_t from = 0; from < total; from += page) {
        fakeapi_bytes body = {0};
        fakeapi_bytes_puts(&body, "{\"checkpoints\":[");
        for (size_t i = from; i < from + page && i < total; i++) {
            fakeapi_bytes_printf(
                &body,
                "%s{\"checkpoint_id\":\"weights/%zu\",\"checkpoint_type\":\"training\","
                "\"time\":\"2024-07-13T08:00:00Z\",\"tinker_path\":"
                "\"tinker://r/weights/%zu\"}",
                i > from ? "," : "", i, i);
        }
        fakeapi_bytes_printf(&body,
                             "],\"cursor\":{\"offset\":%zu,\"limit\":%zu,"
                             "\"total_count\":%zu}}",
                             from, page, total);
        fakeapi_reply(api, "GET", CLI_API "checkpoints",
                      &(fakeapi_step){.body = fakeapi_bytes_cstr(&body)});
        fakeapi_bytes_dispose(&body);
    }
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

/* C-044: --limit 0 fetches everything, page by page: 2,350 checkpoints are
 * three requests, a hundred of them one. */
static void test_cli_limit_zero(void **unused)
{
    clifix f;
    clifix_begin(&f);
    reply_pages(f.api, 2350, 1000);
    proc *p = clifix_run(&f, "checkpoint list --limit 0 -f jsonl");
    assert_int_equal(p->status, 0);
    assert_int_equal(count_lines(proc_out(p)), 2350);
    assert_int_equal(fakeapi_count(f.api, "GET", CLI_API "checkpoints"), 3);
    assert_int_equal(fakeapi_steps_left(f.api), 0);
    proc_free(&p);
    fakeapi_forget(f.api);
    reply_pages(f.api, 100, 100);
    p = clifix_run(&f, "checkpoint list --limit 100");
    assert_int_equal(count_lines(proc_out(p)), 103);
    assert_int_equal(fakeapi_count(f.api, "GET", CLI_API "checkpoints"), 1);
    proc_free(&p);
    clifix_end(&f);
}

/* C-048, C-033, C-034: one checkpoint with what its run adds. */
static void test_cli_checkpoint_info(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_expect(&f, "checkpoint info " CLI_ONE,
                  "Checkpoint: weights/0001\n"
                  "Property         Value\n"
                  "───────────────  ───────────────────────────────\n"
                  "Checkpoint ID    weights/0001\n"
                  "Type             training\n"
                  "Tinker Path      " CLI_ONE "\n"
                  "Size             1.5 KB\n"
                  "Public           Yes\n"
                  "Created          2024-07-13\n"
                  "Expires          2124-08-01\n"
                  "Training Run ID  S:train:0\n"
                  "LoRA             Yes (Rank 8)\n");
    clifix_expect(&f, "checkpoint info -f jsonl " CLI_ONE,
                  "{\"checkpoint_id\": \"weights/0001\", \"checkpoint_type\": "
                  "\"training\", \"time\": \"2024-07-13T08:00:00Z\", \"tinker_path\": "
                  "\"" CLI_ONE "\", \"size_bytes\": 1536, \"public\": true, "
                  "\"expires_at\": \"2124-08-01T00:00:00Z\", \"is_lora\": true, "
                  "\"lora_rank\": 8}\n");
    /* a server may name weights for sampling by run and name only, as SkyRL does */
    proc *p = clifix_run(&f, "checkpoint info tinker://" CLI_RUN "/two");
    assert_int_equal(p->status, 0);
    assert_non_null(strstr(proc_out(p), "Tinker Path      " CLI_TWO "\n"));
    proc_free(&p);
    clifix_refused(&f, "checkpoint info tinker://" CLI_RUN "/0001", 1,
                   "Error: Checkpoint not found: ");
    clifix_refused(&f, "checkpoint info tinker://S:train:0/weights/none", 1,
                   "Error: Checkpoint not found: tinker://S:train:0/weights/none\n");
    static const char *const bad[] = {"/x",
                                      "x/",
                                      "http://x",
                                      "tinker:x",
                                      "tinker://r",
                                      "tinker://r/other/x",
                                      "tinker://r/weights/",
                                      "tinker:///weights/x",
                                      "tinker://r/weights/x/y"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        char line[128];
        (void)snprintf(line, sizeof(line), "checkpoint info %s", bad[i]);
        clifix_refused(&f, line, 2, "Error: Invalid checkpoint path: ");
    }
    clifix_end(&f);
}

/* C-049, C-050: silent in both formats when they succeed; exactly one of --ttl and
 * --remove. */
static void test_cli_checkpoint_changes(void **unused)
{
    static const char path[] = CLI_RUNS "/" CLI_RUN "/checkpoints/weights/0001";
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "*", CLI_RUNS "/" CLI_RUN "/checkpoints/weights/0001/*",
                    &fakeapi_json("{}"));
    clifix_expect(&f, "checkpoint publish " CLI_ONE, "");
    assert_string_equal(clifix_last(&f)->method, "POST");
    clifix_expect(&f, "checkpoint unpublish -f json " CLI_ONE, "");
    assert_string_equal(clifix_last(&f)->method, "DELETE");
    assert_int_equal(strncmp(clifix_last(&f)->path, path, strlen(path)), 0);
    clifix_expect(&f, "checkpoint set-ttl " CLI_ONE " --ttl 3600", "");
    assert_string_equal(clifix_last(&f)->body, "{\"ttl_seconds\":3600}");
    clifix_expect(&f, "checkpoint set-ttl " CLI_ONE " --remove", "");
    assert_string_equal(clifix_last(&f)->body, "{\"ttl_seconds\":null}");
    clifix_refused(&f, "checkpoint set-ttl " CLI_ONE, 2, "Must specify either --ttl");
    clifix_refused(&f, "checkpoint set-ttl --ttl 1 --remove " CLI_ONE, 2,
                   "both --ttl and");
    clifix_refused(&f, "checkpoint set-ttl --ttl 0 " CLI_ONE, 2,
                   "must be 1 second or more");
    clifix_refused(&f, "checkpoint set-ttl --ttl x " CLI_ONE, 2, "not a valid integer");
    clifix_refused(&f, "checkpoint publish no-name", 1, "Checkpoint not found");
    clifix_refused(&f, "checkpoint unpublish tinker:x", 2, "Invalid checkpoint path");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_checkpoint_list),
        cmocka_unit_test(test_cli_checkpoint_list_walks),
        cmocka_unit_test(test_cli_checkpoint_list_json),
        cmocka_unit_test(test_cli_limit_zero),
        cmocka_unit_test(test_cli_checkpoint_info),
        cmocka_unit_test(test_cli_checkpoint_changes),
    };
    return cmocka_run_group_tests_name("cmd_checkpoint", tests, NULL, NULL);
}
