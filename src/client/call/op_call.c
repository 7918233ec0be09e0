/* See op_call.h. */
#include "client/call/op_call.h"

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
