/* The server's state and which lock guards what. Private to src/server.
 *
 * One lock, `lock`, guards sessions, models, samplers, futures and queues: every
 * operation on them is short, and one lock cannot deadlock with itself. It is never held
 * while something computes, waits, touches a file or the store, or resumes a request. The
 * store has a lock of its own (srv_store.h), the workers' queue another (srv_work.h);
 * both are leaves. */
#ifndef SERVER_SRV_INT_H
#define SERVER_SRV_INT_H

#include <stdatomic.h>

#include "base/log.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/thread.h"
#include "server/run/srv_adapters.h"
#include "server/run/srv_future.h"
#include "server/srv.h"

typedef struct srv_catalog srv_catalog;
typedef struct srv_engine srv_engine;
typedef struct srv_faults srv_faults;
typedef struct srv_http srv_http;
typedef struct srv_store srv_store;
typedef struct srv_usage srv_usage;
typedef struct srv_work srv_work;

struct srv {
    /* constant between start and stop */
    tk_log *log;
    char *data;                    /* directory */
    char *api_key;                 /* or NULL */
    unsigned char archive_key[32]; /* signs links (srv_archive.h) */
    bool strict;
    int64_t poll_ms;
    size_t piece_rows, sequences;
    srv_step_fn on_step; /* or NULL */
    void *hook_user;
    char url[128];
    int data_lock; /* descriptor */
    srv_catalog *catalog;
    srv_store *store;
    srv_usage *usage;
    srv_engine *engine;
    srv_adapters adapters; /* the engine thread's */
    srv_work *work;
    srv_faults *faults; /* or NULL; its counts under the lock */
    srv_http *http;
    tk_thread keeper; /* deadlines and expiry: srv_keeper.c */
    bool keeper_runs;
    tk_cond keeper_wake;

    atomic_size_t body_bytes; /* of request bodies in memory */
    atomic_ullong n_requests; /* for /metrics */
    atomic_bool stopping;     /* set once, before anything is torn down */

    tk_mutex lock;
    tk_rand rand;
    tk_map sessions;     /* id -> srv_session */
    tk_map session_keys; /* X-Idempotency-Key -> srv_session */
    tk_map models;       /* id -> srv_model */
    tk_map samplers;     /* id -> srv_sampler */
    srv_futures futures;
};

/* Adds to the bytes of all bodies; false, and nothing counted, above
 * TK_SRV_BODIES_BYTES. */
TK_NODISCARD bool srv_count_body(srv *server, size_t n);
void srv_uncount_body(srv *server, size_t n);

#endif
