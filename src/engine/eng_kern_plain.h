/* The tile kernels in plain C, of the tables `generic` and `fma`. The file that includes
 * this header defines MULTIPLY_ADD(sum, x, y) before. For those two files only. */
#ifndef ENGINE_ENG_KERN_PLAIN_H
#define ENGINE_ENG_KERN_PLAIN_H

#include "engine/eng_vec.h"

/* The weights of panel p at one k. */
static void plain_weights(eng_real *out, const eng_tile *t, size_t p, size_t k,
                          eng_format format)
{
    size_t at = p * t->b_panel + k * t->b_k;
    if (format == ENG_FORMAT_INT8) {
        size_t in = k % ENG_GROUP;
        const char *group = (const char *)t->b + p * t->b_panel + eng_int8_bytes(k - in);
        vec_widen_int8(out, (const void *)(group + ENG_SCALE_BYTES + in * ENG_LANES),
                       (const void *)group, 1);
    } else if (format == ENG_FORMAT_BF16) {
        vec_widen(out, (const uint16_t *)t->b + at, ENG_LANES);
    } else {
        memcpy(out, (const eng_real *)t->b + at, ENG_LANES * sizeof(*out));
    }
}

/* One row of one panel. */
static void plain_row(const eng_tile *t, size_t r, size_t p, eng_format format)
{
    const eng_real *a = t->a + r * t->a_row;
    eng_real *c = t->c + r * t->c_row + p * ENG_LANES;
    eng_real sum[ENG_LANES] = {0}, b[ENG_LANES];
    if (t->add) {
        memcpy(sum, c, sizeof(sum));
    }
    for (size_t k = 0; k < t->k; k++) {
        eng_real x = a[k * t->a_k];
        plain_weights(b, t, p, k, format);
        for (size_t j = 0; j < ENG_LANES; j++) {
            sum[j] = MULTIPLY_ADD(sum[j], x, b[j]);
        }
    }
    memcpy(c, sum, sizeof(sum));
}

static void plain_rows(const eng_tile *t, eng_format format)
{
    for (size_t i = 0; i < t->rows * t->panels; i++) {
        plain_row(t, i / t->panels, i % t->panels, format);
    }
}

static void plain_tile(const eng_tile *t)
{
    plain_rows(t, ENG_FORMAT_REAL);
}

static void plain_tile_bf16(const eng_tile *t)
{
    plain_rows(t, ENG_FORMAT_BF16);
}

static void plain_tile_int8(const eng_tile *t)
{
    plain_rows(t, ENG_FORMAT_INT8);
}

static void plain_turn(eng_real *out, const eng_real *in)
{
    for (size_t i = 0; i < ENG_LANES; i++) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            out[l * ENG_LANES + i] = in[i * ENG_LANES + l];
        }
    }
}

#define PLAIN_ENTRIES                                                                    \
    .tile = plain_tile, .tile_bf16 = plain_tile_bf16, .tile_int8 = plain_tile_int8,      \
    .turn = plain_turn

#endif
