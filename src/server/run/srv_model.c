/* The life of a model's record: made with its first job, ended by the engine thread. */
#include "server/run/srv_model.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_bytes.h"
#include "httpd/hd_reply.h"
#include "httpd/hd_route.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_note.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"

srv_model *srv_model_find(srv *server, tk_str id)
{
    return tk_map_get(&server->models, id);
}

static void free_model(srv *server, srv_model *model)
{
    eng_adapter_free(model->adapter);
    hd_budget_give(&server->memory, SRV_PART_ADAPTERS, model->counted);
    tk_list_remove(&model->of_session);
    srv_job_free(model->last_job);
    tk_free(model->id);
    tk_free(model->base_name);
    tk_free(model);
}

static srv_model *make_model(srv *server, const srv_model_spec *spec)
{
    srv_model *model = tk_zalloc(sizeof(*model));
    if (model == NULL) {
        return NULL;
    }
    char id[SRV_MODEL_ID_BYTES];
    (void)snprintf(id, sizeof(id), TK_STR_FMT ":train:%lld", TK_STR_ARG(spec->session_id),
                   (long long)spec->seq);
    tk_list_init(&model->of_session);
    model->id = tk_strdup(id);
    model->base_name = tk_strndup(spec->base_name.p, spec->base_name.n);
    model->base = spec->base;
    model->lora = spec->lora;
    srv_order_init(&model->order, 0);
    model->last_job = srv_job_new(server, SRV_JOB_UNLOAD);
    if (model->id == NULL || model->base_name == NULL || model->last_job == NULL) {
        free_model(server, model);
        return NULL;
    }
    return model;
}

typedef struct created {
    int status;
    const char *text; /* NULL: see err */
    bool entered;
    tk_err err;
} created;

/* Counts the memory that the model needs; refuses it when there is none. Under the
 * lock. */
static bool reserve(created *out, srv *server, srv_model *model)
{
    size_t bytes = eng_bytes_adapter(model->base->model, &model->lora, false);
    size_t work = srv_engine_sample_work(server, model->base, model->lora.rank);
    *out = (created){.err = TK_ERR_INIT};
    if (!hd_budget_take(&server->memory, SRV_PART_ADAPTERS, bytes)) {
        out->status = hd_budget_refuse(&server->memory, SRV_PART_ADAPTERS, bytes,
                                       "a model of this rank", &out->err);
        return false;
    }
    model->counted = bytes;
    if (!srv_engine_reserve(server->engine, model->base, work)) {
        out->status = hd_budget_refuse(&server->memory, SRV_PART_WORK, work,
                                       "computing with this rank", &out->err);
        return false;
    }
    return true;
}

static created refuse(int status, const char *text)
{
    return (created){.status = status, .text = text, .err = TK_ERR_INIT};
}

/* Enters record, future and job, or nothing. Under the lock. */
static created enter(srv *server, srv_model *model, srv_job *job,
                     const srv_model_spec *spec, const srv_future_spec *future)
{
    tk_err err = TK_ERR_INIT;
    const srv_future *old = srv_future_find(&server->futures, future->id);
    if (old != NULL) {
        bool same = strcmp(old->digest, future->digest) == 0;
        return refuse(same ? 200 : 409, "model_seq_id reused for another model");
    }
    srv_session *session = srv_session_find(server, spec->session_id);
    if (session == NULL) {
        return refuse(404, "Session not found");
    }
    if (srv_model_find(server, tk_str_of(model->id)) != NULL) {
        return refuse(409, "model_seq_id is in use");
    }
    if (server->models.count >= TK_SRV_MODELS_MAX) {
        return refuse(429, "too many models are loaded");
    }
    created out;
    if (!reserve(&out, server, model)) {
        return out;
    }
    if (srv_future_add(&job->future, &server->futures, future, &err) != TINKC_OK) {
        bool full = err.code != TINKC_E_NOMEM; /* 429: clients try again */
        return full ? refuse(429, "too many unfinished requests")
                    : refuse(500, "out of memory");
    }
    if (tk_map_put(&server->models, tk_str_of(model->id), model, &err) != TINKC_OK) {
        srv_future_drop(&server->futures, job->future);
        job->future = NULL;
        return refuse(500, "out of memory");
    }
    memcpy(model->session_id, session->id, sizeof(model->session_id));
    tk_list_push_back(&session->models, &model->of_session);
    srv_job_enter(job, model, 0);
    return (created){.status = 200, .entered = true};
}

static tinkc_code store_run(srv *server, const srv_model_spec *spec, const char *id,
                            tk_err *err)
{
    const srv_store_run run = {
        .id = tk_str_of(id),
        .session_id = spec->session_id,
        .base_model = spec->base_name,
        .rank = (int64_t)spec->lora.rank,
        .train_unembed = spec->lora.train_unembed,
        .train_mlp = spec->lora.train_mlp,
        .train_attn = spec->lora.train_attn,
        .user_metadata =
            spec->user_metadata.n > 0 ? spec->user_metadata : (tk_str){NULL, 0},
    };
    return srv_store_add_run(server->store, &run, err);
}

