/* Reading a whole packed matrix back. */
#ifndef SUPPORT_MATFIX_H
#define SUPPORT_MATFIX_H

#include "engine/eng_dtype.h"
#include "engine/eng_mat.h"

/* Writes the matrix to rows[n][k]. */
static inline void matfix_unpack(const eng_mat *mat, eng_real *rows)
{
    for (size_t row = 0; row < mat->n; row++) {
        eng_mat_unpack_row(mat, row, rows + row * mat->k);
    }
}

#endif
