/* Files of checkpoints never change once they are written, so a copy is a directory of
 * hard links: it stays when the source is deleted. The copy's run has no model and cannot
 * be trained. */
#include "server/api/srv_copy.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "server/api/srv_lookup.h"
#include "server/run/srv_head.h"
#include "server/run/srv_model.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store.h"
#include "wire/msg_external.h"

#define TTL_MIN_S 3600
#define TTL_MAX_S (INT64_C(10) * 366 * 24 * 3600)

typedef struct copying {
    srv *server;
    hd_request *request;
    tk_copy_weights_request msg;
    tk_path source;
    int64_t ttl_seconds; /* 0 = none */
    tk_str project_id;   /* empty: that of the session, if any */
    char run_id[SRV_MODEL_ID_BYTES];
    srv_store_checkpoint from;
    srv_store_run run;
    char path[SRV_MODEL_ID_BYTES + TK_SRV_NAME_BYTES + 64];
} copying;

/* Returns false with an answer. */
static bool read_ttl(copying *c)
{
    const tk_f_i64 *ttl = &c->msg.ttl_seconds;
    if (ttl->is == TK_SET && (ttl->v < TTL_MIN_S || ttl->v > TTL_MAX_S)) {
        (void)hd_reply_field(c->request, "ttl_seconds",
                             "must be 3600 (an hour) to ten years");
        return false;
    }
    c->ttl_seconds = ttl->is == TK_SET ? ttl->v : 0;
    return true;
}

/* Makes up a run. A request that is sent again, with its key, gets the same one, and so
 * finds the copy that it made the first time. */
static bool invent_run(copying *c)
{
    char uuid[TK_UUID_TEXT_BYTES];
    tk_str key = srv_head_key(c->request);
    if (key.n > 0) {
        char hex[TK_SHA256_HEX_BYTES];
        tk_err err = TK_ERR_INIT;
        if (tk_sha256_hmac_hex(hex, key, c->msg.source_path.v, &err) != TINKC_OK) {
            (void)hd_reply_error(c->request, &err);
            return false;
        }
        (void)snprintf(uuid, sizeof(uuid), "%.8s-%.4s-4%.3s-8%.3s-%.12s", hex, hex + 8,
                       hex + 12, hex + 15, hex + 18);
    } else {
        tk_mutex_lock(&c->server->lock);
        tk_uuid_make(uuid, &c->server->rand);
        tk_mutex_unlock(&c->server->lock);
    }
    (void)snprintf(c->run_id, sizeof(c->run_id), "%s:train:0", uuid);
    return true;
}

/* Chooses the run of the copy: in the session that was named, whose project it has, or a
 * new one. */
static bool choose_run(copying *c)
{
    tk_str session = c->msg.session_id.v;
    tk_err err = TK_ERR_INIT;
    if ((c->msg.session_id.is == TK_SET) != (c->msg.model_seq_id.is == TK_SET)) {
        (void)hd_reply_field(c->request, "model_seq_id", "goes with session_id");
        return false;
    }
    if (c->msg.session_id.is != TK_SET) {
        c->project_id = c->msg.destination_project_id.v;
        return invent_run(c);
    }
    if (c->msg.destination_project_id.is == TK_SET) {
        (void)hd_reply_field(c->request, "destination_project_id",
                             "with session_id the project is that of the session");
        return false;
    }
    if (session.n >= TK_UUID_TEXT_BYTES) {
        (void)hd_reply_fail(c->request, 404, "Session not found");
        return false;
    }
    if (srv_store_find_session(c->server->store, session, &err) != TINKC_OK) {
        (void)hd_reply_error(c->request, &err);
        return false;
    }
    (void)snprintf(c->run_id, sizeof(c->run_id), TK_STR_FMT ":train:%lld",
                   TK_STR_ARG(session), (long long)c->msg.model_seq_id.v);
    return true;
}

static bool read_request(copying *c)
{
    return srv_msg_decode(c->request, &tk_msg_copy_weights_request, &c->msg) &&
           srv_lookup_path(&c->source, c->request, c->msg.source_path.v) &&
           srv_lookup_token(c->request, &c->msg.weights_access_token) &&
           srv_lookup_project(c->request, &c->msg.destination_project_id) &&
           read_ttl(c) && choose_run(c);
}

/* Whether weights of `a` can be those of `b`. */
static bool is_same_shape(const srv_store_run *a, const srv_store_run *b)
{
    return tk_str_eq(a->base_model, b->base_model) && a->rank == b->rank &&
           a->train_unembed == b->train_unembed && a->train_mlp == b->train_mlp &&
           a->train_attn == b->train_attn;
}

/* Adds the run's row: that of the source with another id. It may exist, from an earlier
 * attempt or from another copy into the same run. */
