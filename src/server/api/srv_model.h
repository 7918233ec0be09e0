/* Models that are trained: records, create_model, get_info, unload_model.
 *
 * A record is in the server's map, under its lock, until the engine thread has unloaded
 * it; only the engine thread frees it (srv_model_remove), after its last job. */
#ifndef SERVER_SRV_MODEL_H
#define SERVER_SRV_MODEL_H

#include "server/api/srv_session.h"
#include "server/run/srv_catalog.h"
#include "server/run/srv_job.h"

struct srv_model {
    char *id; /* "<session>:train:<n>" */
    char session_id[TK_UUID_TEXT_BYTES];
    tk_list of_session; /* in srv_session.models */
    char *base_name;    /* as the client called it */
    const srv_base *base;
    eng_lora_config lora;
    srv_order order;
    srv_job *running;     /* a training request with steps left; under the lock */
    bool unloading;       /* an unload is in the order */
    srv_job *farewell;    /* owned: the unload at the end of the session, made in time */
    eng_adapter *adapter; /* the engine thread's; NULL until created */
};

#define SRV_MODEL_ID_BYTES 96

srv_verdict srv_model_create(srv *server, srv_request *request);
srv_verdict srv_model_get_info(srv *server, srv_request *request);
srv_verdict srv_model_unload(srv *server, srv_request *request);

/* What a new model is made from. */
typedef struct srv_model_spec {
    tk_str session_id;
    int64_t seq; /* model_seq_id */
    tk_str base_name;
    const srv_base *base;
    eng_lora_config lora;
    tk_str user_metadata; /* JSON, or empty */
} srv_model_spec;

/* Makes the record and submits `job` (CREATE) as its request 0. Takes the job over.
 * Repeated requests as in srv_job_submit. Thread: a worker. */
srv_verdict srv_model_submit_new(srv_request *request, srv_job *job,
                                 const srv_model_spec *spec, const srv_submit *submit);

/* The record or NULL; under the lock. */
srv_model *srv_model_find(srv *server, tk_str id);

/* 404 for a model that is not loaded; names the last checkpoint of one that was. */
srv_verdict srv_model_answer_missing(srv *server, srv_request *request, tk_str id);

/* 410 for a request id that was given out and is forgotten, 404 for any other. */
srv_verdict srv_model_answer_lost(srv *server, srv_request *request, tk_str id);

/* Unloads the models of a session that ends. Under the lock. */
void srv_model_orphan(srv *server, srv_session *session);

/* Takes the record out and frees it with its adapter; what waits in its order fails.
 * Thread: engine, without the lock. */
void srv_model_remove(srv *server, srv_model *model);

void srv_model_free_all(srv *server); /* for the stop, after the engine thread */

#endif
