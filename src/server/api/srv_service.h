/* Routes of a service that need no model: configuration, health, capabilities, sessions,
 * heartbeat, telemetry (docs/protocol.md §2.1). Thread: a worker. */
#ifndef SERVER_SRV_SERVICE_H
#define SERVER_SRV_SERVICE_H

#include "httpd/hd_request.h"

hd_verdict srv_service_config(hd_request *request);
hd_verdict srv_service_dynamic_config(hd_request *request);
hd_verdict srv_service_health(hd_request *request);
hd_verdict srv_service_capabilities(hd_request *request);
hd_verdict srv_service_create_session(hd_request *request);
hd_verdict srv_service_heartbeat(hd_request *request);
/* A client that closes (SDK 0.36): models and samplers of the session are unloaded. */
hd_verdict srv_service_finish_session(hd_request *request);
hd_verdict srv_service_telemetry(hd_request *request);

#endif
