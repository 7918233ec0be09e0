/* Row operations in plain C: the functions named in VEC_ENTRIES are entries of a kernel
 * table. Each eng_kern_*.c includes this header and so compiles its own copy,
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

static inline void vec_widen_int8(eng_real *restrict out, const int8_t *restrict in,
                                  const uint16_t *restrict scales, size_t inputs)
{
    eng_real scale[ENG_LANES];
    vec_widen(scale, scales, ENG_LANES);
    for (size_t i = 0; i < inputs; i++) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            out[i * ENG_LANES + l] = (eng_real)in[i * ENG_LANES + l] * scale[l];
        }
    }
}

static inline void vec_finish(eng_real *restrict y, const eng_real *restrict sums,
                              const eng_finish *f, size_t n)
{
    const eng_real *restrict bias = f->bias;
    const eng_real scale = f->scale;
    if (f->add && bias != NULL) {
        for (size_t i = 0; i < n; i++) {
            y[i] += scale * sums[i] + bias[i];
        }
    } else if (f->add) {
        for (size_t i = 0; i < n; i++) {
            y[i] += scale * sums[i];
        }
    } else if (bias != NULL) {
        for (size_t i = 0; i < n; i++) {
            y[i] = sums[i] + bias[i];
        }
    } else {
        memcpy(y, sums, n * sizeof(*y));
    }
}

static inline void vec_scale(eng_real *x, size_t n, eng_real factor)
{
    for (size_t i = 0; i < n; i++) {
        x[i] *= factor;
    }
}

static inline void vec_softmax_back(eng_real *restrict p, eng_real *restrict d, size_t n,
                                    const eng_real inv_mean[2])
{
    const eng_real inv = inv_mean[0], mean = inv_mean[1];
    for (size_t i = 0; i < n; i++) {
        p[i] *= inv;
        d[i] = p[i] * (d[i] - mean);
    }
}

static inline void vec_norm(eng_real *restrict y, const eng_real *restrict x,
                            const eng_real *restrict w, eng_real inv, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = w[i] * (x[i] * inv);
    }
}

/* mean(w * d_y * x * inv), 16 chains as in every sum over a row. */
static inline eng_real vec_norm_mean(const eng_norm_part *b)
{
    eng_real lane[ENG_LANES] = {0};
    size_t i = 0;
    for (; i + ENG_LANES <= b->n; i += ENG_LANES) {
        for (size_t l = 0; l < ENG_LANES; l++) {
            lane[l] += b->w[i + l] * b->d_y[i + l] * (b->x[i + l] * b->inv);
        }
    }
    for (size_t l = 0; i + l < b->n; l++) {
        lane[l] += b->w[i + l] * b->d_y[i + l] * (b->x[i + l] * b->inv);
    }
    return vec_tree(lane) / (eng_real)b->n;
}

/* d_x may be d_y: neither is restrict. */
static inline void vec_norm_back(eng_real *d_x, const eng_norm_part *b)
{
    const eng_real *restrict x = b->x, *restrict w = b->w, *d_y = b->d_y;
    const eng_real inv = b->inv, mean = vec_norm_mean(b);
    if (b->add) {
        for (size_t i = 0; i < b->n; i++) {
            d_x[i] += inv * (w[i] * d_y[i] - x[i] * inv * mean);
        }
    } else {
        for (size_t i = 0; i < b->n; i++) {
            d_x[i] = inv * (w[i] * d_y[i] - x[i] * inv * mean);
        }
    }
}

static inline void vec_adam_step(const eng_adam_part *a)
{
    const eng_adam_part s = *a;
    for (size_t i = 0; i < s.n; i++) {
        eng_adam_element e = eng_adam_look(&s, i);
        s.m[i] = (eng_real)e.m;
        s.v[i] = (eng_real)e.v;
        s.p[i] = (eng_real)eng_adam_weight(&s, &e);
    }
}

static inline bool vec_adam_bound(const eng_adam_part *a, double limit)
{
    const eng_adam_part s = *a;
    const double most = s.rate / s.eps;
    int all = 1;
    for (size_t i = 0; i < s.n; i++) {
        eng_adam_element e = eng_adam_look(&s, i);
        all &= fabs(e.p) + most * fabs(e.m) <= limit; /* without a branch */
        all &= fabs(e.g) <= limit;
    }
    return all != 0;
}

/* The entries of a kernel table that are compiled from this header. */
#define VEC_ENTRIES                                                                      \
    .finish = vec_finish, .widen = vec_widen, .widen_int8 = vec_widen_int8,              \
    .dot = vec_dot, .max = vec_max, .exp_sum = vec_exp_sum, .scale = vec_scale,          \
    .softmax_back = vec_softmax_back, .norm = vec_norm, .norm_back = vec_norm_back,      \
    .silu_mul = vec_silu_mul, .silu_mul_back = vec_silu_mul_back,                        \
    .adam_step = vec_adam_step, .adam_bound = vec_adam_bound

#endif
