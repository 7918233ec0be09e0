/* Service and session routes (wire.md §2.1, §10). */
#include "server/api/srv_session.h"

#include <string.h>

#include "base/mem.h"
#include "server/api/srv_model.h"
#include "server/api/srv_sampler.h"
#include "server/http/srv_reply.h"
#include "server/run/srv_catalog.h"
#include "server/srv_int.h"
#include "server/store/srv_store.h"
#include "wire/msg_session.h"
#include "wire/msg_telemetry.h"

srv_verdict srv_session_config(srv *server, srv_request *request)
{
    (void)server;
    tk_client_config msg = {0}; /* the table's defaults are the official ones */
    return srv_reply_msg(request, &tk_msg_client_config, &msg);
}

srv_verdict srv_session_dynamic_config(srv *server, srv_request *request)
{
    (void)server;
    tk_dynamic_config msg = {0};
    return srv_reply_msg(request, &tk_msg_dynamic_config, &msg);
}

srv_verdict srv_session_health(srv *server, srv_request *request)
{
    (void)server;
    return srv_reply_fixed(request, 200, SRV_TYPE_JSON, TK_STR("{\"status\":\"ok\"}"));
}

srv_verdict srv_session_capabilities(srv *server, srv_request *request)
{
    const srv_catalog *catalog = server->catalog;
    tk_supported_model *models =
        tk_arena_array(&request->arena, catalog->n_names, sizeof(*models));
    if (models == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    for (size_t i = 0; i < catalog->n_names; i++) {
        const srv_name *at = &catalog->names[i];
        models[i] = (tk_supported_model){
            .model_name = {TK_SET, tk_str_of(at->name)},
            .max_context_length = {TK_SET, (int64_t)at->base->info.context},
        };
    }
    const tk_capabilities_response msg = {models, catalog->n_names};
    return srv_reply_msg(request, &tk_msg_capabilities_response, &msg);
}

/* ---- sessions ---- */

srv_session *srv_session_find(srv *server, tk_str id)
{
    return tk_map_get(&server->sessions, id);
}

static void free_session(srv_session *session)
{
    tk_free(session->key);
    tk_free(session);
}

/* Under the lock. */
static tinkc_code enter(srv *server, srv_session *session, tk_err *err)
{
    if (server->sessions.count >= TK_SRV_SESSIONS_MAX) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "too many sessions");
    }
    tk_uuid_make(session->id, &server->rand);
    tinkc_code code = tk_map_put(&server->sessions, tk_str_of(session->id), session, err);
    if (code == TINKC_OK && session->key != NULL) {
        code = tk_map_put(&server->session_keys, tk_str_of(session->key), session, err);
        if (code != TINKC_OK) {
            (void)tk_map_remove(&server->sessions, tk_str_of(session->id));
        }
    }
    return code;
}

/* Under the lock; whoever calls frees it. */
static void take_out(srv *server, srv_session *session)
{
    if (session->key != NULL &&
        tk_map_get(&server->session_keys, tk_str_of(session->key)) == session) {
        (void)tk_map_remove(&server->session_keys, tk_str_of(session->key));
    }
    (void)tk_map_remove(&server->sessions, tk_str_of(session->id));
    srv_model_orphan(server, session);
    srv_sampler_orphan(server, session);
}

/* False when there is no such session. */
static bool end_session(srv *server, tk_str id)
{
    tk_mutex_lock(&server->lock);
    srv_session *session = srv_session_find(server, id);
    if (session != NULL) {
        take_out(server, session);
    }
    tk_mutex_unlock(&server->lock);
    if (session != NULL) {
        free_session(session);
    }
    return session != NULL;
}

static srv_verdict reply_created(srv_request *request, const char *id)
{
    const tk_create_session_response msg = {.session_id = {TK_SET, tk_str_of(id)}};
    return srv_reply_msg(request, &tk_msg_create_session_response, &msg);
}

static srv_session *make_session(srv_request *request)
{
    srv_session *session = tk_zalloc(sizeof(*session));
    if (session == NULL) {
        return NULL;
    }
    tk_str key = request->idempotency_key;
    session->key = key.n > 0 ? tk_strndup(key.p, key.n) : NULL;
    session->seen_ns = tk_clock_mono_ns(NULL);
    tk_list_init(&session->models);
    tk_list_init(&session->samplers);
    tk_list_init(&session->ended);
    if (key.n > 0 && session->key == NULL) {
        tk_free(session);
        return NULL;
    }
    return session;
}

