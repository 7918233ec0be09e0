/* The optimizer's step alone, and a whole step: batch and optimizer. Both parts of a whole
 * step are submitted before anything is waited for; its future is done when both are. The
 * optimizer is not sent when the batch failed before its turn came. */
#include "client/training/training_step.h"

#include "base/mem.h"
#include "client/core/service.h"
#include "client/training/training.h"
#include "client/training/training_request.h"
#include "client/training/training_result.h"
#include "client/values/error.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "wire/msg_train.h"

struct tk_training_step {
    atomic_size_t refs;
    atomic_bool is_broken; /* the batch failed */
    atomic_int left;       /* parts that are not done */
    tinkc_future *whole;
    tinkc_future *batch, *optim; /* references; optim NULL: never submitted */
};

struct tinkc_step {
    tinkc_fwdbwd *fwdbwd;
    tinkc_metrics *metrics;
};

/* ---- what the parts share ---- */

tk_training_step *tk_training_step_ref(tk_training_step *step)
{
    if (step != NULL) {
        atomic_fetch_add(&step->refs, 1);
    }
    return step;
}

void tk_training_step_unref(tk_training_step **step_ref)
{
    tk_training_step *step = *step_ref;
    *step_ref = NULL;
    if (step != NULL && atomic_fetch_sub(&step->refs, 1) == 1) {
        tinkc_future_free(&step->whole);
        tinkc_future_free(&step->batch);
        tinkc_future_free(&step->optim);
        tk_free(step);
    }
}

void tk_training_step_break(tk_training_step *step)
{
    if (step != NULL) {
        atomic_store(&step->is_broken, true);
    }
}

/* ---- the optimizer ---- */

typedef struct message {
    tk_optim_step_request request; /* without model and number */
    tk_arena arena;                /* of its JSON */
    tk_training_step *step;        /* a reference; NULL: the optimizer alone */
} message;

static tinkc_code encode_step(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    tk_optim_step_request request = ((const message *)op->message)->request;
    request.model_id = (tk_f_str){TK_SET, tk_str_of(op->model->id)};
    request.seq_id = (tk_f_i64){TK_SET, seq_id};
    return tk_schema_encode(&op->body, &tk_msg_optim_step_request, &request, err);
}

static void *read_step(tk_training_request *op, const tk_json *json, tk_err *err)
{
    (void)op;
    tk_arena arena;
    tk_optim_step_result said = {.metrics = {.is = TK_UNSET}};
    tinkc_metrics *metrics = NULL;
    tk_arena_init(&arena, 0);
    if (tk_schema_decode(&said, &tk_msg_optim_step_result, &arena, json, 0, err) ==
        TINKC_OK) {
        metrics = tk_training_metrics(&said.metrics.v, err);
    }
    tk_arena_dispose(&arena);
    return metrics;
}

/* On the loop, when the turn has come. */
static bool refuse_broken(tk_training_request *op)
{
    const message *m = op->message;
    if (m->step == NULL || !atomic_load(&m->step->is_broken)) {
        return false;
    }
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_STATE, "not sent: the batch of this step failed");
    tk_model_unused(op->model, op->ticket, 0);
    tk_training_request_fail(op, &err);
    return true;
}

static void free_message(void *taken)
{
    message *m = taken;
    if (m == NULL) {
        return;
    }
    tk_training_step_unref(&m->step);
    tk_arena_dispose(&m->arena);
    tk_free(m);
}

static const tk_training_request_spec step_spec = {
    .operation = "optim_step",
    .kind = TK_RESULT_METRICS,
    .endpoint = TK_EP_OPTIM_STEP,
    .type = TK_FUTURE_OPTIM_STEP,
    .ids = 1,
    .is_step = true,
    .before = refuse_broken,
    .free_message = free_message,
    .encode = encode_step,
    .read = read_step,
    .free_result = tk_training_free_metrics,
};

static tinkc_code new_message(message **out, const tinkc_optim_params *params,
                              tk_err *err)
{
    message *m = tk_zalloc(sizeof(*m));
    if (m == NULL) {
        return tk_err_nomem(err);
    }
    tk_arena_init(&m->arena, TK_MIB);
    tinkc_code code = tk_params_optim(&m->request, &m->arena, params, err);
    if (code != TINKC_OK) {
        free_message(m);
        return code;
    }
    *out = m;
    return TINKC_OK;
}

tinkc_future *tinkc_training_optim_step_with(tinkc_training *training,
                                             const tinkc_optim_params *params)
{
    tk_err err = TK_ERR_INIT;
    message *m = NULL;
    if (training == NULL) {
        return tk_service_none(step_spec.operation, step_spec.kind);
    }
    return new_message(&m, params, &err) == TINKC_OK
               ? tk_training_request_run(training, &step_spec, m)
               : tk_training_request_refuse(training, &step_spec, &err);
}

tinkc_future *tinkc_training_optim_step(tinkc_training *training,
                                        const tinkc_adam_params *adam)
{
    tinkc_optim_params params = TINKC_OPTIM_PARAMS_INIT;
    params.adam = adam;
    return tinkc_training_optim_step_with(training, &params);
}

/* ---- both ---- */

static void free_result(void *result)
{
    tinkc_step *step = result;
    tinkc_step_free(&step);
}

