/* Checks of `tinkc doctor --deep`: samples of the trained model and their
 * log-probabilities. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/stream.h>

#include "cli/doctor/deep.h"

#define PROMPT     8
#define MAX_TOKENS 16
#define SEED       77

static tinkc_sampling_params params_of(double temperature)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = MAX_TOKENS;
    params.temperature = temperature;
    return params;
}

/* Opens a sampler of the saved weights, or of the base model without any. */
static bool open_sampler(deep *d)
{
    tinkc_future *future = tinkc_service_create_sampling(
        d->service, d->sampler_path == NULL ? d->base_model : NULL, d->sampler_path);
    bool ok = deep_wait(d, &future, true) &&
              tinkc_future_take_sampling(&d->sampler, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    return ok;
}

/* Where nothing can be trained or saved, the checks that follow sample from the base
 * model. */
static deep_verdict check_save(deep *d)
{
    deep_verdict verdict = DEEP_OK;
    if (d->model == NULL) {
        verdict = deep_skip(d, "there is no model that can be trained");
    } else if (!deep_save(d, d->model, true, &d->sampler_path) || !open_sampler(d)) {
        verdict = deep_failed(d);
        d->sampler_path = NULL;
    }
    if (verdict != DEEP_OK) {
        (void)open_sampler(d);
        return verdict;
    }
    return deep_note(d, DEEP_OK, "%s", d->sampler_path);
}

/* The likeliest tokens, which later checks must find again. */
static deep_verdict check_sample(deep *d)
{
    tinkc_sampling_params params = params_of(0);
    tinkc_samples *samples = NULL;
    size_t n = 0, values = 0;
    if (d->sampler == NULL) {
        return deep_skip(d, "there is no sampler");
    }
    if (!deep_sample(d, d->sampler, &params, &samples)) {
        return deep_failed(d);
    }
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, 0);
    (void)tinkc_samples_logprobs(&values, samples, 0);
    n = TK_MIN(n, DEEP_VALUES_MAX);
    if (n > 0) {
        memcpy(d->greedy, tokens, n * sizeof(*tokens));
    }
    d->greedy_n = n;
    bool is_good = n > 0 && n <= MAX_TOKENS && values == n;
    (void)deep_note(d, DEEP_OK, "%zu tokens, %zu log-probabilities, reason %s", n, values,
                    tinkc_samples_stop_text(samples, 0));
    tinkc_samples_free(&samples);
    return is_good ? DEEP_OK : DEEP_OFF;
}

/* Returns the mean difference between values[shift ...] and `wanted`. */
static double mean_gap(const float *values, size_t n, const float *wanted, size_t m,
                       size_t shift)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < m && shift + i < n; i++, count++) {
        sum += fabs((double)values[shift + i] - (double)wanted[i]);
    }
    return count > 0 && sum <= INFINITY ? sum / (double)count : (double)INFINITY;
}

/* The log-probabilities of the first datum's text: one for each token, the first unknown,
 * the others those that the trainer gave, if it did. */
static deep_verdict check_alignment(deep *d)
{
    int32_t tokens[DEEP_VALUES_MAX];
    tinkc_logprobs *result = NULL;
    size_t length = d->batch.n > 0 ? d->batch.lengths[0] : 0, n = 0;
    if (d->sampler == NULL || length == 0) {
        return deep_skip(d, "there is no sampler");
    }
    bool has_trained = d->sampler_path != NULL && d->after_two.n > 0;
    deep_batch_tokens(tokens, length + 1, 4);
    if (!deep_logprobs(d, tokens, length + 1, &result)) {
        return deep_failed(d);
    }
    const float *values = tinkc_logprobs_values(&n, result);
    double gap = has_trained ? mean_gap(values, n, d->after_two.v, length, 1) : 0;
    double early = mean_gap(values, n, d->after_two.v, length, 0);
    double late = mean_gap(values, n, d->after_two.v, length - 1, 2);
    bool first_unknown = n > 0 && !isfinite(values[0]);
    bool is_good = n == length + 1 && first_unknown && gap <= DEEP_NEAR;
    if (n != length + 1) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The server sent %zu values for %zu tokens.", n, length + 1);
    } else if (gap > DEEP_NEAR && TK_MIN(early, late) <= DEEP_NEAR) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The log-probabilities are shifted by one token.");
    }
    (void)deep_note(d, DEEP_OK, "%zu values, the first %s, mean difference %.2g", n,
                    first_unknown ? "unknown" : "a number", gap);
    tinkc_logprobs_free(&result);
    return is_good ? DEEP_OK : DEEP_OFF;
}

