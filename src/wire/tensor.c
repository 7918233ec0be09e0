/* Conversion of the caller's numbers to int64 or float32. Elements are gathered in blocks
 * from an array, a strided view or a callback; a block becomes integers or doubles first
 * and then the wanted type, so that each rule is written once. */
#include "wire/tensor.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/similar.h"

#define BLOCK         512      /* elements */
#define ELEM_MAX_SIZE 8        /* bytes */
#define F32_EXACT_INT 16777216 /* 2^24: integers up to here are exact in float32 */

/* One block on its way: the raw elements, then integers or reals. */
typedef struct block {
    _Alignas(16) unsigned char raw[BLOCK * ELEM_MAX_SIZE];
    tk_tensor_notes notes;
    bool is_real;
    union {
        int64_t ints[BLOCK];
        double reals[BLOCK];
    } as;
} block;

/* A walk over a source in row-major order. */
typedef struct walk {
    const tk_tensor_source *source;
    size_t size; /* of an element */
    size_t count;
    int64_t index[TK_TENSOR_MAX_DIMS];
} walk;

size_t tk_elem_size(tk_elem elem)
{
    switch (elem) {
    case TK_ELEM_I8:
    case TK_ELEM_U8:
        return 1;
    case TK_ELEM_I16:
    case TK_ELEM_U16:
    case TK_ELEM_BF16:
        return 2;
    case TK_ELEM_I32:
    case TK_ELEM_U32:
    case TK_ELEM_F32:
        return 4;
    case TK_ELEM_I64:
    case TK_ELEM_U64:
    case TK_ELEM_F64:
        return 8;
    case TK_ELEM_BOOL:
        return sizeof(bool);
    }
    return 0;
}

const char *tk_dtype_name(tk_dtype dtype)
{
    switch (dtype) {
    case TK_DTYPE_F32:
        return "float32";
    case TK_DTYPE_I64:
        return "int64";
    case TK_DTYPE_I32:
        return "int32";
    case TK_DTYPE_BF16:
        return "bfloat16";
    case TK_DTYPE_UNSPECIFIED:
        break;
    }
    return "unspecified";
}

tinkc_code tk_tensor_field_dtype(tk_dtype *out, tk_str name, tk_err *err)
{
    static const struct {
        const char *name;
        tk_dtype dtype;
    } map[] = {
        {"target_tokens", TK_DTYPE_I64},       {"weights", TK_DTYPE_F32},
        {"advantages", TK_DTYPE_F32},          {"logprobs", TK_DTYPE_F32},
        {"clip_low_threshold", TK_DTYPE_F32},  {"clip_high_threshold", TK_DTYPE_F32},
        {"sequence_ratio_mask", TK_DTYPE_F32},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(map); i++) {
        if (tk_str_is(name, map[i].name)) {
            *out = map[i].dtype;
            return TINKC_OK;
        }
    }
    tk_similar similar = {.typed = name};
    for (size_t i = 0; i < TK_ARRAY_LEN(map); i++) {
        tk_similar_try(&similar, map[i].name);
    }
    if (similar.best != NULL) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "no dtype is known for \"" TK_STR_FMT
                          "\": give one, or did you mean \"%s\"?",
                          TK_STR_ARG(name), similar.best);
    }
    return tk_err_set(err, TINKC_E_INVALID,
                      "no dtype is known for \"" TK_STR_FMT
                      "\": give one. Known are target_tokens, weights, advantages, "
                      "logprobs, clip_low_threshold, clip_high_threshold and "
                      "sequence_ratio_mask",
                      TK_STR_ARG(name));
}

tk_dtype tk_tensor_infer_dtype(tk_elem elem, size_t n)
{
    bool real = elem == TK_ELEM_F32 || elem == TK_ELEM_F64 || elem == TK_ELEM_BF16;
    return real || n == 0 ? TK_DTYPE_F32 : TK_DTYPE_I64;
}

static float bf16_to_f32(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

static tinkc_code fail_at(tk_err *err, size_t index, const char *why)
{
    tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "%s", why);
    tk_err_under_index(err, index);
    return code;
}

/* Copies the next n elements of a strided view. */
static void gather_strided(walk *w, unsigned char *out, size_t n)
{
    const tk_tensor_source *s = w->source;
    for (size_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (size_t d = 0; d < s->ndim; d++) {
            at += w->index[d] * s->strides[d];
        }
        const char *from = (const char *)s->data + at * (int64_t)w->size;
        memcpy(out + i * w->size, from, w->size);
        for (size_t d = s->ndim; d-- > 0;) {
            if (++w->index[d] < s->shape[d]) {
                break;
            }
            w->index[d] = 0;
        }
    }
}

