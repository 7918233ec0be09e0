/* The sampling handle: its life, how one is created on the server, and what the server
 * says about it. Samples themselves are sample.c's. */
#include "client/sampling/sampling.h"

#include "base/mem.h"
#include "client/call/op_call.h"
#include "client/core/service.h"
#include "client/core/text.h"
#include "client/values/error.h"
#include "client/values/params.h"
#include "wire/msg_weights.h"

#define BODY_MAX_BYTES TK_MIB

/* ---- life ---- */

/* Takes both references, also when it fails. */
static tinkc_code join(tinkc_sampling **out, tk_handle *handle, tk_sampler *sampler,
                       tk_err *err)
{
    tinkc_sampling *sampling = tk_zalloc(sizeof(*sampling));
    if (sampling == NULL) {
        tk_handle_unref(&handle);
        tk_sampler_unref(&sampler);
        return tk_err_nomem(err);
    }
    *sampling = (tinkc_sampling){.handle = handle, .sampler = sampler};
    *out = sampling;
    return TINKC_OK;
}

tinkc_code tk_sampling_new(tinkc_sampling **out, tk_handle *handle,
                           tk_str sampling_session_id, tk_err *err)
{
    tk_sampler *sampler = NULL;
    tinkc_code code = tk_sampler_new(&sampler, handle->core, sampling_session_id, err);
    return code == TINKC_OK ? join(out, tk_handle_ref(handle), sampler, err) : code;
}

void tinkc_sampling_close(tinkc_sampling **sampling_ref)
{
    tinkc_sampling *sampling = sampling_ref != NULL ? *sampling_ref : NULL;
    if (sampling == NULL) {
        return;
    }
    *sampling_ref = NULL;
    tk_sampler_unref(&sampling->sampler);
    tk_handle_unref(&sampling->handle);
    tk_free(sampling);
}

tinkc_code tinkc_sampling_with_context(tinkc_sampling **out, tinkc_sampling *sampling,
                                       const tinkc_context *context, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_handle *handle = NULL;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (sampling == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "the handle is NULL");
    } else if (tk_handle_with_context(&handle, sampling->handle, context, &err) ==
                   TINKC_OK &&
               join(out, handle, tk_sampler_ref(sampling->sampler), &err) == TINKC_OK) {
        (*out)->retry = sampling->retry;
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

tinkc_code tinkc_sampling_with_retry(tinkc_sampling **out, tinkc_sampling *sampling,
                                     const tinkc_sample_retry *retry, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_sample_retry mine = TINKC_SAMPLE_RETRY_INIT;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (sampling == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "the handle is NULL");
    } else if (tk_params_sample_retry(&mine, retry, &err) == TINKC_OK &&
               tk_core_check(sampling->handle->core, &err) == TINKC_OK &&
               join(out, tk_handle_ref(sampling->handle),
                    tk_sampler_ref(sampling->sampler), &err) == TINKC_OK) {
        (*out)->retry = mine;
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

void tk_sampling_free(void *sampling)
{
    tinkc_sampling *handle = sampling;
    tinkc_sampling_close(&handle);
}

const char *tinkc_sampling_session_id(const tinkc_sampling *sampling)
{
    bool has_session =
        sampling != NULL && sampling->sampler->source == TK_SAMPLER_SESSION;
    return has_session ? sampling->sampler->id : NULL;
}

/* ---- creating one ---- */

typedef struct creation {
    tk_op_call base;
    tk_buf body;
    char *base_model, *model_path; /* or NULL */
} creation;

static tinkc_code read_created(tinkc_sampling **out, tk_handle *handle, tk_str body,
                               tk_err *err)
{
    tk_create_sampling_session_response said = {0};
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = tk_schema_decode_text(
        &said, &tk_msg_create_sampling_session_response, &arena, body, 0, err);
    if (code == TINKC_OK) {
        code = tk_sampling_new(out, handle, said.sampling_session_id.v, err);
    }
    tk_arena_dispose(&arena);
    return code;
}

static void on_created(tk_call *call, const tk_call_answer *answer)
{
    creation *self = call->user;
    tk_err err = TK_ERR_INIT;
    tinkc_sampling *sampling = NULL;
    if (answer->code != TINKC_OK) {
        tk_op_fail(&self->base.op, answer->err);
    } else if (read_created(&sampling, self->base.op.handle, answer->response->body,
                            &err) != TINKC_OK) {
        tk_op_fail(&self->base.op, &err);
    } else {
        tk_op_complete(&self->base.op, sampling, tk_sampling_free);
    }
}

static void send(tk_op_call *call)
{
    creation *self = TK_CONTAINER_OF(call, creation, base);
    tk_err err = TK_ERR_INIT;
    tk_core *core = self->base.op.core;
    tk_create_sampling_session_request request = {
        .session_id = tk_f_str_of(tk_core_session_id(core)),
        .sampling_session_seq_id = {TK_SET, tk_core_next_sampling_seq(core)},
        .base_model = tk_f_str_of(self->base_model),
        .model_path = tk_f_str_of(self->model_path)};
    if (tk_schema_encode(&self->body, &tk_msg_create_sampling_session_request, &request,
                         &err) != TINKC_OK) {
        tk_op_fail(&self->base.op, &err);
        return;
    }
    self->base.call = (tk_call){.core = core,
                                .endpoint = tk_endpoint_at(TK_EP_CREATE_SAMPLING),
                                .body = self->body.p,
                                .body_n = self->body.n,
                                .future = self->base.op.future,
                                .done = on_created,
                                .user = self};
    tk_call_start(&self->base.call);
}

static void start_creation(tk_op *op)
{
    creation *self = TK_CONTAINER_OF(op, creation, base.op);
    tk_op_call_start(&self->base, true, send);
}

static void destroy_creation(tk_op *op)
{
    creation *self = TK_CONTAINER_OF(op, creation, base.op);
    tk_buf_dispose(&self->body);
    tk_free(self->base_model);
    tk_free(self->model_path);
    tk_free(self);
}

static const tk_op_type creation_type = {start_creation, tk_op_call_cancel,
                                         destroy_creation};

static tinkc_code fill_creation(creation *self, const char *base_model,
                                const char *model_path, tk_err *err)
{
    tk_create_sampling_session_request asked = {.base_model = tk_f_str_of(base_model),
                                                .model_path = tk_f_str_of(model_path)};
    tinkc_code code = tk_sampling_session_check(&asked, err);
    if (code == TINKC_OK) {
        code = tk_text_copy(&self->base_model, base_model, "base_model", err);
    }
    if (code == TINKC_OK) {
        code = tk_text_copy(&self->model_path, model_path, "model_path", err);
    }
    return code;
}

tinkc_future *tinkc_service_create_sampling(tinkc_service *service,
                                            const char *base_model,
                                            const char *model_path)
{
    static const char operation[] = "create_sampling";
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_SAMPLING);
    }
    tk_err err = TK_ERR_INIT;
    tk_handle *handle = tk_service_handle(service);
    creation *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_handle_refuse(handle, operation, TK_RESULT_SAMPLING, &err);
    }
    tk_buf_init(&self->body, BODY_MAX_BYTES);
    tk_op_init(&self->base.op, &creation_type, handle, operation, TK_RESULT_SAMPLING);
    return fill_creation(self, base_model, model_path, &err) == TINKC_OK
               ? tk_op_submit(&self->base.op)
               : tk_op_refuse(&self->base.op, &err);
}

