/* One sample request: asample, its run on the engine thread, and its result. */
#ifndef SERVER_SRV_SAMPLE_H
#define SERVER_SRV_SAMPLE_H

#include "engine/eng_sampler.h"
#include "server/srv_future.h"
#include "server/srv_sampler.h"

struct srv_sample {
    tk_list link; /* in the engine's lists */
    srv *server;
    srv_sampler *sampler; /* one ownership */
    srv_future *future;   /* pending until done; NULL for a stream */
    tk_arena arena;       /* of the request */
    tk_buf body;
    size_t counted;
    eng_sample_request request;
};

srv_verdict srv_sample_submit(srv *server, srv_request *request);

void srv_sample_free(srv_sample *sample); /* without its sampler; accepts NULL */

/* Starts it on the engine's sampler, after loading the adapter if need be. When that is
 * not possible it is finished at once. Thread: engine. */
void srv_sample_start(srv_sample *sample, eng_sampler *sampler);

#endif
