/* One API call: encoded body in, response out, with the layers L1, P and L2 between.
 *
 * A call lives inside the operation that needs it. Loop thread only. It ends exactly
 * once: `done` gets a 2xx response, or an error with everything a user needs to know. */
#ifndef CLIENT_CALL_H
#define CLIENT_CALL_H

#include "base/buf.h"
#include "client/call/endpoint.h"
#include "client/core/auth.h"
#include "client/future/tk_future.h"
#include "http/loop.h"
#include "http/retry.h"

typedef struct tk_core tk_core;
typedef struct tk_call tk_call;

struct tk_call_answer {
    tinkc_code code; /* TINKC_OK: 2xx */
    const tk_err *err;
    tk_retry_outcome outcome;         /* of the last try */
    const tk_http_response *response; /* of the last try; NULL when nothing was sent */
    bool is_doubtful;  /* failed: the server may have taken a request nevertheless */
    bool backpressure; /* pass_backpressure: the server says later, with this same request
                        */
};

#define TK_CALL_EXTRA_HEADERS 6
#define TK_CALL_LINES         40

struct tk_call {
    /* Set by the owner before tk_call_start; all borrowed until `done`. */
    tk_core *core;
    const tk_endpoint *endpoint;
    const char *path_arg; /* for "{}"; NULL: none */
    const char *query;    /* encoded, without "?"; NULL: none */
    const void *body;     /* NULL: none */
    size_t body_n;
    const char *content_type;                 /* NULL: application/json */
    const char *content_encoding;             /* NULL: none */
    const char *accept;                       /* NULL: application/json */
    const char *extra[TK_CALL_EXTRA_HEADERS]; /* "Name: value" lines, NULL-terminated */
    const char *const *lines; /* more of them; each replaces ours of the same name */
    size_t lines_n;
    const char *url; /* absolute: instead of server, path and configured query; or NULL */
    bool anonymous;  /* the server of `url` is not ours: no credential, no identity */
    /* A body that is not in memory, a body that is not collected: see http.h. Once
     * something was handed over, the call is not repeated. While on_data is set the
     * timeout is one of silence. */
    size_t (*read_body)(tk_call *call, uint64_t offset, char *p, size_t n);
    void (*on_head)(tk_call *call, const tk_http_response *head);
    tk_http_flow (*on_data)(tk_call *call, const char *p, size_t n);
    bool is_upload; /* the timeout is one of silence also without on_data */
    bool is_once;   /* on a new connection: on a used one libcurl repeats a request that
                     * got no answer */
    size_t max_response_bytes; /* 0: the configuration's */
    const char *credential;    /* NULL: the service's; set for the exchange itself */
    bool no_l2;                /* for this call, although the endpoint has it */
    bool fraction_timeout;     /* the header has "45.0", as the official SDK writes it */
    bool pass_backpressure;    /* 429, and 402 inside the pause, end the call: asample */
    int pass_status; /* a status that ends the call at once, whatever the layers say; 0 */
    bool pass_failure; /* so does a request that got no response */
    /* Of the work that the call belongs to, when several calls in a row serve it; NULL:
     * this call is all of it. */
    tk_retry_pace *pace;
    bool is_wanted; /* the answer before it was useful: the first request does not wait */
    tinkc_future *future;   /* notes go there; may be NULL */
    tinkc_stage wire_stage; /* noted while a request is out; 0: TINKC_STAGE_WIRE */
    /* Called before each L2 attempt: the owner may change the body. May be NULL. An
     * error ends the call. */
    tinkc_code (*before_attempt)(tk_call *call, tk_err *err);
    /* Returns whether a response ends the call at once, whatever the layers say, after
     * `sent` requests. May be NULL. */
    bool (*is_final)(const tk_call *call, const tk_http_response *response, int sent);
    void (*done)(tk_call *call, const tk_call_answer *answer);
    void *user;
    /* Private to call.c. */
    struct {
        tk_http_request request;
        tk_timer timer;
        tk_auth_waiter auth;
        tk_retry_l2_state l2;
        int retries;
        tk_retry_pace pace;
        bool running, on_wire;
        int64_t patience_ms; /* what is left of connect_wait_ms; INT64_MAX: no limit */
        int64_t sent_ms;     /* the last request, for the log */
        bool handed_over;
        int hops;     /* redirects followed in this try */
        tk_buf moved; /* where the last one led; empty: none */
        bool moved_away, moved_to_get;
        bool fresh;
        tk_span span;     /* of the request on the wire */
        int64_t received; /* bytes handed over */
        int sent;         /* requests so far */
        bool is_doubtful;
        char idempotency_key[64];
        tk_buf text; /* URL and header lines, each ending in a NUL */
        const char *lines[TK_CALL_LINES];
    } state;
};

/* Sends it. The answer may arrive before this returns. */
void tk_call_start(tk_call *call);

/* Ends it with TINKC_E_CANCELLED, calling `done`. No effect when it is not running. */
void tk_call_cancel(tk_call *call);

bool tk_call_is_running(const tk_call *call);
bool tk_call_is_on_wire(const tk_call *call); /* else it waits, or is done */

#endif
