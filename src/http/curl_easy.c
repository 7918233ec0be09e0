/* One request as a libcurl easy handle: options, and the callbacks that collect the
 * answer. Loop thread only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/curl_int.h"
#include "http/url.h"

#define HEADERS_MAX_BYTES (256 * TK_KIB)
#define BUFFER_BYTES      8192L /* per transfer: 2,000 parked polls must stay small */
#define SESSION_IDLE_S                                                                   \
    3600L                   /* heartbeats come every 10 s; never drop their connection   \
                             */
#define DEFAULT_IDLE_S 118L /* libcurl's own */
#define MAX_REDIRECTS  10L

/* ---- callbacks ---- */

/* A stream has no deadline, but what comes before it has: otherwise a server that sends a
 * byte now and then could keep a request for days. */
static bool is_late(tk_curl_transfer *transfer, bool begins)
{
    int64_t most_ms = transfer->request->idle_timeout_ms;
    if (most_ms <= 0) {
        return false;
    }
    int64_t now = tk_clock_mono_ms(transfer->owner->clock);
    transfer->head_ms = begins ? now : transfer->head_ms;
    if (now - transfer->head_ms <= most_ms) {
        return false;
    }
    transfer->why = TK_HTTP_TIMEOUT;
    return true;
}

static size_t on_header(char *p, size_t size, size_t n, void *user)
{
    tk_curl_transfer *transfer = user;
    size_t bytes = size * n;
    bool begins = bytes >= 5 && memcmp(p, "HTTP/", 5) == 0;
    if (begins) {
        tk_buf_clear(&transfer->header_text); /* a new response: redirect or 1xx before */
    }
    if (is_late(transfer, begins)) {
        return 0;
    }
    transfer->head_is_whole =
        bytes <= 2 && (p[0] == 0x0D || p[0] == 0x0A); /* the blank line after it */
    tk_buf_put(&transfer->header_text, p, bytes);
    if (transfer->header_text.failure != TINKC_OK) {
        transfer->why = transfer->header_text.failure == TINKC_E_NOMEM
                            ? TK_HTTP_NOMEM
                            : TK_HTTP_TOO_LARGE;
        return 0;
    }
    return bytes;
}

static bool is_accepted(const tk_curl_transfer *transfer)
{
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status <= 299;
}

/* Known with the first piece of the body. libcurl has decompressed it. */
static void set_cap(tk_curl_transfer *transfer, bool is_refusal)
{
    const tk_http_request *request = transfer->request;
    size_t max = request->max_response_bytes != 0 ? request->max_response_bytes
                                                  : TK_BODY_MAX_BYTES;
    if (is_refusal && request->max_refusal_bytes != 0) {
        max = TK_MIN(max, request->max_refusal_bytes);
    }
    transfer->body.max = max;
}

static void tell_head(tk_curl_transfer *transfer)
{
    tk_http_field fields[TK_CURL_FIELDS];
    tk_http_response head = {.failure = TK_HTTP_OK, .err = TK_ERR_INIT};
    transfer->head_was_told = true;
    if (transfer->request->on_head != NULL) {
        tk_curl_easy_head(transfer, &head, fields, TK_CURL_FIELDS);
        transfer->request->on_head(transfer->request, &head);
    }
}

static size_t stream_body(tk_curl_transfer *transfer, const char *p, size_t n)
{
    if (!transfer->head_was_told) {
        tell_head(transfer);
    }
    switch (transfer->request->on_data(transfer->request, p, n)) {
    case TK_HTTP_TAKE:
        return n;
    case TK_HTTP_PAUSE:
        return CURL_WRITEFUNC_PAUSE;
    case TK_HTTP_STOP:
        break;
    }
    transfer->why = TK_HTTP_CANCELLED;
    return 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
    tk_curl_transfer *transfer = user;
    size_t bytes = size * n;
    bool success = is_accepted(transfer);
    if (success && transfer->request->on_data != NULL) {
        return stream_body(transfer, p, bytes);
    }
    if (is_late(transfer, false)) {
        return 0;
    }
    if (transfer->body.n == 0) {
        set_cap(transfer, !success);
    }
    tk_buf_put(&transfer->body, p, bytes);
    if (transfer->body.failure == TINKC_OK) {
        return bytes;
    }
    transfer->why =
        transfer->body.failure == TINKC_E_NOMEM ? TK_HTTP_NOMEM : TK_HTTP_TOO_LARGE;
    return 0;
}

