/* The service handle: opening, closing, driving, and what the server as a whole can be
 * asked. */
#include <tinkc/service.h>

#include <string.h>

#include "base/mem.h"
#include "client/call/op_call.h"
#include "client/call/outcome.h"
#include "client/core/finish.h"
#include "client/core/service.h"
#include "client/values/error.h"
#include "wire/msg_session.h"

struct tinkc_service {
    tk_handle *handle; /* a reference */
    bool is_second;    /* made with a context: closing it ends nothing else */
};

tk_handle *tk_service_handle(const tinkc_service *service)
{
    return service->handle;
}

tk_core *tk_service_core(const tinkc_service *service)
{
    return service->handle->core;
}

/* ---- life ---- */

tinkc_code tk_service_open(tinkc_service **out, const tinkc_config *config,
                           const tk_core_seams *seams, tk_err *err)
{
    tinkc_service *service = tk_zalloc(sizeof(*service));
    if (service == NULL) {
        return tk_err_nomem(err);
    }
    tk_core *core = NULL;
    tinkc_code code = tk_core_new(&core, config, seams, err);
    if (code == TINKC_OK) {
        code = tk_handle_new(&service->handle, core, NULL, err);
        if (code != TINKC_OK) {
            tk_core_shutdown(core); /* its loop runs already */
        }
        tk_core_unref(&core);
    }
    if (code != TINKC_OK) {
        tk_free(service);
        return code;
    }
    *out = service;
    return TINKC_OK;
}

tinkc_code tinkc_service_open(tinkc_service **out, const tinkc_config *config,
                              tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (tk_service_open(out, config, NULL, &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

void tinkc_service_close(tinkc_service **service_ref)
{
    tinkc_service *service = service_ref != NULL ? *service_ref : NULL;
    if (service == NULL) {
        return;
    }
    /* A second handle ends nothing, and a forked child has no thread to stop. While a
     * close calls the callbacks of what it cancels, they are inside, too. */
    tk_core *core = service->handle->core;
    bool ends = !service->is_second && tk_core_check(core, NULL) != TINKC_E_STATE;
    if (ends && tk_core_is_inside(core)) {
        tk_log_write(tk_core_log(core), TINKC_LOG_ERROR, "service",
                     "tinkc_service_close does nothing in a callback of the service");
        return; /* it would wait for the thread that it runs on */
    }
    *service_ref = NULL;
    if (ends) {
        tk_core_shutdown(core);
    }
    tk_handle_unref(&service->handle);
    tk_free(service);
}

tinkc_code tinkc_service_with_context(tinkc_service **out, tinkc_service *service,
                                      const tinkc_context *context, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_handle *handle = NULL;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (service == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "the handle is NULL");
    } else if (tk_handle_with_context(&handle, service->handle, context, &err) ==
               TINKC_OK) {
        tinkc_service *second = tk_zalloc(sizeof(*second));
        if (second != NULL) {
            second->handle = handle;
            second->is_second = true;
            *out = second;
            return TINKC_OK;
        }
        tk_handle_unref(&handle);
        tk_err_nomem(&err);
    }
    return tk_error_give(error, &err);
}

tinkc_code tinkc_service_set_finish(tinkc_service *service, tinkc_finish finish,
                                    const char *detail, tinkc_error **error)
{
    if (service == NULL) {
        return tk_error_tell(error, TINKC_E_STATE, "no service");
    }
    tk_core *core = service->handle->core;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_core_check(core, &err);
    if (code == TINKC_OK) {
        code = tk_finish_set(tk_core_finish(core), (int)finish, detail, &err);
    }
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}

/* ---- driving ---- */

int tinkc_service_fd(const tinkc_service *service)
{
    if (service == NULL || !tk_core_is_manual(service->handle->core)) {
        return -1;
    }
    return tk_loop_fd(tk_core_loop(service->handle->core));
}

int64_t tinkc_service_deadline_ms(const tinkc_service *service)
{
    if (service == NULL || !tk_core_is_manual(service->handle->core)) {
        return -1;
    }
    return tk_loop_deadline_ms(tk_core_loop(service->handle->core));
}

tinkc_code tinkc_service_process(tinkc_service *service, tinkc_error **error)
{
    if (service == NULL) {
        return tk_error_tell(error, TINKC_E_STATE, "no service");
    }
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_core_check(service->handle->core, &err);
    if (code == TINKC_OK) {
        code = tk_loop_process(tk_core_loop(service->handle->core), &err);
    }
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}

const char *tinkc_service_session_id(const tinkc_service *service)
{
    return service != NULL ? tk_core_session_id(service->handle->core) : NULL;
}

tinkc_code tinkc_service_on_queue_state(tinkc_service *service, tinkc_queue_state_fn fn,
                                        void *user, tinkc_error **err)
{
    if (service == NULL) {
        return tk_error_tell(err, TINKC_E_STATE, "no service");
    }
    tk_core_set_observer(service->handle->core, fn, user);
    return TINKC_OK;
}

tinkc_future *tk_service_none(const char *operation, tk_result_kind kind)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_STATE, "%s: the handle is NULL or closed", operation);
    return tk_future_refused(NULL, operation, kind, &err);
}

