/* The sampler's door: its life, its queue of requests, and the step; see
 * eng_sampler.h. */
#include "base/mem.h"
#include "engine/eng_sample_int.h"

#define SEQUENCES_MAX ((size_t)1 << 16)

static tinkc_code check_config(const eng_sampler_config *config, tk_err *err)
{
    if (config->max_sequences < 1 || config->max_sequences > SEQUENCES_MAX) {
        return tk_err_set(err, TINKC_E_INVALID, "max_sequences must lie in 1..%zu",
                          SEQUENCES_MAX);
    }
    if (config->prefill_chunk < 1) {
        return tk_err_set(err, TINKC_E_INVALID, "prefill_chunk must be at least 1");
    }
    return TINKC_OK;
}

tinkc_code eng_sampler_new(eng_sampler **out, eng_model *model,
                           const eng_sampler_config *config, tk_err *err)
{
    tinkc_code code = check_config(config, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_sampler *sampler = tk_zalloc(sizeof(*sampler));
    if (sampler == NULL) {
        return tk_err_nomem(err);
    }
    sampler->model = model;
    sampler->config = *config;
    sampler->next_id = 1;
    tk_list_init(&sampler->jobs);
    sampler->items = tk_zarray(config->max_sequences, sizeof(*sampler->items));
    code =
        sampler->items != NULL ? tk_rand_init_os(&sampler->rand, err) : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = eng_pages_init(&sampler->pages, &model->config, config->max_kv_bytes, err);
    }
    if (code != TINKC_OK) {
        eng_sampler_free(sampler);
        return code;
    }
    *out = sampler;
    return TINKC_OK;
}

void eng_sampler_free(eng_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    while (!tk_list_is_empty(&sampler->jobs)) {
        eng_sample_job_free(sampler,
                            TK_CONTAINER_OF(sampler->jobs.next, eng_sample_job, node));
    }
    eng_pages_dispose(&sampler->pages);
    tk_free(sampler->items);
    tk_free(sampler);
}

tinkc_code eng_sampler_add(eng_sampler *sampler, const eng_sample_request *request,
                           const eng_sample_listener *listener, uint64_t *id_out,
                           tk_err *err)
{
    eng_sample_job *job;
    tinkc_code code = eng_sample_job_new(&job, sampler, request, err);
    if (code != TINKC_OK) {
        return code;
    }
    job->listener = *listener;
    job->id = sampler->next_id++;
    tk_list_push_back(&sampler->jobs, &job->node);
    *id_out = job->id;
    return TINKC_OK;
}

void eng_sampler_cancel(eng_sampler *sampler, uint64_t id)
{
    for (tk_list *at = sampler->jobs.next; at != &sampler->jobs; at = at->next) {
        eng_sample_job *job = TK_CONTAINER_OF(at, eng_sample_job, node);
        if (job->id != id) {
            continue;
        }
        if (sampler->stepping) {
            job->cancelled = true; /* the step frees it */
        } else {
            eng_sample_job_free(sampler, job);
        }
        return;
    }
}

bool eng_sampler_busy(const eng_sampler *sampler)
{
    return !tk_list_is_empty(&sampler->jobs);
}

/* ---- results ---- */

static void tell_failure(const eng_sample_job *job, const tk_err *err)
{
    job->listener.on_done(job->listener.user, NULL, err);
}

static void tell_result(const eng_sample_job *job)
{
    eng_sequence *sequences = tk_array(job->n_samples, sizeof(*sequences));
    if (sequences == NULL) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_nomem(&err);
        tell_failure(job, &err);
        return;
    }
    for (size_t i = 0; i < job->n_samples; i++) {
        const eng_sample *sample = &job->samples[i];
        sequences[i] = (eng_sequence){.tokens = sample->tokens,
                                      .logprobs = sample->logprobs,
                                      .n = sample->n,
                                      .stopped = sample->stopped,
                                      .top_ids = sample->top_ids,
                                      .top_logprobs = sample->top_logprobs};
    }
    const eng_sample_scores *scores = &job->scores;
    eng_sample_result result = {.sequences = sequences,
                                .n_sequences = job->n_samples,
                                .prompt_logprobs = scores->prompt_logprobs,
                                .topk_ids = scores->topk_ids,
                                .topk_logprobs = scores->topk_logprobs,
                                .topk = scores->topk,
                                .topk_sampled = job->topk_sampled,
                                .target_logprobs = scores->target_logprobs,
                                .alt_tokens = scores->alt_tokens,
                                .alt_logprobs = scores->alt_logprobs,
                                .n_alt = scores->alt,
                                .prompt_cache_hit_tokens = job->hit_tokens};
    job->listener.on_done(job->listener.user, &result, NULL);
    tk_free(sequences);
}

/* The first request that is over, one way or another; NULL when none is. */
static eng_sample_job *find_over(const eng_sampler *sampler)
{
    for (tk_list *at = sampler->jobs.next; at != &sampler->jobs; at = at->next) {
        eng_sample_job *job = TK_CONTAINER_OF(at, eng_sample_job, node);
        if (eng_sample_job_over(job) || job->n_finished == job->n_samples) {
            return job;
        }
    }
    return NULL;
}

/* Callbacks may cancel any request, so the search starts again after each. */
static void settle(eng_sampler *sampler)
{
    for (eng_sample_job *job; (job = find_over(sampler)) != NULL;) {
        if (job->cancelled) {
            eng_sample_job_free(sampler, job);
            continue;
        }
        if (job->err.code != TINKC_OK) {
            tell_failure(job, &job->err);
        } else {
            tell_result(job);
        }
        eng_sample_job_free(sampler, job);
    }
}

tinkc_code eng_sampler_step(eng_sampler *sampler, tk_err *err)
{
    if (sampler->stepping) {
        return tk_err_set(err, TINKC_E_STATE, "a callback must not step the sampler");
    }
    tinkc_code code = eng_pool_check(sampler->model->pool, err);
    if (code != TINKC_OK) {
        return code;
    }
    sampler->stepping = true;
    eng_sample_plan(sampler);
    eng_sample_run(sampler);
    settle(sampler);
    sampler->stepping = false;
    return eng_pool_check(sampler->model->pool, err);
}

uint64_t eng_sampler_first_waiting(const eng_sampler *sampler)
{
    for (tk_list *at = sampler->jobs.next; at != &sampler->jobs; at = at->next) {
        const eng_sample_job *job = TK_CONTAINER_OF(at, eng_sample_job, node);
        if (!job->started) {
            return job->id;
        }
    }
    return 0;
}
