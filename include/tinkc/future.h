/* Futures: every operation of the library that talks to a server returns one.
 *
 * A function that returns `tinkc_future *` never blocks on the network and never returns
 * NULL: bad arguments, a closed handle and lack of memory come out of the future like any
 * other error. A future completes exactly once: with a result, an error, or
 * TINKC_E_CANCELLED. Its result is taken with the tinkc_future_take_ function that the
 * operation names.
 *
 * Reference counting: the caller owns one reference and gives it back with
 * tinkc_future_free. Freeing does not cancel: an operation that was submitted goes on,
 * its result is dropped. Thread: every function here may be called from any thread, on
 * the same future at once. With TINKC_LOOP_MANUAL nothing completes unless somebody calls
 * tinkc_service_process (the waiting functions do it themselves when they run on the
 * thread that owns the loop, NULL). */
#ifndef TINKC_FUTURE_H
#define TINKC_FUTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_future tinkc_future;
typedef struct tinkc_queue tinkc_queue;

/* Wait without an end, where a timeout in milliseconds is asked for. */
enum { TINKC_FOREVER = -1 };

/* Where an unfinished operation is. */
typedef enum tinkc_stage {
    TINKC_STAGE_ENCODING = 0, /* in the caller's thread or just posted */
    TINKC_STAGE_TURN = 1,     /* waits for earlier operations of the same model */
    TINKC_STAGE_BUDGET = 2,   /* waits for a concurrency or byte budget */
    TINKC_STAGE_BACKOFF =
        3,                  /* waits before the next try, or because the server said so */
    TINKC_STAGE_WIRE = 4,   /* a request is under way */
    TINKC_STAGE_QUEUED = 5, /* accepted; the server says why it is not running */
    TINKC_STAGE_RUNNING = 6,     /* accepted; the server is working on it */
    TINKC_STAGE_DOWNLOADING = 7, /* the result is large and being fetched */
    TINKC_STAGE_CALLBACK = 8,    /* runs or waits for a callback of the caller's */
    TINKC_STAGE_DONE = 9
} tinkc_stage;

/* What the server last said about its queue. */
typedef enum tinkc_queue_state {
    TINKC_QUEUE_UNKNOWN = 0,
    TINKC_QUEUE_ACTIVE = 1,
    TINKC_QUEUE_PAUSED_CAPACITY = 2,
    TINKC_QUEUE_PAUSED_RATE_LIMIT = 3
} tinkc_queue_state;

/* Told when the server says that work of this service is paused, or runs again; on the
 * loop's thread. `what` names the model or sampler; `reason` is never NULL. */
typedef void (*tinkc_queue_state_fn)(tinkc_queue_state state, const char *reason,
                                     const char *what, void *user);

/* Explanation of a wait. Set `size` with TINKC_WAIT_INIT before use. */
typedef struct tinkc_wait {
    size_t size;
    tinkc_stage stage;
    int64_t age_ms;    /* since the operation was called */
    int64_t stage_ms;  /* since it entered this stage */
    int64_t silent_ms; /* since the server last answered anything for it; -1 never */
    int attempts;      /* HTTP requests sent for it so far */
    int last_status;   /* HTTP status of the last answer; 0 none; -1 connection error */
    tinkc_queue_state queue_state;
    char operation[32];  /* "sample", "forward_backward", ... */
    char reason[160];    /* the server's pause reason, or "" */
    char request_id[96]; /* or "" */
} tinkc_wait;

#define TINKC_WAIT_INIT                                                                  \
    {                                                                                    \
        sizeof(tinkc_wait), TINKC_STAGE_ENCODING, 0, 0, -1, 0, 0, TINKC_QUEUE_UNKNOWN,   \
            "", "", ""                                                                   \
    }

/* Sets *wait to TINKC_WAIT_INIT. */
TINKC_API void tinkc_wait_init(tinkc_wait *wait);

/* Gives the caller's reference back and sets *future to NULL. Accepts NULL. */
TINKC_API void tinkc_future_free(tinkc_future **future);

/* One more reference for the caller; returns its argument. Accepts NULL. */
TINKC_API tinkc_future *tinkc_future_ref(tinkc_future *future);

/* Whether it has completed, in whatever way. NULL is not done. */
TINKC_API bool tinkc_future_is_done(const tinkc_future *future);

/* Blocks until the future is done or `timeout_ms` have passed (TINKC_FOREVER: no end; 0:
 * just look). Returns TINKC_OK when it completed with a result; TINKC_E_TIMEOUT when it
 * is not done (it goes on, and may be waited for again); otherwise its error's code. NULL
 * gives TINKC_E_STATE. */
