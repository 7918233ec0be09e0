/* Worker threads, see srv_work.h. */
#include "server/http/srv_work.h"

#include "base/mem.h"
#include "base/thread.h"
#include "server/api/srv_route.h"
#include "server/http/srv_fault.h"
#include "server/http/srv_reply.h"

typedef struct worker {
    srv_work *work;
    tk_thread thread;
    bool light_only;
} worker;

struct srv_work {
    tk_mutex lock;
    tk_cond wake;
    tk_list light, heavy; /* srv_request.queued */
    bool closed;
    worker *workers;
    unsigned n;
};

static srv_request *take(worker *me)
{
    srv_work *work = me->work;
    tk_list *node = NULL;
    tk_mutex_lock(&work->lock);
    for (;;) {
        node = tk_list_pop_front(&work->light);
        if (node == NULL && !me->light_only) {
            node = tk_list_pop_front(&work->heavy);
        }
        if (node != NULL || work->closed) {
            break;
        }
        tk_cond_wait(&work->wake, &work->lock);
    }
    tk_mutex_unlock(&work->lock);
    return node != NULL ? TK_CONTAINER_OF(node, srv_request, queued) : NULL;
}

static void run(void *user)
{
    worker *me = user;
    srv_request *request;
    while ((request = take(me)) != NULL) {
        if (srv_faults_handle(request->server, request) == SRV_PARKED) {
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
    bool heavy = (request->route->flags & SRV_ROUTE_HEAVY) != 0;
    tk_mutex_lock(&work->lock);
    tk_list_push_back(heavy ? &work->heavy : &work->light, &request->queued);
    tk_mutex_unlock(&work->lock);
    /* A signal could reach the worker that may not take it. */
    if (heavy) {
        tk_cond_broadcast(&work->wake);
    } else {
        tk_cond_signal(&work->wake);
    }
}

tinkc_code srv_work_new(srv_work **out, unsigned threads, tk_err *err)
{
    srv_work *work = tk_zalloc(sizeof(*work));
    worker *workers = tk_zarray(TK_MAX(threads, 2), sizeof(*workers));
    if (work == NULL || workers == NULL) {
        tk_free(work);
        tk_free(workers);
        return tk_err_nomem(err);
    }
    work->workers = workers;
    tk_list_init(&work->light);
    tk_list_init(&work->heavy);
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
