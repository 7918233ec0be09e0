/* The training handle: life and identity. Operations are in training_*.c. */
#include "client/training/training.h"

#include "base/mem.h"
#include "client/core/error.h"

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
