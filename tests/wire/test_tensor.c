/* Tensors from C arrays, their validity and their sparse form (A-048, A-052..A-057,
 * M-110..M-112). */
#include "wire/tensor.h"

#include <float.h>
#include <math.h>

#include "base/limits.h"
#include "support/failmem.h"
#include "support/test.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

/* A 1-D source over a C array. */
#define SOURCE(e, array)                                                                 \
    (tk_tensor_source)                                                                   \
    {                                                                                    \
        .elem = (e), .data = (array), .ndim = 1, .shape = (const int64_t[])              \
        {                                                                                \
            (int64_t) TK_ARRAY_LEN(array)                                                \
        }                                                                                \
    }

static tk_tensor convert(tk_tensor_source source, tk_dtype want)
{
    tk_tensor tensor = {.n = 99};
    tk_err err = TK_ERR_INIT;
    if (tk_tensor_from(&tensor, &arena, &source, want, NULL, &err) != TINKC_OK) {
        fail_msg("%s: %s", err.path, err.message);
    }
    assert_int_equal(tk_tensor_check(&tensor, &err), TINKC_OK);
    return tensor;
}

static void refuse(tk_tensor_source source, tk_dtype want, const char *path)
{
    tk_tensor tensor = {.n = 99};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tensor_from(&tensor, &arena, &source, want, NULL, &err),
                     TINKC_E_INVALID);
    assert_string_equal(err.path, path);
    assert_int_equal(tensor.n, 99);
}

static void expect_i64(tk_tensor t, const int64_t *want, size_t n)
{
    assert_int_equal(t.dtype, TK_DTYPE_I64);
    assert_int_equal(t.n, n);
    assert_memory_equal(t.data, want, n * sizeof(*want));
}

static void expect_f32(tk_tensor t, const float *want, size_t n)
{
    assert_int_equal(t.dtype, TK_DTYPE_F32);
    assert_int_equal(t.n, n);
    assert_memory_equal(t.data, want, n * sizeof(*want));
}

/* M-111: every element type becomes int64 or float32, extremes included. */
static void test_tensor_every_type(void **unused)
{
    static const int8_t i8[] = {INT8_MIN, -1, INT8_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_I8, i8), TK_DTYPE_I64), (int64_t[]){-128, -1, 127},
               3);
    static const int16_t i16[] = {INT16_MIN, 0, INT16_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_I16, i16), TK_DTYPE_I64),
               (int64_t[]){INT16_MIN, 0, INT16_MAX}, 3);
    static const int32_t i32[] = {INT32_MIN, 0, INT32_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_I32, i32), TK_DTYPE_I64),
               (int64_t[]){INT32_MIN, 0, INT32_MAX}, 3);
    static const int64_t i64[] = {INT64_MIN, 0, INT64_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_I64, i64), TK_DTYPE_I64), i64, 3);
    static const uint8_t u8[] = {0, UINT8_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_U8, u8), TK_DTYPE_I64), (int64_t[]){0, 255}, 2);
    static const uint16_t u16[] = {0, UINT16_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_U16, u16), TK_DTYPE_I64), (int64_t[]){0, 65535}, 2);
    static const uint32_t u32[] = {0, UINT32_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_U32, u32), TK_DTYPE_I64),
               (int64_t[]){0, UINT32_MAX}, 2);
    static const uint64_t u64[] = {0, INT64_MAX};
    expect_i64(convert(SOURCE(TK_ELEM_U64, u64), TK_DTYPE_I64), (int64_t[]){0, INT64_MAX},
               2);
    static const bool flags[] = {true, false};
    expect_f32(convert(SOURCE(TK_ELEM_BOOL, flags), TK_DTYPE_F32), (float[]){1, 0}, 2);
    static const float f32[] = {-0.5F, FLT_MAX, FLT_MIN};
    expect_f32(convert(SOURCE(TK_ELEM_F32, f32), TK_DTYPE_F32), f32, 3);
    static const double f64[] = {-0.5, (double)FLT_MAX, 0x1p-149};
    expect_f32(convert(SOURCE(TK_ELEM_F64, f64), TK_DTYPE_F32),
               (float[]){-0.5F, FLT_MAX, 0x1p-149F}, 3);
    static const uint16_t bf16[] = {0x3F80, 0xBF00, 0x0000, 0x4049};
    expect_f32(convert(SOURCE(TK_ELEM_BF16, bf16), TK_DTYPE_F32),
               (float[]){1.0F, -0.5F, 0.0F, 3.140625F}, 4);
    expect_f32(convert(SOURCE(TK_ELEM_I32, i32), TK_DTYPE_F32),
               (float[]){-0x1p31F, 0, 0x1p31F}, 3);
    static const double whole[] = {-2.0, 4e18};
    expect_i64(convert(SOURCE(TK_ELEM_F64, whole), TK_DTYPE_I64),
               (int64_t[]){-2, INT64_C(4000000000000000000)}, 2);
}

