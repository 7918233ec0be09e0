/* M-075, M-093, A-058: SampleResponse at its edges. */
#include "support/test.h"
#include "wire/pb_sample.h"

#include "base/mem.h"
#include "support/failmem.h"
#include "wire/pb_codec.h"
#include "wire/pb_hex.h"
#include "wire/pb_random.h"

typedef struct reading {
    pb_hex hex;
    tk_arena arena;
    tk_err err;
    tk_sample_response r;
    tinkc_code code;
} reading;

static void read_hex(reading *d, const char *hex)
{
    static const tk_err none = TK_ERR_INIT;
    d->err = none;
    tk_arena_init(&d->arena, 0);
    d->r = (tk_sample_response){.sequences_n = 99};
    d->code = tk_pb_sample_decode(&d->r, &d->arena, pb_hex_bytes(&d->hex, hex), &d->err);
}

static void assert_refused(const char *hex, tinkc_code code)
{
    reading d;
    read_hex(&d, hex);
    assert_int_equal(d.code, code);
    assert_int_equal(d.err.code, code);
    assert_true(d.err.message[0] != '\0');
    assert_int_equal(d.r.sequences_n, 99);
    tk_arena_dispose(&d.arena);
}

/* Empty bytes and tables without cells are absent. */
static void test_pb_sample_absent(void **unused)
{
    static const char *const same[] = {
        "0a()",
        "0a(0800 12() 1a()) 12()",
        "0a() 1a()",
        "0a() 1a(0a(01000000) 12(00000000) 1801)",
        "0a() 1a(0a(01000000) 12(00000000) 2001)",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(same); i++) {
        reading d;
        read_hex(&d, same[i]);
        assert_int_equal(d.code, TINKC_OK);
        assert_int_equal(d.r.sequences_n, 1);
        assert_int_equal(d.r.sequences[0].tokens.n, 0);
        assert_int_equal(d.r.sequences[0].stop_reason, TK_STOP_STOP);
        assert_false(d.r.sequences[0].has_logprobs);
        assert_false(d.r.has_prompt_logprobs);
        assert_false(d.r.has_topk);
        assert_int_equal(d.r.prompt_cache_hit_tokens, 0);
        tk_arena_dispose(&d.arena);
    }
}

/* 0 and 1 are known, any other number is kept as text. */
static void test_pb_sample_stop_reasons(void **unused)
{
    reading d;
    read_hex(&d, "0a(0800) 0a(0801) 0a(0802) 0a(08ffffffffffffffffff01)");
    assert_int_equal(d.code, TINKC_OK);
    assert_int_equal(d.r.sequences[0].stop_reason, TK_STOP_STOP);
    assert_int_equal(d.r.sequences[1].stop_reason, TK_STOP_LENGTH);
    assert_int_equal(d.r.sequences[2].stop_reason, TK_STOP_OTHER);
    assert_true(tk_str_is(d.r.sequences[2].stop_word, "2"));
    assert_int_equal(d.r.sequences[3].stop_reason, TK_STOP_OTHER);
    assert_true(tk_str_is(d.r.sequences[3].stop_word, "-1"));
    tk_arena_dispose(&d.arena);
}

/* Top-k tables of sequences: two sequences, the second without; merged over pieces. */
static void test_pb_sample_topk_sampled(void **unused)
{
    reading d;
    read_hex(&d, "0a(12(07000000) 22(0a(07000000 09000000) 1802)"
                 "22(12(000080bf 000000c0) 2001)) 0a(12(08000000) 22(1803))");
    assert_int_equal(d.code, TINKC_OK);
    assert_int_equal(d.r.sequences_n, 2);
    assert_true(d.r.sequences[0].has_topk && !d.r.sequences[1].has_topk);
    const tk_topk_logprobs *table = &d.r.sequences[0].topk;
    assert_int_equal(table->length, 1);
    assert_int_equal(table->k, 2);
    assert_int_equal(table->token_ids[1], 9);
    assert_true(table->logprobs[1] == -2.0F);
    assert_false(d.r.has_topk);
    tk_arena_dispose(&d.arena);
    assert_refused("0a(22(0a(00000000) 12(00000000) 1802 2001))", TINKC_E_DECODE);
    assert_refused("0a(22(0a(00000000) 12(00000000) 188080808008 208080808008))",
                   TINKC_E_DECODE);
}

/* Tensors of the answer: sparse stays sparse, int32 is widened; whatever does not fit is
 * refused with the name of the field. */
