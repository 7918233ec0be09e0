/* The scanners: how each cuts a text; pieces of the reference, with | between them. */
#include "support/toktest.h"
#include "text/unicode/uni.h"

/* The text cut by the scanner, what it does not match in separate pieces. */
static void check(size_t which, const toktest_row *rows, size_t n)
{
    const tk_tok_scanner *s = &tk_tok_scanners[which];
    tk_uni_ready();
    assert_ptr_equal(tk_tok_scanner_of(tk_str_of(s->pattern)), s);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *p = (const unsigned char *)rows[i].text;
        const unsigned char *end = p + strlen(rows[i].text);
        bool between = false; /* in a stretch without a match */
        tk_buf got;
        tk_buf_init(&got, TK_KIB);
        while (p < end) {
            size_t len = s->scan(p, end), step = len;
            if (len == 0) {
                (void)tk_uni_decode(p, &step);
            }
            if (got.n > 0 && !(len == 0 && between)) {
                tk_buf_putc(&got, '|');
            }
            between = len == 0;
            tk_buf_put(&got, p, step);
            p += step;
        }
        if (!tk_str_is(tk_buf_str(&got), rows[i].ids)) {
            fail_msg("%s\n  cut    %.*s\n  wanted %s", rows[i].text, (int)got.n, got.p,
                     rows[i].ids);
        }
        tk_buf_dispose(&got);
    }
}

static const toktest_row gpt2_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it|'s| he|'ll| I|'|M| we|'|VE| you|'|RE| '|d| '|x| '"},
    {"IT'S", "IT|'|S"},
    {"a1b22c333d4444", "a|1|b|22|c|333|d|4444"},
    {"12345678", "12345678"},
    {"½٣Ⅷ", "½٣Ⅷ"},
    {"a.b, c! d?", "a|.|b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...|\n|\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n | b"},
    {"\t\ta", "\t|\t|a"},
    {"\r\n\r\na", "\r\n\r|\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "fooBar| FOObar| FooBAR"},
    {"ÉCole éCOLE", "ÉCole| éCOLE"},
    {"ǅabc ʰA", "ǅabc| ʰA"},
    {"-the--end-", "-|the|--|end|-"},
    {"café e\314\201a \314\201b", "café| e|\314\201|a| \314\201|b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어|!"},
    {"a/b//c/\n", "a|/|b|//|c|/|\n"},
    {"x_y-z+1", "x|_|y|-|z|+|1"},
    {"$5.00 €3", "$|5|.|00| €|3"},
    {"#tag @me", "#|tag| @|me"},
    {"(a) [b]", "(|a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240|b|\343\200\200|c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’|m"},
    {"sſ it'ſ", "sſ| it|'|ſ"},
};

static void test_tok_scan_cases_gpt2(void **unused)
{
    check(0, gpt2_rows, TK_ARRAY_LEN(gpt2_rows));
}

static const toktest_row cl100k_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it|'s| he|'ll| I|'M| we|'VE| you|'RE| '|d| '|x| '"},
    {"IT'S", "IT|'S"},
    {"a1b22c333d4444", "a|1|b|22|c|333|d|444|4"},
    {"12345678", "123|456|78"},
    {"½٣Ⅷ", "½٣Ⅷ"},
    {"a.b, c! d?", "a|.b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...\n\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n| | b"},
    {"\t\ta", "\t|\ta"},
    {"\r\n\r\na", "\r\n\r\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "fooBar| FOObar| FooBAR"},
    {"ÉCole éCOLE", "ÉCole| éCOLE"},
    {"ǅabc ʰA", "ǅabc| ʰA"},
    {"-the--end-", "-the|--|end|-"},
    {"café e\314\201a \314\201b", "café| e|\314\201a| \314\201|b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어|!"},
    {"a/b//c/\n", "a|/b|//|c|/\n"},
    {"x_y-z+1", "x|_y|-z|+|1"},
    {"$5.00 €3", "$|5|.|00| €|3"},
    {"#tag @me", "#tag| @|me"},
    {"(a) [b]", "(a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240b|\343\200\200c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’m"},
    {"sſ it'ſ", "sſ| it|'ſ"},
};

