/* tinkc_future: completion, waiting, cancelling, results. Progress and its explanation
 * are in future_status.c, queues in queue.c. No lock is held while user code runs. */
#include "client/future/future_int.h"

#include <string.h>

#include "base/mem.h"

static tinkc_future oom_future = {.refs = 1,
                                  .operation = "operation",
                                  .is_static = true,
                                  .done = true,
                                  .lock = TK_MUTEX_INIT,
                                  .stage = TINKC_STAGE_DONE,
                                  .answer_ms = -1};

int64_t tk_future_now_ms(const tinkc_future *future)
{
    return tk_clock_mono_ms(future->driver != NULL ? future->driver->clock : NULL);
}

/* ---- life ---- */

static tinkc_future *alloc_future(void)
{
    tinkc_future *future = tk_zalloc(sizeof(*future));
    if (future == NULL) {
        return NULL;
    }
    if (tk_cond_init_with(&future->changed, &future->lock, NULL) != TINKC_OK) {
        tk_free(future);
        return NULL;
    }
    return future;
}

static void start_span(tk_span *span, tk_driver *driver, const char *operation)
{
    tinkc_hook what = {.kind = TINKC_SPAN_OPERATION, .name = operation};
    tk_hooks_start(span, driver != NULL ? driver->hooks : NULL,
                   driver != NULL ? driver->context : NULL, &what);
}

tinkc_future *tk_future_new(tk_driver *driver, const char *operation, tk_result_kind kind)
{
    tk_span unborn;
    tinkc_future *future = alloc_future();
    if (future == NULL) {
        start_span(&unborn, driver, operation);
        tk_span_end(&unborn, TINKC_E_NOMEM, NULL);
        return &oom_future;
    }
    atomic_init(&future->refs, 1);
    future->driver = driver;
    if (driver != NULL) {
        driver->ops->ref(driver);
    }
    future->operation = operation;
    future->kind = kind;
    future->created_ms = tk_future_now_ms(future);
    future->stage_ms = future->created_ms;
    future->answer_ms = -1;
    tk_list_init(&future->queue_node);
    tk_list_init(&future->waiters);
    start_span(&future->span, driver, operation);
    return future;
}

tinkc_future *tk_future_refused(tk_driver *driver, const char *operation,
                                tk_result_kind kind, const tk_err *err)
{
    tinkc_future *future = tk_future_new(driver, operation, kind);
    (void)tk_future_fail(future, err, NULL);
    return future;
}

bool tk_future_is_static(const tinkc_future *future)
{
    return future->is_static;
}

const char *tk_future_operation(const tinkc_future *future)
{
    return future->operation;
}

tinkc_future *tinkc_future_ref(tinkc_future *future)
{
    if (future != NULL && !future->is_static) {
        atomic_fetch_add(&future->refs, 1);
    }
    return future;
}

static void destroy(tinkc_future *future)
{
    if (future->result != NULL && future->free_result != NULL) {
        future->free_result(future->result);
    }
    tinkc_error_free(&future->error);
    for (size_t i = 0; i < TK_ARRAY_LEN(future->parts); i++) {
        tinkc_future_free(&future->parts[i]);
    }
    tk_cond_dispose(&future->changed);
    tk_mutex_dispose(&future->lock);
    tk_driver *driver = future->driver;
    void (*on_free)(void *user) = future->on_free;
    void *user = future->on_free_user;
    tk_free(future);
    if (driver != NULL) {
        driver->ops->unref(driver);
    }
    if (on_free != NULL) {
        on_free(user);
    }
}

void tinkc_future_free(tinkc_future **future_ref)
{
    tinkc_future *future = future_ref != NULL ? *future_ref : NULL;
    if (future == NULL) {
        return;
    }
    *future_ref = NULL;
    if (!future->is_static && atomic_fetch_sub(&future->refs, 1) == 1) {
        destroy(future);
    }
}

void tk_future_join(tinkc_future *whole, tinkc_future *first, tinkc_future *second)
{
    whole->parts[0] = tinkc_future_ref(first);
    whole->parts[1] = tinkc_future_ref(second);
}

/* ---- completing ---- */

static void wake(tk_task *task)
{
    tinkc_future *future = TK_CONTAINER_OF(task, tinkc_future, wake_task);
    tk_cond_broadcast(&future->changed);
    tinkc_future_free(&future);
}

