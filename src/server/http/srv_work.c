/* The queues of requests and the threads that empty them. A delayed request waits in a
 * heap by its time; every worker that has nothing to do waits until the first of them. */
#include "server/http/srv_work.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "server/http/srv_reply.h"

typedef struct worker {
    srv_work *work;
    tk_thread thread;
    bool light_only;
} worker;

struct srv_work {
    srv_dispatch dispatch; /* constant */
    tk_mutex lock;
    tk_cond wake;
    tk_list light, heavy; /* srv_request.queued */
    tk_heap later;        /* srv_request.later */
    bool hurried;         /* nothing is delayed any more */
    bool closed;
    worker *workers;
    unsigned n;
};

static bool is_heavy(const srv_request *request)
{
    return (request->route->flags & SRV_ROUTE_HEAVY) != 0;
}

/* Under the lock. */
static void push(srv_work *work, srv_request *request)
{
    tk_list_push_back(is_heavy(request) ? &work->heavy : &work->light, &request->queued);
}

/* Queues the delayed requests whose time has come. Under the lock. */
static void push_due(srv_work *work)
{
    tk_heap_node *node;
    if (tk_heap_min(&work->later) == NULL) {
        return;
    }
    int64_t now = work->hurried ? TK_FOREVER : tk_clock_mono_ns(NULL);
    while ((node = tk_heap_pop_due(&work->later, now)) != NULL) {
        push(work, TK_CONTAINER_OF(node, srv_request, later));
    }
}

static srv_request *take(worker *me)
{
    srv_work *work = me->work;
    tk_list *node = NULL;
    tk_mutex_lock(&work->lock);
    for (;;) {
        push_due(work);
        node = tk_list_pop_front(&work->light);
        if (node == NULL && !me->light_only) {
            node = tk_list_pop_front(&work->heavy);
        }
        if (node != NULL || work->closed) {
            break;
        }
        const tk_heap_node *next = tk_heap_min(&work->later);
        (void)tk_cond_wait_until(&work->wake, &work->lock,
                                 next != NULL ? next->deadline : TK_FOREVER);
    }
    tk_mutex_unlock(&work->lock);
    return node != NULL ? TK_CONTAINER_OF(node, srv_request, queued) : NULL;
}

/* Every worker looks again when the next one is due. */
static void delay(srv_work *work, srv_request *request)
{
    tk_mutex_lock(&work->lock);
    tk_heap_put(&work->later, &request->later, request->due_ns);
    tk_mutex_unlock(&work->lock);
    tk_cond_broadcast(&work->wake);
}

static void run(void *user)
{
    worker *me = user;
    const srv_dispatch *dispatch = &me->work->dispatch;
    srv_request *request;
    while ((request = take(me)) != NULL) {
        srv_verdict verdict = dispatch->handle(dispatch->user, request);
        if (verdict == SRV_PARKED) {
            continue;
        }
        if (verdict == SRV_LATER) {
            delay(me->work, request);
            continue;
        }
        if (request->status == 0) {
            (void)srv_reply_fail(request, 500, "the handler gave no answer");
        }
        srv_request_resume(request);
    }
}

void srv_work_post(srv_work *work, srv_request *request)
{
    bool heavy = is_heavy(request);
    tk_mutex_lock(&work->lock);
    push(work, request);
    tk_mutex_unlock(&work->lock);
    /* A signal could reach the worker that may not take it. */
    if (heavy) {
        tk_cond_broadcast(&work->wake);
    } else {
        tk_cond_signal(&work->wake);
    }
}

void srv_work_hurry(srv_work *work)
{
    tk_mutex_lock(&work->lock);
    work->hurried = true;
    tk_mutex_unlock(&work->lock);
    tk_cond_broadcast(&work->wake);
}

tinkc_code srv_work_new(srv_work **out, unsigned threads, const srv_dispatch *dispatch,
                        tk_err *err)
{
    srv_work *work = tk_zalloc(sizeof(*work));
    worker *workers = tk_zarray(TK_MAX(threads, 2), sizeof(*workers));
    if (work == NULL || workers == NULL) {
        tk_free(work);
        tk_free(workers);
        return tk_err_nomem(err);
    }
    work->workers = workers;
    work->dispatch = *dispatch;
    tk_list_init(&work->light);
    tk_list_init(&work->heavy);
    tk_heap_init(&work->later);
    tinkc_code code = tk_mutex_init(&work->lock, err);
    if (code == TINKC_OK) {
        code = tk_cond_init(&work->wake, err);
        if (code != TINKC_OK) {
            tk_mutex_dispose(&work->lock);
        }
    }
    if (code != TINKC_OK) {
        tk_free(workers);
        tk_free(work);
        return code;
    }
    for (unsigned i = 0; code == TINKC_OK && i < TK_MAX(threads, 2); i++) {
        workers[i] = (worker){.work = work, .light_only = i == 0};
        code = tk_thread_start(&workers[i].thread, "tinkc-worker", run, &workers[i], err);
        work->n += code == TINKC_OK;
    }
    if (code != TINKC_OK) {
        srv_work_free(work);
        return code;
    }
    *out = work;
    return TINKC_OK;
}

void srv_work_free(srv_work *work)
{
    if (work == NULL) {
        return;
    }
    tk_mutex_lock(&work->lock);
    work->closed = true;
    tk_mutex_unlock(&work->lock);
    tk_cond_broadcast(&work->wake);
    for (unsigned i = 0; i < work->n; i++) {
        tk_thread_join(&work->workers[i].thread);
    }
    tk_cond_dispose(&work->wake);
    tk_mutex_dispose(&work->lock);
    tk_free(work->workers);
    tk_free(work);
}
