/* Normalisers, one by one and in a row; texts of the reference. Characters that are newer
 * than its tables stay as they are. */
#include "support/toktest.h"
#include "text/unicode/uni.h"

typedef struct norm_row {
    const char *from, *to;
} norm_row;

/* The norms of a tokenizer without a vocabulary; checks that the map leads back. */
static void check(const tk_tok_norm *norms, size_t n_norms, const norm_row *rows,
                  size_t n)
{
    static tk_tok tok;
    tk_tok_work work = {.turns = 0};
    tk_uni_ready();
    memset(&tok, 0, sizeof(tok));
    memcpy(tok.norms, norms, n_norms * sizeof(*norms));
    tok.n_norms = n_norms;
    tk_buf_init(&work.normal[0], TK_MIB);
    tk_buf_init(&work.normal[1], TK_MIB);
    for (size_t i = 0; i < n; i++) {
        tk_str from = tk_str_of(rows[i].from), to = {NULL, 0};
        tk_tok_map map = {.off = false};
        assert_int_equal(tk_tok_norm_run(&tok, &work, from, &to, &map), TINKC_OK);
        if (!tk_str_is(to, rows[i].to)) {
            fail_msg("row %zu: %s gives %.*s", i, rows[i].from, (int)to.n, to.p);
        }
        size_t begin = 0, end = to.n;
        tk_tok_map_back(&map, &begin, &end);
        assert_true(begin <= end && end <= from.n);
        tk_tok_map_dispose(&map);
    }
    tk_buf_dispose(&work.normal[0]);
    tk_buf_dispose(&work.normal[1]);
}

static const norm_row nfc_rows[] = {
    {"", ""},
    {"a", "a"},
    {"abc", "abc"},
    {"é", "é"},
    {"e\314\201", "é"},
    {"Å", "Å"},
    {"Å", "Å"},
    {"ﬁ", "ﬁ"},
    {"²", "²"},
    {"ẛ\314\243", "ẛ\314\243"},
    {"\341\204\200\341\205\241", "가"},
    {"\341\204\200\341\205\241\341\206\250", "각"},
    {"가", "가"},
    {"각", "각"},
    {"\315\204", "\314\210\314\201"},
    {"क़", "क़"},
    {"q\314\207\314\243", "q\314\243\314\207"},
    {"q\314\243\314\207", "q\314\243\314\207"},
    {"a\314\201\314\202\314\243", "ạ\314\201\314\202"},
    {"\314\201a", "\314\201a"},
    {"中文", "中文"},
    {"ｆｕｌｌ", "ｆｕｌｌ"},
    {"①½Ⅷ", "①½Ⅷ"},
    {"…", "…"},
    {"\302\240a\343\200\200", "\302\240a\343\200\200"},
    {"😀", "😀"},
    {"ẛ\314\243", "ẛ\314\243"},
    {"e\314\201e\314\201 e\314\201", "éé é"},
    {"abcéabcéabcé", "abcéabcéabcé"},
    {"יִ", "יִ"},
    {"Ω", "Ω"},
    {"x\342\200\215y", "x\342\200\215y"},
    {"٠", "٠"},
    {"가\341\206\250", "각"},
    {"o\314\210\314\204", "ȫ"},
    {"o\314\204\314\210", "ō\314\210"},
    {"क़", "क़"},
    {"𝅗𝅥", "𝅗𝅥"},
    {"⼀", "⼀"},
    {"豈", "豈"},
    {"ǆ", "ǆ"},
    {"K", "K"},
    {"ſ", "ſ"},
    {"ϓ", "ϓ"},
    {"a\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243",
     "ạ\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201"},
    {"𑤸", "𑤸"},
    {"𑤸", "𑤸"},
    {"゙か", "゙か"},
    {"が", "が"},
    {"ぱ", "ぱ"},
};

static void test_tok_norm_nfc(void **unused)
{
    check(&(tk_tok_norm){.kind = TK_TOK_NFC}, 1, nfc_rows, TK_ARRAY_LEN(nfc_rows));
}

