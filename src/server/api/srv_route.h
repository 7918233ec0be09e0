/* Which handler answers which method and path: one table (srv_route.c), in the order of
 * wire.md §2. A pattern is a path whose segments may be "*" (one segment) or "**" (two:
 * the id of a checkpoint, "weights/<name>"); what they match are the request's
 * parameters. Thread: any. */
#ifndef SERVER_SRV_ROUTE_H
#define SERVER_SRV_ROUTE_H

#include "server/http/srv_request.h"

typedef srv_verdict (*srv_handler)(srv *server, srv_request *request);

enum {
    SRV_ROUTE_HEAVY = 1u << 0, /* large bodies: not for the worker that keeps quick */
    SRV_ROUTE_OPEN = 1u << 1   /* needs no key */
};

struct srv_route {
    const char *method;
    const char *pattern;
    srv_handler handler;
    unsigned flags;
    size_t max_body_bytes; /* 0 = TK_SRV_BODY_LIGHT_BYTES */
};

/* The row, with the parameters (views into `path`) in params[]; NULL when there is none:
 * *status is 404 then, or 405 when only the method is wrong. */
const srv_route *srv_route_find(const char *method, tk_str path,
                                tk_str params[SRV_PARAMS_MAX], int *status);

/* For tests and documentation. */
extern const srv_route srv_routes[];
extern const size_t srv_routes_n;

#endif
