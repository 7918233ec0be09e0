/* A tiny model, an adapter and a sampler for tests, and a way to run requests to their
 * end and keep what came back. Static functions: include it in test programs only. */
#ifndef ENGINE_SUPPORT_SAMPLING_H
#define ENGINE_SUPPORT_SAMPLING_H

#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/eng_sampler.h"
#include "engine/support/tiny.h"
#include "support/test.h"

#define REPLY_SAMPLES 16
#define REPLY_TOKENS  300
#define REPLY_TOPK    8
#define REPLY_SAMPLED (40 * REPLY_TOPK) /* cells of a table of sampled tokens */

/* What a request brought. */
typedef struct reply {
    size_t done; /* calls of on_done */
    tk_err err;
    size_t n_sequences, n[REPLY_SAMPLES];
    int32_t tokens[REPLY_SAMPLES][REPLY_TOKENS];
    float logprobs[REPLY_SAMPLES][REPLY_TOKENS];
    bool stopped[REPLY_SAMPLES];
    bool has_prompt, has_topk;
    float prompt[REPLY_TOKENS];
    int32_t top_ids[REPLY_TOKENS * REPLY_TOPK];
    float top[REPLY_TOKENS * REPLY_TOPK];
    size_t topk, hits;
    size_t topk_sampled, n_alt;
    int32_t sampled_ids[REPLY_SAMPLES][REPLY_SAMPLED];
    float sampled_top[REPLY_SAMPLES][REPLY_SAMPLED];
    bool has_targets, has_alt;
    float targets[REPLY_TOKENS * REPLY_TOPK];
    int32_t alt[REPLY_TOKENS * REPLY_TOPK];
    float alt_logprobs[REPLY_TOKENS * REPLY_TOPK];
    size_t n_targets;               /* set by the test */
    size_t streamed[REPLY_SAMPLES]; /* calls of on_token */
    bool ended[REPLY_SAMPLES];      /* the last of them said so */
    size_t n_prompt;                /* set by the test */
    uint64_t id;
} reply;

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapters[2];
    eng_sampler *sampler;
} scene;

static inline void reply_token(void *user, size_t sample, int32_t token, float logprob,
                               bool is_last)
{
    reply *r = user;
    assert_int_equal(r->done, 0);
    assert_false(r->ended[sample]);
    r->ended[sample] = is_last;
    r->streamed[sample]++;
}

static inline void reply_sequence(reply *r, size_t i, const eng_sequence *s)
{
    assert_true(s->n > 0 && s->n <= REPLY_TOKENS);
    r->n[i] = s->n;
    r->stopped[i] = s->stopped;
    memcpy(r->tokens[i], s->tokens, s->n * sizeof(int32_t));
    memcpy(r->logprobs[i], s->logprobs, s->n * sizeof(float));
    assert_int_equal(r->streamed[i], s->n);
    assert_true(r->ended[i]);
    assert_int_equal(s->top_ids != NULL, r->topk_sampled > 0);
    if (r->topk_sampled > 0) {
        size_t cells = s->n * r->topk_sampled;
        assert_true(cells <= REPLY_SAMPLED);
        memcpy(r->sampled_ids[i], s->top_ids, cells * sizeof(int32_t));
        memcpy(r->sampled_top[i], s->top_logprobs, cells * sizeof(float));
    }
}

static inline void reply_prompt(reply *r, const eng_sample_result *result)
{
    r->has_targets = result->target_logprobs != NULL;
    r->has_alt = result->alt_tokens != NULL;
    r->n_alt = result->n_alt;
    if (r->has_targets) {
        memcpy(r->targets, result->target_logprobs, r->n_targets * sizeof(float));
    }
    if (r->has_alt) {
        size_t cells = (r->n_prompt - 1) * r->n_alt;
        memcpy(r->alt, result->alt_tokens, cells * sizeof(int32_t));
        memcpy(r->alt_logprobs, result->alt_logprobs, cells * sizeof(float));
    }
}

