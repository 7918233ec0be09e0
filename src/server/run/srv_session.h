/* Sessions: what a client holds open with its heartbeats. Models and samplers belong to
 * one and end with it. Records are in the server's maps, under its lock. */
#ifndef SERVER_SRV_SESSION_H
#define SERVER_SRV_SESSION_H

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "base/uuid.h"
#include "wire/msg_session.h"

typedef struct srv srv;

/* A session ends after this time without a sign of life: one that has sent heartbeats,
 * and one that never did (a short program, or requests by hand). */
#define SRV_SESSION_NS      (INT64_C(300000) * TK_NS_PER_MS)
#define SRV_SESSION_MUTE_NS (INT64_C(1800000) * TK_NS_PER_MS)

/* Under the server's lock. Ended sessions stay known to the store only. */
typedef struct srv_session {
    char id[TK_UUID_TEXT_BYTES];
    char *key; /* owned; X-Idempotency-Key that made it, or NULL */
    int64_t made_ns;
    int64_t seen_ns;  /* the last heartbeat, training request or sample */
    bool beaten;      /* has sent a heartbeat */
    tk_list models;   /* srv_model.of_session */
    tk_list samplers; /* srv_sampler.of_session */
    tk_list ended;    /* of those that are to be freed */
} srv_session;

/* Makes a session and its row, or finds the one that was made with the same `key` (empty
 * = none); its id goes to `id`. TINKC_E_RATE_LIMIT when there are too many. Thread: a
 * worker. */
TK_NODISCARD tinkc_code srv_session_open(char id[TK_UUID_TEXT_BYTES], srv *server,
                                         tk_str key, const tk_create_session_request *msg,
                                         tk_err *err);

/* Ends a session: its models and samplers are unloaded. Returns false when there is none.
 * Thread: a worker. */
bool srv_session_end(srv *server, tk_str id);

typedef enum srv_beat { SRV_BEAT_KNOWN, SRV_BEAT_UNKNOWN, SRV_BEAT_BUSY } srv_beat;

/* Counts a heartbeat of a session, which may be unknown. With `at_once` it counts nothing
 * while another thread holds the lock (BUSY). Thread: a worker, or HTTP `at_once`. */
srv_beat srv_session_beat(srv *server, tk_str id, bool at_once);

/* Returns the session or NULL. Under the lock. */
srv_session *srv_session_find(srv *server, tk_str id);

/* Notes a sign of life; `id` is that of a session, or of one of its models or samplers.
 * Under the lock. */
void srv_session_hear(srv *server, tk_str id);

/* Ends sessions without a sign of life for too long. Thread: keeper. */
void srv_session_sweep(srv *server, int64_t now_ns);

/* Frees all of them; for the stop. */
void srv_session_free_all(srv *server);

#endif
