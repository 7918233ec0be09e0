/* The head of a request: the first call of the library. Finds the route, checks the
 * caller, keeps the headers that handlers need. */
#include <string.h>

#include "server/http/srv_guard.h"
#include "server/http/srv_http_int.h"
#include "server/http/srv_reply.h"

/* ---- from the library's strings ---- */

static tk_str header(struct MHD_Connection *connection, const char *name)
{
    return tk_str_of(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

static bool contains(tk_str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (tk_str_is_nocase((tk_str){text.p + i, n}, word)) {
            return true;
        }
    }
    return false;
}

static enum MHD_Result keep_query(void *user, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    srv_request *request = user;
    if (request->n_query == TK_SRV_QUERY_MAX) {
        return MHD_NO;
    }
    srv_query *at = &request->query[request->n_query];
    if (!tk_arena_dup(&request->arena, &at->name, name, strlen(name)) ||
        !tk_arena_dup(&request->arena, &at->value, value != NULL ? value : "",
                      value != NULL ? strlen(value) : 0)) {
        return MHD_NO;
    }
    request->n_query++;
    return MHD_YES;
}

static bool keep_text(srv_request *request, tk_str *out, tk_str text)
{
    return tk_arena_dup(&request->arena, out, text.p, text.n);
}

/* ---- the head ---- */

void srv_http_refuse(exchange *x, int status, const char *text)
{
    if (status == 429 || (status == 500 && x->request->arena.refused)) {
        (void)srv_reply_busy(x->request);
    } else {
        (void)srv_reply_fail(x->request, status, "%s", text);
    }
    x->refused = true;
}

static void find_route(exchange *x, const char *method, const char *url)
{
    srv_request *request = x->request;
    tk_str path;
    int status = 0;
    if (!keep_text(request, &path, tk_str_of(url))) {
        srv_http_refuse(x, 500, "out of memory");
        return;
    }
    request->route =
        srv_route_find(x->http->config.routes, method, path, request->params, &status);
    if (request->route == NULL) {
        srv_http_refuse(x, status, status == 405 ? "Method Not Allowed" : "Not Found");
    }
}

static bool check_caller(exchange *x)
{
    tk_err err = TK_ERR_INIT;
    const srv_guard_caller caller = {
        .host = header(x->connection, MHD_HTTP_HEADER_HOST),
        .origin = header(x->connection, "Origin"),
        .key = header(x->connection, "X-API-Key"),
        .open =
            x->request->route != NULL && (x->request->route->flags & SRV_ROUTE_OPEN) != 0,
    };
    const srv_guard guard = {x->http->config.api_key, x->http->loopback};
    int status = srv_guard_check(&guard, &caller, &err);
    if (status != 0) {
        srv_http_refuse(x, status, err.message);
    }
    return status == 0 && srv_guard_knows(&guard, &caller);
}

static void read_headers(exchange *x)
{
    srv_request *request = x->request;
    struct MHD_Connection *c = x->connection;
    request->sends_proto =
        contains(header(c, MHD_HTTP_HEADER_CONTENT_TYPE), SRV_TYPE_PROTO);
    request->wants_proto = contains(header(c, MHD_HTTP_HEADER_ACCEPT), SRV_TYPE_PROTO);
    tk_str encoding = header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
    request->sends_zstd = tk_str_is_nocase(encoding, "zstd");
    if (encoding.n > 0 && !request->sends_zstd &&
        !tk_str_is_nocase(encoding, "identity")) {
        srv_http_refuse(x, 415, "Content-Encoding must be zstd or identity");
    }
    tk_str key = header(c, "X-Idempotency-Key");
    if (key.n > TK_SRV_ID_BYTES) {
        srv_http_refuse(x, 400, "X-Idempotency-Key is too long");
    } else if (!keep_text(request, &request->idempotency_key, key)) {
        srv_http_refuse(x, 500, "out of memory");
    }
    if (!keep_text(request, &request->host, header(c, MHD_HTTP_HEADER_HOST)) ||
        !keep_text(request, &request->range, header(c, MHD_HTTP_HEADER_RANGE)) ||
        !keep_text(request, &request->if_range, header(c, MHD_HTTP_HEADER_IF_RANGE))) {
        srv_http_refuse(x, 500, "out of memory");
    }
    int n = MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL);
    if (n > (int)TK_SRV_QUERY_MAX) {
        srv_http_refuse(x, 400, "too many query parameters");
        return;
    }
    (void)MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, keep_query, request);
    if ((int)request->n_query != n) {
        srv_http_refuse(x, 500, "out of memory");
    }
}

static size_t body_cap(const exchange *x)
{
    const srv_route *route = x->request->route;
    size_t most = x->request->budget->parts[SRV_PART_REQUESTS].max;
    return TK_MIN(most, route != NULL && route->max_body_bytes > 0
                            ? route->max_body_bytes
                            : TK_SRV_BODY_LIGHT_BYTES);
}

bool srv_http_is_too_large(const exchange *x)
{
    uint64_t length = 0;
    return tk_str_to_u64(header(x->connection, MHD_HTTP_HEADER_CONTENT_LENGTH),
                         &length) &&
           length > body_cap(x);
}

bool srv_http_read_head(exchange *x, const char *method, const char *url)
{
    find_route(x, method, url);
    read_headers(x);
    bool welcome = check_caller(x);
    if (atomic_load(&x->http->closing)) {
        srv_http_refuse(x, 503, "the server is stopping");
    }
    x->request->body.max = body_cap(x);
    return welcome;
}
