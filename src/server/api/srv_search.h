/* Route sessions/search: sessions by id, metadata and status, newest first, page by page.
 * Thread: a worker. */
#ifndef SERVER_SRV_SEARCH_H
#define SERVER_SRV_SEARCH_H

#include "httpd/hd_request.h"

hd_verdict srv_search_sessions(hd_request *request);

#endif
