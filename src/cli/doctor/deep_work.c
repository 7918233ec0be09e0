/* The operations that checks of `tinkc doctor --deep` have in common: models, saves, passes,
 * steps and samples, each with a bounded wait. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/doctor/deep.h"

#define RANK        8
#define SEED        20251
#define TTL_SECONDS 3600 /* of checkpoints, if the program cannot remove them */
#define PROMPT      8    /* tokens */

const tinkc_adam_params deep_adam = {
    sizeof(tinkc_adam_params), 1e-3, 0.9, 0.95, 1e-8, 0.0, 0.0};

/* ---- models and checkpoints ---- */

tinkc_lora_config deep_lora(void)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = RANK;
    lora.has_seed = true;
    lora.seed = SEED;
    return lora;
}

bool deep_create_lora(deep *d, tinkc_service *service, const tinkc_lora_config *lora,
                      tinkc_training **out)
{
    size_t place = 0;
    while (place < DEEP_MODELS_MAX && d->models[place] != NULL) {
        place++;
    }
    if (place == DEEP_MODELS_MAX) {
        (void)snprintf(d->why, sizeof(d->why), "The conversation has too many models.");
        return false;
    }
    tinkc_future *future = tinkc_service_create_training(service, d->base_model, lora);
    bool ok =
        deep_wait(d, &future, true) &&
        tinkc_future_take_training(&d->models[place], future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    if (ok) {
        *out = d->models[place];
    }
    return ok;
}

bool deep_create(deep *d, tinkc_service *service, const char *state, tinkc_training **out)
{
    const tinkc_lora_config lora = deep_lora();
    return deep_create_lora(d, service, &lora, out) &&
           (state == NULL ||
            deep_done(d, tinkc_training_load_state(*out, state, true, NULL)));
}

bool deep_drop(deep *d, tinkc_training **model)
{
    tinkc_training *one = *model; /* `model` may be &d->model */
    bool ok = one == NULL || deep_done(d, tinkc_training_unload(one));
    for (size_t i = 0; i < DEEP_MODELS_MAX; i++) {
        if (d->models[i] == one) {
            d->models[i] = NULL;
        }
    }
    if (d->model == one) {
        d->model = NULL;
    }
    *model = NULL;
    tinkc_training_close(&one);
    return ok;
}

const char *deep_keep(deep *d, const char *path)
{
    for (size_t i = 0; i < DEEP_PATHS_MAX; i++) {
        if (d->paths[i] == NULL) {
            d->paths[i] = tk_strdup(path);
            return d->paths[i];
        }
    }
    return NULL;
}

bool deep_save(deep *d, tinkc_training *model, bool for_sampling, const char **out)
{
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    char name[32], *path = NULL;
    (void)snprintf(name, sizeof(name), "doctor-%zu", ++d->saves);
    options.ttl_seconds = TTL_SECONDS;
    tinkc_future *future =
        for_sampling ? tinkc_training_save_weights_for_sampler(model, name, &options)
                     : tinkc_training_save_state(model, name, &options);
    if (!deep_text(d, future, &path)) {
        return false;
    }
    *out = deep_keep(d, path);
    tinkc_text_free(&path);
    return *out != NULL;
}

/* ---- passes and steps ---- */

/* Finds the loss among the metrics: "loss", "loss:sum", "total_loss:sum", "loss:mean". */
static void read_loss(deep_pass *out, const tinkc_metrics *metrics)
{
    const char *name = NULL;
    double value = 0;
    out->has_loss = false;
    for (size_t i = 0; tinkc_metrics_at(&name, &value, metrics, i); i++) {
        size_t n = strcspn(name, ":");
        bool is_loss = (n == 4 && strncmp(name, "loss", n) == 0) ||
                       (n == 10 && strncmp(name, "total_loss", n) == 0);
        if (is_loss && !out->has_loss) {
            out->has_loss = true;
            out->loss = value;
            (void)snprintf(out->name, sizeof(out->name), "%s", name);
        }
    }
}

bool deep_read_pass(deep *d, const tinkc_fwdbwd *result, const deep_call *call,
                    deep_pass *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < call->n; i++) {
        const float *values = NULL;
        size_t n = 0, wanted = call->batch->lengths[call->first + i];
        tinkc_code code = tinkc_fwdbwd_f32(&values, &n, result, i, "logprobs", NULL);
        if (code != TINKC_OK || n != wanted || out->lp.n + n > DEEP_VALUES_MAX) {
            (void)deep_note(d, DEEP_OFF, "%zu values for %zu tokens", n, wanted);
            (void)snprintf(d->why, sizeof(d->why),
                           "The server sent %zu log-probabilities for %zu tokens.", n,
                           wanted);
            return false;
        }
        memcpy(out->lp.v + out->lp.n, values, n * sizeof(*values));
        out->lp.n += n;
    }
    read_loss(out, tinkc_fwdbwd_metrics(result));
    return true;
}

