/* The merges of a file into their table: refusals, groups of 32, collisions,
 * junctions. */
#include "support/toktest.h"
#include "text/tok/tok_load.h"

static const struct {
    const char *merges, *text;
} refusals[] = {
    {"'a'", "tokenizer.json: merges are missing or too many"},
    {"['ab']", "tokenizer.json: a merge is not a pair"},
    {"['a b c']", "tokenizer.json: a merge is not a pair"},
    {"[' a']", "tokenizer.json: a merge is not a pair"},
    {"['a ']", "tokenizer.json: a merge is not a pair"},
    {"['a  b']", "tokenizer.json: a merge is not a pair"},
    {"[['a']]", "tokenizer.json: a merge is not a pair"},
    {"[['a','b','c']]", "tokenizer.json: a merge is not a pair"},
    {"[['a',1]]", "tokenizer.json: a merge is not a pair"},
    {"[['','a']]", "tokenizer.json: a merge is not a pair"},
    {"[1]", "tokenizer.json: a merge is not a pair"},
    {"[null]", "tokenizer.json: a merge is not a pair"},
    {"['a x']", "tokenizer.json: a merge is not in the vocabulary"},
    {"['x a']", "tokenizer.json: a merge is not in the vocabulary"},
    {"['b a']", "tokenizer.json: a merge is not in the vocabulary"},
    {"['a b','a x']", "tokenizer.json: a merge is not in the vocabulary"},
};

static void test_tok_merges_refusals(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(refusals); i++) {
        tk_tok *tok = NULL;
        tk_err err = TK_ERR_INIT;
        tk_buf quoted;
        tk_buf_init(&quoted, TK_KIB);
        tk_buf_printf(&quoted,
                      "{'version':'1.0','model':{'type':'BPE','vocab':{'a':0,'b':1,"
                      "'ab':2},'merges':%s}}",
                      refusals[i].merges);
        assert_int_equal(toktest_try(&tok, tk_buf_cstr(&quoted), &err), TINKC_E_DECODE);
        assert_string_equal(err.message, refusals[i].text);
        assert_null(tok);
        tk_buf_dispose(&quoted);
    }
}

/* A separate table: n merges of made-up ids, all found again, no other pair. */
static void check_table(size_t n)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_load_new(&tok, &err), TINKC_OK);
    assert_int_equal(tk_tok_merges_init(tok, n, &err), TINKC_OK);
    for (size_t i = 0; i < n; i++) {
        tk_tok_merges_put(tok, (tk_tok_merge){(uint32_t)(i % 97), (uint32_t)(i / 97),
                                              (uint32_t)i, (int32_t)(2 * i)});
    }
    for (size_t i = 0; i < n; i++) {
        const tk_tok_merge *m =
            tk_tok_merges_find(tok, (int32_t)(i % 97), (int32_t)(i / 97));
        assert_non_null(m);
        assert_true(m->rank == i && m->id == (int32_t)(2 * i));
    }
    for (int32_t i = 0; i < 97; i++) {
        assert_null(tk_tok_merges_find(tok, 97 + i, i));
        assert_null(tk_tok_merges_find(tok, i, (int32_t)(n / 97) + 1));
    }
    tk_tok_free(tok);
}

/* Sizes around those at which the table doubles: 10 of 16 places, 20 of 32 ... */
static void test_tok_merges_sizes(void **unused)
{
    static const size_t sizes[] = {0,  1,  9,  10,   11,   19,   20,
                                   21, 40, 41, 1279, 1280, 1281, 5000};
    for (size_t i = 0; i < TK_ARRAY_LEN(sizes); i++) {
        check_table(sizes[i]);
    }
}

/* The last rank of a pair counts, and takes no second place. */
static void test_tok_merges_replaces(void **unused)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_load_new(&tok, &err), TINKC_OK);
    assert_int_equal(tk_tok_merges_init(tok, 4, &err), TINKC_OK);
    for (uint32_t rank = 0; rank < 1000; rank++) {
        tk_tok_merges_put(tok, (tk_tok_merge){1, 2, rank, 3});
    }
    assert_int_equal(tk_tok_merges_find(tok, 1, 2)->rank, 999);
    assert_null(tk_tok_merges_find(tok, 2, 1));
    tk_tok_free(tok);
}

/* Characters that a merge joins: the last of its left part, the first of its right. */
static void test_tok_merges_junctions(void **unused)
{
    tk_tok *tok = toktest_open(
        "{'version':'1.0','model':{'type':'BPE','vocab':{'a':0,'b':1,'\xC3\xA9':2,'ab':3,"
        "'ab\xC3\xA9':4,'\xE4\xB8\xAD':5,'\xC3\xA9\xE4\xB8\xAD':6},'merges':['a b',"
        "'ab \xC3\xA9',['\xC3\xA9','\xE4\xB8\xAD']]}}");
    assert_true(tk_tok_merges_is_junction(tok, 'a', 'b'));
    assert_true(tk_tok_merges_is_junction(tok, 'b', 0xE9));
    assert_true(tk_tok_merges_is_junction(tok, 0xE9, 0x4E2D));
    size_t others = 0;
    for (uint32_t c = 'c'; c < 'c' + 20; c++) {
        others += tk_tok_merges_is_junction(tok, c, 'b');
        others += tk_tok_merges_is_junction(tok, 'a', c);
    }
    assert_in_range(others, 0, 20); /* a false yes may happen, but not as a rule */
    tk_tok_free(tok);
}

/* More merges than one group, in both forms. */
static void test_tok_merges_groups(void **unused)
{
    for (size_t n = 30; n < 70; n++) {
        tk_buf quoted;
        tk_buf_init(&quoted, TK_MIB);
        tk_buf_puts(&quoted, "{'version':'1.0','model':{'type':'BPE','vocab':{'a':0");
        for (size_t i = 1; i <= n; i++) {
            tk_buf_printf(
                &quoted, ",'%.*s':%zu", (int)(i + 1),
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                "aaaaaaaa",
                i);
        }
        tk_buf_puts(&quoted, "},'merges':[");
        for (size_t i = 1; i <= n; i++) { /* one letter more each time */
            const char *many = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                               "aaaaaaaaaaaaaaaaa";
            tk_buf_printf(&quoted, i % 2 == 0 ? "%s'%.*s a'" : "%s['%.*s','a']",
                          i > 1 ? "," : "", (int)i, many);
        }
        tk_buf_puts(&quoted, "]}}");
        tk_tok *tok = toktest_open(tk_buf_cstr(&quoted));
        for (size_t i = 1; i <= n; i++) {
            const tk_tok_merge *m = tk_tok_merges_find(tok, (int32_t)i - 1, 0);
            assert_true(m != NULL && m->rank == i - 1 && m->id == (int32_t)i);
        }
        tk_tok_free(tok);
        tk_buf_dispose(&quoted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_merges_refusals),
        cmocka_unit_test(test_tok_merges_sizes),
        cmocka_unit_test(test_tok_merges_replaces),
        cmocka_unit_test(test_tok_merges_junctions),
        cmocka_unit_test(test_tok_merges_groups),
    };
    return cmocka_run_group_tests_name("tok_merges", tests, NULL, NULL);
}
