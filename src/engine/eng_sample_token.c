/* What a drawn token means: it is appended and reported, it may complete a stop, and the
 * end of a sample gives its pages back. */
#include <stdlib.h>

#include "base/mem.h"
#include "engine/eng_sample_int.h"

#define FIRST_TOKENS ((size_t)16)

static tinkc_code share_pages(eng_sampler *sampler, eng_sample *to,
                              const eng_sample *from, tk_err *err)
{
    to->pages = tk_array(from->n_pages, sizeof(eng_page *));
    if (to->pages == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < from->n_pages; i++) {
        eng_pages_hold(&sampler->pages, from->pages[i]);
        to->pages[i] = from->pages[i];
    }
    to->n_pages = from->n_pages;
    to->pages_capacity = from->n_pages;
    to->done = from->done;
    to->published = from->published;
    return TINKC_OK;
}

tinkc_code eng_sample_fork(eng_sampler *sampler, eng_sample_job *job, tk_err *err)
{
    for (size_t i = 1; i < job->n_samples; i++) {
        tinkc_code code = share_pages(sampler, &job->samples[i], &job->samples[0], err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    job->forked = true;
    return TINKC_OK;
}

static tinkc_code append(eng_sample *sample, size_t limit, int32_t token, float logprob,
                         tk_err *err)
{
    if (sample->n == sample->capacity) {
        size_t capacity = TK_MIN(TK_MAX(FIRST_TOKENS, 2 * sample->capacity), limit);
        int32_t *tokens = tk_realloc_array(sample->tokens, capacity, sizeof(*tokens));
        if (tokens == NULL) {
            return tk_err_nomem(err);
        }
        sample->tokens = tokens;
        float *logprobs = tk_realloc_array(sample->logprobs, capacity, sizeof(*logprobs));
        if (logprobs == NULL) {
            return tk_err_nomem(err);
        }
        sample->logprobs = logprobs;
        sample->capacity = capacity;
    }
    sample->tokens[sample->n] = token;
    sample->logprobs[sample->n++] = logprob;
    return TINKC_OK;
}

static bool is_stop_token(const eng_sampler *sampler, const eng_sample_job *job,
                          int32_t token)
{
    const eng_config *c = &sampler->model->config;
    for (size_t i = 0; job->stop_mode != ENG_STOP_NONE && i < c->n_eos; i++) {
        if (c->eos[i] == token) {
            return true;
        }
    }
    return job->n_stop_tokens > 0 && bsearch(&token, job->stop_tokens, job->n_stop_tokens,
                                             sizeof(token), eng_sample_by_id) != NULL;
}

static bool ends_stop_string(const eng_sampler *sampler, const eng_sample_job *job,
                             eng_sample *sample, int32_t token)
{
    tk_str bytes;
    return job->stops.nodes != NULL &&
           sampler->config.token_bytes(sampler->config.user, token, &bytes) &&
           eng_stops_find(&job->stops, &sample->text, bytes);
}

tinkc_code eng_sample_push(eng_sampler *sampler, eng_sample_job *job, size_t index,
                           int32_t token, float logprob, tk_err *err)
{
    eng_sample *sample = &job->samples[index];
    tinkc_code code = append(sample, job->limit, token, logprob, err);
    if (code != TINKC_OK) {
        return code;
    }
    sample->stopped = ends_stop_string(sampler, job, sample, token) ||
                      is_stop_token(sampler, job, token);
    if (sample->stopped || sample->n == job->limit) {
        sample->finished = true;
        job->n_finished++;
        eng_sample_drop_pages(sampler, sample);
    }
    if (job->listener.on_token != NULL) {
        job->listener.on_token(job->listener.user, index, token, logprob);
    }
    return TINKC_OK;
}
