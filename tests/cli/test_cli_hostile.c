/* A server that puts escape sequences, carriage returns, marks that turn text around and
 * line ends into every text it sends: whatever command asks, into a terminal or into a
 * pipe, none of them gets through, and JSON stays JSON.
 * Links: peer front client text server */
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/clifix.h"
#include "support/fakeapi_tinker.h"

/* As it is in JSON: the clipboard, the screen, C1, an override, a line of its own. */
#define EVIL                                                                             \
    "\\u001b]52;c;QUJD\\u0007\\u001b[2J\\u009b31m\\u202eX\\r\\nError: gone\\u2028\\u0085\\u007f"

typedef struct answer {
    const char *method, *path, *json;
} answer;

static const answer world[] = {
    {"GET", CLI_RUNS,
     "{\"training_runs\":[" CLI_RUN_OBJECT "],\"cursor\":{\"offset\":0,\"limit\":20,"
     "\"total_count\":1}}"},
    {"GET", CLI_RUNS "/" CLI_RUN, CLI_RUN_OBJECT},
    {"GET", CLI_RUNS "/" CLI_RUN "/checkpoints",
     "{\"checkpoints\":[" CLI_CHECKPOINT_ONE "," CLI_CHECKPOINT_TWO "]}"},
    {"GET", CLI_API "checkpoints",
     "{\"checkpoints\":[" CLI_CHECKPOINT_ONE "," CLI_CHECKPOINT_TWO
     "],\"cursor\":{\"offset\":0,\"limit\":20,\"total_count\":2}}"},
    {"GET", CLI_API "sessions", "{\"sessions\":[\"" CLI_SESSION "\"]}"},
    {"GET", CLI_API "sessions/S",
     "{\"training_run_ids\":[\"" CLI_RUN "\"],\"sampler_ids\":[\"x\"]}"},
    {"GET", CLI_API "sessions/S/trace_export",
     "{\"status\":\"ready\",\"url\":\"http://127.0.0.1:1/t\"}"},
    {"GET", CLI_API "get_server_capabilities",
     "{\"supported_models\":[{\"model_name\":\"m\",\"max_context_length\":131072}]}"},
    {"POST", CLI_API "weights_info",
     "{\"base_model\":\"m\",\"is_lora\":true,\"lora_rank\":16,\"train_mlp\":false}"},
    {"GET", CLI_API "samplers/x",
     "{\"sampler_id\":\"x\",\"base_model\":\"m\",\"model_path\":\"" CLI_TWO "\"}"},
    {"GET", CLI_API "audit",
     "{\"entries\":[{\"timestamp\":\"2026-07-13T08:00:00Z\",\"event\":\"save\","
     "\"model_id\":\"m\",\"tinker_path\":\"" CLI_TWO "\",\"purpose\":\"p\"}]}"},
    {"GET", CLI_API "billing/usage/events",
     "{\"data\":[{\"bucket_start\":\"2026-07-13T00:00:00Z\",\"bucket_end\":"
     "\"2026-07-13T01:00:00Z\",\"session_id\":\"s\",\"event_info\":{\"type\":"
     "\"training\",\"token_count\":12}}]}"},
    {"GET", CLI_API "healthz", "{\"status\":\"ok\"}"},
};

static const char *const commands[] = {
    "run list",
    "run info S:train:0",
    "checkpoint list",
    "checkpoint list --run-id S:train:0",
    "checkpoint info " CLI_ONE,
    "checkpoint publish " CLI_ONE,
    "checkpoint delete --run-id S:train:0 --yes",
    "checkpoint download " CLI_ONE,
    "checkpoint save -m m",
    "session list",
    "session info S",
    "session export-trace S",
    "session export-trace S --url-only",
    "models",
    "weights-info " CLI_ONE,
    "sampler-info x",
    "audit",
    "billing usage 2026-07-13 2026-07-14",
    "whoami",
    "health",
    "doctor",
    "sample -m m --logprobs hello",
};

/* Whether the client would not take the text with something after it. */
static bool is_fixed(tk_str text)
{
    return text.n == 0 || text.p[text.n - 1] == 'Z' || /* a time */
           tk_str_is(text, "training") || tk_str_is(text, "sampler") ||
           tk_str_is(text, "ready");
}

/* Copies JSON with EVIL at the end of each text that is a value. */
static void poison(tk_buf *to, const char *json)
{
    const char *at = json;
    while (*at != '\0') {
        if (*at != '"') {
            tk_buf_putc(to, *at++);
            continue;
        }
        const char *end = strchr(at + 1, '"');
        assert_non_null(end);
        tk_buf_put(to, at, (size_t)(end - at));
        if (end[1] != ':' && !is_fixed((tk_str){at + 1, (size_t)(end - at - 1)})) {
            tk_buf_puts(to, EVIL);
        }
        tk_buf_putc(to, '"');
        at = end + 1;
    }
}