static size_t on_read(char *p, size_t size, size_t n, void *user)
{
    tk_curl_transfer *transfer = user;
    tk_http_request *request = transfer->request;
    uint64_t left = request->body_n - transfer->sent;
    size_t most = (size_t)TK_MIN((uint64_t)(size * n), left);
    if (most == 0) {
        return 0;
    }
    size_t got = request->read_body(request, transfer->sent, p, most);
    if (got == 0 || got > most) {
        transfer->why = TK_HTTP_CANCELLED; /* shorter than announced, or failed */
        return CURL_READFUNC_ABORT;
    }
    transfer->sent += got;
    return got;
}

/* The body is sent again, e.g. on a new connection. */
static int on_seek(void *user, curl_off_t offset, int origin)
{
    tk_curl_transfer *transfer = user;
    if (origin != SEEK_SET || offset < 0) {
        return CURL_SEEKFUNC_FAIL;
    }
    transfer->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* The file table is full: not an error of the request, it waits, because the
 * library never changes process limits. */
static curl_socket_t on_open_socket(void *user, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    tk_curl_transfer *transfer = user;
    (void)purpose;
    int fd = tk_curl_watch_open(transfer->owner, address);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        transfer->out_of_sockets = true;
    } else if (fd < 0 && errno == ENOMEM) {
        transfer->why = TK_HTTP_NOMEM;
    }
    return fd;
}

/* ---- options ---- */

/* libcurl only reads the list and copies nothing of it, so it is made of the request's
 * own lines and not of copies. */
static bool set_headers(tk_curl_transfer *transfer)
{
    static char no_expect[] = "Expect:"; /* no 100-continue round trip */
    const tk_http_request *request = transfer->request;
    size_t n = request->headers_n + 1;
    if (n > transfer->lines_capacity) {
        struct curl_slist *lines =
            tk_realloc_array(transfer->lines, n, sizeof(*transfer->lines));
        if (lines == NULL) {
            return false;
        }
        transfer->lines = lines;
        transfer->lines_capacity = n;
    }
    struct curl_slist *lines = transfer->lines;
    lines[0].data = no_expect;
    for (size_t i = 1; i < n; i++) {
        lines[i].data = (char *)(uintptr_t)request->headers[i - 1];
        lines[i - 1].next = &lines[i];
    }
    lines[n - 1].next = NULL;
    return curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, lines) == CURLE_OK;
}

/* The handle remembers method and body of its last request, so everything is set
 * again. */
static bool set_body(tk_curl_transfer *transfer)
{
    const tk_http_request *request = transfer->request;
    CURL *easy = transfer->easy;
    bool is_custom = request->method != TK_HTTP_GET && request->method != TK_HTTP_POST;
    const char *name = is_custom ? tk_http_method_name(request->method) : NULL;
    bool ok = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, name) == CURLE_OK;
    if (request->body == NULL && request->read_body == NULL &&
        request->method != TK_HTTP_POST && request->method != TK_HTTP_PUT) {
        return ok && curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    }
    bool reads = request->read_body != NULL;
    const char *body = request->body != NULL || reads ? request->body : "";
    curl_off_t n = request->body != NULL || reads ? (curl_off_t)request->body_n : 0;
    return ok && curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, n) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body) == CURLE_OK;
}

static bool set_text(CURL *easy, CURLoption option, const char *value)
{
    return value == NULL || curl_easy_setopt(easy, option, value) == CURLE_OK;
}

/* libcurl adds its built-in file and folder unless we say otherwise: a configured one
 * replaces the system's. */
