/* What the files of the HTTP front share: the front itself and the exchange, which is what
 * the library's connection carries: a request and how far it has come. Private to
 * hd_http*.c, the only files that know libmicrohttpd. Thread: HTTP, except hd_http's
 * counters, which are under its lock. */
#ifndef HTTPD_HD_HTTP_INT_H
#define HTTPD_HD_HTTP_INT_H

#include <microhttpd.h>

#include "base/thread.h"
#include "httpd/hd_conns.h"
#include "httpd/hd_http.h"
#include "httpd/hd_listen.h"

struct hd_http {
    hd_http_config config;     /* constant */
    struct MHD_Daemon *daemon; /* NULL = does not run */
    hd_listen listen;
    hd_conns *conns;
    hd_conns_limits limits; /* constant */
    bool loopback;
    tk_mutex lock;
    tk_cond idle;
    size_t total;                    /* under lock: requests so far */
    size_t answers[HD_HTTP_CLASSES]; /* under lock: answers so far, by class */
    size_t suspended;    /* under lock: requests that are with workers or parked */
    size_t active;       /* under lock: requests between first byte and last */
    size_t answering;    /* under lock: of those, complete: an answer is due */
    atomic_bool closing; /* set under lock: the workers get no more */
};

typedef struct exchange {
    hd_http *http;
    struct MHD_Connection *connection;
    hd_conn *conn;
    hd_request *request;
    bool refused; /* the answer is set, the rest of the body is dropped */
    bool broken;  /* and the connection is closed after the answer */
    bool posted;
    tk_str method, path; /* in the request's arena, for on_answer; or empty */
    int64_t began_ms;
} exchange;

/* The first line of a head, as the library has cut it. */
typedef struct hd_http_line {
    const char *method, *url, *version;
} hd_http_line;

/* Returns whether nothing of the line, whose URI had `uri_bytes` before it was decoded, is
 * lost in its parts. Versions 0.9.x cut method and URI at a NUL. */
bool hd_http_is_whole_line(const hd_http_line *line, size_t uri_bytes);

/* Reads the head into the request: route, parameters, headers, limit of the body. What is
 * wrong with it is refused. Returns whether the caller is one that the server knows. */
bool hd_http_read_head(exchange *x, const hd_http_line *line);

/* Returns a header of the connection's request (hd_request.header). */
tk_str hd_http_header(const hd_request *request, const char *name);

/* Returns the largest body that may follow the head: what it says, or the limit. */
uint64_t hd_http_body_bytes(const exchange *x);

/* Returns whether nothing of the URI, as it came, is lost when it is decoded to a C
 * string. */
bool hd_http_is_plain_uri(const char *uri);

/* Sets 400 as the answer, after which the connection is closed: what follows such a head
 * may be neither a body nor another request. */
void hd_http_reject(exchange *x, const char *text);

/* Sets an error as the answer. The rest of the body is read and dropped. */
void hd_http_refuse(exchange *x, int status, const char *text);

/* Gives a suspended connection back to the HTTP thread. Thread: any. */
void hd_http_resume(hd_request *request);

/* Returns the socket of the connection. */
int hd_http_fd(const exchange *x);

/* Queues the answer of the request; MHD_NO closes the connection. */
enum MHD_Result hd_http_send_answer(exchange *x);

#endif
