/* Reading a packed matrix back: the engine itself never needs its rows again. */
#ifndef SUPPORT_MATFIX_H
#define SUPPORT_MATFIX_H

#include "engine/eng_dtype.h"
#include "engine/eng_mat.h"

/* Writes the matrix to rows[n][k]. */
static inline void matfix_unpack(const eng_mat *mat, eng_real *rows)
{
    for (size_t row = 0; row < mat->n; row++) {
        size_t at = row / ENG_LANES * mat->k * ENG_LANES + row % ENG_LANES;
        for (size_t i = 0; i < mat->k; i++) {
            size_t from = at + i * ENG_LANES;
            rows[row * mat->k + i] =
                mat->bf16 ? eng_bf16_to_f32(((const uint16_t *)mat->panels)[from])
                          : ((const eng_real *)mat->panels)[from];
        }
    }
}

#endif
