/* The raw test client. Bytes received beyond one answer stay for the next read, so that
 * pipelined answers come out one by one. */
#include "support/httpget.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

struct httpget {
    int fd;
    fakeapi_bytes in;    /* received, not yet used */
    httpget_outcome end; /* why no more bytes come; HTTPGET_OK while they may */
};

httpget *httpget_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fakeapi_die("socket: %m");
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return NULL;
    }
    httpget *connection = fakeapi_alloc(sizeof(*connection));
    connection->fd = fd;
    return connection;
}

void httpget_close(httpget **handle)
{
    httpget *connection = *handle;
    if (connection == NULL) {
        return;
    }
    *handle = NULL;
    close(connection->fd);
    fakeapi_bytes_dispose(&connection->in);
    fakeapi_release(connection);
}

void httpget_half_close(httpget *connection)
{
    shutdown(connection->fd, SHUT_WR);
}

static bool wait_ready(httpget *connection, short events)
{
    struct pollfd fd = {.fd = connection->fd, .events = events};
    int rc = 0;
    do {
        rc = poll(&fd, 1, HTTPGET_CAP_S * 1000);
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

bool httpget_send(httpget *connection, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        if (!wait_ready(connection, POLLOUT)) {
            return false;
        }
        ssize_t sent = send(connection->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        p += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

bool httpget_send_split(httpget *connection, const void *data, size_t n, size_t piece)
{
    const char *p = data;
    bool ok = true;
    for (size_t at = 0; at < n && ok; at += piece) {
        ok = httpget_send(connection, p + at, TK_MIN(piece, n - at));
    }
    return ok;
}

static void put_chunked(fakeapi_bytes *out, const char *body, size_t n, size_t chunk)
{
    for (size_t at = 0; at < n; at += chunk) {
        size_t piece = TK_MIN(chunk, n - at);
        fakeapi_bytes_printf(out, "%zx\r\n", piece);
        fakeapi_bytes_put(out, body + at, piece);
        fakeapi_bytes_puts(out, "\r\n");
    }
    fakeapi_bytes_puts(out, "0\r\n\r\n");
}

void httpget_write(fakeapi_bytes *out, const httpget_request *request)
{
    const char *body = request->body;
    size_t n = request->body_n > 0 || body == NULL ? request->body_n : strlen(body);
    const char *method = request->method;
    method = method != NULL ? method : (body != NULL ? "POST" : "GET");
    const char *type = request->content_type;
    fakeapi_bytes_printf(out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method,
                         request->target);
    if (body != NULL) {
        fakeapi_bytes_printf(out, "Content-Type: %s\r\n",
                             type != NULL ? type : "application/json");
    }
    if (request->chunk > 0) {
        fakeapi_bytes_puts(out, "Transfer-Encoding: chunked\r\n");
    } else if (body != NULL) {
        fakeapi_bytes_printf(out, "Content-Length: %zu\r\n", n);
    }
    fakeapi_bytes_puts(out, request->headers != NULL ? request->headers : "");
    fakeapi_bytes_puts(out, "\r\n");
    if (request->chunk > 0) {
        put_chunked(out, body, n, request->chunk);
    } else {
        fakeapi_bytes_put(out, body, n);
    }
}

bool httpget_ask(httpget *connection, const httpget_request *request)
{
    fakeapi_bytes out = {0};
    httpget_write(&out, request);
    bool ok = httpget_send(connection, out.p, out.n);
    fakeapi_bytes_dispose(&out);
    return ok;
}

int httpget_status(httpget *connection)
{
    const size_t n = sizeof("HTTP/1.1 200") - 1;
    char some[32];
    while (connection->in.n < n) {
        ssize_t got = wait_ready(connection, POLLIN)
                          ? recv(connection->fd, some, n - connection->in.n, 0)
                          : 0;
        if (got <= 0) {
            return 0;
        }
        fakeapi_bytes_put(&connection->in, some, (size_t)got);
    }
    const char *digits = connection->in.p + n - 3;
    return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + digits[2] - '0';
}

/* ---- reading ---- */

/* More bytes into `in`; false when there will be none (`end` says why). */
static bool receive(httpget *connection)
{
    char block[16384];
    while (connection->end == HTTPGET_OK) {
        if (!wait_ready(connection, POLLIN)) {
            connection->end = HTTPGET_TIMEOUT;
            return false;
        }
        ssize_t n = recv(connection->fd, block, sizeof(block), 0);
        if (n > 0) {
            fakeapi_bytes_put(&connection->in, block, (size_t)n);
            return true;
        }
        if (n == 0) {
            connection->end = HTTPGET_CUT;
        } else if (errno != EINTR) {
            connection->end = HTTPGET_RESET;
        }
    }
    return false;
}

/* Moves the next line, with its LF, to the end of *line; false when the bytes end
 * first. */
static bool take_line(httpget *connection, fakeapi_bytes *line)
{
    const char *stop = NULL;
    fakeapi_bytes *in = &connection->in;
    while (in->n == 0 || (stop = memchr(in->p, '\n', in->n)) == NULL) {
        if (!receive(connection)) {
            return false;
        }
    }
    size_t n = (size_t)(stop - in->p) + 1;
    fakeapi_bytes_put(line, in->p, n);
    fakeapi_bytes_drop_front(in, n);
    return true;
}

/* Moves n bytes; false when they end first (what came is moved). */
static bool take_bytes(httpget *connection, fakeapi_bytes *out, uint64_t n)
{
    do {
        size_t have = (size_t)TK_MIN((uint64_t)connection->in.n, n);
        fakeapi_bytes_put(out, connection->in.p, have);
        fakeapi_bytes_drop_front(&connection->in, have);
        n -= have;
    } while (n > 0 && receive(connection));
    return n == 0;
}

bool httpget_byte(httpget *connection, char *out)
{
    fakeapi_bytes one = {0};
    bool ok = take_bytes(connection, &one, 1);
    *out = ok ? (char)one.p[0] : '\0';
    fakeapi_bytes_dispose(&one);
    return ok;
}

static httpget_outcome read_chunks(httpget *connection, httpget_response *out)
{
    fakeapi_bytes line = {0};
    uint64_t size = 0;
    bool ok = true;
    do {
        line.n = 0;
        ok = take_line(connection, &line);
        size = 0;
        for (size_t i = 0; ok && i < line.n && line.p[i] != '\r'; i++) {
            const char *digits = "0123456789abcdef";
            const char *at = strchr(digits, tolower((unsigned char)line.p[i]));
            ok = at != NULL;
            size = size * 16 + (ok ? (uint64_t)(at - digits) : 0);
        }
        ok = ok && take_bytes(connection, &out->body, size);
        out->chunks += ok && size > 0;
        line.n = 0;
        ok = ok && take_line(connection, &line) && line.n == 2;
    } while (ok && size > 0);
    fakeapi_bytes_dispose(&line);
    bool is_broken = connection->end != HTTPGET_OK;
    return ok ? HTTPGET_OK : (is_broken ? connection->end : HTTPGET_BAD);
}

static bool parse_decimal(const char *text, size_t n, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || i >= 18) {
            return false;
        }
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    }
    return n > 0;
}

static bool parse_status(httpget_response *out)
{
    const char *line = fakeapi_bytes_cstr(&out->head);
    uint64_t status = 0;
    bool is_http = strncmp(line, "HTTP/1.", 7) == 0 && strlen(line) > 12 &&
                   (line[7] == '0' || line[7] == '1') && line[8] == ' ' &&
                   parse_decimal(line + 9, 3, &status);
    out->status = (int)status;
    out->minor = is_http ? line[7] - '0' : 0;
    return is_http;
}

/* One head, interim or final. */
static httpget_outcome read_head(httpget *connection, httpget_response *out)
{
    out->head.n = 0;
    size_t line_start = 0;
    do {
        line_start = out->head.n;
        if (!take_line(connection, &out->head)) {
            bool is_empty = out->head.n == 0 && connection->in.n == 0;
            bool is_clean = is_empty && connection->end == HTTPGET_CUT;
            return is_clean ? HTTPGET_CLOSED : connection->end;
        }
    } while (out->head.n - line_start > 2);
    return parse_status(out) ? HTTPGET_OK : HTTPGET_BAD;
}

static httpget_outcome read_body(httpget *connection, httpget_response *out)
{
    const char *length = httpget_header(out, "content-length");
    out->has_length =
        length != NULL && parse_decimal(length, strlen(length), &out->length);
    const char *coding = httpget_header(out, "transfer-encoding");
    if (coding != NULL && strcasecmp(coding, "chunked") == 0) {
        return read_chunks(connection, out);
    }
    if (out->status == 204 || out->status == 304) {
        return HTTPGET_OK;
    }
    if (out->has_length) {
        bool ok = take_bytes(connection, &out->body, out->length);
        return ok ? HTTPGET_OK : connection->end;
    }
    (void)take_bytes(connection, &out->body, UINT64_MAX);
    return connection->end == HTTPGET_CUT ? HTTPGET_OK : connection->end;
}

httpget_outcome httpget_read(httpget *connection, httpget_response *out)
{
    *out = (httpget_response){0};
    httpget_outcome outcome = read_head(connection, out);
    while (outcome == HTTPGET_OK && out->status < 200) {
        out->interim++;
        outcome = read_head(connection, out);
    }
    if (outcome == HTTPGET_OK) {
        outcome = read_body(connection, out);
    }
    (void)fakeapi_bytes_cstr(&out->body);
    return outcome;
}

void httpget_response_dispose(httpget_response *response)
{
    fakeapi_bytes_dispose(&response->head);
    fakeapi_bytes_dispose(&response->body);
    fakeapi_bytes_dispose(&response->value);
}

const char *httpget_header(httpget_response *response, const char *name)
{
    tk_str rest = {fakeapi_bytes_cstr(&response->head), response->head.n};
    (void)tk_str_cut(&rest, '\n');
    while (rest.n > 0) {
        tk_str value = tk_str_cut(&rest, '\n');
        tk_str key = tk_str_cut(&value, ':');
        if (tk_str_is_nocase(key, name)) {
            value = tk_str_trim(value);
            response->value.n = 0;
            fakeapi_bytes_put(&response->value, value.p, value.n);
            return fakeapi_bytes_cstr(&response->value);
        }
    }
    return NULL;
}

httpget_outcome httpget_wait_end(httpget *connection)
{
    if (connection->in.n > 0 || receive(connection)) {
        return HTTPGET_OK;
    }
    return connection->end == HTTPGET_CUT ? HTTPGET_CLOSED : connection->end;
}

httpget_outcome httpget_once(int port, const httpget_request *request,
                             httpget_response *out)
{
    *out = (httpget_response){0};
    httpget *connection = httpget_connect(port);
    if (connection == NULL) {
        return HTTPGET_RESET;
    }
    /* A server may answer and end before it has read everything: read in any case. */
    (void)httpget_ask(connection, request);
    httpget_outcome outcome = httpget_read(connection, out);
    httpget_close(&connection);
    return outcome;
}
