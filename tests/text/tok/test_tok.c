/* Byte-level BPE: ids of the embedded model's tokenizer against those of Hugging Face's
 * `tokenizers` (frozen in data/text/pebble_ids.json), round trips, refusals. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/failmem.h"
#include "support/test.h"
#include "support/tokfix.h"
#include "text/tok/tok_work.h"

#define PEBBLE TEST_DATA_DIR "/../../models/pebble-llama-2m/tokenizer.json"

static tk_tok *open_pebble(void)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_load(&tok, PEBBLE, &err), TINKC_OK);
    return tok;
}

static void check_ids(const tk_tok *tok, const tk_json *row)
{
    tk_err err = TK_ERR_INIT;
    tk_str text = tk_json_get(row, "text")->as.string;
    const tk_json *wanted = tk_json_get(row, "ids");
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    assert_int_equal(tk_tok_encode(tok, text, &ids, &err), TINKC_OK);
    assert_int_equal(ids.n, tk_json_len(wanted));
    for (size_t i = 0; i < ids.n; i++) {
        tk_json id = tk_json_at(wanted, i);
        assert_int_equal(ids.ids[i], id.as.integer);
    }
    tk_tok_ids_dispose(&ids);
}

/* M-133: the embedded model's ids are those of the reference. */
static void test_tok_ids_equal_reference(void **unused)
{
    tk_tok *tok = open_pebble();
    tk_err err = TK_ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(
        tk_file_read(&text, &n, TEST_DATA_DIR "/text/pebble_ids.json", TK_MIB, &err),
        TINKC_OK);
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *rows = NULL;
    assert_int_equal(tk_json_parse(&rows, &arena, text, n, NULL, &err), TINKC_OK);
    assert_true(tk_json_len(rows) > 60);
    for (size_t i = 0; i < tk_json_len(rows); i++) {
        tk_json row = tk_json_at(rows, i);
        check_ids(tok, &row);
    }
    tk_arena_dispose(&arena);
    tk_free(text);
    tk_tok_free(tok);
}

/* Any bytes come back as they were, but for U+FFFD in place of what is not UTF-8; the
 * same with the ids given one by one. */
static void check_round_trip(const tk_tok *tok, tk_str text)
{
    tk_err err = TK_ERR_INIT;
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_buf out, wanted, streamed;
    tk_buf_init(&out, TK_KIB);
    tk_buf_init(&wanted, TK_KIB);
    tk_buf_init(&streamed, TK_KIB);
    (void)tk_tok_utf8_lossy(&wanted, text.p, text.n, true);
    assert_int_equal(tk_tok_encode(tok, text, &ids, &err), TINKC_OK);
    tk_tok_decode(tok, ids.ids, ids.n, false, &out);
    assert_true(tk_str_eq(tk_buf_str(&out), tk_buf_str(&wanted)));
    tk_tok_stream stream;
    tk_tok_stream_init(&stream, tok, false);
    for (size_t i = 0; i < ids.n; i++) {
        tk_tok_stream_push(&stream, &ids.ids[i], 1, &streamed);
        assert_true(tk_utf8_is_valid(tk_buf_str(&streamed)));
    }
    tk_tok_stream_finish(&stream, &streamed);
    assert_true(tk_str_eq(tk_buf_str(&streamed), tk_buf_str(&wanted)));
    tk_tok_stream_dispose(&stream);
    tk_buf_dispose(&streamed);
    tk_buf_dispose(&out);
    tk_buf_dispose(&wanted);
    tk_tok_ids_dispose(&ids);
}

static void test_tok_round_trip(void **unused)
{
    tk_tok *tok = open_pebble();
    uint64_t state = 1;
    char text[300];
    for (size_t round = 0; round < 500; round++) {
        size_t n = round % sizeof(text);
        for (size_t i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            unsigned byte = (unsigned)(state >> 56);
            text[i] = round % 2 == 0 ? (char)byte : "ab <|end>1 "[byte % 11];
        }
        check_round_trip(tok, (tk_str){text, n});
    }
    tk_tok_free(tok);
}

static void test_tok_lookup(void **unused)
{
    tk_tok *tok = open_pebble();
    assert_int_equal(tk_tok_size(tok), 2048);
    assert_int_equal(tk_tok_id(tok, TK_STR("<|endoftext|>")), 0);
    assert_int_equal(tk_tok_id(tok, TK_STR("no such token")), -1);
    assert_true(tk_tok_is_special(tok, 4));
    assert_false(tk_tok_is_special(tok, 5));
    assert_false(tk_tok_is_special(tok, -1));
    assert_true(tk_str_is(tk_tok_token(tok, 4), "<|end|>"));
    assert_null(tk_tok_token(tok, 2048).p);
    assert_null(tk_tok_token(tok, -1).p);
    tk_tok_free(tok);
}

