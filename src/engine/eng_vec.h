/* Row operations in plain C: the functions vec_widen to vec_silu_mul_back are entries of
 * a kernel table. Each eng_kern_*.c includes this header and so compiles its own copy,
 * which the compiler vectorises for that instruction set; because contraction is off, the
 * bits are the same in all tables. For eng_kern_*.c only.
 *
 * exp: |x| reduced by ln 2, degree 6; relative error below 1.5e-7, 0 below -87.33,
 * infinity above 88.37, NaN for NaN. */
#ifndef ENGINE_ENG_VEC_H
#define ENGINE_ENG_VEC_H

#include <math.h>
#include <string.h>

#include "engine/eng_kern.h"

#ifdef ENG_DOUBLE
static inline eng_real vec_exp(eng_real x)
{
    return exp(x);
}
#else
static inline eng_real vec_exp(eng_real x)
{
    const float low = -87.33f, high = 88.37f, magic = 0x1.8p23f;
    float c = x < low ? low : x;
    c = c > high ? high : c;
    float z = c * 1.44269504f + magic; /* its low bits are the rounded exponent */
    float n = z - magic;
    float r = (c - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    float p = 0x1.6a22fcp-10f;
    p = p * r + 0x1.123a76p-7f;
    p = p * r + 0x1.5558f6p-5f;
    p = p * r + 0x1.55549p-3f;
    p = p * r + 0x1.fffffcp-2f;
    p = (p * (r * r) + r) + 1.0f;
    uint32_t bits;
    memcpy(&bits, &z, sizeof(bits));
    bits = (bits << 23) + 0x3F800000u;
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    float y = p * scale;
    y = x < low ? 0.0f : y;
    return x > high ? INFINITY : y;
}
#endif

static inline eng_real vec_tree(eng_real *lane)
{
    for (size_t half = ENG_LANES / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            lane[i] += lane[i + half];
        }
    }
    return lane[0];
}

static inline eng_real vec_dot(const eng_real *x, const eng_real *y, size_t n)
{
    eng_real lane[ENG_LANES] = {0};
    size_t i = 0;
    for (; i + ENG_LANES <= n; i += ENG_LANES) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            lane[l] += x[i + l] * y[i + l];
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        lane[l] += x[i + l] * y[i + l];
    }
    return vec_tree(lane);
}

static inline eng_real vec_max(const eng_real *x, size_t n)
{
    eng_real lane[ENG_LANES];
    for (size_t l = 0; l < ENG_LANES; l++) {
        lane[l] = x[0];
    }
    size_t i = 0;
    for (; i + ENG_LANES <= n; i += ENG_LANES) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
        }
    }
    for (; i < n; i++) {
        lane[0] = x[i] > lane[0] ? x[i] : lane[0];
    }
    for (size_t l = 1; l < ENG_LANES; l++) {
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    }
    return lane[0];
}

static inline eng_real vec_exp_sum(eng_real *x, size_t n, eng_real max)
{
    eng_real lane[ENG_LANES] = {0};
    size_t i = 0;
    for (; i + ENG_LANES <= n; i += ENG_LANES) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            x[i + l] = vec_exp(x[i + l] - max);
            lane[l] += x[i + l];
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        x[i + l] = vec_exp(x[i + l] - max);
        lane[l] += x[i + l];
    }
    return vec_tree(lane);
}

static inline void vec_silu_mul(eng_real *restrict out, const eng_real *restrict gate,
                                const eng_real *restrict up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = gate[i] / (1 + vec_exp(-gate[i])) * up[i];
    }
}

static inline void vec_silu_mul_back(eng_real *restrict d, eng_real *restrict d_up,
                                     const eng_real *restrict gate,
                                     const eng_real *restrict up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        eng_real s = 1 / (1 + vec_exp(-gate[i]));
        eng_real silu = gate[i] * s;
        d_up[i] = d[i] * silu;
        d[i] = d[i] * up[i] * (s + silu * (1 - s));
    }
}

static inline void vec_widen(eng_real *restrict out, const uint16_t *restrict in,
                             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)in[i] << 16;
        float value;
        memcpy(&value, &bits, sizeof(value));
        out[i] = value;
    }
}

/* The entries of a kernel table that are compiled from this header. */
#define VEC_ENTRIES                                                                      \
    .widen = vec_widen, .dot = vec_dot, .max = vec_max, .exp_sum = vec_exp_sum,          \
    .silu_mul = vec_silu_mul, .silu_mul_back = vec_silu_mul_back

#endif
