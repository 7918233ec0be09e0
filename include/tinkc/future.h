/* Futures: what an asynchronous operation returns.
 *
 * A function that returns `tinkc_future *` never blocks on the network and never returns
 * NULL: bad arguments, a closed handle and lack of memory are reported by the future like
 * any other error. A future completes exactly once: with a result, an error, or
 * TINKC_E_CANCELLED. Its result is taken with the tinkc_future_take_ function that the
 * operation names, or waited for with tinkc_future_await_.
 *
 * These functions block instead and have no future, because they do many requests or
 * work with local files: tinkc_download_*, tinkc_push_checkpoint, tinkc_raw_open,
 * tinkc_raw_stream_read, tinkc_raw_save, tinkc_*_get_tokenizer, tinkc_pager_next_*,
 * tinkc_pager_has_next, tinkc_sampling_batch, tinkc_stream_next, tinkc_telemetry_flush.
 *
 * Reference counting: the caller owns one reference and gives it back with
 * tinkc_future_free. Freeing does not cancel: a submitted operation continues, and its
 * result is dropped. Thread: any, also several at once on the same future. With
 * TINKC_LOOP_MANUAL nothing completes unless tinkc_service_process is called; the waiting
 * functions call it themselves. */
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

/* A timeout in milliseconds that never ends. */
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
    TINKC_STAGE_CALLBACK = 8,    /* runs or waits for a callback of the program */
    TINKC_STAGE_DONE = 9
} tinkc_stage;

/* The state of the server's queue, as it last reported it. */
typedef enum tinkc_queue_state {
    TINKC_QUEUE_UNKNOWN = 0,
    TINKC_QUEUE_ACTIVE = 1,
    TINKC_QUEUE_PAUSED_CAPACITY = 2,
    TINKC_QUEUE_PAUSED_RATE_LIMIT = 3
} tinkc_queue_state;

/* Called when the server reports that work of this service is paused, or runs again.
 * `what` names the model or sampler; `reason` is never NULL. Runs on the loop's thread and
 * must not block. */
typedef void (*tinkc_queue_state_fn)(tinkc_queue_state state, const char *reason,
                                     const char *what, void *user);

/* What an operation is waiting for. Start from TINKC_WAIT_INIT. */
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

/* Gives the caller's reference back and sets *future to NULL. Does not cancel the
 * operation. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_future_free(tinkc_future **future);

/* Adds a reference for the caller, who gives it back with tinkc_future_free. Returns
 * its argument. Accepts NULL. */
TINKC_API tinkc_future *tinkc_future_ref(tinkc_future *future);

/* Returns whether the operation has completed, with a result or an error. NULL is not
 * done. */
TINKC_API bool tinkc_future_is_done(const tinkc_future *future);

/* Blocks until the future is done or `timeout_ms` have passed (TINKC_FOREVER: without
 * limit; 0: only looks). Returns TINKC_OK when it completed with a result;
 * TINKC_E_TIMEOUT when it is not done (it continues, and may be waited for again);
 * otherwise the code of its error (tinkc_future_error). TINKC_E_STATE for NULL. */
TINKC_API tinkc_code tinkc_future_wait(tinkc_future *future, int64_t timeout_ms);

/* Waits until the future is done and frees it whatever the outcome: *future is NULL
 * afterwards. For operations without a result; the others have their own
 * tinkc_future_await_<result>. Returns TINKC_OK, or the code of the operation's error with
 * the error in *err. TINKC_E_STATE without a future or for one that has a result. */
TINKC_API tinkc_code tinkc_future_await(tinkc_future **future, tinkc_error **err);

/* Returns the error of the operation, or NULL while it is not done and after a
 * success. Borrowed: valid while the caller holds its reference. */
TINKC_API const tinkc_error *tinkc_future_error(const tinkc_future *future);

/* Returns the error of the operation as an object that outlives the future, or NULL
 * when there is none. The caller frees it with tinkc_error_free. */
