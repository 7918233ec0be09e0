/* An operation: what a call of the public API becomes. Created on the caller's thread,
 * lives on the loop's thread, ends exactly once by completing its future.
 *
 * Life: tk_op_init, tk_op_submit (posts it), `start` on the loop's thread, ...,
 * tk_op_complete or tk_op_fail. `cancel` is called at most once, on the loop's thread,
 * when the caller cancels or the service closes, and only between start and end; it
 * must lead to the end, at once or when what it cancelled reports back. */
#ifndef CLIENT_OP_H
#define CLIENT_OP_H

#include <stdatomic.h>

#include "base/list.h"
#include "client/core/handle.h"
#include "client/future/tk_future.h"
#include "http/loop.h"

typedef struct tk_op tk_op;

typedef struct tk_op_type {
    void (*start)(tk_op *op);
    void (*cancel)(tk_op *op);
    void (*destroy)(tk_op *op); /* frees what the operation owns, and itself */
} tk_op_type;

struct tk_op {
    const tk_op_type *type;
    tk_handle *handle;    /* a reference */
    tk_core *core;        /* the handle's */
    tinkc_future *future; /* a reference */
    tk_list node;         /* in the core's list while it runs */
    tk_list pending;      /* in its tk_waits from the call on */
    int64_t tell_ms;      /* when it is logged next; loop thread */
    tk_task task;
    tk_task cancel_task;
    atomic_bool cancel_posted;
    bool started, ended, cancelled;
    tk_timer deadline; /* loop thread */
    int64_t due_ms;    /* monotonic; TK_FOREVER: none */
    bool is_late;      /* cancelled by its deadline */
    bool is_foreign;   /* talks to another server: the service's own is not asked and gets
                      * no telemetry */
};

/* Takes a reference of the handle; makes the future. */
void tk_op_init(tk_op *op, const tk_op_type *type, tk_handle *handle,
                const char *operation, tk_result_kind kind);

/* Gives it `ms` from now: TINKC_E_TIMEOUT unless it is done by then. An earlier deadline,
 * such as the one of the handle's context, stays. Before tk_op_submit. */
void tk_op_set_deadline(tk_op *op, int64_t ms);

/* Hands the operation to the loop and returns the caller's reference of its future. When
 * the service is closing (or the future could not be made) the future is done with that
 * error and the operation is destroyed. Thread: the caller's. */
tinkc_future *tk_op_submit(tk_op *op);

/* Refused before it was submitted: completes the future and destroys the operation. */
tinkc_future *tk_op_refuse(tk_op *op, const tk_err *err);

/* ---- loop thread ---- */

/* The one end: completes the future (unless the caller cancelled before) and destroys the
 * operation. `result` is freed with `free_result` when it is not wanted any more. */
void tk_op_complete(tk_op *op, void *result, void (*free_result)(void *));
void tk_op_fail(tk_op *op, const tk_err *err);

/* Completes the future with the error, for an operation that is cancelled and cannot end
 * yet; tk_op_fail follows. */
void tk_op_give_up(tk_op *op, const tk_err *err);

/* Cancels every running operation of a core. */
void tk_op_cancel_all(tk_list *running);

#endif
