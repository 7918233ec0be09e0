/* The gateway inside the server: its backend is the engine, its models are the base models
 * by name and the checkpoints by path. Episodes are in the data directory. In a build
 * without src/text there is none (srv_gateway_off.c). */
#ifndef SERVER_SRV_GATEWAY_H
#define SERVER_SRV_GATEWAY_H

#include "base/err.h"
#include "console/con_data.h"
#include "httpd/hd_route.h"

typedef struct srv srv;
typedef struct srv_gateway srv_gateway;

/* After the engine, before HTTP. The errors of gw_new. */
TK_NODISCARD tinkc_code srv_gateway_new(srv_gateway **out, srv *server, tk_err *err);
/* After HTTP and the engine have stopped, before the engine is freed. Accepts NULL. */
void srv_gateway_free(srv_gateway *gateway);

/* Lists the episodes for the console, newest first. Arena. Returns false when out of
 * memory. */
TK_NODISCARD bool srv_gateway_list(srv_gateway *gateway, con_episodes *out,
                                   tk_arena *arena);

/* The handler of GW_ROUTES. */
hd_verdict srv_gateway_handle(hd_request *request);

/* Writes the body of an error (hd_http_config.refuse): in the dialect of the gateway's
 * paths, else as srv_refuse. */
void srv_gateway_refuse(hd_request *request, int status, const tk_err *err);

#endif
