/* int8 weights against bf16: decoding with the shape of Qwen2.5-0.5B, and what rounding
 * costs in log-probabilities on text that the bf16 model has drawn: the mean and the
 * largest difference of a token's log-probability, and the divergence KL(bf16 || int8)
 * per token. On one thread in CPU time, on two in wall time, which is not judged on a
 * busy machine.
 * Links: engine */
#include "bench_decode.h"

#include <math.h>

#include "engine/eng_head.h"

#define ROUNDS  7
#define PEBBLE  "models/pebble-llama-2m"
#define TEXTS   16
#define TOKENS  256 /* of a text of the embedded model */
#define FEW     32  /* of one of the model with random weights */
#define THREADS 2

/* Least ratios of one sequence: with AVX-512 memory limits it, with AVX2 the conversion of the
 * weights. */
#define BAR_AVX512 1.7
#define BAR_AVX2   1.2

/* ---- speed ---- */

static void compare(eng_model *const model[2], size_t n, double bar, const char *threads,
                    const char *why)
{
    double ns[2][ROUNDS], median[2];
    char name[96], detail[160];
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t m = 0; m < 2; m++) {
            ns[m][i] = decode_ns(model[m], n, n > 1 ? 3 : 8);
        }
    }
    for (size_t m = 0; m < 2; m++) {
        median[m] = bench_median(ns[m], ROUNDS);
    }
    (void)snprintf(name, sizeof(name),
                   "engine: decoding 0.5B, int8 vs bf16 weights, %zu sequence%s, %s", n,
                   n > 1 ? "s" : "", threads);
    (void)snprintf(detail, sizeof(detail), "%.1f against %.1f tokens/s",
                   1e9 * (double)n / median[1], 1e9 * (double)n / median[0]);
    bench_judge(name, median[0] / median[1], bar, why, detail);
}

/* With the table in use. */
static void speed(eng_model *const model[2], unsigned threads)
{
    const char *kern = eng_kern_in_use();
    bool is_wide = strcmp(kern, "avx512") == 0;
    bool is_known = is_wide || strcmp(kern, "avx2") == 0;
    char name[32];
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL, *before = model[0]->pool;
    (void)snprintf(name, sizeof(name), "%u thread%s, %s", threads, threads > 1 ? "s" : "",
                   kern);
    clock_in_use = threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    check(eng_pool_new(&pool, threads, &err), &err);
    eng_model_set_pool(model[0], pool);
    eng_model_set_pool(model[1], pool);
    reading r = {.pool = pool,
                 .threads = threads,
                 .data = model[0]->head.panels,
                 .bytes = model[0]->head.n * model[0]->head.k * sizeof(uint16_t)};
    const char *why = !is_known                    ? "no bar was measured with this table"
                      : threads > 1 && is_busy(&r) ? "other programs use the cores"
                                                   : NULL;
    compare(model, 1, is_wide ? BAR_AVX512 : BAR_AVX2, name, why);
    compare(model, WIDE, 0.9, name, why);
    eng_model_set_pool(model[0], before);
    eng_model_set_pool(model[1], before);
    eng_pool_free(pool);
}

/* ---- error ---- */

typedef struct text {
    int32_t tokens[TOKENS];
    size_t n;
} text;

static void keep(void *user, const eng_sample_result *result, const tk_err *err)
{
    text *texts = user;
    if (result == NULL) {
        die(err->message);
    }
    for (size_t i = 0; i < result->n_sequences; i++) {
        texts[i].n = 1 + result->sequences[i].n;
        memcpy(texts[i].tokens + 1, result->sequences[i].tokens,
               result->sequences[i].n * sizeof(int32_t));
    }
}

/* Texts that the model writes at temperature 1, each after `first`. */
static void draw(eng_model *model, int32_t first, size_t tokens, text *texts, size_t n)
{
    tk_err err = TK_ERR_INIT;
    eng_sampler *sampler = NULL;
    eng_sampler_config config = {
        .max_sequences = n, .max_kv_bytes = (size_t)1 << 28, .prefill_chunk = PROMPT};
    eng_sample_request request = ENG_SAMPLE_REQUEST_INIT;
    eng_sample_listener listener = {NULL, keep, texts};
    uint64_t id;
    for (size_t i = 0; i < n; i++) {
        texts[i].tokens[0] = first;
    }
    request.prompt = &first;
    request.n_prompt = 1;
    request.num_samples = n;
    request.max_tokens = tokens - 1;
    request.stop_mode = ENG_STOP_NONE;
    request.has_seed = true;
    check(eng_sampler_new(&sampler, model, &config, &err), &err);
    check(eng_sampler_add(sampler, &request, &listener, &id, &err), &err);
    while (eng_sampler_busy(sampler)) {
        check(eng_sampler_step(sampler, &err), &err);
    }
    eng_sampler_free(sampler);
}

