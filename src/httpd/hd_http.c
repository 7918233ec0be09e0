/* The HTTP thread. The first call of on_access reads the head (hd_http_head.c); then there
 * is one call per piece of the body; the last one answers a prompt request, and posts any
 * other to the workers. After the resume one more call sends the answer
 * (hd_http_answer.c). */
#include "httpd/hd_http.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "httpd/hd_http_int.h"
#include "httpd/hd_reply.h"

#define SECONDS         (INT64_C(1000) * TK_NS_PER_MS)
#define IDLE_S          120 /* a connection without traffic and parked request */
#define HEAD_NS         (20 * SECONDS)
#define BODY_NS         (300 * SECONDS)
#define LEAST_RATE      (4 * TK_KIB)  /* bytes in a second of a body or an answer */
#define LAST_ANSWERS_NS (5 * SECONDS) /* at the stop */
#define CONNS_SPARE     16 /* that come before those closed for them have gone */
#define CONNS_MIN       8
#define CONN_BYTES      (TK_HD_HEADER_BYTES + TK_KIB) /* a connection, with its buffers */

void hd_http_resume(hd_request *request)
{
    exchange *x = request->http;
    hd_http *http = x->http;
    MHD_resume_connection(x->connection);
    /* From here on the exchange may be gone. */
    tk_mutex_lock(&http->lock);
    http->suspended--;
    tk_mutex_unlock(&http->lock);
    tk_cond_broadcast(&http->idle);
}

static hd_conn *conn_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

int hd_http_fd(const exchange *x)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != NULL ? info->connect_fd : -1;
}

static bool is_gone(const hd_request *request)
{
    return hd_conns_is_gone(hd_http_fd(request->http));
}

static exchange *begin(hd_http *http, struct MHD_Connection *connection)
{
    exchange *x = tk_zalloc(sizeof(*x));
    hd_request *request =
        x != NULL ? hd_request_new(http->config.app, http->config.budget) : NULL;
    if (request == NULL) {
        tk_free(x);
        return NULL;
    }
    *x = (exchange){.http = http,
                    .connection = connection,
                    .conn = conn_of(connection),
                    .request = request};
    request->http = x;
    request->resume = hd_http_resume;
    request->header = hd_http_header;
    request->is_gone = is_gone;
    request->refuse = http->config.refuse;
    tk_mutex_lock(&http->lock);
    http->total++;
    http->active++;
    tk_mutex_unlock(&http->lock);
    return x;
}

/* ---- the calls ---- */

static enum MHD_Result on_body(exchange *x, const char *data, size_t n)
{
    hd_request *request = x->request;
    if (x->refused) {
        return MHD_YES;
    }
    tk_buf_put(&request->body, data, n);
    if (request->body.failure != TINKC_OK) {
        bool large = request->body.failure == TINKC_E_LIMIT;
        bool full = request->body.failure == TINKC_E_RATE_LIMIT;
        tk_buf_dispose(&request->body); /* the rest of it is dropped */
        hd_http_refuse(x,
                       large  ? 413
                       : full ? 429
                              : 500,
                       large ? "the body is too large" : "out of memory");
    }
    return MHD_YES;
}

/* Counts a complete request. */
static void count_complete(exchange *x)
{
    x->posted = true;
    tk_mutex_lock(&x->http->lock);
    x->http->answering++;
    tk_mutex_unlock(&x->http->lock);
}

/* Gives the request to the workers; returns false when they may not have it any more.
 * Under the lock, so that no request is suspended after a stop has counted them: the
 * library aborts when it is stopped with a suspended connection. */
static bool post(exchange *x)
{
    hd_http *http = x->http;
    tk_mutex_lock(&http->lock);
    bool open = !atomic_load(&http->closing);
    http->suspended += open;
    tk_mutex_unlock(&http->lock);
    if (open) {
        MHD_suspend_connection(x->connection);
        hd_work_post(http->config.work, x->request);
    }
    return open;
}

static enum MHD_Result on_complete(exchange *x)
{
    hd_http *http = x->http;
    hd_conns_busy(x->conn);
    if (x->refused || x->posted) {
        return hd_http_send_answer(x);
    }
    count_complete(x);
    if (!atomic_load(&http->closing) &&
        hd_work_is_prompt(http->config.work, x->request) &&
        hd_work_handle(http->config.work, x->request) == HD_ANSWERED) {
        return hd_http_send_answer(x);
    }
    if (post(x)) {
        return MHD_YES;
    }
    hd_http_refuse(x, 503, "the server is stopping");
    return hd_http_send_answer(x);
}

static enum MHD_Result on_head(exchange *x, const hd_http_line *line)
{
    bool welcome = hd_http_read_head(x, line);
    if (!hd_conns_head(x->conn, welcome, hd_http_body_bytes(x))) {
        return MHD_NO; /* closes the connection */
    }
    /* Without reading what follows. */
    return x->broken ? hd_http_send_answer(x) : MHD_YES;
}

/* Before there is an exchange the state of a request is the length of its URI as it came,
 * as an odd number, which no address of an exchange is; BAD_URI for one that is refused. */
#define BAD_URI UINTPTR_MAX

static void *on_uri(void *user, const char *uri, struct MHD_Connection *connection)
{
    (void)user;
    (void)connection;
    uintptr_t state = BAD_URI;
    if (hd_http_is_plain_uri(uri)) {
        state = 2 * (uintptr_t)(uri != NULL ? strlen(uri) : 0) + 1;
    }
    return (void *)state;
}

