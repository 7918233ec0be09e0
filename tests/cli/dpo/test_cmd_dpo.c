/* `tinkc dpo` as a user runs it, against the real server: it learns what is preferred, says
 * what is wrong with pairs, and a run that was killed goes on exactly, with the
 * log-probabilities of the weights that it began with.
 * Links: peer client text server */
#include <math.h>
#include <signal.h>

#include "cli/train/runfix.h"

#define MODEL MODELFIX_NAME
#define DATA  TEST_DATA_DIR "/../../examples/data/"

#define ASKED(text) "[{\"role\":\"user\",\"content\":\"" text "\"}]"
#define SAID(text)  "[{\"role\":\"assistant\",\"content\":\"" text "\"}]"

static const char pairs[] =
    "{\"prompt\":" ASKED("Say red.") ",\"chosen\":" SAID("red") ",\"rejected\":" SAID(
        "no") "}\n"
              "{\"prompt\":\"One, two,\",\"chosen\":\" three\",\"rejected\":\" nine\"}\n"
              "{\"prompt\":" ASKED("Say blue.") ",\"chosen\":" SAID(
                  "blue") ",\"rejected\":" SAID("I will not.") "}\n";

static void fix_open(modelfix *f, const char *faults)
{
    modelfix_open(f, faults);
    program_write_file(&f->p, "d.jsonl", pairs);
}

static void run_well(modelfix *f, const char *const *args)
{
    program_run(&f->p, args);
    if (f->p.code != 0) {
        fail_msg("%s", f->p.err.p);
    }
}

/* ---- learning ---- */

