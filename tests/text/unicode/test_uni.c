/* Properties of characters: the category that Python's unicodedata 14 has, white space by
 * White_Space, and script Han, words and digits as the reference tokenizer sees them. */
#include "base/utf8.h"
#include "support/test.h"
#include "text/unicode/uni.h"

static const struct {
    uint32_t code;
    tk_uni_class class;
    int han, word, digit;
} facts[] = {
    {0x0, TK_UNI_OTHER, 0, 0, 0},      {0x8, TK_UNI_OTHER, 0, 0, 0},
    {0x9, TK_UNI_SPACE, 0, 0, 0},      {0xa, TK_UNI_NEWLINE, 0, 0, 0},
    {0xb, TK_UNI_SPACE, 0, 0, 0},      {0xd, TK_UNI_NEWLINE, 0, 0, 0},
    {0x1c, TK_UNI_OTHER, 0, 0, 0},     {0x1f, TK_UNI_OTHER, 0, 0, 0},
    {0x20, TK_UNI_SPACE, 0, 0, 0},     {0x21, TK_UNI_P, 0, 0, 0},
    {0x24, TK_UNI_S, 0, 0, 0},         {0x27, TK_UNI_P, 0, 0, 0},
    {0x2b, TK_UNI_S, 0, 0, 0},         {0x30, TK_UNI_N, 0, 1, 1},
    {0x39, TK_UNI_N, 0, 1, 1},         {0x3c, TK_UNI_S, 0, 0, 0},
    {0x41, TK_UNI_LU, 0, 1, 0},        {0x5a, TK_UNI_LU, 0, 1, 0},
    {0x5e, TK_UNI_S, 0, 0, 0},         {0x5f, TK_UNI_P, 0, 1, 0},
    {0x60, TK_UNI_S, 0, 0, 0},         {0x61, TK_UNI_LL, 0, 1, 0},
    {0x7a, TK_UNI_LL, 0, 1, 0},        {0x7e, TK_UNI_S, 0, 0, 0},
    {0x7f, TK_UNI_OTHER, 0, 0, 0},     {0x80, TK_UNI_OTHER, 0, 0, 0},
    {0x85, TK_UNI_SPACE, 0, 0, 0},     {0x9f, TK_UNI_OTHER, 0, 0, 0},
    {0xa0, TK_UNI_SPACE, 0, 0, 0},     {0xa1, TK_UNI_P, 0, 0, 0},
    {0xa2, TK_UNI_S, 0, 0, 0},         {0xaa, TK_UNI_LO, 0, 1, 0},
    {0xab, TK_UNI_P, 0, 0, 0},         {0xad, TK_UNI_OTHER, 0, 0, 0},
    {0xb2, TK_UNI_N, 0, 0, 1},         {0xb5, TK_UNI_LL, 0, 1, 0},
    {0xb7, TK_UNI_P, 0, 0, 0},         {0xba, TK_UNI_LO, 0, 1, 0},
    {0xbc, TK_UNI_N, 0, 0, 1},         {0xbf, TK_UNI_P, 0, 0, 0},
    {0xc0, TK_UNI_LU, 0, 1, 0},        {0xd7, TK_UNI_S, 0, 0, 0},
    {0xdf, TK_UNI_LL, 0, 1, 0},        {0xf7, TK_UNI_S, 0, 0, 0},
    {0xff, TK_UNI_LL, 0, 1, 0},        {0x100, TK_UNI_LU, 0, 1, 0},
    {0x101, TK_UNI_LL, 0, 1, 0},       {0x17f, TK_UNI_LL, 0, 1, 0},
    {0x1c4, TK_UNI_LU, 0, 1, 0},       {0x1c5, TK_UNI_LT, 0, 1, 0},
    {0x1c6, TK_UNI_LL, 0, 1, 0},       {0x1bb, TK_UNI_LO, 0, 1, 0},
    {0x250, TK_UNI_LL, 0, 1, 0},       {0x2b0, TK_UNI_LM, 0, 1, 0},
    {0x2c2, TK_UNI_S, 0, 0, 0},        {0x300, TK_UNI_M, 0, 1, 0},
    {0x301, TK_UNI_M, 0, 1, 0},        {0x345, TK_UNI_M, 0, 1, 0},
    {0x36f, TK_UNI_M, 0, 1, 0},        {0x370, TK_UNI_LU, 0, 1, 0},
    {0x37a, TK_UNI_LM, 0, 1, 0},       {0x37e, TK_UNI_P, 0, 0, 0},
    {0x391, TK_UNI_LU, 0, 1, 0},       {0x3b1, TK_UNI_LL, 0, 1, 0},
    {0x3f6, TK_UNI_S, 0, 0, 0},        {0x410, TK_UNI_LU, 0, 1, 0},
    {0x430, TK_UNI_LL, 0, 1, 0},       {0x483, TK_UNI_M, 0, 1, 0},
    {0x488, TK_UNI_M, 0, 1, 0},        {0x55a, TK_UNI_P, 0, 0, 0},
    {0x5b0, TK_UNI_M, 0, 1, 0},        {0x5d0, TK_UNI_LO, 0, 1, 0},
    {0x600, TK_UNI_OTHER, 0, 0, 0},    {0x609, TK_UNI_P, 0, 0, 0},
    {0x60b, TK_UNI_S, 0, 0, 0},        {0x640, TK_UNI_LM, 0, 1, 0},
    {0x64b, TK_UNI_M, 0, 1, 0},        {0x660, TK_UNI_N, 0, 1, 1},
    {0x669, TK_UNI_N, 0, 1, 1},        {0x6dd, TK_UNI_OTHER, 0, 0, 0},
    {0x6f0, TK_UNI_N, 0, 1, 1},        {0x903, TK_UNI_M, 0, 1, 0},
    {0x905, TK_UNI_LO, 0, 1, 0},       {0x93e, TK_UNI_M, 0, 1, 0},
    {0x966, TK_UNI_N, 0, 1, 1},        {0x9f2, TK_UNI_S, 0, 0, 0},
    {0x9f4, TK_UNI_N, 0, 0, 1},        {0xe01, TK_UNI_LO, 0, 1, 0},
    {0xe3f, TK_UNI_S, 0, 0, 0},        {0xe40, TK_UNI_LO, 0, 1, 0},
    {0xe50, TK_UNI_N, 0, 1, 1},        {0xf20, TK_UNI_N, 0, 1, 1},
    {0xf2a, TK_UNI_N, 0, 0, 1},        {0x10a0, TK_UNI_LU, 0, 1, 0},
    {0x10d0, TK_UNI_LL, 0, 1, 0},      {0x1100, TK_UNI_LO, 0, 1, 0},
    {0x1161, TK_UNI_LO, 0, 1, 0},      {0x11a8, TK_UNI_LO, 0, 1, 0},
    {0x1369, TK_UNI_N, 0, 0, 1},       {0x1680, TK_UNI_SPACE, 0, 0, 0},
    {0x16ee, TK_UNI_N, 0, 1, 1},       {0x17b4, TK_UNI_M, 0, 1, 0},
    {0x17e0, TK_UNI_N, 0, 1, 1},       {0x180e, TK_UNI_OTHER, 0, 0, 0},
    {0x1810, TK_UNI_N, 0, 1, 1},       {0x1c89, TK_UNI_LU, 0, 1, 0},
    {0x1d2c, TK_UNI_LM, 0, 1, 0},      {0x1e00, TK_UNI_LU, 0, 1, 0},
    {0x1e9e, TK_UNI_LU, 0, 1, 0},      {0x1f88, TK_UNI_LT, 0, 1, 0},
    {0x2000, TK_UNI_SPACE, 0, 0, 0},   {0x200a, TK_UNI_SPACE, 0, 0, 0},
    {0x200b, TK_UNI_OTHER, 0, 0, 0},   {0x200d, TK_UNI_OTHER, 0, 1, 0},
    {0x2010, TK_UNI_P, 0, 0, 0},       {0x2018, TK_UNI_P, 0, 0, 0},
    {0x2028, TK_UNI_SPACE, 0, 0, 0},   {0x2029, TK_UNI_SPACE, 0, 0, 0},
    {0x202f, TK_UNI_SPACE, 0, 0, 0},   {0x203f, TK_UNI_P, 0, 1, 0},
    {0x2044, TK_UNI_S, 0, 0, 0},       {0x205f, TK_UNI_SPACE, 0, 0, 0},
    {0x2060, TK_UNI_OTHER, 0, 0, 0},   {0x2070, TK_UNI_N, 0, 0, 1},
    {0x207f, TK_UNI_LM, 0, 1, 0},      {0x20ac, TK_UNI_S, 0, 0, 0},
    {0x20dd, TK_UNI_M, 0, 1, 0},       {0x2102, TK_UNI_LU, 0, 1, 0},
    {0x2118, TK_UNI_S, 0, 0, 0},       {0x2160, TK_UNI_N, 0, 1, 1},
    {0x2180, TK_UNI_N, 0, 1, 1},       {0x2190, TK_UNI_S, 0, 0, 0},
    {0x2200, TK_UNI_S, 0, 0, 0},       {0x2460, TK_UNI_N, 0, 0, 1},
    {0x249c, TK_UNI_S, 0, 0, 0},       {0x24d0, TK_UNI_S, 0, 1, 0},
    {0x2500, TK_UNI_S, 0, 0, 0},       {0x2600, TK_UNI_S, 0, 0, 0},
    {0x2776, TK_UNI_N, 0, 0, 1},       {0x2c00, TK_UNI_LU, 0, 1, 0},
    {0x2c7c, TK_UNI_LM, 0, 1, 0},      {0x2cfd, TK_UNI_N, 0, 0, 1},
    {0x2e80, TK_UNI_S, 1, 0, 0},       {0x3000, TK_UNI_SPACE, 0, 0, 0},
    {0x3001, TK_UNI_P, 0, 0, 0},       {0x3005, TK_UNI_LM, 1, 1, 0},
    {0x3007, TK_UNI_N, 1, 1, 1},       {0x3021, TK_UNI_N, 1, 1, 1},
    {0x302a, TK_UNI_M, 0, 1, 0},       {0x3031, TK_UNI_LM, 0, 1, 0},
    {0x3041, TK_UNI_LO, 0, 1, 0},      {0x3099, TK_UNI_M, 0, 1, 0},
    {0x309d, TK_UNI_LM, 0, 1, 0},      {0x30a1, TK_UNI_LO, 0, 1, 0},
    {0x30fc, TK_UNI_LM, 0, 1, 0},      {0x3105, TK_UNI_LO, 0, 1, 0},
    {0x3131, TK_UNI_LO, 0, 1, 0},      {0x3220, TK_UNI_N, 0, 0, 1},
    {0x3400, TK_UNI_LO, 1, 1, 0},      {0x4dc0, TK_UNI_S, 0, 0, 0},
    {0x4e00, TK_UNI_LO, 1, 1, 0},      {0x9fff, TK_UNI_LO, 1, 1, 0},
    {0xa000, TK_UNI_LO, 0, 1, 0},      {0xa490, TK_UNI_S, 0, 0, 0},
    {0xa640, TK_UNI_LU, 0, 1, 0},      {0xa66f, TK_UNI_M, 0, 1, 0},
    {0xa802, TK_UNI_M, 0, 1, 0},       {0xac00, TK_UNI_LO, 0, 1, 0},
    {0xd7a3, TK_UNI_LO, 0, 1, 0},      {0xe000, TK_UNI_OTHER, 0, 0, 0},
    {0xf8ff, TK_UNI_OTHER, 0, 0, 0},   {0xf900, TK_UNI_LO, 1, 1, 0},
    {0xfb01, TK_UNI_LL, 0, 1, 0},      {0xfb1d, TK_UNI_LO, 0, 1, 0},
    {0xfb29, TK_UNI_S, 0, 0, 0},       {0xfe00, TK_UNI_M, 0, 1, 0},
    {0xfe0f, TK_UNI_M, 0, 1, 0},       {0xfe33, TK_UNI_P, 0, 1, 0},
    {0xfeff, TK_UNI_OTHER, 0, 0, 0},   {0xff01, TK_UNI_P, 0, 0, 0},
    {0xff10, TK_UNI_N, 0, 1, 1},       {0xff21, TK_UNI_LU, 0, 1, 0},
    {0xff41, TK_UNI_LL, 0, 1, 0},      {0xff65, TK_UNI_P, 0, 0, 0},
    {0xff70, TK_UNI_LM, 0, 1, 0},      {0xffe5, TK_UNI_S, 0, 0, 0},
    {0xfffc, TK_UNI_S, 0, 0, 0},       {0xfffd, TK_UNI_S, 0, 0, 0},
    {0xffff, TK_UNI_OTHER, 0, 0, 0},   {0x10000, TK_UNI_LO, 0, 1, 0},
    {0x10107, TK_UNI_N, 0, 0, 1},      {0x10140, TK_UNI_N, 0, 1, 1},
    {0x10400, TK_UNI_LU, 0, 1, 0},     {0x10428, TK_UNI_LL, 0, 1, 0},
    {0x10a0d, TK_UNI_M, 0, 1, 0},      {0x11000, TK_UNI_M, 0, 1, 0},
    {0x11066, TK_UNI_N, 0, 1, 1},      {0x12400, TK_UNI_N, 0, 1, 1},
    {0x16fe0, TK_UNI_LM, 0, 1, 0},     {0x1b000, TK_UNI_LO, 0, 1, 0},
    {0x1d15e, TK_UNI_S, 0, 0, 0},      {0x1d165, TK_UNI_M, 0, 1, 0},
    {0x1d400, TK_UNI_LU, 0, 1, 0},     {0x1d7ce, TK_UNI_N, 0, 1, 1},
    {0x1d7ff, TK_UNI_N, 0, 1, 1},      {0x1e900, TK_UNI_LU, 0, 1, 0},
    {0x1f000, TK_UNI_S, 0, 0, 0},      {0x1f100, TK_UNI_N, 0, 0, 1},
    {0x1f600, TK_UNI_S, 0, 0, 0},      {0x1f3fb, TK_UNI_S, 0, 0, 0},
    {0x1fbf0, TK_UNI_N, 0, 1, 1},      {0x20000, TK_UNI_LO, 1, 1, 0},
    {0x2a6df, TK_UNI_LO, 1, 1, 0},     {0x2f800, TK_UNI_LO, 1, 1, 0},
    {0x30000, TK_UNI_LO, 1, 1, 0},     {0x3134a, TK_UNI_LO, 1, 1, 0},
    {0x40000, TK_UNI_OTHER, 0, 0, 0},  {0xe0001, TK_UNI_OTHER, 0, 0, 0},
    {0xe0020, TK_UNI_OTHER, 0, 0, 0},  {0xe0100, TK_UNI_M, 0, 1, 0},
    {0xf0000, TK_UNI_OTHER, 0, 0, 0},  {0x10fffd, TK_UNI_OTHER, 0, 0, 0},
    {0x10ffff, TK_UNI_OTHER, 0, 0, 0},
};

