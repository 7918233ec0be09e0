/* Route copy_weights: a checkpoint in another run, which shares its files. Thread: a
 * worker. */
#ifndef SERVER_SRV_COPY_H
#define SERVER_SRV_COPY_H

#include "server/http/srv_request.h"

srv_verdict srv_copy_weights(srv_request *request);

#endif