/* A-057, M-111: what does not fit is refused, with its place. */
static void test_tensor_overflow(void **unused)
{
    static const uint64_t u64[] = {1, (uint64_t)INT64_MAX + 1};
    refuse(SOURCE(TK_ELEM_U64, u64), TK_DTYPE_I64, "[1]");
    refuse(SOURCE(TK_ELEM_U64, u64), TK_DTYPE_F32, "[1]");
    static const double wide[] = {0.0, 1.0, 3.5e38};
    refuse(SOURCE(TK_ELEM_F64, wide), TK_DTYPE_F32, "[2]");
    static const double fraction[] = {1.5};
    refuse(SOURCE(TK_ELEM_F64, fraction), TK_DTYPE_I64, "[0]");
    static const float big[] = {0x1p63F};
    refuse(SOURCE(TK_ELEM_F32, big), TK_DTYPE_I64, "[0]");
    static const float odd[] = {NAN};
    refuse(SOURCE(TK_ELEM_F32, odd), TK_DTYPE_I64, "[0]");
    static const uint16_t inf[] = {0x7F80};
    refuse(SOURCE(TK_ELEM_BF16, inf), TK_DTYPE_I64, "[0]");
    static const float low[] = {-0x1p63F};
    expect_i64(convert(SOURCE(TK_ELEM_F32, low), TK_DTYPE_I64), (int64_t[]){INT64_MIN},
               1);
    /* The largest double that still rounds to FLT_MAX, and the next. */
    static const double edge[] = {0x1.fffffefffffffp127};
    expect_f32(convert(SOURCE(TK_ELEM_F64, edge), TK_DTYPE_F32), (float[]){FLT_MAX}, 1);
    static const double over[] = {0x1.ffffffp127};
    refuse(SOURCE(TK_ELEM_F64, over), TK_DTYPE_F32, "[0]");
}

/* rounding and non-finite values are counted, not refused. */
static void test_tensor_notes(void **unused)
{
    static const double f64[] = {0.1, 0.5, (double)NAN, (double)INFINITY, 1.0 / 3.0};
    tk_tensor_source source = SOURCE(TK_ELEM_F64, f64);
    tk_tensor_notes notes = {9, 9};
    tk_tensor t;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tensor_from(&t, &arena, &source, TK_DTYPE_F32, &notes, &err),
                     TINKC_OK);
    assert_int_equal(notes.rounded, 2);
    assert_int_equal(notes.non_finite, 2);
    assert_true(isnan(((const float *)t.data)[2]));
    assert_true(isinf(((const float *)t.data)[3]));
    static const int64_t ints[] = {16777216, 16777217, 16777218, INT64_MAX, INT64_MIN};
    source = SOURCE(TK_ELEM_I64, ints);
    assert_int_equal(tk_tensor_from(&t, &arena, &source, TK_DTYPE_F32, &notes, &err),
                     TINKC_OK);
    assert_int_equal(notes.rounded, 2);
    assert_int_equal(notes.non_finite, 0);
}

/* A-057, as a property: over many random numbers, conversion equals C's own. */
static void test_tensor_random(void **unused)
{
    enum { N = 1500 }; /* more than two blocks */
    static double in[N];
    static uint16_t halves[N];
    uint64_t state = 7;
    for (size_t i = 0; i < N; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
        in[i] = ldexp((double)(int64_t)state, (int)((state >> 40) % 80) - 100);
        halves[i] = (uint16_t)(state >> 48);
    }
    tk_tensor t = convert(SOURCE(TK_ELEM_F64, in), TK_DTYPE_F32);
    for (size_t i = 0; i < N; i++) {
        assert_true(((const float *)t.data)[i] == (float)in[i]);
    }
    t = convert(SOURCE(TK_ELEM_BF16, halves), TK_DTYPE_F32);
    for (size_t i = 0; i < N; i++) {
        uint32_t bits;
        memcpy(&bits, (const float *)t.data + i, sizeof(bits));
        bool nan = (halves[i] & 0x7F80) == 0x7F80 && (halves[i] & 0x7F) != 0;
        assert_true(nan || bits == (uint32_t)halves[i] << 16);
    }
}

