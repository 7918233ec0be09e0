/* Samples: submission by a worker, then the run and its result on the engine thread
 * (docs/protocol.md §8). */
#include "server/run/srv_sample.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_bytes.h"
#include "server/run/srv_adapters.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_head.h"
#include "server/run/srv_job.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_note.h"
#include "server/run/srv_state.h"
#include "server/run/srv_usage.h"
#include "server/store/srv_store.h"
#include "wire/msg_model.h"
#include "wire/pb_sample.h"

#define RESULT_BYTES TK_GIB

void srv_sample_free(srv_sample *sample)
{
    if (sample == NULL) {
        return;
    }
    hd_stream_release(sample->stream);
    tk_buf_dispose(&sample->held);
    hd_budget_give(&sample->server->memory, SRV_PART_JOBS, sample->counted);
    hd_request_free_memory(&sample->memory);
    tk_free(sample);
}

/* ---- submission ---- */

typedef struct attempt {
    srv_sample *sample;
    srv_sampler *own; /* of a request without a sampling session; else NULL */
    const tk_sample_request *msg;
    tk_str key;
    const char *digest;
    /* the result */
    int status;
    bool entered;
    char id[192];
    tk_err err;
} attempt;

/* Under the lock. */
static srv_sampler *find_sampler(srv *server, attempt *a)
{
    if (a->own != NULL) {
        (void)snprintf(a->id, sizeof(a->id), "%s:sample:%llu",
                       srv_store_instance(server->store),
                       (unsigned long long)(tk_rand_u64(&server->rand) >> 1));
        return a->own;
    }
    srv_sampler *sampler = srv_sampler_find(server, a->msg->sampling_session_id.v);
    if (sampler != NULL) {
        (void)snprintf(a->id, sizeof(a->id), "%s:%lld", sampler->id,
                       (long long)a->msg->seq_id.v);
    }
    return sampler;
}

/* Whether the request was seen before; then it is answered. Under the lock. */
static bool is_repeated(srv *server, attempt *a)
{
    const srv_future *old = a->own == NULL
                                ? srv_future_find(&server->futures, tk_str_of(a->id))
                                : srv_future_find_idem(&server->futures, a->key);
    if (old == NULL) {
        return false;
    }
    a->status = strcmp(old->digest, a->digest) == 0 ? 200 : 409;
    (void)snprintf(a->id, sizeof(a->id), "%s", old->id);
    (void)tk_err_set(&a->err, TINKC_E_CONFLICT,
                     "sequence number reused for another request");
    return true;
}

static void refuse(attempt *a, int status, const char *text)
{
    a->status = status;
    (void)tk_err_set(&a->err, TINKC_E_STATE, "%s", text);
}

static srv_wait why_waiting(const void *owner)
{
    const srv_sample *sample = owner;
    return srv_engine_why(sample->server->engine, sample);
}

int srv_sample_reserve(srv_sample *sample, const srv_sampler *sampler, tk_err *err)
{
    hd_budget *memory = &sample->server->memory;
    size_t bytes = eng_bytes_sample(sampler->base->model, &sample->request);
    if (!hd_budget_take(memory, SRV_PART_JOBS, bytes)) {
        return hd_budget_refuse(memory, SRV_PART_JOBS, bytes, "this sample", err);
    }
    sample->counted = bytes;
    return 0;
}

