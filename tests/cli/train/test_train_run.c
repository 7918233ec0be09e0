/* A run with a budget of tokens, against the real server. The rest of train_run.c is
 * tested with the command in test_cmd_train.c.
 * Links: client text server */
#include <stdlib.h>

#include "cli/modelfix.h"

#define MODEL MODELFIX_NAME

static const char lines[] = "{\"prompt\":\"One, two,\",\"completion\":\" three\"}\n";

static void fix_open(modelfix *f)
{
    modelfix_open(f, NULL);
    program_write_file(&f->p, "d.jsonl", lines);
}

/* Returns the number after a text on standard error. */
static long number_after(const modelfix *f, const char *text)
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
    static const char used[] = "tinkc_tokens_total{training} ";
    modelfix f;
    char budget[32];
    fix_open(&f);
    train(&f, "--seed", "1");
    assert_int_equal(f.p.code, 0);
    long cost = number_after(&f, used);
    assert_true(cost > 6 && cost % 3 == 0);
    (void)snprintf(budget, sizeof(budget), "%ld", cost);
    train(&f, "--budget-tokens", budget);
    assert_int_equal(f.p.code, 0);
    assert_int_equal(number_after(&f, used), cost);
    (void)snprintf(budget, sizeof(budget), "%ld", cost - 1);
    train(&f, "--budget-tokens", budget);
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "stopped after step 2 of 3"));
    assert_int_equal(number_after(&f, used), cost / 3 * 2);
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
        cmocka_unit_test(test_cmd_budget),
    };
    return cmocka_run_group_tests_name("train_run", tests, NULL, NULL);
}
