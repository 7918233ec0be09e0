/* The cancel task may still be queued when an operation ends on its own; then the task,
 * which is the last to touch the operation, destroys it. */
#include "client/call/op.h"

#include "client/call/waits.h"
#include "client/core/core.h"
#include "wire/wire_error.h"

static void destroy(tk_op *op)
{
    tk_handle *handle = op->handle;
    tinkc_future_free(&op->future);
    op->type->destroy(op);
    tk_handle_unref(&handle);
}

static void cancel_now(tk_op *op)
{
    if (op->started && !op->ended && !op->cancelled) {
        op->cancelled = true;
        op->type->cancel(op);
    }
}

static void fire_deadline(tk_timer *timer)
{
    tk_op *op = TK_CONTAINER_OF(timer, tk_op, deadline);
    op->is_late = !op->cancelled;
    cancel_now(op);
}

static void run_start(tk_task *task)
{
    tk_op *op = TK_CONTAINER_OF(task, tk_op, task);
    op->started = true;
    tk_list_push_back(tk_core_running(op->core), &op->node);
    tk_waits_watch(tk_core_waits(op->core), op);
    if (op->due_ms != TK_FOREVER) {
        tk_loop_timer_set(tk_core_loop(op->core), &op->deadline, op->due_ms);
    }
    op->type->start(op);
}

static void run_cancel(tk_task *task)
{
    tk_op *op = TK_CONTAINER_OF(task, tk_op, cancel_task);
    atomic_store(&op->cancel_posted, false);
    if (op->ended) {
        destroy(op);
    } else {
        cancel_now(op);
    }
}

/* On the thread that cancels; the future waits for us before the operation may go. */
static void on_cancel(void *user)
{
    tk_op *op = user;
    atomic_store(&op->cancel_posted, true);
    if (!tk_loop_post(tk_core_loop(op->core), &op->cancel_task)) {
        atomic_store(&op->cancel_posted, false); /* closing: everything is cancelled */
    }
}

void tk_op_init(tk_op *op, const tk_op_type *type, tk_handle *handle,
                const char *operation, tk_result_kind kind)
{
    op->type = type;
    op->handle = tk_handle_ref(handle);
    op->core = handle->core;
    op->future = tk_future_new(&handle->driver, operation, kind);
    tk_list_init(&op->node);
    tk_list_init(&op->pending);
    op->task.run = run_start;
    op->cancel_task.run = run_cancel;
    atomic_init(&op->cancel_posted, false);
    tk_timer_init(&op->deadline, fire_deadline);
    op->due_ms = TK_FOREVER;
    const tinkc_context *context = tinkc_future_context(op->future);
    if (context != NULL && context->deadline_ms > 0) {
        tk_op_set_deadline(op, context->deadline_ms);
    }
}

void tk_op_set_deadline(tk_op *op, int64_t ms)
{
    int64_t now = tk_clock_mono_ms(tk_core_clock(op->core));
    op->due_ms = TK_MIN(op->due_ms, tk_clock_after(now, ms));
}

tinkc_future *tk_op_refuse(tk_op *op, const tk_err *err)
{
    tinkc_future *future = tinkc_future_ref(op->future);
    (void)tk_future_fail(future, err, NULL);
    destroy(op);
    return future;
}

tinkc_future *tk_op_submit(tk_op *op)
{
    tinkc_future *future = tinkc_future_ref(op->future);
    tk_err err = TK_ERR_INIT;
    if (tk_future_is_static(future)) {
        destroy(op);
        return future;
    }
    if (tk_core_check(op->core, &err) != TINKC_OK) {
        (void)tk_future_fail(future, &err, NULL);
        destroy(op);
        return future;
    }
    tk_future_on_cancel(future, on_cancel, op);
    tk_waits_enter(tk_core_waits(op->core), op);
    if (!tk_loop_post(tk_core_loop(op->core), &op->task)) {
        tk_waits_leave(tk_core_waits(op->core), op);
        tk_future_forget_cancel(future);
        tk_err_set(&err, TINKC_E_CANCELLED, "the service was closed");
        (void)tk_future_fail(future, &err, NULL);
        destroy(op);
    }
    return future;
}

/* Takes it out of the running ones; true when the caller must destroy it. */
static bool leave(tk_op *op)
{
    op->ended = true;
    tk_list_remove(&op->node);
    tk_loop_timer_clear(tk_core_loop(op->core), &op->deadline);
    tk_waits_leave(tk_core_waits(op->core), op);
    tk_future_forget_cancel(op->future);
    return !atomic_load(&op->cancel_posted);
}

void tk_op_complete(tk_op *op, void *result, void (*free_result)(void *))
{
    bool mine = leave(op);
    if (!tk_future_complete(op->future, result, free_result) && result != NULL &&
        free_result != NULL) {
        free_result(result);
    }
    if (mine) {
        destroy(op);
    }
}

void tk_op_give_up(tk_op *op, const tk_err *err)
{
    const char *operation = tk_future_operation(op->future);
    tk_err late = TK_ERR_INIT;
    if (op->is_late) {
        tk_err_set(&late, TINKC_E_TIMEOUT, "%s was not done before its deadline",
                   operation);
        err = &late;
    }
    if (tk_future_fail(op->future, err, NULL) && !op->is_foreign) {
        tk_telemetry_failed(tk_core_telemetry(op->core), operation, err,
                            tk_wire_error_is_user(err->http_status, err->category));
    }
}

void tk_op_fail(tk_op *op, const tk_err *err)
{
    bool mine = leave(op);
    tk_op_give_up(op, err);
    if (mine) {
        destroy(op);
    }
}

void tk_op_cancel_all(tk_list *running)
{
    /* Cancelling one may end others; each that was asked leaves or is marked, so look for
     * one that is not marked until there is none. */
    for (;;) {
        tk_op *next = NULL;
        for (tk_list *at = running->next; at != running && next == NULL; at = at->next) {
            tk_op *op = TK_CONTAINER_OF(at, tk_op, node);
            next = op->cancelled ? NULL : op;
        }
        if (next == NULL) {
            return;
        }
        cancel_now(next);
    }
}
