/* Route sessions/search: sessions by id, metadata and status, newest first, page by page.
 * Thread: a worker. */
#ifndef SERVER_SRV_SEARCH_H
#define SERVER_SRV_SEARCH_H

#include "server/http/srv_request.h"

srv_verdict srv_search_sessions(srv_request *request);

#endif