/* The data of the guide: what is preferred, also on questions that were not trained on. */
static void test_dpo_learns(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    run_well(&f, PROGRAM_ARGS("dpo", DATA "brief.jsonl", "-m", MODEL, "--eval",
                              DATA "brief-held-out.jsonl", "--steps", "6", "--batch", "4",
                              "--lr", "2e-3", "--rank", "4", "--format", "json",
                              "--metrics", "m"));
    const tk_json *json = runfix_parse(&f, f.p.out.p, f.p.out.n);
    double first = runfix_number(json, "eval_accuracy_first");
    double last = runfix_number(json, "eval_accuracy_last");
    print_message("held-out accuracy %.3f -> %.3f, loss %.4f -> %.4f\n", first, last,
                  runfix_number(json, "eval_loss_first"),
                  runfix_number(json, "eval_loss_last"));
    assert_true(first == 0.5); /* every margin is 0 */
    assert_true(last >= 0.9);
    assert_true(runfix_number(json, "eval_margin_last") > 0);
    assert_true(fabs(runfix_number(json, "loss_first") - log(2)) < 1e-12);
    assert_true(runfix_number(json, "eval_loss_last") < 0.6);
    assert_true(runfix_number(json, "rows") == 72);
    assert_non_null(strstr(srvfix_text(json, "weights"), "/sampler_weights/brief"));
    assert_true(runfix_has(&f, "m", "\"chosen_reward\":0.0,\"rejected_reward\":0.0}"));
    assert_true(runfix_has(&f, "m", "\"eval_rejected_reward\":-"));
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* The rate that is chosen is the one that --resume reads, to the last bit. */
static void test_dpo_rate(void **state)
{
    modelfix f;
    char *text = NULL;
    size_t n = 0;
    double kept = 0;
    fix_open(&f, NULL);
    run_well(&f, PROGRAM_ARGS("dpo", "d.jsonl", "-m", MODEL, "--steps", "1", "--batch",
                              "1", "--rank", "2", "--format", "json", "--save", "r"));
    double used = runfix_number(runfix_parse(&f, f.p.out.p, f.p.out.n), "learning_rate");
    assert_true(program_read_file(&f.p, "r.dpo.json", &text, &n));
    const tk_json *settings = tk_json_get(runfix_parse(&f, text, n), "settings");
    assert_true(tk_str_to_double(tk_str_of(srvfix_text(settings, "lr")), &kept));
    assert_true(used == kept);
    tk_free(text);
    modelfix_close(&f);
}

/* For people; and the reference is that of --load, where there is one. */
static void test_dpo_shows(void **state)
{
    modelfix f;
    char *svg = NULL;
    size_t n = 0;
    fix_open(&f, NULL);
    run_well(&f, PROGRAM_ARGS("dpo", "d.jsonl", "-m", MODEL, "--eval", "d.jsonl",
                              "--steps", "3", "--batch", "3", "--rank", "2", "--lr",
                              "2e-3", "--svg", "loss.svg", "--save", "one"));
    assert_true(program_said(&f.p.err, "d.jsonl: 3 pairs (preferences)\n"));
    assert_true(program_said(&f.p.err, "3 pairs, 3 steps of 3, rank 2\n"));
    assert_true(program_said(
        &f.p.err, "step 0/3  held-out loss 0.6931  accuracy 0.500  margin 0.000\n"));
    assert_true(program_said(&f.p.out, "held-out loss  0.6931 -> 0."));
    assert_true(program_said(&f.p.out, "  accuracy     0.5000 -> "));
    assert_true(program_said(&f.p.err, "tinkc dpo -m " MODEL " --load one --save one-2"));
    assert_true(program_read_file(&f.p, "loss.svg", &svg, &n));
    assert_non_null(strstr(svg, "loss (nats per pair)"));
    tk_free(svg);
    run_well(&f, PROGRAM_ARGS("dpo", "d.jsonl", "-m", MODEL, "--load", "one", "--steps",
                              "1", "--batch", "3", "--rank", "2", "--save", "two"));
    assert_true(program_said(&f.p.err, "step 1/1  loss 0.6931  accuracy 0.500"));
    modelfix_close(&f);
}

/* ---- data ---- */

/* Preferences as people have them, all in one file, and as CSV. */
static void test_dpo_formats(void **state)
{
    static const char forms[] =
        "{\"prompt\":\"One,\",\"chosen\":\" two\",\"rejected\":\" x\"}\n"
        "{\"prompt\":" ASKED("Hi") ",\"chosen\":" SAID("Ho") ",\"rejected\":" SAID(
            "x") "}\n"
                 "{\"prompt\":\"Hi\",\"chosen\":" SAID("Ho") ",\"rejected\":" SAID(
                     "x") "}\n"
                          "{\"chosen\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\","
                          "\"content\":\"Ho\"}],\"rejected\":[{\"role\":\"user\",\"content\":\"Hi\"},"
                          "{\"role\":\"assistant\",\"content\":\"x\"}],\"score_chosen\":9}\n"
                          "{\"chosen\":\"\\n\\nHuman: Hi\\n\\nAssistant: Ho\",\"rejected\":"
                          "\"\\n\\nHuman: Hi\\n\\nAssistant: x\"}\n"
                          "{\"question\":\"Hi\",\"chosen\":\"Ho\",\"rejected\":\"x\"}\n";
    modelfix f;
    fix_open(&f, NULL);
    program_write_file(&f.p, "forms.jsonl", forms);
    program_write_file(&f.p, "c.csv", "prompt,chosen,rejected\nOne,\" two\",\" x\"\n");
    run_well(&f, PROGRAM_ARGS("dpo", "forms.jsonl", "c.csv", "-m", MODEL, "--check",
                              "--format", "json"));
    assert_true(runfix_number(runfix_parse(&f, f.p.out.p, f.p.out.n), "rows") == 7);
    run_well(&f, PROGRAM_ARGS("dpo", "forms.jsonl", "-m", MODEL, "--check"));
    assert_true(program_said(&f.p.out, "6 pairs with "));
    modelfix_close(&f);
}

static void test_dpo_bad_data(void **state)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"{\"prompt\":\"a\",\"chosen\":\"b\"}", "it has no \"rejected\""},
        {"{\"prompt\":\"a\",\"rejected\":\"b\"}", "it has no \"chosen\""},
        {"{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"b\"}", "are the same"},
        {"{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"\"}", "nothing to train"},
        {"{\"prompt\":\"a\",\"chosen\":7,\"rejected\":[]}", "bad.jsonl:1: "},
        {"{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"c", "not JSON"},
        {"{\"chosen\":\"b\",\"rejected\":\"c\"}", "is not a conversation"},
        {"{\"chosen\":" SAID("b") ",\"rejected\":" SAID("c") "}", "same messages"},
        {"[1,2]", "bad.jsonl:1: "},
        {"{\"prompt\":" ASKED("a") ",\"chosen\":" ASKED("b") ",\"rejected\":" SAID(
             "c") "}",
         "bad.jsonl:1: "},
    };
    modelfix f;
    fix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        program_write_file(&f.p, "bad.jsonl", cases[i].line);
        program_run(&f.p, PROGRAM_ARGS("dpo", "bad.jsonl", "-m", MODEL));
        if (f.p.code != 1 || !program_said(&f.p.err, cases[i].words)) {
            fail_msg("case %zu: %d: %s", i, f.p.code, f.p.err.p);
        }
        assert_int_equal(f.p.out.n, 0);
    }
    program_write_file(&f.p, "plain.txt", "Some text.\n");
    program_run(&f.p, PROGRAM_ARGS("dpo", "plain.txt", "-m", MODEL));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "plain.txt is plain text, which has no prefer"));
    program_run(&f.p, PROGRAM_ARGS("dpo", "d.jsonl", "-m", MODEL, "--max-length", "9",
                                   "--skip-bad", "--check"));
    assert_int_equal(f.p.code, 0); /* a pair is left out as a whole */
    assert_true(program_said(&f.p.out, "2 lines left out"));
    assert_true(program_said(&f.p.out, "1 pairs with "));
    modelfix_close(&f);
}