static void test_tok_scan_cases_cl100k(void **unused)
{
    check(1, cl100k_rows, TK_ARRAY_LEN(cl100k_rows));
}

static const toktest_row qwen_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it|'s| he|'ll| I|'M| we|'VE| you|'RE| '|d| '|x| '"},
    {"IT'S", "IT|'S"},
    {"a1b22c333d4444", "a|1|b|2|2|c|3|3|3|d|4|4|4|4"},
    {"12345678", "1|2|3|4|5|6|7|8"},
    {"½٣Ⅷ", "½|٣|Ⅷ"},
    {"a.b, c! d?", "a|.b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...\n\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n| | b"},
    {"\t\ta", "\t|\ta"},
    {"\r\n\r\na", "\r\n\r\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "fooBar| FOObar| FooBAR"},
    {"ÉCole éCOLE", "ÉCole| éCOLE"},
    {"ǅabc ʰA", "ǅabc| ʰA"},
    {"-the--end-", "-the|--|end|-"},
    {"café e\314\201a \314\201b", "café| e|\314\201a| \314\201|b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어|!"},
    {"a/b//c/\n", "a|/b|//|c|/\n"},
    {"x_y-z+1", "x|_y|-z|+|1"},
    {"$5.00 €3", "$|5|.|0|0| €|3"},
    {"#tag @me", "#tag| @|me"},
    {"(a) [b]", "(a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240b|\343\200\200c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’m"},
    {"sſ it'ſ", "sſ| it|'ſ"},
};

static void test_tok_scan_cases_qwen(void **unused)
{
    check(2, qwen_rows, TK_ARRAY_LEN(qwen_rows));
}

static const toktest_row qwen_marks_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it|'s| he|'ll| I|'M| we|'VE| you|'RE| '|d| '|x| '"},
    {"IT'S", "IT|'S"},
    {"a1b22c333d4444", "a|1|b|2|2|c|3|3|3|d|4|4|4|4"},
    {"12345678", "1|2|3|4|5|6|7|8"},
    {"½٣Ⅷ", "½|٣|Ⅷ"},
    {"a.b, c! d?", "a|.b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...\n\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n| | b"},
    {"\t\ta", "\t|\ta"},
    {"\r\n\r\na", "\r\n\r\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "fooBar| FOObar| FooBAR"},
    {"ÉCole éCOLE", "ÉCole| éCOLE"},
    {"ǅabc ʰA", "ǅabc| ʰA"},
    {"-the--end-", "-the|--|end|-"},
    {"café e\314\201a \314\201b", "café| e\314\201a| \314\201b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어|!"},
    {"a/b//c/\n", "a|/b|//|c|/\n"},
    {"x_y-z+1", "x|_y|-z|+|1"},
    {"$5.00 €3", "$|5|.|0|0| €|3"},
    {"#tag @me", "#tag| @|me"},
    {"(a) [b]", "(a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240b|\343\200\200c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’m"},
    {"sſ it'ſ", "sſ| it|'ſ"},
};

static void test_tok_scan_cases_qwen_marks(void **unused)
{
    check(3, qwen_marks_rows, TK_ARRAY_LEN(qwen_marks_rows));
}

