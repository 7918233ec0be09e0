/* Added tokens and their flags: lstrip, rstrip, single_word, normalized, overlaps. Ids of
 * the reference. */
#include "support/toktest.h"

/* White space that a token takes along. */
static const char strips_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'<l>','single_word':false,"
    "'lstrip':true,'rstrip':false,'normalized':false,'special':false},{'id':12,"
    "'content':'<r>','single_word':false,'lstrip':false,'rstrip':true,"
    "'normalized':false,'special':false},{'id':13,'content':'<b>',"
    "'single_word':false,'lstrip':true,'rstrip':true,'normalized':false,"
    "'special':false}],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10},'merges':[]}}";

static const toktest_row strips_rows[] = {
    {"", ""},
    {"a", "0"},
    {"<l>", "11"},
    {"a<l>b", "0 11 1"},
    {" a <l> b ", "3 0 11 3 1 3"},
    {"a  <l>  b", "0 11 3 3 1"},
    {"\n<l>\n", "11 4"},
    {"<l><l>", "11 11"},
    {"a<r>b", "0 12 1"},
    {"a <r> b", "0 3 12 1"},
    {" <r>", "3 12"},
    {"<r> ", "12"},
    {"a <b> b", "0 13 1"},
    {"<b><b>", "13 13"},
    {"  <b>  <b>  ", "13 13"},
    {"a <l> <r> b", "0 11 3 12 1"},
    {"a<r>  <l>b", "0 12 11 1"},
    {"\343\200\200<b>\302\240a", "13 0"},
};

static void test_tok_added_flags_strips(void **unused)
{
    toktest_check(strips_json, strips_rows, TK_ARRAY_LEN(strips_rows));
}

/* Only where no word character is next to it. */
static const char single_word_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'ab','single_word':true,"
    "'lstrip':false,'rstrip':false,'normalized':false,'special':false},{'id':2,"
    "'content':'c','single_word':true,'lstrip':false,'rstrip':false,"
    "'normalized':false,'special':false}],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10},'merges':[]}}";

static const toktest_row single_word_rows[] = {
    {"ab", "11"},
    {"aab", "0 0 1"},
    {"abb", "0 1 1"},
    {"a ab b", "0 3 11 3 1"},
    {"ab ab", "11 3 11"},
    {"abab", "0 1 0 1"},
    {"éab", "5 0 1"},
    {"abé", "0 1 5"},
    {"ab<", "11 7"},
    {"<ab>", "7 11 8"},
    {"c", "2"},
    {"ac", "0 2"},
    {"a c", "0 3 2"},
    {"cc", "2 2"},
    {"c c", "2 3 2"},
    {"ab c", "11 3 2"},
    {"_ab", "0 1"},
    {"ab1", "0 1"},
    {"ab\314\201", "0 1"},
    {"中ab", "0 1"},
};

static void test_tok_added_flags_single_word(void **unused)
{
    toktest_check(single_word_json, single_word_rows, TK_ARRAY_LEN(single_word_rows));
}

/* The leftmost, then the longest. */
static const char longest_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'ab','single_word':false,"
    "'lstrip':false,'rstrip':false,'normalized':false,'special':false},{'id':12,"
    "'content':'abb','single_word':false,'lstrip':false,'rstrip':false,"
    "'normalized':false,'special':false},{'id':13,'content':'bb',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':false},{'id':14,'content':'abc','single_word':false,'lstrip':false,"
    "'rstrip':false,'normalized':false,'special':false},{'id':1,'content':'b',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
    "'special':false}],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10},'merges':[]}}";

static const toktest_row longest_rows[] = {
    {"ab", "11"},       {"abb", "12"},   {"abbb", "12 1"},  {"aabbb", "0 12 1"},
    {"abcb", "14 1"},   {"bb", "13"},    {"bbb", "13 1"},   {"b", "1"},
    {"ababb", "11 12"}, {"cab", "2 11"}, {"abab", "11 11"}, {"abbabb", "12 12"},
};

static void test_tok_added_flags_longest(void **unused)
{
    toktest_check(longest_json, longest_rows, TK_ARRAY_LEN(longest_rows));
}

/* Special tokens are found as others are. */
static const char special_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'<x>','single_word':false,"
    "'lstrip':false,'rstrip':false,'normalized':false,'special':true},{'id':12,"
    "'content':'<y>','single_word':false,'lstrip':false,'rstrip':false,"
    "'normalized':false,'special':false}],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10},'merges':[]}}";