static tinkc_code gather(walk *w, block *b, size_t first, size_t n, tk_err *err)
{
    const tk_tensor_source *s = w->source;
    if (s->produce != NULL) {
        tinkc_code code = s->produce(b->raw, first, n, s->user);
        return code == TINKC_OK ? TINKC_OK
                                : tk_err_set(err, code, "the tensor's producer failed");
    }
    if (s->strides != NULL) {
        gather_strided(w, b->raw, n);
    } else {
        memcpy(b->raw, (const char *)s->data + first * w->size, n * w->size);
    }
    return TINKC_OK;
}

static int64_t int_at(const void *raw, tk_elem elem, size_t i)
{
    switch (elem) {
    case TK_ELEM_I8:
        return ((const int8_t *)raw)[i];
    case TK_ELEM_I16:
        return ((const int16_t *)raw)[i];
    case TK_ELEM_I32:
        return ((const int32_t *)raw)[i];
    case TK_ELEM_I64:
        return ((const int64_t *)raw)[i];
    case TK_ELEM_U8:
        return ((const uint8_t *)raw)[i];
    case TK_ELEM_U16:
        return ((const uint16_t *)raw)[i];
    case TK_ELEM_U32:
        return ((const uint32_t *)raw)[i];
    case TK_ELEM_BOOL:
        return ((const unsigned char *)raw)[i * sizeof(bool)] != 0;
    case TK_ELEM_U64:
    case TK_ELEM_F32:
    case TK_ELEM_F64:
    case TK_ELEM_BF16:
        break;
    }
    return 0;
}

static double real_at(const void *raw, tk_elem elem, size_t i)
{
    if (elem == TK_ELEM_F64) {
        return ((const double *)raw)[i];
    }
    if (elem == TK_ELEM_F32) {
        return (double)((const float *)raw)[i];
    }
    return (double)bf16_to_f32(((const uint16_t *)raw)[i]);
}

static tinkc_code read_u64(block *b, size_t first, size_t n, tk_err *err)
{
    const uint64_t *raw = (const void *)b->raw;
    for (size_t i = 0; i < n; i++) {
        if (raw[i] > INT64_MAX) {
            return fail_at(err, first + i, "unsigned value is above the int64 range");
        }
        b->as.ints[i] = (int64_t)raw[i];
    }
    return TINKC_OK;
}

static tinkc_code read_raw(block *b, tk_elem elem, size_t first, size_t n, tk_err *err)
{
    b->is_real = elem == TK_ELEM_F32 || elem == TK_ELEM_F64 || elem == TK_ELEM_BF16;
    if (elem == TK_ELEM_U64) {
        return read_u64(b, first, n, err);
    }
    if (elem == TK_ELEM_I32) { /* token ids: worth a loop without branches */
        const int32_t *raw = (const void *)b->raw;
        for (size_t i = 0; i < n; i++) {
            b->as.ints[i] = raw[i];
        }
        return TINKC_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (b->is_real) {
            b->as.reals[i] = real_at(b->raw, elem, i);
        } else {
            b->as.ints[i] = int_at(b->raw, elem, i);
        }
    }
    return TINKC_OK;
}

static tinkc_code reals_to_i64(int64_t *out, const block *b, size_t first, size_t n,
                               tk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        double value = b->as.reals[i];
        bool fits = value >= -0x1p63 && value < 0x1p63 && trunc(value) == value;
        if (!fits) {
            return fail_at(err, first + i, "not a 64-bit integer");
        }
        out[i] = (int64_t)value;
    }
    return TINKC_OK;
}

static tinkc_code reals_to_f32(float *out, block *b, size_t first, size_t n, tk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        double value = b->as.reals[i];
        if (isfinite(value) && fabs(value) >= 0x1.ffffffp127) {
            return fail_at(err, first + i, "value is beyond the float32 range");
        }
        out[i] = (float)value;
        b->notes.rounded += isfinite(value) && (double)out[i] != value;
        b->notes.non_finite += isfinite(value) ? 0 : 1;
    }
    return TINKC_OK;
}

static bool f32_holds(int64_t value, float rounded)
{
    bool small = value >= -F32_EXACT_INT && value <= F32_EXACT_INT;
    return small || ((double)rounded < 0x1p63 && (int64_t)rounded == value);
}

static void ints_to_f32(float *out, block *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (float)b->as.ints[i];
        b->notes.rounded += !f32_holds(b->as.ints[i], out[i]);
    }
}

static tinkc_code write_block(void *out, tk_dtype want, block *b, size_t first, size_t n,
                              tk_err *err)
{
    if (want == TK_DTYPE_I64) {
        int64_t *ints = (int64_t *)out + first;
        if (b->is_real) {
            return reals_to_i64(ints, b, first, n, err);
        }
        memcpy(ints, b->as.ints, n * sizeof(*ints));
        return TINKC_OK;
    }
    float *reals = (float *)out + first;
    if (b->is_real) {
        return reals_to_f32(reals, b, first, n, err);
    }
    ints_to_f32(reals, b, n);
    return TINKC_OK;
}

