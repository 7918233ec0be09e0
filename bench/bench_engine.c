/* The engine's matrix kernels: against OpenBLAS sgemm (found at run time; a note when it
 * is absent; started again with the right kernels when it chose those of another CPU), and
 * bf16 against f32 weights for one row. Medians; one thread in CPU time.
 * Links: engine */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench_peak.h"
#include "engine/eng_mat.h"

#define M 512
#define K 1024
#define N 4096

#define SLOW_SHARE 0.6 /* of the peak: no kernel for this CPU is slower */
#define FORCED     "TINKC_BENCH_FORCED" /* set by this program for itself */

typedef void (*sgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k,
                         float alpha, const float *a, int lda, const float *b, int ldb,
                         float beta, float *c, int ldc);

typedef struct blas {
    sgemm_fn sgemm;
    void (*set_threads)(int n);
    const char *core; /* whose kernels it chose */
} blas;

static bool find_blas(blas *out)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return false;
    }
    char *(*core)(void) = NULL;
    void *sgemm = dlsym(library, "cblas_sgemm");
    void *threads = dlsym(library, "openblas_set_num_threads");
    void *name = dlsym(library, "openblas_get_corename");
    memcpy(&out->sgemm, &sgemm, sizeof(sgemm));
    memcpy(&out->set_threads, &threads, sizeof(threads));
    memcpy(&core, &name, sizeof(name));
    out->core = core != NULL ? core() : "unknown core";
    return sgemm != NULL && threads != NULL;
}

typedef struct bench {
    eng_pool *pool;
    eng_mat w, w16;
    float *x, *y, *rows;
    size_t m;
    blas blas;
    bool busy; /* others use the cores */
} bench;

static void die(const char *what)
{
    fprintf(stderr, "bench_engine: %s\n", what);
    exit(1);
}

static void *must(size_t bytes)
{
    char *block = tk_zalloc(bytes + 64);
    if (block == NULL) {
        die("out of memory");
    }
    return block + (64 - (uintptr_t)block % 64) % 64;
}

static void multiply(bench *b, const eng_mat *w)
{
    eng_mul m = {.w = w, .x = b->x, .ldx = K, .rows = b->m, .y = b->y, .ldy = N};
    if (eng_mul_run(b->pool, &m, NULL) != TINKC_OK) {
        die("out of memory");
    }
}

static void ours(void *user)
{
    bench *b = user;
    multiply(b, &b->w);
}

static void ours_bf16(void *user)
{
    bench *b = user;
    multiply(b, &b->w16);
}

static void ours_back(void *user)
{
    bench *b = user;
    eng_mul m = {.w = &b->w, .x = b->y, .ldx = N, .rows = b->m, .y = b->x, .ldy = K};
    if (eng_mul_back_run(b->pool, &m, NULL) != TINKC_OK) {
        die("out of memory");
    }
}

static void theirs(void *user)
{
    bench *b = user;
    b->blas.sgemm(101, 111, 112, (int)b->m, N, K, 1.0f, b->x, K, b->rows, K, 0.0f, b->y,
                  N);
}

static void theirs_back(void *user)
{
    bench *b = user;
    b->blas.sgemm(101, 111, 111, (int)b->m, K, N, 1.0f, b->y, N, b->rows, K, 0.0f, b->x,
                  K);
}

typedef struct cost {
    double cpu[BENCH_REPETITIONS], wall[BENCH_REPETITIONS];
} cost;

static double wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void time_one(void (*run)(void *user), void *user, cost *out, int i)
{
    double wall = wall_ns(), cpu = bench_cpu_ns();
    run(user);
    out->cpu[i] = bench_cpu_ns() - cpu;
    out->wall[i] = wall_ns() - wall;
}

typedef struct sides { /* medians, ns */
    double cpu[2], wall[2];
} sides;

static sides race(void (*a)(void *user), void (*b)(void *user), void *user)
{
    static cost costs[2];
    sides s;
    a(user);
    b(user);
    for (int i = 0; i < BENCH_REPETITIONS; i++) {
        time_one(a, user, &costs[0], i);
        time_one(b, user, &costs[1], i);
    }
    for (int i = 0; i < 2; i++) {
        s.cpu[i] = bench_median(costs[i].cpu, BENCH_REPETITIONS);
        s.wall[i] = bench_median(costs[i].wall, BENCH_REPETITIONS);
    }
    return s;
}

/* Two threads are judged in wall time, which means something only while nobody else uses
 * the cores. */
static const char *why_not(const bench *b, unsigned threads)
{
    if (threads > (unsigned)sysconf(_SC_NPROCESSORS_ONLN)) {
        return "the machine has one core";
    }
    return threads > 1 && b->busy ? "other programs use the cores" : NULL;
}

