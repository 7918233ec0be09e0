/* `tinkc train` as a user runs it, against the real server: it learns, it says what is
 * wrong with data, and a run that was killed goes on exactly.
 * Links: peer client text server */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/train/runfix.h"

#define MODEL MODELFIX_NAME
#define DATA  TEST_DATA_DIR "/../../examples/data/"

static const char two_lines[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Say red.\"},"
    "{\"role\":\"assistant\",\"content\":\"red\"}]}\n"
    "{\"prompt\":\"One, two,\",\"completion\":\" three\"}\n"
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Say blue.\"},"
    "{\"role\":\"assistant\",\"content\":\"blue\"}]}\n";

static void fix_open(modelfix *f, const char *faults)
{
    modelfix_open(f, faults);
    program_write_file(&f->p, "d.jsonl", two_lines);
}

/* ---- learning ---- */

/* The first lines of a file; all of them would take long under sanitizers. */
static void write_head(modelfix *f, const char *name, const char *path, size_t lines)
{
    char *text = NULL;
    assert_int_equal(tk_file_read(&text, NULL, path, TK_MIB, NULL), TINKC_OK);
    char *end = text;
    while (lines-- > 0 && strchr(end, '\n') != NULL) {
        end = strchr(end, '\n') + 1;
    }
    *end = '\0';
    program_write_file(&f->p, name, text);
    tk_free(text);
}

/* The data that comes with the examples: a lower loss on lines that were not trained
 * on. */
static void test_train_learns(void **state)
{
    static const char *const sets[][2] = {
        {DATA "orders.jsonl", DATA "orders-held-out.jsonl"},
        {DATA "weather.jsonl", DATA "weather-held-out.jsonl"}};
    modelfix f;
    fix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(sets); i++) {
        write_head(&f, "held-out.jsonl", sets[i][1], 8);
        program_run(&f.p,
                    PROGRAM_ARGS("train", sets[i][0], "--model", MODEL, "--eval",
                                 "held-out.jsonl", "--steps", "6", "--batch", "3", "--lr",
                                 "6e-3", "--rank", "4", "--format", "json"));
        if (f.p.code != 0) {
            fail_msg("%s", f.p.err.p);
        }
        const tk_json *json = runfix_parse(&f, f.p.out.p, f.p.out.n);
        double first = runfix_number(json, "eval_loss_first");
        double last = runfix_number(json, "eval_loss_last");
        print_message("held-out loss %.4f -> %.4f\n", first, last);
        assert_true(last < 0.8 * first);
        assert_true(runfix_number(json, "loss_last") < runfix_number(json, "loss_first"));
        assert_true(runfix_number(json, "steps") == 6);
        assert_non_null(strstr(srvfix_text(json, "weights"), "/sampler_weights/"));
    }
    modelfix_close(&f);
}

/* For people: curve, losses, paths; progress on standard error, and the picture. */
static void test_train_shows(void **state)
{
    modelfix f;
    char *svg = NULL;
    size_t n = 0;
    fix_open(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--eval",
                                   "d.jsonl", "--steps", "4", "--batch", "2", "--rank",
                                   "2", "--svg", "loss.svg", "--save", "my-name"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "held-out loss"));
    assert_true(program_said(&f.p.out, "step 0 to 4; * training; o held-out"));
    assert_true(program_said(&f.p.out, "/sampler_weights/my-name\n"));
    assert_false(program_said(&f.p.out, "ETA"));
    assert_true(program_said(&f.p.err, "step 4/4  loss "));
    assert_true(program_said(&f.p.err, "tokens/s  ETA 0:00"));
    assert_true(program_read_file(&f.p, "loss.svg", &svg, &n));
    assert_non_null(strstr(svg, "<polyline"));
    tk_free(svg);
    f.p.columns = 40;
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--steps", "3",
                                   "--batch", "1", "--rank", "2"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "\r\033[K")); /* in place, on a terminal */
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* ---- data ---- */

static void test_train_bad_data(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_write_file(&f.p, "bad.jsonl",
                       "{\"prompt\":\"a\",\"completion\":\"b\"}\n\n{\"txt\":1}\n"
                       "{\"prompt\":\"a\",\"completion\":\"\"}\n");
    program_run(&f.p, PROGRAM_ARGS("train", "bad.jsonl", "--model", MODEL));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "bad.jsonl:3: is not in a known format"));
    assert_true(program_said(&f.p.err, "bad.jsonl:4: nothing to train"));
    assert_true(program_said(
        &f.p.err, "Error: 2 of 3 lines of bad.jsonl cannot be used for training\n"));
    assert_true(program_said(&f.p.err, "--skip-bad"));
    assert_int_equal(f.p.out.n, 0);
    program_run(&f.p, PROGRAM_ARGS("train", "bad.jsonl", "--model", MODEL, "--skip-bad",
                                   "--check", "--format", "json"));
    assert_int_equal(f.p.code, 0);
    assert_true(runfix_number(runfix_parse(&f, f.p.out.p, f.p.out.n), "rows") == 1);
    program_write_file(&f.p, "empty.jsonl", "\n");
    program_run(&f.p, PROGRAM_ARGS("train", "empty.jsonl", "--model", MODEL));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "empty.jsonl has no line to train on"));
    modelfix_close(&f);
}

