/* The scanners against the same patterns through PCRE2, on random strings of characters
 * that tell the classes apart. */
#include "base/utf8.h"
#include "support/test.h"
#include "text/tok/tok_tables.h"
#include "text/unicode/uni.h"

/* One of each class and the characters that patterns name, none newer than PCRE2. */
static const char *const chars[] = {"a",
                                    "b",
                                    "Z",
                                    "S",
                                    "s",
                                    "t",
                                    "l",
                                    "L",
                                    "d",
                                    "e",
                                    "r",
                                    "v",
                                    "1",
                                    "2",
                                    "9",
                                    " ",
                                    " ",
                                    "\n",
                                    "\r",
                                    "\t",
                                    "'",
                                    ".",
                                    "/",
                                    "-",
                                    "+",
                                    "\xC2\x85",
                                    "\xC5\xBF",
                                    "é",
                                    "É",
                                    "ǅ",
                                    "ʰ",
                                    "中",
                                    "〇",
                                    "々",
                                    "\xCC\x81",
                                    "ि",
                                    "٣",
                                    "½",
                                    "\xE2\x80\xA8",
                                    "\xE3\x80\x80",
                                    "\xE1\xA0\x8E",
                                    "\xEF\xBB\xBF",
                                    "。",
                                    "€",
                                    "🎉",
                                    "\xE2\x80\x8D",
                                    "\x01",
                                    "ぁ",
                                    "ヿ",
                                    "龦"};

static size_t make_text(char *out, uint64_t *state)
{
    size_t n = 0;
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    size_t count = (size_t)(*state >> 60) + 1;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 && (*state >> 20) % 4 == 0) { /* words longer than a machine word */
            n = (size_t)(*state >> 24) % 40;
            memset(out, "az"[*state >> 30 & 1], n);
        }
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        const char *c = chars[(size_t)(*state >> 33) % TK_ARRAY_LEN(chars)];
        memcpy(out + n, c, strlen(c));
        n += strlen(c);
    }
    return n;
}

static void check_text(const tk_tok_scanner *s, const tk_tok_regex *regex,
                       tk_tok_matcher *m, tk_str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    for (size_t at = 0; at < text.n;) {
        size_t range[2] = {text.n, text.n}, len;
        tinkc_code code = tk_tok_regex_find(regex, m, text, at, range);
        assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
        while (at < range[0]) { /* nothing begins here */
            (void)tk_uni_decode(p + at, &len);
            if (s->scan(p + at, p + text.n) != 0) {
                fail_msg("a match too early in \"%.*s\" for %s", (int)text.n, text.p,
                         s->pattern);
            }
            at += len;
        }
        if (code == TINKC_OK && s->scan(p + at, p + text.n) != range[1] - range[0]) {
            fail_msg("at %zu of \"%.*s\": %zu bytes instead of %zu for %s", at,
                     (int)text.n, text.p, s->scan(p + at, p + text.n),
                     range[1] - range[0], s->pattern);
        }
        at = range[1];
    }
}

static void test_scan_equals_pcre2(void **unused)
{
    tk_uni_ready();
    uint64_t state = 7;
    for (size_t i = 0; i < tk_tok_n_scanners; i++) {
        const tk_tok_scanner *s = &tk_tok_scanners[i];
        tk_tok_regex *regex = NULL;
        tk_tok_matcher matcher = {NULL};
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_tok_regex_new(&regex, tk_str_of(s->pattern), &err), TINKC_OK);
        for (size_t round = 0; round < 3000; round++) {
            char text[192];
            size_t n = make_text(text, &state);
            check_text(s, regex, &matcher, (tk_str){text, n});
        }
        tk_tok_matcher_dispose(&matcher);
        tk_tok_regex_free(regex);
    }
}

/* A total scanner matches at every character there is. */
static void test_scan_total(void **unused)
{
    tk_uni_ready();
    for (uint32_t c = 0; c < 0x30000; c++) {
        char text[8];
        size_t n = tk_utf8_encode(text, c);
        text[n] = 'a';
        for (size_t i = 0; i < tk_tok_n_scanners && n > 0; i++) {
            const unsigned char *p = (const unsigned char *)text;
            if (tk_tok_scanners[i].total) {
                assert_true(tk_tok_scanners[i].scan(p, p + n) == n);
                assert_in_range(tk_tok_scanners[i].scan(p, p + n + 1), n, n + 1);
            }
        }
    }
}

static void check_translation(const char *from, const char *wanted)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tinkc_code code = tk_tok_pattern_translate(&out, tk_str_of(from), &err);
    if (wanted == NULL) {
        assert_int_equal(code, TINKC_E_UNSUPPORTED);
    } else {
        assert_int_equal(code, TINKC_OK);
        assert_string_equal(tk_buf_cstr(&out), wanted);
    }
    tk_buf_dispose(&out);
}

/* What PCRE2 would read otherwise is translated or refused, never passed on. */
static void test_pattern_translation(void **unused)
{
    static const char *const rows[][2] = {
        {"\\s+(?!\\S)", "\\p{wspace}+(?!\\P{wspace})"},
        {"[\\s\\d]", "[\\p{wspace}\\d]"},
        {"[a[bc]d]", "[abcd]"},
        {"[\\w&&[^a]]", NULL},
        {"[a-z&&[^aeiou]]+", "(?:(?![aeiou])[a-z])+"},
        {"[a-z&&[aeiou]]", "(?:(?=[aeiou])[a-z])"},
        {"[^a&&[b]]", NULL},
        {"\\p{Thai}", "[\\p{sc:Thai}]"},
        {"\\p{Nd}\\P{Nd}", "[\\p{Nd}][^\\p{Nd}]"},
        {"\\w", NULL},
        {"\\h", NULL},
        {"\\1", NULL},
        {"[\\P{L}]", NULL},
        {"[[:alpha:]]", NULL},
        {"[a[^b]]", NULL},
        {"[abc", NULL},
        {"\\p{^L}", NULL},
        {"\\pL", NULL},
        {"(?m)a", NULL},
        {"(?<name>a)", NULL},
        {"a{1,2}+", NULL},
        {"\\", NULL},
        {"a++(?:b|c)*?", "a++(?:b|c)*?"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        check_translation(rows[i][0], rows[i][1]);
    }
}

/* A pattern of millions of properties is refused before any is written out. */
static void test_pattern_length(void **unused)
{
    tk_err err = TK_ERR_INIT;
    tk_buf pattern;
    tk_tok_regex *regex = NULL;
    tk_buf_init(&pattern, 64 * TK_MIB);
    for (size_t i = 0; i < 6000000; i++) {
        tk_buf_put(&pattern, "\\p{L}", 5);
    }
    assert_int_equal(tk_tok_regex_new(&regex, tk_buf_str(&pattern), &err), TINKC_E_LIMIT);
    assert_null(regex);
    tk_buf_dispose(&pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_equals_pcre2),
        cmocka_unit_test(test_scan_total),
        cmocka_unit_test(test_pattern_translation),
        cmocka_unit_test(test_pattern_length),
    };
    return cmocka_run_group_tests_name("tok_scan", tests, NULL, NULL);
}
