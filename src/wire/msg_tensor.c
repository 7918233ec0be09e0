/* TensorData: the dtype decides how `data` is read, so a table is not enough. Top-k
 * logprobs: a ragged list of [id, logprob] pairs becomes a matrix with masked
 * cells. */
#include <math.h>

#include "base/limits.h"
#include "wire/msg_value.h"
#include "wire/tensor.h"

/* ---- TensorData ---- */

typedef struct tensor_json {
    const tk_json *data;
    int dtype; /* row of dtype_words */
    struct {
        tk_presence is;
        tk_i64s v;
    } shape, sparse_crow_indices, sparse_col_indices;
} tensor_json;

static const char *const dtype_words[] = {"int64", "float32"};
static const tk_names dtype_names = {dtype_words, TK_ARRAY_LEN(dtype_words), TK_OTHER};
enum { ROW_INT64 = 0 };

#define T tensor_json
static const tk_field tensor_rows[] = {
    {TK_BARE(T, data, RAW, TK_REQUIRED)},
    {TK_BARE(T, dtype, ENUM, TK_REQUIRED), .names = &dtype_names},
    {TK_ROW_LIST(T, shape, I64S, 0)},
    {TK_ROW_LIST(T, sparse_crow_indices, I64S, 0)},
    {TK_ROW_LIST(T, sparse_col_indices, I64S, 0)},
};
#undef T

static const tk_schema tensor_schema = {
    TK_SCHEMA(tensor_json, "TensorData", tensor_rows)};

static tinkc_code encode_tensor(tk_json_writer *w, const void *value, tk_err *err)
{
    const tk_tensor *t = value;
    tinkc_code code = tk_tensor_check(t, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("data"));
    if (t->dtype == TK_DTYPE_I64) {
        tk_json_put_i64s(w, t->data, t->n);
    } else {
        code = tk_schema_put_f32s(w, t->data, t->n, false, err);
        tk_err_under(err, "data");
    }
    tk_json_key(w, TK_STR("dtype"));
    tk_json_put_str(w, tk_str_of(tk_dtype_name(t->dtype)));
    if (t->has_shape) {
        tk_json_key(w, TK_STR("shape"));
        tk_json_put_i64s(w, t->shape.p, t->shape.n);
    }
    if (t->is_sparse) {
        tk_json_key(w, TK_STR("sparse_crow_indices"));
        tk_json_put_i64s(w, t->crow.p, t->crow.n);
        tk_json_key(w, TK_STR("sparse_col_indices"));
        tk_json_put_i64s(w, t->col.p, t->col.n);
    }
    tk_json_end_object(w);
    return code;
}

static tinkc_code read_data(tk_tensor *t, tk_arena *arena, const tk_json *data,
                            tk_err *err)
{
    tinkc_code code;
    if (t->dtype == TK_DTYPE_I64) {
        tk_i64s list = {NULL, 0};
        code = tk_schema_read_i64s(&list, arena, data, err);
        t->data = list.p;
        t->n = list.n;
    } else {
        tk_f32s list = {NULL, 0};
        code = tk_schema_read_f32s(&list, arena, data, false, err);
        t->data = list.p;
        t->n = list.n;
    }
    if (code != TINKC_OK) {
        tk_err_under(err, "data");
    }
    return code;
}

static tinkc_code decode_tensor(void *value, tk_arena *arena, const tk_json *json,
                                unsigned flags, tk_err *err)
{
    tensor_json in;
    tk_tensor *t = value;
    tinkc_code code = tk_schema_read(&in, &tensor_schema, arena, json, flags, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (in.dtype == TK_OTHER) {
        t->dtype = TK_DTYPE_UNSPECIFIED;
        return TINKC_OK;
    }
    t->dtype = in.dtype == ROW_INT64 ? TK_DTYPE_I64 : TK_DTYPE_F32;
    t->has_shape = in.shape.is == TK_SET;
    t->shape = in.shape.v;
    t->is_sparse = in.sparse_crow_indices.is == TK_SET;
    t->crow = in.sparse_crow_indices.v;
    t->col = in.sparse_col_indices.v;
    if (t->is_sparse != (in.sparse_col_indices.is == TK_SET)) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "sparse_crow_indices and sparse_col_indices go together");
    }
    code = read_data(t, arena, in.data, err);
    tk_err found = TK_ERR_INIT;
    if (code == TINKC_OK && tk_tensor_check(t, &found) != TINKC_OK) {
        return tk_err_set(err, TINKC_E_DECODE, "%s", found.message);
    }
    return code;
}

static const tk_codec tensor_codec = {encode_tensor, decode_tensor, NULL, &tensor_schema};

const tk_schema tk_msg_tensor = {
    .name = "TensorData", .size = sizeof(tk_tensor), .codec = &tensor_codec};

/* ---- top-k logprobs ---- */

static bool is_mask(int32_t token, float logprob)
{
    return token == 0 && logprob == TK_TOPK_MASK_LOGPROB;
}

