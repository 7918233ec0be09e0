/* forward and forward_backward: a batch in its turn. Reading and encoding happen on the
 * caller's thread, straight from the caller's arrays. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/core/service.h"
#include "client/training/training.h"
#include "client/training/training_step.h"
#include "client/values/params.h"
#include "client/values/types.h"

typedef struct fwdbwd {
    tk_op op;
    tk_model *model; /* a reference */
    tk_ticket *ticket;
    tk_batch batch;
    bool is_inside;
    tk_training_step *step; /* of which it is the batch: a reference; or NULL */
} fwdbwd;

/* What the two public functions differ in. */
typedef struct variant {
    const char *operation;
    tk_future_type type;
    bool forward_only;
} variant;

static fwdbwd *of(tk_op *op)
{
    return TK_CONTAINER_OF(op, fwdbwd, op);
}

/* ---- loop thread ---- */

/* A later failure may still find steps that wait for their turn. */
static void note_failure(fwdbwd *self)
{
    if (self->batch.code != TINKC_OK) {
        tk_training_step_break(self->step);
    }
    if (self->batch.code != TINKC_OK && self->batch.type == TK_FUTURE_FORWARD_BACKWARD &&
        tk_batch_is_partial(&self->batch)) {
        tk_model_spoil(self->model);
    }
}

static void on_submitted(tk_batch *batch)
{
    fwdbwd *self = batch->user;
    note_failure(self);
    tk_model_accepted(self->model, &self->ticket);
}

static void on_done(tk_batch *batch)
{
    fwdbwd *self = batch->user;
    tk_err err = TK_ERR_INIT;
    if (batch->code != TINKC_OK) {
        note_failure(self);
    }
    tk_turn_leave(&self->model->turn, &self->ticket);
    if (batch->code != TINKC_OK) {
        tk_op_fail(&self->op, &batch->err);
        return;
    }
    tinkc_fwdbwd *result = tk_batch_combine(batch, &err);
    if (result == NULL) {
        tk_op_fail(&self->op, &err);
        return;
    }
    tk_op_complete(&self->op, result, tk_fwdbwd_free);
}

static void go(void *user)
{
    fwdbwd *self = user;
    self->is_inside = true;
    tk_batch_start(&self->batch);
}

static void start(tk_op *op)
{
    fwdbwd *self = of(op);
    tk_model *model = tk_model_ref(self->model);
    tk_future_stage(op->future, TINKC_STAGE_TURN);
    tk_turn_enter(&model->turn, self->ticket);
    tk_model_unref(&model);
}

static void cancel(tk_op *op)
{
    fwdbwd *self = of(op);
    if (self->is_inside) {
        tk_batch_cancel(&self->batch);
        return;
    }
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    tk_training_step_break(self->step);
    tk_model_unused(self->model, self->ticket, 0);
    tk_turn_leave(&self->model->turn, &self->ticket);
    tk_op_fail(op, &err);
}

static void destroy(tk_op *op)
{
    fwdbwd *self = of(op);
    tk_turn_drop(&self->ticket); /* only there when it never entered */
    tk_batch_dispose(&self->batch);
    tk_training_step_unref(&self->step);
    tk_model_unref(&self->model);
    tk_free(self);
}

static const tk_op_type fwdbwd_type = {start, cancel, destroy};

/* ---- the caller's thread ---- */