static void begin_hostile(clifix *f)
{
    clifix_begin(f);
    clifix_env(f, "NO_COLOR=1");
    for (size_t i = 0; i < TK_ARRAY_LEN(world); i++) {
        tk_buf body;
        tk_buf_init(&body, TK_MIB);
        poison(&body, world[i].json);
        fakeapi_default(f->api, world[i].method, world[i].path,
                        &(fakeapi_step){.body = tk_buf_cstr(&body)});
        tk_buf_dispose(&body);
    }
}

/* Only lines of text: the program's own line ends and the erasing of a line of progress
 * are taken out first. */
static void expect_tame(const char *line, const char *what, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t c = 0;
        size_t length = tk_utf8_decode(&c, text + i, n - i);
        bool own = c == '\n' || strncmp(text + i, "\r\033[K", 4) == 0;
        if (length == 0 || (tk_utf8_is_control(c) && !own)) {
            fail_msg("tinkc %s: %s has byte %02x at %zu: %.40s", line, what,
                     (unsigned char)text[i], i, text + i);
        }
        i += own && c != '\n' ? 4 : length;
    }
    if (strncmp(text, "Error: gone", 11) == 0 || strstr(text, "\nError: gone") != NULL) {
        fail_msg("tinkc %s: %s has a line of the server's", line, what);
    }
}

static void expect_json(const char *line, const char *text)
{
    tk_arena arena;
    const tk_json *root;
    tk_err err = TK_ERR_INIT;
    tk_arena_init(&arena, 0);
    for (const char *p = text; *p != '\0'; p++) {
        assert_true(*p == '\n' || (*p >= ' ' && *p <= '~')); /* ASCII */
    }
    if (tk_json_parse(&root, &arena, text, strlen(text), NULL, &err) != TINKC_OK) {
        fail_msg("tinkc %s: not JSON: %s\n%s", line, err.message, text);
    }
    tk_arena_dispose(&arena);
}

/* Returns how many commands succeeded: their answers were shown. */
static size_t run_all(clifix *f, const char *prefix)
{
    size_t n = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        char line[512];
        (void)snprintf(line, sizeof(line), "%s%s", prefix, commands[i]);
        proc *p = clifix_run(f, line);
        expect_tame(line, "standard output", proc_out(p));
        expect_tame(line, "standard error", proc_err(p));
        if (strstr(prefix, "json") != NULL && p->said.n > 0) {
            expect_json(line, proc_out(p));
        }
        n += p->status == 0;
        proc_free(&p);
    }
    return n;
}

static void test_cli_hostile_texts(void **unused)
{
    clifix f;
    char dir[] = "/tmp/tinkc-hostile.XXXXXX";
    assert_non_null(mkdtemp(dir));
    begin_hostile(&f);
    f.options.cwd = dir;
    size_t n = run_all(&f, "");
    assert_int_equal(n, 13);
    assert_int_equal(run_all(&f, "-v "), n);
    assert_int_equal(run_all(&f, "--format json "), n);
    f.options.out_columns = f.options.err_columns = 72;
    assert_int_equal(run_all(&f, ""), n);
    clifix_end(&f);
    proc *p = proc_run(NULL, (const char *[]){"rm", "-r", dir, NULL});
    proc_free(&p);
}

/* The same in errors: the detail, the type, the id of the request, the headers, a body
 * that is no JSON. */
static void test_cli_hostile_errors(void **unused)
{
    static const fakeapi_step steps[] = {
        {.status = 404, .body = "{\"detail\":\"no" EVIL "\"}"},
        {.status = 422,
         .body = "{\"detail\":[{\"loc\":[\"body\",\"a" EVIL "\"],\"msg\":\"m" EVIL
                 "\",\"type\":\"t" EVIL "\"}]}"},
        {.status = 400,
         .body = "\033]52;c;QUJD\a\033[2J\x9b"
                 "31m\r\nError: gone\n"},
        {.body = "{\"training_runs\":\"\033[2J\xff\"}"},
        {.body = "{\"error\":\"e" EVIL "\",\"category\":\"c" EVIL "\"}"},
    };
    clifix f;
    begin_hostile(&f);
    for (size_t s = 0; s < TK_ARRAY_LEN(steps); s++) {
        for (size_t i = 0; i < TK_ARRAY_LEN(world); i++) {
            fakeapi_default(f.api, world[i].method, world[i].path, &steps[s]);
        }
        f.options.err_columns = s % 2 == 0 ? 72 : 0;
        (void)run_all(&f, s % 2 == 0 ? "-v " : "");
    }
    clifix_end(&f);
}

