/* fakeapi: the scripted peer of all client tests. An HTTP/1.1 server inside the test
 * process, on 127.0.0.1 and a free port, that sends the answers of the test's script,
 * misbehaves on request, and records every request.
 *
 *     fakeapi *api = fakeapi_start();
 *     fakeapi_reply(api, "POST", "/api/v1/x", &fakeapi_429(FAKEAPI_AFTER_MS(1500)));
 *     fakeapi_reply(api, "POST", "/api/v1/x", &fakeapi_json("{}"));
 *     ... use a client on fakeapi_url(api) ...
 *     assert_int_equal(fakeapi_count(api, "POST", "/api/v1/x"), 2);
 *     fakeapi_stop(&api); */
#ifndef SUPPORT_FAKEAPI_H
#define SUPPORT_FAKEAPI_H

#include <stdint.h>

#include "support/fakeapi_http.h"

/* One thread with epoll serves thousands of connections. Nothing sleeps: answers wait at
 * gates that the test opens, tests wait on conditions with a cap. Own sockets and no
 * library, because a library does not send half a head. Functions may be called from any
 * thread. Misuse and failures of the machine abort with a message. Text given to it is
 * copied. It allocates through fakeapi_mem.h only, so that allocation sweeps of the
 * library do not see it. */

typedef struct fakeapi fakeapi;
typedef struct fakeapi_gate fakeapi_gate;

/* ---- life ---- */

fakeapi *fakeapi_start(void);                /* listening when it returns */
fakeapi *fakeapi_start_v6(void);             /* on [::1]; NULL: there is no IPv6 here */
void fakeapi_stop(fakeapi **api);            /* closes all, joins, frees; accepts NULL */
const char *fakeapi_url(const fakeapi *api); /* "http://127.0.0.1:PORT", no "/" at its
                                              * end */
int fakeapi_port(const fakeapi *api);

/* Raises the soft limit of open files of this process to at least n. False: not
 * allowed. */
bool fakeapi_allow_files(size_t n);

/* ---- script ----
 *
 * A route is a method ("*" = any) and a path pattern in which `*` matches any text, also
 * with `/`. Steps queue up per route and are used one request at a time; when the queue
 * is empty the route's default answers, then the handler (e.g. tinker mode), then 404.
 * Patterns see the percent-decoded path without the query. Where several routes match,
 * the first one added that has an answer is used. */

typedef enum fakeapi_fault {
    FAKEAPI_NONE = 0,
    FAKEAPI_RESET_EARLY, /* RST after the head, before the body is read */
    FAKEAPI_RESET,    /* RST after the whole request: the work is done, the answer lost */
    FAKEAPI_DROP,     /* the same with FIN */
    FAKEAPI_NEVER,    /* reads the request and stays silent */
    FAKEAPI_CUT_HEAD, /* half of the answer's head, then FIN */
    FAKEAPI_CUT_BODY, /* `cut` bytes of the body, then FIN */
    FAKEAPI_RESET_BODY, /* `cut` bytes of the body, then RST */
    FAKEAPI_STALL_BODY  /* `cut` bytes of the body, then silence */
} fakeapi_fault;

typedef enum fakeapi_framing {
    FAKEAPI_LENGTH = 0,  /* content-length */
    FAKEAPI_CHUNKED,     /* one chunk per piece (see drip) */
    FAKEAPI_UNTIL_CLOSE, /* no length; the end of the connection ends the body */
    FAKEAPI_WRONG_LENGTH /* content-length says `declared_length`; closes afterwards */
} fakeapi_framing;

typedef struct fakeapi_step {
    /* what is sent */
    int status;               /* 0 = 200 */
    const char *headers;      /* more lines, each ending in CRLF; may be NULL */
    const char *body;         /* may be NULL */
    size_t body_n;            /* 0 = strlen(body) */
    const char *content_type; /* NULL = application/json, "" = none */
    bool pass; /* the handler (which does the work) makes the answer; this step decides
                * how it is sent */
    /* how it is sent */
    unsigned repeat;         /* used that many times; 0 = once */
    fakeapi_gate *gate;      /* takes a permit of it before the first byte */
    unsigned delay_ms;       /* by the peer's clock, see fakeapi_clock_manual */
    size_t drip;             /* body in pieces of that many bytes; 0 = in one */
    fakeapi_gate *drip_gate; /* a permit for each piece */
    unsigned drip_ms;        /* or a pause before each */
    fakeapi_fault fault;
    size_t cut;
    fakeapi_framing framing;
    uint64_t declared_length;
    bool close;       /* "connection: close", and does so */
    bool http10;      /* answers as HTTP/1.0 and closes */
    bool send_100;    /* an unasked "100 Continue" in front */
    bool no_continue; /* ignores "expect: 100-continue" */
    bool early;       /* answers as soon as the head is read, closes, ignores the body */
} fakeapi_step;

