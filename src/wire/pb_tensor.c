/* Tensors of protobuf messages, both ways; see pb_tensor.h. */
#include "wire/pb_tensor.h"

#include <string.h>

#include "base/mem.h"
#include "wire/pb_array.h"

/* ---- reading ---- */

/* Leaves the values of the dimensions alone: they are most of the struct. */
void tk_pb_tensor_init(tk_pb_tensor *raw)
{
    raw->encoding = TK_PB_TENSOR_NONE;
    raw->values = raw->crow = raw->col = (tk_bytes){NULL, 0};
    raw->dtype = TK_DTYPE_UNSPECIFIED;
    raw->shape.n = 0;
}

static tinkc_code read_csr(const tk_pb_input *in, tk_bytes body, tk_pb_tensor *raw)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    if (raw->encoding != TK_PB_TENSOR_CSR) {
        raw->values = raw->crow = raw->col = (tk_bytes){NULL, 0};
        raw->encoding = TK_PB_TENSOR_CSR;
    }
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            raw->values = field.bytes;
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            raw->crow = field.bytes;
            break;
        case TK_PB_TAG(3, TK_PB_BYTES):
            raw->col = field.bytes;
            break;
        default:
            rd.code = tk_pb_skip(in, &field, "SparseCsr");
            break;
        }
    }
    return rd.code;
}

tinkc_code tk_pb_tensor_add(const tk_pb_input *in, tk_bytes body, tk_pb_tensor *raw)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            raw->encoding = TK_PB_TENSOR_DENSE;
            raw->values = field.bytes;
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            rd.code = read_csr(in, field.bytes, raw);
            break;
        case TK_PB_TAG(3, TK_PB_VARINT):
            raw->dtype = tk_pb_to_i32(&field);
            break;
        case TK_PB_TAG(4, TK_PB_VARINT):
        case TK_PB_TAG(4, TK_PB_BYTES):
            rd.code = tk_pb_add_dims(in, &field, &raw->shape);
            break;
        default:
            rd.code = tk_pb_skip(in, &field, "Tensor");
            break;
        }
    }
    return rd.code;
}

static tinkc_code set_shape(const tk_pb_input *in, const tk_pb_dims *dims, tk_tensor *out)
{
    tinkc_code code = TINKC_OK;
    out->has_shape = dims->n > 0;
    if (!out->has_shape) {
        return TINKC_OK;
    }
    int64_t *shape = tk_pb_alloc(in, dims->n, sizeof(*shape), &code);
    if (shape == NULL) {
        return code;
    }
    memcpy(shape, dims->v, dims->n * sizeof(*shape));
    out->shape = (tk_i64s){shape, dims->n};
    return TINKC_OK;
}

/* Row offsets rise from 0 to nnz, columns lie inside the shape: code that walks the rows
 * later need not check again. */
static bool csr_is_sound(const tk_tensor *t)
{
    if (t->shape.n != 2 || t->col.n != t->n || t->crow.n == 0 ||
        (uint64_t)t->shape.p[0] != t->crow.n - 1 || t->crow.p[0] != 0 ||
        (uint64_t)t->crow.p[t->crow.n - 1] != t->n) {
        return false;
    }
    for (size_t i = 1; i < t->crow.n; i++) {
        if (t->crow.p[i] < t->crow.p[i - 1]) {
            return false;
        }
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->col.p[i] < 0 || t->col.p[i] >= t->shape.p[1]) {
            return false;
        }
    }
    return true;
}

static tinkc_code finish_csr(const tk_pb_input *in, const tk_pb_tensor *raw,
                             tk_tensor *out)
{
    out->is_sparse = true;
    tinkc_code code = tk_pb_array_i64s(in, raw->crow, &out->crow);
    if (code == TINKC_OK) {
        code = tk_pb_array_i64s(in, raw->col, &out->col);
    }
    if (code == TINKC_OK && !csr_is_sound(out)) {
        code = tk_pb_fail(in, raw->crow.p, TINKC_E_DECODE,
                          "sparse tensor: indices do not fit the shape");
    }
    return code;
}

tinkc_code tk_pb_tensor_finish(const tk_pb_input *in, const tk_pb_tensor *raw,
                               tk_tensor *out)
{
    size_t count;
    tk_tensor t = {.dtype = TK_DTYPE_UNSPECIFIED};
    if (raw->encoding == TK_PB_TENSOR_NONE) {
        return tk_pb_fail(in, NULL, TINKC_E_DECODE, "tensor has no data");
    }
    tinkc_code code = tk_pb_array_tensor(in, raw->values, raw->dtype, &t);
    if (code != TINKC_OK) {
        return code;
    }
    if (!tk_pb_array_count(raw->shape.v, raw->shape.n, &count)) {
        return tk_pb_fail(in, raw->values.p, TINKC_E_DECODE,
                          "tensor: shape is negative or too large");
    }
    if (raw->encoding == TK_PB_TENSOR_DENSE && raw->shape.n > 0 && count != t.n) {
        return tk_pb_fail(in, raw->values.p, TINKC_E_DECODE,
                          "tensor: shape asks for %zu values, not %zu", count, t.n);
    }
    code = set_shape(in, &raw->shape, &t);
    if (code == TINKC_OK && raw->encoding == TK_PB_TENSOR_CSR) {
        code = finish_csr(in, raw, &t);
    }
    if (code == TINKC_OK) {
        *out = t;
    }
    return code;
}

