/* The first mistakes of a new user, with the real program: no server, no key, a wrong
 * model, a misspelt word. Each ends soon, with the next step.
 * Links: text */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/clifix.h"

#define NOWHERE "http://127.0.0.1:1"

/* A home whose profile has the options of the library for a server that is not there. The
 * wait is short, so that the test is: with the usual 2 seconds it is only later. */
typedef struct home {
    char dir[32], folder[64], file[96], data[64], env[64];
} home;

static void open_home(home *h)
{
    static const char profiles[] =
        "{\"default\":null,\"profiles\":{\"none\":{\"base_url\":\"" NOWHERE
        "\",\"api_key\":\"tml-x\",\"connect_wait_ms\":\"1\"}}}";
    static const char line[] = "{\"prompt\":\"a\",\"completion\":\"b\"}\n";
    tk_err err = TK_ERR_INIT;
    (void)snprintf(h->dir, sizeof(h->dir), "/tmp/tinkc-first-XXXXXX");
    assert_non_null(mkdtemp(h->dir));
    (void)snprintf(h->env, sizeof(h->env), "XDG_CONFIG_HOME=%s", h->dir);
    (void)snprintf(h->folder, sizeof(h->folder), "%s/tinkc", h->dir);
    (void)snprintf(h->file, sizeof(h->file), "%s/profiles.json", h->folder);
    (void)snprintf(h->data, sizeof(h->data), "%s/data.jsonl", h->dir);
    assert_int_equal(tk_file_mkdirs(h->folder, 0700, &err), TINKC_OK);
    assert_int_equal(tk_file_replace(h->file, profiles, strlen(profiles), 0600, &err),
                     TINKC_OK);
    assert_int_equal(tk_file_replace(h->data, line, strlen(line), 0600, &err), TINKC_OK);
}

static void close_home(home *h)
{
    (void)unlink(h->file);
    (void)unlink(h->data);
    (void)rmdir(h->folder);
    (void)rmdir(h->dir);
}

static void expect(proc *p, int status, const char *const *words)
{
    (void)proc_wait(p);
    for (; *words != NULL; words++) {
        if (p->status != status || strstr(proc_err(p), *words) == NULL) {
            fail_msg("status %d, not '%s' in: %s", p->status, *words, proc_err(p));
        }
    }
    proc_free(&p);
}

/* Every command, also one that is patient with a server that it knows, and a program of a
 * user: a port that refuses ends it, and the message says what to do. */
static void test_cli_first_no_server(void **unused)
{
    static const char *const hint[] = {
        "Error: ", "Connection failed: there is no server at " NOWHERE " (",
        "\nHint: Is 'tinkc serve' running? Start it, add --local,", NULL};
    static const char *const message[] = {"there is no server at " NOWHERE " (",
                                          "start one (tinkc serve)", NULL};
    home h;
    open_home(&h);
    const char *const env[] = {h.env, "TINKC_PROFILE=none", NULL};
    const char *const commands[][8] = {
        {TINKC_PROGRAM, "train", "-m", "m", h.data},
        {TINKC_PROGRAM, "sample", "-m", "m", "hello"},
        {TINKC_PROGRAM, "run", "list"},
    };
    const proc_options options = {.env = env, .cwd = h.dir};
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        expect(proc_start(&options, commands[i]), 1, hint);
    }
    const char *const example[] = {EXAMPLES_DIR "/01_hello", NULL};
    expect(proc_start(&options, example), 1, message);
    close_home(&h);
}

static void test_cli_first_no_key(void **unused)
{
    static const char *const env[] = {"TINKER_BASE_URL=https://tinker.example", NULL};
    static const char *const argv[] = {TINKC_PROGRAM, "run", "list", NULL};
    static const char *const words[] = {
        "no API key",          "\nHint: ",       "--local",
        "'tinker auth login'", "TINKER_API_KEY", NULL};
    expect(proc_start(&(proc_options){.env = env}, argv), 1, words);
}