/* Appends one step. `step` is copied. */
void fakeapi_reply(fakeapi *api, const char *method, const char *path,
                   const fakeapi_step *step);

/* The answer of the route when its queue is empty, any number of times; replaces an
 * earlier default. */
void fakeapi_default(fakeapi *api, const char *method, const char *path,
                     const fakeapi_step *step);

/* Each different request (method, path and body) to the route meets `fault` the first
 * time it comes, after the work was done, and passes from then on: every response is lost
 * once. The fault only lies over requests that no queued step answers. */
void fakeapi_lose_first(fakeapi *api, const char *method, const char *path,
                        fakeapi_fault fault);

/* The next n connections are reset when they are accepted. */
void fakeapi_reset_connections(fakeapi *api, size_t n);

/* Steps not used yet, of all routes: 0 when the script was played to its end. */
size_t fakeapi_steps_left(fakeapi *api);

/* ---- gates ----
 *
 * A gate belongs to its api and dies with it. Answers pass it one permit each, first come
 * first served; an open gate lets everything pass. */
fakeapi_gate *fakeapi_gate_new(fakeapi *api);
void fakeapi_gate_let(fakeapi_gate *gate, size_t n); /* n more may pass */
void fakeapi_gate_open(fakeapi_gate *gate);          /* all may pass, from now on */
void fakeapi_gate_shut(fakeapi_gate *gate);          /* none; permits are taken back */
size_t fakeapi_gate_waiting(fakeapi_gate *gate);
bool fakeapi_gate_wait(fakeapi_gate *gate, size_t n); /* until n wait there; capped */

/* From now on delays count time that only fakeapi_clock_advance moves. */
void fakeapi_clock_manual(fakeapi *api);
void fakeapi_clock_advance(fakeapi *api, unsigned ms);

/* ---- record ---- */

typedef struct fakeapi_request {
    size_t index;         /* order of arrival, from 0 */
    size_t connection;    /* number of the connection, from 1 */
    size_t on_connection; /* how many came on it before this one */
    uint64_t arrived_ns;  /* CLOCK_MONOTONIC, when it was complete */
    const char *method;
    const char *target; /* as sent, with the query */
    const char *path;   /* percent-decoded, without the query */
    const char *query;  /* after "?", as sent; "" when there is none */
    int http_minor;     /* 1 = HTTP/1.1 */
    const fakeapi_header_line *headers;
    size_t headers_n;
    const char *body; /* followed by a NUL */
    size_t body_n;
    bool is_whole; /* false: answered or reset before the body was read */
} fakeapi_request;

/* Value of a header (first of that name, any case), or NULL. */
const char *fakeapi_header(const fakeapi_request *request, const char *name);
size_t fakeapi_header_count(const fakeapi_request *request, const char *name);

/* Requests are immutable and live until fakeapi_forget or fakeapi_stop. NULL when there
 * is no such request. */
size_t fakeapi_total(fakeapi *api);
const fakeapi_request *fakeapi_request_at(fakeapi *api, size_t index);

/* Patterns as in the script. `nth` counts from 0 among those that match. */
size_t fakeapi_count(fakeapi *api, const char *method, const char *path);
const fakeapi_request *fakeapi_nth(fakeapi *api, const char *method, const char *path,
                                   size_t nth);

/* Requests in work now, and the most that ever were at once: between complete arrival and
 * the last byte of the answer (or the end of the connection). */
size_t fakeapi_in_flight(fakeapi *api, const char *method, const char *path);
size_t fakeapi_peak(fakeapi *api, const char *method, const char *path);

size_t fakeapi_connections(fakeapi *api);       /* open now */
size_t fakeapi_connections_total(fakeapi *api); /* accepted so far */
size_t fakeapi_abandoned(fakeapi *api); /* requests whose client left before the answer */

/* Forgets requests and peaks (not the script), e.g. in long runs. */
void fakeapi_forget(fakeapi *api);

