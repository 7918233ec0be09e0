/* AVX2 + FMA kernels. Built with -mavx2 -mfma for this file only, and used only when the
 * machine says it has both. A tile has up to 6 rows of one panel: 12 of the 16 registers
 * are sums. */
#include "engine/eng_kern.h"

#if defined(__x86_64__) && !defined(ENG_DOUBLE)

#include <immintrin.h>

#include "engine/eng_vec.h"

#define INLINE static inline __attribute__((always_inline))

typedef __m256 simd;
#define SIMD_PER        2
#define SIMD_ROWS       6
#define SIMD_WIDE(rows) ((rows) == 1 ? 4 : (rows) == 2 ? 2 : 1)

#define simd_zero()       _mm256_setzero_ps()
#define simd_load(p)      _mm256_loadu_ps(p)
#define simd_all(p)       _mm256_broadcast_ss(p)
#define simd_store(p, v)  _mm256_storeu_ps(p, v)
#define simd_mul(x, y)    _mm256_mul_ps(x, y)
#define simd_fma(x, y, s) _mm256_fmadd_ps(x, y, s)
#define simd_fetch(p)     _mm_prefetch(p, _MM_HINT_T0)

INLINE simd simd_load_bf16(const uint16_t *p)
{
    __m128i half = _mm_loadu_si128((const void *)p);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

INLINE simd simd_load_int8(const int8_t *p)
{
    __m128i bytes = _mm_loadl_epi64((const void *)p);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

/* Four rows, 4 x 4 transposed within each half of the vectors. */
INLINE void turn_halves(__m256 *v)
{
    __m256 t0 = _mm256_unpacklo_ps(v[0], v[1]), t1 = _mm256_unpackhi_ps(v[0], v[1]);
    __m256 t2 = _mm256_unpacklo_ps(v[2], v[3]), t3 = _mm256_unpackhi_ps(v[2], v[3]);
    v[0] = _mm256_shuffle_ps(t0, t2, 0x44);
    v[1] = _mm256_shuffle_ps(t0, t2, 0xEE);
    v[2] = _mm256_shuffle_ps(t1, t3, 0x44);
    v[3] = _mm256_shuffle_ps(t1, t3, 0xEE);
}

static void turn8(float *out, const float *in)
{
    __m256 v[8];
#pragma GCC unroll 2
    for (size_t i = 0; i < 8; i += 4) {
        v[i] = _mm256_loadu_ps(in + i * 16);
        v[i + 1] = _mm256_loadu_ps(in + (i + 1) * 16);
        v[i + 2] = _mm256_loadu_ps(in + (i + 2) * 16);
        v[i + 3] = _mm256_loadu_ps(in + (i + 3) * 16);
        turn_halves(v + i);
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        _mm256_storeu_ps(out + j * 16, _mm256_permute2f128_ps(v[j], v[4 + j], 0x20));
        _mm256_storeu_ps(out + (4 + j) * 16,
                         _mm256_permute2f128_ps(v[j], v[4 + j], 0x31));
    }
}

static void simd_turn(float *out, const float *in)
{
    for (size_t i = 0; i < 4; i++) {
        turn8(out + i / 2 * 8 + i % 2 * 128, in + i / 2 * 128 + i % 2 * 8);
    }
}

#include "engine/eng_kern_simd.h"

const eng_kern *eng_kern_avx2(void)
{
    static const eng_kern table = {
        .name = "avx2",
        SIMD_ENTRIES,
        VEC_ENTRIES,
    };
    return &table;
}

#else

const eng_kern *eng_kern_avx2(void)
{
    return NULL;
}

#endif
