/* Hooks report what the library does, as it happens. Contexts attach a trace parent, tags
 * and time limits to calls.
 *
 * Each operation (a call that returns a future) and each HTTP request is a span. A span
 * starts once and ends once, with TINKC_HOOK_STOP or TINKC_HOOK_ERROR, in every case:
 * failure, cancellation, closing, lack of memory. Other events are points in time: retries,
 * pauses of the server's queue, tokens used; after a cancel they may follow the end of the
 * span. Names come from fixed lists, never from data. Meters (<tinkc/meter.h>) and traces
 * (<tinkc/trace.h>) are built on this interface alone.
 *
 * A context belongs to a handle: tinkc_*_with_context makes a second handle of the same
 * service, model or sampler, and everything that is called through that handle carries
 * the context, on every thread: submission, polls, retries, hooks, callbacks. There is no
 * hidden per-thread state. */
#ifndef TINKC_HOOKS_H
#define TINKC_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/future.h>
#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* ---- context ---- */

/* Start from TINKC_CONTEXT_INIT. Everything is copied when a handle is made with it. */
typedef struct tinkc_context {
    size_t size;
    const char *traceparent; /* W3C, "00-<32 hex>-<16 hex>-<2 hex>"; NULL: none is sent */
    const char *tracestate;  /* sent with it; NULL: none */
    const tinkc_pair *tags;  /* for hooks and traces; not sent */
    size_t tags_n;
    int64_t timeout_ms;  /* of each HTTP request; 0: the option `timeout`; TINKC_FOREVER:
                            none. Polls and heartbeats have their own timeouts. */
    int64_t deadline_ms; /* of each operation, counted from its call: it fails with
                            TINKC_E_TIMEOUT if it is not done by then; 0: none */
    const tinkc_pair *headers; /* sent with every request of an operation; they replace
                                  the option's and the library's of the same name */
    size_t headers_n;
} tinkc_context;

#define TINKC_CONTEXT_INIT                                                               \
    {                                                                                    \
        sizeof(tinkc_context), NULL, NULL, NULL, 0, 0, 0, NULL, 0                        \
    }

/* Sets *context to TINKC_CONTEXT_INIT. */
TINKC_API void tinkc_context_init(tinkc_context *context);

/* Makes a second handle of the same service. Its calls, and those of clients created from
 * it, carry `context` (NULL: none) instead of the context of `service`. Closing it closes
 * nothing else; closing the first handle closes the service for both. Headers are
 * sent to the service's own server only, unchanged with every request of an operation, its
 * retries and polls among them; the two of the trace never replace headers that the caller
 * configured. The caller owns *out (tinkc_service_close). TINKC_E_INVALID for a traceparent that does not have the form
 * above; a tracestate that has no traceparent, is empty, or is not printable ASCII of at
 * most 4 KiB; more than 64 tags; a tag without name or value or not in UTF-8; more than
 * 8 headers, two of one name, a name that no header can have, or a value that is NULL or
 * has control characters; a negative time, except TINKC_FOREVER as timeout_ms. TINKC_E_STATE for NULL, TINKC_E_CANCELLED after
 * the close, TINKC_E_NOMEM (also for more than 256 KiB of tags and headers). *out is untouched on
 * failure. Thread: any. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_service_with_context(tinkc_service **out, tinkc_service *service,
                           const tinkc_context *context, tinkc_error **err);

/* Makes a second handle of the same model that carries the context; both handles share
 * the order of its operations. The caller owns *out (tinkc_training_close). Errors as
 * tinkc_service_with_context. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_training_with_context(tinkc_training **out, tinkc_training *training,
                            const tinkc_context *context, tinkc_error **err);

/* Makes a second handle of the same sampler that carries the context. The caller owns
 * *out (tinkc_sampling_close). Errors as tinkc_service_with_context. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_sampling_with_context(tinkc_sampling **out, tinkc_sampling *sampling,
                            const tinkc_context *context, tinkc_error **err);

/* Returns the context that the operation was called with; NULL: none. Borrowed: valid
 * while the caller holds the future. Thread: any, including the callback of the
 * future. */
