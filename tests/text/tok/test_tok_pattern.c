/* Oniguruma's patterns in PCRE2's dialect: what is translated, what is refused and by
 * which name. (What the translations match is in test_tok_regex.c.) */
#include "support/toktest.h"
#include "text/unicode/uni.h"

static const struct {
    const char *pattern, *what;
} refusals[] = {
    {"\\w", "this escape"},
    {"\\b", "this escape"},
    {"\\a", "this escape"},
    {"\\z", "this escape"},
    {"\\A", "this escape"},
    {"\\Z", "this escape"},
    {"\\0", "this escape"},
    {"\\9", "this escape"},
    {"\\1", "this escape"},
    {"\\k", "this escape"},
    {"\\R", "this escape"},
    {"\\", "a lone backslash"},
    {"\\p", "a property without braces"},
    {"\\p{L", "a property without braces"},
    {"\\pL", "a property without braces"},
    {"\\p{}", "this property"},
    {"\\p{^L}", "this property"},
    {"\\p{alpha}", "this property"},
    {"\\p{L&}", "this property"},
    {"[\\P{L}]", "\\P in a class"},
    {"[a", "a class without an end"},
    {"[", "a class without an end"},
    {"[]a]", "a class that begins with a bracket"},
    {"[^]a]", "a class that begins with a bracket"},
    {"[[:alpha:]]", "a negated or named class in a class"},
    {"[a[^b]]", "a negated or named class in a class"},
    {"[a&&b]", "this intersection of classes"},
    {"[a&&[b]", "this intersection of classes"},
    {"[a&&[b]c]", "this intersection of classes"},
    {"[^a&&[b]]", "this intersection of classes"},
    {"[a&&[b]&&[c]]", "this intersection of classes"},
    {"(?m)a", "this kind of group"},
    {"(?<n>a)", "this kind of group"},
    {"(?'n'a)", "this kind of group"},
    {"(?#c)", "this kind of group"},
    {"(?-i:a)", "this kind of group"},
    {"a{2}+", "a possessive count"},
    {"a{1,2}+", "a possessive count"},
};

static const struct {
    const char *from, *to;
} translations[] = {
    {"", ""},
    {"abc", "abc"},
    {"a|b", "a|b"},
    {"a.b", "a.b"},
    {"^a$", "^a$"},
    {"(a)(?:b)", "(a)(?:b)"},
    {"(?=a)(?!b)(?<=c)(?<!d)", "(?=a)(?!b)(?<=c)(?<!d)"},
    {"(?>a)", "(?>a)"},
    {"(?i:a)", "(?i:a)"},
    {"a{2}", "a{2}"},
    {"a{2,}?", "a{2,}?"},
    {"\\s", "\\p{wspace}"},
    {"\\S", "\\P{wspace}"},
    {"[\\s]", "[\\p{wspace}]"},
    {"\\d\\D", "\\d\\D"},
    {"\\n\\r\\t\\f", "\\n\\r\\t\\f"},
    {"\\.\\*\\[", "\\.\\*\\["},
    {"\\x41", "\\x41"},
    {"[a-z]", "[a-z]"},
    {"[^a-z]", "[^a-z]"},
    {"[a[bc]]", "[abc]"},
    {"[[a][b]]", "[ab]"},
    {"[a\\]]", "[a\\]]"},
    {"[&]", "[&]"},
    {"[a&b]", "[a&b]"},
    {"[a&&[b]]", "(?:(?=[b])[a])"},
    {"[a&&[^b]]", "(?:(?![b])[a])"},
    {"x[a&&[^b]]+y", "x(?:(?![b])[a])+y"},
    {"\\p{Nd}", "[\\p{Nd}]"},
    {"\\P{Nd}", "[^\\p{Nd}]"},
    {"[\\p{Nd}a]", "[\\p{Nd}a]"},
    {"\\p{Greek}", "[\\p{sc:Greek}]"},
    {"[\\p{Greek}]", "[\\p{sc:Greek}]"},
    {"é中", "é中"},
};

static void test_tok_pattern_refusals(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(refusals); i++) {
        tk_err err = TK_ERR_INIT;
        tk_buf out, wanted;
        tk_buf_init(&out, TK_MIB);
        tk_buf_init(&wanted, TK_KIB);
        tk_buf_printf(&wanted, "tokenizer.json: split pattern with %s is not supported",
                      refusals[i].what);
        tinkc_code code =
            tk_tok_pattern_translate(&out, tk_str_of(refusals[i].pattern), &err);
        if (code != TINKC_E_UNSUPPORTED || !tk_str_is(tk_buf_str(&wanted), err.message)) {
            fail_msg("%s: %s", refusals[i].pattern, err.message);
        }
        tk_buf_dispose(&wanted);
        tk_buf_dispose(&out);
    }
}

static void test_tok_pattern_translations(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(translations); i++) {
        tk_err err = TK_ERR_INIT;
        tk_buf out;
        tk_buf_init(&out, TK_MIB);
        tinkc_code code =
            tk_tok_pattern_translate(&out, tk_str_of(translations[i].from), &err);
        if (code != TINKC_OK || !tk_str_is(tk_buf_str(&out), translations[i].to)) {
            fail_msg("%s: %.*s %s", translations[i].from, (int)out.n,
                     out.p != NULL ? out.p : "", err.message);
        }
        tk_buf_dispose(&out);
    }
}

/* Properties that have a table here carry the characters that PCRE2 does not know yet:
 * U+1C89, a capital letter of Unicode 16. */
static void test_tok_pattern_newer(void **unused)
{
    static const struct {
        const char *pattern;
        bool has;
    } rows[] = {{"\\p{L}", true},  {"\\p{Lu}", true}, {"\\p{Ll}", false},
                {"\\p{N}", false}, {"\\p{M}", false}, {"[\\p{Lu}]", true},
                {"\\p{P}", false}, {"\\p{S}", false}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        tk_tok_regex *regex = NULL;
        tk_tok_matcher matcher = {NULL};
        size_t range[2];
        assert_int_equal(tk_tok_regex_new(&regex, tk_str_of(rows[i].pattern), &err),
                         TINKC_OK);
        tinkc_code code =
            tk_tok_regex_find(regex, &matcher, TK_STR("\xE1\xB2\x89"), 0, range);
        assert_int_equal(code, rows[i].has ? TINKC_OK : TINKC_E_MISSING);
        tk_tok_matcher_dispose(&matcher);
        tk_tok_regex_free(regex);
    }
}

/* Sixteen classes inside each other are too many. */
static void test_tok_pattern_depth(void **unused)
{
    for (size_t depth = 14; depth < 18; depth++) {
        tk_err err = TK_ERR_INIT;
        tk_buf from, out;
        tk_buf_init(&from, TK_KIB);
        tk_buf_init(&out, TK_KIB);
        for (size_t i = 0; i < depth; i++) {
            tk_buf_puts(&from, "[a");
        }
        for (size_t i = 0; i < depth; i++) {
            tk_buf_puts(&from, "]");
        }
        tinkc_code code = tk_tok_pattern_translate(&out, tk_buf_str(&from), &err);
        assert_int_equal(code, depth <= 16 ? TINKC_OK : TINKC_E_UNSUPPORTED);
        tk_buf_dispose(&from);
        tk_buf_dispose(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_pattern_refusals),
        cmocka_unit_test(test_tok_pattern_translations),
        cmocka_unit_test(test_tok_pattern_newer),
        cmocka_unit_test(test_tok_pattern_depth),
    };
    return cmocka_run_group_tests_name("tok_pattern", tests, NULL, NULL);
}
