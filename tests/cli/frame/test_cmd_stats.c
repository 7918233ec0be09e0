/* --stats shows what a command did, --budget-tokens stops training at the token and saves
 * it (M-147), against the real server.
 * Links: client text server */
#include <stdlib.h>
#include <unistd.h>

#include "cli/modelfix.h"

#define MODEL MODELFIX_NAME

static const char lines[] = "{\"prompt\":\"One, two,\",\"completion\":\" three\"}\n";

static void fix_open(modelfix *f)
{
    modelfix_open(f, NULL);
    program_write_file(&f->p, "d.jsonl", lines);
}

/* M-147: a table for people, JSON where JSON was asked for, nothing otherwise. */
static void test_cmd_stats(void **unused)
{
    (void)unused;
    modelfix f;
    const tk_json *json = NULL;
    fix_open(&f);
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

/* The number behind a text that the program said on standard error. */
static long number_behind(const modelfix *f, const char *text)
{
    const char *at = strstr(f->p.err.p, text);
    assert_non_null(at);
    return strtol(at + strlen(text), NULL, 10);
}

static void train(modelfix *f, const char *more, const char *value)
{
    program_run(&f->p, PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--steps", "3",
                                    "--batch", "1", "--rank", "2", "--restart", "--stats",
                                    more, value));
}

/* M-147: a budget of exactly what it costs trains to the end; one token less stops before
 * the last step, saves, and says how to go on. */
static void test_cmd_budget(void **unused)
{
    (void)unused;
    static const char used[] = "tinkc_tokens_total{training} ";
    modelfix f;
    char budget[32];
    fix_open(&f);
    train(&f, "--seed", "1");
    assert_int_equal(f.p.code, 0);
    long cost = number_behind(&f, used);
    assert_true(cost > 6 && cost % 3 == 0);
    (void)snprintf(budget, sizeof(budget), "%ld", cost);
    train(&f, "--budget-tokens", budget);
    assert_int_equal(f.p.code, 0);
    assert_int_equal(number_behind(&f, used), cost);
    (void)snprintf(budget, sizeof(budget), "%ld", cost - 1);
    train(&f, "--budget-tokens", budget);
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "stopped after step 2 of 3"));
    assert_int_equal(number_behind(&f, used), cost / 3 * 2);
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--resume",
                                   "--eval", "d.jsonl"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.err, "step 3/3"));
    assert_true(program_said(&f.p.out, "held-out loss "));
    assert_false(program_said(&f.p.out, "nan")); /* there is no first one to compare */
    train(&f, "--budget-tokens", "1");
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "stopped after step 0 of 3\n"));
    train(&f, "--budget-tokens", "-1");
    assert_int_equal(f.p.code, 2);
    modelfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_stats),
        cmocka_unit_test(test_cmd_budget),
    };
    return cmocka_run_group_tests_name("cmd_stats", tests, NULL, NULL);
}
