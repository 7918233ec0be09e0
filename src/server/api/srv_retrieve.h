/* Routes of futures: the result of one (retrieve_future), those of a sampling session that
 * are done (retrieve_futures), the end of one (cancel_future); docs/protocol.md §4, §4.1,
 * §4.2. Thread: a worker. */
#ifndef SERVER_SRV_RETRIEVE_H
#define SERVER_SRV_RETRIEVE_H

#include "server/http/srv_request.h"

srv_verdict srv_retrieve_future(srv_request *request);
srv_verdict srv_retrieve_futures(srv_request *request);
srv_verdict srv_retrieve_cancel(srv_request *request);

#endif
