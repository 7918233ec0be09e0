/* POST checkpoints/search: checkpoints by type, base model and metadata, newest first
 * (docs/protocol.md §2.5). Thread: a worker. */
#ifndef SERVER_SRV_CHECKPOINT_SEARCH_H
#define SERVER_SRV_CHECKPOINT_SEARCH_H

#include "httpd/hd_request.h"

hd_verdict srv_checkpoint_search(hd_request *request);

#endif
