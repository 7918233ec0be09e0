/* Components around the model: what is refused, with its name, and how many are allowed.
 * What they do is tested with the files that do it. */
#include "support/toktest.h"

typedef struct refusal {
    const char *json;
    tinkc_code code;
    const char *text;
} refusal;

static const refusal refusals[] = {
    {"{'version':'1.0','added_tokens':[],'normalizer':{},"
     "'pre_tokenizer':null,'post_processor':null,'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: the normalizer is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':{'type':'Lowercase'},"
     "'pre_tokenizer':null,'post_processor':null,'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: the normalizer Lowercase is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':{'type':'Sequence'},"
     "'pre_tokenizer':null,'post_processor':null,'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Sequence has no parts"},
    {"{'version':'1.0','added_tokens':[],'normalizer':{'type':'Sequence',"
     "'normalizers':[{'type':'NFC'},{'type':'Nmt'}]},'pre_tokenizer':null,"
     "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: the normalizer Nmt is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':{'type':'Replace',"
     "'pattern':{'Regex':'a'},'content':'b'},'pre_tokenizer':null,"
     "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: Replace of a regular expression is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':{'type':'Replace',"
     "'pattern':{'String':''},'content':'b'},'pre_tokenizer':null,"
     "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Replace has no pattern or no content"},
    {"{'version':'1.0','added_tokens':[],'normalizer':{'type':'Replace',"
     "'pattern':{'String':'a'}},'pre_tokenizer':null,'post_processor':null,"
     "'decoder':null,'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},"
     "'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Replace has no pattern or no content"},
    {"{'version':'1.0','added_tokens':[],'normalizer':{'type':'Prepend'},"
     "'pre_tokenizer':null,'post_processor':null,'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Prepend has no text"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
     "'type':'Metaspace'},'post_processor':null,'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: the pre_tokenizer Metaspace is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
     "'type':'Split','pattern':{'String':'a'},'behavior':'Other'},"
     "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Split has no known behavior"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
     "'type':'Split','pattern':{'String':'a'}},'post_processor':null,"
     "'decoder':null,'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},"
     "'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Split has no known behavior"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
     "'type':'Split','behavior':'Isolated'},'post_processor':null,"
     "'decoder':null,'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},"
     "'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Split has no pattern"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
     "'type':'Split','pattern':{'Regex':'(?<x>a)'},'behavior':'Isolated'},"
     "'post_processor':null,'decoder':null,'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: split pattern with this kind of group is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
     "'type':'Sequence','pretokenizers':[{'type':'ByteLevel'},{"
     "'type':'Digits'}]},'post_processor':null,'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: a pre_tokenizer after ByteLevel: Digits is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{"
     "'type':'WordPiece'},'model':{'type':'BPE','vocab':{'a':0,'b':1,"
     "'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: at this place the decoder WordPiece is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{"
     "'type':'Sequence','decoders':[{'type':'ByteLevel'},{'type':'Fuse'}]},"
     "'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: a decoder together with ByteLevel: Fuse is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{"
     "'type':'Sequence','decoders':[{'type':'Fuse'},{"
     "'type':'ByteFallback'}]},'model':{'type':'BPE','vocab':{'a':0,'b':1,"
     "'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: at this place the decoder ByteFallback is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{"
     "'type':'Sequence','decoders':[{'type':'Fuse'},{'type':'Replace',"
     "'pattern':{'String':'a'},'content':''}]},'model':{'type':'BPE',"
     "'vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: at this place the decoder Replace is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{'type':'Strip',"
     "'content':' ','start':1,'stop':0},'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: at this place the decoder Strip is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{"
     "'type':'Sequence','decoders':[{'type':'Fuse'},{'type':'Strip',"
     "'content':' ','start':1}]},'model':{'type':'BPE','vocab':{'a':0,'b':1,"
     "'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a Strip has no content, start or stop"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{"
     "'type':'Sequence','decoders':[{'type':'Fuse'},{'type':'Strip',"
     "'content':' ','start':0,'stop':1}]},'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: a Strip at the end, or two of them is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':null,'decoder':{"
     "'type':'Sequence','decoders':[{'type':'Fuse'},{'type':'Strip',"
     "'content':' ','start':1,'stop':0},{'type':'Strip','content':' ',"
     "'start':1,'stop':0}]},'model':{'type':'BPE','vocab':{'a':0,'b':1,"
     "'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: a Strip at the end, or two of them is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'Other'},'decoder':null,"
     "'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED, "tokenizer.json: the post_processor Other is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'TemplateProcessing',"
     "'single':[]},'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
     "'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a template has no place for the text"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'TemplateProcessing',"
     "'single':[{'Sequence':{}},{'Sequence':{}}]},'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_UNSUPPORTED,
     "tokenizer.json: a template with the text twice is not supported"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'TemplateProcessing',"
     "'single':[{'Other':{}},{'Sequence':{}}]},'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a template has an unknown part"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'TemplateProcessing',"
     "'single':[{'SpecialToken':{'id':'x'}},{'Sequence':{}}],"
     "'special_tokens':{}},'decoder':null,'model':{'type':'BPE','vocab':{"
     "'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a template names a token that it does not list"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'TemplateProcessing',"
     "'single':[{'SpecialToken':{'id':'x'}},{'Sequence':{}}],"
     "'special_tokens':{'x':{'ids':[]}}},'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: a template names a token that it does not list"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'TemplateProcessing',"
     "'single':[{'SpecialToken':{'id':'x'}},{'Sequence':{}}],"
     "'special_tokens':{'x':{'ids':[3]}}},'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: an id of a template is out of range"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'TemplateProcessing',"
     "'single':[{'SpecialToken':{'id':'x'}},{'Sequence':{}}],"
     "'special_tokens':{'x':{'ids':[-1]}}},'decoder':null,'model':{"
     "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: an id of a template is out of range"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'BertProcessing',"
     "'sep':['a',0]},'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
     "'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: cls or sep of the post_processor has no id"},
    {"{'version':'1.0','added_tokens':[],'normalizer':null,"
     "'pre_tokenizer':null,'post_processor':{'type':'BertProcessing',"
     "'sep':['a',0],'cls':['b',9]},'decoder':null,'model':{'type':'BPE',"
     "'vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
     TINKC_E_DECODE, "tokenizer.json: cls or sep of the post_processor has no id"},
};

static void test_tok_parts_refusals(void **unused)
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

static const char *const accepted[] = {
    "{'version':'1.0','added_tokens':[],'normalizer':{'type':'Sequence',"
    "'normalizers':[]},'pre_tokenizer':null,'post_processor':null,"
    "'decoder':null,'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},"
    "'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':{'type':'Sequence',"
    "'normalizers':[{'type':'Sequence','normalizers':[{'type':'NFD'}]}]},"
    "'pre_tokenizer':null,'post_processor':null,'decoder':null,'model':{"
    "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
    "'type':'Sequence','pretokenizers':[]},'post_processor':null,"
    "'decoder':null,'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},"
    "'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':null,'pre_tokenizer':{"
    "'type':'Digits'},'post_processor':null,'decoder':null,'model':{"
    "'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':null,'post_processor':null,'decoder':{'type':'Fuse'},"
    "'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':null,'post_processor':null,'decoder':{"
    "'type':'ByteFallback'},'model':{'type':'BPE','vocab':{'a':0,'b':1,"
    "'ab':2},'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':null,'post_processor':{'type':'ByteLevel'},"
    "'decoder':null,'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},"
    "'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':null,'post_processor':{'type':'Sequence',"
    "'processors':[]},'decoder':null,'model':{'type':'BPE','vocab':{'a':0,"
    "'b':1,'ab':2},'merges':['a b']}}",
    "{'version':'1.0','added_tokens':[],'normalizer':null,"
    "'pre_tokenizer':null,'post_processor':{'type':'BertProcessing',"
    "'sep':['a',0],'cls':['b',1]},'decoder':null,'model':{'type':'BPE',"
    "'vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}",
};

static void test_tok_parts_accepted(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(accepted); i++) {
        tk_tok *tok = toktest_open(accepted[i]);
        toktest_encode(tok, (tk_tok_how){.add_special = false},
                       (toktest_row){"abb", "2 1"});
        tk_tok_free(tok);
    }
}

