/* What a terminal gets: tables that fit, colour, progress on standard error; what a pipe
 * and other locales get; and Ctrl-C. */
#include <signal.h>

#include "base/str.h"
#include "base/utf8.h"
#include "cli/clifix.h"

#ifdef TINKC_SANITIZED
#define STEP 3 /* of the tables, with every width */
#else
#define STEP 1
#endif

static const char *const tables[] = {
    "run list --limit 1",
    "run info S:train:0",
    "checkpoint list",
    "checkpoint list --run-id S:train:0",
    "checkpoint info " CLI_ONE,
    "session list --limit 1",
    "session info S",
    "models",
    "weights-info " CLI_ONE,
    "sampler-info x",
    "audit",
    "billing usage 2026-07-13 2026-07-14",
};

/* The longest line, in characters, without what makes colours; but a line of one word,
 * which is left to the terminal, so that an id can be copied. */
static size_t widest(const char *text)
{
    size_t most = 0, n = 0;
    bool has_blank = false;
    for (; *text != '\0'; text++) {
        if (*text == '\033') {
            text = strchr(text, 'm');
            assert_non_null(text);
            continue;
        }
        n += ((unsigned char)*text & 0xc0) != 0x80; /* not inside a character */
        has_blank = has_blank || *text == ' ';
        if (*text == '\n') {
            most = has_blank ? TK_MAX(most, n - 1) : most;
            has_blank = false;
            n = 0;
        }
    }
    return most;
}

/* The text without colours. */
static void bleach(char *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\033') {
            text = strchr(text, 'm');
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

/* C-013, C-092, M-153: on a terminal of any width no line is longer, nothing is left out,
 * and ids and paths are whole. */
static void test_cli_terminal_widths(void **unused)
{
    static const int widths[] = {20, 40, 80};
    static const char *const marks[TK_ARRAY_LEN(tables)] = {
        "S:train:0",
        "S:train:0",
        CLI_ONE,
        CLI_TWO,
        CLI_ONE,
        CLI_SESSION,
        CLI_SESSION,
        "131072",
        "N/A",
        CLI_TWO,
        "2026-07-13T08:00:00Z",
        "training",
    };
    clifix f;
    clifix_begin(&f);
    clifix_wide_world(f.api);
    for (size_t i = 0; i < TK_ARRAY_LEN(tables); i += STEP) {
        for (size_t k = 0; k < TK_ARRAY_LEN(widths); k++) {
            char said[8192];
            f.options.out_columns = widths[k];
            proc *p = clifix_run(&f, tables[i]);
            assert_int_equal(p->status, 0);
            if (widest(proc_out(p)) > (size_t)widths[k]) {
                print_error("%s at %d:\n%s\n", tables[i], widths[k], proc_out(p));
            }
            assert_true(widest(proc_out(p)) <= (size_t)widths[k]);
            assert_true(p->said.n < sizeof(said));
            bleach(said, proc_out(p));
            if (strstr(said, marks[i]) == NULL) {
                print_error("%s at %d:\n%s\n", tables[i], widths[k], proc_out(p));
            }
            assert_non_null(strstr(said, marks[i]));
            proc_free(&p);
        }
    }
    clifix_end(&f);
}

/* The forms of a narrow table: texts wrap, then rows become blocks. */
static void test_cli_terminal_forms(void **unused)
{
    clifix f;
    clifix_begin(&f);
    clifix_env(&f, "NO_COLOR=1");
    f.options.out_columns = 40;
    clifix_expect(&f, "run list --limit 1",
                  "1 training run (2 more not shown, use\n--limit to see more)\n"
                  "Run ID: S:train:0\nBase Model: m/b\nLoRA: Rank 8\n"
                  "Last Update: 2024-07-15\nStatus: OK\n");
    f.options.out_columns = 48;
    clifix_expect(&f, "run list --limit 1",
                  "1 training run (2 more not shown, use --limit to\nsee more)\n"
                  "Run ID     Base       LoRA    Last        Status\n"
                  "           Model              Update\n"
                  "─────────  ─────────  ──────  ──────────  ──────\n"
                  "S:train:0  m/b        Rank 8  2024-07-15  OK\n");
    clifix_wide_world(f.api);
    f.options.out_columns = 20; /* C-013: an id is not wrapped */
    proc *p = clifix_run(&f, "session list --limit 1");
    assert_true(strlen(CLI_SESSION) > 20);
    assert_non_null(strstr(proc_out(p), "\n" CLI_SESSION "\n"));
    proc_free(&p);
    clifix_end(&f);
}

/* C-092: colour only where it is wanted. */
static void test_cli_terminal_color(void **unused)
{
    clifix f;
    clifix_begin(&f);
    f.options.out_columns = 80;
    proc *p = clifix_run(&f, "run list --limit 1");
    assert_non_null(strstr(proc_out(p), "\033[96mS:train:0\033[0m"));
    proc_free(&p);
    p = clifix_run(&f, "run list --limit 1 --no-color");
    assert_null(strchr(proc_out(p), '\033'));
    proc_free(&p);
    f.env[3] = "TERM=dumb";
    p = clifix_run(&f, "run list --limit 1");
    assert_null(strchr(proc_out(p), '\033'));
    proc_free(&p);
    f.env[3] = "TERM=xterm";
    clifix_env(&f, "NO_COLOR=1");
    p = clifix_run(&f, "run list --limit 1");
    assert_null(strchr(proc_out(p), '\033'));
    proc_free(&p);
    clifix_end(&f);
}

/* Where the locale is not UTF-8 everything is ASCII and nothing is lost; JSON is ASCII
 * everywhere. */
static void test_cli_terminal_locale(void **unused)
{
    static const struct {
        const char *line, *mark;
    } cases[] = {
        {"run info S:train:0", "h\\u00e9"},
        {"-f json run info S:train:0", "h\\u00e9"},
        {"-f jsonl audit", "h\\u00e9"},
        {"audit", "h\\u00e9"},
        {"run list --limit 1", "S:train:0"},
        {"checkpoint list", "weights/0001"},
        {"checkpoint info " CLI_ONE, "weights/0001"},
        {"session list --limit 1", "0b3a"},
        {"session info S", "0b3a"},
        {"models", "131072"},
        {"weights-info " CLI_ONE, "16"},
        {"sampler-info x", "x"},
        {"billing usage 2026-07-13 2026-07-14", "training"},
    };
    clifix f;
    clifix_begin(&f);
    clifix_wide_world(f.api);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i += STEP) {
        for (int on_terminal = 0; on_terminal < 2; on_terminal++) {
            f.env[2] = "LC_ALL=C";
            f.options.out_columns = on_terminal ? 40 : 0;
            proc *p = clifix_run(&f, cases[i].line);
            assert_int_equal(p->status, 0);
            for (const char *c = proc_out(p); *c != '\0'; c++) {
                assert_true((unsigned char)*c < 0x80);
            }
            assert_non_null(strstr(proc_out(p), cases[i].mark));
            proc_free(&p);
        }
    }
    fakeapi_default(f.api, "GET", CLI_RUNS "/x", &fakeapi_detail(404, "caf\xc3\xa9"));
    clifix_refused(&f, "run info x", 1, "HTTP 404: caf\\u00e9\n");
    f.env[2] = "LC_ALL=C.UTF-8";
    clifix_refused(&f, "run info x", 1, "HTTP 404: caf\xc3\xa9\n");
    clifix_end(&f);
}