static void test_dpo_usage(void **state)
{
    static const struct {
        const char *const args[8];
        const char *words;
        int code;
    } cases[] = {
        {{"dpo", NULL}, "Missing argument: FILE", 2},
        {{"dpo", "d.jsonl", "--beta", "0", NULL}, "--beta must be above 0", 2},
        {{"dpo", "d.jsonl", "--beta", "-1", NULL}, "--beta must be above 0", 2},
        {{"dpo", "d.jsonl", "--beta", "1e9", NULL}, "'--beta': '1e9'", 2},
        {{"dpo", "d.jsonl", "--teacher", "x", NULL}, "--teacher", 2},
        {{"dpo", "d.jsonl", "--eval-every", "2", NULL},
         "--eval-every has no effect without --eval",
         2},
        {{"dpo", "none.jsonl", NULL}, "cannot open none.jsonl", 1},
        {{"dpo", "d.jsonl", "-m", MODEL, "--state", "no/dir", NULL},
         "no/dir: No such",
         1},
    };
    modelfix f;
    fix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        program_run(&f.p, cases[i].args);
        if (f.p.code != cases[i].code || !program_said(&f.p.err, cases[i].words)) {
            fail_msg("case %zu: %d: %s", i, f.p.code, f.p.err.p);
        }
        assert_int_equal(f.p.out.n, 0);
    }
    modelfix_close(&f);
}

/* ---- going on ---- */

#define RUN_ARGS(name)                                                                   \
    "dpo", "d.jsonl", "-m", MODEL, "--steps", "8", "--batch", "2", "--rank", "2",        \
        "--lr", "3e-3", "--save-every", "3", "--save", name, "--metrics", name ".m",     \
        "--schedule", "cosine", "--eval", "d.jsonl"

static const char *const keys[] = {"loss",      "accuracy",      "margin",
                                   "eval_loss", "chosen_reward", NULL};

/* Kills a run in its sixth step; its last checkpoint is that of the third. The requests
 * before: two references, one evaluation, two for each of five steps. */
static void kill_run(modelfix *f)
{
    fix_open(f, RUNFIX_HANGS("forward_backward", "13"));
    program_start(&f->p, PROGRAM_ARGS(RUN_ARGS("killed")));
    runfix_wait(f, "killed.m", "\"step\":5,");
    assert_int_equal(kill(f->p.pid, SIGKILL), 0);
    program_end(&f->p);
    assert_true(runfix_has(f, "killed.dpo.json", "\"step\":3,"));
}

/* kill -9, then --resume: the same weights, moments and metrics as a run that was not
 * interrupted, bit for bit. The log-probabilities of the start weights come from the file;
 * without it they are computed again, with other ones nothing is trained. */
