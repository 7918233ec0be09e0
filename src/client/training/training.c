/* The training handle: life, identity, and the calls that are a few lines each
 * (optim_step, unload, get_info). The others are in training_*.c. */
#include "client/training/training.h"

#include "base/mem.h"
#include "client/call/op_call.h"
#include "client/core/service.h"
#include "client/training/training_request.h"
#include "client/training/training_result.h"
#include "client/values/error.h"
#include "client/values/params.h"
#include "wire/msg_model.h"
#include "wire/msg_train.h"

/* ---- life ---- */

/* Takes both references, also when it fails. */
static tinkc_code join(tinkc_training **out, tk_handle *handle, tk_model *model,
                       tk_err *err)
{
    tinkc_training *training = tk_zalloc(sizeof(*training));
    if (training == NULL) {
        tk_handle_unref(&handle);
        tk_model_unref(&model);
        return tk_err_nomem(err);
    }
    *training = (tinkc_training){.handle = handle, .model = model};
    *out = training;
    return TINKC_OK;
}

tinkc_code tk_training_new(tinkc_training **out, tk_handle *handle, tk_str model_id,
                           int64_t first_id, tk_err *err)
{
    tk_model *model = NULL;
    tinkc_code code = tk_model_new(&model, handle->core, model_id, first_id, err);
    return code == TINKC_OK ? join(out, tk_handle_ref(handle), model, err) : code;
}

tinkc_code tinkc_training_with_context(tinkc_training **out, tinkc_training *training,
                                       const tinkc_context *context, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_handle *handle = NULL;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (training == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "the handle is NULL");
    } else if (tk_handle_with_context(&handle, training->handle, context, &err) ==
                   TINKC_OK &&
               join(out, handle, tk_model_ref(training->model), &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

void tinkc_training_close(tinkc_training **training_ref)
{
    tinkc_training *training = training_ref != NULL ? *training_ref : NULL;
    if (training == NULL) {
        return;
    }
    *training_ref = NULL;
    tk_model_unref(&training->model);
    tk_handle_unref(&training->handle);
    tk_free(training);
}

void tk_training_free(void *result)
{
    tinkc_training *training = result;
    tinkc_training_close(&training);
}

const char *tinkc_training_model_id(const tinkc_training *training)
{
    return training != NULL ? training->model->id : NULL;
}

/* ---- unload ---- */

static tinkc_code encode_unload(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    (void)seq_id;
    tk_model_request request = {.model_id = {TK_SET, tk_str_of(op->model->id)}};
    return tk_schema_encode(&op->body, &tk_msg_unload_model_request, &request, err);
}

static const tk_training_request_spec unload_spec = {.operation = "unload",
                                                     .kind = TK_RESULT_NONE,
                                                     .endpoint = TK_EP_UNLOAD_MODEL,
                                                     .type = TK_FUTURE_UNLOAD_MODEL,
                                                     .ids = 0,
                                                     .encode = encode_unload};

tinkc_future *tinkc_training_unload(tinkc_training *training)
{
    if (training == NULL) {
        return tk_service_none(unload_spec.operation, unload_spec.kind);
    }
    return tk_training_request_run(training, &unload_spec, NULL);
}

/* ---- get_info ---- */

static const tk_op_call_spec info_spec = {
    "get_info", TK_RESULT_MODEL_INFO,  TK_EP_GET_INFO,
    true,       tk_training_read_info, tk_training_free_info};

tinkc_future *tinkc_training_get_info(tinkc_training *training)
{
    if (training == NULL) {
        return tk_service_none(info_spec.operation, info_spec.kind);
    }
    tk_model_request request = {.model_id = {TK_SET, tk_str_of(training->model->id)}};
    return tk_op_call_run(
        training->handle, &info_spec,
        &(tk_op_call_args){.schema = &tk_msg_get_info_request, .message = &request});
}
