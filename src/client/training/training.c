/* The training handle: life, identity, and the calls that are a few lines each
 * (optim_step, unload, get_info). The others are in training_*.c. */
#include "client/training/training.h"

#include "base/mem.h"
#include "client/call/op_call.h"
#include "client/core/error.h"
#include "client/core/service.h"
#include "client/training/training_request.h"
#include "client/training/training_result.h"
#include "client/values/params.h"
#include "wire/msg_model.h"
#include "wire/msg_train.h"

tinkc_code tk_training_new(tinkc_training **out, tk_core *core, tk_str model_id,
                           int64_t first_id, tk_err *err)
{
    const tk_client_config *flags = tk_core_flags(core);
    tinkc_training *training = tk_zalloc(sizeof(*training));
    if (training == NULL) {
        return tk_err_nomem(err);
    }
    training->model_id = tk_strndup(model_id.p, model_id.n);
    if (training->model_id == NULL ||
        tk_ledger_open_run(&training->run, tk_core_ledger(core), model_id, err) !=
            TINKC_OK) {
        tk_free(training->model_id);
        tk_free(training);
        return tk_err_nomem(err);
    }
    atomic_init(&training->refs, 1);
    training->base = training;
    training->core = tk_core_ref(core);
    tk_turn_init(&training->turn, first_id);
    training->limits = (tk_split_limits){flags->fwdbwd_max_chunk_len.v,
                                         flags->fwdbwd_max_chunk_bytes_count.v};
    training->parallel = flags->parallel_fwdbwd_chunks.v;
    training->compress = flags->proto_compress_fwdbwd.v;
    *out = training;
    return TINKC_OK;
}

tinkc_training *tk_training_ref(tinkc_training *training)
{
    atomic_fetch_add(&training->refs, 1);
    return training;
}

void tk_training_unref(tinkc_training **training_ref)
{
    tinkc_training *training = *training_ref;
    *training_ref = NULL;
    if (training == NULL || atomic_fetch_sub(&training->refs, 1) != 1) {
        return;
    }
    if (training->base != training) {
        tk_training_unref(&training->base);
    } else {
        tk_turn_dispose(&training->turn);
        tk_free(training->model_id);
    }
    tk_core_unref(&training->core);
    tk_free(training);
}

static tinkc_code make_view(tinkc_training **out, tinkc_training *training,
                            const tinkc_context *said, tk_err *err)
{
    tk_core *core = NULL;
    tinkc_code code = tk_core_in_context(&core, training->core, said, err);
    if (code != TINKC_OK) {
        return code;
    }
    tinkc_training *view = tk_zalloc(sizeof(*view));
    if (view == NULL) {
        tk_core_unref(&core);
        return tk_err_nomem(err);
    }
    atomic_init(&view->refs, 1);
    view->core = core;
    view->base = tk_training_ref(training->base);
    view->model_id = training->model_id;
    view->limits = training->limits;
    view->parallel = training->parallel;
    view->compress = training->compress;
    *out = view;
    return TINKC_OK;
}

tinkc_code tinkc_training_with_context(tinkc_training **out, tinkc_training *training,
                                       const tinkc_context *context, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (training == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "the handle is NULL");
    } else if (make_view(out, training, context, &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

void tk_training_free(void *result)
{
    tinkc_training *training = result;
    tk_training_unref(&training);
}

void tk_training_spoil(tinkc_training *training)
{
    if (tk_core_config(training->core)->fail_step_after_partial != 0) {
        training->base->refuse_steps_below = tk_turn_next(&training->base->turn);
    }
}

void tinkc_training_close(tinkc_training **training)
{
    if (training != NULL) {
        tk_training_unref(training);
    }
}

const char *tinkc_training_model_id(const tinkc_training *training)
{
    return training != NULL ? training->model_id : NULL;
}

/* ---- optim_step ---- */

static tinkc_code encode_step(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    tk_optim_step_request request = {
        .adam_params = *(const tk_adam_params *)op->message,
        .model_id = {TK_SET, tk_str_of(op->training->model_id)},
        .seq_id = {TK_SET, seq_id},
    };
    return tk_schema_encode(&op->body, &tk_msg_optim_step_request, &request, err);
}

static void *read_step(tk_training_request *op, const tk_json *json, tk_err *err)
{
    (void)op;
    tk_arena arena;
    tk_optim_step_result said = {.metrics = {.is = TK_UNSET}};
    tinkc_metrics *metrics = NULL;
    tk_arena_init(&arena, 0);
    if (tk_schema_decode(&said, &tk_msg_optim_step_result, &arena, json, 0, err) ==
        TINKC_OK) {
        metrics = tk_training_metrics(&said.metrics.v, err);
    }
    tk_arena_dispose(&arena);
    return metrics;
}

static const tk_training_request_spec step_spec = {.operation = "optim_step",
                                                   .kind = TK_RESULT_METRICS,
                                                   .endpoint = TK_EP_OPTIM_STEP,
                                                   .type = TK_FUTURE_OPTIM_STEP,
                                                   .ids = 1,
                                                   .is_step = true,
                                                   .encode = encode_step,
                                                   .read = read_step,
                                                   .free_result =
                                                       tk_training_free_metrics};

tinkc_future *tinkc_training_optim_step(tinkc_training *training,
                                        const tinkc_adam_params *adam)
{
    tk_err err = TK_ERR_INIT;
    tk_adam_params params;
    if (training == NULL) {
        return tk_service_none(step_spec.operation, step_spec.kind);
    }
    if (tk_params_adam(&params, adam, &err) != TINKC_OK) {
        return tk_training_request_refuse(training, &step_spec, &err);
    }
    return tk_training_request_run(training, &step_spec, &params);
}

/* ---- unload ---- */

static tinkc_code encode_unload(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    (void)seq_id;
    tk_model_request request = {.model_id = {TK_SET, tk_str_of(op->training->model_id)}};
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
    tk_model_request request = {.model_id = {TK_SET, tk_str_of(training->model_id)}};
    return tk_op_call_run(
        training->core, &info_spec,
        &(tk_op_call_args){.schema = &tk_msg_get_info_request, .message = &request});
}
