/* Records of sessions. A record is taken out of the maps under the lock and freed after
 * it, with what belongs to it handed to the engine thread. */
#include "server/run/srv_session.h"

#include <string.h>

#include "base/mem.h"
#include "server/run/srv_model.h"
#include "server/run/srv_sampler.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"

srv_session *srv_session_find(srv *server, tk_str id)
{
    return tk_map_get(&server->sessions, id);
}

/* ---- begin ---- */

static void free_session(srv_session *session)
{
    tk_free(session->key);
    tk_free(session);
}

static srv_session *make_session(tk_str key)
{
    srv_session *session = tk_zalloc(sizeof(*session));
    if (session == NULL) {
        return NULL;
    }
    session->key = key.n > 0 ? tk_strndup(key.p, key.n) : NULL;
    session->made_ns = session->seen_ns = tk_clock_mono_ns(NULL);
    tk_list_init(&session->models);
    tk_list_init(&session->samplers);
    tk_list_init(&session->ended);
    if (key.n > 0 && session->key == NULL) {
        tk_free(session);
        return NULL;
    }
    return session;
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

tinkc_code srv_session_open(char id[TK_UUID_TEXT_BYTES], srv *server, tk_str key,
                            const tk_create_session_request *msg, tk_err *err)
{
    srv_session *session = make_session(key);
    if (session == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = TINKC_OK;
    tk_mutex_lock(&server->lock);
    srv_session *old = key.n > 0 ? tk_map_get(&server->session_keys, key) : NULL;
    if (old == NULL) {
        code = enter(server, session, err);
    }
    memcpy(id, old != NULL ? old->id : session->id, sizeof(session->id));
    tk_mutex_unlock(&server->lock);
    if (old != NULL || code != TINKC_OK) {
        free_session(session);
        return code;
    }
    code = srv_store_add_session(server->store, id, msg, err);
    if (code != TINKC_OK) {
        (void)srv_session_end(server, tk_str_of(id));
    }
    return code;
}

/* ---- signs of life ---- */

srv_beat srv_session_beat(srv *server, tk_str id, bool at_once)
{
    if (at_once && !tk_mutex_try_lock(&server->lock)) {
        return SRV_BEAT_BUSY;
    }
    if (!at_once) {
        tk_mutex_lock(&server->lock);
    }
    srv_session *session = srv_session_find(server, id);
    if (session != NULL) {
        session->seen_ns = tk_clock_mono_ns(NULL);
        session->beaten = true;
    }
    tk_mutex_unlock(&server->lock);
    return session != NULL ? SRV_BEAT_KNOWN : SRV_BEAT_UNKNOWN;
}

void srv_session_hear(srv *server, tk_str id)
{
    srv_session *session = srv_session_find(server, tk_str_cut(&id, ':'));
    if (session != NULL) {
        session->seen_ns = tk_clock_mono_ns(NULL);
    }
}

/* ---- end ---- */

/* Under the lock; the caller frees it after unlocking. */
static void take_out(srv *server, srv_session *session)
{
    if (session->key != NULL &&
        tk_map_get(&server->session_keys, tk_str_of(session->key)) == session) {
        (void)tk_map_remove(&server->session_keys, tk_str_of(session->key));
    }
    (void)tk_map_remove(&server->sessions, tk_str_of(session->id));
    srv_model_end_session(session);
    srv_sampler_end_session(server, session);
}

bool srv_session_end(srv *server, tk_str id)
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

static bool is_stale(const srv_session *session, int64_t now_ns)
{
    int64_t limit = session->beaten ? SRV_SESSION_NS : SRV_SESSION_MUTE_NS;
    return now_ns - session->seen_ns > limit;
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
        tk_log_write(server->log, TINKC_LOG_INFO, "session", "%s ends: no sign of life",
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
