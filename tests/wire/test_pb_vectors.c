/* M-114, M-052, M-093: the vectors of docs/protocol.md §3.3, made with protoc, in both
 * directions. */
#include <math.h>

#include "base/mem.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_hex.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"

#define REQUEST                                                                          \
    "0a016d10011a380a0c0a0a0a08010000000200000012280a0d7461726765745f746f6b656e7312170a" \
    "10020000000000000003000000000000001802220102220d63726f73735f656e74726f70793001"
#define SAMPLE "0a0e08011204070000001a04000000bf12080000c07f000080bf2003"
#define OUTPUT                                                                           \
    "0a0f546f7263684c6f737352657475726e124b0a0f546f7263684c6f737352657475726e12360a086c" \
    "6f6770726f6273122a0a0c000000bf000080bf000000c012180000000000000000080000000000000"  \
    "00c00000000000000180118021a130a086c6f73733a73756d110000000000000c40"
#define EMPTY_DENSE "1a0b12090a017712040a001801"

static void test_pb_vectors_write_request(void **unused)
{
    static const int32_t tokens[] = {1, 2};
    static const int64_t targets[] = {2, 3};
    static const int64_t shape[] = {2};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 2}};
    const tk_named_tensor input = {
        TK_STR("target_tokens"),
        {.dtype = TK_DTYPE_I64,
         .data = targets,
         .n = 2,
         .has_shape = true,
         .shape = {shape, 1}},
    };
    const tk_datum datum = {.model_input = {&chunk, 1}, .loss_fn_inputs = {&input, 1}};
    const tk_fwdbwd_request request = {
        .model_id = TK_STR("m"),
        .seq_id = 1,
        .data = &datum,
        .data_n = 1,
        .loss_fn = TK_STR("cross_entropy"),
        .forward_only = true,
    };
    tk_buf out;
    tk_buf_init(&out, TK_BODY_MAX_BYTES);
    assert_int_equal(tk_pb_fwdbwd_encode(&out, &request, NULL), TINKC_OK);
    pb_hex_assert(&out, REQUEST);
    tk_buf_dispose(&out);
}

static void test_pb_vectors_read_request(void **unused)
{
    pb_hex hex;
    tk_arena arena;
    tk_fwdbwd_request r;
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_pb_fwdbwd_decode(&r, &arena, pb_hex_bytes(&hex, REQUEST), NULL),
                     TINKC_OK);
    assert_true(tk_str_is(r.model_id, "m"));
    assert_int_equal(r.seq_id, 1);
    assert_true(tk_str_is(r.loss_fn, "cross_entropy"));
    assert_true(r.forward_only);
    assert_int_equal(r.loss_fn_config.n, 0);
    assert_int_equal(r.data_n, 1);
    assert_int_equal(r.data[0].model_input.n, 1);
    const tk_chunk *chunk = &r.data[0].model_input.chunks[0];
    assert_int_equal(chunk->kind, TK_CHUNK_TEXT);
    assert_int_equal(chunk->tokens.n, 2);
    assert_int_equal(chunk->tokens.p[1], 2);
    assert_int_equal(r.data[0].loss_fn_inputs.n, 1);
    const tk_named_tensor *input = &r.data[0].loss_fn_inputs.items[0];
    assert_true(tk_str_is(input->name, "target_tokens"));
    assert_int_equal(input->tensor.dtype, TK_DTYPE_I64);
    assert_int_equal(input->tensor.n, 2);
    assert_int_equal(((const int64_t *)input->tensor.data)[1], 3);
    assert_true(input->tensor.has_shape);
    assert_int_equal(input->tensor.shape.n, 1);
    assert_int_equal(input->tensor.shape.p[0], 2);
    tk_arena_dispose(&arena);
}

