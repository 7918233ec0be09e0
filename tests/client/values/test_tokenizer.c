/* <tinkc/tokenizer.h>: loading, encoding one text and many on threads, decoding whole and
 * in pieces, the cache of loaded files; every bad argument is an error. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tinkc/tokenizer.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/values/tokenizer.h"
#include "support/failmem.h"
#include "support/test.h"
#include "support/tokfix.h"
#include <tinkc/service.h>

#define CONFIG                                                                               \
    "{\"bos_token\":{\"content\":\"<|a|>\"},\"eos_token\":\"<|b|>\",\"add_bos_token\":true," \
    "\"tokenizer_class\":\"LlamaTokenizerFast\",\"chat_template\":[{\"name\":\"default\","   \
    "\"template\":\"D\"},{\"name\":\"tool_use\",\"template\":\"T\"}]}"

static tinkc_tokenizer *open_fixture(const char *config)
{
    tk_buf file;
    tinkc_tokenizer *tokenizer = NULL;
    tk_buf_init(&file, TK_MIB);
    tokfix_bytes(&file);
    assert_int_equal(
        tinkc_tokenizer_from_json(&tokenizer, tk_buf_cstr(&file), config, NULL),
        TINKC_OK);
    tk_buf_dispose(&file);
    return tokenizer;
}

static void test_tokenizer_vocabulary(void **unused)
{
    tinkc_tokenizer *t = open_fixture(CONFIG);
    size_t n = 0;
    assert_int_equal(tinkc_tokenizer_size(t), 303);
    assert_int_equal(tinkc_tokenizer_id(t, "<|a|>"), 301);
    assert_int_equal(tinkc_tokenizer_id(t, "nothing"), -1);
    assert_string_equal(tinkc_tokenizer_token(&n, t, 302), "<|b|>");
    assert_int_equal(n, 5);
    assert_null(tinkc_tokenizer_token(&n, t, 299));
    assert_true(tinkc_tokenizer_is_special(t, 301));
    assert_false(tinkc_tokenizer_is_special(t, 'a'));
    assert_string_equal(tinkc_tokenizer_special(t, "bos_token"), "<|a|>");
    assert_null(tinkc_tokenizer_special(t, "pad_token"));
    assert_string_equal(tinkc_tokenizer_chat_template(t, NULL), "D");
    assert_string_equal(tinkc_tokenizer_chat_template(t, "tool_use"), "T");
    assert_null(tinkc_tokenizer_chat_template(t, "other"));
    tinkc_tokenizer_free(&t);
    assert_null(t);
}

static void check_ids(const tinkc_tokenizer *t, const char *text,
                      const tinkc_encode_options *options, const int32_t *wanted,
                      size_t n)
{
    tinkc_encoding *encoding = NULL;
    size_t found = 0, count = 0;
    assert_int_equal(
        tinkc_tokenizer_encode(&encoding, t, text, strlen(text), options, NULL),
        TINKC_OK);
    const int32_t *ids = tinkc_encoding_ids(&found, encoding);
    assert_int_equal(found, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ids[i], wanted[i]);
    }
    assert_int_equal(tinkc_tokenizer_count(&count, t, text, strlen(text), options, NULL),
                     TINKC_OK);
    assert_int_equal(count, n);
    tinkc_encoding_free(&encoding);
}

/* M-135: add_bos_token of the config counts where Python's class rebuilds the
 * post-processor, as for DeepSeek; special tokens of the text are optional. */
