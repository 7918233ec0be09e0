/* A sampling session that several processes share (docs/protocol.md §4.3): export writes
 * the handle, a text without credentials in the official SDK's format; import joins the
 * session, which gives the client its own range of sequence ids. */
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "client/call/cancel.h"
#include "client/call/op_call.h"
#include "client/core/service.h"
#include "client/core/text.h"
#include "client/sampling/sampling.h"
#include "client/values/error.h"

#define HANDLE_MAX_BYTES (64 * TK_KIB)
#define ID_MAX_BYTES     256
#define BODY_MAX_BYTES   (4 * TK_KIB)

/* ---- export: caller's thread ---- */

/* Of the session to which a sampling session belongs: this service's, or what its id
 * says. */
static tk_str session_of(const tk_sampler *sampler)
{
    const char *own = tk_core_session_id(sampler->core);
    const char *end = strstr(sampler->id, ":sample:");
    tk_str from_id = {sampler->id, end != NULL ? (size_t)(end - sampler->id) : 0};
    return from_id.n > 0 ? from_id : tk_str_of(own != NULL ? own : "");
}

static void put_text(tk_json_writer *w, const char *key, tk_str value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, value);
}

static void put_bool(tk_json_writer *w, const char *key, bool value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_bool(w, value);
}

/* Headers may be secrets: none is written. */
static tinkc_code write_handle(tk_buf *out, const tk_sampler *sampler, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    put_text(&w, "session_id", session_of(sampler));
    put_text(&w, "sampling_session_id", tk_str_of(sampler->id));
    tk_json_key(&w, TK_STR("holder"));
    tk_json_begin_object(&w);
    put_text(&w, "base_url", tk_str_of(tk_core_base_url(sampler->core)));
    tk_json_key(&w, TK_STR("default_headers_overrides"));
    tk_json_begin_object(&w);
    tk_json_end_object(&w);
    tk_json_key(&w, TK_STR("client_config"));
    tinkc_code code =
        tk_schema_write(&w, &tk_msg_client_config, tk_core_flags(sampler->core), err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_json_key(&w, TK_STR("client_dynamic_config"));
    tk_json_begin_object(&w);
    put_bool(&w, "sample_cancel_enabled",
             tk_cancel_is_on(tk_core_cancels(sampler->core)));
    tk_json_end_object(&w);
    tk_json_key(&w, TK_STR("api_key"));
    tk_json_put_null(&w);
    tk_json_end_object(&w);
    put_bool(&w, "record_stability_info", false);
    tk_json_end_object(&w);
    return tk_buf_status(out, err);
}

/* base64url with padding. */
static tinkc_code encode_handle(char **out, tk_str json, tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, HANDLE_MAX_BYTES);
    tk_base64_encode(&text, json.p, json.n);
    tinkc_code code = tk_buf_status(&text, err);
    if (code == TINKC_OK) {
        for (size_t i = 0; i < text.n; i++) {
            text.p[i] = text.p[i] == '+' ? '-' : text.p[i] == '/' ? '_' : text.p[i];
        }
        *out = tk_strndup(text.p, text.n);
        code = *out != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    tk_buf_dispose(&text);
    return code;
}

tinkc_code tinkc_sampling_export(char **out, const tinkc_sampling *sampling,
                                 tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_buf json;
    tk_buf_init(&json, HANDLE_MAX_BYTES);
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (sampling == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "the handle is NULL");
    } else if (sampling->sampler->source != TK_SAMPLER_SESSION) {
        tk_err_set(&err, TINKC_E_STATE,
                   "this client has no sampling session that others could join");
    } else if (tk_core_check(sampling->sampler->core, &err) == TINKC_OK &&
               write_handle(&json, sampling->sampler, &err) == TINKC_OK) {
        (void)encode_handle(out, tk_buf_str(&json), &err);
    }
    tk_buf_dispose(&json);
    return err.code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}

/* ---- import ---- */

typedef struct joining {
    tk_op_call base;
    char *session_id; /* of the sampling session */
    tk_buf body;
} joining;

static tinkc_code read_joined(tinkc_sampling **out, const joining *self, tk_str body,
                              tk_err *err)
{
    tk_join_sampling_session_response said;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = tk_schema_decode_text(&said, &tk_msg_join_sampling_session_response,
                                            &arena, body, 0, err);
    if (code == TINKC_OK) {
        code =
            tk_sampling_new(out, self->base.op.handle, tk_str_of(self->session_id), err);
    }
    if (code == TINKC_OK) {
        tk_sampler_set_clone((*out)->sampler, said.client_counter.v);
    }
    tk_arena_dispose(&arena);
    return code;
}

static void on_joined(tk_call *call, const tk_call_answer *answer)
{
    joining *self = call->user;
    tk_err err = TK_ERR_INIT;
    tinkc_sampling *sampling = NULL;
    if (answer->code != TINKC_OK) {
        tk_op_fail(&self->base.op, answer->err);
    } else if (read_joined(&sampling, self, answer->response->body, &err) != TINKC_OK) {
        tk_op_fail(&self->base.op, &err);
    } else {
        tk_op_complete(&self->base.op, sampling, tk_sampling_free);
    }
}

