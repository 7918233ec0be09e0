/* From a message of sampling to a sampler or a sample. */
#include "server/api/srv_sampling.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "server/api/srv_lookup.h"
#include "server/api/srv_sampling_score.h"
#include "server/api/srv_train.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_sample.h"
#include "server/run/srv_state.h"

#define SAMPLES_PER_REQUEST 1024

/* ---- which weights ---- */

static bool resolve_path(srv_sampler_spec *out, hd_request *request, tk_str text)
{
    const srv *server = request->app;
    tk_path path;
    srv_store_checkpoint checkpoint;
    srv_store_run run;
    const char *dir = NULL;
    tk_err err = TK_ERR_INIT;
    if (!srv_lookup_path(&path, request, text) ||
        !srv_lookup_checkpoint(&checkpoint, &run, request, &path)) {
        return false;
    }
    if (srv_store_dir(&dir, server->store, &request->arena, checkpoint.dir, &err) !=
        TINKC_OK) {
        (void)hd_reply_error(request, &err);
        return false;
    }
    out->base_name = run.base_model;
    out->path = text;
    out->dir = tk_str_of(dir);
    out->rank = run.rank > 0 ? (size_t)run.rank : 0;
    return true;
}

/* Finds what base_model and model_path mean; fills the spec (strings in the arena), or
 * answers and returns false. */
static bool resolve(srv_sampler_spec *out, hd_request *request, tk_str base_model,
                    tk_str model_path)
{
    const srv_base *named = NULL;
    *out = (srv_sampler_spec){.base_name = base_model};
    if ((model_path.n > 0 && !resolve_path(out, request, model_path)) ||
        !srv_lookup_base(&out->base, request, out->base_name)) {
        return false;
    }
    if (base_model.n > 0 && !srv_lookup_base(&named, request, base_model)) {
        return false;
    }
    if (named != NULL && named != out->base) {
        (void)hd_reply_field(request, "base_model", "is not the model of model_path");
        return false;
    }
    return true;
}

/* ---- create_sampling_session ---- */

