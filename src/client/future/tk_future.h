/* The inside of tinkc_future: how operations report their stage and complete.
 *
 * An operation owns one reference while it runs. The future knows the loop behind it only
 * through a tk_driver, so that waiting works in manual mode too. */
#ifndef CLIENT_TK_FUTURE_H
#define CLIENT_TK_FUTURE_H

#include <tinkc/future.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"
#include "client/insight/hooks.h"
#include "http/loop.h"

/* What kind of result a future carries; take functions check it. */
typedef enum tk_result_kind {
    TK_RESULT_NONE,
    TK_RESULT_CAPABILITIES,
    TK_RESULT_TRAINING,
    TK_RESULT_SAMPLING,
    TK_RESULT_FWDBWD,
    TK_RESULT_METRICS,
    TK_RESULT_STEP,
    TK_RESULT_TEXT,
    TK_RESULT_MODEL_INFO,
    TK_RESULT_SAMPLES,
    TK_RESULT_LOGPROBS,
    TK_RESULT_RUN,
    TK_RESULT_RUNS,
    TK_RESULT_CHECKPOINTS,
    TK_RESULT_ARCHIVE,
    TK_RESULT_WEIGHTS_INFO,
    TK_RESULT_SAMPLER_INFO,
    TK_RESULT_SESSION_INFO,
    TK_RESULT_SESSIONS,
    TK_RESULT_WHOAMI,
    TK_RESULT_AUDIT,
    TK_RESULT_BILLING,
    TK_RESULT_STORAGE,
    TK_RESULT_FOUND_SESSIONS,
    TK_RESULT_FILE_URLS,
    TK_RESULT_RAW
} tk_result_kind;

typedef struct tk_driver tk_driver;

/* What a waiting thread needs of a service. Reference-counted by its owner. */
typedef struct tk_driver_ops {
    void (*ref)(tk_driver *driver);
    void (*unref)(tk_driver *driver);
    /* Manual loops only: waits up to max_ms for something to do, and does it. False when
     * this loop has its own thread, or another thread is driving it right now: then the
     * caller just sleeps. */
    bool (*drive)(tk_driver *driver, int64_t max_ms);
    /* On the loop's thread: runs the task at the end of the turn, or before code of the
     * user does (`now`). False elsewhere. NULL: there is no loop. */
    bool (*later)(tk_driver *driver, tk_task *task);
    void (*now)(tk_driver *driver);
    /* Whether the caller is a callback on the loop's thread, where a wait for something
     * that this loop does would never end. NULL: there is no loop. */
    bool (*is_inside)(tk_driver *driver);
} tk_driver_ops;

struct tk_driver {
    const tk_driver_ops *ops;
    const tk_clock *clock;
    bool is_manual;
    tk_hooks *hooks;           /* NULL: none */
    const tk_context *context; /* of what is called through it; or NULL */
};

/* Never NULL: when memory is short this is a static future that is done with
 * TINKC_E_NOMEM (tk_future_is_static: do not wire an operation to it). `operation` is a
 * static name. `driver` may be NULL (errors before there is a service); a reference is
 * held. Thread: any. */
tinkc_future *tk_future_new(tk_driver *driver, const char *operation,
                            tk_result_kind kind);
bool tk_future_is_static(const tinkc_future *future);
const char *tk_future_operation(const tinkc_future *future); /* as given; static */

/* A future that is done with this error: for arguments refused at the call. */
tinkc_future *tk_future_refused(tk_driver *driver, const char *operation,
                                tk_result_kind kind, const tk_err *err);

/* Completes: the first of complete, fail and cancel wins, and says so by returning true.
 * On true `result` belongs to the future, which frees it with `free_result` if it is not
 * taken; on false the caller still owns it. `cause` is taken in every case; may be NULL.
 * Thread: any. */
bool tk_future_complete(tinkc_future *future, void *result, void (*free_result)(void *));
bool tk_future_fail(tinkc_future *future, const tk_err *err, tinkc_error *cause);

/* What tinkc_future_cancel does beyond completing: called at most once, on the thread
 * that cancels, after the future is done; typically posts a task to the loop. `user` must
 * stay valid until the operation has ended: the operation calls
 * tk_future_forget_cancel before it frees itself, which waits for a call under way. */
void tk_future_on_cancel(tinkc_future *future, void (*fn)(void *user), void *user);
void tk_future_forget_cancel(tinkc_future *future);

/* Makes `whole` a future of two others (`second` may be NULL), of which it holds
 * references: cancelling it cancels them, and its explanation is that of the first one
 * that is not done. To be called once, before another thread has `whole`. */
void tk_future_join(tinkc_future *whole, tinkc_future *first, tinkc_future *second);

/* Progress notes; cheap; any thread. */
void tk_future_stage(tinkc_future *future, tinkc_stage stage);
void tk_future_attempt(tinkc_future *future);              /* one more request was sent */
void tk_future_answered(tinkc_future *future, int status); /* -1: connection error */
/* Whether that is another state than before. */
bool tk_future_queue(tinkc_future *future, tinkc_queue_state state, tk_str reason);
/* The span of the operation; it ends when the future is done. */
const tk_span *tk_future_span(const tinkc_future *future);
void tk_future_request_id(tinkc_future *future, tk_str id);
bool tk_future_is_paused(tinkc_future *future); /* as the last tk_future_queue reported */

/* The result of a done future, for take functions: TINKC_OK and the result in the pointer
 * at `out` (a `T **` for any T; not used for TK_RESULT_NONE), or TINKC_E_STATE,
 * TINKC_E_INVALID when out is NULL, or the future's own error, in public form in *err
 * (which may be NULL). */
tinkc_code tk_future_take(void *out, tinkc_future *future, tk_result_kind kind,
                          tinkc_error **err);

/* For blocking twins: waits without end, takes, frees the future. For TK_RESULT_NONE
 * `out` is NULL. */
tinkc_code tk_future_wait_take(void *out, tinkc_future *future, tk_result_kind kind,
                               tinkc_error **err);

#endif