/* A-053, M-112: the field name decides; integers under `weights` become float32. */
static void test_tensor_field_names(void **unused)
{
    static const char *const reals[] = {"weights", "advantages", "logprobs",
                                        "clip_low_threshold", "clip_high_threshold"};
    tk_dtype dtype = TK_DTYPE_UNSPECIFIED;
    tk_err err = TK_ERR_INIT;
    for (size_t i = 0; i < TK_ARRAY_LEN(reals); i++) {
        assert_int_equal(tk_tensor_field_dtype(&dtype, tk_str_of(reals[i]), &err),
                         TINKC_OK);
        assert_int_equal(dtype, TK_DTYPE_F32);
    }
    static const int32_t ones[] = {1, 0, 1};
    expect_f32(convert(SOURCE(TK_ELEM_I32, ones), dtype), (float[]){1, 0, 1}, 3);
    assert_int_equal(tk_tensor_field_dtype(&dtype, TK_STR("target_tokens"), &err),
                     TINKC_OK);
    assert_int_equal(dtype, TK_DTYPE_I64);
    assert_int_equal(tk_tensor_field_dtype(&dtype, TK_STR("mask"), &err),
                     TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "\"mask\""));
    assert_int_equal(dtype, TK_DTYPE_I64);
}

/* inference from the elements, for callers that ask; empty gives float32. */
static void test_tensor_inference(void **unused)
{
    assert_int_equal(tk_tensor_infer_dtype(TK_ELEM_I32, 2), TK_DTYPE_I64);
    assert_int_equal(tk_tensor_infer_dtype(TK_ELEM_U8, 1), TK_DTYPE_I64);
    assert_int_equal(tk_tensor_infer_dtype(TK_ELEM_F64, 1), TK_DTYPE_F32);
    assert_int_equal(tk_tensor_infer_dtype(TK_ELEM_BF16, 1), TK_DTYPE_F32);
    assert_int_equal(tk_tensor_infer_dtype(TK_ELEM_I32, 0), TK_DTYPE_F32);
}

/* [n] for a list, the full shape for nested input, [0] for an empty one. */
static void test_tensor_shapes(void **unused)
{
    static const int32_t flat[] = {1, 2, 3};
    tk_tensor t = convert(SOURCE(TK_ELEM_I32, flat), TK_DTYPE_I64);
    assert_true(t.has_shape);
    assert_int_equal(t.shape.n, 1);
    assert_int_equal(t.shape.p[0], 3);
    const tk_tensor_source none = {
        .elem = TK_ELEM_F32, .ndim = 1, .shape = (const int64_t[]){0}};
    t = convert(none, TK_DTYPE_F32);
    assert_int_equal(t.n, 0);
    assert_int_equal(t.shape.p[0], 0);
    const tk_tensor_source scalar = {.elem = TK_ELEM_I32, .data = flat};
    t = convert(scalar, TK_DTYPE_I64);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.shape.n, 0);
    const tk_tensor_source negative = {
        .elem = TK_ELEM_I32, .data = flat, .ndim = 2, .shape = (const int64_t[]){3, -1}};
    refuse(negative, TK_DTYPE_I64, "");
    const tk_tensor_source missing = {
        .elem = TK_ELEM_I32, .ndim = 1, .shape = (const int64_t[]){1}};
    refuse(missing, TK_DTYPE_I64, "");
    refuse(SOURCE((tk_elem)77, flat), TK_DTYPE_I64, "");
    refuse(SOURCE(TK_ELEM_I32, flat), TK_DTYPE_BF16, "");
    const tk_tensor_source huge = {.elem = TK_ELEM_I32,
                                   .data = flat,
                                   .ndim = 2,
                                   .shape = (const int64_t[]){INT64_MAX, INT64_MAX}};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tensor_from(&t, &arena, &huge, TK_DTYPE_I64, NULL, &err),
                     TINKC_E_LIMIT);
}

