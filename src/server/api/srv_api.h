/* The routes of the Tinker API and of the server itself: method, path, handler, limit of
 * the body. Immutable. Thread: any. */
#ifndef SERVER_SRV_API_H
#define SERVER_SRV_API_H

#include "httpd/hd_route.h"

extern const hd_routes srv_api_routes;

#endif