static const toktest_row o200k_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it's| he'll| I'M| we'VE| you'RE| '|d| '|x| '"},
    {"IT'S", "IT'S"},
    {"a1b22c333d4444", "a|1|b|22|c|333|d|444|4"},
    {"12345678", "123|456|78"},
    {"½٣Ⅷ", "½٣Ⅷ"},
    {"a.b, c! d?", "a|.b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...\n\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n| | b"},
    {"\t\ta", "\t|\ta"},
    {"\r\n\r\na", "\r\n\r\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "foo|Bar| FOObar| Foo|BAR"},
    {"ÉCole éCOLE", "ÉCole| é|COLE"},
    {"ǅabc ʰA", "ǅabc| ʰ|A"},
    {"-the--end-", "-the|--|end|-"},
    {"café e\314\201a \314\201b", "café| e\314\201a| \314\201b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어|!"},
    {"a/b//c/\n", "a|/b|//|c|/\n"},
    {"x_y-z+1", "x|_y|-z|+|1"},
    {"$5.00 €3", "$|5|.|00| €|3"},
    {"#tag @me", "#tag| @|me"},
    {"(a) [b]", "(a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240b|\343\200\200c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’m"},
    {"sſ it'ſ", "sſ| it'ſ"},
};

static void test_tok_scan_cases_o200k(void **unused)
{
    check(4, o200k_rows, TK_ARRAY_LEN(o200k_rows));
}

static const toktest_row tekken_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it|'s| he|'ll| I|'M| we|'VE| you|'RE| '|d| '|x| '"},
    {"IT'S", "IT|'S"},
    {"a1b22c333d4444", "a|1|b|2|2|c|3|3|3|d|4|4|4|4"},
    {"12345678", "1|2|3|4|5|6|7|8"},
    {"½٣Ⅷ", "½|٣|Ⅷ"},
    {"a.b, c! d?", "a|.b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...\n\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n| | b"},
    {"\t\ta", "\t|\ta"},
    {"\r\n\r\na", "\r\n\r\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "foo|Bar| FOObar| Foo|BAR"},
    {"ÉCole éCOLE", "ÉCole| é|COLE"},
    {"ǅabc ʰA", "ǅabc| ʰ|A"},
    {"-the--end-", "-the|--|end|-"},
    {"café e\314\201a \314\201b", "café| e\314\201a| \314\201b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어|!"},
    {"a/b//c/\n", "a|/b|//|c|/\n"},
    {"x_y-z+1", "x|_y|-z|+|1"},
    {"$5.00 €3", "$|5|.|0|0| €|3"},
    {"#tag @me", "#tag| @|me"},
    {"(a) [b]", "(a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240b|\343\200\200c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’m"},
    {"sſ it'ſ", "sſ| it|'ſ"},
};

static void test_tok_scan_cases_tekken(void **unused)
{
    check(5, tekken_rows, TK_ARRAY_LEN(tekken_rows));
}

static const toktest_row numbers_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", "  a"},
    {"   ab cd", "   ab cd"},
    {"abc def", "abc def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '", "it's he'll I'M we'VE you'RE 'd 'x '"},
    {"IT'S", "IT'S"},
    {"a1b22c333d4444", "a|1|b|22|c|333|d|444|4"},
    {"12345678", "123|456|78"},
    {"½٣Ⅷ", "½٣Ⅷ"},
    {"a.b, c! d?", "a.b, c! d?"},
    {"...", "..."},
    {"  ...", "  ..."},
    {"a...\n\nb", "a...\n\nb"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a\n"},
    {"a \n b", "a \n b"},
    {"a  \n  b", "a  \n  b"},
    {"\t\ta", "\t\ta"},
    {"\r\n\r\na", "\r\n\r\na"},
    {"a\r\n", "a\r\n"},
    {"   ", "   "},
    {"a   ", "a   "},
    {"fooBar FOObar FooBAR", "fooBar FOObar FooBAR"},
    {"ÉCole éCOLE", "ÉCole éCOLE"},
    {"ǅabc ʰA", "ǅabc ʰA"},
    {"-the--end-", "-the--end-"},
    {"café e\314\201a \314\201b", "café e\314\201a \314\201b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어!"},
    {"a/b//c/\n", "a/b//c/\n"},
    {"x_y-z+1", "x_y-z+|1"},
    {"$5.00 €3", "$|5|.|00| €|3"},
    {"#tag @me", "#tag @me"},
    {"(a) [b]", "(a) [b]"},
    {"a\302\240b\343\200\200c", "a\302\240b\343\200\200c"},
    {"🎉🎉a", "🎉🎉a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I’m"},
    {"sſ it'ſ", "sſ it'ſ"},
};