/* The error of the batch wins: that of the optimizer follows from it. */
static tinkc_code take_parts(tinkc_step *out, tk_training_step *step, tinkc_error **error)
{
    tinkc_code code = tk_future_take(&out->fwdbwd, step->batch, TK_RESULT_FWDBWD, error);
    return code == TINKC_OK
               ? tk_future_take(&out->metrics, step->optim, TK_RESULT_METRICS, error)
               : code;
}

static void fail_whole(tk_training_step *step, tinkc_error *error)
{
    tk_err err = TK_ERR_INIT;
    tk_error_read(&err, error);
    tinkc_error *cause = tinkc_error_ref(tinkc_error_cause(error));
    (void)tk_future_fail(step->whole, &err, cause);
}

/* Both parts are done. */
static void finish(tk_training_step *step)
{
    tinkc_error *error = NULL;
    tinkc_step *result = tk_zalloc(sizeof(*result));
    if (result == NULL) {
        tk_err err = TK_ERR_INIT;
        tk_err_nomem(&err);
        (void)tk_future_fail(step->whole, &err, NULL);
    } else if (take_parts(result, step, &error) != TINKC_OK) {
        fail_whole(step, error);
    } else if (tk_future_complete(step->whole, result, free_result)) {
        result = NULL;
    }
    tinkc_error_free(&error);
    tinkc_step_free(&result);
}

static void on_part(tinkc_future *part, void *user)
{
    (void)part;
    tk_training_step *step = user;
    if (atomic_fetch_sub(&step->left, 1) == 1) {
        finish(step);
    }
    tk_training_step_unref(&step);
}

static void watch(tk_training_step *step, tinkc_future *part)
{
    /* Cannot fail: the part is ours, and has no callback yet. */
    (void)tinkc_future_on_done(part, on_part, tk_training_step_ref(step), NULL);
}

/* The futures of the parts are complete objects before anything of them is watched. */
static tinkc_future *join(tk_training_step *step)
{
    tinkc_future *whole = tinkc_future_ref(step->whole);
    atomic_init(&step->left, step->optim != NULL ? 2 : 1);
    tk_future_join(whole, step->batch, step->optim);
    tinkc_future *optim = step->optim;
    watch(step, step->batch);
    if (optim != NULL) {
        watch(step, optim);
    }
    tk_training_step_unref(&step);
    return whole;
}

static tinkc_code make(tk_training_step **out, tk_handle *handle, const char *operation,
                       tk_err *err)
{
    tk_training_step *step = tk_zalloc(sizeof(*step));
    if (step == NULL) {
        return tk_err_nomem(err);
    }
    atomic_init(&step->refs, 1);
    step->whole = tk_future_new(&handle->driver, operation, TK_RESULT_STEP);
    if (tk_future_is_static(step->whole)) {
        tk_training_step_unref(&step);
        return tk_err_nomem(err);
    }
    *out = step;
    return TINKC_OK;
}

static bool has_failed(const tinkc_future *part)
{
    return tinkc_future_error(part) != NULL;
}

tinkc_future *tinkc_training_step(tinkc_training *training, tinkc_datum *const *data,
                                  size_t n, const char *loss,
                                  const tinkc_step_options *options)
{
    static const char operation[] = "step";
    if (training == NULL) {
        return tk_service_none(operation, TK_RESULT_STEP);
    }
    tk_err err = TK_ERR_INIT;
    message *m = NULL;
    tinkc_optim_params adam = TINKC_OPTIM_PARAMS_INIT;
    tinkc_step_options o = TINKC_STEP_OPTIONS_INIT;
    tk_training_step *step = NULL;
    tinkc_code code = tk_types_options(&o, sizeof(o), options, &err);
    if (code == TINKC_OK) {
        adam.adam = o.adam;
        code = new_message(&m, o.optim != NULL ? o.optim : &adam, &err);
    }
    if (code == TINKC_OK) {
        code = make(&step, training->handle, operation, &err);
    }
    if (code != TINKC_OK) {
        free_message(m);
        return tk_handle_refuse(training->handle, operation, TK_RESULT_STEP, &err);
    }
    const tk_batch_data batch = {.items = data, .n = n};
    step->batch = tk_training_step_batch(training, &batch, loss, o.fwdbwd, step);
    if (has_failed(step->batch)) { /* refused here: no gradients to step on */
        free_message(m);
    } else {
        m->step = tk_training_step_ref(step);
        step->optim = tk_training_request_run(training, &step_spec, m);
    }
    return join(step);
}

tinkc_code tinkc_training_step_wait(tinkc_step **out, tinkc_training *training,
                                    tinkc_datum *const *data, size_t n, const char *loss,
                                    const tinkc_step_options *options, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_training_step(training, data, n, loss, options),
                               TK_RESULT_STEP, err);
}

/* ---- the result ---- */

void tinkc_step_free(tinkc_step **step_ref)
{
    tinkc_step *step = step_ref != NULL ? *step_ref : NULL;
    if (step != NULL) {
        *step_ref = NULL;
        tinkc_fwdbwd_free(&step->fwdbwd);
        tinkc_metrics_free(&step->metrics);
        tk_free(step);
    }
}

const tinkc_fwdbwd *tinkc_step_fwdbwd(const tinkc_step *step)
{
    return step != NULL ? step->fwdbwd : NULL;
}

const tinkc_metrics *tinkc_step_metrics(const tinkc_step *step)
{
    return step != NULL ? step->metrics : NULL;
}

tinkc_code tinkc_step_loss(double *out, const tinkc_step *step, tinkc_error **err)
{
    return tinkc_fwdbwd_loss(out, tinkc_step_fwdbwd(step), err);
}
