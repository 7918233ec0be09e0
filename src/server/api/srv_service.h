/* Routes of a service that need no model: configuration, health, capabilities, sessions,
 * heartbeat, telemetry (docs/protocol.md §2.1). Thread: a worker. */
#ifndef SERVER_SRV_SERVICE_H
#define SERVER_SRV_SERVICE_H

#include "server/http/srv_request.h"

srv_verdict srv_service_config(srv_request *request);
srv_verdict srv_service_dynamic_config(srv_request *request);
srv_verdict srv_service_health(srv_request *request);
srv_verdict srv_service_capabilities(srv_request *request);
srv_verdict srv_service_create_session(srv_request *request);
srv_verdict srv_service_heartbeat(srv_request *request);
/* A client that closes (SDK 0.36): models and samplers of the session are unloaded. */
srv_verdict srv_service_finish_session(srv_request *request);
srv_verdict srv_service_telemetry(srv_request *request);

#endif
