/* NEON kernels for 64-bit ARM, where NEON and FMA are always there. A tile has up to 6
 * rows of one panel: 24 of the 32 registers are sums. */
#include "engine/eng_kern.h"

#if defined(__aarch64__) && !defined(ENG_DOUBLE)

#include <arm_neon.h>

#include "engine/eng_vec.h"

#define INLINE static inline __attribute__((always_inline))

typedef float32x4_t simd;
#define SIMD_PER        4
#define SIMD_ROWS       6
#define SIMD_WIDE(rows) ((rows) == 1 ? 4 : (rows) == 2 ? 2 : 1)

#define simd_zero()       vdupq_n_f32(0)
#define simd_load(p)      vld1q_f32(p)
#define simd_all(p)       vld1q_dup_f32(p)
#define simd_store(p, v)  vst1q_f32(p, v)
#define simd_mul(x, y)    vmulq_f32(x, y)
#define simd_fma(x, y, s) vfmaq_f32(s, x, y)
#define simd_fetch(p)     __builtin_prefetch(p)

INLINE simd simd_load_bf16(const uint16_t *p)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

INLINE simd simd_load_int8(const int8_t *p)
{
    uint32_t four;
    memcpy(&four, p, sizeof(four));
    int16x8_t wide = vmovl_s8(vcreate_s8(four));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}

static void simd_turn(float *out, const float *in)
{
    for (size_t i = 0; i < ENG_LANES; i++) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            out[l * ENG_LANES + i] = in[i * ENG_LANES + l];
        }
    }
}

#include "engine/eng_kern_simd.h"

const eng_kern *eng_kern_neon(void)
{
    static const eng_kern table = {
        .name = "neon",
        SIMD_ENTRIES,
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
