/* Text as Python sees it: what Python 3.11 answers for characters, cutting and case, and
 * the search from the end. */
#include "base/mem.h"
#include "base/utf8.h"
#include "support/test.h"
#include "text/jinja/jinja_str.h"

static size_t slow_rfind(tk_str s, tk_str needle)
{
    for (size_t at = s.n + 1; at-- > 0;) {
        if (at + needle.n <= s.n && memcmp(s.p + at, needle.p, needle.n) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* The first five of nine letters, for every such text, and every part of it. */
static void test_jinja_str_rfind(void **unused)
{
    enum { LENGTH = 9, TEXTS = 512 };
    for (unsigned k = 0; k < TEXTS; k++) {
        char text[LENGTH];
        for (size_t i = 0; i < LENGTH; i++) {
            text[i] = k >> i & 1 ? 'a' : '\xe9';
        }
        tk_str s = {text, 5};
        for (size_t from = 0; from <= LENGTH; from++) {
            for (size_t n = 0; from + n <= LENGTH; n++) {
                tk_str needle = {text + from, n};
                assert_true(tk_jstr_rfind(s, needle) == slow_rfind(s, needle));
            }
        }
    }
}

/* A search that reads the needle at every place of the text would not end. */
static void test_jinja_str_rfind_long(void **unused)
{
    enum { N = 8 << 20 };
    char *text = tk_malloc(N);
    assert_non_null(text);
    memset(text, 'a', N);
    text[N / 2 - 1] = 'b'; /* the needle's last letter, which the second half does not
                            * have */
    tk_str s = {text + N / 2, N / 2}, needle = {text, N / 2};
    needle.p += N / 4;
    needle.n -= N / 4;
    assert_true(tk_jstr_rfind(s, needle) == SIZE_MAX);
    assert_int_equal(tk_jstr_rfind((tk_str){text, N}, needle), N / 4);
    tk_free(text);
}

/* ---- characters ---- */

static const struct {
    uint32_t code;
    int alpha, digit, numeric, decimal, upper, lower, printable, space, line_end;
} facts[] = {
    {0x0, 0, 0, 0, -1, 0, 0, 0, 0, 0},      {0x9, 0, 0, 0, -1, 0, 0, 0, 1, 0},
    {0x20, 0, 0, 0, -1, 0, 0, 1, 1, 0},     {0x27, 0, 0, 0, -1, 0, 0, 1, 0, 0},
    {0x2e, 0, 0, 0, -1, 0, 0, 1, 0, 0},     {0x30, 0, 1, 1, 0, 0, 0, 1, 0, 0},
    {0x39, 0, 1, 1, 9, 0, 0, 1, 0, 0},      {0x41, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x5a, 1, 0, 0, -1, 1, 0, 1, 0, 0},     {0x5f, 0, 0, 0, -1, 0, 0, 1, 0, 0},
    {0x61, 1, 0, 0, -1, 0, 1, 1, 0, 0},     {0x7a, 1, 0, 0, -1, 0, 1, 1, 0, 0},
    {0x7f, 0, 0, 0, -1, 0, 0, 0, 0, 0},     {0x80, 0, 0, 0, -1, 0, 0, 0, 0, 0},
    {0x85, 0, 0, 0, -1, 0, 0, 0, 1, 1},     {0xa0, 0, 0, 0, -1, 0, 0, 0, 1, 0},
    {0xaa, 1, 0, 0, -1, 0, 1, 1, 0, 0},     {0xad, 0, 0, 0, -1, 0, 0, 0, 0, 0},
    {0xb2, 0, 1, 1, -1, 0, 0, 1, 0, 0},     {0xb5, 1, 0, 0, -1, 0, 1, 1, 0, 0},
    {0xb9, 0, 1, 1, -1, 0, 0, 1, 0, 0},     {0xba, 1, 0, 0, -1, 0, 1, 1, 0, 0},
    {0xbd, 0, 0, 1, -1, 0, 0, 1, 0, 0},     {0xc0, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0xd7, 0, 0, 0, -1, 0, 0, 1, 0, 0},     {0xdf, 1, 0, 0, -1, 0, 1, 1, 0, 0},
    {0xe9, 1, 0, 0, -1, 0, 1, 1, 0, 0},     {0xf7, 0, 0, 0, -1, 0, 0, 1, 0, 0},
    {0x100, 1, 0, 0, -1, 1, 0, 1, 0, 0},    {0x130, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x131, 1, 0, 0, -1, 0, 1, 1, 0, 0},    {0x149, 1, 0, 0, -1, 0, 1, 1, 0, 0},
    {0x17f, 1, 0, 0, -1, 0, 1, 1, 0, 0},    {0x1c4, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x1c5, 1, 0, 0, -1, 0, 0, 1, 0, 0},    {0x1c6, 1, 0, 0, -1, 0, 1, 1, 0, 0},
    {0x2b0, 1, 0, 0, -1, 0, 1, 1, 0, 0},    {0x2c2, 0, 0, 0, -1, 0, 0, 1, 0, 0},
    {0x300, 0, 0, 0, -1, 0, 0, 1, 0, 0},    {0x345, 0, 0, 0, -1, 0, 1, 1, 0, 0},
    {0x378, 0, 0, 0, -1, 0, 0, 0, 0, 0},    {0x391, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x3a3, 1, 0, 0, -1, 1, 0, 1, 0, 0},    {0x3c2, 1, 0, 0, -1, 0, 1, 1, 0, 0},
    {0x5d0, 1, 0, 0, -1, 0, 0, 1, 0, 0},    {0x660, 0, 1, 1, 0, 0, 0, 1, 0, 0},
    {0x669, 0, 1, 1, 9, 0, 0, 1, 0, 0},     {0x6f3, 0, 1, 1, 3, 0, 0, 1, 0, 0},
    {0x966, 0, 1, 1, 0, 0, 0, 1, 0, 0},     {0xe50, 0, 1, 1, 0, 0, 0, 1, 0, 0},
    {0xf33, 0, 0, 1, -1, 0, 0, 1, 0, 0},    {0x1680, 0, 0, 0, -1, 0, 0, 0, 1, 0},
    {0x16ee, 0, 0, 1, -1, 0, 0, 1, 0, 0},   {0x200b, 0, 0, 0, -1, 0, 0, 0, 0, 0},
    {0x2028, 0, 0, 0, -1, 0, 0, 0, 1, 1},   {0x202f, 0, 0, 0, -1, 0, 0, 0, 1, 0},
    {0x2070, 0, 1, 1, -1, 0, 0, 1, 0, 0},   {0x2074, 0, 1, 1, -1, 0, 0, 1, 0, 0},
    {0x2080, 0, 1, 1, -1, 0, 0, 1, 0, 0},   {0x2102, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x2160, 0, 0, 1, -1, 1, 0, 1, 0, 0},   {0x2170, 0, 0, 1, -1, 0, 1, 1, 0, 0},
    {0x2460, 0, 1, 1, -1, 0, 0, 1, 0, 0},   {0x2469, 0, 0, 1, -1, 0, 0, 1, 0, 0},
    {0x249c, 0, 0, 0, -1, 0, 0, 1, 0, 0},   {0x2c00, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x2c30, 1, 0, 0, -1, 0, 1, 1, 0, 0},   {0x3007, 0, 0, 1, -1, 0, 0, 1, 0, 0},
    {0x3021, 0, 0, 1, -1, 0, 0, 1, 0, 0},   {0x3042, 1, 0, 0, -1, 0, 0, 1, 0, 0},
    {0x4e01, 1, 0, 0, -1, 0, 0, 1, 0, 0},   {0xa640, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0xac00, 1, 0, 0, -1, 0, 0, 1, 0, 0},   {0xd7a3, 1, 0, 0, -1, 0, 0, 1, 0, 0},
    {0xe000, 0, 0, 0, -1, 0, 0, 0, 0, 0},   {0xf900, 1, 0, 0, -1, 0, 0, 1, 0, 0},
    {0xfb01, 1, 0, 0, -1, 0, 1, 1, 0, 0},   {0xfeff, 0, 0, 0, -1, 0, 0, 0, 0, 0},
    {0xff11, 0, 1, 1, 1, 0, 0, 1, 0, 0},    {0xff21, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0xff41, 1, 0, 0, -1, 0, 1, 1, 0, 0},   {0xfffd, 0, 0, 0, -1, 0, 0, 1, 0, 0},
    {0xffff, 0, 0, 0, -1, 0, 0, 0, 0, 0},   {0x10400, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x10428, 1, 0, 0, -1, 0, 1, 1, 0, 0},  {0x1d400, 1, 0, 0, -1, 1, 0, 1, 0, 0},
    {0x1d7ce, 0, 1, 1, 0, 0, 0, 1, 0, 0},   {0x1d7d8, 0, 1, 1, 0, 0, 0, 1, 0, 0},
    {0x1d7ff, 0, 1, 1, 9, 0, 0, 1, 0, 0},   {0x1f600, 0, 0, 0, -1, 0, 0, 1, 0, 0},
    {0x20000, 1, 0, 0, -1, 0, 0, 1, 0, 0},  {0xe0001, 0, 0, 0, -1, 0, 0, 0, 0, 0},
    {0x10ffff, 0, 0, 0, -1, 0, 0, 0, 0, 0},
};

/* str.isalpha() and the others of a text of one character, unicodedata.decimal(). */
static void test_jinja_str_characters(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(facts); i++) {
        uint32_t c = facts[i].code;
        char utf8[4];
        tk_str s = {utf8, tk_utf8_encode(utf8, c)};
        int got[] = {tk_jstr_is_alpha(c),     tk_jstr_is_digit(c),
                     tk_jstr_is_numeric(c),   tk_jstr_decimal(c),
                     tk_jstr_is_upper(c),     tk_jstr_is_lower(c),
                     tk_jstr_is_printable(c), tk_jstr_space(s.p, s.n) > 0,
                     tk_jstr_line_end(s) > 0};
        int wanted[] = {facts[i].alpha,     facts[i].digit, facts[i].numeric,
                        facts[i].decimal,   facts[i].upper, facts[i].lower,
                        facts[i].printable, facts[i].space, facts[i].line_end};
        for (size_t k = 0; k < TK_ARRAY_LEN(wanted); k++) {
            if (got[k] != wanted[k]) {
                fail_msg("U+%04X: column %zu is %d", c, k, got[k]);
            }
        }
        assert_int_equal(tk_jstr_space_before(s.p, s.n) > 0, facts[i].space);
    }
}

static void test_jinja_str_places(void **unused)
{
    tk_str s = TK_STR("a\xC3\xA9\xF0\x9F\x98\x80z"); /* a, e acute, a face, z */
    static const size_t offsets[] = {0, 1, 3, 7, 8, 8, 8};
    assert_int_equal(tk_jstr_count(s), 4);
    for (size_t i = 0; i < TK_ARRAY_LEN(offsets); i++) {
        assert_int_equal(tk_jstr_offset(s, i), offsets[i]);
    }
    uint32_t code = 0;
    assert_int_equal(tk_jstr_char(&code, (tk_str){s.p + 3, 5}), 4);
    assert_int_equal(code, 0x1F600);
    assert_int_equal(tk_jstr_char(&code, TK_STR("\xFFz")), 1);
    assert_int_equal(code, 0xFFFD);
    assert_int_equal(tk_jstr_char(&code, TK_STR("")), 0);
    assert_int_equal(tk_jstr_line_end(TK_STR("\r\nx")), 2);
    assert_int_equal(tk_jstr_line_end(TK_STR("\rx")), 1);
    assert_int_equal(tk_jstr_line_end(TK_STR("\xE2\x80\xA8")), 3);
    assert_int_equal(tk_jstr_find(s, TK_STR("z"), 0), 7);
    assert_int_equal(tk_jstr_find(s, TK_STR(""), 3), 3);
    assert_true(tk_jstr_find(s, TK_STR("a"), 1) == SIZE_MAX);
    assert_true(tk_jstr_find(s, TK_STR("a"), 99) == SIZE_MAX);
}

static void test_jinja_str_strips(void **unused)
{
    tk_str s = TK_STR("\xC2\xA0\t a \xE3\x80\x80");
    assert_true(tk_str_is(tk_jstr_lstrip(s), "a \xE3\x80\x80"));
    assert_true(tk_str_is(tk_jstr_rstrip(s), "\xC2\xA0\t a"));
    assert_int_equal(tk_jstr_lstrip(TK_STR(" \n ")).n, 0);
    assert_int_equal(tk_jstr_rstrip(TK_STR(" \n ")).n, 0);
    tk_str set = TK_STR("\xC3\xA9x"), e = TK_STR("x\xC3\xA9-\xC3\xA9x");
    assert_true(tk_str_is(tk_jstr_lstrip_set(e, set), "-\xC3\xA9x"));
    assert_true(tk_str_is(tk_jstr_rstrip_set(e, set), "x\xC3\xA9-"));
    assert_true(tk_str_is(tk_jstr_lstrip_set(e, TK_STR("\xC3")), e.p));
    assert_true(tk_str_is(tk_jstr_rstrip_set(TK_STR("a"), TK_STR("")), "a"));
}

typedef struct case_row {
    tk_jstr_case how;
    const char *from, *to;
} case_row;

static const case_row cases[] = {
    {TK_JSTR_LOWER, "", ""},
    {TK_JSTR_LOWER, "abc", "abc"},
    {TK_JSTR_LOWER, "ABC", "abc"},
    {TK_JSTR_LOWER, "aBc dEf", "abc def"},
    {TK_JSTR_LOWER, "it's", "it's"},
    {TK_JSTR_LOWER, "éÀ ß", "éà ß"},
    {TK_JSTR_LOWER, "ﬁn ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ", "ﬁn ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ"},
    {TK_JSTR_LOWER, "ŉ ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ", "ŉ ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ"},
    {TK_JSTR_LOWER, "İıſ", "i\314\207ıſ"},
    {TK_JSTR_LOWER, "ΑΣ ΑΣΑ Σ", "ας ασα σ"},
    {TK_JSTR_LOWER, "ΑΣ. ΑΣ:Α", "ας. ασ:α"},
    {TK_JSTR_LOWER, "ǄǅǆǇ", "ǆǆǆǉ"},
    {TK_JSTR_LOWER, "1a 2B", "1a 2b"},
    {TK_JSTR_LOWER, "a-b_c", "a-b_c"},
    {TK_JSTR_LOWER, "ªº", "ªº"},
    {TK_JSTR_LOWER, "𐐀𐐨", "𐐨𐐨"},
    {TK_JSTR_LOWER, "ÿŸ", "ÿÿ"},
    {TK_JSTR_LOWER, "你好 abc", "你好 abc"},
    {TK_JSTR_UPPER, "", ""},
    {TK_JSTR_UPPER, "abc", "ABC"},
    {TK_JSTR_UPPER, "ABC", "ABC"},
    {TK_JSTR_UPPER, "aBc dEf", "ABC DEF"},
    {TK_JSTR_UPPER, "it's", "IT'S"},
    {TK_JSTR_UPPER, "éÀ ß", "ÉÀ SS"},
    {TK_JSTR_UPPER, "ﬁn ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ", "FIN FL FF FFI FFL ST ST"},
    {TK_JSTR_UPPER, "ŉ ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ",
     "ʼN J\314\214 Ι\314\210\314\201 Υ\314\210\314\201 ԵՒ H\314\261 T\314\210 W\314\212 Y\314\212 Aʾ"},
    {TK_JSTR_UPPER, "İıſ", "İIS"},
    {TK_JSTR_UPPER, "ΑΣ ΑΣΑ Σ", "ΑΣ ΑΣΑ Σ"},
    {TK_JSTR_UPPER, "ΑΣ. ΑΣ:Α", "ΑΣ. ΑΣ:Α"},
    {TK_JSTR_UPPER, "ǄǅǆǇ", "ǄǄǄǇ"},
    {TK_JSTR_UPPER, "1a 2B", "1A 2B"},
    {TK_JSTR_UPPER, "a-b_c", "A-B_C"},
    {TK_JSTR_UPPER, "ªº", "ªº"},
    {TK_JSTR_UPPER, "𐐀𐐨", "𐐀𐐀"},
    {TK_JSTR_UPPER, "ÿŸ", "ŸŸ"},
    {TK_JSTR_UPPER, "你好 abc", "你好 ABC"},
    {TK_JSTR_TITLE, "", ""},
    {TK_JSTR_TITLE, "abc", "Abc"},
    {TK_JSTR_TITLE, "ABC", "Abc"},
    {TK_JSTR_TITLE, "aBc dEf", "Abc Def"},
    {TK_JSTR_TITLE, "it's", "It'S"},
    {TK_JSTR_TITLE, "éÀ ß", "Éà Ss"},
    {TK_JSTR_TITLE, "ﬁn ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ", "Fin Fl Ff Ffi Ffl St St"},
    {TK_JSTR_TITLE, "ŉ ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ",
     "ʼN J\314\214 Ι\314\210\314\201 Υ\314\210\314\201 Եւ H\314\261 T\314\210 W\314\212 Y\314\212 Aʾ"},
    {TK_JSTR_TITLE, "İıſ", "İıſ"},
    {TK_JSTR_TITLE, "ΑΣ ΑΣΑ Σ", "Ας Ασα Σ"},
    {TK_JSTR_TITLE, "ΑΣ. ΑΣ:Α", "Ας. Ασ:Α"},
    {TK_JSTR_TITLE, "ǄǅǆǇ", "ǅǆǆǉ"},
    {TK_JSTR_TITLE, "1a 2B", "1A 2B"},
    {TK_JSTR_TITLE, "a-b_c", "A-B_C"},
    {TK_JSTR_TITLE, "ªº", "ªº"},
    {TK_JSTR_TITLE, "𐐀𐐨", "𐐀𐐨"},
    {TK_JSTR_TITLE, "ÿŸ", "Ÿÿ"},
    {TK_JSTR_TITLE, "你好 abc", "你好 Abc"},
    {TK_JSTR_CAPITALIZE, "", ""},
    {TK_JSTR_CAPITALIZE, "abc", "Abc"},
    {TK_JSTR_CAPITALIZE, "ABC", "Abc"},
    {TK_JSTR_CAPITALIZE, "aBc dEf", "Abc def"},
    {TK_JSTR_CAPITALIZE, "it's", "It's"},
    {TK_JSTR_CAPITALIZE, "éÀ ß", "Éà ß"},
    {TK_JSTR_CAPITALIZE, "ﬁn ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ", "Fin ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ"},
    {TK_JSTR_CAPITALIZE, "ŉ ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ", "ʼN ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ"},
    {TK_JSTR_CAPITALIZE, "İıſ", "İıſ"},
    {TK_JSTR_CAPITALIZE, "ΑΣ ΑΣΑ Σ", "Ας ασα σ"},
    {TK_JSTR_CAPITALIZE, "ΑΣ. ΑΣ:Α", "Ας. ασ:α"},
    {TK_JSTR_CAPITALIZE, "ǄǅǆǇ", "ǅǆǆǉ"},
    {TK_JSTR_CAPITALIZE, "1a 2B", "1a 2b"},
    {TK_JSTR_CAPITALIZE, "a-b_c", "A-b_c"},
    {TK_JSTR_CAPITALIZE, "ªº", "ªº"},
    {TK_JSTR_CAPITALIZE, "𐐀𐐨", "𐐀𐐨"},
    {TK_JSTR_CAPITALIZE, "ÿŸ", "Ÿÿ"},
    {TK_JSTR_CAPITALIZE, "你好 abc", "你好 abc"},
    {TK_JSTR_SWAP, "", ""},
    {TK_JSTR_SWAP, "abc", "ABC"},
    {TK_JSTR_SWAP, "ABC", "abc"},
    {TK_JSTR_SWAP, "aBc dEf", "AbC DeF"},
    {TK_JSTR_SWAP, "it's", "IT'S"},
    {TK_JSTR_SWAP, "éÀ ß", "Éà SS"},
    {TK_JSTR_SWAP, "ﬁn ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ", "FIN FL FF FFI FFL ST ST"},
    {TK_JSTR_SWAP, "ŉ ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ",
     "ʼN J\314\214 Ι\314\210\314\201 Υ\314\210\314\201 ԵՒ H\314\261 T\314\210 W\314\212 Y\314\212 Aʾ"},
    {TK_JSTR_SWAP, "İıſ", "i\314\207IS"},
    {TK_JSTR_SWAP, "ΑΣ ΑΣΑ Σ", "ας ασα σ"},
    {TK_JSTR_SWAP, "ΑΣ. ΑΣ:Α", "ας. ασ:α"},
    {TK_JSTR_SWAP, "ǄǅǆǇ", "ǆǅǄǉ"},
    {TK_JSTR_SWAP, "1a 2B", "1A 2b"},
    {TK_JSTR_SWAP, "a-b_c", "A-B_C"},
    {TK_JSTR_SWAP, "ªº", "ªº"},
    {TK_JSTR_SWAP, "𐐀𐐨", "𐐨𐐀"},
    {TK_JSTR_SWAP, "ÿŸ", "Ÿÿ"},
    {TK_JSTR_SWAP, "你好 abc", "你好 ABC"},
    {TK_JSTR_FOLD, "", ""},
    {TK_JSTR_FOLD, "abc", "abc"},
    {TK_JSTR_FOLD, "ABC", "abc"},
    {TK_JSTR_FOLD, "aBc dEf", "abc def"},
    {TK_JSTR_FOLD, "it's", "it's"},
    {TK_JSTR_FOLD, "éÀ ß", "éà ss"},
    {TK_JSTR_FOLD, "ﬁn ﬂ ﬀ ﬃ ﬄ ﬅ ﬆ", "fin fl ff ffi ffl st st"},
    {TK_JSTR_FOLD, "ŉ ǰ ΐ ΰ և ẖ ẗ ẘ ẙ ẚ",
     "ʼn j\314\214 ι\314\210\314\201 υ\314\210\314\201 եւ h\314\261 t\314\210 w\314\212 y\314\212 aʾ"},
    {TK_JSTR_FOLD, "İıſ", "i\314\207ıs"},
    {TK_JSTR_FOLD, "ΑΣ ΑΣΑ Σ", "ασ ασα σ"},
    {TK_JSTR_FOLD, "ΑΣ. ΑΣ:Α", "ασ. ασ:α"},
    {TK_JSTR_FOLD, "ǄǅǆǇ", "ǆǆǆǉ"},
    {TK_JSTR_FOLD, "1a 2B", "1a 2b"},
    {TK_JSTR_FOLD, "a-b_c", "a-b_c"},
    {TK_JSTR_FOLD, "ªº", "ªº"},
    {TK_JSTR_FOLD, "𐐀𐐨", "𐐨𐐨"},
    {TK_JSTR_FOLD, "ÿŸ", "ÿÿ"},
    {TK_JSTR_FOLD, "你好 abc", "你好 abc"},
};

/* str.lower() and the others. */
static void test_jinja_str_case(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        tk_buf out;
        tk_buf_init(&out, TK_KIB);
        tk_jstr_put_case(&out, tk_str_of(cases[i].from), cases[i].how);
        if (!tk_str_is(tk_buf_str(&out), cases[i].to)) {
            fail_msg("row %zu: %.*s", i, (int)out.n, out.p);
        }
        tk_buf_dispose(&out);
    }
    assert_true(tk_jstr_is_case(TK_STR("A1"), true));
    assert_false(tk_jstr_is_case(TK_STR("Aa"), true));
    assert_false(tk_jstr_is_case(TK_STR("1"), true));
    assert_true(tk_jstr_is_case(TK_STR("a1"), false));
    assert_false(tk_jstr_is_case(TK_STR("aA"), false));
    assert_false(tk_jstr_is_case(TK_STR(""), false));
}

static void test_jinja_str_output(void **unused)
{
    static const struct {
        const char *from, *repr, *escaped;
    } rows[] = {
        {"", "''", ""},
        {"a", "'a'", "a"},
        {"it's", "\"it's\"", "it&#39;s"},
        {"q\"q", "'q\"q'", "q&#34;q"},
        {"b'\"", "'b\\'\"'", "b&#39;&#34;"},
        {"\\", "'\\\\'", "\\"},
        {"\n\r\t", "'\\n\\r\\t'", "\n\r\t"},
        {"\001\037\177", "'\\x01\\x1f\\x7f'", "\001\037\177"},
        {"\302\200\302\205\302\240\302\255", "'\\x80\\x85\\xa0\\xad'",
         "\302\200\302\205\302\240\302\255"},
        {"é你😀", "'é你😀'", "é你😀"},
        {"\342\200\213\342\200\250\357\273\277", "'\\u200b\\u2028\\ufeff'",
         "\342\200\213\342\200\250\357\273\277"},
        {"\363\240\200\201", "'\\U000e0001'", "\363\240\200\201"},
        {"<a href=\"x\">'&amp;", "'<a href=\"x\">\\'&amp;'",
         "&lt;a href=&#34;x&#34;&gt;&#39;&amp;amp;"},
        {"a<b>c", "'a<b>c'", "a&lt;b&gt;c"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_buf out;
        tk_buf_init(&out, TK_KIB);
        tk_jstr_put_repr(&out, tk_str_of(rows[i].from));
        assert_true(tk_str_is(tk_buf_str(&out), rows[i].repr));
        tk_buf_clear(&out);
        tk_jstr_put_escaped(&out, tk_str_of(rows[i].from));
        assert_true(tk_str_is(tk_buf_str(&out), rows[i].escaped));
        tk_buf_dispose(&out);
    }
}

static void test_jinja_str_identifiers(void **unused)
{
    static const struct {
        const char *name;
        bool is;
    } rows[] = {
        {"a", true},       {"\u00e9", true},   {"a\u0301", true},      {"\u0301a", false},
        {"\u0663", false}, {"a\u0663", true},  {"\u4f60\u597d", true}, {"a\u20ac", false},
        {"\u2167", true},  {"a\u203fb", true}, {"\U0001F600", false}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tk_jstr_is_identifier(tk_str_of(rows[i].name)), rows[i].is);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_str_characters),
        cmocka_unit_test(test_jinja_str_places),
        cmocka_unit_test(test_jinja_str_strips),
        cmocka_unit_test(test_jinja_str_case),
        cmocka_unit_test(test_jinja_str_output),
        cmocka_unit_test(test_jinja_str_identifiers),
        cmocka_unit_test(test_jinja_str_rfind),
        cmocka_unit_test(test_jinja_str_rfind_long),
    };
    return cmocka_run_group_tests_name("jinja_str", tests, NULL, NULL);
}
