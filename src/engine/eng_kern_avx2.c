/* AVX2 + FMA kernels. Built with -mavx2 -mfma for this file only, and used only when the
 * machine says it has both. The tile keeps up to 6 x 16 sums in 12 registers over the
 * whole reduction, so the order of additions never depends on the shape of the tile. */
#include "engine/eng_kern.h"

#if defined(__x86_64__) && !defined(ENG_DOUBLE)

#include <immintrin.h>

#include "engine/eng_vec.h"

#define INLINE static inline __attribute__((always_inline))

/* A row's 16 sums. Rows are separate variables, not an array: the compiler must keep them
 * in registers. */
typedef struct sums {
    __m256 lo, hi;
} sums;

INLINE void row_load(sums *s, const eng_tile *t, const size_t r, const size_t rows)
{
    const float *c = t->c + r * t->c_row;
    bool old = r < rows && t->add;
    s->lo = old ? _mm256_loadu_ps(c) : _mm256_setzero_ps();
    s->hi = old ? _mm256_loadu_ps(c + 8) : _mm256_setzero_ps();
}

INLINE void row_step(sums *s, const float *a, __m256 lo, __m256 hi)
{
    __m256 x = _mm256_broadcast_ss(a);
    s->lo = _mm256_fmadd_ps(x, lo, s->lo);
    s->hi = _mm256_fmadd_ps(x, hi, s->hi);
}

INLINE void row_store(const sums *s, const eng_tile *t, const size_t r, const size_t rows)
{
    if (r < rows) {
        _mm256_storeu_ps(t->c + r * t->c_row, s->lo);
        _mm256_storeu_ps(t->c + r * t->c_row + 8, s->hi);
    }
}

/* Up to six rows; rows from `rows` on are folded away. */
typedef struct tile_sums {
    sums r0, r1, r2, r3, r4, r5;
} tile_sums;

INLINE void tile_load(tile_sums *s, const eng_tile *t, const size_t rows)
{
    row_load(&s->r0, t, 0, rows);
    row_load(&s->r1, t, 1, rows);
    row_load(&s->r2, t, 2, rows);
    row_load(&s->r3, t, 3, rows);
    row_load(&s->r4, t, 4, rows);
    row_load(&s->r5, t, 5, rows);
}

INLINE void tile_store(const tile_sums *s, const eng_tile *t, const size_t rows)
{
    row_store(&s->r0, t, 0, rows);
    row_store(&s->r1, t, 1, rows);
    row_store(&s->r2, t, 2, rows);
    row_store(&s->r3, t, 3, rows);
    row_store(&s->r4, t, 4, rows);
    row_store(&s->r5, t, 5, rows);
}

INLINE void tile_rows(const eng_tile *t, const size_t rows)
{
    tile_sums s;
    tile_load(&s, t, rows);
    const float *a = t->a, *b = t->b;
    const size_t row = t->a_row, a_k = t->a_k, b_k = t->b_k;
    for (size_t k = t->k; k > 0; k--) {
        __m256 lo = _mm256_loadu_ps(b), hi = _mm256_loadu_ps(b + 8);
        row_step(&s.r0, a, lo, hi);
        if (rows > 1) {
            row_step(&s.r1, a + row, lo, hi);
        }
        if (rows > 2) {
            row_step(&s.r2, a + 2 * row, lo, hi);
        }
        if (rows > 3) {
            row_step(&s.r3, a + 3 * row, lo, hi);
        }
        if (rows > 4) {
            row_step(&s.r4, a + 4 * row, lo, hi);
        }
        if (rows > 5) {
            row_step(&s.r5, a + 5 * row, lo, hi);
        }
        a += a_k;
        b += b_k;
    }
    tile_store(&s, t, rows);
}

INLINE __m256 load8(const void *b, size_t i, const bool bf16)
{
    if (!bf16) {
        return _mm256_loadu_ps((const float *)b + i);
    }
    __m128i half = _mm_loadu_si128((const void *)((const uint16_t *)b + i));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

#define AHEAD 16 /* inputs fetched ahead of use, in each stream; more was slower */

/* Sums of rows x wide panels, two registers each. */
typedef struct strip_sums {
    __m256 v[8];
} strip_sums;

/* `wide` panels at once: independent streams hide the latency of memory and of FMA. What
 * is needed AHEAD inputs later is fetched now. */
INLINE void strip_steps(strip_sums *sum, const eng_strip *s, const char *b,
                        const size_t rows, const size_t wide, const bool bf16)
{
    const size_t size = bf16 ? sizeof(uint16_t) : sizeof(float);
    const size_t panel = s->b_panel * ENG_LANES * size;
    for (size_t k = 0; k < s->k; k++) {
        for (size_t w = 0; w < wide; w++) {
            const char *bw = b + w * panel + k * ENG_LANES * size;
            _mm_prefetch(bw + AHEAD * ENG_LANES * size, _MM_HINT_T0);
            __m256 lo = load8(bw, 0, bf16), hi = load8(bw, 8, bf16);
            for (size_t r = 0; r < rows; r++) {
                __m256 x = _mm256_broadcast_ss(s->a + r * s->a_row + k);
                __m256 *at = sum->v + (r * wide + w) * 2;
                at[0] = _mm256_fmadd_ps(x, lo, at[0]);
                at[1] = _mm256_fmadd_ps(x, hi, at[1]);
            }
        }
    }
}

INLINE void strip_block(const eng_strip *s, size_t first, const size_t rows,
                        const size_t wide, const bool bf16)
{
    strip_sums sum;
    for (size_t i = 0; i < rows * wide * 2; i++) {
        sum.v[i] = _mm256_setzero_ps();
    }
    const size_t size = bf16 ? sizeof(uint16_t) : sizeof(float);
    const char *b = (const char *)s->b + first * s->b_panel * ENG_LANES * size;
    strip_steps(&sum, s, b, rows, wide, bf16);
    for (size_t r = 0; r < rows; r++) {
        for (size_t w = 0; w < wide; w++) {
            float *c = s->c + r * s->c_row + (first + w) * ENG_LANES;
            _mm256_storeu_ps(c, sum.v[(r * wide + w) * 2]);
            _mm256_storeu_ps(c + 8, sum.v[(r * wide + w) * 2 + 1]);
        }
    }
}

INLINE void strip_rows(const eng_strip *s, const size_t rows, const size_t wide,
                       const bool bf16)
{
    size_t p = 0;
    for (; p + wide <= s->panels; p += wide) {
        strip_block(s, p, rows, wide, bf16);
    }
    for (; p < s->panels; p++) {
        strip_block(s, p, rows, 1, bf16);
    }
}

INLINE void strip_any(const eng_strip *s, const bool bf16)
{
    eng_strip part = *s;
    for (size_t r = 0; r < s->rows;) {
        part.a = s->a + r * s->a_row;
        part.c = s->c + r * s->c_row;
        size_t left = s->rows - r;
        if (left >= 4) {
            strip_rows(&part, 4, 1, bf16);
            r += 4;
        } else if (left >= 2) {
            strip_rows(&part, 2, 2, bf16);
            r += 2;
        } else {
            strip_rows(&part, 1, 4, bf16);
            r += 1;
        }
    }
}

#include "engine/eng_kern_simd.h"

static const eng_kern table = {
    .name = "avx2",
    .tile = tile,
    .strip = strip,
    .strip_bf16 = strip_bf16,
    VEC_ENTRIES,
};

const eng_kern *eng_kern_avx2(void)
{
    return &table;
}

#else

const eng_kern *eng_kern_avx2(void)
{
    return NULL;
}

#endif
