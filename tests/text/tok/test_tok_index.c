/* Ids by text: collisions, growth, whole pieces short and long. */
#include "support/toktest.h"
#include "text/tok/tok_load.h"

/* A tokenizer with n tokens "t0", "t1", ...; every second id is a hole. */
static tk_tok *make(size_t n)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_load_new(&tok, &err), TINKC_OK);
    assert_int_equal(tk_tok_vocab_init(tok, 2 * n + 1, &err), TINKC_OK);
    tk_tok_loader l = {tok, NULL, &err};
    for (size_t i = 0; i < n; i++) {
        tk_buf name;
        tk_buf_init(&name, 64);
        tk_buf_printf(&name, "t%zu", i);
        assert_int_equal(tk_tok_vocab_put(&l, tk_buf_str(&name), (int64_t)(2 * i)),
                         TINKC_OK);
        tk_buf_dispose(&name);
    }
    return tok;
}

/* Every token is found, by one look-up and by the steps of many; nothing else is. */
static void test_tok_index_finds(void **unused)
{
    static const size_t sizes[] = {1, 7, 8, 9, 100, 5000};
    for (size_t k = 0; k < TK_ARRAY_LEN(sizes); k++) {
        tk_tok *tok = make(sizes[k]);
        for (size_t i = 0; i < 2 * sizes[k]; i++) {
            char text[32];
            tk_buf name;
            tk_buf_init(&name, sizeof(text));
            tk_buf_printf(&name, "t%zu", i);
            int32_t wanted = i < sizes[k] ? (int32_t)(2 * i) : -1;
            tk_str s = tk_buf_str(&name);
            uint64_t hash = tk_tok_index_hash(tok, s);
            for (int depth = 0; depth < 3; depth++) {
                tk_tok_index_prefetch(tok, hash, depth);
            }
            assert_int_equal(tk_tok_index_get(tok, s, false), wanted);
            assert_int_equal(tk_tok_index_find(tok, s, hash), wanted);
            assert_int_equal(tk_tok_index_get(tok, s, true), -1); /* no such index */
            tk_buf_dispose(&name);
        }
        tk_tok_free(tok);
    }
}

static void test_tok_index_put_refuses(void **unused)
{
    tk_tok *tok = make(3);
    tk_err err = TK_ERR_INIT;
    tk_tok_loader l = {tok, NULL, &err};
    assert_int_equal(tk_tok_vocab_put(&l, TK_STR("t1"), 2), TINKC_OK); /* again */
    assert_int_equal(tk_tok_vocab_put(&l, TK_STR("t1"), 3), TINKC_E_DECODE);
    assert_int_equal(tk_tok_vocab_put(&l, TK_STR("new"), 2), TINKC_E_DECODE);
    assert_int_equal(tk_tok_vocab_put(&l, TK_STR("new"), 7), TINKC_E_DECODE);
    assert_int_equal(tk_tok_vocab_put(&l, TK_STR("new"), -1), TINKC_E_DECODE);
    assert_int_equal(tk_tok_vocab_put(&l, TK_STR("new"), 1), TINKC_OK);
    tk_tok_free(tok);
}

/* A key holds the bytes and the length: no two pieces of up to 15 bytes share one. */
static void test_tok_index_keys(void **unused)
{
    static const char text[] = "abcdefghijklmnopqrstuvwxyz";
    for (size_t n = 1; n <= TK_TOK_WORD_BYTES; n++) {
        tk_tok_word far, near, other;
        char copy[TK_TOK_WORD_BYTES];
        memcpy(copy, text, n);
        tk_tok_index_key(&far, (tk_str){text, n}, sizeof(text));
        tk_tok_index_key(&near, (tk_str){copy, n}, n); /* nothing after it is read */
        assert_true(far.low == near.low && far.high == near.high);
        assert_int_equal(far.high >> 56, n);
        for (size_t i = 0; i < n; i++) {
            memcpy(copy, text, n);
            copy[i] = '#';
            tk_tok_index_key(&other, (tk_str){copy, n}, n);
            assert_true(other.low != far.low || other.high != far.high);
        }
        if (n < TK_TOK_WORD_BYTES) {
            tk_tok_index_key(&other, (tk_str){text, n + 1}, sizeof(text));
            assert_true(other.low != far.low || other.high != far.high);
        }
    }
}

/* Whole pieces of 1 to 40 bytes, on both sides of the limit of a key. */
static void test_tok_index_pieces(void **unused)
{
    enum { LONGEST = 40 };
    tk_buf quoted;
    tk_buf_init(&quoted, TK_MIB);
    tk_buf_puts(&quoted, "{'version':'1.0','pre_tokenizer':{'type':'ByteLevel'},'model':{"
                         "'type':'BPE','ignore_merges':true,'merges':[],'vocab':{@");
    char text[LONGEST + 1];
    for (int n = 2; n <= LONGEST; n++) {
        memset(text, 'a' + n % 26, sizeof(text));
        tk_buf_printf(&quoted, ",'%.*s':%d", n, text, 254 + n);
    }
    tk_buf_puts(&quoted, "}}}");
    tk_tok *tok = toktest_open(tk_buf_cstr(&quoted));
    for (size_t n = 1; n <= LONGEST; n++) {
        memset(text, (int)('a' + n % 26), sizeof(text));
        for (int changed = 0; changed < 2; changed++) {
            tk_str piece = {text, n};
            int32_t id;
            text[n / 2] = changed ? '#' : text[n / 2];
            if (n <= TK_TOK_WORD_BYTES) {
                tk_tok_word key;
                tk_tok_index_key(&key, piece, n);
                id = tk_tok_index_short(tok, &key);
            } else {
                id = tk_tok_index_long(tok, piece);
            }
            int32_t wanted = n == 1 ? text[0] : changed ? -1 : (int32_t)(254 + n);
            assert_int_equal(id, wanted);
        }
    }
    tk_tok_free(tok);
    tk_buf_dispose(&quoted);
}

/* An added token is not a whole piece of the model: in plain text it is its bytes. */
static void test_tok_index_added(void **unused)
{
    tk_tok *tok = toktest_open(
        "{'version':'1.0','added_tokens':[{'id':256,'content':'xyz'},{'id':257,'content':"
        "'a token of more than fifteen'}],'pre_tokenizer':{'type':'ByteLevel',"
        "'add_prefix_space':false,'use_regex':false},'model':{'type':'BPE',"
        "'ignore_merges':true,'merges':[],'vocab':{@}}}");
    toktest_encode(tok, (tk_tok_how){.plain_text = false}, (toktest_row){"xyz", "256"});
    toktest_encode(tok, (tk_tok_how){.plain_text = true},
                   (toktest_row){"xyz", "120 121 122"});
    assert_int_equal(tk_tok_index_long(tok, TK_STR("a token of more than fifteen")), -1);
    tk_tok_free(tok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_index_finds),
        cmocka_unit_test(test_tok_index_put_refuses),
        cmocka_unit_test(test_tok_index_keys),
        cmocka_unit_test(test_tok_index_pieces),
        cmocka_unit_test(test_tok_index_added),
    };
    return cmocka_run_group_tests_name("tok_index", tests, NULL, NULL);
}
