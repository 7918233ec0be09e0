/* Sessions, and the routes of a service that need no model: configuration, health,
 * capabilities, heartbeat, telemetry. */
#ifndef SERVER_SRV_SESSION_H
#define SERVER_SRV_SESSION_H

#include "base/clock.h"
#include "base/uuid.h"
#include "server/http/srv_request.h"

/* After so long without being heard of, a session ends: one that has sent heartbeats, and
 * one that never did (a short program, or requests by hand). */
#define SRV_SESSION_NS      (INT64_C(300000) * TK_NS_PER_MS)
#define SRV_SESSION_MUTE_NS (INT64_C(1800000) * TK_NS_PER_MS)

/* Under the server's lock. Ended sessions stay known to the store only. */
typedef struct srv_session {
    char id[TK_UUID_TEXT_BYTES];
    char *key;        /* owned; X-Idempotency-Key that made it, or NULL */
    int64_t seen_ns;  /* the last heartbeat, training request or sample */
    bool beaten;      /* has sent a heartbeat */
    tk_list models;   /* srv_model.of_session */
    tk_list samplers; /* srv_sampler.of_session */
    tk_list ended;    /* of those that are to be freed */
} srv_session;

srv_verdict srv_session_config(srv *server, srv_request *request);
srv_verdict srv_session_dynamic_config(srv *server, srv_request *request);
srv_verdict srv_session_health(srv *server, srv_request *request);
srv_verdict srv_session_capabilities(srv *server, srv_request *request);
srv_verdict srv_session_create(srv *server, srv_request *request);
srv_verdict srv_session_heartbeat(srv *server, srv_request *request);
/* A client that closes (SDK 0.36): models and samplers of the session are let go. */
srv_verdict srv_session_finish(srv *server, srv_request *request);
srv_verdict srv_session_telemetry(srv *server, srv_request *request);

/* The session or NULL. Under the lock. */
srv_session *srv_session_find(srv *server, tk_str id);

/* It was heard of: a session, or the id of one of its models or samplers. Under the lock.
 */
void srv_session_hear(srv *server, tk_str id);

/* Ends sessions that have not been heard of; their models are unloaded. Thread: keeper.
 */
void srv_session_sweep(srv *server, int64_t now_ns);

/* Frees all of them; for the stop. */
void srv_session_free_all(srv *server);

#endif