/* Several files of several formats, packed and by pattern, are one run, which says what
 * each of them is. */
static void test_train_formats(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS("train", TEST_DATA_DIR "/train/qa-m*.csv*",
                                   TEST_DATA_DIR "/train/chat.jsonl.zst", "d.jsonl", "-m",
                                   MODEL, "--steps", "2", "--batch", "2", "--rank", "2",
                                   "--save", "all", "--format", "json"));
    if (f.p.code != 0) {
        fail_msg("%s", f.p.err.p);
    }
    assert_true(program_said(&f.p.err, "/qa-mark.csv: 6 conversations (question/answer, "
                                       "CSV)\n"));
    assert_true(program_said(&f.p.err, "/qa-members.csv.gz: 6 conversations "));
    assert_true(program_said(&f.p.err, "/chat.jsonl.zst: 4 conversations (OpenAI chat)\n"
                                       "d.jsonl: 2 conversations (OpenAI chat), 1 pair "
                                       "(prompt/completion)\n"));
    assert_true(runfix_number(runfix_parse(&f, f.p.out.p, f.p.out.n), "rows") == 19);
    program_run(&f.p, PROGRAM_ARGS("train", TEST_DATA_DIR "/train/qa.csv.gz", "-m", MODEL,
                                   "--steps", "1", "--batch", "1", "--rank", "2"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "/sampler_weights/qa\n"));
    program_write_file(&f.p, "d.parquet", "PAR1");
    program_run(&f.p, PROGRAM_ARGS("train", "d.parquet", "-m", MODEL, "--base-url",
                                   "http://127.0.0.1:1"));
    assert_int_equal(f.p.code, 1); /* before a server is asked */
    assert_true(program_said(&f.p.err, "d.parquet is a Parquet file, which is not read"));
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--input-format",
                                   "chat", "--check"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "d.jsonl:2: is not OpenAI chat data"));
    modelfix_close(&f);
}

/* A run on standard input is resumed with the same input only. */
static void test_train_stdin_resumed(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    f.p.input = two_lines;
    program_run(&f.p, PROGRAM_ARGS("train", "-", "-m", MODEL, "--steps", "4", "--batch",
                                   "1", "--rank", "2", "--save-every", "1",
                                   "--budget-tokens", "24"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "budget"));
    assert_true(runfix_has(&f, "stdin.train.json", "\"finished\":false"));
    f.p.input = "{\"prompt\":\"a\",\"completion\":\"b\"}\n";
    program_run(&f.p, PROGRAM_ARGS("train", "-", "--resume"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err,
                             "standard input is not the data of the run in stdin.train"));
    f.p.input = two_lines;
    program_run(&f.p, PROGRAM_ARGS("train", "-", "--resume"));
    assert_int_equal(f.p.code, 0);
    modelfix_close(&f);
}

