/* Decoding through the sampler, on a randomly initialised model in the shape of
 * Qwen2.5-0.5B: one sequence against reading the same bytes in four streams, 32 sequences
 * against the bare products of 32 rows with all weights, bf16 against f32 weights. On two
 * threads in wall time, which means something on an idle machine only (threads wait for each
 * other 200 times per token) and is not judged on a busy one; on one thread in CPU time.
 * Medians.
 * Links: engine */
#include "bench_model.h"

#include "engine/eng_sampler.h"

#define THREADS   2  /* at most */
#define WIDE      32 /* sequences decoded together */
#define PROMPT    64
#define FEW       4 /* layers, where all of them would only take longer */
#define STEPS_MAX 16
#define ROUNDS    5 /* in turn: a busy machine disturbs all sides alike */

/* ---- decoding ---- */

static clockid_t clock_in_use;

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(clock_in_use, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void done(void *user, const eng_sample_result *result, const tk_err *err)
{
    (void)user;
    if (result == NULL) {
        die(err->message);
    }
}

/* The median of `steps` steps in which n samples of one prompt get a token each. */
static double decode_ns(eng_model *model, size_t n, size_t steps)
{
    tk_err err = TK_ERR_INIT;
    eng_sampler *sampler = NULL;
    eng_sampler_config config = {
        .max_sequences = WIDE, .max_kv_bytes = (size_t)1 << 30, .prefill_chunk = PROMPT};
    int32_t prompt[PROMPT] = {7, 5, 3};
    eng_sample_request request = ENG_SAMPLE_REQUEST_INIT;
    request.prompt = prompt;
    request.n_prompt = PROMPT;
    request.num_samples = n;
    request.max_tokens = steps + 2;
    request.stop_mode = ENG_STOP_NONE;
    request.has_seed = true;
    eng_sample_listener listener = {NULL, done, NULL};
    uint64_t id;
    double ns[STEPS_MAX];
    size_t n_ns = 0;
    check(eng_sampler_new(&sampler, model, &config, &err), &err);
    check(eng_sampler_add(sampler, &request, &listener, &id, &err), &err);
    for (size_t i = 0; eng_sampler_busy(sampler); i++) {
        double start = now_ns();
        check(eng_sampler_step(sampler, &err), &err);
        if (i > 1) { /* after the prompt and the first copies of its last block */
            ns[n_ns++] = now_ns() - start;
        }
    }
    eng_sampler_free(sampler);
    return bench_median(ns, n_ns);
}

/* ---- reading the same bytes ---- */

typedef struct reading {
    eng_pool *pool;
    size_t threads;
    const char *data;
    size_t bytes;
    uint64_t sum[THREADS * 8];
} reading;

static void read_part(void *user, size_t begin, size_t end, void *scratch)
{
    reading *r = user;
    (void)scratch;
    for (size_t part = begin; part < end; part++) {
        size_t n = r->bytes / r->threads / 4 / sizeof(uint64_t);
        const uint64_t *s0 = (const void *)(r->data + part * (r->bytes / r->threads));
        const uint64_t *s1 = s0 + n, *s2 = s1 + n, *s3 = s2 + n;
        uint64_t sum[4] = {0};
        for (size_t i = 0; i + 4 <= n; i += 4) {
            for (size_t l = 0; l < 4; l++) {
                sum[l] += s0[i + l] + s1[i + l] + s2[i + l] + s3[i + l];
            }
        }
        r->sum[part * 8] = sum[0] + sum[1] + sum[2] + sum[3];
    }
}

static void read_all(void *user)
{
    reading *r = user;
    eng_pool_run(r->pool, r->threads, read_part, r);
}

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

static double time_ns(void (*run)(void *user), void *user)
{
    double start = now_ns();
    run(user);
    return now_ns() - start;
}

typedef struct figures {
    double one, many, reads, product; /* ns, medians */
    size_t bytes;
    bool busy; /* others use the cores: wall time means nothing */
} figures;

/* Wall time of a loop of one thread that is far above its CPU time. */
static bool is_busy(reading *r)
{
    clockid_t clock = clock_in_use;
    double ns[2];
    for (int i = 0; i < 2; i++) {
        clock_in_use = i == 0 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
        ns[i] = time_ns(read_all, r);
    }
    clock_in_use = clock;
    return ns[0] * (double)r->threads > 1.1 * ns[1];
}

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
