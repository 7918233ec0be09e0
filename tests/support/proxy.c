/* Life of the proxy and its one thread: a poll loop over the sockets of all connections
 * and the ends of their holds. */
#include "support/proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/proxy_int.h"

/* ---- the loop ---- */

typedef struct watches {
    struct pollfd *fds;
    proxy_conn **conns; /* of each; NULL: not of a connection */
    size_t n, fds_capacity, conns_capacity;
} watches;

static void add_watch(watches *w, proxy_conn *conn, int fd, short events)
{
    if (fd < 0 || events == 0) {
        return; /* else a closed peer would wake us without end */
    }
    w->fds = fakeapi_table_grow(w->fds, w->n, &w->fds_capacity, sizeof(*w->fds));
    w->conns = fakeapi_table_grow(w->conns, w->n, &w->conns_capacity, sizeof(*w->conns));
    w->fds[w->n] = (struct pollfd){.fd = fd, .events = events};
    w->conns[w->n++] = conn;
}

/* Returns the end of the earliest hold. */
static int64_t watch_all(watches *w, const proxy *net)
{
    int64_t first = PROXY_NEVER;
    w->n = 0;
    add_watch(w, NULL, net->wake_fd, POLLIN);
    add_watch(w, NULL, net->listen_fd, POLLIN);
    for (proxy_conn *c = net->conns; c != NULL; c = c->next) {
        add_watch(w, c, c->client, proxy_conn_events(c, c->client));
        add_watch(w, c, c->server, proxy_conn_events(c, c->server));
        first = TK_MIN(first, proxy_conn_deadline(c));
    }
    return first;
}

static int timeout_ms(int64_t deadline_ns)
{
    if (deadline_ns == PROXY_NEVER) {
        return -1;
    }
    int64_t left = deadline_ns - tk_clock_mono_ns(NULL);
    return left <= 0 ? 0 : (int)TK_MIN(left / TK_NS_PER_MS + 1, (int64_t)60000);
}

static void accept_one(proxy *net)
{
    int fd = accept4(net->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    uint64_t number = ++net->accepted;
    proxy_conn *conn = proxy_conn_new(net, fd, NULL);
    if (conn != NULL) {
        conn->number = number;
        conn->next = net->conns;
        net->conns = conn;
    }
}

static void on_events(proxy *net, const watches *w)
{
    for (size_t i = 0; i < w->n; i++) {
        short got = w->fds[i].revents;
        proxy_conn *conn = w->conns[i];
        if (got == 0 || (conn != NULL && conn->is_closed)) {
            continue;
        }
        if (conn == NULL && w->fds[i].fd == net->listen_fd) {
            accept_one(net);
        } else if (conn != NULL && (got & ~POLLOUT) != 0) {
            proxy_conn_read(conn, w->fds[i].fd);
        }
    }
}

static void drop_closed(proxy *net, bool all)
{
    proxy_conn **at = &net->conns;
    while (*at != NULL) {
        proxy_conn *conn = *at;
        if (conn->is_closed || all) {
            *at = conn->next;
            proxy_conn_free(conn);
        } else {
            at = &conn->next;
        }
    }
}

/* A request that waits for the answer of another may pass when that one had its turn. */
static void turn_all(proxy *net)
{
    size_t before;
    do {
        before = net->answered;
        int64_t now = tk_clock_mono_ns(NULL);
        for (proxy_conn *c = net->conns; c != NULL; c = c->next) {
            if (!c->is_closed) {
                proxy_conn_turn(c, now);
            }
        }
    } while (net->answered != before);
}

static void *loop(void *user)
{
    proxy *net = user;
    watches w = {0};
    while (!atomic_load(&net->should_stop)) {
        int64_t deadline = watch_all(&w, net);
        if (poll(w.fds, w.n, timeout_ms(deadline)) < 0 && errno != EINTR) {
            fakeapi_die("proxy: poll: %m");
        }
        on_events(net, &w);
        turn_all(net);
        drop_closed(net, false);
    }
    fakeapi_release(w.fds);
    fakeapi_release(w.conns);
    return NULL;
}

/* ---- life ---- */

static void listen_on_loopback(proxy *net)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)net->options.port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int on = 1;
    net->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (net->listen_fd < 0 ||
        setsockopt(net->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(net->listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(net->listen_fd, 1024) != 0 ||
        getsockname(net->listen_fd, (struct sockaddr *)&address, &size) != 0) {
        fakeapi_die("proxy: cannot listen on 127.0.0.1:%d: %m", net->options.port);
    }
    net->port = ntohs(address.sin_port);
    (void)snprintf(net->url, sizeof(net->url), "http://127.0.0.1:%d", net->port);
}

static void start_thread(proxy *net)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&net->thread, NULL, loop, net);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        errno = rc;
        fakeapi_die("proxy: thread: %m");
    }
    (void)pthread_setname_np(net->thread, "proxy");
}

proxy *proxy_start(const proxy_options *options)
{
    proxy *net = fakeapi_alloc(sizeof(*net));
    net->options = *options;
    atomic_store(&net->to_port, options->to_port);
    net->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (net->wake_fd < 0) {
        fakeapi_die("proxy: eventfd: %m");
    }
    listen_on_loopback(net);
    start_thread(net);
    return net;
}

void proxy_stop(proxy **handle)
{
    proxy *net = *handle;
    uint64_t one = 1;
    if (net == NULL) {
        return;
    }
    *handle = NULL;
    atomic_store(&net->should_stop, true);
    if (write(net->wake_fd, &one, sizeof(one)) < 0) {
        fakeapi_die("proxy: eventfd: %m");
    }
    (void)pthread_join(net->thread, NULL);
    drop_closed(net, true);
    (void)close(net->listen_fd);
    (void)close(net->wake_fd);
    fakeapi_release(net);
}

const char *proxy_url(const proxy *net)
{
    return net->url;
}

int proxy_port(const proxy *net)
{
    return net->port;
}

void proxy_set_to_port(proxy *net, int to_port)
{
    atomic_store(&net->to_port, to_port);
}

size_t proxy_count(const proxy *net, proxy_act act)
{
    return atomic_load(&net->count[act]);
}
