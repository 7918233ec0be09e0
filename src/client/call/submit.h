/* One accepted request: POST it, take the request id from the answer, poll its result.
 * What create_model, every training call and every chunk of a batch are made of.
 *
 * Lives inside the operation that needs it. Loop thread only. First `settled`, exactly
 * once: the server has accepted it (TINKC_OK), or never will. After TINKC_OK, and only
 * then, `done`, exactly once. The last of the two may free the owner. */
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
    const char *what;             /* the model, for the queue observer */
    tinkc_future *future;         /* notes go there */
    int64_t started_ns;           /* when the operation began */
    tinkc_code (*before_attempt)(tk_call *call, tk_err *err); /* or NULL */
    void (*settled)(tk_submit *submit, tinkc_code code, const tk_err *err);
    void (*done)(tk_submit *submit, const tk_poll_result *result);
    void *user;
    bool is_doubtful; /* for `settled` with an error: it may have been accepted */
    /* Private to submit.c. */
    struct {
        tk_call call;
        tk_poll poll;
        enum { TK_SUBMIT_IDLE, TK_SUBMIT_CALL, TK_SUBMIT_SETTLING, TK_SUBMIT_POLL } phase;
        bool is_cancelled; /* while settling */
        char request_id[TK_ERR_ID_BYTES];
    } state;
};

void tk_submit_start(tk_submit *submit);

/* Ends it with TINKC_E_CANCELLED, through `settled` or `done`. No effect when it is not
 * running. */
void tk_submit_cancel(tk_submit *submit);

#endif
