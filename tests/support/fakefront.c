/* Life of the front and its one thread: a poll loop that accepts, speaks TLS, and either
 * hands bytes through to the peer (HTTP/1.1) or gives them to fakefront_h2.c. A buffer
 * that grows is good enough for tests; nothing here pushes back. */
#include "support/fakefront.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/fakefront_int.h"

#define READ_BYTES      16384
#define REFUSED_WAIT_MS 60000

static const char garbage[] = "SSH-2.0-none of this is HTTP\r\n"
                              "and neither is the rest of it, however long it gets\r\n";

/* ---- sockets ---- */

static void tell(int event_fd)
{
    uint64_t one = 1;
    if (write(event_fd, &one, sizeof(one)) < 0) {
        fakeapi_die("front: eventfd: %m");
    }
}

static void set_nonblocking(int fd)
{
    int on = 1;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

int fakefront_call_peer(const fakefront *front)
{
    struct sockaddr_in address = loopback(fakeapi_port(front->api));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        fakeapi_die("front: cannot reach the peer: %m");
    }
    set_nonblocking(fd);
    return fd;
}

void fakefront_conn_close(fakefront_conn *conn, bool with_reset)
{
    if (conn->is_closed) {
        return;
    }
    conn->is_closed = true;
    if (with_reset) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    } else if (conn->number != 0) {
        (void)SSL_shutdown(conn->ssl);
    }
    fakefront_h2_dispose(conn);
    SSL_free(conn->ssl);
    close(conn->fd);
    if (conn->up_fd >= 0) {
        close(conn->up_fd);
    }
    fakeapi_bytes_dispose(&conn->out);
    fakeapi_bytes_dispose(&conn->up);
}

static void accept_one(fakefront *front)
{
    int fd = accept4(front->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    set_nonblocking(fd);
    fakefront_conn *conn = fakeapi_alloc(sizeof(*conn));
    conn->front = front;
    conn->fd = fd;
    conn->up_fd = -1;
    conn->ssl = SSL_new(front->tls);
    if (conn->ssl == NULL || SSL_set_fd(conn->ssl, fd) != 1) {
        fakeapi_die("front: SSL_new");
    }
    SSL_set_accept_state(conn->ssl);
    conn->next = front->conns;
    front->conns = conn;
}

/* ---- TLS ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                           const unsigned char *offered, unsigned offered_n, void *user)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    const fakefront *front = user;
    const unsigned char *ours = both + (front->options.talk == FAKEFRONT_HTTP1 ? 3 : 0);
    unsigned ours_n = (unsigned)(both + sizeof(both) - 1 - ours);
    unsigned char *picked = NULL;
    if (SSL_select_next_proto(&picked, out_n, ours, ours_n, offered, offered_n) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = picked;
    return SSL_TLSEXT_ERR_OK;
}

static void begin_talk(fakefront_conn *conn)
{
    fakefront *front = conn->front;
    const unsigned char *protocol = NULL;
    unsigned n = 0;
    conn->number = atomic_fetch_add(&front->connections_n, 1) + 1;
    SSL_get0_alpn_selected(conn->ssl, &protocol, &n);
    if (n != 2) {
        conn->up_fd = fakefront_call_peer(front);
        return;
    }
    atomic_fetch_add(&front->http2_n, 1);
    if (front->options.talk == FAKEFRONT_GARBAGE) {
        fakeapi_bytes_puts(&conn->out, garbage);
    } else {
        fakefront_h2_begin(conn);
    }
}

/* false: not yet, or the connection is closed. */
static bool shake_hands(fakefront_conn *conn)
{
    int rc = SSL_do_handshake(conn->ssl);
    if (rc == 1) {
        begin_talk(conn);
        return true;
    }
    int why = SSL_get_error(conn->ssl, rc);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
        atomic_fetch_add(&conn->front->refused_n, 1);
        tell(conn->front->refused_fd);
        fakefront_conn_close(conn, false);
    }
    return false;
}

static void flush_tls(fakefront_conn *conn)
{
    while (!conn->is_closed && conn->out.n > 0) {
        int n = SSL_write(conn->ssl, conn->out.p, (int)conn->out.n);
        if (n <= 0) {
            int why = SSL_get_error(conn->ssl, n);
            if (why != SSL_ERROR_WANT_WRITE && why != SSL_ERROR_WANT_READ) {
                fakefront_conn_close(conn, false);
            }
            return;
        }
        fakeapi_bytes_drop_front(&conn->out, (size_t)n);
    }
    if (!conn->is_closed && conn->is_last) {
        fakefront_conn_close(conn, false);
    }
}