static void test_tok_scan_cases_numbers(void **unused)
{
    check(7, numbers_rows, TK_ARRAY_LEN(numbers_rows));
}

static const toktest_row cjk_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", "  a"},
    {"   ab cd", "   ab cd"},
    {"abc def", "abc def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '", "it's he'll I'M we'VE you'RE 'd 'x '"},
    {"IT'S", "IT'S"},
    {"a1b22c333d4444", "a1b22c333d4444"},
    {"12345678", "12345678"},
    {"½٣Ⅷ", "½٣Ⅷ"},
    {"a.b, c! d?", "a.b, c! d?"},
    {"...", "..."},
    {"  ...", "  ..."},
    {"a...\n\nb", "a...\n\nb"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a\n"},
    {"a \n b", "a \n b"},
    {"a  \n  b", "a  \n  b"},
    {"\t\ta", "\t\ta"},
    {"\r\n\r\na", "\r\n\r\na"},
    {"a\r\n", "a\r\n"},
    {"   ", "   "},
    {"a   ", "a   "},
    {"fooBar FOObar FooBAR", "fooBar FOObar FooBAR"},
    {"ÉCole éCOLE", "ÉCole éCOLE"},
    {"ǅabc ʰA", "ǅabc ʰA"},
    {"-the--end-", "-the--end-"},
    {"café e\314\201a \314\201b", "café e\314\201a \314\201b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文|abc"},
    {"한국어!", "한국어!"},
    {"a/b//c/\n", "a/b//c/\n"},
    {"x_y-z+1", "x_y-z+1"},
    {"$5.00 €3", "$5.00 €3"},
    {"#tag @me", "#tag @me"},
    {"(a) [b]", "(a) [b]"},
    {"a\302\240b\343\200\200c", "a\302\240b\343\200\200c"},
    {"🎉🎉a", "🎉🎉a"},
    {"é中1 é", "é|中|1 é"},
    {"I’m", "I’m"},
    {"sſ it'ſ", "sſ it'ſ"},
};

static void test_tok_scan_cases_cjk(void **unused)
{
    check(8, cjk_rows, TK_ARRAY_LEN(cjk_rows));
}

static const toktest_row deepseek_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it|'s| he|'ll| I|'M| we|'VE| you|'RE| '|d| '|x| '"},
    {"IT'S", "IT|'S"},
    {"a1b22c333d4444", "a|1b|2|2c|33|3d|4444"},
    {"12345678", "12345678"},
    {"½٣Ⅷ", "½٣Ⅷ"},
    {"a.b, c! d?", "a|.b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...\n\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n| | b"},
    {"\t\ta", "\t|\ta"},
    {"\r\n\r\na", "\r\n\r\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "fooBar| FOObar| FooBAR"},
    {"ÉCole éCOLE", "ÉCole| éCOLE"},
    {"ǅabc ʰA", "ǅabc| ʰA"},
    {"-the--end-", "-the|--|end|-"},
    {"café e\314\201a \314\201b", "café| e\314\201a| \314\201b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文abc"},
    {"한국어!", "한국어|!"},
    {"a/b//c/\n", "a|/b|//|c|/\n"},
    {"x_y-z+1", "x|_y|-z|+|1"},
    {"$5.00 €3", "$|5|.|00| €|3"},
    {"#tag @me", "#tag| @|me"},
    {"(a) [b]", "(a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240b|\343\200\200c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’|m"},
    {"sſ it'ſ", "sſ| it|'|ſ"},
};

static void test_tok_scan_cases_deepseek(void **unused)
{
    check(9, deepseek_rows, TK_ARRAY_LEN(deepseek_rows));
}

