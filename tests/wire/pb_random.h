/* Seeded random messages for the protobuf tests, in the form in which they read back: no
 * empty optional arrays, shapes only with dimensions. Memory comes from one arena. */
#ifndef TESTS_WIRE_PB_RANDOM_H
#define TESTS_WIRE_PB_RANDOM_H

#include <stdio.h>

#include "base/arena.h"
#include "support/test.h"
#include "wire/value.h"

typedef struct pb_random {
    uint64_t state; /* not 0 */
    tk_arena arena;
} pb_random;

static inline void pb_random_init(pb_random *r, uint64_t seed)
{
    r->state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    tk_arena_init(&r->arena, 0);
}

static inline uint64_t pb_random_bits(pb_random *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state;
}

static inline size_t pb_random_below(pb_random *r, size_t n)
{
    return (size_t)((pb_random_bits(r) >> 11) % n);
}

static inline bool pb_random_coin(pb_random *r)
{
    return pb_random_below(r, 2) == 0;
}

static inline void *pb_random_alloc(pb_random *r, size_t count, size_t size)
{
    void *p = tk_arena_array(&r->arena, count, size);
    assert_non_null(p);
    return p;
}

/* Any bits: also NaN and infinities. */
static inline void *pb_random_fill(pb_random *r, size_t count, size_t size)
{
    unsigned char *p = pb_random_alloc(r, count, size);
    for (size_t i = 0; i < count * size; i++) {
        p[i] = (unsigned char)pb_random_bits(r);
    }
    return p;
}

static inline tk_str pb_random_name(pb_random *r, size_t index)
{
    static const char *const stems[] = {"weights", "logprobs", "\xC3\xA9", "x:sum", ""};
    char *p = pb_random_alloc(r, 1, 32);
    int n =
        snprintf(p, 32, "%s%zu", stems[pb_random_below(r, TK_ARRAY_LEN(stems))], index);
    return (tk_str){p, (size_t)n};
}

/* Mostly small, sometimes at the borders of varint lengths; negative ones too. */
static inline int64_t pb_random_i32(pb_random *r)
{
    uint64_t bits = pb_random_bits(r) >> (32 + pb_random_below(r, 32));
    return pb_random_below(r, 8) == 0 ? -(int64_t)(bits >> 1) - 1 : (int64_t)(bits >> 1);
}

static inline tk_i64s pb_random_shape(pb_random *r, size_t n_dims, size_t *count)
{
    int64_t *dims = pb_random_alloc(r, n_dims, sizeof(*dims));
    *count = 1;
    for (size_t i = 0; i < n_dims; i++) {
        dims[i] = (int64_t)(i == 0 ? pb_random_below(r, 140) : pb_random_below(r, 4));
        *count *= (size_t)dims[i];
    }
    return (tk_i64s){dims, n_dims};
}

static inline tk_tensor pb_random_dense(pb_random *r)
{
    tk_tensor t = {.dtype = pb_random_coin(r) ? TK_DTYPE_F32 : TK_DTYPE_I64};
    t.shape = pb_random_shape(r, pb_random_below(r, 4), &t.n);
    t.has_shape = t.shape.n > 0;
    t.data = pb_random_fill(r, t.n, t.dtype == TK_DTYPE_F32 ? 4 : 8);
    return t;
}

static inline tk_tensor pb_random_csr(pb_random *r)
{
    tk_tensor t = pb_random_dense(r);
    size_t rows = pb_random_below(r, 5);
    size_t cols = pb_random_below(r, 200) + 1;
    int64_t *shape = pb_random_alloc(r, 2, sizeof(*shape));
    int64_t *crow = pb_random_alloc(r, rows + 1, sizeof(*crow));
    shape[0] = (int64_t)rows;
    shape[1] = (int64_t)cols;
    crow[0] = 0;
    for (size_t i = 0; i < rows; i++) {
        crow[i + 1] = crow[i] + (int64_t)pb_random_below(r, 4);
    }
    t.n = (size_t)crow[rows];
    int64_t *col = pb_random_alloc(r, t.n, sizeof(*col));
    for (size_t i = 0; i < t.n; i++) {
        col[i] = (int64_t)pb_random_below(r, cols);
    }
    t.data = pb_random_fill(r, t.n, 8);
    t.has_shape = true;
    t.is_sparse = true;
    t.shape = (tk_i64s){shape, 2};
    t.crow = (tk_i64s){crow, rows + 1};
    t.col = (tk_i64s){col, t.n};
    return t;
}