static void test_uni_facts(void **unused)
{
    tk_uni_ready();
    for (size_t i = 0; i < TK_ARRAY_LEN(facts); i++) {
        uint8_t v = tk_uni_of(facts[i].code);
        if ((v & TK_UNI_CLASS_MASK) != facts[i].class ||
            ((v & TK_UNI_HAN) != 0) != facts[i].han ||
            ((v & TK_UNI_WORD) != 0) != facts[i].word ||
            ((v & TK_UNI_DIGIT) != 0) != facts[i].digit) {
            fail_msg("U+%04X has 0x%02x", facts[i].code, v);
        }
    }
}

static const struct {
    uint32_t code;
    int active;
} actives[] = {
    {0x300, 1},  {0x301, 1},  {0x323, 1},   {0x340, 1},   {0x374, 1},  {0x387, 1},
    {0x958, 1},  {0x1161, 1}, {0x11a8, 1},  {0x212b, 1},  {0x2126, 1}, {0x3099, 1},
    {0xf900, 1}, {0xfb1d, 1}, {0x2f800, 1}, {0x1d15e, 1}, {0x9be, 1},  {0x41, 0},
    {0xe9, 0},   {0x4e00, 0}, {0xac00, 0},  {0x1100, 0},  {0x20ac, 0}, {0x1f600, 0},
    {0x3042, 0}, {0x915, 0},
};