static void reply_pages(fakeapi *api)
{
    for (int page = 0; page < 3; page++) {
        fakeapi_bytes body = {0};
        fakeapi_bytes_puts(&body, "{\"checkpoints\":[");
        for (int i = 0; i < 1000; i++) {
            fakeapi_bytes_printf(
                &body,
                "%s{\"checkpoint_id\":\"weights/%d\",\"checkpoint_type\":\"training\","
                "\"time\":\"2024-07-13T08:00:00Z\",\"tinker_path\":"
                "\"tinker://r/weights/%d\"}",
                i > 0 ? "," : "", 1000 * page + i, 1000 * page + i);
        }
        fakeapi_bytes_printf(&body,
                             "],\"cursor\":{\"offset\":%d,\"limit\":1000,"
                             "\"total_count\":3000}}",
                             1000 * page);
        fakeapi_reply(api, "GET", CLI_API "checkpoints",
                      &(fakeapi_step){.body = fakeapi_bytes_cstr(&body)});
        fakeapi_bytes_dispose(&body);
    }
}

/* M-162, C-014, C-038: progress is on standard error, and only on a terminal. */
static void test_cli_terminal_progress(void **unused)
{
    clifix f;
    clifix_begin(&f);
    reply_pages(f.api);
    f.options.err_columns = 80;
    proc *p = clifix_run(&f, "checkpoint list --limit 0 -f jsonl");
    assert_int_equal(p->status, 0);
    assert_non_null(strstr(proc_err(p), "Fetching checkpoints: "));
    assert_null(strstr(proc_out(p), "Fetching"));
    /* the line is taken away at the end */
    size_t n = strlen(proc_err(p));
    assert_string_equal(proc_err(p) + n - 4, "\r\033[K");
    proc_free(&p);
    reply_pages(f.api);
    f.options.err_columns = 0;
    p = clifix_run(&f, "checkpoint list --limit 0 -f jsonl");
    assert_string_equal(proc_err(p), "");
    proc_free(&p);
    clifix_end(&f);
}

/* M-156, C-010: Ctrl-C while a server is silent: exit code 130 at once, no message. */
static void test_cli_terminal_interrupt(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_RUNS, &(fakeapi_step){.fault = FAKEAPI_NEVER});
    proc *p = clifix_start(&f, "run list");
    assert_true(fakeapi_wait_for(f.api, "GET", CLI_RUNS, 1));
    proc_signal(p, SIGINT);
    assert_int_equal(proc_wait(p), 130);
    assert_string_equal(proc_out(p), "");
    assert_string_equal(proc_err(p), "");
    proc_free(&p);
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_terminal_widths),
        cmocka_unit_test(test_cli_terminal_forms),
        cmocka_unit_test(test_cli_terminal_color),
        cmocka_unit_test(test_cli_terminal_locale),
        cmocka_unit_test(test_cli_terminal_progress),
        cmocka_unit_test(test_cli_terminal_interrupt),
    };
    return cmocka_run_group_tests_name("cli_terminal", tests, NULL, NULL);
}
