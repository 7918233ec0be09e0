/* Which handler answers which method and path. The table is given by the application
 * (srv_api.c). A pattern is a path whose segments may be "*" (one segment) or "**" (two
 * segments, for ids that contain a slash); what they match are the request's parameters.
 * Thread: any. */
#ifndef SERVER_SRV_ROUTE_H
#define SERVER_SRV_ROUTE_H

#include "server/http/srv_request.h"

typedef srv_verdict (*srv_handler)(srv_request *request);

/* At most one of PROMPT, LIGHT, HEAVY and SLOW. The first three wait neither for the disk
 * nor for another thread's work. A handler without a class may; others give a request to
 * such a worker with srv_request_wait. */
enum {
    SRV_ROUTE_HEAVY = 1u << 0,  /* decodes large bodies */
    SRV_ROUTE_OPEN = 1u << 1,   /* needs no key */
    SRV_ROUTE_LIGHT = 1u << 2,  /* answers from memory */
    SRV_ROUTE_PROMPT = 1u << 3, /* answers from memory within microseconds */
    SRV_ROUTE_SLOW = 1u << 4,   /* reads so much that it takes seconds */
    SRV_ROUTE_SIGNED = 1u << 5  /* the link is checked before the body is read
                                 * (srv_http_config.admit) */
};

#define SRV_ROUTE_ANY "*"

struct srv_route {
    const char *method;
    const char *pattern;
    srv_handler handler;
    unsigned flags;
    size_t max_body_bytes; /* 0 = TK_SRV_BODY_LIGHT_BYTES */
    /* Parameters of the query, with a space between them; "scope=a|b" has one of these
     * values. Any other is refused, unless it is SRV_ROUTE_ANY. NULL = none. */
    const char *query;
};

typedef struct srv_routes {
    const srv_route *p; /* the first row that matches counts */
    size_t n;
} srv_routes;

/* Returns the row, with the parameters (views into `path`) in params[]; NULL when there
 * is none: *status is 404 then, or 405 when only the method is wrong. */
const srv_route *srv_route_find(const srv_routes *routes, const char *method, tk_str path,
                                tk_str params[SRV_PARAMS_MAX], int *status);

/* What a worker does with a request. One dispatcher may wrap another (srv_fault.h). */
typedef struct srv_dispatch {
    srv_verdict (*handle)(void *user, srv_request *request);
    void *user;
} srv_dispatch;

/* Runs the handler of the request's route; a parameter of the query that the route does
 * not have is answered with 422. */
extern const srv_dispatch srv_route_dispatch;

#endif