/* ---- health ---- */

static const tk_op_call_spec health_spec = {"health", TK_RESULT_NONE, TK_EP_HEALTHZ,
                                            false,    NULL,           NULL};

tinkc_future *tinkc_service_health(tinkc_service *service)
{
    if (service == NULL) {
        return tk_service_none("health", TK_RESULT_NONE);
    }
    return tk_op_call_run(service->handle, &health_spec, NULL);
}

tinkc_code tinkc_service_health_wait(tinkc_service *service, tinkc_error **error)
{
    return tk_future_wait_take(NULL, tinkc_service_health(service), TK_RESULT_NONE,
                               error);
}

/* ---- capabilities ---- */

struct tinkc_capabilities {
    tk_arena arena;
    tk_capabilities_response said;
};

static void free_capabilities(void *result)
{
    tinkc_capabilities *capabilities = result;
    tk_arena_dispose(&capabilities->arena);
    tk_free(capabilities);
}

static void *read_capabilities(tk_str body, tk_err *err)
{
    tinkc_capabilities *capabilities = tk_zalloc(sizeof(*capabilities));
    if (capabilities == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    tk_arena_init(&capabilities->arena, tk_outcome_arena_bytes(body.n));
    if (tk_schema_decode_text(&capabilities->said, &tk_msg_capabilities_response,
                              &capabilities->arena, body, 0, err) != TINKC_OK) {
        free_capabilities(capabilities);
        return NULL;
    }
    return capabilities;
}

static const tk_op_call_spec capabilities_spec = {
    "capabilities", TK_RESULT_CAPABILITIES, TK_EP_CAPABILITIES,
    false,          read_capabilities,      free_capabilities};

tinkc_future *tinkc_service_capabilities(tinkc_service *service)
{
    if (service == NULL) {
        return tk_service_none("capabilities", TK_RESULT_CAPABILITIES);
    }
    return tk_op_call_run(service->handle, &capabilities_spec, NULL);
}

tinkc_code tinkc_service_capabilities_wait(tinkc_capabilities **out,
                                           tinkc_service *service, tinkc_error **error)
{
    return tk_future_wait_take(out, tinkc_service_capabilities(service),
                               TK_RESULT_CAPABILITIES, error);
}

void tinkc_capabilities_free(tinkc_capabilities **capabilities)
{
    if (capabilities != NULL && *capabilities != NULL) {
        free_capabilities(*capabilities);
        *capabilities = NULL;
    }
}

size_t tinkc_capabilities_count(const tinkc_capabilities *capabilities)
{
    return capabilities != NULL ? capabilities->said.supported_models_n : 0;
}

static const tk_supported_model *model_at(const tinkc_capabilities *capabilities,
                                          size_t index)
{
    return index < tinkc_capabilities_count(capabilities)
               ? &capabilities->said.supported_models[index]
               : NULL;
}

const char *tinkc_capabilities_name(const tinkc_capabilities *capabilities, size_t index)
{
    const tk_supported_model *model = model_at(capabilities, index);
    return model != NULL && model->model_name.is == TK_SET ? model->model_name.v.p : NULL;
}

int64_t tinkc_capabilities_context(const tinkc_capabilities *capabilities, size_t index)
{
    const tk_supported_model *model = model_at(capabilities, index);
    return model != NULL && model->max_context_length.is == TK_SET
               ? model->max_context_length.v
               : -1;
}

static tinkc_choice choice_of(tk_f_bool said)
{
    return said.is != TK_SET ? TINKC_CHOICE_UNSET
           : said.v          ? TINKC_CHOICE_YES
                             : TINKC_CHOICE_NO;
}

tinkc_choice tinkc_capabilities_trainable(const tinkc_capabilities *capabilities,
                                          size_t index)
{
    const tk_supported_model *model = model_at(capabilities, index);
    return model != NULL ? choice_of(model->trainable) : TINKC_CHOICE_UNSET;
}

tinkc_choice tinkc_capabilities_sampleable(const tinkc_capabilities *capabilities,
                                           size_t index)
{
    const tk_supported_model *model = model_at(capabilities, index);
    return model != NULL ? choice_of(model->sampleable) : TINKC_CHOICE_UNSET;
}