TINKC_API const tinkc_context *tinkc_future_context(const tinkc_future *future);

/* ---- hooks ---- */

/* Values are part of the ABI; new ones are added at the end: ignore unknown ones. */
typedef enum tinkc_hook_event {
    TINKC_HOOK_START = 0,
    TINKC_HOOK_STOP = 1,  /* the span ended successfully */
    TINKC_HOOK_ERROR = 2, /* the span ended with an error */
    TINKC_HOOK_RETRY = 3, /* an attempt failed and will be repeated */
    TINKC_HOOK_QUEUE = 4, /* the server paused or resumed the work */
    TINKC_HOOK_TOKENS = 5 /* tokens were used; once for each use */
} tinkc_hook_event;

typedef enum tinkc_span_kind {
    TINKC_SPAN_OPERATION = 0, /* a call of the API, from the call to its completion */
    TINKC_SPAN_HTTP = 1       /* one request on the wire and its response */
} tinkc_span_kind;

/* What tokens were used for. */
typedef enum tinkc_token_kind {
    TINKC_TOKENS_TRAINING = 0,
    TINKC_TOKENS_PREFILL = 1,        /* of a prompt */
    TINKC_TOKENS_CACHED_PREFILL = 2, /* of a prompt, found in the server's cache */
    TINKC_TOKENS_SAMPLED = 3
} tinkc_token_kind;

/* An event. Only the library makes it; later versions may add members at the end. It and
 * all its strings are valid during the call only. */
typedef struct tinkc_hook {
    tinkc_hook_event event;
    tinkc_span_kind kind;
    uint64_t span;    /* its number, unique in the service; never 0 */
    uint64_t parent;  /* HTTP: the operation's span, or 0 (heartbeats, setup) */
    const char *name; /* operation ("sample") or endpoint ("retrieve_future"); static */
    int64_t time_ns;  /* now, monotonic */
    int64_t duration_ns; /* STOP, ERROR: since the start */
    tinkc_code code;     /* ERROR, RETRY: what went wrong; else TINKC_OK */
    int http_status;     /* end of HTTP, RETRY: of the response; 0: none */
    int attempt;         /* HTTP: how often this request was sent before */
    int64_t bytes_out;   /* HTTP: bytes of the request body */
    int64_t bytes_in;    /* end of HTTP: bytes of the response body */
    int64_t delay_ms;    /* RETRY: until the next attempt */
    const char *reason;  /* RETRY: "429", "503", "connection", ...; static. QUEUE: the
                            reason that the server gave. Else NULL */
    tinkc_queue_state queue_state; /* QUEUE */
    tinkc_token_kind token_kind;   /* TOKENS */
    int64_t tokens;                /* TOKENS */
    const tinkc_context *context;  /* of the operation, or NULL */
} tinkc_hook;

/* Called on the thread where the event happens, possibly on several threads at once, and
 * never while the library holds a lock. Must not block. It may call the library, except
 * tinkc_service_close. The hooks of an operation are called before its future is done. */
typedef void (*tinkc_hook_fn)(const tinkc_hook *event, void *user);

/* Adds a hook, which cannot be removed. It receives the events of spans that start from
 * now on. `release` (may be NULL) is called once with `user`, when the service, its
 * clients and its futures have all been freed and no event can follow; it is not called
 * when this function fails. TINKC_E_STATE for NULL and after the close, TINKC_E_INVALID
 * without a function, TINKC_E_LIMIT beyond 8 hooks. Thread: any. */
TINKC_API tinkc_code tinkc_service_add_hook(tinkc_service *service, tinkc_hook_fn fn,
                                            void *user, void (*release)(void *user),
                                            tinkc_error **err);

/* Returns "training", "prefill", "cached_prefill" or "sampled"; "?" for a value that
 * this version does not know. Static storage. */
TINKC_API const char *tinkc_token_kind_name(tinkc_token_kind kind);

TINKC_END_DECLS

#endif
