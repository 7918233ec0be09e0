/* First symbols of a piece: characters, bytes, <0xHH>, the unknown token; and where a
 * piece is cut. Ids of the reference. */
#include "support/toktest.h"

/* Without an unknown token what has no id is left out. */
static const char no_unknown_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'<unk>':0,"
    "'a':1,'b':2,'é':3,'中':4,'▁':5,'ab':6,'▁a':7,'中中':8},'merges':['a b','▁ a',"
    "'中 中']}}";

static const toktest_row no_unknown_rows[] = {
    {"a", "1"},       {"b", "2"},     {"ab", "6"},       {"x", ""},
    {"xx", ""},       {"axb", "6"},   {"axxb", "6"},     {"x中x", "4"},
    {"éx", "3"},      {"😀", ""},      {"a😀😀b", "6"},     {"xaxbx", "6"},
    {"▁a", "7"},      {"▁ab", "5 6"}, {"中中中", "8 4"}, {"axé中y", "1 3 4"},
    {"abxab", "6 6"}, {"x a", "1"},
};

static void test_tok_symbol_no_unknown(void **unused)
{
    toktest_check(no_unknown_json, no_unknown_rows, TK_ARRAY_LEN(no_unknown_rows));
}

/* One unknown token per character. */
static const char unknown_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'<unk>':0,"
    "'a':1,'b':2,'é':3,'中':4,'▁':5,'ab':6,'▁a':7,'中中':8},'merges':['a b','▁ a',"
    "'中 中'],'unk_token':'<unk>'}}";

static const toktest_row unknown_rows[] = {
    {"a", "1"},         {"b", "2"},       {"ab", "6"},         {"x", "0"},
    {"xx", "0 0"},      {"axb", "1 0 2"}, {"axxb", "1 0 0 2"}, {"x中x", "0 4 0"},
    {"éx", "3 0"},      {"😀", "0"},       {"a😀😀b", "1 0 0 2"}, {"xaxbx", "0 1 0 2 0"},
    {"▁a", "7"},        {"▁ab", "5 6"},   {"中中中", "8 4"},   {"axé中y", "1 0 3 4 0"},
    {"abxab", "6 0 6"}, {"x a", "0 0 1"},
};

static void test_tok_symbol_unknown(void **unused)
{
    toktest_check(unknown_json, unknown_rows, TK_ARRAY_LEN(unknown_rows));
}

/* One unknown token per run of them. */
static const char fused_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'<unk>':0,"
    "'a':1,'b':2,'é':3,'中':4,'▁':5,'ab':6,'▁a':7,'中中':8},'merges':['a b','▁ a',"
    "'中 中'],'unk_token':'<unk>','fuse_unk':true}}";

static const toktest_row fused_rows[] = {
    {"a", "1"},         {"b", "2"},       {"ab", "6"},       {"x", "0"},
    {"xx", "0"},        {"axb", "1 0 2"}, {"axxb", "1 0 2"}, {"x中x", "0 4 0"},
    {"éx", "3 0"},      {"😀", "0"},       {"a😀😀b", "1 0 2"}, {"xaxbx", "0 1 0 2 0"},
    {"▁a", "7"},        {"▁ab", "5 6"},   {"中中中", "8 4"}, {"axé中y", "1 0 3 4 0"},
    {"abxab", "6 0 6"}, {"x a", "0 1"},
};

static void test_tok_symbol_fused(void **unused)
{
    toktest_check(fused_json, fused_rows, TK_ARRAY_LEN(fused_rows));
}

/* Bytes for what has no id, when all its bytes have one. */
static const char fallback_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'<unk>':0,"
    "'a':1,'b':2,'é':3,'中':4,'▁':5,'ab':6,'▁a':7,'中中':8,'<0x78>':9,'<0x79>':10,"
    "'<0xF0>':11,'<0x9F>':12,'<0x98>':13,'<0x80>':14,'<0x20>':15},'merges':['a b',"
    "'▁ a','中 中'],'unk_token':'<unk>','byte_fallback':true}}";