TINKC_API tinkc_code tinkc_future_wait(tinkc_future *future, int64_t timeout_ms);

/* Waits until the future is done and frees it whatever the outcome: *future is NULL
 * afterwards. For operations without a result; the others have their own
 * tinkc_future_await_<result>. Returns TINKC_OK, or the code of the operation's error with
 * the error in *err. TINKC_E_STATE without a future or for one that has a result. */
TINKC_API tinkc_code tinkc_future_await(tinkc_future **future, tinkc_error **err);

/* The error it completed with, or NULL (not done, or success). Borrowed: valid while the
 * caller holds its reference. */
TINKC_API const tinkc_error *tinkc_future_error(const tinkc_future *future);

/* A copy of that error that outlives the future; NULL when there is none. Caller
 * frees. */
TINKC_API TINKC_NODISCARD tinkc_error *tinkc_future_take_error(tinkc_future *future);

/* Completes the future with TINKC_E_CANCELLED unless it is done already. Work that was
 * not sent is not sent; what the server has accepted may still be applied there, in its
 * order. */
TINKC_API void tinkc_future_cancel(tinkc_future *future);

/* Called once when the future is done, on the loop's thread (or at once, on the calling
 * thread, when it is done already). Must not block and must not free the last reference
 * of the service it belongs to. */
typedef void (*tinkc_future_fn)(tinkc_future *future, void *user);

/* Sets the callback; one per future. TINKC_E_STATE when there is one already. */
TINKC_API tinkc_code tinkc_future_on_done(tinkc_future *future, tinkc_future_fn fn,
                                          void *user, tinkc_error **err);

/* Fills *out (its `size` must be set). TINKC_E_STATE for NULL. */
TINKC_API tinkc_code tinkc_future_status(tinkc_wait *out, const tinkc_future *future,
                                         tinkc_error **err);

/* One sentence that says what the future is waiting for and since when; always
 * NUL-terminated within `size` bytes. Returns the length it would like to have, as
 * snprintf. */
TINKC_API size_t tinkc_future_explain(char *text, size_t size,
                                      const tinkc_future *future);

/* The same for a wait that was read before. */
TINKC_API size_t tinkc_wait_explain(char *text, size_t size, const tinkc_wait *wait);

/* Waits until all are done: TINKC_OK, or the code of the first (lowest index) that
 * failed, or TINKC_E_TIMEOUT when some are not done. NULL entries give TINKC_E_STATE. */
TINKC_API tinkc_code tinkc_future_wait_all(tinkc_future *const *futures, size_t n,
                                           int64_t timeout_ms);

/* Waits until one is done and says which in *index. TINKC_OK (whatever that one's result
 * is) or TINKC_E_TIMEOUT. For thousands of futures use a queue. */
TINKC_API tinkc_code tinkc_future_wait_any(size_t *index, tinkc_future *const *futures,
                                           size_t n, int64_t timeout_ms);

/* ---- completion queue: wait-any over thousands ---- */

/* A queue of done futures. Futures of different services may share one. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_queue_open(tinkc_queue **out,
                                                      tinkc_error **err);

/* Futures still attached are detached, not cancelled. Sets *queue to NULL; accepts
 * NULL. */
TINKC_API void tinkc_queue_close(tinkc_queue **queue);

/* Attaches a future with a tag of the caller's. The queue takes a reference of its own,
 * so the caller may free his. A future can be attached to one queue, once:
 * TINKC_E_STATE. */
TINKC_API tinkc_code tinkc_queue_add(tinkc_queue *queue, tinkc_future *future, void *tag,
                                     tinkc_error **err);

/* Takes the next done future, in order of completion: the caller owns the reference then.
 * TINKC_E_TIMEOUT when none was done in time; TINKC_E_MISSING when none is attached. */
TINKC_API tinkc_code tinkc_queue_take(tinkc_future **future, void **tag,
                                      tinkc_queue *queue, int64_t timeout_ms,
                                      tinkc_error **err);

/* Attached and not taken yet. */
TINKC_API size_t tinkc_queue_pending(const tinkc_queue *queue);

/* Readable (poll, epoll) while a done future can be taken. Owned by the queue; do not
 * read from it. -1 for NULL. */
TINKC_API int tinkc_queue_fd(const tinkc_queue *queue);

TINKC_END_DECLS

#endif
