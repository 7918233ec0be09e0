/* Inside the front: what its files share. Its one thread owns everything but the
 * counters.
 *
 *     fakefront.c       life, poll loop, TLS, tunnels
 *     fakefront_h2.c    HTTP/2 streams and what becomes of them at the peer
 *     fakefront_cert.c  keys and certificates */
#ifndef SUPPORT_FAKEFRONT_INT_H
#define SUPPORT_FAKEFRONT_INT_H

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "support/fakefront.h"

#define FAKEFRONT_DIR_BYTES  64
#define FAKEFRONT_PATH_BYTES 96

typedef struct fakefront_conn fakefront_conn;
typedef struct fakefront_stream fakefront_stream;

/* One request of an HTTP/2 connection. */
struct fakefront_stream {
    fakefront_stream *next;
    fakefront_conn *conn;
    int32_t id;
    int fd; /* at the peer; -1: not asked yet, or answered */
    fakeapi_bytes method, target, host, lines, body;
    fakeapi_bytes request; /* as HTTP/1.1 */
    size_t sent;
    fakeapi_bytes answer; /* as the peer gave it */
    const char *content;  /* the body inside `answer`, or `plain` */
    size_t content_n, content_done;
    fakeapi_bytes plain; /* a chunked body, put together */
    bool is_over;        /* to be freed at the end of the turn */
};

struct fakefront_conn {
    fakefront_conn *next;
    fakefront *front;
    int fd;
    SSL *ssl;
    size_t number; /* of successful handshakes, from 1; 0 before */
    bool is_closed;
    bool is_last; /* closes when everything is sent */
    fakeapi_bytes out;
    int up_fd;        /* tunnel to the peer, -1 = none */
    fakeapi_bytes up; /* to be sent there */
    nghttp2_session *h2;
    fakefront_stream *streams;
    size_t streams_n;
};

struct fakefront {
    fakeapi *api;
    fakefront_options options;
    SSL_CTX *tls;
    int listen_fd, wake_fd;
    int refused_fd; /* a semaphore: one for each handshake that failed */
    pthread_t thread;
    atomic_bool should_stop;
    fakefront_conn *conns;
    size_t requests_n; /* over HTTP/2 */
    _Atomic size_t connections_n, refused_n, http2_n, peak_streams;
    char url[40];
    char dir[FAKEFRONT_DIR_BYTES];
    char ca_file[FAKEFRONT_PATH_BYTES], ca_link[FAKEFRONT_PATH_BYTES];
    char client_cert[FAKEFRONT_PATH_BYTES], client_key[FAKEFRONT_PATH_BYTES];
};

/* fakefront.c */
int fakefront_call_peer(const fakefront *front); /* a connected socket */
void fakefront_conn_close(fakefront_conn *conn, bool with_reset);

/* fakefront_h2.c */
void fakefront_h2_begin(fakefront_conn *conn);
void fakefront_h2_feed(fakefront_conn *conn, const char *p, size_t n);
void fakefront_h2_pump(fakefront_conn *conn); /* puts what is to be sent into conn->out */
void fakefront_h2_peer_ready(fakefront_stream *stream, bool readable, bool writable);
void fakefront_h2_dispose(fakefront_conn *conn);

/* fakefront_cert.c: makes the folder with its files, and configures OpenSSL. */
void fakefront_cert_make(fakefront *front);
void fakefront_cert_remove(fakefront *front);

#endif
