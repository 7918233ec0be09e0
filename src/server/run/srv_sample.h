/* One sample request: its submission, its run on the engine thread, and its result. */
#ifndef SERVER_SRV_SAMPLE_H
#define SERVER_SRV_SAMPLE_H

#include "engine/eng_sampler.h"
#include "httpd/hd_request.h"
#include "httpd/hd_stream.h"
#include "server/run/srv_future.h"
#include "server/run/srv_sampler.h"
#include "wire/msg_sample.h"

/* A function that gets the result instead of a client of this API. Thread: engine, or the
 * one that stops it. */
typedef struct srv_sample_listener {
    /* Each token as it is drawn; NULL = not wanted. */
    void (*on_token)(void *user, size_t index, int32_t token, float logprob);
    /* Exactly once, also after a cancel: the result, or NULL and err. */
    void (*on_done)(void *user, const eng_sample_result *result, const tk_err *err);
    void *user;
} srv_sample_listener;

typedef struct srv_sample {
    tk_list link; /* in the engine's lists */
    srv *server;
    srv_sampler *sampler; /* one ownership */
    srv_future *future;   /* pending until done; NULL for a stream */
    hd_memory memory;     /* of the request; prompt and stops are views into it */
    eng_sample_request request;
    const tk_tensor
        *target;       /* what request.targets were made from, in `memory`; or NULL */
    size_t counted;    /* bytes in the budget for this request and its result */
    uint64_t queue_id; /* in the sampler's queue; 0 = not there yet. Under the lock */
    tk_list cancelled; /* in the engine's list of those to end; under the lock */

    /* the engine thread's */
    eng_sampler *runs_on;
    uint64_t run_id; /* 0 = it has not begun */

    /* of a stream, the engine thread's */
    hd_stream *stream; /* one ownership; NULL = the result goes to the future */
    tk_buf held;       /* bytes of tokens that are not a whole character yet */
    size_t n_streamed;
    bool abandoned; /* the client has left */

    srv_sample_listener listener; /* when on_done is set, instead of future and stream */
} srv_sample;

typedef struct srv_sample_spec {
    const tk_sample_request *msg; /* in the request's arena */
    eng_sample_request request;   /* made from it */
    srv_sampler *own; /* of a request without a sampling session; else NULL. Taken over */
    bool streamed;    /* the tokens are the answer */
} srv_sample_spec;

/* Queues the sample and answers: with the request id, or with the stream of its tokens. A
 * repeated request is answered as the first was, another one with its number refused
 * (409). Thread: a worker. */
hd_verdict srv_sample_submit(hd_request *request, const srv_sample_spec *spec);

typedef struct srv_sample_call { /* borrowed during the call */
    srv_sampler *sampler;
    const eng_sample_request *request; /* copied, with what it points to */
    srv_sample_listener listener;
} srv_sample_call;

/* Queues a sample of this process (srv_sample_call.c). Returns 0, or the status of the
 * refusal with its text in *err: then there is no callback. *out is there until on_done
 * returns. Thread: any, without the lock. */
int srv_sample_queue(srv_sample **out, srv *server, const srv_sample_call *call,
                     tk_err *err);

/* For srv_sample_call.c: an empty one, or NULL when out of memory; counts the memory of a
 * request and its result, with the status of a refusal, or 0. */
srv_sample *srv_sample_new(srv *server);
int srv_sample_reserve(srv_sample *sample, const srv_sampler *sampler, tk_err *err);

/* Ends one with a listener that will not run: the server stops. Without the lock. */
void srv_sample_drop(srv_sample *sample);

void srv_sample_free(srv_sample *sample); /* without its sampler; accepts NULL */

/* Starts it on the engine's sampler, after loading the adapter if it is not in memory.
 * When that is not possible it is finished at once. Thread: engine. */
void srv_sample_start(srv_sample *sample, eng_sampler *sampler);

/* Ends it, running or not: its future fails. Thread: engine. */
void srv_sample_cancel(srv_sample *sample);

/* Sends the next token of a stream (srv_sample_stream.c), the last one with all the text that
 * is left; and its end: a result, or err. */
void srv_sample_stream_token(srv_sample *sample, int32_t token, float logprob,
                             bool is_last);
void srv_sample_stream_done(srv_sample *sample, const eng_sample_result *result,
                            const tk_err *err);

#endif
