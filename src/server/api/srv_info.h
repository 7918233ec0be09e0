/* Routes about the server itself: its name and version, counters for Prometheus,
 * tokenizer files for clients on other machines. Thread: a worker. */
#ifndef SERVER_SRV_INFO_H
#define SERVER_SRV_INFO_H

#include "httpd/hd_request.h"

/* Name and version; a browser gets the console. */
hd_verdict srv_info_root(hd_request *request);
hd_verdict srv_info_metrics(hd_request *request);
/* /tinkc/v1/models/NAME/FILE; a name may hold one slash ("org/model"). */
hd_verdict srv_info_tokenizer(hd_request *request);

#endif