/* Under the lock. */
static void enter(srv *server, attempt *a)
{
    srv_sample *sample = a->sample;
    srv_sampler *sampler = find_sampler(server, a);
    if (sampler == NULL) {
        refuse(a, 404, SRV_SAMPLER_MISSING);
        return;
    }
    srv_session_hear(server, tk_str_of(sampler->id));
    if (atomic_load(&server->stopping)) {
        refuse(a, 503, "the server is stopping");
        return;
    }
    if (sample->stream == NULL && is_repeated(server, a)) {
        return;
    }
    a->status = srv_sample_reserve(sample, sampler, &a->err);
    if (a->status != 0) {
        return;
    }
    if (sample->stream == NULL) {
        const srv_future_spec spec = {tk_str_of(a->id),
                                      a->own == NULL ? TK_STR("") : a->key,
                                      TK_FUTURE_SAMPLE, a->digest};
        if (srv_future_add(&sample->future, &server->futures, &spec, &a->err) !=
            TINKC_OK) {
            a->status = a->err.code == TINKC_E_NOMEM ? 500 : 429;
            return;
        }
    }
    sample->sampler = sampler;
    if (!srv_engine_add_sample(server->engine, sample)) {
        if (sample->future != NULL) {
            srv_future_drop(&server->futures, sample->future);
        }
        refuse(a, 429, "too many samples are waiting");
        return;
    }
    if (sample->future != NULL) {
        sample->future->why = why_waiting;
        sample->future->owner = sample;
        sample->future->sample = sample;
        sample->future->events = a->own == NULL ? &sampler->events : NULL;
        sample->future->clone = a->msg->seq_id.v / TK_CLONE_SEQS;
    }
    sampler->owners += a->own == NULL;
    if (a->own == NULL && sample->stream == NULL) {
        sampler->max_seq = TK_MAX(sampler->max_seq, a->msg->seq_id.v);
    }
    a->status = 200;
    a->entered = true;
}

srv_sample *srv_sample_new(srv *server)
{
    srv_sample *sample = tk_zalloc(sizeof(*sample));
    if (sample != NULL) {
        sample->server = server;
        tk_list_init(&sample->link);
        tk_list_init(&sample->cancelled);
        hd_request_init_memory(&sample->memory, &server->memory);
        tk_buf_init_quota(&sample->held, SRV_TOKEN_BYTES,
                          hd_budget_quota(&server->memory, SRV_PART_JOBS));
    }
    return sample;
}

/* The answer of asample: with an id per sample. */
static hd_verdict reply(hd_request *request, const char *id, size_t n)
{
    tk_str *ids = tk_arena_array(&request->arena, n, sizeof(*ids));
    for (size_t i = 0; ids != NULL && i < n; i++) {
        char text[224];
        int length = snprintf(text, sizeof(text), "%s:%zu", id, i);
        if (!tk_arena_dup(&request->arena, &ids[i], text, (size_t)length)) {
            ids = NULL;
        }
    }
    if (ids == NULL) {
        return hd_reply_no_memory(request);
    }
    const tk_sample_future_response msg = {.request_id = {TK_SET, tk_str_of(id)},
                                           .sample_sequence_ids = {ids, n}};
    return srv_msg_reply(request, &tk_msg_sample_future_response, &msg);
}

static hd_verdict reply_stream(hd_request *request, hd_stream *stream)
{
    request->stream = stream;
    (void)hd_reply_header(request, "Cache-Control", "no-cache");
    return hd_reply_fixed(request, 200, "text/event-stream", TK_STR(""));
}

hd_verdict srv_sample_submit(hd_request *request, const srv_sample_spec *spec)
{
    srv *server = request->app;
    char digest[TK_SHA256_HEX_BYTES];
    tk_err err = TK_ERR_INIT;
    const srv_submit same = {.schema = &tk_msg_sample_request, .msg = spec->msg};
    srv_sample *sample = srv_sample_new(server);
    bool ok = sample != NULL && srv_job_digest(digest, request, &same, &err) == TINKC_OK;
    hd_stream *stream = ok && spec->streamed ? hd_stream_new(&server->memory) : NULL;
    if (!ok || (spec->streamed && stream == NULL)) {
        srv_sample_free(sample);
        srv_sampler_free(spec->own);
        return hd_reply_no_memory(request);
    }
    attempt a = {.sample = sample,
                 .own = spec->own,
                 .msg = spec->msg,
                 .digest = digest,
                 .key = srv_head_key(request),
                 .err = TK_ERR_INIT};
    sample->request = spec->request;
    if (spec->request.target_starts != NULL) {
        sample->target = &spec->msg->target_prompt_logprobs.v;
    }
    sample->stream = stream;
    hd_request_move_memory(&sample->memory, request);
    tk_mutex_lock(&server->lock);
    enter(server, &a);
    tk_mutex_unlock(&server->lock);
    if (!a.entered) {
        srv_sample_free(sample);
        srv_sampler_free(spec->own);
    }
    if (a.status == 200 && stream != NULL) {
        return reply_stream(request, stream);
    }
    hd_stream_release(stream);
    return a.status == 200 ? reply(request, a.id, spec->request.num_samples)
                           : hd_reply_fail(request, a.status, "%s", a.err.message);
}

