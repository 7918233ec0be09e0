/* One request from the moment it was decoded to the last byte of its answer.
 *
 * It has a job for each prompt and a slot for each answer. The worker that makes it submits
 * its jobs; then callbacks of the backend only leave tokens and results with it, under the
 * gateway's lock, and a thread of the pool (gw_pool.h) takes them, one thread at a time. It
 * ends when every job has ended, whatever the client does. */
#ifndef GATEWAY_GW_EXCHANGE_H
#define GATEWAY_GW_EXCHANGE_H

#include "base/list.h"
#include "base/thread.h"
#include "gateway/gw.h"
#include "gateway/gw_choice.h"
#include "gateway/gw_episode.h"
#include "gateway/gw_repeat.h"
#include "httpd/hd_stream.h"

#define GW_THREADS     2
#define GW_TYPE_EVENTS "text/event-stream"

struct gw {
    gw_config config;
    char *dir; /* of the episodes, or NULL */
    gw_episodes *episodes;
    gw_repeats *repeats;
    tk_mutex
        lock; /* of everything below and of what gw_exchange says; a leaf, except that
                    * the backend's cancel is called under it */
    tk_cond wake;
    tk_thread threads[GW_THREADS];
    unsigned n_threads;
    int64_t began_s; /* seconds since 1970 */
    bool is_closing;
    tk_list all;   /* gw_exchange.link */
    tk_list ready; /* gw_exchange.ready */
    size_t n;
    size_t n_blocked; /* streams that wait for their readers */
    int64_t tick_ns;  /* when clients are looked after next */
};

typedef struct gw_exchange gw_exchange;

typedef struct gw_result { /* a gw_sample_result of our own */
    gw_sample_result view;
    void *memory;
} gw_result;

typedef struct gw_job { /* one prompt */
    gw_exchange *x;
    gw_ask ask;
    gw_plan plan;
    ca_params params; /* those of the request with the limit that this prompt has */
    tk_buf text;      /* of the prompt, with echo */
    ca_tokens prompt; /* the ids of the plan with their scores */
    /* under the lock */
    gw_sample *sample; /* runs; else NULL */
    bool has_ended;
    gw_result result;
    ca_fault fault; /* status 0 = none */
} gw_job;

typedef struct gw_slot { /* one answer */
    gw_exchange *x;
    gw_job *job;
    size_t index;   /* among all answers */
    size_t n_shown; /* tokens that went with events */
    gw_choice choice;
} gw_slot;

typedef struct gw_token { /* on its way */
    size_t slot;
    int32_t id;
    float logprob;
} gw_token;

struct gw_exchange {
    tk_list link, ready;
    gw *gateway;
    ca_request request;
    char *episode;
    gw_claim claim; /* others may wait for this answer */
    gw_model *model;
    gw_job *jobs;
    size_t n_jobs;
    gw_slot *slots;
    size_t n_slots;
    size_t counted; /* bytes in the budget */
    ca_reply reply;
    bool is_dropping; /* max_tokens 0: what is sampled is thrown away */
    bool is_fed;      /* tokens come while the backend samples */

    /* the answer; of the worker, then of the pool's thread that has it */
    hd_request *http;  /* parked; NULL for a stream */
    hd_stream *stream; /* one ownership, or NULL */
    ca_stream *events;
    tk_buf out;     /* events that were not put into the stream yet */
    tk_buf whole;   /* all of them, for those who repeat the request */
    bool is_open;   /* the stream has begun */
    bool is_over;   /* all of the answer is in `out` */
    ca_fault fault; /* of the whole; status 0 = none */

    /* under the lock */
    size_t n_pending; /* jobs that run, and one while they are submitted */
    gw_token *tokens;
    size_t n_tokens, cap_tokens;
    bool is_running;  /* a thread of the pool has it */
    bool is_again;    /* and should look once more */
    bool is_gone;     /* the client has left */
    bool is_blocked;  /* waits for its reader */
    bool has_no_room; /* a token was lost: out of memory */
    ca_fault refusal; /* of a job; status 0 = none */
};

/* Makes the prompts and everything else that sampling needs. Returns NULL with *fault
 * filled. `episode` is checked. */
gw_exchange *gw_exchange_new(gw *gateway, ca_request *request, tk_str episode,
                             ca_fault *fault);
/* No job may run. Accepts NULL. */
void gw_exchange_free(gw_exchange *x);

/* Starts the jobs. Returns false when one was refused: x->refusal says why, and the others
 * are cancelled. The caller has put 1 into n_pending: x is there until it takes that back
 * and wakes the pool. */
TK_NODISCARD bool gw_exchange_submit(gw_exchange *x);

/* Cancels what runs. Under the lock. */
void gw_exchange_cancel(gw_exchange *x);

/* Does what there is to do (gw_answer.c); returns true when nothing more will be. Thread:
 * one of the pool. */
bool gw_answer_step(gw_exchange *x);

/* Returns whether the client has left. Under the lock, while no thread has it. */
bool gw_answer_is_gone(gw_exchange *x);

/* ---- the pool ---- */

TK_NODISCARD tinkc_code gw_pool_start(gw *gateway, tk_err *err);
void gw_pool_stop(gw *gateway);
/* Enters an exchange; false when there are too many. */
TK_NODISCARD bool gw_pool_enter(gw *gateway, gw_exchange *x);
/* Has a thread look at it. Under the lock. */
void gw_pool_wake(gw_exchange *x);

/* Answers with a fault in the dialect's shape. */
hd_verdict gw_front_fail(hd_request *request, ca_dialect dialect, const ca_fault *fault);
/* Fills a fault from an error: what a client did wrong is a 400. Returns false. */
bool gw_front_blame(ca_fault *fault, const tk_err *err);

#endif
