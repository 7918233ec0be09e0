/* What `tinkc train` shows, on a terminal of 80 columns and elsewhere, against the real
 * server: progress that says what a slow step waits for, Ctrl-C, a loss that goes wrong,
 * and command lines that work when they are pasted.
 * Links: peer client text server */
#include "base/str.h"
#include "cli/modelfix.h"

#define MODEL MODELFIX_NAME
#define TRAIN "train", "d.jsonl", "-m", MODEL, "--batch", "2", "--rank", "2"

static const char lines[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Say red.\"},"
    "{\"role\":\"assistant\",\"content\":\"red\"}]}\n"
    "{\"prompt\":\"One, two,\",\"completion\":\" three\"}\n"
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Say blue.\"},"
    "{\"role\":\"assistant\",\"content\":\"blue\"}]}\n";

static void fix_open(modelfix *f, const char *faults)
{
    modelfix_open(f, faults);
    program_write_file(&f->p, "d.jsonl", lines);
}

/* Checks that no line that changes in place is wider than the terminal, and returns the
 * last one that has the text; NULL: none. */
static const char *drawn(program *p, const char *text, char out[256])
{
    const char *found = NULL;
    const char *at = p->out.p;
    while ((at = strstr(at, "\r\033[K")) != NULL) {
        at += 4;
        size_t n = strcspn(at, "\r");
        if (at[n] != '\r' || at[n + 1] == '\n') { /* a line that stays */
            continue;
        }
        assert_true(n < p->columns && n < 256);
        if (memmem(at, n, text, strlen(text)) != NULL) {
            memcpy(out, at, n);
            out[n] = '\0';
            found = out;
        }
    }
    return found;
}

/* The third step never ends: the line keeps step, bar, loss, tokens/s and ETA, and says
 * what it waits for. Ctrl-C is answered at once; the second one ends the program. */
static void test_train_out_slow_step(void **state)
{
    static const char *const parts[] = {"step 2/8 [#", "] loss ", " tokens/s  ETA 0:"};
    modelfix f;
    char line[256];
    fix_open(&f, "{\"rules\":[{\"route\":\"forward_backward\",\"action\":\"delay\","
                 "\"delay_ms\":3600000,\"skip\":2,\"times\":1}]}");
    program_env(&f.p, "TINKC_SHOW_WAITS=1");
    f.p.columns = 80;
    program_start(&f.p, PROGRAM_ARGS(TRAIN, "--steps", "8"));
    assert_true(program_wait_text(&f.p, false, "step 2/8 "));
    do { /* a wait of the second step may be shown first */
        tk_buf_clear(&f.p.out);
        assert_true(program_wait_text(&f.p, false, "forward_backward "));
        assert_true(program_wait_text(&f.p, false, " s\r\033[K"));
    } while (drawn(&f.p, "step 2/8 ", line) == NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) {
        if (strstr(line, parts[i]) == NULL) {
            fail_msg("%s", line);
        }
    }
    program_send(&f.p, "\x03");
    assert_true(program_wait_text(
        &f.p, false, "Finishing step 4, saving; Ctrl-C again to quit now.\r\n"));
    program_send(&f.p, "\x03");
    program_end(&f.p);
    assert_int_equal(f.p.code, 130);
    modelfix_close(&f);
}

/* Loading, evaluating, saving and the memory of the server are shown; nothing is wider
 * than the terminal. */
static void test_train_out_phases(void **state)
{
    static const char *const phases[] = {"Loading ", "Evaluating 3 held-out lines",
                                         "evaluating", "saving", "server "};
    modelfix f;
    char line[256];
    fix_open(&f, "{\"rules\":[{\"route\":\"create_model\",\"action\":\"delay\","
                 "\"delay_ms\":1000},{\"route\":\"save_weights\",\"action\":\"delay\","
                 "\"delay_ms\":1000},{\"route\":\"forward_backward\",\"action\":"
                 "\"delay\",\"delay_ms\":1000}]}");
    program_env(&f.p, "TINKC_SHOW_WAITS=5000");
    f.p.columns = 80;
    program_run(&f.p,
                PROGRAM_ARGS(TRAIN, "--steps", "2", "--eval", "d.jsonl", "--stats"));
    assert_int_equal(f.p.code, 0);
    for (size_t i = 0; i < TK_ARRAY_LEN(phases); i++) {
        if (drawn(&f.p, phases[i], line) == NULL) {
            fail_msg("%s is not shown: %s", phases[i], f.p.out.p);
        }
    }
    assert_true(program_said(&f.p.out, "step 2/2  held-out loss "));
    assert_true(program_said(&f.p.out, "server_memory_peak_bytes "));
    modelfix_close(&f);
}

/* Runs the command line that starts with these words, as a shell would; it has no
 * quotes. */
static void paste(modelfix *f, const char *text, const char *start)
{
    char line[1024];
    const char *words[32] = {NULL};
    size_t n = 0;
    const char *at = strstr(text, start);
    assert_non_null(at);
    (void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
    char *rest = line;
    (void)strsep(&rest, " "); /* tinkc */
    for (char *word; (word = strsep(&rest, " ")) != NULL && n + 1 < 32;) {
        words[n++] = word;
    }
    program_run(&f->p, words);
    if (f->p.code != 0) {
        fail_msg("%s: %s", start, f->p.err.p);
    }
}

/* Without a terminal there are plain lines. The choice of --lr auto is printed, and the
 * command lines at the end work. */
static void test_train_out_next(void **state)
{
    modelfix f;
    char next[8192];
    fix_open(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS(TRAIN, "--steps", "2"));
    assert_int_equal(f.p.code, 0);
    assert_null(strchr(f.p.err.p, '\r'));
    assert_true(program_said(&f.p.err, "3 lines, 2 steps of 2, rank 2\n"
                                       "Learning rate 0.0056 (--lr auto for 1.05M "
                                       "parameters)\nConsole: http://127.0.0.1:"));
    const char *line = strstr(f.p.err.p, "\nConsole: ") + 1;
    char shown[512];
    (void)snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(line, "\n"), line);
    assert_non_null(strstr(shown, "/#/runs/"));
    assert_true(tk_str_has_prefix(tk_str_of(line + strlen(shown)), "\nstep 1/2  loss "));
    assert_true(program_said(&f.p.err, "\nNext:\n  tinkc chat -m d\n"));
    (void)snprintf(next, sizeof(next), "%s", f.p.err.p);
    paste(&f, next, "tinkc sample ");
    assert_true(f.p.out.n > 0);
    paste(&f, next, "tinkc checkpoint download ");
    paste(&f, next, "tinkc train ");
    assert_true(program_said(&f.p.out, "/sampler_weights/d-2\n"));
    f.p.input = "Say red.\n";
    paste(&f, next, "tinkc chat ");
    assert_true(f.p.out.n > 0);
    modelfix_close(&f);
}

/* The rate of --lr auto depends on the number of parameters that the server has counted,
 * whatever the name says; of a server that does not tell, the name's. */
static void test_train_out_parameters(void **state)
{
    program p;
    char url[MODELFIX_URL_BYTES];
    static const struct {
        const char *models, *words;
    } cases[] = {
        {"{\"models\":[{\"model_name\":\"" MODEL "\",\"parameters\":8000000000}]}",
         "Learning rate 0.00059 (--lr auto for 8B parameters)\n"},
        {"{\"models\":[{\"model_name\":\"other\",\"parameters\":8000000000}]}",
         "Learning rate 0.0047 (--lr auto for 2M parameters)\n"},
        {"{\"models\":[{\"model_name\":\"" MODEL "\",\"parameters\":\"many\"}]}",
         "Learning rate 0.0047 (--lr auto for 2M parameters)\n"},
        {"[", "Learning rate 0.0047 (--lr auto for 2M parameters)\n"},
    };
    fakeapi *api = modelfix_peer(url, NULL);
    program_open(&p, TINKC_PROGRAM);
    program_env(&p, url);
    program_write_file(&p, "d.jsonl", lines);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        fakeapi_default(api, "GET", "/tinkc/v1/models", &fakeapi_json(cases[i].models));
        program_run(&p, PROGRAM_ARGS(TRAIN, "--steps", "1", "--restart", "--tokenizer",
                                     TEST_DATA_DIR "/../../models/pebble-llama-2m"));
        if (p.code != 0 || !program_said(&p.err, cases[i].words)) {
            fail_msg("case %zu: %s", i, p.err.p);
        }
    }
    program_close(&p);
    fakeapi_stop(&api);
}