/* What NFC may change, or join with what is before it: canonical singletons, marks, the
 * middle and end of Hangul syllables. */
static void test_uni_active(void **unused)
{
    tk_uni_ready();
    for (size_t i = 0; i < TK_ARRAY_LEN(actives); i++) {
        if (((tk_uni_of(actives[i].code) & TK_UNI_ACTIVE) != 0) != actives[i].active) {
            fail_msg("U+%04X", actives[i].code);
        }
    }
}

/* The flat table and the search in the ranges agree at every border of a range. */
static void test_uni_flat_equals_search(void **unused)
{
    tk_uni_ready();
    tk_uni_ready();
    for (size_t i = 0; i < tk_uni_n_starts; i++) {
        uint32_t begin = tk_uni_starts[i] >> 8;
        assert_int_equal(tk_uni_search(begin), tk_uni_starts[i] & 0xFF);
        assert_int_equal(tk_uni_of(begin), tk_uni_search(begin));
        if (begin > 0) {
            assert_int_equal(tk_uni_of(begin - 1), tk_uni_search(begin - 1));
            assert_true(tk_uni_starts[i - 1] >> 8 < begin); /* ascending */
        }
    }
    assert_int_equal(tk_uni_of(0x10FFFF), tk_uni_search(0x10FFFF));
}