/* ---- one without a session ---- */

/* Nothing is sent for it: the service must be ready, which is when its flags are known. */
typedef struct opening {
    tk_op_call base;
    tk_sampler_source source;
    char *id;
} opening;

static void open_now(tk_op_call *call)
{
    opening *self = TK_CONTAINER_OF(call, opening, base);
    tk_err err = TK_ERR_INIT;
    tinkc_sampling *sampling = NULL;
    if (tk_sampling_new(&sampling, self->base.op.handle, tk_str_of(self->id), &err) !=
        TINKC_OK) {
        tk_op_fail(&self->base.op, &err);
        return;
    }
    sampling->sampler->source = self->source;
    tk_op_complete(&self->base.op, sampling, tk_sampling_free);
}

static void start_opening(tk_op *op)
{
    tk_op_call_start(TK_CONTAINER_OF(op, tk_op_call, op), false, open_now);
}

static void destroy_opening(tk_op *op)
{
    opening *self = TK_CONTAINER_OF(op, opening, base.op);
    tk_free(self->id);
    tk_free(self);
}

static const tk_op_type opening_type = {start_opening, tk_op_call_cancel,
                                        destroy_opening};

static tinkc_code fill_opening(opening *self, const tinkc_sample_target *target,
                               tk_err *err)
{
    tk_sample_request request = {.num_samples = {.is = TK_UNSET}};
    tinkc_code code = tk_params_sample_target(&request, target, err);
    if (code != TINKC_OK) {
        return code;
    }
    self->source = request.model_path.is == TK_SET   ? TK_SAMPLER_PATH
                   : request.base_model.is == TK_SET ? TK_SAMPLER_BASE_MODEL
                                                     : TK_SAMPLER_SESSION;
    const tk_f_str *ids[] = {[TK_SAMPLER_SESSION] = &request.sampling_session_id,
                             [TK_SAMPLER_PATH] = &request.model_path,
                             [TK_SAMPLER_BASE_MODEL] = &request.base_model};
    return tk_text_copy(&self->id, ids[self->source]->v.p, "the target", err);
}