/* Samples at temperature 1, then scores the same tokens as a prompt. */
static deep_verdict check_recomputed(deep *d)
{
    tinkc_sampling_params params = params_of(1);
    int32_t tokens[PROMPT + MAX_TOKENS];
    tinkc_samples *samples = NULL;
    tinkc_logprobs *result = NULL;
    size_t n = 0, m = 0, all = 0;
    if (d->sampler == NULL) {
        return deep_skip(d, "there is no sampler");
    }
    params.has_seed = true; /* the same verdict in each run */
    params.seed = SEED;
    if (!deep_sample(d, d->sampler, &params, &samples)) {
        return deep_failed(d);
    }
    const int32_t *sampled = tinkc_samples_tokens(&n, samples, 0);
    const float *claimed = tinkc_samples_logprobs(&m, samples, 0);
    n = TK_MIN(n, MAX_TOKENS);
    if (n == 0 || m < n) {
        (void)deep_note(d, DEEP_OK, "%zu tokens, %zu log-probabilities", n, m);
        tinkc_samples_free(&samples);
        return DEEP_OFF;
    }
    deep_batch_tokens(tokens, PROMPT, DEEP_BEGIN);
    memcpy(tokens + PROMPT, sampled, n * sizeof(*sampled));
    bool ok = deep_logprobs(d, tokens, PROMPT + n, &result);
    const float *values = tinkc_logprobs_values(&all, result);
    double gap = mean_gap(values, all, claimed, n, PROMPT);
    tinkc_samples_free(&samples);
    tinkc_logprobs_free(&result);
    return ok ? deep_note(d, gap <= DEEP_NEAR ? DEEP_OK : DEEP_OFF,
                          "%zu tokens, mean difference %.2g", n, gap)
              : deep_failed(d);
}

/* ---- seeds ---- */

/* Samples with a seed and copies the tokens. */
static bool sample_seed(deep *d, uint64_t seed, int32_t out[MAX_TOKENS], size_t *n)
{
    tinkc_sampling_params params = params_of(1);
    tinkc_samples *samples = NULL;
    params.has_seed = true;
    params.seed = seed;
    if (!deep_sample(d, d->sampler, &params, &samples)) {
        return false;
    }
    const int32_t *tokens = tinkc_samples_tokens(n, samples, 0);
    *n = TK_MIN(*n, MAX_TOKENS);
    if (*n > 0) {
        memcpy(out, tokens, *n * sizeof(*tokens));
    }
    tinkc_samples_free(&samples);
    return true;
}

static bool are_equal(const int32_t *a, size_t n, const int32_t *b, size_t m)
{
    return n == m && memcmp(a, b, n * sizeof(*a)) == 0;
}

static deep_verdict check_seed(deep *d)
{
    int32_t one[MAX_TOKENS], two[MAX_TOKENS], other[MAX_TOKENS];
    size_t n = 0, m = 0, k = 0;
    if (d->sampler == NULL) {
        return deep_skip(d, "there is no sampler");
    }
    if (!sample_seed(d, SEED, one, &n) || !sample_seed(d, SEED, two, &m) ||
        !sample_seed(d, SEED + 1, other, &k)) {
        return deep_failed(d);
    }
    if (!are_equal(one, n, two, m)) {
        return deep_note(d, DEEP_OFF, "other tokens");
    }
    return deep_note(d, DEEP_OK, "the same %zu tokens; %s with another seed", n,
                     are_equal(one, n, other, k) ? "the same" : "others");
}

/* ---- options ---- */

