/* Routes about base models that the Tinker API does not have: what each one is, and
 * loading a further one. Thread: a worker. */
#ifndef SERVER_SRV_MODELS_H
#define SERVER_SRV_MODELS_H

#include "httpd/hd_request.h"

/* GET /tinkc/v1/models */
hd_verdict srv_models_list(hd_request *request);
/* POST /tinkc/v1/models: for programs of this machine that know the server's key. */
hd_verdict srv_models_load(hd_request *request);

#endif
