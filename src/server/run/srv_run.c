/* Runs jobs: create, train, step, unload. Saving and loading are in srv_run_weights.c. */
#include "server/run/srv_run.h"

#include <stdio.h>

#include "base/mem.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_model.h"
#include "server/run/srv_note.h"
#include "server/run/srv_state.h"
#include "server/run/srv_usage.h"
#include "wire/msg_model.h"
#include "wire/msg_train.h"
#include "wire/msg_weights.h"
#include "wire/pb_output.h"

#define RESULT_BYTES TK_GIB
#define AGAIN_NS     (INT64_C(100) * TK_NS_PER_MS)
#define PATIENCE_NS  (INT64_C(60000) * TK_NS_PER_MS)

/* ---- create ---- */

static tinkc_code run_create(srv_job *job, tk_err *err)
{
    srv_model *model = job->model;
    tinkc_code code = TINKC_OK;
    if (model->adapter == NULL) { /* else the load had to wait for memory */
        code = eng_adapter_new(&model->adapter, model->base->model, &model->lora, err);
    }
    if (code == TINKC_OK && job->path.n > 0) {
        code = srv_run_load(job, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    if (job->path.n > 0) {
        const tk_load_weights_result msg = {.path = {TK_SET, job->path},
                                            .model_id = {TK_SET, tk_str_of(model->id)}};
        srv_future_finish_msg(job->server, job->future, &tk_msg_load_weights_result,
                              &msg);
    } else {
        const tk_model_result msg = {.model_id = {TK_SET, tk_str_of(model->id)}};
        srv_future_finish_msg(job->server, job->future, &tk_msg_create_model_result,
                              &msg);
    }
    return TINKC_OK;
}

/* ---- train ---- */

static tk_tensor tensor_of(tk_arena *arena, const eng_output *output, const float *data)
{
    int64_t *shape = tk_arena_array(arena, 2, sizeof(*shape));
    tk_tensor tensor = {
        .dtype = TK_DTYPE_F32, .data = data, .n = output->rows * output->columns};
    if (shape != NULL) {
        shape[0] = (int64_t)output->rows;
        shape[1] = (int64_t)output->columns;
        tensor.has_shape = true;
        tensor.shape = (tk_i64s){shape, output->n_dims};
    }
    return tensor;
}

static tinkc_code fill_outputs(tk_tensor_map *maps, tk_arena *arena,
                               const eng_result *result, tk_err *err)
{
    for (size_t i = 0; i < result->n_outputs; i++) {
        const eng_output *output = &result->outputs[i];
        tk_named_tensor *items = tk_arena_array(arena, 2, sizeof(*items));
        if (items == NULL) {
            return tk_err_nomem(err);
        }
        items[0] = (tk_named_tensor){TK_STR("logprobs"),
                                     tensor_of(arena, output, output->logprobs)};
        items[1] = (tk_named_tensor){TK_STR("elementwise_loss"),
                                     tensor_of(arena, output, output->elementwise_loss)};
        if (!items[0].tensor.has_shape || !items[1].tensor.has_shape) {
            return tk_err_nomem(err);
        }
        maps[i] = (tk_tensor_map){items, 2};
    }
    return TINKC_OK;
}

/* Returns how many outputs from `first` on have its trailing shape: one record holds
 * them. */
static size_t run_of(const eng_result *result, size_t first)
{
    const eng_output *head = &result->outputs[first];
    size_t n = 1;
    while (first + n < result->n_outputs) {
        const eng_output *at = &result->outputs[first + n];
        if (at->n_dims != head->n_dims ||
            (at->n_dims > 1 && at->columns != head->columns)) {
            break;
        }
        n++;
    }
    return n;
}

/* Records of different shapes are separate messages, one after the other: protobuf reads
 * that as one message with the records of all. */
static tinkc_code encode_records(tk_buf *out, const eng_result *result,
                                 const tk_tensor_map *maps, tk_num_map metrics,
                                 tk_err *err)
{
    tk_fwdbwd_output msg = {.loss_fn_output_type = TK_STR("TorchLossReturn"),
                            .metrics = metrics};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < result->n_outputs;) {
        msg.loss_fn_outputs = maps + i;
        msg.loss_fn_outputs_n = run_of(result, i);
        code = tk_pb_output_encode(out, &msg, err);
        msg.metrics.n = 0;
        i += msg.loss_fn_outputs_n;
    }
    return code;
}

static tinkc_code encode_result(tk_buf *out, const eng_result *result, tk_err *err)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_tensor_map *maps = tk_arena_array(&arena, result->n_outputs, sizeof(*maps));
    tk_named_num *metrics = tk_arena_array(&arena, result->n_metrics, sizeof(*metrics));
    tinkc_code code = maps != NULL && metrics != NULL
                          ? fill_outputs(maps, &arena, result, err)
                          : tk_err_nomem(err);
    if (code == TINKC_OK) {
        for (size_t i = 0; i < result->n_metrics; i++) {
            metrics[i] = (tk_named_num){tk_str_of(result->metrics[i].name),
                                        result->metrics[i].value};
        }
        const tk_num_map map = {metrics, result->n_metrics};
        code = encode_records(out, result, maps, map, err);
    }
    tk_arena_dispose(&arena);
    return code;
}

