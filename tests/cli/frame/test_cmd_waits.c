/* SIGUSR1 asks the program what it waits for; it answers and goes on. */
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
        cmocka_unit_test(test_cmd_waits_without_service),
    };
    return cmocka_run_group_tests_name("cmd_waits", tests, NULL, NULL);
}
