/* Requests that run or were answered a short time ago, by the digest of what was asked. */
#include "gateway/gw_repeat.h"

#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/thread.h"

typedef struct waiter {
    tk_list node; /* in work.waiters */
    uint64_t number;
    void (*on_reply)(void *user, const gw_reply *reply);
    void *user;
} waiter;

typedef struct kept { /* an answer; immutable */
    size_t owners;    /* with the lock: the work, and those who read it */
    size_t bytes;
    gw_reply reply;
    char data[];
} kept;

typedef struct work { /* one request */
    tk_list node;     /* in running or done */
    char sha[TK_SHA256_HEX_BYTES];
    uint64_t number;
    tk_list waiters;
    size_t n_waiters;
    kept *answer; /* NULL while it runs */
    int64_t done_ms;
} work;

struct gw_repeats {
    const tk_clock *clock;
    int64_t keep_ms;
    size_t max_bytes;
    tk_mutex lock;
    tk_map all;            /* work by digest */
    tk_list running, done; /* done: oldest first */
    size_t bytes;
    uint64_t last_number;
};

tinkc_code gw_repeats_new(gw_repeats **out, const gw_repeats_config *config, tk_err *err)
{
    gw_repeats *repeats = tk_zalloc(sizeof(*repeats));
    if (repeats == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&repeats->lock, err);
    if (code != TINKC_OK) {
        tk_free(repeats);
        return code;
    }
    repeats->clock = config->clock;
    repeats->keep_ms = config->keep_ms > 0 ? config->keep_ms : TK_GW_REPEAT_MS;
    repeats->max_bytes = config->max_bytes > 0 ? config->max_bytes : TK_GW_REPEAT_BYTES;
    tk_map_init(&repeats->all, TK_MAP_BORROW_KEYS);
    tk_list_init(&repeats->running);
    tk_list_init(&repeats->done);
    *out = repeats;
    return TINKC_OK;
}

/* ---- with the lock held ---- */

static void kept_release(kept *answer)
{
    if (answer != NULL && --answer->owners == 0) {
        tk_free(answer);
    }
}

static void forget(gw_repeats *repeats, work *w)
{
    tk_list_remove(&w->node);
    (void)tk_map_remove(&repeats->all, tk_str_of(w->sha));
    if (w->answer != NULL) {
        repeats->bytes -= w->answer->bytes;
    }
    kept_release(w->answer);
    tk_free(w);
}

static void forget_old(gw_repeats *repeats, size_t more_bytes, size_t more_works)
{
    int64_t now = tk_clock_mono_ms(repeats->clock);
    while (!tk_list_is_empty(&repeats->done)) {
        work *w = TK_CONTAINER_OF(repeats->done.next, work, node);
        if (now - w->done_ms < repeats->keep_ms &&
            repeats->bytes + more_bytes <= repeats->max_bytes &&
            repeats->all.count + more_works <= TK_GW_REPEATS_MAX) {
            return;
        }
        forget(repeats, w);
    }
}

static work *find_running(const gw_repeats *repeats, uint64_t number)
{
    for (tk_list *at = repeats->running.next; at != &repeats->running; at = at->next) {
        work *w = TK_CONTAINER_OF(at, work, node);
        if (w->number == number) {
            return w;
        }
    }
    return NULL;
}

static tinkc_code add_work(gw_claim *claim, gw_repeats *repeats, const char *sha,
                           tk_err *err)
{
    forget_old(repeats, 0, 1);
    if (repeats->all.count >= TK_GW_REPEATS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "%d requests are running, which is the limit",
                          TK_GW_REPEATS_MAX);
    }
    work *w = tk_zalloc(sizeof(*w));
    if (w == NULL) {
        return tk_err_nomem(err);
    }
    memcpy(w->sha, sha, sizeof(w->sha));
    tk_list_init(&w->waiters);
    tinkc_code code = tk_map_put(&repeats->all, tk_str_of(w->sha), w, err);
    if (code != TINKC_OK) {
        tk_free(w);
        return code;
    }
    w->number = claim->number = ++repeats->last_number;
    tk_list_push_back(&repeats->running, &w->node);
    return TINKC_OK;
}

static tinkc_code add_waiter(gw_claim *claim, gw_repeats *repeats, work *w,
                             const gw_repeat_ask *ask, tk_err *err)
{
    if (w->n_waiters >= TK_GW_REPEAT_WAITERS) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "the same request is running, and %d more wait for its answer",
                          TK_GW_REPEAT_WAITERS);
    }
    waiter *wait = tk_zalloc(sizeof(*wait));
    if (wait == NULL) {
        return tk_err_nomem(err);
    }
    wait->on_reply = ask->on_reply;
    wait->user = ask->user;
    wait->number = claim->number = ++repeats->last_number;
    tk_list_push_back(&w->waiters, &wait->node);
    w->n_waiters++;
    return TINKC_OK;
}

/* ---- begin ---- */

/* The parts with their lengths, so that they cannot be confused. */
static tinkc_code digest(char *out, const gw_repeat_ask *ask, tk_err *err)
{
    const tk_str parts[] = {ask->episode, ask->route, ask->key, ask->body};
    tk_sha256 *sha = NULL;
    tinkc_code code = tk_sha256_new(&sha, err);
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(parts); i++) {
        uint64_t n = parts[i].n;
        code = tk_sha256_update(sha, &n, sizeof(n), err);
        if (code == TINKC_OK && n > 0) {
            code = tk_sha256_update(sha, parts[i].p, parts[i].n, err);
        }
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(out, sha, err);
    }
    tk_sha256_free(sha);
    return code;
}