/* M-075, M-114: prompt logprobs with a NaN, cache hits. */
static void test_pb_vectors_sample(void **unused)
{
    pb_hex hex;
    tk_arena arena;
    tk_sample_response r;
    tk_buf out;
    tk_arena_init(&arena, 0);
    tk_buf_init(&out, TK_BODY_MAX_BYTES);
    assert_int_equal(tk_pb_sample_decode(&r, &arena, pb_hex_bytes(&hex, SAMPLE), NULL),
                     TINKC_OK);
    assert_int_equal(r.sequences_n, 1);
    assert_int_equal(r.sequences[0].stop_reason, TK_STOP_LENGTH);
    assert_int_equal(r.sequences[0].tokens.n, 1);
    assert_int_equal(r.sequences[0].tokens.p[0], 7);
    assert_true(r.sequences[0].has_logprobs);
    assert_true(r.sequences[0].logprobs.p[0] == -0.5F);
    assert_true(r.has_prompt_logprobs);
    assert_int_equal(r.prompt_logprobs.n, 2);
    assert_true(isnan(r.prompt_logprobs.p[0]));
    assert_true(r.prompt_logprobs.p[1] == -1.0F);
    assert_false(r.has_topk);
    assert_int_equal(r.prompt_cache_hit_tokens, 3);
    assert_int_equal(tk_pb_sample_encode(&out, &r, NULL), TINKC_OK);
    pb_hex_assert(&out, SAMPLE);
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
}

/* one record of columns becomes a map of tensors per datum. */
static void test_pb_vectors_output(void **unused)
{
    pb_hex hex;
    tk_arena arena;
    tk_fwdbwd_output r;
    tk_buf out;
    tk_arena_init(&arena, 0);
    tk_buf_init(&out, TK_BODY_MAX_BYTES);
    assert_int_equal(tk_pb_output_decode(&r, &arena, pb_hex_bytes(&hex, OUTPUT), NULL),
                     TINKC_OK);
    assert_true(tk_str_is(r.loss_fn_output_type, "TorchLossReturn"));
    assert_int_equal(r.loss_fn_outputs_n, 2);
    const tk_named_tensor *one = &r.loss_fn_outputs[0].items[0];
    const tk_named_tensor *two = &r.loss_fn_outputs[1].items[0];
    assert_true(tk_str_is(one->name, "logprobs"));
    assert_int_equal(one->tensor.n, 2);
    assert_int_equal(one->tensor.shape.p[0], 2);
    assert_true(((const float *)one->tensor.data)[1] == -1.0F);
    assert_int_equal(two->tensor.n, 1);
    assert_true(((const float *)two->tensor.data)[0] == -2.0F);
    assert_int_equal(r.metrics.n, 1);
    assert_true(tk_str_is(r.metrics.items[0].name, "loss:sum"));
    assert_true(r.metrics.items[0].v == 3.5);
    assert_int_equal(tk_pb_output_encode(&out, &r, NULL), TINKC_OK);
    pb_hex_assert(&out, OUTPUT);
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
}

/* A member of a oneof is on the wire even when it is empty. */
static void test_pb_vectors_empty_dense(void **unused)
{
    pb_hex hex;
    tk_arena arena;
    tk_fwdbwd_request r;
    tk_buf out;
    tk_arena_init(&arena, 0);
    tk_buf_init(&out, TK_BODY_MAX_BYTES);
    assert_int_equal(
        tk_pb_fwdbwd_decode(&r, &arena, pb_hex_bytes(&hex, EMPTY_DENSE), NULL), TINKC_OK);
    assert_int_equal(r.data[0].loss_fn_inputs.n, 1);
    const tk_tensor *w = &r.data[0].loss_fn_inputs.items[0].tensor;
    assert_int_equal(w->dtype, TK_DTYPE_F32);
    assert_int_equal(w->n, 0);
    assert_false(w->has_shape);
    assert_int_equal(tk_pb_fwdbwd_encode(&out, &r, NULL), TINKC_OK);
    pb_hex_assert(&out, EMPTY_DENSE);
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pb_vectors_write_request),
        cmocka_unit_test(test_pb_vectors_read_request),
        cmocka_unit_test(test_pb_vectors_sample),
        cmocka_unit_test(test_pb_vectors_output),
        cmocka_unit_test(test_pb_vectors_empty_dense),
    };
    return cmocka_run_group_tests_name("pb_vectors", tests, NULL, NULL);
}
