/* See simple.h. */
#include "client/call/simple.h"

#include "base/mem.h"
#include "client/call/op_call.h"

#define BODY_MAX_BYTES (16 * TK_MIB)

typedef struct simple {
    tk_op_call base;
    const tk_simple_spec *spec;
    tk_buf body;
    char *path_arg, *query;
} simple;

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    simple *self = call->user;
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
    simple *self = TK_CONTAINER_OF(call, simple, base);
    self->base.call = (tk_call){.core = self->base.op.core,
                                .endpoint = tk_endpoint_at(self->spec->endpoint),
                                .path_arg = self->path_arg,
                                .query = self->query,
                                .body = self->body.n > 0 ? self->body.p : NULL,
                                .body_n = self->body.n,
                                .future = self->base.op.future,
                                .done = on_answer,
                                .user = self};
    tk_call_start(&self->base.call);
}

static void start(tk_op *op)
{
    simple *self = TK_CONTAINER_OF(op, simple, base.op);
    tk_op_call_start(&self->base, self->spec->need_session, send);
}

static void destroy(tk_op *op)
{
    simple *self = TK_CONTAINER_OF(op, simple, base.op);
    tk_buf_dispose(&self->body);
    tk_free(self->path_arg);
    tk_free(self->query);
    tk_free(self);
}

static const tk_op_type simple_type = {start, tk_op_call_cancel, destroy};

static tinkc_code copy_text(char **out, const char *text, tk_err *err)
{
    *out = text != NULL ? tk_strdup(text) : NULL;
    return text != NULL && *out == NULL ? tk_err_nomem(err) : TINKC_OK;
}

tinkc_future *tk_simple_start(tk_core *core, const tk_simple_spec *spec,
                              const tk_simple_args *args)
{
    tk_err err = TK_ERR_INIT;
    simple *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_future_refused(tk_core_driver(core), spec->operation, spec->kind, &err);
    }
    self->spec = spec;
    tk_buf_init(&self->body, BODY_MAX_BYTES);
    tk_op_init(&self->base.op, &simple_type, core, spec->operation, spec->kind);
    tinkc_code code = TINKC_OK;
    if (args->schema != NULL) {
        code = tk_schema_encode(&self->body, args->schema, args->message, &err);
    }
    if (code == TINKC_OK) {
        code = copy_text(&self->path_arg, args->path_arg, &err);
    }
    if (code == TINKC_OK) {
        code = copy_text(&self->query, args->query, &err);
    }
    return code == TINKC_OK ? tk_op_submit(&self->base.op)
                            : tk_op_refuse(&self->base.op, &err);
}

tinkc_future *tk_simple_run(tk_core *core, const tk_simple_spec *spec,
                            const tk_schema *schema, const void *message,
                            const char *path_arg)
{
    return tk_simple_start(
        core, spec,
        &(tk_simple_args){.schema = schema, .message = message, .path_arg = path_arg});
}