static void test_tokenizer_encode(void **unused)
{
    tinkc_tokenizer *t = open_fixture(CONFIG);
    tinkc_encode_options options = TINKC_ENCODE_OPTIONS_INIT;
    const int32_t plain[] = {257, 302, 'a'}, with_bos[] = {301, 257, 302, 'a'};
    const int32_t text[] = {'<', '|', 'b', '|', '>'};
    check_ids(t, "the <|b|> a", NULL, plain, 3);
    options.add_special_tokens = true;
    check_ids(t, "the <|b|> a", &options, with_bos, 4);
    options.add_special_tokens = false;
    options.plain_text = true;
    check_ids(t, "<|b|>", &options, text, 5);
    check_ids(t, "", NULL, NULL, 0);
    tinkc_encoding *encoding = NULL;
    options.offsets = true;
    size_t n = 0;
    assert_int_equal(tinkc_tokenizer_encode(&encoding, t, "the", 3, &options, NULL),
                     TINKC_OK);
    const size_t *offsets = tinkc_encoding_offsets(&n, encoding);
    assert_int_equal(n, 1);
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[1], 3);
    tinkc_encoding_free(&encoding);
    tinkc_tokenizer_free(&t);
    t = open_fixture("{\"add_bos_token\":true,\"bos_token\":\"<|a|>\"}");
    options = (tinkc_encode_options)TINKC_ENCODE_OPTIONS_INIT;
    options.add_special_tokens = true;
    check_ids(t, "the", &options, plain, 1); /* no class that does that */
    tinkc_tokenizer_free(&t);
}

enum { TEXTS = 64, BYTES = 1200 };

/* Texts of different lengths, whose ids do not depend on the thread that made them. */
static void test_tokenizer_batch(void **unused)
{
    tinkc_tokenizer *t = open_fixture(NULL);
    static char texts[TEXTS][BYTES];
    const char *pointers[TEXTS];
    size_t lengths[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t k = 0; k < BYTES; k++) {
            texts[i][k] = "the aa in\n"[(k * (i + 3) + i) % 10];
        }
        pointers[i] = texts[i];
        lengths[i] = BYTES - i;
    }
    tinkc_text_batch batch = TINKC_TEXT_BATCH_INIT;
    batch.texts = pointers;
    batch.lengths = lengths;
    batch.texts_n = TEXTS;
    batch.threads = 4;
    tinkc_encoding *found[TEXTS] = {NULL};
    assert_int_equal(tinkc_tokenizer_encode_batch(found, t, &batch, NULL), TINKC_OK);
    for (size_t i = 0; i < TEXTS; i++) {
        size_t n = 0;
        const int32_t *ids = tinkc_encoding_ids(&n, found[i]);
        tinkc_encoding *alone = NULL;
        size_t wanted_n = 0;
        assert_int_equal(
            tinkc_tokenizer_encode(&alone, t, texts[i], lengths[i], NULL, NULL),
            TINKC_OK);
        const int32_t *wanted = tinkc_encoding_ids(&wanted_n, alone);
        assert_int_equal(n, wanted_n);
        assert_memory_equal(ids, wanted, n * sizeof(*ids));
        tinkc_encoding_free(&alone);
        tinkc_encoding_free(&found[i]);
    }
    pointers[3] = NULL;
    tinkc_error *err = NULL;
    assert_int_equal(tinkc_tokenizer_encode_batch(found, t, &batch, &err),
                     TINKC_E_INVALID);
    assert_null(found[0]);
    tinkc_error_free(&err);
    tinkc_tokenizer_free(&t);
}

/* M-135: what is not a character becomes U+FFFD, whole and in pieces. */
static void test_tokenizer_decode(void **unused)
{
    tinkc_tokenizer *t = open_fixture(NULL);
    const int32_t ids[] = {301, 257, 0xE4, 0xB8, 0xAD, 0xC3, 900, 302};
    tinkc_decode what = TINKC_DECODE_INIT;
    what.ids = ids;
    what.ids_n = TK_ARRAY_LEN(ids);
    what.skip_special = true;
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(tinkc_tokenizer_decode(&text, &n, t, &what, NULL), TINKC_OK);
    assert_string_equal(text, "the\xE4\xB8\xAD\xEF\xBF\xBD");
    assert_int_equal(n, strlen(text));
    tinkc_text_free(&text);
    tinkc_decoder *decoder = NULL;
    assert_int_equal(tinkc_decoder_new(&decoder, t, true, NULL), TINKC_OK);
    tinkc_tokenizer_free(&t); /* the decoder keeps it */
    static const char *const steps[] = {"", "the", "", "", "\xE4\xB8\xAD", "", "", ""};
    for (size_t i = 0; i < TK_ARRAY_LEN(ids); i++) {
        assert_int_equal(tinkc_decoder_push(decoder, &ids[i], 1, NULL), TINKC_OK);
        assert_string_equal(tinkc_decoder_text(&n, decoder), steps[i]);
    }
    assert_int_equal(tinkc_decoder_finish(decoder, NULL), TINKC_OK);
    assert_string_equal(tinkc_decoder_text(NULL, decoder), "\xEF\xBF\xBD");
    tinkc_decoder_free(&decoder);
}

