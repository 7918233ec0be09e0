/* Route retrieve_future: the result of a request, or a poll that waits for it
 * (docs/protocol.md §4). Thread: a worker. */
#ifndef SERVER_SRV_RETRIEVE_H
#define SERVER_SRV_RETRIEVE_H

#include "server/http/srv_request.h"

srv_verdict srv_retrieve_future(srv_request *request);

#endif
