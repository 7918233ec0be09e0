/* The gateway's threads: tokens to text, turns to disk, answers to clients. One of them
 * looks after clients that have left, and after streams whose readers are slow. */
#include "gateway/gw_exchange.h"

#define TICK_NS    (INT64_C(500) * TK_NS_PER_MS)
#define BLOCKED_NS (INT64_C(20) * TK_NS_PER_MS)

void gw_pool_wake(gw_exchange *x)
{
    gw *gateway = x->gateway;
    if (x->is_running) {
        x->is_again = true;
    } else if (!tk_list_is_linked(&x->ready)) {
        tk_list_push_back(&gateway->ready, &x->ready);
        tk_cond_signal(&gateway->wake);
    }
}

bool gw_pool_enter(gw *gateway, gw_exchange *x)
{
    tk_mutex_lock(&gateway->lock);
    bool fits = gateway->n < TK_GW_RUNNING_MAX;
    if (fits) {
        gateway->n++;
        tk_list_push_back(&gateway->all, &x->link);
        tk_cond_signal(&gateway->wake); /* there is someone to look after */
    }
    tk_mutex_unlock(&gateway->lock);
    return fits;
}

/* Under the lock. */
static void look_after(gw_exchange *x)
{
    if (x->is_running || x->n_pending == 0 || x->is_gone) {
        return;
    }
    if (x->http == NULL && x->stream == NULL) {
        return;
    }
    if (gw_answer_is_gone(x)) {
        x->is_gone = true;
        gw_exchange_cancel(x);
    }
}

/* Under the lock. */
static void tick(gw *gateway, int64_t now)
{
    bool is_due = now >= gateway->tick_ns;
    for (tk_list *at = gateway->all.next; at != &gateway->all; at = at->next) {
        gw_exchange *x = TK_CONTAINER_OF(at, gw_exchange, link);
        if (x->is_blocked) {
            gw_pool_wake(x);
        } else if (is_due) {
            look_after(x);
        }
    }
    if (is_due) {
        gateway->tick_ns = now + TICK_NS;
    }
}

/* Returns the next exchange, or NULL at the end. */
static gw_exchange *take(gw *gateway)
{
    tk_list *node = NULL;
    tk_mutex_lock(&gateway->lock);
    for (;;) {
        node = tk_list_pop_front(&gateway->ready);
        if (node != NULL || gateway->is_closing) {
            break;
        }
        int64_t now = tk_clock_mono_ns(NULL);
        int64_t until = gateway->n_blocked > 0 ? now + BLOCKED_NS
                        : gateway->n > 0       ? TK_MAX(gateway->tick_ns, now)
                                               : TK_FOREVER;
        if (until <= now || !tk_cond_wait_until(&gateway->wake, &gateway->lock, until)) {
            tick(gateway, tk_clock_mono_ns(NULL));
        }
    }
    gw_exchange *x = node != NULL ? TK_CONTAINER_OF(node, gw_exchange, ready) : NULL;
    if (x != NULL) {
        x->is_running = true;
        x->is_again = false;
        gateway->n_blocked -= x->is_blocked;
        x->is_blocked = false;
    }
    tk_mutex_unlock(&gateway->lock);
    return x;
}

/* Returns true when it has ended: nobody else knows it any more. */
static bool put_back(gw *gateway, gw_exchange *x, bool is_over)
{
    tk_mutex_lock(&gateway->lock);
    x->is_running = false;
    if (is_over) {
        tk_list_remove(&x->link);
        gateway->n--;
    } else {
        /* Bytes that wait for the reader: looked at again soon. */
        x->is_blocked = x->out.n > 0 && x->stream != NULL;
        gateway->n_blocked += x->is_blocked;
        if (x->is_again) {
            gw_pool_wake(x);
        }
    }
    tk_mutex_unlock(&gateway->lock);
    return is_over;
}

static void run(void *user)
{
    gw *gateway = user;
    gw_exchange *x;
    while ((x = take(gateway)) != NULL) {
        if (put_back(gateway, x, gw_answer_step(x))) {
            gw_exchange_free(x);
        }
    }
}

tinkc_code gw_pool_start(gw *gateway, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && gateway->n_threads < GW_THREADS) {
        code = tk_thread_start(&gateway->threads[gateway->n_threads], "tinkc-gateway",
                               run, gateway, err);
        gateway->n_threads += code == TINKC_OK;
    }
    return code;
}

void gw_pool_stop(gw *gateway)
{
    tk_mutex_lock(&gateway->lock);
    gateway->is_closing = true;
    tk_cond_broadcast(&gateway->wake);
    tk_mutex_unlock(&gateway->lock);
    for (unsigned i = 0; i < gateway->n_threads; i++) {
        tk_thread_join(&gateway->threads[i]);
    }
    gateway->n_threads = 0;
    /* Streams whose readers were slow, or have left a moment ago. */
    tk_list *node;
    while ((node = tk_list_pop_front(&gateway->all)) != NULL) {
        gw_exchange *x = TK_CONTAINER_OF(node, gw_exchange, link);
        if (x->stream != NULL) {
            hd_stream_end(x->stream);
        }
        gw_exchange_free(x);
    }
}
