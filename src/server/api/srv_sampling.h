/* Routes of sampling: create_sampling_session, join_sampling_session, samplers/<id>,
 * asample, stream_sample
 * (docs/protocol.md §2.4). Thread: a worker. */
#ifndef SERVER_SRV_SAMPLING_H
#define SERVER_SRV_SAMPLING_H

#include "httpd/hd_request.h"

hd_verdict srv_sampling_create_session(hd_request *request);
hd_verdict srv_sampling_join_session(hd_request *request);
hd_verdict srv_sampling_get_sampler(hd_request *request);
hd_verdict srv_sampling_sample(hd_request *request);
hd_verdict srv_sampling_stream(hd_request *request);

#endif
