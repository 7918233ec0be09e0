/* Records of models and their routes (wire.md §2.2), see srv_model.h. */
#include "server/api/srv_model.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "server/api/srv_poll.h"
#include "server/http/srv_reply.h"
#include "server/run/srv_engine.h"
#include "server/srv_int.h"
#include "server/store/srv_store.h"
#include "wire/msg_model.h"

#define RANK_MAX   4096
#define LORA_ALPHA 32.0 /* whatever the rank, as the hosted service */

srv_model *srv_model_find(srv *server, tk_str id)
{
    return tk_map_get(&server->models, id);
}

/* ---- create_model ---- */

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* The texts are the hosted service's. */
static const char *blame_lora(const srv *server, const tk_lora_config *config)
{
    tk_err ignored = TK_ERR_INIT;
    if (config->rank.v <= 0) {
        return "lora_config.rank must be positive";
    }
    if (server->strict && !is_power_of_two(config->rank.v)) {
        return "lora_config.rank must be a power of 2";
    }
    if (config->rank.v > RANK_MAX) {
        return "lora_config.rank must be at most 4096";
    }
    if (tk_lora_config_check(config, &ignored) != TINKC_OK) {
        return "At least one of train_unembed, train_mlp, or train_attn must be True";
    }
    return NULL;
}

static bool flag_of(const tk_f_bool *field)
{
    return field->is != TK_SET || field->v;
}

static eng_lora_config lora_of(srv *server, const tk_f_lora_config *config)
{
    eng_lora_config lora = ENG_LORA_CONFIG_INIT;
    bool seeded = config->is == TK_SET && config->v.seed.is == TK_SET;
    if (config->is == TK_SET) {
        lora.rank = (size_t)config->v.rank.v;
        lora.train_attn = flag_of(&config->v.train_attn);
        lora.train_mlp = flag_of(&config->v.train_mlp);
        lora.train_unembed = flag_of(&config->v.train_unembed);
    }
    lora.alpha = LORA_ALPHA;
    tk_mutex_lock(&server->lock);
    lora.seed = seeded ? config->v.seed.v : tk_rand_u64(&server->rand);
    tk_mutex_unlock(&server->lock);
    return lora;
}

static tk_str metadata_of(srv_request *request, const tk_f_raw *raw)
{
    tk_str out = {"", 0};
    if (raw->is == TK_SET && raw->v != NULL) {
        tk_buf buf;
        tk_json_writer w;
        tk_buf_init(&buf, 2 * TK_SRV_BODY_LIGHT_BYTES);
        tk_json_writer_init(&w, &buf);
        tk_json_put_value(&w, raw->v);
        if (buf.failure != TINKC_OK ||
            !tk_arena_dup(&request->arena, &out, buf.p, buf.n)) {
            out = (tk_str){"", 0};
        }
        tk_buf_dispose(&buf);
    }
    return out;
}