/* ---- on the engine thread ---- */

static void finish(srv_sample *sample)
{
    srv *server = sample->server;
    tk_mutex_lock(&server->lock);
    tk_list_remove(&sample->link);
    tk_list_remove(&sample->cancelled);
    srv_engine_sample_ended(server->engine, sample);
    srv_sampler_release(server, sample->sampler);
    tk_mutex_unlock(&server->lock);
    srv_sample_free(sample);
}

void srv_sample_cancel(srv_sample *sample)
{
    if (sample->run_id != 0) {
        eng_sampler_cancel(sample->runs_on, sample->run_id);
    }
    if (sample->listener.on_done != NULL) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_set(&err, TINKC_E_CANCELLED, "cancelled by the client");
        sample->listener.on_done(sample->listener.user, NULL, &err);
        finish(sample);
        return;
    }
    srv_future_fail(sample->server, sample->future, "cancelled by the client",
                    TINKC_CATEGORY_USER);
    finish(sample);
}

static tk_sequence sequence_of(const eng_sequence *from, size_t topk)
{
    return (tk_sequence){
        .stop_reason = from->stopped ? TK_STOP_STOP : TK_STOP_LENGTH,
        .tokens = {from->tokens, from->n},
        .has_logprobs = true,
        .logprobs = {from->logprobs, from->n},
        .has_topk = topk > 0,
        .topk = {from->n, topk, from->top_ids, from->top_logprobs},
    };
}

/* In the layout of the tensor that asked. */
static void put_target(tk_sample_response *msg, const srv_sample *sample,
                       const eng_sample_result *result)
{
    msg->has_target = result->target_logprobs != NULL;
    if (msg->has_target) {
        msg->target_prompt_logprobs = *sample->target;
        msg->target_prompt_logprobs.dtype = TK_DTYPE_F32;
        msg->target_prompt_logprobs.data = result->target_logprobs;
    }
}

/* `shape` and *tokens, which the caller frees, live as long as the message. */
static tinkc_code put_alt(tk_sample_response *msg, int64_t shape[2], int64_t **tokens,
                          const eng_sample_result *result, tk_err *err)
{
    size_t n = (size_t)(shape[0] * shape[1]);
    msg->has_alt = result->alt_tokens != NULL;
    if (!msg->has_alt) {
        return TINKC_OK;
    }
    *tokens = tk_array(n, sizeof(**tokens));
    if (*tokens == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        (*tokens)[i] = result->alt_tokens[i];
    }
    tk_tensor tensor = {.n = n, .has_shape = true, .shape = {shape, 2}};
    msg->alt = (tk_alt_tokens){tensor, tensor};
    msg->alt.tokens.dtype = TK_DTYPE_I64;
    msg->alt.tokens.data = *tokens;
    msg->alt.logprobs.dtype = TK_DTYPE_F32;
    msg->alt.logprobs.data = result->alt_logprobs;
    return TINKC_OK;
}

static tinkc_code encode(tk_buf *out, const srv_sample *sample,
                         const eng_sample_result *result, tk_err *err)
{
    int64_t shape[2] = {(int64_t)sample->request.n_prompt - 1, (int64_t)result->n_alt};
    int64_t *alt = NULL;
    tk_sequence *sequences = tk_array(result->n_sequences, sizeof(*sequences));
    if (sequences == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < result->n_sequences; i++) {
        sequences[i] = sequence_of(&result->sequences[i], result->topk_sampled);
    }
    tk_sample_response msg = {
        .sequences = sequences,
        .sequences_n = result->n_sequences,
        .has_prompt_logprobs = result->prompt_logprobs != NULL,
        .has_topk = result->topk > 0,
        .prompt_cache_hit_tokens = (int64_t)result->prompt_cache_hit_tokens,
    };
    if (msg.has_prompt_logprobs) {
        msg.prompt_logprobs =
            (tk_f32s){result->prompt_logprobs, sample->request.n_prompt};
    }
    if (msg.has_topk) {
        msg.topk = (tk_topk_logprobs){sample->request.n_prompt, result->topk,
                                      result->topk_ids, result->topk_logprobs};
    }
    put_target(&msg, sample, result);
    tinkc_code code = put_alt(&msg, shape, &alt, result, err);
    if (code == TINKC_OK) {
        code = tk_pb_sample_encode(out, &msg, err);
    }
    tk_free(alt);
    tk_free(sequences);
    return code;
}