static void test_dpo_killed_and_resumed(void **state)
{
    modelfix f;
    char *text = NULL;
    size_t n = 0;
    kill_run(&f);
    program_run(&f.p, PROGRAM_ARGS("dpo", "d.jsonl", "--save", "killed", "--resume",
                                   "--beta", "0.5"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "--beta was not set when the run started"));
    program_run(
        &f.p, PROGRAM_ARGS("train", "d.jsonl", "--state", "killed.dpo.json", "--resume"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "killed.dpo.json belongs to a run of tinkc dpo"));

    assert_true(program_read_file(&f.p, "killed.dpo.reference.json", &text, &n));
    char *digit = strstr(text, "\"logprobs\":[-") + strlen("\"logprobs\":[-");
    *digit = (char)(*digit == '1' ? '2' : '1');
    program_write_file(&f.p, "killed.dpo.reference.json", text);
    tk_free(text);
    program_run(&f.p, PROGRAM_ARGS("dpo", "d.jsonl", "--save", "killed", "--resume"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "killed.dpo.reference.json are not those that the "
                                       "run began with"));

    program_write_file(&f.p, "killed.dpo.reference.json", "{\"logprobs\":[1,");
    run_well(&f, PROGRAM_ARGS("dpo", "d.jsonl", "--save", "killed", "--resume",
                              "--format", "json"));
    const tk_json *resumed = runfix_parse(&f, f.p.out.p, f.p.out.n);
    assert_true(runfix_number(resumed, "resumed_from") == 3);
    assert_true(runfix_number(resumed, "eval_accuracy_first") == 0.5);
    run_well(&f, PROGRAM_ARGS(RUN_ARGS("whole")));
    runfix_compare(&f, "dpo", "killed", "whole", keys);
    modelfix_close(&f);
}

/* The same, with the file as it was: nothing is computed with other weights. */
static void test_dpo_resumed_from_file(void **state)
{
    modelfix f;
    kill_run(&f);
    run_well(&f, PROGRAM_ARGS("dpo", "d.jsonl", "--save", "killed", "--resume"));
    run_well(&f, PROGRAM_ARGS(RUN_ARGS("whole")));
    runfix_compare(&f, "dpo", "killed", "whole", keys);
    modelfix_close(&f);
}

/* The state of an old run goes before the log-probabilities of its start weights do: else a run
 * that is killed between the two leaves a state that --resume cannot continue. The requests
 * until then: two references, two evaluations, two for each of eight steps, and the two
 * references again. */
static void test_dpo_begun_again(void **state)
{
    modelfix f;
    fix_open(&f, RUNFIX_HANGS("forward_backward", "22"));
    run_well(&f, PROGRAM_ARGS(RUN_ARGS("again")));
    assert_true(runfix_has(&f, "again.dpo.json", "\"finished\":true"));
    program_write_file(&f.p, "again.dpo.reference.json", "old");
    program_start(&f.p, PROGRAM_ARGS(RUN_ARGS("again"), "--restart"));
    runfix_wait(&f, "again.dpo.reference.json", "logprobs");
    assert_int_equal(access(program_path(&f.p, "again.dpo.json"), F_OK), -1);
    assert_int_equal(kill(f.p.pid, SIGKILL), 0);
    program_end(&f.p);
    modelfix_close(&f);
}

