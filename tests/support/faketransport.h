/* A transport without sockets: requests are kept in a list until the test answers them.
 * With a fake clock and a manual loop a test drives the client step by step.
 *
 * Answers are delivered by the loop's next turn, as a real transport would. Everything on
 * the test's thread. Paths are the part after "/api/v1/". */
#ifndef SUPPORT_FAKETRANSPORT_H
#define SUPPORT_FAKETRANSPORT_H

#include "base/clock.h"
#include "http/http.h"

#define FAKETRANSPORT_SEEN     4096
#define FAKETRANSPORT_FIELDS   6
#define FAKETRANSPORT_DEFAULTS 16

typedef struct fakeanswer {
    int status; /* 0: 200 */
    const char *body;
    size_t body_n;                             /* 0: strlen */
    const char *headers[FAKETRANSPORT_FIELDS]; /* name, value, ... */
    tk_http_failure failure;                   /* no response at all */
    bool is_absent;                            /* the failure: nothing is there */
    bool no_length;                            /* without content-length */
} fakeanswer;

/* One request that was submitted, also when it is answered already. */
typedef struct fakeseen {
    char path[160];
    int64_t at_ms;
    char *body;               /* followed by a NUL */
    char *headers;            /* lines, each with "\n" at its end */
    tk_http_request *request; /* NULL once answered or cancelled */
    bool is_answered;         /* the answer below is on its way */
    fakeanswer answer;
    bool fresh_connection;
    tk_http_method method;
    tk_http_group group;
    int64_t timeout_ms;
    size_t max_response_bytes, max_refusal_bytes;
} fakeseen;

/* Answers a request that has no default; status -1: not now. */
typedef fakeanswer (*fakeanswer_fn)(void *user, const fakeseen *seen);

typedef struct faketransport {
    tk_transport transport; /* give this to the client */
    fakeanswer_fn answer;   /* or NULL */
    void *answer_user;
    const tk_clock *clock;
    fakeseen *seen;
    size_t seen_n;
    struct {
        const char *path;
        fakeanswer answer;
    } defaults[FAKETRANSPORT_DEFAULTS];
    size_t defaults_n;
    bool closed;
} faketransport;

/* The struct must not move and must outlive the client. */
void faketransport_init(faketransport *net, const tk_clock *clock);
void faketransport_dispose(faketransport *net);

/* Requests to `path` are answered at once with this, from now on; status -1: not any
 * more. Texts are borrowed. */
void faketransport_default(faketransport *net, const char *path, fakeanswer answer);

/* How many came to `path`; the nth of them (NULL: none); how many are unanswered. */
size_t faketransport_count(const faketransport *net, const char *path);
fakeseen *faketransport_nth(faketransport *net, const char *path, size_t nth);
size_t faketransport_open(const faketransport *net, const char *path);

/* Answers the oldest unanswered request to `path`; false when there is none. */
bool faketransport_answer(faketransport *net, const char *path, fakeanswer answer);

/* Value of a request header into `out`; false when it was not sent. */
bool faketransport_header(const fakeseen *seen, const char *name, char *out, size_t size);

#endif
