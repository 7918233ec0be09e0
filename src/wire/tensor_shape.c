/* What makes a tensor valid, and the two forms of a 2-D one: dense and CSR. */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/tensor.h"

bool tk_tensor_count(const tk_tensor *tensor, size_t *out)
{
    if (!tensor->has_shape) {
        *out = tensor->n;
        return true;
    }
    size_t count = 1;
    for (size_t i = 0; i < tensor->shape.n; i++) {
        int64_t dim = tensor->shape.p[i];
        if (dim < 0 || !tk_size_mul(&count, count, (size_t)dim)) {
            return false;
        }
    }
    *out = count;
    return true;
}

static tinkc_code check_csr(const tk_tensor *t, tk_err *err)
{
    if (t->shape.n != 2) {
        return tk_err_set(err, TINKC_E_INVALID, "a sparse tensor has two dimensions");
    }
    size_t rows = (size_t)t->shape.p[0];
    if (t->crow.n != rows + 1 || t->col.n != t->n) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "sparse indices do not fit %zu rows and %zu values", rows,
                          t->n);
    }
    if (t->crow.p[0] != 0 || (uint64_t)t->crow.p[rows] != t->n) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "row offsets must run from 0 to the number of values");
    }
    for (size_t i = 0; i < rows; i++) {
        if (t->crow.p[i] > t->crow.p[i + 1]) {
            return tk_err_set(err, TINKC_E_INVALID, "row offsets must not decrease");
        }
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->col.p[i] < 0 || t->col.p[i] >= t->shape.p[1]) {
            return tk_err_set(err, TINKC_E_INVALID, "column %lld is out of range",
                              (long long)t->col.p[i]);
        }
    }
    return TINKC_OK;
}

tinkc_code tk_tensor_check(const tk_tensor *tensor, tk_err *err)
{
    if (tensor->dtype != TK_DTYPE_F32 && tensor->dtype != TK_DTYPE_I64) {
        return tk_err_set(err, TINKC_E_INVALID, "dtype must be float32 or int64");
    }
    if (tensor->is_sparse && !tensor->has_shape) {
        return tk_err_set(err, TINKC_E_INVALID, "a sparse tensor needs a shape");
    }
    if (tensor->has_shape && tensor->shape.n > TK_TENSOR_MAX_DIMS) {
        return tk_err_set(err, TINKC_E_INVALID, "more than %d dimensions",
                          TK_TENSOR_MAX_DIMS);
    }
    size_t count;
    if (!tk_tensor_count(tensor, &count)) {
        return tk_err_set(err, TINKC_E_INVALID, "dimensions are negative or too large");
    }
    if (tensor->is_sparse) {
        return check_csr(tensor, err);
    }
    if (count != tensor->n) {
        return tk_err_set(err, TINKC_E_INVALID, "shape holds %zu elements, data %zu",
                          count, tensor->n);
    }
    return TINKC_OK;
}

static bool is_zero(const tk_tensor *t, size_t i)
{
    return t->dtype == TK_DTYPE_I64 ? ((const int64_t *)t->data)[i] == 0
                                    : ((const float *)t->data)[i] == 0.0F;
}

static size_t count_non_zero(const tk_tensor *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        n += !is_zero(t, i);
    }
    return n;
}

static size_t item_size(const tk_tensor *t)
{
    return t->dtype == TK_DTYPE_I64 ? sizeof(int64_t) : sizeof(float);
}

/* Fills the three arrays of a CSR form; sizes are already right. */
static void fill_csr(const tk_tensor *dense, char *values, int64_t *crow, int64_t *col)
{
    size_t rows = (size_t)dense->shape.p[0];
    size_t cols = (size_t)dense->shape.p[1];
    size_t size = item_size(dense);
    size_t n = 0;
    crow[0] = 0;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            size_t i = r * cols + c;
            if (!is_zero(dense, i)) {
                memcpy(values + n * size, (const char *)dense->data + i * size, size);
                col[n++] = (int64_t)c;
            }
        }
        crow[r + 1] = (int64_t)n;
    }
}

tinkc_code tk_tensor_compact(tk_tensor *out, tk_arena *arena, const tk_tensor *dense,
                             tk_err *err)
{
    tinkc_code code = tk_tensor_check(dense, err);
    if (code != TINKC_OK) {
        return code;
    }
    bool two_d = !dense->is_sparse && dense->has_shape && dense->shape.n == 2;
    size_t rows = two_d ? (size_t)dense->shape.p[0] : 0;
    size_t nnz = two_d ? count_non_zero(dense) : 0;
    if (!two_d || dense->n < rows + 1 || nnz > dense->n / 2 ||
        rows + 1 + 2 * nnz >= dense->n) {
        *out = *dense;
        return TINKC_OK;
    }
    char *values = tk_arena_array(arena, nnz, item_size(dense));
    int64_t *crow = tk_arena_array(arena, rows + 1, sizeof(*crow));
    int64_t *col = tk_arena_array(arena, nnz, sizeof(*col));
    if (values == NULL || crow == NULL || col == NULL) {
        return tk_err_nomem(err);
    }
    fill_csr(dense, values, crow, col);
    tk_tensor sparse = *dense;
    sparse.is_sparse = true;
    sparse.data = values;
    sparse.n = nnz;
    sparse.crow = (tk_i64s){crow, rows + 1};
    sparse.col = (tk_i64s){col, nnz};
    *out = sparse;
    return TINKC_OK;
}