/* ---- writing ---- */

static tinkc_code check_csr(const tk_tensor *t, tk_err *err)
{
    size_t rows =
        t->shape.n == 2 && t->shape.p[0] >= 0 ? (size_t)t->shape.p[0] : SIZE_MAX;
    if (!t->has_shape || rows == SIZE_MAX || t->crow.n != rows + 1 || t->col.n != t->n) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a sparse tensor needs a 2-D shape, rows + 1 row offsets and "
                          "one column index per value");
    }
    return TINKC_OK;
}

static tinkc_code check_shape(const tk_tensor *t, tk_err *err)
{
    size_t n_dims = t->has_shape ? t->shape.n : 0, count = t->n;
    if (t->dtype != TK_DTYPE_F32 && t->dtype != TK_DTYPE_I64) {
        return tk_err_set(err, TINKC_E_INVALID, "dtype must be float32 or int64");
    }
    if (n_dims > TK_TENSOR_MAX_DIMS) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d dimensions",
                          TK_TENSOR_MAX_DIMS);
    }
    if (n_dims > 0 && !tk_pb_array_count(t->shape.p, n_dims, &count)) {
        return tk_err_set(err, TINKC_E_INVALID, "shape is negative or too large");
    }
    if (!t->is_sparse && count != t->n) {
        return tk_err_set(err, TINKC_E_INVALID, "shape asks for %zu values, not %zu",
                          count, t->n);
    }
    return t->is_sparse ? check_csr(t, err) : TINKC_OK;
}

static size_t value_bytes(const tk_tensor *t)
{
    return tk_pb_array_item_bytes((int32_t)t->dtype);
}

tinkc_code tk_pb_tensor_check(size_t *bytes, const tk_tensor *t, tk_err *err)
{
    tinkc_code code = check_shape(t, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t values, indices = 0, count = 0;
    bool fits = tk_size_mul(&values, t->n, value_bytes(t));
    if (t->is_sparse) {
        fits = fits && tk_size_add(&count, t->crow.n, t->col.n) &&
               tk_size_mul(&indices, count, sizeof(int64_t));
    }
    if (!fits || !tk_size_add(bytes, values, indices)) {
        return tk_err_set(err, TINKC_E_LIMIT, "the tensor is too large");
    }
    return TINKC_OK;
}

/* A field that is left out when empty. */
static size_t plain_size(uint32_t number, size_t n)
{
    return n > 0 ? tk_pb_bytes_size(number, n) : 0;
}

static size_t csr_size(const tk_tensor *t)
{
    return plain_size(1, t->n * value_bytes(t)) +
           plain_size(2, t->crow.n * sizeof(int64_t)) +
           plain_size(3, t->col.n * sizeof(int64_t));
}

static tk_i64s wire_shape(const tk_tensor *t)
{
    return t->has_shape ? t->shape : (tk_i64s){NULL, 0};
}

size_t tk_pb_tensor_size(const tk_tensor *t)
{
    size_t data = t->is_sparse ? csr_size(t) : t->n * value_bytes(t);
    return tk_pb_bytes_size(1, data) + tk_pb_uint_size(3, (uint64_t)t->dtype) +
           tk_pb_packed_size(4, wire_shape(t));
}

static void put_plain(tk_pb_writer *w, uint32_t number, const void *items, size_t count,
                      size_t item_bytes)
{
    if (count > 0) {
        tk_pb_put_array(w, number, items, count, item_bytes);
    }
}

void tk_pb_tensor_put(tk_pb_writer *w, const tk_tensor *t)
{
    if (t->is_sparse) {
        tk_pb_put_head(w, 2, csr_size(t));
        put_plain(w, 1, t->data, t->n, value_bytes(t));
        put_plain(w, 2, t->crow.p, t->crow.n, sizeof(int64_t));
        put_plain(w, 3, t->col.p, t->col.n, sizeof(int64_t));
    } else {
        tk_pb_put_array(w, 1, t->data, t->n, value_bytes(t));
    }
    tk_pb_put_uint(w, 3, (uint64_t)t->dtype);
    tk_pb_put_packed(w, 4, wire_shape(t));
}
