/* Which sockets of libcurl the epoll holds. Loop thread only.
 *
 * libcurl asks to watch a socket when a request has been sent, and not to, when its answer
 * is there. A connection stays open for the next request, so its socket stays in the
 * epoll until it is closed: that saves two system calls per request. One that becomes readable
 * while no request uses it (the server closes it) is taken out, or it would wake the loop for
 * ever; libcurl finds out when it wants to use the connection again.
 *
 * That is so for connections only: libcurl 7.88 to 8.1 closes a socket that is not connected
 * yet without a word, and a look-up's always, after which their numbers are those of others. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/curl_int.h"

/* By descriptor. */
struct tk_curl_watch {
    uint32_t events; /* that the epoll waits for; 0: it may not hold the socket */
    uint32_t shard;  /* that it says so to */
    uint32_t turn;   /* in which it was opened */
    bool is_open;    /* by on_open; not closed as far as we know */
    bool is_kept;    /* a connection: libcurl will say when it closes it */
    bool is_wanted;  /* a request uses it */
};

static tk_curl_watch *watch_of(const tk_curl *curl, int fd)
{
    bool known = fd >= 0 && (size_t)fd < curl->watches_n && curl->watches[fd].is_open;
    return known ? &curl->watches[fd] : NULL;
}

/* Sets what the epoll waits for; the socket may be in it or not. */
static bool put(const tk_curl *curl, int fd, uint32_t shard, uint32_t events)
{
    struct epoll_event event = {.events = events};
    event.data.u64 = (uint64_t)shard << 32 | (uint32_t)fd;
    return epoll_ctl(curl->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           (errno == EEXIST && epoll_ctl(curl->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0);
}

static void take_out(const tk_curl *curl, int fd)
{
    (void)epoll_ctl(curl->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void tk_curl_watch_set(tk_curl *curl, int fd, uint32_t shard, uint32_t events)
{
    tk_curl_watch *watch = watch_of(curl, fd);
    if (watch == NULL) {
        (void)put(curl, fd, shard, events);
        return;
    }
    watch->is_wanted = true;
    if (watch->is_kept && watch->events == events && watch->shard == shard) {
        return;
    }
    watch->events = put(curl, fd, shard, events) ? events : 0;
    watch->shard = shard;
}

/* Whether it is one of a connection; a number may be that of a look-up's by now. */
static bool is_connected(int fd)
{
    struct sockaddr_storage peer;
    socklen_t n = sizeof(peer);
    return getpeername(fd, (struct sockaddr *)&peer, &n) == 0 &&
           peer.ss_family != AF_UNIX;
}

void tk_curl_watch_end(tk_curl *curl, int fd)
{
    tk_curl_watch *watch = watch_of(curl, fd);
    if (watch != NULL && !watch->is_kept) {
        watch->is_kept = is_connected(fd);
    }
    if (watch != NULL && watch->is_kept) {
        watch->is_wanted = false;
        return;
    }
    take_out(curl, fd);
    if (watch != NULL) {
        *watch = (tk_curl_watch){0};
    }
}

bool tk_curl_watch_is_wanted(tk_curl *curl, int fd)
{
    tk_curl_watch *watch = watch_of(curl, fd);
    if (watch == NULL) {
        return true;
    }
    if (watch->turn == curl->turn) {
        return false; /* the event is of the socket that had this number before */
    }
    if (!watch->is_wanted) {
        take_out(curl, fd);
        watch->events = 0;
    }
    return watch->is_wanted;
}

/* ---- from its opening to its end ---- */

static bool make_room(tk_curl *curl, size_t n)
{
    if (n <= curl->watches_n) {
        return true;
    }
    size_t capacity = TK_MAX(n, TK_MAX(curl->watches_n * 2, 64));
    tk_curl_watch *watches =
        tk_realloc_array(curl->watches, capacity, sizeof(*curl->watches));
    if (watches == NULL) {
        return false;
    }
    for (size_t i = curl->watches_n; i < capacity; i++) {
        watches[i] = (tk_curl_watch){0};
    }
    curl->watches = watches;
    curl->watches_n = capacity;
    return true;
}

int tk_curl_watch_open(tk_curl *curl, const struct curl_sockaddr *address)
{
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0 && !make_room(curl, (size_t)fd + 1)) {
        close(fd);
        errno = ENOMEM;
        return -1;
    }
    if (fd >= 0) {
        curl->watches[fd] = (tk_curl_watch){.is_open = true, .turn = curl->turn};
    }
    return fd;
}

int tk_curl_watch_close(void *user, curl_socket_t fd)
{
    tk_curl *curl = user;
    tk_curl_watch *watch = watch_of(curl, fd);
    if (watch != NULL) {
        take_out(curl, fd); /* a child process may hold it open */
        *watch = (tk_curl_watch){0};
    }
    return close(fd);
}
