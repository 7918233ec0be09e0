/* Checks of `tinkc doctor --deep`: where a sample ends. Temperature 0 repeats the sample of
 * deep_sample.c, so that it is known where a stop must take effect. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor/deep.h"

#define MAX_TOKENS   16
#define PROMPT       8
#define LESSONS_MAX  8     /* steps that teach the model to end */
#define LEARNED      -0.1F /* log-probability from which on it ends */
#define LESSONS_RATE 1e-2

/* Returns the first position after 0 whose token did not occur before; 0 when there is
 * none. */
static size_t find_new(const int32_t *tokens, size_t n)
{
    for (size_t at = 1; at + 1 < n; at++) {
        bool is_new = true;
        for (size_t i = 0; i < at; i++) {
            is_new = is_new && tokens[i] != tokens[at];
        }
        if (is_new) {
            return at;
        }
    }
    return 0;
}

/* Samples at temperature 0 with a stop that must end the sample after `wanted` tokens. */
static deep_verdict check_end(deep *d, tinkc_sampling_params *params, size_t wanted)
{
    tinkc_samples *samples = NULL;
    size_t n = 0;
    params->temperature = 0;
    if (!deep_sample(d, d->sampler, params, &samples)) {
        return deep_refused(d);
    }
    (void)tinkc_samples_tokens(&n, samples, 0);
    bool is_stop = tinkc_samples_stop_reason(samples, 0) == TINKC_STOP_STOP;
    deep_verdict verdict = deep_note(d, n == wanted && is_stop ? DEEP_OK : DEEP_OFF,
                                     "%zu tokens instead of %zu, reason %s", n,
                                     d->greedy_n, tinkc_samples_stop_text(samples, 0));
    if (n + 1 == wanted) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The sample ends before the stop, which should be part of it.");
    }
    tinkc_samples_free(&samples);
    return verdict;
}

static deep_verdict end_with_token(deep *d, int64_t max_tokens)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    size_t at = find_new(d->greedy, d->greedy_n);
    params.max_tokens = max_tokens;
    params.stop_tokens = &d->greedy[at];
    params.stop_tokens_n = 1;
    return check_end(d, &params, at + 1);
}

static deep_verdict check_stop_token(deep *d)
{
    if (d->greedy_n < 3) {
        return deep_skip(d, "there is no sample that is long enough");
    }
    deep_verdict verdict = end_with_token(d, MAX_TOKENS);
    d->can_stop = verdict == DEEP_OK;
    return verdict;
}

/* Only where a stop token works: else the sample would be as long as the context. */
static deep_verdict check_no_limit(deep *d)
{
    return d->can_stop ? end_with_token(d, TINKC_NO_MAX_TOKENS)
                       : deep_skip(d, "a stop token does not end a sample");
}

/* ---- strings ---- */

static deep_verdict check_stop_text(deep *d)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    char *text = NULL;
    size_t wanted = 0;
    if (d->tokenizer == NULL) {
        return deep_skip(d, "there is no tokenizer of the model here (see --tokenizer)");
    }
    if (d->greedy_n < 3 || !deep_text_find(d, &text, &wanted)) {
        return deep_skip(d, "the sample has no text that could stop it");
    }
    const char *const list[] = {text};
    params.max_tokens = MAX_TOKENS;
    params.stop_texts = list;
    params.stop_texts_n = 1;
    deep_verdict verdict = check_end(d, &params, wanted);
    tinkc_text_free(&text);
    return verdict;
}

/* ---- the end of a text ---- */

/* Teaches a model to end after the prompt. Returns false after a failure; *is_learned tells
 * whether it does so now. */
static bool teach(deep *d, tinkc_training *model, int32_t end, bool *is_learned)
{
    int32_t prompt[PROMPT];
    deep_batch lesson;
    deep_pass pass;
    tinkc_adam_params adam = deep_adam;
    adam.learning_rate = LESSONS_RATE;
    deep_batch_tokens(prompt, PROMPT, DEEP_BEGIN);
    tinkc_error_free(&d->error);
    *is_learned = false;
    bool ok = deep_batch_teach(&lesson, prompt, PROMPT, end, &d->error) == TINKC_OK;
    for (size_t i = 0; ok && i < LESSONS_MAX && !*is_learned; i++) {
        const deep_call call = {.model = model, .batch = &lesson, .n = 1};
        ok = deep_backward(d, &call, &pass) &&
             deep_done(d, tinkc_training_optim_step(model, &adam));
        *is_learned = ok && pass.lp.v[PROMPT - 1] >= LEARNED;
    }
    deep_batch_close(&lesson);
    return ok;
}

/* Samples from the model that was taught to end. */
static deep_verdict sample_end(deep *d, tinkc_training *model, int32_t end)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sampling *sampler = NULL;
    tinkc_samples *samples = NULL;
    const char *path = NULL;
    size_t n = 0;
    params.max_tokens = MAX_TOKENS;
    params.temperature = 0;
    if (!deep_save(d, model, true, &path)) {
        return deep_failed(d);
    }
    tinkc_future *future = tinkc_service_create_sampling(d->service, NULL, path);
    bool ok = deep_wait(d, &future, true) &&
              tinkc_future_take_sampling(&sampler, future, &d->error) == TINKC_OK &&
              deep_sample(d, sampler, &params, &samples);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampler);
    if (!ok) {
        return deep_failed(d);
    }
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, 0);
    bool has_end = n > 0 && tokens[0] == end;
    bool is_stop = tinkc_samples_stop_reason(samples, 0) == TINKC_STOP_STOP;
    deep_verdict verdict =
        has_end || n == 0
            ? deep_note(d, n <= 1 && is_stop ? DEEP_OK : DEEP_OFF,
                        "%zu tokens, reason %s", n, tinkc_samples_stop_text(samples, 0))
            : deep_skip(d, "the model did not sample the end that it was taught");
    tinkc_samples_free(&samples);
    return verdict;
}

static deep_verdict check_eos(deep *d)
{
    tinkc_training *model = NULL;
    bool is_learned = false;
    deep_verdict verdict;
    int32_t end = deep_text_end(d);
    if (d->state == NULL || end < 0) {
        return deep_skip(d, d->state == NULL
                                ? "no state was saved"
                                : "the end token is not known here (see --tokenizer)");
    }
    if (!deep_create(d, d->service, d->state, &model) ||
        !teach(d, model, end, &is_learned)) {
        verdict = deep_failed(d);
    } else if (!is_learned) {
        verdict = deep_skip(d, "the model did not learn to end in eight steps");
    } else {
        verdict = sample_end(d, model, end);
    }
    (void)deep_drop(d, &model);
    return verdict;
}

const deep_check deep_stop_checks[] = {
    {"stop token", "a sample with a stop token id", "ends with that token",
     "Stop tokens end a sample.", "The sample goes on after the stop token.",
     check_stop_token},
    {"no max_tokens", "the same without max_tokens", "ends with that token",
     "A sample needs no limit.", "The sample does not end at the stop token.",
     check_no_limit},
    {"stop string", "a sample with a stop string", "ends with that string",
     "Stop strings end a sample.", "The sample goes on after the stop string.",
     check_stop_text},
    {"end of text", "a model that was taught to end", "ends with the end token",
     "The model's end token ends a sample.",
     "The sample goes on after the model's end token: send it as a stop token.",
     check_eos},
    {0},
};
