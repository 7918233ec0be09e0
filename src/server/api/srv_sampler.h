/* Sampling sessions: which weights a sampler id means. Routes create_sampling_session and
 * samplers/<id>.
 *
 * A record is counted: the map has one ownership, each sample that waits or runs another.
 * The last one gives it to the engine thread, which frees the adapter. */
#ifndef SERVER_SRV_SAMPLER_H
#define SERVER_SRV_SAMPLER_H

#include "engine/eng.h"
#include "server/api/srv_session.h"
#include "server/http/srv_request.h"
#include "server/run/srv_catalog.h"

typedef struct srv_sample srv_sample; /* srv_sample.h */

typedef struct srv_sampler {
    tk_list of_session; /* in srv_session.samplers */
    tk_list dropped;    /* on its way to be freed */
    char *id;           /* "<session>:sample:<n>"; "" for one that has no name */
    size_t owners;      /* under the lock */
    int64_t max_seq;    /* the largest seq_id of a sample; -1 = none. Under the lock */
    char *base_name;
    const srv_base *base;
    char *path; /* tinker://..., or NULL */
    /* the engine thread's, see srv_adapters.h */
    tk_list resident;     /* in srv_adapters.used while there is an adapter */
    char *dir;            /* of the weights, loaded when they are needed; or NULL */
    bool owns_dir;        /* nobody else knows it */
    eng_adapter *adapter; /* NULL = the base model, or not loaded */
} srv_sampler;

srv_verdict srv_sampler_create(srv *server, srv_request *request);
srv_verdict srv_sampler_get(srv *server, srv_request *request);

typedef struct srv_sampler_spec {
    tk_str id; /* may be empty */
    tk_str base_name;
    const srv_base *base;
    tk_str path; /* or empty */
    tk_str dir;  /* or empty */
} srv_sampler_spec;

/* A record with one owner, in no map. NULL when out of memory. */
srv_sampler *srv_sampler_new(const srv_sampler_spec *spec);
void srv_sampler_free(srv_sampler *sampler); /* thread: engine, or after it */

/* Puts it into the map and its session's list, with which it ends. Under the lock.
 * TINKC_E_CONFLICT, TINKC_E_LIMIT, TINKC_E_NOMEM: it is still the caller's. */
TK_NODISCARD tinkc_code srv_sampler_enter(srv *server, srv_sampler *sampler,
                                          srv_session *session, tk_err *err);

/* One owner less. Under the lock. */
void srv_sampler_release(srv *server, srv_sampler *sampler);

/* Finds what base_model and model_path mean: fills the spec (strings in the arena), or
 * answers: false. Thread: a worker. */
TK_NODISCARD bool srv_sampler_resolve(srv_sampler_spec *out, srv_request *request,
                                      tk_str base_model, tk_str model_path);

void srv_sampler_orphan(srv *server, srv_session *session); /* under the lock */
void srv_sampler_free_all(srv *server);                     /* for the stop */

#endif
