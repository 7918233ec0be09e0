/* tiktoken vocabularies: ids by rank, special tokens of the config, refusals with their
 * line; and one that was made to be slow: every prefix and suffix of a token is looked
 * up, which is the square of its length. */
#include "base/base64.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/toktest.h"
#include "text/tok/tok_load.h"

static void put_token(tk_buf *out, const char *bytes, size_t n, size_t rank)
{
    tk_base64_encode(out, bytes, n);
    tk_buf_printf(out, " %zu\n", rank);
}

/* All bytes, and `n` tokens of the greatest length. */
static tinkc_code load(size_t n, tk_tok **out, tk_err *err)
{
    static char token[TK_TOK_ADDED_MAX_BYTES];
    tk_buf file;
    tk_buf_init(&file, 8 * TK_MIB);
    for (size_t rank = 0; rank < 256 + n; rank++) {
        bool is_long = rank >= 256;
        memset(token, 'a', sizeof(token));
        token[0] = (char)(unsigned char)(is_long ? rank / 256 : rank);
        token[1] = (char)(unsigned char)(rank % 256);
        put_token(&file, token, is_long ? sizeof(token) : 1, rank);
    }
    tk_tok_config config = {0};
    tinkc_code code = tk_tok_tiktoken_load(out, tk_buf_str(&file), &config, err);
    tk_buf_dispose(&file);
    return code;
}

/* M-134: a file of a few megabytes cannot ask for minutes of work. */
static void test_tok_tiktoken_work(void **unused)
{
    enum {
        TOO_MANY =
            TK_TOK_SPLIT_MAX_BYTES / TK_TOK_ADDED_MAX_BYTES / TK_TOK_ADDED_MAX_BYTES + 1
    };
    tk_err err = TK_ERR_INIT;
    tk_tok *tok = NULL;
    assert_int_equal(load(3, &tok, &err), TINKC_OK);
    assert_int_equal(tok->entries[258].token.n, TK_TOK_ADDED_MAX_BYTES);
    tk_tok_free(tok);
    tok = NULL;
    assert_int_equal(load(TOO_MANY, &tok, &err), TINKC_E_LIMIT);
    assert_null(tok);
}

/* ---- small ones ---- */

/* All bytes, "b" first, then these tokens. */
static void put_file(tk_buf *file, const char *const *tokens, size_t n)
{
    tk_buf_init(file, TK_MIB);
    for (size_t rank = 0; rank < 256; rank++) {
        char byte = (char)(unsigned char)(rank ^ 'b');
        put_token(file, &byte, 1, rank);
    }
    for (size_t i = 0; i < n; i++) {
        put_token(file, tokens[i], strlen(tokens[i]), 256 + i);
    }
}

static const char *const words[] = {"ab",           "bc", "abc", " the", "\xE4\xB8",
                                    "\xE4\xB8\xAD", "th", " th", "hello"};

/* Ranks decide: what tiktoken 0.14.0 gives for the same ranks. */
static void test_tok_tiktoken_ids(void **unused)
{
    static const toktest_row rows[] = {
        {"", ""},
        {"ab", "256"},
        {"abc", "258"},
        {"bc", "257"},
        {"aab", "3 256"},
        {"bcb", "257 0"},
        {" the", "259"},
        {" th", "263"},
        {"hello", "264"},
        {"hell", "10 7 14 14"},
        {"\xE4\xB8\xAD", "261"},
        {"12345", "83 80 81 86 87"},
        {"[BOS]", "265"},
        {"<|reserved_token_266|>", "266"},
        {"ab[BOS]ab", "256 265 256"},
    };
    tk_buf file, json;
    tk_tok *tok = NULL;
    tk_tok_config config;
    tk_err err = TK_ERR_INIT;
    put_file(&file, words, TK_ARRAY_LEN(words));
    toktest_json(&json, "{'added_tokens_decoder':{'265':{'content':'[BOS]'},'266':{},"
                        "'7':{'content':'no'}}}");
    assert_int_equal(
        tk_tok_config_parse(&config, tk_buf_str(&json), (tk_str){NULL, 0}, &err),
        TINKC_OK);
    assert_int_equal(tk_tok_tiktoken_load(&tok, tk_buf_str(&file), &config, &err),
                     TINKC_OK);
    assert_int_equal(tk_tok_size(tok), 265 + 256);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        toktest_encode(tok, (tk_tok_how){.add_special = true}, rows[i]);
        toktest_decode(tok, false, rows[i]);
    }
    assert_true(tk_tok_is_special(tok, 265));
    assert_true(tk_tok_is_special(tok, 520));
    assert_false(tk_tok_is_special(tok, 264));
    assert_true(tk_str_is(tk_tok_token(tok, 520), "<|reserved_token_520|>"));
    toktest_decode(tok, true, (toktest_row){"ab", "265 256 266"});
    tk_tok_free(tok);
    tk_tok_config_dispose(&config);
    tk_buf_dispose(&json);
    tk_buf_dispose(&file);
}

static void test_tok_tiktoken_refuses(void **unused)
{
    static const struct {
        const char *file, *text;
    } rows[] = {
        {"", "tiktoken vocabulary: ranks have holes"},
        {"\n \n", "tiktoken vocabulary: ranks have holes"},
        {"YQ==", "tiktoken vocabulary: line 1: a rank is missing or out of range"},
        {"YQ== 0\nYg==",
         "tiktoken vocabulary: line 2: a rank is missing or out of range"},
        {"YQ== x", "tiktoken vocabulary: line 1: a rank is missing or out of range"},
        {"YQ== -1", "tiktoken vocabulary: line 1: a rank is missing or out of range"},
        {"YQ== 99999999999",
         "tiktoken vocabulary: line 1: a rank is missing or out of range"},
        {"\n\n! 0",
         "tiktoken vocabulary: line 3: a token is not base64, empty or too long"},
        {" 0", "tiktoken vocabulary: line 1: a rank is missing or out of range"},
        {"YQ== 5", "tiktoken vocabulary: ranks have holes"},
        {"YQ== 0\nYg== 0", "tokenizer.json: two tokens have the same id"},
        {"YQ== 0\nYQ== 1", "tokenizer.json: a token has two ids"},
        {"YQ== 0", "tiktoken vocabulary: not all bytes have a token"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_tok *tok = NULL;
        tk_tok_config config = {0};
        tk_err err = TK_ERR_INIT;
        assert_int_equal(
            tk_tok_tiktoken_load(&tok, tk_str_of(rows[i].file), &config, &err),
            TINKC_E_DECODE);
        assert_string_equal(err.message, rows[i].text);
        assert_null(tok);
    }
}

static bool load_once(void *user)
{
    tk_tok *tok = NULL;
    tk_tok_config config = {0};
    tk_err err = TK_ERR_INIT;
    const tk_str *file = user;
    tinkc_code code = tk_tok_tiktoken_load(&tok, *file, &config, &err);
    tk_tok_free(tok);
    return code == TINKC_OK;
}

static void test_tok_tiktoken_out_of_memory(void **unused)
{
    tk_buf file;
    put_file(&file, words, TK_ARRAY_LEN(words));
    tk_str text = tk_buf_str(&file);
    assert_true(failmem_sweep(load_once, &text, 1) > 10);
    tk_buf_dispose(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_tiktoken_work),
        cmocka_unit_test(test_tok_tiktoken_ids),
        cmocka_unit_test(test_tok_tiktoken_refuses),
        cmocka_unit_test(test_tok_tiktoken_out_of_memory),
    };
    return cmocka_run_group_tests_name("tok_tiktoken", tests, NULL, NULL);
}