/* A turn of the loop often completes several futures of one waiting thread, and to wake
 * it costs more than to complete them: that is done once, when the turn ends. */
static void wake_sleepers(tinkc_future *future)
{
    tk_driver *driver = future->driver;
    future->wake_task.run = wake;
    (void)tinkc_future_ref(future);
    if (driver == NULL || driver->ops->later == NULL ||
        !driver->ops->later(driver, &future->wake_task)) {
        wake(&future->wake_task);
    }
}

/* Code of the user may wait for a thread that is still to be woken. */
static void call_on_done(tinkc_future *future, tinkc_future_fn on_done, void *user)
{
    tk_driver *driver = future->driver;
    if (driver != NULL && driver->ops->now != NULL) {
        driver->ops->now(driver);
    }
    on_done(future, user);
}

/* Called with the lock held, after the outcome was set. Wakes the waiters, releases the
 * lock, then wakes the sleeping threads, calls the callback and notifies the queue. The
 * caller's reference keeps the future alive meanwhile. */
static void announce(tinkc_future *future)
{
    future->stage = TINKC_STAGE_DONE;
    future->stage_ms = tk_future_now_ms(future);
    atomic_store(&future->done, true);
    tinkc_queue *queue = future->queue;
    tinkc_future_fn on_done = future->on_done;
    void *user = future->on_done_user;
    bool sleepers = future->sleepers > 0;
    tk_waiter_wake_all(&future->waiters);
    tk_mutex_unlock(&future->lock);
    if (sleepers) {
        wake_sleepers(future);
    }
    if (on_done != NULL) {
        call_on_done(future, on_done, user);
    }
    if (queue != NULL) {
        tk_queue_ready(queue, future);
    }
}

/* Whether this is the first outcome. True: the lock is held until it is announced. */
static bool settle(tinkc_future *future)
{
    tk_mutex_lock(&future->lock);
    if (atomic_load(&future->done) || future->is_settled) {
        tk_mutex_unlock(&future->lock);
        return false;
    }
    future->is_settled = true;
    return true;
}

/* The hooks are called before the future is done, so that a caller who finds it done can
 * rely on them having run. */
static void tell_hooks(tinkc_future *future)
{
    tinkc_hook what = {.http_status = tinkc_error_http_status(future->error)};
    if (tk_span_is_open(&future->span)) {
        tk_mutex_unlock(&future->lock);
        tk_span_end(&future->span, tinkc_error_code(future->error), &what);
        tk_mutex_lock(&future->lock);
    }
}

bool tk_future_complete(tinkc_future *future, void *result, void (*free_result)(void *))
{
    if (!settle(future)) {
        return false;
    }
    future->result = result;
    future->free_result = free_result;
    tell_hooks(future);
    announce(future);
    return true;
}

bool tk_future_fail(tinkc_future *future, const tk_err *err, tinkc_error *cause)
{
    tinkc_error *error = tk_error_new(err, cause);
    if (!settle(future)) {
        tinkc_error_free(&error);
        return false;
    }
    future->error = error;
    tell_hooks(future);
    announce(future);
    return true;
}

void tk_future_on_cancel(tinkc_future *future, void (*fn)(void *user), void *user)
{
    if (future->is_static) {
        return;
    }
    tk_mutex_lock(&future->lock);
    future->on_cancel = fn;
    future->on_cancel_user = user;
    tk_mutex_unlock(&future->lock);
}

void tk_future_forget_cancel(tinkc_future *future)
{
    if (future->is_static) {
        return;
    }
    tk_mutex_lock(&future->lock);
    future->on_cancel = NULL;
    while (future->cancelling) {
        tk_cond_wait(&future->changed, &future->lock);
    }
    tk_mutex_unlock(&future->lock);
}

static void call_on_cancel(tinkc_future *future)
{
    tk_mutex_lock(&future->lock);
    void (*fn)(void *user) = future->on_cancel;
    void *user = future->on_cancel_user;
    future->on_cancel = NULL;
    future->cancelling = fn != NULL;
    tk_mutex_unlock(&future->lock);
    if (fn == NULL) {
        return;
    }
    fn(user);
    tk_mutex_lock(&future->lock);
    future->cancelling = false;
    tk_cond_broadcast(&future->changed);
    tk_mutex_unlock(&future->lock);
}

