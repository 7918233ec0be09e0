/* Futures: what an asynchronous operation returns.
 *
 * A function that returns `tinkc_future *` never blocks on the network and never
 * returns NULL: bad arguments, a closed service and lack of memory are reported by the
 * future like any other error. A future completes exactly once, with a result or an
 * error. To get the result, use the tinkc_future_take_ function that the operation's
 * comment names once the future is done, or the tinkc_future_await_ function of the
 * same name, which also waits and frees the future.
 *
 * These functions block and have no asynchronous form: tinkc_download_*,
 * tinkc_push_checkpoint, tinkc_pull_model, tinkc_upload_adapter, tinkc_raw_open,
 * tinkc_raw_stream_read, tinkc_raw_save, tinkc_*_get_tokenizer, tinkc_pager_next_*,
 * tinkc_pager_has_next, tinkc_sampling_batch, tinkc_stream_next, tinkc_telemetry_flush.
 *
 * Reference counting: the caller owns one reference and releases it with
 * tinkc_future_free. Freeing does not cancel: a submitted operation continues, and its
 * result is discarded.
 *
 * Thread: any, also several at once on the same future. Functions that wait
 * (tinkc_future_wait*, tinkc_future_await*, tinkc_queue_take and every function that
 * ends in _wait) return TINKC_E_STATE in a callback on the loop's thread when they would
 * have to wait: the wait would never end. With TINKC_LOOP_MANUAL an operation makes progress only inside
 * tinkc_service_process; the functions that wait call it themselves. */
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

/* As a timeout in milliseconds: wait without limit. */
enum { TINKC_FOREVER = -1 };

/* Where an unfinished operation is. */
typedef enum tinkc_stage {
    TINKC_STAGE_ENCODING = 0,    /* in the caller's thread or just posted */
    TINKC_STAGE_TURN = 1,        /* waits for earlier operations of the same model */
    TINKC_STAGE_BUDGET = 2,      /* waits for a concurrency or byte budget */
    TINKC_STAGE_BACKOFF = 3,     /* waits before the next attempt */
    TINKC_STAGE_WIRE = 4,        /* a request is on the network */
    TINKC_STAGE_QUEUED = 5,      /* accepted; the server says why it is not running */
    TINKC_STAGE_RUNNING = 6,     /* accepted; the server is working on it */
    TINKC_STAGE_DOWNLOADING = 7, /* the result is large and being fetched */
    TINKC_STAGE_CALLBACK = 8,    /* a callback of the program runs, or is about to */
    TINKC_STAGE_DONE = 9
} tinkc_stage;

/* The state of the server's queue, as it last reported it. */
typedef enum tinkc_queue_state {
    TINKC_QUEUE_UNKNOWN = 0,
    TINKC_QUEUE_ACTIVE = 1,
    TINKC_QUEUE_PAUSED_CAPACITY = 2,
    TINKC_QUEUE_PAUSED_RATE_LIMIT = 3
} tinkc_queue_state;

/* Called when the server reports that work of this service is paused or running again.
 * `what` names the model or sampler; `reason` is never NULL. Called on the loop's
 * thread; must not block. */
typedef void (*tinkc_queue_state_fn)(tinkc_queue_state state, const char *reason,
                                     const char *what, void *user);