/* A directory with the files of a model. */
static char *make_dir(const char *vocabulary, tk_str content)
{
    char *dir = tk_strdup("/tmp/tinkc-tokenizer-XXXXXX");
    assert_non_null(mkdtemp(dir));
    char *file = tk_file_join(dir, vocabulary);
    char *config = tk_file_join(dir, "tokenizer_config.json");
    char *jinja = tk_file_join(dir, "chat_template.jinja");
    assert_int_equal(tk_file_replace(file, content.p, content.n, 0600, NULL), TINKC_OK);
    assert_int_equal(tk_file_replace(config, CONFIG, strlen(CONFIG), 0600, NULL),
                     TINKC_OK);
    assert_int_equal(tk_file_replace(jinja, "J", 1, 0600, NULL), TINKC_OK);
    tk_free(file);
    tk_free(config);
    tk_free(jinja);
    return dir;
}

static void remove_dir(char *dir)
{
    static const char *const names[] = {"tokenizer.json", "tiktoken.model",
                                        "tokenizer_config.json", "chat_template.jinja"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        char *path = tk_file_join(dir, names[i]);
        (void)unlink(path);
        tk_free(path);
    }
    assert_int_equal(rmdir(dir), 0);
    tk_free(dir);
}

/* Files that were loaded are shared, until they change or are let go. */
static void test_tokenizer_cache(void **unused)
{
    tk_buf file;
    tk_buf_init(&file, TK_MIB);
    tokfix_bytes(&file);
    char *dir = make_dir("tokenizer.json", tk_buf_str(&file));
    tinkc_tokenizer *a = NULL, *b = NULL, *c = NULL;
    assert_int_equal(tinkc_tokenizer_load_cached(&a, dir, NULL), TINKC_OK);
    assert_int_equal(tinkc_tokenizer_load_cached(&b, dir, NULL), TINKC_OK);
    assert_ptr_equal(a, b);
    assert_string_equal(tinkc_tokenizer_chat_template(a, NULL), "J");
    tk_buf_putc(&file, ' ');
    char *path = tk_file_join(dir, "tokenizer.json");
    assert_int_equal(tk_file_replace(path, file.p, file.n, 0600, NULL), TINKC_OK);
    assert_int_equal(tinkc_tokenizer_load_cached(&c, dir, NULL), TINKC_OK);
    assert_ptr_not_equal(a, c);
    tinkc_tokenizer_free(&a);
    tinkc_tokenizer_free(&b);
    tinkc_tokenizer_cache_clear();
    assert_int_equal(tinkc_tokenizer_id(c, "<|a|>"), 301);
    tinkc_tokenizer_free(&c);
    tk_free(path);
    tk_buf_dispose(&file);
    remove_dir(dir);
}

/* What lies beside the vocabulary counts as well: another chat template is another
 * tokenizer, whether the directory or the file is named. */
