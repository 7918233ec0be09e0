/* Operations that treat rows one by one: RMSNorm and its gradient, rotary positions, the
 * feed-forward gate. Rows are shared out over the pool; none can fail. */
#ifndef ENGINE_ENG_ROWS_H
#define ENGINE_ENG_ROWS_H

#include "engine/eng_model.h"

/* y = w * x * inv, inv = 1 / sqrt(mean(x^2) + eps). x and y are [rows][n]. */
typedef struct eng_norm {
    const eng_real *x, *w;
    eng_real *y;
    eng_real *inv; /* [rows]; written by forward, read by backward */
    size_t rows, n;
    double eps;
} eng_norm;

void eng_norm_forward(eng_pool *pool, const eng_norm *norm);

/* d_x (+)= inv * (w * d_y - x * inv * mean(w * d_y * x * inv)); norm->y is not used. d_x
 * may be d_y when not add. */
void eng_norm_backward(eng_pool *pool, const eng_norm *norm, const eng_real *d_y,
                       eng_real *d_x, bool add);

/* Rotates [rows][heads * head_dim] in place; positions[row] is the row's position. */
typedef struct eng_rotation {
    const eng_model *model;
    eng_real *x;
    size_t rows, heads;
    const size_t *positions;
    bool back;
} eng_rotation;

void eng_rows_rotate(const eng_rotation *rotation);

/* out = silu(gate) * up over n numbers in all. */
void eng_rows_gate(eng_pool *pool, eng_real *out, const eng_real *gate,
                   const eng_real *up, size_t n);

/* d: dL/dout before, dL/dgate after; d_up: dL/dup. */
typedef struct eng_gate_grad {
    eng_real *d, *d_up;
    const eng_real *gate, *up;
    size_t n;
} eng_gate_grad;

void eng_rows_gate_backward(eng_pool *pool, const eng_gate_grad *g);

#endif