tinkc_future *tinkc_service_open_sampling(tinkc_service *service,
                                          const tinkc_sample_target *target)
{
    static const char operation[] = "open_sampling";
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_SAMPLING);
    }
    tk_err err = TK_ERR_INIT;
    tk_handle *handle = tk_service_handle(service);
    opening *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_handle_refuse(handle, operation, TK_RESULT_SAMPLING, &err);
    }
    tk_op_init(&self->base.op, &opening_type, handle, operation, TK_RESULT_SAMPLING);
    return fill_opening(self, target, &err) == TINKC_OK
               ? tk_op_submit(&self->base.op)
               : tk_op_refuse(&self->base.op, &err);
}

tinkc_code tinkc_service_open_sampling_wait(tinkc_sampling **out, tinkc_service *service,
                                            const tinkc_sample_target *target,
                                            tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_service_open_sampling(service, target),
                               TK_RESULT_SAMPLING, err);
}

/* ---- with a session: the blocking twin ---- */

tinkc_code tinkc_service_create_sampling_wait(tinkc_sampling **out,
                                              tinkc_service *service,
                                              const char *base_model,
                                              const char *model_path, tinkc_error **err)
{
    return tk_future_wait_take(
        out, tinkc_service_create_sampling(service, base_model, model_path),
        TK_RESULT_SAMPLING, err);
}

/* ---- what the server says about it ---- */

static void *read_base_model(tk_str body, tk_err *err)
{
    tk_sampler_response said = {0};
    char *name = NULL;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    if (tk_schema_decode_text(&said, &tk_msg_sampler_response, &arena, body, 0, err) ==
        TINKC_OK) {
        name = tk_strndup(said.base_model.v.p, said.base_model.v.n);
        if (name == NULL) {
            tk_err_nomem(err);
        }
    }
    tk_arena_dispose(&arena);
    return name;
}

static void *read_weights_base(tk_str body, tk_err *err)
{
    tk_weights_info_response said = {.is_lora = {.is = TK_UNSET}};
    char *name = NULL;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    if (tk_schema_decode_text(&said, &tk_msg_weights_info_response, &arena, body, 0,
                              err) == TINKC_OK) {
        name = tk_strndup(said.base_model.v.p, said.base_model.v.n);
        if (name == NULL) {
            tk_err_nomem(err);
        }
    }
    tk_arena_dispose(&arena);
    return name;
}

static const tk_op_call_spec base_model_spec = {
    "get_base_model", TK_RESULT_TEXT, TK_EP_SAMPLER, false, read_base_model, tk_free};
static const tk_op_call_spec weights_spec = {"get_base_model",   TK_RESULT_TEXT,
                                             TK_EP_WEIGHTS_INFO, false,
                                             read_weights_base,  tk_free};

/* The name is known: a future that is done. */
static tinkc_future *give_name(tk_handle *handle, const char *name)
{
    tk_err err = TK_ERR_INIT;
    tinkc_future *future =
        tk_future_new(&handle->driver, base_model_spec.operation, TK_RESULT_TEXT);
    char *copy = tk_strdup(name);
    if (copy == NULL) {
        tk_err_nomem(&err);
        (void)tk_future_fail(future, &err, NULL);
    } else if (!tk_future_complete(future, copy, tk_free)) {
        tk_free(copy);
    }
    return future;
}

tinkc_future *tinkc_sampling_get_base_model(tinkc_sampling *sampling)
{
    if (sampling == NULL) {
        return tk_service_none(base_model_spec.operation, TK_RESULT_TEXT);
    }
    const char *id = sampling->sampler->id;
    tk_weights_info_request asked = {.tinker_path = {TK_SET, tk_str_of(id)}};
    switch (sampling->sampler->source) {
    case TK_SAMPLER_BASE_MODEL:
        return give_name(sampling->handle, id);
    case TK_SAMPLER_PATH:
        return tk_op_call_run(sampling->handle, &weights_spec,
                              &(tk_op_call_args){.schema = &tk_msg_weights_info_request,
                                                 .message = &asked});
    case TK_SAMPLER_SESSION:
        break;
    }
    return tk_op_call_run(sampling->handle, &base_model_spec,
                          &(tk_op_call_args){.path_arg = id});
}

tinkc_code tinkc_sampling_get_base_model_wait(char **out, tinkc_sampling *sampling,
                                              tinkc_error **err)
{
    return tk_text_wait(out, tinkc_sampling_get_base_model(sampling), err);
}