hd_verdict srv_model_submit_new(hd_request *request, srv_job *job,
                                const srv_model_spec *spec, const srv_submit *submit)
{
    srv *server = job->server;
    tk_err err = TK_ERR_INIT;
    char digest[TK_SHA256_HEX_BYTES];
    char model_id[SRV_MODEL_ID_BYTES];
    char id[SRV_MODEL_ID_BYTES + 4];
    srv_model *model =
        spec->session_id.n < TK_UUID_TEXT_BYTES ? make_model(server, spec) : NULL;
    if (model == NULL || srv_job_digest(digest, request, submit, &err) != TINKC_OK) {
        bool unknown = spec->session_id.n >= TK_UUID_TEXT_BYTES;
        if (model != NULL) {
            free_model(server, model);
        }
        srv_job_free(job);
        return unknown ? hd_reply_fail(request, 404, "Session not found")
                       : hd_reply_no_memory(request);
    }
    (void)snprintf(model_id, sizeof(model_id), "%s", model->id);
    (void)snprintf(id, sizeof(id), "%s:0", model->id);
    srv_note_run note;
    srv_note_prepare(&note, server, spec, model_id);
    const srv_future_spec future = {tk_str_of(id), TK_STR(""), submit->type, digest};
    hd_request_move_memory(&job->memory, request);
    /* The row comes first: a model that trains has one. A row without a model is a run
     * that made no progress. */
    tk_mutex_lock(&server->lock);
    bool fresh = srv_session_find(server, spec->session_id) != NULL &&
                 srv_model_find(server, tk_str_of(model_id)) == NULL &&
                 srv_future_find(&server->futures, future.id) == NULL;
    tk_mutex_unlock(&server->lock);
    created out = refuse(500, "the run cannot be stored");
    tinkc_code code = fresh ? store_run(server, spec, model_id, &err) : TINKC_OK;
    if (code == TINKC_E_CONFLICT) {
        out = refuse(409, err.message);
    } else if (code == TINKC_OK) {
        tk_mutex_lock(&server->lock);
        out = enter(server, model, job, spec, &future);
        if (out.entered) { /* before anybody can find it, and end it */
            srv_note_begin(server, &note);
        }
        tk_mutex_unlock(&server->lock);
    }
    if (!out.entered) {
        free_model(server, model);
        srv_job_free(job);
    }
    srv_note_dispose(&note);
    return out.status == 200
               ? srv_job_reply(request, id, model_id)
               : hd_reply_fail(request, out.status, "%s",
                               out.text != NULL ? out.text : out.err.message);
}

/* ---- models that are not loaded ---- */

/* The route of a request that is answered with what the store knows of a model; its state
 * is the id. */
static hd_verdict answer_missing(hd_request *request)
{
    const srv *server = request->app;
    tk_str id = tk_str_of(request->state);
    srv_store_checkpoint last;
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    hd_verdict verdict;
    if (srv_store_last_checkpoint(&last, server->store, &arena, id, &err) == TINKC_OK) {
        verdict = hd_reply_fail(
            request, 404,
            "Model not found: it is not loaded any more (unloaded, or the server was "
            "restarted). Its last checkpoint is "
            "tinker://" TK_STR_FMT "/%s/" TK_STR_FMT,
            TK_STR_ARG(id), tk_path_kind_name(last.kind), TK_STR_ARG(last.name));
    } else {
        verdict = hd_reply_fail(request, 404, "Model not found");
    }
    tk_arena_dispose(&arena);
    return verdict;
}

static const hd_route missing = {"*", "*", answer_missing, 0, 0, HD_ROUTE_ANY};

hd_verdict srv_model_answer_missing(hd_request *request, tk_str id)
{
    char *copy = tk_strndup(id.p, id.n); /* the request's memory may move to a job */
    if (copy == NULL) {
        return hd_reply_no_memory(request);
    }
    hd_verdict verdict = hd_request_wait(request);
    request->route = &missing;
    request->state = copy;
    request->free_state = tk_free;
    return verdict;
}

/* ---- end ---- */

void srv_model_end_session(srv_session *session)
{
    tk_list *node;
    while ((node = tk_list_pop_front(&session->models)) != NULL) {
        srv_model *model = TK_CONTAINER_OF(node, srv_model, of_session);
        if (model->unloading) {
            continue;
        }
        srv_job *job = model->last_job;
        model->last_job = NULL;
        srv_job_enter(job, model, srv_order_next_seq(&model->order));
    }
}

void srv_model_remove(srv *server, srv_model *model)
{
    tk_list jobs, *node;
    tk_list_init(&jobs);
    tk_mutex_lock(&server->lock);
    (void)tk_map_remove(&server->models, tk_str_of(model->id));
    tk_list_remove(&model->of_session);
    tk_list_splice_back(&jobs, &model->order.waiting);
    tk_mutex_unlock(&server->lock);
    while ((node = tk_list_pop_front(&jobs)) != NULL) {
        srv_job *job = TK_CONTAINER_OF(node, srv_job, order.link);
        if (job->future != NULL) {
            srv_future_fail(server, job->future, "the model was unloaded",
                            TINKC_CATEGORY_USER);
        }
        srv_job_free(job);
    }
    const srv_base *base = model->base;
    srv_note_end(server, model);
    free_model(server, model);
    srv_engine_trim(server->engine, base, NULL);
}

void srv_model_free_all(srv *server)
{
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&server->models, &cursor, NULL, &value)) {
        srv_model *model = value;
        tk_list *node;
        while ((node = tk_list_pop_front(&model->order.waiting)) != NULL) {
            srv_job_free(TK_CONTAINER_OF(node, srv_job, order.link));
        }
        srv_job_free(model->running);
        free_model(server, model);
    }
    tk_map_dispose(&server->models);
}
