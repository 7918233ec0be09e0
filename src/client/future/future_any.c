/* tinkc_future_wait_any: puts a waiter into each future, sleeps at one gate, takes them
 * out again. For a handful of futures; queue.c is for thousands. */
#include "base/mem.h"
#include "client/future/future_int.h"

void tk_waiter_wake_all(tk_list *waiters)
{
    for (tk_list *at = waiters->next; at != waiters; at = at->next) {
        tk_waiter_gate *gate = TK_CONTAINER_OF(at, tk_waiter, node)->gate;
        tk_mutex_lock(&gate->lock);
        gate->is_open = true;
        tk_cond_signal(&gate->opened);
        tk_mutex_unlock(&gate->lock);
    }
}

static bool find_done(size_t *index, tinkc_future *const *futures, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tinkc_future_is_done(futures[i])) {
            *index = i;
            return true;
        }
    }
    return false;
}

static void join(tk_waiter *waiter, tk_waiter_gate *gate, tinkc_future *future)
{
    waiter->gate = gate;
    tk_list_init(&waiter->node);
    tk_mutex_lock(&future->lock);
    if (!atomic_load(&future->done)) {
        tk_list_push_back(&future->waiters, &waiter->node);
    }
    tk_mutex_unlock(&future->lock);
}

static void leave(tk_waiter *waiter, tinkc_future *future)
{
    tk_mutex_lock(&future->lock);
    tk_list_remove(&waiter->node);
    tk_mutex_unlock(&future->lock);
}

static tk_driver *first_manual(tinkc_future *const *futures, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (futures[i]->driver != NULL && futures[i]->driver->is_manual) {
            return futures[i]->driver;
        }
    }
    return NULL;
}

/* Sleeps at the gate, or runs a manual loop; false when the deadline has passed. */
static bool wait_some(tk_waiter_gate *gate, tk_driver *manual, int64_t deadline_ns)
{
    int64_t until = deadline_ns;
    bool last = false;
    if (manual != NULL) {
        if (manual->ops->drive(manual, TK_WAIT_SLICE_MS)) {
            return tk_clock_mono_ns(&tk_clock_real) < deadline_ns;
        }
        until = TK_MIN(deadline_ns, tk_wait_deadline_ns(TK_WAIT_SLICE_MS));
    }
    tk_mutex_lock(&gate->lock);
    while (!gate->is_open && !last) {
        last = !tk_cond_wait_until(&gate->opened, &gate->lock, until);
    }
    gate->is_open = false;
    tk_mutex_unlock(&gate->lock);
    return !last || until < deadline_ns;
}

static tinkc_code wait_at_gate(size_t *index, tinkc_future *const *futures, size_t n,
                               int64_t deadline_ns, tk_waiter *waiters)
{
    tk_waiter_gate gate = {0};
    if (tk_cond_init_with(&gate.opened, &gate.lock, NULL) != TINKC_OK) {
        return TINKC_E_NOMEM;
    }
    tk_driver *manual = first_manual(futures, n);
    for (size_t i = 0; i < n; i++) {
        join(&waiters[i], &gate, futures[i]);
    }
    bool in_time = true;
    bool found = find_done(index, futures, n);
    while (!found && in_time) {
        in_time = wait_some(&gate, manual, deadline_ns);
        found = find_done(index, futures, n);
    }
    for (size_t i = 0; i < n; i++) {
        leave(&waiters[i], futures[i]);
    }
    tk_cond_dispose(&gate.opened);
    tk_mutex_dispose(&gate.lock);
    return found ? TINKC_OK : TINKC_E_TIMEOUT;
}

tinkc_code tinkc_future_wait_any(size_t *index, tinkc_future *const *futures, size_t n,
                                 int64_t timeout_ms)
{
    for (size_t i = 0; i < n; i++) {
        if (futures[i] == NULL) {
            return TINKC_E_STATE;
        }
    }
    if (n == 0 || index == NULL) {
        return TINKC_E_STATE;
    }
    if (find_done(index, futures, n)) {
        return TINKC_OK;
    }
    if (timeout_ms == 0) {
        return TINKC_E_TIMEOUT;
    }
    for (size_t i = 0; i < n; i++) {
        if (tk_future_must_not_wait(futures[i])) {
            return TINKC_E_STATE;
        }
    }
    tk_waiter *waiters = tk_array(n, sizeof(*waiters));
    if (waiters == NULL) {
        return TINKC_E_NOMEM;
    }
    int64_t deadline_ns = tk_wait_deadline_ns(timeout_ms);
    tinkc_code code = wait_at_gate(index, futures, n, deadline_ns, waiters);
    tk_free(waiters);
    return code;
}
