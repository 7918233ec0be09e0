/* Matching of paths, segment by segment, and the innermost dispatcher. */
#include "httpd/hd_route.h"

#include <stdio.h>
#include <string.h>

#include "httpd/hd_reply.h"

/* "**" takes two segments as one parameter, with the slash between them. */
static bool take_two(tk_str *path, tk_str *out)
{
    const char *begin = path->p;
    tk_str first = tk_str_cut(path, '/');
    tk_str second = tk_str_cut(path, '/');
    *out = (tk_str){begin, first.n + 1 + second.n};
    return first.n > 0 && second.n > 0;
}

static bool match(const char *pattern, tk_str path, tk_str params[HD_PARAMS_MAX])
{
    tk_str want = tk_str_of(pattern);
    size_t n = 0;
    while (want.n > 0 && path.n > 0) {
        tk_str word = tk_str_cut(&want, '/');
        if (tk_str_is(word, "**")) {
            if (n == HD_PARAMS_MAX || !take_two(&path, &params[n++])) {
                return false;
            }
            continue;
        }
        tk_str have = tk_str_cut(&path, '/');
        if (tk_str_is(word, "*")) {
            if (n == HD_PARAMS_MAX || have.n == 0) {
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

const hd_route *hd_route_find(const hd_routes *routes, const char *method, tk_str path,
                              tk_str params[HD_PARAMS_MAX], int *status)
{
    *status = 404;
    for (size_t i = 0; i < routes->n; i++) {
        const hd_route *route = &routes->p[i];
        memset(params, 0, HD_PARAMS_MAX * sizeof(*params));
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

/* ---- queries ---- */

/* Whether one of "a|b" is the value; without any, each is. */
static bool is_value(tk_str values, tk_str value)
{
    bool any = values.n == 0;
    while (!any && values.n > 0) {
        any = tk_str_eq(tk_str_cut(&values, '|'), value);
    }
    return any;
}

/* Answers and returns false when the route does not have the parameter. */
static bool check_parameter(hd_request *request, const hd_query *parameter)
{
    const char *list = request->route->query;
    char name[TK_ERR_PATH_BYTES / 2];
    tk_str rest = tk_str_of(list != NULL ? list : "");
    const char *blame = "unknown parameter of the query";
    while (rest.n > 0) {
        tk_str values = tk_str_cut(&rest, ' ');
        if (tk_str_eq(tk_str_cut(&values, '='), parameter->name)) {
            if (is_value(values, parameter->value)) {
                return true;
            }
            blame = "has a value that this parameter of the query does not know";
        }
    }
    (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(parameter->name));
    (void)hd_reply_field(request, name, blame);
    return false;
}

static hd_verdict handle(void *user, hd_request *request)
{
    const hd_route *route = request->route;
    (void)user;
    if (route->query == NULL || strcmp(route->query, HD_ROUTE_ANY) != 0) {
        for (size_t i = 0; i < request->n_query; i++) {
            if (!check_parameter(request, &request->query[i])) {
                return HD_ANSWERED;
            }
        }
    }
    return route->handler(request);
}

const hd_dispatch hd_route_dispatch = {handle, NULL, true};
