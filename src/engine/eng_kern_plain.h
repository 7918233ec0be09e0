/* The tile kernels in plain C, of the tables `generic` and `fma`. The file that includes
 * this header defines MULTIPLY_ADD(sum, x, y) before. For those two files only. */
#ifndef ENGINE_ENG_KERN_PLAIN_H
#define ENGINE_ENG_KERN_PLAIN_H

#include "engine/eng_vec.h"

/* One row of one panel. */
static void plain_row(const eng_tile *t, size_t r, size_t p, bool bf16)
{
    const eng_real *a = t->a + r * t->a_row;
    eng_real *c = t->c + r * t->c_row + p * ENG_LANES;
    eng_real sum[ENG_LANES] = {0}, b[ENG_LANES];
    if (t->add) {
        memcpy(sum, c, sizeof(sum));
    }
    for (size_t k = 0; k < t->k; k++) {
        size_t at = p * t->b_panel + k * t->b_k;
        eng_real x = a[k * t->a_k];
        if (bf16) {
            vec_widen(b, (const uint16_t *)t->b + at, ENG_LANES);
        } else {
            memcpy(b, (const eng_real *)t->b + at, sizeof(b));
        }
        for (size_t j = 0; j < ENG_LANES; j++) {
            sum[j] = MULTIPLY_ADD(sum[j], x, b[j]);
        }
    }
    memcpy(c, sum, sizeof(sum));
}

static void plain_tile(const eng_tile *t)
{
    for (size_t i = 0; i < t->rows * t->panels; i++) {
        plain_row(t, i / t->panels, i % t->panels, false);
    }
}

static void plain_tile_bf16(const eng_tile *t)
{
    for (size_t i = 0; i < t->rows * t->panels; i++) {
        plain_row(t, i / t->panels, i % t->panels, true);
    }
}

static void plain_turn(eng_real *out, const eng_real *in)
{
    for (size_t i = 0; i < ENG_LANES; i++) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            out[l * ENG_LANES + i] = in[i * ENG_LANES + l];
        }
    }
}

#define PLAIN_ENTRIES .tile = plain_tile, .tile_bf16 = plain_tile_bf16, .turn = plain_turn

#endif
