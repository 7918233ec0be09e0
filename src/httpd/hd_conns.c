/* Lists of the connections that wait, oldest first, and a heap of their deadlines. No
 * deadline is nearer than head_ns when it is set, so the thread that sleeps no longer than
 * that needs no wake-up. */
#include "httpd/hd_conns.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"

#define ADDRESS_BYTES 8 /* of IPv6: a network, which is what one client gets */

/* Under the lock. */
typedef struct address {
    char key[ADDRESS_BYTES];
    size_t n_key;
    size_t owners;    /* connections from it */
    tk_list waiting;  /* hd_conn.of_address: its strangers that wait, oldest first */
    size_t n_waiting; /* of those */
} address;

/* Under the lock, but for `conns` and `fd`, which are constant. */
struct hd_conn {
    hd_conns *conns;
    int fd;          /* borrowed */
    address *from;   /* NULL = this machine */
    bool trusted;    /* has sent an accepted request */
    bool dropped;    /* its socket is shut down */
    bool counted;    /* as a stranger that waits */
    tk_list waiting; /* in `strangers` or `idle` */
    tk_list of_address;
    tk_heap_node late; /* when it is closed */
};

struct hd_conns {
    hd_conns_limits limits; /* constant */
    tk_thread thread;
    tk_mutex lock;
    tk_cond wake;
    bool closed;
    tk_list strangers, idle; /* hd_conn.waiting, oldest first */
    tk_heap late;            /* hd_conn.late */
    tk_map addresses;        /* key -> address */
    hd_conns_stats stats;
};

/* ---- addresses ---- */

/* Writes what tells clients apart; returns its length, 0 for this machine. */
static size_t key_of(char out[ADDRESS_BYTES], const struct sockaddr *from)
{
    struct in_addr v4 = {0};
    if (from != NULL && from->sa_family == AF_INET6) {
        struct sockaddr_in6 at;
        memcpy(&at, from, sizeof(at));
        if (IN6_IS_ADDR_LOOPBACK(&at.sin6_addr)) {
            return 0;
        }
        if (!IN6_IS_ADDR_V4MAPPED(&at.sin6_addr)) {
            memcpy(out, at.sin6_addr.s6_addr, ADDRESS_BYTES);
            return ADDRESS_BYTES;
        }
        memcpy(&v4, at.sin6_addr.s6_addr + 12, sizeof(v4));
    } else if (from != NULL && from->sa_family == AF_INET) {
        struct sockaddr_in at;
        memcpy(&at, from, sizeof(at));
        v4 = at.sin_addr;
    } else {
        return 0;
    }
    memcpy(out, &v4, sizeof(v4));
    return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET ? 0 : sizeof(v4);
}

/* Sets conn->from; returns false when out of memory. Under the lock. */
static bool enter_address(hd_conn *conn, const struct sockaddr *from)
{
    hd_conns *conns = conn->conns;
    char key[ADDRESS_BYTES];
    size_t n = key_of(key, from);
    if (n == 0) {
        return true;
    }
    address *at = tk_map_get(&conns->addresses, (tk_str){key, n});
    if (at == NULL) {
        tk_err ignored = TK_ERR_INIT;
        at = tk_zalloc(sizeof(*at));
        if (at == NULL) {
            return false;
        }
        memcpy(at->key, key, n);
        at->n_key = n;
        tk_list_init(&at->waiting);
        if (tk_map_put(&conns->addresses, (tk_str){at->key, n}, at, &ignored) !=
            TINKC_OK) {
            tk_free(at);
            return false;
        }
    }
    at->owners++;
    conn->from = at;
    return true;
}

static void leave_address(hd_conn *conn)
{
    address *at = conn->from;
    if (at != NULL && --at->owners == 0) {
        (void)tk_map_remove(&conn->conns->addresses, (tk_str){at->key, at->n_key});
        tk_free(at);
    }
}

/* ---- states; under the lock ---- */

