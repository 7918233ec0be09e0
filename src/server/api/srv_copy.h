/* Route copy_weights: a checkpoint in another run, which shares its files. Thread: a
 * worker. */
#ifndef SERVER_SRV_COPY_H
#define SERVER_SRV_COPY_H

#include "httpd/hd_request.h"

hd_verdict srv_copy_weights(hd_request *request);

#endif
