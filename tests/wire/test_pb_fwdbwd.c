/* M-114, M-052, M-110: ForwardBackwardRequest at its edges. */
#include "support/test.h"
#include "wire/pb_fwdbwd.h"

#include "base/mem.h"
#include "support/failmem.h"
#include "wire/pb_codec.h"
#include "wire/pb_hex.h"
#include "wire/pb_random.h"

typedef struct reading {
    pb_hex hex;
    tk_arena arena;
    tk_err err;
    tk_fwdbwd_request r;
    tinkc_code code;
} reading;

static void read_hex(reading *d, const char *hex)
{
    static const tk_err none = TK_ERR_INIT;
    d->err = none;
    tk_arena_init(&d->arena, 0);
    d->r = (tk_fwdbwd_request){.model_id = TK_STR("untouched")};
    d->code = tk_pb_fwdbwd_decode(&d->r, &d->arena, pb_hex_bytes(&d->hex, hex), &d->err);
}

/* Fails with the expected code and a message, and leaves the result alone. */
static void assert_refused(const char *hex, tinkc_code code)
{
    reading d;
    read_hex(&d, hex);
    assert_int_equal(d.code, code);
    assert_int_equal(d.err.code, code);
    assert_true(d.err.message[0] != '\0');
    assert_true(tk_str_is(d.r.model_id, "untouched"));
    tk_arena_dispose(&d.arena);
}

/* An empty message has every default. */
static void test_pb_fwdbwd_empty(void **unused)
{
    reading d;
    tk_buf out;
    read_hex(&d, "");
    assert_int_equal(d.code, TINKC_OK);
    assert_int_equal(d.r.model_id.n, 0);
    assert_int_equal(d.r.seq_id, 0);
    assert_int_equal(d.r.data_n, 0);
    assert_false(d.r.forward_only);
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(tk_pb_fwdbwd_encode(&out, &d.r, NULL), TINKC_OK);
    assert_int_equal(out.n, 0);
    tk_buf_dispose(&out);
    tk_arena_dispose(&d.arena);
}

/* The last of equal scalars counts, negative and oversized int32 read as protobuf does.
 * Unknown fields are in test_pb_closed.c. */
static void test_pb_fwdbwd_scalars(void **unused)
{
    reading d;
    read_hex(&d, "0a0161 0a0162 1005 10ffffffffffffffffff01 3001 3000");
    assert_int_equal(d.code, TINKC_OK);
    assert_true(tk_str_is(d.r.model_id, "b"));
    assert_int_equal(d.r.seq_id, -1);
    assert_false(d.r.forward_only);
    tk_arena_dispose(&d.arena);
}

/* Tensor: last member of the oneof wins; shape pieces of a value that comes twice
 * concatenate. */
static void test_pb_fwdbwd_tensor_merge(void **unused)
{
    reading d;
    read_hex(&d, "1a(12( 0a(77)"
                 "12( 12(0a(01020304)) 1801 2001 )"
                 "12( 0a(0000803f) 22(01) )))");
    assert_int_equal(d.code, TINKC_OK);
    const tk_tensor *t = &d.r.data[0].loss_fn_inputs.items[0].tensor;
    assert_int_equal(t->dtype, TK_DTYPE_F32);
    assert_false(t->is_sparse);
    assert_int_equal(t->n, 1);
    assert_true(*(const float *)t->data == 1.0F);
    assert_int_equal(t->shape.n, 2);
    tk_arena_dispose(&d.arena);
}

/* The same member of the oneof twice merges; what lay in another one is gone. */
static void test_pb_fwdbwd_csr_merge(void **unused)
{
    reading d;
    read_hex(&d, "1a(12( 0a(77) 12( 0a(ffff) 1801 22(0102)"
                 "12( 12(0000000000000000 0100000000000000) )"
                 "12( 0a(0000803f) 1a(0100000000000000) ))))");
    assert_int_equal(d.code, TINKC_OK);
    const tk_tensor *t = &d.r.data[0].loss_fn_inputs.items[0].tensor;
    assert_true(t->is_sparse);
    assert_int_equal(t->n, 1);
    assert_int_equal(t->crow.n, 2);
    assert_int_equal(t->col.p[0], 1);
    tk_arena_dispose(&d.arena);
}