/* A file name that a shell would split, and an option of the server. */
static void test_train_out_quotes(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_write_file(&f.p, "it's mine.jsonl", lines);
    program_run(&f.p, PROGRAM_ARGS("train", "it's mine.jsonl", "-m", MODEL, "--steps",
                                   "1", "--base-url", srv_url(f.srv.server)));
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.err, " 'it'\\''s mine.jsonl'\n"));
    assert_true(program_said(&f.p.err, "tinkc chat --base-url http://"));
    modelfix_close(&f);
}

/* A learning rate that is far too high: a warning with that cause, once. */
static void test_train_out_alarm(void **state)
{
    modelfix f;
    fix_open(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS(TRAIN, "--steps", "8", "--lr", "5"));
    assert_int_equal(f.p.code, 0);
    const char *warning = strstr(f.p.err.p, "Warning: the loss rose from ");
    assert_non_null(warning);
    assert_non_null(strstr(warning,
                           "The learning rate is probably too high: it is 5, and "
                           "--lr auto would take 0.0056.\n"));
    assert_null(strstr(warning + 1, "Warning"));
    modelfix_close(&f);
}

/* A loss that is not a number: a warning with the likely cause; the run ends, and its last
 * checkpoint is one from before. */
static void test_train_out_nan(void **state)
{
    program p;
    char url[MODELFIX_URL_BYTES];
    const fakeapi_tinker_options options = {.nan_after = 3};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &options);
    (void)snprintf(url, sizeof(url), "TINKER_BASE_URL=%s", fakeapi_url(api));
    program_open(&p, TINKC_PROGRAM);
    program_env(&p, url);
    program_write_file(&p, "d.jsonl", lines);
    program_run(&p,
                PROGRAM_ARGS(TRAIN, "--steps", "8", "--save-every", "2", "--tokenizer",
                             TEST_DATA_DIR "/../../models/pebble-llama-2m"));
    assert_int_equal(p.code, 1);
    assert_true(program_said(
        &p.err,
        "Warning: the loss of step 4 is not a number. The learning rate may be too "
        "high for this data: try --lr 0.0012 or --clip 1"));
    assert_true(program_said(&p.err,
                             "Error: the loss of step 4 is not a number\n"
                             "The last checkpoint is that of step 2.\nContinue:\n"));
    program_close(&p);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_out_slow_step),
        cmocka_unit_test(test_train_out_phases),
        cmocka_unit_test(test_train_out_next),
        cmocka_unit_test(test_train_out_parameters),
        cmocka_unit_test(test_train_out_quotes),
        cmocka_unit_test(test_train_out_alarm),
        cmocka_unit_test(test_train_out_nan),
    };
    return cmocka_run_group_tests_name("cmd_train_out", tests, NULL, NULL);
}