static void against_blas(bench *b, unsigned threads, bool back)
{
    b->m = M;
    b->blas.set_threads((int)threads);
    sides s = race(back ? ours_back : ours, back ? theirs_back : theirs, b);
    b->busy = threads == 1 ? s.wall[0] > 1.1 * s.cpu[0] : b->busy;
    const double *ns = threads > 1 ? s.wall : s.cpu;
    double flops = 2.0 * M * K * N;
    char name[64], detail[240];
    (void)snprintf(name, sizeof(name), "engine: %s vs OpenBLAS, %u thread%s",
                   back ? "input gradient" : "matrix product", threads,
                   threads > 1 ? "s" : "");
    (void)snprintf(detail, sizeof(detail),
                   "M=%d K=%d N=%d, %s: %.1f against %.1f GFLOP/s (OpenBLAS as %s%s); "
                   "CPU time alone: %.2f x",
                   M, K, N, eng_kern_in_use(), flops / ns[0], flops / ns[1], b->blas.core,
                   getenv(FORCED) != NULL ? ", which it did not choose itself" : "",
                   s.cpu[1] / s.cpu[0]);
    bench_judge(name, ns[1] / ns[0], back ? 0.6 : 0.9, why_not(b, threads), detail);
}

static void bf16_against_f32(bench *b, unsigned threads)
{
    b->m = 1;
    sides s = race(ours_bf16, ours, b);
    const double *ns = threads > 1 ? s.wall : s.cpu;
    char name[64], detail[160];
    (void)snprintf(name, sizeof(name),
                   "engine: bf16 vs f32 weights, one row, %u thread%s", threads,
                   threads > 1 ? "s" : "");
    (void)snprintf(detail, sizeof(detail), "%.1f against %.1f GB/s read",
                   2.0 * K * N / ns[0], 4.0 * K * N / ns[1]);
    bench_judge(name, ns[1] / ns[0], 1.3, why_not(b, threads), detail);
}

/* ---- is the peer what it should be? ---- */

/* A peer far below what the CPU can do runs kernels of another one: that is no race. Then
 * this program starts again with the right ones. */
static void check_peer(bench *b, char **argv)
{
    double ns[9], peak = bench_peak();
    char detail[240];
    b->m = M;
    b->blas.set_threads(1);
    theirs(b);
    for (size_t i = 0; i < TK_ARRAY_LEN(ns); i++) {
        ns[i] = bench_time_ns(theirs, b);
    }
    double rate = 2.0 * M * K * N / bench_median(ns, TK_ARRAY_LEN(ns));
    bool slow = peak > 0 && rate < SLOW_SHARE * peak;
    (void)snprintf(detail, sizeof(detail),
                   "OpenBLAS as %s: %.1f GFLOP/s, %.0f %% of the measured peak of %.1f "
                   "(one thread, CPU time)%s",
                   b->blas.core, rate, peak > 0 ? 100 * rate / peak : 0, peak,
                   slow ? ": BELOW 60 %" : "");
    bench_note("engine: the peer OpenBLAS", detail);
#ifdef __x86_64__
    if (slow && getenv("OPENBLAS_CORETYPE") == NULL) {
        const char *core = __builtin_cpu_supports("avx512f") ? "SKYLAKEX" : "HASWELL";
        (void)setenv("OPENBLAS_CORETYPE", core, 1);
        (void)setenv(FORCED, "1", 1);
        (void)execv("/proc/self/exe", argv);
        die("cannot start again");
    }
#else
    (void)argv;
#endif
}

static void fill(bench *b)
{
    size_t f32 = 0, bf16 = 0;
    if (!eng_mat_bytes(&f32, N, K, ENG_FORMAT_REAL) ||
        !eng_mat_bytes(&bf16, N, K, ENG_FORMAT_BF16)) {
        die("too large");
    }
    b->w = (eng_mat){must(f32), N, K, ENG_FORMAT_REAL};
    b->w16 = (eng_mat){must(bf16), N, K, ENG_FORMAT_BF16};
    b->x = must(sizeof(float) * M * K);
    b->y = must(sizeof(float) * M * N);
    b->rows = must(sizeof(float) * N * K);
    uint16_t *half = must(sizeof(uint16_t) * N * K);
    for (size_t i = 0; i < (size_t)N * K; i++) {
        b->rows[i] = (float)(i % 251) / 251.0f - 0.5f;
        half[i] = eng_f32_to_bf16(b->rows[i]);
    }
    for (size_t i = 0; i < (size_t)M * K; i++) {
        b->x[i] = (float)(i % 127) / 127.0f - 0.5f;
    }
    eng_mat_pack_reals(&b->w, b->rows);
    eng_mat_pack_panels(&b->w16, half, ENG_BF16, 0, N / ENG_LANES);
}

int main(int argc, char **argv)
{
    bench b = {.m = M};
    tk_err err = TK_ERR_INIT;
    (void)argc;
    fill(&b);
    bool have = find_blas(&b.blas);
    if (!have) {
        fprintf(stderr,
                "bench_engine: no libopenblas.so.0, its comparison is left out\n");
    } else {
        check_peer(&b, argv);
    }
    for (unsigned threads = 1; threads <= 2; threads++) {
        if (eng_pool_new(&b.pool, threads, &err) != TINKC_OK) {
            die(err.message);
        }
        if (have) {
            against_blas(&b, threads, false);
            against_blas(&b, threads, true);
        }
        bf16_against_f32(&b, threads);
        eng_pool_free(b.pool);
    }
    return 0;
}
