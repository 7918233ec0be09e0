/* External weights: the files of a checkpoint for other programs (docs/protocol.md §2.5).
 * The answer with their links, which are good for an hour, and the files that they lead to,
 * of which a part can be asked for. Thread: a worker. */
#ifndef SERVER_SRV_EXTERNAL_H
#define SERVER_SRV_EXTERNAL_H

#include "httpd/hd_request.h"

hd_verdict srv_external_urls(hd_request *request);
hd_verdict srv_external_get(hd_request *request);

#endif