/* Runs one piece of the request; after the last one, finishes the future. */
static tinkc_code run_train(srv_job *job, bool *more, tk_err *err)
{
    eng_result *result = NULL;
    tinkc_code code = TINKC_OK;
    int64_t began = tk_clock_mono_ns(NULL);
    if (job->steps == NULL) {
        code = eng_train_begin(&job->steps, job->model->adapter, &job->train, err);
        if (code == TINKC_OK) {
            tk_mutex_lock(&job->server->lock);
            srv_engine_keep(job->server->engine, job->work_base, &job->work);
            tk_mutex_unlock(&job->server->lock);
        }
    }
    if (code == TINKC_OK) {
        if (job->server->on_step != NULL) {
            job->server->on_step(job->server->hook_user, SRV_STEP_TRAIN);
        }
        code = eng_train_step(job->steps, more, err);
    }
    job->spent_ns += tk_clock_mono_ns(NULL) - began;
    if (code != TINKC_OK || *more) {
        return code;
    }
    code = eng_train_end(&result, job->steps, err);
    job->steps = NULL;
    if (code != TINKC_OK) {
        return code;
    }
    srv_note_train(job, result);
    tk_buf buf;
    tk_buf_init(&buf, RESULT_BYTES);
    code = encode_result(&buf, result, err);
    eng_result_free(result);
    if (code != TINKC_OK) {
        tk_buf_dispose(&buf);
        return code;
    }
    srv_engine_count(job->server->engine, job->n_tokens, 0, 0, 0);
    srv_usage_add(job->server->usage, TK_BILLING_TRAINING,
                  tk_str_of(job->model->base_name), tk_str_of(job->model->id),
                  job->n_tokens);
    srv_future_finish(job->server, job->future, hd_blob_take(&buf), true);
    return TINKC_OK;
}