/* The server's list says what there is, and what was meant. */
static void test_cli_first_wrong_model(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_wide_world(f.api);
    fakeapi_default(f.api, "POST", CLI_API "*",
                    &(fakeapi_step){.status = 400, .body = "{\"detail\":\"no\"}"});
    clifix_refused(
        &f, "sample -m a-model-with-a-long-name --tokens 1", 1,
        "Error: a-model-with-a-long-name is neither a checkpoint nor a model that is "
        "served here; served: "
        "somebody/a-model-with-a-long-name-70B-Instruct\n"
        "Hint: Did you mean 'somebody/a-model-with-a-long-name-70B-Instruct'?\n");
    /* `train` looks for the tokenizer first, which nothing knows */
    home h;
    char line[128];
    open_home(&h);
    f.options.cwd = h.dir;
    clifix_env(&f, "HF_HUB_OFFLINE=1");
    (void)snprintf(line, sizeof(line), "train -m a-model %s", h.data);
    clifix_refused(&f, line, 1, "Error: a-model is not served here; served: somebody/");
    close_home(&h);
    f.options.cwd = NULL;
    clifix_refused(&f, "sample -m x/y --tokens 1", 1,
                   "Hint: 'tinkc models' lists them.\n");
    /* a model of the list, and a checkpoint: the server's own words */
    clifix_refused(&f,
                   "sample -m somebody/a-model-with-a-long-name-70B-Instruct --tokens 1",
                   1, "Error: Cannot open somebody/");
    clifix_refused(&f, "sample -m " CLI_TWO " --tokens 1", 1,
                   "Error: Cannot open " CLI_TWO);
    clifix_end(&f);
}

/* Lines to paste start the program as it was called, if it is not in the PATH, and name the
 * same server. */
static void test_cli_first_paste(void **unused)
{
    clifix f;
    char line[256], hint[512];
    clifix_begin(&f);
    clifix_wide_world(f.api);
    fakeapi_default(f.api, "POST", CLI_API "*",
                    &(fakeapi_step){.status = 400, .body = "{\"detail\":\"no\"}"});
    (void)snprintf(line, sizeof(line), "sample -m x/y --tokens 1 --base-url %s",
                   fakeapi_url(f.api));
    (void)snprintf(hint, sizeof(hint), "Hint: 'tinkc models --base-url %s' lists them.\n",
                   fakeapi_url(f.api));
    clifix_refused(&f, line, 1, hint);
    clifix_env(&f, "PATH=/usr/bin:/bin");
    clifix_refused(&f, "sample -m x/y --tokens 1", 1,
                   "Hint: '" TINKC_PROGRAM " models' lists them.\n");
    clifix_end(&f);
}

/* Commands, their second words, options and options of the library. */
static void test_cli_first_misspelt(void **unused)
{
    static const struct {
        const char *line, *words;
        int status;
    } rows[] = {
        {"trian", "Error: No such command 'trian'. Did you mean 'train'?\n", 2},
        {"chekpoint", "'chekpoint'. Did you mean 'checkpoint'?\n", 2},
        {"download", "'download'. Did you mean 'checkpoint download'?\n", 2},
        {"run lsit", "'run lsit'. Did you mean 'run list'?\n", 2},
        {"run list --limt 1", "No such option: --limt. Did you mean --limit?\n", 2},
        {"run list --base-ulr x", "--base-ulr. Did you mean --base-url?\n", 2},
        {"run list --set tmeout=1",
         "there is no option \"tmeout\"; did you mean \"timeout\"?\n", 1},
        {"help trian", "'trian'. Did you mean 'train'?\n", 2},
        {"help run lsit", "'run lsit'. Did you mean 'run list'?\n", 2},
        {"help train list", "Error: 'train' has no commands of its own.\n", 2},
        {"xyzzy", "Error: No such command 'xyzzy'.\n", 2},
    };
    clifix f;
    clifix_begin(&f);
    f.retries = true;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clifix_refused(&f, rows[i].line, rows[i].status, rows[i].words);
    }
    clifix_end(&f);
}

/* `help` is --help in other words. */
static void test_cli_first_help(void **unused)
{
    static const char *const rows[][2] = {{"help", "--help"},
                                          {"help train", "train --help"},
                                          {"help checkpoint", "checkpoint --help"},
                                          {"help run list", "run list --help"},
                                          {"help help", "help --help"}};
    clifix f;
    clifix_begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        proc *p = clifix_run(&f, rows[i][1]);
        assert_int_equal(p->status, 0);
        assert_non_null(strstr(proc_out(p), "Usage: tinkc"));
        clifix_expect(&f, rows[i][0], proc_out(p));
        proc_free(&p);
    }
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_first_no_server),
        cmocka_unit_test(test_cli_first_no_key),
        cmocka_unit_test(test_cli_first_wrong_model),
        cmocka_unit_test(test_cli_first_paste),
        cmocka_unit_test(test_cli_first_misspelt),
        cmocka_unit_test(test_cli_first_help),
    };
    return cmocka_run_group_tests_name("cli_first", tests, NULL, NULL);
}
