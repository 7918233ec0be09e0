/* Tensors and metrics as the user sees them, and reading of sized option structs. */
#include "client/values/types.h"

#include <string.h>

#include "client/values/error.h"
#include "client/values/types_int.h"
#include "wire/metrics.h"

/* ---- options ---- */

tinkc_code tk_types_options(void *out, size_t out_size, const void *in, tk_err *err)
{
    size_t size;
    if (in == NULL) {
        return TINKC_OK;
    }
    memcpy(&size, in, sizeof(size));
    if (size < sizeof(size) || size > TK_OPTIONS_MAX_BYTES) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "options are not initialised: start from the _INIT macro");
    }
    for (size_t i = out_size; i < size; i++) {
        if (((const unsigned char *)in)[i] != 0) {
            return tk_err_set(err, TINKC_E_UNSUPPORTED,
                              "an option of a newer version of tinkc is set");
        }
    }
    memcpy(out, in, TK_MIN(size, out_size));
    return TINKC_OK;
}

/* ---- tensors ---- */

typedef struct owned_tensor {
    tk_tensor tensor; /* first: the public pointer points here */
    tk_arena arena;
} owned_tensor;

/* A tinkc_tensor is never defined: its pointers are tk_tensor pointers. */
const tinkc_tensor *tk_types_tensor(const tk_tensor *tensor)
{
    return (const tinkc_tensor *)(const void *)tensor;
}

const tk_tensor *tk_types_wire_tensor(const tinkc_tensor *tensor)
{
    static const tk_tensor empty = {.dtype = TK_DTYPE_F32};
    return tensor != NULL ? (const tk_tensor *)(const void *)tensor : &empty;
}

static owned_tensor *new_owned(tk_err *err)
{
    owned_tensor *owned = tk_zalloc(sizeof(*owned));
    if (owned == NULL) {
        (void)tk_err_nomem(err);
        return NULL;
    }
    tk_arena_init(&owned->arena, 0);
    return owned;
}

/* Accepts NULL. */
static void free_owned(owned_tensor *owned)
{
    if (owned != NULL) {
        tk_arena_dispose(&owned->arena);
        tk_free(owned);
    }
}

tinkc_code tinkc_tensor_new(tinkc_tensor **out, const tinkc_array *array,
                            tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL || array == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "out and array must not be NULL");
        return tk_error_give(err, &e);
    }
    owned_tensor *owned = new_owned(&e);
    const tk_str no_name = {NULL, 0};
    if (owned == NULL) {
        return tk_error_give(err, &e);
    }
    if (tk_types_convert(&owned->tensor, &owned->arena, array, no_name, &e) != TINKC_OK) {
        free_owned(owned);
        return tk_error_give(err, &e);
    }
    *out = (tinkc_tensor *)(void *)owned;
    return TINKC_OK;
}

/* ---- sparse ---- */

/* The rest is checked when it is copied. */
static tinkc_code view_sparse(const tinkc_sparse *s, const int64_t shape[2],
                              tk_tensor *out, tk_err *err)
{
    bool is_float = s->dtype == TINKC_DTYPE_FLOAT32;
    if (!is_float && s->dtype != TINKC_DTYPE_INT64) {
        return tk_err_set(err, TINKC_E_INVALID, "dtype must be float32 or int64");
    }
    if (s->rows < 0 || s->columns < 0 || s->row_starts == NULL ||
        (s->n > 0 && (s->values == NULL || s->value_columns == NULL))) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a sparse tensor needs dimensions, values and their places");
    }
    *out = (tk_tensor){.dtype = is_float ? TK_DTYPE_F32 : TK_DTYPE_I64,
                       .data = s->values,
                       .n = s->n,
                       .has_shape = true,
                       .shape = {shape, 2},
                       .is_sparse = true,
                       .crow = {s->row_starts, (size_t)s->rows + 1},
                       .col = {s->value_columns, s->n}};
    return TINKC_OK;
}

tinkc_code tinkc_tensor_new_sparse(tinkc_tensor **out, const tinkc_sparse *sparse,
                                   tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tinkc_sparse mine = TINKC_SPARSE_INIT;
    tk_tensor view = {.dtype = TK_DTYPE_UNSPECIFIED};
    owned_tensor *owned = NULL;
    if (out == NULL || sparse == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "out and sparse must not be NULL");
        return tk_error_give(err, &e);
    }
    tinkc_code code = tk_types_options(&mine, sizeof(mine), sparse, &e);
    const int64_t shape[2] = {mine.rows, mine.columns};
    if (code == TINKC_OK) {
        code = view_sparse(&mine, shape, &view, &e);
    }
    if (code == TINKC_OK) {
        owned = new_owned(&e);
        code = owned != NULL
                   ? tk_types_copy_tensor(&owned->tensor, &owned->arena, &view, &e)
                   : TINKC_E_NOMEM;
    }
    if (code != TINKC_OK) {
        free_owned(owned);
        return tk_error_give(err, &e);
    }
    *out = (tinkc_tensor *)(void *)owned;
    return TINKC_OK;
}