static bool is_exchange(const void *state)
{
    return state != NULL && (uintptr_t)state % 2 == 0;
}

static enum MHD_Result on_first(hd_http *http, struct MHD_Connection *connection,
                                const hd_http_line *line, void **state)
{
    uintptr_t uri = (uintptr_t)*state;
    exchange *x = conn_of(connection) != NULL ? begin(http, connection) : NULL;
    *state = x;
    if (x == NULL) {
        return MHD_NO;
    }
    if (uri == BAD_URI || !hd_http_is_whole_line(line, uri / 2)) {
        hd_http_reject(x, "the URI has characters that are not allowed");
    }
    return on_head(x, line);
}

static enum MHD_Result on_access(void *user, struct MHD_Connection *connection,
                                 const char *url, const char *method, const char *version,
                                 const char *data, size_t *n, void **state)
{
    if (!is_exchange(*state)) {
        const hd_http_line line = {method, url, version};
        return on_first(user, connection, &line, state);
    }
    exchange *x = *state;
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
    hd_http *http = user;
    if (!is_exchange(*state)) {
        return;
    }
    exchange *x = *state;
    bool posted = x->posted;
    hd_conns_idle(x->conn);
    hd_request_free(x->request);
    tk_free(x);
    *state = NULL;
    tk_mutex_lock(&http->lock);
    http->active--;
    http->answering -= posted;
    tk_mutex_unlock(&http->lock);
    tk_cond_broadcast(&http->idle);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **conn,
                          enum MHD_ConnectionNotificationCode what)
{
    hd_http *http = user;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        hd_budget_give(http->config.budget, HD_PART_CONNECTIONS, CONN_BYTES);
        hd_conns_close(*conn); /* before the socket is closed */
        *conn = NULL;
        return;
    }
    hd_budget_add(http->config.budget, HD_PART_CONNECTIONS, CONN_BYTES);
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *conn = hd_conns_open(http->conns, fd->connect_fd, from->client_addr);
}

/* ---- start and stop ---- */

tinkc_code hd_http_start(hd_http *http, tk_err *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, http, MHD_OPTION_LISTEN_SOCKET, http->listen.fd,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(http->limits.total + CONNS_SPARE),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)TK_HD_HEADER_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (http->daemon == NULL) {
        return tk_err_set(err, TINKC_E_IO, "the HTTP server does not start");
    }
    return TINKC_OK;
}

/* As many connections as there are descriptors and memory for. */
static hd_conns_limits default_limits(const hd_budget *budget)
{
    size_t fit = budget->parts[HD_PART_CONNECTIONS].max / CONN_BYTES;
    size_t total = TK_MIN(hd_listen_max_connections(), fit);
    total = TK_MAX(total, CONNS_MIN + CONNS_SPARE) - CONNS_SPARE;
    return (hd_conns_limits){
        .total = total,
        .strangers = total - total / 8,
        .per_address = total / 4,
        .head_ns = HEAD_NS,
        .body_ns = BODY_NS,
        .idle_ns = IDLE_S * SECONDS,
        .send_ns = IDLE_S * SECONDS,
        .rate = LEAST_RATE,
    };
}

tinkc_code hd_http_new(hd_http **out, const hd_http_config *config, tk_err *err)
{
    hd_http *http = tk_zalloc(sizeof(*http));
    if (http == NULL) {
        return tk_err_nomem(err);
    }
    http->config = *config;
    http->limits =
        config->limits != NULL ? *config->limits : default_limits(config->budget);
    http->listen.fd = -1;
    http->loopback = hd_listen_is_loopback(config->host);
    tinkc_code code = tk_cond_init_with(&http->idle, &http->lock, err);
    if (code != TINKC_OK) {
        tk_free(http);
        return code;
    }
    code = hd_conns_new(&http->conns, &http->limits, err);
    if (code == TINKC_OK) {
        code = hd_listen_open(&http->listen, config->host, config->port, err);
    }
    if (code != TINKC_OK) {
        hd_http_free(http);
        return code;
    }
    *out = http;
    return TINKC_OK;
}

unsigned hd_http_port(const hd_http *http)
{
    return http->listen.port;
}

void hd_http_quiesce(hd_http *http)
{
    tk_mutex_lock(&http->lock);
    atomic_store(&http->closing, true);
    tk_mutex_unlock(&http->lock);
    hd_work_hurry(http->config.work);
    if (http->daemon == NULL || MHD_quiesce_daemon(http->daemon) == http->listen.fd) {
        hd_listen_refuse(&http->listen);
    }
}

static void wait_idle(hd_http *http)
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

void hd_http_stop(hd_http *http)
{
    if (http != NULL && http->daemon != NULL) {
        wait_idle(http);
        MHD_stop_daemon(http->daemon);
        http->daemon = NULL;
    }
}

void hd_http_free(hd_http *http)
{
    if (http == NULL) {
        return;
    }
    hd_http_stop(http);
    hd_conns_free(http->conns);
    hd_listen_close(&http->listen);
    tk_cond_dispose(&http->idle);
    tk_mutex_dispose(&http->lock);
    tk_free(http);
}

void hd_http_get_stats(hd_http *http, hd_http_stats *out)
{
    tk_mutex_lock(&http->lock);
    *out = (hd_http_stats){
        .total = http->total, .active = http->active, .suspended = http->suspended};
    memcpy(out->answers, http->answers, sizeof(out->answers));
    tk_mutex_unlock(&http->lock);
    hd_conns_get_stats(http->conns, &out->conns);
}
