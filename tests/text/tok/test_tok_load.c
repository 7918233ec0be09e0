/* tokenizer.json with the files next to it: which file is read, what the config changes,
 * owners, allocation failures. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/failmem.h"
#include "support/toktest.h"

static const char vocabulary[] =
    "{'version':'1.0','added_tokens':[{'id':2,'content':'<s>','special':true},{'id':3,"
    "'content':'</s>','special':true}],'post_processor':{'type':'BertProcessing','cls':"
    "['<s>',2],'sep':['</s>',3]},'model':{'type':'BPE','vocab':{'a':0,'b':1},"
    "'merges':[]}}";

/* ---- a directory ---- */

typedef struct dir {
    char path[64];
} dir;

static void open_dir(dir *d)
{
    (void)snprintf(d->path, sizeof(d->path), "/tmp/test_tok_load.XXXXXX");
    assert_non_null(mkdtemp(d->path));
}

static char *in_dir(const dir *d, const char *name)
{
    char *path = tk_file_join(d->path, name);
    assert_non_null(path);
    return path;
}

/* `text` with ' for ", or bytes as they are. */
static void put_file(const dir *d, const char *name, const char *text)
{
    char *path = in_dir(d, name);
    tk_err err = TK_ERR_INIT;
    tk_buf json;
    toktest_json(&json, text);
    assert_int_equal(tk_file_replace(path, json.p, json.n, 0600, &err), TINKC_OK);
    tk_buf_dispose(&json);
    tk_free(path);
}

static void close_dir(const dir *d)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json",
                                        "chat_template.jinja", "tiktoken.model",
                                        "other.json"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        char *path = in_dir(d, names[i]);
        (void)unlink(path);
        tk_free(path);
    }
    assert_int_equal(rmdir(d->path), 0);
}

static tinkc_code open_path(tk_tok **out, const dir *d, const char *name, tk_err *err)
{
    char *path = name != NULL ? in_dir(d, name) : tk_strdup(d->path);
    tinkc_code code = tk_tok_open(out, path, err);
    tk_free(path);
    return code;
}

/* ---- tests ---- */

/* A directory, a file in it, a file of another name: what lies next to it counts. */
static void test_tok_load_paths(void **unused)
{
    static const char *const names[] = {NULL, "tokenizer.json", "other.json"};
    dir d;
    open_dir(&d);
    put_file(&d, "tokenizer.json", vocabulary);
    put_file(&d, "other.json", vocabulary);
    put_file(&d, "tokenizer_config.json", "{'bos_token':'<s>','chat_template':'t'}");
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        tk_tok *tok = NULL;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(open_path(&tok, &d, names[i], &err), TINKC_OK);
        const tk_tok_config *c = tk_tok_get_config(tok);
        assert_true(tk_str_is(tk_tok_config_special(c, "bos_token"), "<s>"));
        assert_true(tk_str_is(tk_tok_config_template(c, "default"), "t"));
        toktest_encode(tok, (tk_tok_how){.add_special = true},
                       (toktest_row){"ab", "2 0 1 3"});
        tk_tok_free(tok);
    }
    put_file(&d, "chat_template.jinja", "j");
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(open_path(&tok, &d, NULL, &err), TINKC_OK);
    assert_true(
        tk_str_is(tk_tok_config_template(tk_tok_get_config(tok), "default"), "j"));
    tk_tok_free(tok);
    close_dir(&d);
}

static void test_tok_load_missing(void **unused)
{
    dir d;
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    open_dir(&d);
    assert_int_equal(open_path(&tok, &d, NULL, &err), TINKC_E_MISSING);
    assert_int_equal(open_path(&tok, &d, "tokenizer.json", &err), TINKC_E_MISSING);
    assert_int_equal(tk_tok_open(&tok, "no/such/file", &err), TINKC_E_MISSING);
    put_file(&d, "tokenizer.json", "{");
    assert_int_equal(open_path(&tok, &d, NULL, &err), TINKC_E_PARSE);
    put_file(&d, "tokenizer.json", vocabulary);
    put_file(&d, "tokenizer_config.json", "[]");
    tk_err_clear(&err);
    assert_int_equal(open_path(&tok, &d, NULL, &err), TINKC_E_DECODE);
    assert_string_equal(err.message, "tokenizer_config.json: not an object");
    assert_null(tok);
    close_dir(&d);
}

/* Only files count: a directory of that name is not read. */
static void test_tok_load_directories(void **unused)
{
    dir d;
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    open_dir(&d);
    put_file(&d, "tokenizer.json", vocabulary);
    char *config = in_dir(&d, "tokenizer_config.json");
    assert_int_equal(mkdir(config, 0700), 0);
    assert_int_equal(open_path(&tok, &d, NULL, &err), TINKC_OK);
    assert_null(tk_tok_get_config(tok)->root);
    tk_tok_free(tok);
    assert_int_equal(rmdir(config), 0);
    tk_free(config);
    close_dir(&d);
}