static tinkc_code run_optim(srv_job *job, tk_err *err)
{
    double norm = 0.0;
    int64_t began = tk_clock_mono_ns(NULL);
    eng_adapter *adapter = job->model->adapter;
    tinkc_code code = job->optim == ENG_DIMUON
                          ? eng_adapter_dimuon_step(adapter, &job->dimuon, &norm, err)
                          : eng_adapter_optim_step(adapter, &job->adam, &norm, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_note_optim(job, norm, tk_clock_mono_ns(NULL) - began);
    const tk_named_num metric = {TK_STR("unclipped_grad_l2:mean"), norm};
    const tk_optim_step_result msg = {.metrics = {TK_SET, {&metric, 1}}};
    srv_future_finish_msg(job->server, job->future, &tk_msg_optim_step_result, &msg);
    return TINKC_OK;
}

/* ---- load, unload ---- */

static tinkc_code run_load(srv_job *job, tk_err *err)
{
    tinkc_code code = srv_run_load(job, err);
    if (code == TINKC_OK) {
        const tk_load_weights_result msg = {
            .path = {TK_SET, job->path},
            .model_id = {TK_SET, tk_str_of(job->model->id)},
        };
        srv_future_finish_msg(job->server, job->future, &tk_msg_load_weights_result,
                              &msg);
    }
    return code;
}

/* The model goes before the job's future ends, which then cannot say why it waits. */
static void remove_model(srv_job *job)
{
    tk_mutex_lock(&job->server->lock);
    if (job->future != NULL) {
        job->future->why = NULL;
    }
    tk_mutex_unlock(&job->server->lock);
    srv_model_remove(job->server, job->model);
}

static void run_unload(srv_job *job)
{
    char id[SRV_MODEL_ID_BYTES];
    (void)snprintf(id, sizeof(id), "%s", job->model->id);
    remove_model(job);
    if (job->future != NULL) {
        const tk_model_result msg = {.model_id = {TK_SET, tk_str_of(id)}};
        srv_future_finish_msg(job->server, job->future, &tk_msg_unload_model_result,
                              &msg);
    }
}

static tinkc_code run(srv_job *job, bool *more, tk_err *err)
{
    if (job->kind != SRV_JOB_CREATE && job->kind != SRV_JOB_UNLOAD &&
        job->model->adapter == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "the model was not created");
    }
    switch (job->kind) {
    case SRV_JOB_CREATE:
        return run_create(job, err);
    case SRV_JOB_TRAIN:
        return run_train(job, more, err);
    case SRV_JOB_OPTIM:
        return run_optim(job, err);
    case SRV_JOB_SAVE:
        return srv_run_save(job, err);
    case SRV_JOB_SNAPSHOT:
        return srv_run_snapshot(job, err);
    case SRV_JOB_LOAD:
        return run_load(job, err);
    case SRV_JOB_UNLOAD:
        run_unload(job);
        return TINKC_OK;
    }
    return tk_err_set(err, TINKC_E_INTERNAL, "unknown kind of job");
}

/* The engine was stopped in the middle. The future stays pending: its polls are answered
 * with 503. They look at the job, which is freed with its model. */
static void give_up(srv_job *job)
{
    tk_mutex_lock(&job->server->lock);
    job->model->running = job;
    tk_mutex_unlock(&job->server->lock);
}

/* Whether a job that found no memory is tried again: others have the memory now, and the
 * client would have to fail a run for it. Only a job that has changed nothing yet. */
static bool wait_for_memory(srv_job *job, tinkc_code code)
{
    bool waits = code == TINKC_E_RATE_LIMIT &&
                 (job->kind == SRV_JOB_CREATE || job->kind == SRV_JOB_LOAD ||
                  job->kind == SRV_JOB_SNAPSHOT);
    int64_t now = tk_clock_mono_ns(NULL);
    if (waits && job->patience_ns == 0) {
        job->patience_ns = now + PATIENCE_NS;
    }
    if (!waits || now >= job->patience_ns) {
        return false;
    }
    tk_mutex_lock(&job->server->lock);
    job->again_ns = now + AGAIN_NS;
    job->model->running = job;
    tk_mutex_unlock(&job->server->lock);
    return true;
}

/* The job has run; its model, unless it went with the job, may run the next one. */
static void end_running(srv_job *job)
{
    if (job->kind == SRV_JOB_UNLOAD) {
        return;
    }
    tk_mutex_lock(&job->server->lock);
    job->model->running = NULL;
    tk_mutex_unlock(&job->server->lock);
    if (job->kind == SRV_JOB_TRAIN) {
        srv_engine_trim(job->server->engine, job->work_base, &job->work);
    }
}

bool srv_run_job(srv_job *job)
{
    tk_err err = TK_ERR_INIT;
    bool more = false;
    bool create = job->kind == SRV_JOB_CREATE;
    tinkc_code code = run(job, &more, &err);
    if (code == TINKC_OK && more) {
        return false;
    }
    if (code == TINKC_E_CANCELLED && atomic_load(&job->server->stopping)) {
        give_up(job);
        return false;
    }
    if (wait_for_memory(job, code)) {
        return false;
    }
    end_running(job);
    if (code != TINKC_OK) {
        if (create) {
            remove_model(job);
        }
        srv_future_fail_err(job->server, job->future, &err);
    }
    srv_job_free(job);
    return true;
}
