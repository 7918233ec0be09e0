/* The tile kernels of a SIMD table, written once. The file that includes this header
 * defines before:
 *
 *     simd                       a vector of floats
 *     SIMD_PER                   vectors in ENG_LANES floats
 *     SIMD_ROWS                  most rows of a tile
 *     SIMD_WIDE(rows)            panels computed at once with so many rows; the sums of
 *                                rows x panels fit in the registers
 *     simd_zero(), simd_load(p), simd_load_bf16(p), simd_load_int8(p), simd_all(p),
 *     simd_store(p, v), simd_mul(x, y), simd_fma(x, y, sum), simd_fetch(p)
 *
 * Sums stay in registers over the whole reduction, so the order of additions never
 * depends on the shape of the tile. For eng_kern_{avx2,avx512,neon}.c only. */
#ifndef ENGINE_ENG_KERN_SIMD_H
#define ENGINE_ENG_KERN_SIMD_H

#define SIMD_LANES (ENG_LANES / SIMD_PER)
/* Inputs fetched ahead of use, in each stream; more was slower. */
#define SIMD_AHEAD      16
#define SIMD_AHEAD_INT8 128

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

/* A place in the reduction: the weights of the next k, what they are multiplied by
 * (int8), and the inputs of every SIMD_SHARED rows. */
typedef struct simd_place {
    const char *b;
    simd scale[SIMD_PER * 4];
    const float *a[(ENG_ROWS + SIMD_SHARED - 1) / SIMD_SHARED];
} simd_place;

/* Bytes of a panel's weights at one k. */
INLINE size_t simd_stride(const eng_tile *t, const eng_format format)
{
    return format == ENG_FORMAT_INT8   ? ENG_LANES
           : format == ENG_FORMAT_BF16 ? t->b_k * sizeof(uint16_t)
                                       : t->b_k * sizeof(float);
}

INLINE size_t simd_size(const eng_format format)
{
    return format == ENG_FORMAT_INT8   ? sizeof(int8_t)
           : format == ENG_FORMAT_BF16 ? sizeof(uint16_t)
                                       : sizeof(float);
}

/* The weights at one k: `wide` panels from b on. */
INLINE void simd_panels(simd *out, const simd_place *at, size_t panel, const size_t wide,
                        const eng_format format)
{
    const size_t size = simd_size(format);
    UNROLL
    for (size_t i = 0; i < wide * SIMD_PER; i++) {
        const void *from =
            at->b + i / SIMD_PER * panel + i % SIMD_PER * SIMD_LANES * size;
        out[i] = format == ENG_FORMAT_INT8 ? simd_mul(simd_load_int8(from), at->scale[i])
                 : format == ENG_FORMAT_BF16 ? simd_load_bf16(from)
                                             : simd_load(from);
    }
}

/* The scales at the beginning of a group, after which its weights are next. */
INLINE void simd_scales(simd_place *at, size_t panel, const size_t wide)
{
    UNROLL
    for (size_t i = 0; i < wide * SIMD_PER; i++) {
        const char *from = at->b + i / SIMD_PER * panel;
        at->scale[i] = simd_load_bf16(
            (const void *)(from + i % SIMD_PER * SIMD_LANES * sizeof(uint16_t)));
    }
    at->b += ENG_SCALE_BYTES;
}

/* One k. Weights that come straight from memory are fetched ahead: those of few rows, and
 * those that are narrower than a float. */
INLINE void simd_step(simd_sums *s, simd_place *at, const eng_tile *t, const size_t rows,
                      const size_t wide, const eng_format format)
{
    const size_t panel = t->b_panel * simd_size(format), row = t->a_row;
    const size_t stride = simd_stride(t, format);
    const size_t ahead = format == ENG_FORMAT_INT8 ? SIMD_AHEAD_INT8 : SIMD_AHEAD;
    simd in[SIMD_PER * 4];
    simd_panels(in, at, panel, wide, format);
    if (format != ENG_FORMAT_REAL || rows < SIMD_ROWS / 2) {
        UNROLL
        for (size_t w = 0; w < wide; w++) {
            simd_fetch(at->b + w * panel + ahead * stride);
        }
    }
    UNROLL
    for (size_t r = 0; r < rows; r++) {
        simd x = simd_all(at->a[r / SIMD_SHARED] + r % SIMD_SHARED * row);
        UNROLL
        for (size_t i = 0; i < wide * SIMD_PER; i++) {
            simd *sum = &s->v[r * wide * SIMD_PER + i];
            *sum = simd_fma(x, in[i], *sum);
        }
    }
    UNROLL
    for (size_t i = 0; i * SIMD_SHARED < rows; i++) {
        at->a[i] += t->a_k;
    }
    at->b += stride;
}

/* All of the reduction for `rows` x `wide` panels, from panel `first` on. */
INLINE void simd_block(const eng_tile *t, size_t first, const size_t rows,
                       const size_t wide, const eng_format format)
{
    const size_t panel = t->b_panel * simd_size(format);
    simd_sums s;
    simd_place at = {.b = (const char *)t->b + first * panel};
    simd_begin(&s, t, first, rows, wide);
    UNROLL
    for (size_t i = 0; i * SIMD_SHARED < rows; i++) {
        at.a[i] = t->a + i * SIMD_SHARED * t->a_row;
    }
    for (size_t left = t->k, n = left; left > 0; left -= n) {
        if (format == ENG_FORMAT_INT8) {
            n = TK_MIN(left, (size_t)ENG_GROUP);
            simd_scales(&at, panel, wide);
        }
        for (size_t k = n; k > 0; k--) {
            simd_step(&s, &at, t, rows, wide, format);
        }
    }
    simd_end(&s, t, first, rows, wide);
}

INLINE void simd_rows(const eng_tile *t, const size_t rows, const eng_format format)
{
    const size_t wide = SIMD_WIDE(rows);
    size_t p = 0;
    for (; p + wide <= t->panels; p += wide) {
        simd_block(t, p, rows, wide, format);
    }
    for (; wide > 1 && p < t->panels; p++) {
        simd_block(t, p, rows, 1, format);
    }
}

#define SIMD_CASE(n)                                                                     \
    case n:                                                                              \
        simd_rows(t, TK_MIN(n, SIMD_ROWS), format);                                      \
        break;

INLINE void simd_any(const eng_tile *t, const eng_format format)
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
    simd_any(t, ENG_FORMAT_REAL);
}

static void simd_tile_bf16(const eng_tile *t)
{
    simd_any(t, ENG_FORMAT_BF16);
}

static void simd_tile_int8(const eng_tile *t)
{
    simd_any(t, ENG_FORMAT_INT8);
}

#define SIMD_ENTRIES                                                                     \
    .rows = SIMD_ROWS, .tile = simd_tile, .tile_bf16 = simd_tile_bf16,                   \
    .tile_int8 = simd_tile_int8, .turn = simd_turn

#endif
