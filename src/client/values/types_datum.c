/* Datums: a model input with named tensors, and the conversion of the caller's arrays. */
#include <string.h>

#include "client/values/error.h"
#include "client/values/types.h"
#include "client/values/types_int.h"
#include "wire/input.h"
#include "wire/tensor.h"

struct tinkc_datum {
    tinkc_model_input *input; /* owned */
    tk_named_tensor *tensors; /* owned; what they point to is in the arena */
    size_t capacity;
    tk_arena arena;
    tk_datum wire;
};

void *tk_types_dup(tk_arena *arena, const void *data, size_t n)
{
    void *copy = tk_arena_alloc(arena, n);
    if (copy != NULL && n > 0) {
        memcpy(copy, data, n);
    }
    return copy;
}

/* ---- arrays ---- */

/* The two lists of element types agree by number. */
_Static_assert((int)TINKC_ELEM_I8 == (int)TK_ELEM_I8 &&
                   (int)TINKC_ELEM_U64 == (int)TK_ELEM_U64 &&
                   (int)TINKC_ELEM_F32 == (int)TK_ELEM_F32 &&
                   (int)TINKC_ELEM_BOOL == (int)TK_ELEM_BOOL,
               "tinkc_elem and tk_elem");

static bool is_empty(const tinkc_array *array)
{
    for (size_t i = 0; i < array->ndim; i++) {
        if (array->shape[i] == 0) {
            return true;
        }
    }
    return false;
}

static tinkc_code pick_dtype(tk_dtype *out, const tinkc_array *array, tk_str name,
                             tk_err *err)
{
    switch (array->dtype) {
    case TINKC_DTYPE_FLOAT32:
        *out = TK_DTYPE_F32;
        return TINKC_OK;
    case TINKC_DTYPE_INT64:
        *out = TK_DTYPE_I64;
        return TINKC_OK;
    case TINKC_DTYPE_INFER:
        *out = tk_tensor_infer_dtype((tk_elem)array->elem, is_empty(array) ? 0 : 1);
        return TINKC_OK;
    case TINKC_DTYPE_BY_NAME:
        return tk_tensor_field_dtype(out, name, err);
    case TINKC_DTYPE_OTHER:
        break;
    }
    return tk_err_set(err, TINKC_E_INVALID, "unknown dtype %d", (int)array->dtype);
}

/* Data that is still the caller's becomes ours, unless it may stay. */
static tinkc_code own_data(tk_tensor *tensor, tk_arena *arena, const tinkc_array *array,
                           tk_err *err)
{
    bool borrowed = tensor->data == array->data && array->data != NULL;
    if (!borrowed || (array->flags & TINKC_ARRAY_BORROW) != 0) {
        return TINKC_OK;
    }
    size_t size = tensor->dtype == TK_DTYPE_I64 ? sizeof(int64_t) : sizeof(float);
    tensor->data = tk_types_dup(arena, array->data, tensor->n * size);
    return tensor->data != NULL ? TINKC_OK : tk_err_nomem(err);
}

tinkc_code tk_types_convert(tk_tensor *out, tk_arena *arena, const tinkc_array *array,
                            tk_str name, tk_err *err)
{
    tinkc_array a = TINKC_ARRAY_INIT;
    tinkc_code code = tk_types_options(&a, sizeof(a), array, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (a.ndim > 0 && a.shape == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "an array with dimensions needs a shape");
    }
    const tk_tensor_source source = {.elem = (tk_elem)a.elem,
                                     .data = a.data,
                                     .shape = a.shape,
                                     .ndim = a.ndim,
                                     .strides = a.strides,
                                     .produce = a.produce,
                                     .user = a.user};
    tk_dtype dtype = TK_DTYPE_UNSPECIFIED;
    tk_tensor tensor = {.dtype = TK_DTYPE_UNSPECIFIED};
    tk_tensor_notes notes = {0, 0};
    code = pick_dtype(&dtype, &a, name, err);
    if (code == TINKC_OK) {
        code = tk_tensor_from(&tensor, arena, &source, dtype, &notes, err);
    }
    if (code == TINKC_OK && (a.flags & TINKC_ARRAY_COMPACT) != 0) {
        code = tk_tensor_compact(&tensor, arena, &tensor, err);
    }
    if (code == TINKC_OK) {
        code = own_data(&tensor, arena, &a, err);
    }
    if (code == TINKC_OK) {
        *out = tensor;
        if (a.rounded != NULL) {
            *a.rounded = notes.rounded;
        }
    }
    return code;
}

