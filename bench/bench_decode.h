/* Decoding steps of the sampler in a given clock, reading memory as fast as it can be
 * read, and whether other programs use the cores. For benchmarks that link `engine`. */
#ifndef BENCH_BENCH_DECODE_H
#define BENCH_BENCH_DECODE_H

#include "bench_model.h"

#include "engine/eng_sampler.h"

#define WIDE            32 /* sequences decoded together */
#define PROMPT          64
#define STEPS_MAX       16
#define READING_THREADS 2

/* ---- decoding ---- */

static clockid_t clock_in_use;

static inline double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(clock_in_use, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void done(void *user, const eng_sample_result *result, const tk_err *err)
{
    (void)user;
    if (result == NULL) {
        die(err->message);
    }
}

/* The median of `steps` steps in which n samples of one prompt get a token each. */
static inline double decode_ns(eng_model *model, size_t n, size_t steps)
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
    uint64_t sum[READING_THREADS * 8];
} reading;

static inline void read_part(void *user, size_t begin, size_t end, void *scratch)
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

static inline void read_all(void *user)
{
    reading *r = user;
    eng_pool_run(r->pool, r->threads, read_part, r);
}

static inline double time_ns(void (*run)(void *user), void *user)
{
    double start = now_ns();
    run(user);
    return now_ns() - start;
}

/* Wall time of a loop of one thread that is far above its CPU time. */
static inline bool is_busy(reading *r)
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

#endif
