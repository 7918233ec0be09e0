/* Patterns through PCRE2: the matches of the reference's engine, with | between pieces;
 * and the limits. */
#include "support/toktest.h"

static void check(const char *pattern, const toktest_row *rows, size_t n)
{
    tk_err err = TK_ERR_INIT;
    tk_tok_regex *regex = NULL;
    tk_tok_matcher matcher = {NULL};
    assert_int_equal(tk_tok_regex_new(&regex, tk_str_of(pattern), &err), TINKC_OK);
    for (size_t i = 0; i < n; i++) {
        tk_str text = tk_str_of(rows[i].text);
        tk_buf got;
        tk_buf_init(&got, TK_KIB);
        for (size_t at = 0, range[2]; at < text.n; at = range[1]) {
            tinkc_code code = tk_tok_regex_find(regex, &matcher, text, at, range);
            if (code != TINKC_OK) {
                assert_int_equal(code, TINKC_E_MISSING);
                range[0] = range[1] = text.n;
            }
            assert_true(range[1] > at);
            tk_buf_puts(&got, got.n > 0 ? "|" : "");
            tk_buf_put(&got, text.p + at, range[0] - at);
            tk_buf_puts(&got, range[0] > at && range[1] > range[0] ? "|" : "");
            tk_buf_put(&got, text.p + range[0], range[1] - range[0]);
        }
        if (!tk_str_is(tk_buf_str(&got), rows[i].ids)) {
            fail_msg("%s: %s\n  cut    %.*s\n  wanted %s", pattern, rows[i].text,
                     (int)got.n, got.p, rows[i].ids);
        }
        tk_buf_dispose(&got);
    }
    tk_tok_matcher_dispose(&matcher);
    tk_tok_regex_free(regex);
}

static const toktest_row classes_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "abc| 123"},
    {"aAbB", "a|A|b|B"},
    {"  x  ", "  |x|  "},
    {"é中1", "é中1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "foo|.|bar"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx|\343\200\200|y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|ab"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "tab|\t|here"},
};

static void test_tok_regex_classes(void **unused)
{
    check("[a-z]+", classes_rows, TK_ARRAY_LEN(classes_rows));
}

static const toktest_row negated_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "abc |123"},
    {"aAbB", "a|A|b|B"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "foo|.|bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|ab"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_negated(void **unused)
{
    check("[^a-z\\s]+", negated_rows, TK_ARRAY_LEN(negated_rows));
}

static const toktest_row letters_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "abc| 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  |x|  "},
    {"é中1", "é中|1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "foo|.|bar"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx|\343\200\200|y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "tab|\t|here"},
};

static void test_tok_regex_letters(void **unused)
{
    check("\\p{L}+", letters_rows, TK_ARRAY_LEN(letters_rows));
}

static const toktest_row upper_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc 123"},
    {"aAbB", "a|A|b|B"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "Α|Β|γ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_upper(void **unused)
{
    check("\\p{Lu}", upper_rows, TK_ARRAY_LEN(upper_rows));
}

static const toktest_row numbers_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "abc |12|3"},
    {"aAbB", "aAbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中|1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢|٣|a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_numbers(void **unused)
{
    check("\\p{N}{1,2}", numbers_rows, TK_ARRAY_LEN(numbers_rows));
}

static const toktest_row digits_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "abc |123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中|1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_digits(void **unused)
{
    check("\\d+", digits_rows, TK_ARRAY_LEN(digits_rows));
}

static const toktest_row spaces_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc| |123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  |x|  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx|\343\200\200|y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab|\t|here"},
};

static void test_tok_regex_spaces(void **unused)
{
    check("\\s+", spaces_rows, TK_ARRAY_LEN(spaces_rows));
}

static const toktest_row no_spaces_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc| |123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  |x|  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx|\343\200\200|y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab|\t|here"},
};

static void test_tok_regex_no_spaces(void **unused)
{
    check("\\S+", no_spaces_rows, TK_ARRAY_LEN(no_spaces_rows));
}

static const toktest_row ahead_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc| |123"},
    {"aAbB", "aAbB"},
    {"  x  ", " | |x|  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n|\n|a"},
    {"xx\343\200\200y", "xx|\343\200\200|y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab|\t|here"},
};

static void test_tok_regex_ahead(void **unused)
{
    check("\\s+(?!\\S)|\\s", ahead_rows, TK_ARRAY_LEN(ahead_rows));
}

static const toktest_row behind_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "a|b|1"},
    {"abc 123", "a|b|c 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  |x|  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "x|x\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文a|b"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "ta|b|\there"},
};

static void test_tok_regex_behind(void **unused)
{
    check("(?<=a)b|(?<!x)x", behind_rows, TK_ARRAY_LEN(behind_rows));
}