/* n normalisers, stages or decoders in a row. */
static tinkc_code load_many(const char *before, const char *part, size_t n,
                            const char *after, tk_err *err)
{
    tk_buf quoted;
    tk_tok *tok = NULL;
    tk_buf_init(&quoted, TK_MIB);
    tk_buf_puts(&quoted, before);
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(&quoted, i > 0 ? "," : "");
        tk_buf_puts(&quoted, part);
    }
    tk_buf_puts(&quoted, after);
    tinkc_code code = toktest_try(&tok, tk_buf_cstr(&quoted), err);
    tk_tok_free(tok);
    tk_buf_dispose(&quoted);
    return code;
}

#define AFTER "]},'model':{'type':'BPE','vocab':{'a':0},'merges':[]}}"

static void test_tok_parts_limits(void **unused)
{
    static const struct {
        const char *before, *part;
    } rows[] = {
        {"{'version':'1.0','normalizer':{'type':'Sequence','normalizers':[",
         "{'type':'NFC'}"},
        {"{'version':'1.0','pre_tokenizer':{'type':'Sequence','pretokenizers':[",
         "{'type':'Digits'}"},
        {"{'version':'1.0','pre_tokenizer':{'type':'Sequence','pretokenizers':[",
         "{'type':'Split','pattern':{'Regex':'a'},'behavior':'Isolated'}"},
        {"{'version':'1.0','decoder':{'type':'Sequence','decoders':[",
         "{'type':'Replace','pattern':{'String':'a'},'content':'b'}"},
        {"{'version':'1.0','post_processor':{'type':'Sequence','processors':[",
         "{'type':'BertProcessing','sep':['a',0],'cls':['a',0]}"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        assert_int_equal(load_many(rows[i].before, rows[i].part, 16, AFTER, &err),
                         TINKC_OK);
        assert_int_equal(load_many(rows[i].before, rows[i].part, 17, AFTER, &err),
                         TINKC_E_LIMIT);
        assert_string_equal(err.message, "tokenizer.json: too many components");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_parts_refusals),
        cmocka_unit_test(test_tok_parts_accepted),
        cmocka_unit_test(test_tok_parts_limits),
    };
    return cmocka_run_group_tests_name("tok_parts", tests, NULL, NULL);
}
