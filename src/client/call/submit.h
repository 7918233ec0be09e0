/* One accepted request: POSTs it, takes the request id from the answer, polls its result.
 * The one way in which create_model, every training call, every chunk of a batch and
 * every attempt of a sample reach the server.
 *
 * Lives inside the operation that needs it. Loop thread only. A submission ends in one of
 * these ways, and the last callback may free the owner or start the submission again:
 *   settled(code != TINKC_OK)           the server never accepted it
 *   settled(TINKC_OK), then done        it was accepted; `done` has the result
 *   pushed_back                         only where that is set: the server asks for the
 * same request later, and the owner decides when */
#ifndef CLIENT_SUBMIT_H
#define CLIENT_SUBMIT_H

#include "client/call/call.h"
#include "client/call/poll.h"
#include "client/core/core.h"

typedef struct tk_submit tk_submit;

struct tk_submit {
    /* Set by the owner before tk_submit_start; borrowed until the end. */
    tk_core *core;
    tk_endpoint_id endpoint;
    tk_future_type type;
    const void *body;
    size_t body_n;
    const char *content_type;     /* NULL: application/json */
    const char *content_encoding; /* NULL: none */
    const char *extra_header;     /* "Name: value"; NULL: none */
    const char *what;             /* model or sampler, for the queue observer */
    tinkc_future *future;         /* notes go there */
    int64_t started_ns;           /* when the operation began; -1: report 0 s */
    bool never_stuck;             /* as in tk_poll */
    const int64_t *progress_ms;   /* as in tk_poll */
    tk_poll_group *group;         /* as in tk_poll */
    int64_t stuck_total_ms;       /* as in tk_poll */
    tk_retry_pace *pace; /* of work that is submitted several times; NULL: only once */
    tinkc_code (*before_attempt)(tk_call *call, tk_err *err);                /* or NULL */
    void (*pushed_back)(tk_submit *submit, const tk_retry_outcome *outcome); /* or NULL */
    /* Reads the answer that accepted it, before `settled`; a failure ends it. */
    tinkc_code (*accepted)(tk_submit *submit, tk_str body, tk_err *err); /* or NULL */
    void (*settled)(tk_submit *submit, tinkc_code code, const tk_err *err);
    void (*done)(tk_submit *submit, const tk_poll_result *result);
    void *user;
    /* For the owner to read in a callback. */
    bool is_doubtful;    /* not accepted as far as we know, but perhaps so */
    int64_t answered_ms; /* when the server last answered anything; 0: never */
    /* Private to submit.c. */
    struct {
        tk_call call;
        tk_poll poll;
        enum { TK_SUBMIT_IDLE, TK_SUBMIT_CALL, TK_SUBMIT_SETTLING, TK_SUBMIT_POLL } phase;
        bool is_cancelled;
        tk_retry_pace pace;
        char request_id[TK_ERR_ID_BYTES];
    } state;
};

void tk_submit_start(tk_submit *submit);

bool tk_submit_is_running(const tk_submit *submit);

/* Returns the id that the server gave the request; "" before it has accepted it. It stays
 * until the next start. */
const char *tk_submit_request_id(const tk_submit *submit);

/* Ends it with TINKC_E_CANCELLED, through `settled` or `done`. No effect when it is not
 * running. */
void tk_submit_cancel(tk_submit *submit);

#endif