static const toktest_row special_rows[] = {
    {"a<x>b", "0 11 1"}, {"<x><y>", "11 12"}, {"x<x>x", "6 11 6"},
    {"<x", "7 6"},       {"x>", "6 8"},
};

static void test_tok_added_flags_special(void **unused)
{
    toktest_check(special_json, special_rows, TK_ARRAY_LEN(special_rows));
}

/* In the raw text, or in the normalised text. */
static const char normalized_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'e\314\201x','single_word':false,"
    "'lstrip':false,'rstrip':false,'normalized':true,'special':false},{'id':12,"
    "'content':'e\314\201y','single_word':false,'lstrip':false,'rstrip':false,"
    "'normalized':false,'special':false},{'id':13,'content':'éz',"
    "'single_word':false,'lstrip':false,'rstrip':false,'normalized':true,"
    "'special':false}],'normalizer':{'type':'NFC'},'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10},'merges':[]}}";

static const toktest_row normalized_rows[] = {
    {"e\314\201x", "11"}, {"éx", "11"}, {"e\314\201y", "12"},       {"éy", "5"},
    {"e\314\201z", "13"}, {"éz", "13"}, {"ae\314\201xb", "0 11 1"}, {"aéxb", "0 11 1"},
};

static void test_tok_added_flags_normalized(void **unused)
{
    toktest_check(normalized_json, normalized_rows, TK_ARRAY_LEN(normalized_rows));
}

/* A normalised token is looked for as the normaliser writes it. */
static const char replaced_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'ac','single_word':false,"
    "'lstrip':false,'rstrip':false,'normalized':true,'special':false},{'id':12,"
    "'content':'ca','single_word':false,'lstrip':false,'rstrip':false,"
    "'normalized':false,'special':false}],'normalizer':{'type':'Replace',"
    "'pattern':{'String':'a'},'content':'b'},'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10},'merges':[]}}";

static const toktest_row replaced_rows[] = {
    {"ac", "11"},  {"bc", "11"},      {"ca", "12"},
    {"cb", "2 1"}, {"acca", "11 12"}, {"aacc", "1 11 2"},
};

static void test_tok_added_flags_replaced(void **unused)
{
    toktest_check(replaced_json, replaced_rows, TK_ARRAY_LEN(replaced_rows));
}

/* Raw tokens come first. */
static const char both_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'bc','single_word':false,"
    "'lstrip':false,'rstrip':false,'normalized':false,'special':false},{'id':12,"
    "'content':'ab','single_word':false,'lstrip':false,'rstrip':false,"
    "'normalized':true,'special':false}],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10},'merges':[]}}";

static const toktest_row both_rows[] = {
    {"abc", "0 11"},
    {"abbc", "12 11"},
    {"ab", "12"},
    {"bcab", "11 12"},
};

static void test_tok_added_flags_both(void **unused)
{
    toktest_check(both_json, both_rows, TK_ARRAY_LEN(both_rows));
}

/* A token that the model has too. */
static const char known_json[] =
    "{'version':'1.0','added_tokens':[{'id':11,'content':'ab','single_word':true,"
    "'lstrip':false,'rstrip':false,'normalized':false,'special':false},{'id':0,"
    "'content':'a','single_word':false,'lstrip':false,'rstrip':false,"
    "'normalized':false,'special':true}],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'c':2,' ':3,'\\n':4,'é':5,'x':6,'<':7,'>':8,'l':9,'r':10,'ab':11},"
    "'merges':[['a','b']]}}";

static const toktest_row known_rows[] = {
    {"ab", "11"},  {"aab", "0 11"},      {"a", "0"},
    {"ba", "1 0"}, {"ab ab", "11 3 11"}, {"c ab", "2 3 11"},
};

static void test_tok_added_flags_known(void **unused)
{
    toktest_check(known_json, known_rows, TK_ARRAY_LEN(known_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_added_flags_strips),
        cmocka_unit_test(test_tok_added_flags_single_word),
        cmocka_unit_test(test_tok_added_flags_longest),
        cmocka_unit_test(test_tok_added_flags_special),
        cmocka_unit_test(test_tok_added_flags_normalized),
        cmocka_unit_test(test_tok_added_flags_replaced),
        cmocka_unit_test(test_tok_added_flags_both),
        cmocka_unit_test(test_tok_added_flags_known),
    };
    return cmocka_run_group_tests_name("tok_added_flags", tests, NULL, NULL);
}
