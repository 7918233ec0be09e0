/* tiktoken vocabularies that were made to be slow: every beginning and end of a token is
 * looked up, which is the square of its length. */
#include "base/base64.h"
#include "base/mem.h"
#include "support/test.h"
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
    (void)unused;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_tiktoken_work),
    };
    return cmocka_run_group_tests_name("tok_tiktoken", tests, NULL, NULL);
}
