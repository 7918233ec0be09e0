/* AVX-512 kernels. Built with its instructions for this file only, and used only when the
 * machine says that it has them. A tile has up to 14 rows and 2 panels: 28 of the 32
 * registers are sums, and 16 loads feed 28 FMAs. */
#include "engine/eng_kern.h"

#if defined(__x86_64__) && !defined(ENG_DOUBLE)

#include <immintrin.h>

#include "engine/eng_vec.h"

#define INLINE static inline __attribute__((always_inline))

typedef __m512 simd;
#define SIMD_PER        1
#define SIMD_ROWS       14
#define SIMD_WIDE(rows) ((rows) <= 6 ? 4 : 2)

#define simd_zero()       _mm512_setzero_ps()
#define simd_load(p)      _mm512_loadu_ps(p)
#define simd_all(p)       _mm512_set1_ps(*(p))
#define simd_store(p, v)  _mm512_storeu_ps(p, v)
#define simd_mul(x, y)    _mm512_mul_ps(x, y)
#define simd_fma(x, y, s) _mm512_fmadd_ps(x, y, s)
#define simd_fetch(p)     _mm_prefetch(p, _MM_HINT_T0)

INLINE simd simd_load_bf16(const uint16_t *p)
{
    __m256i half = _mm256_loadu_si256((const void *)p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

INLINE simd simd_load_int8(const int8_t *p)
{
    __m128i bytes = _mm_loadu_si128((const void *)p);
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

/* Four rows of 4 x 4 blocks: within each quarter of the vectors, 4 x 4 transposed. */
INLINE void turn_quarters(__m512 *v)
{
    __m512 t0 = _mm512_unpacklo_ps(v[0], v[1]), t1 = _mm512_unpackhi_ps(v[0], v[1]);
    __m512 t2 = _mm512_unpacklo_ps(v[2], v[3]), t3 = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = _mm512_shuffle_ps(t0, t2, 0x44);
    v[1] = _mm512_shuffle_ps(t0, t2, 0xEE);
    v[2] = _mm512_shuffle_ps(t1, t3, 0x44);
    v[3] = _mm512_shuffle_ps(t1, t3, 0xEE);
}

static void simd_turn(float *out, const float *in)
{
    __m512 v[16];
#pragma GCC unroll 4
    for (size_t i = 0; i < 16; i += 4) {
        v[i] = _mm512_loadu_ps(in + i * 16);
        v[i + 1] = _mm512_loadu_ps(in + (i + 1) * 16);
        v[i + 2] = _mm512_loadu_ps(in + (i + 2) * 16);
        v[i + 3] = _mm512_loadu_ps(in + (i + 3) * 16);
        turn_quarters(v + i);
    }
    /* v[4 * i + j] has, in quarter q, column 4 * q + j of rows 4 * i .. 4 * i + 3. */
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        __m512 a = _mm512_shuffle_f32x4(v[j], v[4 + j], 0x44);
        __m512 b = _mm512_shuffle_f32x4(v[j], v[4 + j], 0xEE);
        __m512 c = _mm512_shuffle_f32x4(v[8 + j], v[12 + j], 0x44);
        __m512 d = _mm512_shuffle_f32x4(v[8 + j], v[12 + j], 0xEE);
        _mm512_storeu_ps(out + j * 16, _mm512_shuffle_f32x4(a, c, 0x88));
        _mm512_storeu_ps(out + (4 + j) * 16, _mm512_shuffle_f32x4(a, c, 0xDD));
        _mm512_storeu_ps(out + (8 + j) * 16, _mm512_shuffle_f32x4(b, d, 0x88));
        _mm512_storeu_ps(out + (12 + j) * 16, _mm512_shuffle_f32x4(b, d, 0xDD));
    }
}

#include "engine/eng_kern_simd.h"

const eng_kern *eng_kern_avx512(void)
{
    static const eng_kern table = {
        .name = "avx512",
        SIMD_ENTRIES,
        VEC_ENTRIES,
    };
    return &table;
}

#else

const eng_kern *eng_kern_avx512(void)
{
    return NULL;
}

#endif