static const norm_row nfd_rows[] = {
    {"", ""},
    {"a", "a"},
    {"abc", "abc"},
    {"é", "e\314\201"},
    {"e\314\201", "e\314\201"},
    {"Å", "A\314\212"},
    {"Å", "A\314\212"},
    {"ﬁ", "ﬁ"},
    {"²", "²"},
    {"ẛ\314\243", "ſ\314\243\314\207"},
    {"\341\204\200\341\205\241", "\341\204\200\341\205\241"},
    {"\341\204\200\341\205\241\341\206\250", "\341\204\200\341\205\241\341\206\250"},
    {"가", "\341\204\200\341\205\241"},
    {"각", "\341\204\200\341\205\241\341\206\250"},
    {"\315\204", "\314\210\314\201"},
    {"क़", "क़"},
    {"q\314\207\314\243", "q\314\243\314\207"},
    {"q\314\243\314\207", "q\314\243\314\207"},
    {"a\314\201\314\202\314\243", "a\314\243\314\201\314\202"},
    {"\314\201a", "\314\201a"},
    {"中文", "中文"},
    {"ｆｕｌｌ", "ｆｕｌｌ"},
    {"①½Ⅷ", "①½Ⅷ"},
    {"…", "…"},
    {"\302\240a\343\200\200", "\302\240a\343\200\200"},
    {"😀", "😀"},
    {"ẛ\314\243", "ſ\314\243\314\207"},
    {"e\314\201e\314\201 e\314\201", "e\314\201e\314\201 e\314\201"},
    {"abcéabcéabcé", "abce\314\201abce\314\201abce\314\201"},
    {"יִ", "יִ"},
    {"Ω", "Ω"},
    {"x\342\200\215y", "x\342\200\215y"},
    {"٠", "٠"},
    {"가\341\206\250", "\341\204\200\341\205\241\341\206\250"},
    {"o\314\210\314\204", "o\314\210\314\204"},
    {"o\314\204\314\210", "o\314\204\314\210"},
    {"क़", "क़"},
    {"𝅗𝅥", "𝅗𝅥"},
    {"⼀", "⼀"},
    {"豈", "豈"},
    {"ǆ", "ǆ"},
    {"K", "K"},
    {"ſ", "ſ"},
    {"ϓ", "ϒ\314\201"},
    {"a\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243",
     "a\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201"},
    {"𑤸", "𑤸"},
    {"𑤸", "𑤸"},
    {"゙か", "゙か"},
    {"が", "が"},
    {"ぱ", "ぱ"},
};

static void test_tok_norm_nfd(void **unused)
{
    check(&(tk_tok_norm){.kind = TK_TOK_NFD}, 1, nfd_rows, TK_ARRAY_LEN(nfd_rows));
}

static const norm_row nfkc_rows[] = {
    {"", ""},
    {"a", "a"},
    {"abc", "abc"},
    {"é", "é"},
    {"e\314\201", "é"},
    {"Å", "Å"},
    {"Å", "Å"},
    {"ﬁ", "fi"},
    {"²", "2"},
    {"ẛ\314\243", "ṩ"},
    {"\341\204\200\341\205\241", "가"},
    {"\341\204\200\341\205\241\341\206\250", "각"},
    {"가", "가"},
    {"각", "각"},
    {"\315\204", "\314\210\314\201"},
    {"क़", "क़"},
    {"q\314\207\314\243", "q\314\243\314\207"},
    {"q\314\243\314\207", "q\314\243\314\207"},
    {"a\314\201\314\202\314\243", "ạ\314\201\314\202"},
    {"\314\201a", "\314\201a"},
    {"中文", "中文"},
    {"ｆｕｌｌ", "full"},
    {"①½Ⅷ", "11⁄2VIII"},
    {"…", "..."},
    {"\302\240a\343\200\200", " a "},
    {"😀", "😀"},
    {"ẛ\314\243", "ṩ"},
    {"e\314\201e\314\201 e\314\201", "éé é"},
    {"abcéabcéabcé", "abcéabcéabcé"},
    {"יִ", "יִ"},
    {"Ω", "Ω"},
    {"x\342\200\215y", "x\342\200\215y"},
    {"٠", "٠"},
    {"가\341\206\250", "각"},
    {"o\314\210\314\204", "ȫ"},
    {"o\314\204\314\210", "ō\314\210"},
    {"क़", "क़"},
    {"𝅗𝅥", "𝅗𝅥"},
    {"⼀", "一"},
    {"豈", "豈"},
    {"ǆ", "dž"},
    {"K", "K"},
    {"ſ", "s"},
    {"ϓ", "Ύ"},
    {"a\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243",
     "ạ\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201"},
    {"𑤸", "𑤸"},
    {"𑤸", "𑤸"},
    {"゙か", "゙か"},
    {"が", "が"},
    {"ぱ", "ぱ"},
};

static void test_tok_norm_nfkc(void **unused)
{
    check(&(tk_tok_norm){.kind = TK_TOK_NFKC}, 1, nfkc_rows, TK_ARRAY_LEN(nfkc_rows));
}

