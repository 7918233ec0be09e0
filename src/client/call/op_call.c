/* Waits for the service, makes the call, turns the answer into a result. */
#include "client/call/op_call.h"

#include <string.h>

#include "base/mem.h"

#define BODY_MAX_BYTES (16 * TK_MIB)

/* ---- as a first member ---- */

static void on_ready(tk_ready *ready, tinkc_code code, const tk_err *err)
{
    tk_op_call *self = TK_CONTAINER_OF(ready, tk_op_call, ready);
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, err);
        return;
    }
    self->send(self);
}

void tk_op_call_start(tk_op_call *self, bool need_session, void (*send)(tk_op_call *self))
{
    if (self->op.is_foreign) {
        send(self); /* our own server has no part in it */
        return;
    }
    self->send = send;
    self->ready.need_session = need_session;
    self->ready.done = on_ready;
    tk_core_when_ready(self->op.core, &self->ready);
}

void tk_op_call_cancel(tk_op *op)
{
    tk_op_call *self = TK_CONTAINER_OF(op, tk_op_call, op);
    if (tk_call_is_running(&self->call)) {
        tk_call_cancel(&self->call);
        return;
    }
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    tk_core_forget_ready(op->core, &self->ready);
    tk_op_fail(op, &err);
}

/* ---- from a description ---- */

typedef struct described {
    tk_op_call base;
    const tk_op_call_spec *spec;
    tk_buf body;
    char *path_arg, *query;
    char *lines[TK_OP_CALL_LINES]; /* one may be a secret */
    size_t lines_n;
} described;

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    described *self = call->user;
    tk_err err = TK_ERR_INIT;
    if (answer->code != TINKC_OK) {
        tk_op_fail(&self->base.op, answer->err);
        return;
    }
    void *result = NULL;
    if (self->spec->read != NULL) {
        result = self->spec->read(answer->response->body, &err);
        if (result == NULL) {
            tk_op_fail(&self->base.op, &err);
            return;
        }
    }
    tk_op_complete(&self->base.op, result, self->spec->free_result);
}

static void send(tk_op_call *call)
{
    described *self = TK_CONTAINER_OF(call, described, base);
    self->base.call = (tk_call){.core = self->base.op.core,
                                .endpoint = tk_endpoint_at(self->spec->endpoint),
                                .path_arg = self->path_arg,
                                .query = self->query,
                                .body = self->body.n > 0 ? self->body.p : NULL,
                                .body_n = self->body.n,
                                .lines = (const char *const *)self->lines,
                                .lines_n = self->lines_n,
                                .future = self->base.op.future,
                                .done = on_answer,
                                .user = self};
    tk_call_start(&self->base.call);
}

static void start(tk_op *op)
{
    described *self = TK_CONTAINER_OF(op, described, base.op);
    tk_op_call_start(&self->base, self->spec->need_session, send);
}

static void destroy(tk_op *op)
{
    described *self = TK_CONTAINER_OF(op, described, base.op);
    tk_buf_dispose(&self->body);
    for (size_t i = 0; i < self->lines_n; i++) {
        tk_mem_wipe(self->lines[i], strlen(self->lines[i]));
        tk_free(self->lines[i]);
    }
    tk_free(self->path_arg);
    tk_free(self->query);
    tk_free(self);
}

static const tk_op_type described_type = {start, tk_op_call_cancel, destroy};

static tinkc_code copy_text(char **out, const char *text, tk_err *err)
{
    *out = text != NULL ? tk_strdup(text) : NULL;
    return text != NULL && *out == NULL ? tk_err_nomem(err) : TINKC_OK;
}

static tinkc_code keep_args(described *self, const tk_op_call_args *args, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (args->schema != NULL) {
        code = tk_schema_encode(&self->body, args->schema, args->message, err);
    }
    if (code == TINKC_OK) {
        code = copy_text(&self->path_arg, args->path_arg, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < TK_OP_CALL_LINES; i++) {
        if (args->lines[i] != NULL) {
            code = copy_text(&self->lines[self->lines_n], args->lines[i], err);
            self->lines_n += code == TINKC_OK;
        }
    }
    return code == TINKC_OK ? copy_text(&self->query, args->query, err) : code;
}

tinkc_future *tk_op_call_run(tk_handle *handle, const tk_op_call_spec *spec,
                             const tk_op_call_args *args)
{
    static const tk_op_call_args none = {0};
    tk_err err = TK_ERR_INIT;
    described *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_handle_refuse(handle, spec->operation, spec->kind, &err);
    }
    self->spec = spec;
    tk_buf_init(&self->body, BODY_MAX_BYTES);
    tk_op_init(&self->base.op, &described_type, handle, spec->operation, spec->kind);
    return keep_args(self, args != NULL ? args : &none, &err) == TINKC_OK
               ? tk_op_submit(&self->base.op)
               : tk_op_refuse(&self->base.op, &err);
}