/* rows of equal length give a matrix, ragged ones are refused. */
static void test_tensor_rows(void **unused)
{
    static const int32_t a[] = {1, 2}, b[] = {3, 4}, c[] = {5};
    const void *rows[] = {a, b, c};
    size_t lengths[] = {2, 2, 1};
    tk_tensor_rows nested = {TK_ELEM_I32, rows, lengths, 2};
    tk_tensor t;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tensor_from_rows(&t, &arena, &nested, TK_DTYPE_I64, NULL, &err),
                     TINKC_OK);
    expect_i64(t, (int64_t[]){1, 2, 3, 4}, 4);
    assert_int_equal(t.shape.n, 2);
    assert_int_equal(t.shape.p[0], 2);
    assert_int_equal(t.shape.p[1], 2);
    nested.n = 3;
    assert_int_equal(tk_tensor_from_rows(&t, &arena, &nested, TK_DTYPE_I64, NULL, &err),
                     TINKC_E_INVALID);
    assert_string_equal(err.path, "[2]");
    nested.n = 0;
    assert_int_equal(tk_tensor_from_rows(&t, &arena, &nested, TK_DTYPE_F32, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(t.shape.n, 1);
    assert_int_equal(t.shape.p[0], 0);
    lengths[0] = lengths[1] = 0;
    nested.n = 2;
    assert_int_equal(tk_tensor_from_rows(&t, &arena, &nested, TK_DTYPE_F32, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(t.n, 0);
    assert_int_equal(t.shape.p[0], 2);
}

static tinkc_code produce_squares(void *out, size_t first, size_t n, void *user)
{
    size_t *calls = user;
    if (*calls == 0) {
        return TINKC_E_IO;
    }
    (*calls)--;
    for (size_t i = 0; i < n; i++) {
        ((double *)out)[i] = (double)((first + i) * (first + i));
    }
    return TINKC_OK;
}

/* a strided view and a callback give what a contiguous array gives. */
static void test_tensor_strided_and_produced(void **unused)
{
    static const int32_t matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
    tk_tensor_source view = {.elem = TK_ELEM_I32,
                             .data = matrix,
                             .ndim = 2,
                             .shape = (const int64_t[]){3, 2},
                             .strides = (const int64_t[]){1, 3}};
    expect_i64(convert(view, TK_DTYPE_I64), (int64_t[]){1, 4, 2, 5, 3, 6}, 6);
    view.data = &matrix[1][2];
    view.ndim = 1;
    view.shape = (const int64_t[]){6};
    view.strides = (const int64_t[]){-1};
    expect_i64(convert(view, TK_DTYPE_I64), (int64_t[]){6, 5, 4, 3, 2, 1}, 6);
    view.strides = (const int64_t[]){0};
    expect_i64(convert(view, TK_DTYPE_I64), (int64_t[]){6, 6, 6, 6, 6, 6}, 6);
    view.strides = NULL;
    view.data = matrix;
    expect_i64(convert(view, TK_DTYPE_I64), (int64_t[]){1, 2, 3, 4, 5, 6}, 6);

    size_t calls = 3;
    const tk_tensor_source produced = {.elem = TK_ELEM_F64,
                                       .ndim = 1,
                                       .shape = (const int64_t[]){1200},
                                       .produce = produce_squares,
                                       .user = &calls};
    tk_tensor t = convert(produced, TK_DTYPE_F32);
    assert_int_equal(calls, 0);
    for (size_t i = 0; i < 1200; i++) {
        assert_true(((const float *)t.data)[i] == (float)(i * i));
    }
    calls = 1;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tensor_from(&t, &arena, &produced, TK_DTYPE_F32, NULL, &err),
                     TINKC_E_IO);
}

/* an array that already is what travels is borrowed, not copied. */
static void test_tensor_borrows(void **unused)
{
    static const float f32[] = {1, 2};
    static const int64_t i64[] = {1, 2};
    assert_ptr_equal(convert(SOURCE(TK_ELEM_F32, f32), TK_DTYPE_F32).data, f32);
    assert_ptr_equal(convert(SOURCE(TK_ELEM_I64, i64), TK_DTYPE_I64).data, i64);
    unsigned char bytes[1 + sizeof(i64)];
    memcpy(bytes + 1, i64, sizeof(i64));
    tk_tensor_source odd = SOURCE(TK_ELEM_I64, i64);
    odd.data = bytes + 1; /* not aligned: has to be copied */
    tk_tensor copied = convert(odd, TK_DTYPE_I64);
    assert_ptr_not_equal(copied.data, odd.data);
    expect_i64(copied, i64, 2);
}

static tinkc_code check(tk_tensor t)
{
    return tk_tensor_check(&t, NULL);
}

/* without a shape it is 1-D; with one, the numbers must agree. */
static void test_tensor_check_dense(void **unused)
{
    tk_tensor t = {.dtype = TK_DTYPE_F32, .n = 6};
    size_t count = 0;
    assert_int_equal(check(t), TINKC_OK);
    assert_true(tk_tensor_count(&t, &count));
    assert_int_equal(count, 6);
    t.has_shape = true;
    t.shape = (tk_i64s){(const int64_t[]){2, 3}, 2};
    assert_int_equal(check(t), TINKC_OK);
    t.n = 5;
    assert_int_equal(check(t), TINKC_E_INVALID);
    t.shape = (tk_i64s){(const int64_t[]){-1, -5}, 2};
    assert_int_equal(check(t), TINKC_E_INVALID);
    t.shape = (tk_i64s){(const int64_t[]){INT64_MAX, INT64_MAX, 0}, 3};
    t.n = 0;
    assert_int_equal(check(t), TINKC_E_INVALID);
    t.shape = (tk_i64s){(const int64_t[]){0, 7}, 2};
    assert_int_equal(check(t), TINKC_OK);
    t.dtype = TK_DTYPE_BF16;
    assert_int_equal(check(t), TINKC_E_INVALID);
    static const int64_t many[TK_TENSOR_MAX_DIMS + 1] = {0};
    t = (tk_tensor){
        .dtype = TK_DTYPE_I64, .has_shape = true, .shape = {many, TK_ARRAY_LEN(many)}};
    assert_int_equal(check(t), TINKC_E_INVALID);
}

/* M-110: each way in which a CSR tensor can be wrong. */
static void test_tensor_check_sparse(void **unused)
{
    static const float values[] = {1, 2};
    static const int64_t shape[] = {2, 3}, crow[] = {0, 1, 2}, col[] = {2, 0};
    const tk_tensor good = {.dtype = TK_DTYPE_F32,
                            .data = values,
                            .n = 2,
                            .has_shape = true,
                            .shape = {shape, 2},
                            .is_sparse = true,
                            .crow = {crow, 3},
                            .col = {col, 2}};
    assert_int_equal(check(good), TINKC_OK);
    tk_tensor t = good;
    t.has_shape = false;
    assert_int_equal(check(t), TINKC_E_INVALID);
    t = good;
    t.shape.n = 1;
    assert_int_equal(check(t), TINKC_E_INVALID);
    t = good;
    t.crow.n = 2;
    assert_int_equal(check(t), TINKC_E_INVALID);
    t = good;
    t.col.n = 1;
    assert_int_equal(check(t), TINKC_E_INVALID);
    static const int64_t bad_crow[][3] = {{1, 1, 2}, {0, 1, 1}, {0, 3, 2}, {0, -1, 2}};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad_crow); i++) {
        t = good;
        t.crow.p = bad_crow[i];
        assert_int_equal(check(t), TINKC_E_INVALID);
    }
    static const int64_t bad_col[][2] = {{3, 0}, {-1, 0}};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad_col); i++) {
        t = good;
        t.col.p = bad_col[i];
        assert_int_equal(check(t), TINKC_E_INVALID);
    }
}