/* A chunk's oneof: the same member merges, another one starts afresh. */
static void test_pb_fwdbwd_chunk_merge(void **unused)
{
    reading d;
    read_hex(&d, "1a(0a( 12(12(706e67)) 12(0a(abcd)) 12(18ac02) ))"
                 "1a(0a( 12(12(706e67) 1805) 0a(0a(07000000)) ))");
    assert_int_equal(d.code, TINKC_OK);
    const tk_chunk *image = &d.r.data[0].model_input.chunks[0];
    assert_int_equal(image->kind, TK_CHUNK_IMAGE);
    assert_int_equal(image->format, TK_IMAGE_PNG);
    assert_int_equal(image->data.n, 2);
    assert_int_equal(image->expected_tokens.is, TK_SET);
    assert_int_equal(image->expected_tokens.v, 300);
    const tk_chunk *text = &d.r.data[1].model_input.chunks[0];
    assert_int_equal(text->kind, TK_CHUNK_TEXT);
    assert_int_equal(text->tokens.n, 1);
    assert_int_equal(text->tokens.p[0], 7);
    assert_int_equal(text->expected_tokens.is, TK_UNSET);
    tk_arena_dispose(&d.arena);
}

/* Equal map keys: the last counts; a missing key is "". int32 and bfloat16 widen. */
static void test_pb_fwdbwd_map(void **unused)
{
    reading d;
    read_hex(&d, "1a( 12(0a(61) 12(0a() 1801))"
                 "    12(12(0a(feffffff) 1803))"
                 "    12(0a(61) 12(0a(803f) 1804)) )");
    assert_int_equal(d.code, TINKC_OK);
    const tk_tensor_map *map = &d.r.data[0].loss_fn_inputs;
    assert_int_equal(map->n, 2);
    assert_true(tk_str_is(map->items[0].name, "a"));
    assert_int_equal(map->items[0].tensor.dtype, TK_DTYPE_F32);
    assert_true(*(const float *)map->items[0].tensor.data == 1.0F);
    assert_int_equal(map->items[1].name.n, 0);
    assert_int_equal(map->items[1].tensor.dtype, TK_DTYPE_I64);
    assert_int_equal(*(const int64_t *)map->items[1].tensor.data, -2);
    tk_arena_dispose(&d.arena);
}

static void test_pb_fwdbwd_text_refusals(void **unused)
{
    assert_refused("0a(c328)", TINKC_E_PARSE);                     /* model_id */
    assert_refused("22(ff)", TINKC_E_PARSE);                       /* loss_fn */
    assert_refused("1a(12(0a(ff) 12(0a() 1801)))", TINKC_E_PARSE); /* tensor name */
    assert_refused("2a(0a(ff))", TINKC_E_PARSE);                   /* config key */
    assert_refused("1a(0a(12(12(ff))))", TINKC_E_PARSE);           /* image format */
}

static void test_pb_fwdbwd_chunk_refusals(void **unused)
{
    assert_refused("1a(0a())", TINKC_E_DECODE);               /* of no kind */
    assert_refused("1a(0a(22()))", TINKC_E_DECODE);           /* of a newer kind */
    assert_refused("1a(0a(12()))", TINKC_E_DECODE);           /* image without format */
    assert_refused("1a(0a(12(12(676966))))", TINKC_E_DECODE); /* gif */
    assert_refused("1a(0a(0a(0a(0100))))", TINKC_E_DECODE);   /* half a token */
}

