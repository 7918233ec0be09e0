/* Connections: how long each may take, and which one is closed when there are too many.
 *
 * A connection is a stranger until it has sent a request that the server accepts. While a
 * stranger waits for the end of its request it can be closed to make room, the oldest
 * first; after the strangers the connections that are idle between two requests. A
 * connection whose request is handled is never closed. So half-sent requests, however
 * many, do not keep other clients out.
 *
 * A connection is closed by shutting its socket down; the HTTP library then notices the
 * end and calls srv_conns_close. Owns a thread, which closes what is late. Thread: the
 * HTTP thread; the counters: any. Locks: its own, a leaf. */
#ifndef SERVER_SRV_CONNS_H
#define SERVER_SRV_CONNS_H

#include <sys/socket.h>

#include "base/err.h"

typedef struct srv_conns srv_conns;
typedef struct srv_conn srv_conn; /* one connection, from srv_conns_open to the close */

/* No time is shorter than head_ns. */
typedef struct srv_conns_limits {
    size_t total;       /* connections; beyond it waiting ones are closed */
    size_t strangers;   /* that wait */
    size_t per_address; /* of those, from one address that is not of this machine */
    int64_t head_ns;    /* a stranger's time for a whole request */
    int64_t body_ns;    /* from the end of an accepted head to the end of the body, beside
                         * a second for each `rate` bytes of it */
    int64_t idle_ns;    /* from an answer to the end of the next head */
    int64_t send_ns;    /* for an answer, beside a second for each `rate` bytes of it */
    size_t rate;
} srv_conns_limits;

TK_NODISCARD tinkc_code srv_conns_new(srv_conns **out, const srv_conns_limits *limits,
                                      tk_err *err);
void srv_conns_free(srv_conns *conns); /* every connection is closed; accepts NULL */

/* Counts a new connection, and closes another one when there are too many. Returns NULL,
 * with the socket shut down, when out of memory. `fd` stays the caller's. */
srv_conn *srv_conns_open(srv_conns *conns, int fd, const struct sockaddr *from);
void srv_conns_close(srv_conn *conn); /* accepts NULL */

/* The head of a request is complete, and a body of up to `bytes` follows; `accepted` = its
 * caller may use the server. Returns false when the connection was closed meanwhile: the
 * request must not be handled. */
TK_NODISCARD bool srv_conns_head(srv_conn *conn, bool accepted, uint64_t bytes);
/* The request is complete, and is being handled. */
void srv_conns_busy(srv_conn *conn);
/* An answer of `bytes` is being sent. */
void srv_conns_sending(srv_conn *conn, uint64_t bytes);
/* The request has ended: the next one may come. */
void srv_conns_idle(srv_conn *conn);

typedef struct srv_conns_stats {
    size_t open;
    size_t strangers; /* of those, waiting */
    uint64_t dropped; /* closed because they were late or too many */
} srv_conns_stats;
void srv_conns_get_stats(srv_conns *conns, srv_conns_stats *out);

#endif
