/* Completion: what `tinkc completion query` answers, and the scripts in real shells, with
 * names that come from a server. tests/cli/test_cli_start.c has more of bash. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/clifix.h"

#define MODEL "somebody/a-model-with-a-long-name-70B-Instruct"
#define QUERY "completion query -- "

static void world(clifix *f)
{
    clifix_begin(f);
    clifix_wide_world(f->api);
}

static void test_completion_names(void **unused)
{
    clifix f;
    world(&f);
    clifix_expect(&f, QUERY "chat -m some", "words\n" MODEL "\tmodel\n");
    clifix_expect(&f, QUERY "chat -m tink",
                  "words\n" CLI_TWO "\tsampler_weights/two\n"); /* not for training */
    clifix_expect(&f, QUERY "chat -m tw", "words\ntwo\tcheckpoint\n"); /* by name */
    clifix_expect(&f, QUERY "chat -m ", "words\n" MODEL "\tmodel\ntwo\tcheckpoint\n");
    clifix_expect(&f, QUERY "checkpoint info 0", "words\n0001\tcheckpoint\n");
    clifix_expect(&f, QUERY "train x --load tinker://S:t",
                  "words\n" CLI_ONE "\tweights/0001\n" CLI_TWO "\tsampler_weights/two\n");
    clifix_expect(&f, QUERY "checkpoint delete x tinker://S:train:0/w",
                  "words\n" CLI_ONE "\tweights/0001\n");
    clifix_expect(&f, QUERY "run info S", "words\n" CLI_RUN "\tm/b\n");
    clifix_expect(&f, QUERY "checkpoint list --run-id S", "words\n" CLI_RUN "\tm/b\n");
    clifix_expect(&f, QUERY "session info 0", "words\n" CLI_SESSION "\tsession\n");
    clifix_end(&f);
}

static void test_completion_words(void **unused)
{
    clifix f;
    world(&f);
    clifix_expect(&f, QUERY "checkp",
                  "words\ncheckpoint\tList, search, save, share, copy, delete, download, "
                  "push and upload checkpoints.\n");
    clifix_expect(&f, QUERY "--format jsonl run in",
                  "words\ninfo\tShow one training run.\n");
    clifix_expect(&f, QUERY "-f tab", "words\ntable\t\n");
    clifix_expect(&f, QUERY "run list --no-c",
                  "words\n--no-color\tDo not use colour (also: NO_COLOR).\n");
    clifix_expect(&f, QUERY "checkpoint download -o x", "dirs\n");
    clifix_expect(&f, QUERY "train x", "files\n");
    clifix_expect(&f, QUERY "serve x", "dirs\n");
    clifix_expect(&f, QUERY "chat -m ./x", "dirs\n");
    clifix_expect(&f, QUERY "run list --limit x", "nothing\n");
    clifix_expect(&f, QUERY "run info -- -x", "words\n");
    clifix_expect(&f, QUERY "nosuch x", "words\n");
    clifix_expect(&f, QUERY "checkpoint nosuch x", "words\n");
    clifix_end(&f);
}

/* The command line says which server is asked. One that refuses, that is silent, or that
 * answers with something else gives no names, in time, and nothing fails. */
static void test_completion_bad_servers(void **unused)
{
    clifix f;
    char line[256];
    world(&f);
    (void)snprintf(line, sizeof(line),
                   "--base-url http://127.0.0.1:1 " QUERY "--base-url %s run info S",
                   fakeapi_url(f.api));
    clifix_expect(&f, line, "words\n" CLI_RUN "\tm/b\n");
    static const char *const bad[] = {QUERY "--base-url http://127.0.0.1:1 run info S",
                                      QUERY "--base-url nonsense run info S",
                                      QUERY "--profile nosuch run info S"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        proc *p = clifix_run(&f, bad[i]);
        assert_string_equal(proc_out(p), "words\n");
        assert_int_equal(p->status, 0);
        proc_free(&p);
    }
    fakeapi_default(f.api, "GET", CLI_RUNS, &(fakeapi_step){.fault = FAKEAPI_NEVER});
    clifix_expect(&f, QUERY "run info S", "words\n");
    fakeapi_default(
        f.api, "GET", CLI_RUNS,
        &fakeapi_json("{\"training_runs\":[{\"training_run_id\":\"S\\u001b[31m\\nx\","
                      "\"base_model\":\"m\",\"model_owner\":\"me\",\"is_lora\":true,"
                      "\"corrupted\":false,\"last_request_time\":"
                      "\"2024-07-15T08:00:00Z\"}],\"cursor\":{\"offset\":0,"
                      "\"limit\":20,\"total_count\":1}}"));
    proc *p = clifix_run(&f, QUERY "run info S");
    assert_string_equal(proc_out(p), "words\nS [31m x\tm\n"); /* one line */
    proc_free(&p);
    clifix_end(&f);
}

/* ---- shells ---- */

static bool has_shell(const char *name)
{
    proc *p = proc_run(
        NULL, (const char *const[]){"sh", "-c", "command -v \"$0\"", name, NULL});
    bool found = p->status == 0;
    proc_free(&p);
    return found;
}

/* In the shell's own words, because of two variables of one name shells take either. */
#define SET_PATH "PATH=$(dirname '" TINKC_PROGRAM "'):$PATH; "