static void test_tokenizer_cache_beside(void **unused)
{
    static const char *const names[] = {"tokenizer_config.json", "chat_template.jinja"};
    static const char *const texts[] = {"{\"eos_token\":\"<|b|>\"}", "JJ"};
    tk_buf file;
    tk_buf_init(&file, TK_MIB);
    tokfix_bytes(&file);
    char *dir = make_dir("tokenizer.json", tk_buf_str(&file));
    char *json = tk_file_join(dir, "tokenizer.json");
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        tinkc_tokenizer *old[2] = {NULL, NULL}, *fresh[2] = {NULL, NULL};
        char *path = tk_file_join(dir, names[i]);
        assert_int_equal(tinkc_tokenizer_load_cached(&old[0], dir, NULL), TINKC_OK);
        assert_int_equal(tinkc_tokenizer_load_cached(&old[1], json, NULL), TINKC_OK);
        assert_int_equal(tk_file_replace(path, texts[i], strlen(texts[i]), 0600, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_tokenizer_load_cached(&fresh[0], dir, NULL), TINKC_OK);
        assert_int_equal(tinkc_tokenizer_load_cached(&fresh[1], json, NULL), TINKC_OK);
        for (size_t k = 0; k < 2; k++) {
            assert_ptr_not_equal(old[k], fresh[k]);
            assert_string_equal(tinkc_tokenizer_special(fresh[k], "eos_token"), "<|b|>");
            assert_string_equal(tinkc_tokenizer_chat_template(fresh[k], NULL),
                                i == 0 ? "J" : "JJ");
            tinkc_tokenizer_free(&old[k]);
            tinkc_tokenizer_free(&fresh[k]);
        }
        tk_free(path);
    }
    tinkc_tokenizer_cache_clear();
    tk_free(json);
    tk_buf_dispose(&file);
    remove_dir(dir);
}

/* M-140: at most 32 stay; the one unused for longest goes. */
static void test_tokenizer_cache_bound(void **unused)
{
    tinkc_tokenizer *t = open_fixture(CONFIG);
    tk_tokenizer_stamp stamp = {1, 2, 3}, other = {1, 2, 4};
    char key[16];
    for (int i = 0; i <= TK_TOK_CACHE_MAX; i++) {
        (void)snprintf(key, sizeof(key), "key %d", i);
        assert_int_equal(tk_tokenizer_cache_keep(key, &stamp, tk_tokenizer_tok(t), NULL),
                         TINKC_OK);
        tk_tok_free(tk_tokenizer_cache_find("key 1", &stamp)); /* stays in use */
    }
    size_t found = 0;
    for (int i = 0; i <= TK_TOK_CACHE_MAX; i++) {
        (void)snprintf(key, sizeof(key), "key %d", i);
        tk_tok *tok = tk_tokenizer_cache_find(key, &stamp);
        found += tok != NULL ? 1 : 0;
        assert_true((tok == NULL) == (i == 0));
        assert_null(tk_tokenizer_cache_find(key, &other));
        tk_tok_free(tok);
    }
    assert_int_equal(found, TK_TOK_CACHE_MAX);
    assert_int_equal(tk_tokenizer_cache_keep("more", &stamp, tk_tokenizer_tok(t), NULL),
                     TINKC_OK);
    tk_tok *evicted = tk_tokenizer_cache_find("key 1", &stamp);
    assert_null(evicted); /* found first above, so unused for longest */
    tinkc_tokenizer_cache_clear();
    tinkc_tokenizer_free(&t);
}

static void *load_often(void *dir)
{
    for (int i = 0; i < 50; i++) {
        tinkc_tokenizer *t = NULL;
        if (tinkc_tokenizer_load_cached(&t, dir, NULL) != TINKC_OK ||
            tinkc_tokenizer_id(t, "<|a|>") != 301) {
            return dir;
        }
        tinkc_tokenizer_free(&t);
        if (i % 10 == 9) {
            tinkc_tokenizer_cache_clear();
        }
    }
    return NULL;
}

/* M-140: the cache is shared by all threads. */
static void test_tokenizer_cache_threads(void **unused)
{
    tk_buf file;
    tk_buf_init(&file, TK_MIB);
    tokfix_bytes(&file);
    char *dir = make_dir("tokenizer.json", tk_buf_str(&file));
    pthread_t threads[4];
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, load_often, dir), 0);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    tinkc_tokenizer_cache_clear();
    tk_buf_dispose(&file);
    remove_dir(dir);
}

