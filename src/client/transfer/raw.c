/* A raw request whose answer is collected: one call, with the caller's method, URL,
 * headers and body. */
#include "client/transfer/raw.h"

#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "client/call/op_call.h"
#include "client/core/service.h"
#include "client/values/types.h"

/* ---- the answer ---- */

/* Immutable once made; thread: any. */
struct tinkc_raw_response {
    tk_arena arena;
    int status;
    tinkc_pair *headers;
    size_t headers_n;
    tk_str body;
};

static bool copy_all(tinkc_raw_response *out, const tk_http_response *from)
{
    tk_str name, value;
    out->headers = tk_arena_array(&out->arena, from->headers_n, sizeof(*out->headers));
    if (out->headers == NULL ||
        !tk_arena_dup(&out->arena, &out->body, from->body.p, from->body.n)) {
        return false;
    }
    for (size_t i = 0; i < from->headers_n; i++) {
        const tk_http_field *field = &from->headers[i];
        if (!tk_arena_dup(&out->arena, &name, field->name.p, field->name.n) ||
            !tk_arena_dup(&out->arena, &value, field->value.p, field->value.n)) {
            return false;
        }
        out->headers[i] = (tinkc_pair){name.p, value.p};
    }
    out->headers_n = from->headers_n;
    out->status = from->status;
    return true;
}

tinkc_raw_response *tk_raw_response_copy(const tk_http_response *response, tk_err *err)
{
    tinkc_raw_response *copy = tk_zalloc(sizeof(*copy));
    if (copy != NULL) {
        tk_arena_init(&copy->arena, 0);
    }
    if (copy == NULL || !copy_all(copy, response)) {
        tk_raw_response_free(copy);
        tk_err_nomem(err);
        return NULL;
    }
    return copy;
}

void tk_raw_response_free(void *response)
{
    tinkc_raw_response *own = response;
    if (own != NULL) {
        tk_arena_dispose(&own->arena);
        tk_free(own);
    }
}

void tinkc_raw_response_free(tinkc_raw_response **response)
{
    if (response != NULL) {
        tk_raw_response_free(*response);
        *response = NULL;
    }
}

int tinkc_raw_response_status(const tinkc_raw_response *response)
{
    return response != NULL ? response->status : 0;
}

const char *tinkc_raw_response_header(const tinkc_raw_response *response,
                                      const char *name)
{
    tinkc_pair pair;
    for (size_t i = 0; tinkc_raw_response_header_at(&pair, response, i); i++) {
        if (name != NULL && tk_str_is_nocase(tk_str_of(pair.name), name)) {
            return pair.value;
        }
    }
    return NULL;
}

bool tinkc_raw_response_header_at(tinkc_pair *out, const tinkc_raw_response *response,
                                  size_t index)
{
    if (out == NULL || response == NULL || index >= response->headers_n) {
        return false;
    }
    *out = response->headers[index];
    return true;
}

const char *tinkc_raw_response_body(size_t *n, const tinkc_raw_response *response)
{
    if (n != NULL) {
        *n = response != NULL ? response->body.n : 0;
    }
    return response != NULL ? response->body.p : NULL;
}

/* ---- the request ---- */

static tinkc_code read_method(tk_http_method *out, const char *method, tk_err *err)
{
    static const tk_http_method methods[] = {TK_HTTP_GET, TK_HTTP_POST, TK_HTTP_PUT,
                                             TK_HTTP_PATCH, TK_HTTP_DELETE};
    for (size_t i = 0; method != NULL && i < TK_ARRAY_LEN(methods); i++) {
        if (strcmp(method, tk_http_method_name(methods[i])) == 0) {
            *out = methods[i];
            return TINKC_OK;
        }
    }
    return tk_err_set(err, TINKC_E_INVALID, "not a method: \"%s\"",
                      method != NULL ? method : "");
}

tinkc_code tk_raw_read_request(tk_request *out, bool *any_status, tk_core *core,
                               const tinkc_raw_request *request, bool is_streamed,
                               tk_err *err)
{
    tinkc_raw_request from = TINKC_RAW_REQUEST_INIT;
    tk_http_method method = TK_HTTP_GET;
    tinkc_code code = tk_types_options(&from, sizeof(from), request, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (from.timeout_ms < TINKC_FOREVER || from.max_retries < -1) {
        return tk_err_set(err, TINKC_E_INVALID, "timeout_ms or max_retries is negative");
    }
    code = read_method(&method, from.method, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (any_status != NULL) {
        *any_status = from.any_status;
    }
    tk_request_spec spec = {.method = method,
                            .path = from.path,
                            .is_streamed = is_streamed,
                            .query = from.query,
                            .query_n = from.query_n,
                            .headers = from.headers,
                            .headers_n = from.headers_n,
                            .content_type = from.content_type,
                            .body = from.body,
                            .body_n = from.body_n,
                            .is_form = from.multipart || from.parts_n > 0,
                            .parts = from.parts,
                            .parts_n = from.parts_n,
                            .timeout_ms = from.timeout_ms,
                            .max_retries = from.max_retries};
    return tk_request_init(out, &spec, tk_core_base_url(core), err);
}

/* ---- sending ---- */

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

tinkc_future *tk_raw_send(tk_handle *handle, tk_request *request, bool any_status)
{
    tk_err err = TK_ERR_INIT;
    raw *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_request_dispose(request);
        tk_err_nomem(&err);
        return tk_handle_refuse(handle, operation, TK_RESULT_RAW, &err);
    }
    tk_op_init(&self->base.op, &raw_type, handle, operation, TK_RESULT_RAW);
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
    tk_handle *handle = tk_service_handle(service);
    tk_request own = {0};
    bool any_status = false;
    return tk_raw_read_request(&own, &any_status, handle->core, request, false, &err) ==
                   TINKC_OK
               ? tk_raw_send(handle, &own, any_status)
               : tk_handle_refuse(handle, operation, TK_RESULT_RAW, &err);
}

tinkc_code tinkc_raw_send_wait(tinkc_raw_response **out, tinkc_service *service,
                               const tinkc_raw_request *request, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_raw_send(service, request), TK_RESULT_RAW, err);
}