static inline tk_chunk pb_random_chunk(pb_random *r)
{
    static const tk_chunk_kind kinds[] = {TK_CHUNK_TEXT, TK_CHUNK_IMAGE, TK_CHUNK_DMEL};
    tk_chunk chunk = {.kind = kinds[pb_random_below(r, 3)]};
    size_t n = pb_random_below(r, 70);
    if (chunk.kind == TK_CHUNK_TEXT) {
        chunk.tokens = (tk_i32s){pb_random_fill(r, n, sizeof(int32_t)), n};
        return chunk;
    }
    chunk.data = (tk_bytes){pb_random_fill(r, n, 1), n};
    if (chunk.kind == TK_CHUNK_IMAGE) {
        chunk.format = pb_random_coin(r) ? TK_IMAGE_PNG : TK_IMAGE_JPEG;
        if (pb_random_coin(r)) {
            chunk.expected_tokens = (tk_f_i64){TK_SET, pb_random_i32(r)};
        }
    }
    return chunk;
}

static inline tk_num_map pb_random_nums(pb_random *r)
{
    size_t n = pb_random_below(r, 4);
    tk_named_num *items = pb_random_alloc(r, n, sizeof(*items));
    for (size_t i = 0; i < n; i++) {
        items[i].name = pb_random_name(r, i);
        items[i].v = (double)pb_random_i32(r) / 64;
    }
    return (tk_num_map){items, n};
}

static inline tk_loss_values pb_random_values(pb_random *r)
{
    size_t n = pb_random_below(r, 4);
    tk_loss_value *items = pb_random_alloc(r, n, sizeof(*items));
    for (size_t i = 0; i < n; i++) {
        items[i] =
            (tk_loss_value){.name = pb_random_name(r, i), .is_text = pb_random_coin(r)};
        if (items[i].is_text) {
            items[i].text = pb_random_coin(r) ? pb_random_name(r, 2) : TK_STR("");
        } else {
            items[i].number = pb_random_coin(r) ? (double)pb_random_i32(r) / 64 : 0;
        }
    }
    return (tk_loss_values){items, n};
}

static inline tk_origins pb_random_origins(pb_random *r)
{
    size_t n = pb_random_below(r, 3);
    tk_origin *items = pb_random_alloc(r, n, sizeof(*items));
    for (size_t i = 0; i < n; i++) {
        items[i] =
            (tk_origin){.is_sampled = pb_random_coin(r),
                        .sequence_id = pb_random_name(r, i),
                        .offset = (int64_t)pb_random_below(r, 2) * INT64_C(5000000000),
                        .length = (int64_t)pb_random_below(r, 300)};
    }
    return (tk_origins){items, n};
}

static inline tk_datum pb_random_datum(pb_random *r)
{
    size_t n_chunks = pb_random_below(r, 4);
    size_t n_inputs = pb_random_below(r, 4);
    tk_chunk *chunks = pb_random_alloc(r, n_chunks, sizeof(*chunks));
    tk_named_tensor *inputs = pb_random_alloc(r, n_inputs, sizeof(*inputs));
    for (size_t i = 0; i < n_chunks; i++) {
        chunks[i] = pb_random_chunk(r);
    }
    for (size_t i = 0; i < n_inputs; i++) {
        inputs[i].name = pb_random_name(r, i);
        inputs[i].tensor =
            pb_random_below(r, 3) == 0 ? pb_random_csr(r) : pb_random_dense(r);
    }
    return (tk_datum){.model_input = {chunks, n_chunks},
                      .loss_fn_inputs = {inputs, n_inputs},
                      .model_input_spans = pb_random_origins(r),
                      .loss_fn_input_spans = pb_random_origins(r)};
}

static inline tk_fwdbwd_request pb_random_request(pb_random *r)
{
    size_t n = pb_random_below(r, 5);
    tk_datum *data = pb_random_alloc(r, n, sizeof(*data));
    for (size_t i = 0; i < n; i++) {
        data[i] = pb_random_datum(r);
    }
    return (tk_fwdbwd_request){
        .model_id = pb_random_coin(r) ? pb_random_name(r, 0) : (tk_str){NULL, 0},
        .seq_id = pb_random_coin(r) ? pb_random_i32(r) : 0,
        .data = data,
        .data_n = n,
        .loss_fn = pb_random_coin(r) ? pb_random_name(r, 1) : (tk_str){NULL, 0},
        .loss_fn_config = pb_random_nums(r),
        .loss_fn_config_v2 = pb_random_values(r),
        .forward_only = pb_random_coin(r),
    };
}

