/* Route billing/usage/events: what was used, by hour. Thread: a worker. */
#ifndef SERVER_SRV_BILLING_H
#define SERVER_SRV_BILLING_H

#include "server/http/srv_request.h"

srv_verdict srv_billing_events(srv_request *request);
srv_verdict srv_billing_storage(srv_request *request); /* of checkpoints, now */

#endif
