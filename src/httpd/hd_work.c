/* The queues of requests and the threads that empty them. A delayed request waits in a
 * heap by its time; every worker that has nothing to do waits until the first of them. */
#include "httpd/hd_work.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "httpd/hd_reply.h"

/* Queues, in the order in which a worker looks at them. */
typedef enum lane { PROMPT, LIGHT, HEAVY, WAITING, SLOW, LANES } lane;

#define BIT(lane) (1u << (lane))

/* Which queues each worker takes from. The first one is never long in a handler. */
static const unsigned lanes_of[] = {
    BIT(PROMPT),
    BIT(PROMPT) | BIT(LIGHT),
    BIT(PROMPT) | BIT(LIGHT) | BIT(HEAVY),
    BIT(PROMPT) | BIT(LIGHT) | BIT(HEAVY),
    BIT(WAITING),
    BIT(WAITING),
    BIT(SLOW),
    BIT(SLOW),
};
#define WORKERS TK_ARRAY_LEN(lanes_of)

typedef struct worker {
    hd_work *work;
    tk_thread thread;
    unsigned lanes; /* constant */
    bool idle;      /* under the lock: waits, and nothing has woken it */
    tk_cond wake;
} worker;

struct hd_work {
    hd_dispatch dispatch; /* constant */
    tk_mutex lock;
    tk_list queues[LANES]; /* hd_request.queued */
    tk_heap later;         /* hd_request.later */
    bool hurried;          /* nothing is delayed any more */
    bool closed;
    worker workers[WORKERS];
    unsigned n;       /* that run */
    unsigned n_conds; /* workers whose condition is initialised */
};

static lane lane_of(const hd_request *request)
{
    unsigned flags = request->route->flags;
    if ((flags & HD_ROUTE_SLOW) != 0) {
        return SLOW;
    }
    if (request->may_wait) {
        return WAITING;
    }
    return (flags & HD_ROUTE_PROMPT) != 0  ? PROMPT
           : (flags & HD_ROUTE_LIGHT) != 0 ? LIGHT
           : (flags & HD_ROUTE_HEAVY) != 0 ? HEAVY
                                           : WAITING;
}

/* Under the lock. */
static void wake(worker *one)
{
    one->idle = false;
    tk_cond_signal(&one->wake);
}

static void wake_all(hd_work *work)
{
    for (unsigned i = 0; i < work->n; i++) {
        wake(&work->workers[i]);
    }
}

/* Queues a request and wakes a worker that may take it. Under the lock. */
static void push(hd_work *work, hd_request *request)
{
    lane to = lane_of(request);
    request->may_wait = to == WAITING || to == SLOW;
    tk_list_push_back(&work->queues[to], &request->queued);
    for (unsigned i = 0; i < work->n; i++) {
        worker *one = &work->workers[i];
        if (one->idle && (one->lanes & BIT(to)) != 0) {
            wake(one);
            return;
        }
    }
}

/* Queues the delayed requests whose time has come. Under the lock. */
static void push_due(hd_work *work)
{
    tk_heap_node *node;
    if (tk_heap_min(&work->later) == NULL) {
        return;
    }
    int64_t now = work->hurried ? TK_FOREVER : tk_clock_mono_ns(NULL);
    while ((node = tk_heap_pop_due(&work->later, now)) != NULL) {
        push(work, TK_CONTAINER_OF(node, hd_request, later));
    }
}

/* Under the lock. */
static tk_list *pop(worker *me)
{
    tk_list *node = NULL;
    for (unsigned i = 0; node == NULL && i < LANES; i++) {
        if ((me->lanes & BIT(i)) != 0) {
            node = tk_list_pop_front(&me->work->queues[i]);
        }
    }
    return node;
}

static hd_request *take(worker *me)
{
    hd_work *work = me->work;
    tk_list *node;
    tk_mutex_lock(&work->lock);
    for (;;) {
        push_due(work);
        node = pop(me);
        if (node != NULL || work->closed) {
            break;
        }
        const tk_heap_node *next = tk_heap_min(&work->later);
        me->idle = true;
        (void)tk_cond_wait_until(&me->wake, &work->lock,
                                 next != NULL ? next->deadline : TK_FOREVER);
        me->idle = false;
    }
    tk_mutex_unlock(&work->lock);
    return node != NULL ? TK_CONTAINER_OF(node, hd_request, queued) : NULL;
}

