/* A unit of training work: made by a worker, run by the engine thread in the order of its
 * model. It owns the memory of its request. */
#ifndef SERVER_SRV_JOB_H
#define SERVER_SRV_JOB_H

#include "engine/eng_bytes.h"
#include "httpd/hd_request.h"
#include "server/run/srv_future.h"
#include "server/run/srv_order.h"
#include "wire/path.h"
#include "wire/schema.h"

typedef struct srv_model srv_model;

typedef enum srv_job_kind {
    SRV_JOB_CREATE, /* the adapter, from a checkpoint when `path` is set */
    SRV_JOB_TRAIN,  /* forward, forward_backward */
    SRV_JOB_OPTIM,
    SRV_JOB_SAVE,     /* state or sampler weights under a name */
    SRV_JOB_SNAPSHOT, /* an ephemeral sampler */
    SRV_JOB_LOAD,
    SRV_JOB_UNLOAD
} srv_job_kind;

typedef struct srv_job {
    srv_order_node order;
    srv_job_kind kind;
    srv *server;
    srv_model *model;   /* outlives its jobs */
    srv_future *future; /* pending until the job has run; NULL = no client waits */
    hd_memory memory;   /* of the request */
    tk_buf plain;       /* its body, decompressed */
    size_t counted;     /* bytes in the budget for inputs and outputs */
    tk_heap_node work;  /* TRAIN: its claim on the engine's working memory */
    const struct srv_base *work_base; /* for which; its model may be gone */

    bool began;          /* the engine has taken it; under the lock */
    int64_t again_ns;    /* not before this time: it waits for memory. Under the lock */
    int64_t patience_ns; /* until when it waits; 0 = it never had to */
    eng_train_request train; /* TRAIN */
    eng_train *steps;        /* TRAIN: what was computed so far; the engine thread's */
    int64_t spent_ns;        /* TRAIN: on that; the engine thread's */
    eng_train_size size;     /* TRAIN: what its memory depends on */
    size_t n_tokens;         /* of it, for the counters */
    eng_optimizer optim;     /* OPTIM: which of the two */
    eng_adam adam;
    eng_dimuon dimuon;
    tk_path_kind kind_of_path;
    tk_str name;         /* SAVE: of the checkpoint */
    int64_t ttl_seconds; /* SAVE; 0 = none */
    bool overwrite;      /* SAVE */
    tk_str metadata;     /* SAVE: JSON, or empty */
    int64_t sampler_seq; /* SNAPSHOT */
    tk_str path;         /* LOAD, CREATE: tinker://... */
    bool optimizer;      /* LOAD, CREATE */
} srv_job;

srv_job *srv_job_new(srv *server, srv_job_kind kind); /* NULL when out of memory */
void srv_job_free(srv_job *job);                      /* accepts NULL */

/* ---- submission ---- */

typedef struct srv_submit {
    tk_future_type type;
    tk_str model_id;
    int64_t seq; /* 0 = none */
    /* What tells requests apart: the JSON form of `msg`, or `bytes` without a schema. */
    const tk_schema *schema; /* or NULL */
    const void *msg;
    tk_str bytes;
} srv_submit;

/* Reads the seq_id of a request: 0 when it has none. One that is not positive could not be
 * recognised when it is sent again: it is answered 400, and false is returned. */
bool srv_job_read_seq(int64_t *out, hd_request *request, const tk_f_i64 *seq);

/* Enters the job in its model's order and answers with the request id. An id that the
 * same request has used is answered again; one that another request has used is refused
 * (409). Takes the job over, also on failure. Thread: a worker. */
hd_verdict srv_job_submit(hd_request *request, srv_job *job, const srv_submit *submit);

/* Computes the SHA-256 of what makes two requests the same; `request` still has its
 * body. */
TK_NODISCARD tinkc_code srv_job_digest(char out[TK_SHA256_HEX_BYTES],
                                       const hd_request *request,
                                       const srv_submit *submit, tk_err *err);

/* Puts the job into the order of `model` as its request `seq`; its future, if there is
 * one, explains from now on why it waits. Under the lock. */
void srv_job_enter(srv_job *job, srv_model *model, int64_t seq);

/* Answers 200 {"request_id", "model_id"}. */
hd_verdict srv_job_reply(hd_request *request, const char *request_id,
                         const char *model_id);

#endif
