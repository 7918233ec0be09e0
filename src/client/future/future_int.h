/* Shared by future.c, future_status.c and queue.c. */
#ifndef CLIENT_FUTURE_INT_H
#define CLIENT_FUTURE_INT_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/thread.h"
#include "client/future/tk_future.h"
#include "client/values/error.h"

/* Locks: `lock` guards everything below it but for the atomics; it is a leaf except that
 * a queue's lock may be taken inside it, never the other way round. */
struct tinkc_future {
    atomic_size_t refs;
    tk_driver *driver;
    const char *operation;
    tk_result_kind kind;
    bool is_static;
    atomic_bool done;
    tk_span span;
    tk_mutex lock;
    tk_cond changed;
    bool is_settled; /* the outcome is decided; hooks run before it is done */
    void *result;
    void (*free_result)(void *);
    tinkc_error *error;
    bool taken;
    size_t sleepers;   /* threads in tinkc_future_wait */
    tk_task wake_task; /* wakes them when the loop's turn ends */
    tinkc_future_fn on_done;
    void *on_done_user;
    void (*on_free)(void *user);
    void *on_free_user;
    void (*on_cancel)(void *user);
    void *on_cancel_user;
    bool cancelling;    /* on_cancel is being called */
    tk_list waiters;    /* of tk_waiter: threads in tinkc_future_wait_any */
    tinkc_queue *queue; /* attached: holds a reference of ours, we hold one of it */
    tk_list queue_node;
    void *queue_tag;
    tinkc_future *parts[2]; /* tk_future_join: references, do not change; or NULL */
    /* the explanation */
    tinkc_stage stage;
    int64_t created_ms, stage_ms, answer_ms; /* answer_ms -1: never */
    int attempts, last_status;
    tinkc_queue_state queue_state;
    char reason[160];
    char request_id[96];
};

/* A thread that waits for one of several futures (future_any.c). */
typedef struct tk_waiter_gate {
    tk_mutex lock; /* inside a future's lock */
    tk_cond opened;
    bool is_open;
} tk_waiter_gate;

typedef struct tk_waiter {
    tk_list node;
    tk_waiter_gate *gate;
} tk_waiter;

/* Under the future's lock: lets the waiting threads look again. */
void tk_waiter_wake_all(tk_list *waiters);

int64_t tk_future_now_ms(const tinkc_future *future);

/* The future is done: moves it to the ready list. Called with no lock held. */
void tk_queue_ready(tinkc_queue *queue, tinkc_future *future);

/* Monotonic deadline for a timeout argument of the public API, on the real clock. */
int64_t tk_wait_deadline_ns(int64_t timeout_ms);

/* Longest sleep of a waiting thread that may have to drive a manual loop. */
#define TK_WAIT_SLICE_MS 20

/* Whether a wait for the future would stop the thread that has to complete it; and what
 * the caller is told then. */
bool tk_future_must_not_wait(const tinkc_future *future);
#define TK_WAIT_REFUSED "this call blocks: it cannot be made from a callback"

/* Waits until `changed` is signalled, the deadline has passed, or a moment has gone by in
 * which the caller drove a manual loop. The lock is held before and after. */
void tk_wait_change(tk_driver *driver, tk_cond *changed, tk_mutex *lock,
                    int64_t deadline_ns);

#endif
