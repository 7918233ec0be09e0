/* Locks: the registry's guards owners and the list of limiters; a limiter's guards its
 * use and its waiting claims. A loop's queue is posted to under the latter, so that a
 * port without waiting claims is never touched. */
#include "client/call/limiter.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "http/retry.h"

#define RECENT_MS      10000
#define THROTTLED_COST 20
#define SMALL_BYTES    131072
#define SMALL_PAUSE_MS 1000
#define LARGE_PAUSE_MS 5000
#define COST_MAX       (INT64_MAX / 4)
#define LIMITER_STEPS  TK_LIMITER_HELD

/* ---- the rule ---- */

bool tk_limiter_is_recent(int64_t until_ms, int64_t now_ms)
{
    return until_ms != TK_LIMITER_NEVER && now_ms - until_ms < RECENT_MS;
}

int64_t tk_limiter_pause_ms(int64_t estimate_bytes, int64_t hint_ms)
{
    int64_t least = estimate_bytes <= SMALL_BYTES ? SMALL_PAUSE_MS : LARGE_PAUSE_MS;
    return TK_MAX(least, tk_retry_after(least, hint_ms));
}

static bool take(int64_t *used, int64_t most)
{
    if (*used >= most) {
        return false;
    }
    ++*used;
    return true;
}

bool tk_limiter_advance(tk_limiter_use *use, tk_limiter_need *need, int64_t until_ms,
                        int64_t now_ms)
{
    bool recent = tk_limiter_is_recent(until_ms, now_ms);
    switch (need->step) {
    case TK_LIMITER_DISPATCH:
        if (!take(&use->dispatch, need->limits.dispatch)) {
            return false;
        }
        break;
    case TK_LIMITER_THROTTLED:
        if (recent && !take(&use->throttled, need->limits.throttled)) {
            return false;
        }
        need->throttled = recent;
        break;
    case TK_LIMITER_BYTES:
        if (need->cost < 0) {
            int64_t bytes = TK_MIN(need->bytes, COST_MAX / THROTTLED_COST);
            need->cost = recent ? bytes * THROTTLED_COST : bytes;
        }
        if (use->bytes > need->limits.bytes) {
            return false;
        }
        use->bytes += need->cost;
        break;
    case TK_LIMITER_HELD:
        return false;
    }
    need->step++;
    return true;
}

static void give_back(tk_limiter_use *use, tk_limiter_need *need)
{
    use->dispatch -= need->step > TK_LIMITER_DISPATCH;
    use->throttled -= need->step > TK_LIMITER_THROTTLED && need->throttled;
    use->bytes -= need->step > TK_LIMITER_BYTES ? need->cost : 0;
    need->step = TK_LIMITER_DISPATCH;
}

/* ---- the registry ---- */

struct tk_limiter {
    tk_list node;  /* in the registry; alone in a forked child */
    size_t owners; /* under the registry's lock */
    char *server;
    char credential[TK_SHA256_HEX_BYTES];
    _Atomic int64_t until_ms;
    tk_mutex lock; /* of everything below */
    tk_limiter_use use;
    tk_list waiting[LIMITER_STEPS]; /* of tk_limiter_claim, by their next step */
};

static tk_once once = TK_ONCE_INIT;
static tk_mutex registry_lock = TK_MUTEX_INIT;
static tk_list registry;

static void before_fork(void)
{
    tk_mutex_lock(&registry_lock);
}

static void after_fork(void)
{
    tk_mutex_unlock(&registry_lock);
}

/* The parent's services are dead in the child: what they hold is never released. */
static void after_fork_in_child(void)
{
    while (tk_list_pop_front(&registry) != NULL) {
    }
    tk_mutex_unlock(&registry_lock);
}

