/* Checks of `tinkc doctor --deep`: the verbs that make a model and train it. They take four
 * steps: two on one batch, then, after the state was saved, two on another one, whose
 * log-probabilities later checks must find again. */
#include <math.h>
#include <stdio.h>

#include "cli/doctor/deep.h"

static deep_verdict check_create(deep *d)
{
    tinkc_error_free(&d->error);
    if (deep_batch_open(&d->first, 2, 1, &d->error) != TINKC_OK ||
        deep_batch_open(&d->batch, 3, 4, &d->error) != TINKC_OK) {
        return deep_failed(d);
    }
    return deep_create(d, d->service, NULL, &d->model)
               ? deep_note(d, DEEP_OK, "%s", tinkc_training_model_id(d->model))
               : deep_failed(d);
}

static deep_verdict check_info(deep *d)
{
    tinkc_model_info *info = NULL;
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    tinkc_future *future = tinkc_training_get_info(d->model);
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_model_info(&info, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    if (!ok) {
        return deep_failed(d);
    }
    const char *name = tinkc_model_info_model_name(info);
    int64_t rank = tinkc_model_info_lora_rank(info);
    char text[32] = "no rank";
    if (rank > 0) {
        (void)snprintf(text, sizeof(text), "rank %lld", (long long)rank);
    }
    deep_verdict verdict = deep_note(d, name != NULL ? DEEP_OK : DEEP_OFF, "%s, %s",
                                     name != NULL ? name : "no name", text);
    tinkc_model_info_free(&info);
    return verdict;
}

/* Returns whether every value can be a log-probability. */
static bool are_logprobs(const deep_values *lp)
{
    for (size_t i = 0; i < lp->n; i++) {
        if (!(lp->v[i] <= 1e-3F) || !isfinite(lp->v[i])) {
            return false;
        }
    }
    return lp->n > 0;
}

static deep_verdict check_forward(deep *d)
{
    deep_pass pass;
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    if (!deep_forward(d, d->model, &d->first, &pass)) {
        return deep_failed(d);
    }
    return deep_note(d, are_logprobs(&pass.lp) ? DEEP_OK : DEEP_OFF,
                     "%zu values, the first %.4f", pass.lp.n, (double)pass.lp.v[0]);
}

/* The first two steps. */
static deep_verdict check_backward(deep *d)
{
    deep_pass before, after;
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    const deep_call call = {.model = d->model, .batch = &d->first, .n = d->first.n};
    if (!deep_backward(d, &call, &before) || !deep_step(d, d->model) ||
        !deep_backward(d, &call, &after) || !deep_step(d, d->model)) {
        deep_verdict verdict = deep_failed(d);
        (void)deep_drop(d, &d->model); /* nothing that follows would mean anything */
        return verdict;
    }
    d->first_after = after.lp;
    return deep_note(
        d, are_logprobs(&before.lp) && are_logprobs(&after.lp) ? DEEP_OK : DEEP_OFF,
        "%zu values for each of 2 passes", after.lp.n);
}

static deep_verdict check_save(deep *d)
{
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    return deep_save(d, d->model, false, &d->state)
               ? deep_note(d, DEEP_OK, "%s", d->state)
               : deep_failed(d);
}

/* The last two steps. */
static deep_verdict check_step(deep *d)
{
    deep_pass at, one, two;
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    const deep_call call = {.model = d->model, .batch = &d->batch, .n = d->batch.n};
    if (!deep_backward(d, &call, &at) || !deep_step(d, d->model) ||
        !deep_backward(d, &call, &one) || !deep_step(d, d->model) ||
        !deep_forward(d, d->model, &d->batch, &two)) {
        return deep_failed(d);
    }
    d->at_state = at.lp;
    d->after_one = one.lp;
    d->after_two = two.lp;
    double before = deep_batch_loss(&d->batch, 0, &at.lp);
    double loss = deep_batch_loss(&d->batch, 0, &two.lp);
    return deep_note(d, loss < before ? DEEP_OK : DEEP_OFF,
                     "loss %.3f before, %.3f after", before, loss);
}

/* The first step of a model without an adapter on the unembedding, which must not be that of
 * a model with one. */
static deep_verdict check_layers(deep *d)
{
    tinkc_training *model = NULL;
    tinkc_lora_config lora = deep_lora();
    deep_pass before, after;
    deep_verdict verdict;
    if (d->first_after.n == 0) {
        return deep_skip(d, "there is no model that can be trained");
    }
    lora.train_unembed = false;
    if (!deep_create_lora(d, d->service, &lora, &model)) {
        return deep_refused(d);
    }
    const deep_call call = {.model = model, .batch = &d->first, .n = d->first.n};
    bool ok = deep_backward(d, &call, &before) && deep_step(d, model) &&
              deep_forward(d, model, &d->first, &after);
    double gap = ok ? deep_values_gap(&after.lp, &d->first_after) : 0;
    verdict = ok ? deep_note(d, gap > DEEP_SAME ? DEEP_OK : DEEP_OFF,
                             gap > DEEP_SAME ? "another step" : "the same step")
                 : deep_failed(d);
    (void)deep_drop(d, &model);
    return verdict;
}

const deep_check deep_model_checks[] = {
    {"create_model", "a LoRA model of rank 8", "a model id", "The server creates models.",
     "The server does not create models.", check_create},
    {"get_info", "what the model is", "its name and rank",
     "The server describes its models.", "The server does not name its model.",
     check_info},
    {"forward", "a pass without gradients", "a log-probability for each token",
     "A forward pass gives log-probabilities.",
     "The forward pass gives numbers that cannot be log-probabilities.", check_forward},
    {"forward_backward", "two passes and two steps", "a log-probability for each token",
     "Training passes give log-probabilities.",
     "The training pass gives numbers that cannot be log-probabilities.", check_backward},
    {"save_state", "save weights and optimizer", "a tinker:// path",
     "The state of training can be saved.", "The state of training is not saved.",
     check_save},
    {"optim_step", "two more steps on one batch", "its loss falls",
     "Steps lower the loss of the batch.",
     "The loss of the batch does not fall, although it was trained on.", check_step},
    {"train_unembed", "a step without the unembedding", "another step than with it",
     "The layers to train can be chosen.",
     "The server ignores train_unembed: a model with and one without an adapter on the "
     "unembedding take the same step.",
     check_layers},
    {0},
};
