/* `tinkc console` beside a service: its runs, checkpoints and sessions, what the page says
 * when there is none, and that nothing waits for one that is slow or broken.
 * Links: peer server gateway */
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/console/remotefix.h"

/* The one that came from the service. */
static tk_json of_service(const tk_json *runs)
{
    for (size_t i = 0; i < tk_json_len(runs); i++) {
        const tk_json run = tk_json_at(runs, i);
        if (remotefix_is_text(&run, "id", CLI_RUN)) {
            return run;
        }
    }
    fail_msg("the run of the service is not there");
    return (tk_json){.type = TK_JSON_NULL};
}

static void show_runs_of_a_service(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    tk_json runs = remotefix_get_list(&f, API "runs", "runs", 2);
    const tk_json first = tk_json_at(&runs, 0), run = of_service(&runs);
    assert_true(remotefix_is_text(&first, "name", "m")); /* the newest activity */
    assert_int_equal(tk_json_get(&first, "service")->type, TK_JSON_NULL);
    assert_true(remotefix_is_text(&run, "service", fakeapi_url(f.api)));
    assert_true(remotefix_is_text(&run, "name", "0001")); /* of its last checkpoint */
    assert_true(remotefix_is_text(&run, "model", "m/b"));
    assert_true(remotefix_is_text(&run, "state", "idle"));
    assert_int_equal(remotefix_number(&run, "rank"), 8);
    assert_int_equal(tk_json_get(&run, "step")->type, TK_JSON_NULL);
    assert_true(remotefix_is_text(tk_json_get(&run, "metadata"), "note", "h\xc3\xa9"));
    assert_int_equal(
        remotefix_number(remotefix_get(&f, API "runs?search=M%2FB", 200), "total"), 1);
    assert_int_equal(
        remotefix_number(remotefix_get(&f, API "runs?search=nothing", 200), "total"), 0);
    const tk_json *page = remotefix_get(&f, API "runs?limit=1&offset=1", 200);
    (void)of_service(tk_json_get(page, "runs"));
    assert_int_equal(tk_json_len(tk_json_get(page, "runs")), 1);
    const tk_json *server = remotefix_get_service(&f, "good");
    const tk_json *service = tk_json_get(server, "service");
    assert_int_equal(remotefix_number(service, "runs"), 3); /* what it says that it has */
    assert_int_equal(remotefix_number(service, "runs_listed"), 1);
    assert_true(remotefix_number(service, "answered_ms") > 0);
    remotefix_end(&f);
}

static void show_checkpoints_of_a_service(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step =
        fakeapi_json("{\"checkpoints\":[" CLI_CHECKPOINT_ONE "," CLI_CHECKPOINT_TWO "]}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints", &step);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)remotefix_get_list(&f, API "runs", "runs", 2);
    (void)remotefix_get_list(&f, RUN, "checkpoints",
                             1); /* the last one, from the list of runs */
    assert_true(fakeapi_gate_wait(gate, 1));
    fakeapi_gate_open(gate);
    const tk_json all = remotefix_get_list(&f, RUN, "checkpoints", 2);
    const tk_json newest = tk_json_at(&all, 0), one = tk_json_at(&all, 1);
    assert_true(remotefix_is_text(&newest, "path", CLI_TWO));
    assert_true(remotefix_is_text(&newest, "kind", "sampler"));
    assert_int_equal(tk_json_get(&newest, "size_bytes")->type, TK_JSON_NULL);
    assert_true(remotefix_is_text(&one, "id", "weights/0001"));
    assert_true(remotefix_is_text(&one, "kind", "training"));
    assert_int_equal(remotefix_number(&one, "size_bytes"), 1536);
    const tk_json *run = remotefix_get(&f, RUN, 200);
    assert_false(tk_json_get(run, "actions")->as.boolean);
    const tk_json *answer = remotefix_get(&f, RUN "/series?metric=loss", 200);
    const tk_json loss = tk_json_at(tk_json_get(answer, "series"), 0);
    assert_int_equal(remotefix_number(&loss, "total"), 0);
    (void)remotefix_get(&f, API "runs/other", 404);
    (void)remotefix_get(&f, API "runs/other/series?metric=loss", 404);
    remotefix_end(&f);
}