static void test_train_usage(void **state)
{
    static const struct {
        const char *const args[8];
        const char *words;
        int code;
    } cases[] = {
        {{"train", NULL}, "Missing argument: FILE", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--rank", "0", NULL}, "'--rank': '0'", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--lr", "-1", NULL}, "'--lr': '-1'", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--save", "a/b", NULL}, "is not a name", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--save", "a#", NULL}, "is not a name", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--save", ".a", NULL}, "is not a name", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--save", "", NULL}, "is not a name", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--seed", "-4", NULL}, "'--seed': '-4'", 2},
        {{"train", "d.jsonl", "-m", MODEL, "-n", "0", NULL}, "'--steps': '0'", 2},
        {{"train", "d.jsonl", "-m", MODEL, "--resume", "--restart", NULL}, "not both", 2},
        {{"train", "d.jsonl", "--eval-every", "2", NULL},
         "--eval-every has no effect without --eval",
         2},
        {{"train", "none.jsonl", "--eval-every", "0", NULL}, "cannot open none.jsonl", 1},
        {{"train", "none.jsonl", "-m", MODEL, NULL},
         "cannot open none.jsonl: No such file or directory",
         1},
        {{"train", "d.jsonl", "-m", MODEL, "--state", "no/dir", NULL},
         "Error: cannot write no/dir: No such",
         1},
        {{"train", "d.jsonl", "-m", MODEL, "--svg", "no/dir", NULL},
         "Error: cannot write no/dir: No such",
         1},
        {{"train", "d.jsonl", "-m", MODEL, "--svg", "d.jsonl/a", NULL},
         "Error: cannot write d.jsonl/a: Not a directory",
         1},
        {{"train", "d.jsonl", "-m", "no/model", NULL}, "Error: ", 1},
        {{"train", "d.jsonl", "-m", MODEL, "--metrics", "no/dir", NULL},
         "Error: cannot write no/dir: No such",
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

/* A data file may have any name; the name of a checkpoint made from it is limited. */
static void test_train_names(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_write_file(&f.p, ".my data (1).jsonl", two_lines);
    program_run(&f.p, PROGRAM_ARGS("train", ".my data (1).jsonl", "-m", MODEL, "--steps",
                                   "1", "--batch", "1", "--rank", "2"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "/sampler_weights/-my-data--1-\n"));
    f.p.input = two_lines;
    program_run(&f.p, PROGRAM_ARGS("train", "-", "-m", MODEL, "--steps", "1", "--batch",
                                   "1", "--rank", "2"));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.out, "/sampler_weights/stdin\n"));
    modelfix_close(&f);
}

/* ---- going on ---- */

#define RUN_ARGS(name)                                                                   \
    "train", "d.jsonl", "--model", MODEL, "--steps", "8", "--batch", "2", "--rank", "2", \
        "--lr", "3e-3", "--save-every", "3", "--save", name, "--metrics", name ".m",     \
        "--schedule", "cosine", "--eval", "d.jsonl"

/* How many checkpoints the server has whose name begins like that. */
static void expect_kept(modelfix *f, const char *name, unsigned wanted)
{
    char command[256];
    unsigned n = 99;
    (void)snprintf(command, sizeof(command),
                   "find %s/checkpoints -type d -name '%s*' | wc -l", f->srv.data, name);
    FILE *end = popen(command, "r");
    assert_non_null(end);
    assert_int_equal(fscanf(end, "%u", &n), 1);
    assert_int_equal(pclose(end), 0);
    assert_int_equal(n, wanted);
}

/* kill -9 in the middle, then --resume: the same weights, moments and losses as a run
 * that was not interrupted, bit for bit. */
static void test_train_killed_and_resumed(void **state)
{
    modelfix f;
    fix_open(&f,
             RUNFIX_HANGS("forward_backward",
                          "6")); /* the evaluation before the first step is one of them */
    program_start(&f.p, PROGRAM_ARGS(RUN_ARGS("killed")));
    runfix_wait(&f, "killed.m", "\"step\":5,"); /* two steps after the checkpoint */
    assert_int_equal(kill(f.p.pid, SIGKILL), 0);
    program_end(&f.p);
    assert_int_equal(f.p.code, 128 + SIGKILL);
    assert_true(runfix_has(&f, "killed.train.json", "\"step\":3,"));

    program_run(&f.p, PROGRAM_ARGS(RUN_ARGS("killed")));
    assert_int_equal(f.p.code, 1); /* not by accident from the beginning */
    assert_true(program_said(&f.p.err, "after step 3 of 8"));
    program_run(&f.p, PROGRAM_ARGS(RUN_ARGS("killed"), "--check"));
    assert_int_equal(f.p.code, 0); /* which touches nothing */
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--save", "killed", "--resume",
                                   "--lr", "0.5"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "--lr was 3e-3 when the run started"));

    /* the other options are remembered, and the sums are those of all steps */
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--save", "killed", "--resume",
                                   "--lr", "auto", "--format", "json"));
    if (f.p.code != 0) {
        fail_msg("%s", f.p.err.p);
    }
    const tk_json *resumed = runfix_parse(&f, f.p.out.p, f.p.out.n);
    assert_true(runfix_number(resumed, "resumed_from") == 3);
    program_run(&f.p, PROGRAM_ARGS(RUN_ARGS("whole"), "--format", "json"));
    assert_int_equal(f.p.code, 0);
    const tk_json *whole = runfix_parse(&f, f.p.out.p, f.p.out.n);
    static const char *const same[] = {"step",      "tokens",        "loss_first",
                                       "loss_last", "learning_rate", "eval_loss_first"};
    for (size_t i = 0; i < TK_ARRAY_LEN(same); i++) {
        assert_true(runfix_number(resumed, same[i]) == runfix_number(whole, same[i]));
    }
    runfix_compare(&f, "train", "killed", "whole",
                   (const char *const[]){"loss", "eval_loss", NULL});
    expect_kept(&f, "whole-0", 0); /* those in between are not needed any more */
    expect_kept(&f, "whole.", 2);  /* for going on, and for sampling */

    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--save", "whole", "--resume"));
    assert_int_equal(f.p.code, 0); /* nothing left to do */
    assert_true(program_said(&f.p.err, "This run is already finished"));
    program_write_file(&f.p, "d.jsonl", two_lines + 1);
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--save", "whole", "--resume"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "is not the data of the run"));
    modelfix_close(&f);
}