static void leave_state(hd_conn *conn)
{
    if (conn->counted) {
        conn->conns->stats.strangers--;
        if (conn->from != NULL) {
            conn->from->n_waiting--;
        }
        conn->counted = false;
    }
    tk_list_remove(&conn->waiting);
    tk_list_remove(&conn->of_address);
    tk_heap_remove(&conn->conns->late, &conn->late);
}

static void set_deadline(hd_conn *conn, int64_t in_ns)
{
    tk_heap_move(&conn->conns->late, &conn->late, tk_clock_mono_ns(NULL) + in_ns);
}

/* The bytes may come or go as slowly as `rate`. */
static void set_transfer_deadline(hd_conn *conn, int64_t in_ns, uint64_t bytes)
{
    uint64_t seconds = TK_MIN(bytes / conn->conns->limits.rate, UINT64_C(1000000000));
    set_deadline(conn, in_ns + (int64_t)seconds * 1000 * TK_NS_PER_MS);
}

/* Waits for a request. */
static void wait_for_head(hd_conn *conn)
{
    hd_conns *conns = conn->conns;
    if (conn->trusted) {
        tk_list_push_back(&conns->idle, &conn->waiting);
        set_deadline(conn, conns->limits.idle_ns);
        return;
    }
    conn->counted = true;
    conns->stats.strangers++;
    tk_list_push_back(&conns->strangers, &conn->waiting);
    if (conn->from != NULL) {
        conn->from->n_waiting++;
        tk_list_push_back(&conn->from->waiting, &conn->of_address);
    }
    set_deadline(conn, conns->limits.head_ns);
}

static void drop(hd_conn *conn)
{
    leave_state(conn);
    conn->dropped = true;
    conn->conns->stats.dropped++;
    (void)shutdown(conn->fd, SHUT_RDWR);
}

/* Closes the connection that has waited longest, when there are too many with the new
 * one, which stays. */
static void make_room(hd_conns *conns, const hd_conn *newest)
{
    const hd_conns_limits *limits = &conns->limits;
    hd_conn *oldest = NULL;
    if (newest->from != NULL && newest->from->n_waiting > limits->per_address) {
        oldest = TK_CONTAINER_OF(newest->from->waiting.next, hd_conn, of_address);
    } else if (conns->stats.strangers > limits->strangers ||
               conns->stats.open > limits->total) {
        oldest = TK_CONTAINER_OF(conns->strangers.next, hd_conn, waiting);
        if (oldest == newest && !tk_list_is_empty(&conns->idle)) {
            oldest = TK_CONTAINER_OF(conns->idle.next, hd_conn, waiting);
        }
    }
    if (oldest != NULL && oldest != newest) {
        drop(oldest);
    }
}

/* ---- the thread ---- */

static void run(void *user)
{
    hd_conns *conns = user;
    tk_mutex_lock(&conns->lock);
    while (!conns->closed) {
        int64_t now = tk_clock_mono_ns(NULL);
        tk_heap_node *due;
        while ((due = tk_heap_pop_due(&conns->late, now)) != NULL) {
            drop(TK_CONTAINER_OF(due, hd_conn, late));
        }
        const tk_heap_node *next = tk_heap_min(&conns->late);
        int64_t until = now + conns->limits.head_ns;
        (void)tk_cond_wait_until(&conns->wake, &conns->lock,
                                 next != NULL ? TK_MIN(until, next->deadline) : until);
    }
    tk_mutex_unlock(&conns->lock);
}

/* ---- called by the HTTP thread ---- */

