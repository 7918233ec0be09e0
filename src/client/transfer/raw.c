/* A request of the caller's own making whose answer is collected: one call, as the plain
 * operations of simple.c, with the caller's method, URL, headers and body. */
#include <tinkc/raw.h>

#include "base/mem.h"
#include "client/call/op_call.h"
#include "client/core/service.h"
#include "client/transfer/raw_response.h"
#include "client/transfer/raw_send.h"
#include "client/transfer/request.h"
#include "client/values/types.h"

typedef struct raw {
    tk_op_call base;
    tk_request request;
    bool any_status;
} raw;

static const char operation[] = "raw";

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    raw *self = call->user;
    tk_err err = TK_ERR_INIT;
    bool answered = answer->response != NULL && answer->response->failure == TK_HTTP_OK;
    if (answer->code != TINKC_OK && !(self->any_status && answered)) {
        tk_op_fail(&self->base.op, answer->err);
        return;
    }
    tinkc_raw_response *response = tk_raw_response_copy(answer->response, &err);
    if (response != NULL) {
        tk_op_complete(&self->base.op, response, tk_raw_response_free);
    } else {
        tk_op_fail(&self->base.op, &err);
    }
}

static size_t read_body(tk_call *call, uint64_t offset, char *p, size_t n)
{
    raw *self = call->user;
    return tk_request_read(&self->request, offset, p, n);
}

static void send(tk_op_call *call)
{
    raw *self = TK_CONTAINER_OF(call, raw, base);
    self->base.call = (tk_call){.core = self->base.op.core,
                                .future = self->base.op.future,
                                .done = on_answer,
                                .user = self};
    tk_request_apply(&self->base.call, &self->request);
    self->base.call.read_body = tk_request_is_read(&self->request) ? read_body : NULL;
    tk_call_start(&self->base.call);
}

static void start(tk_op *op)
{
    raw *self = TK_CONTAINER_OF(op, raw, base.op);
    tk_op_call_start(&self->base, false, send);
}

static void destroy(tk_op *op)
{
    raw *self = TK_CONTAINER_OF(op, raw, base.op);
    tk_request_dispose(&self->request);
    tk_free(self);
}

static const tk_op_type raw_type = {start, tk_op_call_cancel, destroy};

tinkc_future *tk_raw_send(tk_core *core, tk_request *request, bool any_status)
{
    tk_err err = TK_ERR_INIT;
    raw *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_request_dispose(request);
        tk_err_nomem(&err);
        return tk_future_refused(tk_core_driver(core), operation, TK_RESULT_RAW, &err);
    }
    tk_op_init(&self->base.op, &raw_type, core, operation, TK_RESULT_RAW);
    self->any_status = any_status;
    self->request = *request;
    *request = (tk_request){0};
    self->base.op.is_foreign = self->request.anonymous;
    return tk_op_submit(&self->base.op);
}

tinkc_future *tinkc_raw_send(tinkc_service *service, const tinkc_raw_request *request)
{
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_RAW);
    }
    tk_err err = TK_ERR_INIT;
    tk_core *core = tk_service_core(service);
    tinkc_raw_request mine = TINKC_RAW_REQUEST_INIT;
    tk_request own = {0};
    tinkc_code code = tk_types_options(&mine, sizeof(mine), request, &err);
    if (code == TINKC_OK) {
        code = tk_request_init(&own, request, tk_core_base_url(core), 0, &err);
    }
    return code == TINKC_OK
               ? tk_raw_send(core, &own, mine.any_status)
               : tk_future_refused(tk_core_driver(core), operation, TK_RESULT_RAW, &err);
}

tinkc_code tinkc_future_take_raw_response(tinkc_raw_response **out, tinkc_future *future,
                                          tinkc_error **err)
{
    return tk_future_take(out, future, TK_RESULT_RAW, err);
}

tinkc_code tinkc_raw_send_wait(tinkc_raw_response **out, tinkc_service *service,
                               const tinkc_raw_request *request, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_raw_send(service, request), TK_RESULT_RAW, err);
}
