/* Saving and loading on the engine thread. A checkpoint is written whole into a directory
 * of the work folder, then moved to its place with its row, then answered: what was
 * answered survives a crash. */
#include <stdio.h>

#include "engine/eng_bytes.h"
#include "server/run/srv_adapters.h"
#include "server/run/srv_keeper.h"
#include "server/run/srv_model.h"
#include "server/run/srv_note.h"
#include "server/run/srv_run.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_state.h"
#include "server/run/srv_usage.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store.h"
#include "wire/msg_external.h"
#include "wire/msg_weights.h"

/* ---- save ---- */

static tinkc_code refuse_taken(const srv_job *job, tk_err *err)
{
    return tk_err_set(
        err, TINKC_E_CONFLICT,
        "Checkpoint tinker://%s/%s/" TK_STR_FMT " already exists%s", job->model->id,
        tk_path_kind_name(job->kind_of_path), TK_STR_ARG(job->name),
        job->kind_of_path == TK_PATH_WEIGHTS ? "; give another name, or overwrite"
                                             : "; give another name");
}

static tinkc_code add_row(srv_job *job, tk_str dir, const char *full, int64_t size,
                          tk_err *err)
{
    srv *server = job->server;
    tk_str old = {"", 0};
    int64_t now = tk_clock_wall_us(NULL);
    const srv_store_checkpoint row = {
        .run_id = tk_str_of(job->model->id),
        .kind = job->kind_of_path,
        .name = job->name,
        .dir = dir,
        .created_us = now,
        .expires_us = srv_store_end_us(server->store, job->ttl_seconds),
        .size_bytes = size,
        .has_optimizer = job->kind_of_path == TK_PATH_WEIGHTS,
        .user_metadata = job->metadata,
    };
    tk_err why = TK_ERR_INIT;
    tinkc_code code = srv_store_add_checkpoint(server->store, &job->memory.arena, &row,
                                               job->overwrite, &old, &why);
    if (code != TINKC_OK) {
        srv_files_remove_dir(full);
        return code == TINKC_E_CONFLICT ? refuse_taken(job, err)
                                        : tk_err_set(err, code, "%s", why.message);
    }
    if (old.n > 0) {
        srv_store_remove_dir(server->store, old);
    }
    return TINKC_OK;
}

static void finish_save(srv_job *job, int64_t size_bytes)
{
    char path[SRV_MODEL_ID_BYTES + TK_SRV_NAME_BYTES + 64];
    (void)snprintf(path, sizeof(path), "tinker://%s/%s/" TK_STR_FMT, job->model->id,
                   tk_path_kind_name(job->kind_of_path), TK_STR_ARG(job->name));
    if (job->kind_of_path == TK_PATH_WEIGHTS) {
        const tk_save_weights_result msg = {.path = {TK_SET, tk_str_of(path)}};
        srv_future_finish_msg(job->server, job->future, &tk_msg_save_weights_result,
                              &msg);
    } else if (job->kind_of_path == TK_PATH_EXTERNAL_WEIGHTS) {
        const tk_save_external_result msg = {.path = {TK_SET, tk_str_of(path)},
                                             .size_bytes = {TK_SET, size_bytes}};
        srv_future_finish_msg(job->server, job->future, &tk_msg_save_external_result,
                              &msg);
    } else {
        const tk_save_for_sampler_result msg = {.path = {TK_SET, tk_str_of(path)}};
        srv_future_finish_msg(job->server, job->future, &tk_msg_save_for_sampler_result,
                              &msg);
    }
}