static tinkc_code put_row(tk_json_writer *w, const int32_t *ids, const float *logprobs,
                          size_t k, tk_err *err)
{
    while (k > 0 && is_mask(ids[k - 1], logprobs[k - 1])) {
        k--;
    }
    if (k == 0 || is_mask(ids[0], logprobs[0])) {
        tk_json_put_null(w);
        return TINKC_OK;
    }
    tk_json_begin_array(w);
    for (size_t j = 0; j < k; j++) {
        if (!isfinite(logprobs[j])) {
            return tk_err_set(err, TINKC_E_INVALID, "NaN and infinity cannot be sent");
        }
        tk_json_begin_array(w);
        tk_json_put_i64(w, ids[j]);
        tk_json_put_double(w, (double)logprobs[j]);
        tk_json_end_array(w);
    }
    tk_json_end_array(w);
    return TINKC_OK;
}

static tinkc_code encode_topk(tk_json_writer *w, const void *value, tk_err *err)
{
    const tk_topk_logprobs *t = value;
    tk_json_begin_array(w);
    for (size_t i = 0; i < t->length; i++) {
        tinkc_code code = put_row(w, t->k > 0 ? t->token_ids + i * t->k : NULL,
                                  t->k > 0 ? t->logprobs + i * t->k : NULL, t->k, err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            return code;
        }
    }
    tk_json_end_array(w);
    return TINKC_OK;
}

/* The widest row, after checking that rows are arrays or null and sizes bearable. */
static tinkc_code measure(size_t *k, const tk_json *json, tk_err *err)
{
    if (!tk_json_is_array(json)) {
        return tk_schema_mismatch("array", json, err);
    }
    size_t rows = tk_json_len(json);
    size_t widest = 0;
    for (size_t i = 0; i < rows; i++) {
        tk_json row = tk_json_at(json, i);
        if (row.type != TK_JSON_NULL && !tk_json_is_array(&row)) {
            tinkc_code code = tk_schema_mismatch("array or null", &row, err);
            tk_err_under_index(err, i);
            return code;
        }
        widest = TK_MAX(widest, tk_json_len(&row));
    }
    if (widest > TK_TOPK_MAX_K || (widest > 0 && rows > TK_TOPK_MAX_CELLS / widest)) {
        return tk_err_set(err, TINKC_E_DECODE, "top-k matrix is too large");
    }
    *k = widest;
    return TINKC_OK;
}

static tinkc_code read_cell(int32_t *id, float *logprob, const tk_json *cell, tk_err *err)
{
    int64_t token;
    double number;
    const tk_json null = {.type = TK_JSON_NULL};
    bool pair = tk_json_len(cell) == 2;
    tk_json first = pair ? tk_json_at(cell, 0) : null;
    tk_json second = pair ? tk_json_at(cell, 1) : null;
    if (!tk_json_to_i64(&first, &token) || token < INT32_MIN || token > INT32_MAX ||
        !tk_json_to_double(&second, &number) || fabs(number) >= 0x1.ffffffp127) {
        return tk_schema_mismatch("[token id, logprob]", cell, err);
    }
    *id = (int32_t)token;
    *logprob = (float)number;
    return TINKC_OK;
}

static tinkc_code read_row(int32_t *ids, float *logprobs, const tk_json *row, tk_err *err)
{
    for (size_t j = 0; j < tk_json_len(row); j++) {
        tk_json cell = tk_json_at(row, j);
        tinkc_code code = read_cell(&ids[j], &logprobs[j], &cell, err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, j);
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code decode_topk(void *value, tk_arena *arena, const tk_json *json,
                              unsigned flags, tk_err *err)
{
    (void)flags;
    tk_topk_logprobs *t = value;
    tinkc_code code = measure(&t->k, json, err);
    if (code != TINKC_OK) {
        return code;
    }
    t->length = tk_json_len(json);
    size_t cells = t->length * t->k;
    int32_t *ids = tk_arena_array(arena, cells, sizeof(*ids));
    float *logprobs = tk_arena_array(arena, cells, sizeof(*logprobs));
    if (ids == NULL || logprobs == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < cells; i++) {
        ids[i] = 0;
        logprobs[i] = TK_TOPK_MASK_LOGPROB;
    }
    for (size_t i = 0; i < t->length; i++) {
        tk_json row = tk_json_at(json, i);
        code = read_row(ids + i * t->k, logprobs + i * t->k, &row, err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            return code;
        }
    }
    t->token_ids = ids;
    t->logprobs = logprobs;
    return TINKC_OK;
}

static const tk_codec topk_codec = {encode_topk, decode_topk,
                                    "[[[token id, logprob], ...] | null, ...]", NULL};

const tk_schema tk_msg_topk_logprobs = {
    .name = "TopkLogprobs", .size = sizeof(tk_topk_logprobs), .codec = &topk_codec};
