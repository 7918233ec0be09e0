/* tokenizer_config.json: roles of tokens, flags, chat templates; what is refused. */
#include "support/failmem.h"
#include "support/toktest.h"
#include "text/tok/tok_config.h"

static tinkc_code parse(tk_tok_config *out, const char *quoted, const char *jinja,
                        tk_err *err)
{
    tk_buf json;
    toktest_json(&json, quoted);
    tinkc_code code = tk_tok_config_parse(out, tk_buf_str(&json), tk_str_of(jinja), err);
    tk_buf_dispose(&json);
    return code;
}

static tk_tok_config open_config(const char *quoted, const char *jinja)
{
    tk_tok_config config;
    tk_err err = TK_ERR_INIT;
    if (parse(&config, quoted, jinja, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return config;
}

/* A string or an added token, in the file or in extra_special_tokens, by keys that end in
 * _token. */
static void test_tok_config_specials(void **unused)
{
    tk_tok_config c = open_config(
        "{'bos_token':'<s>','eos_token':{'content':'</s>','lstrip':false},'pad_token':null,"
        "'unk_token':5,'image_token':'<i>','_token':'x','token':'y','sep':'z',"
        "'extra_special_tokens':{'audio_token':'<a>','other':'<o>','bos_token':'<b>'}}",
        NULL);
    assert_true(tk_str_is(tk_tok_config_special(&c, "eos_token"), "</s>"));
    assert_true(tk_str_is(tk_tok_config_special(&c, "image_token"), "<i>"));
    assert_true(tk_str_is(tk_tok_config_special(&c, "audio_token"), "<a>"));
    assert_true(tk_str_is(tk_tok_config_special(&c, "bos_token"), "<b>")); /* the last */
    static const char *const none[] = {"pad_token", "unk_token", "_token",
                                       "token",     "sep",       "other"};
    for (size_t i = 0; i < TK_ARRAY_LEN(none); i++) {
        assert_null(tk_tok_config_special(&c, none[i]).p);
    }
    tk_tok_config_dispose(&c);
    tk_tok_config_dispose(&c); /* a zeroed one */
}

static void test_tok_config_flags(void **unused)
{
    tk_tok_config c = open_config("{'add_bos_token':true,'add_eos_token':false,"
                                  "'tokenizer_class':'LlamaTokenizer'}",
                                  NULL);
    assert_int_equal(c.add_bos, TK_TOK_YES);
    assert_int_equal(c.add_eos, TK_TOK_NO);
    assert_true(tk_str_is(c.tokenizer_class, "LlamaTokenizer"));
    tk_tok_config_dispose(&c);
    c = open_config("{'add_bos_token':null,'tokenizer_class':7}", NULL);
    assert_int_equal(c.add_bos, TK_TOK_UNSET);
    assert_int_equal(c.add_eos, TK_TOK_UNSET);
    assert_int_equal(c.tokenizer_class.n, 0);
    tk_tok_config_dispose(&c);
}

/* One text, a list of named ones, a file that replaces the default. */
static void test_tok_config_templates(void **unused)
{
    static const struct {
        const char *json, *jinja, *by_default, *tool_use;
    } rows[] = {
        {"{}", NULL, NULL, NULL},
        {"{'chat_template':null}", NULL, NULL, NULL},
        {"{'chat_template':'t'}", NULL, "t", NULL},
        {"{'chat_template':''}", NULL, "", NULL},
        {"{'chat_template':[]}", NULL, NULL, NULL},
        {"{'chat_template':[{'name':'default','template':'a'},{'name':'tool_use',"
         "'template':'b'}]}",
         NULL, "a", "b"},
        {"{'chat_template':[{'name':'tool_use','template':'b'}]}", NULL, NULL, "b"},
        {"{'chat_template':[{'name':'default','template':'a'},{'name':'default',"
         "'template':'c'}]}",
         NULL, "c", NULL},
        {"{'chat_template':'t'}", "j", "j", NULL},
        {"{'chat_template':[{'name':'tool_use','template':'b'}]}", "j", "j", "b"},
        {"{}", "", "", NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_tok_config c = open_config(rows[i].json, rows[i].jinja);
        const char *wanted[] = {rows[i].by_default, rows[i].tool_use};
        const char *const names[] = {"default", "tool_use"};
        for (size_t k = 0; k < 2; k++) {
            tk_str got = tk_tok_config_template(&c, names[k]);
            assert_int_equal(got.p != NULL, wanted[k] != NULL);
            assert_true(wanted[k] == NULL || tk_str_is(got, wanted[k]));
        }
        assert_null(tk_tok_config_template(&c, "other").p);
        tk_tok_config_dispose(&c);
    }
}

static void test_tok_config_without_file(void **unused)
{
    tk_tok_config c;
    tk_err err = TK_ERR_INIT;
    tk_str none = {NULL, 0};
    assert_int_equal(tk_tok_config_parse(&c, none, none, &err), TINKC_OK);
    assert_null(c.root);
    assert_int_equal(c.n_specials + c.n_templates, 0);
    tk_tok_config_dispose(&c);
    assert_int_equal(tk_tok_config_parse(&c, none, TK_STR("j"), &err), TINKC_OK);
    assert_true(tk_str_is(tk_tok_config_template(&c, "default"), "j"));
    tk_tok_config_dispose(&c);
}

static void test_tok_config_refuses(void **unused)
{
    static const struct {
        const char *json;
        tinkc_code code;
        const char *text;
    } rows[] = {
        {"[]", TINKC_E_DECODE, "tokenizer_config.json: not an object"},
        {"'a'", TINKC_E_DECODE, "tokenizer_config.json: not an object"},
        {"{'add_bos_token':1}", TINKC_E_DECODE,
         "tokenizer_config.json: add_bos_token or add_eos_token is not a boolean"},
        {"{'add_eos_token':'x'}", TINKC_E_DECODE,
         "tokenizer_config.json: add_bos_token or add_eos_token is not a boolean"},
        {"{'chat_template':5}", TINKC_E_DECODE,
         "tokenizer_config.json: chat_template is neither a text nor a list"},
        {"{'chat_template':{}}", TINKC_E_DECODE,
         "tokenizer_config.json: chat_template is neither a text nor a list"},
        {"{'chat_template':[{'name':'a'}]}", TINKC_E_DECODE,
         "tokenizer_config.json: a chat template has no name or no text"},
        {"{'chat_template':[{'template':'a'}]}", TINKC_E_DECODE,
         "tokenizer_config.json: a chat template has no name or no text"},
        {"{'chat_template':['a']}", TINKC_E_DECODE,
         "tokenizer_config.json: a chat template has no name or no text"},
        {"{", TINKC_E_PARSE, NULL},
        {"", TINKC_E_PARSE, NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_tok_config c;
        tk_err err = TK_ERR_INIT;
        tk_buf json;
        toktest_json(&json, rows[i].json);
        tk_str text = {json.p != NULL ? json.p : "", json.n};
        assert_int_equal(tk_tok_config_parse(&c, text, (tk_str){NULL, 0}, &err),
                         rows[i].code);
        if (rows[i].text != NULL) {
            assert_string_equal(err.message, rows[i].text);
        }
        tk_buf_dispose(&json);
    }
}

static bool parse_once(void *user)
{
    tk_tok_config c;
    tk_err err = TK_ERR_INIT;
    const tk_str *json = user;
    if (tk_tok_config_parse(&c, *json, TK_STR("j"), &err) != TINKC_OK) {
        return false;
    }
    tk_tok_config_dispose(&c);
    return true;
}

static void test_tok_config_out_of_memory(void **unused)
{
    tk_buf json;
    toktest_json(&json,
                 "{'bos_token':'<s>','chat_template':[{'name':'a','template':'b'}]}");
    tk_str text = tk_buf_str(&json);
    assert_true(failmem_sweep(parse_once, &text, 1) > 0);
    tk_buf_dispose(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_config_specials),
        cmocka_unit_test(test_tok_config_flags),
        cmocka_unit_test(test_tok_config_templates),
        cmocka_unit_test(test_tok_config_without_file),
        cmocka_unit_test(test_tok_config_refuses),
        cmocka_unit_test(test_tok_config_out_of_memory),
    };
    return cmocka_run_group_tests_name("tok_config", tests, NULL, NULL);
}