static tk_tensor dense_f32(const float *data, const int64_t *shape)
{
    return (tk_tensor){.dtype = TK_DTYPE_F32,
                       .data = data,
                       .n = (size_t)(shape[0] * shape[1]),
                       .has_shape = true,
                       .shape = {shape, 2}};
}

/* CSR exactly when (rows + 1) + 2 * nnz < rows * cols. */
static void test_tensor_compact(void **unused)
{
    static const int64_t shape[] = {2, 5};
    /* 3 + 2 * 3 = 9 < 10: sparse; one more non-zero: 11, dense. */
    static const float three[] = {0, 0, 1, 0, 2, 0, -0.0F, 0, 3, 0};
    static const float four[] = {0, 0, 1, 0, 2, 4, 0, 0, 3, 0};
    tk_err err = TK_ERR_INIT;
    tk_tensor dense = dense_f32(three, shape);
    tk_tensor sparse;
    assert_int_equal(tk_tensor_compact(&sparse, &arena, &dense, &err), TINKC_OK);
    assert_true(sparse.is_sparse);
    assert_int_equal(check(sparse), TINKC_OK);
    assert_memory_equal(sparse.data, ((float[]){1, 2, 3}), 3 * sizeof(float));
    assert_memory_equal(sparse.crow.p, ((int64_t[]){0, 2, 3}), 3 * sizeof(int64_t));
    assert_memory_equal(sparse.col.p, ((int64_t[]){2, 4, 3}), 3 * sizeof(int64_t));
    dense = dense_f32(four, shape);
    assert_int_equal(tk_tensor_compact(&sparse, &arena, &dense, NULL), TINKC_OK);
    assert_false(sparse.is_sparse);
    assert_ptr_equal(sparse.data, four);
    /* NaN is not zero; int64 works alike; 1-D stays. */
    static const float nans[] = {0, 0, NAN, 0, 0, 0, 0, 0, 0, 0};
    dense = dense_f32(nans, shape);
    assert_int_equal(tk_tensor_compact(&sparse, &arena, &dense, NULL), TINKC_OK);
    assert_int_equal(sparse.n, 1);
    static const int64_t ids[10] = {[9] = 7};
    dense = (tk_tensor){.dtype = TK_DTYPE_I64,
                        .data = ids,
                        .n = 10,
                        .has_shape = true,
                        .shape = {shape, 2}};
    assert_int_equal(tk_tensor_compact(&sparse, &arena, &dense, NULL), TINKC_OK);
    assert_int_equal(sparse.n, 1);
    assert_int_equal(((const int64_t *)sparse.data)[0], 7);
    dense.has_shape = false;
    assert_int_equal(tk_tensor_compact(&sparse, &arena, &dense, NULL), TINKC_OK);
    assert_false(sparse.is_sparse);
    dense.n = 11;
    dense.has_shape = true;
    assert_int_equal(tk_tensor_compact(&sparse, &arena, &dense, NULL), TINKC_E_INVALID);
}

