/* Which handler answers which method and path. The table is given by the application
 * (srv_api.c). A pattern is a path whose segments may be "*" (one segment) or "**" (two
 * segments, for ids that contain a slash); what they match are the request's parameters.
 * Thread: any. */
#ifndef HTTPD_HD_ROUTE_H
#define HTTPD_HD_ROUTE_H

#include "httpd/hd_request.h"

typedef hd_verdict (*hd_handler)(hd_request *request);

/* At most one of PROMPT, LIGHT, HEAVY and SLOW. The first three wait neither for the disk
 * nor for another thread's work. A handler without a class may; others give a request to
 * such a worker with hd_request_wait.
 *
 * A PROMPT handler runs on the HTTP thread as soon as a small request is complete, and every
 * connection waits while it runs: it parks nothing, delays nothing, and takes no lock that
 * another thread may hold for long (tk_mutex_try_lock, then hd_request_hop). */
enum {
    HD_ROUTE_HEAVY = 1u << 0,  /* decodes large bodies */
    HD_ROUTE_OPEN = 1u << 1,   /* needs no key */
    HD_ROUTE_LIGHT = 1u << 2,  /* answers from memory */
    HD_ROUTE_PROMPT = 1u << 3, /* answers from memory within microseconds */
    HD_ROUTE_SLOW = 1u << 4,   /* reads so much that it takes seconds */
    HD_ROUTE_SIGNED = 1u << 5  /* the link is checked before the body is read
                                 * (hd_http_config.admit) */
};

#define HD_ROUTE_ANY "*"

struct hd_route {
    const char *method;
    const char *pattern;
    hd_handler handler;
    unsigned flags;
    size_t max_body_bytes; /* 0 = TK_HD_BODY_LIGHT_BYTES */
    /* Parameters of the query, with a space between them; "scope=a|b" has one of these
     * values. Any other is refused, unless it is HD_ROUTE_ANY. NULL = none. */
    const char *query;
};

typedef struct hd_routes {
    const hd_route *p; /* the first row that matches counts */
    size_t n;
} hd_routes;

/* Returns the row, with the parameters (views into `path`) in params[]; NULL when there
 * is none: *status is 404 then, or 405 when only the method is wrong. */
const hd_route *hd_route_find(const hd_routes *routes, const char *method, tk_str path,
                              tk_str params[HD_PARAMS_MAX], int *status);

/* What a worker does with a request. One dispatcher may wrap another (hd_fault.h). */
typedef struct hd_dispatch {
    hd_verdict (*handle)(void *user, hd_request *request);
    void *user;
    bool is_quick; /* adds no wait to a handler: may be called on the HTTP thread */
} hd_dispatch;

/* Runs the handler of the request's route; a parameter of the query that the route does
 * not have is answered with 422. */
extern const hd_dispatch hd_route_dispatch;

#endif