static tinkc_code convert(void *out, tk_dtype want, walk *w, tk_tensor_notes *notes,
                          tk_err *err)
{
    block b;
    memset(&b.notes, 0, sizeof(b.notes));
    for (size_t first = 0; first < w->count; first += BLOCK) {
        size_t n = TK_MIN(w->count - first, (size_t)BLOCK);
        tinkc_code code = gather(w, &b, first, n, err);
        if (code == TINKC_OK) {
            code = read_raw(&b, w->source->elem, first, n, err);
        }
        if (code == TINKC_OK) {
            code = write_block(out, want, &b, first, n, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (notes != NULL) {
        *notes = b.notes;
    }
    return TINKC_OK;
}

/* Checks the caller's description of the source; gives the number of elements. */
static tinkc_code start_walk(walk *w, const tk_tensor_source *source, tk_dtype want,
                             tk_err *err)
{
    memset(w, 0, sizeof(*w));
    w->source = source;
    w->size = tk_elem_size(source->elem);
    w->count = 1;
    if (w->size == 0 || (want != TK_DTYPE_F32 && want != TK_DTYPE_I64)) {
        return tk_err_set(err, TINKC_E_INVALID, "unknown element type or dtype");
    }
    if (source->ndim > TK_TENSOR_MAX_DIMS) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d dimensions",
                          TK_TENSOR_MAX_DIMS);
    }
    bool fits = true;
    for (size_t d = 0; d < source->ndim; d++) {
        if (source->shape[d] < 0) {
            return tk_err_set(err, TINKC_E_INVALID, "negative dimension");
        }
        fits = fits && tk_size_mul(&w->count, w->count, (size_t)source->shape[d]);
    }
    size_t bytes;
    if (!fits || !tk_size_mul(&bytes, w->count, ELEM_MAX_SIZE)) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many elements");
    }
    if (w->count > 0 && source->data == NULL && source->produce == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "no data");
    }
    return TINKC_OK;
}

static bool can_borrow(const tk_tensor_source *source, tk_dtype want)
{
    bool same =
        want == TK_DTYPE_F32 ? source->elem == TK_ELEM_F32 : source->elem == TK_ELEM_I64;
    bool aligned = (uintptr_t)source->data % tk_elem_size(source->elem) == 0;
    return same && aligned && source->strides == NULL && source->produce == NULL;
}

tinkc_code tk_tensor_from(tk_tensor *out, tk_arena *arena, const tk_tensor_source *source,
                          tk_dtype want, tk_tensor_notes *notes, tk_err *err)
{
    walk w;
    tinkc_code code = start_walk(&w, source, want, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_tensor tensor = {.dtype = want, .n = w.count, .has_shape = true};
    int64_t *shape = tk_arena_array(arena, source->ndim, sizeof(*shape));
    if (shape == NULL) {
        return tk_err_nomem(err);
    }
    memcpy(shape, source->ndim > 0 ? source->shape : w.index,
           source->ndim * sizeof(*shape));
    tensor.shape.p = shape;
    tensor.shape.n = source->ndim;
    if (can_borrow(source, want)) {
        tensor.data = source->data;
        *out = tensor;
        return TINKC_OK;
    }
    size_t size = want == TK_DTYPE_F32 ? sizeof(float) : sizeof(int64_t);
    void *data = tk_arena_array(arena, w.count, size);
    if (data == NULL) {
        return tk_err_nomem(err);
    }
    code = convert(data, want, &w, notes, err);
    if (code == TINKC_OK) {
        tensor.data = data;
        *out = tensor;
    }
    return code;
}

/* Elements of nested rows, for tk_tensor_from. */
static tinkc_code produce_rows(void *out, size_t first, size_t n, void *user)
{
    const tk_tensor_rows *rows = user;
    size_t size = tk_elem_size(rows->elem);
    size_t cols = rows->lengths[0];
    for (size_t i = 0; i < n;) {
        size_t col = (first + i) % cols;
        size_t run = TK_MIN(cols - col, n - i);
        const char *row = rows->rows[(first + i) / cols];
        memcpy((char *)out + i * size, row + col * size, run * size);
        i += run;
    }
    return TINKC_OK;
}

tinkc_code tk_tensor_from_rows(tk_tensor *out, tk_arena *arena,
                               const tk_tensor_rows *rows, tk_dtype want,
                               tk_tensor_notes *notes, tk_err *err)
{
    for (size_t i = 1; i < rows->n; i++) {
        if (rows->lengths[i] != rows->lengths[0]) {
            return fail_at(err, i, "rows differ in length");
        }
    }
    size_t cols = rows->n > 0 ? rows->lengths[0] : 0;
    if (rows->n > INT64_MAX || cols > INT64_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many elements");
    }
    const int64_t shape[] = {(int64_t)rows->n, (int64_t)cols};
    tk_tensor_rows copy = *rows;
    tk_tensor_source source = {.elem = rows->elem,
                               .shape = shape,
                               .ndim = rows->n > 0 ? 2 : 1,
                               .produce = produce_rows,
                               .user = &copy};
    return tk_tensor_from(out, arena, &source, want, notes, err);
}