static void test_pb_fwdbwd_tensor_refusals(void **unused)
{
    assert_refused("1a(12(0a(77)))", TINKC_E_DECODE);               /* no value */
    assert_refused("1a(12(0a(77) 12(1801)))", TINKC_E_DECODE);      /* no encoding */
    assert_refused("1a(12(0a(77) 12(0a())))", TINKC_E_DECODE);      /* no dtype */
    assert_refused("1a(12(0a(77) 12(0a() 1805)))", TINKC_E_DECODE); /* dtype 5 */
    assert_refused("1a(12(0a(77) 12(0a() 18ffffffffffffffffff01)))", TINKC_E_DECODE);
    assert_refused("1a(12(0a(77) 12(0a(000000) 1801)))", TINKC_E_DECODE); /* 3 bytes */
    /* one float in shapes [2], [-1], [2^62, 4] (64 bits of it are 0), [0] */
    assert_refused("1a(12(0a(77) 12(0a(00000000) 1801 2002)))", TINKC_E_DECODE);
    assert_refused("1a(12(0a(77) 12(0a(00000000) 1801 20ffffffffffffffffff01)))",
                   TINKC_E_DECODE);
    assert_refused("1a(12(0a(77) 12(0a(00000000) 1801 22(808080808080808040 04))))",
                   TINKC_E_DECODE);
    assert_refused("1a(12(0a(77) 12(0a(00000000) 1801 2000)))", TINKC_E_DECODE);
    /* the same product for no float, which a wrapped product would accept */
    assert_refused("1a(12(0a(77) 12(0a() 1801 22(808080808080808040 04))))",
                   TINKC_E_DECODE);
}

/* The error names the value and the byte. */
static void test_pb_fwdbwd_error_place(void **unused)
{
    reading d;
    read_hex(&d, "0a(6d) 1a() 1a(12(0a(77) 12(0a(000000) 1801)))");
    assert_int_equal(d.code, TINKC_E_DECODE);
    assert_string_equal(d.err.path, "data[1].loss_fn_inputs.w");
    assert_int_equal(d.err.offset, 16);
    tk_arena_dispose(&d.arena);
}

/* A CSR tensor whose indices do not fit is refused: code that walks its rows trusts
 * them. */
static void test_pb_fwdbwd_csr_refusals(void **unused)
{
    static const int64_t shape[] = {2, 3};
    static const int64_t good_crow[] = {0, 1, 2};
    static const int64_t good_col[] = {0, 2};
    static const float values[] = {1, 2};
    static const struct {
        int64_t shape[2];
        int64_t crow[3];
        int64_t col[2];
    } bad[] = {
        {{2, 3}, {1, 1, 2}, {0, 2}}, {{2, 3}, {0, 3, 2}, {0, 2}},
        {{2, 3}, {0, 1, 3}, {0, 2}}, {{2, 3}, {0, -1, 2}, {0, 2}},
        {{2, 3}, {0, 1, 2}, {0, 3}}, {{2, 3}, {0, 1, 2}, {-1, 2}},
        {{2, 0}, {0, 1, 2}, {0, 0}}, {{2, 2}, {0, 1, 2}, {0, 2}},
    };
    tk_named_tensor item = {TK_STR("w"),
                            {.dtype = TK_DTYPE_F32,
                             .data = values,
                             .n = 2,
                             .has_shape = true,
                             .shape = {shape, 2},
                             .is_sparse = true,
                             .crow = {good_crow, 3},
                             .col = {good_col, 2}}};
    const tk_datum datum = {.model_input = {NULL, 0}, .loss_fn_inputs = {&item, 1}};
    const tk_fwdbwd_request request = {.data = &datum, .data_n = 1};
    for (size_t i = 0; i <= TK_ARRAY_LEN(bad); i++) {
        tk_buf out;
        tk_arena arena;
        tk_fwdbwd_request back;
        bool is_good = i == TK_ARRAY_LEN(bad);
        tk_buf_init(&out, TK_MIB);
        tk_arena_init(&arena, 0);
        item.tensor.shape.p = is_good ? shape : bad[i].shape;
        item.tensor.crow.p = is_good ? good_crow : bad[i].crow;
        item.tensor.col.p = is_good ? good_col : bad[i].col;
        assert_int_equal(tk_pb_fwdbwd_encode(&out, &request, NULL), TINKC_OK);
        tk_bytes bytes = {(const unsigned char *)out.p, out.n};
        assert_int_equal(tk_pb_fwdbwd_decode(&back, &arena, bytes, NULL),
                         is_good ? TINKC_OK : TINKC_E_DECODE);
        tk_arena_dispose(&arena);
        tk_buf_dispose(&out);
    }
}