static hd_verdict reply_created(hd_request *request, const char *id)
{
    const tk_create_sampling_session_response msg = {
        .sampling_session_id = {TK_SET, tk_str_of(id)}};
    return srv_msg_reply(request, &tk_msg_create_sampling_session_response, &msg);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Enters the record. Returns 200, also when the same one is there already, or the status
 * of the failure. Under the lock. */
static int enter(srv *server, srv_sampler *sampler, tk_str session_id, bool *entered,
                 tk_err *err)
{
    const srv_sampler *old = srv_sampler_find(server, tk_str_of(sampler->id));
    if (old != NULL) { /* a repeated request means the same weights */
        bool same = same_text(old->path, sampler->path) && old->base == sampler->base;
        (void)tk_err_set(err, TINKC_E_CONFLICT, "sampling_session_seq_id is in use");
        return same ? 200 : 409;
    }
    srv_session *session = srv_session_find(server, session_id);
    if (session == NULL) {
        (void)tk_err_set(err, TINKC_E_MISSING, "Session not found");
        return 404;
    }
    tinkc_code code = srv_sampler_enter(server, sampler, session, err);
    *entered = code == TINKC_OK;
    return code == TINKC_OK ? 200 : code == TINKC_E_LIMIT ? 429 : 500;
}

/* Adds the row, which is for listings only: no failure of it counts. */
static void store_sampler(srv *server, const srv_sampler_spec *spec, tk_str session_id)
{
    tk_err ignored = TK_ERR_INIT;
    const srv_store_sampler row = {.id = spec->id,
                                   .session_id = session_id,
                                   .base_model = spec->base_name,
                                   .model_path = spec->path};
    (void)!srv_store_add_sampler(server->store, &row, &ignored);
}

hd_verdict srv_sampling_create_session(hd_request *request)
{
    srv *server = request->app;
    tk_create_sampling_session_request msg;
    srv_sampler_spec spec;
    tk_err err = TK_ERR_INIT;
    if (!srv_msg_decode(request, &tk_msg_create_sampling_session_request, &msg)) {
        return HD_ANSWERED;
    }
    if (tk_sampling_session_check(&msg, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    if (msg.session_id.v.n >= TK_UUID_TEXT_BYTES) {
        return hd_reply_fail(request, 404, "Session not found");
    }
    tk_str none = {NULL, 0};
    if (!resolve(&spec, request, msg.base_model.is == TK_SET ? msg.base_model.v : none,
                 msg.model_path.is == TK_SET ? msg.model_path.v : none)) {
        return HD_ANSWERED;
    }
    char id[SRV_SAMPLER_ID_BYTES];
    (void)snprintf(id, sizeof(id), TK_STR_FMT ":sample:%lld",
                   TK_STR_ARG(msg.session_id.v),
                   (long long)msg.sampling_session_seq_id.v);
    spec.id = tk_str_of(id);
    srv_sampler *sampler = srv_sampler_new(&spec);
    if (sampler == NULL) {
        return hd_reply_no_memory(request);
    }
    bool entered = false;
    tk_mutex_lock(&server->lock);
    int status = enter(server, sampler, msg.session_id.v, &entered, &err);
    tk_mutex_unlock(&server->lock);
    if (entered) {
        store_sampler(server, &spec, msg.session_id.v);
    } else {
        srv_sampler_free(sampler);
    }
    return status == 200 ? reply_created(request, id)
                         : hd_reply_fail(request, status, "%s", err.message);
}

/* ---- join_sampling_session ---- */

/* Gives each client that joins a range of sequence ids; the one that made the session has
 * the range 0. */
hd_verdict srv_sampling_join_session(hd_request *request)
{
    srv *server = request->app;
    tk_join_sampling_session_request msg;
    if (!srv_msg_decode(request, &tk_msg_join_sampling_session_request, &msg)) {
        return HD_ANSWERED;
    }
    int64_t n = 0;
    tk_mutex_lock(&server->lock);
    srv_sampler *sampler = srv_sampler_find(server, msg.sampling_session_id.v);
    if (sampler != NULL) {
        srv_session_hear(server, msg.sampling_session_id.v);
        n = ++sampler->clients;
    }
    tk_mutex_unlock(&server->lock);
    if (n == 0) {
        return hd_reply_fail(request, 404, SRV_SAMPLER_MISSING);
    }
    const tk_join_sampling_session_response reply = {.client_counter = {TK_SET, n}};
    return srv_msg_reply(request, &tk_msg_join_sampling_session_response, &reply);
}

/* ---- samplers/<id> ---- */

hd_verdict srv_sampling_get_sampler(hd_request *request)
{
    srv *server = request->app;
    tk_str base = {NULL, 0};
    tk_str path = {NULL, 0};
    bool found = false;
    bool copied = false;
    tk_mutex_lock(&server->lock);
    const srv_sampler *sampler = srv_sampler_find(server, request->params[0]);
    found = sampler != NULL;
    if (found) {
        const char *p = sampler->path != NULL ? sampler->path : "";
        copied = tk_arena_dup(&request->arena, &base, sampler->base_name,
                              strlen(sampler->base_name)) &&
                 tk_arena_dup(&request->arena, &path, p, strlen(p));
    }
    tk_mutex_unlock(&server->lock);
    if (!found) {
        return hd_reply_fail(request, 404, "Sampler not found");
    }
    if (!copied) {
        return hd_reply_no_memory(request);
    }
    const tk_sampler_response msg = {
        .sampler_id = {TK_SET, request->params[0]},
        .base_model = {TK_SET, base},
        .model_path = {path.n > 0 ? TK_SET : TK_NULL, path},
    };
    return srv_msg_reply(request, &tk_msg_sampler_response, &msg);
}

/* ---- asample, stream_sample ---- */

static void convert_stop(eng_sample_request *out, const tk_f_stops *stop)
{
    if (stop->is != TK_SET) {
        out->stop_mode = ENG_STOP_EOS;
        return;
    }
    out->stop_mode = ENG_STOP_LISTED;
    switch (stop->v.form) {
    case TK_STOPS_TEXT:
        out->stop_strings = &stop->v.text;
        out->n_stop_strings = 1;
        break;
    case TK_STOPS_TEXTS:
        out->stop_strings = stop->v.texts.p;
        out->n_stop_strings = stop->v.texts.n;
        break;
    case TK_STOPS_TOKENS:
        out->stop_tokens = stop->v.tokens.p;
        out->n_stop_tokens = stop->v.tokens.n;
        break;
    }
    if (out->n_stop_strings == 0 && out->n_stop_tokens == 0) {
        out->stop_mode = ENG_STOP_NONE;
    }
}

static tinkc_code convert(eng_sample_request *out, tk_arena *arena,
                          const tk_sample_request *msg, tk_err *err)
{
    const tk_sampling_params *params = &msg->sampling_params;
    if (msg->num_samples.v < 1 || msg->num_samples.v > SAMPLES_PER_REQUEST) {
        return tk_err_set(err, TINKC_E_INVALID, "num_samples must be 1 to %d",
                          SAMPLES_PER_REQUEST);
    }
    if (params->max_tokens.is == TK_SET && params->max_tokens.v < 1) {
        return tk_err_set(err, TINKC_E_INVALID, "max_tokens must be positive");
    }
    *out = (eng_sample_request){
        .num_samples = (size_t)msg->num_samples.v,
        .max_tokens = params->max_tokens.is == TK_SET ? (size_t)params->max_tokens.v : 0,
        .temperature = params->temperature.v,
        .top_p = params->top_p.v,
        .top_k = params->top_k.v,
        .has_seed = params->seed.is == TK_SET,
        .seed = params->seed.v,
        .prompt_logprobs = msg->prompt_logprobs.is == TK_SET && msg->prompt_logprobs.v,
    };
    convert_stop(out, &params->stop);
    tinkc_code code = eng_sample_check_stops(out, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = srv_train_tokens(&out->prompt, &out->n_prompt, arena, &msg->prompt, err);
    if (code == TINKC_OK && out->n_prompt == 0) {
        code = tk_err_set(err, TINKC_E_INVALID, "the prompt must not be empty");
    }
    return code == TINKC_OK ? srv_sampling_scores(out, arena, msg, err) : code;
}

/* Decodes and submits; with `streamed` the tokens are the answer. */
static hd_verdict submit(hd_request *request, bool streamed)
{
    tk_err err = TK_ERR_INIT;
    tk_sample_mode mode;
    srv_sample_spec spec = {.streamed = streamed};
    /* In the arena, because the stop string is a member of it. */
    tk_sample_request *msg = tk_arena_zalloc(&request->arena, sizeof(*msg));
    if (msg == NULL) {
        return hd_reply_no_memory(request);
    }
    if (!srv_msg_decode(request, &tk_msg_sample_request, msg)) {
        return HD_ANSWERED;
    }
    if (streamed && msg->sampling_session_id.is == TK_SET && msg->seq_id.is != TK_SET) {
        msg->seq_id = (tk_f_i64){TK_SET, 0}; /* a stream is never resent */
    }
    if (tk_sample_request_check(msg, &mode, &err) != TINKC_OK ||
        convert(&spec.request, &request->arena, msg, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    if (streamed && srv_sampling_check_stream(&spec.request, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    if (mode == TK_SAMPLE_BY_PATH && !request->may_wait) {
        return hd_request_wait(request);
    }
    if (mode != TK_SAMPLE_BY_SESSION) {
        srv_sampler_spec weights;
        if (!resolve(&weights, request, msg->base_model.v, msg->model_path.v)) {
            return HD_ANSWERED;
        }
        spec.own = srv_sampler_new(&weights);
        if (spec.own == NULL) {
            return hd_reply_no_memory(request);
        }
    }
    spec.msg = msg;
    return srv_sample_submit(request, &spec);
}

hd_verdict srv_sampling_sample(hd_request *request)
{
    return submit(request, false);
}

hd_verdict srv_sampling_stream(hd_request *request)
{
    return submit(request, true);
}