/* Without a range of its own the client would use the numbers of another. */
static tinkc_code check_offered(const tk_core *core, tk_err *err)
{
    if (!tk_config_sdk_at_least(tk_core_config(core), 36)) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "joining a sampling session needs the option sdk_version "
                          "0.36.0 or later");
    }
    return tk_core_flags(core)->sample_join_sampling_session.v
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_UNSUPPORTED,
                            "the server does not let clients join a sampling session");
}

static void send(tk_op_call *call)
{
    joining *self = TK_CONTAINER_OF(call, joining, base);
    tk_err err = TK_ERR_INIT;
    tk_join_sampling_session_request request = {
        .sampling_session_id = {TK_SET, tk_str_of(self->session_id)}};
    if (check_offered(self->base.op.core, &err) != TINKC_OK ||
        tk_schema_encode(&self->body, &tk_msg_join_sampling_session_request, &request,
                         &err) != TINKC_OK) {
        tk_op_fail(&self->base.op, &err);
        return;
    }
    self->base.call = (tk_call){.core = self->base.op.core,
                                .endpoint = tk_endpoint_at(TK_EP_JOIN_SAMPLING),
                                .body = self->body.p,
                                .body_n = self->body.n,
                                .future = self->base.op.future,
                                .done = on_joined,
                                .user = self};
    tk_call_start(&self->base.call);
}

static void start(tk_op *op)
{
    tk_op_call_start(TK_CONTAINER_OF(op, tk_op_call, op), false, send);
}

static void destroy(tk_op *op)
{
    joining *self = TK_CONTAINER_OF(op, joining, base.op);
    tk_buf_dispose(&self->body);
    tk_free(self->session_id);
    tk_free(self);
}

static const tk_op_type joining_type = {start, tk_op_call_cancel, destroy};

/* ---- reading a handle: caller's thread ---- */

static tinkc_code not_a_handle(tk_err *err)
{
    return tk_err_set(err, TINKC_E_INVALID,
                      "the text is not a handle of tinkc_sampling_export");
}

static bool is_plain(tk_str id)
{
    for (size_t i = 0; i < id.n; i++) {
        if ((unsigned char)id.p[i] <= ' ' || (unsigned char)id.p[i] >= 0x7f) {
            return false;
        }
    }
    return id.n > 0 && id.n <= ID_MAX_BYTES;
}

static tinkc_code find_id(char **out, tk_arena *arena, tk_str bytes, tk_err *err)
{
    const tk_json *json = NULL;
    tinkc_code code = tk_json_parse(&json, arena, bytes.p, bytes.n, NULL, NULL);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    const tk_json *id =
        code == TINKC_OK ? tk_json_get(json, "sampling_session_id") : NULL;
    if (id == NULL || id->type != TK_JSON_STRING || !is_plain(id->as.string)) {
        return not_a_handle(err);
    }
    *out = tk_strndup(id->as.string.p, id->as.string.n);
    return *out != NULL ? TINKC_OK : tk_err_nomem(err);
}

/* Only the id of the sampling session counts: server and credential are the service's. */
static tinkc_code read_handle(char **out, const char *handle, tk_err *err)
{
    size_t n = handle != NULL ? strnlen(handle, HANDLE_MAX_BYTES + 1) : 0;
    if (n == 0 || n > HANDLE_MAX_BYTES) {
        return not_a_handle(err);
    }
    for (int i = 0; i < 2 && n > 0 && handle[n - 1] == '='; i++) {
        n--;
    }
    tk_str text = {handle, n};
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    size_t bytes = tk_base64_decoded_size(text);
    char *room = tk_arena_alloc(&arena, bytes + 1);
    tinkc_code code = TINKC_OK;
    if (room == NULL) {
        code = tk_err_nomem(err);
    } else if (tk_base64_decode_url(room, text, NULL) != TINKC_OK) {
        code = not_a_handle(err);
    } else {
        code = find_id(out, &arena, (tk_str){room, bytes}, err);
    }
    tk_arena_dispose(&arena);
    return code;
}

tinkc_future *tinkc_service_import_sampling(tinkc_service *service, const char *handle)
{
    static const char operation[] = "import_sampling";
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_SAMPLING);
    }
    tk_err err = TK_ERR_INIT;
    tk_handle *own = tk_service_handle(service);
    joining *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_handle_refuse(own, operation, TK_RESULT_SAMPLING, &err);
    }
    tk_buf_init(&self->body, BODY_MAX_BYTES);
    tk_op_init(&self->base.op, &joining_type, own, operation, TK_RESULT_SAMPLING);
    return read_handle(&self->session_id, handle, &err) == TINKC_OK
               ? tk_op_submit(&self->base.op)
               : tk_op_refuse(&self->base.op, &err);
}

tinkc_code tinkc_service_import_sampling_wait(tinkc_sampling **out,
                                              tinkc_service *service, const char *handle,
                                              tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_service_import_sampling(service, handle),
                               TK_RESULT_SAMPLING, err);
}