/* Everything that can fail comes before the ids are reserved. */
static tinkc_code prepare(fwdbwd *self, const tk_fwdbwd_request *request, tk_err *err)
{
    tinkc_code code = tk_core_check(self->op.core, err);
    if (code == TINKC_OK) {
        code = tk_batch_prepare(&self->batch, request, err);
    }
    if (code == TINKC_OK) {
        code = tk_batch_reserve(&self->batch, 1, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    self->ticket = tk_turn_ticket((int64_t)self->batch.n, go, self);
    if (self->ticket == NULL || tk_future_is_static(self->op.future)) {
        return tk_err_nomem(err);
    }
    tk_batch_number(&self->batch, tk_turn_reserve(&self->model->turn, self->ticket));
    return TINKC_OK;
}

static tinkc_future *run(tinkc_training *training, const variant *what,
                         const tk_fwdbwd_request *request,
                         const tinkc_fwdbwd_options *options, tk_training_step *step)
{
    tk_err err = TK_ERR_INIT;
    fwdbwd *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_handle_refuse(training->handle, what->operation, TK_RESULT_FWDBWD,
                                &err);
    }
    self->model = tk_model_ref(training->model);
    self->step = tk_training_step_ref(step);
    tk_op_init(&self->op, &fwdbwd_type, training->handle, what->operation,
               TK_RESULT_FWDBWD);
    self->batch.model = training->model;
    self->batch.type = what->type;
    self->batch.future = self->op.future;
    self->batch.started_ns = tk_clock_mono_ns(tk_core_clock(training->handle->core));
    self->batch.max_parallel = options->max_parallel_chunks;
    self->batch.on_chunk = options->on_chunk;
    self->batch.chunks_in_order = options->chunks_in_order;
    self->batch.chunk_user = options->user;
    self->batch.submitted = on_submitted;
    self->batch.done = on_done;
    self->batch.user = self;
    return prepare(self, request, &err) == TINKC_OK ? tk_op_submit(&self->op)
                                                    : tk_op_refuse(&self->op, &err);
}

static tinkc_future *submit(tinkc_training *training, const variant *what,
                            const tk_batch_data *data, const char *loss,
                            const tinkc_fwdbwd_options *options, tk_training_step *step)
{
    if (training == NULL) {
        return tk_service_none(what->operation, TK_RESULT_FWDBWD);
    }
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    tinkc_fwdbwd_options o = TINKC_FWDBWD_OPTIONS_INIT;
    tk_fwdbwd_request request = {.model_id = tk_str_of(training->model->id),
                                 .forward_only = what->forward_only};
    tinkc_future *future = NULL;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_types_options(&o, sizeof(o), options, &err);
    if (code == TINKC_OK) {
        tk_batch_data all = *data;
        all.any_shape = loss != NULL && strcmp(loss, "custom") == 0;
        code = tk_batch_read_data(&request, &arena, &all, &err);
    }
    if (code == TINKC_OK) {
        const tinkc_config *config = tk_core_config(training->handle->core);
        const tk_loss_settings settings = {.numbers = o.config,
                                           .numbers_n = o.config_n,
                                           .texts = o.texts,
                                           .texts_n = o.texts_n,
                                           .twice = tk_config_sdk_at_least(config, 36)};
        code = tk_params_loss(&request, &arena, loss, &settings, &err);
    }
    future = code == TINKC_OK ? run(training, what, &request, &o, step)
                              : tk_handle_refuse(training->handle, what->operation,
                                                 TK_RESULT_FWDBWD, &err);
    tk_arena_dispose(&arena);
    return future;
}

tinkc_future *tinkc_training_forward(tinkc_training *training, tinkc_datum *const *data,
                                     size_t n, const char *loss,
                                     const tinkc_fwdbwd_options *options)
{
    static const variant what = {"forward", TK_FUTURE_FORWARD, true};
    return submit(training, &what, &(tk_batch_data){.items = data, .n = n}, loss, options,
                  NULL);
}

tinkc_future *tk_training_step_batch(tinkc_training *training, const tk_batch_data *data,
                                     const char *loss,
                                     const tinkc_fwdbwd_options *options,
                                     tk_training_step *step)
{
    static const variant what = {"forward_backward", TK_FUTURE_FORWARD_BACKWARD, false};
    return submit(training, &what, data, loss, options, step);
}

tinkc_future *tinkc_training_forward_backward(tinkc_training *training,
                                              tinkc_datum *const *data, size_t n,
                                              const char *loss,
                                              const tinkc_fwdbwd_options *options)
{
    return tk_training_step_batch(training, &(tk_batch_data){.items = data, .n = n}, loss,
                                  options, NULL);
}