/* tiktoken.model is read when there is no tokenizer.json. */
static void test_tok_load_tiktoken(void **unused)
{
    dir d;
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    open_dir(&d);
    put_file(&d, "tiktoken.model", "YQ== 0\n");
    assert_int_equal(open_path(&tok, &d, NULL, &err), TINKC_E_DECODE);
    assert_string_equal(err.message, "tiktoken vocabulary: not all bytes have a token");
    put_file(&d, "tokenizer.json", vocabulary);
    assert_int_equal(open_path(&tok, &d, NULL, &err), TINKC_OK);
    assert_int_equal(tk_tok_size(tok), 4);
    tk_tok_free(tok);
    close_dir(&d);
}

/* Some Python classes rebuild the post-processor from two flags of the config. */
static void test_tok_load_rebuilds(void **unused)
{
    static const struct {
        const char *config, *ids;
    } rows[] = {
        {"{}", "2 0 3"},
        {"{'tokenizer_class':'LlamaTokenizer'}", "2 0 3"},
        {"{'tokenizer_class':'LlamaTokenizerFast','add_bos_token':false}", "0 3"},
        {"{'tokenizer_class':'LlamaTokenizerFast','add_eos_token':false}", "2 0"},
        {"{'tokenizer_class':'GemmaTokenizer','add_bos_token':true,'add_eos_token':true,"
         "'bos_token':'</s>','eos_token':'<s>'}",
         "3 0 2"},
        {"{'tokenizer_class':'CohereTokenizer','add_bos_token':true,'bos_token':'?'}",
         "0 3"},
        {"{'tokenizer_class':'CodeLlamaTokenizer','add_bos_token':true}", "0 3"},
        {"{'tokenizer_class':'Llama','add_bos_token':true,'bos_token':'a'}", "0 0 3"},
        {"{'tokenizer_class':'PreTrainedTokenizerFast','add_bos_token':false}", "2 0 3"},
        {"{'add_bos_token':false,'add_eos_token':false}", "2 0 3"},
    };
    tk_buf json;
    toktest_json(&json, vocabulary);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_buf config;
        tk_tok *tok = NULL;
        tk_err err = TK_ERR_INIT;
        toktest_json(&config, rows[i].config);
        assert_int_equal(tk_tok_open_memory(&tok, tk_buf_str(&json), tk_buf_str(&config),
                                            (tk_str){NULL, 0}, &err),
                         TINKC_OK);
        toktest_encode(tok, (tk_tok_how){.add_special = true},
                       (toktest_row){"a", rows[i].ids});
        tk_tok_free(tok);
        tk_buf_dispose(&config);
    }
    tk_buf_dispose(&json);
}

/* The last owner frees it. */
static void test_tok_load_owners(void **unused)
{
    failmem_start();
    tk_tok *tok = toktest_open(vocabulary);
    assert_ptr_equal(tk_tok_ref(tok), tok);
    assert_null(tk_tok_ref(NULL));
    tk_tok_free(tok);
    assert_int_equal(tk_tok_id(tok, TK_STR("b")), 1);
    tk_tok_free(tok);
    tk_tok_free(NULL);
    assert_int_equal(failmem_stop(), 0);
}

static bool open_once(void *user)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_tok_open(&tok, user, &err) != TINKC_OK) {
        assert_int_equal(err.code, TINKC_E_NOMEM);
        return false;
    }
    tk_tok_free(tok);
    return !failmem_fired(); /* the JIT of a pattern may be done without */
}

static void test_tok_load_out_of_memory(void **unused)
{
    dir d;
    open_dir(&d);
    put_file(
        &d, "tokenizer.json",
        "{'version':'1.0','added_tokens':[{'id':3,'content':'<x>','normalized':true}],"
        "'normalizer':{'type':'Replace','pattern':{'String':'x'},'content':'yy'},"
        "'pre_tokenizer':{'type':'Split','pattern':{'Regex':'[a-z]'},'behavior':"
        "'Isolated'},'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
        "'pattern':{'String':'a'},'content':'b'},{'type':'Fuse'}]},'model':{'type':"
        "'BPE','ignore_merges':true,'vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}}");
    put_file(&d, "tokenizer_config.json", "{'bos_token':'<x>','chat_template':'t'}");
    put_file(&d, "chat_template.jinja", "j");
    assert_true(failmem_sweep(open_once, d.path, 1) > 20);
    close_dir(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_load_paths),
        cmocka_unit_test(test_tok_load_missing),
        cmocka_unit_test(test_tok_load_directories),
        cmocka_unit_test(test_tok_load_tiktoken),
        cmocka_unit_test(test_tok_load_rebuilds),
        cmocka_unit_test(test_tok_load_owners),
        cmocka_unit_test(test_tok_load_out_of_memory),
    };
    return cmocka_run_group_tests_name("tok_load", tests, NULL, NULL);
}
