/* The model and the added tokens into entries: refusals, ids with holes, what a token
 * decodes to and which bytes it covers. */
#include "support/toktest.h"

static const struct {
    const char *json;
    tinkc_code code;
    const char *text;
} refusals[] = {
    {"{'version':'1.0','model':{'type':'BPE','merges':[]}}", TINKC_E_DECODE,
     "tokenizer.json: the vocabulary is missing"},
    {"{'version':'1.0','model':{'type':'BPE','vocab':[],'merges':[]}}", TINKC_E_DECODE,
     "tokenizer.json: the vocabulary is missing"},
    {"{'version':'1.0','model':{'type':'WordLevel','vocab':{}}}", TINKC_E_UNSUPPORTED,
     "tokenizer.json: the model WordLevel is not supported"},
    {"{'version':'1.0','model':{'type':3,'vocab':{}}}", TINKC_E_UNSUPPORTED,
     "tokenizer.json: the model is not supported"},
    {"{'version':'1.0','model':{'vocab':{'a':0}}}", TINKC_E_UNSUPPORTED,
     "tokenizer.json: a model without merges is not supported"},
    {"{'version':'1.0'}", TINKC_E_UNSUPPORTED,
     "tokenizer.json: a model without merges is not supported"},
    {"{'model':{'type':'BPE','vocab':{},'merges':[]}}", TINKC_E_DECODE,
     "tokenizer.json: version is not 1.0"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE','vocab':{"
     "'a':0,'b':0},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: two tokens have the same id"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE','vocab':{"
     "'a':0,'a':1},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: a token has two ids"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE','vocab':{"
     "'a':-1},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an id is missing or out of range"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE','vocab':{"
     "'a':2},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an id is missing or out of range"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE','vocab':{"
     "'a':1.5},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an id is missing or out of range"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE','vocab':{"
     "'a':'0'},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an id is missing or out of range"},
    {"{'version':'1.0','added_tokens':[{'id':9,'content':'x'}],'model':{"
     "'type':'BPE','vocab':{'a':0},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an id is missing or out of range"},
    {"{'version':'1.0','added_tokens':[{'content':'x'}],'model':{"
     "'type':'BPE','vocab':{'a':0},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an id is missing or out of range"},
    {"{'version':'1.0','added_tokens':[{'id':1}],'model':{'type':'BPE',"
     "'vocab':{'a':0},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an added token has no content"},
    {"{'version':'1.0','added_tokens':[{'id':1,'content':''}],'model':{"
     "'type':'BPE','vocab':{'a':0},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: an added token has no content"},
    {"{'version':'1.0','added_tokens':[{'id':0,'content':'x'}],'model':{"
     "'type':'BPE','vocab':{'a':0},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: two tokens have the same id"},
    {"{'version':'1.0','added_tokens':[{'id':2,'content':'a'}],'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: a token has two ids"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE',"
     "'unk_token':'x','vocab':{'a':0},'merges':[]}}",
     TINKC_E_DECODE, "tokenizer.json: unk_token is not in the vocabulary"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE',"
     "'dropout':0.5,'vocab':{'a':0},'merges':[]}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: dropout is not supported"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE',"
     "'continuing_subword_prefix':'##','vocab':{'a':0},'merges':[]}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: continuing_subword_prefix is not supported"},
    {"{'version':'1.0','added_tokens':[],'model':{'type':'BPE',"
     "'end_of_word_suffix':'</w>','vocab':{'a':0},'merges':[]}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: end_of_word_suffix is not supported"},
};

static void test_tok_vocab_refusals(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(refusals); i++) {
        tk_tok *tok = NULL;
        tk_err err = TK_ERR_INIT;
        if (toktest_try(&tok, refusals[i].json, &err) != refusals[i].code ||
            strcmp(err.message, refusals[i].text) != 0) {
            fail_msg("%s: %s", refusals[i].json, err.message);
        }
        assert_null(tok);
    }
}

/* Ids may have holes, of which nothing is known. */
static void test_tok_vocab_holes(void **unused)
{
    tk_tok *tok = toktest_open("{'version':'1.0','added_tokens':[{'id':5,'content':'<x>',"
                               "'special':true}],'model':{'type':'BPE','dropout':null,"
                               "'continuing_subword_prefix':'','end_of_word_suffix':null,"
                               "'vocab':{'a':0,'b':3},'merges':[]}}");
    assert_int_equal(tk_tok_size(tok), 6);
    assert_int_equal(tk_tok_id(tok, TK_STR("b")), 3);
    assert_int_equal(tk_tok_id(tok, TK_STR("<x>")), 5);
    assert_int_equal(tk_tok_id(tok, TK_STR("")), -1);
    assert_null(tk_tok_token(tok, 1).p);
    assert_null(tk_tok_token(tok, 6).p);
    assert_true(tk_str_is(tk_tok_token(tok, 3), "b"));
    assert_true(tk_tok_is_special(tok, 5));
    assert_false(tk_tok_is_special(tok, 3));
    assert_false(tk_tok_is_special(tok, 1));
    toktest_decode(tok, false, (toktest_row){"b a", "3 1 2 4 0"});
    tk_tok_free(tok);
}

