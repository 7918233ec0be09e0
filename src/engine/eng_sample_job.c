/* Requests: what is accepted, the copy that is kept, and its end. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "engine/eng_sample_int.h"

#define SAMPLES_MAX ((size_t)1 << 16)

static tinkc_code check_ids(const eng_sampler *s, const int32_t *ids, size_t n,
                            const char *what, tk_err *err)
{
    size_t vocabulary = s->model->config.vocabulary;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= vocabulary) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "%s %zu is %d; the vocabulary has %zu tokens", what, i,
                              (int)ids[i], vocabulary);
        }
    }
    return TINKC_OK;
}

static tinkc_code check_numbers(const eng_sample_request *r, tk_err *err)
{
    if (!(r->temperature >= 0) || !isfinite(r->temperature)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "temperature must be a number, 0 or above");
    }
    if (!(r->top_p >= 0)) {
        return tk_err_set(err, TINKC_E_INVALID, "top_p must be a number, 0 or above");
    }
    if (r->num_samples < 1 || r->num_samples > SAMPLES_MAX) {
        return tk_err_set(err, TINKC_E_INVALID, "num_samples must lie in 1..%zu",
                          SAMPLES_MAX);
    }
    if (r->n_prompt < 1) {
        return tk_err_set(err, TINKC_E_INVALID, "the prompt is empty");
    }
    return eng_sample_check_scores(r, err);
}

tinkc_code eng_sample_check_stops(const eng_sample_request *r, tk_err *err)
{
    if (r->n_stop_tokens > TK_STOP_TOKENS_MAX) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "%zu stop tokens; at most %zu are possible", r->n_stop_tokens,
                          TK_STOP_TOKENS_MAX);
    }
    return eng_stops_check(r->stop_strings, r->n_stop_strings, err);
}

static bool has_list(const eng_sample_request *r)
{
    return r->stop_mode == ENG_STOP_LISTED || r->stop_mode == ENG_STOP_ONLY_LISTED;
}

static tinkc_code check_stops(const eng_sampler *s, const eng_sample_request *r,
                              tk_err *err)
{
    if (!has_list(r)) {
        return TINKC_OK;
    }
    if (r->n_stop_strings > 0 && s->config.token_bytes == NULL) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "stop strings need a tokenizer, and this model has none; stop "
                          "with token ids instead");
    }
    tinkc_code code = eng_sample_check_stops(r, err);
    if (code != TINKC_OK) {
        return code;
    }
    return check_ids(s, r->stop_tokens, r->n_stop_tokens, "stop token", err);
}

/* Tokens per sample. The last one is drawn and never fed: it needs no memory. */
static tinkc_code find_limit(const eng_sampler *s, const eng_sample_request *r,
                             size_t *out, tk_err *err)
{
    size_t context = s->model->config.context, most = TK_MAX(r->max_tokens, (size_t)1);
    if (r->n_prompt > context || most > context - r->n_prompt) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "Prompt length plus max_tokens exceeds the model's context "
                          "window: %zu + %zu > %zu",
                          r->n_prompt, most, context);
    }
    size_t positions =
        s->pages.max > context / ENG_KV_BLOCK ? context : s->pages.max * ENG_KV_BLOCK + 1;
    if (r->n_prompt + most > positions) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "%zu + %zu tokens never fit in the memory for keys and values, "
                          "which holds %zu",
                          r->n_prompt, most, positions);
    }
    *out = r->max_tokens > 0 ? r->max_tokens : TK_MIN(context, positions) - r->n_prompt;
    return TINKC_OK;
}

static tinkc_code check_targets(const eng_sampler *s, const eng_sample_request *r,
                                tk_err *err)
{
    size_t vocabulary = s->model->config.vocabulary;
    size_t n = r->target_starts != NULL ? r->target_starts[r->n_prompt - 1] : 0;
    for (size_t i = 0; i < n; i++) {
        if (r->targets[i] < -1 ||
            (r->targets[i] >= 0 && (size_t)r->targets[i] >= vocabulary)) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "target_prompt_logprobs has token %d; the vocabulary has "
                              "%zu tokens, and -1 asks for nothing",
                              (int)r->targets[i], vocabulary);
        }
    }
    return TINKC_OK;
}

