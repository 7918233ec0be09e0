/* How costs grow with the work: CPU time per token or byte at 1, 10 and 100 times as much,
 * with the embedded model on one thread. The ratio is the cost of one at once over that of
 * the most; what grows because attention looks at all earlier tokens has no bar. The server
 * is in bench_growth_server.py.
 * Links: engine text */
#include "bench.h"

#include <string.h>

#include "base/mem.h"
#include "engine/eng.h"
#include "engine/eng_sampler.h"
#include "text/tok/tok.h"

#define MODEL  "models/pebble-llama-2m"
#define SIZES  3 /* 1, 10 and 100 times as much */
#define ROUNDS 3
#define TOKENS 64   /* of a datum, of a prompt */
#define MOST   100  /* times */
#define BAR    0.67 /* at 100 times at most 1.5 times the cost of one */

static void die(const char *what)
{
    fprintf(stderr, "bench_growth: %s\n", what);
    exit(1);
}

static void check(tinkc_code code, const tk_err *err)
{
    if (code != TINKC_OK) {
        die(err->message);
    }
}

typedef struct world {
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
    tk_tok *tok;
    tk_buf text;
    int32_t tokens[MOST * TOKENS];
    int64_t targets[MOST * TOKENS];
} world;

/* One measurement: the work at `times` times, and by how many units its cost is divided. */
typedef struct growth {
    const char *name, *unit;
    double (*run)(world *w, size_t times); /* ns of CPU time per unit */
    const char *why;                       /* its cost may grow, because; NULL: not */
} growth;

/* ---- training ---- */

static double train(world *w, size_t n_data, size_t n)
{
    static eng_datum data[MOST];
    static eng_array inputs[MOST];
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL;
    for (size_t i = 0; i < n_data; i++) {
        inputs[i] = (eng_array){.name = TK_STR("target_tokens"),
                                .type = ENG_ARRAY_I64,
                                .values = w->targets,
                                .n_values = n};
        data[i] = (eng_datum){w->tokens, n, &inputs[i], 1};
    }
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = data, .n_data = n_data};
    double start = bench_cpu_ns();
    check(eng_adapter_forward_backward(&result, w->adapter, &request, &err), &err);
    double ns = bench_cpu_ns() - start;
    eng_result_free(result);
    return ns / (double)(n_data * n);
}

static double train_many(world *w, size_t times)
{
    return train(w, times, TOKENS);
}

static double train_long(world *w, size_t times)
{
    return train(w, 1, 10 * times);
}

/* ---- decoding ---- */

static void done(void *user, const eng_sample_result *result, const tk_err *err)
{
    (void)user;
    if (result == NULL) {
        die(err->message);
    }
}

/* `n` requests that get `more` tokens each, `together` at once; the prompts count. Each
 * prompt has another first token: the prefix cache would compute an equal one but once, and
 * so hide what many of them cost. The sampler copies it. */
static double sample(world *w, size_t n, size_t together, size_t n_prompt, size_t more)
{
    tk_err err = TK_ERR_INIT;
    eng_sampler *sampler = NULL;
    eng_sampler_config config = {.max_sequences = together,
                                 .max_kv_bytes = (size_t)256 << 20,
                                 .prefill_chunk = 512};
    eng_sample_request r = ENG_SAMPLE_REQUEST_INIT;
    eng_sample_listener listener = {NULL, done, NULL};
    uint64_t id;
    int32_t prompt[TOKENS];
    memcpy(prompt, w->tokens, n_prompt * sizeof(*prompt));
    r.prompt = prompt;
    r.n_prompt = n_prompt;
    r.max_tokens = more;
    r.stop_mode = ENG_STOP_NONE;
    r.has_seed = true;
    check(eng_sampler_new(&sampler, w->model, &config, &err), &err);
    double start = bench_cpu_ns();
    for (size_t i = 0; i < n; i++) {
        prompt[0] = (int32_t)(10 + i);
        check(eng_sampler_add(sampler, &r, &listener, &id, &err), &err);
    }
    while (eng_sampler_busy(sampler)) {
        check(eng_sampler_step(sampler, &err), &err);
    }
    double ns = bench_cpu_ns() - start;
    eng_sampler_free(sampler);
    return ns / (double)(n * more);
}

