/* M-011: no secret leaves through a log line, whatever its place; levels; hostile text;
 * several threads. */
#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "support/failmem.h"
#include "support/test.h"

#define SECRET "Zq7-Wv9.Xk2_Rb5~Lm8" /* no pattern knows it */

typedef struct sink {
    size_t lines;
    tinkc_log_level level;
    char component[32];
    char line[TK_LOG_LINE_BYTES * 2];
} sink;

static void keep(tinkc_log_level level, const char *component, const char *line,
                 void *user)
{
    sink *out = user;
    out->lines++;
    out->level = level;
    assert_true(strlen(line) < TK_LOG_LINE_BYTES);
    (void)snprintf(out->component, sizeof(out->component), "%s", component);
    (void)snprintf(out->line, sizeof(out->line), "%s", line);
}

static tk_log *new_log(tinkc_log_level level, sink *out)
{
    tk_log *log = NULL;
    memset(out, 0, sizeof(*out));
    assert_int_equal(tk_log_new(&log, level, keep, out, NULL), TINKC_OK);
    return log;
}

static void test_log_levels(void **unused)
{
    static const tinkc_log_level levels[] = {TINKC_LOG_ERROR, TINKC_LOG_WARN,
                                             TINKC_LOG_INFO, TINKC_LOG_DEBUG};
    for (int set = TINKC_LOG_OFF; set <= TINKC_LOG_DEBUG; set++) {
        sink out;
        tk_log *log = new_log((tinkc_log_level)set, &out);
        for (size_t i = 0; i < TK_ARRAY_LEN(levels); i++) {
            bool wanted = (int)levels[i] <= set;
            assert_int_equal(tk_log_wants(log, levels[i]), wanted);
            out.lines = 0;
            tk_log_write(log, levels[i], "http", "line %d", 7);
            assert_int_equal(out.lines, wanted);
            if (wanted) {
                assert_int_equal(out.level, levels[i]);
                assert_string_equal(out.component, "http");
                assert_string_equal(out.line, "line 7");
            }
        }
        out.lines = 0;
        tk_log_write(log, TINKC_LOG_OFF, "http", "never");
        assert_int_equal(out.lines, 0);
        tk_log_free(log);
    }
}

static void test_log_silent_without_sink(void **unused)
{
    tk_log *log = NULL;
    assert_int_equal(tk_log_new(&log, TINKC_LOG_DEBUG, NULL, NULL, NULL), TINKC_OK);
    assert_false(tk_log_wants(log, TINKC_LOG_ERROR));
    tk_log_write(log, TINKC_LOG_ERROR, "x", "nobody hears");
    tk_log_free(log);
    tk_log_free(NULL);
    assert_false(tk_log_wants(NULL, TINKC_LOG_ERROR));
    tk_log_write(NULL, TINKC_LOG_ERROR, "x", "nobody hears");
    assert_int_equal(tk_log_add_secret(NULL, TK_STR(SECRET), NULL), TINKC_OK);
    tk_log_remove_secret(NULL, TK_STR(SECRET));
    char out[32];
    assert_int_equal(tk_log_redact(NULL, out, sizeof(out), TK_STR("tml-abc")), 3);
    assert_string_equal(out, "***");
}

static void test_log_level_names(void **unused)
{
    for (int i = TINKC_LOG_OFF; i <= TINKC_LOG_DEBUG; i++) {
        tinkc_log_level level = TINKC_LOG_OFF;
        const char *name = tinkc_log_level_name((tinkc_log_level)i);
        assert_true(tinkc_log_level_parse(&level, name));
        assert_int_equal(level, i);
    }
    tinkc_log_level level = TINKC_LOG_DEBUG;
    assert_true(tinkc_log_level_parse(&level, "warning"));
    assert_int_equal(level, TINKC_LOG_WARN);
    assert_false(tinkc_log_level_parse(&level, "INFO"));
    assert_false(tinkc_log_level_parse(&level, ""));
    assert_false(tinkc_log_level_parse(&level, NULL));
    assert_int_equal(level, TINKC_LOG_WARN);
    assert_string_equal(tinkc_log_level_name((tinkc_log_level)(TINKC_LOG_DEBUG + 1)),
                        "?");
    assert_string_equal(tinkc_log_level_name((tinkc_log_level)99), "?");
    assert_string_equal(tinkc_log_level_name((tinkc_log_level)-1), "?");
}

