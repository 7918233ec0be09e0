/* Decoding through the sampler, on a randomly initialised model in the shape of
 * Qwen2.5-0.5B: one sequence against reading the same bytes in four streams, 32 sequences
 * against the bare products of 32 rows with all weights, bf16 against f32 weights. On two
 * threads in wall time, which means something on an idle machine only (threads wait for each
 * other 200 times per token) and is not judged on a busy one; on one thread in CPU time.
 * Medians.
 * Links: engine */
#include "bench_decode.h"

#define THREADS 2 /* at most */
#define FEW     4 /* layers, where all of them would only take longer */
#define ROUNDS  5 /* in turn: a busy machine disturbs all sides alike */

static size_t weight_bytes(const eng_model *model)
{
    size_t bytes = model->head.n * model->head.k * 2;
    for (size_t i = 0; i < model->config.layers; i++) {
        for (size_t w = 0; w < ENG_N_LINEAR; w++) {
            bytes += model->layers[i].w[w].n * model->layers[i].w[w].k * 2;
        }
    }
    return bytes;
}

/* ---- the bare products: what batching can reach ---- */

typedef struct product {
    eng_model *model;
    eng_real *x, *y; /* WIDE rows of the widest input and output */
} product;

static void multiply_one(const product *p, const eng_mat *w)
{
    eng_mul mul = {.w = w, .x = p->x, .ldx = w->k, .rows = WIDE, .y = p->y, .ldy = w->n};
    tk_err err = TK_ERR_INIT;
    check(eng_mul_run(p->model->pool, &mul, &err), &err);
}

static void multiply_all(void *user)
{
    product *p = user;
    for (size_t i = 0; i < p->model->config.layers; i++) {
        for (size_t w = 0; w < ENG_N_LINEAR; w++) {
            multiply_one(p, &p->model->layers[i].w[w]);
        }
    }
    multiply_one(p, &p->model->head);
}

/* ---- measuring ---- */

typedef struct figures {
    double one, many, reads, product; /* ns, medians */
    size_t bytes;
    bool busy; /* others use the cores: wall time means nothing */
} figures;

static void measure(eng_model *model, figures *f)
{
    reading r = {.pool = model->pool,
                 .threads = eng_pool_size(model->pool),
                 .bytes = weight_bytes(model)};
    r.data = model->head.panels; /* the first of them; the others follow */
    product p = {model, tk_zarray((size_t)WIDE * INTERMEDIATE, sizeof(eng_real)),
                 tk_zarray((size_t)WIDE * VOCABULARY, sizeof(eng_real))};
    double one[ROUNDS], many[ROUNDS], reads[ROUNDS], products[ROUNDS];
    if (p.x == NULL || p.y == NULL) {
        die("out of memory");
    }
    *f = (figures){.bytes = r.bytes, .busy = is_busy(&r)};
    for (int i = 0; i < ROUNDS; i++) {
        one[i] = decode_ns(model, 1, 6);
        reads[i] = time_ns(read_all, &r);
        many[i] = decode_ns(model, WIDE, 3);
        products[i] = time_ns(multiply_all, &p);
    }
    f->one = bench_median(one, ROUNDS);
    f->reads = bench_median(reads, ROUNDS);
    f->many = bench_median(many, ROUNDS);
    f->product = bench_median(products, ROUNDS);
    tk_free(p.x);
    tk_free(p.y);
}

static void report(const figures *f, const char *threads, const char *why)
{
    char name[96], detail[200];
    (void)snprintf(detail, sizeof(detail),
                   "%.1f tokens/s; %.1f GB/s of weights against %.1f GB/s read",
                   1e9 / f->one, (double)f->bytes / f->one, (double)f->bytes / f->reads);
    (void)snprintf(name, sizeof(name),
                   "engine: decoding 0.5B, one sequence, vs reading its bytes, %s",
                   threads);
    bench_judge(name, f->reads / f->one, 0.9, why, detail);
    double rate =
        (double)f->bytes * WIDE / f->product; /* two operations per bf16 weight */
    (void)snprintf(detail, sizeof(detail),
                   "%.1f tokens/s; the products alone would give %.1f (%.1f GFLOP/s)",
                   1e9 * WIDE / f->many, 1e9 * WIDE / f->product, rate);
    (void)snprintf(name, sizeof(name),
                   "engine: decoding 0.5B, 32 sequences, vs products of 32 rows, %s",
                   threads);
    bench_judge(name, f->product / f->many, 0.8, why, detail);
}

typedef struct models {
    eng_model *whole;       /* bf16 */
    eng_model *half, *full; /* bf16 and f32, few layers: still larger than any cache */
} models;

static void bench_formats(const models *m, const char *threads, const char *why)
{
    double half[ROUNDS], full[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        half[i] = decode_ns(m->half, 1, 8);
        full[i] = decode_ns(m->full, 1, 8);
    }
    double half_ns = bench_median(half, ROUNDS), full_ns = bench_median(full, ROUNDS);
    char name[96], detail[160];
    (void)snprintf(name, sizeof(name), "engine: decoding, bf16 vs f32 weights, %s",
                   threads);
    (void)snprintf(detail, sizeof(detail), "%d of %d layers: %.1f against %.1f tokens/s",
                   FEW, LAYERS, 1e9 / half_ns, 1e9 / full_ns);
    bench_judge(name, full_ns / half_ns, 1.3, why, detail);
}

static void bench_threads(models *m, unsigned threads)
{
    const char *name = threads > 1 ? "2 threads" : "1 thread";
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    figures f;
    clock_in_use = threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    check(eng_pool_new(&pool, threads, &err), &err);
    eng_pool *before = m->whole->pool;
    m->whole->pool = m->half->pool = m->full->pool = pool;
    measure(m->whole, &f);
    const char *why = threads > 1 && f.busy ? "other programs use the cores" : NULL;
    report(&f, name, why);
    bench_formats(m, name, why);
    m->whole->pool = m->half->pool = m->full->pool = before;
    eng_pool_free(pool);
}

int main(void)
{
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    check(eng_pool_new(&pool, THREADS, &err), &err);
    models m = {open_model(pool, LAYERS, ENG_BF16), open_model(pool, FEW, ENG_BF16),
                open_model(pool, FEW, ENG_F32)};
    bench_threads(&m, 1);
    bench_threads(&m, THREADS);
    eng_model_free(m.whole);
    eng_model_free(m.half);
    eng_model_free(m.full);
    eng_pool_free(pool);
    return 0;
}
