/* --stats shows the metrics of a command, against the real server.
 * Links: client text server */
#include "cli/modelfix.h"

/* M-147: a table for people, JSON where JSON was asked for, nothing otherwise. */
static void test_cmd_stats(void **unused)
{
    modelfix f;
    const tk_json *json = NULL;
    modelfix_open(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS("models", "--stats"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.err, "tinkc_operations_total{capabilities} "));
    assert_true(program_said(&f.p.err, "  p99 "));
    assert_false(program_said(&f.p.out, "tinkc_operations_total"));
    program_run(&f.p, PROGRAM_ARGS("models", "--stats", "--format", "json"));
    assert_int_equal(f.p.code, 0);
    assert_int_equal(tk_json_parse(&json, &f.srv.arena, f.p.err.p, f.p.err.n, NULL, NULL),
                     TINKC_OK);
    assert_true(tk_json_len(tk_json_get(json, "metrics")) > 5);
    program_run(&f.p, PROGRAM_ARGS("models"));
    assert_false(program_said(&f.p.err, "tinkc_operations_total"));
    modelfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_stats),
    };
    return cmocka_run_group_tests_name("cmd_stats", tests, NULL, NULL);
}
