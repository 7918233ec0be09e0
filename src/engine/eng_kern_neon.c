/* NEON kernels for 64-bit ARM, where NEON and FMA are always there. The tile keeps up to
 * 6 x 16 sums in 24 of the 32 registers over the whole reduction, so the order of
 * additions never depends on the shape of the tile. */
#include "engine/eng_kern.h"

#if defined(__aarch64__) && !defined(ENG_DOUBLE)

#include <arm_neon.h>

#include "engine/eng_vec.h"

#define INLINE static inline __attribute__((always_inline))

/* 16 numbers: a row's sums, or a row of a panel. */
typedef struct quad {
    float32x4_t v0, v1, v2, v3;
} quad;

INLINE quad quad_zero(void)
{
    float32x4_t zero = vdupq_n_f32(0);
    return (quad){zero, zero, zero, zero};
}

INLINE quad quad_load(const float *p)
{
    return (quad){vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}

INLINE float32x4_t widen4(uint16x4_t half)
{
    return vreinterpretq_f32_u32(vshll_n_u16(half, 16));
}

INLINE quad quad_load_bf16(const uint16_t *p)
{
    return (quad){widen4(vld1_u16(p)), widen4(vld1_u16(p + 4)), widen4(vld1_u16(p + 8)),
                  widen4(vld1_u16(p + 12))};
}

INLINE void quad_store(float *p, const quad *q)
{
    vst1q_f32(p, q->v0);
    vst1q_f32(p + 4, q->v1);
    vst1q_f32(p + 8, q->v2);
    vst1q_f32(p + 12, q->v3);
}

INLINE void quad_step(quad *sum, float x, const quad *b)
{
    sum->v0 = vfmaq_n_f32(sum->v0, b->v0, x);
    sum->v1 = vfmaq_n_f32(sum->v1, b->v1, x);
    sum->v2 = vfmaq_n_f32(sum->v2, b->v2, x);
    sum->v3 = vfmaq_n_f32(sum->v3, b->v3, x);
}

/* Up to six rows; rows from `rows` on are folded away. Separate variables, not an array:
 * the compiler must keep them in registers. */
typedef struct tile_sums {
    quad r0, r1, r2, r3, r4, r5;
} tile_sums;

INLINE quad row_load(const eng_tile *t, const size_t r, const size_t rows)
{
    return r < rows && t->add ? quad_load(t->c + r * t->c_row) : quad_zero();
}

INLINE void row_store(const quad *q, const eng_tile *t, const size_t r, const size_t rows)
{
    if (r < rows) {
        quad_store(t->c + r * t->c_row, q);
    }
}

INLINE void tile_step(tile_sums *s, const float *a, size_t row, const quad *b,
                      const size_t rows)
{
    quad_step(&s->r0, a[0], b);
    if (rows > 1) {
        quad_step(&s->r1, a[row], b);
    }
    if (rows > 2) {
        quad_step(&s->r2, a[2 * row], b);
    }
    if (rows > 3) {
        quad_step(&s->r3, a[3 * row], b);
    }
    if (rows > 4) {
        quad_step(&s->r4, a[4 * row], b);
    }
    if (rows > 5) {
        quad_step(&s->r5, a[5 * row], b);
    }
}

INLINE void tile_rows(const eng_tile *t, const size_t rows)
{
    tile_sums s = {row_load(t, 0, rows), row_load(t, 1, rows), row_load(t, 2, rows),
                   row_load(t, 3, rows), row_load(t, 4, rows), row_load(t, 5, rows)};
    const float *a = t->a, *b = t->b;
    const size_t row = t->a_row, a_k = t->a_k, b_k = t->b_k;
    for (size_t k = t->k; k > 0; k--) {
        quad panel = quad_load(b);
        tile_step(&s, a, row, &panel, rows);
        a += a_k;
        b += b_k;
    }
    row_store(&s.r0, t, 0, rows);
    row_store(&s.r1, t, 1, rows);
    row_store(&s.r2, t, 2, rows);
    row_store(&s.r3, t, 3, rows);
    row_store(&s.r4, t, 4, rows);
    row_store(&s.r5, t, 5, rows);
}

INLINE quad load_panel(const void *b, size_t at, const bool bf16)
{
    return bf16 ? quad_load_bf16((const uint16_t *)b + at)
                : quad_load((const float *)b + at);
}

/* One row against `wide` (1 or 4) panels at once: independent streams hide the latency of
 * memory and of FMA. */
INLINE void strip_row(const eng_strip *s, size_t r, size_t first, const size_t wide,
                      const bool bf16)
{
    quad s0 = quad_zero(), s1 = quad_zero(), s2 = quad_zero(), s3 = quad_zero();
    const float *a = s->a + r * s->a_row;
    float *c = s->c + r * s->c_row + first * ENG_LANES;
    const size_t panel = s->b_panel * ENG_LANES;
    for (size_t k = 0, at = first * panel; k < s->k; k++, at += ENG_LANES) {
        quad b = load_panel(s->b, at, bf16);
        quad_step(&s0, a[k], &b);
        if (wide > 1) {
            b = load_panel(s->b, at + panel, bf16);
            quad_step(&s1, a[k], &b);
            b = load_panel(s->b, at + 2 * panel, bf16);
            quad_step(&s2, a[k], &b);
            b = load_panel(s->b, at + 3 * panel, bf16);
            quad_step(&s3, a[k], &b);
        }
    }
    quad_store(c, &s0);
    if (wide > 1) {
        quad_store(c + ENG_LANES, &s1);
        quad_store(c + 2 * ENG_LANES, &s2);
        quad_store(c + 3 * ENG_LANES, &s3);
    }
}

INLINE void strip_any(const eng_strip *s, const bool bf16)
{
    for (size_t r = 0; r < s->rows; r++) {
        size_t p = 0;
        for (; p + 4 <= s->panels; p += 4) {
            strip_row(s, r, p, 4, bf16);
        }
        for (; p < s->panels; p++) {
            strip_row(s, r, p, 1, bf16);
        }
    }
}

#include "engine/eng_kern_simd.h"

const eng_kern *eng_kern_neon(void)
{
    static const eng_kern table = {
        .name = "neon",
        .tile = tile,
        .strip = strip,
        .strip_bf16 = strip_bf16,
        VEC_ENTRIES,
    };
    return &table;
}

#else

const eng_kern *eng_kern_neon(void)
{
    return NULL;
}

#endif