tinkc_code srv_run_save(srv_job *job, tk_err *err)
{
    srv_model *model = job->model;
    srv_store_checkpoint there;
    tk_err ignored = TK_ERR_INIT;
    const tk_path path = {
        .run = tk_str_of(model->id), .kind = job->kind_of_path, .name = job->name};
    srv_keeper_expire(job->server); /* a name is free when its time is over */
    if (!job->overwrite &&
        srv_store_get_checkpoint(&there, job->server->store, &job->memory.arena, &path,
                                 &ignored) == TINKC_OK) {
        return refuse_taken(job, err);
    }
    tk_str dir;
    const char *full = NULL;
    const eng_save_options options = {
        .optimizer = job->kind_of_path == TK_PATH_WEIGHTS,
        .base_model = model->base_name,
    };
    tinkc_code code = srv_store_new_dir(&dir, &full, job->server->store,
                                        &job->memory.arena, &path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_adapter_save(model->adapter, full, &options, err);
    if (code != TINKC_OK) {
        goto out;
    }
    int64_t size = srv_files_size(full);
    code = add_row(job, dir, full, size, err);
    if (code != TINKC_OK) {
        goto out;
    }
    srv_usage_add(job->server->usage, TK_BILLING_CHECKPOINT, tk_str_of(model->base_name),
                  tk_str_of(model->id), 1);
    srv_note_save(job);
    finish_save(job, size);
out:
    return code;
}

/* ---- ephemeral samplers ---- */

tinkc_code srv_run_snapshot(srv_job *job, tk_err *err)
{
    srv *server = job->server;
    srv_model *model = job->model;
    char id[SRV_MODEL_ID_BYTES];
    (void)snprintf(id, sizeof(id), "%s:sample:%lld", model->session_id,
                   (long long)job->sampler_seq);
    const srv_sampler_spec spec = {.id = tk_str_of(id),
                                   .base_name = tk_str_of(model->base_name),
                                   .base = model->base,
                                   .rank = model->lora.rank};
    srv_sampler *sampler = srv_sampler_new(&spec);
    if (sampler == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = srv_adapters_copy(server, sampler, model->adapter, err);
    if (code == TINKC_OK) {
        tk_mutex_lock(&server->lock);
        srv_session *session = srv_session_find(server, tk_str_of(model->session_id));
        code = session != NULL
                   ? srv_sampler_enter(server, sampler, session, err)
                   : tk_err_set(err, TINKC_E_MISSING, "the session has ended");
        tk_mutex_unlock(&server->lock);
    }
    if (code != TINKC_OK) {
        srv_sampler_free(sampler);
        return code;
    }
    tk_err ignored = TK_ERR_INIT; /* the row is for listings only */
    const srv_store_sampler row = {.id = spec.id,
                                   .session_id = tk_str_of(model->session_id),
                                   .base_model = spec.base_name};
    (void)!srv_store_add_sampler(server->store, &row, &ignored);
    const tk_save_for_sampler_result msg = {
        .sampling_session_id = {TK_SET, tk_str_of(id)}};
    srv_future_finish_msg(server, job->future, &tk_msg_save_for_sampler_result, &msg);
    return TINKC_OK;
}

/* ---- load ---- */

static tinkc_code load(srv_job *job, const char *dir, tk_err *err)
{
    hd_budget *memory = &job->server->memory;
    const srv_model *model = job->model;
    size_t bytes = eng_bytes_adapter_load(model->base->model, &model->lora);
    if (!hd_budget_take(memory, SRV_PART_JOBS, bytes)) {
        (void)hd_budget_refuse(memory, SRV_PART_JOBS, bytes, "loading these weights",
                               err);
        return err->code;
    }
    tinkc_code code = eng_adapter_load(model->adapter, dir, job->optimizer, err);
    hd_budget_give(memory, SRV_PART_JOBS, bytes);
    if (code == TINKC_OK) {
        srv_adapters_compare(job->server, model->base, dir);
    }
    return code;
}

tinkc_code srv_run_load(srv_job *job, tk_err *err)
{
    tk_path path;
    srv_store_checkpoint checkpoint;
    const char *full = NULL;
    srv_store *store = job->server->store;
    tinkc_code code = tk_path_parse(&path, job->path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_get_checkpoint(&checkpoint, store, &job->memory.arena, &path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_dir(&full, store, &job->memory.arena, checkpoint.dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = load(job, full, err);
out:
    return code;
}
