/* Records of samplers and their routes (wire.md §2.1), see srv_sampler.h. */
#include "server/api/srv_sampler.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "server/http/srv_reply.h"
#include "server/run/srv_adapters.h"
#include "server/run/srv_engine.h"
#include "server/srv_int.h"
#include "server/store/srv_store.h"
#include "wire/msg_session.h"

#define SAMPLER_ID_BYTES 96

/* ---- records ---- */

void srv_sampler_free(srv_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    tk_list_remove(&sampler->of_session);
    srv_adapters_forget(sampler);
    tk_free(sampler->id);
    tk_free(sampler->base_name);
    tk_free(sampler->path);
    tk_free(sampler->dir);
    tk_free(sampler);
}

static bool copy(char **out, tk_str text, bool optional)
{
    if (optional && text.n == 0) {
        return true;
    }
    *out = tk_strndup(text.p != NULL ? text.p : "", text.n);
    return *out != NULL;
}

srv_sampler *srv_sampler_new(const srv_sampler_spec *spec)
{
    srv_sampler *sampler = tk_zalloc(sizeof(*sampler));
    if (sampler == NULL) {
        return NULL;
    }
    tk_list_init(&sampler->of_session);
    tk_list_init(&sampler->dropped);
    tk_list_init(&sampler->resident);
    sampler->owners = 1;
    sampler->max_seq = -1;
    sampler->base = spec->base;
    if (!copy(&sampler->id, spec->id, false) ||
        !copy(&sampler->base_name, spec->base_name, false) ||
        !copy(&sampler->path, spec->path, true) ||
        !copy(&sampler->dir, spec->dir, true)) {
        srv_sampler_free(sampler);
        return NULL;
    }
    return sampler;
}

tinkc_code srv_sampler_enter(srv *server, srv_sampler *sampler, srv_session *session,
                             tk_err *err)
{
    tk_str id = tk_str_of(sampler->id);
    if (tk_map_has(&server->samplers, id)) {
        return tk_err_set(err, TINKC_E_CONFLICT, "sampling_session_seq_id is in use");
    }
    if (server->samplers.count >= TK_SRV_SAMPLERS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many sampling sessions");
    }
    tinkc_code code = tk_map_put(&server->samplers, id, sampler, err);
    if (code == TINKC_OK) {
        tk_list_push_back(&session->samplers, &sampler->of_session);
    }
    return code;
}

void srv_sampler_release(srv *server, srv_sampler *sampler)
{
    if (--sampler->owners == 0) {
        srv_engine_drop_sampler(server->engine, sampler);
    }
}

void srv_sampler_orphan(srv *server, srv_session *session)
{
    tk_list *node;
    while ((node = tk_list_pop_front(&session->samplers)) != NULL) {
        srv_sampler *sampler = TK_CONTAINER_OF(node, srv_sampler, of_session);
        (void)tk_map_remove(&server->samplers, tk_str_of(sampler->id));
        srv_sampler_release(server, sampler);
    }
}

void srv_sampler_free_all(srv *server)
{
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&server->samplers, &cursor, NULL, &value)) {
        srv_sampler_free(value);
    }
    tk_map_dispose(&server->samplers);
}

/* ---- create_sampling_session ---- */

static bool resolve_path(srv_sampler_spec *out, srv_request *request, tk_str text)
{
    srv *server = request->server;
    tk_path path;
    srv_store_checkpoint checkpoint;
    srv_store_run run;
    const char *dir = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_path_parse(&path, text, &err) != TINKC_OK) {
        (void)srv_reply_fail(request, 400, "Invalid checkpoint tinker path " TK_STR_FMT,
                             TK_STR_ARG(text));
        return false;
    }
    tk_arena *arena = &request->arena;
    tinkc_code code =
        srv_store_get_checkpoint(&checkpoint, server->store, arena, &path, &err);
    if (code == TINKC_OK) {
        code = srv_store_get_run(&run, server->store, arena, path.run, &err);
    }
    if (code == TINKC_OK) {
        code = srv_store_dir(&dir, server->store, arena, checkpoint.dir, &err);
    }
    if (code != TINKC_OK) {
        (void)srv_reply_error(request, &err);
        return false;
    }
    out->base_name = run.base_model;
    out->path = text;
    out->dir = tk_str_of(dir);
    return true;
}