/* ---- datum ---- */

const tk_datum *tk_types_datum(const tinkc_datum *datum)
{
    static const tk_datum empty = {.model_input = {NULL, 0}};
    return datum != NULL ? &datum->wire : &empty;
}

tinkc_code tinkc_datum_new(tinkc_datum **out, tinkc_model_input **input,
                           tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL || input == NULL || *input == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "out and input must not be NULL");
        return tk_error_give(err, &e);
    }
    tinkc_datum *datum = tk_zalloc(sizeof(*datum));
    if (datum == NULL) {
        (void)tk_err_nomem(&e);
        return tk_error_give(err, &e);
    }
    tk_arena_init(&datum->arena, 0);
    datum->input = *input;
    datum->wire.model_input = *tk_types_input(*input);
    *input = NULL;
    *out = datum;
    return TINKC_OK;
}

void tinkc_datum_free(tinkc_datum **datum)
{
    if (datum == NULL || *datum == NULL) {
        return;
    }
    tinkc_model_input_free(&(*datum)->input);
    tk_free((*datum)->tensors);
    tk_arena_dispose(&(*datum)->arena);
    tk_free(*datum);
    *datum = NULL;
}

static tk_named_tensor *find(const tinkc_datum *datum, tk_str name)
{
    for (size_t i = 0; i < datum->wire.loss_fn_inputs.n; i++) {
        if (tk_str_eq(datum->tensors[i].name, name)) {
            return &datum->tensors[i];
        }
    }
    return NULL;
}

/* Puts a tensor whose memory is the datum's under a name. */
static tinkc_code put(tinkc_datum *datum, tk_str name, const tk_tensor *tensor,
                      tk_err *err)
{
    tk_named_tensor *old = find(datum, name);
    if (old != NULL) {
        old->tensor = *tensor;
        return TINKC_OK;
    }
    size_t n = datum->wire.loss_fn_inputs.n;
    if (n >= TK_TENSOR_MAP_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d inputs", TK_TENSOR_MAP_MAX);
    }
    if (n == datum->capacity) {
        size_t capacity = n > 0 ? n * 2 : 4;
        tk_named_tensor *grown =
            tk_realloc_array(datum->tensors, capacity, sizeof(*grown));
        if (grown == NULL) {
            return tk_err_nomem(err);
        }
        datum->tensors = grown;
        datum->capacity = capacity;
        datum->wire.loss_fn_inputs.items = grown;
    }
    tk_named_tensor *slot = &datum->tensors[n];
    if (!tk_arena_dup(&datum->arena, &slot->name, name.p, name.n)) {
        return tk_err_nomem(err);
    }
    slot->tensor = *tensor;
    datum->wire.loss_fn_inputs.n = n + 1;
    return TINKC_OK;
}

tinkc_code tinkc_datum_set(tinkc_datum *datum, const char *name, const tinkc_array *array,
                           tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_tensor tensor = {.dtype = TK_DTYPE_UNSPECIFIED};
    if (datum == NULL || name == NULL || array == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "datum, name and array must not be NULL");
        return tk_error_give(err, &e);
    }
    tk_str key = tk_str_of(name);
    if (tk_types_convert(&tensor, &datum->arena, array, key, &e) != TINKC_OK ||
        put(datum, key, &tensor, &e) != TINKC_OK) {
        tk_err_under(&e, name);
        return tk_error_give(err, &e);
    }
    return TINKC_OK;
}

static tinkc_code set_list(tinkc_datum *datum, const char *name, tinkc_elem elem,
                           const void *values, size_t n, tinkc_error **err)
{
    tinkc_array array = TINKC_ARRAY_INIT;
    const int64_t shape[] = {n <= INT64_MAX ? (int64_t)n : -1};
    array.elem = elem;
    array.data = values;
    array.shape = shape;
    array.ndim = 1;
    return tinkc_datum_set(datum, name, &array, err);
}

tinkc_code tinkc_datum_set_i32(tinkc_datum *datum, const char *name,
                               const int32_t *values, size_t n, tinkc_error **err)
{
    return set_list(datum, name, TINKC_ELEM_I32, values, n, err);
}

