/* HTTP: libmicrohttpd with one epoll thread, which only collects bytes, checks whether
 * the caller may ask, and sends answers. A complete request is handled at once when that
 * takes microseconds (HD_ROUTE_PROMPT), else suspended and posted to the workers; its
 * resume wakes this thread, which sends the answer. Only hd_http*.c know
 * the library. Nothing here knows what the requests are about. */
#ifndef HTTPD_HD_HTTP_H
#define HTTPD_HD_HTTP_H

#include "base/err.h"
#include "httpd/hd_conns.h"
#include "httpd/hd_work.h"

typedef struct hd_http hd_http;

/* An answer that is about to be sent, for a log. The path comes without its query; it is
 * the client's text, which may have any byte but NUL. */
typedef struct hd_http_answered {
    const char *method, *path;
    int status;
    int64_t ms;     /* since the head of the request */
    uint64_t n_in;  /* bytes of the body */
    uint64_t n_out; /* of the answer; 0 for a stream */
    bool is_streamed;
} hd_http_answered;

/* All of it is borrowed and outlives the hd_http. */
typedef struct hd_http_config {
    const char *host;              /* a numeric address, or "localhost" */
    unsigned port;                 /* 0 = any free one */
    const char *api_key;           /* NULL = every key, also none */
    const hd_routes *routes;       /* what is answered */
    hd_work *work;                 /* runs the handlers */
    hd_budget *budget;             /* of memory */
    void *app;                     /* hd_request.app of every request */
    const hd_conns_limits *limits; /* NULL = by the number of descriptors */
    /* The one Content-Encoding beside "identity" that handlers decode (hd_request.
     * is_encoded); NULL = none. Others are refused with 415. */
    const char *encoding;
    /* Headers of the application of which a request has at most one: up to 16 names,
     * then NULL; NULL = none. */
    const char *const *single;
    /* Writes the body of an error, of the front's (400 to 431 and 503, before there is a
     * handler; request->route may be NULL) and of hd_reply_fail, _busy, _error and _field
     * alike. It sets the answer, with hd_reply_buf or hd_reply_fixed and with this status;
     * for TINKC_E_NOMEM with hd_reply_fixed. The front adds Retry-After to a 429. NULL =
     * the text of the error. Thread: that of HTTP, or the one that has the request. */
    void (*refuse)(hd_request *request, int status, const tk_err *err);
    /* Checks the headers of a request whose caller may ask, on the thread of HTTP: without
     * waiting for anything; route and body may be missing. Answers and returns false to
     * refuse it. NULL = not wanted. */
    bool (*on_head)(hd_request *request);
    /* Returns whether a header Cookie has a cookie that counts like the key, on every route;
     * on the thread of HTTP, without waiting for anything. A request that changes something
     * and relies on it must have the header `cookie_mark` with the value 1. NULL = none. */
    bool (*knows_cookie)(void *app, tk_str cookies);
    const char *cookie_mark;
    /* Checks the head of a request to a route that is SIGNED, on the thread of HTTP:
     * without waiting for anything. Answers and returns false to refuse it. */
    bool (*admit)(hd_request *request);
    /* Is called for each answer, on the thread of HTTP; NULL = not wanted. */
    void (*on_answer)(void *app, const hd_http_answered *answered);
} hd_http_config;

/* Listens, without answering; TINKC_E_IO when that is not possible. Connections wait in
 * the socket's queue until the start, so that everything that a handler may use, this
 * hd_http and its port included, can be set before the first request. */
TK_NODISCARD tinkc_code hd_http_new(hd_http **out, const hd_http_config *config,
                                    tk_err *err);
unsigned hd_http_port(const hd_http *http);

/* Answers requests from now on. TINKC_E_IO. */
TK_NODISCARD tinkc_code hd_http_start(hd_http *http, tk_err *err);

/* Takes no new connections and no new requests: what is complete from now on gets a 503,
 * and delayed requests are handled at once. */
void hd_http_quiesce(hd_http *http);

/* Waits until every suspended request was resumed and its answer sent or given up, then
 * ends the thread. The first wait has no limit of its own, because the library cannot be
 * stopped before: a handler ends by itself, as everything that it waits for has a limit,
 * except a disk that does not answer. Accepts NULL. */
void hd_http_stop(hd_http *http);

/* Called after the threads that resume requests have ended, too. Accepts NULL. */
void hd_http_free(hd_http *http);

/* Classes of status codes: 1xx to 5xx, at index 1 to 5. */
#define HD_HTTP_CLASSES 6

typedef struct hd_http_stats {
    size_t total;                    /* requests since the start */
    size_t answers[HD_HTTP_CLASSES]; /* answers since the start, by class */
    size_t active;    /* requests between their first byte and the last of the answer */
    size_t suspended; /* of those, with workers or parked */
    hd_conns_stats conns;
} hd_http_stats;
void hd_http_get_stats(hd_http *http, hd_http_stats *out);

#endif
