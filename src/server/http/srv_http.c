/* The HTTP thread. An exchange is what the library's connection carries: the request and
 * how far it has come. The first call of on_access reads the head; then there is one call
 * per piece of the body; the last one posts the request. After the resume one more call
 * sends the answer. */
#include "server/http/srv_http.h"

#include <microhttpd.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "server/http/srv_guard.h"
#include "server/http/srv_listen.h"
#include "server/http/srv_reply.h"
#include "server/http/srv_stream.h"

#define IDLE_S          120 /* a connection without traffic and without a parked request */
#define UPLOAD_NS       (INT64_C(300000) * TK_NS_PER_MS) /* from first to last byte */
#define LAST_ANSWERS_NS (INT64_C(5000) * TK_NS_PER_MS)   /* at the stop */
#define STREAM_BLOCK    4096
#define SOURCE_BLOCK    (32 * TK_KIB)
#define CONNS_FLOOR     64

struct srv_http {
    srv_http_config config; /* constant */
    struct MHD_Daemon *daemon;
    srv_listen listen;
    bool loopback;
    tk_mutex lock;
    tk_cond idle;
    size_t total;        /* under lock: requests so far */
    size_t suspended;    /* under lock: requests that are with workers or parked */
    size_t active;       /* under lock: requests between first byte and last */
    size_t answering;    /* under lock: of those, complete: an answer is due */
    atomic_bool closing; /* set under lock: the workers get no more */
};

typedef struct exchange {
    srv_http *http;
    struct MHD_Connection *connection;
    srv_request *request;
    int64_t began_ns;
    bool refused; /* the answer is set, the rest of the body is dropped */
    bool posted;
} exchange;

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

/* ---- the first call ---- */

static void refuse(exchange *x, int status, const char *text)
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
        refuse(x, 500, "out of memory");
        return;
    }
    request->route =
        srv_route_find(x->http->config.routes, method, path, request->params, &status);
    if (request->route == NULL) {
        refuse(x, status, status == 405 ? "Method Not Allowed" : "Not Found");
    }
}

static void check_caller(exchange *x)
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
        refuse(x, status, err.message);
    }
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
        refuse(x, 415, "Content-Encoding must be zstd or identity");
    }
    tk_str key = header(c, "X-Idempotency-Key");
    if (key.n <= TK_SRV_ID_BYTES && !keep_text(request, &request->idempotency_key, key)) {
        refuse(x, 500, "out of memory");
    }
    if (!keep_text(request, &request->host, header(c, MHD_HTTP_HEADER_HOST)) ||
        !keep_text(request, &request->range, header(c, MHD_HTTP_HEADER_RANGE)) ||
        !keep_text(request, &request->if_range, header(c, MHD_HTTP_HEADER_IF_RANGE))) {
        refuse(x, 500, "out of memory");
    }
    if (MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL) >
        (int)TK_SRV_QUERY_MAX) {
        refuse(x, 400, "too many query parameters");
        return;
    }
    (void)MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, keep_query, request);
}

static size_t body_cap(const exchange *x)
{
    const srv_route *route = x->request->route;
    size_t most = x->request->budget->parts[SRV_PART_REQUESTS].max;
    return TK_MIN(most, route != NULL && route->max_body_bytes > 0
                            ? route->max_body_bytes
                            : TK_SRV_BODY_LIGHT_BYTES);
}

static void on_resume(srv_request *request)
{
    exchange *x = request->http;
    srv_http *http = x->http;
    MHD_resume_connection(x->connection);
    /* From here on the exchange may be gone. */
    tk_mutex_lock(&http->lock);
    http->suspended--;
    tk_mutex_unlock(&http->lock);
    tk_cond_broadcast(&http->idle);
}

static exchange *begin(srv_http *http, struct MHD_Connection *connection)
{
    exchange *x = tk_zalloc(sizeof(*x));
    srv_request *request =
        x != NULL ? srv_request_new(http->config.app, http->config.budget) : NULL;
    if (request == NULL) {
        tk_free(x);
        return NULL;
    }
    *x = (exchange){.http = http, .connection = connection, .request = request};
    x->began_ns = tk_clock_mono_ns(NULL);
    request->http = x;
    request->resume = on_resume;
    tk_mutex_lock(&http->lock);
    http->total++;
    http->active++;
    tk_mutex_unlock(&http->lock);
    return x;
}

static void read_head(exchange *x, const char *method, const char *url)
{
    find_route(x, method, url);
    read_headers(x);
    check_caller(x);
    if (atomic_load(&x->http->closing)) {
        refuse(x, 503, "the server is stopping");
    }
    x->request->body.max = body_cap(x);
}

/* ---- streams ---- */

static void on_stream_resume(void *user)
{
    exchange *x = user;
    on_resume(x->request);
}