static const norm_row nfkd_rows[] = {
    {"", ""},
    {"a", "a"},
    {"abc", "abc"},
    {"é", "e\314\201"},
    {"e\314\201", "e\314\201"},
    {"Å", "A\314\212"},
    {"Å", "A\314\212"},
    {"ﬁ", "fi"},
    {"²", "2"},
    {"ẛ\314\243", "s\314\243\314\207"},
    {"\341\204\200\341\205\241", "\341\204\200\341\205\241"},
    {"\341\204\200\341\205\241\341\206\250", "\341\204\200\341\205\241\341\206\250"},
    {"가", "\341\204\200\341\205\241"},
    {"각", "\341\204\200\341\205\241\341\206\250"},
    {"\315\204", "\314\210\314\201"},
    {"क़", "क़"},
    {"q\314\207\314\243", "q\314\243\314\207"},
    {"q\314\243\314\207", "q\314\243\314\207"},
    {"a\314\201\314\202\314\243", "a\314\243\314\201\314\202"},
    {"\314\201a", "\314\201a"},
    {"中文", "中文"},
    {"ｆｕｌｌ", "full"},
    {"①½Ⅷ", "11⁄2VIII"},
    {"…", "..."},
    {"\302\240a\343\200\200", " a "},
    {"😀", "😀"},
    {"ẛ\314\243", "s\314\243\314\207"},
    {"e\314\201e\314\201 e\314\201", "e\314\201e\314\201 e\314\201"},
    {"abcéabcéabcé", "abce\314\201abce\314\201abce\314\201"},
    {"יִ", "יִ"},
    {"Ω", "Ω"},
    {"x\342\200\215y", "x\342\200\215y"},
    {"٠", "٠"},
    {"가\341\206\250", "\341\204\200\341\205\241\341\206\250"},
    {"o\314\210\314\204", "o\314\210\314\204"},
    {"o\314\204\314\210", "o\314\204\314\210"},
    {"क़", "क़"},
    {"𝅗𝅥", "𝅗𝅥"},
    {"⼀", "一"},
    {"豈", "豈"},
    {"ǆ", "dz\314\214"},
    {"K", "K"},
    {"ſ", "s"},
    {"ϓ", "Υ\314\201"},
    {"a\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243\314\201\314\243",
     "a\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\243\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201\314\201"},
    {"𑤸", "𑤸"},
    {"𑤸", "𑤸"},
    {"゙か", "゙か"},
    {"が", "が"},
    {"ぱ", "ぱ"},
};

static void test_tok_norm_nfkd(void **unused)
{
    check(&(tk_tok_norm){.kind = TK_TOK_NFKD}, 1, nfkd_rows, TK_ARRAY_LEN(nfkd_rows));
}

static const norm_row replace_rows[] = {
    {"", ""},        {"a", "a"},   {"b", "b"},       {"ab", "x"},
    {"ba", "ba"},    {"aa", "aa"}, {"abab", "xx"},   {"aaa", "aaa"},
    {"xaby", "xxy"}, {"é", "é"},   {"▁a b", "▁a b"}, {"  ", "  "},
};

static void test_tok_norm_replace(void **unused)
{
    static const tk_tok_norm norms[] = {{TK_TOK_REPLACE, {"ab", 2}, {"x", 1}}};
    check(norms, TK_ARRAY_LEN(norms), replace_rows, TK_ARRAY_LEN(replace_rows));
}

static const norm_row replace_one_rows[] = {
    {"", ""},          {"a", "▁▁"},    {"b", "b"},         {"ab", "▁▁b"},
    {"ba", "b▁▁"},     {"aa", "▁▁▁▁"}, {"abab", "▁▁b▁▁b"}, {"aaa", "▁▁▁▁▁▁"},
    {"xaby", "x▁▁by"}, {"é", "é"},     {"▁a b", "▁▁▁ b"},  {"  ", "  "},
};

static void test_tok_norm_replace_one(void **unused)
{
    static const tk_tok_norm norms[] = {{TK_TOK_REPLACE, {"a", 1}, {"▁▁", 6}}};
    check(norms, TK_ARRAY_LEN(norms), replace_one_rows, TK_ARRAY_LEN(replace_one_rows));
}

static const norm_row replace_empty_rows[] = {
    {"", ""},        {"a", ""},  {"b", "b"},      {"ab", "b"},
    {"ba", "b"},     {"aa", ""}, {"abab", "bb"},  {"aaa", ""},
    {"xaby", "xby"}, {"é", "é"}, {"▁a b", "▁ b"}, {"  ", "  "},
};

static void test_tok_norm_replace_empty(void **unused)
{
    static const tk_tok_norm norms[] = {{TK_TOK_REPLACE, {"a", 1}, {"", 0}}};
    check(norms, TK_ARRAY_LEN(norms), replace_empty_rows,
          TK_ARRAY_LEN(replace_empty_rows));
}