static void assert_not_encoded(const tk_fwdbwd_request *request, tinkc_code code,
                               const char *path)
{
    tk_buf out;
    tk_err err = TK_ERR_INIT;
    tk_buf_init(&out, TK_MIB);
    tk_buf_puts(&out, "before");
    assert_int_equal(tk_pb_fwdbwd_encode(&out, request, &err), code);
    assert_int_equal(out.n, 6);
    assert_string_equal(err.path, path);
    tk_buf_dispose(&out);
}

/* B-188: what has no protobuf form is refused before anything is sent, by name. */
static void test_pb_fwdbwd_encode_chunk_refusals(void **unused)
{
    tk_chunk chunks[] = {{.kind = TK_CHUNK_TEXT}, {.kind = TK_CHUNK_IMAGE_POINTER}};
    const tk_datum data[] = {{.model_input = {NULL, 0}, .loss_fn_inputs = {NULL, 0}},
                             {.model_input = {chunks, 2}, .loss_fn_inputs = {NULL, 0}}};
    const tk_fwdbwd_request request = {.data = data, .data_n = 2};
    assert_not_encoded(&request, TINKC_E_INVALID, "data[1].model_input[1]");
    chunks[1].kind = TK_CHUNK_UNKNOWN;
    assert_not_encoded(&request, TINKC_E_INVALID, "data[1].model_input[1]");
    chunks[1].kind = TK_CHUNK_IMAGE;
    chunks[1].expected_tokens = (tk_f_i64){TK_SET, INT64_C(1) << 31};
    assert_not_encoded(&request, TINKC_E_INVALID, "data[1].model_input[1]");
}

static void test_pb_fwdbwd_encode_tensor_refusals(void **unused)
{
    static const int64_t numbers[] = {3, 1};
    tk_named_tensor item = {TK_STR("w"),
                            {.dtype = TK_DTYPE_I64, .data = numbers, .n = 2}};
    const tk_datum datum = {.model_input = {NULL, 0}, .loss_fn_inputs = {&item, 1}};
    const tk_fwdbwd_request request = {.data = &datum, .data_n = 1};
    item.tensor.has_shape = true;
    item.tensor.shape = (tk_i64s){numbers, 1};
    assert_not_encoded(&request, TINKC_E_INVALID, "data[0].loss_fn_inputs.w");
    item.tensor.has_shape = false;
    item.tensor.is_sparse = true;
    assert_not_encoded(&request, TINKC_E_INVALID, "data[0].loss_fn_inputs.w");
    item.tensor.is_sparse = false;
    item.tensor.dtype = TK_DTYPE_BF16;
    assert_not_encoded(&request, TINKC_E_INVALID, "data[0].loss_fn_inputs.w");
    item.tensor.dtype = TK_DTYPE_UNSPECIFIED;
    assert_not_encoded(&request, TINKC_E_INVALID, "data[0].loss_fn_inputs.w");
    item.tensor.dtype = TK_DTYPE_I64;
    item.tensor.n = SIZE_MAX / 8 + 2; /* times 8 is 8 */
    assert_not_encoded(&request, TINKC_E_LIMIT, "data[0].loss_fn_inputs.w");
    item.tensor.n = 2;
    item.name = TK_STR("\xFF");
    assert_not_encoded(&request, TINKC_E_INVALID, "data[0].loss_fn_inputs.?");
}

static void test_pb_fwdbwd_encode_head_refusals(void **unused)
{
    tk_fwdbwd_request request = {.seq_id = INT64_C(1) << 31};
    assert_not_encoded(&request, TINKC_E_INVALID, "seq_id");
    request = (tk_fwdbwd_request){.model_id = TK_STR("\xC3")};
    assert_not_encoded(&request, TINKC_E_INVALID, "model_id");
    request = (tk_fwdbwd_request){.loss_fn = TK_STR("\xC3")};
    assert_not_encoded(&request, TINKC_E_INVALID, "loss_fn");
    const tk_named_num bad = {TK_STR("\xC3"), 1};
    request = (tk_fwdbwd_request){.loss_fn_config = {&bad, 1}};
    assert_not_encoded(&request, TINKC_E_INVALID, "loss_fn_config");
}