/* The runs are there before the sessions are; a session that has ended is left out. */
static void show_sessions_of_a_service(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step = fakeapi_json("{\"sessions\":[\"gone\",\"" CLI_SESSION "\"]}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_API "sessions", &step);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)remotefix_get_list(&f, API "runs", "runs", 2);
    assert_true(fakeapi_gate_wait(gate, 1));
    const tk_json *server = remotefix_get(&f, API "server", 200);
    assert_true(remotefix_is_text(tk_json_get(server, "service"), "state", "good"));
    assert_int_equal(tk_json_len(tk_json_get(server, "sessions")), 0);
    fakeapi_gate_open(gate);
    const tk_json all = remotefix_get_list(&f, API "server", "sessions", 1);
    const tk_json one = tk_json_at(&all, 0);
    assert_true(remotefix_is_text(&one, "id", CLI_SESSION));
    assert_true(remotefix_is_text(&one, "name", "<script>s"));
    assert_int_equal(remotefix_number(&one, "models"), 2);
    assert_int_equal(remotefix_number(&one, "samplers"), 1);
    remotefix_end(&f);
}

/* Files are shown, and the program ends, while the service says nothing, for as long as it
 * may: an hour, which is more than a test waits for the end. */
static void wait_for_no_service(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_step step = fakeapi_json("{}");
    step.gate = gate;
    fakeapi_default(f.api, "GET", CLI_RUNS, &step);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE, "--timeout", "3600"));
    assert_int_equal(remotefix_number(remotefix_get(&f, API "runs", 200), "total"), 1);
    assert_true(fakeapi_gate_wait(gate, 1));
    const tk_json *server = remotefix_get(&f, API "server", 200);
    assert_true(remotefix_is_text(tk_json_get(server, "service"), "state", "asked"));
    assert_int_equal(remotefix_number(remotefix_get(&f, API "runs/m.jsonl", 200), "step"),
                     1);
    remotefix_end(&f);
}

static void say_that_a_service_fails(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    fakeapi_default(
        f.api, "GET", CLI_RUNS,
        &(fakeapi_step){.status = 403, .body = "{\"detail\":\"<b>not yours\"}"});
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    const tk_json *service = tk_json_get(remotefix_get_service(&f, "failed"), "service");
    assert_true(remotefix_has_words(service, "text", "<b>not yours"));
    assert_int_equal(tk_json_get(service, "answered_ms")->type, TK_JSON_NULL);
    assert_int_equal(remotefix_number(remotefix_get(&f, API "runs", 200), "total"), 1);
    remotefix_end(&f);
}

/* A list that only some servers have is not missed. */
static void do_without_a_list_of_sessions(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions",
                    &(fakeapi_step){.status = 404, .body = "{\"detail\":\"Not Found\"}"});
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    const tk_json *server = remotefix_get_service(&f, "good");
    assert_int_equal(tk_json_len(tk_json_get(server, "sessions")), 0);
    assert_true(fakeapi_wait_for(f.api, "GET", CLI_API "sessions", 1));
    /* the next request comes when that one has been answered */
    (void)remotefix_get_list(&f, RUN, "checkpoints", 2);
    (void)remotefix_get_service(&f, "good");
    remotefix_end(&f);
}

/* Nothing is sent before somebody looks, and not again for each look. */
static void ask_only_while_somebody_looks(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE));
    (void)remotefix_get(&f, API "session", 200);
    assert_int_equal(fakeapi_total(f.api), 0);
    (void)remotefix_get_list(&f, API "runs", "runs", 2);
    (void)remotefix_get_service(&f, "good");
    for (int i = 0; i < 30; i++) {
        (void)remotefix_get(&f, API "runs", 200);
        (void)remotefix_get(&f, RUN, 200);
    }
    assert_true(fakeapi_count(f.api, "GET", CLI_API "sessions") < 5);
    assert_true(fakeapi_count(f.api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints") < 5);
    remotefix_end(&f);
}

static void show_files_without_a_service(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE, "--no-service"));
    assert_int_equal(remotefix_number(remotefix_get(&f, API "runs", 200), "total"), 1);
    const tk_json *service = tk_json_get(remotefix_get(&f, API "server", 200), "service");
    assert_true(remotefix_is_text(service, "state", "off"));
    assert_true(remotefix_has_words(service, "text", "--no-service"));
    assert_int_equal(fakeapi_total(f.api), 0);
    remotefix_end(&f);
    remotefix_init(&f);
    program_env(&f.p, "TINKER_API_KEY=");
    program_env(&f.p, "TINKER_BASE_URL=");
    remotefix_begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0"));
    assert_int_equal(remotefix_number(remotefix_get(&f, API "runs", 200), "total"), 1);
    service = tk_json_get(remotefix_get(&f, API "server", 200), "service");
    assert_true(remotefix_is_text(service, "state", "off"));
    assert_true(remotefix_has_words(service, "text", "no API key"));
    remotefix_end(&f);
}