static bool tensor_scenario(void *user)
{
    tk_arena own;
    tk_arena_init(&own, 0);
    static const double in[] = {0, 0, 0, 0, 0, 0, 0, 1};
    const tk_tensor_source source = {
        .elem = TK_ELEM_F64, .data = in, .ndim = 2, .shape = (const int64_t[]){2, 4}};
    tk_tensor dense, sparse;
    bool ok =
        tk_tensor_from(&dense, &own, &source, TK_DTYPE_F32, NULL, NULL) == TINKC_OK &&
        tk_tensor_compact(&sparse, &own, &dense, NULL) == TINKC_OK;
    tk_arena_dispose(&own);
    return ok;
}

static void test_tensor_sweep(void **unused)
{
    assert_true(failmem_sweep(tensor_scenario, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_tensor_every_type, teardown),
        cmocka_unit_test_teardown(test_tensor_overflow, teardown),
        cmocka_unit_test_teardown(test_tensor_notes, teardown),
        cmocka_unit_test_teardown(test_tensor_random, teardown),
        cmocka_unit_test_teardown(test_tensor_field_names, teardown),
        cmocka_unit_test(test_tensor_inference),
        cmocka_unit_test_teardown(test_tensor_shapes, teardown),
        cmocka_unit_test_teardown(test_tensor_rows, teardown),
        cmocka_unit_test_teardown(test_tensor_strided_and_produced, teardown),
        cmocka_unit_test_teardown(test_tensor_borrows, teardown),
        cmocka_unit_test(test_tensor_check_dense),
        cmocka_unit_test(test_tensor_check_sparse),
        cmocka_unit_test_teardown(test_tensor_compact, teardown),
        cmocka_unit_test(test_tensor_sweep),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