/* One datum under the cap, two over it: the buffer says so and holds nothing. */
static void test_pb_fwdbwd_encode_limit(void **unused)
{
    static const int32_t tokens[16];
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 16}};
    const tk_datum data[] = {{.model_input = {&chunk, 1}, .loss_fn_inputs = {NULL, 0}},
                             {.model_input = {&chunk, 1}, .loss_fn_inputs = {NULL, 0}}};
    tk_fwdbwd_request request = {.data = data, .data_n = 1};
    for (size_t max = 60; max < 150; max++) {
        tk_buf out;
        tk_buf_init(&out, max);
        request.data_n = 1;
        tinkc_code want = max < 72 ? TINKC_E_LIMIT : TINKC_OK;
        assert_int_equal(tk_pb_fwdbwd_encode(&out, &request, NULL), want);
        assert_int_equal(out.n, want == TINKC_OK ? 72 : 0);
        tk_buf_dispose(&out);
        request.data_n = 2;
        want = max < 144 ? TINKC_E_LIMIT : TINKC_OK;
        assert_int_equal(tk_pb_fwdbwd_encode(&out, &request, NULL), want);
        assert_int_equal(out.n, want == TINKC_OK ? 144 : 0);
        tk_buf_dispose(&out);
    }
}

/* encoding a large tensor adds its size in memory, once. */
static void test_pb_fwdbwd_encode_memory(void **unused)
{
    const size_t n = 20 * 1000 * 1000;
    float *values = tk_zarray(n, sizeof(*values));
    assert_non_null(values);
    const tk_named_tensor item = {TK_STR("weights"),
                                  {.dtype = TK_DTYPE_F32, .data = values, .n = n}};
    const tk_datum datum = {.model_input = {NULL, 0}, .loss_fn_inputs = {&item, 1}};
    const tk_fwdbwd_request request = {.data = &datum, .data_n = 1};
    tk_buf out;
    tk_buf_init(&out, TK_BODY_MAX_BYTES);
    failmem_start();
    assert_int_equal(tk_pb_fwdbwd_encode(&out, &request, NULL), TINKC_OK);
    size_t peak = failmem_peak_bytes();
    size_t points = failmem_count();
    size_t bytes = out.n;
    tk_buf_dispose(&out);
    assert_int_equal(failmem_stop(), 0);
    tk_free(values);
    assert_true(bytes > n * 4);
    assert_int_equal(points, 1);
    assert_true(peak < bytes + bytes / 10);
}

static tk_fwdbwd_request long_request(pb_random *r)
{
    tk_fwdbwd_request request;
    do {
        request = pb_random_request(r);
    } while (request.data_n < 3 || request.loss_fn_config.n == 0);
    return request;
}

static tinkc_code encode(tk_buf *out, const void *message, tk_err *err)
{
    return tk_pb_fwdbwd_encode(out, message, err);
}

static tinkc_code decode(const void *message, tk_arena *arena, tk_bytes bytes,
                         tk_err *err)
{
    tk_fwdbwd_request back = {.data_n = 99};
    tinkc_code code = tk_pb_fwdbwd_decode(&back, arena, bytes, err);
    const tk_fwdbwd_request *whole = message;
    assert_true(code == TINKC_OK ? back.data_n <= whole->data_n : back.data_n == 99);
    return code;
}

static void test_pb_fwdbwd_truncated(void **unused)
{
    pb_random r;
    pb_random_init(&r, 7);
    tk_fwdbwd_request request = long_request(&r);
    pb_codec_truncate(&(pb_codec){&request, encode, decode});
    tk_arena_dispose(&r.arena);
}

/* A small arena ends the reading with its limit, not with a partial message. */
static void test_pb_fwdbwd_arena_limit(void **unused)
{
    pb_random r;
    tk_buf out;
    tk_arena arena;
    tk_err err = TK_ERR_INIT;
    tk_fwdbwd_request back;
    pb_random_init(&r, 7);
    tk_buf_init(&out, TK_MIB);
    tk_fwdbwd_request request = long_request(&r);
    assert_int_equal(tk_pb_fwdbwd_encode(&out, &request, NULL), TINKC_OK);
    tk_arena_init(&arena, 256);
    tk_bytes bytes = {(const unsigned char *)out.p, out.n};
    assert_int_equal(tk_pb_fwdbwd_decode(&back, &arena, bytes, &err), TINKC_E_LIMIT);
    tk_arena_dispose(&arena);
    tk_buf_dispose(&out);
    tk_arena_dispose(&r.arena);
}

