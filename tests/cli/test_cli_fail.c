/* Every command that asks a server, against every way in which that fails: nothing on
 * standard output, one line that says what happened, a hint, exit code 1, and never the
 * key (clifix_run looks for it). */
#include <stdlib.h>

#include "cli/clifix.h"

/* Sanitizers look at the program once per kind of command, not at every combination. */
#ifdef TINKC_SANITIZED
#define STEP 6
#else
#define STEP 1
#endif

static const char *const commands[] = {
    "run list",
    "run info r",
    "run plot r",
    "checkpoint list",
    "checkpoint list --run-id r",
    "checkpoint info tinker://r/weights/1",
    "checkpoint publish tinker://r/weights/1",
    "checkpoint unpublish tinker://r/weights/1",
    "checkpoint set-ttl tinker://r/weights/1 --remove",
    "checkpoint delete --run-id r --yes",
    "checkpoint download tinker://r/weights/1",
    "session list",
    "session info S",
    "session assign S p",
    "session export-trace S -f json",
    "billing usage 2026-07-13 2026-07-14",
    "models",
    "weights-info tinker://r/weights/1",
    "sampler-info x",
    "audit",
    "health",
};

/* Which of them read an answer and would notice a malformed one. */
static bool reads_answer(const char *command)
{
    return strstr(command, "publish") == NULL && strstr(command, "set-ttl") == NULL &&
           strstr(command, "assign") == NULL && strcmp(command, "health") != 0;
}

static void all_refused(clifix *f, const char *words)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i += STEP) {
        clifix_refused(f, commands[i], 1, words);
    }
}

static void begin_failing(clifix *f, const fakeapi_step *step)
{
    clifix_begin(f);
    fakeapi_stop(&f->api);
    f->api = fakeapi_start();
    fakeapi_default(f->api, "POST", CLI_API "client/*", &fakeapi_json("{}"));
    fakeapi_default(f->api, "*", "*", step);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s", fakeapi_url(f->api));
}

typedef struct status_case {
    int status;
    const char *words;
} status_case;

/* M-156, C-021 to C-027, C-030: each status, with the official message. 429 and 5xx too:
 * nothing is tried for minutes. */
static void test_cli_fail_status(void **unused)
{
    static const status_case cases[] = {
        {401, "Error: Authentication failed: HTTP 401: why not\nHint: Check the key"},
        {404, "Error: Resource not found: HTTP 404: why not\nHint: Check the id"},
        {500,
         "Error: Internal server error: HTTP 500: why not\nHint: Try again later.\n"},
    };
    static const status_case others[] = {
        {400, "Error: Invalid request: HTTP 400: why not\n"},
        {403, "Error: Permission denied: HTTP 403: why not\nHint: "},
        {418, "Error: API error: HTTP 418: why not\n"},
        {422, "Error: Invalid data provided: HTTP 422: why not\n"},
        {429, "Error: Rate limit exceeded: HTTP 429: why not\nHint: Wait a moment"},
        {501, "Error: Not offered by this server: HTTP 501: why not\n"},
        {502,
         "Error: Internal server error: HTTP 502: why not\nHint: Try again later.\n"},
    };
    clifix f;
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        begin_failing(&f, &(fakeapi_step){.status = cases[i].status,
                                          .body = "{\"detail\":\"why not\"}"});
        for (size_t k = 0; k < TK_ARRAY_LEN(commands); k += STEP) {
            proc *p = clifix_run(&f, commands[k]);
            const char *what = strstr(cases[i].words, ": ") + 2;
            if (strstr(proc_err(p), what) == NULL) {
                print_error("%s: %s\n", commands[k], proc_err(p));
            }
            assert_int_equal(p->status, 1);
            assert_string_equal(proc_out(p), "");
            assert_non_null(strstr(proc_err(p), what));
            proc_free(&p);
        }
        clifix_end(&f);
    }
    begin_failing(&f, &(fakeapi_step){.status = 403,
                                      .body = "{\"detail\":\"this server listens on "
                                              "loopback and answers to ...\"}"});
    clifix_refused(&f, "run list", 1, "Hint: Use 127.0.0.1 in the base URL, or start");
    clifix_end(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(others); i++) {
        begin_failing(&f, &(fakeapi_step){.status = others[i].status,
                                          .body = "{\"detail\":\"why not\"}"});
        clifix_refused(&f, "run list", 1, others[i].words);
        clifix_end(&f);
    }
}

/* M-156, C-031: what is not JSON, and what is not the message; nothing is half shown. */
static void test_cli_fail_malformed(void **unused)
{
    static const struct {
        const char *body;
        const char *words;
    } cases[] = {{"<html>", "Malformed response: "},
                 {"{\"status\":7}", "Unexpected response: "}};
    clifix f;
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        begin_failing(&f, &(fakeapi_step){.body = cases[i].body});
        for (size_t k = 0; k < TK_ARRAY_LEN(commands); k += STEP) {
            if (reads_answer(commands[k])) {
                clifix_refused(&f, commands[k], 1, cases[i].words);
            }
        }
        clifix_end(&f);
    }
}

/* C-018, C-029: a port on which nothing listens, and a server that hangs up. */
static void test_cli_fail_connection(void **unused)
{
    clifix f;
    clifix_begin(&f);
    f.env[0] = "TINKER_BASE_URL=http://127.0.0.1:1";
    all_refused(&f, "Connection failed: ");
    clifix_end(&f);
    begin_failing(&f, &fakeapi_fail(FAKEAPI_DROP));
    clifix_refused(&f, "run list", 1, "Error: Connection failed: ");
    clifix_end(&f);
}

