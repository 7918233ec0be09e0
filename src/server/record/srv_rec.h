/* Recording for the console: metrics of every training step, samples, runs and their
 * checkpoints, in a database of its own (srv_rec_db.h).
 *
 * Who records only copies into a bounded queue; one thread writes it, in batches, four times
 * in a second at most, and tells the console. What finds no room is dropped and counted. A
 * disk that is full, read-only or broken stops the recording, with one warning, and never
 * fails a request; it is tried again each minute.
 *
 * Functions that record accept NULL, which records nothing. Thread: any; locks of its own,
 * which are leaves. Those that read (srv_rec_read.h) may wait for the disk. */
#ifndef SERVER_SRV_REC_H
#define SERVER_SRV_REC_H

#include "base/clock.h"
#include "base/log.h"
#include "console/con.h"
#include "httpd/hd_budget.h"

typedef struct srv_rec srv_rec;

#define SRV_REC_LIMIT_BYTES ((uint64_t)256 * 1024 * 1024)
#define SRV_REC_LIMIT_MIN   ((uint64_t)8 * 1024 * 1024)
#define SRV_REC_KEEP_DAYS   30
#define SRV_REC_RETRY_NS    (INT64_C(60000) * TK_NS_PER_MS)
#define SRV_REC_IDLE_MS     60000 /* a run without work for so long is idle */

typedef struct srv_rec_config {
    const char *data; /* directory; copied */
    tk_log *log;      /* outlives the recorder, as the budget */
    hd_budget *budget;
    unsigned part;        /* of the budget */
    uint64_t limit_bytes; /* of the database; 0 = SRV_REC_LIMIT_BYTES */
    int64_t keep_days;    /* 0 = SRV_REC_KEEP_DAYS */
    int64_t retry_ns;     /* when a disk is tried again; 0 = after a minute */
    bool no_samples;
    /* Appends the bytes of a token; false when it is unknown. `tok` is srv_rec_sample.tok. */
    bool (*put_token)(const void *tok, int32_t id, tk_buf *out);
} srv_rec_config;

/* Opens the database; a failure of the disk is no failure of this function. Nothing is
 * written before srv_rec_start. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code srv_rec_new(srv_rec **out, const srv_rec_config *config,
                                    tk_err *err);
/* Starts the thread, which tells `console` (NULL = nobody) what is new. */
TK_NODISCARD tinkc_code srv_rec_start(srv_rec *rec, con *console, tk_err *err);
/* Writes what is queued, and ends the thread: after it the console may be freed. Accepts
 * NULL. */
void srv_rec_stop(srv_rec *rec);
void srv_rec_free(srv_rec *rec); /* accepts NULL */

/* Waits until everything is written that was recorded before, or is lost; false when it still
 * waits in the queue, because another program has the database. */
bool srv_rec_flush(srv_rec *rec);

/* ---- recording ---- */

typedef struct srv_rec_begin { /* of a run; borrowed */
    tk_str run, session, model;
    tk_str name;     /* or empty */
    tk_str metadata; /* a JSON object, or empty */
    int64_t rank;
} srv_rec_begin;

void srv_rec_begin_run(srv_rec *rec, const srv_rec_begin *begin);
void srv_rec_end_run(srv_rec *rec, tk_str run);

typedef struct srv_rec_metric {
    tk_str name; /* "ppo_kl_div:mean"; cut after 47 bytes */
    double value;
} srv_rec_metric;

typedef struct srv_rec_train { /* a forward_backward; borrowed */
    tk_str run, model;
    double loss_sum, weight; /* the loss per token is their ratio */
    uint64_t tokens;
    double seconds; /* of computing */
    const srv_rec_metric *metrics;
    size_t n_metrics;
} srv_rec_train;

void srv_rec_add_train(srv_rec *rec, const srv_rec_train *train);

typedef struct srv_rec_optim { /* ends a step; borrowed */
    tk_str run, model;
    int64_t step; /* from 1 */
    double lr, grad_norm, seconds;
} srv_rec_optim;

void srv_rec_add_optim(srv_rec *rec, const srv_rec_optim *optim);

/* `id` as in the API: "weights/x"; `step` is the number of steps before it. */
void srv_rec_add_checkpoint(srv_rec *rec, tk_str run, tk_str id, int64_t step);

typedef struct srv_rec_sequence {
    const int32_t *ids;
    const float *logprobs;
    size_t n;
    bool stopped;
} srv_rec_sequence;

typedef struct srv_rec_sample {  /* the sequences of one request; borrowed */
    tk_str model, path, sampler; /* the last two may be empty */
    const void *tok;             /* for srv_rec_config.put_token; outlives the recorder */
    const int32_t *prompt;
    size_t n_prompt;
    const srv_rec_sequence *sequences;
    size_t n;
} srv_rec_sample;

void srv_rec_add_sample(srv_rec *rec, const srv_rec_sample *sample);
/* Counts something for which who would record it has no memory. */
void srv_rec_lose(srv_rec *rec);

typedef struct srv_rec_stats {
    bool samples; /* are recorded */
    bool works;   /* the disk takes it */
    uint64_t dropped, bytes, limit_bytes, keep_days;
} srv_rec_stats;

void srv_rec_get_stats(srv_rec *rec, srv_rec_stats *out);

#endif
