/* What `tinkc console` makes of lists that a service gives in part only, and of long ones.
 * Links: peer server gateway */
#include "cli/console/remotefix.h"

/* ---- parts that fail ---- */

/* A page of n runs that begins with this number, of so many. */
static void reply_runs(remotefix *f, size_t first, size_t n, size_t total,
                       const char *note)
{
    tk_buf body;
    tk_buf_init(&body, 64 * TK_MIB);
    tk_buf_puts(&body, "{\"training_runs\":[");
    for (size_t i = first; i < first + n; i++) {
        tk_buf_printf(&body,
                      "%s{\"training_run_id\":\"r%zu\",\"base_model\":\"m\","
                      "\"model_owner\":\"me\",\"is_lora\":true,\"corrupted\":false,"
                      "\"lora_rank\":8,\"last_request_time\":\"2024-07-15T08:00:00Z\","
                      "\"last_checkpoint\":" CLI_CHECKPOINT_ONE
                      ",\"user_metadata\":{\"note\":\"",
                      i > first ? "," : "", i);
        tk_buf_puts(&body, note);
        tk_buf_puts(&body, "\"}}");
    }
    tk_buf_printf(&body, "],\"cursor\":{\"offset\":0,\"limit\":100,\"total_count\":%zu}}",
                  total);
    const char *text = tk_buf_cstr(&body);
    assert_non_null(text);
    fakeapi_reply(f->api, "GET", CLI_RUNS, &fakeapi_json(text));
    tk_buf_dispose(&body);
}

static void expect_runs(remotefix *f, int64_t listed)
{
    const tk_json *service = tk_json_get(remotefix_get_service(f, "good"), "service");
    assert_int_equal(remotefix_number(service, "runs"), 1200);
    assert_int_equal(remotefix_number(service, "runs_listed"), listed);
    /* and the file */
    assert_int_equal(remotefix_number(remotefix_get(f, API "runs", 200), "total"),
                     listed + 1);
}

/* The runs that were read before a page failed are shown. */
static void show_the_pages_that_came(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    reply_runs(&f, 0, 100, 1200, "x");
    reply_runs(&f, 100, 100, 1200, "x");
    fakeapi_default(f.api, "GET", CLI_RUNS, &fakeapi_detail(500, "no"));
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    expect_runs(&f, 200);
    remotefix_end(&f);
}

/* Metadata of any size leave room for as many runs as are shown. */
static void show_runs_without_large_metadata(void **state)
{
    static char note[40000];
    remotefix f;
    (void)state;
    remotefix_init(&f);
    memset(note, 'x', sizeof(note) - 1);
    for (size_t i = 0; i < 10; i++) {
        reply_runs(&f, i * 100, 100, 1200, note);
    }
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    expect_runs(&f, 1000);
    const tk_json *all =
        tk_json_get(remotefix_get(&f, API "runs?search=r999", 200), "runs");
    const tk_json one = tk_json_at(all, 0);
    assert_null(tk_json_get(tk_json_get(&one, "metadata"), "note"));
    remotefix_end(&f);
}