TINKC_API TINKC_NODISCARD tinkc_error *tinkc_future_take_error(tinkc_future *future);

/* Completes the future with TINKC_E_CANCELLED unless it is done already. Requests that
 * were not sent are not sent; what the server has accepted may still be applied there,
 * in its order. */
TINKC_API void tinkc_future_cancel(tinkc_future *future);

/* Called once when the future is done, on the loop's thread; when it is done already, at
 * once on the calling thread. Must not block and must not close the service. */
typedef void (*tinkc_future_fn)(tinkc_future *future, void *user);

/* Sets the callback; a future has one. TINKC_E_STATE for NULL or when the future has a
 * callback already. */
TINKC_API tinkc_code tinkc_future_on_done(tinkc_future *future, tinkc_future_fn fn,
                                          void *user, tinkc_error **err);

/* Explains the wait in numbers: fills *out, whose `size` must be set. TINKC_E_STATE
 * for NULL, or when the size is not set. */
TINKC_API tinkc_code tinkc_future_status(tinkc_wait *out, const tinkc_future *future,
                                         tinkc_error **err);

/* Writes one sentence that says what the future is waiting for and for how long,
 * NUL-terminated within `size` bytes. Returns the full length as snprintf does. */
TINKC_API size_t tinkc_future_explain(char *text, size_t size,
                                      const tinkc_future *future);

/* Writes the sentence of tinkc_future_explain for a wait that was read before. */
TINKC_API size_t tinkc_wait_explain(char *text, size_t size, const tinkc_wait *wait);

/* Waits until all futures are done. Returns TINKC_OK, or the code of the first one (lowest
 * index) that failed, or TINKC_E_TIMEOUT when some are not done. TINKC_E_STATE for a NULL
 * among them. */
TINKC_API tinkc_code tinkc_future_wait_all(tinkc_future *const *futures, size_t n,
                                           int64_t timeout_ms);

/* Waits until one of the futures is done and gives its index. Returns TINKC_OK,
 * whatever the result of that future is, or TINKC_E_TIMEOUT. For thousands of futures
 * use a queue. */
TINKC_API tinkc_code tinkc_future_wait_any(size_t *index, tinkc_future *const *futures,
                                           size_t n, int64_t timeout_ms);

/* ---- completion queue: wait-any over thousands ---- */

/* Makes a queue of done futures. Futures of different services may share one. The
 * caller owns *out. TINKC_E_IO when the system has no file descriptor left,
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_queue_open(tinkc_queue **out,
                                                      tinkc_error **err);

/* Closes the queue and sets *queue to NULL. Futures that are still attached are
 * detached, not cancelled. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_queue_close(tinkc_queue **queue);

/* Attaches a future with a tag of the caller's choice. The queue takes its own
 * reference, so that the caller may free the future at once. TINKC_E_STATE for NULL or
 * for a future that is attached already, TINKC_E_NOMEM for a future that stands for a
 * lack of memory. */
TINKC_API tinkc_code tinkc_queue_add(tinkc_queue *queue, tinkc_future *future, void *tag,
                                     tinkc_error **err);

/* Takes the next done future, in order of completion; the caller owns the reference.
 * `tag` may be NULL. TINKC_E_TIMEOUT when none was done in time, TINKC_E_MISSING when
 * none is attached, TINKC_E_STATE for NULL. */
TINKC_API tinkc_code tinkc_queue_take(tinkc_future **future, void **tag,
                                      tinkc_queue *queue, int64_t timeout_ms,
                                      tinkc_error **err);

/* Returns how many futures are attached and not taken yet; 0 for NULL. */
TINKC_API size_t tinkc_queue_pending(const tinkc_queue *queue);

/* Returns a file descriptor that is readable (poll, epoll) while a done future can be
 * taken; -1 for NULL. The queue owns it: do not read from it or close it. */
TINKC_API int tinkc_queue_fd(const tinkc_queue *queue);

TINKC_END_DECLS

#endif
