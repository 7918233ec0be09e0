/* What the files of the proxy share. All of it belongs to the thread of the proxy, except
 * where a member says otherwise. */
#ifndef SUPPORT_PROXY_INT_H
#define SUPPORT_PROXY_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "support/fakeapi_mem.h"
#include "support/proxy.h"
#include "support/proxy_http.h"

#define PROXY_ROOM                                                                       \
    (256 * TK_KIB) /* bytes that a direction holds before it stops reading */
#define PROXY_NEVER INT64_MAX

typedef struct proxy_conn proxy_conn;

/* One direction of a connection. */
typedef struct proxy_pipe {
    int from, to; /* sockets of the connection; -1: none */
    bool is_response;
    fakeapi_bytes in;  /* received, and still before a decision or a hold */
    fakeapi_bytes out; /* on the way to `to` */
    fakeapi_bytes copy;
    size_t head_left; /* of the head that is passing */
    proxy_frame frame;
    bool is_raw;     /* forwarded as it is from here on */
    bool copies;     /* this request is also kept in `copy` */
    uint64_t number; /* of the exchange whose message this is */
    proxy_fate fate;
    uint64_t allowed;      /* bytes of the message that pass before the act */
    int64_t held_until_ns; /* 0 = not held; PROXY_NEVER: until the client gives up */
    bool waits_for_other;  /* REORDER */
    size_t answered_then;  /* proxy.answered when the wait began */
    bool is_ended;         /* `from` has sent FIN */
    bool is_shut;          /* and so have we, to `to` */
} proxy_pipe;

struct proxy_conn {
    proxy *net;
    uint64_t number;
    int client, server;  /* sockets; client -1: a copy, whose answer is thrown away */
    proxy_pipe pipes[2]; /* requests, responses */
    bool is_head;        /* the last request was HEAD */
    bool is_exempt;      /* the last request is not one of options.only */
    bool is_closed;
    proxy_conn *next;
};

struct proxy {
    proxy_options options;
    int listen_fd, wake_fd;
    int port;
    char url[64];
    atomic_int to_port;              /* any thread */
    atomic_size_t count[PROXY_ACTS]; /* any thread */
    atomic_bool should_stop;         /* any thread */
    size_t answered;                 /* exchanges whose response has begun */
    uint64_t accepted;
    proxy_conn *conns;
    pthread_t thread;
};

/* A connection to the server, or -1. */
int proxy_connect(int port);

/* client -1: sends `request` and throws the answer away. Takes the bytes. NULL when the
 * server does not accept; `client` is closed then. */
proxy_conn *proxy_conn_new(proxy *net, int client, fakeapi_bytes *request);
void proxy_conn_free(proxy_conn *conn); /* closes what is open */

/* Reads what has come, decides, and writes what can be written. */
void proxy_conn_read(proxy_conn *conn, int fd);
void proxy_conn_turn(proxy_conn *conn, int64_t now_ns);

/* What to wait for on a socket of it (POLLIN, POLLOUT, POLLRDHUP; 0 = nothing), and until
 * when one of its messages is held at the latest. */
short proxy_conn_events(const proxy_conn *conn, int fd);
int64_t proxy_conn_deadline(const proxy_conn *conn);

#endif