bool srv_sampler_resolve(srv_sampler_spec *out, srv_request *request, tk_str base_model,
                         tk_str model_path)
{
    *out = (srv_sampler_spec){.base_name = base_model};
    if (model_path.n > 0 && !resolve_path(out, request, model_path)) {
        return false;
    }
    out->base = srv_catalog_find(request->server->catalog, out->base_name);
    if (out->base == NULL) {
        (void)srv_reply_fail(request, 400, "base_model \"" TK_STR_FMT "\" is not served",
                             TK_STR_ARG(out->base_name));
        return false;
    }
    return true;
}

static srv_verdict reply_created(srv_request *request, const char *id)
{
    const tk_create_sampling_session_response msg = {
        .sampling_session_id = {TK_SET, tk_str_of(id)}};
    return srv_reply_msg(request, &tk_msg_create_sampling_session_response, &msg);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Under the lock: 200 with the record entered (or there before), or the status why not.
 */
static int enter(srv *server, srv_sampler *sampler, tk_str session_id, bool *entered,
                 tk_err *err)
{
    const srv_sampler *old = tk_map_get(&server->samplers, tk_str_of(sampler->id));
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

srv_verdict srv_sampler_create(srv *server, srv_request *request)
{
    tk_create_sampling_session_request msg;
    srv_sampler_spec spec;
    tk_err err = TK_ERR_INIT;
    if (!srv_request_decode(request, &tk_msg_create_sampling_session_request, &msg)) {
        return SRV_ANSWERED;
    }
    if (tk_sampling_session_check(&msg, &err) != TINKC_OK) {
        return srv_reply_error(request, &err);
    }
    if (msg.session_id.v.n >= TK_UUID_TEXT_BYTES) {
        return srv_reply_fail(request, 404, "Session not found");
    }
    tk_str none = {NULL, 0};
    if (!srv_sampler_resolve(&spec, request,
                             msg.base_model.is == TK_SET ? msg.base_model.v : none,
                             msg.model_path.is == TK_SET ? msg.model_path.v : none)) {
        return SRV_ANSWERED;
    }
    char id[SAMPLER_ID_BYTES];
    (void)snprintf(id, sizeof(id), TK_STR_FMT ":sample:%lld",
                   TK_STR_ARG(msg.session_id.v),
                   (long long)msg.sampling_session_seq_id.v);
    spec.id = tk_str_of(id);
    srv_sampler *sampler = srv_sampler_new(&spec);
    if (sampler == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    bool entered = false;
    tk_mutex_lock(&server->lock);
    int status = enter(server, sampler, msg.session_id.v, &entered, &err);
    tk_mutex_unlock(&server->lock);
    if (entered) {
        char session[TK_UUID_TEXT_BYTES];
        (void)snprintf(session, sizeof(session), TK_STR_FMT,
                       TK_STR_ARG(msg.session_id.v));
        tk_err ignored = TK_ERR_INIT; /* the row is for listings only */
        char *base = tk_strndup(spec.base_name.p, spec.base_name.n);
        char *path = spec.path.n > 0 ? tk_strndup(spec.path.p, spec.path.n) : NULL;
        if (base != NULL) {
            (void)!srv_store_add_sampler(server->store, id, session, base, path,
                                         &ignored);
        }
        tk_free(base);
        tk_free(path);
    } else {
        srv_sampler_free(sampler);
    }
    return status == 200 ? reply_created(request, id)
                         : srv_reply_fail(request, status, "%s", err.message);
}

/* ---- samplers/<id> ---- */

srv_verdict srv_sampler_get(srv *server, srv_request *request)
{
    tk_str base = {NULL, 0};
    tk_str path = {NULL, 0};
    bool found = false;
    bool copied = false;
    tk_mutex_lock(&server->lock);
    const srv_sampler *sampler = tk_map_get(&server->samplers, request->params[0]);
    found = sampler != NULL;
    if (found) {
        const char *p = sampler->path != NULL ? sampler->path : "";
        copied = tk_arena_dup(&request->arena, &base, sampler->base_name,
                              strlen(sampler->base_name)) &&
                 tk_arena_dup(&request->arena, &path, p, strlen(p));
    }
    tk_mutex_unlock(&server->lock);
    if (!found) {
        return srv_reply_fail(request, 404, "Sampler not found");
    }
    if (!copied) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    const tk_sampler_response msg = {
        .sampler_id = {TK_SET, request->params[0]},
        .base_model = {TK_SET, base},
        .model_path = {path.n > 0 ? TK_SET : TK_NULL, path},
    };
    return srv_reply_msg(request, &tk_msg_sampler_response, &msg);
}