static void shell_env(clifix *f)
{
    f->env[3] = "TERM=dumb";
    clifix_env(f, "PS1=READY>");
    clifix_env(f, "INPUTRC=/dev/null");
}

/* What the shell makes of `typed` and a tab: the whole line, printed by echo. */
static void completes(proc *p, const char *typed, const char *line)
{
    static int round;
    char text[512], expected[512];
    round++;
    (void)snprintf(text, sizeof(text), "%s\t", typed);
    proc_write(p, text);
    /* home, echo with a mark, end, mark, return */
    (void)snprintf(text, sizeof(text), "\001echo '<%d:'\005 ':%d>'\n", round, round);
    proc_write(p, text);
    (void)snprintf(expected, sizeof(expected), "<%d: %s :%d>", round, line, round);
    (void)snprintf(text, sizeof(text), "<%d: ", round);
    assert_true(proc_wait_for(p, text));
    (void)snprintf(text, sizeof(text), " :%d>", round);
    assert_true(proc_wait_for(p, text));
    if (strstr(proc_out(p), expected) == NULL) {
        print_error("wanted %s in:\n%s\n", expected, proc_out(p));
    }
    assert_non_null(strstr(proc_out(p), expected));
}

static proc *start_shell(clifix *f, const char *const *argv, const char *load)
{
    f->options.all_terminal = true;
    f->options.out_columns = 200;
    proc *p = proc_start(&f->options, argv);
    assert_true(proc_wait_for(p, "READY>"));
    proc_write(p, load);
    assert_true(proc_wait_for(p, "LOADED"));
    return p;
}

static void complete_lines(proc *p)
{
    completes(p, " tinkc checkp", "tinkc checkpoint");
    completes(p, " tinkc checkpoint down", "tinkc checkpoint download");
    completes(p, " tinkc --format tab", "tinkc --format table");
    completes(p, " tinkc chat -m some", "tinkc chat -m " MODEL);
    completes(p, " tinkc chat -m tin", "tinkc chat -m " CLI_TWO);
    completes(p, " tinkc checkpoint info tinker://S:train:0/w",
              "tinkc checkpoint info " CLI_ONE);
    completes(p, " tinkc run info S:t", "tinkc run info " CLI_RUN);
    completes(p, " tinkc checkpoint download -o /us",
              "tinkc checkpoint download -o /usr/");
}

static void test_completion_bash(void **unused)
{
    clifix f;
    world(&f);
    shell_env(&f);
    proc *p = start_shell(
        &f, (const char *const[]){"bash", "--norc", "--noprofile", "-i", NULL},
        SET_PATH "source '" TINKC_MAN "/completion.bash'; echo LOA''DED\n");
    complete_lines(p);
    proc_free(&p);
    clifix_end(&f);
}

static void test_completion_zsh(void **unused)
{
    if (!has_shell("zsh")) {
        skip();
    }
    clifix f;
    world(&f);
    shell_env(&f);
    proc *p = start_shell(
        &f, (const char *const[]){"zsh", "-f", "-i", NULL},
        SET_PATH "bindkey -e; unsetopt auto_remove_slash list_ambiguous; autoload "
                 "-Uz compinit; compinit -u -D; source '" TINKC_MAN
                 "/completion.zsh'; echo LOA''DED\n");
    complete_lines(p);
    proc_free(&p);
    clifix_end(&f);
}

/* fish tells what it would complete. */
static void fish_completes(clifix *f, const char *typed, const char *word)
{
    char script[512], expected[256];
    (void)snprintf(script, sizeof(script),
                   "set PATH (dirname '" TINKC_PROGRAM "') $PATH; source '" TINKC_MAN
                   "/completion.fish'; complete -C '%s'",
                   typed);
    (void)snprintf(expected, sizeof(expected), "%s", word);
    proc *p = proc_run(&f->options,
                       (const char *const[]){"fish", "--no-config", "-c", script, NULL});
    size_t n = strlen(expected);
    if (strncmp(proc_out(p), expected, n) != 0 ||
        strchr("\t\n", proc_out(p)[n]) == NULL || p->status != 0) {
        print_error("%s: wanted %s in:\n%s%s\n", typed, word, proc_out(p), proc_err(p));
    }
    assert_memory_equal(proc_out(p), expected, n);
    assert_non_null(strchr("\t\n", proc_out(p)[n]));
    proc_free(&p);
}

static void test_completion_fish(void **unused)
{
    if (!has_shell("fish")) {
        skip();
    }
    clifix f;
    world(&f);
    shell_env(&f);
    fish_completes(&f, "tinkc checkp", "checkpoint");
    fish_completes(&f, "tinkc checkpoint down", "download");
    fish_completes(&f, "tinkc --format tab", "table");
    fish_completes(&f, "tinkc chat -m some", MODEL);
    fish_completes(&f, "tinkc chat -m tin", CLI_TWO);
    fish_completes(&f, "tinkc checkpoint info tinker://S:train:0/w", CLI_ONE);
    fish_completes(&f, "tinkc checkpoint download -o /us", "/usr/");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completion_names),
        cmocka_unit_test(test_completion_words),
        cmocka_unit_test(test_completion_bad_servers),
        cmocka_unit_test(test_completion_bash),
        cmocka_unit_test(test_completion_zsh),
        cmocka_unit_test(test_completion_fish),
    };
    return cmocka_run_group_tests_name("cmd_completion", tests, NULL, NULL);
}