static bool finish_pass(deep *d, tinkc_future *future, const deep_call *call,
                        deep_pass *out)
{
    tinkc_fwdbwd *result = NULL;
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_fwdbwd(&result, future, &d->error) == TINKC_OK &&
              deep_read_pass(d, result, call, out);
    d->trained += deep_batch_count(call->batch, call->first, call->n);
    tinkc_fwdbwd_free(&result);
    tinkc_future_free(&future);
    return ok;
}

bool deep_forward(deep *d, tinkc_training *model, const deep_batch *batch, deep_pass *out)
{
    const deep_call call = {.model = model, .batch = batch, .n = batch->n};
    return finish_pass(
        d, tinkc_training_forward(model, batch->datums, batch->n, "cross_entropy", NULL),
        &call, out);
}

bool deep_backward(deep *d, const deep_call *call, deep_pass *out)
{
    tinkc_future *future = tinkc_training_forward_backward(
        call->model, call->batch->datums + call->first, call->n,
        call->loss != NULL ? call->loss : "cross_entropy", call->options);
    return finish_pass(d, future, call, out);
}

bool deep_step(deep *d, tinkc_training *model)
{
    return deep_done(d, tinkc_training_optim_step(model, &deep_adam));
}

/* ---- sampling ---- */

static bool sample(deep *d, tinkc_sampling *sampler, const tinkc_sampling_params *params,
                   const tinkc_sample_options *options, tinkc_samples **out)
{
    int32_t prompt[PROMPT];
    tinkc_model_input *input = NULL;
    tinkc_error_free(&d->error);
    deep_batch_tokens(prompt, PROMPT, DEEP_BEGIN);
    if (tinkc_model_input_from_tokens(&input, prompt, PROMPT, &d->error) != TINKC_OK) {
        return false;
    }
    tinkc_future *future = tinkc_sampling_sample(sampler, input, params, options);
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_samples(out, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    tinkc_model_input_free(&input);
    d->sampled += PROMPT;
    for (size_t i = 0, n = 0; ok && i < tinkc_samples_count(*out); i++) {
        (void)tinkc_samples_tokens(&n, *out, i);
        d->sampled += n;
    }
    return ok;
}

bool deep_sample(deep *d, tinkc_sampling *sampler, const tinkc_sampling_params *params,
                 tinkc_samples **out)
{
    return sample(d, sampler, params, NULL, out);
}

bool deep_sample_with(deep *d, const tinkc_sampling_params *params,
                      const tinkc_sample_options *options, tinkc_samples **out)
{
    return sample(d, d->sampler, params, options, out);
}

bool deep_logprobs(deep *d, const int32_t *tokens, size_t n, tinkc_logprobs **out)
{
    tinkc_model_input *input = NULL;
    tinkc_error_free(&d->error);
    if (tinkc_model_input_from_tokens(&input, tokens, n, &d->error) != TINKC_OK) {
        return false;
    }
    tinkc_future *future = tinkc_sampling_compute_logprobs(d->sampler, input);
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_logprobs(out, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    tinkc_model_input_free(&input);
    d->sampled += n;
    return ok;
}
