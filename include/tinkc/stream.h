/* Sampling token by token: each token is delivered as soon as its event has arrived.
 *
 * The endpoint (POST stream_sample) is not part of the official SDK; if a server does not
 * have it, the library takes an ordinary sample and delivers its tokens one by one.
 * Streamed tokens are not collected: memory use does not grow with their number, except
 * with such an ordinary sample. Thread: any, unless a function says otherwise. */
#ifndef TINKC_STREAM_H
#define TINKC_STREAM_H

#include <tinkc/sampling.h>

TINKC_BEGIN_DECLS

typedef enum tinkc_stream_kind {
    TINKC_STREAM_TOKEN = 0,
    TINKC_STREAM_DONE = 1 /* the last event */
} tinkc_stream_kind;

/* An event. It and its strings are valid until the callback returns, or until the next
 * call of tinkc_stream_next. */
typedef struct tinkc_stream_event {
    tinkc_stream_kind kind;
    int64_t token_id;          /* -1: the server sent only text */
    const char *token;         /* its text; NULL: the server sent only the id */
    int64_t index;             /* position in the continuation, from 0 */
    double logprob;            /* NaN: not sent */
    const char *finish_reason; /* DONE: "stop", "length", ...; else NULL */
    int64_t total_tokens;      /* DONE: the number of tokens */
    bool is_whole_sample;      /* from an ordinary sample, without streaming */
} tinkc_stream_event;

/* Receives an event. Return false to stop: the connection is closed, and the future fails
 * with TINKC_E_CANCELLED. */
typedef bool (*tinkc_stream_fn)(const tinkc_stream_event *event, void *user);

/* Samples one continuation of `prompt` and calls `fn` for each token and at the end, on
 * the loop's thread; `fn` must not block. `params` as in tinkc_sampling_sample. When the
 * server responds with 429, the request is repeated later, like a sample, for at most
 * option stuck_total (TINKC_E_STUCK). A connection lost after the response has begun is
 * an error (TINKC_E_CONNECTION), because another attempt would produce other tokens.
 * TINKC_E_REQUEST when the server reports a failure in the stream. Result: none
 * (tinkc_future_await). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_sampling_stream(tinkc_sampling *sampling, const tinkc_model_input *prompt,
                      const tinkc_sampling_params *params, tinkc_stream_fn fn,
                      void *user);

/* Calls tinkc_sampling_stream and waits until it is done. Not on the loop's thread. */
TINKC_API tinkc_code tinkc_sampling_stream_wait(tinkc_sampling *sampling,
                                                const tinkc_model_input *prompt,
                                                const tinkc_sampling_params *params,
                                                tinkc_stream_fn fn, void *user,
                                                tinkc_error **err);

/* ---- pulled ---- */

typedef struct tinkc_stream tinkc_stream;

/* Samples like tinkc_sampling_stream, for a thread that takes the events itself with
 * tinkc_stream_next. Once a few hundred events are waiting, the library stops reading from
 * the connection until some are taken. The caller owns *out (tinkc_stream_close).
 * TINKC_E_INVALID for a prompt or parameters that are not valid, TINKC_E_STATE for NULL,
 * TINKC_E_CANCELLED after the close, TINKC_E_NOMEM; *out is untouched then.
 * tinkc_stream_next reports all other failures. Thread: any; the stream is then used by
 * one thread at a time, not the loop's. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_stream_open(
    tinkc_stream **out, tinkc_sampling *sampling, const tinkc_model_input *prompt,
    const tinkc_sampling_params *params, tinkc_error **err);

/* Returns the next event in *out, borrowed until the next call. Waits at most
 * `timeout_ms` (TINKC_FOREVER: without limit; 0: only checks). TINKC_E_TIMEOUT when no
 * event arrived in time (call again); TINKC_E_MISSING after the last event; TINKC_E_STATE
 * for NULL, or when it would have to wait on the loop's thread; otherwise the error of
 * the stream. If the stream's request timed out, that error is TINKC_E_TIMEOUT with
 * TINKC_FOREVER and TINKC_E_CONNECTION with any other timeout, where TINKC_E_TIMEOUT
 * always means that the stream continues. */
TINKC_API tinkc_code tinkc_stream_next(const tinkc_stream_event **out,
                                       tinkc_stream *stream, int64_t timeout_ms,
                                       tinkc_error **err);

/* Cancels the stream if it has not ended, frees it and sets *stream to NULL. Accepts NULL
 * and a pointer to NULL. */
TINKC_API void tinkc_stream_close(tinkc_stream **stream);

TINKC_END_DECLS

#endif
