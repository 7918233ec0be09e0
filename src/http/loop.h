/* The loop: one thread that owns a transport, timers and everything the client does
 * between two network events. Other threads only post tasks to it.
 *
 * Threaded: a thread of ours runs it. Manual: the caller runs tk_loop_process on any one
 * thread at a time. With a fake clock and a scripted transport a test drives it step by
 * step. */
#ifndef HTTP_LOOP_H
#define HTTP_LOOP_H

#include "base/clock.h"
#include "base/heap.h"
#include "base/mqueue.h"
#include "http/http.h"

typedef struct tk_loop tk_loop;
typedef struct tk_task tk_task;
typedef struct tk_timer tk_timer;

/* Embedded in what it belongs to; posted from any thread, run once on the loop's
 * thread. */
struct tk_task {
    tk_mqueue_node node;
    void (*run)(tk_task *task);
};

/* Embedded; used on the loop's thread only. */
struct tk_timer {
    tk_heap_node node;
    void (*fire)(tk_timer *timer);
};

typedef struct tk_loop_options {
    const tk_clock *clock;   /* borrowed, outlives the loop */
    tk_transport *transport; /* taken on success: closed with the loop */
    bool threaded;
    const char *thread_name;
    /* Called once while the loop stops, as if on its thread, after the last task and
     * before the transport is closed; may be NULL. */
    void (*on_stop)(void *user);
    void *user;
} tk_loop_options;

TK_NODISCARD tinkc_code tk_loop_new(tk_loop **out, const tk_loop_options *options,
                                    tk_err *err);

/* Thread: any but the loop's own. Joins the thread, runs the tasks that were posted,
 * calls on_stop, and closes the transport (requests in flight are done with CANCELLED).
 * Posting fails from now on; no timer fires any more. The second call has no effect. */
void tk_loop_stop(tk_loop *loop);

/* Stops the loop and frees it; no thread may use it any more. Sets *loop to NULL; accepts
 * NULL. */
void tk_loop_close(tk_loop **loop);

/* Thread: any. false when the loop is closing: the task stays with the caller. */
TK_NODISCARD bool tk_loop_post(tk_loop *loop, tk_task *task);

/* Loop thread: runs the task once when this turn ends, or at tk_loop_run_late. */
void tk_loop_later(tk_loop *loop, tk_task *task);
void tk_loop_run_late(tk_loop *loop);

bool tk_loop_is_inside(
    const tk_loop *loop);      /* whether the caller is on the loop's thread */
bool tk_loop_is_current(void); /* whether it is on the thread of any loop */

/* Manual mode; also used by waits. See tinkc_service_fd and friends for the contract. */
int tk_loop_fd(const tk_loop *loop);
/* Milliseconds from now to the deadline that the last tk_loop_process left; -1: none; 0
 * before the first one. The timers themselves are the loop's. Thread: any. */
int64_t tk_loop_deadline_ms(const tk_loop *loop);
TK_NODISCARD tinkc_code tk_loop_process(tk_loop *loop, tk_err *err);
/* Waits up to max_ms for something to do, and does it. False when another thread is
 * driving the loop right now, or it has its own thread. */
bool tk_loop_drive(tk_loop *loop, int64_t max_ms);

/* ---- on the loop's thread ---- */

int64_t
tk_loop_now_ms(const tk_loop *loop); /* monotonic; read once per turn of the loop */
void tk_timer_init(tk_timer *timer, void (*fire)(tk_timer *timer));
/* Arms or moves it; fires once, not before `at_ms`. Cannot fail. */
void tk_loop_timer_set(tk_loop *loop, tk_timer *timer, int64_t at_ms);
void tk_loop_timer_clear(tk_loop *loop, tk_timer *timer);

TK_NODISCARD tinkc_code tk_loop_submit(tk_loop *loop, tk_http_request *request,
                                       tk_err *err);
void tk_loop_cancel(tk_loop *loop, tk_http_request *request);
void tk_loop_resume(tk_loop *loop, tk_http_request *request);

#endif