/* <0xHH> in both cases and as the reference reads it; what only looks like it. */
static void test_tok_vocab_bytes(void **unused)
{
    tk_tok *tok = toktest_open(
        "{'version':'1.0','model':{'type':'BPE','byte_fallback':true,'vocab':{'<0x41>':0,"
        "'<0xff>':1,'<0x+5>':2,'<0xG0>':3,'<0x4>':4,'<0x041>':5,'0x41':6,'<0X41>':7},"
        "'merges':[]}}");
    static const int wanted[] = {0x41, 0xFF, 5, -1, -1, -1, -1, -1};
    for (size_t i = 0; i < TK_ARRAY_LEN(wanted); i++) {
        assert_int_equal(tok->entries[i].byte, wanted[i]);
    }
    assert_int_equal(tok->byte_ids[0x41], 0);
    assert_int_equal(tok->byte_ids[0xFF], -1); /* looked up in upper case only */
    assert_int_equal(tok->byte_ids[0x42], -1);
    tk_tok_free(tok);
}

/* Byte-level: the bytes a token covers; none when a character is outside the alphabet. */
static void test_tok_vocab_raw(void **unused)
{
    tk_tok *tok = toktest_open(
        "{'version':'1.0','pre_tokenizer':{'type':'ByteLevel'},'decoder':{'type':"
        "'ByteLevel'},'model':{'type':'BPE','vocab':{'\304\240a':0,'\303\203\302\251':1,"
        "'\xE4\xB8\xAD':2,'ab':3},'merges':[]}}");
    assert_true(tk_str_is(tok->entries[0].raw, " a"));
    assert_true(tk_str_is(tok->entries[0].text, " a"));
    assert_true(tk_str_is(tok->entries[1].raw, "\xC3\xA9"));
    assert_int_equal(tok->entries[2].raw.n, 0);
    assert_true(tk_str_is(tok->entries[2].text, "\xE4\xB8\xAD"));
    assert_true(tk_str_is(tok->entries[3].raw, "ab"));
    tk_tok_free(tok);
}

/* A decoder's Replace is applied to each token once, at load. */
static void test_tok_vocab_texts(void **unused)
{
    tk_tok *tok = toktest_open(
        "{'version':'1.0','decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
        "'pattern':{'String':'_'},'content':' '},{'type':'Replace','pattern':{'String':"
        "'aa'},'content':'b'},{'type':'Fuse'}]},'model':{'type':'BPE','vocab':{'_x_':0,"
        "'aaaaa':1,'a_a':2,'':3},'merges':[]}}");
    assert_true(tk_str_is(tok->entries[0].text, " x "));
    assert_true(tk_str_is(tok->entries[1].text, "bba"));
    assert_true(tk_str_is(tok->entries[2].text, "a a"));
    assert_true(tk_str_is(tok->entries[0].token, "_x_"));
    tk_tok_free(tok);
}

/* A token of the model that is added too is not apart from it. */
static void test_tok_vocab_added(void **unused)
{
    tk_tok *tok = toktest_open(
        "{'version':'1.0','added_tokens':[{'id':1,'content':'b','special':true},"
        "{'id':2,'content':'<c>','normalized':true,'lstrip':true},{'id':3,'content':'d',"
        "'rstrip':true,'single_word':true}],'model':{'type':'BPE','vocab':{'a':0,'b':1},"
        "'merges':[]}}");
    assert_int_equal(tok->n_added, 3);
    assert_true(tok->entries[1].added && tok->entries[1].special);
    assert_false(tok->entries[1].apart);
    assert_true(tok->entries[2].apart && !tok->entries[2].special);
    assert_true(tok->added[1].normalized && tok->added[1].lstrip);
    assert_false(tok->added[1].rstrip || tok->added[1].single_word);
    assert_true(tok->added[2].rstrip && tok->added[2].single_word);
    assert_false(tok->entries[0].added);
    tk_tok_free(tok);
}

/* A token of more bytes than an added one may have. */
static void test_tok_vocab_long_added(void **unused)
{
    tk_buf quoted;
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    tk_buf_init(&quoted, TK_MIB);
    tk_buf_puts(&quoted, "{'version':'1.0','added_tokens':[{'id':1,'content':'");
    for (size_t i = 0; i <= TK_TOK_ADDED_MAX_BYTES; i++) {
        tk_buf_putc(&quoted, 'x');
    }
    tk_buf_puts(&quoted, "'}],'model':{'type':'BPE','vocab':{'a':0},'merges':[]}}");
    assert_int_equal(toktest_try(&tok, tk_buf_cstr(&quoted), &err), TINKC_E_LIMIT);
    assert_null(tok);
    tk_buf_dispose(&quoted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_vocab_refusals),
        cmocka_unit_test(test_tok_vocab_holes),
        cmocka_unit_test(test_tok_vocab_bytes),
        cmocka_unit_test(test_tok_vocab_raw),
        cmocka_unit_test(test_tok_vocab_texts),
        cmocka_unit_test(test_tok_vocab_added),
        cmocka_unit_test(test_tok_vocab_long_added),
    };
    return cmocka_run_group_tests_name("tok_vocab", tests, NULL, NULL);
}