static void fail(srv_sample *sample, const tk_err *err)
{
    if (sample->listener.on_done != NULL) {
        sample->listener.on_done(sample->listener.user, NULL, err);
    } else if (sample->stream != NULL) {
        srv_sample_stream_done(sample, NULL, err);
    } else {
        srv_future_fail_err(sample->server, sample->future, err);
    }
}

static void deliver(srv_sample *sample, const eng_sample_result *result)
{
    tk_err err = TK_ERR_INIT;
    if (sample->listener.on_done != NULL) {
        sample->listener.on_done(sample->listener.user, result, NULL);
        return;
    }
    if (sample->stream != NULL) {
        srv_sample_stream_done(sample, result, NULL);
        return;
    }
    tk_buf buf;
    tk_buf_init(&buf, RESULT_BYTES);
    if (encode(&buf, sample, result, &err) != TINKC_OK) {
        tk_buf_dispose(&buf);
        fail(sample, &err);
        return;
    }
    srv_future_finish(sample->server, sample->future, hd_blob_take(&buf), true);
}

static void count_tokens(const srv_sample *sample, uint64_t n_cached, uint64_t n_sampled)
{
    srv *server = sample->server;
    tk_str base = tk_str_of(sample->sampler->base_name);
    tk_str session = tk_str_of(sample->sampler->id);
    srv_engine_count(server->engine, 0, sample->request.n_prompt, n_cached, n_sampled);
    srv_usage_add(server->usage, TK_BILLING_SAMPLING_PREFILL, base, session,
                  sample->request.n_prompt - n_cached);
    srv_usage_add_cached(server->usage, base, session, n_cached);
    srv_usage_add(server->usage, TK_BILLING_SAMPLING_SAMPLE, base, session, n_sampled);
}

static void on_done(void *user, const eng_sample_result *result, const tk_err *err)
{
    srv_sample *sample = user;
    if (result != NULL) {
        uint64_t n = 0;
        for (size_t i = 0; i < result->n_sequences; i++) {
            n += result->sequences[i].n;
        }
        count_tokens(sample, result->prompt_cache_hit_tokens, n);
        srv_note_sample(sample, result);
        deliver(sample, result);
    } else {
        fail(sample, err);
    }
    finish(sample);
}

static void on_token(void *user, size_t index, int32_t token, float logprob, bool is_last)
{
    srv_sample *sample = user;
    if (sample->listener.on_token != NULL) {
        sample->listener.on_token(sample->listener.user, index, token, logprob);
        return;
    }
    srv_sample_stream_token(sample, token, logprob, is_last);
    if (sample->abandoned) {
        eng_sampler_cancel(sample->runs_on, sample->run_id);
        finish(sample);
    }
}

void srv_sample_start(srv_sample *sample, eng_sampler *sampler)
{
    tk_err err = TK_ERR_INIT;
    const eng_sample_listener listener = {
        .on_token =
            sample->stream != NULL || sample->listener.on_token != NULL ? on_token : NULL,
        .on_done = on_done,
        .user = sample,
    };
    sample->runs_on = sampler;
    tinkc_code code = srv_adapters_load(sample->server, sample->sampler, &err);
    if (code == TINKC_OK) {
        sample->request.adapter = sample->sampler->adapter;
        code =
            eng_sampler_add(sampler, &sample->request, &listener, &sample->run_id, &err);
    }
    if (code != TINKC_OK) {
        fail(sample, &err);
        finish(sample);
        return;
    }
    tk_mutex_lock(&sample->server->lock);
    sample->queue_id = sample->run_id;
    tk_mutex_unlock(&sample->server->lock);
}
