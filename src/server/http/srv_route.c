/* Matching of paths, segment by segment, and the innermost dispatcher. */
#include "server/http/srv_route.h"

#include <string.h>

/* "**" takes two segments as one parameter, with the slash between them. */
static bool take_two(tk_str *path, tk_str *out)
{
    const char *begin = path->p;
    tk_str first = tk_str_cut(path, '/');
    tk_str second = tk_str_cut(path, '/');
    *out = (tk_str){begin, first.n + 1 + second.n};
    return first.n > 0 && second.n > 0;
}

static bool match(const char *pattern, tk_str path, tk_str params[SRV_PARAMS_MAX])
{
    tk_str want = tk_str_of(pattern);
    size_t n = 0;
    while (want.n > 0 && path.n > 0) {
        tk_str word = tk_str_cut(&want, '/');
        if (tk_str_is(word, "**")) {
            if (n == SRV_PARAMS_MAX || !take_two(&path, &params[n++])) {
                return false;
            }
            continue;
        }
        tk_str have = tk_str_cut(&path, '/');
        if (tk_str_is(word, "*")) {
            if (n == SRV_PARAMS_MAX || have.n == 0) {
                return false;
            }
            params[n++] = have;
        } else if (!tk_str_eq(word, have)) {
            return false;
        }
    }
    /* Without a rest, or both with an empty one after a last slash. */
    return want.n == 0 && path.n == 0 && (want.p == NULL) == (path.p == NULL);
}

const srv_route *srv_route_find(const srv_routes *routes, const char *method, tk_str path,
                                tk_str params[SRV_PARAMS_MAX], int *status)
{
    *status = 404;
    for (size_t i = 0; i < routes->n; i++) {
        const srv_route *route = &routes->p[i];
        memset(params, 0, SRV_PARAMS_MAX * sizeof(*params));
        if (!match(route->pattern, path, params)) {
            continue;
        }
        if (strcmp(route->method, method) == 0) {
            return route;
        }
        *status = 405;
    }
    return NULL;
}

static srv_verdict handle(void *user, srv_request *request)
{
    (void)user;
    return request->route->handler(request);
}

const srv_dispatch srv_route_dispatch = {handle, NULL};
