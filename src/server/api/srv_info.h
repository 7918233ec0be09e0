/* Routes about the server itself: what it is, counters for Prometheus, tokenizer files
 * for clients that do not see its disk. */
#ifndef SERVER_SRV_INFO_H
#define SERVER_SRV_INFO_H

#include "server/http/srv_request.h"

srv_verdict srv_info_root(srv *server, srv_request *request);
srv_verdict srv_info_metrics(srv *server, srv_request *request);
/* /tinkc/v1/models/NAME/FILE; a name may hold one slash ("org/model"). */
srv_verdict srv_info_tokenizer(srv *server, srv_request *request);

#endif
