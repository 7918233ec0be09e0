/* Checks of `tinkc doctor --deep`: the same work twice. Each begins at the saved state, in a
 * model of its own, because not every server loads a state into a model that has worked.
 * `resume` compares with the four steps; the others compare with `resume`, so that they say
 * nothing about the loading. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/deep.h"
#include "cli/doctor/deep_raw.h"

/* Begins a check: a model at the saved state. */
static bool begin(deep *d, tinkc_training **model, deep_verdict *out)
{
    *model = NULL;
    if (d->state == NULL || d->after_two.n == 0) {
        *out = deep_skip(d, d->state == NULL ? "no state was saved"
                                             : "the four steps did not succeed");
        return false;
    }
    if (!deep_create(d, d->service, d->state, model)) {
        *out = deep_failed(d);
        (void)deep_drop(d, model);
        return false;
    }
    return true;
}

/* Compares log-probabilities, with what is tolerated. */
static deep_verdict compare(deep *d, const deep_values *got, const deep_values *wanted,
                            double tolerated)
{
    double gap = deep_values_gap(got, wanted);
    if (gap == 0) {
        return deep_note(d, DEEP_OK, "%zu values, identical", got->n);
    }
    return deep_note(d, gap <= tolerated ? DEEP_OK : DEEP_OFF,
                     "%zu values, largest difference %.2g", got->n, gap);
}

static deep_verdict check_resume(deep *d)
{
    tinkc_training *model = NULL;
    deep_pass at, one, two;
    deep_verdict verdict;
    if (!begin(d, &model, &verdict)) {
        return verdict;
    }
    const deep_call call = {.model = model, .batch = &d->batch, .n = d->batch.n};
    bool ok = deep_backward(d, &call, &at) && deep_step(d, model) &&
              deep_backward(d, &call, &one) && deep_step(d, model) &&
              deep_forward(d, model, &d->batch, &two);
    if (!ok) {
        verdict = deep_failed(d);
        (void)deep_drop(d, &model);
        return verdict;
    }
    if (deep_values_gap(&at.lp, &d->at_state) > DEEP_SAME) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The loaded weights are not those that were saved.");
        verdict = compare(d, &at.lp, &d->at_state, DEEP_SAME);
    } else {
        verdict = compare(d, &two.lp, &d->after_two, DEEP_SAME);
    }
    d->after_one = one.lp;
    (void)deep_drop(d, &model);
    return verdict;
}

static deep_verdict check_chunks(deep *d)
{
    tinkc_training *model = NULL;
    deep_pass one, rest, after;
    deep_verdict verdict;
    if (!begin(d, &model, &verdict)) {
        return verdict;
    }
    const deep_call head = {.model = model, .batch = &d->batch, .n = 1};
    const deep_call tail = {
        .model = model, .batch = &d->batch, .first = 1, .n = d->batch.n - 1};
    bool ok = deep_backward(d, &head, &one) && deep_backward(d, &tail, &rest) &&
              deep_step(d, model) && deep_forward(d, model, &d->batch, &after);
    verdict = ok ? compare(d, &after.lp, &d->after_one, DEEP_ALIKE) : deep_failed(d);
    (void)deep_drop(d, &model);
    return verdict;
}

/* ---- a loss of the program ---- */

/* Cross-entropy, so that the step must be that of the server's own. */
static int own_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                    size_t n, void *user)
{
    const deep_values *weights = user;
    size_t at = 0;
    (void)metrics;
    *loss = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n && at < weights->n; k++, at++) {
            *loss -= (double)(weights->v[at] * items[i].logprobs[k]);
            items[i].gradient[k] = -weights->v[at];
        }
    }
    return 0;
}

static deep_verdict check_custom(deep *d)
{
    static deep_values weights; /* static: a cancelled callback may still run */
    tinkc_training *model = NULL;
    deep_pass after;
    deep_verdict verdict;
    if (!begin(d, &model, &verdict)) {
        return verdict;
    }
    weights = d->batch.weights;
    bool ok = deep_done(d, tinkc_training_forward_backward_custom(
                               model, d->batch.datums, d->batch.n, own_loss, &weights)) &&
              deep_step(d, model) && deep_forward(d, model, &d->batch, &after);
    d->trained += 2 * d->batch.weights.n;
    verdict = ok ? compare(d, &after.lp, &d->after_one, DEEP_ALIKE) : deep_failed(d);
    (void)deep_drop(d, &model);
    return verdict;
}

/* ---- a second connection ---- */

