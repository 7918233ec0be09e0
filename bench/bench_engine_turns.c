/* Conversations in turns with the embedded model, as recipes of reinforcement learning
 * have them: players with a long common beginning, all at once, and an answerer whose
 * prompts are a long common beginning and one question. CPU time with one sampler, which
 * starts a turn from what it has of the last one, against a new sampler for every turn.
 * Links: engine */
#include "bench.h"

#include <string.h>

#include "base/mem.h"
#include "engine/eng.h"
#include "engine/eng_sampler.h"

#define TALKS    32 /* at once */
#define GROUP    4  /* talks with the same first prompt */
#define TURNS    20
#define SHARED   210 /* tokens of the beginning */
#define TASK     8   /* of a group */
#define QUESTION 16
#define ANSWER   4
#define FRAME    9 /* tokens of the template between turns */
#define LENGTH   (SHARED + TASK + TURNS * (QUESTION + ANSWER + 2 * FRAME))
#define ROUNDS   3

typedef struct talk {
    struct world *world;
    int32_t tokens[LENGTH];   /* of the player */
    int32_t question[LENGTH]; /* of the answerer */
    size_t n, n_question;
    bool answering;
} talk;

typedef struct world {
    eng_model *model;
    eng_adapter *player;
    eng_sampler *sampler;
    talk talks[TALKS];
    size_t prompt_tokens, hit_tokens, sampled;
} world;

static void die(const char *what)
{
    fprintf(stderr, "bench_engine_turns: %s\n", what);
    exit(1);
}

static void check(tinkc_code code, const tk_err *err)
{
    if (code != TINKC_OK) {
        die(err->message);
    }
}

static void fill(int32_t *to, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (int32_t)(10 + (seed >> 8) % 2000);
    }
}

static void append(int32_t *tokens, size_t *n, const eng_sequence *s)
{
    memcpy(tokens + *n, s->tokens, s->n * sizeof(*s->tokens));
    fill(tokens + *n + s->n, FRAME, 9);
    *n += s->n + FRAME;
}

static void on_done(void *user, const eng_sample_result *result, const tk_err *err)
{
    talk *t = user;
    world *w = t->world;
    if (result == NULL) {
        die(err->message);
    }
    w->hit_tokens += result->prompt_cache_hit_tokens;
    w->sampled += result->sequences[0].n;
    append(t->tokens, &t->n, &result->sequences[0]);
    if (!t->answering) {
        fill(t->question, SHARED, 7);
        t->n_question = SHARED;
        append(t->question, &t->n_question, &result->sequences[0]);
    }
    t->answering = !t->answering;
}

static void ask(world *w, talk *t, size_t turn)
{
    tk_err err = TK_ERR_INIT;
    eng_sample_request r = ENG_SAMPLE_REQUEST_INIT;
    eng_sample_listener listener = {NULL, on_done, t};
    uint64_t id;
    r.adapter = t->answering ? NULL : w->player;
    r.prompt = t->answering ? t->question : t->tokens;
    r.n_prompt = t->answering ? t->n_question : t->n;
    r.max_tokens = t->answering ? ANSWER : QUESTION;
    r.stop_mode = ENG_STOP_NONE;
    r.has_seed = true;
    r.seed = (uint64_t)(t - w->talks) * 100 + turn;
    w->prompt_tokens += r.n_prompt;
    check(eng_sampler_add(w->sampler, &r, &listener, &id, &err), &err);
}

static void new_sampler(world *w)
{
    tk_err err = TK_ERR_INIT;
    eng_sampler_config config = {
        .max_sequences = 64, .max_kv_bytes = (size_t)256 << 20, .prefill_chunk = 512};
    eng_sampler_free(w->sampler);
    check(eng_sampler_new(&w->sampler, w->model, &config, &err), &err);
}

/* Half of the talks are a half turn ahead, so that players and answers run together. */
static double run(world *w, bool keep)
{
    tk_err err = TK_ERR_INIT;
    double start = bench_cpu_ns();
    w->prompt_tokens = w->hit_tokens = w->sampled = 0;
    for (size_t i = 0; i < TALKS; i++) {
        talk *t = &w->talks[i];
        *t = (talk){.world = w, .n = SHARED + TASK};
        fill(t->tokens, SHARED, 3);
        fill(t->tokens + SHARED, TASK, (uint32_t)(i / GROUP));
    }
    for (size_t half = 0; half <= 2 * TURNS; half++) {
        if (!keep || half == 0) {
            new_sampler(w);
        }
        for (size_t i = 0; i < TALKS; i++) {
            if (i % 2 == 0 ? half < 2 * TURNS : half > 0) {
                ask(w, &w->talks[i], half);
            }
        }
        while (eng_sampler_busy(w->sampler)) {
            check(eng_sampler_step(w->sampler, &err), &err);
        }
    }
    return bench_cpu_ns() - start;
}

int main(void)
{
    static world w;
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    double kept[ROUNDS], again[ROUNDS];
    char detail[240];
    check(eng_pool_new(&pool, 1, &err), &err);
    check(
        eng_model_open(&w.model, pool, "models/pebble-llama-2m", ENG_WEIGHTS_FILE, &err),
        &err);
    check(eng_adapter_new(&w.player, w.model, &config, &err), &err);
    for (int i = 0; i < ROUNDS; i++) {
        again[i] = run(&w, false);
        kept[i] = run(&w, true);
    }
    double a = bench_median(again, ROUNDS), k = bench_median(kept, ROUNDS);
    (void)snprintf(detail, sizeof(detail),
                   "%d talks of %d turns, %zu sampled tokens: %.0f us each (all prompts "
                   "computed: %.0f); of %zu prompt tokens %zu computed; CPU time, one "
                   "thread, median of %d",
                   TALKS, TURNS, w.sampled, k / 1e3 / (double)w.sampled,
                   a / 1e3 / (double)w.sampled, w.prompt_tokens,
                   w.prompt_tokens - w.hit_tokens, ROUNDS);
    bench_report("engine: talks in turns, prompts reused vs computed", a / k, 3, detail);
    eng_sampler_free(w.sampler);
    eng_adapter_free(w.player);
    eng_model_free(w.model);
    eng_pool_free(pool);
    return 0;
}