static const toktest_row fallback_rows[] = {
    {"a", "1"},
    {"b", "2"},
    {"ab", "6"},
    {"x", "9"},
    {"xx", "9 9"},
    {"axb", "1 9 2"},
    {"axxb", "1 9 9 2"},
    {"x中x", "9 4 9"},
    {"éx", "3 9"},
    {"😀", "11 12 13 14"},
    {"a😀😀b", "1 11 12 13 14 11 12 13 14 2"},
    {"xaxbx", "9 1 9 2 9"},
    {"▁a", "7"},
    {"▁ab", "5 6"},
    {"中中中", "8 4"},
    {"axé中y", "1 9 3 4 10"},
    {"abxab", "6 9 6"},
    {"x a", "9 15 1"},
    {"z", "0"},
    {"xz", "9 0"},
    {"zx", "9 0"},
    {"zz", "0 0"},
    {"xzx", "9 9 0"},
    {"😁", "0"},
};

static void test_tok_symbol_fallback(void **unused)
{
    toktest_check(fallback_json, fallback_rows, TK_ARRAY_LEN(fallback_rows));
}

/* Bytes, and a fused unknown token around them. */
static const char fallback_fused_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'<unk>':0,"
    "'a':1,'b':2,'é':3,'中':4,'▁':5,'ab':6,'▁a':7,'中中':8,'<0x78>':9,'<0x79>':10,"
    "'<0xF0>':11,'<0x9F>':12,'<0x98>':13,'<0x80>':14,'<0x20>':15},'merges':['a b',"
    "'▁ a','中 中'],'unk_token':'<unk>','byte_fallback':true,'fuse_unk':true}}";

static const toktest_row fallback_fused_rows[] = {
    {"a", "1"},
    {"b", "2"},
    {"ab", "6"},
    {"x", "9"},
    {"xx", "9 9"},
    {"axb", "1 9 2"},
    {"axxb", "1 9 9 2"},
    {"x中x", "9 4 9"},
    {"éx", "3 9"},
    {"😀", "11 12 13 14"},
    {"a😀😀b", "1 11 12 13 14 11 12 13 14 2"},
    {"xaxbx", "9 1 9 2 9"},
    {"▁a", "7"},
    {"▁ab", "5 6"},
    {"中中中", "8 4"},
    {"axé中y", "1 9 3 4 10"},
    {"abxab", "6 9 6"},
    {"x a", "9 15 1"},
    {"z", "0"},
    {"xz", "9 0"},
    {"zx", "9 0"},
    {"zz", "0"},
    {"xzx", "9 9 0"},
    {"zxz", "9 0"},
    {"zzxzz", "9 0"},
    {"😁", "0"},
};

static void test_tok_symbol_fallback_fused(void **unused)
{
    toktest_check(fallback_fused_json, fallback_fused_rows,
                  TK_ARRAY_LEN(fallback_fused_rows));
}

/* Bytes without an unknown token. */
static const char fallback_alone_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'<unk>':0,"
    "'a':1,'b':2,'é':3,'中':4,'▁':5,'ab':6,'▁a':7,'中中':8,'<0x78>':9,'<0x79>':10,"
    "'<0xF0>':11,'<0x9F>':12,'<0x98>':13,'<0x80>':14,'<0x20>':15},'merges':['a b',"
    "'▁ a','中 中'],'byte_fallback':true}}";

static const toktest_row fallback_alone_rows[] = {
    {"a", "1"},
    {"b", "2"},
    {"ab", "6"},
    {"x", "9"},
    {"xx", "9 9"},
    {"axb", "1 9 2"},
    {"axxb", "1 9 9 2"},
    {"x中x", "9 4 9"},
    {"éx", "3 9"},
    {"😀", "11 12 13 14"},
    {"a😀😀b", "1 11 12 13 14 11 12 13 14 2"},
    {"xaxbx", "9 1 9 2 9"},
    {"▁a", "7"},
    {"▁ab", "5 6"},
    {"中中中", "8 4"},
    {"axé中y", "1 9 3 4 10"},
    {"abxab", "6 9 6"},
    {"x a", "9 15 1"},
    {"z", ""},
    {"xz", "9"},
    {"zx", "9"},
};

static void test_tok_symbol_fallback_alone(void **unused)
{
    toktest_check(fallback_alone_json, fallback_alone_rows,
                  TK_ARRAY_LEN(fallback_alone_rows));
}

