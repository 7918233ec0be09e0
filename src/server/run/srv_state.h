/* The server's state, and which lock guards what. Handlers find it in hd_request.app.
 *
 * One lock, `lock`, guards sessions, models, samplers, futures and queues: every
 * operation on them is short, and one lock cannot deadlock with itself. It is never held
 * while something computes, waits, touches a file or the store, or resumes a request. The
 * store (srv_store.h), the workers' queue (hd_work.h), the counters of usage
 * (srv_usage.h) and the faults (hd_fault.h) have locks of their own, which are
 * leaves. */
#ifndef SERVER_SRV_STATE_H
#define SERVER_SRV_STATE_H

#include <stdatomic.h>

#include "base/log.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/thread.h"
#include "server/run/srv_future.h"
#include "server/run/srv_part.h"
#include "server/srv.h"

typedef struct srv_catalog srv_catalog;
typedef struct srv_engine srv_engine;
typedef struct srv_gateway srv_gateway;
typedef struct hd_faults hd_faults;
typedef struct hd_http hd_http;
typedef struct srv_store srv_store;
typedef struct srv_usage srv_usage;
typedef struct hd_work hd_work;
typedef struct con con;
typedef struct srv_rec srv_rec;
typedef struct srv_notices srv_notices;

struct srv {
    /* constant between start and stop */
    tk_log *log;
    char *data;                    /* directory */
    char *api_key;                 /* or NULL */
    char *key_file;                /* SRV_KEY_FILE that was written, or NULL */
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
    srv_notices *notices; /* record/srv_notices.h */
    srv_rec *record;      /* record/srv_rec.h; NULL = nothing is recorded */
    con *console;
    int64_t started_ms;
    srv_engine *engine;
    srv_gateway *gateway; /* api/srv_gateway.h; NULL in a build without src/text */
    tk_list adapters;     /* srv_sampler.resident, least recently used first; the engine
                       * thread's */
    bool said_int8;       /* srv_adapters_compare; the engine thread's */
    hd_work *work;
    hd_faults *faults; /* or NULL */
    hd_http *http;
    tk_thread keeper; /* srv_keeper.c */
    bool keeper_runs;
    int64_t forget_ns; /* of the keeper: when it next looks for old rows */
    tk_cond keeper_wake;
    _Atomic int64_t stuck; /* checkpoints past their time that could not be deleted */

    hd_budget memory;     /* everything that requests make grow */
    atomic_bool stopping; /* set once, under the lock, before anything is torn down */

    tk_mutex lock;
    bool loading; /* a base model is being loaded (srv_load.h) */
    tk_rand rand;
    tk_map sessions;     /* id -> srv_session */
    tk_map session_keys; /* X-Idempotency-Key -> srv_session */
    tk_map models;       /* id -> srv_model */
    tk_map samplers;     /* id -> srv_sampler */
    tk_list finishing;   /* of srv_upload.c: uploads that are being finished */
    srv_futures futures;
};

#endif
