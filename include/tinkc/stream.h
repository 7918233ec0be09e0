/* Sampling token by token: each token is delivered as soon as its event is complete.
 *
 * The endpoint (POST stream_sample) is not part of the official SDK; if a server does not
 * have it, an ordinary sample is taken and its tokens are delivered one by one. Tokens are
 * not collected: memory does not grow with the length. Thread: any, unless a function says
 * otherwise. */
#ifndef TINKC_STREAM_H
#define TINKC_STREAM_H

#include <tinkc/sampling.h>

TINKC_BEGIN_DECLS

typedef enum tinkc_stream_kind {
    TINKC_STREAM_TOKEN = 0,
    TINKC_STREAM_DONE = 1 /* the last event */
} tinkc_stream_kind;

/* Texts are borrowed until the next event. */
typedef struct tinkc_stream_event {
    tinkc_stream_kind kind;
    int64_t token_id;          /* -1: the server sent only text */
    const char *token;         /* its text; NULL: the server sent only the id */
    int64_t index;             /* place in the continuation, from 0 */
    double logprob;            /* NaN: not sent */
    const char *finish_reason; /* DONE: "stop", "length", ...; else NULL */
    int64_t total_tokens;      /* DONE: the number of tokens */
    bool is_whole_sample;      /* from an ordinary sample: the server cannot stream */
} tinkc_stream_event;

/* Return false to stop: the connection is closed, the future ends with
 * TINKC_E_CANCELLED. */
typedef bool (*tinkc_stream_fn)(const tinkc_stream_event *event, void *user);

/* Samples one continuation of `prompt` and calls `fn` with each token and at the end,
 * on the loop's thread, where it must not block. `params` as in tinkc_sampling_sample.
 * Waits when the server answers 429. A connection that is lost after the first token
 * is an error (TINKC_E_CONNECTION), because another attempt would give other tokens.
 * Result: none. */
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

/* Samples like tinkc_sampling_stream, for a thread that takes the events itself: at
 * most a few hundred are buffered, then the server has to wait. The caller owns *out
 * (tinkc_stream_close). TINKC_E_INVALID for a prompt or parameters that cannot be
 * sent, TINKC_E_STATE for NULL, TINKC_E_CANCELLED after the close, TINKC_E_NOMEM; *out
 * is untouched then. Later failures are reported by tinkc_stream_next. Thread: any;
 * the stream then belongs to one thread at a time, not the loop's. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_stream_open(
    tinkc_stream **out, tinkc_sampling *sampling, const tinkc_model_input *prompt,
    const tinkc_sampling_params *params, tinkc_error **err);

/* Gives the next event, borrowed until the next call. Waits at most `timeout_ms`
 * (TINKC_FOREVER: without limit). TINKC_E_TIMEOUT, after which it may be called again;
 * TINKC_E_MISSING after the last event; TINKC_E_STATE for NULL, or when it would have
 * to wait on the loop's thread; otherwise the error of the stream. A stream that ended
 * because its request timed out gives TINKC_E_CONNECTION here, unless the wait is
 * without limit. */
TINKC_API tinkc_code tinkc_stream_next(const tinkc_stream_event **out,
                                       tinkc_stream *stream, int64_t timeout_ms,
                                       tinkc_error **err);

/* Ends the stream if it is not over and sets *stream to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_stream_close(tinkc_stream **stream);

TINKC_END_DECLS

#endif
