/* The engine's matrix kernels: against OpenBLAS sgemm (found at run time; a note when it
 * is absent), and bf16 against f32 weights for one row.
 * Links: engine */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_mat.h"

#define M 512
#define K 1024
#define N 4096

typedef void (*sgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k,
                         float alpha, const float *a, int lda, const float *b, int ldb,
                         float beta, float *c, int ldc);

typedef struct blas {
    sgemm_fn sgemm;
    void (*set_threads)(int n);
} blas;

static bool find_blas(blas *out)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return false;
    }
    void *sgemm = dlsym(library, "cblas_sgemm");
    void *threads = dlsym(library, "openblas_set_num_threads");
    memcpy(&out->sgemm, &sgemm, sizeof(sgemm));
    memcpy(&out->set_threads, &threads, sizeof(threads));
    return sgemm != NULL && threads != NULL;
}

typedef struct bench {
    eng_pool *pool;
    eng_mat w, w16;
    float *x, *y, *rows;
    size_t m;
    blas blas;
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

static double time_of(bench_side *side, clockid_t clock)
{
    struct timespec start, end;
    (void)clock_gettime(clock, &start);
    side->run(side->user);
    (void)clock_gettime(clock, &end);
    return (double)(end.tv_sec - start.tv_sec) * 1e9 +
           (double)(end.tv_nsec - start.tv_nsec);
}

/* As bench_race; with several threads in wall time, because they share the work. The
 * fastest repetition of each side counts: other programs only ever slow one down. */
static void race(bench_side *a, bench_side *b, unsigned threads, double *a_ns,
                 double *b_ns)
{
    clockid_t clock = threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    a->run(a->user);
    b->run(b->user);
    *a_ns = *b_ns = 1e300;
    for (int i = 0; i < BENCH_REPETITIONS; i++) {
        double x = time_of(a, clock), y = time_of(b, clock);
        *a_ns = x < *a_ns ? x : *a_ns;
        *b_ns = y < *b_ns ? y : *b_ns;
    }
}

static void against_blas(bench *b, unsigned threads, bool back)
{
    bench_side we = {.run = back ? ours_back : ours, .user = b};
    bench_side they = {.run = back ? theirs_back : theirs, .user = b};
    double we_ns, they_ns;
    b->m = M;
    b->blas.set_threads((int)threads);
    race(&we, &they, threads, &we_ns, &they_ns);
    double flops = 2.0 * M * K * N;
    char name[64], detail[160];
    (void)snprintf(name, sizeof(name), "engine: %s vs OpenBLAS, %u thread%s",
                   back ? "input gradient" : "matrix product", threads,
                   threads > 1 ? "s" : "");
    (void)snprintf(detail, sizeof(detail), "M=%d K=%d N=%d: %.1f against %.1f GFLOP/s", M,
                   K, N, flops / we_ns, flops / they_ns);
    bench_report(name, they_ns / we_ns, back ? 0.6 : 0.7, detail);
}

static void bf16_against_f32(bench *b, unsigned threads)
{
    bench_side half = {.run = ours_bf16, .user = b}, full = {.run = ours, .user = b};
    double half_ns, full_ns;
    b->m = 1;
    race(&half, &full, threads, &half_ns, &full_ns);
    char name[64], detail[160];
    (void)snprintf(name, sizeof(name),
                   "engine: bf16 vs f32 weights, one row, %u thread%s", threads,
                   threads > 1 ? "s" : "");
    (void)snprintf(detail, sizeof(detail), "%.1f against %.1f GB/s read",
                   2.0 * K * N / half_ns, 4.0 * K * N / full_ns);
    bench_report(name, full_ns / half_ns, 1.3, detail);
}

static void fill(bench *b)
{
    size_t f32 = 0, bf16 = 0;
    if (!eng_mat_bytes(&f32, N, K, false) || !eng_mat_bytes(&bf16, N, K, true)) {
        die("too large");
    }
    b->w = (eng_mat){must(f32), N, K, false};
    b->w16 = (eng_mat){must(bf16), N, K, true};
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

int main(void)
{
    bench b = {.m = M};
    tk_err err = TK_ERR_INIT;
    fill(&b);
    bool have = find_blas(&b.blas);
    if (!have) {
        fprintf(stderr,
                "bench_engine: no libopenblas.so.0, its comparison is left out\n");
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