static bool set_trust(CURL *easy, const tk_curl_options *options)
{
    if (options->ca_file == NULL && options->ca_dir == NULL) {
        return true;
    }
    return curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CAPATH, options->ca_dir) == CURLE_OK;
}

static bool set_security(tk_curl_transfer *transfer)
{
    const tk_curl_options *options = &transfer->owner->options;
    CURL *easy = transfer->easy;
    return set_trust(easy, options) && set_text(easy, CURLOPT_PROXY, options->proxy) &&
           set_text(easy, CURLOPT_NOPROXY, options->no_proxy) &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
}

/* Whether the server of this request may see the client certificate. */
static bool has_identity(const tk_curl_transfer *transfer)
{
    const tk_curl_options *options = &transfer->owner->options;
    return options->client_cert != NULL &&
           (options->client_url == NULL ||
            tk_url_same_origin(tk_str_of(transfer->request->url),
                               tk_str_of(options->client_url)));
}

/* A request over TLS never follows a redirect to a server that cannot prove who it is.
 * libcurl would show the certificate also to the server that a redirect names. */
static bool set_redirects(tk_curl_transfer *transfer, bool identity)
{
    const tk_http_request *request = transfer->request;
    bool is_tls = strncasecmp(request->url, "https:", 6) == 0;
    return curl_easy_setopt(transfer->easy, CURLOPT_FOLLOWLOCATION,
                            request->follow_redirects && !identity ? 1L : 0L) ==
               CURLE_OK &&
           curl_easy_setopt(transfer->easy, CURLOPT_REDIR_PROTOCOLS_STR,
                            is_tls ? "https" : "http,https") == CURLE_OK;
}

/* Set for each request: the handle may have been used for another server before. */
static bool set_identity(tk_curl_transfer *transfer, bool identity)
{
    const tk_curl_options *options = &transfer->owner->options;
    const char *cert = identity ? options->client_cert : NULL;
    const char *key = identity ? options->client_key : NULL;
    return options->client_cert == NULL ||
           (curl_easy_setopt(transfer->easy, CURLOPT_SSLCERT, cert) == CURLE_OK &&
            curl_easy_setopt(transfer->easy, CURLOPT_SSLKEY, key) == CURLE_OK);
}

static long http_version(const tk_curl_transfer *transfer)
{
    tk_http_group group = transfer->request->group;
    bool http1 = transfer->owner->http1_only[group] ||
                 transfer->owner->options.protocol[group] == TK_CURL_HTTP1;
    return http1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS;
}

static bool set_behaviour(tk_curl_transfer *transfer)
{
    const tk_http_request *request = transfer->request;
    CURL *easy = transfer->easy;
    long fresh = request->fresh_connection ? 1L : 0L;
    /* Waits for the first connection to show whether it can carry several requests,
     * instead of opening one for each request of a burst. */
    bool may_share =
        request->group != TK_HTTP_TRAIN && strncmp(request->url, "https:", 6) == 0;
    long idle_s = request->group == TK_HTTP_SESSION ? SESSION_IDLE_S : DEFAULT_IDLE_S;
    long silence_s = (long)TK_MIN((request->idle_timeout_ms + 999) / 1000, 86400);
    return curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, fresh) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, silence_s > 0 ? 1L : 0L) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, silence_s) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, idle_s) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PIPEWAIT, may_share ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, http_version(transfer)) ==
               CURLE_OK;
}

static long clip_ms(int64_t ms)
{
    return ms > 0 ? (long)TK_MIN(ms, (int64_t)INT32_MAX) : 1L;
}

bool tk_curl_easy_set_timeouts(tk_curl_transfer *transfer)
{
    const tk_http_request *request = transfer->request;
    long whole_ms = 0; /* none */
    if (request->timeout_ms >= 0) {
        whole_ms =
            clip_ms(transfer->deadline_ms - tk_clock_mono_ms(transfer->owner->clock));
    }
    long connect_ms = request->connect_timeout_ms >= 0
                          ? clip_ms(request->connect_timeout_ms)
                          : (long)INT32_MAX;
    return curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS, whole_ms) == CURLE_OK &&
           curl_easy_setopt(transfer->easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms) ==
               CURLE_OK;
}

