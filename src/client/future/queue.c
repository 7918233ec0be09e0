/* Completion queue: wait-any over thousands of futures.
 *
 * The queue holds a reference of every attached future until it is taken; a future holds
 * one of its queue, and so does a thread that takes. Locks: queue->lock is a leaf. The
 * eventfd is readable exactly while the ready list is not empty. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/future/future_int.h"

#define NO_QUEUE "no queue: open one with tinkc_queue_open (C++: tinkc::queue::open())"

struct tinkc_queue {
    atomic_size_t refs;
    tk_mutex lock;
    tk_cond changed;
    tk_list ready;
    size_t pending; /* attached and not taken, the ready ones included */
    int fd;
    bool signalled;
    bool closed;
    tk_driver *manual; /* a manual loop to drive while waiting; a reference, or NULL */
};

/* ---- life ---- */

static void unref(tinkc_queue *queue)
{
    if (atomic_fetch_sub(&queue->refs, 1) != 1) {
        return;
    }
    if (queue->manual != NULL) {
        queue->manual->ops->unref(queue->manual);
    }
    close(queue->fd);
    tk_cond_dispose(&queue->changed);
    tk_mutex_dispose(&queue->lock);
    tk_free(queue);
}

static tinkc_code init_queue(tinkc_queue *queue, tk_err *err)
{
    tinkc_code code = tk_cond_init_with(&queue->changed, &queue->lock, err);
    if (code != TINKC_OK) {
        return code;
    }
    queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->fd >= 0) {
        return TINKC_OK;
    }
    code = tk_err_set(err, TINKC_E_IO, "eventfd: error %d", errno);
    tk_cond_dispose(&queue->changed);
    tk_mutex_dispose(&queue->lock);
    return code;
}

tinkc_code tinkc_queue_open(tinkc_queue **out, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
        return tk_error_give(error, &err);
    }
    tinkc_queue *queue = tk_zalloc(sizeof(*queue));
    if (queue == NULL) {
        tk_err_nomem(&err);
        return tk_error_give(error, &err);
    }
    if (init_queue(queue, &err) != TINKC_OK) {
        tk_free(queue);
        return tk_error_give(error, &err);
    }
    atomic_init(&queue->refs, 1);
    tk_list_init(&queue->ready);
    *out = queue;
    return TINKC_OK;
}

/* Under the lock. */
static void signal_fd(tinkc_queue *queue)
{
    bool want = !tk_list_is_empty(&queue->ready);
    uint64_t one = 1;
    if (want && !queue->signalled) {
        queue->signalled = write(queue->fd, &one, sizeof(one)) == (ssize_t)sizeof(one);
    } else if (!want && queue->signalled) {
        queue->signalled = read(queue->fd, &one, sizeof(one)) != (ssize_t)sizeof(one);
    }
}

static void drop(tinkc_queue *queue, tinkc_future *future)
{
    tinkc_future_free(&future);
    unref(queue);
}

void tinkc_queue_close(tinkc_queue **queue_ref)
{
    tinkc_queue *queue = queue_ref != NULL ? *queue_ref : NULL;
    if (queue == NULL) {
        return;
    }
    *queue_ref = NULL;
    tk_list dropped;
    tk_list_init(&dropped);
    tk_mutex_lock(&queue->lock);
    queue->closed = true;
    tk_list_splice_back(&dropped, &queue->ready);
    tk_cond_broadcast(&queue->changed);
    tk_mutex_unlock(&queue->lock);
    tk_list *node;
    while ((node = tk_list_pop_front(&dropped)) != NULL) {
        drop(queue, TK_CONTAINER_OF(node, tinkc_future, queue_node));
    }
    unref(queue);
}

/* ---- attaching and completing ---- */

void tk_queue_ready(tinkc_queue *queue, tinkc_future *future)
{
    tk_mutex_lock(&queue->lock);
    bool closed = queue->closed;
    if (!closed) {
        tk_list_push_back(&queue->ready, &future->queue_node);
        signal_fd(queue);
        tk_cond_signal(&queue->changed);
    }
    tk_mutex_unlock(&queue->lock);
    if (closed) {
        drop(queue, future);
    }
}

/* Under the future's lock: the completion, which takes that lock, sees the queue or comes
 * before. */
static tinkc_code attach(tinkc_queue *queue, tinkc_future *future, void *tag)
{
    if (future->queue != NULL) {
        return TINKC_E_STATE;
    }
    future->queue = queue;
    future->queue_tag = tag;
    atomic_fetch_add(&queue->refs, 1);
    tk_mutex_lock(&queue->lock);
    queue->pending++;
    if (queue->manual == NULL && future->driver != NULL && future->driver->is_manual) {
        queue->manual = future->driver;
        queue->manual->ops->ref(queue->manual);
    }
    tk_mutex_unlock(&queue->lock);
    return TINKC_OK;
}