/* Under the stream's lock: the connection is not resumed before this has returned. */
static void on_stream_wait(void *user)
{
    exchange *x = user;
    srv_http *http = x->http;
    MHD_suspend_connection(x->connection);
    tk_mutex_lock(&http->lock);
    http->suspended++;
    tk_mutex_unlock(&http->lock);
}

static ssize_t read_stream(void *user, uint64_t pos, char *out, size_t max)
{
    (void)pos;
    exchange *x = user;
    long n = srv_stream_take(x->request->stream, out, max, on_stream_wait, x);
    return n >= 0 ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

/* ---- the answer ---- */

static void release_blob(void *blob)
{
    srv_blob_release(blob);
}

/* Sends half of a body, then closes the connection. */
static ssize_t read_half(void *user, uint64_t at, char *out, size_t max)
{
    const srv_request *request = user;
    tk_str body = request->answer != NULL
                      ? (tk_str){request->answer->p, request->answer->n}
                      : request->fixed;
    size_t half = body.n / 2;
    if (at >= half) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t n = TK_MIN(half - (size_t)at, max);
    memcpy(out, body.p + at, n);
    return (ssize_t)n;
}

static ssize_t read_source(void *user, uint64_t at, char *out, size_t max)
{
    const srv_request *request = user;
    const srv_source *source = &request->source;
    long n = source->read(request->state, source->offset + (int64_t)at, out, max);
    return n > 0 ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static struct MHD_Response *make_response(srv_request *request)
{
    struct MHD_Response *response;
    if (request->loss == SRV_LOSS_HALF && request->stream == NULL &&
        request->file.fd < 0 && request->source.read == NULL) {
        size_t n = request->answer != NULL ? request->answer->n : request->fixed.n;
        return MHD_create_response_from_callback(n, STREAM_BLOCK, read_half, request,
                                                 NULL);
    }
    if (request->stream != NULL) {
        request->stream->resume = on_stream_resume;
        request->stream->user = request->http;
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK,
                                                 read_stream, request->http, NULL);
    }
    if (request->file.fd >= 0) {
        response = MHD_create_response_from_fd_at_offset64(
            (uint64_t)request->file.size, request->file.fd,
            (uint64_t)request->file.offset);
        if (response != NULL) {
            request->file.fd = -1; /* the response closes it */
        }
        return response;
    }
    if (request->source.read != NULL) {
        return MHD_create_response_from_callback(
            (uint64_t)request->source.size, SOURCE_BLOCK, read_source, request, NULL);
    }
    srv_blob *blob = request->answer;
    if (blob != NULL && blob->n > 0) {
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            blob->n, blob->p, release_blob, blob);
        if (response != NULL) {
            request->answer = NULL; /* the response has that ownership now */
        }
        return response;
    }
    char *bytes = NULL;
    const char *fixed = request->fixed.p != NULL ? request->fixed.p : "";
    memcpy(&bytes, &fixed, sizeof(bytes)); /* not written to: PERSISTENT */
    return MHD_create_response_from_buffer(request->fixed.n, bytes,
                                           MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_answer(exchange *x)
{
    srv_request *request = x->request;
    if (request->loss == SRV_LOSS_ALL) {
        return MHD_NO; /* closes the connection */
    }
    struct MHD_Response *response = make_response(request);
    if (response == NULL) {
        return MHD_NO;
    }
    bool ok = request->content_type == NULL ||
              MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                      request->content_type) == MHD_YES;
    for (size_t i = 0; i < request->n_headers; i++) {
        ok = ok && MHD_add_response_header(response, request->headers[i].name,
                                           request->headers[i].value) == MHD_YES;
    }
    if (atomic_load(&x->http->closing)) {
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
                                           "close") == MHD_YES;
    }
    enum MHD_Result result =
        ok ? MHD_queue_response(x->connection, (unsigned)request->status, response)
           : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

/* ---- the calls ---- */

static enum MHD_Result on_body(exchange *x, const char *data, size_t n)
{
    srv_request *request = x->request;
    if (tk_clock_mono_ns(NULL) - x->began_ns > UPLOAD_NS) {
        return MHD_NO;
    }
    if (x->refused) {
        return MHD_YES;
    }
    tk_buf_put(&request->body, data, n);
    if (request->body.failure != TINKC_OK) {
        bool large = request->body.failure == TINKC_E_LIMIT;
        bool full = request->body.failure == TINKC_E_RATE_LIMIT;
        tk_buf_dispose(&request->body); /* the rest of it is dropped */
        refuse(x,
               large  ? 413
               : full ? 429
                      : 500,
               large ? "the body is too large" : "out of memory");
    }
    return MHD_YES;
}

/* Counts a complete request; returns false when the workers may not have it any more.
 * Under the lock, so that no request is suspended after a stop has counted them: the
 * library aborts when it is stopped with a suspended connection. */
static bool admit(srv_http *http)
{
    tk_mutex_lock(&http->lock);
    bool open = !atomic_load(&http->closing);
    http->suspended += open;
    http->answering++;
    tk_mutex_unlock(&http->lock);
    return open;
}

static enum MHD_Result on_complete(exchange *x)
{
    srv_http *http = x->http;
    if (x->refused || x->posted) {
        return send_answer(x);
    }
    x->posted = true;
    if (!admit(http)) {
        refuse(x, 503, "the server is stopping");
        return send_answer(x);
    }
    MHD_suspend_connection(x->connection);
    srv_work_post(http->config.work, x->request);
    return MHD_YES;
}

static enum MHD_Result on_access(void *user, struct MHD_Connection *connection,
                                 const char *url, const char *method, const char *version,
                                 const char *data, size_t *n, void **state)
{
    (void)version;
    exchange *x = *state;
    if (x == NULL) {
        x = begin(user, connection);
        if (x == NULL) {
            return MHD_NO;
        }
        *state = x;
        read_head(x, method, url);
        uint64_t length = 0;
        if (tk_str_to_u64(header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH), &length) &&
            length > body_cap(x)) {
            refuse(x, 413, "the body is too large");
            return send_answer(x); /* without reading it: the connection is closed */
        }
        return MHD_YES;
    }
    if (*n > 0) {
        size_t size = *n;
        *n = 0;
        return on_body(x, data, size);
    }
    return on_complete(x);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    (void)connection;
    (void)why;
    srv_http *http = user;
    exchange *x = *state;
    if (x == NULL) {
        return;
    }
    bool posted = x->posted;
    srv_request_free(x->request);
    tk_free(x);
    *state = NULL;
    tk_mutex_lock(&http->lock);
    http->active--;
    http->answering -= posted;
    tk_mutex_unlock(&http->lock);
    tk_cond_broadcast(&http->idle);
}