/* Log-probabilities of the whole vocabulary after each token: [n][vocabulary]. */
static double *score(eng_model *model, const text *t)
{
    tk_err err = TK_ERR_INIT;
    size_t vocabulary = model->config.vocabulary;
    eng_seq seq = {.tokens = t->tokens, .n = t->n};
    eng_acts acts;
    check(eng_seq_make_blocks(&seq, model, &model->work), &err);
    check(eng_acts_init(&acts, model, &model->work, &seq, 1, ENG_KEEP_NOTHING), &err);
    check(eng_forward(&acts, &err), &err);
    eng_real *logits = tk_array(t->n * vocabulary, sizeof(*logits));
    double *out = tk_array(t->n * vocabulary, sizeof(*out));
    if (logits == NULL || out == NULL) {
        die("out of memory");
    }
    const eng_logits l = {
        .model = model, .x = acts.hidden, .rows = t->n, .logits = logits};
    check(eng_head_logits(&l, &err), &err);
    for (size_t r = 0; r < t->n; r++) {
        const eng_real *row = logits + r * vocabulary;
        double sum = 0;
        for (size_t i = 0; i < vocabulary; i++) {
            sum += exp((double)row[i] - (double)row[0]);
        }
        for (size_t i = 0; i < vocabulary; i++) {
            out[r * vocabulary + i] = (double)row[i] - (double)row[0] - log(sum);
        }
    }
    tk_free(logits);
    eng_work_reset(&model->work);
    return out;
}

typedef struct errors {
    double sum, max, divergence, best; /* best: positions with the same likeliest token */
    size_t n;
} errors;

static size_t likeliest(const double *logprobs, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = logprobs[i] > logprobs[best] ? i : best;
    }
    return best;
}

static void add_text(errors *e, eng_model *const model[2], const text *t)
{
    size_t vocabulary = model[0]->config.vocabulary;
    double *p = score(model[0], t), *q = score(model[1], t);
    for (size_t r = 0; r + 1 < t->n; r++) {
        const double *a = p + r * vocabulary, *b = q + r * vocabulary;
        double delta = fabs(a[t->tokens[r + 1]] - b[t->tokens[r + 1]]);
        e->sum += delta;
        e->max = fmax(e->max, delta);
        for (size_t i = 0; i < vocabulary; i++) {
            e->divergence += exp(a[i]) * (a[i] - b[i]);
        }
        e->best += likeliest(a, vocabulary) == likeliest(b, vocabulary);
        e->n++;
    }
    tk_free(p);
    tk_free(q);
}

/* What int8 changes for the text that the bf16 model writes. */
static void error(const char *name, eng_model *const model[2], size_t tokens,
                  size_t n_texts)
{
    static text texts[TEXTS];
    errors e = {0};
    char detail[200];
    const eng_config *c = &model[0]->config;
    draw(model[0], c->n_eos > 0 ? (int32_t)c->eos[c->n_eos - 1] : 1, tokens, texts,
         n_texts);
    for (size_t i = 0; i < n_texts; i++) {
        add_text(&e, model, &texts[i]);
    }
    double n = (double)e.n;
    (void)snprintf(detail, sizeof(detail),
                   "log-probability of a token: mean difference %.2g, largest %.2g; KL "
                   "%.2g per token; same likeliest token %.2f %%; %zu tokens",
                   e.sum / n, e.max, e.divergence / n, 100 * e.best / n, e.n);
    bench_note(name, detail);
}

static eng_model *open_pebble(eng_pool *pool, eng_weights weights)
{
    tk_err err = TK_ERR_INIT;
    eng_model *model = NULL;
    check(eng_model_open(&model, pool, PEBBLE, weights, &err), &err);
    return model;
}

int main(void)
{
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    check(eng_pool_new(&pool, THREADS, &err), &err);
    eng_model *pebble[] = {open_pebble(pool, ENG_WEIGHTS_FILE),
                           open_pebble(pool, ENG_WEIGHTS_INT8)};
    error("engine: int8 weights, error, embedded model", pebble, TOKENS, TEXTS);
    eng_model_free(pebble[0]);
    eng_model_free(pebble[1]);
    eng_model *large[] = {open_model_as(pool, LAYERS, ENG_BF16, ENG_WEIGHTS_FILE),
                          open_model_as(pool, LAYERS, ENG_BF16, ENG_WEIGHTS_INT8)};
    error("engine: int8 weights, error, 0.5B with random weights", large, FEW, 2);
    speed(large, 1);
    speed(large, THREADS);
    /* which most machines have, and a machine with AVX-512 can measure */
    if (strcmp(eng_kern_in_use(), "avx2") != 0 && eng_kern_select("avx2")) {
        speed(large, 1);
        speed(large, THREADS);
    }
    eng_model_free(large[0]);
    eng_model_free(large[1]);
    eng_pool_free(pool);
    return 0;
}