static double decode_many(world *w, size_t times)
{
    return sample(w, times, times, TOKENS, 50);
}

static double decode_long(world *w, size_t times)
{
    return sample(w, 1, 1, 2, 10 * times);
}

static double decode_queue(world *w, size_t times)
{
    return sample(w, 16 * times, 16, TOKENS, 10);
}

/* ---- text ---- */

static double tokenize(world *w, size_t times)
{
    tk_err err = TK_ERR_INIT;
    tk_tok_ids ids = {0};
    size_t n = 10000 * times;
    double start = bench_cpu_ns();
    check(tk_tok_encode(w->tok, (tk_str){(const char *)w->text.p, n}, &ids, &err), &err);
    double ns = bench_cpu_ns() - start;
    double each = ns / (double)ids.n;
    tk_tok_ids_dispose(&ids);
    return each;
}

/* ---- the table ---- */

static void report(world *w, const growth *g)
{
    double cost[SIZES];
    char name[128], detail[240];
    for (size_t s = 0, times = 1; s < SIZES; s++, times *= 10) {
        double ns[ROUNDS];
        for (int i = -1; i < ROUNDS; i++) {
            double one = g->run(w, times);
            ns[i < 0 ? 0 : i] = one;
        }
        cost[s] = bench_median(ns, ROUNDS);
    }
    (void)snprintf(name, sizeof(name), "growth: %s", g->name);
    (void)snprintf(detail, sizeof(detail),
                   "1x %9.3f, 10x %9.3f, 100x %9.3f us of CPU per %s%s%s", cost[0] / 1e3,
                   cost[1] / 1e3, cost[2] / 1e3, g->unit, g->why != NULL ? ": " : "",
                   g->why != NULL ? g->why : "");
    if (g->why != NULL) {
        double ratio = cost[0] / cost[2];
        bench_line(name, &ratio, NULL, detail);
    } else {
        bench_report(name, cost[0] / cost[2], BAR, detail);
    }
}

static void open_world(world *w)
{
    static const char syllables[16][4] = {"ba", "ter", "lo",  "ing", "mi", "sch",
                                          "an", "ou",  "ver", "de",  "x",  "tion",
                                          "re", "k",   "est", "ly"};
    uint32_t seed = 1;
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    check(eng_pool_new(&w->pool, 1, &err), &err);
    check(eng_model_open(&w->model, w->pool, MODEL, ENG_WEIGHTS_FILE, &err), &err);
    check(eng_adapter_new(&w->adapter, w->model, &config, &err), &err);
    check(tk_tok_open(&w->tok, MODEL, &err), &err);
    for (size_t i = 0; i < TK_ARRAY_LEN(w->tokens); i++) {
        w->tokens[i] = (int32_t)(10 + i * 7919 % 2000);
        w->targets[i] = (int64_t)(10 + (i + 1) * 7919 % 2000);
    }
    tk_buf_init(&w->text, (size_t)4 << 20);
    while (w->text.n < (size_t)1000000) {
        for (size_t left = 1 + (seed >> 16) % 4; left > 0; left--) { /* a word */
            seed = seed * 1664525u + 1013904223u;
            tk_buf_printf(&w->text, "%.4s", syllables[seed >> 28]);
        }
        tk_buf_puts(&w->text, (seed >> 20) % 9 > 0 ? " " : ", 12\n");
    }
    check(w->text.failure, &err);
}

int main(void)
{
    static world w;
    static const growth all[] = {
        {"training, more datums", "token", train_many, NULL},
        {"training, a longer datum (10, 100, 1000 tokens)", "token", train_long,
         "attention looks at all earlier tokens"},
        {"decoding, more sequences together", "token", decode_many, NULL},
        {"decoding, a longer sequence (10, 100, 1000 tokens)", "token", decode_long,
         "attention looks at all earlier tokens"},
        {"decoding, more requests that wait", "token", decode_queue, NULL},
        {"tokenizing, a longer text (10 KB to 1 MB)", "token", tokenize, NULL},
    };
    open_world(&w);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        report(&w, &all[i]);
    }
    tk_buf_dispose(&w.text);
    tk_tok_free(w.tok);
    eng_adapter_free(w.adapter);
    eng_model_free(w.model);
    eng_pool_free(w.pool);
    return 0;
}
