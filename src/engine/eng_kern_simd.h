/* The tile kernels of a SIMD table, written once. The file that includes this header
 * defines before:
 *
 *     simd                       a vector of floats
 *     SIMD_PER                   vectors in ENG_LANES floats
 *     SIMD_ROWS                  most rows of a tile
 *     SIMD_WIDE(rows)            panels computed at once with so many rows; the sums of
 *                                rows x panels fit in the registers
 *     simd_zero(), simd_load(p), simd_load_bf16(p), simd_all(p), simd_store(p, v),
 *     simd_fma(x, y, sum), simd_fetch(p)
 *
 * Sums stay in registers over the whole reduction, so the order of additions never
 * depends on the shape of the tile. For eng_kern_{avx2,avx512,neon}.c only. */
#ifndef ENGINE_ENG_KERN_SIMD_H
#define ENGINE_ENG_KERN_SIMD_H

#define SIMD_LANES (ENG_LANES / SIMD_PER)
#define SIMD_AHEAD 16 /* inputs fetched ahead of use, in each stream; more was slower */

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* Rows whose addresses have a pointer in common: all of them would need more registers
 * than there are. */
#define SIMD_SHARED 3

typedef struct simd_sums {
    simd v[32];
} simd_sums;

INLINE void simd_begin(simd_sums *s, const eng_tile *t, size_t first, const size_t rows,
                       const size_t wide)
{
    UNROLL
    for (size_t r = 0; r < rows; r++) {
        UNROLL
        for (size_t i = 0; i < wide * SIMD_PER; i++) {
            const float *c = t->c + r * t->c_row + first * ENG_LANES + i * SIMD_LANES;
            s->v[r * wide * SIMD_PER + i] = t->add ? simd_load(c) : simd_zero();
        }
    }
}

INLINE void simd_end(const simd_sums *s, const eng_tile *t, size_t first,
                     const size_t rows, const size_t wide)
{
    UNROLL
    for (size_t r = 0; r < rows; r++) {
        UNROLL
        for (size_t i = 0; i < wide * SIMD_PER; i++) {
            simd_store(t->c + r * t->c_row + first * ENG_LANES + i * SIMD_LANES,
                       s->v[r * wide * SIMD_PER + i]);
        }
    }
}

/* The inputs at one k: `wide` panels from b on. */
INLINE void simd_panels(simd *out, const char *b, size_t panel, const size_t wide,
                        const bool bf16)
{
    const size_t size = bf16 ? sizeof(uint16_t) : sizeof(float);
    UNROLL
    for (size_t i = 0; i < wide * SIMD_PER; i++) {
        const char *from = b + i / SIMD_PER * panel + i % SIMD_PER * SIMD_LANES * size;
        out[i] =
            bf16 ? simd_load_bf16((const void *)from) : simd_load((const void *)from);
    }
}

/* All of the reduction for `rows` x `wide` panels, from panel `first` on. Weights that
 * come straight from memory are fetched ahead: those of few rows, and bf16. */
INLINE void simd_block(const eng_tile *t, size_t first, const size_t rows,
                       const size_t wide, const bool bf16)
{
    const size_t size = bf16 ? sizeof(uint16_t) : sizeof(float);
    const size_t b_k = t->b_k * size, panel = t->b_panel * size, row = t->a_row;
    const char *b = (const char *)t->b + first * panel;
    const float *a[(ENG_ROWS + SIMD_SHARED - 1) / SIMD_SHARED];
    const bool ahead = bf16 || rows < SIMD_ROWS / 2;
    simd_sums s;
    simd_begin(&s, t, first, rows, wide);
    UNROLL
    for (size_t i = 0; i * SIMD_SHARED < rows; i++) {
        a[i] = t->a + i * SIMD_SHARED * row;
    }
    for (size_t k = t->k; k > 0; k--) {
        simd in[SIMD_PER * 4];
        simd_panels(in, b, panel, wide, bf16);
        if (ahead) {
            UNROLL
            for (size_t w = 0; w < wide; w++) {
                simd_fetch(b + w * panel + SIMD_AHEAD * b_k);
            }
        }
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            simd x = simd_all(a[r / SIMD_SHARED] + r % SIMD_SHARED * row);
            UNROLL
            for (size_t i = 0; i < wide * SIMD_PER; i++) {
                simd *sum = &s.v[r * wide * SIMD_PER + i];
                *sum = simd_fma(x, in[i], *sum);
            }
        }
        UNROLL
        for (size_t i = 0; i * SIMD_SHARED < rows; i++) {
            a[i] += t->a_k;
        }
        b += b_k;
    }
    simd_end(&s, t, first, rows, wide);
}

INLINE void simd_rows(const eng_tile *t, const size_t rows, const bool bf16)
{
    const size_t wide = SIMD_WIDE(rows);
    size_t p = 0;
    for (; p + wide <= t->panels; p += wide) {
        simd_block(t, p, rows, wide, bf16);
    }
    for (; wide > 1 && p < t->panels; p++) {
        simd_block(t, p, rows, 1, bf16);
    }
}

#define SIMD_CASE(n)                                                                     \
    case n:                                                                              \
        simd_rows(t, TK_MIN(n, SIMD_ROWS), bf16);                                        \
        break;

INLINE void simd_any(const eng_tile *t, const bool bf16)
{
    switch (t->rows) {
        SIMD_CASE(1)
        SIMD_CASE(2)
        SIMD_CASE(3)
        SIMD_CASE(4)
        SIMD_CASE(5)
        SIMD_CASE(6)
#if SIMD_ROWS > 6
        SIMD_CASE(7)
        SIMD_CASE(8)
        SIMD_CASE(9)
        SIMD_CASE(10)
        SIMD_CASE(11)
        SIMD_CASE(12)
        SIMD_CASE(13)
        SIMD_CASE(14)
#endif
    default:
        break;
    }
}

static void simd_tile(const eng_tile *t)
{
    simd_any(t, false);
}

static void simd_tile_bf16(const eng_tile *t)
{
    simd_any(t, true);
}

#define SIMD_ENTRIES                                                                     \
    .rows = SIMD_ROWS, .tile = simd_tile, .tile_bf16 = simd_tile_bf16, .turn = simd_turn

#endif