/* Same fields, dtype and trailing shape for every datum. */
static inline tk_fwdbwd_output pb_random_output(pb_random *r)
{
    size_t n = pb_random_below(r, 5) + 1;
    size_t n_fields = pb_random_below(r, 4);
    tk_tensor_map *maps = pb_random_alloc(r, n, sizeof(*maps));
    tk_named_tensor *items = pb_random_alloc(r, n * n_fields, sizeof(*items));
    for (size_t f = 0; f < n_fields; f++) {
        tk_str name = pb_random_name(r, f);
        tk_dtype dtype = pb_random_coin(r) ? TK_DTYPE_F32 : TK_DTYPE_I64;
        size_t n_dims = pb_random_below(r, 3) + 1;
        size_t count;
        tk_i64s proto = pb_random_shape(r, n_dims, &count);
        for (size_t i = 0; i < n; i++) {
            int64_t *shape = pb_random_alloc(r, n_dims, sizeof(*shape));
            memcpy(shape, proto.p, n_dims * sizeof(*shape));
            shape[0] = (int64_t)pb_random_below(r, 9);
            count = (size_t)shape[0];
            for (size_t d = 1; d < n_dims; d++) {
                count *= (size_t)shape[d];
            }
            for (size_t d = 1; d < n_dims; d++) {
                shape[0] = shape[d] == 0 ? 0 : shape[0];
            }
            items[i * n_fields + f].name = name;
            items[i * n_fields + f].tensor = (tk_tensor){
                .dtype = dtype,
                .data = pb_random_fill(r, count, 8),
                .n = count,
                .has_shape = true,
                .shape = {shape, n_dims},
            };
        }
    }
    for (size_t i = 0; i < n; i++) {
        maps[i] = (tk_tensor_map){items + i * n_fields, n_fields};
    }
    return (tk_fwdbwd_output){.loss_fn_output_type = TK_STR("TorchLossReturn"),
                              .loss_fn_outputs = maps,
                              .loss_fn_outputs_n = n,
                              .metrics = pb_random_nums(r)};
}

static inline tk_topk_logprobs pb_random_topk(pb_random *r, size_t n)
{
    size_t k = pb_random_below(r, 6) + 1;
    return (tk_topk_logprobs){n, k, pb_random_fill(r, n * k, 4),
                              pb_random_fill(r, n * k, 4)};
}

/* A tensor of this type, dense or sparse. */
static inline tk_tensor pb_random_of(pb_random *r, tk_dtype dtype)
{
    for (;;) {
        tk_tensor t = pb_random_coin(r) ? pb_random_dense(r) : pb_random_csr(r);
        if (t.dtype == dtype) {
            return t;
        }
    }
}

static inline tk_sample_response pb_random_sample(pb_random *r)
{
    tk_sample_response s = {.sequences_n = pb_random_below(r, 5)};
    tk_sequence *sequences = pb_random_alloc(r, s.sequences_n, sizeof(*sequences));
    for (size_t i = 0; i < s.sequences_n; i++) {
        size_t n = pb_random_below(r, 60);
        sequences[i] = (tk_sequence){
            .stop_reason = pb_random_coin(r) ? TK_STOP_STOP : TK_STOP_LENGTH,
            .tokens = {pb_random_fill(r, n, sizeof(int32_t)), n},
            .has_logprobs = n > 0 && pb_random_coin(r),
        };
        if (sequences[i].has_logprobs) {
            sequences[i].logprobs = (tk_f32s){pb_random_fill(r, n, sizeof(float)), n};
        }
        sequences[i].has_topk = n > 0 && pb_random_coin(r);
        if (sequences[i].has_topk) {
            sequences[i].topk = pb_random_topk(r, n);
        }
    }
    s.sequences = sequences;
    s.has_prompt_logprobs = pb_random_coin(r);
    if (s.has_prompt_logprobs) {
        size_t n = pb_random_below(r, 50) + 1;
        s.prompt_logprobs = (tk_f32s){pb_random_fill(r, n, sizeof(float)), n};
    }
    s.has_topk = pb_random_coin(r);
    if (s.has_topk) {
        s.topk = pb_random_topk(r, pb_random_below(r, 9) + 1);
    }
    s.has_target = pb_random_coin(r);
    if (s.has_target) {
        s.target_prompt_logprobs = pb_random_of(r, TK_DTYPE_F32);
    }
    s.has_alt = pb_random_coin(r);
    if (s.has_alt) {
        s.alt.tokens = pb_random_of(r, TK_DTYPE_I64);
        s.alt.logprobs = pb_random_of(r, TK_DTYPE_F32);
    }
    s.prompt_cache_hit_tokens = pb_random_coin(r) ? pb_random_i32(r) : 0;
    return s;
}

#endif
