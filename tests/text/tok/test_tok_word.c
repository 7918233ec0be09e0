/* One piece to ids: short and long pieces, the caches, whole pieces before merging,
 * spans. Ids of the reference. */
#include "support/toktest.h"

/* Around the limits of a word (15 bytes) and of a phrase (54). */
static const char lengths_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'th':256,'the':257,"
    "'Ġthe':258,'aa':259,'aaaa':260,'aaaaaaaa':261,'in':262,'ing':263},"
    "'merges':['t h','th e','Ġ the','a a','aa aa','aaaa aaaa','i n','in g']}}";

static const toktest_row lengths_rows[] = {
    {" the", "258"},
    {"the", "257"},
    {"aaaaaaa", "260 259 97"},
    {"aaaaaaaa", "261"},
    {"aaaaaaaaaaaaaa", "261 260 259"},
    {"aaaaaaaaaaaaaaa", "261 260 259 97"},
    {"aaaaaaaaaaaaaaaa", "261 261"},
    {"aaaaaaaaaaaaaaaaa", "261 261 97"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "261 261 261 260 259 97"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "261 261 261 261 261 261 260 97"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "261 261 261 261 261 261 260 259"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "261 261 261 261 261 261 260 259 97"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "261 261 261 261 261 261 261"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 261 260"},
    {"thethe", "257 257"},
    {"ingthe in", "263 257 32 262"},
    {"thethethethethe", "257 257 257 257 257"},
    {"thethethethethethe", "257 257 257 257 257 257"},
    {"thethethethethethethethethethethethethethethethethethe",
     "257 257 257 257 257 257 257 257 257 257 257 257 257 257 257 257 257 257"},
    {"thethethethethethethethethethethethethethethethethethethe",
     "257 257 257 257 257 257 257 257 257 257 257 257 257 257 257 257 257 257 257"},
    {"xxxxxxxxxxxxxxx", "120 120 120 120 120 120 120 120 120 120 120 120 120 120 120"},
    {"xxxxxxxxxxxxxxxx",
     "120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120"},
    {"xing", "120 263"},
    {"中中中中中", "228 184 173 228 184 173 228 184 173 228 184 173 228 184 173"},
    {"中中中中中中",
     "228 184 173 228 184 173 228 184 173 228 184 173 228 184 173 228 184 173"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa中",
     "261 261 261 261 261 261 259 228 184 173"},
    {"th", "256"},
    {"", ""},
};

static void test_tok_word_lengths(void **unused)
{
    toktest_check(lengths_json, lengths_rows, TK_ARRAY_LEN(lengths_rows));
}

/* With ignore_merges a piece that is a token is taken whole. */
static const char whole_pieces_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'th':256,'the':257,"
    "'Ġthe':258,'aa':259,'aaaa':260,'aaaaaaaa':261,'in':262,'ing':263,'aaa':264,"
    "'hello':265,'aĠwordĠofĠmoreĠthanĠfifteen':266,'xxxxxxxxxxxxxxxxxxxx':267,"
    "'thin':268},'merges':['t h','th e','Ġ the','a a','aa aa','aaaa aaaa','i n',"
    "'in g'],'ignore_merges':true}}";

static const toktest_row whole_pieces_rows[] = {
    {"aaa", "264"},
    {"aaaa", "260"},
    {"hello", "265"},
    {"hell", "104 101 108 108"},
    {"hellohello", "104 101 108 108 111 104 101 108 108 111"},
    {"a word of more than fifteen", "266"},
    {"a word of more than fiftee",
     "97 32 119 111 114 100 32 111 102 32 109 111 114 101 32 256 97 110 32 102 105 102 116 101 101"},
    {"xxxxxxxxxxxxxxxxxxxx", "267"},
    {"xxxxxxxxxxxxxxxxxxx",
     "120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120"},
    {"xxxxxxxxxxxxxxxxxxxxx",
     "120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120"},
    {"thin", "268"},
    {"thing", "256 263"},
    {"the", "257"},
};

static void test_tok_word_whole_pieces(void **unused)
{
    toktest_check(whole_pieces_json, whole_pieces_rows, TK_ARRAY_LEN(whole_pieces_rows));
}

/* Without it the same tokens are reached by merges only. */
static const char merges_only_json[] =
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
    "'use_regex':false,'trim_offsets':true},'post_processor':null,"
    "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
    "'use_regex':true},'model':{'type':'BPE','vocab':{@,'th':256,'the':257,"
    "'Ġthe':258,'aa':259,'aaaa':260,'aaaaaaaa':261,'in':262,'ing':263,'aaa':264,"
    "'hello':265,'aĠwordĠofĠmoreĠthanĠfifteen':266,'xxxxxxxxxxxxxxxxxxxx':267,"
    "'thin':268},'merges':['t h','th e','Ġ the','a a','aa aa','aaaa aaaa','i n',"
    "'in g']}}";

static const toktest_row merges_only_rows[] = {
    {"aaa", "259 97"},
    {"hello", "104 101 108 108 111"},
    {"thin", "256 262"},
    {"xxxxxxxxxxxxxxxxxxxx",
     "120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120 120"},
};

static void test_tok_word_merges_only(void **unused)
{
    toktest_check(merges_only_json, merges_only_rows, TK_ARRAY_LEN(merges_only_rows));
}

/* More different words than a cache has room for: ids do not change when words are
 * dropped and come again. */
static void test_tok_word_many(void **unused)
{
    tk_tok *tok = toktest_open(lengths_json);
    for (int round = 0; round < 2; round++) {
        for (unsigned k = 0; k < 5000; k++) {
            char text[32];
            int32_t wanted[32];
            size_t n = 2 + k % 20;
            for (size_t i = 0; i < n; i++) { /* letters without a merge: an id per byte */
                text[i] = (char)('p' + (int)((k >> i % 12) & 1));
                wanted[i] = text[i];
            }
            tk_tok_ids ids = {NULL, 0, 0, NULL};
            tk_err err = TK_ERR_INIT;
            assert_int_equal(tk_tok_encode(tok, (tk_str){text, n}, &ids, &err), TINKC_OK);
            assert_int_equal(ids.n, n);
            assert_memory_equal(ids.ids, wanted, n * sizeof(wanted[0]));
            tk_tok_ids_dispose(&ids);
        }
    }
    tk_tok_free(tok);
}

/* One text of more different words than the cache has room for at first: it grows while
 * pieces wait for their place in it. */
static void test_tok_word_grows(void **unused)
{
    enum { WORDS = 4000, LETTERS = 6 };
    tk_tok *tok = toktest_open(
        "{'version':'1.0','pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false},"
        "'model':{'type':'BPE','merges':[],'vocab':{@}}}");
    tk_buf text;
    tk_buf_init(&text, TK_MIB);
    for (unsigned k = 0; k < WORDS; k++) {
        tk_buf_putc(&text, ' ');
        for (unsigned i = 0, rest = k; i < LETTERS - 1; i++, rest /= 10) {
            tk_buf_putc(&text, (char)('a' + rest % 10));
        }
    }
    for (int round = 0; round < 3; round++) { /* the last one with offsets: another way */
        tk_tok_ids ids = {NULL, 0, 0, NULL};
        tk_err err = TK_ERR_INIT;
        tk_tok_how how = {.offsets = round == 2};
        assert_int_equal(tk_tok_encode_how(tok, tk_buf_str(&text), how, &ids, &err),
                         TINKC_OK);
        assert_int_equal(ids.n, text.n);
        for (size_t i = 0; i < ids.n; i++) { /* no merges: an id per byte */
            assert_int_equal(ids.ids[i], (unsigned char)text.p[i]);
        }
        tk_tok_ids_dispose(&ids);
    }
    tk_buf_dispose(&text);
    tk_tok_free(tok);
}

/* How many bytes of the text each id covers. */
static void test_tok_word_spans(void **unused)
{
    tk_tok *bytes = toktest_open(lengths_json);
    assert_int_equal(tk_tok_word_span(bytes, "thex", 4, 257), 3); /* the */
    assert_int_equal(tk_tok_word_span(bytes, "th", 2, 257), 2);   /* not past the end */
    assert_int_equal(tk_tok_word_span(bytes, "x", 1, 'x'), 1);
    tk_tok_free(bytes);
    tk_tok *chars = toktest_open(
        "{'version':'1.0','model':{'type':'BPE','unk_token':'?','fuse_unk':true,"
        "'byte_fallback':true,'vocab':{'?':0,'a':1,'\xC3\xA9':2,'<0x78>':3},'merges':[]}}");
    assert_int_equal(tk_tok_word_span(chars, "\xC3\xA9z", 3, 2), 2);
    assert_int_equal(tk_tok_word_span(chars, "xa", 2, 3), 1);
    assert_int_equal(tk_tok_word_span(chars, "yza", 3, 0), 2); /* a run of unknown ones */
    assert_int_equal(tk_tok_word_span(chars,
                                      "y\xE4\xB8\xAD"
                                      "a",
                                      5, 0),
                     4);
    tk_tok_free(chars);
    tk_tok *apart = toktest_open("{'version':'1.0','model':{'type':'BPE','unk_token':'?',"
                                 "'vocab':{'?':0,'a':1},'merges':[]}}");
    assert_int_equal(tk_tok_word_span(apart, "yza", 3, 0), 1);
    tk_tok_free(apart);
    tk_tok *left = toktest_open("{'version':'1.0','model':{'type':'BPE',"
                                "'vocab':{'a':0,'b':1},'merges':[]}}");
    assert_int_equal(tk_tok_word_span(left, "axyb", 4, 0), 3); /* with what has no id */
    tk_tok_free(left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_word_lengths),
        cmocka_unit_test(test_tok_word_whole_pieces),
        cmocka_unit_test(test_tok_word_merges_only),
        cmocka_unit_test(test_tok_word_many),
        cmocka_unit_test(test_tok_word_grows),
        cmocka_unit_test(test_tok_word_spans),
    };
    return cmocka_run_group_tests_name("tok_word", tests, NULL, NULL);
}