/* A new session, as after a restart of the program: what the server knows of the first. */
static deep_verdict check_reconnect(deep *d)
{
    tinkc_session_info *info = NULL;
    tinkc_error_free(&d->error);
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    if (tinkc_service_open(&d->again, d->config, &d->error) != TINKC_OK ||
        !deep_done(d, tinkc_rest_get_run(d->again, tinkc_training_model_id(d->model),
                                         TINKC_SCOPE_OWNED))) {
        return deep_failed(d);
    }
    tinkc_future *future = tinkc_rest_get_session(
        d->again, tinkc_service_session_id(d->service), TINKC_SCOPE_OWNED);
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_session_info(&info, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    size_t runs = ok ? info->run_ids_n : 0;
    tinkc_session_info_free(&info);
    return ok ? deep_note(d, runs > 0 ? DEEP_OK : DEEP_OFF,
                          "the run, and a session with %zu runs", runs)
              : deep_note(d, DEEP_OK, "the run; no answer about the session");
}

static deep_verdict check_other_session(deep *d)
{
    tinkc_training *model = NULL;
    deep_pass pass;
    if (d->again == NULL || d->state == NULL || d->at_state.n == 0) {
        return deep_skip(d, "there is no second connection with a saved state");
    }
    bool ok = deep_create(d, d->again, d->state, &model) &&
              deep_forward(d, model, &d->batch, &pass);
    deep_verdict verdict =
        ok ? compare(d, &pass.lp, &d->at_state, DEEP_SAME) : deep_failed(d);
    (void)deep_drop(d, &model);
    return verdict;
}

/* ---- a repeated request ---- */

#define LOAD_AND_PASS 2 /* operations of the model before the first one by hand */

/* Sends the same step twice, then saves; both with the numbers that the library would have
 * used next. */
static bool step_twice(deep *d, const char *model_id, char path[DEEP_TEXT_BYTES],
                       int *second)
{
    char body[2 * DEEP_TEXT_BYTES], first_id[DEEP_ID_BYTES], id[DEEP_ID_BYTES];
    int status = 0;
    (void)snprintf(body, sizeof(body),
                   "{\"adam_params\":{\"learning_rate\":%g,\"beta1\":%g,\"beta2\":%g,"
                   "\"eps\":%g,\"weight_decay\":%g,\"grad_clip_norm\":%g},"
                   "\"model_id\":\"%s\",\"seq_id\":%d,\"type\":\"optim_step\"}",
                   deep_adam.learning_rate, deep_adam.beta1, deep_adam.beta2,
                   deep_adam.eps, deep_adam.weight_decay, deep_adam.grad_clip_norm,
                   model_id, LOAD_AND_PASS + 1);
    if (!deep_raw_submit(d, "optim_step", body, "tinkc-doctor-step", first_id, &status) ||
        !deep_raw_finish(d, first_id, NULL)) {
        return false;
    }
    bool again = deep_raw_submit(d, "optim_step", body, "tinkc-doctor-step", id, second);
    if (again) { /* a result, or an error: either way it has ended before the save */
        (void)deep_raw_finish(d, id, NULL);
    }
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"path\":\"doctor-%zu\",\"seq_id\":%d,"
                   "\"overwrite\":false,\"type\":\"save_weights\"}",
                   model_id, ++d->saves, LOAD_AND_PASS + 2);
    return deep_raw_submit(d, "save_weights", body, "tinkc-doctor-save", id, &status) &&
           deep_raw_finish(d, id, path);
}

static deep_verdict check_repeat(deep *d)
{
    char path[DEEP_TEXT_BYTES] = "";
    tinkc_training *model = NULL, *other = NULL;
    deep_pass pass;
    deep_verdict verdict;
    int second = 0;
    if (d->again == NULL || d->state == NULL || d->after_one.n == 0) {
        return deep_skip(d, "there is no second connection with a saved state");
    }
    const deep_call call = {.batch = &d->batch, .n = d->batch.n};
    bool ok = deep_create(d, d->again, d->state, &model);
    if (ok) {
        deep_call own = call;
        own.model = model;
        ok = deep_backward(d, &own, &pass) &&
             step_twice(d, tinkc_training_model_id(model), path, &second);
    }
    const char *kept = path[0] != '\0' ? deep_keep(d, path) : NULL;
    ok = ok && kept != NULL && deep_create(d, d->service, kept, &other) &&
         deep_forward(d, other, &d->batch, &pass);
    if (!ok) {
        verdict = deep_failed(d);
    } else {
        d->why[0] = '\0';
        verdict = compare(d, &pass.lp, &d->after_one, DEEP_ALIKE);
        size_t n = strlen(d->seen);
        (void)snprintf(d->seen + n, sizeof(d->seen) - n, "; the second answer: HTTP %d",
                       second);
    }
    (void)deep_drop(d, &other);
    (void)deep_drop(d, &model);
    return verdict;
}

const deep_check deep_exact_checks[] = {
    {"resume", "load the state, the same two steps", "the same numbers (1e-4)",
     "A run that is resumed continues exactly.",
     "A resumed run differs from one that was not interrupted: part of the state, such as "
     "the optimizer's, is lost.",
     check_resume},
    {"chunks", "the batch in two passes, one step", "the step of one pass (2e-3)",
     "A batch may be split: gradients are summed.",
     "A batch that is split gives another step: gradients of passes are not summed.",
     check_chunks},
    {"custom loss", "cross-entropy as a loss of the program",
     "the step of cross_entropy (2e-3)", "Losses of the program work.",
     "A loss of the program gives another step than the same loss of the server.",
     check_custom},
    {"reconnect", "the run, from a second connection", "the run is known",
     "Another process finds the run again.",
     "Another process does not find the run in its session.", check_reconnect},
    {"load_state", "the state, from another session", "the same numbers (1e-4)",
     "Another session continues from the saved state.",
     "The state gives other numbers in another session.", check_other_session},
    {"repeated request", "the same optim_step twice", "one step (2e-3)",
     "A request that is sent twice is applied once.",
     "A request that is sent twice is applied twice: a lost answer spoils the run.",
     check_repeat},
    {0},
};