static void on_client_bytes(fakefront_conn *conn, const char *p, size_t n)
{
    if (conn->h2 != NULL) {
        fakefront_h2_feed(conn, p, n);
    } else if (conn->up_fd >= 0) {
        fakeapi_bytes_put(&conn->up, p, n);
    }
}

static void read_tls(fakefront_conn *conn)
{
    char buffer[READ_BYTES];
    while (!conn->is_closed) {
        int n = SSL_read(conn->ssl, buffer, sizeof(buffer));
        if (n > 0) {
            on_client_bytes(conn, buffer, (size_t)n);
            continue;
        }
        int why = SSL_get_error(conn->ssl, n);
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            fakefront_conn_close(conn, false);
        }
        return;
    }
}

/* ---- tunnels ---- */

static void flush_tunnel(fakefront_conn *conn)
{
    if (conn->is_closed || conn->up.n == 0) {
        return;
    }
    ssize_t n = send(conn->up_fd, conn->up.p, conn->up.n, MSG_NOSIGNAL);
    if (n > 0) {
        fakeapi_bytes_drop_front(&conn->up, (size_t)n);
    } else if (errno != EAGAIN) {
        conn->up.n = 0; /* the answer may still be there to be read */
    }
}

static void read_tunnel(fakefront_conn *conn)
{
    char buffer[READ_BYTES];
    ssize_t n = recv(conn->up_fd, buffer, sizeof(buffer), 0);
    if (n > 0) {
        fakeapi_bytes_put(&conn->out, buffer, (size_t)n);
    } else if (n == 0) {
        close(conn->up_fd);
        conn->up_fd = -1;
        conn->is_last = true;
    } else if (errno != EAGAIN) {
        fakefront_conn_close(conn, true);
    }
}

/* ---- the loop ---- */

/* One entry of the poll set. */
typedef struct watch {
    fakefront_conn *conn;     /* NULL: listening socket or wake-up */
    fakefront_stream *stream; /* its connection to the peer */
    bool is_tunnel;
} watch;

typedef struct watches {
    struct pollfd *fds;
    watch *who;
    size_t n, fds_capacity, who_capacity;
} watches;

static void add_watch(watches *w, int fd, bool wants_write, watch who)
{
    w->fds = fakeapi_table_grow(w->fds, w->n, &w->fds_capacity, sizeof(*w->fds));
    w->who = fakeapi_table_grow(w->who, w->n, &w->who_capacity, sizeof(*w->who));
    short events = (short)(wants_write ? POLLIN | POLLOUT : POLLIN);
    w->fds[w->n] = (struct pollfd){.fd = fd, .events = events};
    w->who[w->n++] = who;
}

static void watch_all(watches *w, const fakefront *front)
{
    w->n = 0;
    add_watch(w, front->wake_fd, false, (watch){0});
    add_watch(w, front->listen_fd, false, (watch){0});
    for (fakefront_conn *c = front->conns; c != NULL; c = c->next) {
        add_watch(w, c->fd, c->out.n > 0, (watch){.conn = c});
        if (c->up_fd >= 0) {
            add_watch(w, c->up_fd, c->up.n > 0, (watch){.conn = c, .is_tunnel = true});
        }
        for (fakefront_stream *s = c->streams; s != NULL; s = s->next) {
            if (s->fd >= 0) {
                add_watch(w, s->fd, s->sent < s->request.n,
                          (watch){.conn = c, .stream = s});
            }
        }
    }
}

/* Streams only end in fakefront_h2_pump, which no event of this turn calls, so the poll
 * set stays valid until all were looked at. */
static void on_event(fakefront *front, const watch *who, const struct pollfd *fd)
{
    bool readable = (fd->revents & (POLLIN | POLLHUP | POLLERR)) != 0;
    if (fd->revents == 0 || (who->conn != NULL && who->conn->is_closed)) {
        return;
    }
    if (who->conn == NULL && fd->fd == front->listen_fd) {
        accept_one(front);
    } else if (who->stream != NULL) {
        fakefront_h2_peer_ready(who->stream, readable, (fd->revents & POLLOUT) != 0);
    } else if (who->is_tunnel && readable) {
        read_tunnel(who->conn);
    } else if (who->conn != NULL && !who->is_tunnel &&
               (who->conn->number != 0 || shake_hands(who->conn))) {
        read_tls(who->conn);
    }
}

