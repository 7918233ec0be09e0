/* The reference kernels: plain C, always built, the oracle of the others. */
#include "engine/eng_kern.h"
#include "engine/eng_vec.h"

static void tile(const eng_tile *t)
{
    for (size_t r = 0; r < t->rows; r++) {
        const eng_real *a = t->a + r * t->a_row;
        eng_real *c = t->c + r * t->c_row;
        eng_real sum[ENG_LANES] = {0};
        if (t->add) {
            memcpy(sum, c, sizeof(sum));
        }
        for (size_t k = 0; k < t->k; k++) {
            const eng_real *b = t->b + k * t->b_k;
            eng_real x = a[k * t->a_k];
            for (size_t j = 0; j < ENG_LANES; j++) {
                sum[j] += x * b[j];
            }
        }
        memcpy(c, sum, sizeof(sum));
    }
}

static void strip(const eng_strip *s)
{
    const eng_real *b = s->b;
    for (size_t p = 0; p < s->panels; p++) {
        eng_tile t = {.k = s->k,
                      .rows = s->rows,
                      .a = s->a,
                      .a_row = s->a_row,
                      .a_k = 1,
                      .b = b + p * s->b_panel * ENG_LANES,
                      .b_k = ENG_LANES,
                      .c = s->c + p * ENG_LANES,
                      .c_row = s->c_row};
        tile(&t);
    }
}

static void strip_bf16_row(const eng_strip *s, const eng_real *a, const uint16_t *b,
                           eng_real *c)
{
    eng_real sum[ENG_LANES] = {0};
    for (size_t k = 0; k < s->k; k++) {
        eng_real wide[ENG_LANES];
        vec_widen(wide, b + k * ENG_LANES, ENG_LANES);
        for (size_t j = 0; j < ENG_LANES; j++) {
            sum[j] += a[k] * wide[j];
        }
    }
    memcpy(c, sum, sizeof(sum));
}

static void strip_bf16(const eng_strip *s)
{
    const uint16_t *b = s->b;
    for (size_t p = 0; p < s->panels; p++) {
        for (size_t r = 0; r < s->rows; r++) {
            strip_bf16_row(s, s->a + r * s->a_row, b + p * s->b_panel * ENG_LANES,
                           s->c + r * s->c_row + p * ENG_LANES);
        }
    }
}

const eng_kern *eng_kern_generic(void)
{
    static const eng_kern table = {
        .name = "generic",
        .tile = tile,
        .strip = strip,
        .strip_bf16 = strip_bf16,
        VEC_ENTRIES,
    };
    return &table;
}
