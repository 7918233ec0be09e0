/* Samplers, which the API calls sampling sessions: which weights an id means.
 *
 * A record is counted: the map has one ownership, each sample that waits or runs another.
 * The last one gives it to the engine thread, which frees the adapter. */
#ifndef SERVER_SRV_SAMPLER_H
#define SERVER_SRV_SAMPLER_H

#include "engine/eng.h"
#include "httpd/hd_budget.h"
#include "server/run/srv_catalog.h"
#include "server/run/srv_events.h"
#include "server/run/srv_session.h"

#define SRV_SAMPLER_ID_BYTES 96

/* The text of 404. */
#define SRV_SAMPLER_MISSING                                                               \
    "Sampling session not found: it was closed, or the server was restarted; create the " \
    "sampling client again"

typedef struct srv_sampler {
    tk_list of_session; /* in srv_session.samplers */
    tk_list dropped;    /* on its way to be freed */
    char *id;           /* "<session>:sample:<n>"; "" for one that has no id */
    size_t owners;      /* under the lock */
    int64_t max_seq;    /* the largest seq_id of a sample; -1 = none. Under the lock */
    int64_t clients;    /* that have joined it; under the lock */
    srv_events events;  /* its samples that have ended; under the lock */
    char *base_name;
    const srv_base *base;
    char *path;  /* tinker://..., or NULL */
    size_t rank; /* of the weights */
    /* the engine thread's; see srv_adapters.h */
    tk_list resident;     /* in srv.adapters while there is an adapter */
    char *dir;            /* of the weights, loaded when they are needed; or NULL */
    bool owns_dir;        /* the directory belongs to this sampler alone */
    eng_adapter *adapter; /* NULL = the base model, or not loaded */
    size_t counted;       /* bytes of it in the budget */
    hd_budget *budget;    /* once something was counted */
} srv_sampler;

typedef struct srv_sampler_spec {
    tk_str id; /* may be empty */
    tk_str base_name;
    const srv_base *base;
    tk_str path; /* or empty */
    tk_str dir;  /* or empty */
    size_t rank; /* of the weights */
} srv_sampler_spec;

/* Returns the record or NULL. Under the lock. */
srv_sampler *srv_sampler_find(srv *server, tk_str id);

/* Returns a record with one owner, in no map; NULL when out of memory. */
srv_sampler *srv_sampler_new(const srv_sampler_spec *spec);
void srv_sampler_free(srv_sampler *sampler); /* thread: engine, or after it */

/* Puts it into the map and its session's list, with which it ends. Under the lock.
 * TINKC_E_CONFLICT, TINKC_E_LIMIT, TINKC_E_NOMEM: it is still the caller's. */
TK_NODISCARD tinkc_code srv_sampler_enter(srv *server, srv_sampler *sampler,
                                          srv_session *session, tk_err *err);

/* Gives one ownership back. Under the lock. */
void srv_sampler_release(srv *server, srv_sampler *sampler);

/* Ends the samplers of a session that ends. Under the lock. */
void srv_sampler_end_session(srv *server, srv_session *session);
void srv_sampler_free_all(srv *server); /* for the stop */

#endif