/* Checkpoints that a service does not give say nothing about its lists. */
static void keep_the_state_when_checkpoints_fail(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    reply_runs(&f, 0, 2, 2, "x");
    fakeapi_default(f.api, "GET", CLI_RUNS "/r0/checkpoints", &fakeapi_detail(403, "no"));
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step = fakeapi_json("{\"checkpoints\":[]}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_RUNS "/r1/checkpoints", &step);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)remotefix_get_list(&f, API "runs", "runs", 3);
    (void)remotefix_get(&f, API "runs/r0", 200);
    assert_true(fakeapi_wait_for(f.api, "GET", CLI_RUNS "/r0/checkpoints", 1));
    (void)remotefix_get(&f, API "runs/r1", 200);
    assert_true(fakeapi_gate_wait(gate, 1)); /* after that */
    const tk_json *service = tk_json_get(remotefix_get(&f, API "server", 200), "service");
    assert_true(remotefix_is_text(service, "state", "good"));
    assert_int_equal(
        tk_json_len(tk_json_get(remotefix_get(&f, API "runs/r0", 200), "checkpoints")),
        1);
    remotefix_end(&f);
}

/* ... and do not make a service good that gives no lists. A session that the service does not
 * show is no reason to leave out the others. */
static void show_the_other_sessions(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions",
                    &fakeapi_json("{\"sessions\":[\"a\",\"" CLI_SESSION "\",\"b\"]}"));
    fakeapi_default(f.api, "GET", CLI_API "sessions/a", &fakeapi_detail(403, "no"));
    fakeapi_default(f.api, "GET", CLI_API "sessions/b", &fakeapi_detail(500, "no"));
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    const tk_json all = remotefix_get_list(&f, API "server", "sessions", 1);
    const tk_json one = tk_json_at(&all, 0);
    assert_true(remotefix_is_text(&one, "id", CLI_SESSION));
    (void)remotefix_get_service(&f, "good");
    remotefix_end(&f);
}

/* ---- many of them ---- */

/* The newest thousand, however they come. */
static void show_the_newest_checkpoints(void **state)
{
    enum { ALL = 1003 };
    remotefix f;
    tk_buf body;
    (void)state;
    remotefix_init(&f);
    tk_buf_init(&body, TK_MIB);
    tk_buf_puts(&body, "{\"checkpoints\":[");
    for (size_t i = 0; i < ALL; i++) {
        size_t at = i * 7 % ALL; /* each once */
        tk_buf_printf(&body,
                      "%s{\"checkpoint_id\":\"weights/%zu\",\"checkpoint_type\":"
                      "\"training\",\"time\":\"2024-07-13T08:%02zu:%02zuZ\","
                      "\"tinker_path\":\"tinker://" CLI_RUN "/weights/%zu\"}",
                      i > 0 ? "," : "", at, at / 60, at % 60, at);
    }
    tk_buf_puts(&body, "]}");
    const char *text = tk_buf_cstr(&body);
    assert_non_null(text);
    fakeapi_default(f.api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints",
                    &fakeapi_json(text));
    tk_buf_dispose(&body);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)remotefix_get_list(&f, API "runs", "runs", 2);
    const tk_json all = remotefix_get_list(&f, RUN, "checkpoints", 1000);
    const tk_json newest = tk_json_at(&all, 0), oldest = tk_json_at(&all, 999);
    assert_true(remotefix_is_text(&newest, "id", "weights/1002"));
    assert_true(remotefix_is_text(&oldest, "id", "weights/3"));
    remotefix_end(&f);
}

/* More runs than the program keeps the checkpoints of: a look is no request for that. */
static void ask_little_for_many_runs(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    reply_runs(&f, 0, 20, 20, "x");
    fakeapi_default(f.api, "GET", CLI_RUNS "/*/checkpoints",
                    &fakeapi_json("{\"checkpoints\":[]}"));
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)remotefix_get_list(&f, API "runs", "runs", 21);
    for (int i = 0; i < 200; i++) {
        char target[64];
        (void)snprintf(target, sizeof(target), API "runs/r%d", i % 20);
        size_t n =
            tk_json_len(tk_json_get(remotefix_get(&f, target, 200), "checkpoints"));
        assert_true(n <= 1);
        assert_true(i % 20 < 16 || n == 1); /* the last one, from the list of runs */
    }
    assert_true(fakeapi_wait_for(f.api, "GET", CLI_RUNS "/*/checkpoints", 16));
    assert_true(fakeapi_count(f.api, "GET", CLI_RUNS "/*/checkpoints") < 40);
    remotefix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_the_pages_that_came),
        cmocka_unit_test(show_runs_without_large_metadata),
        cmocka_unit_test(keep_the_state_when_checkpoints_fail),
        cmocka_unit_test(show_the_other_sessions),
        cmocka_unit_test(show_the_newest_checkpoints),
        cmocka_unit_test(ask_little_for_many_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
