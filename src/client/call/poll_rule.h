/* The retrieve_future table (docs/protocol.md §4, 19 rows) as a pure function: the result
 * of one poll goes in, what to do comes out. Deviations: docs/deviations.md. */
#ifndef CLIENT_POLL_RULE_H
#define CLIENT_POLL_RULE_H

#include "http/retry.h"
#include "wire/msg_future.h"

/* Counters of one polling loop. */
typedef struct tk_poll_counts {
    int connection_retries;
    int bad_request_retries;
} tk_poll_counts;

/* One poll. */
typedef struct tk_poll_event {
    tk_retry_outcome outcome; /* its hint: of the headers or of the body */
    tk_answer_kind kind;      /* of a 2xx */
    bool body_is_json;        /* of a 408 */
    bool billing_paused;      /* a 402 inside the window */
    int64_t floor_ms;         /* least delay after a 5xx, or with a hint */
} tk_poll_event;

typedef enum tk_poll_action {
    TK_POLL_SUCCEED,
    TK_POLL_AGAIN,   /* after delay_ms */
    TK_POLL_PAYLOAD, /* poll again for the payload, within the budget */
    TK_POLL_FAIL,    /* with the error of the response */
    TK_POLL_GONE,    /* 410: the request may be submitted again, as new work */
    TK_POLL_REFUSED, /* the work failed at the server */
    TK_POLL_CONFUSED /* an answer that cannot be understood */
} tk_poll_action;

typedef struct tk_poll_decision {
    tk_poll_action action;
    int64_t delay_ms;
} tk_poll_decision;

tk_poll_decision tk_poll_rule(tk_poll_counts *counts, const tk_poll_event *event);

#endif
