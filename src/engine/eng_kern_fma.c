/* The plain C twin of the SIMD tables: one rounding per multiplication and addition, in
 * the same order, so that it gives their bits on every machine. It has the tile height of
 * the largest of them. Slow where the C library computes fmaf in software: for tests. */
#include "engine/eng_kern.h"

#ifndef ENG_DOUBLE

#include <math.h>

#define MULTIPLY_ADD(sum, x, y) fmaf(x, y, sum)
#include "engine/eng_kern_plain.h"

const eng_kern *eng_kern_fma(void)
{
    static const eng_kern table = {
        .name = "fma",
        .rows = ENG_ROWS,
        PLAIN_ENTRIES,
        VEC_ENTRIES,
    };
    return &table;
}

#else

const eng_kern *eng_kern_fma(void)
{
    return NULL;
}

#endif