/* What all samples may become; without max_tokens that is known only now. */
static tinkc_code check_sampled_cells(const eng_sample_request *r, size_t limit,
                                      tk_err *err)
{
    eng_sample_request whole = *r;
    whole.max_tokens = limit;
    return eng_sample_check_scores(&whole, err);
}

static tinkc_code check_request(const eng_sampler *s, const eng_sample_request *r,
                                size_t *limit, tk_err *err)
{
    tinkc_code code = check_numbers(r, err);
    if (code == TINKC_OK && r->adapter != NULL && r->adapter->model != s->model) {
        code = tk_err_set(err, TINKC_E_INVALID, "the adapter belongs to another model");
    }
    if (code == TINKC_OK) {
        code = find_limit(s, r, limit, err);
    }
    if (code == TINKC_OK) {
        code = check_sampled_cells(r, *limit, err);
    }
    if (code == TINKC_OK) {
        code = check_targets(s, r, err);
    }
    if (code == TINKC_OK) {
        code = check_ids(s, r->prompt, r->n_prompt, "prompt token", err);
    }
    return code == TINKC_OK ? check_stops(s, r, err) : code;
}

int eng_sample_by_id(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static bool copy_stops(eng_sample_job *job, const eng_sample_request *r)
{
    job->stop_mode = r->stop_mode;
    if (!has_list(r)) {
        return true;
    }
    if (r->n_stop_tokens > 0) {
        job->stop_tokens = tk_memdup(r->stop_tokens, r->n_stop_tokens * sizeof(int32_t));
        if (job->stop_tokens == NULL) {
            return false;
        }
        job->n_stop_tokens = r->n_stop_tokens;
        qsort(job->stop_tokens, job->n_stop_tokens, sizeof(int32_t), eng_sample_by_id);
    }
    return eng_stops_init(&job->stops, r->stop_strings, r->n_stop_strings);
}

static bool fill(eng_sampler *sampler, eng_sample_job *job, const eng_sample_request *r)
{
    job->samples = tk_zarray(r->num_samples, sizeof(eng_sample));
    job->prompt = tk_memdup(r->prompt, r->n_prompt * sizeof(int32_t));
    uint64_t seed = r->has_seed ? r->seed : tk_rand_u64(&sampler->rand);
    if (job->samples == NULL || job->prompt == NULL || !copy_stops(job, r) ||
        !eng_sample_score_init(&job->scores, r, seed)) {
        return false;
    }
    job->topk_sampled = r->topk_sample_logprobs;
    job->n_prompt = r->n_prompt;
    job->n_samples = r->num_samples;
    for (size_t i = 0; i < job->n_samples; i++) {
        eng_rng_init(&job->samples[i].rng, seed + i, 0);
    }
    job->options = (eng_draw_options){.temperature = r->temperature,
                                      .top_p = r->top_p,
                                      .top_k = r->top_k,
                                      .raw_logprobs = r->raw_logprobs};
    return true;
}

tinkc_code eng_sample_job_new(eng_sample_job **out, eng_sampler *sampler,
                              const eng_sample_request *request, tk_err *err)
{
    size_t limit = 0;
    tinkc_code code = check_request(sampler, request, &limit, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_sample_job *job = tk_zalloc(sizeof(*job));
    if (job == NULL) {
        return tk_err_nomem(err);
    }
    tk_list_init(&job->node);
    tk_err_clear(&job->err);
    job->limit = limit;
    if (!fill(sampler, job, request)) {
        eng_sample_job_free(sampler, job);
        return tk_err_nomem(err);
    }
    if (request->adapter != NULL) {
        job->adapter = eng_adapter_retain(request->adapter);
        job->weights = job->adapter->identity;
    }
    *out = job;
    return TINKC_OK;
}

void eng_sample_job_free(eng_sampler *sampler, eng_sample_job *job)
{
    for (size_t i = 0; i < job->n_samples; i++) {
        eng_sample *sample = &job->samples[i];
        eng_sample_drop_pages(sampler, job, sample);
        tk_free(sample->pages);
        tk_free(sample->tokens);
        tk_free(sample->logprobs);
        tk_free(sample->top_ids);
        tk_free(sample->top_logprobs);
    }
    tk_list_remove(&job->node);
    eng_adapter_free(job->adapter);
    tk_free(job->samples);
    tk_free(job->prompt);
    tk_free(job->stop_tokens);
    eng_stops_dispose(&job->stops);
    eng_sample_score_dispose(&job->scores);
    tk_free(job);
}