/* C-028: a server that is silent; the user sets the timeout. */
static void test_cli_fail_timeout(void **unused)
{
    clifix f;
    begin_failing(&f, &(fakeapi_step){.fault = FAKEAPI_NEVER});
    clifix_refused(&f, "run list --timeout 0.2", 1, "Error: Request timeout: ");
    clifix_end(&f);
}

/* C-018, C-019: no key for a server that needs one, and a text that is not a URL; both
 * are reported before anything is sent. */
static void test_cli_fail_configuration(void **unused)
{
    clifix f;
    clifix_begin(&f);
    f.env[0] = "TINKER_BASE_URL=https://tinker.invalid";
    f.env[1] = "TINKER_API_KEY=";
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i += STEP) {
        clifix_refused(&f, commands[i], 1, "Error: Configuration error: ");
    }
    f.env[1] = "TINKER_API_KEY=no-key";
    clifix_refused(&f, "run list", 1,
                   "\nHint: Add --local to work on this machine without a key, store "
                   "one with 'tinkc auth login' (or 'tinker auth login'), or set "
                   "TINKER_API_KEY.\n");
    f.env[1] = "TINKER_API_KEY=" CLI_KEY;
    f.env[0] = "TINKER_BASE_URL=ftp://x";
    clifix_refused(&f, "run list", 1, "Error: Configuration error: base URL");
    clifix_refused(&f, "run list", 1, "\nHint: Set TINKER_BASE_URL or --base-url.\n");
    f.env[0] = "TINKER_BASE_URL=https://tinker.invalid";
    clifix_refused(&f, "run list --set no_such_option=1", 1,
                   "\nHint: 'tinkc config' shows every option and where its value comes "
                   "from.\n");
    assert_int_equal(fakeapi_total(f.api), 0);
    clifix_end(&f);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) {
        n++;
    }
    return n;
}

/* C-006, C-032, C-092: with -v also code, class and status; with -vv each request once,
 * without the key. */
static void test_cli_fail_verbose(void **unused)
{
    clifix f;
    begin_failing(&f, &(fakeapi_step){.status = 404,
                                      .headers = "x-request-id: req-1\r\n",
                                      .body = "{\"detail\":\"why not\"}"});
    proc *p = clifix_run(&f, "run info r -vv");
    assert_non_null(
        strstr(proc_err(p), "code: TINKC_E_NOT_FOUND, class: user, HTTP status: 404"));
    assert_true(count(proc_err(p), "/training_runs/r: 404 in ") == 1);
    assert_true(count(proc_err(p), " bytes ") <= count(proc_err(p), "debug http: "));
    proc_free(&p);
    p = clifix_run(&f, "run info r");
    assert_null(strstr(proc_err(p), "TINKC_E_"));
    assert_null(strstr(proc_err(p), "debug http"));
    proc_free(&p);
    clifix_env(&f, "TINKER_LOG=debug"); /* C-084 */
    p = clifix_run(&f, "run info r");
    assert_true(count(proc_err(p), "/training_runs/r: 404 in ") == 1);
    proc_free(&p);
    clifix_end(&f);
}

/* Control characters in a server's text do not reach the terminal, and what looks like a
 * secret is hidden. */
static void test_cli_fail_hostile_text(void **unused)
{
    clifix f;
    begin_failing(&f, &(fakeapi_step){.status = 404,
                                      .body = "{\"detail\":\"\\u001b[2Jx\\u009by "
                                              "X-API-Key: abcdefghijkl\"}"});
    proc *p = clifix_run(&f, "run info r");
    assert_null(strchr(proc_err(p), '\033'));
    assert_null(strstr(proc_err(p), "\xc2\x9b"));
    assert_null(strstr(proc_err(p), "abcdefghijkl"));
    proc_free(&p);
    clifix_end(&f);
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "sessions",
                    &fakeapi_json("{\"sessions\":[\"a\\u001b[31m\\r\\nb\"]}"));
    p = clifix_run(&f, "session list --limit 1");
    assert_null(strchr(proc_out(p), '\033'));
    assert_null(strchr(proc_out(p), '\r'));
    proc_free(&p);
    clifix_end(&f);
}

/* M-156: a reader that has gone, and a full disk: exit code 1, no signal, no complaint
 * about the pipe. */
static void test_cli_fail_output(void **unused)
{
    static const char *const lines[] = {
        "run list --limit 1",
        "-f json run list --limit 1",
        "-f jsonl checkpoint list",
        "run info " CLI_RUN,
        "checkpoint info " CLI_ONE,
        "session list --limit 1",
        "session info S",
        "models",
        "weights-info " CLI_ONE,
        "sampler-info x",
        "audit -f jsonl",
        "billing usage 2026-07-13 2026-07-14 --csv -",
        "health",
        "--help",
        "completion bash",
        "version",
    };
    clifix f;
    clifix_begin(&f);
    clifix_wide_world(f.api);
    for (size_t i = 0; i < TK_ARRAY_LEN(lines); i += STEP) {
        f.options.close_out = true;
        clifix_refused(&f, lines[i], 1, "");
        f.options.close_out = false;
        f.options.out_path = "/dev/full";
        clifix_refused(&f, lines[i], 1, "Error: cannot write the output");
        f.options.out_path = NULL;
    }
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_fail_status),
        cmocka_unit_test(test_cli_fail_malformed),
        cmocka_unit_test(test_cli_fail_connection),
        cmocka_unit_test(test_cli_fail_timeout),
        cmocka_unit_test(test_cli_fail_configuration),
        cmocka_unit_test(test_cli_fail_verbose),
        cmocka_unit_test(test_cli_fail_hostile_text),
        cmocka_unit_test(test_cli_fail_output),
    };
    return cmocka_run_group_tests_name("cli_fail", tests, NULL, NULL);
}