static void drop_closed(fakefront *front)
{
    fakefront_conn **at = &front->conns;
    while (*at != NULL) {
        fakefront_conn *conn = *at;
        if (conn->is_closed) {
            *at = conn->next;
            fakeapi_release(conn);
        } else {
            at = &conn->next;
        }
    }
}

static void *loop(void *user)
{
    fakefront *front = user;
    watches w = {0};
    while (!atomic_load(&front->should_stop)) {
        watch_all(&w, front);
        if (poll(w.fds, w.n, -1) < 0 && errno != EINTR) {
            fakeapi_die("front: poll: %m");
        }
        for (size_t i = 0; i < w.n; i++) {
            on_event(front, &w.who[i], &w.fds[i]);
        }
        for (fakefront_conn *c = front->conns; c != NULL; c = c->next) {
            flush_tunnel(c);
            fakefront_h2_pump(c);
            flush_tls(c);
        }
        drop_closed(front);
    }
    fakeapi_release(w.fds);
    fakeapi_release(w.who);
    return NULL;
}

/* ---- life ---- */

static void listen_on_loopback(fakefront *front)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    front->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (front->listen_fd < 0 ||
        bind(front->listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(front->listen_fd, 1024) != 0 ||
        getsockname(front->listen_fd, (struct sockaddr *)&address, &size) != 0) {
        fakeapi_die("front: cannot listen on loopback: %m");
    }
    (void)snprintf(front->url, sizeof(front->url), "https://127.0.0.1:%d",
                   ntohs(address.sin_port));
}

/* OpenSSL writes with write(2): without the mask a client that left would end the test by
 * SIGPIPE. */
static void start_thread(fakefront *front)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&front->thread, NULL, loop, front);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        errno = rc;
        fakeapi_die("front: thread: %m");
    }
    pthread_setname_np(front->thread, "fakefront");
}

fakefront *fakefront_start(fakeapi *api, const fakefront_options *options)
{
    fakefront *front = fakeapi_alloc(sizeof(*front));
    front->api = api;
    front->options = *options;
    front->wake_fd = eventfd(0, EFD_CLOEXEC);
    front->refused_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    front->tls = SSL_CTX_new(TLS_server_method());
    if (front->wake_fd < 0 || front->refused_fd < 0 || front->tls == NULL) {
        fakeapi_die("front: no event or TLS context");
    }
    SSL_CTX_set_mode(front->tls,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(front->tls, choose_protocol, front);
    fakefront_cert_make(front);
    listen_on_loopback(front);
    start_thread(front);
    return front;
}

void fakefront_stop(fakefront **handle)
{
    fakefront *front = handle != NULL ? *handle : NULL;
    if (front == NULL) {
        return;
    }
    *handle = NULL;
    atomic_store(&front->should_stop, true);
    tell(front->wake_fd);
    pthread_join(front->thread, NULL);
    for (fakefront_conn *c = front->conns; c != NULL; c = c->next) {
        fakefront_conn_close(c, true);
    }
    drop_closed(front);
    close(front->listen_fd);
    close(front->wake_fd);
    close(front->refused_fd);
    SSL_CTX_free(front->tls);
    fakefront_cert_remove(front);
    fakeapi_release(front);
}

const char *fakefront_url(const fakefront *front)
{
    return front->url;
}

const char *fakefront_ca_file(const fakefront *front)
{
    return front->ca_file;
}

const char *fakefront_ca_dir(const fakefront *front)
{
    return front->dir;
}

const char *fakefront_client_cert(const fakefront *front)
{
    return front->client_cert;
}

const char *fakefront_client_key(const fakefront *front)
{
    return front->client_key;
}

size_t fakefront_connections(const fakefront *front)
{
    return atomic_load(&front->connections_n);
}

size_t fakefront_refused(const fakefront *front)
{
    return atomic_load(&front->refused_n);
}

bool fakefront_wait_refused(fakefront *front)
{
    struct pollfd fd = {.fd = front->refused_fd, .events = POLLIN};
    uint64_t one;
    return poll(&fd, 1, REFUSED_WAIT_MS) == 1 &&
           read(front->refused_fd, &one, sizeof(one)) == (ssize_t)sizeof(one);
}

size_t fakefront_http2(const fakefront *front)
{
    return atomic_load(&front->http2_n);
}

size_t fakefront_peak_streams(const fakefront *front)
{
    return atomic_load(&front->peak_streams);
}
