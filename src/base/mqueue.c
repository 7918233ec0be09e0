/* The eventfd is written and read under the lock: it costs 350 ns once per batch, and
 * there is no state in which a message waits and the descriptor is silent. */
#include "base/mqueue.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

tinkc_code tk_mqueue_init(tk_mqueue *queue, tk_err *err)
{
    tinkc_code code = tk_mutex_init(&queue->lock, err);
    if (code != TINKC_OK) {
        return code;
    }
    queue->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (queue->fd < 0) {
        int errnum = errno;
        tk_mutex_dispose(&queue->lock);
        return tk_err_sys(err, errnum, "cannot make an eventfd");
    }
    queue->first = NULL;
    queue->last = NULL;
    queue->signalled = false;
    queue->closed = false;
    queue->rests = false;
    queue->is_shy = false;
    return TINKC_OK;
}

void tk_mqueue_dispose(tk_mqueue *queue)
{
    (void)close(queue->fd);
    queue->fd = -1;
    tk_mutex_dispose(&queue->lock);
}

/* Neither call can fail or block: the counter of the eventfd is 0 or 1. */
static void set_signalled(tk_mqueue *queue, bool signalled)
{
    if (queue->signalled == signalled) {
        return;
    }
    uint64_t count = 1;
    ssize_t n = signalled ? write(queue->fd, &count, sizeof(count))
                          : read(queue->fd, &count, sizeof(count));
    (void)n;
    queue->signalled = signalled;
}

bool tk_mqueue_post(tk_mqueue *queue, tk_mqueue_node *node)
{
    node->next = NULL;
    tk_mutex_lock(&queue->lock);
    bool open = !queue->closed;
    if (open) {
        if (queue->last != NULL) {
            queue->last->next = node;
        } else {
            queue->first = node;
        }
        queue->last = node;
        if (queue->rests || !queue->is_shy) {
            set_signalled(queue, true);
        }
    }
    tk_mutex_unlock(&queue->lock);
    return open;
}

void tk_mqueue_wake(tk_mqueue *queue)
{
    tk_mutex_lock(&queue->lock);
    set_signalled(queue, true);
    tk_mutex_unlock(&queue->lock);
}

tk_mqueue_node *tk_mqueue_take_all(tk_mqueue *queue)
{
    tk_mutex_lock(&queue->lock);
    tk_mqueue_node *all = queue->first;
    queue->first = NULL;
    queue->last = NULL;
    queue->rests = false;
    set_signalled(queue, false);
    tk_mutex_unlock(&queue->lock);
    return all;
}

bool tk_mqueue_rest(tk_mqueue *queue)
{
    tk_mutex_lock(&queue->lock);
    queue->is_shy = true;
    queue->rests = queue->first == NULL && !queue->signalled;
    bool rests = queue->rests;
    tk_mutex_unlock(&queue->lock);
    return rests;
}

void tk_mqueue_close(tk_mqueue *queue)
{
    tk_mutex_lock(&queue->lock);
    queue->closed = true;
    set_signalled(queue, true);
    tk_mutex_unlock(&queue->lock);
}

int tk_mqueue_fd(const tk_mqueue *queue)
{
    return queue->fd;
}
