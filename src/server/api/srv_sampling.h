/* Routes of sampling: create_sampling_session, join_sampling_session, samplers/<id>,
 * asample, stream_sample
 * (docs/protocol.md §2.4). Thread: a worker. */
#ifndef SERVER_SRV_SAMPLING_H
#define SERVER_SRV_SAMPLING_H

#include "server/http/srv_request.h"

srv_verdict srv_sampling_create_session(srv_request *request);
srv_verdict srv_sampling_join_session(srv_request *request);
srv_verdict srv_sampling_get_sampler(srv_request *request);
srv_verdict srv_sampling_sample(srv_request *request);
srv_verdict srv_sampling_stream(srv_request *request);

#endif
