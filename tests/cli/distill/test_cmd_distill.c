/* `tinkc distill` as a user runs it, against the real server: the student comes closer to its
 * teacher, a run that was killed goes on exactly; and against the scripted one, whose
 * log-probabilities are known or wrong.
 * Links: peer client text server */
#include <math.h>
#include <signal.h>

#include "cli/train/runfix.h"

#define MODEL MODELFIX_NAME
#define DATA  TEST_DATA_DIR "/../../examples/data/"

static const char prompts[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Say red.\"}]}\n"
    "{\"prompt\":\"One, two,\",\"completion\":\" three\"}\n"
    "{\"question\":\"Say blue.\"}\n";

static void run_well(modelfix *f, const char *const *args)
{
    program_run(&f->p, args);
    if (f->p.code != 0) {
        fail_msg("%s", f->p.err.p);
    }
}

/* The teacher "t" has learned some lines. */
static void fix_open(modelfix *f, const char *faults)
{
    modelfix_open(f, faults);
    program_write_file(&f->p, "d.jsonl", prompts);
    program_write_file(&f->p, "t.jsonl",
                       "{\"prompt\":\"One, two,\",\"completion\":\" nine\"}\n");
    run_well(f, PROGRAM_ARGS("train", "t.jsonl", "-m", MODEL, "--steps", "4", "--batch",
                             "1", "--rank", "2"));
}

/* ---- learning ---- */

/* A student that has begun to learn what the teacher knows comes closer to it, on prompts that
 * it was not trained on. */
static void test_distill_learns(void **state)
{
    modelfix f;
    char *svg = NULL;
    size_t n = 0;
    fix_open(&f, NULL);
    run_well(&f, PROGRAM_ARGS("train", DATA "weather.jsonl", "-m", MODEL, "--steps", "20",
                              "--batch", "4", "--rank", "4", "--save", "teacher"));
    run_well(&f, PROGRAM_ARGS("train", DATA "weather.jsonl", "-m", MODEL, "--steps", "8",
                              "--batch", "4", "--rank", "4", "--save", "begun"));
    run_well(&f, PROGRAM_ARGS("distill", DATA "weather.jsonl", "-m", MODEL, "--load",
                              "begun", "--teacher", "teacher", "--eval",
                              DATA "weather-held-out.jsonl", "--steps", "8", "--batch",
                              "8", "-k", "2", "--max-tokens", "24", "--rank", "4",
                              "--format", "json", "--metrics", "m", "--svg", "kl.svg"));
    const tk_json *json = runfix_parse(&f, f.p.out.p, f.p.out.n);
    double first = runfix_number(json, "eval_kl_first");
    double last = runfix_number(json, "eval_kl_last");
    print_message("held-out KL %.4f -> %.4f, length %.2f -> %.2f\n", first, last,
                  runfix_number(json, "eval_length_first"),
                  runfix_number(json, "eval_length_last"));
    assert_true(first > 0.5);
    assert_true(last < 0.7 * first);
    assert_true(runfix_number(json, "rows") == 64);
    assert_non_null(strstr(srvfix_text(json, "weights"), "/sampler_weights/weather"));
    assert_true(runfix_has(&f, "m", "\"gap\":0.0}\n")); /* the same bits */
    assert_true(program_said(&f.p.err, "64 prompts, 8 steps of 8, rank 4\n"));
    assert_true(program_said(&f.p.err, "step 0/8  held-out KL "));
    assert_true(program_read_file(&f.p, "kl.svg", &svg, &n));
    assert_non_null(strstr(svg, "KL (nats per token)"));
    tk_free(svg);
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* The teacher is the student's own model: every KL is 0. It needs no template for texts, and
 * lines of a text file are messages. */
static void test_distill_same(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_write_file(&f.p, "plain.txt", "Say red.\nSay blue.\n");
    run_well(&f, PROGRAM_ARGS("distill", "plain.txt", "d.jsonl", "-m", MODEL, "--teacher",
                              MODEL, "--eval", "d.jsonl", "--steps", "1", "--batch", "5",
                              "-k", "3", "--max-tokens", "4", "--rank", "2", "--metrics",
                              "m", "--save", "s"));
    assert_true(program_said(&f.p.err, "5 prompts, 1 steps of 5"));
    assert_true(program_said(&f.p.err, "step 0/1  held-out KL 0.0000  length "));
    assert_true(program_said(&f.p.err, "step 1/1  KL 0.0000  length "));
    assert_true(runfix_has(&f, "m", "\"kl_k3\":0.0,"));
    run_well(&f, PROGRAM_ARGS("distill", "d.jsonl", "-m", MODEL, "--teacher", MODEL,
                              "--check"));
    assert_true(program_said(&f.p.out, "3 prompts with "));
    modelfix_close(&f);
}

/* ---- what is refused ---- */

static void test_distill_usage(void **state)
{
    static const struct {
        const char *const args[10];
        const char *words;
        int code;
    } cases[] = {
        {{"distill", NULL}, "Missing argument: FILE", 2},
        {{"distill", "d.jsonl", "-m", MODEL, NULL}, "Missing option '--teacher'", 2},
        {{"distill", "d.jsonl", "-t", "x", "-k", "0", NULL}, "'--samples': '0'", 2},
        {{"distill", "d.jsonl", "-t", "x", "-k", "1024", "-b", "65", NULL},
         "A step has at most 65536 answers",
         2},
        {{"distill", "d.jsonl", "-t", "x", "--temperature", "-1", NULL},
         "'--temperature': '-1'",
         2},
        {{"distill", "d.jsonl", "-m", MODEL, "-t", MODEL, "--max-tokens", "1024", NULL},
         "--max-tokens 1024 leaves no room for a prompt: the context of " MODEL
         " is 1024 tokens",
         1},
        {{"distill", "d.jsonl", "-m", MODEL, "-t", MODEL, "--max-tokens", "1020", NULL},
         "too long: 8 tokens, but the model takes 4",
         1},
        {{"distill", "d.jsonl", "-m", MODEL, "-t", "nobody", NULL}, "nobody", 1},
        {{"distill", "bad.jsonl", "-m", MODEL, "-t", MODEL, NULL},
         "bad.jsonl:1: is not a prompt",
         1},
        {{"distill", "d.jsonl", "-t", "x", "--eval-every", "2", NULL},
         "--eval-every has no effect without --eval",
         2},
        {{"distill", "none.jsonl", "-t", MODEL, NULL}, "cannot open none.jsonl", 1},
    };
    modelfix f;
    fix_open(&f, NULL);
    program_write_file(&f.p, "bad.jsonl", "{\"x\":1}\n[1,\n\"\\ud800\"\n");
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        program_run(&f.p, cases[i].args);
        if (f.p.code != cases[i].code || !program_said(&f.p.err, cases[i].words)) {
            fail_msg("case %zu: %d: %s", i, f.p.code, f.p.err.p);
        }
        assert_int_equal(f.p.out.n, 0);
    }
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* A teacher with other tokens (8 and 9 have changed places): one sentence, and nothing is trained. */
static void test_distill_other_tokenizer(void **state)
{
    modelfix f;
    char command[512];
    fix_open(&f, NULL);
    (void)snprintf(
        command, sizeof(command),
        "cp -r %s %s/own && sed -i -e 's/\"8\":/\"@@\":/' -e 's/\"9\":/\"8\":/' "
        "-e 's/\"@@\":/\"9\":/' %s/own/tokenizer.json",
        TEST_DATA_DIR "/../../models/pebble-llama-2m", f.p.dir, f.p.dir);
    assert_int_equal(system(command), 0);
    program_run(&f.p, PROGRAM_ARGS("distill", "d.jsonl", "-m", MODEL, "-t", MODEL,
                                   "--tokenizer", "own", "--steps", "1"));
    assert_int_equal(f.p.code,
                     0); /* the teacher is the same model, whatever it is called */
    program_run(&f.p, PROGRAM_ARGS("distill", "d.jsonl", "-m", MODEL, "-t", "t",
                                   "--tokenizer", "own", "--steps", "1", "--save", "x"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Error: " MODEL
                                       " and the teacher t have different tokenizers\n"));
    assert_false(runfix_has(&f, "x.distill.json", "step"));
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* ---- going on ---- */

#define RUN_ARGS(name)                                                                   \
    "distill", "d.jsonl", "-m", MODEL, "-t", "t", "--steps", "6", "--batch", "2", "-k",  \
        "2", "--max-tokens", "6", "--rank", "2", "--lr", "3e-3", "--save-every", "2",    \
        "--save", name, "--metrics", name ".m", "--eval", "d.jsonl"

static const char *const keys[] = {"kl",      "length",     "entropy",
                                   "eval_kl", "eval_kl_k3", NULL};

/* kill -9 while the second checkpoint is saved, which follows its step at once, then --resume
 * from the first: the same answers, weights and metrics as of a run that was not interrupted,
 * bit for bit; also when the teacher's name means another checkpoint by then. */
static void test_distill_killed_and_resumed(void **state)
{
    modelfix f;
    fix_open(&f, RUNFIX_HANGS("save_weights", "2")); /* the teacher's is one */
    program_start(&f.p, PROGRAM_ARGS(RUN_ARGS("killed")));
    runfix_wait(&f, "killed.m", "\"step\":4,");
    assert_int_equal(kill(f.p.pid, SIGKILL), 0);
    program_end(&f.p);
    assert_true(runfix_has(&f, "killed.distill.json", "\"step\":2,"));
    program_run(&f.p, PROGRAM_ARGS("distill", "d.jsonl", "--save", "killed", "--resume",
                                   "-k", "3"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "--samples was 2 when the run started"));
    program_run(&f.p, PROGRAM_ARGS("distill", "d.jsonl", "-m", MODEL, "--save", "killed",
                                   "--restart", "-t", "none/such"));
    assert_int_equal(f.p.code, 1); /* and the run that it would replace is kept */
    run_well(&f, PROGRAM_ARGS(RUN_ARGS("whole")));
    run_well(&f, PROGRAM_ARGS("train", "t.jsonl", "-m", MODEL, "--steps", "1", "--batch",
                              "1", "--rank", "2")); /* another "t" */
    run_well(&f, PROGRAM_ARGS("distill", "d.jsonl", "--save", "killed", "--resume", "-t",
                              "t", "--format", "json"));
    const tk_json *resumed = runfix_parse(&f, f.p.out.p, f.p.out.n);
    assert_true(runfix_number(resumed, "resumed_from") == 2);
    runfix_compare(&f, "distill", "killed", "whole", keys);
    modelfix_close(&f);
}

/* A budget ends the run as a step does that is too large for it; Ctrl-C saves. */
static void test_distill_stopped(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_run(
        &f.p, PROGRAM_ARGS(RUN_ARGS("b"), "--budget-tokens", "500", "--eval-every", "0"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err,
                             "the budget of 500 tokens is too small for another "
                             "step; stopped after step "));
    run_well(&f, PROGRAM_ARGS("distill", "d.jsonl", "--save", "b", "--resume"));
    program_start(&f.p, PROGRAM_ARGS("distill", "d.jsonl", "-m", MODEL, "-t", "t",
                                     "--steps", "100000", "--batch", "2", "-k", "1",
                                     "--max-tokens", "4", "--rank", "2", "--metrics",
                                     "i.m", "--save", "i", "--save-every", "0"));
    runfix_wait(&f, "i.m", "\"step\":2,");
    assert_int_equal(kill(f.p.pid, SIGINT), 0);
    program_end(&f.p);
    assert_int_equal(f.p.code, 130);
    assert_true(program_said(&f.p.err, "tinkc distill --save i --resume d.jsonl\n"));
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* Wherever a budget ends, in a step or in an evaluation, what was trained is saved. Of the
 * last evaluation a run that has all its steps says whether it could be paid. */
static void test_distill_budget(void **state)
{
    modelfix f;
    unsigned unpaid = 0;
    fix_open(&f, NULL);
    for (unsigned budget = 100, paid = 0; paid == 0; budget += 60) {
        char text[24], warning[96];
        (void)snprintf(text, sizeof(text), "%u", budget);
        (void)unlink(program_path(&f.p, "b.distill.json"));
        program_run(&f.p,
                    PROGRAM_ARGS("distill", "d.jsonl", "-m", MODEL, "-t", "t", "--steps",
                                 "2", "--batch", "2", "-k", "2", "--max-tokens", "6",
                                 "--rank", "2", "--save-every", "0", "--save", "b",
                                 "--metrics", "b.m", "--eval", "d.jsonl", "--eval-every",
                                 "1", "--restart", "--budget-tokens", text));
        unsigned done = f.p.code == 0;
        if (!done && !program_said(&f.p.err, "too small for another step")) {
            fail_msg("%u: %s", budget, f.p.err.p);
        }
        if (runfix_has(&f, "b.m", "\"step\":1,\"epoch")) {
            assert_true(runfix_has(&f, "b.distill.json", done ? "\"step\":2," : "step"));
        }
        (void)snprintf(warning, sizeof(warning),
                       "Warning: the budget of %u tokens was too small for the "
                       "evaluation after step 2\n",
                       budget);
        paid = program_said(&f.p.err, "step 2/2  held-out KL ");
        assert_int_equal(program_said(&f.p.err, warning), done && !paid);
        unpaid += done && !paid;
        assert_true(budget < 10000);
    }
    assert_true(unpaid > 0);
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* ---- the scripted server ---- */

/* Runs one step there, with the real tokenizer. */
static void run_there(modelfix *f)
{
    program_run(&f->p, PROGRAM_ARGS("distill", "d.jsonl", "-m", "m", "-t", "m",
                                    "--tokenizer", "own", "--steps", "1", "--batch", "3",
                                    "-k", "2", "--max-tokens", "5", "--restart",
                                    "--metrics", "m", "--set", "max_retries=0"));
}

/* Of its samples and of its prompts every token has the log-probability -0.5, in every manner
 * of servers but one, which has none for prompts: then there is nothing to learn from. */
static void test_distill_manners(void **state)
{
    static const fakeapi_tinker_options manners[] = {
        {.json_results = true}, {.short_logprobs = true}, {.no_prompt_logprobs = true}};
    for (size_t i = 0; i < TK_ARRAY_LEN(manners); i++) {
        modelfix f;
        char url[MODELFIX_URL_BYTES], command[512];
        fakeapi *api = fakeapi_start();
        modelfix_open(&f, NULL);
        program_write_file(&f.p, "d.jsonl", prompts);
        (void)snprintf(command, sizeof(command), "cp -r %s %s/own",
                       TEST_DATA_DIR "/../../models/pebble-llama-2m", f.p.dir);
        assert_int_equal(system(command), 0);
        fakeapi_tinker(api, &manners[i]);
        (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", fakeapi_url(api));
        program_env(&f.p, url);
        program_env(&f.p, "TINKER_API_KEY=tml-any");
        run_there(&f);
        if (manners[i].no_prompt_logprobs) {
            assert_int_equal(f.p.code, 1);
            assert_true(program_said(&f.p.err, "sent no prompt logprobs"));
        } else {
            if (f.p.code != 0) {
                fail_msg("manner %zu: %s", i, f.p.err.p);
            }
            assert_true(runfix_has(&f, "m", "\"kl\":0.0,"));
            assert_true(runfix_has(&f, "m", "\"length\":5.0,"));
            assert_true(runfix_has(&f, "m", "\"entropy\":0.5,"));
        }
        fakeapi_stop(&api);
        modelfix_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distill_learns),
        cmocka_unit_test(test_distill_same),
        cmocka_unit_test(test_distill_usage),
        cmocka_unit_test(test_distill_other_tokenizer),
        cmocka_unit_test(test_distill_killed_and_resumed),
        cmocka_unit_test(test_distill_stopped),
        cmocka_unit_test(test_distill_budget),
        cmocka_unit_test(test_distill_manners),
    };
    return cmocka_run_group_tests_name("cmd_distill", tests, NULL, NULL);
}
