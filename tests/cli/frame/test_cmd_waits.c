/* What the program waits for: it shows a wait that lasts, and SIGUSR1 asks for all of
 * them; it answers and goes on. */
#include <signal.h>

#include "cli/clifix.h"
#include "support/program.h"

/* While a request is out, and more than once. */
static void test_cmd_waits_asked(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "GET", CLI_RUNS,
                  &(fakeapi_step){.gate = gate,
                                  .body = "{\"training_runs\":[" CLI_RUN_OBJECT
                                          "],\"cursor\":{\"offset\":0,\"limit\":20,"
                                          "\"total_count\":1}}"});
    proc *p = clifix_start(&f, "run list");
    assert_true(fakeapi_gate_wait(gate, 1));
    for (int i = 0; i < 2; i++) {
        proc_signal(p, SIGUSR1);
        assert_true(proc_wait_for(p, "operation is waiting:\n  "));
        p->complained.n = 0;
    }
    fakeapi_gate_open(gate);
    assert_int_equal(proc_wait(p), 0);
    assert_non_null(strstr(proc_out(p), CLI_RUN));
    proc_free(&p);
    clifix_end(&f);
}

static const char runs[] = "{\"training_runs\":[" CLI_RUN_OBJECT
                           "],\"cursor\":{\"offset\":0,\"limit\":1,\"total_count\":2}}";

/* Starts a list whose second page does not come; the first wait of a millisecond is
 * shown. */
static proc *start_slow(clifix *f, fakeapi_gate **gate, int columns)
{
    clifix_begin(f);
    clifix_env(f, "TINKC_SHOW_WAITS=1");
    f->options.err_columns = columns;
    *gate = fakeapi_gate_new(f->api);
    fakeapi_reply(f->api, "GET", CLI_RUNS, &fakeapi_json(runs));
    fakeapi_reply(f->api, "GET", CLI_RUNS, &(fakeapi_step){.gate = *gate, .body = runs});
    proc *p = clifix_start(f, "run list --limit 2");
    assert_true(fakeapi_gate_wait(*gate, 1));
    return p;
}

static void end_slow(clifix *f, fakeapi_gate *gate, proc *p)
{
    fakeapi_gate_open(gate);
    assert_int_equal(proc_wait(p), 0);
    assert_non_null(strstr(proc_out(p), CLI_RUN));
}

/* Without a terminal a wait is a line of its own. */
static void test_cmd_waits_lines(void **unused)
{
    clifix f;
    fakeapi_gate *gate;
    proc *p = start_slow(&f, &gate, 0);
    assert_true(proc_wait_for(p, "Waiting: list_runs is on the wire since "));
    end_slow(&f, gate, p);
    assert_null(strchr(proc_err(p), '\r'));
    assert_string_equal(proc_err(p) + strlen(proc_err(p)) - 1, "\n");
    proc_free(&p);
    clifix_end(&f);
}

/* On a terminal it is shown beside the progress, within the width, in a line that is gone
 * at the end. */
static void test_cmd_waits_terminal(void **unused)
{
    clifix f;
    fakeapi_gate *gate;
    proc *p = start_slow(&f, &gate, 50);
    assert_true(proc_wait_for(p, "\r\033[KFetching training runs: 1 of 2  list_runs "));
    end_slow(&f, gate, p);
    const char *said = proc_err(p);
    assert_null(strchr(said, '\n'));
    size_t n = strlen(said);
    assert_true(n > 4);
    assert_string_equal(said + n - 4, "\r\033[K");
    for (const char *at = said; *at != '\0';) {
        at += strspn(at, "\r");
        size_t columns = strcspn(at, "\033\r");
        assert_true(columns < 50);
        at += columns;
        at += strncmp(at, "\033[K", 3) == 0 ? 3 : 0;
    }
    proc_free(&p);
    clifix_end(&f);
}

/* TINKC_SHOW_WAITS=off: nothing at all. */
static void test_cmd_waits_off(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "GET", CLI_RUNS, &(fakeapi_step){.gate = gate, .body = runs});
    proc *p = clifix_start(&f, "run list --limit 1");
    assert_true(fakeapi_gate_wait(gate, 1));
    end_slow(&f, gate, p);
    assert_string_equal(proc_err(p), "");
    proc_free(&p);
    clifix_end(&f);
}

/* Where there is no service it does no harm. The server has a data directory of the
 * test, not that of the user. */
static void test_cmd_waits_without_service(void **unused)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_start(&p, PROGRAM_ARGS("serve", "--port", "0"));
    assert_true(program_wait_text(&p, false, "http://"));
    assert_int_equal(kill(p.pid, SIGUSR1), 0);
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    program_end(&p);
    assert_int_equal(p.code, 0);
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_waits_asked),
        cmocka_unit_test(test_cmd_waits_lines),
        cmocka_unit_test(test_cmd_waits_terminal),
        cmocka_unit_test(test_cmd_waits_off),
        cmocka_unit_test(test_cmd_waits_without_service),
    };
    return cmocka_run_group_tests_name("cmd_waits", tests, NULL, NULL);
}
