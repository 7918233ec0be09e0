/* AdamW on flat arrays, as eng_adapter_optim_step and the tools use it. */
#ifndef ENGINE_ENG_OPTIM_H
#define ENGINE_ENG_OPTIM_H

#include "engine/eng_pool.h"
#include "engine/eng_real.h"

/* Moments and gradient scale of step `step` (1 = first):
 * p -= lr wd p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
 * p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps). */
typedef struct eng_adamw {
    const eng_adam *adam;
    uint64_t step;
    double grad_scale; /* from clipping; 1 = none */
    eng_real *p, *m, *v;
    const eng_real *g;
    size_t n;
} eng_adamw;

void eng_adamw_run(eng_pool *pool, const eng_adamw *step);

/* TINKC_E_INVALID when the step would leave numbers that overflow in the next pass.
 * Changes nothing. */
TK_NODISCARD tinkc_code eng_adamw_check(eng_pool *pool, const eng_adamw *step,
                                        tk_err *err);

/* Sum of squares in double, in an order that does not depend on threads. */
TK_NODISCARD tinkc_code eng_optim_norm2(eng_pool *pool, const eng_real *g, size_t n,
                                        double *out, tk_err *err);

/* c / norm when norm > c > 0, else 1. */
double eng_optim_clip(double norm, double clip);

/* TINKC_E_INVALID names the first parameter that is out of range. */
TK_NODISCARD tinkc_code eng_adam_check(const eng_adam *adam, tk_err *err);

#endif
