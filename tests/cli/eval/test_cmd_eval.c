/* `tinkc eval` against the real server: a model that was trained on three lines knows them,
 * and one that was not does not.
 * Links: client text server */
#include "cli/modelfix.h"

#define MODEL MODELFIX_NAME

static const char lines[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"ab\"},"
                            "{\"role\":\"assistant\",\"content\":\"one 1\"}]}\n"
                            "{\"question\":\"cd\",\"answer\":\"two 2\"}\n";
static const char asked[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"ab\"},"
    "{\"role\":\"assistant\",\"content\":\"one 1\"}]}\n"
    "{\"question\":\"cd\",\"answer\":2}\n"
    "{\"prompt\":[{\"role\":\"user\",\"content\":\"ab\"}],\"answer\":\"nine 9\"}\n";

static void test_cmd_eval(void **unused)
{
    modelfix f;
    modelfix_open(&f, NULL);
    program_write_file(&f.p, "d.jsonl", lines);
    program_write_file(&f.p, "q.jsonl", asked);
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--steps", "20",
                                   "--batch", "2", "--rank", "8", "--save", "t"));
    assert_int_equal(f.p.code, 0);
    program_run(&f.p, PROGRAM_ARGS("eval", "-m", "t", "--data", "q.jsonl", "--match",
                                   "number", "--max-tokens", "12", "--against", MODEL));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "2 of 3"));
    assert_true(program_said(&f.p.out, "66.7 %"));
    assert_true(program_said(&f.p.out, "20.8 to 93.9 %")); /* Wilson's */
    assert_true(program_said(&f.p.out, "better on 2, worse on 0, equal on 1"));
    assert_true(program_said(&f.p.out, "Wrong: q.jsonl:3"));
    assert_true(program_said(&f.p.out, "expected  nine 9"));
    program_run(&f.p,
                PROGRAM_ARGS("eval", "-m", "t", "--data", "q.jsonl", "--format", "json",
                             "--max-tokens", "12", "-k", "2", "--temperature", "0"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "\"samples\": 2"));
    assert_true(program_said(&f.p.out, "\"line\": 2")); /* "two 2" is not "2" */
    assert_true(program_said(&f.p.out, "\"answer\": \"two 2\""));
    modelfix_close(&f);
}

static void test_cmd_eval_refuses(void **unused)
{
    modelfix f;
    modelfix_open(&f, NULL);
    program_write_file(&f.p, "q.jsonl", "{\"question\":\"cd\"}\n");
    program_write_file(&f.p, "bad.jsonl", "{\"x\":1}\n");
    program_run(&f.p, PROGRAM_ARGS("eval", "-m", MODEL));
    assert_int_equal(f.p.code, 2);
    program_run(&f.p, PROGRAM_ARGS("eval", "-m", MODEL, "--data", "q.jsonl"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "line 1 of q.jsonl has no answer"));
    program_run(&f.p, PROGRAM_ARGS("eval", "-m", MODEL, "--data", "bad.jsonl"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "bad.jsonl:1: is not a prompt"));
    program_run(&f.p, PROGRAM_ARGS("eval", "-m", MODEL, "--data", "none.jsonl"));
    assert_int_equal(f.p.code, 1);
    modelfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_eval),
        cmocka_unit_test(test_cmd_eval_refuses),
    };
    return cmocka_run_group_tests_name("cmd_eval", tests, NULL, NULL);
}
