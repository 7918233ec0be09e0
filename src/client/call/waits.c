/* Keeps the list under its own lock, and logs the operations that take long from a
 * timer of the loop. */
#include "client/call/waits.h"

#include "client/core/core.h"
#include "client/core/service.h"

#define TEXT_BYTES 640
#define TICK_MS    1000 /* operations that started one by one share a moment */

static void fire(tk_timer *timer);

tinkc_code tk_waits_init(tk_waits *waits, tk_core *core, tk_err *err)
{
    tinkc_code code = tk_mutex_init(&waits->lock, err);
    if (code == TINKC_OK) {
        waits->core = core;
        waits->is_open = true;
        tk_list_init(&waits->pending);
        tk_timer_init(&waits->timer, fire);
    }
    return code;
}

void tk_waits_dispose(tk_waits *waits)
{
    if (waits->is_open) {
        tk_mutex_dispose(&waits->lock);
        waits->is_open = false;
    }
}

void tk_waits_enter(tk_waits *waits, tk_op *op)
{
    tk_mutex_lock(&waits->lock);
    tk_list_push_back(&waits->pending, &op->pending);
    tk_mutex_unlock(&waits->lock);
}

void tk_waits_leave(tk_waits *waits, tk_op *op)
{
    tk_mutex_lock(&waits->lock);
    tk_list_remove(&op->pending);
    tk_mutex_unlock(&waits->lock);
}

/* ---- the log: loop thread ---- */

static void arm(tk_waits *waits, int64_t at_ms)
{
    waits->is_armed = true;
    tk_loop_timer_set(tk_core_loop(waits->core), &waits->timer, at_ms);
}

void tk_waits_watch(tk_waits *waits, tk_op *op)
{
    if (!tk_log_wants(tk_core_log(waits->core), TINKC_LOG_INFO)) {
        return;
    }
    op->tell_ms = tk_loop_now_ms(tk_core_loop(waits->core)) + TK_WAITS_FIRST_MS;
    if (!waits->is_armed) {
        arm(waits, op->tell_ms);
    }
}

void tk_waits_shutdown(tk_waits *waits)
{
    tk_loop_timer_clear(tk_core_loop(waits->core), &waits->timer);
}

static void tell(tk_waits *waits, const tk_op *op)
{
    char text[TEXT_BYTES];
    (void)tinkc_future_explain(text, sizeof(text), op->future);
    tk_log_write(tk_core_log(waits->core), TINKC_LOG_INFO, "wait", "%s", text);
}

static void fire(tk_timer *timer)
{
    tk_waits *waits = TK_CONTAINER_OF(timer, tk_waits, timer);
    tk_list *running = tk_core_running(waits->core);
    int64_t now = tk_loop_now_ms(tk_core_loop(waits->core)), next = INT64_MAX;
    size_t due = 0;
    waits->is_armed = false;
    for (tk_list *at = running->next; at != running; at = at->next) {
        tk_op *op = TK_CONTAINER_OF(at, tk_op, node);
        if (op->tell_ms <= now && !tinkc_future_is_done(op->future)) {
            if (due++ < TK_WAITS_LINES) {
                tell(waits, op);
            }
            op->tell_ms = now + TK_WAITS_EVERY_MS;
        }
        next = TK_MIN(next, TK_MAX(op->tell_ms, now + TICK_MS));
    }
    if (due > TK_WAITS_LINES) {
        tk_log_write(tk_core_log(waits->core), TINKC_LOG_INFO, "wait",
                     "and %zu more operations wait", due - TK_WAITS_LINES);
    }
    if (next != INT64_MAX) {
        arm(waits, next);
    }
}

/* ---- the list ---- */

/* The caller's struct may be longer than ours, when it is of a later version. */
static tinkc_wait *nth(tinkc_wait *out, size_t stride, size_t i)
{
    return (tinkc_wait *)(void *)((char *)out + i * stride);
}

size_t tk_waits_read(tk_waits *waits, tinkc_wait *out, size_t max)
{
    size_t n = 0, stride = max > 0 ? out->size : 0;
    tk_mutex_lock(&waits->lock);
    for (tk_list *at = waits->pending.next; at != &waits->pending; at = at->next) {
        const tk_op *op = TK_CONTAINER_OF(at, tk_op, pending);
        if (tinkc_future_is_done(op->future)) {
            continue; /* cancelled, and on its way out */
        }
        if (n < max) {
            nth(out, stride, n)->size = stride;
            (void)tinkc_future_status(nth(out, stride, n), op->future, NULL);
        }
        n++;
    }
    tk_mutex_unlock(&waits->lock);
    return n;
}

size_t tinkc_service_waits(tinkc_wait *out, size_t max, tinkc_service *service)
{
    if (service == NULL || tk_core_check(tk_service_core(service), NULL) != TINKC_OK) {
        return 0;
    }
    bool usable = out != NULL && max > 0 && out->size >= sizeof(*out);
    return tk_waits_read(tk_core_waits(tk_service_core(service)), out, usable ? max : 0);
}
