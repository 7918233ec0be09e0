/* Public values: model inputs, tensors, datums, metrics (A-039, A-041, A-048,
 * A-052..A-057, A-062, A-064..A-066, M-108..M-112). */
#include "client/values/types.h"

#include <math.h>

#include "base/buf.h"
#include "base/limits.h"
#include "support/failmem.h"
#include "support/msgfix.h"
#include "support/test.h"
#include "wire/msg_value.h"

static void expect_error(tinkc_code code, tinkc_error *err, tinkc_code want,
                         const char *text)
{
    assert_int_equal(code, want);
    assert_int_equal(tinkc_error_code(err), want);
    if (strstr(tinkc_error_message(err), text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, tinkc_error_message(err));
    }
    tinkc_error_free(&err);
}

/* M-108, M-109: every kind of chunk, in the order it was added. */
static void test_types_input_chunks(void **unused)
{
    int32_t tokens[] = {1, 2};
    tinkc_model_input *input = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, 2, NULL), TINKC_OK);
    tokens[0] = 9; /* was copied */
    assert_int_equal(
        tinkc_model_input_add_image(input, "abc", 3, TINKC_IMAGE_JPEG, 7, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_model_input_add_image_pointer(input, "s3://x", TINKC_IMAGE_PNG,
                                                         TINKC_UNKNOWN_TOKENS, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_model_input_add_dmel(input, "\4\1\3", 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_chunk_count(input), 4);
    static const char want[] =
        "{\"chunks\":[{\"tokens\":[1,2],\"type\":\"encoded_text\"},"
        "{\"data\":\"YWJj\",\"format\":\"jpeg\",\"expected_tokens\":7,"
        "\"type\":\"image\"},{\"format\":\"png\",\"location\":\"s3://x\","
        "\"type\":\"image_asset_pointer\"},{\"dmel\":\"BAED\",\"type\":\"dmel\"}]}";
    expect_json(&tk_msg_model_input, tk_types_input(input), want);
    tinkc_model_input *copy = NULL;
    assert_int_equal(tinkc_model_input_copy(&copy, input, NULL), TINKC_OK);
    tinkc_model_input_free(&input);
    assert_null(input);
    expect_json(&tk_msg_model_input, tk_types_input(copy), want);
    tinkc_model_input_free(&copy);
    tinkc_model_input_free(&copy);
    tinkc_model_input_free(NULL);
    assert_int_equal(tinkc_model_input_chunk_count(NULL), 0);
}

/* M-108: the length of an input in tokens, known or not. */
static void test_types_input_lengths(void **unused)
{
    static const int32_t tokens[] = {1, 2, 3};
    tinkc_model_input *input = NULL;
    tinkc_error *err = NULL;
    int64_t length = -1;
    size_t n = 0;
    int32_t out[8];
    assert_int_equal(tinkc_model_input_new(&input, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_length(&length, input, NULL), TINKC_OK);
    assert_int_equal(length, 0);
    assert_int_equal(tinkc_model_input_borrow_tokens(input, tokens, 3, NULL), TINKC_OK);
    assert_ptr_equal(tk_types_input(input)->chunks[0].tokens.p, tokens);
    assert_int_equal(tinkc_model_input_add_tokens(input, tokens, 1, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_add_tokens(input, NULL, 0, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_length(&length, input, NULL), TINKC_OK);
    assert_int_equal(length, 4);
    assert_int_equal(tinkc_model_input_tokens(out, 8, &n, input, NULL), TINKC_OK);
    assert_int_equal(n, 4);
    assert_memory_equal(out, ((int32_t[]){1, 2, 3, 1}), 4 * sizeof(int32_t));
    tinkc_code code = tinkc_model_input_tokens(NULL, 0, &n, input, &err);
    assert_int_equal(n, 4);
    expect_error(code, err, TINKC_E_LIMIT, "4 tokens, room for 0");
    assert_int_equal(tinkc_model_input_add_image(input, NULL, 0, TINKC_IMAGE_PNG,
                                                 TINKC_UNKNOWN_TOKENS, NULL),
                     TINKC_OK);
    err = NULL;
    code = tinkc_model_input_length(&length, input, &err);
    expect_error(code, err, TINKC_E_INVALID, "chunks[3]: ");
    assert_int_equal(length, 4);
    err = NULL;
    code = tinkc_model_input_tokens(out, 8, &n, input, &err);
    expect_error(code, err, TINKC_E_INVALID, "not a chunk of text");
    tinkc_model_input_free(&input);
}

/* Bad arguments are errors, never crashes; the input stays as it was. */
static void test_types_input_refusals(void **unused)
{
    tinkc_model_input *input = NULL;
    assert_int_equal(tinkc_model_input_new(NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_from_tokens(NULL, NULL, 0, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_from_tokens(&input, NULL, 3, NULL),
                     TINKC_E_INVALID);
    assert_null(input);
    assert_int_equal(tinkc_model_input_add_tokens(NULL, NULL, 0, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_new(&input, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_add_image(input, "a", 1, (tinkc_image_format)7,
                                                 TINKC_UNKNOWN_TOKENS, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(
        tinkc_model_input_add_image(input, "a", 1, TINKC_IMAGE_PNG, -2, NULL),
        TINKC_E_INVALID);
    assert_int_equal(
        tinkc_model_input_add_image_pointer(input, NULL, TINKC_IMAGE_PNG, 1, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_add_dmel(input, "\x09", 1, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_add_dmel(input, NULL, 3, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_copy(&input, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_length(NULL, input, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_model_input_chunk_count(input), 0);
    tinkc_model_input_free(&input);
}

static tinkc_datum *new_datum(void)
{
    static const int32_t tokens[] = {1, 2};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, 2, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_null(input);
    return datum;
}

/* A-052..A-054, M-112: lists become tensors by the name of the field, with shape [n]. */
static void test_types_datum_lists(void **unused)
{
    tinkc_datum *datum = new_datum();
    assert_int_equal(
        tinkc_datum_set_i32(datum, "target_tokens", (int32_t[]){2, 3}, 2, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(datum, "weights", (int32_t[]){1, 0}, 2, NULL),
                     TINKC_OK);
    assert_int_equal(
        tinkc_datum_set_f64(datum, "advantages", (double[]){0.5, -1.5}, 2, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_datum_set_f32(datum, "logprobs", NULL, 0, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_datum_set_i64(datum, "clip_low_threshold", (int64_t[]){1}, 1, NULL),
        TINKC_OK);
    expect_json(
        &tk_msg_datum, tk_types_datum(datum),
        "{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[2,3],\"dtype\":\"int64\","
        "\"shape\":[2]},\"weights\":{\"data\":[1.0,0.0],\"dtype\":\"float32\","
        "\"shape\":[2]},\"advantages\":{\"data\":[0.5,-1.5],\"dtype\":\"float32\","
        "\"shape\":[2]},\"logprobs\":{\"data\":[],\"dtype\":\"float32\",\"shape\":[0]},"
        "\"clip_low_threshold\":{\"data\":[1.0],\"dtype\":\"float32\",\"shape\":[1]}},"
        "\"model_input\":{\"chunks\":[{\"tokens\":[1,2],\"type\":\"encoded_text\"}]}}");
    /* The same name again replaces. */
    assert_int_equal(tinkc_datum_set_i64(datum, "target_tokens", (int64_t[]){7}, 1, NULL),
                     TINKC_OK);
    const tinkc_tensor *tensor = tinkc_datum_tensor(datum, "target_tokens");
    assert_int_equal(tinkc_tensor_count(tensor), 1);
    assert_int_equal(tinkc_tensor_i64(tensor)[0], 7);
    assert_null(tinkc_tensor_f32(tensor));
    assert_null(tinkc_datum_tensor(datum, "nothing"));
    assert_int_equal(tinkc_model_input_chunk_count(tinkc_datum_input(datum)), 1);
    tinkc_datum_free(&datum);
    assert_null(datum);
    tinkc_datum_free(&datum);
}

/* what has no dtype or does not fit is refused, and named. */
static void test_types_datum_refusals(void **unused)
{
    tinkc_datum *datum = new_datum();
    tinkc_error *err = NULL;
    tinkc_code code = tinkc_datum_set_f32(datum, "mask", (float[]){1}, 1, &err);
    expect_error(code, err, TINKC_E_INVALID, "mask: no dtype is known for \"mask\"");
    err = NULL;
    code = tinkc_datum_set_f32(datum, "advantage", (float[]){1}, 1, &err);
    expect_error(code, err, TINKC_E_INVALID, "did you mean \"advantages\"?");
    err = NULL;
    code = tinkc_datum_set_f32(datum, "zzz", (float[]){1}, 1, &err);
    expect_error(code, err, TINKC_E_INVALID, "Known are target_tokens, weights, advant");
    err = NULL;
    code = tinkc_datum_set_f64(datum, "target_tokens", (double[]){1, 1.5}, 2, &err);
    expect_error(code, err, TINKC_E_INVALID, "target_tokens[1]: not a 64-bit integer");
    err = NULL;
    code = tinkc_datum_set_f64(datum, "weights", (double[]){1e300}, 1, &err);
    expect_error(code, err, TINKC_E_INVALID, "weights[0]: value is beyond");
    tinkc_array array = TINKC_ARRAY_INIT;
    array.elem = TINKC_ELEM_U64;
    array.data = (uint64_t[]){UINT64_MAX};
    err = NULL;
    code = tinkc_datum_set(datum, "target_tokens", &array, &err);
    expect_error(code, err, TINKC_E_INVALID, "above the int64 range");
    array.elem = (tinkc_elem)99;
    assert_int_equal(tinkc_datum_set(datum, "weights", &array, NULL), TINKC_E_INVALID);
    array.elem = TINKC_ELEM_I8;
    array.dtype = (tinkc_dtype)99;
    assert_int_equal(tinkc_datum_set(datum, "weights", &array, NULL), TINKC_E_INVALID);
    array.size = 0;
    err = NULL;
    code = tinkc_datum_set(datum, "weights", &array, &err);
    expect_error(code, err, TINKC_E_INVALID, "_INIT");
    assert_int_equal(tinkc_datum_set(NULL, "weights", &array, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_datum_set_f32(datum, NULL, NULL, 0, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_datum_set_f32(datum, "weights", NULL, 2, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tk_types_datum(datum)->loss_fn_inputs.n, 0);
    tinkc_model_input *none = NULL;
    assert_int_equal(tinkc_datum_new(&datum, &none, NULL), TINKC_E_INVALID);
    tinkc_datum_free(&datum);
}

/* nested lists become matrices; ragged ones are refused, with the row. */
static void test_types_datum_rows(void **unused)
{
    static const int32_t a[] = {1, 2}, b[] = {3, 4}, c[] = {5};
    const void *const list[] = {a, b, c};
    const size_t lengths[] = {2, 2, 1};
    tinkc_datum *datum = new_datum();
    tinkc_error *err = NULL;
    tinkc_rows rows = TINKC_ROWS_INIT;
    rows.elem = TINKC_ELEM_I32;
    rows.rows = list;
    rows.lengths = lengths;
    rows.n = 2;
    assert_int_equal(tinkc_datum_set_rows(datum, "target_tokens", &rows, NULL), TINKC_OK);
    const tinkc_tensor *tensor = tinkc_datum_tensor(datum, "target_tokens");
    assert_int_equal(tinkc_tensor_rank(tensor), 2);
    assert_int_equal(tinkc_tensor_dim(tensor, 0), 2);
    assert_int_equal(tinkc_tensor_i64(tensor)[3], 4);
    rows.n = 3;
    tinkc_code code = tinkc_datum_set_rows(datum, "weights", &rows, &err);
    expect_error(code, err, TINKC_E_INVALID, "weights[2]: rows differ in length");
    rows.n = 0;
    rows.dtype = TINKC_DTYPE_INFER;
    assert_int_equal(tinkc_datum_set_rows(datum, "none", &rows, NULL), TINKC_OK);
    tensor = tinkc_datum_tensor(datum, "none");
    assert_int_equal(tinkc_tensor_dtype(tensor), TINKC_DTYPE_FLOAT32);
    assert_int_equal(tinkc_tensor_rank(tensor), 1);
    rows.n = 1;
    rows.lengths = NULL;
    assert_int_equal(tinkc_datum_set_rows(datum, "x", &rows, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_datum_set_rows(datum, "x", NULL, NULL), TINKC_E_INVALID);
    tinkc_datum_free(&datum);
}

/* No more inputs than the wire takes. */
static void test_types_datum_many(void **unused)
{
    tinkc_datum *datum = new_datum();
    tinkc_array array = TINKC_ARRAY_INIT;
    array.data = (float[]){1};
    array.dtype = TINKC_DTYPE_INFER;
    for (size_t i = 0; i <= TK_TENSOR_MAP_MAX; i++) {
        char name[] = {(char)('a' + i / 16), (char)('a' + i % 16), '\0'};
        assert_int_equal(tinkc_datum_set(datum, name, &array, NULL),
                         i < TK_TENSOR_MAP_MAX ? TINKC_OK : TINKC_E_LIMIT);
    }
    assert_int_equal(tk_types_datum(datum)->loss_fn_inputs.n, TK_TENSOR_MAP_MAX);
    tinkc_datum_free(&datum);
}

/* explicit dtypes, inference, views, callbacks, shapes. */
static void test_types_tensor_arrays(void **unused)
{
    static const int16_t matrix[] = {1, 2, 3, 4, 5, 6};
    tinkc_array array = TINKC_ARRAY_INIT;
    tinkc_tensor *tensor = NULL;
    array.elem = TINKC_ELEM_I16;
    array.data = matrix;
    array.shape = (const int64_t[]){3, 2};
    array.ndim = 2;
    array.strides = (const int64_t[]){1, 3};
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_E_INVALID);
    array.dtype = TINKC_DTYPE_INFER;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_OK);
    assert_int_equal(tinkc_tensor_dtype(tensor), TINKC_DTYPE_INT64);
    assert_int_equal(tinkc_tensor_rank(tensor), 2);
    assert_int_equal(tinkc_tensor_dim(tensor, 0), 3);
    assert_int_equal(tinkc_tensor_dim(tensor, 2), 0);
    assert_memory_equal(tinkc_tensor_i64(tensor), ((int64_t[]){1, 4, 2, 5, 3, 6}),
                        6 * sizeof(int64_t));
    tinkc_tensor_free(&tensor);
    array.dtype = TINKC_DTYPE_FLOAT32;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_OK);
    assert_true(tinkc_tensor_f32(tensor)[5] == 6.0F);
    assert_false(tinkc_tensor_is_sparse(tensor));
    assert_null(tinkc_tensor_columns(tensor));
    assert_null(tinkc_tensor_row_starts(tensor));
    tinkc_tensor_free(&tensor);
    array = (tinkc_array)TINKC_ARRAY_INIT; /* an empty array infers float32 */
    array.elem = TINKC_ELEM_I32;
    array.shape = (const int64_t[]){0};
    array.ndim = 1;
    array.dtype = TINKC_DTYPE_INFER;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_OK);
    assert_int_equal(tinkc_tensor_dtype(tensor), TINKC_DTYPE_FLOAT32);
    tinkc_tensor_free(&tensor);
    tinkc_tensor_free(&tensor);
    array.shape = NULL;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_tensor_new(&tensor, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_tensor_count(NULL), 0);
    assert_int_equal(tinkc_tensor_rank(NULL), 1);
}

/* rounding is counted; borrowing avoids the copy, and only on request. */
static void test_types_tensor_memory(void **unused)
{
    static const float reals[] = {0.5F, 1.5F};
    static const double doubles[] = {0.1, 0.5, 0.2};
    tinkc_array array = TINKC_ARRAY_INIT;
    tinkc_tensor *tensor = NULL;
    array.data = reals;
    array.shape = (const int64_t[]){2};
    array.ndim = 1;
    array.dtype = TINKC_DTYPE_FLOAT32;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_OK);
    assert_ptr_not_equal(tinkc_tensor_f32(tensor), reals);
    tinkc_tensor_free(&tensor);
    array.flags = TINKC_ARRAY_BORROW;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_OK);
    assert_ptr_equal(tinkc_tensor_f32(tensor), reals);
    tinkc_tensor_free(&tensor);
    size_t rounded = 99;
    array.elem = TINKC_ELEM_F64;
    array.data = doubles;
    array.shape = (const int64_t[]){3};
    array.rounded = &rounded;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_OK);
    assert_int_equal(rounded, 2);
    tinkc_tensor_free(&tensor);
}

/* M-110: a sparse matrix, alone and as an input of a datum. */
static void test_types_tensor_sparse(void **unused)
{
    static const float matrix[2][5] = {{0, 0, 3, 0, 0}, {0, 0, 0, 0, 4}};
    tinkc_array array = TINKC_ARRAY_INIT;
    tinkc_tensor *tensor = NULL;
    array.data = matrix;
    array.shape = (const int64_t[]){2, 5};
    array.ndim = 2;
    array.dtype = TINKC_DTYPE_FLOAT32;
    array.flags = TINKC_ARRAY_COMPACT;
    assert_int_equal(tinkc_tensor_new(&tensor, &array, NULL), TINKC_OK);
    assert_true(tinkc_tensor_is_sparse(tensor));
    assert_int_equal(tinkc_tensor_count(tensor), 2);
    assert_int_equal(tinkc_tensor_columns(tensor)[1], 4);
    assert_int_equal(tinkc_tensor_row_starts(tensor)[2], 2);
    tinkc_datum *datum = new_datum();
    assert_int_equal(tinkc_datum_set_tensor(datum, "weights", tensor, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_tensor(datum, "weights", NULL, NULL),
                     TINKC_E_INVALID);
    tinkc_tensor_free(&tensor);
    const tinkc_tensor *copy = tinkc_datum_tensor(datum, "weights");
    assert_true(tinkc_tensor_is_sparse(copy));
    assert_int_equal(tinkc_tensor_dim(copy, 1), 5);
    assert_true(tinkc_tensor_f32(copy)[1] == 4.0F);
    tinkc_datum_free(&datum);
}

static tinkc_sparse sparse_rows(void)
{
    static const int64_t values[] = {5, 0, 7}, starts[] = {0, 2, 2, 3},
                         columns[] = {0, 3, 1};
    tinkc_sparse sparse = TINKC_SPARSE_INIT;
    sparse.rows = 3;
    sparse.columns = 4;
    sparse.values = values;
    sparse.n = 3;
    sparse.row_starts = starts;
    sparse.value_columns = columns;
    return sparse;
}

/* Sparse rows of the caller: copied, with the zeros that are listed; whatever does not fit
 * is refused. */
static void test_types_tensor_new_sparse(void **unused)
{
    static const int64_t falling[] = {0, 2, 1, 3}, late[] = {1, 2, 2, 3},
                         outside[] = {0, 4, 1}, below[] = {0, -1, 1};
    tinkc_sparse sparse = sparse_rows();
    tinkc_tensor *tensor = NULL;
    assert_int_equal(tinkc_tensor_new_sparse(&tensor, &sparse, NULL), TINKC_OK);
    assert_true(tinkc_tensor_is_sparse(tensor));
    assert_int_equal(tinkc_tensor_dtype(tensor), TINKC_DTYPE_INT64);
    assert_int_equal(tinkc_tensor_count(tensor), 3);
    assert_int_equal(tinkc_tensor_dim(tensor, 0), 3);
    assert_int_equal(tinkc_tensor_dim(tensor, 1), 4);
    assert_true(tinkc_tensor_i64(tensor)[1] == 0 && tinkc_tensor_i64(tensor)[2] == 7);
    assert_true(tinkc_tensor_i64(tensor) != sparse.values);
    assert_true(tinkc_tensor_row_starts(tensor)[1] == 2);
    assert_true(tinkc_tensor_columns(tensor)[1] == 3);
    tinkc_tensor_free(&tensor);
    tinkc_sparse bad[8];
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        bad[i] = sparse_rows();
    }
    bad[0].dtype = TINKC_DTYPE_INFER;
    bad[1].rows = -1;
    bad[2].columns = -1;
    bad[3].row_starts = falling;
    bad[4].row_starts = late;
    bad[5].value_columns = outside;
    bad[6].value_columns = below;
    bad[7].values = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tinkc_tensor_new_sparse(&tensor, &bad[i], NULL),
                         TINKC_E_INVALID);
        assert_null(tensor);
    }
    assert_int_equal(tinkc_tensor_new_sparse(NULL, &sparse, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_tensor_new_sparse(&tensor, NULL, NULL), TINKC_E_INVALID);
    sparse = (tinkc_sparse)TINKC_SPARSE_INIT; /* nothing at all */
    static const int64_t none[] = {0};
    sparse.row_starts = none;
    assert_int_equal(tinkc_tensor_new_sparse(&tensor, &sparse, NULL), TINKC_OK);
    assert_int_equal(tinkc_tensor_count(tensor), 0);
    tinkc_tensor_free(&tensor);
}

static bool sparse_scenario(void *user)
{
    tinkc_sparse sparse = sparse_rows();
    tinkc_tensor *tensor = NULL;
    bool ok = tinkc_tensor_new_sparse(&tensor, &sparse, NULL) == TINKC_OK;
    tinkc_tensor_free(&tensor);
    return ok;
}

/* the loss lives in the metrics; a missing one is MISSING, not 0. */
static void test_types_metrics(void **unused)
{
    static const tk_named_num items[] = {{TK_STR("a:mean"), 1.0},
                                         {TK_STR("loss:sum"), 2.5}};
    const tk_num_map map = {items, 2};
    const tinkc_metrics *metrics = tk_types_metrics(&map);
    const char *name = NULL;
    double value = -1.0;
    assert_int_equal(tinkc_metrics_count(metrics), 2);
    assert_true(tinkc_metrics_at(&name, &value, metrics, 1));
    assert_string_equal(name, "loss:sum");
    assert_true(value == 2.5);
    assert_false(tinkc_metrics_at(&name, &value, metrics, 2));
    assert_int_equal(tinkc_metrics_get(&value, metrics, "a:mean", NULL), TINKC_OK);
    assert_true(value == 1.0);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "a", NULL), TINKC_E_MISSING);
    assert_int_equal(tinkc_metrics_get(&value, metrics, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_metrics_loss(&value, metrics, NULL), TINKC_OK);
    assert_true(value == 2.5);
    assert_int_equal(tinkc_metrics_loss(&value, NULL, NULL), TINKC_E_MISSING);
    assert_int_equal(tinkc_metrics_loss(NULL, metrics, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_metrics_count(NULL), 0);
}

typedef struct grown {
    size_t size;
    int known;
    int newer;
} grown;

/* Option structs of older and newer callers. */
static void test_types_options(void **unused)
{
    struct {
        size_t size;
        int known;
    } out = {sizeof(out), 5};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_types_options(&out, sizeof(out), NULL, &err), TINKC_OK);
    assert_int_equal(out.known, 5);
    grown newer = {sizeof(newer), 7, 0};
    size_t out_size = offsetof(grown, newer);
    assert_int_equal(tk_types_options(&out, out_size, &newer, &err), TINKC_OK);
    assert_int_equal(out.known, 7);
    newer.newer = 1;
    assert_int_equal(tk_types_options(&out, out_size, &newer, &err), TINKC_E_UNSUPPORTED);
    size_t older = sizeof(size_t);
    out.known = 8;
    assert_int_equal(tk_types_options(&out, out_size, &older, &err), TINKC_OK);
    assert_int_equal(out.known, 8);
    older = SIZE_MAX;
    assert_int_equal(tk_types_options(&out, out_size, &older, &err), TINKC_E_INVALID);
}

static bool types_scenario(void *user)
{
    static const int32_t tokens[] = {1, 2};
    static const double reals[] = {0.5, 0, 0, 0, 0, 0, 0, 0};
    tinkc_model_input *input = NULL, *copy = NULL;
    tinkc_datum *datum = NULL;
    tinkc_tensor *tensor = NULL;
    tinkc_error *err = NULL;
    tinkc_array array = TINKC_ARRAY_INIT;
    array.elem = TINKC_ELEM_F64;
    array.data = reals;
    array.shape = (const int64_t[]){2, 4};
    array.ndim = 2;
    array.dtype = TINKC_DTYPE_FLOAT32;
    array.flags = TINKC_ARRAY_COMPACT;
    bool ok = tinkc_model_input_from_tokens(&input, tokens, 2, &err) == TINKC_OK &&
              tinkc_model_input_add_image(input, "abc", 3, TINKC_IMAGE_PNG, 1, &err) ==
                  TINKC_OK &&
              tinkc_model_input_copy(&copy, input, &err) == TINKC_OK &&
              tinkc_datum_new(&datum, &input, &err) == TINKC_OK &&
              tinkc_datum_set_i32(datum, "target_tokens", tokens, 2, &err) == TINKC_OK &&
              tinkc_datum_set(datum, "weights", &array, &err) == TINKC_OK &&
              tinkc_tensor_new(&tensor, &array, &err) == TINKC_OK &&
              tinkc_datum_set_tensor(datum, "advantages", tensor, &err) == TINKC_OK;
    assert_true(ok || tinkc_error_code(err) == TINKC_E_NOMEM);
    assert_true(ok || datum != NULL || input != NULL || copy == NULL);
    tinkc_error_free(&err);
    tinkc_tensor_free(&tensor);
    tinkc_datum_free(&datum);
    tinkc_model_input_free(&copy);
    tinkc_model_input_free(&input);
    return ok;
}

static void test_types_sweep(void **unused)
{
    assert_true(failmem_sweep(types_scenario, NULL, 1) > 5);
    assert_true(failmem_sweep(sparse_scenario, NULL, 1) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_input_chunks),
        cmocka_unit_test(test_types_input_lengths),
        cmocka_unit_test(test_types_input_refusals),
        cmocka_unit_test(test_types_datum_lists),
        cmocka_unit_test(test_types_datum_refusals),
        cmocka_unit_test(test_types_datum_rows),
        cmocka_unit_test(test_types_datum_many),
        cmocka_unit_test(test_types_tensor_arrays),
        cmocka_unit_test(test_types_tensor_memory),
        cmocka_unit_test(test_types_tensor_sparse),
        cmocka_unit_test(test_types_tensor_new_sparse),
        cmocka_unit_test(test_types_metrics),
        cmocka_unit_test(test_types_options),
        cmocka_unit_test(test_types_sweep),
    };
    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
