/* One sample request: asample, its run on the engine thread, and its result. */
#ifndef SERVER_SRV_SAMPLE_H
#define SERVER_SRV_SAMPLE_H

#include "engine/eng_sampler.h"
#include "server/api/srv_sampler.h"
#include "server/http/srv_stream.h"
#include "server/run/srv_future.h"

struct srv_sample {
    tk_list link; /* in the engine's lists */
    srv *server;
    srv_sampler *sampler; /* one ownership */
    srv_future *future;   /* pending until done; NULL for a stream */
    tk_arena arena;       /* of the request */
    tk_buf body;
    size_t counted;
    eng_sample_request request;
    uint64_t queue_id; /* in the sampler's queue; 0 = not there yet. Under the lock */

    /* of a stream, the engine thread's */
    srv_stream *stream; /* one ownership; NULL = the result goes to the future */
    eng_sampler *runs_on;
    uint64_t run_id;
    tk_buf held; /* bytes of tokens that are no whole character yet */
    size_t n_streamed;
    bool abandoned; /* nobody reads any more */
};

srv_verdict srv_sample_submit(srv *server, srv_request *request);
srv_verdict srv_sample_submit_stream(srv *server, srv_request *request);

void srv_sample_free(srv_sample *sample); /* without its sampler; accepts NULL */

/* Starts it on the engine's sampler, after loading the adapter if need be. When that is
 * not possible it is finished at once. Thread: engine. */
void srv_sample_start(srv_sample *sample, eng_sampler *sampler);

/* Of a stream (srv_sample_stream.c): the next token, and the end: a result, or err. */
void srv_sample_stream_token(srv_sample *sample, int32_t token, float logprob);
void srv_sample_stream_done(srv_sample *sample, const eng_sample_result *result,
                            const tk_err *err);

#endif