/* What an operation is waiting for. Start from TINKC_WAIT_INIT. */
typedef struct tinkc_wait {
    size_t size;
    tinkc_stage stage;
    int64_t age_ms;    /* since the operation was called */
    int64_t stage_ms;  /* since it entered this stage */
    int64_t silent_ms; /* since the server last responded for it; -1: never */
    int attempts;      /* HTTP requests sent for it so far */
    int last_status;   /* HTTP status of the last response; 0: none; -1: no connection */
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

/* Releases the caller's reference and sets *future to NULL. Does not cancel the
 * operation. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_future_free(tinkc_future **future);

/* Adds a reference, which the caller releases with tinkc_future_free, and returns its
 * argument. Accepts NULL. */
TINKC_API tinkc_future *tinkc_future_ref(tinkc_future *future);

/* Returns whether the operation has completed, with a result or an error. NULL is not
 * done. */
TINKC_API bool tinkc_future_is_done(const tinkc_future *future);

/* Waits until the future is done or `timeout_ms` has passed (TINKC_FOREVER: no limit;
 * 0: only checks). Returns TINKC_OK when it completed with a result; TINKC_E_TIMEOUT
 * when it is not done (the operation continues and can be waited for again);
 * TINKC_E_STATE for NULL, and in a callback on the loop's thread of its service when it
 * is not done; otherwise the code of its error (see tinkc_future_error). */
TINKC_API tinkc_code tinkc_future_wait(tinkc_future *future, int64_t timeout_ms);

/* Waits until the future is done and frees it whatever the outcome: *future is NULL
 * afterwards. For operations without a result; the others have
 * tinkc_future_await_<result>. Returns TINKC_OK, or the code of the operation's error
 * with the error in *err; TINKC_E_STATE when `future` or *future is NULL, when the
 * operation succeeded with a result (which is discarded), or in a callback on the loop's
 * thread when it is not done (it is cancelled then). */
TINKC_API tinkc_code tinkc_future_await(tinkc_future **future, tinkc_error **err);

/* Returns the error of the operation, or NULL while it is not done and after a
 * success. Borrowed: valid while the caller holds its reference. */
TINKC_API const tinkc_error *tinkc_future_error(const tinkc_future *future);

/* Returns the error of the operation as an object that outlives the future; NULL while
 * the future is not done and after a success. The caller frees it with
 * tinkc_error_free. May be called more than once. */
TINKC_API TINKC_NODISCARD tinkc_error *tinkc_future_take_error(tinkc_future *future);

/* Completes the future with TINKC_E_CANCELLED unless it is already done; its callback
 * runs before this returns. Requests not yet sent are not sent; work that the server
 * has accepted may still be applied there, in its order. Does nothing for NULL.
 * Thread: any. */
TINKC_API void tinkc_future_cancel(tinkc_future *future);

/* Called once, when the future completes: on the loop's thread, or on the thread that
 * calls tinkc_future_cancel. When the future has already completed,
 * tinkc_future_on_done calls it before it returns. Must not block, must not wait for a
 * future, and must not close the service. */
typedef void (*tinkc_future_fn)(tinkc_future *future, void *user);

/* Sets the callback of a future, which can have one. TINKC_E_STATE when `future` or
 * `fn` is NULL or the future already has a callback. */
TINKC_API tinkc_code tinkc_future_on_done(tinkc_future *future, tinkc_future_fn fn,
                                          void *user, tinkc_error **err);

/* Sets a function that releases what the callbacks of the operation use (a custom loss, a
 * stream, a chunk): it is called once with `user`, when the last reference to the future is
 * gone, the operation's own included, so that no callback runs then or later. A future can
 * have one; for tinkc_training_step it says nothing about the chunks. It runs on the thread
 * that releases the last reference, which may be the loop's, and must not block. It is not
 * called when this function fails: TINKC_E_STATE when `future` or `release` is NULL or the
 * future already has one, TINKC_E_NOMEM when the operation failed for lack of memory (it
 * has ended then, and calls nothing). */
TINKC_API tinkc_code tinkc_future_on_free(tinkc_future *future,
                                          void (*release)(void *user), void *user,
                                          tinkc_error **err);

/* Stores what the operation is waiting for in *out, whose `size` must be set.
 * TINKC_E_STATE when `out` or `future` is NULL or `size` is not set. */
TINKC_API tinkc_code tinkc_future_status(tinkc_wait *out, const tinkc_future *future,
                                         tinkc_error **err);

/* Writes one sentence that describes what the future is waiting for and for how long,
 * NUL-terminated within `size` bytes. Returns the full length as snprintf does. */
TINKC_API size_t tinkc_future_explain(char *text, size_t size,
                                      const tinkc_future *future);

/* Writes the same sentence for a tinkc_wait that was filled earlier. */
TINKC_API size_t tinkc_wait_explain(char *text, size_t size, const tinkc_wait *wait);

/* Waits until all futures are done. Returns TINKC_OK when all succeeded;
 * TINKC_E_TIMEOUT when at least one is not done, even if another has failed; otherwise
 * the code of the failed one with the lowest index. A NULL future counts as one that
 * failed with TINKC_E_STATE. */
TINKC_API tinkc_code tinkc_future_wait_all(tinkc_future *const *futures, size_t n,
                                           int64_t timeout_ms);

/* Waits until one of the futures is done and stores its index. Returns TINKC_OK,
 * whether that future succeeded or failed; TINKC_E_TIMEOUT when none is done in time;
 * TINKC_E_STATE when `n` is 0, `index` is NULL or a future is NULL, or in a callback on
 * the loop's thread when none is done; TINKC_E_NOMEM. For thousands
 * of futures use a queue. */
TINKC_API tinkc_code tinkc_future_wait_any(size_t *index, tinkc_future *const *futures,
                                           size_t n, int64_t timeout_ms);

/* ---- completion queue: wait-any over thousands ---- */

/* Creates a queue of completed futures; futures of different services may share it.
 * The caller owns *out (tinkc_queue_close). TINKC_E_IO when no file descriptor is
 * left, TINKC_E_INVALID when `out` is NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_queue_open(tinkc_queue **out,
                                                      tinkc_error **err);

/* Closes the queue and sets *queue to NULL. Futures that were added continue and are
 * not cancelled; they cannot be added to another queue. Threads that wait in
 * tinkc_queue_take return TINKC_E_CANCELLED; no thread may call a function of the queue
 * afterwards. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_queue_close(tinkc_queue **queue);

/* Adds a future, with a tag of the caller's choice. The queue takes a reference, so
 * the caller may free the future at once. A future can be added only once in its life,
 * even after it was taken or its queue was closed. TINKC_E_STATE when `queue` or
 * `future` is NULL or the future was added before, TINKC_E_NOMEM when the operation
 * failed for lack of memory (its future cannot be added). */
TINKC_API tinkc_code tinkc_queue_add(tinkc_queue *queue, tinkc_future *future, void *tag,
                                     tinkc_error **err);

/* Takes the next completed future, in order of completion. The caller owns *future
 * (tinkc_future_free); `tag` may be NULL. Any number of threads may take.
 * TINKC_E_TIMEOUT when none completed within `timeout_ms`; TINKC_E_MISSING when none is
 * attached, also when another thread took the last one during the wait;
 * TINKC_E_CANCELLED when the queue was closed during the wait; TINKC_E_STATE when
 * `queue` or `future` is NULL, or when a callback on a loop's thread would have to
 * wait: of any service, because two loops that wait for each other's futures, or for a
 * limit that they share, would wait for ever. */
TINKC_API tinkc_code tinkc_queue_take(tinkc_future **future, void **tag,
                                      tinkc_queue *queue, int64_t timeout_ms,
                                      tinkc_error **err);

/* Returns how many futures are attached and not taken yet; 0 for NULL. */
TINKC_API size_t tinkc_queue_pending(const tinkc_queue *queue);

/* Returns a file descriptor that is readable (poll, epoll) while a completed future
 * can be taken; -1 for NULL. The queue owns it: do not read from it or close it. */
TINKC_API int tinkc_queue_fd(const tinkc_queue *queue);

TINKC_END_DECLS

#endif
