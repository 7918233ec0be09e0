/* What clients know about the rows of the server's route table: how often each was asked
 * and answered with success, and whether a row is known at all. */
#include <string.h>

#include "fz.h"
#include "httpd/hd_route.h"
#include "server/api/srv_api.h"

#define ROUTES_MAX 128

static struct {
    atomic_size_t asked, done; /* answers; those below 400 */
} counts[ROUTES_MAX];

void fz_routes_count(const hd_route *route, int status)
{
    size_t i = (size_t)(route - srv_api_routes.p);
    if (i < ROUTES_MAX) {
        atomic_fetch_add(&counts[i].asked, 1);
        atomic_fetch_add(&counts[i].done, status > 0 && status < 400);
    }
}

void fz_routes_report(void)
{
    size_t n = 0;
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        n += atomic_load(&counts[i].done) > 0;
    }
    printf("%zu of %zu routes answered with success; others:\n", n, srv_api_routes.n);
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        if (atomic_load(&counts[i].done) == 0) {
            printf("    %s %s, asked %zu times\n", srv_api_routes.p[i].method,
                   srv_api_routes.p[i].pattern, atomic_load(&counts[i].asked));
        }
    }
}

static bool takes_body(const hd_route *route)
{
    return strcmp(route->method, "POST") == 0 || strcmp(route->method, "PUT") == 0;
}

/* Whether an id is known for each star of a pattern. */
static bool knows_stars(const hd_route *route)
{
    const fz_ids ids = {.seq = 0};
    for (const char *p = strchr(route->pattern, '*'); p != NULL; p = strchr(p, '*')) {
        if (fz_hostile_id(&ids, route->pattern, p) == NULL) {
            return false;
        }
        p += strspn(p, "*");
    }
    return true;
}

static bool is_row(const char *call)
{
    char text[256];
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        (void)snprintf(text, sizeof(text), "%s %s", srv_api_routes.p[i].method,
                       srv_api_routes.p[i].pattern);
        if (strcmp(text, call) == 0) {
            return true;
        }
    }
    return false;
}

size_t fz_routes_check(void)
{
    size_t bad = srv_api_routes.n > ROUTES_MAX;
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        const hd_route *route = &srv_api_routes.p[i];
        if (takes_body(route) && !fz_body_knows(route->method, route->pattern)) {
            printf("%s %s: no body in fz_body.c\n", route->method, route->pattern);
            bad++;
        }
        if (!knows_stars(route)) {
            printf("%s %s: no id for a star in fz_hostile.c\n", route->method,
                   route->pattern);
            bad++;
        }
    }
    for (size_t i = 0; fz_body_row(i) != NULL; i++) {
        if (!is_row(fz_body_row(i))) {
            printf("%s: a body in fz_body.c, and no such route\n", fz_body_row(i));
            bad++;
        }
    }
    printf("%zu routes, %zu unknown\n", srv_api_routes.n, bad);
    return bad;
}