tinkc_code gw_repeats_begin(gw_repeat *out, gw_claim *claim, gw_repeats *repeats,
                            const gw_repeat_ask *ask, tk_err *err)
{
    char sha[TK_SHA256_HEX_BYTES];
    kept *answer = NULL;
    claim->number = 0;
    *out = GW_REPEAT_FIRST;
    if (ask->episode.n == 0 && ask->key.n == 0) {
        return TINKC_OK;
    }
    tinkc_code code = digest(sha, ask, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_mutex_lock(&repeats->lock);
    forget_old(repeats, 0, 0);
    work *w = tk_map_get(&repeats->all, tk_str_of(sha));
    if (w == NULL) {
        code = add_work(claim, repeats, sha, err);
    } else if (w->answer == NULL) {
        *out = GW_REPEAT_WAITS;
        code = add_waiter(claim, repeats, w, ask, err);
    } else {
        *out = GW_REPEAT_ANSWERED;
        answer = w->answer;
        answer->owners++;
    }
    tk_mutex_unlock(&repeats->lock);
    if (answer != NULL) {
        ask->on_reply(ask->user, &answer->reply);
        tk_mutex_lock(&repeats->lock);
        kept_release(answer);
        tk_mutex_unlock(&repeats->lock);
    }
    return code;
}

/* ---- end ---- */

/* NULL when out of memory: it is not kept then. */
static kept *kept_new(const gw_reply *reply)
{
    size_t bytes, size;
    if (!tk_size_add(&bytes, reply->type.n, reply->body.n) ||
        !tk_size_add(&size, bytes, sizeof(kept))) {
        return NULL;
    }
    kept *answer = tk_malloc(size);
    if (answer == NULL) {
        return NULL;
    }
    *answer = (kept){.owners = 1, .bytes = size, .reply = *reply};
    if (reply->type.n > 0) {
        memcpy(answer->data, reply->type.p, reply->type.n);
    }
    if (reply->body.n > 0) {
        memcpy(answer->data + reply->type.n, reply->body.p, reply->body.n);
    }
    answer->reply.type.p = answer->data;
    answer->reply.body.p = answer->data + reply->type.n;
    return answer;
}

/* With the lock held. */
static void finish(gw_repeats *repeats, work *w, kept *answer)
{
    if (answer == NULL || answer->bytes > repeats->max_bytes) {
        kept_release(answer);
        forget(repeats, w);
        return;
    }
    forget_old(repeats, answer->bytes, 0);
    repeats->bytes += answer->bytes;
    w->answer = answer;
    w->done_ms = tk_clock_mono_ms(repeats->clock);
    tk_list_remove(&w->node);
    tk_list_push_back(&repeats->done, &w->node);
}

void gw_repeats_end(gw_repeats *repeats, gw_claim claim, const gw_reply *reply)
{
    tk_list waiters;
    tk_list_init(&waiters);
    if (claim.number == 0) {
        return;
    }
    kept *answer = reply != NULL ? kept_new(reply) : NULL;
    tk_mutex_lock(&repeats->lock);
    work *w = find_running(repeats, claim.number);
    if (w != NULL) {
        tk_list_splice_back(&waiters, &w->waiters);
        w->n_waiters = 0;
        finish(repeats, w, answer);
    } else {
        kept_release(answer);
    }
    tk_mutex_unlock(&repeats->lock);
    tk_list *node;
    while ((node = tk_list_pop_front(&waiters)) != NULL) {
        waiter *wait = TK_CONTAINER_OF(node, waiter, node);
        wait->on_reply(wait->user, reply);
        tk_free(wait);
    }
}

bool gw_repeats_cancel(gw_repeats *repeats, gw_claim claim)
{
    waiter *found = NULL;
    tk_mutex_lock(&repeats->lock);
    for (tk_list *at = repeats->running.next; found == NULL && at != &repeats->running;
         at = at->next) {
        work *w = TK_CONTAINER_OF(at, work, node);
        for (tk_list *i = w->waiters.next; found == NULL && i != &w->waiters;
             i = i->next) {
            waiter *wait = TK_CONTAINER_OF(i, waiter, node);
            found = wait->number == claim.number ? wait : NULL;
        }
        if (found != NULL) {
            tk_list_remove(&found->node);
            w->n_waiters--;
        }
    }
    tk_mutex_unlock(&repeats->lock);
    bool is_cancelled = found != NULL;
    tk_free(found);
    return is_cancelled;
}

void gw_repeats_free(gw_repeats *repeats)
{
    if (repeats == NULL) {
        return;
    }
    while (!tk_list_is_empty(&repeats->done)) {
        forget(repeats, TK_CONTAINER_OF(repeats->done.next, work, node));
    }
    while (!tk_list_is_empty(&repeats->running)) {
        forget(repeats, TK_CONTAINER_OF(repeats->running.next, work, node));
    }
    tk_map_dispose(&repeats->all);
    tk_mutex_dispose(&repeats->lock);
    tk_free(repeats);
}