static void test_pb_sample_tensors(void **unused)
{
    static const struct {
        const char *hex, *path;
    } bad[] = {
        {"2a(1801)", "target_prompt_logprobs"},                     /* no data */
        {"2a(0a(00000000))", "target_prompt_logprobs"},             /* no dtype */
        {"2a(0a(00000000) 1803)", "target_prompt_logprobs"},        /* int32 */
        {"2a(0a(00000000) 1801 22(02))", "target_prompt_logprobs"}, /* one of two */
        {"2a(0a(00000000) 1801 22(0101010101010101010101010101010101010101)"
         "22(0101010101010101010101010101010101010101))",
         "target_prompt_logprobs"}, /* too many dimensions */
        {"2a(12(0a(00000000) 12(0000000000000000 0200000000000000)"
         "1a(0000000000000000)) 1801 22(0101))",
         "target_prompt_logprobs"}, /* a row that ends after the values */
        {"2a(12(0a(00000000) 12(0000000000000000 0100000000000000)"
         "1a(0100000000000000)) 1801 22(0101))",
         "target_prompt_logprobs"}, /* a column outside */
        {"32()", "prompt_alt_tokens.tokens"},
        {"32(0a(0a(07000000) 1803))", "prompt_alt_tokens.logprobs"},
        {"32(0a(0a(00000000) 1801) 12(0a(00000000) 1801))", "prompt_alt_tokens.tokens"},
    };
    reading d;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        read_hex(&d, bad[i].hex);
        assert_true(d.code == TINKC_E_DECODE || d.code == TINKC_E_LIMIT);
        if (strncmp(d.err.path, bad[i].path, strlen(bad[i].path)) != 0 &&
            d.code == TINKC_E_DECODE) {
            fail_msg("%s: %s", bad[i].hex, d.err.path);
        }
        tk_arena_dispose(&d.arena);
    }
    read_hex(&d, "2a(12(0a(000000bf) 12(0000000000000000 0100000000000000)"
                 "1a(0000000000000000)) 1801) 2a(22(0101))"
                 "32(0a(0a(07000000) 1803)) 32(12(0a(000080bf) 1801 22(0101)))");
    assert_int_equal(d.code, TINKC_OK);
    assert_true(d.r.has_target && d.r.target_prompt_logprobs.is_sparse);
    assert_int_equal(d.r.target_prompt_logprobs.n, 1);
    assert_true(d.r.has_alt);
    assert_int_equal(d.r.alt.tokens.dtype, TK_DTYPE_I64);
    assert_true(*(const int64_t *)d.r.alt.tokens.data == 7);
    assert_int_equal(d.r.alt.logprobs.shape.n, 2);
    tk_arena_dispose(&d.arena);
    read_hex(&d,
             "0a(12(07000000)) 2a(0a(00000000) 1809)"); /* a dtype of a newer server */
    assert_int_equal(d.code, TINKC_OK);
    assert_true(d.r.sequences_n == 1 && d.r.has_target);
    assert_int_equal(d.r.target_prompt_logprobs.dtype, TK_DTYPE_UNSPECIFIED);
    assert_int_equal(d.r.target_prompt_logprobs.n, 0);
    tk_arena_dispose(&d.arena);
}

/* A table of 1 x 2; more bytes than cells are allowed; pieces of the message merge. */
static void test_pb_sample_topk(void **unused)
{
    reading d;
    read_hex(&d, "1a(0a(05000000 00000000 09000000) 1802)"
                 "1a(12(000080bf 804fc3c7) 2001)");
    assert_int_equal(d.code, TINKC_OK);
    assert_true(d.r.has_topk);
    assert_int_equal(d.r.topk.k, 2);
    assert_int_equal(d.r.topk.length, 1);
    assert_int_equal(d.r.topk.token_ids[0], 5);
    assert_true(d.r.topk.logprobs[0] == -1.0F);
    assert_int_equal(d.r.topk.token_ids[1], 0);
    assert_true(d.r.topk.logprobs[1] == -99999.0F);
    tk_arena_dispose(&d.arena);
}

static void test_pb_sample_refusals(void **unused)
{
    assert_refused("0a(12(010000))", TINKC_E_DECODE); /* 3 bytes */
    assert_refused("0a(12(01000000) 1a(0000))", TINKC_E_DECODE);
    assert_refused("0a(12(01000000) 1a(00000000 00000000))", TINKC_E_DECODE);
    assert_refused("0a(1a(00000000))", TINKC_E_DECODE); /* logprobs without tokens */
    assert_refused("12(0000)", TINKC_E_DECODE);
    /* tables that are longer than one of their arrays, or overflow */
    assert_refused("1a(0a(00000000) 12(00000000) 1802 2001)", TINKC_E_DECODE);
    assert_refused("1a(0a(00000000 00000000) 12(00000000) 1802 2001)", TINKC_E_DECODE);
    assert_refused("1a(0a(00000000) 12(00000000 00000000) 1801 2002)", TINKC_E_DECODE);
    assert_refused("1a(1801 2001)", TINKC_E_DECODE);
    assert_refused("1a(0a(00000000) 12(00000000) 18ffffffff0f 20ffffffff0f)",
                   TINKC_E_DECODE);
    assert_refused("1a(0a(00000000) 12(00000000) 188080808008 208080808008)",
                   TINKC_E_DECODE); /* 2^31 x 2^31 x 4 = 2^64 */
    assert_refused("1a(0a(0000000000) 12(00000000) 1801 2001)", TINKC_E_DECODE);
}