tinkc_code tinkc_queue_add(tinkc_queue *queue, tinkc_future *future, void *tag,
                           tinkc_error **err)
{
    if (queue == NULL) {
        return tk_error_tell(err, TINKC_E_STATE, NO_QUEUE);
    }
    if (future == NULL) {
        return tk_error_tell(err, TINKC_E_STATE, "no future");
    }
    if (future->is_static) { /* it cannot be linked */
        return tk_error_tell(err, TINKC_E_NOMEM, "out of memory");
    }
    tinkc_future *held =
        tinkc_future_ref(future); /* the queue's, before it can be taken */
    tk_mutex_lock(&future->lock);
    bool done = atomic_load(&future->done);
    tinkc_code code = attach(queue, future, tag);
    tk_mutex_unlock(&future->lock);
    if (code != TINKC_OK) {
        tinkc_future_free(&held);
        return tk_error_tell(err, code, "the future is attached to a queue already");
    }
    if (done) {
        tk_queue_ready(queue, held);
    }
    return TINKC_OK;
}

/* ---- taking ---- */

static bool try_take(tinkc_queue *queue, tinkc_future **future, void **tag)
{
    tk_list *node = tk_list_pop_front(&queue->ready);
    if (node == NULL) {
        return false;
    }
    queue->pending--;
    if (queue->pending == 0) {
        tk_cond_broadcast(&queue->changed); /* the others would wait for nothing */
    }
    signal_fd(queue);
    *future = TK_CONTAINER_OF(node, tinkc_future, queue_node);
    if (tag != NULL) {
        *tag = (*future)->queue_tag;
    }
    return true;
}

/* One sleep, or one turn of a manual loop. False when the deadline has passed. Called and
 * left with the lock held. */
static bool wait_some(tinkc_queue *queue, int64_t deadline_ns)
{
    if (queue->manual == NULL) {
        return tk_cond_wait_until(&queue->changed, &queue->lock, deadline_ns);
    }
    int64_t now = tk_clock_mono_ns(&tk_clock_real);
    if (now >= deadline_ns) {
        return false;
    }
    int64_t left = (deadline_ns - now) / TK_NS_PER_MS + 1;
    int64_t slice = TK_MIN(left, TK_WAIT_SLICE_MS);
    tk_mutex_unlock(&queue->lock);
    bool driven = queue->manual->ops->drive(queue->manual, slice);
    tk_mutex_lock(&queue->lock);
    if (!driven && tk_list_is_empty(&queue->ready) && !queue->closed &&
        queue->pending > 0) {
        (void)tk_cond_wait_until(&queue->changed, &queue->lock,
                                 tk_wait_deadline_ns(slice));
    }
    return true;
}

/* Why a take ends without a future; TINKC_OK: it goes on waiting. Under the lock. */
static tinkc_code refuse_take(const tinkc_queue *queue, bool in_time, tk_err *err)
{
    if (queue->closed) {
        return tk_err_set(err, TINKC_E_CANCELLED, "the queue was closed");
    }
    if (queue->pending == 0) {
        return tk_err_set(err, TINKC_E_MISSING, "no future is attached");
    }
    if (!in_time) {
        return tk_err_set(err, TINKC_E_TIMEOUT, "no future was done in time");
    }
    return tk_loop_is_current() ? tk_err_set(err, TINKC_E_STATE, "%s", TK_WAIT_REFUSED)
                                : TINKC_OK;
}

tinkc_code tinkc_queue_take(tinkc_future **future, void **tag, tinkc_queue *queue,
                            int64_t timeout_ms, tinkc_error **error)
{
    if (queue == NULL) {
        return tk_error_tell(error, TINKC_E_STATE, NO_QUEUE);
    }
    if (future == NULL) {
        return tk_error_tell(error, TINKC_E_STATE, "no place for the future");
    }
    tk_err err = TK_ERR_INIT;
    int64_t deadline_ns = tk_wait_deadline_ns(timeout_ms);
    tinkc_code code = TINKC_OK;
    bool in_time = timeout_ms != 0;
    atomic_fetch_add(&queue->refs, 1); /* it may be closed meanwhile */
    tk_mutex_lock(&queue->lock);
    while (!try_take(queue, future, tag)) {
        code = refuse_take(queue, in_time, &err);
        if (code != TINKC_OK) {
            break;
        }
        in_time = wait_some(queue, deadline_ns);
    }
    tk_mutex_unlock(&queue->lock);
    if (code == TINKC_OK) {
        unref(queue); /* the future's; its reference goes to the caller */
    }
    unref(queue);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}

size_t tinkc_queue_pending(const tinkc_queue *queue)
{
    if (queue == NULL) {
        return 0;
    }
    tinkc_queue *locked = (tinkc_queue *)(uintptr_t)queue; /* a lock is not a change */
    tk_mutex_lock(&locked->lock);
    size_t n = queue->pending;
    tk_mutex_unlock(&locked->lock);
    return n;
}

int tinkc_queue_fd(const tinkc_queue *queue)
{
    return queue != NULL ? queue->fd : -1;
}