void tinkc_future_cancel(tinkc_future *future)
{
    if (future == NULL || tinkc_future_is_done(future)) {
        return;
    }
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "%s was cancelled", future->operation);
    tinkc_future *held = tinkc_future_ref(future); /* callbacks may free the caller's */
    if (tk_future_fail(held, &err, NULL)) {
        call_on_cancel(held);
        for (size_t i = 0; i < TK_ARRAY_LEN(held->parts); i++) {
            tinkc_future_cancel(held->parts[i]);
        }
    }
    tinkc_future_free(&held);
}

tinkc_code tinkc_future_on_done(tinkc_future *future, tinkc_future_fn fn, void *user,
                                tinkc_error **err)
{
    if (future == NULL || fn == NULL) {
        return tk_error_tell(err, TINKC_E_STATE, "no future, or no function");
    }
    tk_mutex_lock(&future->lock);
    bool taken = future->on_done != NULL;
    bool done = atomic_load(&future->done);
    if (!taken && !future->is_static) {
        future->on_done = fn;
        future->on_done_user = user;
    }
    tk_mutex_unlock(&future->lock);
    if (taken) {
        return tk_error_tell(err, TINKC_E_STATE, "the future has a callback already");
    }
    if (done) {
        fn(future, user);
    }
    return TINKC_OK;
}

tinkc_code tinkc_future_on_free(tinkc_future *future, void (*release)(void *user),
                                void *user, tinkc_error **err)
{
    if (future == NULL || release == NULL) {
        return tk_error_tell(err, TINKC_E_STATE, "no future, or no function");
    }
    if (future->is_static) {
        return tk_error_tell(err, TINKC_E_NOMEM, "the operation had no memory");
    }
    tk_mutex_lock(&future->lock);
    bool taken = future->on_free != NULL;
    if (!taken) {
        future->on_free = release;
        future->on_free_user = user;
    }
    tk_mutex_unlock(&future->lock);
    return taken ? tk_error_tell(err, TINKC_E_STATE,
                                 "the future has a function that releases already")
                 : TINKC_OK;
}

/* ---- waiting ---- */

bool tinkc_future_is_done(const tinkc_future *future)
{
    return future != NULL && atomic_load(&future->done);
}

int64_t tk_wait_deadline_ns(int64_t timeout_ms)
{
    if (timeout_ms < 0) {
        return TK_FOREVER;
    }
    int64_t now = tk_clock_mono_ns(&tk_clock_real);
    return timeout_ms > INT64_MAX / TK_NS_PER_MS
               ? TK_FOREVER
               : tk_clock_after(now, timeout_ms * TK_NS_PER_MS);
}

void tk_wait_change(tk_driver *driver, tk_cond *changed, tk_mutex *lock,
                    int64_t deadline_ns)
{
    if (!driver->is_manual) {
        (void)tk_cond_wait_until(changed, lock, deadline_ns);
        return;
    }
    tk_mutex_unlock(lock);
    bool drove = driver->ops->drive(driver, TK_WAIT_SLICE_MS);
    tk_mutex_lock(lock);
    if (!drove) {
        (void)tk_cond_wait_until(changed, lock, tk_wait_deadline_ns(TK_WAIT_SLICE_MS));
    }
}

/* Sleeps until the future changes; false when the deadline has passed. */
static bool sleep_until(tinkc_future *future, int64_t deadline_ns)
{
    tk_mutex_lock(&future->lock);
    bool in_time = true;
    future->sleepers++;
    while (!atomic_load(&future->done) && in_time) {
        in_time = tk_cond_wait_until(&future->changed, &future->lock, deadline_ns);
    }
    future->sleepers--;
    tk_mutex_unlock(&future->lock);
    return in_time;
}

static int64_t left_ms(int64_t deadline_ns)
{
    int64_t left = deadline_ns - tk_clock_mono_ns(&tk_clock_real);
    return left <= 0 ? 0 : left / TK_NS_PER_MS + 1;
}

/* A manual loop has no thread: a waiting thread runs it, one thread at a time. */
static void drive_until(tinkc_future *future, int64_t deadline_ns)
{
    tk_driver *driver = future->driver;
    while (!atomic_load(&future->done)) {
        int64_t left = left_ms(deadline_ns);
        if (!driver->ops->drive(driver, TK_MIN(left, TK_WAIT_SLICE_MS))) {
            int64_t slice = tk_wait_deadline_ns(TK_MIN(left, TK_WAIT_SLICE_MS));
            (void)sleep_until(future, slice);
        }
        if (left == 0) {
            return;
        }
    }
}