/* Every worker looks again when the next one is due. */
static void delay(hd_work *work, hd_request *request)
{
    tk_mutex_lock(&work->lock);
    tk_heap_put(&work->later, &request->later, request->due_ns);
    wake_all(work);
    tk_mutex_unlock(&work->lock);
}

static hd_verdict dispatch(const hd_work *work, hd_request *request)
{
    hd_verdict verdict = work->dispatch.handle(work->dispatch.user, request);
    if (verdict == HD_ANSWERED && request->status == 0) {
        (void)hd_reply_fail(request, 500, "the handler gave no answer");
    }
    return verdict;
}

static void run(void *user)
{
    worker *me = user;
    hd_request *request;
    while ((request = take(me)) != NULL) {
        hd_verdict verdict = dispatch(me->work, request);
        if (verdict == HD_LATER) {
            delay(me->work, request);
        } else if (verdict == HD_ANSWERED) {
            hd_request_resume(request);
        }
    }
}

bool hd_work_is_prompt(const hd_work *work, const hd_request *request)
{
    return work->dispatch.is_quick && (request->route->flags & HD_ROUTE_PROMPT) != 0 &&
           request->body.n <= TK_HD_PROMPT_BYTES;
}

hd_verdict hd_work_handle(hd_work *work, hd_request *request)
{
    request->is_inline = true;
    hd_verdict verdict = dispatch(work, request);
    request->is_inline = false;
    return verdict;
}

void hd_work_post(hd_work *work, hd_request *request)
{
    if (request->due_ns > 1) { /* 1 is long ago */
        delay(work, request);
        return;
    }
    tk_mutex_lock(&work->lock);
    push(work, request);
    tk_mutex_unlock(&work->lock);
}

void hd_work_hurry(hd_work *work)
{
    tk_mutex_lock(&work->lock);
    work->hurried = true;
    wake_all(work);
    tk_mutex_unlock(&work->lock);
}

static tinkc_code start_workers(hd_work *work, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && work->n_conds < WORKERS) {
        worker *one = &work->workers[work->n_conds];
        *one = (worker){.work = work, .lanes = lanes_of[work->n_conds]};
        code = tk_cond_init(&one->wake, err);
        work->n_conds += code == TINKC_OK;
    }
    for (unsigned i = 0; code == TINKC_OK && i < WORKERS; i++) {
        worker *one = &work->workers[i];
        code = tk_thread_start(&one->thread, "tinkc-worker", run, one, err);
        if (code == TINKC_OK) { /* the threads read it */
            tk_mutex_lock(&work->lock);
            work->n++;
            tk_mutex_unlock(&work->lock);
        }
    }
    return code;
}

tinkc_code hd_work_new(hd_work **out, const hd_dispatch *dispatch, tk_err *err)
{
    hd_work *work = tk_zalloc(sizeof(*work));
    if (work == NULL) {
        return tk_err_nomem(err);
    }
    work->dispatch = *dispatch;
    for (unsigned i = 0; i < LANES; i++) {
        tk_list_init(&work->queues[i]);
    }
    tk_heap_init(&work->later);
    tinkc_code code = tk_mutex_init(&work->lock, err);
    if (code != TINKC_OK) {
        tk_free(work);
        return code;
    }
    code = start_workers(work, err);
    if (code != TINKC_OK) {
        hd_work_free(work);
        return code;
    }
    *out = work;
    return TINKC_OK;
}

void hd_work_free(hd_work *work)
{
    if (work == NULL) {
        return;
    }
    tk_mutex_lock(&work->lock);
    work->closed = true;
    wake_all(work);
    tk_mutex_unlock(&work->lock);
    for (unsigned i = 0; i < work->n; i++) {
        tk_thread_join(&work->workers[i].thread);
    }
    for (unsigned i = 0; i < work->n_conds; i++) {
        tk_cond_dispose(&work->workers[i].wake);
    }
    tk_mutex_dispose(&work->lock);
    tk_free(work);
}
