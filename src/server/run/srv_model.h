/* Models that are trained. A record is in the server's map, under its lock, until the
 * engine thread has unloaded it; only the engine thread frees it (srv_model_remove),
 * after its last job. */
#ifndef SERVER_SRV_MODEL_H
#define SERVER_SRV_MODEL_H

#include "server/run/srv_catalog.h"
#include "server/run/srv_job.h"
#include "server/run/srv_session.h"

struct srv_model {
    char *id; /* "<session>:train:<n>" */
    char session_id[TK_UUID_TEXT_BYTES];
    tk_list of_session; /* in srv_session.models */
    char *base_name;    /* as the client called it */
    const srv_base *base;
    eng_lora_config lora;
    srv_order order;
    srv_job *running;  /* a request with steps left, or one that waits for memory; under
                           * the lock */
    bool unloading;    /* an unload is in the order */
    srv_job *last_job; /* owned: the unload for the end of the session, made with the
                           * model so that the end needs no memory */
    eng_adapter *adapter; /* the engine thread's; NULL until created */
    int64_t steps;        /* the engine thread's: optimizer steps since it was made */
    size_t counted;       /* bytes of it in the budget */
};

#define SRV_MODEL_ID_BYTES 96

/* What a new model is made from. */
typedef struct srv_model_spec {
    tk_str session_id;
    int64_t seq; /* model_seq_id */
    tk_str base_name;
    const srv_base *base;
    eng_lora_config lora;
    tk_str user_metadata; /* JSON, or empty */
} srv_model_spec;

/* Makes the record, submits `job` (CREATE) as its request 0, and answers. Takes the job
 * over. Repeated requests as in srv_job_submit. Thread: a worker. */
hd_verdict srv_model_submit_new(hd_request *request, srv_job *job,
                                const srv_model_spec *spec, const srv_submit *submit);

/* Returns the record or NULL. Under the lock. */
srv_model *srv_model_find(srv *server, tk_str id);

/* Answers 404 for a model that is not loaded; names the last checkpoint of one that
 * was. */
hd_verdict srv_model_answer_missing(hd_request *request, tk_str id);

/* Unloads the models of a session that ends. Under the lock. */
void srv_model_end_session(srv_session *session);

/* Takes the record out and frees it with its adapter; requests that wait in its order
 * fail. Thread: engine, without the lock. */
void srv_model_remove(srv *server, srv_model *model);

void srv_model_free_all(srv *server); /* for the stop, after the engine thread */

#endif
