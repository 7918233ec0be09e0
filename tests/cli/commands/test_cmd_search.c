/* `tinkc session search` and `tinkc checkpoint search`: requests, formats, pages. */
#include "cli/clifix.h"

#define SESSIONS    CLI_API "sessions/search"
#define CHECKPOINTS CLI_API "checkpoints/search"
#define FOUND                                                                            \
    "{\"session_id\":\"a\",\"created_at\":\"2024-07-13T08:00:00Z\",\"owner\":\"me\","    \
    "\"project_id\":\"p\",\"status\":{\"type\":\"active\"},\"checkpoints_count\":2,"     \
    "\"checkpoint_storage_bytes\":7,\"display_name\":\"nightly\","                       \
    "\"user_metadata\":{\"team\":\"red\"}}"
#define NEXT(n)                                                                          \
    "{\"last_created_at\":\"2024-07-13T08:00:00Z\",\"last_session_id\":\"" n "\"}"

/* Each option is sent; table, document and lines. */
static void test_cli_session_search(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "POST", SESSIONS, &fakeapi_json("{\"sessions\":[" FOUND "]}"));
    clifix_expect(&f, "session search",
                  "1 session\nSession ID  Name     Status  Checkpoints  Created\n"
                  "──────────  ───────  ──────  ───────────  ──────────\n"
                  "a           nightly  active  2            2024-07-13\n");
    assert_string_equal(
        clifix_last(&f)->body,
        "{\"user_metadata\":{},\"owner\":{\"type\":\"own\"},\"limit\":20}");
    clifix_expect(&f,
                  "session search nightly --metadata team=red --metadata k=a=b --status "
                  "active --all --limit 7 -f jsonl",
                  "{\"session_id\": \"a\", \"created_at\": \"2024-07-13T08:00:00Z\", "
                  "\"owner\": \"me\", \"project_id\": \"p\", \"status\": \"active\", "
                  "\"checkpoints_count\": 2, \"display_name\": \"nightly\", "
                  "\"user_metadata\": {\"team\": \"red\"}, "
                  "\"checkpoint_storage_bytes\": 7}\n");
    const char *body = clifix_last(&f)->body;
    assert_non_null(strstr(body, "\"limit\":7"));
    assert_non_null(strstr(body, "\"display_name\":\"nightly\""));
    assert_non_null(strstr(body, "\"user_metadata\":{\"team\":\"red\",\"k\":\"a=b\"}"));
    assert_non_null(strstr(body, "\"type\":\"active\""));
    assert_non_null(strstr(body, "\"type\":\"accessible\""));
    proc *p = clifix_run(&f, "session search -f json");
    assert_non_null(strstr(proc_out(p), "{\n  \"sessions\": [\n    {\n      "
                                        "\"session_id\": \"a\",\n"));
    proc_free(&p);
    fakeapi_default(f.api, "POST", SESSIONS, &fakeapi_json("{\"sessions\":[]}"));
    clifix_expect(&f, "session search", "No sessions found\n");
    clifix_expect(&f, "session search -f jsonl", "");
    clifix_end(&f);
}

/* Pages follow each other up to the limit; a cursor that comes again is the end. */
static void test_cli_session_search_pages(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_reply(
        f.api, "POST", SESSIONS,
        &fakeapi_json("{\"sessions\":[" FOUND "],\"next_cursor\":" NEXT("x") "}"));
    fakeapi_reply(f.api, "POST", SESSIONS,
                  &fakeapi_json("{\"sessions\":[],\"next_cursor\":" NEXT("y") "}"));
    fakeapi_default(
        f.api, "POST", SESSIONS,
        &fakeapi_json("{\"sessions\":[" FOUND "],\"next_cursor\":" NEXT("y") "}"));
    proc *p = clifix_run(&f, "session search --limit 0");
    assert_int_equal(p->status, 0);
    assert_non_null(strstr(proc_out(p), "2 sessions\n"));
    proc_free(&p);
    assert_int_equal(fakeapi_count(f.api, "POST", SESSIONS), 3);
    assert_null(strstr(fakeapi_nth(f.api, "POST", SESSIONS, 0)->body, "cursor"));
    assert_non_null(strstr(fakeapi_nth(f.api, "POST", SESSIONS, 1)->body,
                           "\"last_session_id\":\"x\""));
    assert_non_null(strstr(fakeapi_nth(f.api, "POST", SESSIONS, 2)->body,
                           "\"last_session_id\":\"y\""));
    /* Enough is enough. */
    p = clifix_run(&f, "session search --limit 1");
    assert_non_null(strstr(proc_out(p), "1 session\n"));
    proc_free(&p);
    assert_int_equal(fakeapi_count(f.api, "POST", SESSIONS), 4);
    clifix_end(&f);
}

