/* Jobs and their submission: which request is new, which is a repeated one, which comes
 * too late (docs/protocol.md §11 rows 16 and 17). */
#include "server/run/srv_job.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_head.h"
#include "server/run/srv_model.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "wire/msg_model.h"

srv_job *srv_job_new(srv *server, srv_job_kind kind)
{
    srv_job *job = tk_zalloc(sizeof(*job));
    if (job == NULL) {
        return NULL;
    }
    job->server = server;
    job->kind = kind;
    job->order.kind = SRV_ORDER_BARRIER;
    tk_list_init(&job->order.link);
    hd_request_init_memory(&job->memory, &server->memory);
    tk_buf_init_quota(&job->plain, TK_BODY_MAX_BYTES,
                      hd_budget_quota(&server->memory, HD_PART_REQUESTS));
    return job;
}

static void release_work(srv_job *job)
{
    srv *server = job->server;
    if (!job->work.linked) {
        return;
    }
    tk_mutex_lock(&server->lock);
    if (server->engine != NULL) { /* NULL at the end of the stop */
        srv_engine_release(server->engine, job->work_base, &job->work);
    }
    tk_mutex_unlock(&server->lock);
}

void srv_job_free(srv_job *job)
{
    if (job == NULL) {
        return;
    }
    release_work(job);
    eng_train_free(job->steps);
    tk_buf_dispose(&job->plain);
    hd_budget_give(&job->server->memory, SRV_PART_JOBS, job->counted);
    hd_request_free_memory(&job->memory);
    tk_free(job);
}

/* ---- submission ---- */

tinkc_code srv_job_digest(char out[TK_SHA256_HEX_BYTES], const hd_request *request,
                          const srv_submit *submit, tk_err *err)
{
    tk_buf buf;
    tk_buf_init_quota(&buf, TK_JSON_MAX_BYTES, hd_request_quota(request));
    tk_str bytes = submit->bytes;
    tinkc_code code = TINKC_OK;
    if (submit->schema != NULL) {
        tk_err why = TK_ERR_INIT;
        tk_buf_puts(&buf, submit->schema->name);
        code = tk_schema_encode(&buf, submit->schema, submit->msg, &why);
        bytes = tk_buf_str(&buf);
        if (code == TINKC_E_INVALID) { /* a null that the encoder refuses */
            code = TINKC_OK;
            bytes = tk_buf_str(&request->body);
        } else if (code != TINKC_OK) {
            (void)tk_err_set(err, code, "%s", why.message);
        }
    }
    if (code == TINKC_OK) {
        code = tk_sha256_hex(out, bytes.p != NULL ? bytes.p : "", bytes.n, err);
    }
    tk_buf_dispose(&buf);
    return code;
}

hd_verdict srv_job_reply(hd_request *request, const char *request_id,
                         const char *model_id)
{
    const tk_future_response msg = {
        .request_id = {TK_SET, tk_str_of(request_id)},
        .model_id = {model_id != NULL ? TK_SET : TK_UNSET, tk_str_of(model_id)},
    };
    return srv_msg_reply(request, &tk_msg_future_response, &msg);
}

/* Whether other models or samples have work for the engine. */
static bool others_run(const srv *server, const srv_model *model)
{
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&server->models, &cursor, NULL, &value)) {
        const srv_model *other = value;
        if (other != model && (other->running != NULL || other->order.n > 0)) {
            return true;
        }
    }
    return srv_engine_has_samples(server->engine);
}

static srv_wait why_waiting(const void *owner)
{
    const srv_job *job = owner;
    const srv_model *model = job->model;
    if (model->running != NULL && model->running->again_ns > 0) {
        return (srv_wait){TK_QUEUE_PAUSED_CAPACITY, "the server's memory is full"};
    }
    if (job->began || model->running != NULL) {
        return (srv_wait){TK_QUEUE_ACTIVE, NULL};
    }
    if (srv_order_is_held(&model->order, &job->order, tk_clock_mono_ns(NULL))) {
        return (srv_wait){TK_QUEUE_ACTIVE, "waits for requests with smaller seq_ids"};
    }
    if (others_run(job->server, model)) {
        return (srv_wait){TK_QUEUE_PAUSED_CAPACITY, "the engine works for others"};
    }
    return (srv_wait){TK_QUEUE_ACTIVE, NULL};
}

/* A queue that takes no more requests is the reason for all that wait in it. */
static srv_wait why_in_queue(const void *owner)
{
    const srv_job *job = owner;
    if (!job->began && job->model->order.n >= TK_SRV_JOBS_MAX) {
        return (srv_wait){TK_QUEUE_PAUSED_RATE_LIMIT,
                          "too many requests of this model are waiting"};
    }
    return why_waiting(owner);
}

void srv_job_enter(srv_job *job, srv_model *model, int64_t seq)
{
    job->model = model;
    job->order.seq = seq;
    job->order.arrived_ns = tk_clock_mono_ns(NULL);
    model->unloading = job->kind == SRV_JOB_UNLOAD;
    srv_order_add(&model->order, &job->order);
    if (job->future != NULL) {
        job->future->why = why_in_queue;
        job->future->owner = job;
    }
    srv_engine_wake(job->server->engine);
}