/* ... and not before they are known: the old run is still there when that fails. */
static void test_dpo_cannot_begin_again(void **state)
{
    modelfix f;
    fix_open(&f, "{\"rules\":[{\"route\":\"forward_backward\",\"action\":\"status\","
                 "\"status\":400,\"skip\":20,\"times\":1}]}");
    run_well(&f, PROGRAM_ARGS(RUN_ARGS("again")));
    program_write_file(&f.p, "again.dpo.reference.json", "old");
    program_run(&f.p, PROGRAM_ARGS(RUN_ARGS("again"), "--restart"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Cannot compute the log-probabilities"));
    assert_true(runfix_has(&f, "again.dpo.json", "\"finished\":true"));
    assert_true(runfix_has(&f, "again.dpo.reference.json", "old"));
    modelfix_close(&f);
}

/* A budget, which counts both passes of a step; --resume with held-out data that the run did
 * not have before; and Ctrl-C. */
static void test_dpo_interrupted(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_start(&f.p,
                  PROGRAM_ARGS("dpo", "d.jsonl", "-m", MODEL, "--steps", "6", "--batch",
                               "2", "--rank", "2", "--metrics", "i.m", "--save", "i",
                               "--save-every", "1", "--budget-tokens", "250"));
    program_end(&f.p);
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "the budget of 250 tokens is too small"));
    run_well(&f, PROGRAM_ARGS("dpo", "d.jsonl", "--save", "i", "--resume", "--eval",
                              "d.jsonl", "--budget-tokens", "100000"));
    assert_true(program_said(&f.p.out, "held-out loss  0."));
    program_start(&f.p, PROGRAM_ARGS("dpo", "d.jsonl", "-m", MODEL, "--steps", "100000",
                                     "--batch", "2", "--rank", "2", "--metrics", "j.m",
                                     "--save", "j", "--save-every", "0"));
    runfix_wait(&f, "j.m", "\"step\":2,");
    assert_int_equal(kill(f.p.pid, SIGINT), 0);
    program_end(&f.p);
    assert_int_equal(f.p.code, 130);
    assert_true(program_said(&f.p.err, "tinkc dpo --save j --resume d.jsonl\n"));
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* A server that fails before the first step, or in one. */
static void test_dpo_server_fails(void **state)
{
    static const struct {
        const char *faults, *words;
    } cases[] = {
        {"{\"rules\":[{\"route\":\"forward_backward\",\"action\":\"status\","
         "\"status\":400,\"detail\":\"no more\"}]}",
         "Error: Cannot compute the log-probabilities of the start weights: "},
        {"{\"rules\":[{\"route\":\"forward_backward\",\"action\":\"status\","
         "\"status\":400,\"detail\":\"no more\",\"skip\":4}]}",
         "Error: Training stopped: "},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        modelfix f;
        fix_open(&f, cases[i].faults);
        program_run(&f.p, PROGRAM_ARGS("dpo", "d.jsonl", "-m", MODEL, "--steps", "4",
                                       "--batch", "1", "--rank", "2"));
        assert_int_equal(f.p.code, 1);
        assert_true(program_said(&f.p.err, cases[i].words));
        assert_true(program_said(&f.p.err, "no more"));
        assert_int_equal(f.p.out.n, 0);
        runfix_expect_unloaded(&f);
        modelfix_close(&f);
    }
}

/* The scripted server, whose log-probabilities are -2 for each token, halved by the first
 * optimizer step: with every name of the loss, or none, it is
 * computed here; where they become NaN the run ends. */
static void test_dpo_manners(void **state)
{
    static const fakeapi_tinker_options manners[] = {
        {.json_results = true}, {.loss = ""}, {.loss = "loss:mean"}, {.nan_after = 1}};
    for (size_t i = 0; i < TK_ARRAY_LEN(manners); i++) {
        modelfix f;
        char url[MODELFIX_URL_BYTES], command[512];
        fakeapi *api = fakeapi_start();
        fix_open(&f, NULL);
        (void)snprintf(command, sizeof(command), "cp -r %s %s/own",
                       TEST_DATA_DIR "/../../models/pebble-llama-2m", f.p.dir);
        assert_int_equal(system(command), 0);
        fakeapi_tinker(api, &manners[i]);
        (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", fakeapi_url(api));
        program_env(&f.p, url);
        program_env(&f.p, "TINKER_API_KEY=tml-any");
        program_run(&f.p, PROGRAM_ARGS("dpo", "d.jsonl", "-m", "m", "--tokenizer", "own",
                                       "--steps", "2", "--batch", "3", "--metrics", "m",
                                       "--set", "max_retries=0"));
        assert_true(runfix_has(&f, "m", "\"loss\":0.6931471805599453,"));
        if (manners[i].nan_after > 0) {
            assert_int_equal(f.p.code, 1);
            assert_true(program_said(&f.p.err, "Error: Training stopped: "));
        } else {
            if (f.p.code != 0) {
                fail_msg("manner %zu: %s", i, f.p.err.p);
            }
            assert_true(runfix_has(&f, "m", "\"step\":2,"));
        }
        fakeapi_stop(&api);
        modelfix_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dpo_learns),
        cmocka_unit_test(test_dpo_rate),
        cmocka_unit_test(test_dpo_shows),
        cmocka_unit_test(test_dpo_formats),
        cmocka_unit_test(test_dpo_bad_data),
        cmocka_unit_test(test_dpo_usage),
        cmocka_unit_test(test_dpo_killed_and_resumed),
        cmocka_unit_test(test_dpo_resumed_from_file),
        cmocka_unit_test(test_dpo_begun_again),
        cmocka_unit_test(test_dpo_cannot_begin_again),
        cmocka_unit_test(test_dpo_interrupted),
        cmocka_unit_test(test_dpo_server_fails),
        cmocka_unit_test(test_dpo_manners),
    };
    return cmocka_run_group_tests_name("cmd_dpo", tests, NULL, NULL);
}