static deep_verdict check_topk(deep *d)
{
    tinkc_sampling_params params = params_of(0);
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    tinkc_samples *samples = NULL;
    if (d->sampler == NULL) {
        return deep_skip(d, "there is no sampler");
    }
    options.prompt_logprobs = TINKC_CHOICE_YES;
    options.topk_prompt_logprobs = 2;
    if (!deep_sample_with(d, &params, &options, &samples)) {
        return deep_refused(d);
    }
    size_t rows = tinkc_samples_topk_rows(samples);
    tinkc_samples_free(&samples);
    if (rows == 0) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The server does not offer this: it leaves the request for the "
                       "likeliest tokens out of its answer.");
    }
    return deep_note(d,
                     rows == PROMPT ? DEEP_OK
                     : rows == 0    ? DEEP_NOT_OFFERED
                                    : DEEP_OFF,
                     "%zu rows for %d tokens", rows, PROMPT);
}

/* ---- streams ---- */

typedef struct heard {
    int32_t tokens[MAX_TOKENS];
    size_t n;
    bool is_whole, is_ended;
} heard;

/* Runs on the loop's thread. */
static bool on_event(const tinkc_stream_event *event, void *user)
{
    heard *h = user;
    h->is_whole = h->is_whole || event->is_whole_sample;
    h->is_ended = h->is_ended || event->kind == TINKC_STREAM_DONE;
    if (event->kind == TINKC_STREAM_TOKEN && h->n < MAX_TOKENS) {
        h->tokens[h->n++] = (int32_t)event->token_id;
    }
    return true;
}

static deep_verdict check_stream(deep *d)
{
    static heard h; /* static: a cancelled stream may still report */
    tinkc_sampling_params params = params_of(0);
    tinkc_model_input *input = NULL;
    int32_t prompt[PROMPT];
    if (d->greedy_n == 0) {
        return deep_skip(d, "there is no sample to compare with");
    }
    memset(&h, 0, sizeof(h));
    tinkc_error_free(&d->error);
    deep_batch_tokens(prompt, PROMPT, DEEP_BEGIN);
    if (tinkc_model_input_from_tokens(&input, prompt, PROMPT, &d->error) != TINKC_OK) {
        return deep_failed(d);
    }
    bool ok =
        deep_done(d, tinkc_sampling_stream(d->sampler, input, &params, on_event, &h));
    tinkc_model_input_free(&input);
    d->sampled += PROMPT + h.n;
    if (!ok) {
        return deep_failed(d);
    }
    if (h.is_whole) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The server does not stream; programs get whole samples.");
        return deep_note(d, DEEP_NOT_OFFERED, "a whole sample");
    }
    bool is_good = h.is_ended && are_equal(h.tokens, h.n, d->greedy, d->greedy_n);
    return deep_note(d, is_good ? DEEP_OK : DEEP_OFF, "%zu tokens, %s", h.n,
                     is_good ? "the same" : "not those of the sample");
}

const deep_check deep_sample_checks[] = {
    {"save_weights_for_sampler", "weights for sampling, and a sampler of them",
     "a tinker:// path", "Weights can be saved and sampled from.",
     "Weights for sampling are not saved.", check_save},
    {"sample", "16 tokens at temperature 0", "as many log-probabilities as tokens",
     "The server samples.", "The sample is empty, too long, or lacks log-probabilities.",
     check_sample},
    {"prompt logprobs", "compute_logprobs of a trained text",
     "n for n tokens, the first unknown, as trained (0.05)",
     "Log-probabilities of a prompt belong to its tokens and agree with the trainer.",
     "Log-probabilities of a prompt are not those that the trainer gives.",
     check_alignment},
    {"sampled logprobs", "a sample at temperature 1, scored again", "the same (0.05)",
     "Log-probabilities of samples are those of the model.",
     "A sample has other log-probabilities than the model gives its tokens: training on "
     "samples would go wrong.",
     check_recomputed},
    {"seed", "two samples with the same seed", "the same tokens",
     "A seed makes a sample repeatable.",
     "The same seed gives other tokens: samples cannot be repeated.", check_seed},
    {"top-k logprobs", "the 2 likeliest tokens of a prompt", "as many rows as tokens",
     "The server names the likeliest tokens of a prompt.",
     "The rows of the likeliest tokens do not belong to the tokens of the prompt.",
     check_topk},
    {"stream", "the same sample as a stream", "the same tokens",
     "The server streams tokens.", "The stream has other tokens than the sample.",
     check_stream},
    {0},
};