static void test_log_masks_registered_secrets(void **unused)
{
    sink out;
    tk_log *log = new_log(TINKC_LOG_DEBUG, &out);
    assert_int_equal(tk_log_add_secret(log, TK_STR(SECRET), NULL), TINKC_OK);
    tk_log_write(log, TINKC_LOG_INFO, "auth", "using %s now", SECRET);
    assert_string_equal(out.line, "using *** now");
    /* split over arguments */
    tk_log_write(log, TINKC_LOG_INFO, "auth", "%.5s%c%s", SECRET, SECRET[5], &SECRET[6]);
    assert_string_equal(out.line, "***");
    char text[64];
    assert_int_equal(tk_log_redact(log, text, sizeof(text), TK_STR("<" SECRET ">")), 5);
    assert_string_equal(text, "<***>");
    tk_log_remove_secret(log, TK_STR(SECRET));
    tk_log_write(log, TINKC_LOG_INFO, "auth", "%s", SECRET);
    assert_string_equal(out.line, SECRET);
    tk_log_free(log);
}

static void test_log_masks_by_pattern(void **unused)
{
    sink out;
    tk_log *log = new_log(TINKC_LOG_DEBUG, &out);
    tk_log_write(log, TINKC_LOG_DEBUG, "http", "%s%s: %s", "X-API-", "Key", "any thing");
    assert_string_equal(out.line, "X-API-Key: ***");
    tk_log_write(log, TINKC_LOG_DEBUG, "http", "%s%s and %s", "tml", "-abc", "eyJx.y.z");
    assert_string_equal(out.line, "*** and ***");
    tk_log_free(log);
}

/* Whether any six bytes of the secret in a row can be read. */
static bool leaks(const char *line)
{
    for (size_t i = 0; i + 6 <= sizeof(SECRET) - 1; i++) {
        char part[7];
        memcpy(part, &SECRET[i], 6);
        part[6] = '\0';
        if (strstr(line, part) != NULL) {
            return true;
        }
    }
    return false;
}

/* A secret around both places where text is cut: the cap of a line, and the end of what
 * is formatted at all. */
static void test_log_secret_at_every_cut(void **unused)
{
    static char text[TK_LOG_TEXT_BYTES + 200];
    sink out;
    tk_log *log = new_log(TINKC_LOG_DEBUG, &out);
    assert_int_equal(tk_log_add_secret(log, TK_STR(SECRET), NULL), TINKC_OK);
    size_t n = sizeof(SECRET) - 1;
    for (size_t at = 0; at + n < sizeof(text); at++) {
        if (at == TK_LOG_LINE_BYTES + 50) {
            at = TK_LOG_TEXT_BYTES - 100;
        }
        memset(text, 'x', sizeof(text) - 1);
        memcpy(text + at, SECRET, n);
        tk_log_write(log, TINKC_LOG_INFO, "t", "%s", text);
        if (leaks(out.line)) {
            fail_msg("at %zu: %s", at, out.line);
        }
        assert_string_equal(out.line + strlen(out.line) - 3, "...");
    }
    tk_log_free(log);
}

/* Masking long secrets moves text from far beyond the limit into the line: the end of
 * what was formatted must still not show. */
static void test_log_secret_behind_a_long_mask(void **unused)
{
    static char text[TK_LOG_TEXT_BYTES + 200];
    sink out;
    tk_log *log = new_log(TINKC_LOG_DEBUG, &out);
    assert_int_equal(tk_log_add_secret(log, TK_STR(SECRET), NULL), TINKC_OK);
    size_t n = sizeof(SECRET) - 1;
    for (size_t at = TK_LOG_TEXT_BYTES - 40; at < TK_LOG_TEXT_BYTES + 10; at++) {
        memset(text, 'x', sizeof(text) - 1);
        memcpy(text, "eyJ", 3);
        memset(text + at - 20, ' ', 20);
        memcpy(text + at, SECRET, n);
        tk_log_write(log, TINKC_LOG_INFO, "t", "%s", text);
        assert_string_equal(out.line, "***...");
    }
    tk_log_free(log);
}

/* A line that just fits into what is formatted is whole; one byte more, and it is not. */
static void test_log_longest_text(void **unused)
{
    static char text[TK_LOG_TEXT_BYTES + 1];
    sink out;
    tk_log *log = new_log(TINKC_LOG_DEBUG, &out);
    memset(text, 'x', TK_LOG_TEXT_BYTES);
    memcpy(text, "eyJ", 3);
    tk_log_write(log, TINKC_LOG_INFO, "t", "%s", text);
    assert_string_equal(out.line, "***...");
    text[TK_LOG_TEXT_BYTES - 1] = '\0';
    tk_log_write(log, TINKC_LOG_INFO, "t", "%s", text);
    assert_string_equal(out.line, "***");
    tk_log_free(log);
}

