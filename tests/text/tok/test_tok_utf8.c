/* UTF-8 with replacement, as Python's decode(errors="replace"), at once and in pieces;
 * and GPT-2's alphabet of bytes. */
#include "support/toktest.h"

static const struct {
    const char *bytes;
    size_t n;
    const char *text;
} rows[] = {
    {"", 0, ""},
    {"\141", 1, "\141"},
    {"\377", 1, "\357\277\275"},
    {"\303\251", 2, "\303\251"},
    {"\303", 1, "\357\277\275"},
    {"\303\141", 2, "\357\277\275\141"},
    {"\251", 1, "\357\277\275"},
    {"\344\270\255", 3, "\344\270\255"},
    {"\344\270", 2, "\357\277\275"},
    {"\344", 1, "\357\277\275"},
    {"\344\270\141", 3, "\357\277\275\141"},
    {"\344\141", 2, "\357\277\275\141"},
    {"\360\237\230\200", 4, "\360\237\230\200"},
    {"\360\237\230", 3, "\357\277\275"},
    {"\360\237\230\141", 4, "\357\277\275\141"},
    {"\360\237\141", 3, "\357\277\275\141"},
    {"\300\200", 2, "\357\277\275\357\277\275"},
    {"\301\277", 2, "\357\277\275\357\277\275"},
    {"\340\200\200", 3, "\357\277\275\357\277\275\357\277\275"},
    {"\340\237\277", 3, "\357\277\275\357\277\275\357\277\275"},
    {"\340\240\200", 3, "\340\240\200"},
    {"\355\237\277", 3, "\355\237\277"},
    {"\355\240\200", 3, "\357\277\275\357\277\275\357\277\275"},
    {"\355\277\277", 3, "\357\277\275\357\277\275\357\277\275"},
    {"\360\200\200\200", 4, "\357\277\275\357\277\275\357\277\275\357\277\275"},
    {"\360\217\277\277", 4, "\357\277\275\357\277\275\357\277\275\357\277\275"},
    {"\364\217\277\277", 4, "\364\217\277\277"},
    {"\364\220\200\200", 4, "\357\277\275\357\277\275\357\277\275\357\277\275"},
    {"\365\200\200\200", 4, "\357\277\275\357\277\275\357\277\275\357\277\275"},
    {"\376\377", 2, "\357\277\275\357\277\275"},
    {"\200\200\200", 3, "\357\277\275\357\277\275\357\277\275"},
    {"\141\377\142\376\143", 5, "\141\357\277\275\142\357\277\275\143"},
    {"\303\303\251", 3, "\357\277\275\303\251"},
    {"\344\270\344\270\255", 5, "\357\277\275\344\270\255"},
    {"\360\237\360\237\230\200", 6, "\357\277\275\360\237\230\200"},
    {"\303\251\303", 3, "\303\251\357\277\275"},
    {"\141\142\143\342\202", 5, "\141\142\143\357\277\275"},
};

/* All at once, and one byte more at a time with what was left over kept: the same
 * text. */
static void test_tok_utf8_lossy(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_buf whole, pieces;
        tk_buf_init(&whole, TK_KIB);
        tk_buf_init(&pieces, TK_KIB);
        assert_int_equal(tk_tok_utf8_lossy(&whole, rows[i].bytes, rows[i].n, true),
                         rows[i].n);
        assert_true(tk_str_is(tk_buf_str(&whole), rows[i].text));
        size_t at = 0;
        for (size_t n = 1; n <= rows[i].n; n++) {
            at += tk_tok_utf8_lossy(&pieces, rows[i].bytes + at, n - at, false);
            assert_true(at <= n && n - at < 4);
        }
        (void)tk_tok_utf8_lossy(&pieces, rows[i].bytes + at, rows[i].n - at, true);
        assert_true(tk_str_is(tk_buf_str(&pieces), rows[i].text));
        tk_buf_dispose(&whole);
        tk_buf_dispose(&pieces);
    }
}

static void test_tok_utf8_step(void **unused)
{
    static const struct {
        const char *bytes;
        size_t n, step;
        bool valid;
    } steps[] = {
        {"a", 1, 1, true},
        {"\303\251x", 3, 2, true},
        {"\303", 1, 0, false},
        {"\303x", 2, 1, false},
        {"\377", 1, 1, false},
        {"\200\200", 2, 1, false},
        {"\344\270", 2, 0, false},
        {"\344\270x", 3, 2, false},
        {"\360\237\230", 3, 0, false},
        {"\360\237\230x", 4, 3, false},
        {"\355\240\200", 3, 1, false},
        {"\364\220", 2, 1, false},
        {"\340\200", 2, 1, false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        bool valid = !steps[i].valid;
        size_t n = tk_tok_utf8_step(steps[i].bytes, steps[i].n, &valid);
        assert_int_equal(n, steps[i].step);
        assert_int_equal(valid, steps[i].valid);
    }
}

/* Printable bytes are themselves; the other 68 follow from U+0100 on, in order. */
static void test_tok_utf8_alphabet(void **unused)
{
    uint32_t next = 0x100;
    for (unsigned b = 0; b < 256; b++) {
        bool shown = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        uint32_t wanted = shown ? b : next++;
        assert_int_equal(tk_tok_utf8_of_byte((unsigned char)b), wanted);
        assert_int_equal(tk_tok_utf8_to_byte(wanted), b);
    }
    assert_int_equal(next, 0x100 + 68);
    static const uint32_t none[] = {0x20, 0x7F, 0xA0, 0xAD, 0x144, 0x4E2D, 0x1F600};
    for (size_t i = 0; i < TK_ARRAY_LEN(none); i++) {
        assert_int_equal(tk_tok_utf8_to_byte(none[i]), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_utf8_lossy),
        cmocka_unit_test(test_tok_utf8_step),
        cmocka_unit_test(test_tok_utf8_alphabet),
    };
    return cmocka_run_group_tests_name("tok_utf8", tests, NULL, NULL);
}