static inline void reply_done(void *user, const eng_sample_result *result,
                              const tk_err *err)
{
    reply *r = user;
    r->done++;
    if (result == NULL) {
        r->err = *err;
        return;
    }
    assert_true(result->n_sequences <= REPLY_SAMPLES);
    r->n_sequences = result->n_sequences;
    r->topk_sampled = result->topk_sampled;
    for (size_t i = 0; i < result->n_sequences; i++) {
        reply_sequence(r, i, &result->sequences[i]);
    }
    r->hits = result->prompt_cache_hit_tokens;
    r->has_prompt = result->prompt_logprobs != NULL;
    r->has_topk = result->topk_ids != NULL;
    r->topk = result->topk;
    reply_prompt(r, result);
    if (r->has_prompt) {
        memcpy(r->prompt, result->prompt_logprobs, r->n_prompt * sizeof(float));
    }
    if (r->has_topk) {
        size_t cells = r->n_prompt * r->topk;
        memcpy(r->top_ids, result->topk_ids, cells * sizeof(int32_t));
        memcpy(r->top, result->topk_logprobs, cells * sizeof(float));
    }
}

static inline tinkc_code try_ask(eng_sampler *sampler, const eng_sample_request *request,
                                 reply *r, tk_err *err)
{
    *r = (reply){.n_prompt = request->n_prompt};
    if (request->target_starts != NULL) {
        r->n_targets = request->target_starts[request->n_prompt - 1];
    }
    eng_sample_listener listener = {reply_token, reply_done, r};
    return eng_sampler_add(sampler, request, &listener, &r->id, err);
}

static inline void ask(eng_sampler *sampler, const eng_sample_request *request, reply *r)
{
    tk_err err = TK_ERR_INIT;
    if (try_ask(sampler, request, r, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
}

/* Steps until nothing is left; a sampler that gets nowhere fails the test. */
static inline void finish_all(eng_sampler *sampler)
{
    tk_err err = TK_ERR_INIT;
    for (size_t i = 0; eng_sampler_busy(sampler); i++) {
        assert_true(i < 20000);
        assert_int_equal(eng_sampler_step(sampler, &err), TINKC_OK);
    }
}

/* The request alone, to its end. */
static inline void sample(scene *s, const eng_sample_request *request, reply *r)
{
    ask(s->sampler, request, r);
    finish_all(s->sampler);
    assert_int_equal(r->done, 1);
    if (r->err.code != TINKC_OK) {
        fail_msg("%s", r->err.message);
    }
}

static inline eng_adapter *make_adapter(eng_model *model, size_t rank, uint64_t seed)
{
    tk_err err = TK_ERR_INIT;
    eng_adapter *adapter = NULL;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = rank;
    config.seed = seed;
    assert_int_equal(eng_adapter_new(&adapter, model, &config, &err), TINKC_OK);
    for (size_t i = 0; i < adapter->n; i++) {
        adapter->weights[i] += 0.02f * (float)(i % (5 + seed % 3)) - 0.04f;
    }
    eng_adapter_repack(adapter);
    return adapter;
}

#define SCENE_CONFIG                                                                     \
    {                                                                                    \
        .max_sequences = 64, .max_kv_bytes = (size_t)64 << 20, .prefill_chunk = 512      \
    }

static inline void scene_init(scene *s, const tiny_spec *spec, unsigned threads,
                              const eng_sampler_config *config)
{
    tk_err err = TK_ERR_INIT;
    *s = (scene){.sampler = NULL};
    tiny_files_init(&s->files, spec);
    assert_int_equal(eng_pool_new(&s->pool, threads, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    s->adapters[0] = make_adapter(s->model, 4, 7);
    s->adapters[1] = make_adapter(s->model, 8, 8);
    assert_int_equal(eng_sampler_new(&s->sampler, s->model, config, &err), TINKC_OK);
}

static inline void scene_dispose(scene *s)
{
    eng_sampler_free(s->sampler);
    eng_adapter_free(s->adapters[0]);
    eng_adapter_free(s->adapters[1]);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

/* A prompt of n tokens that depends on `salt`. */
static inline void fill_prompt(int32_t *out, size_t n, size_t vocabulary, size_t salt)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (int32_t)((i * 31 + salt * 17 + i * i * (salt + 3)) % vocabulary);
    }
}

#endif