static void init_registry(void)
{
    tk_list_init(&registry);
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static tk_limiter *find(tk_str server, const char *credential)
{
    for (tk_list *at = registry.next; at != &registry; at = at->next) {
        tk_limiter *limiter = TK_CONTAINER_OF(at, tk_limiter, node);
        if (tk_str_is(server, limiter->server) &&
            tk_str_is(tk_str_of(credential), limiter->credential)) {
            return limiter;
        }
    }
    return NULL;
}

static tinkc_code make(tk_limiter **out, tk_str server, const char *credential,
                       tk_err *err)
{
    tk_limiter *limiter = tk_zalloc(sizeof(*limiter));
    char *copy = tk_strndup(server.p, server.n);
    tinkc_code code = limiter != NULL && copy != NULL ? tk_mutex_init(&limiter->lock, err)
                                                      : tk_err_nomem(err);
    if (code != TINKC_OK) {
        tk_free(limiter);
        tk_free(copy);
        return code;
    }
    limiter->server = copy;
    memcpy(limiter->credential, credential, TK_SHA256_HEX_BYTES);
    atomic_init(&limiter->until_ms, TK_LIMITER_NEVER);
    for (size_t i = 0; i < LIMITER_STEPS; i++) {
        tk_list_init(&limiter->waiting[i]);
    }
    tk_list_push_back(&registry, &limiter->node);
    *out = limiter;
    return TINKC_OK;
}

tinkc_code tk_limiter_open(tk_limiter **out, tk_str server, tk_str credential,
                           tk_err *err)
{
    char hash[TK_SHA256_HEX_BYTES];
    tinkc_code code = tk_sha256_hex(hash, credential.p, credential.n, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_once_run(&once, init_registry);
    tk_mutex_lock(&registry_lock);
    tk_limiter *limiter = find(server, hash);
    if (limiter == NULL) {
        code = make(&limiter, server, hash, err);
    }
    if (code == TINKC_OK) {
        limiter->owners++;
        *out = limiter;
    }
    tk_mutex_unlock(&registry_lock);
    return code;
}

void tk_limiter_close(tk_limiter **limiter_ref)
{
    tk_limiter *limiter = *limiter_ref;
    *limiter_ref = NULL;
    if (limiter == NULL) {
        return;
    }
    tk_mutex_lock(&registry_lock);
    bool last = --limiter->owners == 0;
    if (last) {
        tk_list_remove(&limiter->node);
    }
    tk_mutex_unlock(&registry_lock);
    if (last) {
        tk_mutex_dispose(&limiter->lock);
        tk_free(limiter->server);
        tk_free(limiter);
    }
}

size_t tk_limiter_count(void)
{
    size_t n = 0;
    tk_once_run(&once, init_registry);
    tk_mutex_lock(&registry_lock);
    for (tk_list *at = registry.next; at != &registry; at = at->next) {
        n++;
    }
    tk_mutex_unlock(&registry_lock);
    return n;
}

/* ---- backing off ---- */

int64_t tk_limiter_until_ms(const tk_limiter *limiter)
{
    return atomic_load(&limiter->until_ms);
}

void tk_limiter_back_off(tk_limiter *limiter, int64_t until_ms)
{
    int64_t seen = atomic_load(&limiter->until_ms);
    while (seen < until_ms &&
           !atomic_compare_exchange_weak(&limiter->until_ms, &seen, until_ms)) {
    }
}

/* ---- claims ---- */

/* Loop thread: calls `granted` of the claims of this loop that were admitted. */
static void tell(tk_task *task)
{
    tk_limiter_port *port = TK_CONTAINER_OF(task, tk_limiter_port, task);
    tk_mutex *lock = &port->limiter->lock;
    tk_mutex_lock(lock);
    port->posted = false;
    tk_list *node;
    while ((node = tk_list_pop_front(&port->granted)) != NULL) {
        tk_limiter_claim *claim = TK_CONTAINER_OF(node, tk_limiter_claim, node);
        tk_mutex_unlock(lock);
        claim->granted(claim);
        tk_mutex_lock(lock);
    }
    tk_mutex_unlock(lock);
}

void tk_limiter_port_init(tk_limiter_port *port, tk_limiter *limiter, tk_loop *loop)
{
    *port = (tk_limiter_port){.limiter = limiter, .loop = loop, .task.run = tell};
    tk_list_init(&port->granted);
}

/* Under the lock. As far as there is room; true when it holds all. */
static bool walk(tk_limiter *limiter, tk_limiter_claim *claim, int64_t now_ms)
{
    tk_limiter_need *need = &claim->need;
    int64_t until = atomic_load(&limiter->until_ms);
    while (need->step != TK_LIMITER_HELD) {
        tk_list *line = &limiter->waiting[need->step];
        if (!tk_list_is_empty(line) ||
            !tk_limiter_advance(&limiter->use, need, until, now_ms)) {
            tk_list_push_back(line, &claim->node);
            return false;
        }
    }
    return true;
}

/* Under the lock. */
static void notify(tk_limiter_claim *claim)
{
    tk_limiter_port *port = claim->port;
    tk_list_push_back(&port->granted, &claim->node);
    if (!port->posted) {
        port->posted = tk_loop_post(port->loop, &port->task);
    }
}

/* Under the lock: those at the head of a line go as far as there is room. Later steps
 * first, as they hold what earlier ones wait for. */
static void admit(tk_limiter *limiter, int64_t now_ms)
{
    for (size_t step = LIMITER_STEPS; step-- > 0;) {
        tk_list *line = &limiter->waiting[step];
        while (!tk_list_is_empty(line)) {
            tk_limiter_claim *claim = TK_CONTAINER_OF(line->next, tk_limiter_claim, node);
            if (!tk_limiter_advance(&limiter->use, &claim->need,
                                    atomic_load(&limiter->until_ms), now_ms)) {
                break;
            }
            tk_list_remove(&claim->node);
            if (walk(limiter, claim, now_ms)) {
                notify(claim);
            }
        }
    }
}

bool tk_limiter_acquire(tk_limiter_port *port, tk_limiter_claim *claim,
                        const tk_limiter_limits *limits, int64_t bytes)
{
    tk_limiter *limiter = port->limiter;
    tk_list_init(&claim->node);
    claim->port = port;
    claim->need = (tk_limiter_need){.limits = *limits, .bytes = bytes, .cost = -1};
    tk_mutex_lock(&limiter->lock);
    bool held = walk(limiter, claim, tk_loop_now_ms(port->loop));
    tk_mutex_unlock(&limiter->lock);
    return held;
}

void tk_limiter_release(tk_limiter_claim *claim)
{
    tk_limiter_port *port = claim->port;
    if (port == NULL) {
        return;
    }
    claim->port = NULL;
    tk_limiter *limiter = port->limiter;
    tk_mutex_lock(&limiter->lock);
    tk_list_remove(&claim->node);
    give_back(&limiter->use, &claim->need);
    admit(limiter, tk_loop_now_ms(port->loop));
    tk_mutex_unlock(&limiter->lock);
}