tinkc_code tinkc_datum_set_i64(tinkc_datum *datum, const char *name,
                               const int64_t *values, size_t n, tinkc_error **err)
{
    return set_list(datum, name, TINKC_ELEM_I64, values, n, err);
}

tinkc_code tinkc_datum_set_f32(tinkc_datum *datum, const char *name, const float *values,
                               size_t n, tinkc_error **err)
{
    return set_list(datum, name, TINKC_ELEM_F32, values, n, err);
}

tinkc_code tinkc_datum_set_f64(tinkc_datum *datum, const char *name, const double *values,
                               size_t n, tinkc_error **err)
{
    return set_list(datum, name, TINKC_ELEM_F64, values, n, err);
}

static tinkc_code convert_rows(tk_tensor *out, tk_arena *arena, const tinkc_rows *rows,
                               tk_str name, tk_err *err)
{
    tinkc_rows r = TINKC_ROWS_INIT;
    tk_dtype dtype = TK_DTYPE_UNSPECIFIED;
    tinkc_code code = tk_types_options(&r, sizeof(r), rows, err);
    if (code == TINKC_OK && r.n > 0 && (r.rows == NULL || r.lengths == NULL)) {
        code = tk_err_set(err, TINKC_E_INVALID, "rows and lengths must not be NULL");
    }
    if (code == TINKC_OK) {
        const int64_t shape[] = {r.n > 0 && r.lengths[0] > 0 ? 1 : 0};
        tinkc_array like = TINKC_ARRAY_INIT; /* only to decide the dtype */
        like.elem = r.elem;
        like.dtype = r.dtype;
        like.shape = shape;
        like.ndim = 1;
        code = pick_dtype(&dtype, &like, name, err);
    }
    const tk_tensor_rows source = {(tk_elem)r.elem, r.rows, r.lengths, r.n};
    return code != TINKC_OK ? code
                            : tk_tensor_from_rows(out, arena, &source, dtype, NULL, err);
}

tinkc_code tinkc_datum_set_rows(tinkc_datum *datum, const char *name,
                                const tinkc_rows *rows, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_tensor tensor = {.dtype = TK_DTYPE_UNSPECIFIED};
    if (datum == NULL || name == NULL || rows == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "datum, name and rows must not be NULL");
        return tk_error_give(err, &e);
    }
    tk_str key = tk_str_of(name);
    if (convert_rows(&tensor, &datum->arena, rows, key, &e) != TINKC_OK ||
        put(datum, key, &tensor, &e) != TINKC_OK) {
        tk_err_under(&e, name);
        return tk_error_give(err, &e);
    }
    return TINKC_OK;
}

static bool copy_i64s(tk_i64s *list, tk_arena *arena)
{
    if (list->n > 0) {
        list->p = tk_types_dup(arena, list->p, list->n * sizeof(*list->p));
    }
    return list->n == 0 || list->p != NULL;
}

tinkc_code tk_types_copy_tensor(tk_tensor *out, tk_arena *arena, const tk_tensor *from,
                                tk_err *err)
{
    tinkc_code code = tk_tensor_check(from, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_tensor copy = *from;
    size_t size = from->dtype == TK_DTYPE_I64 ? sizeof(int64_t) : sizeof(float);
    copy.data = tk_types_dup(arena, from->data, from->n * size);
    if (copy.data == NULL || !copy_i64s(&copy.shape, arena) ||
        !copy_i64s(&copy.crow, arena) || !copy_i64s(&copy.col, arena)) {
        return tk_err_nomem(err);
    }
    *out = copy;
    return TINKC_OK;
}

tinkc_code tinkc_datum_set_tensor(tinkc_datum *datum, const char *name,
                                  const tinkc_tensor *tensor, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_tensor copy = {.dtype = TK_DTYPE_UNSPECIFIED};
    if (datum == NULL || name == NULL || tensor == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "datum, name and tensor must not be NULL");
        return tk_error_give(err, &e);
    }
    const tk_tensor *from = (const tk_tensor *)(const void *)tensor;
    if (tk_types_copy_tensor(&copy, &datum->arena, from, &e) != TINKC_OK ||
        put(datum, tk_str_of(name), &copy, &e) != TINKC_OK) {
        tk_err_under(&e, name);
        return tk_error_give(err, &e);
    }
    return TINKC_OK;
}

/* ---- provenance ---- */