static const norm_row prepend_rows[] = {
    {"", ""},          {"a", "▁a"},   {"b", "▁b"},       {"ab", "▁ab"},
    {"ba", "▁ba"},     {"aa", "▁aa"}, {"abab", "▁abab"}, {"aaa", "▁aaa"},
    {"xaby", "▁xaby"}, {"é", "▁é"},   {"▁a b", "▁▁a b"}, {"  ", "▁  "},
};

static void test_tok_norm_prepend(void **unused)
{
    static const tk_tok_norm norms[] = {{TK_TOK_PREPEND, {NULL, 0}, {"▁", 3}}};
    check(norms, TK_ARRAY_LEN(norms), prepend_rows, TK_ARRAY_LEN(prepend_rows));
}

static const norm_row in_a_row_rows[] = {
    {"", ""},
    {"a", "▁a"},
    {"b", "▁b"},
    {"ab", "▁ab"},
    {"ba", "▁ba"},
    {"aa", "▁aa"},
    {"abab", "▁abab"},
    {"aaa", "▁aaa"},
    {"xaby", "▁xaby"},
    {"é", "▁é"},
    {"▁a b", "▁▁a▁b"},
    {"  ", "▁▁▁"},
    {"e\314\201 a", "▁é▁a"},
    {"a e\314\201", "▁a▁é"},
};

static void test_tok_norm_in_a_row(void **unused)
{
    static const tk_tok_norm norms[] = {{TK_TOK_PREPEND, {NULL, 0}, {"▁", 3}},
                                        {TK_TOK_REPLACE, {" ", 1}, {"▁", 3}},
                                        {.kind = TK_TOK_NFC}};
    check(norms, TK_ARRAY_LEN(norms), in_a_row_rows, TK_ARRAY_LEN(in_a_row_rows));
}

static const norm_row same_twice_rows[] = {
    {"", ""},         {"a", "a"},   {"b", "a"},       {"ab", "aa"},
    {"ba", "aa"},     {"aa", "aa"}, {"abab", "aaaa"}, {"aaa", "aaa"},
    {"xaby", "xaay"}, {"é", "é"},   {"▁a b", "▁a a"}, {"  ", "  "},
};

static void test_tok_norm_same_twice(void **unused)
{
    static const tk_tok_norm norms[] = {{TK_TOK_REPLACE, {"a", 1}, {"aa", 2}},
                                        {TK_TOK_REPLACE, {"aa", 2}, {"b", 1}},
                                        {TK_TOK_REPLACE, {"b", 1}, {"a", 1}}};
    check(norms, TK_ARRAY_LEN(norms), same_twice_rows, TK_ARRAY_LEN(same_twice_rows));
}

/* A hundred thousand marks are sorted in n log n: each class once, the order kept. */
static void test_tok_norm_many_marks(void **unused)
{
    enum { MARKS = 100000 };
    static tk_tok tok;
    tk_tok_work work = {.turns = 0};
    tk_buf text;
    tk_str to = {NULL, 0};
    tk_tok_map map = {.off = true};
    tk_uni_ready();
    memset(&tok, 0, sizeof(tok));
    tok.norms[0].kind = TK_TOK_NFD;
    tok.n_norms = 1;
    tk_buf_init(&work.normal[0], 4 * TK_MIB);
    tk_buf_init(&work.normal[1], 4 * TK_MIB);
    tk_buf_init(&text, TK_MIB);
    tk_buf_puts(&text, "a");
    for (size_t i = 0; i < MARKS; i++) {
        tk_buf_puts(&text, i % 2 == 0 ? "\u0301" : "\u0323"); /* classes 230 and 220 */
    }
    assert_int_equal(tk_tok_norm_run(&tok, &work, tk_buf_str(&text), &to, &map),
                     TINKC_OK);
    assert_int_equal(to.n, text.n);
    for (size_t i = 0; i < MARKS; i++) {
        const char *mark = to.p + 1 + 2 * i;
        assert_memory_equal(mark, i < MARKS / 2 ? "\u0323" : "\u0301", 2);
    }
    tk_buf_dispose(&text);
    tk_buf_dispose(&work.normal[0]);
    tk_buf_dispose(&work.normal[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_norm_nfc),
        cmocka_unit_test(test_tok_norm_nfd),
        cmocka_unit_test(test_tok_norm_nfkc),
        cmocka_unit_test(test_tok_norm_nfkd),
        cmocka_unit_test(test_tok_norm_replace),
        cmocka_unit_test(test_tok_norm_replace_one),
        cmocka_unit_test(test_tok_norm_replace_empty),
        cmocka_unit_test(test_tok_norm_prepend),
        cmocka_unit_test(test_tok_norm_in_a_row),
        cmocka_unit_test(test_tok_norm_same_twice),
        cmocka_unit_test(test_tok_norm_many_marks),
    };
    return cmocka_run_group_tests_name("tok_norm", tests, NULL, NULL);
}