srv_verdict srv_model_create(srv *server, srv_request *request)
{
    tk_create_model_request msg;
    if (!srv_request_decode(request, &tk_msg_create_model_request, &msg)) {
        return SRV_ANSWERED;
    }
    if (msg.lora_config.is == TK_SET) {
        const char *blame = blame_lora(server, &msg.lora_config.v);
        if (blame != NULL) {
            return srv_reply_fail(request, 400, "%s", blame);
        }
    }
    const srv_base *base = srv_catalog_find(server->catalog, msg.base_model.v);
    if (base == NULL) {
        return srv_reply_fail(request, 400, "base_model \"" TK_STR_FMT "\" is not served",
                              TK_STR_ARG(msg.base_model.v));
    }
    const srv_model_spec spec = {
        .session_id = msg.session_id.v,
        .seq = msg.model_seq_id.v,
        .base_name = msg.base_model.v,
        .base = base,
        .lora = lora_of(server, &msg.lora_config),
        .user_metadata = metadata_of(request, &msg.user_metadata),
    };
    const srv_submit submit = {.type = TK_FUTURE_CREATE_MODEL,
                               .schema = &tk_msg_create_model_request,
                               .msg = &msg};
    srv_job *job = srv_job_new(server, SRV_JOB_CREATE);
    if (job == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    return srv_model_submit_new(request, job, &spec, &submit);
}

static void free_model(srv_model *model)
{
    tk_list_remove(&model->of_session);
    srv_job_free(model->farewell);
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
    model->farewell = srv_job_new(server, SRV_JOB_UNLOAD);
    if (model->id == NULL || model->base_name == NULL || model->farewell == NULL) {
        free_model(model);
        return NULL;
    }
    return model;
}

typedef struct created {
    int status;
    const char *text;
    bool entered;
} created;

/* Under the lock: record, future and job, or nothing. */
static created enter(srv *server, srv_model *model, srv_job *job,
                     const srv_model_spec *spec, const srv_future_spec *future)
{
    tk_err err = TK_ERR_INIT;
    const srv_future *old = srv_future_find(&server->futures, future->id);
    if (old != NULL) {
        bool same = strcmp(old->digest, future->digest) == 0;
        return (created){same ? 200 : 409, "model_seq_id reused for another model",
                         false};
    }
    srv_session *session = srv_session_find(server, spec->session_id);
    if (session == NULL) {
        return (created){404, "Session not found", false};
    }
    if (srv_model_find(server, tk_str_of(model->id)) != NULL) {
        return (created){409, "model_seq_id is in use", false};
    }
    if (server->models.count >= TK_SRV_MODELS_MAX) {
        return (created){429, "too many models are loaded", false};
    }
    if (srv_future_add(&job->future, &server->futures, future, &err) != TINKC_OK) {
        bool full = err.code == TINKC_E_LIMIT; /* for now: clients come back */
        return full ? (created){429, "too many unfinished requests", false}
                    : (created){500, "out of memory", false};
    }
    if (tk_map_put(&server->models, tk_str_of(model->id), model, &err) != TINKC_OK) {
        srv_future_drop(&server->futures, job->future);
        job->future = NULL;
        return (created){500, "out of memory", false};
    }
    memcpy(model->session_id, session->id, sizeof(model->session_id));
    tk_list_push_back(&session->models, &model->of_session);
    job->model = model;
    job->order.seq = 0;
    job->order.arrived_ns = tk_clock_mono_ns(NULL);
    srv_order_add(&model->order, &job->order);
    srv_job_watch(job);
    srv_engine_wake(server->engine);
    return (created){200, NULL, true};
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

srv_verdict srv_model_submit_new(srv_request *request, srv_job *job,
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
            free_model(model);
        }
        srv_job_free(job);
        return unknown ? srv_reply_fail(request, 404, "Session not found")
                       : srv_reply_fail(request, 500, "out of memory");
    }
    (void)snprintf(model_id, sizeof(model_id), "%s", model->id);
    (void)snprintf(id, sizeof(id), "%s:0", model->id);
    const srv_future_spec future = {tk_str_of(id), TK_STR(""), submit->type, digest};
    srv_job_adopt(job, request);
    /* The row comes first: a model that trains has one. A row without a model is a run
     * that made no progress. */
    tk_mutex_lock(&server->lock);
    bool fresh = srv_session_find(server, spec->session_id) != NULL &&
                 srv_model_find(server, tk_str_of(model_id)) == NULL &&
                 srv_future_find(&server->futures, future.id) == NULL;
    tk_mutex_unlock(&server->lock);
    created out = {500, "the run cannot be stored", false};
    if (!fresh || store_run(server, spec, model_id, &err) == TINKC_OK) {
        tk_mutex_lock(&server->lock);
        out = enter(server, model, job, spec, &future);
        tk_mutex_unlock(&server->lock);
    }
    if (!out.entered) {
        free_model(model);
        srv_job_free(job);
    }
    return out.status == 200 ? srv_job_reply(request, id, model_id)
                             : srv_reply_fail(request, out.status, "%s", out.text);
}

/* ---- get_info, unload_model ---- */

srv_verdict srv_model_get_info(srv *server, srv_request *request)
{
    tk_model_request msg;
    if (!srv_request_decode(request, &tk_msg_get_info_request, &msg)) {
        return SRV_ANSWERED;
    }
    tk_str name = {NULL, 0};
    const srv_base *base = NULL;
    size_t rank = 0;
    bool copied = false;
    tk_mutex_lock(&server->lock);
    srv_model *model = srv_model_find(server, msg.model_id.v);
    if (model != NULL) {
        base = model->base;
        rank = model->lora.rank;
        copied = tk_arena_dup(&request->arena, &name, model->base_name,
                              strlen(model->base_name));
    }
    tk_mutex_unlock(&server->lock);
    if (base == NULL) {
        return srv_model_answer_missing(server, request, msg.model_id.v);
    }
    if (!copied) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    const tk_get_info_response reply = {
        .model_id = {TK_SET, msg.model_id.v},
        .model_data = {.arch = {TK_SET, tk_str_of(base->info.architecture)},
                       .model_name = {TK_SET, name},
                       .tokenizer_id = {TK_SET, tk_str_of(base->tokenizer_dir)}},
        .is_lora = {TK_SET, true},
        .lora_rank = {TK_SET, (int64_t)rank},
        .model_name = {TK_SET, name},
    };
    return srv_reply_msg(request, &tk_msg_get_info_response, &reply);
}

