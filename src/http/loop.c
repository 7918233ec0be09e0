/* One turn of the loop takes the posted tasks, lets the transport work and fires due
 * timers. Tasks and timers run without any lock held. */
#include "http/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"

#define FIRE_PER_TURN                                                                    \
    1000 /* timers that set themselves again must not starve the network */

struct tk_loop {
    const tk_clock *clock;
    tk_transport *transport;
    tk_mqueue queue;
    tk_heap timers;
    tk_mqueue_node *late; /* tasks for the end of the turn, the last one first */
    int epoll_fd;         /* holds the queue's and the transport's descriptors */
    int64_t now_ms;
    bool threaded;
    bool ending; /* loop thread only, set when it stops */
    void (*on_stop)(void *user);
    void *user;
    atomic_bool stop;
    atomic_bool busy; /* a thread is inside tk_loop_process */
    /* manual: the deadline that the last turn left; 0: none yet */
    atomic_int_least64_t next_ms;
    _Atomic(pthread_t) runner; /* the thread inside; valid while busy */
    tk_thread thread;
};

/* Loops that this thread is inside of: a callback of one may run another by hand. */
static _Thread_local int depth;

static void run_all(tk_mqueue_node *node)
{
    while (node != NULL) {
        tk_mqueue_node *next = node->next; /* the task may free itself */
        tk_task *task = TK_CONTAINER_OF(node, tk_task, node);
        task->run(task);
        node = next;
    }
}

static void run_tasks(tk_loop *loop)
{
    run_all(tk_mqueue_take_all(&loop->queue));
}

void tk_loop_run_late(tk_loop *loop)
{
    while (loop->late != NULL) {
        tk_mqueue_node *late = loop->late;
        loop->late = NULL;
        run_all(late);
    }
}

static void fire_timers(tk_loop *loop)
{
    for (int i = 0; i < FIRE_PER_TURN; i++) {
        tk_heap_node *node = tk_heap_pop_due(&loop->timers, loop->now_ms);
        if (node == NULL) {
            return;
        }
        tk_timer *timer = TK_CONTAINER_OF(node, tk_timer, node);
        timer->fire(timer);
    }
}

static void turn(tk_loop *loop)
{
    loop->now_ms = tk_clock_mono_ms(loop->clock);
    run_tasks(loop);
    loop->transport->ops->process(loop->transport);
    loop->now_ms = tk_clock_mono_ms(loop->clock);
    fire_timers(loop);
    tk_loop_run_late(loop);
}

static int64_t next_deadline(tk_loop *loop)
{
    int64_t deadline = loop->transport->ops->deadline_ms(loop->transport);
    tk_heap_node *first = tk_heap_min(&loop->timers);
    return first != NULL ? TK_MIN(deadline, first->deadline) : deadline;
}

/* Milliseconds until then; -1: never. */
static int wait_ms(const tk_loop *loop, int64_t deadline)
{
    if (deadline == INT64_MAX) {
        return -1;
    }
    int64_t left = deadline - tk_clock_mono_ms(loop->clock);
    return left <= 0 ? 0 : (int)TK_MIN(left, (int64_t)INT32_MAX);
}

bool tk_loop_drive(tk_loop *loop, int64_t max_ms)
{
    if (loop->threaded || atomic_load(&loop->busy)) {
        return false;
    }
    int64_t left = tk_loop_deadline_ms(loop);
    int64_t wait = left < 0 ? max_ms : TK_MIN(left, max_ms);
    struct pollfd fd = {.fd = loop->epoll_fd, .events = POLLIN};
    (void)poll(&fd, 1, (int)TK_MIN(wait, (int64_t)INT32_MAX));
    return tk_loop_process(loop, NULL) == TINKC_OK;
}

static void enter(tk_loop *loop)
{
    atomic_store(&loop->runner, pthread_self());
    atomic_store(&loop->busy, true);
    depth++;
}

static void leave(tk_loop *loop)
{
    depth--;
    atomic_store(&loop->runner, (pthread_t)0); /* so that `busy` alone names no thread */
    atomic_store(&loop->busy, false);
}

static void thread_main(void *user)
{
    tk_loop *loop = user;
    enter(loop);
    while (!atomic_load(&loop->stop)) {
        struct epoll_event events[2];
        int wait = wait_ms(loop, next_deadline(loop));
        wait = tk_mqueue_rest(&loop->queue) ? wait : 0;
        (void)epoll_wait(loop->epoll_fd, events, 2, wait);
        turn(loop);
    }
    leave(loop);
}

/* ---- life ---- */

/* The transport's epoll, if it has one, takes the queue's descriptor, too: one epoll inside
 * another would cost a way through both for each event. The copy of its descriptor outlives
 * the transport. */
static tinkc_code open_epoll(tk_loop *loop, tk_err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = TK_HTTP_NOT_MINE};
    int fd = loop->transport->ops->fd(loop->transport);
    loop->epoll_fd =
        fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        return tk_err_set(err, TINKC_E_IO, "no epoll: error %d", errno);
    }
    fd = tk_mqueue_fd(&loop->queue);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        int error = errno;
        close(loop->epoll_fd);
        return tk_err_set(err, TINKC_E_IO, "epoll_ctl: error %d", error);
    }
    return TINKC_OK;
}