/* ---- start and stop ---- */

static tinkc_code start_daemon(srv_http *http, tk_err *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    unsigned conns = TK_MAX(srv_listen_max_connections(), CONNS_FLOOR);
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, http, MHD_OPTION_LISTEN_SOCKET, http->listen.fd,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_CONNECTION_LIMIT,
        conns, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)TK_SRV_HEADER_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (http->daemon == NULL) {
        return tk_err_set(err, TINKC_E_IO, "the HTTP server does not start");
    }
    return TINKC_OK;
}

tinkc_code srv_http_new(srv_http **out, const srv_http_config *config, tk_err *err)
{
    srv_http *http = tk_zalloc(sizeof(*http));
    if (http == NULL) {
        return tk_err_nomem(err);
    }
    http->config = *config;
    http->listen.fd = -1;
    http->loopback = srv_listen_is_loopback(config->host);
    tinkc_code code = tk_mutex_init(&http->lock, err);
    if (code != TINKC_OK) {
        tk_free(http);
        return code;
    }
    code = tk_cond_init(&http->idle, err);
    if (code != TINKC_OK) {
        tk_mutex_dispose(&http->lock);
        tk_free(http);
        return code;
    }
    code = srv_listen_open(&http->listen, config->host, config->port, err);
    if (code == TINKC_OK) {
        *out = http; /* before the daemon, whose requests may ask for it */
        code = start_daemon(http, err);
    }
    if (code != TINKC_OK) {
        *out = NULL;
        srv_http_free(http);
    }
    return code;
}

unsigned srv_http_port(const srv_http *http)
{
    return http->listen.port;
}

void srv_http_quiesce(srv_http *http)
{
    tk_mutex_lock(&http->lock);
    atomic_store(&http->closing, true);
    tk_mutex_unlock(&http->lock);
    srv_work_hurry(http->config.work);
    if (MHD_quiesce_daemon(http->daemon) == http->listen.fd) {
        srv_listen_refuse(&http->listen);
    }
}

static void wait_idle(srv_http *http)
{
    int64_t deadline = tk_clock_mono_ns(NULL) + LAST_ANSWERS_NS;
    tk_mutex_lock(&http->lock);
    while (http->suspended > 0) { /* stopping the daemon now would abort */
        tk_cond_wait(&http->idle, &http->lock);
    }
    /* Half-sent requests are not waited for: their clients may have left. */
    while (http->answering > 0 &&
           tk_cond_wait_until(&http->idle, &http->lock, deadline)) {
    }
    tk_mutex_unlock(&http->lock);
}

void srv_http_stop(srv_http *http)
{
    if (http != NULL && http->daemon != NULL) {
        wait_idle(http);
        MHD_stop_daemon(http->daemon);
        http->daemon = NULL;
    }
}

void srv_http_free(srv_http *http)
{
    if (http == NULL) {
        return;
    }
    srv_http_stop(http);
    srv_listen_close(&http->listen);
    tk_cond_dispose(&http->idle);
    tk_mutex_dispose(&http->lock);
    tk_free(http);
}

void srv_http_get_stats(srv_http *http, srv_http_stats *out)
{
    tk_mutex_lock(&http->lock);
    *out = (srv_http_stats){http->total, http->active, http->suspended};
    tk_mutex_unlock(&http->lock);
}
