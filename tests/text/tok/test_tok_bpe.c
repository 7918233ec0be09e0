/* The merge loop: lowest rank first, the leftmost of equals, a pair that comes twice has
 * its last rank. Ids of the reference for vocabularies of a few letters. */
#include "support/toktest.h"

/* Each merge as soon as its rank is the lowest of the piece. */
static const char order_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,'d':3,'ab':4,'bc':5,'abc':6,'cd':7,'aa':8,'aaaa':9,'bcd':10},"
    "'merges':['a b','b c','ab c','c d','a a','aa aa','bc d']}}";

static const toktest_row order_rows[] = {
    {"", ""},
    {"a", "0"},
    {"ab", "4"},
    {"ba", "1 0"},
    {"abc", "6"},
    {"bcd", "10"},
    {"abcd", "6 3"},
    {"aab", "0 4"},
    {"aaa", "8 0"},
    {"aaaa", "9"},
    {"aaaaa", "9 0"},
    {"aaaaaaaa", "9 9"},
    {"abab", "4 4"},
    {"bcbc", "5 5"},
    {"cdcd", "7 7"},
    {"abcabc", "6 6"},
    {"abcdabcd", "6 3 6 3"},
    {"bab", "1 4"},
    {"dcba", "3 2 1 0"},
    {"aabb", "0 4 1"},
    {"bbcc", "1 5 2"},
    {"aabbccdd", "0 4 5 7 3"},
    {"abcdd", "6 3 3"},
    {"cabcab", "2 6 4"},
};

static void test_tok_bpe_order(void **unused)
{
    toktest_check(order_json, order_rows, TK_ARRAY_LEN(order_rows));
}

/* The same tokens with other ranks give other ids. */
static const char other_ranks_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,'d':3,'ab':4,'bc':5,'abc':6,'cd':7,'aa':8,'aaaa':9,'bcd':10},"
    "'merges':['a a','c d','b c','a b','ab c','aa aa','bc d']}}";

static const toktest_row other_ranks_rows[] = {
    {"", ""},
    {"a", "0"},
    {"ab", "4"},
    {"ba", "1 0"},
    {"abc", "0 5"},
    {"bcd", "1 7"},
    {"abcd", "4 7"},
    {"aab", "8 1"},
    {"aaa", "8 0"},
    {"aaaa", "9"},
    {"aaaaa", "9 0"},
    {"aaaaaaaa", "9 9"},
    {"abab", "4 4"},
    {"bcbc", "5 5"},
    {"cdcd", "7 7"},
    {"abcabc", "0 5 0 5"},
    {"abcdabcd", "4 7 4 7"},
    {"bab", "1 4"},
    {"dcba", "3 2 1 0"},
    {"aabb", "8 1 1"},
    {"bbcc", "1 5 2"},
    {"aabbccdd", "8 1 5 7 3"},
    {"abcdd", "4 7 3"},
    {"cabcab", "2 0 5 4"},
};

static void test_tok_bpe_other_ranks(void **unused)
{
    toktest_check(other_ranks_json, other_ranks_rows, TK_ARRAY_LEN(other_ranks_rows));
}

/* A pair that comes twice has the rank of its last place. */
static const char last_rank_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,'ab':3,'bc':4},'merges':['a b','b c','a b']}}";

static const toktest_row last_rank_rows[] = {
    {"abc", "0 4"}, {"ab", "3"}, {"bc", "4"}, {"aabcc", "0 0 4 2"}, {"abcabc", "0 4 0 4"},
};

static void test_tok_bpe_last_rank(void **unused)
{
    toktest_check(last_rank_json, last_rank_rows, TK_ARRAY_LEN(last_rank_rows));
}

/* Pairs that overlap. */
static const char overlap_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'x':0,"
    "'y':1,'xy':2,'xyx':3,'xyxy':4,'yx':5},'merges':['x y','y x','xy x','xy xy']}}";