tinkc_code tk_loop_new(tk_loop **out, const tk_loop_options *options, tk_err *err)
{
    tk_loop *loop = tk_zalloc(sizeof(*loop));
    if (loop == NULL) {
        return tk_err_nomem(err);
    }
    loop->clock = options->clock;
    loop->transport = options->transport;
    loop->threaded = options->threaded;
    loop->on_stop = options->on_stop;
    loop->user = options->user;
    loop->now_ms = tk_clock_mono_ms(loop->clock);
    tinkc_code code = tk_mqueue_init(&loop->queue, err);
    if (code != TINKC_OK) {
        tk_free(loop);
        return code;
    }
    code = open_epoll(loop, err);
    if (code == TINKC_OK && loop->threaded) {
        code =
            tk_thread_start(&loop->thread, options->thread_name, thread_main, loop, err);
        if (code != TINKC_OK) {
            close(loop->epoll_fd);
        }
    }
    if (code != TINKC_OK) {
        tk_mqueue_dispose(&loop->queue);
        tk_free(loop);
        return code;
    }
    *out = loop;
    return TINKC_OK;
}

void tk_loop_stop(tk_loop *loop)
{
    if (loop->ending) {
        return;
    }
    tk_mqueue_close(&loop->queue);
    atomic_store(&loop->stop, true);
    if (loop->threaded) {
        tk_mqueue_wake(&loop->queue);
        tk_thread_join(&loop->thread);
    }
    enter(loop); /* what runs below runs as if on the loop's thread */
    run_tasks(loop);
    loop->ending = true;
    if (loop->on_stop != NULL) {
        loop->on_stop(loop->user);
    }
    loop->transport->ops->close(loop->transport);
    tk_loop_run_late(loop);
    leave(loop);
}

void tk_loop_close(tk_loop **loop_ref)
{
    tk_loop *loop = *loop_ref;
    *loop_ref = NULL;
    if (loop == NULL) {
        return;
    }
    tk_loop_stop(loop);
    close(loop->epoll_fd);
    tk_mqueue_dispose(&loop->queue);
    tk_free(loop);
}

bool tk_loop_post(tk_loop *loop, tk_task *task)
{
    return tk_mqueue_post(&loop->queue, &task->node);
}

void tk_loop_later(tk_loop *loop, tk_task *task)
{
    task->node.next = loop->late;
    loop->late = &task->node;
}

bool tk_loop_is_inside(const tk_loop *loop)
{
    return atomic_load(&loop->busy) &&
           pthread_equal(atomic_load(&loop->runner), pthread_self());
}

bool tk_loop_is_current(void)
{
    return depth > 0;
}

int tk_loop_fd(const tk_loop *loop)
{
    return loop->epoll_fd;
}

int64_t tk_loop_deadline_ms(const tk_loop *loop)
{
    return wait_ms(loop, atomic_load(&loop->next_ms));
}

tinkc_code tk_loop_process(tk_loop *loop, tk_err *err)
{
    bool idle = false;
    if (atomic_load(&loop->stop)) {
        return tk_err_set(err, TINKC_E_STATE, "the service was closed");
    }
    if (loop->threaded || !atomic_compare_exchange_strong(&loop->busy, &idle, true)) {
        return tk_err_set(err, TINKC_E_STATE,
                          loop->threaded ? "the service runs on a thread of its own"
                                         : "another thread is in process()");
    }
    enter(loop);
    turn(loop);
    atomic_store(&loop->next_ms, next_deadline(loop));
    leave(loop);
    return TINKC_OK;
}

/* ---- on the loop's thread ---- */

int64_t tk_loop_now_ms(const tk_loop *loop)
{
    return loop->now_ms;
}

void tk_timer_init(tk_timer *timer, void (*fire)(tk_timer *timer))
{
    *timer = (tk_timer){.fire = fire};
}

void tk_loop_timer_set(tk_loop *loop, tk_timer *timer, int64_t at_ms)
{
    if (!loop->ending) {
        tk_heap_move(&loop->timers, &timer->node, at_ms);
    }
}

void tk_loop_timer_clear(tk_loop *loop, tk_timer *timer)
{
    tk_heap_remove(&loop->timers, &timer->node);
}

tinkc_code tk_loop_submit(tk_loop *loop, tk_http_request *request, tk_err *err)
{
    if (loop->ending) {
        return tk_err_set(err, TINKC_E_CANCELLED, "the service is being closed");
    }
    return loop->transport->ops->submit(loop->transport, request, err);
}

void tk_loop_cancel(tk_loop *loop, tk_http_request *request)
{
    loop->transport->ops->cancel(loop->transport, request);
}

void tk_loop_resume(tk_loop *loop, tk_http_request *request)
{
    if (!loop->ending) {
        loop->transport->ops->resume(loop->transport, request);
    }
}