static tinkc_code copy_spans(tk_origins *out, tk_arena *arena, const tinkc_origin *from,
                             size_t n, tk_err *err)
{
    tk_origin *spans = tk_arena_array(arena, n, sizeof(*spans));
    if (spans == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        const tinkc_origin *span = &from[i];
        tk_str id = tk_str_of(span->sequence_id);
        bool known =
            span->kind == TINKC_ORIGIN_PROMPT || span->kind == TINKC_ORIGIN_SAMPLED;
        if (!known || id.n == 0 || span->offset < 0 || span->length < 0) {
            tinkc_code code = tk_err_set(
                err, TINKC_E_INVALID,
                "needs a kind, a sequence_id, and an offset and a length of 0 or more");
            tk_err_under_index(err, i);
            return code;
        }
        spans[i] = (tk_origin){.is_sampled = span->kind == TINKC_ORIGIN_SAMPLED,
                               .offset = span->offset,
                               .length = span->length};
        if (!tk_arena_dup(arena, &spans[i].sequence_id, id.p, id.n)) {
            return tk_err_nomem(err);
        }
    }
    *out = (tk_origins){spans, n};
    return TINKC_OK;
}

/* The spans cover `length` positions; a negative one is not known. */
static tinkc_code check_cover(const tk_origins *spans, int64_t length, tk_err *err)
{
    int64_t covered = 0;
    for (size_t i = 0; i < spans->n; i++) {
        covered = spans->p[i].length > INT64_MAX - covered ? INT64_MAX
                                                           : covered + spans->p[i].length;
    }
    return length < 0 || covered == length
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID,
                            "the spans cover %lld positions, there are %lld",
                            (long long)covered, (long long)length);
}

static int64_t count_targets(const tinkc_datum *datum)
{
    const tk_named_tensor *targets = find(datum, TK_STR("target_tokens"));
    if (targets == NULL || !targets->tensor.has_shape || targets->tensor.shape.n != 1) {
        return -1;
    }
    return targets->tensor.shape.p[0];
}

static tinkc_code set_provenance(tinkc_datum *datum, const tk_origins *input,
                                 const tk_origins *targets, tk_err *err)
{
    int64_t length = 0; /* not known when an image does not tell */
    bool known =
        tk_model_input_length(&length, &datum->wire.model_input, NULL) == TINKC_OK;
    tinkc_code code = check_cover(input, known ? length : -1, err);
    if (code != TINKC_OK) {
        tk_err_under(err, "input");
        return code;
    }
    code = check_cover(targets, count_targets(datum), err);
    if (code != TINKC_OK) {
        tk_err_under(err, "targets");
        return code;
    }
    datum->wire.model_input_spans = *input;
    datum->wire.loss_fn_input_spans = *targets;
    return TINKC_OK;
}

tinkc_code tinkc_datum_set_provenance(tinkc_datum *datum, const tinkc_origin *input,
                                      size_t input_n, const tinkc_origin *targets,
                                      size_t targets_n, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_origins a = {NULL, 0}, b = {NULL, 0};
    if (datum == NULL || (input == NULL && input_n > 0) ||
        (targets == NULL && targets_n > 0) || (input_n > 0) != (targets_n > 0)) {
        (void)tk_err_set(&e, TINKC_E_INVALID,
                         "datum must not be NULL, and both lists are given or neither");
        return tk_error_give(err, &e);
    }
    if (input_n == 0) {
        datum->wire.model_input_spans = datum->wire.loss_fn_input_spans = a;
        return TINKC_OK;
    }
    tinkc_code code = copy_spans(&a, &datum->arena, input, input_n, &e);
    if (code != TINKC_OK) {
        tk_err_under(&e, "input");
        return tk_error_give(err, &e);
    }
    code = copy_spans(&b, &datum->arena, targets, targets_n, &e);
    if (code != TINKC_OK) {
        tk_err_under(&e, "targets");
        return tk_error_give(err, &e);
    }
    code = set_provenance(datum, &a, &b, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

const tinkc_tensor *tinkc_datum_tensor(const tinkc_datum *datum, const char *name)
{
    if (datum == NULL || name == NULL) {
        return NULL;
    }
    const tk_named_tensor *found = find(datum, tk_str_of(name));
    return found != NULL ? tk_types_tensor(&found->tensor) : NULL;
}

const tinkc_model_input *tinkc_datum_input(const tinkc_datum *datum)
{
    return datum != NULL ? datum->input : NULL;
}
