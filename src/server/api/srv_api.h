/* The routes of the Tinker API and of the server itself: method, path, handler, limit of
 * the body. Immutable. Thread: any. */
#ifndef SERVER_SRV_API_H
#define SERVER_SRV_API_H

#include "server/http/srv_route.h"

extern const srv_routes srv_api_routes;

#endif