static tinkc_code read_many_tensors(size_t n)
{
    tk_buf out;
    tk_arena arena;
    tk_fwdbwd_request back;
    tk_buf_init(&out, TK_MIB);
    tk_arena_init(&arena, 0);
    size_t body = n * 12;
    const unsigned char head[] = {0x1a, (unsigned char)(body | 0x80),
                                  (unsigned char)(body >> 7)};
    tk_buf_put(&out, head, sizeof(head));
    for (size_t i = 0; i < n; i++) {
        char high = (char)('a' + i / 16);
        char low = (char)('a' + i % 16);
        const char entry[] = {0x12, 10, 0x0a, 2, high, low, 0x12, 4, 0x0a, 0, 0x18, 1};
        tk_buf_put(&out, entry, sizeof(entry));
    }
    tk_bytes bytes = {(const unsigned char *)out.p, out.n};
    tinkc_code code = tk_pb_fwdbwd_decode(&back, &arena, bytes, NULL);
    tk_arena_dispose(&arena);
    tk_buf_dispose(&out);
    return code;
}

static void test_pb_fwdbwd_map_limit(void **unused)
{
    assert_int_equal(read_many_tensors(TK_TENSOR_MAP_MAX), TINKC_OK);
    assert_int_equal(read_many_tensors(TK_TENSOR_MAP_MAX + 1), TINKC_E_LIMIT);
}

static void test_pb_fwdbwd_sweep(void **unused)
{
    pb_random r;
    pb_random_init(&r, 7);
    tk_fwdbwd_request request = long_request(&r);
    pb_codec_sweep(&(pb_codec){&request, encode, decode});
    tk_arena_dispose(&r.arena);
}

/* A message that is large enough for memory in one piece. */
static void test_pb_fwdbwd_sweep_large(void **unused)
{
    static const float values[20000];
    const tk_named_tensor item = {
        TK_STR("weights"),
        {.dtype = TK_DTYPE_F32, .data = values, .n = TK_ARRAY_LEN(values)}};
    const tk_datum datum = {.model_input = {NULL, 0}, .loss_fn_inputs = {&item, 1}};
    tk_fwdbwd_request request = {.data = &datum, .data_n = 1};
    pb_codec_sweep(&(pb_codec){&request, encode, decode});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pb_fwdbwd_empty),
        cmocka_unit_test(test_pb_fwdbwd_scalars),
        cmocka_unit_test(test_pb_fwdbwd_tensor_merge),
        cmocka_unit_test(test_pb_fwdbwd_csr_merge),
        cmocka_unit_test(test_pb_fwdbwd_chunk_merge),
        cmocka_unit_test(test_pb_fwdbwd_map),
        cmocka_unit_test(test_pb_fwdbwd_text_refusals),
        cmocka_unit_test(test_pb_fwdbwd_chunk_refusals),
        cmocka_unit_test(test_pb_fwdbwd_tensor_refusals),
        cmocka_unit_test(test_pb_fwdbwd_error_place),
        cmocka_unit_test(test_pb_fwdbwd_csr_refusals),
        cmocka_unit_test(test_pb_fwdbwd_encode_chunk_refusals),
        cmocka_unit_test(test_pb_fwdbwd_encode_tensor_refusals),
        cmocka_unit_test(test_pb_fwdbwd_encode_head_refusals),
        cmocka_unit_test(test_pb_fwdbwd_encode_limit),
        cmocka_unit_test(test_pb_fwdbwd_encode_memory),
        cmocka_unit_test(test_pb_fwdbwd_truncated),
        cmocka_unit_test(test_pb_fwdbwd_arena_limit),
        cmocka_unit_test(test_pb_fwdbwd_map_limit),
        cmocka_unit_test(test_pb_fwdbwd_sweep),
        cmocka_unit_test(test_pb_fwdbwd_sweep_large),
    };
    return cmocka_run_group_tests_name("pb_fwdbwd", tests, NULL, NULL);
}