static const toktest_row pebble_rows[] = {
    {"a", "a"},
    {" a", " a"},
    {"  a", " | a"},
    {"   ab cd", "  | ab| cd"},
    {"abc def", "abc| def"},
    {"it's he'll I'M we'VE you'RE 'd 'x '",
     "it|'|s| he|'|ll| I|'|M| we|'|VE| you|'|RE| '|d| '|x| '"},
    {"IT'S", "IT|'|S"},
    {"a1b22c333d4444", "a|1|b|2|2|c|3|3|3|d|4|4|4|4"},
    {"12345678", "1|2|3|4|5|6|7|8"},
    {"½٣Ⅷ", "½٣Ⅷ"},
    {"a.b, c! d?", "a|.|b|,| c|!| d|?"},
    {"...", "..."},
    {"  ...", " | ..."},
    {"a...\n\nb", "a|...|\n|\n|b"},
    {"\n", "\n"},
    {"\n\n", "\n\n"},
    {"a\n", "a|\n"},
    {"a \n b", "a| \n| b"},
    {"a  \n  b", "a|  \n | b"},
    {"\t\ta", "\t|\t|a"},
    {"\r\n\r\na", "\r\n\r|\n|a"},
    {"a\r\n", "a|\r\n"},
    {"   ", "   "},
    {"a   ", "a|   "},
    {"fooBar FOObar FooBAR", "fooBar| FOObar| FooBAR"},
    {"ÉCole éCOLE", "É|Cole| é|COLE"},
    {"ǅabc ʰA", "ǅ|abc| ʰ|A"},
    {"-the--end-", "-|the|--|end|-"},
    {"café e\314\201a \314\201b", "caf|é| e|\314\201|a| \314\201|b"},
    {"日本語テスト", "日本語テスト"},
    {"中文abc", "中文|abc"},
    {"한국어!", "한국어!"},
    {"a/b//c/\n", "a|/|b|//|c|/|\n"},
    {"x_y-z+1", "x|_|y|-|z|+|1"},
    {"$5.00 €3", "$|5|.|0|0| €|3"},
    {"#tag @me", "#|tag| @|me"},
    {"(a) [b]", "(|a|)| [|b|]"},
    {"a\302\240b\343\200\200c", "a|\302\240|b|\343\200\200|c"},
    {"🎉🎉a", "🎉🎉|a"},
    {"é中1 é", "é中|1| é"},
    {"I’m", "I|’|m"},
    {"sſ it'ſ", "s|ſ| it|'ſ"},
};

static void test_tok_scan_cases_pebble(void **unused)
{
    check(10, pebble_rows, TK_ARRAY_LEN(pebble_rows));
}

static void test_tok_scan_cases_names(void **unused)
{
    assert_null(tk_tok_scanner_of(TK_STR("[a-z]+")));
    assert_null(tk_tok_scanner_of(TK_STR("")));
    assert_ptr_equal(tk_tok_scanner_gpt2(), &tk_tok_scanners[0]);
    assert_non_null(strstr(tk_tok_scanner_kimi()->pattern, "Han"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_scan_cases_gpt2),
        cmocka_unit_test(test_tok_scan_cases_cl100k),
        cmocka_unit_test(test_tok_scan_cases_qwen),
        cmocka_unit_test(test_tok_scan_cases_qwen_marks),
        cmocka_unit_test(test_tok_scan_cases_o200k),
        cmocka_unit_test(test_tok_scan_cases_tekken),
        cmocka_unit_test(test_tok_scan_cases_numbers),
        cmocka_unit_test(test_tok_scan_cases_cjk),
        cmocka_unit_test(test_tok_scan_cases_deepseek),
        cmocka_unit_test(test_tok_scan_cases_pebble),
        cmocka_unit_test(test_tok_scan_cases_names),
    };
    return cmocka_run_group_tests_name("tok_scan_cases", tests, NULL, NULL);
}