/* M-135: special tokens can be left out. */
static void test_tok_decode_skips(void **unused)
{
    tk_tok *tok = open_pebble();
    tk_err err = TK_ERR_INIT;
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_str text = TK_STR("<|user|>Hi there<|end|>");
    assert_int_equal(tk_tok_encode(tok, text, &ids, &err), TINKC_OK);
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tk_tok_decode(tok, ids.ids, ids.n, true, &out);
    assert_true(tk_str_is(tk_buf_str(&out), "Hi there"));
    tk_buf_clear(&out);
    const int32_t unused_ids[] = {-5, 5000, INT32_MAX};
    tk_tok_decode(tok, unused_ids, 3, false, &out);
    assert_int_equal(out.n, 0);
    tk_buf_dispose(&out);
    tk_tok_ids_dispose(&ids);
    tk_tok_free(tok);
}

/* The file with one piece replaced must be refused with this code. */
static void check_refused(const char *from, const char *to, tinkc_code wanted)
{
    tk_err err = TK_ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(tk_file_read(&text, &n, PEBBLE, TK_MIB, &err), TINKC_OK);
    char *at = strstr(text, from);
    assert_non_null(at);
    tk_buf changed;
    tk_buf_init(&changed, 2 * TK_MIB);
    tk_buf_put(&changed, text, (size_t)(at - text));
    tk_buf_puts(&changed, to);
    tk_buf_puts(&changed, at + strlen(from));
    tk_tok *tok = NULL;
    tinkc_code code = tk_tok_load_memory(&tok, tk_buf_str(&changed), &err);
    if (code != wanted) {
        fail_msg("%s -> %s: %d, %s", from, to, (int)code, err.message);
    }
    assert_null(tok);
    tk_buf_dispose(&changed);
    tk_free(text);
}

static void test_tok_refuses(void **unused)
{
    static const struct {
        const char *from, *to;
        tinkc_code code;
    } rows[] = {
        {"\"BPE\"", "\"Unigram\"", TINKC_E_UNSUPPORTED},
        {"\"BPE\"", "\"WordPiece\"", TINKC_E_UNSUPPORTED},
        {"\"normalizer\": null", "\"normalizer\": {\"type\": \"BertNormalizer\"}",
         TINKC_E_UNSUPPORTED},
        {"\"normalizer\": null", "\"normalizer\": 7", TINKC_E_UNSUPPORTED},
        {"\"post_processor\": null", "\"post_processor\": {\"type\": \"Other\"}",
         TINKC_E_UNSUPPORTED},
        {"\"continuing_subword_prefix\": null", "\"continuing_subword_prefix\": \"##\"",
         TINKC_E_UNSUPPORTED},
        {"\"dropout\": null", "\"dropout\": 0.1", TINKC_E_UNSUPPORTED},
        {"[0-9]", "[\\\\w]+", TINKC_E_UNSUPPORTED},
        {"[0-9]", "[0-9", TINKC_E_UNSUPPORTED},
        {"\"Isolated\"", "\"Somehow\"", TINKC_E_DECODE},
        {"\"unk_token\": null", "\"unk_token\": \"no such\"", TINKC_E_DECODE},
        {"\"version\": \"1.0\"", "\"version\": \"2.0\"", TINKC_E_DECODE},
        {"\"id\": 1,", "\"id\": 2,", TINKC_E_DECODE},
        {"\"id\": 1,", "\"id\": -1,", TINKC_E_DECODE},
        {"\"id\": 1,", "\"id\": 99999999999,", TINKC_E_DECODE},
        {"\"id\": 1,", "\"id\": \"1\",", TINKC_E_DECODE},
        {"\"content\": \"<|user|>\"", "\"content\": \"\"", TINKC_E_DECODE},
        {"\"content\": \"<|user|>\"", "\"content\": 3", TINKC_E_DECODE},
        {"\"merges\": [", "\"merges\": [\"qq qq\", ", TINKC_E_DECODE},
        {"\"merges\": [", "\"merges\": [\"a b c\", ", TINKC_E_DECODE},
        {"\"merges\": [", "\"merges\": [7, ", TINKC_E_DECODE},
        {"\"merges\": [", "\"other\": [", TINKC_E_DECODE},
        {"\"vocab\": {", "\"vocab\": {\"!\": 2000000000, ", TINKC_E_DECODE},
        {"{", "[", TINKC_E_PARSE},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        check_refused(rows[i].from, rows[i].to, rows[i].code);
    }
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_load(&tok, TEST_DATA_DIR "/no such file", &err),
                     TINKC_E_MISSING);
}

/* A pair that comes twice has the rank of its last place: "Q X" after "X Z" loses. The
 * leftmost of equal pairs is merged first. */
