/* The head of a request: the first call of the library. Refuses a head that two programs
 * could read in two ways, finds the route, checks the caller, keeps the headers that
 * handlers need. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "httpd/hd_guard.h"
#include "httpd/hd_http_int.h"
#include "httpd/hd_reply.h"

/* ---- from the library's strings ---- */

static tk_str header(struct MHD_Connection *connection, const char *name)
{
    return tk_str_of(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

tk_str hd_http_header(const hd_request *request, const char *name)
{
    const exchange *x = request->http;
    return header(x->connection, name);
}

static enum MHD_Result keep_query(void *user, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    hd_request *request = user;
    if (request->n_query == TK_HD_QUERY_MAX) {
        return MHD_NO;
    }
    hd_query *at = &request->query[request->n_query];
    if (!tk_arena_dup(&request->arena, &at->name, name, strlen(name)) ||
        !tk_arena_dup(&request->arena, &at->value, value != NULL ? value : "",
                      value != NULL ? strlen(value) : 0)) {
        return MHD_NO;
    }
    request->n_query++;
    return MHD_YES;
}

static bool keep_text(hd_request *request, tk_str *out, tk_str text)
{
    return tk_arena_dup(&request->arena, out, text.p, text.n);
}

/* ---- heads that can be read in two ways ---- */

/* What the library accepts, although a proxy in front of it may read it in another way:
 * both would disagree about where a request ends, or which header counts. */
typedef struct lines {
    const char *blame;       /* what is wrong, or NULL */
    const char *next;        /* where the next name must begin; NULL = anywhere */
    bool is_raw;             /* names and values are views of the bytes as they came */
    unsigned seen;           /* bits: rows of `single`, then of `more` */
    bool sized, chunked;     /* Content-Length, Transfer-Encoding */
    const char *const *more; /* the application's names; NULL = none */
} lines;

static const char *const single[] = {
    MHD_HTTP_HEADER_CONTENT_LENGTH,
    MHD_HTTP_HEADER_TRANSFER_ENCODING,
    MHD_HTTP_HEADER_HOST,
    MHD_HTTP_HEADER_AUTHORIZATION,
    "X-API-Key",
    MHD_HTTP_HEADER_CONTENT_TYPE,
    MHD_HTTP_HEADER_CONTENT_ENCODING,
    "Origin",
    MHD_HTTP_HEADER_RANGE,
    MHD_HTTP_HEADER_IF_RANGE,
};

static bool is_token(tk_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool alnum =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return name.n > 0;
}

static bool is_printable(tk_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool is_blank(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t')) {
        from++;
    }
    return from == to;
}

/* Versions 0.9.x cut a value at a NUL, accept a line without CR, and add a continued line
 * to the name of the header before it. Each leaves a gap: they put a NUL for the colon and
 * two for the end of a line, and keep everything else in its place. */
static bool is_in_place(const lines *head, tk_str name, tk_str value)
{
    const char *begin = name.p + name.n + 1;
    return !head->is_raw ||
           ((head->next == NULL || head->next == name.p) && value.p >= begin &&
            (size_t)(value.p - begin) < TK_HD_HEADER_BYTES && is_blank(begin, value.p));
}

static void look_at_single(lines *head, tk_str name, const char *one, unsigned row)
{
    if (!tk_str_is_nocase(name, one)) {
        return;
    }
    if ((head->seen & (1u << row)) != 0) {
        head->blame = "a header is there twice";
    }
    head->seen |= 1u << row;
}

static void look_at_known(lines *head, tk_str name, tk_str value)
{
    unsigned row = 0;
    for (; row < TK_ARRAY_LEN(single); row++) {
        look_at_single(head, name, single[row], row);
    }
    for (unsigned i = 0; head->more != NULL && head->more[i] != NULL; i++) {
        look_at_single(head, name, head->more[i], row + i);
    }
    if (tk_str_is_nocase(name, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
        head->chunked = true;
        if (!tk_str_is_nocase(value, "chunked")) {
            head->blame = "Transfer-Encoding must be chunked";
        }
    }
    head->sized = head->sized || tk_str_is_nocase(name, MHD_HTTP_HEADER_CONTENT_LENGTH);
}

static enum MHD_Result look_at_line(void *user, enum MHD_ValueKind kind, const char *key,
                                    const char *text)
{
    (void)kind;
    lines *head = user;
    tk_str name = tk_str_of(key);
    tk_str value = tk_str_of(text != NULL ? text : "");
    if (!is_token(name) || !is_printable(value) || !is_in_place(head, name, value)) {
        head->blame = "a header is malformed";
        return MHD_NO;
    }
    look_at_known(head, name, value);
    head->next = value.p + value.n + 2;
    return head->blame == NULL ? MHD_YES : MHD_NO;
}

/* Whether names, values and the first line are views of the bytes as they came. */
static bool is_raw(void)
{
    return strncmp(MHD_get_version(), "0.9.", 4) == 0;
}

/* Returns what is wrong with the head, or NULL. `method` is where its bytes begin. */
static const char *blame_head(const exchange *x, const char *method)
{
    struct MHD_Connection *connection = x->connection;
    lines head = {.is_raw = is_raw(), .more = x->http->config.single};
    int n = MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at_line, &head);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (head.blame != NULL) {
        return head.blame;
    }
    if (head.sized && head.chunked) {
        return "a body has Content-Length or Transfer-Encoding, not both";
    }
    if (head.is_raw && n > 0 && info != NULL &&
        head.next + 2 != method + info->header_size) {
        return "a header is malformed";
    }
    return NULL;
}

bool hd_http_is_whole_line(const hd_http_line *line, size_t uri_bytes)
{
    return !is_raw() || line->version[0] == '\0' ||
           (line->url == line->method + strlen(line->method) + 1 &&
            line->version == line->url + uri_bytes + 1);
}

bool hd_http_is_plain_uri(const char *uri)
{
    for (const char *at = uri != NULL ? uri : ""; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c <= ' ' || c == 0x7f || strncmp(at, "%00", 3) == 0) {
            return false;
        }
    }
    return true;
}

/* ---- the head ---- */

void hd_http_refuse(exchange *x, int status, const char *text)
{
    if (status == 429 || (status == 500 && x->request->arena.refused)) {
        (void)hd_reply_busy(x->request);
    } else {
        (void)hd_reply_fail(x->request, status, "%s", text);
    }
    x->refused = true;
}

void hd_http_reject(exchange *x, const char *text)
{
    hd_http_refuse(x, 400, text);
    x->broken = true;
}

static void find_route(exchange *x, const char *method, const char *url)
{
    hd_request *request = x->request;
    int status = 0;
    if (!keep_text(request, &request->path, tk_str_of(url))) {
        hd_http_refuse(x, 500, "out of memory");
        return;
    }
    request->route = hd_route_find(x->http->config.routes, method, request->path,
                                   request->params, &status);
    if (request->route == NULL) {
        hd_http_refuse(x, status, status == 405 ? "Method Not Allowed" : "Not Found");
    }
}

/* Fills in what counts when the caller relies on a cookie. */
static void read_cookie(hd_guard_caller *caller, const exchange *x, const char *method)
{
    const hd_http_config *config = &x->http->config;
    tk_str cookies = header(x->connection, MHD_HTTP_HEADER_COOKIE);
    if (config->knows_cookie != NULL && config->api_key != NULL && cookies.n > 0) {
        caller->knows_cookie = config->knows_cookie(config->app, cookies);
        caller->is_change = strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
                            strcmp(method, MHD_HTTP_METHOD_HEAD) != 0;
        caller->is_marked = tk_str_is(header(x->connection, config->cookie_mark), "1");
    }
}

/* Refuses a caller that may not ask; returns whether it is one that the server knows. */
static bool check_caller(exchange *x, const char *method)
{
    tk_err err = TK_ERR_INIT;
    hd_guard_caller caller = {
        .host = header(x->connection, MHD_HTTP_HEADER_HOST),
        .origin = header(x->connection, "Origin"),
        .site = header(x->connection, "Sec-Fetch-Site"),
        .type = header(x->connection, MHD_HTTP_HEADER_CONTENT_TYPE),
        .key = header(x->connection, "X-API-Key"),
        .authorization = header(x->connection, MHD_HTTP_HEADER_AUTHORIZATION),
        .open =
            x->request->route != NULL && (x->request->route->flags & HD_ROUTE_OPEN) != 0,
    };
    const hd_guard guard = {x->http->config.api_key, x->http->loopback};
    read_cookie(&caller, x, method);
    int status = hd_guard_check(&guard, &caller, &err);
    if (status != 0) {
        hd_http_refuse(x, status, err.message);
    } else if (x->http->config.on_head != NULL && !x->http->config.on_head(x->request)) {
        x->refused = true;
    }
    return status == 0 && hd_guard_knows(&guard, &caller);
}

static bool is_forwarded(struct MHD_Connection *connection)
{
    static const char *const names[] = {"Forwarded",         "Via",
                                        "X-Forwarded-For",   "X-Forwarded-Host",
                                        "X-Forwarded-Proto", "X-Real-IP"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        if (header(connection, names[i]).p != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_local(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return from != NULL && hd_listen_is_loopback_peer(from->client_addr) &&
           !is_forwarded(connection);
}

static void check_encoding(exchange *x)
{
    const char *own = x->http->config.encoding;
    tk_str encoding = header(x->connection, MHD_HTTP_HEADER_CONTENT_ENCODING);
    x->request->is_encoded = own != NULL && tk_str_is_nocase(encoding, own);
    if (encoding.n > 0 && !x->request->is_encoded &&
        !tk_str_is_nocase(encoding, "identity")) {
        char text[64];
        (void)snprintf(text, sizeof(text), "Content-Encoding must be %s%sidentity",
                       own != NULL ? own : "", own != NULL ? " or " : "");
        hd_http_refuse(x, 415, text);
    }
}

static void read_headers(exchange *x)
{
    hd_request *request = x->request;
    struct MHD_Connection *c = x->connection;
    request->is_local = is_local(c);
    request->came_by_https = tk_str_is_nocase(header(c, "X-Forwarded-Proto"), "https");
    check_encoding(x);
    if (!keep_text(request, &request->host, header(c, MHD_HTTP_HEADER_HOST)) ||
        !keep_text(request, &request->range, header(c, MHD_HTTP_HEADER_RANGE)) ||
        !keep_text(request, &request->if_range, header(c, MHD_HTTP_HEADER_IF_RANGE))) {
        hd_http_refuse(x, 500, "out of memory");
    }
    int n = MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL);
    if (n > (int)TK_HD_QUERY_MAX) {
        hd_http_refuse(x, 400, "too many query parameters");
        return;
    }
    (void)MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, keep_query, request);
    if ((int)request->n_query != n) {
        hd_http_refuse(x, 500, "out of memory");
    }
}

static size_t body_cap(const exchange *x)
{
    const hd_route *route = x->request->route;
    size_t most = x->request->budget->parts[HD_PART_REQUESTS].max;
    return TK_MIN(most, route != NULL && route->max_body_bytes > 0
                            ? route->max_body_bytes
                            : TK_HD_BODY_LIGHT_BYTES);
}

static bool read_length(const exchange *x, uint64_t *out)
{
    return tk_str_to_u64(header(x->connection, MHD_HTTP_HEADER_CONTENT_LENGTH), out);
}

static bool is_too_large(const exchange *x)
{
    uint64_t length = 0;
    return read_length(x, &length) && length > body_cap(x);
}

uint64_t hd_http_body_bytes(const exchange *x)
{
    uint64_t length = body_cap(x); /* in chunks, whose sum is not known */
    (void)read_length(x, &length);
    return length;
}

/* Whether the link of the request is good, where one is needed; answers it if not. */
static bool is_admitted(const exchange *x)
{
    const hd_route *route = x->request->route;
    return route == NULL || (route->flags & HD_ROUTE_SIGNED) == 0 ||
           x->http->config.admit(x->request);
}

/* Keeps what a log of answers shows, if there is one. */
static void keep_line(exchange *x, const hd_http_line *line)
{
    tk_arena *arena = &x->request->arena;
    if (x->http->config.on_answer != NULL) {
        x->began_ms = tk_clock_mono_ms(NULL);
        (void)!tk_arena_dup(arena, &x->method, line->method, strlen(line->method));
        (void)!tk_arena_dup(arena, &x->path, line->url, strlen(line->url));
    }
}

bool hd_http_read_head(exchange *x, const hd_http_line *line)
{
    const char *blame = blame_head(x, line->method);
    if (blame != NULL) {
        hd_http_reject(x, blame);
    }
    if (x->broken) {
        return false;
    }
    keep_line(x, line);
    find_route(x, line->method, line->url);
    read_headers(x);
    bool welcome = check_caller(x, line->method);
    if (atomic_load(&x->http->closing)) {
        hd_http_refuse(x, 503, "the server is stopping");
    }
    if (is_too_large(x)) {
        hd_http_refuse(x, 413, "the body is too large");
        x->broken = true;
    }
    if (!x->refused && !is_admitted(x)) {
        x->refused = true;
        x->broken = hd_http_body_bytes(x) > TK_HD_BODY_LIGHT_BYTES; /* not read */
    }
    x->request->body.max = body_cap(x);
    return welcome;
}
