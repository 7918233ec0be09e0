/* The most that one thread can multiply and add in float32, measured: independent chains
 * of fused multiply-adds in registers, with the widest vectors of the machine. What a
 * matrix product reaches of it says whether a library runs the right kernels. */
#ifndef BENCH_BENCH_PEAK_H
#define BENCH_BENCH_PEAK_H

#include "bench.h"

#ifdef __x86_64__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define PEAK_STEPS  ((size_t)200000)
#define PEAK_ROUNDS 15

typedef struct bench_peak_path {
    const char *name;
    void (*run)(float *sum); /* PEAK_STEPS steps */
    double flops;            /* of a step */
} bench_peak_path;

/* CHAINS accumulators: more than latency times throughput of any CPU so far. */
#define BENCH_PEAK(name, attribute, vector, chains, set, fma, store)                     \
    attribute static inline void bench_peak_##name(float *sum)                           \
    {                                                                                    \
        vector acc[chains], a = set(0.999999f), b = set(1e-6f);                          \
        for (int i = 0; i < (chains); i++) {                                             \
            acc[i] = set((float)i);                                                      \
        }                                                                                \
        for (size_t n = 0; n < PEAK_STEPS; n++) {                                        \
            _Pragma("GCC unroll 16") for (int i = 0; i < (chains); i++)                  \
            {                                                                            \
                acc[i] = fma(acc[i], a, b);                                              \
            }                                                                            \
        }                                                                                \
        for (int i = 0; i < (chains); i++) {                                             \
            store(sum, acc[i]);                                                          \
            sum += 16;                                                                   \
        }                                                                                \
    }

#ifdef __x86_64__
BENCH_PEAK(avx512, __attribute__((target("avx512f"))), __m512, 14, _mm512_set1_ps,
           _mm512_fmadd_ps, _mm512_storeu_ps)
BENCH_PEAK(avx2, __attribute__((target("avx2,fma"))), __m256, 14, _mm256_set1_ps,
           _mm256_fmadd_ps, _mm256_storeu_ps)
#elif defined(__aarch64__)
#define BENCH_PEAK_FMA(acc, a, b) vfmaq_f32(b, acc, a)
BENCH_PEAK(neon, , float32x4_t, 16, vdupq_n_f32, BENCH_PEAK_FMA, vst1q_f32)
#endif

/* The i-th path of this machine, widest first; NULL after the last one. */
static inline const bench_peak_path *bench_peak_path_at(size_t i)
{
#ifdef __x86_64__
    static const bench_peak_path wide = {"avx512", bench_peak_avx512, 14 * 16 * 2},
                                 narrow = {"avx2", bench_peak_avx2, 14 * 8 * 2};
    const bench_peak_path *all[] = {
        __builtin_cpu_supports("avx512f") ? &wide : NULL,
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &narrow : NULL};
#elif defined(__aarch64__)
    static const bench_peak_path neon = {"neon", bench_peak_neon, 16 * 4 * 2};
    const bench_peak_path *all[] = {&neon};
#else
    const bench_peak_path *all[] = {NULL};
#endif
    for (size_t at = 0; at < TK_ARRAY_LEN(all); at++) {
        if (all[at] != NULL && i-- == 0) {
            return all[at];
        }
    }
    return NULL;
}

static inline double bench_peak_of(const bench_peak_path *path)
{
    static volatile float kept;
    double ns[PEAK_ROUNDS];
    float sum[16 * 16];
    for (int i = 0; i < PEAK_ROUNDS; i++) {
        double start = bench_cpu_ns();
        path->run(sum);
        ns[i] = bench_cpu_ns() - start;
        kept = sum[0];
    }
    (void)kept;
    return (double)PEAK_STEPS * path->flops / bench_median(ns, PEAK_ROUNDS);
}

/* GFLOP/s of one thread in CPU time, the best path; 0: not known here. */
static inline double bench_peak(void)
{
    double best = 0;
    for (size_t i = 0; bench_peak_path_at(i) != NULL; i++) {
        double rate = bench_peak_of(bench_peak_path_at(i));
        best = rate > best ? rate : best;
    }
    return best;
}

#endif