static void test_cli_checkpoint_search(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "POST", CHECKPOINTS,
                    &fakeapi_json("{\"checkpoints\":[" CLI_CHECKPOINT_ONE "]}"));
    clifix_expect(&f, "checkpoint search",
                  "1 checkpoint\n"
                  "Checkpoint ID  Type      Model  Size    Created     Path\n"
                  "─────────────  ────────  ─────  ──────  ──────────  "
                  "───────────────────────────────\n"
                  "weights/0001   training  N/A    1.5 KB  2024-07-13  " CLI_ONE "\n");
    proc *p = clifix_run(
        &f,
        "checkpoint search --type external -m m/b --metadata step=100 --all -f jsonl");
    assert_int_equal(p->status, 0);
    assert_non_null(strstr(proc_out(p), "{\"checkpoint_id\": \"weights/0001\", "));
    proc_free(&p);
    const char *body = clifix_last(&f)->body;
    assert_non_null(strstr(body, "\"checkpoint_type\":\"external\""));
    assert_non_null(strstr(body, "\"base_models\":[\"m/b\"]"));
    assert_non_null(strstr(body, "\"user_metadata\":{\"step\":\"100\"}"));
    assert_non_null(strstr(body, "\"type\":\"accessible\""));
    p = clifix_run(&f, "checkpoint search -f json");
    assert_non_null(strstr(proc_out(p), "{\n  \"checkpoints\": [\n    {\n"));
    proc_free(&p);
    fakeapi_default(f.api, "POST", CHECKPOINTS, &fakeapi_json("{\"checkpoints\":[]}"));
    clifix_expect(&f, "checkpoint search", "No checkpoints found\n");
    clifix_end(&f);
}

/* Wrong command lines, and servers that have no search. */
static void test_cli_search_failures(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_refused(&f, "session search --metadata team", 2, "--metadata is KEY=VALUE");
    clifix_refused(&f, "session search --metadata =red", 2, "--metadata is KEY=VALUE");
    clifix_refused(&f, "session search --limit -1", 2, "--limit must be 0 or more.");
    clifix_refused(&f, "checkpoint search --limit -1", 2, "--limit must be 0 or more.");
    clifix_refused(&f, "session search --status asleep", 2, "asleep");
    clifix_refused(&f, "checkpoint search --type large", 2, "large");
    clifix_refused(&f, "checkpoint search extra", 2, "extra");
    assert_int_equal(fakeapi_count(f.api, "POST", "*search"), 0);
    fakeapi_default(f.api, "POST", SESSIONS, &fakeapi_detail(404, "Not Found"));
    fakeapi_default(f.api, "POST", CHECKPOINTS, &fakeapi_detail(404, "Not Found"));
    clifix_refused(&f, "session search", 1, "Not Found");
    clifix_refused(&f, "checkpoint search -f json", 1, "Not Found");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_session_search),
        cmocka_unit_test(test_cli_session_search_pages),
        cmocka_unit_test(test_cli_checkpoint_search),
        cmocka_unit_test(test_cli_search_failures),
    };
    return cmocka_run_group_tests_name("cmd_search", tests, NULL, NULL);
}