/* Waits until at least n matching requests have come; exactly n are in work; exactly n
 * connections are open. False when that did not happen within FAKEAPI_WAIT_CAP_S: for
 * assert_true. The cap is generous because it only ends failing tests. */
#define FAKEAPI_WAIT_CAP_S 60
bool fakeapi_wait_for(fakeapi *api, const char *method, const char *path, size_t n);
bool fakeapi_wait_in_flight(fakeapi *api, const char *method, const char *path, size_t n);
bool fakeapi_wait_connections(fakeapi *api, size_t n);

/* ---- the answers that tests need most ----
 *
 * Values: take their address, as in the example above. Arguments are literals. */

#define fakeapi_json(text)         ((fakeapi_step){.body = (text)})
#define fakeapi_status(code, text) ((fakeapi_step){.status = (code), .body = (text)})
#define fakeapi_detail(code, text) fakeapi_status(code, "{\"detail\":\"" text "\"}")
#define fakeapi_fail(kind)         ((fakeapi_step){.pass = true, .fault = (kind)})
#define fakeapi_proto(bytes, size)                                                       \
    ((fakeapi_step){                                                                     \
        .body = (bytes), .body_n = (size), .content_type = "application/x-protobuf"})

/* A future that is not ready: the long poll that ran out (408), and the older 200 form.
 * state: "active", "paused_capacity", "paused_rate_limit"; reason: text. */
#define FAKEAPI_TRY_AGAIN_(state, reason)                                                \
    "{\"type\":\"try_again\",\"request_id\":\"r\",\"queue_state\":\"" state              \
    "\",\"queue_state_reason\":" reason "}"
#define fakeapi_408(state) fakeapi_status(408, FAKEAPI_TRY_AGAIN_(state, "null"))
#define fakeapi_408_because(state, reason)                                               \
    fakeapi_status(408, FAKEAPI_TRY_AGAIN_(state, "\"" reason "\""))
#define fakeapi_try_again(state) fakeapi_json(FAKEAPI_TRY_AGAIN_(state, "null"))
#define fakeapi_try_again_because(state, reason)                                         \
    fakeapi_json(FAKEAPI_TRY_AGAIN_(state, "\"" reason "\""))

/* A large result is ready: poll again without allow_metadata_only. */
#define fakeapi_complete_metadata(bytes)                                                 \
    fakeapi_json("{\"status\":\"complete_metadata\",\"request_id\":\"r\","               \
                 "\"response_payload_size\":" #bytes "}")

/* Work that failed; category: "user", "server", "unknown". */
#define fakeapi_failed(message, category)                                                \
    fakeapi_json("{\"error\":\"" message "\",\"category\":\"" category "\"}")

/* Overload, with a hint or NULL: fakeapi_429(FAKEAPI_AFTER_MS(1500)). For an HTTP date
 * write the header line with fakeapi_after_date. */
#define FAKEAPI_AFTER_MS(ms)    "retry-after-ms: " #ms "\r\n"
#define FAKEAPI_AFTER_S(s)      "retry-after: " #s "\r\n"
#define FAKEAPI_AFTER_DATE_SIZE 64
const char *fakeapi_after_date(char out[FAKEAPI_AFTER_DATE_SIZE], int64_t unix_s);
#define fakeapi_429(hint)                                                                \
    ((fakeapi_step){                                                                     \
        .status = 429, .headers = (hint), .body = "{\"detail\":\"Too many requests\"}"})

#define fakeapi_402() fakeapi_detail(402, "Billing is paused")
#define fakeapi_410() fakeapi_detail(410, "The result is gone")

/* The two answers that the official client takes for a broken connection
 * (docs/protocol.md §5.2): a 400 whose content-length is absent, or zero. */
#define fakeapi_bare_400_chunked()                                                       \
    ((fakeapi_step){                                                                     \
        .status = 400, .body = "{\"detail\":\"bad\"}", .framing = FAKEAPI_CHUNKED})
#define fakeapi_bare_400_empty() ((fakeapi_step){.status = 400, .content_type = ""})

/* A schema error as FastAPI writes it. */
#define fakeapi_422(field, message)                                                      \
    fakeapi_status(422, "{\"detail\":[{\"loc\":[\"body\",\"" field                       \
                        "\"],\"msg\":\"" message "\",\"type\":\"value_error\"}]}")

#endif