static void test_tok_merge_order(void **unused)
{
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(tk_file_read(&text, &n, PEBBLE, TK_MIB, &err), TINKC_OK);
    char *merges = strstr(text, "\"merges\": [");
    char *vocab = strstr(text, "\"vocab\": {");
    assert_true(merges != NULL && vocab != NULL && vocab < merges);
    tk_buf file;
    tk_buf_init(&file, 2 * TK_MIB);
    tk_buf_put(&file, text, (size_t)(vocab - text));
    tk_buf_puts(&file, "\"vocab\": {\"QX\": 2048, \"XZ\": 2049, \"QQ\": 2050, ");
    vocab += strlen("\"vocab\": {");
    tk_buf_put(&file, vocab, (size_t)(merges - vocab));
    tk_buf_puts(&file, "\"merges\": [\"Q X\", [\"X\", \"Z\"], \"Q X\", \"Q Q\"]}}");
    assert_int_equal(tk_tok_load_memory(&tok, tk_buf_str(&file), &err), TINKC_OK);
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    assert_int_equal(tk_tok_encode(tok, TK_STR("QXZ"), &ids, &err), TINKC_OK);
    assert_int_equal(ids.n, 2);
    assert_int_equal(ids.ids[1], 2049);
    assert_int_equal(tk_tok_encode(tok, TK_STR("QQQ"), &ids, &err), TINKC_OK);
    assert_int_equal(ids.n, 4);
    assert_int_equal(ids.ids[2], 2050);
    tk_tok_ids_dispose(&ids);
    tk_tok_free(tok);
    tk_buf_dispose(&file);
    tk_free(text);
}

/* Both fixtures: loading, encoding short and long pieces with and without offsets,
 * decoding. */
static bool load_and_encode(void *user)
{
    const tk_str *json = user;
    tk_tok *tok = NULL;
    tk_tok_ids ids = {NULL, 0, 0, NULL}, more = {NULL, 0, 0, NULL};
    tk_err err = TK_ERR_INIT;
    char text[400];
    memset(text, 'a', sizeof(text));
    memcpy(text, "the cafe\xCC\x81 \xFF <|b|> ", 19);
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tinkc_code code = tk_tok_open_memory(
        &tok, *json, TK_STR("{\"bos_token\": \"<|a|>\", \"chat_template\": \"x\"}"),
        TK_STR("y"), &err);
    if (code == TINKC_OK) {
        tk_tok_how how = {.offsets = true};
        code = tk_tok_encode_how(tok, (tk_str){text, sizeof(text)}, how, &ids, &err);
    }
    if (code == TINKC_OK) {
        code = tk_tok_encode(tok, (tk_str){text, 30}, &more, &err);
    }
    if (code == TINKC_OK) {
        assert_in_range(ids.n, 100, 125);
        assert_memory_equal(ids.ids, more.ids, 8 * sizeof(ids.ids[0]));
        tk_tok_decode(tok, ids.ids, ids.n, false, &out);
        code = tk_buf_status(&out, &err);
    }
    tk_buf_dispose(&out);
    tk_tok_ids_dispose(&ids);
    tk_tok_ids_dispose(&more);
    tk_tok_free(tok);
    /* without memory for its caches it works all the same */
    return code == TINKC_OK && !failmem_fired();
}

static void test_tok_out_of_memory(void **unused)
{
    void (*const fixtures[])(tk_buf *) = {tokfix_bytes, tokfix_chars};
    for (size_t i = 0; i < TK_ARRAY_LEN(fixtures); i++) {
        tk_buf file;
        tk_buf_init(&file, TK_MIB);
        fixtures[i](&file);
        tk_str json = tk_buf_str(&file);
        assert_true(failmem_sweep(load_and_encode, &json, 1) > 5);
        tk_buf_dispose(&file);
    }
}

static bool load_pattern(void *user)
{
    tk_tok_regex *regex = NULL;
    tk_tok_matcher matcher = {NULL};
    tk_err err = TK_ERR_INIT;
    size_t range[2];
    tinkc_code code = tk_tok_regex_new(&regex, TK_STR("[a-z&&[^aeiou]]+|\\p{L}"), &err);
    if (code == TINKC_OK) {
        code = tk_tok_regex_find(regex, &matcher, TK_STR("abcd"), 1, range);
    }
    tk_tok_matcher_dispose(&matcher);
    tk_tok_regex_free(regex);
    if (code == TINKC_OK) {
        assert_true(range[0] == 1 && range[1] == 4);
    }
    return code == TINKC_OK && !failmem_fired(); /* the JIT may be done without */
}

static void test_tok_pattern_out_of_memory(void **unused)
{
    assert_true(failmem_sweep(load_pattern, NULL, 1) > 5);
}

