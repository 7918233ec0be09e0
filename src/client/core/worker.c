/* A job is in `waiting` until the thread takes it, then in no list; its end is a task of
 * the loop, or, when the loop has closed its queue, an entry of `late` that
 * tk_worker_stop deals with. */
#include "client/core/worker.h"

tinkc_code tk_worker_init(tk_worker *worker, tk_loop *loop, bool is_manual, tk_err *err)
{
    tinkc_code code = tk_cond_init_with(&worker->changed, &worker->lock, err);
    if (code == TINKC_OK) {
        worker->loop = loop;
        worker->is_manual = is_manual;
        worker->is_open = true;
        tk_list_init(&worker->waiting);
        tk_list_init(&worker->late);
    }
    return code;
}

void tk_worker_dispose(tk_worker *worker)
{
    if (worker->is_open) {
        tk_cond_dispose(&worker->changed);
        tk_mutex_dispose(&worker->lock);
        worker->is_open = false;
    }
}

bool tk_worker_is_inside(tk_worker *worker)
{
    tk_mutex_lock(&worker->lock);
    bool inside = worker->has_thread && tk_thread_is_current(&worker->thread);
    tk_mutex_unlock(&worker->lock);
    return inside;
}

/* ---- the thread ---- */

static tk_job *take(tk_worker *worker)
{
    tk_mutex_lock(&worker->lock);
    while (!worker->stop && tk_list_is_empty(&worker->waiting)) {
        tk_cond_wait(&worker->changed, &worker->lock);
    }
    tk_list *node = worker->stop ? NULL : tk_list_pop_front(&worker->waiting);
    tk_mutex_unlock(&worker->lock);
    return node != NULL ? TK_CONTAINER_OF(node, tk_job, node) : NULL;
}

static void report(tk_worker *worker, tk_job *job)
{
    if (!tk_loop_post(worker->loop, &job->task)) {
        tk_mutex_lock(&worker->lock);
        tk_list_push_back(&worker->late, &job->node);
        tk_mutex_unlock(&worker->lock);
    }
}

static void thread_main(void *user)
{
    tk_worker *worker = user;
    tk_job *job;
    while ((job = take(worker)) != NULL) {
        job->run(job);
        report(worker, job);
    }
}

/* ---- the loop's thread ---- */

static void run_done(tk_task *task)
{
    tk_job *job = TK_CONTAINER_OF(task, tk_job, task);
    job->done(job);
}

/* The lock is held while the thread starts, so that it finds itself in `thread`. */
static tinkc_code add(tk_worker *worker, tk_job *job, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    tk_mutex_lock(&worker->lock);
    if (!worker->has_thread) {
        code =
            tk_thread_start(&worker->thread, "tinkc-callback", thread_main, worker, err);
        worker->has_thread = code == TINKC_OK;
    }
    if (code == TINKC_OK) {
        tk_list_push_back(&worker->waiting, &job->node);
        tk_cond_signal(&worker->changed);
    }
    tk_mutex_unlock(&worker->lock);
    return code;
}

tinkc_code tk_worker_post(tk_worker *worker, tk_job *job, tk_err *err)
{
    job->task.run = run_done;
    tk_list_init(&job->node);
    if (!worker->is_manual) {
        return add(worker, job, err);
    }
    job->run(job);
    job->done(job);
    return TINKC_OK;
}

bool tk_worker_take_back(tk_worker *worker, tk_job *job)
{
    tk_mutex_lock(&worker->lock);
    bool is_waiting = tk_list_is_linked(&job->node);
    tk_list_remove(&job->node);
    tk_mutex_unlock(&worker->lock);
    return is_waiting;
}

void tk_worker_stop(tk_worker *worker)
{
    tk_mutex_lock(&worker->lock);
    worker->stop = true;
    tk_cond_signal(&worker->changed);
    tk_mutex_unlock(&worker->lock);
    if (!worker->has_thread) {
        return;
    }
    tk_thread_join(&worker->thread);
    worker->has_thread = false;
    tk_list *node;
    while ((node = tk_list_pop_front(&worker->late)) != NULL) {
        tk_job *job = TK_CONTAINER_OF(node, tk_job, node);
        job->done(job);
    }
}