/* Results of work: the path that a save answers with, and why work failed. */
static void test_cli_hostile_results(void **unused)
{
    static const char *const paths[] = {"", "-f json "};
    for (size_t i = 0; i < 4; i++) {
        clifix f;
        char line[64];
        clifix_begin(&f);
        fakeapi_tinker(f.api, NULL);
        if (i < 2) {
            fakeapi_reply(f.api, "POST", CLI_API "retrieve_future",
                          &(fakeapi_step){.pass = true});
            fakeapi_reply(f.api, "POST", CLI_API "retrieve_future",
                          &fakeapi_json("{\"path\":\"tinker://r/sampler_weights/n" EVIL
                                        "\",\"type\":\"save_weights_for_sampler\"}"));
        } else {
            fakeapi_tinker_fail(f.api, i == 2 ? "create_model" : "*",
                                "no\033]52;c;QUJD\a\r\nError: gone", "user");
        }
        (void)snprintf(line, sizeof(line), "%scheckpoint save -m m", paths[i % 2]);
        proc *p = clifix_run(&f, line);
        assert_int_equal(p->status, i < 2 ? 0 : 1);
        expect_tame(line, "standard output", proc_out(p));
        expect_tame(line, "standard error", proc_err(p));
        assert_non_null(strstr(i < 2 ? proc_out(p) : proc_err(p), "QUJD"));
        proc_free(&p);
        clifix_end(&f);
    }
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* Texts of a file: tame on a terminal, byte for byte into a pipe. */
static void test_cli_hostile_files(void **unused)
{
    static const char line[] = "render --template t.jinja chat.json";
    char dir[] = "/tmp/tinkc-hostile.XXXXXX";
    clifix f;
    assert_non_null(mkdtemp(dir));
    write_file(dir, "t.jinja", "{{ messages[0].content }}");
    write_file(dir, "chat.json",
               "[{\"role\":\"user\",\"content\":\"one\\ntwo\\u001b[2J" EVIL "\"}]");
    clifix_begin(&f);
    f.options.cwd = dir;
    proc *p = clifix_run(&f, line);
    assert_int_equal(p->status, 0);
    assert_int_equal(strncmp(proc_out(p), "one\ntwo\033[2J\033]52;c;QUJD\a", 23), 0);
    proc_free(&p);
    clifix_env(&f, "NO_COLOR=1");
    f.options.out_columns = 72;
    p = clifix_run(&f, line);
    assert_int_equal(strncmp(proc_out(p), "one\ntwo [2J ]52;c;QUJD ", 23), 0);
    for (const char *c = proc_out(p); *c != '\0'; c++) {
        assert_true(*c == '\n' || (unsigned char)*c >= ' ');
    }
    proc_free(&p);
    clifix_end(&f);
    p = proc_run(NULL, (const char *[]){"rm", "-r", dir, NULL});
    proc_free(&p);
}

/* JSON is the same value on a terminal, whatever its locale shows. */
static void test_cli_hostile_json(void **unused)
{
    static const char line[] = "-f json render --template t.jinja chat.json";
    static const char wanted[] = "\"a\\ud83d\\ude00\\u00e9\\u007f\\u202e\\u001bb\"\n";
    static const char *const locales[] = {"LC_ALL=C", "LC_ALL=C.UTF-8"};
    char dir[] = "/tmp/tinkc-hostile.XXXXXX";
    assert_non_null(mkdtemp(dir));
    write_file(dir, "t.jinja", "{{ messages[0].content }}");
    write_file(dir, "chat.json",
               "[{\"role\":\"user\",\"content\":"
               "\"a\\ud83d\\ude00\\u00e9\\u007f\\u202e\\u001bb\"}]");
    for (size_t i = 0; i < 2 * TK_ARRAY_LEN(locales); i++) {
        clifix f;
        clifix_begin(&f);
        f.env[2] = locales[i / 2];
        f.options.cwd = dir;
        f.options.out_columns = i % 2 == 0 ? 72 : 0;
        proc *p = clifix_run(&f, line);
        assert_string_equal(proc_out(p), wanted);
        proc_free(&p);
        clifix_end(&f);
    }
    proc *p = proc_run(NULL, (const char *[]){"rm", "-r", dir, NULL});
    proc_free(&p);
}

/* What the user types is shown, too: names of options, paths. */
static void test_cli_hostile_arguments(void **unused)
{
    static const char *const lines[] = {
        "--no-such\033[2J",         "no-such\033]52;c;QUJD\a",
        "run info a/\033[2Jb",      "checkpoint info tinker://\033[2J",
        "run list --limit \033[2J",
    };
    clifix f;
    clifix_begin(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(lines); i++) {
        proc *p = clifix_run(&f, lines[i]);
        assert_int_not_equal(p->status, 0);
        expect_tame("", "standard error", proc_err(p));
        proc_free(&p);
    }
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_hostile_texts),
        cmocka_unit_test(test_cli_hostile_errors),
        cmocka_unit_test(test_cli_hostile_results),
        cmocka_unit_test(test_cli_hostile_files),
        cmocka_unit_test(test_cli_hostile_json),
        cmocka_unit_test(test_cli_hostile_arguments),
    };
    return cmocka_run_group_tests_name("cli_hostile", tests, NULL, NULL);
}
