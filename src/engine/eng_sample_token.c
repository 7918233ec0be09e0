/* What a drawn token means: it is appended and reported, it may complete a stop, and the
 * end of a sample gives its pages back. */
#include <string.h>

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
    for (size_t i = 0; i < job->n_stop_tokens; i++) {
        if (job->stop_tokens[i] == token) {
            return true;
        }
    }
    return false;
}

static bool contains(tk_str text, tk_str word)
{
    for (size_t i = 0; i + word.n <= text.n; i++) {
        if (text.p[i] == word.p[0] && memcmp(text.p + i, word.p, word.n) == 0) {
            return true;
        }
    }
    return false;
}

/* The tail is shorter than any stop string it could complete with what came before, so
 * each occurrence is found once, with its last byte. */
static tinkc_code find_stop_string(const eng_sampler *sampler, const eng_sample_job *job,
                                   eng_sample *sample, int32_t token, tk_err *err)
{
    tk_str bytes;
    if (job->n_stop_strings == 0 ||
        !sampler->config.token_bytes(sampler->config.user, token, &bytes)) {
        return TINKC_OK;
    }
    tk_buf_put(&sample->tail, bytes.p, bytes.n);
    tinkc_code code = tk_buf_status(&sample->tail, err);
    if (code != TINKC_OK) {
        return code;
    }
    for (size_t i = 0; i < job->n_stop_strings; i++) {
        if (contains(tk_buf_str(&sample->tail), job->stop_strings[i])) {
            sample->stopped = true;
        }
    }
    size_t keep = TK_MIN(job->longest_stop - 1, sample->tail.n);
    if (keep > 0) {
        memmove(sample->tail.p, sample->tail.p + sample->tail.n - keep, keep);
    }
    sample->tail.n = keep;
    return TINKC_OK;
}

tinkc_code eng_sample_push(eng_sampler *sampler, eng_sample_job *job, size_t index,
                           int32_t token, float logprob, tk_err *err)
{
    eng_sample *sample = &job->samples[index];
    tinkc_code code = append(sample, job->limit, token, logprob, err);
    if (code == TINKC_OK) {
        code = find_stop_string(sampler, job, sample, token, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    sample->stopped = sample->stopped || is_stop_token(sampler, job, token);
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
