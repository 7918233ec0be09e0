/* The direction of Dimuon, as eng_adapter_dimuon_step uses it. */
#ifndef ENGINE_ENG_DIMUON_H
#define ENGINE_ENG_DIMUON_H

#include "engine/eng_pool.h"
#include "engine/eng_real.h"

/* A matrix as `k` vectors of `length` numbers, k <= length: its rows or its columns,
 * whichever are fewer. Number t of vector v is at v * step_v + t * step_t. */
typedef struct eng_dimuon_view {
    size_t k, length, step_v, step_t;
} eng_dimuon_view;

eng_dimuon_view eng_dimuon_view_of(size_t rows, size_t columns);

/* Numbers of type double that eng_dimuon_apply needs as `temp` for a view of this k. */
#define ENG_DIMUON_TEMP(k) ((size_t)5 * (k) * (k))

/* w -= rate * D, where D is the matrix sign of m (docs/internals/engine.md) with a
 * Frobenius norm of sqrt(rank). Nothing happens where m is all zero. The result does not
 * depend on the number of threads. */
typedef struct eng_dimuon_matrix {
    eng_dimuon_view view;
    const eng_real *m;
    eng_real *w;
    double rate, rank;
    double *temp;
} eng_dimuon_matrix;

void eng_dimuon_apply(eng_pool *pool, const eng_dimuon_matrix *matrix);

/* TINKC_E_INVALID names the first parameter that is out of range. */
TK_NODISCARD tinkc_code eng_dimuon_check(const eng_dimuon *dimuon, tk_err *err);

#endif
