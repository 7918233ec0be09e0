/* Routes of futures: the result of one (retrieve_future), those of a sampling session that
 * are done (retrieve_futures), the end of one (cancel_future); docs/protocol.md §4, §4.1,
 * §4.2. Thread: a worker. */
#ifndef SERVER_SRV_RETRIEVE_H
#define SERVER_SRV_RETRIEVE_H

#include "httpd/hd_request.h"

hd_verdict srv_retrieve_future(hd_request *request);
hd_verdict srv_retrieve_futures(hd_request *request);
hd_verdict srv_retrieve_cancel(hd_request *request);

#endif