static const toktest_row han_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  x  "},
    {"é中1", "é|中|1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_han(void **unused)
{
    check("\\p{Han}+", han_rows, TK_ARRAY_LEN(han_rows));
}

static const toktest_row greek_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_greek(void **unused)
{
    check("\\p{Greek}+", greek_rows, TK_ARRAY_LEN(greek_rows));
}

static const toktest_row without_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "abc| 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  |x|  "},
    {"é中1", "é|中1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "foo|.|bar"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx|\343\200\200|y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|ab"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "tab|\t|here"},
};

static void test_tok_regex_without(void **unused)
{
    check("[\\p{L}&&[^\\p{Han}]]+", without_rows, TK_ARRAY_LEN(without_rows));
}

static const toktest_row only_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "a|b1"},
    {"abc 123", "a|bc 123"},
    {"aAbB", "a|AbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a|-b_c"},
    {"foo.bar", "f|o|o|.b|a|r"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|a|b"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "t|a|b\th|e|r|e"},
};

static void test_tok_regex_only(void **unused)
{
    check("[a-z&&[aeiou]]", only_rows, TK_ARRAY_LEN(only_rows));
}

static const toktest_row nested_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "abc| 123"},
    {"aAbB", "a|A|b|B"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "foo.|ba|r"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|ab"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "t|ab|\there"},
};

static void test_tok_regex_nested(void **unused)
{
    check("[a[bc]]+", nested_rows, TK_ARRAY_LEN(nested_rows));
}

static const toktest_row lazy_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "a|b|1"},
    {"abc 123", "a|b|c| 123"},
    {"aAbB", "a|A|b|B"},
    {"  x  ", "  |x|  "},
    {"é中1", "é中1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "f|o|o|.|b|a|r"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "x|x|\343\200\200|y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|a|b"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "t|a|b|\t|h|e|r|e"},
};

static void test_tok_regex_lazy(void **unused)
{
    check("[a-z]+?", lazy_rows, TK_ARRAY_LEN(lazy_rows));
}

static const toktest_row possessive_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "ab|c 123"},
    {"aAbB", "aA|b|B"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-|b|_c"},
    {"foo.bar", "foo.|b|ar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "t|ab|\there"},
};

static void test_tok_regex_possessive(void **unused)
{
    check("a*+b", possessive_rows, TK_ARRAY_LEN(possessive_rows));
}

static const toktest_row atomic_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "a|b1"},
    {"abc 123", "a|bc 123"},
    {"aAbB", "a|AbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a|-b_c"},
    {"foo.bar", "foo.b|a|r"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|a|b"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "t|a|b\there"},
};

static void test_tok_regex_atomic(void **unused)
{
    check("(?>a|ab)c?", atomic_rows, TK_ARRAY_LEN(atomic_rows));
}

static const toktest_row nocase_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab|1"},
    {"abc 123", "ab|c 123"},
    {"aAbB", "a|Ab|B"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "t|ab|\there"},
};

static void test_tok_regex_nocase(void **unused)
{
    check("(?i:ab)", nocase_rows, TK_ARRAY_LEN(nocase_rows));
}

static const toktest_row dot_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "a|b|1"},
    {"abc 123", "a|b|c| |1|2|3"},
    {"aAbB", "a|A|b|B"},
    {"  x  ", " | |x| | "},
    {"é中1", "é|中|1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "f|o|o|.|b|a|r"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "x|x|\343\200\200|y"},
    {"ΑΒγ", "Α|Β|γ"},
    {"中文ab", "中|文|a|b"},
    {"١٢٣a", "١|٢|٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "t|a|b|\t|h|e|r|e"},
};

static void test_tok_regex_dot(void **unused)
{
    check(".", dot_rows, TK_ARRAY_LEN(dot_rows));
}

static const toktest_row start_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "a|b|1"},
    {"abc 123", "a|bc 12|3"},
    {"aAbB", "a|Ab|B"},
    {"  x  ", " | x | "},
    {"é中1", "é|中|1"},
    {"a-b_c", "a|-b_|c"},
    {"foo.bar", "f|oo.ba|r"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "x|x\343\200\200|y"},
    {"ΑΒγ", "Α|Β|γ"},
    {"中文ab", "中|文a|b"},
    {"١٢٣a", "١|٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "t|ab\ther|e"},
};

static void test_tok_regex_start(void **unused)
{
    check("^.|.$", start_rows, TK_ARRAY_LEN(start_rows));
}

static const toktest_row marks_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_marks(void **unused)
{
    check("\\p{M}", marks_rows, TK_ARRAY_LEN(marks_rows));
}

static const toktest_row punct_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a|-|b|_|c"},
    {"foo.bar", "foo|.|bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab\there"},
};

