/* Weight matrices packed in panels, and the three products of a linear layer.
 *
 * A matrix of n outputs and k inputs is stored as panels of ENG_LANES outputs, each
 * [k][ENG_LANES], zeros after the last output; as eng_real, or as bf16 or int8 (groups
 * with scales, see eng_kern.h), which are widened in registers. Every element of a
 * result is one chain over the reduction index (see eng_kern.h), so a row's bits do not
 * depend on the other rows. Work is cut between threads by elements of the result only.
 */
#ifndef ENGINE_ENG_MAT_H
#define ENGINE_ENG_MAT_H

#include "engine/eng_dtype.h"
#include "engine/eng_kern.h"
#include "engine/eng_pool.h"

typedef struct eng_mat {
    void *panels; /* owned by the allocator of its eng_mat_bytes() */
    size_t n, k;  /* outputs, inputs */
    eng_format format;
} eng_mat;

/* false when the size overflows. */
TK_NODISCARD bool eng_mat_bytes(size_t *out, size_t n, size_t k, eng_format format);

/* Fills panels [begin, end); `rows`, [...][k] in `dtype`, begin with the first row of
 * panel `begin`. A bf16 matrix takes bf16 rows only; an int8 matrix rounds what it
 * takes. */
void eng_mat_pack_panels(const eng_mat *mat, const void *rows, eng_dtype dtype,
                         size_t begin, size_t end);
void eng_mat_pack_reals(const eng_mat *mat, const eng_real *rows); /* eng_real only */
void eng_mat_unpack_row(const eng_mat *mat, size_t row, eng_real *out);

/* y[rows][n] = x W^T (+ bias), or y += scale * x W^T (+ bias) when add. */
typedef struct eng_mul {
    const eng_mat *w;
    const eng_real *x; /* [rows][k], row stride ldx */
    size_t ldx, rows;
    eng_real *y; /* row stride ldy */
    size_t ldy;
    const eng_real *bias; /* [n] or NULL */
    eng_real scale;       /* with add only */
    bool add;
} eng_mul;

/* The most scratch, in bytes, that a thread of the pool needs for products of `rows` rows
 * with matrices whose longer side is `widest`. */
size_t eng_mul_scratch(size_t rows, size_t widest);

TK_NODISCARD tinkc_code eng_mul_run(eng_pool *pool, const eng_mul *m, tk_err *err);

/* y[rows][k] = x W, or y += scale * x W when add; x is [rows][n]: the gradient of the
 * layer's input from the gradient of its output. The reduction runs over outputs. */
TK_NODISCARD tinkc_code eng_mul_back_run(eng_pool *pool, const eng_mul *m, tk_err *err);

/* c[i * c_a + j * c_b] += sum over rows of a[row][i] * b[row][j]; the chain goes on from
 * what c holds. b is the wide operand. */
typedef struct eng_outer {
    const eng_real *a; /* [rows][na], row stride lda */
    size_t na, lda;
    const eng_real *b; /* [rows][nb], row stride ldb */
    size_t nb, ldb;
    size_t rows;
    eng_real *c;
    size_t c_a, c_b;
} eng_outer;

TK_NODISCARD tinkc_code eng_outer_run(eng_pool *pool, const eng_outer *o, tk_err *err);

#endif