static void test_uni_in(void **unused)
{
    static const uint32_t ranges[] = {3, 5, 7, 8, 20, 30};
    static const uint32_t inside[] = {3, 4, 7, 20, 29};
    static const uint32_t outside[] = {0, 2, 5, 6, 8, 19, 30, 31, 0x10FFFF};
    for (size_t i = 0; i < TK_ARRAY_LEN(inside); i++) {
        assert_true(tk_uni_in(ranges, TK_ARRAY_LEN(ranges), inside[i]));
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(outside); i++) {
        assert_false(tk_uni_in(ranges, TK_ARRAY_LEN(ranges), outside[i]));
    }
    assert_false(tk_uni_in(ranges, 0, 3));
    assert_true(tk_uni_in(tk_uni_newer, tk_uni_n_newer, 0x1C89)); /* Unicode 16 */
    assert_false(tk_uni_in(tk_uni_newer, tk_uni_n_newer, 0x1C88));
    assert_false(tk_uni_in(tk_uni_inert, tk_uni_n_inert, 0xE9));
}

static void test_uni_decode(void **unused)
{
    for (uint32_t c = 1; c < 0x110000; c += c < 0x3000 ? 1 : 251) {
        char text[4];
        size_t wanted = tk_utf8_encode(text, c), n = 0;
        if (wanted > 0) {
            assert_int_equal(tk_uni_decode((const unsigned char *)text, &n), c);
            assert_int_equal(n, wanted);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uni_facts),
        cmocka_unit_test(test_uni_active),
        cmocka_unit_test(test_uni_flat_equals_search),
        cmocka_unit_test(test_uni_in),
        cmocka_unit_test(test_uni_decode),
    };
    return cmocka_run_group_tests_name("uni", tests, NULL, NULL);
}