void tinkc_tensor_free(tinkc_tensor **tensor)
{
    if (tensor == NULL || *tensor == NULL) {
        return;
    }
    free_owned((owned_tensor *)(void *)*tensor);
    *tensor = NULL;
}

tinkc_dtype tinkc_tensor_dtype(const tinkc_tensor *tensor)
{
    switch (tk_types_wire_tensor(tensor)->dtype) {
    case TK_DTYPE_I64:
        return TINKC_DTYPE_INT64;
    case TK_DTYPE_F32:
        return TINKC_DTYPE_FLOAT32;
    case TK_DTYPE_UNSPECIFIED:
    case TK_DTYPE_I32:
    case TK_DTYPE_BF16:
        break;
    }
    return TINKC_DTYPE_OTHER;
}

size_t tinkc_tensor_rank(const tinkc_tensor *tensor)
{
    const tk_tensor *t = tk_types_wire_tensor(tensor);
    return t->has_shape ? t->shape.n : 1;
}

int64_t tinkc_tensor_dim(const tinkc_tensor *tensor, size_t index)
{
    const tk_tensor *t = tk_types_wire_tensor(tensor);
    if (!t->has_shape) {
        return index == 0 ? (int64_t)t->n : 0;
    }
    return index < t->shape.n ? t->shape.p[index] : 0;
}

size_t tinkc_tensor_count(const tinkc_tensor *tensor)
{
    return tk_types_wire_tensor(tensor)->n;
}

const float *tinkc_tensor_f32(const tinkc_tensor *tensor)
{
    const tk_tensor *t = tk_types_wire_tensor(tensor);
    return t->dtype == TK_DTYPE_F32 ? t->data : NULL;
}

const int64_t *tinkc_tensor_i64(const tinkc_tensor *tensor)
{
    const tk_tensor *t = tk_types_wire_tensor(tensor);
    return t->dtype == TK_DTYPE_I64 ? t->data : NULL;
}

bool tinkc_tensor_is_sparse(const tinkc_tensor *tensor)
{
    return tk_types_wire_tensor(tensor)->is_sparse;
}

const int64_t *tinkc_tensor_columns(const tinkc_tensor *tensor)
{
    const tk_tensor *t = tk_types_wire_tensor(tensor);
    return t->is_sparse ? t->col.p : NULL;
}

const int64_t *tinkc_tensor_row_starts(const tinkc_tensor *tensor)
{
    const tk_tensor *t = tk_types_wire_tensor(tensor);
    return t->is_sparse ? t->crow.p : NULL;
}

/* ---- metrics ---- */

const tinkc_metrics *tk_types_metrics(const tk_num_map *metrics)
{
    return (const tinkc_metrics *)(const void *)metrics;
}

static const tk_num_map *wire_metrics(const tinkc_metrics *metrics)
{
    static const tk_num_map empty = {NULL, 0};
    return metrics != NULL ? (const tk_num_map *)(const void *)metrics : &empty;
}

size_t tinkc_metrics_count(const tinkc_metrics *metrics)
{
    return wire_metrics(metrics)->n;
}

bool tinkc_metrics_at(const char **name_out, double *value_out,
                      const tinkc_metrics *metrics, size_t index)
{
    const tk_num_map *map = wire_metrics(metrics);
    if (index >= map->n || name_out == NULL || value_out == NULL) {
        return false;
    }
    *name_out = map->items[index].name.p;
    *value_out = map->items[index].v;
    return true;
}

tinkc_code tinkc_metrics_get(double *out, const tinkc_metrics *metrics, const char *name,
                             tinkc_error **err)
{
    if (name == NULL || out == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "no name, or no place for the value");
    }
    const double *value = tk_metrics_find(wire_metrics(metrics), tk_str_of(name));
    if (value == NULL) {
        return tk_error_tell(err, TINKC_E_MISSING, "there is no metric of this name");
    }
    *out = *value;
    return TINKC_OK;
}

const char *tinkc_metrics_loss_name(const tinkc_metrics *metrics)
{
    const tk_named_num *loss = tk_metrics_loss(wire_metrics(metrics));
    return loss != NULL ? loss->name.p : NULL;
}

tinkc_code tinkc_metrics_loss(double *out, const tinkc_metrics *metrics,
                              tinkc_error **err)
{
    if (out == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "no place for the loss");
    }
    const tk_named_num *loss = tk_metrics_loss(wire_metrics(metrics));
    if (loss == NULL) {
        return tk_error_tell(err, TINKC_E_MISSING, "the metrics hold no loss");
    }
    *out = loss->v;
    return TINKC_OK;
}