static void test_tok_regex_punct(void **unused)
{
    check("[\\p{P}\\p{S}]", punct_rows, TK_ARRAY_LEN(punct_rows));
}

static const toktest_row tab_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "ab1"},
    {"abc 123", "abc 123"},
    {"aAbB", "aAbB"},
    {"  x  ", "  x  "},
    {"é中1", "é中1"},
    {"a-b_c", "a-b_c"},
    {"foo.bar", "foo.bar"},
    {"\n\na", "\n\na"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文ab"},
    {"١٢٣a", "١٢٣a"},
    {"a\314\201", "a\314\201"},
    {"tab\there", "tab|\t|here"},
};

static void test_tok_regex_tab(void **unused)
{
    check("\\t", tab_rows, TK_ARRAY_LEN(tab_rows));
}

static const toktest_row hex_rows[] = {
    {"", ""},
    {"a", "a"},
    {"ab1", "a|b1"},
    {"abc 123", "a|bc 123"},
    {"aAbB", "a|AbB"},
    {"  x  ", "  x  "},
    {"é中1", "é|中1"},
    {"a-b_c", "a|-b_c"},
    {"foo.bar", "foo.b|a|r"},
    {"\n\na", "\n\n|a"},
    {"xx\343\200\200y", "xx\343\200\200y"},
    {"ΑΒγ", "ΑΒγ"},
    {"中文ab", "中文|a|b"},
    {"١٢٣a", "١٢٣|a"},
    {"a\314\201", "a|\314\201"},
    {"tab\there", "t|a|b\there"},
};

static void test_tok_regex_hex(void **unused)
{
    check("\\x61|\\x{e9}", hex_rows, TK_ARRAY_LEN(hex_rows));
}

/* What PCRE2 refuses is refused; a match that backtracks without end stops. */
static void test_tok_regex_refuses(void **unused)
{
    static const char *const bad[] = {"(a", "a)", "*a", "[b-a]", "(?<=a+)b", "a{3,2}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_err err = TK_ERR_INIT;
        tk_tok_regex *regex = NULL;
        if (tk_tok_regex_new(&regex, tk_str_of(bad[i]), &err) != TINKC_E_UNSUPPORTED) {
            fail_msg("%s: %s", bad[i], err.message);
        }
        assert_null(regex);
        assert_true(strncmp(err.message, "tokenizer.json: split pattern", 29) == 0);
    }
    tk_err err = TK_ERR_INIT;
    tk_tok_regex *regex = NULL;
    tk_tok_matcher matcher = {NULL};
    size_t range[2];
    assert_int_equal(tk_tok_regex_new(&regex, TK_STR("(?:a|aa)+(?:a|aa)+[bc]"), &err),
                     TINKC_OK);
    char text[64];
    memset(text, 'a', sizeof(text));
    assert_int_equal(
        tk_tok_regex_find(regex, &matcher, (tk_str){text, sizeof(text)}, 0, range),
        TINKC_E_LIMIT);
    tk_tok_matcher_dispose(&matcher);
    tk_tok_regex_free(regex);
    tk_tok_regex_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_regex_classes),
        cmocka_unit_test(test_tok_regex_negated),
        cmocka_unit_test(test_tok_regex_letters),
        cmocka_unit_test(test_tok_regex_upper),
        cmocka_unit_test(test_tok_regex_numbers),
        cmocka_unit_test(test_tok_regex_digits),
        cmocka_unit_test(test_tok_regex_spaces),
        cmocka_unit_test(test_tok_regex_no_spaces),
        cmocka_unit_test(test_tok_regex_ahead),
        cmocka_unit_test(test_tok_regex_behind),
        cmocka_unit_test(test_tok_regex_han),
        cmocka_unit_test(test_tok_regex_greek),
        cmocka_unit_test(test_tok_regex_without),
        cmocka_unit_test(test_tok_regex_only),
        cmocka_unit_test(test_tok_regex_nested),
        cmocka_unit_test(test_tok_regex_lazy),
        cmocka_unit_test(test_tok_regex_possessive),
        cmocka_unit_test(test_tok_regex_atomic),
        cmocka_unit_test(test_tok_regex_nocase),
        cmocka_unit_test(test_tok_regex_dot),
        cmocka_unit_test(test_tok_regex_start),
        cmocka_unit_test(test_tok_regex_marks),
        cmocka_unit_test(test_tok_regex_punct),
        cmocka_unit_test(test_tok_regex_tab),
        cmocka_unit_test(test_tok_regex_hex),
        cmocka_unit_test(test_tok_regex_refuses),
    };
    return cmocka_run_group_tests_name("tok_regex", tests, NULL, NULL);
}