static void test_log_length(void **unused)
{
    sink out;
    tk_log *log = new_log(TINKC_LOG_DEBUG, &out);
    char text[TK_LOG_LINE_BYTES * 2];
    for (size_t n = TK_LOG_LINE_BYTES - 8; n < TK_LOG_LINE_BYTES + 8; n++) {
        memset(text, 'y', n);
        text[n] = '\0';
        tk_log_write(log, TINKC_LOG_INFO, "t", "%s", text);
        if (n < TK_LOG_LINE_BYTES) {
            assert_string_equal(out.line, text);
        } else {
            assert_int_equal(strlen(out.line), TK_LOG_LINE_BYTES - 1);
            assert_string_equal(out.line + TK_LOG_LINE_BYTES - 5, "y...");
        }
        memcpy(text + TK_LOG_LINE_BYTES - 12, "\xF0\x9F\x98\x80\xF0\x9F\x98\x80", 8);
        tk_log_write(log, TINKC_LOG_INFO, "t", "%s", text);
        assert_true(tk_utf8_is_valid(tk_str_of(out.line)));
        assert_null(strchr(out.line, '?')); /* cut between characters */
    }
    tk_log_free(log);
}

static void test_log_hostile_text(void **unused)
{
    sink out;
    tk_log *log = new_log(TINKC_LOG_DEBUG, &out);
    tk_log_write(log, TINKC_LOG_WARN, "t", "a\nERROR forged\r\x1b[2J \xFF%c!", 0);
    assert_string_equal(out.line, "a ERROR forged  [2J ? !");
    tk_log_write(log, TINKC_LOG_WARN, "t", "%s", "%s %n");
    assert_string_equal(out.line, "%s %n");
    tk_log_write(log, TINKC_LOG_WARN, "t", "%s", "");
    assert_string_equal(out.line, "");
    tk_log_free(log);
}

typedef struct shared {
    tk_log *log;
    atomic_size_t lines;
    atomic_size_t leaked;
} shared;

static void count(tinkc_log_level level, const char *component, const char *line,
                  void *user)
{
    shared *all = user;
    (void)atomic_fetch_add(&all->lines, 1);
    if (leaks(line)) {
        (void)atomic_fetch_add(&all->leaked, 1);
    }
    tk_log_wants(all->log, TINKC_LOG_ERROR); /* the sink may use the logger */
}

static void write_lines(void *user)
{
    shared *all = user;
    for (int i = 0; i < 500; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "other-%d", i % 8);
        assert_int_equal(tk_log_add_secret(all->log, tk_str_of(text), NULL), TINKC_OK);
        tk_log_write(all->log, TINKC_LOG_INFO, "t", "%d %s", i, SECRET);
        tk_log_remove_secret(all->log, tk_str_of(text));
    }
}

static void test_log_threads(void **unused)
{
    shared all = {.log = NULL};
    assert_int_equal(tk_log_new(&all.log, TINKC_LOG_INFO, count, &all, NULL), TINKC_OK);
    assert_int_equal(tk_log_add_secret(all.log, TK_STR(SECRET), NULL), TINKC_OK);
    tk_thread threads[3];
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        assert_int_equal(tk_thread_start(&threads[i], "log", write_lines, &all, NULL),
                         TINKC_OK);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        tk_thread_join(&threads[i]);
    }
    assert_int_equal(atomic_load(&all.lines), 1500);
    assert_int_equal(atomic_load(&all.leaked), 0);
    tk_log_free(all.log);
}

static bool use_log(void *user)
{
    sink *out = user;
    tk_log *log = NULL;
    tk_err err = TK_ERR_INIT;
    bool ok = tk_log_new(&log, TINKC_LOG_INFO, keep, out, &err) == TINKC_OK &&
              tk_log_add_secret(log, TK_STR(SECRET), &err) == TINKC_OK;
    assert_int_equal(err.code, ok ? TINKC_OK : TINKC_E_NOMEM);
    tk_log_write(log, TINKC_LOG_INFO, "t", "line");
    tk_log_free(log);
    return ok;
}

static void test_log_sweep(void **unused)
{
    sink out;
    assert_int_equal(failmem_sweep(use_log, &out, 1), 2); /* writing allocates nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_levels),
        cmocka_unit_test(test_log_silent_without_sink),
        cmocka_unit_test(test_log_level_names),
        cmocka_unit_test(test_log_masks_registered_secrets),
        cmocka_unit_test(test_log_masks_by_pattern),
        cmocka_unit_test(test_log_secret_at_every_cut),
        cmocka_unit_test(test_log_secret_behind_a_long_mask),
        cmocka_unit_test(test_log_longest_text),
        cmocka_unit_test(test_log_length),
        cmocka_unit_test(test_log_hostile_text),
        cmocka_unit_test(test_log_threads),
        cmocka_unit_test(test_log_sweep),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