srv_verdict srv_model_unload(srv *server, srv_request *request)
{
    tk_model_request msg;
    if (!srv_request_decode(request, &tk_msg_unload_model_request, &msg)) {
        return SRV_ANSWERED;
    }
    srv_job *job = srv_job_new(server, SRV_JOB_UNLOAD);
    if (job == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    const srv_submit submit = {.type = TK_FUTURE_UNLOAD_MODEL,
                               .model_id = msg.model_id.v,
                               .schema = &tk_msg_unload_model_request,
                               .msg = &msg};
    return srv_job_submit(request, job, &submit);
}

/* ---- what is not there ---- */

srv_verdict srv_model_answer_missing(srv *server, srv_request *request, tk_str id)
{
    srv_store_checkpoint last;
    tk_err err = TK_ERR_INIT;
    tk_arena arena; /* the request's own may be a job's by now, and `id` with it */
    tk_arena_init(&arena, TK_MIB);
    srv_verdict verdict;
    if (srv_store_last_checkpoint(&last, server->store, &arena, id, &err) == TINKC_OK) {
        verdict = srv_reply_fail(
            request, 404,
            "Model not found: it is not loaded any more. Its last checkpoint is "
            "tinker://" TK_STR_FMT "/%s/" TK_STR_FMT,
            TK_STR_ARG(id), tk_path_kind_name(last.kind), TK_STR_ARG(last.name));
    } else {
        verdict = srv_reply_fail(request, 404, "Model not found");
    }
    tk_arena_dispose(&arena);
    return verdict;
}

/* Whether "<owner>:<seq>" was given out by a model or sampler that is still there. */
static bool was_used(srv *server, tk_str owner, int64_t seq, bool *known)
{
    bool used = false;
    *known = true;
    tk_mutex_lock(&server->lock);
    const srv_model *model = srv_model_find(server, owner);
    const srv_sampler *sampler =
        model == NULL ? tk_map_get(&server->samplers, owner) : NULL;
    if (model != NULL) {
        used = seq <= model->order.max_seq;
    } else if (sampler != NULL) {
        used = seq <= sampler->max_seq;
    } else {
        *known = false;
    }
    tk_mutex_unlock(&server->lock);
    return used;
}

srv_verdict srv_model_answer_lost(srv *server, srv_request *request, tk_str id)
{
    size_t colon = id.n;
    while (colon > 0 && id.p[colon - 1] != ':') {
        colon--;
    }
    int64_t seq = 0;
    bool lost = false;
    if (colon > 1 && tk_str_to_i64((tk_str){id.p + colon, id.n - colon}, &seq)) {
        bool known = false;
        tk_str rest = id;
        lost = was_used(server, (tk_str){id.p, colon - 1}, seq, &known);
        if (!known) { /* before a restart, of a session that has ended, or of none */
            tk_str first = tk_str_cut(&rest, ':');
            lost = srv_store_has_session(server->store, first) ||
                   tk_str_is(first, srv_store_instance(server->store));
        }
    }
    return lost ? srv_reply_fail(request, 410, "the result is not kept any more")
                : srv_reply_fail(request, 404, "Future not found");
}

/* ---- end ---- */

void srv_model_orphan(srv *server, srv_session *session)
{
    tk_list *node;
    while ((node = tk_list_pop_front(&session->models)) != NULL) {
        srv_model *model = TK_CONTAINER_OF(node, srv_model, of_session);
        if (model->unloading) {
            continue;
        }
        srv_job *job = model->farewell;
        model->farewell = NULL;
        job->model = model;
        job->order.seq = srv_order_next_seq(&model->order);
        job->order.arrived_ns = tk_clock_mono_ns(NULL);
        model->unloading = true;
        srv_order_add(&model->order, &job->order);
        srv_engine_wake(server->engine);
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
            srv_poll_fail(server, job->future, "the model was unloaded",
                          TINKC_CATEGORY_USER);
        }
        srv_job_free(job);
    }
    eng_adapter_free(model->adapter);
    free_model(model);
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
        eng_adapter_free(model->adapter);
        free_model(model);
    }
    tk_map_dispose(&server->models);
}
