/* The sequence id is reserved and the body encoded once, in `prepare`: whatever is sent
 * again after a lost answer is the same bytes under the same id, which the server
 * recognises as a repetition. The turn is given back on every way out: accepted, done,
 * failed, cancelled, never sent. */
#include "client/training/training_request.h"

#include "base/mem.h"

#define BODY_MAX_BYTES TK_MIB

static tk_training_request *of(tk_op *op)
{
    return TK_CONTAINER_OF(op, tk_training_request, op);
}

static void free_message(const tk_training_request_spec *spec, const void *message)
{
    if (spec->free_message != NULL && message != NULL) {
        spec->free_message((void *)(uintptr_t)message);
    }
}

/* ---- loop thread ---- */

/* Ends a request that was not sent: its ids are free. */
static void fail_unsent(tk_training_request *self, const tk_err *err)
{
    tk_model_unused(self->model, self->ticket, 0);
    tk_training_request_fail(self, err);
}

/* Gives the turn back, then ends: the one way out. */
void tk_training_request_fail(tk_training_request *self, const tk_err *err)
{
    tk_turn_leave(&self->model->turn, &self->ticket);
    tk_op_fail(&self->op, err);
}

static void on_settled(tk_submit *submit, tinkc_code code, const tk_err *err)
{
    tk_training_request *self = submit->user;
    if (code != TINKC_OK) {
        tk_training_request_fail(self, err);
        return;
    }
    tk_buf_dispose(&self->body);
    tk_model_accepted(self->model, &self->ticket);
}

static void on_done(tk_submit *submit, const tk_poll_result *said)
{
    tk_training_request *self = submit->user;
    const tk_training_request_spec *spec = self->spec;
    tk_err err = TK_ERR_INIT;
    void *result = NULL;
    if (said->code != TINKC_OK) {
        tk_training_request_fail(self, said->err);
        return;
    }
    if (spec->read != NULL) {
        result = spec->read(self, said->json, &err);
        if (result == NULL) {
            tk_training_request_fail(self, &err);
            return;
        }
    }
    tk_turn_leave(&self->model->turn, &self->ticket);
    tk_op_complete(&self->op, result, spec->free_result);
}

static tinkc_code encode_again(tk_call *call, tk_err *err)
{
    tk_submit *submit = call->user;
    tk_training_request *self = submit->user;
    tk_buf_clear(&self->body);
    tinkc_code code = self->spec->encode(self, self->seq_id, err);
    call->body = self->body.p;
    call->body_n = self->body.n;
    return code;
}

static void submit_now(void *user)
{
    tk_training_request *self = user;
    const tk_training_request_spec *spec = self->spec;
    tk_err err = TK_ERR_INIT;
    if (self->body.n == 0 && !spec->draws_again) {
        tk_err_nomem(&err);
        fail_unsent(self, &err);
        return;
    }
    if (spec->is_step && self->seq_id - 1 < self->model->refuse_steps_below) {
        tk_err_set(&err, TINKC_E_STATE,
                   "not sent: a batch before this step was applied only in part "
                   "(option fail_step_after_partial)");
        fail_unsent(self, &err);
        return;
    }
    if (spec->before == NULL || !spec->before(self)) {
        tk_training_request_go_on(self);
    }
}

void tk_training_request_go_on(tk_training_request *self)
{
    const tk_training_request_spec *spec = self->spec;
    self->submit.core = self->op.core;
    self->submit.form.endpoint = spec->endpoint;
    self->submit.type = spec->type;
    self->submit.form.body = self->body.p;
    self->submit.form.body_n = self->body.n;
    self->submit.what = self->model->id;
    self->submit.future = self->op.future;
    self->submit.before_attempt = spec->draws_again ? encode_again : NULL;
    self->submit.settled = on_settled;
    self->submit.done = on_done;
    self->submit.user = self;
    tk_submit_start(&self->submit);
}

static void start(tk_op *op)
{
    tk_training_request *self = of(op);
    tk_model *model = tk_model_ref(self->model);
    tk_future_stage(op->future, TINKC_STAGE_TURN);
    tk_turn_enter(&model->turn, self->ticket);
    tk_model_unref(&model);
}

static void cancel(tk_op *op)
{
    tk_training_request *self = of(op);
    if (tk_submit_is_running(&self->submit)) {
        tk_submit_cancel(&self->submit);
        return;
    }
    if (tk_call_is_running(&self->call)) {
        tk_call_cancel(&self->call);
        return;
    }
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    fail_unsent(self, &err);
}

static void destroy(tk_op *op)
{
    tk_training_request *self = of(op);
    tk_turn_drop(&self->ticket); /* only there when it never entered */
    tk_model_unref(&self->model);
    tk_buf_dispose(&self->body);
    free_message(self->spec, self->message);
    tk_free(self);
}

static const tk_op_type training_type = {start, cancel, destroy};

/* ---- the caller's thread ---- */

tinkc_future *tk_training_request_refuse(tinkc_training *training,
                                         const tk_training_request_spec *spec,
                                         const tk_err *err)
{
    return tk_handle_refuse(training->handle, spec->operation, spec->kind, err);
}

/* Everything that can fail comes before the ids are reserved, so that a call that cannot
 * be made leaves no hole: the body is encoded with the longest number first. */
static tinkc_code prepare(tk_training_request *self, tk_err *err)
{
    const tk_training_request_spec *spec = self->spec;
    self->ticket = tk_turn_ticket(spec->ids, submit_now, self);
    if (self->ticket == NULL || tk_future_is_static(self->op.future)) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_core_check(self->op.core, err);
    if (code == TINKC_OK && !spec->draws_again) {
        code = spec->encode(self, INT32_MAX, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    self->seq_id = tk_turn_reserve(&self->model->turn, self->ticket) + 1;
    (void)atomic_fetch_add(&self->model->steps, spec->is_step);
    if (!spec->draws_again) {
        tk_buf_clear(&self->body);
        (void)spec->encode(self, self->seq_id, err); /* submit_now looks at the body */
    }
    return TINKC_OK;
}

tinkc_future *tk_training_request_run(tinkc_training *training,
                                      const tk_training_request_spec *spec,
                                      const void *message)
{
    tk_err err = TK_ERR_INIT;
    tk_training_request *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        free_message(spec, message);
        tk_err_nomem(&err);
        return tk_training_request_refuse(training, spec, &err);
    }
    self->spec = spec;
    self->message = message;
    self->model = tk_model_ref(training->model);
    self->submit.started_ns = tk_clock_mono_ns(tk_core_clock(training->handle->core));
    tk_buf_init(&self->body, BODY_MAX_BYTES);
    tk_op_init(&self->op, &training_type, training->handle, spec->operation, spec->kind);
    tinkc_code code = prepare(self, &err);
    if (spec->free_message == NULL) {
        self->message = NULL;
    }
    return code == TINKC_OK ? tk_op_submit(&self->op) : tk_op_refuse(&self->op, &err);
}
