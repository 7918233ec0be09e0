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
#include "client/call/refusal.h"
#include "client/core/core.h"

typedef struct tk_submit tk_submit;

/* A request as it is sent. */
typedef struct tk_submit_form {
    tk_endpoint_id endpoint;
    const void *body;
    size_t body_n;
    const char *content_type;     /* NULL: application/json */
    const char *content_encoding; /* NULL: none */
} tk_submit_form;

struct tk_submit {
    /* Set by the owner before tk_submit_start; borrowed until the end. */
    tk_core *core;
    tk_submit_form form;
    tk_future_type type;
    /* Makes the form for servers that cannot read protobuf, which must stay until the end.
     * It is used at once where that is known of the server, and tried once, under the same
     * sequence id, when the server refuses `form` for its format before it has accepted
     * any. NULL: there is none. */
    tinkc_code (*in_json)(tk_submit *submit, tk_submit_form *out, tk_err *err);
    const char *extra_header;   /* "Name: value"; NULL: none */
    const char *what;           /* model or sampler, for the queue observer */
    tinkc_future *future;       /* notes go there */
    int64_t started_ns;         /* when the operation began; -1: report 0 s */
    bool never_stuck;           /* as in tk_poll */
    const int64_t *progress_ms; /* as in tk_poll */
    tk_poll_group *group;       /* as in tk_poll */
    int64_t stuck_total_ms;     /* as in tk_poll */
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
        /* `form`; JSON that the server is known to read; JSON that is tried; `form` after
         * JSON was refused as well. */
        enum { TK_FORM_FIRST, TK_FORM_JSON, TK_FORM_TRIED, TK_FORM_AGAIN } using;
        tk_refusal refusal; /* that led to a try */
        tk_err refused;     /* its error */
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
