/* Connections: how long each may take, and which one is closed when there are too many.
 *
 * A connection is a stranger until it has sent a request that the server accepts. While a
 * stranger waits for the end of its request it can be closed to make room, the oldest
 * first; after the strangers the connections that are idle between two requests. A
 * connection whose request is handled is never closed. So half-sent requests, however
 * many, do not keep other clients out.
 *
 * A connection is closed by shutting its socket down; the HTTP library then notices the
 * end and calls hd_conns_close. Owns a thread, which closes what is late. Thread: the
 * HTTP thread; the counters: any. Locks: its own, a leaf. */
#ifndef HTTPD_HD_CONNS_H
#define HTTPD_HD_CONNS_H

#include <sys/socket.h>

#include "base/err.h"

typedef struct hd_conns hd_conns;
typedef struct hd_conn hd_conn; /* one connection, from hd_conns_open to the close */

/* No time is shorter than head_ns. */
typedef struct hd_conns_limits {
    size_t total;       /* connections; beyond it waiting ones are closed */
    size_t strangers;   /* that wait */
    size_t per_address; /* of those, from one address that is not of this machine */
    int64_t head_ns;    /* a stranger's time for a whole request */
    int64_t body_ns;    /* from the end of an accepted head to the end of the body, beside
                         * a second for each `rate` bytes of it */
    int64_t idle_ns;    /* from an answer to the end of the next head */
    int64_t send_ns;    /* for an answer, beside a second for each `rate` bytes of it */
    size_t rate;
} hd_conns_limits;

TK_NODISCARD tinkc_code hd_conns_new(hd_conns **out, const hd_conns_limits *limits,
                                     tk_err *err);
void hd_conns_free(hd_conns *conns); /* every connection is closed; accepts NULL */

/* Counts a new connection, and closes another one when there are too many. Returns NULL,
 * with the socket shut down, when out of memory. `fd` stays the caller's. */
hd_conn *hd_conns_open(hd_conns *conns, int fd, const struct sockaddr *from);
void hd_conns_close(hd_conn *conn); /* accepts NULL */

/* The head of a request is complete, and a body of up to `bytes` follows; `accepted` = its
 * caller may use the server. Returns false when the connection was closed meanwhile: the
 * request must not be handled. */
TK_NODISCARD bool hd_conns_head(hd_conn *conn, bool accepted, uint64_t bytes);
/* The request is complete, and is being handled. */
void hd_conns_busy(hd_conn *conn);
/* An answer of `bytes` is being sent. */
void hd_conns_sending(hd_conn *conn, uint64_t bytes);
/* Returns whether the peer of a socket has left or closed its sending side. Thread: any,
 * while the socket is open. */
bool hd_conns_is_gone(int fd);
/* The request has ended: the next one may come. */
void hd_conns_idle(hd_conn *conn);

typedef struct hd_conns_stats {
    size_t open;
    size_t strangers; /* of those, waiting */
    uint64_t dropped; /* closed because they were late or too many */
} hd_conns_stats;
void hd_conns_get_stats(hd_conns *conns, hd_conns_stats *out);

#endif
