/* Tensors from the caller's arrays, and what makes a tensor valid (docs/protocol.md §8.1,
 * §8.2).
 *
 * Only int64 and float32 travel; every other element type is converted here, with
 * overflow checks. An array that already has the right type and layout is borrowed, not
 * copied. Pure; thread: any. */
#ifndef WIRE_TENSOR_H
#define WIRE_TENSOR_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/value.h"

typedef enum tk_elem {
    TK_ELEM_I8,
    TK_ELEM_I16,
    TK_ELEM_I32,
    TK_ELEM_I64,
    TK_ELEM_U8,
    TK_ELEM_U16,
    TK_ELEM_U32,
    TK_ELEM_U64,
    TK_ELEM_F32,
    TK_ELEM_F64,
    TK_ELEM_BF16, /* uint16_t: the upper half of a float32 */
    TK_ELEM_BOOL  /* bool */
} tk_elem;

size_t tk_elem_size(tk_elem elem); /* 0 for any other value */

/* Writes elements [first, first + n) of the row-major sequence to `out`; called in
 * ascending order without gaps. A code other than TINKC_OK ends the conversion with
 * it. */
typedef tinkc_code (*tk_tensor_producer)(void *out, size_t first, size_t n, void *user);

/* Where elements come from: an array, a strided view of one, or a callback. */
typedef struct tk_tensor_source {
    tk_elem elem;
    const void *data; /* element [0, 0, ...]; unused with `produce` */
    const int64_t *shape;
    size_t ndim;            /* 0 = a scalar; at most TK_TENSOR_MAX_DIMS */
    const int64_t *strides; /* in elements, may be 0 or negative; NULL = row major */
    tk_tensor_producer produce;
    void *user;
} tk_tensor_source;

/* What a conversion did; both counts are warnings, not errors. Only what was converted is
 * counted: a float32 array that could be borrowed is not looked at. */
typedef struct tk_tensor_notes {
    size_t rounded;    /* elements whose value changed by rounding to float32 */
    size_t non_finite; /* NaN or infinite elements */
} tk_tensor_notes;

/* The dtype that lists under a well-known name take: target_tokens int64; weights,
 * advantages, logprobs, clip_low_threshold, clip_high_threshold float32. TINKC_E_INVALID
 * for any other name: its dtype has to be given. */
TK_NODISCARD tinkc_code tk_tensor_field_dtype(tk_dtype *out, tk_str name, tk_err *err);

/* The other rule of thumb, for callers that ask for it: integers give int64, floats and
 * an empty list give float32. */
tk_dtype tk_tensor_infer_dtype(tk_elem elem, size_t n);

/* Fills *out with an explicit shape, which lives in the arena. Its data borrows from
 * source->data when nothing had to be done, else it lives in the arena too. `want` is F32
 * or I64; notes may be NULL. NaN and infinity pass into float32; the JSON encoder refuses
 * them. TINKC_E_INVALID: shape, u64 above INT64_MAX, a finite value beyond float32, a
 * fraction or NaN where an integer is wanted; err->path is the flat index "[7]". */
TK_NODISCARD tinkc_code tk_tensor_from(tk_tensor *out, tk_arena *arena,
                                       const tk_tensor_source *source, tk_dtype want,
                                       tk_tensor_notes *notes, tk_err *err);

/* Nested input: n rows, each with its length. */
typedef struct tk_tensor_rows {
    tk_elem elem;
    const void *const *rows;
    const size_t *lengths;
    size_t n;
} tk_tensor_rows;

/* A 2-D tensor from rows of equal length; a ragged list is TINKC_E_INVALID, with the row
 * in err->path. No rows give shape [0]. */
TK_NODISCARD tinkc_code tk_tensor_from_rows(tk_tensor *out, tk_arena *arena,
                                            const tk_tensor_rows *rows, tk_dtype want,
                                            tk_tensor_notes *notes, tk_err *err);

/* Whether the parts agree: dtype F32 or I64, dimensions not negative, their product equal
 * to n; of a sparse one: two dimensions, crow ascending from 0 to n with rows + 1
 * entries, every col within its row. TINKC_E_INVALID otherwise. */
TK_NODISCARD tinkc_code tk_tensor_check(const tk_tensor *tensor, tk_err *err);

/* Elements of the dense form; true unless it overflows. A missing shape is [n]. */
TK_NODISCARD bool tk_tensor_count(const tk_tensor *tensor, size_t *out);

/* The CSR form of a dense 2-D tensor when (rows + 1) + 2 * nnz < rows * cols, else *out =
 * *dense. Only zeros are left out; NaN counts as non-zero. */
TK_NODISCARD tinkc_code tk_tensor_compact(tk_tensor *out, tk_arena *arena,
                                          const tk_tensor *dense, tk_err *err);

const char *tk_dtype_name(tk_dtype dtype); /* "int64", "float32", ...; static */

#endif