bool tk_future_must_not_wait(const tinkc_future *future)
{
    tk_driver *driver = future->driver;
    return driver != NULL && driver->ops->is_inside != NULL &&
           driver->ops->is_inside(driver);
}

tinkc_code tinkc_future_wait(tinkc_future *future, int64_t timeout_ms)
{
    if (future == NULL) {
        return TINKC_E_STATE;
    }
    if (!atomic_load(&future->done) && timeout_ms != 0) {
        if (tk_future_must_not_wait(future)) {
            return TINKC_E_STATE;
        }
        int64_t deadline_ns = tk_wait_deadline_ns(timeout_ms);
        if (future->driver != NULL && future->driver->is_manual) {
            drive_until(future, deadline_ns);
        } else {
            (void)sleep_until(future, deadline_ns);
        }
    }
    if (!atomic_load(&future->done)) {
        return TINKC_E_TIMEOUT;
    }
    return future->is_static ? TINKC_E_NOMEM : tinkc_error_code(future->error);
}

tinkc_code tinkc_future_wait_all(tinkc_future *const *futures, size_t n,
                                 int64_t timeout_ms)
{
    int64_t deadline_ns = tk_wait_deadline_ns(timeout_ms);
    tinkc_code first = TINKC_OK;
    bool late = false;
    for (size_t i = 0; i < n; i++) {
        int64_t left = deadline_ns == TK_FOREVER ? TINKC_FOREVER : left_ms(deadline_ns);
        tinkc_code code = tinkc_future_wait(futures[i], left);
        late = late || (code == TINKC_E_TIMEOUT && !tinkc_future_is_done(futures[i]));
        first = first == TINKC_OK ? code : first;
    }
    return late ? TINKC_E_TIMEOUT : first;
}

/* ---- results ---- */

const tinkc_error *tinkc_future_error(const tinkc_future *future)
{
    if (!tinkc_future_is_done(future)) {
        return NULL;
    }
    return future->is_static ? tk_error_oom() : future->error;
}

tinkc_error *tinkc_future_take_error(tinkc_future *future)
{
    if (!tinkc_future_is_done(future)) {
        return NULL;
    }
    return future->is_static ? tk_error_oom() : tinkc_error_ref(future->error);
}

static tinkc_code refuse_take(tinkc_error **err, const char *why)
{
    tk_err local = TK_ERR_INIT;
    tk_err_set(&local, TINKC_E_STATE, "%s", why);
    return tk_error_give(err, &local);
}

static tinkc_code give_error(tinkc_future *future, tinkc_error **err)
{
    tinkc_error *error = tinkc_future_take_error(future);
    tinkc_code code = tinkc_error_code(error);
    if (err != NULL) {
        *err = error;
    } else {
        tinkc_error_free(&error);
    }
    return code;
}

tinkc_code tk_future_take(void *out, tinkc_future *future, tk_result_kind kind,
                          tinkc_error **err)
{
    if (future == NULL || !tinkc_future_is_done(future)) {
        return refuse_take(err, future == NULL
                                    ? "no future: it is NULL, or its result was taken"
                                    : "the future is not done");
    }
    if (future->is_static || future->error != NULL) {
        return give_error(future, err);
    }
    if (future->kind != kind) {
        return refuse_take(err, "the future carries a result of another kind");
    }
    if (out == NULL || kind == TK_RESULT_NONE) {
        return TINKC_OK; /* the future frees a result that is not taken */
    }
    tk_mutex_lock(&future->lock);
    bool taken = future->taken;
    void *result = future->result;
    future->taken = true;
    future->result = NULL;
    tk_mutex_unlock(&future->lock);
    if (taken) {
        return refuse_take(err, "the result was taken before");
    }
    memcpy(out, &result, sizeof(result)); /* whatever it points to */
    return TINKC_OK;
}

tinkc_code tk_future_wait_take(void *out, tinkc_future *future, tk_result_kind kind,
                               tinkc_error **err)
{
    tinkc_code code = TINKC_OK;
    (void)tinkc_future_wait(future, TINKC_FOREVER);
    if (future == NULL || tinkc_future_is_done(future)) {
        code = tk_future_take(out, future, kind, err);
    } else { /* the wait was refused, and only the caller has the future */
        tinkc_future_cancel(future);
        code = refuse_take(err, TK_WAIT_REFUSED);
    }
    tinkc_future_free(&future);
    return code;
}
