/* Losses that run at the server: create_custom_loss (docs/protocol.md §6.5), where the
 * server offers it. The loss is the session's; training calls name it by the id that is the
 * result. */
#include "base/mem.h"
#include "client/call/submit.h"
#include "client/core/service.h"
#include "client/core/text.h"
#include "client/training/training.h"
#include "client/values/params.h"

#define BODY_MAX_BYTES TK_MIB

typedef struct creation {
    tk_op op;
    tk_ready ready;
    tk_submit submit;
    tk_arena arena; /* of the request */
    tk_buf body;
    tk_create_custom_loss_request request;
} creation;

static creation *of(tk_op *op)
{
    return TK_CONTAINER_OF(op, creation, op);
}

/* ---- loop thread ---- */

static void on_settled(tk_submit *submit, tinkc_code code, const tk_err *err)
{
    creation *self = submit->user;
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, err);
    }
}

static char *read_id(creation *self, const tk_json *json, tk_err *err)
{
    tk_create_custom_loss_result said = {.loss_id = {.is = TK_UNSET}};
    if (tk_schema_decode(&said, &tk_msg_create_custom_loss_result, &self->arena, json, 0,
                         err) != TINKC_OK) {
        return NULL;
    }
    if (said.loss_id.v.n == 0) {
        tk_err_set(err, TINKC_E_DECODE, "the server gave the loss no id");
        return NULL;
    }
    char *id = tk_strndup(said.loss_id.v.p, said.loss_id.v.n);
    if (id == NULL) {
        tk_err_nomem(err);
    }
    return id;
}

static void on_created(tk_submit *submit, const tk_poll_result *result)
{
    creation *self = submit->user;
    tk_err err = TK_ERR_INIT;
    if (result->code != TINKC_OK) {
        tk_op_fail(&self->op, result->err);
        return;
    }
    char *id = read_id(self, result->json, &err);
    if (id == NULL) {
        tk_op_fail(&self->op, &err);
        return;
    }
    tk_op_complete(&self->op, id, tk_free);
}

static tinkc_code encode(creation *self, tk_err *err)
{
    tk_core *core = self->op.core;
    if (!tk_core_flags(core)->custom_loss_server_side.v) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the server does not run losses of its clients: use "
                          "tinkc_training_forward_backward_custom");
    }
    self->request.session_id = tk_f_str_of(tk_core_session_id(core));
    self->request.custom_loss_seq_id = (tk_f_i64){TK_SET, tk_core_next_loss_seq(core)};
    return tk_schema_encode(&self->body, &tk_msg_create_custom_loss_request,
                            &self->request, err);
}

static void on_ready(tk_ready *ready, tinkc_code code, const tk_err *failure)
{
    creation *self = TK_CONTAINER_OF(ready, creation, ready);
    tk_err err = TK_ERR_INIT;
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, failure);
        return;
    }
    if (encode(self, &err) != TINKC_OK) {
        tk_op_fail(&self->op, &err);
        return;
    }
    self->submit = (tk_submit){.core = self->op.core,
                               .form.endpoint = TK_EP_CREATE_CUSTOM_LOSS,
                               .type = TK_FUTURE_CREATE_CUSTOM_LOSS,
                               .form.body = self->body.p,
                               .form.body_n = self->body.n,
                               .what = "loss creation",
                               .future = self->op.future,
                               .started_ns = self->submit.started_ns,
                               .settled = on_settled,
                               .done = on_created,
                               .user = self};
    tk_submit_start(&self->submit);
}

static void start(tk_op *op)
{
    creation *self = of(op);
    self->ready.need_session = true;
    self->ready.done = on_ready;
    tk_core_when_ready(op->core, &self->ready);
}

static void cancel(tk_op *op)
{
    creation *self = of(op);
    if (tk_submit_is_running(&self->submit)) {
        tk_submit_cancel(&self->submit);
        return;
    }
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    tk_core_forget_ready(op->core, &self->ready);
    tk_op_fail(op, &err);
}

static void destroy(tk_op *op)
{
    creation *self = of(op);
    tk_buf_dispose(&self->body);
    tk_arena_dispose(&self->arena);
    tk_free(self);
}

static const tk_op_type creation_type = {start, cancel, destroy};

/* ---- the caller's thread ---- */

/* Takes what the request points to over into the arena: the caller's texts may go. */
static tinkc_code own_texts(creation *self, tk_err *err)
{
    tk_buf text;
    const tk_json *value = NULL;
    tk_create_custom_loss_request copy = self->request;
    copy.session_id = tk_f_str_of("");
    copy.custom_loss_seq_id = (tk_f_i64){TK_SET, 0};
    tk_buf_init(&text, BODY_MAX_BYTES);
    tinkc_code code =
        tk_schema_encode(&text, &tk_msg_create_custom_loss_request, &copy, err);
    if (code == TINKC_OK) {
        code = tk_json_parse(&value, &self->arena, text.p, text.n, NULL, err);
    }
    if (code == TINKC_OK) {
        code = tk_schema_decode(&self->request, &tk_msg_create_custom_loss_request,
                                &self->arena, value, 0, err);
    }
    tk_buf_dispose(&text);
    return code;
}

tinkc_future *tinkc_service_create_custom_loss(tinkc_service *service,
                                               const tinkc_custom_loss *loss)
{
    static const char operation[] = "create_custom_loss";
    tk_err err = TK_ERR_INIT;
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_TEXT);
    }
    tk_handle *handle = tk_service_handle(service);
    creation *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_handle_refuse(handle, operation, TK_RESULT_TEXT, &err);
    }
    self->submit.started_ns = tk_clock_mono_ns(tk_core_clock(handle->core));
    tk_buf_init(&self->body, BODY_MAX_BYTES);
    tk_arena_init(&self->arena, 0);
    tk_op_init(&self->op, &creation_type, handle, operation, TK_RESULT_TEXT);
    tinkc_code code = tk_params_custom_loss(&self->request, &self->arena, loss, &err);
    if (code == TINKC_OK) {
        code = own_texts(self, &err);
    }
    return code == TINKC_OK ? tk_op_submit(&self->op) : tk_op_refuse(&self->op, &err);
}

tinkc_code tinkc_service_create_custom_loss_wait(char **out, tinkc_service *service,
                                                 const tinkc_custom_loss *loss,
                                                 tinkc_error **err)
{
    return tk_text_wait(out, tinkc_service_create_custom_loss(service, loss), err);
}