/* A run that begins again and is killed before its first checkpoint is not the old one, which
 * --resume would otherwise continue, or find finished. */
static void test_train_begun_again(void **state)
{
    static const char *const olds[] = {"8", "1"}; /* to be stopped, and to be finished */
    modelfix f;
    (void)state;
    fix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(olds); i++) {
        program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--steps",
                                       olds[i], "--batch", "2", "--rank", "2", "--save",
                                       "again", "--save-every", "1", "--restart",
                                       "--budget-tokens", "100"));
        assert_true(runfix_has(&f, "again.train.json", "\"step\":"));
        assert_true(runfix_has(&f, "again.train.json", "\"finished\":true") == (i == 1));
        (void)unlink(program_path(&f.p, "again.m"));
        program_start(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--steps",
                                         "100000", "--batch", "2", "--rank", "2",
                                         "--save", "again", "--save-every", "0",
                                         "--restart", "--metrics", "again.m"));
        runfix_wait(&f, "again.m", "\"step\":2,");
        assert_int_equal(kill(f.p.pid, SIGKILL), 0);
        program_end(&f.p);
        assert_int_equal(f.p.code, 128 + SIGKILL);
        assert_false(runfix_has(&f, "again.train.json", "step"));
        program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--steps", "1",
                                       "--rank", "2", "--save", "again", "--resume"));
        assert_int_equal(f.p.code, 0);
        assert_false(program_said(&f.p.err, "Resuming"));
        assert_false(program_said(&f.p.err, "already finished"));
    }
    modelfix_close(&f);
}

/* A run that cannot begin leaves the state of the one that it would replace. */
static void test_train_cannot_begin_again(void **state)
{
    static const char *const bad[][2] = {
        {"--metrics", "no/dir"}, {"--metrics", "folder"}, {"--svg", "folder"}};
    modelfix f;
    (void)state;
    fix_open(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--steps", "8",
                                   "--batch", "2", "--rank", "2", "--save", "again",
                                   "--save-every", "1", "--budget-tokens", "100"));
    assert_int_equal(mkdir(program_path(&f.p, "folder"), 0700), 0);
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--save", "again",
                                       "--restart", bad[i][0], bad[i][1]));
        assert_int_equal(f.p.code, 1);
        assert_true(program_said(&f.p.err, "Error: cannot write "));
        assert_true(runfix_has(&f, "again.train.json", "\"finished\":false"));
    }
    modelfix_close(&f);
}

/* Ctrl-C: what is under way ends, a checkpoint is saved, 130; --resume goes on. */
static void test_train_interrupted(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_start(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--steps",
                                     "100000", "--batch", "2", "--rank", "2", "--metrics",
                                     "i.m", "--save", "i", "--save-every", "0"));
    runfix_wait(&f, "i.m", "\"step\":2,");
    assert_int_equal(kill(f.p.pid, SIGINT), 0);
    program_end(&f.p);
    assert_int_equal(f.p.code, 130);
    assert_true(program_said(&f.p.err, "saving; Ctrl-C again to quit now.\n"));
    assert_true(program_said(
        &f.p.err, "of 100000.\nContinue:\n  tinkc train --save i --resume d.jsonl\n"));
    assert_true(runfix_has(&f, "i.train.json", "\"finished\":false"));
    assert_true(runfix_has(&f, "i.train.json", "/weights/i-0"));
    runfix_expect_unloaded(&f);
    assert_int_equal(modelfix_finished(&f, "interrupted"), 1);
    modelfix_close(&f);
}

/* SIGTERM, and SIGTERM again at once, as `timeout` sends it: one request to stop. */
static void test_train_terminated_twice(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_start(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--steps",
                                     "100000", "--batch", "2", "--rank", "2", "--metrics",
                                     "i.m", "--save", "i", "--save-every", "0"));
    runfix_wait(&f, "i.m", "\"step\":2,");
    assert_int_equal(kill(f.p.pid, SIGTERM), 0);
    assert_int_equal(kill(f.p.pid, SIGTERM), 0);
    assert_true(program_wait_text(&f.p, true, "saving; "));
    (void)kill(f.p.pid, SIGTERM); /* it may have ended */
    program_end(&f.p);
    assert_int_equal(f.p.code, 130);
    assert_true(runfix_has(&f, "i.train.json", "/weights/i-0"));
    modelfix_close(&f);
}