/* How often the loops that merge go round for n bytes of this cycle. */
static uint64_t turns_of(tk_tok *tok, const char *cycle, size_t n, size_t *ids_n)
{
    tk_err err = TK_ERR_INIT;
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    char *text = tk_malloc(n);
    assert_non_null(text);
    for (size_t k = 0; k < n; k++) {
        text[k] = cycle[k % strlen(cycle)];
    }
    tk_tok_work *work = tk_tok_work_take(tok->pool);
    uint64_t before = work->turns;
    tk_tok_work_give(tok->pool, work);
    assert_int_equal(tk_tok_encode(tok, (tk_str){text, n}, &ids, &err), TINKC_OK);
    work = tk_tok_work_take(tok->pool);
    uint64_t turns = work->turns - before;
    tk_tok_work_give(tok->pool, work);
    *ids_n = ids.n;
    tk_tok_ids_dispose(&ids);
    tk_free(text);
    return turns;
}

/* M-133: a piece as long as the text, of one character and of a cycle of three: the ids
 * are those of its parts, and twice the text is twice the work (make bench has the times
 * of real vocabularies). */
static void test_tok_long_pieces(void **unused)
{
    void (*const fixtures[])(tk_buf *) = {tokfix_bytes, tokfix_chars};
    static const struct {
        const char *cycle;
        size_t per_id; /* bytes of the longest token */
    } cycles[] = {{"a", 4}, {"the", 3}, {"ab", 1}};
    enum { N = 24000 };
    for (size_t i = 0; i < TK_ARRAY_LEN(fixtures); i++) {
        tk_buf file;
        tk_tok *tok = NULL;
        tk_err err = TK_ERR_INIT;
        tk_buf_init(&file, TK_MIB);
        fixtures[i](&file);
        assert_int_equal(tk_tok_load_memory(&tok, tk_buf_str(&file), &err), TINKC_OK);
        for (size_t k = 0; k < TK_ARRAY_LEN(cycles); k++) {
            size_t n = 0, n2 = 0;
            uint64_t once = turns_of(tok, cycles[k].cycle, N, &n);
            uint64_t twice = turns_of(tok, cycles[k].cycle, 2 * N, &n2);
            assert_in_range(n, N / cycles[k].per_id, N / cycles[k].per_id + 1);
            assert_in_range(n2, 2 * N / cycles[k].per_id, 2 * N / cycles[k].per_id + 1);
            assert_in_range(once, 1, 8 * N);
            assert_true(twice <= 2 * once + once / 10);
        }
        tk_tok_free(tok);
        tk_buf_dispose(&file);
    }
}

/* What the tokens cover, in bytes of the text as it was given: also where it was not
 * UTF-8 or was normalised. */
static void test_tok_offsets(void **unused)
{
    tk_buf file;
    tk_buf_init(&file, TK_MIB);
    tokfix_bytes(&file);
    tk_tok *tok = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_load_memory(&tok, tk_buf_str(&file), &err), TINKC_OK);
    static const size_t wanted[] = {0,  3,  3,  7,  7,  8,  8,  9,  9,
                                    10, 10, 13, 13, 14, 14, 21, 21, 22};
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_str text = TK_STR("the the cae\xCC\x81\n <|b|>\xFF");
    assert_int_equal(
        tk_tok_encode_how(tok, text, (tk_tok_how){.offsets = true}, &ids, &err),
        TINKC_OK);
    assert_true(ids.n >= TK_ARRAY_LEN(wanted) / 2);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ids.offsets[i], wanted[i]);
    }
    size_t last = ids.n - 1;
    assert_int_equal(ids.offsets[2 * last], 20);
    assert_int_equal(ids.offsets[2 * last + 1], 21);
    bool special = false, accent = false;
    for (size_t i = 0; i < ids.n; i++) {
        size_t begin = ids.offsets[2 * i], end = ids.offsets[2 * i + 1];
        special = special || (ids.ids[i] == 302 && begin == 13 && end == 20);
        accent = accent || (begin == 10 && end == 13);
    }
    assert_true(special);
    assert_true(accent);
    tk_tok_ids_dispose(&ids);
    tk_tok_free(tok);
    tk_buf_dispose(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_ids_equal_reference),
        cmocka_unit_test(test_tok_round_trip),
        cmocka_unit_test(test_tok_lookup),
        cmocka_unit_test(test_tok_decode_skips),
        cmocka_unit_test(test_tok_refuses),
        cmocka_unit_test(test_tok_merge_order),
        cmocka_unit_test(test_tok_out_of_memory),
        cmocka_unit_test(test_tok_pattern_out_of_memory),
        cmocka_unit_test(test_tok_long_pieces),
        cmocka_unit_test(test_tok_offsets),
    };
    return cmocka_run_group_tests_name("tok", tests, NULL, NULL);
}
