/* Life of the scripted peer and its one thread: an epoll loop that accepts, lets
 * connections move, runs delays and gates. The lock is held while the loop works and let
 * go while it waits; nothing that it does under the lock blocks. */
#include "support/fakeapi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/failmem.h"
#include "support/fakeapi_int.h"

#define EVENTS_PER_TURN 256

void fakeapi_wake(fakeapi *api)
{
    uint64_t one = 1;
    if (write(api->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN) {
        fakeapi_die("eventfd: %m");
    }
}

uint64_t fakeapi_now_ns(const fakeapi *api)
{
    if (api->clock_is_manual) {
        return api->manual_ns;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fakeapi_clock_manual(fakeapi *api)
{
    pthread_mutex_lock(&api->lock);
    api->manual_ns = fakeapi_now_ns(api);
    api->clock_is_manual = true;
    pthread_mutex_unlock(&api->lock);
    fakeapi_wake(api);
}

void fakeapi_clock_advance(fakeapi *api, unsigned ms)
{
    pthread_mutex_lock(&api->lock);
    if (!api->clock_is_manual) {
        fakeapi_die("fakeapi_clock_advance needs fakeapi_clock_manual");
    }
    api->manual_ns += (uint64_t)ms * 1000000u;
    pthread_mutex_unlock(&api->lock);
    fakeapi_wake(api);
}

void fakeapi_set_handler(fakeapi *api, const fakeapi_handler *handler)
{
    pthread_mutex_lock(&api->lock);
    if (api->handler.dispose != NULL) {
        fakeapi_die("only one handler");
    }
    api->handler = *handler;
    pthread_mutex_unlock(&api->lock);
}

/* ---- connections and epoll ---- */

static void epoll_set(fakeapi *api, int op, int fd, unsigned events, void *who)
{
    struct epoll_event event = {.events = events, .data = {.ptr = who}};
    if (epoll_ctl(api->epoll_fd, op, fd, &event) != 0) {
        fakeapi_die("epoll_ctl: %m");
    }
}

void fakeapi_conn_watch(fakeapi_conn *conn, unsigned events)
{
    if (conn->events != events) {
        conn->events = events;
        epoll_set(conn->api, EPOLL_CTL_MOD, conn->fd, events, conn);
    }
}

void fakeapi_conn_alarm(fakeapi_conn *conn, unsigned ms)
{
    fakeapi *api = conn->api;
    conn->deadline_ns = fakeapi_now_ns(api) + (uint64_t)ms * 1000000u;
    if (api->next_deadline_ns == 0 || conn->deadline_ns < api->next_deadline_ns) {
        api->next_deadline_ns = conn->deadline_ns;
    }
}

static void add_conn(fakeapi *api, int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    fakeapi_conn *conn = fakeapi_alloc(sizeof(*conn));
    conn->api = api;
    conn->fd = fd;
    conn->number = ++api->accepted_n;
    conn->events = EPOLLIN | EPOLLRDHUP;
    conn->next = api->conns;
    if (api->conns != NULL) {
        api->conns->prev = conn;
    }
    api->conns = conn;
    api->open_n++;
    epoll_set(api, EPOLL_CTL_ADD, fd, conn->events, conn);
    if (api->reset_next > 0) {
        api->reset_next--;
        fakeapi_conn_close(conn, true);
    }
    pthread_cond_broadcast(&api->changed);
}

/* Out of file descriptors: stop listening until a connection ends, or the loop would
 * spin. */
static void accept_all(fakeapi *api)
{
    for (;;) {
        int fd = accept4(api->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            add_conn(api, fd);
        } else if (errno == EMFILE || errno == ENFILE) {
            api->is_listening = false;
            epoll_set(api, EPOLL_CTL_MOD, api->listen_fd, 0, api);
            return;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            fakeapi_die("accept: %m");
        }
    }
}

static void free_dead(fakeapi *api)
{
    if (api->dead != NULL && !api->is_listening) {
        api->is_listening = true;
        epoll_set(api, EPOLL_CTL_MOD, api->listen_fd, EPOLLIN, api);
    }
    while (api->dead != NULL) {
        fakeapi_conn *conn = api->dead;
        api->dead = conn->next;
        fakeapi_conn_free(conn);
    }
}

static void on_conn_event(fakeapi_conn *conn, unsigned events)
{
    if (conn->phase == FAKEAPI_CLOSED) {
        return;
    }
    if ((events & EPOLLOUT) != 0) {
        fakeapi_conn_writable(conn);
    }
    bool has_input = (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (has_input && conn->phase != FAKEAPI_CLOSED) {
        fakeapi_conn_readable(conn);
    }
}

static void on_event(fakeapi *api, const struct epoll_event *event)
{
    if (event->data.ptr == NULL) {
        uint64_t count = 0;
        (void)!read(api->wake_fd, &count, sizeof(count));
    } else if (event->data.ptr == api) {
        accept_all(api);
    } else {
        on_conn_event(event->data.ptr, event->events);
    }
}

/* ---- time ---- */

static void ring(fakeapi *api, fakeapi_conn *conn)
{
    if (conn->phase == FAKEAPI_AT_HANDLER) {
        api->handler.alarm(api->handler.user, conn);
    } else {
        fakeapi_conn_resume(conn);
    }
}

/* next_deadline_ns is only a lower bound (a connection may have ended since), so the scan
 * runs when it passes and not on each turn. */
static void run_alarms(fakeapi *api)
{
    if (api->next_deadline_ns == 0 || fakeapi_now_ns(api) < api->next_deadline_ns) {
        return;
    }
    uint64_t now = fakeapi_now_ns(api);
    for (fakeapi_conn *conn = api->conns, *next = NULL; conn != NULL; conn = next) {
        next = conn->next;
        if (conn->deadline_ns != 0 && conn->deadline_ns <= now) {
            conn->deadline_ns = 0;
            ring(api, conn);
        }
    }
    api->next_deadline_ns = 0;
    for (fakeapi_conn *conn = api->conns; conn != NULL; conn = conn->next) {
        uint64_t at = conn->deadline_ns;
        if (at != 0 && (api->next_deadline_ns == 0 || at < api->next_deadline_ns)) {
            api->next_deadline_ns = at;
        }
    }
}

static int timeout_ms(const fakeapi *api)
{
    if (api->next_deadline_ns == 0 || api->clock_is_manual) {
        return -1;
    }
    uint64_t now = fakeapi_now_ns(api);
    uint64_t left = api->next_deadline_ns > now ? api->next_deadline_ns - now : 0;
    return (int)TK_MIN((left + 999999u) / 1000000u, (uint64_t)60000);
}

/* ---- the loop ---- */

static void *loop(void *user)
{
    fakeapi *api = user;
    failmem_exempt_thread(); /* the handler decodes with the library */
    struct epoll_event events[EVENTS_PER_TURN];
    int timeout = -1;
    bool should_stop = false;
    while (!should_stop) {
        int n = epoll_wait(api->epoll_fd, events, EVENTS_PER_TURN, timeout);
        if (n < 0 && errno != EINTR) {
            fakeapi_die("epoll_wait: %m");
        }
        pthread_mutex_lock(&api->lock);
        for (int i = 0; i < n; i++) {
            on_event(api, &events[i]);
        }
        run_alarms(api);
        fakeapi_gates_run(api);
        if (api->handler.tick != NULL) {
            api->handler.tick(api->handler.user);
        }
        free_dead(api);
        timeout = timeout_ms(api);
        should_stop = api->should_stop;
        pthread_mutex_unlock(&api->lock);
    }
    return NULL;
}

static void listen_on_loopback(fakeapi *api)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    api->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (api->listen_fd < 0 ||
        bind(api->listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(api->listen_fd, 4096) != 0 ||
        getsockname(api->listen_fd, (struct sockaddr *)&address, &size) != 0) {
        fakeapi_die("cannot listen on loopback: %m");
    }
    api->port = ntohs(address.sin_port);
    snprintf(api->url, sizeof(api->url), "http://127.0.0.1:%d", api->port);
}

static bool listen_on_v6(fakeapi *api)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof(address);
    api->listen_fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (api->listen_fd < 0) {
        return false;
    }
    if (bind(api->listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(api->listen_fd, 4096) != 0 ||
        getsockname(api->listen_fd, (struct sockaddr *)&address, &size) != 0) {
        close(api->listen_fd);
        return false;
    }
    api->port = ntohs(address.sin6_port);
    snprintf(api->url, sizeof(api->url), "http://[::1]:%d", api->port);
    return true;
}

/* Signals belong to the test's threads. */
static void start_thread(fakeapi *api)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&api->thread, NULL, loop, api);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        errno = rc;
        fakeapi_die("thread: %m");
    }
    pthread_setname_np(api->thread, "fakeapi");
}

static void begin(fakeapi *api)
{
    pthread_mutex_init(&api->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&api->changed, &attr);
    pthread_condattr_destroy(&attr);
    api->routes_end = &api->routes;
    api->is_listening = true;
    api->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    api->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (api->epoll_fd < 0 || api->wake_fd < 0) {
        fakeapi_die("epoll: %m");
    }
    epoll_set(api, EPOLL_CTL_ADD, api->wake_fd, EPOLLIN, NULL);
    epoll_set(api, EPOLL_CTL_ADD, api->listen_fd, EPOLLIN, api);
    start_thread(api);
}

fakeapi *fakeapi_start(void)
{
    fakeapi *api = fakeapi_alloc(sizeof(*api));
    listen_on_loopback(api);
    begin(api);
    return api;
}

fakeapi *fakeapi_start_v6(void)
{
    fakeapi *api = fakeapi_alloc(sizeof(*api));
    if (!listen_on_v6(api)) {
        fakeapi_release(api);
        return NULL;
    }
    begin(api);
    return api;
}

void fakeapi_stop(fakeapi **handle)
{
    fakeapi *api = handle != NULL ? *handle : NULL;
    if (api == NULL) {
        return;
    }
    *handle = NULL;
    pthread_mutex_lock(&api->lock);
    api->should_stop = true;
    pthread_mutex_unlock(&api->lock);
    fakeapi_wake(api);
    pthread_join(api->thread, NULL);
    while (api->conns != NULL) {
        fakeapi_conn_close(api->conns, false);
    }
    free_dead(api);
    if (api->handler.dispose != NULL) {
        api->handler.dispose(api->handler.user);
    }
    fakeapi_script_dispose(api);
    fakeapi_record_dispose(api);
    close(api->listen_fd);
    close(api->wake_fd);
    close(api->epoll_fd);
    pthread_cond_destroy(&api->changed);
    pthread_mutex_destroy(&api->lock);
    fakeapi_release(api);
}

const char *fakeapi_url(const fakeapi *api)
{
    return api->url;
}

int fakeapi_port(const fakeapi *api)
{
    return api->port;
}

void fakeapi_reset_connections(fakeapi *api, size_t n)
{
    pthread_mutex_lock(&api->lock);
    api->reset_next = n;
    pthread_mutex_unlock(&api->lock);
}

bool fakeapi_allow_files(size_t n)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    if (limit.rlim_cur >= n) {
        return true;
    }
    limit.rlim_cur = n;
    return n <= limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}