static bool set_callbacks(tk_curl_transfer *transfer)
{
    CURL *easy = transfer->easy;
    return curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error_text) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_READDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SEEKDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, tk_curl_watch_close) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, transfer->owner) == CURLE_OK;
}

static bool set_constants(CURL *easy)
{
    return curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXREDIRS, MAX_REDIRECTS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK;
}

tinkc_code tk_curl_easy_open(tk_curl_transfer *transfer, tk_err *err)
{
    transfer->easy = curl_easy_init();
    if (transfer->easy != NULL && set_constants(transfer->easy) &&
        set_callbacks(transfer) && set_security(transfer)) {
        return TINKC_OK;
    }
    return tk_err_nomem(err); /* with constant options, setopt fails for nothing else */
}

tinkc_code tk_curl_easy_setup(tk_curl_transfer *transfer, tk_err *err)
{
    bool identity = has_identity(transfer);
    transfer->header_text.max = HEADERS_MAX_BYTES;
    if (curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->request->url) ==
            CURLE_OK &&
        set_headers(transfer) && set_body(transfer) && set_identity(transfer, identity) &&
        set_redirects(transfer, identity) && set_behaviour(transfer) &&
        tk_curl_easy_set_timeouts(transfer)) {
        return TINKC_OK;
    }
    return tk_err_nomem(err);
}

/* ---- the end of a transfer ---- */

static tk_http_failure failure_of(CURLcode code)
{
    switch ((int)code) {
    case CURLE_OK:
        return TK_HTTP_OK;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return TK_HTTP_DNS;
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
        return TK_HTTP_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return TK_HTTP_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
        return TK_HTTP_TLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        return TK_HTTP_TRUST;
    case CURLE_OUT_OF_MEMORY:
        return TK_HTTP_NOMEM;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return TK_HTTP_RESET;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_URL_MALFORMAT:
        return TK_HTTP_PROTOCOL;
    default:
        return TK_HTTP_OTHER;
    }
}

tk_http_failure tk_curl_easy_failure(const tk_curl_transfer *transfer, CURLcode code)
{
    if (transfer->why != TK_HTTP_OK && code != CURLE_OK) {
        return transfer->why; /* a socket that was refused was perhaps not the last one */
    }
    /* libcurl takes a connection that ends inside the headers for a whole response. */
    bool cut = code == CURLE_OK && !transfer->head_is_whole;
    return cut ? TK_HTTP_RESET : failure_of(code);
}

bool tk_curl_easy_is_absent(tk_curl_transfer *transfer, CURLcode code)
{
    long error = 0;
    tk_str text = tk_str_of(transfer->request->url);
    tk_url url;
    if (code == CURLE_COULDNT_CONNECT) {
        (void)curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &error);
        return error == ECONNREFUSED;
    }
    return code == CURLE_COULDNT_RESOLVE_HOST &&
           tk_url_parse(&url, tk_str_cut(&text, '?'), NULL) == TINKC_OK &&
           tk_lookup_is_unknown(&transfer->owner->lookup, url.host);
}

/* Cuts the collected header text into fields. */
static size_t cut_fields(const tk_curl_transfer *transfer, tk_http_field *out, size_t max)
{
    tk_str rest = tk_buf_str(&transfer->header_text);
    size_t n = 0;
    (void)tk_str_cut(&rest, '\n'); /* status line */
    while (rest.n > 0 && n < max) {
        tk_str line = tk_str_cut(&rest, '\n');
        tk_str name = tk_str_cut(&line, ':');
        if (line.p != NULL) {
            out[n].name = tk_str_trim(name);
            out[n].value = tk_str_trim(line);
            n++;
        }
    }
    return n;
}

void tk_curl_easy_head(const tk_curl_transfer *transfer, tk_http_response *out,
                       tk_http_field *fields, size_t max)
{
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    out->status = (int)status;
    out->headers = fields;
    out->headers_n = cut_fields(transfer, fields, max);
}