srv_verdict srv_session_create(srv *server, srv_request *request)
{
    tk_create_session_request msg;
    if (!srv_request_decode(request, &tk_msg_create_session_request, &msg)) {
        return SRV_ANSWERED;
    }
    srv_session *session = make_session(request);
    if (session == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    tk_err err = TK_ERR_INIT;
    tinkc_code code = TINKC_OK;
    char id[TK_UUID_TEXT_BYTES];
    tk_mutex_lock(&server->lock);
    srv_session *old = request->idempotency_key.n > 0
                           ? tk_map_get(&server->session_keys, request->idempotency_key)
                           : NULL;
    if (old == NULL) {
        code = enter(server, session, &err);
    }
    memcpy(id, old != NULL ? old->id : session->id, sizeof(id));
    tk_mutex_unlock(&server->lock);
    if (old != NULL || code != TINKC_OK) {
        free_session(session);
    }
    if (code == TINKC_OK && old == NULL) {
        code = srv_store_add_session(server->store, id, &msg, &err);
        if (code != TINKC_OK) {
            (void)end_session(server, tk_str_of(id));
        }
    }
    if (code == TINKC_E_RATE_LIMIT) {
        return srv_reply_fail(request, 429, "%s", err.message);
    }
    return code == TINKC_OK ? reply_created(request, id) : srv_reply_error(request, &err);
}

srv_verdict srv_session_heartbeat(srv *server, srv_request *request)
{
    tk_heartbeat_request msg;
    if (!srv_request_decode(request, &tk_msg_heartbeat_request, &msg)) {
        return SRV_ANSWERED;
    }
    tk_mutex_lock(&server->lock);
    srv_session *session = srv_session_find(server, msg.session_id.v);
    if (session != NULL) {
        session->seen_ns = tk_clock_mono_ns(NULL);
        session->beaten = true;
    }
    tk_mutex_unlock(&server->lock);
    /* One that was reaped, or made before a restart, still gets its answer: its client
     * would only warn for ever (wire.md §10.3). */
    if (session == NULL && !srv_store_has_session(server->store, msg.session_id.v)) {
        return srv_reply_fail(request, 404, "Session not found");
    }
    const tk_heartbeat_response reply = {0};
    return srv_reply_msg(request, &tk_msg_heartbeat_response, &reply);
}

/* Whatever comes is accepted: any other answer makes clients send it again for ever
 * (wire.md §11 row 4). Nothing of it is kept. */
srv_verdict srv_session_telemetry(srv *server, srv_request *request)
{
    (void)server;
    return srv_reply_fixed(request, 200, SRV_TYPE_JSON,
                           TK_STR("{\"status\":\"accepted\"}"));
}

void srv_session_hear(srv *server, tk_str id)
{
    srv_session *session = srv_session_find(server, tk_str_cut(&id, ':'));
    if (session != NULL) {
        session->seen_ns = tk_clock_mono_ns(NULL);
    }
}

/* ---- end ---- */

static bool is_stale(const srv_session *session, int64_t now_ns)
{
    int64_t limit = session->beaten ? SRV_SESSION_NS : SRV_SESSION_MUTE_NS;
    return now_ns - session->seen_ns > limit;
}

srv_verdict srv_session_finish(srv *server, srv_request *request)
{
    tk_str id = request->params[0];
    if (!end_session(server, id) && !srv_store_has_session(server->store, id)) {
        return srv_reply_fail(request, 404, "Session not found");
    }
    return srv_reply_fixed(request, 200, SRV_TYPE_JSON, TK_STR("{}"));
}

void srv_session_sweep(srv *server, int64_t now_ns)
{
    size_t cursor = 0;
    void *value = NULL;
    tk_list ended, *node;
    tk_list_init(&ended);
    tk_mutex_lock(&server->lock);
    while (tk_map_next(&server->sessions, &cursor, NULL, &value)) {
        srv_session *session = value;
        if (is_stale(session, now_ns)) {
            take_out(server, session);
            tk_list_push_back(&ended, &session->ended);
        }
    }
    tk_mutex_unlock(&server->lock);
    while ((node = tk_list_pop_front(&ended)) != NULL) {
        srv_session *session = TK_CONTAINER_OF(node, srv_session, ended);
        tk_log_write(server->log, TINKC_LOG_INFO, "session", "%s has gone silent",
                     session->id);
        free_session(session);
    }
}

void srv_session_free_all(srv *server)
{
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&server->sessions, &cursor, NULL, &value)) {
        free_session(value);
    }
    tk_map_dispose(&server->sessions);
    tk_map_dispose(&server->session_keys);
}