hd_conn *hd_conns_open(hd_conns *conns, int fd, const struct sockaddr *from)
{
    hd_conn *conn = tk_zalloc(sizeof(*conn));
    if (conn == NULL) {
        (void)shutdown(fd, SHUT_RDWR);
        return NULL;
    }
    conn->conns = conns;
    conn->fd = fd;
    tk_list_init(&conn->waiting);
    tk_list_init(&conn->of_address);
    tk_mutex_lock(&conns->lock);
    bool ok = enter_address(conn, from);
    if (ok) {
        conns->stats.open++;
        wait_for_head(conn);
        make_room(conns, conn);
    }
    tk_mutex_unlock(&conns->lock);
    if (!ok) {
        (void)shutdown(fd, SHUT_RDWR);
        tk_free(conn);
        return NULL;
    }
    return conn;
}

void hd_conns_close(hd_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    hd_conns *conns = conn->conns;
    tk_mutex_lock(&conns->lock);
    leave_state(conn);
    leave_address(conn);
    conns->stats.open--;
    tk_mutex_unlock(&conns->lock);
    tk_free(conn);
}

bool hd_conns_head(hd_conn *conn, bool accepted, uint64_t bytes)
{
    hd_conns *conns = conn->conns;
    tk_mutex_lock(&conns->lock);
    bool open = !conn->dropped;
    if (open && accepted) {
        conn->trusted = true;
        leave_state(conn);
        set_transfer_deadline(conn, conns->limits.body_ns, bytes);
    }
    tk_mutex_unlock(&conns->lock);
    return open;
}

void hd_conns_busy(hd_conn *conn)
{
    tk_mutex_lock(&conn->conns->lock);
    leave_state(conn);
    tk_mutex_unlock(&conn->conns->lock);
}

void hd_conns_sending(hd_conn *conn, uint64_t bytes)
{
    hd_conns *conns = conn->conns;
    tk_mutex_lock(&conns->lock);
    if (!conn->dropped) {
        leave_state(conn);
        set_transfer_deadline(conn, conns->limits.send_ns, bytes);
    }
    tk_mutex_unlock(&conns->lock);
}

void hd_conns_idle(hd_conn *conn)
{
    tk_mutex_lock(&conn->conns->lock);
    leave_state(conn);
    if (!conn->dropped) {
        wait_for_head(conn);
    }
    tk_mutex_unlock(&conn->conns->lock);
}

bool hd_conns_is_gone(int fd)
{
    struct pollfd at = {.fd = fd, .events = POLLRDHUP};
    return poll(&at, 1, 0) > 0 && (at.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void hd_conns_get_stats(hd_conns *conns, hd_conns_stats *out)
{
    tk_mutex_lock(&conns->lock);
    *out = conns->stats;
    tk_mutex_unlock(&conns->lock);
}

/* ---- start and stop ---- */

tinkc_code hd_conns_new(hd_conns **out, const hd_conns_limits *limits, tk_err *err)
{
    hd_conns *conns = tk_zalloc(sizeof(*conns));
    if (conns == NULL) {
        return tk_err_nomem(err);
    }
    conns->limits = *limits;
    tk_list_init(&conns->strangers);
    tk_list_init(&conns->idle);
    tk_heap_init(&conns->late);
    tk_map_init(&conns->addresses, TK_MAP_BORROW_KEYS);
    tinkc_code code = tk_cond_init_with(&conns->wake, &conns->lock, err);
    if (code != TINKC_OK) {
        tk_free(conns);
        return code;
    }
    code = tk_thread_start(&conns->thread, "tinkc-conns", run, conns, err);
    if (code != TINKC_OK) {
        tk_cond_dispose(&conns->wake);
        tk_mutex_dispose(&conns->lock);
        tk_free(conns);
        return code;
    }
    *out = conns;
    return TINKC_OK;
}

void hd_conns_free(hd_conns *conns)
{
    if (conns == NULL) {
        return;
    }
    tk_mutex_lock(&conns->lock);
    conns->closed = true;
    tk_mutex_unlock(&conns->lock);
    tk_cond_signal(&conns->wake);
    tk_thread_join(&conns->thread);
    tk_map_dispose(&conns->addresses);
    tk_cond_dispose(&conns->wake);
    tk_mutex_dispose(&conns->lock);
    tk_free(conns);
}