/* Whatever is wrong with the configuration, as long as the command line has no part in it. */
static void show_files_with_a_wrong_configuration(void **state)
{
    static const struct {
        const char *env[2], *words;
    } cases[] = {
        {{"TINKC_PROFILE=gone", "TINKER_BASE_URL="}, "there is no profile"},
        {{"TINKER_BASE_URL=local", "XDG_DATA_HOME=/dev/null/none"},
         "the local server did not start"},
        {{"XDG_CONFIG_HOME=settings", "TINKER_BASE_URL="}, "not a file of profiles"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        remotefix f;
        (void)state;
        remotefix_init(&f);
        assert_int_equal(tk_file_mkdirs(program_path(&f.p, "settings/tinkc"), 0700, NULL),
                         TINKC_OK);
        program_write_file(&f.p, "settings/tinkc/profiles.json", "{");
        program_env(&f.p, cases[i].env[0]);
        program_env(&f.p, cases[i].env[1]);
        remotefix_begin(&f, PROGRAM_ARGS("console", "m.jsonl", "--port", "0"));
        assert_int_equal(remotefix_number(remotefix_get(&f, API "runs", 200), "total"),
                         1);
        const tk_json *service =
            tk_json_get(remotefix_get(&f, API "server", 200), "service");
        assert_true(remotefix_is_text(service, "state", "off"));
        assert_true(remotefix_has_words(service, "text", cases[i].words));
        assert_true(program_wait_text(&f.p, true, "Warning: no service is asked: "));
        remotefix_end(&f);
    }
}

/* A private server that takes long to start does not keep the program from ending. The test
 * holds the lock of the one that starts it. */
static void end_while_a_private_server_starts(void **state)
{
    program p;
    struct flock mine = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    int64_t end_ms = tk_clock_mono_ms(NULL) + 60000;
    (void)state;
    program_open(&p, TINKC_PROGRAM);
    assert_int_equal(tk_file_mkdirs(program_path(&p, "data/tinkc"), 0700, NULL),
                     TINKC_OK);
    int fd =
        open(program_path(&p, "data/tinkc/users"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &mine), 0);
    program_env(&p, "XDG_DATA_HOME=data");
    program_start(&p, PROGRAM_ARGS("console", "--port", "0", "--local"));
    for (bool is_waiting = false; !is_waiting;) { /* it has become a user */
        struct flock other = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        assert_int_equal(fcntl(fd, F_OFD_GETLK, &other), 0);
        is_waiting = other.l_type == F_RDLCK;
        assert_true(tk_clock_mono_ms(NULL) < end_ms);
    }
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    program_end(&p);
    assert_int_equal(p.code, 128 + SIGTERM);
    assert_int_equal(p.err.n, 0); /* it did not wait until the start had failed */
    assert_int_equal(close(fd), 0);
    program_close(&p);
}

/* --stats counts what was asked. */
static void count_what_is_asked(void **state)
{
    remotefix f;
    (void)state;
    remotefix_init(&f);
    remotefix_begin(&f, PROGRAM_ARGS(CONSOLE, "--stats"));
    (void)remotefix_get_list(&f, API "runs", "runs", 2);
    (void)remotefix_get_service(&f, "good");
    remotefix_finish(&f);
    assert_true(program_said(&f.p.err, "requests"));
    program_close(&f.p);
    fakeapi_stop(&f.api);
    tk_arena_dispose(&f.arena);
}

/* What the command line names must be right. */
static void refuse_a_service_that_cannot_be(void **state)
{
    program p;
    (void)state;
    program_open(&p, TINKC_PROGRAM);
    program_run(&p, PROGRAM_ARGS("console", "--port", "0", "--base-url", "ftp://x"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "base URL must start with"));
    program_run(&p, PROGRAM_ARGS("console", "--port", "0", "--set", "max_retries=x"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "max_retries"));
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_runs_of_a_service),
        cmocka_unit_test(show_checkpoints_of_a_service),
        cmocka_unit_test(show_sessions_of_a_service),
        cmocka_unit_test(wait_for_no_service),
        cmocka_unit_test(say_that_a_service_fails),
        cmocka_unit_test(do_without_a_list_of_sessions),
        cmocka_unit_test(ask_only_while_somebody_looks),
        cmocka_unit_test(show_files_without_a_service),
        cmocka_unit_test(show_files_with_a_wrong_configuration),
        cmocka_unit_test(end_while_a_private_server_starts),
        cmocka_unit_test(count_what_is_asked),
        cmocka_unit_test(refuse_a_service_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