/* M-134: a tiktoken vocabulary: all bytes, "th" and "the"; special tokens of the
 * config. */
static void test_tokenizer_tiktoken(void **unused)
{
    static const char base64[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    tk_buf file;
    tk_buf_init(&file, TK_MIB);
    for (unsigned b = 0; b < 256; b++) {
        tk_buf_printf(&file, "%c%c== %u\n", base64[b >> 2], base64[(b & 3) << 4], b);
    }
    tk_buf_puts(&file, "dGg= 256\ndGhl 257\n");
    char *dir = make_dir("tiktoken.model", tk_buf_str(&file));
    tinkc_tokenizer *t = NULL;
    assert_int_equal(tinkc_tokenizer_load(&t, dir, NULL), TINKC_OK);
    const int32_t wanted[] = {257, ' ', 256, 259};
    check_ids(t, "the th<|reserved_token_259|>", NULL, wanted, 4);
    assert_int_equal(tinkc_tokenizer_size(t), 258 + 256);
    tinkc_tokenizer_free(&t);
    file.n -= 4;
    char *path = tk_file_join(dir, "tiktoken.model");
    assert_int_equal(tk_file_replace(path, file.p, file.n, 0600, NULL), TINKC_OK);
    assert_int_equal(tinkc_tokenizer_load(&t, path, NULL), TINKC_E_DECODE);
    assert_int_equal(tk_file_replace(path, "IQ== 0\n", 7, 0600, NULL), TINKC_OK);
    assert_int_equal(tinkc_tokenizer_load(&t, path, NULL), TINKC_E_DECODE);
    tk_free(path);
    tk_buf_dispose(&file);
    remove_dir(dir);
}

static void test_tokenizer_bad_arguments(void **unused)
{
    tinkc_tokenizer *t = open_fixture(NULL), *none = NULL;
    tinkc_encoding *encoding = NULL;
    tinkc_decoder *decoder = NULL;
    tinkc_decode what = TINKC_DECODE_INIT;
    tinkc_encode_options options = TINKC_ENCODE_OPTIONS_INIT;
    char *text = NULL;
    size_t n = 0;
    options.size = 1;
    what.ids_n = 1;
    assert_int_equal(tinkc_tokenizer_load(&none, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_load(&none, "/no such", NULL), TINKC_E_MISSING);
    assert_int_equal(tinkc_tokenizer_load_cached(&none, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_from_json(&none, "{", NULL, NULL), TINKC_E_PARSE);
    assert_int_equal(tinkc_tokenizer_encode(&encoding, t, NULL, 1, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_encode(&encoding, t, "a", 1, &options, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_encode(&encoding, NULL, "a", 1, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_count(NULL, t, "a", 1, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_encode_batch(&encoding, t, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_decode(&text, &n, t, &what, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_decoder_new(&decoder, NULL, false, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_decoder_push(NULL, NULL, 0, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_decoder_finish(NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_tokenizer_size(NULL), 0);
    assert_int_equal(tinkc_tokenizer_id(NULL, "a"), -1);
    assert_null(tinkc_tokenizer_ref(NULL));
    assert_null(tinkc_encoding_ids(&n, NULL));
    assert_string_equal(tinkc_decoder_text(&n, NULL), "");
    tinkc_tokenizer_free(&none);
    tinkc_encoding_free(NULL);
    tinkc_decoder_free(NULL);
    tinkc_tokenizer_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenizer_vocabulary),
        cmocka_unit_test(test_tokenizer_encode),
        cmocka_unit_test(test_tokenizer_batch),
        cmocka_unit_test(test_tokenizer_decode),
        cmocka_unit_test(test_tokenizer_cache),
        cmocka_unit_test(test_tokenizer_cache_beside),
        cmocka_unit_test(test_tokenizer_cache_bound),
        cmocka_unit_test(test_tokenizer_cache_threads),
        cmocka_unit_test(test_tokenizer_tiktoken),
        cmocka_unit_test(test_tokenizer_bad_arguments),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
