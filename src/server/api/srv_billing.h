/* Route billing/usage/events: what was used, by hour. Thread: a worker. */
#ifndef SERVER_SRV_BILLING_H
#define SERVER_SRV_BILLING_H

#include "httpd/hd_request.h"

hd_verdict srv_billing_events(hd_request *request);
hd_verdict srv_billing_storage(hd_request *request); /* of checkpoints, now */

#endif
