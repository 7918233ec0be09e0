/* copy_weights: a checkpoint under a run of its own, which shares its files. Thread: a
 * worker. */
#ifndef SERVER_SRV_COPY_H
#define SERVER_SRV_COPY_H

#include "server/http/srv_request.h"

srv_verdict srv_copy_weights(srv *server, srv_request *request);

#endif