/* A byte-level vocabulary that lacks some bytes. */
static const char some_bytes_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,'decoder':null,"
    "'model':{'type':'BPE','vocab':{'<unk>':0,'a':1,'b':2,'Ã':3,'©':4,'ab':5,"
    "'Ã©':6},'merges':['a b','Ã ©'],'unk_token':'<unk>'}}";

static const toktest_row some_bytes_rows[] = {
    {"ab", "5"},  {"é", "6"},    {"aéb", "1 6 2"}, {"axb", "1 0 2"}, {"axyb", "1 0 0 2"},
    {"è", "3 0"}, {"xé", "0 6"}, {"aé", "1 6"},    {"éa", "6 1"},
};

static void test_tok_symbol_some_bytes(void **unused)
{
    toktest_check(some_bytes_json, some_bytes_rows, TK_ARRAY_LEN(some_bytes_rows));
}

/* ... with unknown tokens fused. */
static const char some_bytes_fused_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,'decoder':null,"
    "'model':{'type':'BPE','vocab':{'<unk>':0,'a':1,'b':2,'Ã':3,'©':4,'ab':5,"
    "'Ã©':6},'merges':['a b','Ã ©'],'unk_token':'<unk>','fuse_unk':true}}";

static const toktest_row some_bytes_fused_rows[] = {
    {"ab", "5"},       {"é", "6"},   {"aéb", "1 6 2"}, {"axb", "1 0 2"},
    {"axyb", "1 0 2"}, {"è", "3 0"}, {"xé", "0 6"},    {"axxyya", "1 0 1"},
};

static void test_tok_symbol_some_bytes_fused(void **unused)
{
    toktest_check(some_bytes_fused_json, some_bytes_fused_rows,
                  TK_ARRAY_LEN(some_bytes_fused_rows));
}

/* Where no merge joins two characters the piece is cut; the ids do not change. */
static const char cuts_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'▁':0,"
    "'a':1,'b':2,'c':3,'▁a':4,'ab':5,'▁ab':6,'bc':7,'c▁':8,'a▁':9},'merges':['▁ a',"
    "'a b','▁a b','b c','c ▁']}}";

static const toktest_row cuts_rows[] = {
    {"▁ab▁ab", "6 6"},      {"ab▁", "5 0"},         {"c▁c▁", "8 8"},      {"▁▁a", "0 4"},
    {"abc▁abc", "5 3 6 3"}, {"a▁b▁c", "1 0 2 0 3"}, {"bcbc▁ab", "7 7 6"}, {"c▁ab", "3 6"},
};

static void test_tok_symbol_cuts(void **unused)
{
    toktest_check(cuts_json, cuts_rows, TK_ARRAY_LEN(cuts_rows));
}

/* Characters beyond the table of the first plane. */
static const char far_characters_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':null,"
    "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{'<unk>':0,"
    "'😀':1,'𝒳':2,'a':3,'😀a':4,'𝒳😀':5},'merges':['😀 a','𝒳 😀'],'unk_token':'<unk>'}}";

static const toktest_row far_characters_rows[] = {
    {"😀", "1"}, {"😀a", "4"}, {"𝒳😀a", "2 4"}, {"a😀", "3 1"}, {"😁", "0"}, {"𝒳𝒳", "2 2"},
};

static void test_tok_symbol_far_characters(void **unused)
{
    toktest_check(far_characters_json, far_characters_rows,
                  TK_ARRAY_LEN(far_characters_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_symbol_no_unknown),
        cmocka_unit_test(test_tok_symbol_unknown),
        cmocka_unit_test(test_tok_symbol_fused),
        cmocka_unit_test(test_tok_symbol_fallback),
        cmocka_unit_test(test_tok_symbol_fallback_fused),
        cmocka_unit_test(test_tok_symbol_fallback_alone),
        cmocka_unit_test(test_tok_symbol_some_bytes),
        cmocka_unit_test(test_tok_symbol_some_bytes_fused),
        cmocka_unit_test(test_tok_symbol_cuts),
        cmocka_unit_test(test_tok_symbol_far_characters),
    };
    return cmocka_run_group_tests_name("tok_symbol", tests, NULL, NULL);
}