static void assert_not_encoded(const tk_sample_response *response, tinkc_code code)
{
    tk_buf out;
    tk_err err = TK_ERR_INIT;
    tk_buf_init(&out, TK_KIB);
    assert_int_equal(tk_pb_sample_encode(&out, response, &err), code);
    assert_int_equal(out.n, 0);
    assert_true(err.message[0] != '\0');
    tk_buf_dispose(&out);
}

static void test_pb_sample_encode_refusals(void **unused)
{
    static const int32_t tokens[2];
    static const float logprobs[2];
    tk_sequence s = {
        .tokens = {tokens, 2}, .has_logprobs = true, .logprobs = {logprobs, 1}};
    tk_sample_response r = {.sequences = &s, .sequences_n = 1};
    assert_not_encoded(&r, TINKC_E_INVALID);
    s.logprobs.n = 2;
    s.stop_reason = (tk_stop_reason)7;
    assert_not_encoded(&r, TINKC_E_INVALID);
    s = (tk_sequence){.tokens = {tokens, SIZE_MAX / 4 + 2}}; /* times 4 is 4 */
    assert_not_encoded(&r, TINKC_E_LIMIT);
    r = (tk_sample_response){.prompt_cache_hit_tokens = INT64_C(1) << 31};
    assert_not_encoded(&r, TINKC_E_INVALID);
    r = (tk_sample_response){.has_topk = true, .topk = {SIZE_MAX, 1, tokens, logprobs}};
    assert_not_encoded(&r, TINKC_E_INVALID);
    r = (tk_sample_response){.has_topk = true, .topk = {1000, 1, tokens, logprobs}};
    assert_not_encoded(&r, TINKC_E_LIMIT);
    r = (tk_sample_response){.has_prompt_logprobs = true,
                             .prompt_logprobs = {logprobs, 300}};
    assert_not_encoded(&r, TINKC_E_LIMIT);
    s = (tk_sequence){.has_topk = true, .topk = {1000, 1, tokens, logprobs}};
    r = (tk_sample_response){.sequences = &s, .sequences_n = 1};
    assert_not_encoded(&r, TINKC_E_LIMIT);
    s.topk.k = SIZE_MAX;
    assert_not_encoded(&r, TINKC_E_INVALID);
    r = (tk_sample_response){
        .has_target = true,
        .target_prompt_logprobs = {.dtype = TK_DTYPE_F32, .data = logprobs, .n = 300}};
    assert_not_encoded(&r, TINKC_E_LIMIT);
    r.target_prompt_logprobs.dtype = TK_DTYPE_BF16;
    assert_not_encoded(&r, TINKC_E_INVALID);
    r = (tk_sample_response){.has_alt = true};
    assert_not_encoded(&r, TINKC_E_INVALID);
}

static tk_sample_response long_sample(pb_random *r)
{
    tk_sample_response sample;
    do {
        sample = pb_random_sample(r);
    } while (sample.sequences_n < 2 || !sample.has_topk || !sample.has_prompt_logprobs ||
             !sample.sequences[1].has_topk || !sample.has_target || !sample.has_alt ||
             !sample.target_prompt_logprobs.is_sparse);
    return sample;
}

static tinkc_code encode(tk_buf *out, const void *message, tk_err *err)
{
    return tk_pb_sample_encode(out, message, err);
}

static tinkc_code decode(const void *message, tk_arena *arena, tk_bytes bytes,
                         tk_err *err)
{
    tk_sample_response back = {.sequences_n = 99};
    tinkc_code code = tk_pb_sample_decode(&back, arena, bytes, err);
    const tk_sample_response *whole = message;
    assert_true(code == TINKC_OK ? back.sequences_n <= whole->sequences_n
                                 : back.sequences_n == 99);
    return code;
}

static void test_pb_sample_truncated(void **unused)
{
    pb_random r;
    pb_random_init(&r, 7);
    tk_sample_response sample = long_sample(&r);
    pb_codec_truncate(&(pb_codec){&sample, encode, decode});
    tk_arena_dispose(&r.arena);
}

static void test_pb_sample_sweep(void **unused)
{
    pb_random r;
    pb_random_init(&r, 7);
    tk_sample_response sample = long_sample(&r);
    pb_codec_sweep(&(pb_codec){&sample, encode, decode});
    tk_arena_dispose(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pb_sample_absent),
        cmocka_unit_test(test_pb_sample_stop_reasons),
        cmocka_unit_test(test_pb_sample_topk),
        cmocka_unit_test(test_pb_sample_topk_sampled),
        cmocka_unit_test(test_pb_sample_tensors),
        cmocka_unit_test(test_pb_sample_refusals),
        cmocka_unit_test(test_pb_sample_encode_refusals),
        cmocka_unit_test(test_pb_sample_truncated),
        cmocka_unit_test(test_pb_sample_sweep),
    };
    return cmocka_run_group_tests_name("pb_sample", tests, NULL, NULL);
}