/* A stop whose checkpoint cannot be saved is a failure, and is reported. */
static void test_train_stop_unsaved(void **state)
{
    modelfix f;
    fix_open(&f, "{\"rules\":[{\"route\":\"save_weights\",\"action\":\"status\","
                 "\"status\":400,\"detail\":\"disk full\"}]}");
    program_start(&f.p,
                  PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--steps", "100000",
                               "--batch", "2", "--rank", "2", "--save-every", "0"));
    assert_true(program_wait_text(&f.p, true, "step 1/100000"));
    assert_int_equal(kill(f.p.pid, SIGINT), 0);
    program_end(&f.p);
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Error: Training stopped: "));
    assert_true(program_said(&f.p.err, "disk full"));
    runfix_expect_unloaded(&f);
    assert_int_equal(modelfix_finished(&f, "errored"), 1);
    modelfix_close(&f);
}

/* A server that fails in the middle: the error, and what is left. */
static void test_train_server_fails(void **state)
{
    modelfix f;
    fix_open(&f, "{\"rules\":[{\"route\":\"forward_backward\",\"action\":\"status\","
                 "\"status\":400,\"detail\":\"no more\",\"skip\":3}]}");
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "--model", MODEL, "--steps", "8",
                                   "--batch", "1", "--rank", "2", "--save-every", "2"));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Error: Training stopped"));
    assert_true(program_said(&f.p.err, "no more"));
    assert_true(program_said(&f.p.err, "The last checkpoint is that of step 2"));
    runfix_expect_unloaded(&f);
    modelfix_close(&f);
}

/* A bad key, an answer that is nonsense, and a closed pipe in place of a reader of the
 * summary. */
static void test_train_faults(void **state)
{
    modelfix f;
    char url[MODELFIX_URL_BYTES];
    fakeapi *api = modelfix_peer(url, "tml-right");
    fix_open(&f, NULL);
    f.p.no_reader = true;
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--steps", "1",
                                   "--batch", "1", "--rank", "2"));
    assert_int_equal(f.p.code, 1);
    assert_true(runfix_has(&f, "d.train.json", "\"finished\":true")); /* it is saved */
    program_env(&f.p, url);
    program_env(&f.p, "TINKER_API_KEY=tml-wrong");
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Authentication failed"));
    assert_false(program_said(&f.p.err, "tml-wrong"));
    program_env(&f.p, "TINKER_API_KEY=tml-right");
    fakeapi_default(api, "GET", "/api/v1/get_server_capabilities", &fakeapi_json("[{"));
    program_run(&f.p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL));
    assert_int_equal(f.p.code, 1);
    assert_true(program_said(&f.p.err, "Malformed response"));
    modelfix_close(&f);
    fakeapi_stop(&api);
}

static void test_train_no_server(void **state)
{
    program p;
    program_open(&p, TINKC_PROGRAM);
    program_write_file(&p, "d.jsonl", two_lines);
    program_env(&p, "TINKER_BASE_URL=https://127.0.0.1:1");
    program_run(&p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--set",
                                 "retry_total=0", "--set", "max_retries=0"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "Error: "));
    program_env(&p, "TINKER_BASE_URL=https://example.invalid");
    program_run(&p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL));
    assert_int_equal(p.code, 1); /* no key */
    assert_true(program_said(&p.err, "TINKER_API_KEY"));
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_learns),
        cmocka_unit_test(test_train_shows),
        cmocka_unit_test(test_train_bad_data),
        cmocka_unit_test(test_train_formats),
        cmocka_unit_test(test_train_stdin_resumed),
        cmocka_unit_test(test_train_usage),
        cmocka_unit_test(test_train_names),
        cmocka_unit_test(test_train_killed_and_resumed),
        cmocka_unit_test(test_train_begun_again),
        cmocka_unit_test(test_train_cannot_begin_again),
        cmocka_unit_test(test_train_interrupted),
        cmocka_unit_test(test_train_terminated_twice),
        cmocka_unit_test(test_train_stop_unsaved),
        cmocka_unit_test(test_train_server_fails),
        cmocka_unit_test(test_train_faults),
        cmocka_unit_test(test_train_no_server),
    };
    return cmocka_run_group_tests_name("cmd_train", tests, NULL, NULL);
}
