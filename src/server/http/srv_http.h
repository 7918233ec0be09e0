/* HTTP: libmicrohttpd with one epoll thread, which only collects bytes, checks whether
 * the caller may ask, and sends answers. A complete request is suspended and posted to
 * the workers; its resume wakes this thread, which sends the answer. Only srv_http*.c know
 * the library. Nothing here knows what the requests are about. */
#ifndef SERVER_SRV_HTTP_H
#define SERVER_SRV_HTTP_H

#include "base/err.h"
#include "server/http/srv_conns.h"
#include "server/http/srv_work.h"

typedef struct srv_http srv_http;

/* An answer that is about to be sent, for a log. The path comes without its query; it is
 * the client's text, which may have any byte but NUL. */
typedef struct srv_http_answered {
    const char *method, *path;
    int status;
    int64_t ms;     /* since the head of the request */
    uint64_t n_in;  /* bytes of the body */
    uint64_t n_out; /* of the answer; 0 for a stream */
    bool is_streamed;
} srv_http_answered;

/* All of it is borrowed and outlives the srv_http. */
typedef struct srv_http_config {
    const char *host;               /* a numeric address, or "localhost" */
    unsigned port;                  /* 0 = any free one */
    const char *api_key;            /* NULL = every key, also none */
    const srv_routes *routes;       /* what is answered */
    srv_work *work;                 /* runs the handlers */
    srv_budget *budget;             /* of memory */
    void *app;                      /* srv_request.app of every request */
    const srv_conns_limits *limits; /* NULL = by the number of descriptors */
    /* Checks the head of a request to a route that is SIGNED, on the thread of HTTP:
     * without waiting for anything. Answers and returns false to refuse it. */
    bool (*admit)(srv_request *request);
    /* Is called for each answer, on the thread of HTTP; NULL = not wanted. */
    void (*on_answer)(void *app, const srv_http_answered *answered);
} srv_http_config;

/* Listens, without answering; TINKC_E_IO when that is not possible. Connections wait in
 * the socket's queue until the start, so that everything that a handler may use, this
 * srv_http and its port included, can be set before the first request. */
TK_NODISCARD tinkc_code srv_http_new(srv_http **out, const srv_http_config *config,
                                     tk_err *err);
unsigned srv_http_port(const srv_http *http);

/* Answers requests from now on. TINKC_E_IO. */
TK_NODISCARD tinkc_code srv_http_start(srv_http *http, tk_err *err);

/* Takes no new connections and no new requests: what is complete from now on gets a 503,
 * and delayed requests are handled at once. */
void srv_http_quiesce(srv_http *http);

/* Waits until every suspended request was resumed and its answer sent or given up, then
 * ends the thread. The first wait has no limit of its own, because the library cannot be
 * stopped before: a handler ends by itself, as everything that it waits for has a limit,
 * except a disk that does not answer. Accepts NULL. */
void srv_http_stop(srv_http *http);

/* Called after the threads that resume requests have ended, too. Accepts NULL. */
void srv_http_free(srv_http *http);

/* Classes of status codes: 1xx to 5xx, at index 1 to 5. */
#define SRV_HTTP_CLASSES 6

typedef struct srv_http_stats {
    size_t total;                     /* requests since the start */
    size_t answers[SRV_HTTP_CLASSES]; /* answers since the start, by class */
    size_t active;    /* requests between their first byte and the last of the answer */
    size_t suspended; /* of those, with workers or parked */
    srv_conns_stats conns;
} srv_http_stats;
void srv_http_get_stats(srv_http *http, srv_http_stats *out);

#endif
