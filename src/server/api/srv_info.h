/* Routes about the server itself: its name and version, counters for Prometheus,
 * tokenizer files for clients on other machines. Thread: a worker. */
#ifndef SERVER_SRV_INFO_H
#define SERVER_SRV_INFO_H

#include "server/http/srv_request.h"

srv_verdict srv_info_root(srv_request *request);
srv_verdict srv_info_metrics(srv_request *request);
/* /tinkc/v1/models/NAME/FILE; a name may hold one slash ("org/model"). */
srv_verdict srv_info_tokenizer(srv_request *request);

#endif
