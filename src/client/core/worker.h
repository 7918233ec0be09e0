/* Runs code of the user that may take long, so that the loop never waits for it: one job
 * after the other, in the order in which they were posted.
 *
 * The core owns one. Its thread starts with the first job and ends in tk_worker_stop.
 * With TINKC_LOOP_MANUAL there is no thread: a job runs where it is posted, inside
 * tinkc_service_process. Lock: its own, a leaf; no job runs under it. */
#ifndef CLIENT_WORKER_H
#define CLIENT_WORKER_H

#include "base/list.h"
#include "base/thread.h"
#include "http/loop.h"

/* Embedded in what it belongs to, which lives until `done`. */
typedef struct tk_job tk_job;
struct tk_job {
    void (*run)(tk_job *job);  /* on the worker's thread */
    void (*done)(tk_job *job); /* then on the loop's; may free the job */
    /* Private to worker.c. */
    tk_list node;
    tk_task task;
};

typedef struct tk_worker {
    tk_loop *loop; /* borrowed */
    bool is_manual;
    tk_mutex lock;
    tk_cond changed;
    tk_list waiting; /* of tk_job */
    tk_list late;    /* of tk_job: has run, and the loop takes no more tasks */
    tk_thread thread;
    bool is_open, has_thread, stop;
} tk_worker;

TK_NODISCARD tinkc_code tk_worker_init(tk_worker *worker, tk_loop *loop, bool is_manual,
                                       tk_err *err);
void tk_worker_dispose(tk_worker *worker); /* accepts a zeroed one */

/* Thread: any. Whether the caller is code that the worker's thread runs. */
bool tk_worker_is_inside(tk_worker *worker);

/* After the loop has stopped: waits for the job that runs, calls its `done` as if on the
 * loop's thread, and ends the thread. Jobs that have not begun were taken back before. */
void tk_worker_stop(tk_worker *worker);

/* ---- loop thread ---- */

/* Hands the job over. TINKC_E_NOMEM or TINKC_E_IO when the thread cannot be started:
 * nothing is called then. Without a thread both functions have been called when it
 * returns. */
TK_NODISCARD tinkc_code tk_worker_post(tk_worker *worker, tk_job *job, tk_err *err);

/* True when the job is not under way: none of its functions will be called any more.
 * False: `done` will be. Only for a job that was posted and is not done. */
TK_NODISCARD bool tk_worker_take_back(tk_worker *worker, tk_job *job);

#endif