static tinkc_code add_run(copying *c, tk_err *err)
{
    srv_store_run there;
    tk_err ignored = TK_ERR_INIT;
    if (srv_store_get_run(&there, c->server->store, &c->request->arena,
                          tk_str_of(c->run_id), &ignored) == TINKC_OK) {
        return is_same_shape(&c->run, &there)
                   ? TINKC_OK
                   : tk_err_set(err, TINKC_E_CONFLICT,
                                "model_seq_id is in use by another kind of model");
    }
    tk_str session = tk_str_of(c->run_id);
    c->run.id = tk_str_of(c->run_id);
    c->run.session_id = tk_str_cut(&session, ':');
    c->run.project_id = c->project_id;
    if (c->run.user_metadata.n == 0) {
        c->run.user_metadata = (tk_str){NULL, 0};
    }
    return srv_store_add_run(c->server->store, &c->run, err);
}

/* A deletion takes the row first: while it is there the files are, too. */
static tinkc_code find_again(copying *c, tk_err *err)
{
    srv_store_checkpoint now;
    tinkc_code code = srv_store_get_checkpoint(&now, c->server->store, &c->request->arena,
                                               &c->source, err);
    return code == TINKC_OK && now.row != c->from.row
               ? tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found")
               : code;
}

static tinkc_code link_files(copying *c, tk_str *dir, const char **full, tk_err *err)
{
    srv *server = c->server;
    const char *from = NULL;
    const tk_path path = {
        .run = tk_str_of(c->run_id), .kind = c->source.kind, .name = c->source.name};
    tk_arena *arena = &c->request->arena;
    tinkc_code code = srv_store_dir(&from, server->store, arena, c->from.dir, err);
    if (code == TINKC_OK) {
        code = srv_store_new_dir(dir, full, server->store, arena, &path, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    code = srv_files_link_dir(from, *full, err);
    if (code == TINKC_OK && find_again(c, err) != TINKC_OK) {
        srv_files_remove_dir(*full);
        code = err->code;
    }
    return code;
}

/* The run has a checkpoint of that name. It is the copy that is asked for when the answer
 * to the first attempt was lost. */
static tinkc_code judge_there(copying *c, tk_err *err)
{
    srv_store *store = c->server->store;
    tk_arena *arena = &c->request->arena;
    const char *source = NULL, *dir = NULL;
    srv_store_checkpoint there;
    const tk_path path = {
        .run = tk_str_of(c->run_id), .kind = c->source.kind, .name = c->source.name};
    tinkc_code code = srv_store_get_checkpoint(&there, store, arena, &path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_dir(&source, store, arena, c->from.dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_dir(&dir, store, arena, there.dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (!srv_files_is_linked(source, dir)) {
        code = tk_err_set(err, TINKC_E_CONFLICT,
                          "the run has another checkpoint of that name");
    }
out:
    return code;
}

static tinkc_code copy(copying *c, tk_err *err)
{
    srv_store *store = c->server->store;
    tk_arena *arena = &c->request->arena;
    tk_str dir, old;
    const char *full = NULL;
    tinkc_code code = srv_store_get_checkpoint(&c->from, store, arena, &c->source, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_get_run(&c->run, store, arena, c->source.run, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = add_run(c, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = link_files(c, &dir, &full, err);
    if (code != TINKC_OK) {
        goto out;
    }
    srv_store_checkpoint row = c->from;
    row.run_id = tk_str_of(c->run_id);
    row.dir = dir;
    row.is_public = false;
    row.created_us = tk_clock_wall_us(NULL);
    row.expires_us = srv_store_end_us(store, c->ttl_seconds);
    tk_err why = TK_ERR_INIT;
    code = srv_store_add_checkpoint(store, arena, &row, false, &old, &why);
    if (code != TINKC_OK) {
        srv_files_remove_dir(full);
        code = code == TINKC_E_CONFLICT ? judge_there(c, err)
                                        : tk_err_set(err, code, "%s", why.message);
    }
out:
    return code;
}

hd_verdict srv_copy_weights(hd_request *request)
{
    srv *server = request->app;
    copying c = {.server = server, .request = request};
    tk_err err = TK_ERR_INIT;
    if (!read_request(&c)) {
        return HD_ANSWERED;
    }
    tinkc_code code = copy(&c, &err);
    if (code != TINKC_OK) {
        return code == TINKC_E_CONFLICT ? hd_reply_fail(request, 409, "%s", err.message)
                                        : hd_reply_error(request, &err);
    }
    (void)snprintf(c.path, sizeof(c.path), "tinker://%s/%s/" TK_STR_FMT, c.run_id,
                   tk_path_kind_name(c.source.kind), TK_STR_ARG(c.source.name));
    const tk_copy_weights_response reply = {.tinker_path = {TK_SET, tk_str_of(c.path)}};
    return srv_msg_reply(request, &tk_msg_copy_weights_response, &reply);
}