typedef struct entry { /* the result of an attempt to enter, good without the lock */
    int status;        /* 200, 404, 409, ... */
    char id[SRV_MODEL_ID_BYTES + 24];
    char model_id[SRV_MODEL_ID_BYTES];
    bool entered; /* the job is in the order now */
    tk_err err;
} entry;

static void refuse(entry *out, int status, const char *text)
{
    out->status = status;
    (void)tk_err_set(&out->err, TINKC_E_INVALID, "%s", text);
}

/* Counts the memory that a training request needs when it runs; refuses it when there is
 * none. Under the lock. */
static bool reserve(entry *out, srv_job *job, const srv_model *model)
{
    hd_budget *memory = &job->server->memory;
    size_t bytes = eng_bytes_train(&job->size);
    size_t work = eng_bytes_train_work(model->base->model, model->lora.rank, &job->size);
    job->work_base = model->base;
    if (!srv_engine_claim(job->server->engine, model->base, &job->work, work)) {
        out->status =
            hd_budget_refuse(memory, SRV_PART_WORK, work, "this request", &out->err);
        return false;
    }
    if (!hd_budget_take(memory, SRV_PART_JOBS, bytes)) {
        out->status =
            hd_budget_refuse(memory, SRV_PART_JOBS, bytes, "this request", &out->err);
        return false;
    }
    job->counted = bytes;
    return true;
}

/* The request was seen before. */
static void repeat(entry *out, const srv_future *future, const char *digest)
{
    if (strcmp(future->digest, digest) != 0) {
        refuse(out, 409, "sequence number reused for another request");
        return;
    }
    out->status = 200;
    (void)snprintf(out->id, sizeof(out->id), "%s", future->id);
}

/* Under the lock. */
static void enter(entry *out, srv_job *job, const srv_submit *submit, tk_str key,
                  const char *digest)
{
    srv *server = job->server;
    srv_model *model = srv_model_find(server, submit->model_id);
    if (model == NULL || model->unloading) {
        out->status = 404;
        return;
    }
    srv_session_hear(server, submit->model_id);
    int64_t seq = submit->seq > 0 ? submit->seq : srv_order_next_seq(&model->order);
    (void)snprintf(out->model_id, sizeof(out->model_id), "%s", model->id);
    (void)snprintf(out->id, sizeof(out->id), "%s:%lld", model->id, (long long)seq);
    const srv_future *old = submit->seq > 0
                                ? srv_future_find(&server->futures, tk_str_of(out->id))
                                : srv_future_find_idem(&server->futures, key);
    if (old != NULL) {
        repeat(out, old, digest);
        return;
    }
    if (atomic_load(&server->stopping)) {
        refuse(out, 503, "the server is stopping");
        return;
    }
    if (seq > SRV_ORDER_SEQ_MAX) {
        refuse(out, 400, "seq_id is too large");
        return;
    }
    if (srv_order_is_late(&model->order, seq)) {
        refuse(out, 400,
               "seq_id is not above that of an operation that was taken already");
        return;
    }
    if (model->order.n >= TK_SRV_JOBS_MAX) {
        refuse(out, 429, "too many requests of this model are waiting");
        return;
    }
    if (job->kind == SRV_JOB_TRAIN && !reserve(out, job, model)) {
        return;
    }
    const srv_future_spec spec = {.id = tk_str_of(out->id),
                                  .idem = submit->seq > 0 ? TK_STR("") : key,
                                  .type = submit->type,
                                  .digest = digest};
    if (srv_future_add(&job->future, &server->futures, &spec, &out->err) != TINKC_OK) {
        out->status = out->err.code == TINKC_E_NOMEM ? 500 : 429;
        return;
    }
    srv_job_enter(job, model, seq);
    out->status = 200;
    out->entered = true;
}

bool srv_job_read_seq(int64_t *out, hd_request *request, const tk_f_i64 *seq)
{
    if (seq->is == TK_SET && seq->v <= 0) {
        (void)hd_reply_fail(request, 400, "seq_id must be positive");
        return false;
    }
    *out = seq->is == TK_SET ? seq->v : 0;
    return true;
}

hd_verdict srv_job_submit(hd_request *request, srv_job *job, const srv_submit *submit)
{
    srv *server = job->server;
    char digest[TK_SHA256_HEX_BYTES];
    entry out = {.err = TK_ERR_INIT};
    tk_err err = TK_ERR_INIT;
    if (srv_job_digest(digest, request, submit, &err) != TINKC_OK) {
        srv_job_free(job);
        return hd_reply_error(request, &err);
    }
    tk_str key = srv_head_key(request);
    tk_str model_id = submit->model_id;
    hd_request_move_memory(&job->memory, request);
    tk_mutex_lock(&server->lock);
    enter(&out, job, submit, key, digest);
    tk_mutex_unlock(&server->lock);
    hd_verdict verdict;
    if (out.status == 404) {
        verdict = srv_model_answer_missing(request, model_id);
    } else if (out.status != 200) {
        verdict = hd_reply_fail(request, out.status, "%s", out.err.message);
    } else {
        verdict = srv_job_reply(request, out.id, out.model_id);
    }
    if (!out.entered) {
        srv_job_free(job);
    }
    return verdict;
}
