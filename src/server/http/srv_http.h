/* HTTP: libmicrohttpd with one epoll thread, which only collects bytes, checks who may
 * ask, and sends answers. A complete request is suspended and posted to the workers; its
 * resume wakes this thread, which sends the answer. The only file that knows the library.
 */
#ifndef SERVER_SRV_HTTP_H
#define SERVER_SRV_HTTP_H

#include "base/err.h"
#include "server/http/srv_request.h"

typedef struct srv_http srv_http;

/* Listens on host:port (0 = any free one); TINKC_E_IO when that is not possible. Requests
 * come at once. */
TK_NODISCARD tinkc_code srv_http_new(srv_http **out, srv *server, const char *host,
                                     unsigned port, tk_err *err);
unsigned srv_http_port(const srv_http *http);

/* No new connections, no new requests: what is complete from now on gets a 503. */
void srv_http_quiesce(srv_http *http);

/* Waits until every suspended request was resumed and its answer sent or given up, then
 * ends the thread. Accepts NULL. */
void srv_http_stop(srv_http *http);

/* After the threads that resume requests have ended, too. Accepts NULL. */
void srv_http_free(srv_http *http);

typedef struct srv_http_stats {
    size_t active;    /* requests between their first byte and the last of the answer */
    size_t suspended; /* of those, with workers or parked */
} srv_http_stats;
void srv_http_get_stats(srv_http *http, srv_http_stats *out);

#endif