static const toktest_row overlap_rows[] = {
    {"xyx", "3"},     {"xyxy", "4"},     {"yxyx", "1 3"}, {"xyxyx", "2 3"},
    {"yxyxy", "1 4"}, {"xxyy", "0 2 1"}, {"xyyx", "2 5"}, {"xyxyxyxyx", "4 2 3"},
};

static void test_tok_bpe_overlap(void **unused)
{
    toktest_check(overlap_json, overlap_rows, TK_ARRAY_LEN(overlap_rows));
}

/* Pieces of two symbols take a shorter way. */
static const char two_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'ab':2,'ba':3,'aba':4},'merges':['a b','b a','ab a']}}";

static const toktest_row two_rows[] = {
    {"ab", "2"}, {"ba", "3"}, {"aa", "0 0"}, {"bb", "1 1"}, {"aba", "4"}, {"bab", "1 2"},
};

static void test_tok_bpe_two(void **unused)
{
    toktest_check(two_json, two_rows, TK_ARRAY_LEN(two_rows));
}

/* More than a hundred symbols are merged with a heap. */
static const char long_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'aa':2,'ab':3,'aaaa':4,'abaa':5},'merges':['a a','a b','aa aa',"
    "'ab aa']}}";

static const toktest_row long_rows[] = {
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 2 0"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 0"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 2"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 2 0"},
    {"ababababababababababababababababababababababababababababababababababababababababababababababababababab",
     "3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3"},
    {"abababababababababababababababababababababababababababababababababababababababababababababababababababab",
     "3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3"},
    {"aabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaab",
     "2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1"},
    {"abaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaaabaa",
     "5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5"},
    {"baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "1 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
     "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 1"},
    {"aabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaabaab",
     "2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1"},
};

static void test_tok_bpe_long(void **unused)
{
    toktest_check(long_json, long_rows, TK_ARRAY_LEN(long_rows));
}

/* Merges as pairs. */
static const char pair_form_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,' ':2,'a b':3,'ab':4},'merges':[['a','b']]}}";

static const toktest_row pair_form_rows[] = {
    {"ab", "4"},
    {"a b", "0 2 1"},
    {"aab", "0 4"},
};

static void test_tok_bpe_pair_form(void **unused)
{
    toktest_check(pair_form_json, pair_form_rows, TK_ARRAY_LEN(pair_form_rows));
}

/* Every text of four letters, long enough for the heap, against the short loop: a text of
 * n letters between two parts that merge with nothing. */
static void test_tok_bpe_heap_equals_loop(void **unused)
{
    enum { LENGTH = 6, TEXTS = 4096, FILLER = 120 };
    tk_tok *tok = toktest_open(order_json);
    tk_tok_work *work = tk_tok_work_take(tok->pool);
    for (unsigned k = 0; k < TEXTS; k++) {
        int32_t shorter[LENGTH], longer[LENGTH + FILLER];
        unsigned rest = k;
        for (size_t i = 0; i < LENGTH; i++, rest /= 4) {
            shorter[i] = longer[i] = (int32_t)(rest % 4);
        }
        for (size_t i = LENGTH; i < LENGTH + FILLER; i++) {
            longer[i] = 10; /* bcd, which nothing joins */
        }
        size_t n = tk_tok_bpe_merge(tok, work, shorter, LENGTH);
        size_t m = tk_tok_bpe_merge(tok, work, longer, LENGTH + FILLER);
        assert_int_equal(m, n + FILLER);
        assert_memory_equal(shorter, longer, n * sizeof(shorter[0]));
    }
    tk_tok_work_give(tok->pool, work);
    tk_tok_free(tok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_bpe_order),
        cmocka_unit_test(test_tok_bpe_other_ranks),
        cmocka_unit_test(test_tok_bpe_last_rank),
        cmocka_unit_test(test_tok_bpe_overlap),
        cmocka_unit_test(test_tok_bpe_two),
        cmocka_unit_test(test_tok_bpe_long),
        cmocka_unit_test(test_tok_bpe_pair_form),
        cmocka_unit_test(test_tok_bpe_heap_equals_loop),
    };
    return cmocka_run_group_tests_name("tok_bpe", tests, NULL, NULL);
}
