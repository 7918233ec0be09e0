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

/* Returns the array of 4-byte items with its new size; the old one, and *ok false, when
 * there is no memory. */
static void *grow(void *items, size_t count, bool *ok)
{
    void *grown = *ok && count > 0 ? tk_realloc_array(items, count, 4) : items;
    *ok = *ok && (grown != NULL || count == 0);
    return grown != NULL ? grown : items;
}

tinkc_code eng_sample_reserve(const eng_sample_job *job, eng_sample *sample, tk_err *err)
{
    if (sample->n < sample->capacity) {
        return TINKC_OK;
    }
    size_t capacity = TK_MIN(TK_MAX(FIRST_TOKENS, 2 * sample->capacity), job->limit);
    size_t cells = capacity * job->topk_sampled; /* checked: eng_sample_check_scores */
    bool ok = true;
    sample->tokens = grow(sample->tokens, capacity, &ok);
    sample->logprobs = grow(sample->logprobs, capacity, &ok);
    sample->top_ids = grow(sample->top_ids, cells, &ok);
    sample->top_logprobs = grow(sample->top_logprobs, cells, &ok);
    sample->capacity = ok ? capacity : sample->capacity;
    return ok ? TINKC_OK : tk_err_nomem(err);
}

static bool is_stop_token(const eng_sampler *sampler, const eng_sample_job *job,
                          int32_t token)
{
    const eng_config *c = &sampler->model->config;
    bool ends_at_eos =
        job->stop_mode == ENG_STOP_EOS || job->stop_mode == ENG_STOP_LISTED;
    for (size_t i = 0; ends_at_eos && i < c->n_eos; i++) {
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

void eng_sample_push(eng_sampler *sampler, eng_sample_job *job, size_t index,
                     int32_t token, float logprob)
{
    eng_sample *sample = &job->samples[index];
    sample->tokens[sample->n] = token;
    sample->logprobs[sample->n++] = logprob;
    sample->stopped = ends_stop_string(sampler, job, sample, token) ||
                      is_stop_token(sampler, job, token);
    if (sample->stopped || sample->n == job->limit) {
        sample->finished = true;
        job->n_finished++;
        eng_sample_drop_pages(sampler, job, sample);
    }
    if (job->listener.on_token != NULL) {
        job->listener.on_token(job->listener.user, index, token, logprob,
                               sample->finished);
    }
}
