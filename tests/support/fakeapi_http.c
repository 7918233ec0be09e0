/* The request parser. State is kept between any two bytes, so that a request cut anywhere
 * parses the same. */
#include "support/fakeapi_http.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define CHUNK_LINE_MAX_BYTES ((size_t)1024)

static fakeapi_http_event bad(fakeapi_http *http, int status, const char *detail)
{
    http->state = FAKEAPI_HTTP_FAILED;
    http->bad_status = status;
    http->bad_detail = detail;
    return FAKEAPI_HTTP_BAD;
}

static bool is_token(const char *text)
{
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (!isalnum((unsigned char)*text) && strchr("!#$%&'*+-.^_`|~", *text) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_visible(const char *text)
{
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void fakeapi_http_unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        int high = *from == '%' ? hex_digit(from[1]) : -1;
        int low = high >= 0 ? hex_digit(from[2]) : -1;
        if (low >= 0 && high * 16 + low != 0) {
            *to++ = (char)(high * 16 + low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Cuts the next line off *rest and ends it with a NUL; NULL when a bare CR or LF or a NUL
 * byte hides in it. The head is known to end in CRLF CRLF. */
static char *next_line(char **rest, const char *end)
{
    char *line = *rest;
    char *stop = memchr(line, '\n', (size_t)(end - line));
    if (stop == NULL || stop == line || stop[-1] != '\r') {
        return NULL;
    }
    stop[-1] = '\0';
    *rest = stop + 1;
    bool is_clean =
        strlen(line) == (size_t)(stop - 1 - line) && strchr(line, '\r') == NULL;
    return is_clean ? line : NULL;
}

static bool parse_request_line(fakeapi_http *http, char *line)
{
    char *target = strchr(line, ' ');
    char *version = target != NULL ? strchr(target + 1, ' ') : NULL;
    if (version == NULL) {
        return false;
    }
    *target++ = '\0';
    *version++ = '\0';
    http->method = line;
    http->target = target;
    bool is_known = strcmp(version, "HTTP/1.1") == 0 || strcmp(version, "HTTP/1.0") == 0;
    http->minor = is_known ? version[7] - '0' : -1;
    bool is_version = strncmp(version, "HTTP/", 5) == 0;
    return is_token(line) && is_visible(target) && is_version;
}

static bool add_header(fakeapi_http *http, char *line)
{
    char *colon = strchr(line, ':');
    if (colon == NULL) {
        return false;
    }
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t n = strlen(value);
    while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t')) {
        value[--n] = '\0';
    }
    http->headers = fakeapi_table_grow(http->headers, http->headers_n,
                                       &http->headers_capacity, sizeof(*http->headers));
    http->headers[http->headers_n++] = (fakeapi_header_line){line, value};
    return is_token(line);
}

static bool parse_length(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 18 || text[n] != '\0') {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return true;
}

/* What the headers say about the body and the connection; NULL or what is wrong. */
static const char *read_framing(fakeapi_http *http)
{
    size_t hosts = 0, lengths = 0;
    http->keep_alive = http->minor == 1;
    for (size_t i = 0; i < http->headers_n; i++) {
        const char *name = http->headers[i].name, *value = http->headers[i].value;
        if (strcasecmp(name, "host") == 0) {
            hosts++;
        } else if (strcasecmp(name, "content-length") == 0) {
            lengths++;
            if (!parse_length(value, &http->remaining)) {
                return "content-length is not a number";
            }
        } else if (strcasecmp(name, "transfer-encoding") == 0) {
            http->is_chunked = true;
            if (strcasecmp(value, "chunked") != 0) {
                return "unknown transfer-encoding";
            }
        } else if (strcasecmp(name, "expect") == 0) {
            http->expects_continue = strcasecmp(value, "100-continue") == 0;
        } else if (strcasecmp(name, "connection") == 0) {
            http->keep_alive = strcasecmp(value, "close") != 0 &&
                               (http->minor == 1 || strcasecmp(value, "keep-alive") == 0);
        }
    }
    if (lengths > 1 || (lengths == 1 && http->is_chunked)) {
        return "more than one length";
    }
    return hosts == 1 || (hosts == 0 && http->minor == 0) ? NULL
                                                          : "needs one host header";
}

static fakeapi_http_event parse_head(fakeapi_http *http)
{
    char *rest = http->head.p;
    const char *end = http->head.p + http->head.n;
    char *line = next_line(&rest, end);
    if (line == NULL || !parse_request_line(http, line)) {
        return bad(http, 400, "bad request line");
    }
    if (http->minor < 0) {
        return bad(http, 505, "only HTTP/1.0 and HTTP/1.1");
    }
    for (line = next_line(&rest, end); line == NULL || *line != '\0';
         line = next_line(&rest, end)) {
        if (line == NULL || !add_header(http, line)) {
            return bad(http, 400, "bad header line");
        }
    }
    const char *wrong = read_framing(http);
    if (wrong != NULL) {
        return bad(http, 400, wrong);
    }
    if (http->remaining > FAKEAPI_BODY_MAX_BYTES) {
        return bad(http, 413, "body too large");
    }
    http->state = http->is_chunked ? FAKEAPI_HTTP_IN_CHUNK_SIZE : FAKEAPI_HTTP_IN_BODY;
    return FAKEAPI_HTTP_HEAD;
}

static fakeapi_http_event feed_head(fakeapi_http *http, const char *p, size_t n,
                                    size_t *used)
{
    for (size_t i = 0; i < n; i++) {
        bool is_blank = http->head.n == 0 && (p[i] == '\r' || p[i] == '\n');
        if (is_blank) {
            continue;
        }
        fakeapi_bytes_put(&http->head, &p[i], 1);
        size_t have = http->head.n;
        if (have >= 4 && memcmp(http->head.p + have - 4, "\r\n\r\n", 4) == 0) {
            *used = i + 1;
            return parse_head(http);
        }
        if (have >= FAKEAPI_HEAD_MAX_BYTES) {
            *used = i + 1;
            return bad(http, 431, "head too large");
        }
    }
    *used = n;
    return FAKEAPI_HTTP_MORE;
}

/* Body bytes, of a length or of a chunk. */
static size_t feed_data(fakeapi_http *http, const char *p, size_t n)
{
    size_t take = (uint64_t)n < http->remaining ? n : (size_t)http->remaining;
    fakeapi_bytes_put(&http->body, p, take);
    http->remaining -= take;
    return take;
}

/* Collects a line; true when it is complete (without its CRLF, NUL-terminated). */
static bool feed_line(fakeapi_http *http, const char *p, size_t n, size_t *used)
{
    const char *stop = memchr(p, '\n', n);
    size_t take = stop != NULL ? (size_t)(stop - p) + 1 : n;
    size_t room = CHUNK_LINE_MAX_BYTES - http->line.n;
    if (take > room) {
        *used = room;
        bad(http, 400, "chunk line too long");
        return false;
    }
    fakeapi_bytes_put(&http->line, p, take);
    *used = take;
    size_t have = http->line.n;
    if (stop == NULL) {
        return false;
    }
    if (have < 2 || http->line.p[have - 2] != '\r') {
        bad(http, 400, "bad chunk line");
        return false;
    }
    http->line.p[have - 2] = '\0';
    http->line.n = 0;
    return true;
}

static void chunk_size(fakeapi_http *http)
{
    const char *text = http->line.p;
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 8 || (text[digits] != '\0' && text[digits] != ';')) {
        bad(http, 400, "bad chunk size");
        return;
    }
    http->remaining = 0;
    for (size_t i = 0; i < digits; i++) {
        http->remaining = http->remaining * 16 + (uint64_t)hex_digit(text[i]);
    }
    if (http->body.n + http->remaining > FAKEAPI_BODY_MAX_BYTES) {
        bad(http, 413, "body too large");
        return;
    }
    bool is_last = http->remaining == 0;
    http->state = is_last ? FAKEAPI_HTTP_IN_TRAILER : FAKEAPI_HTTP_IN_CHUNK;
}

/* One step of a chunked body; returns the bytes consumed. */
static size_t feed_chunked(fakeapi_http *http, const char *p, size_t n)
{
    size_t used = 0;
    if (http->state == FAKEAPI_HTTP_IN_CHUNK) {
        used = feed_data(http, p, n);
        if (http->remaining == 0) {
            http->state = FAKEAPI_HTTP_IN_CHUNK_END;
        }
    } else if (feed_line(http, p, n, &used)) {
        if (http->state == FAKEAPI_HTTP_IN_CHUNK_SIZE) {
            chunk_size(http);
        } else if (http->state == FAKEAPI_HTTP_IN_TRAILER) {
            http->state = http->line.p[0] == '\0' ? FAKEAPI_HTTP_AT_END : http->state;
        } else if (http->line.p[0] != '\0') {
            bad(http, 400, "chunk longer than it said");
        } else {
            http->state = FAKEAPI_HTTP_IN_CHUNK_SIZE;
        }
    }
    return used;
}

fakeapi_http_event fakeapi_http_feed(fakeapi_http *http, const char *p, size_t n,
                                     size_t *used)
{
    *used = 0;
    if (http->state == FAKEAPI_HTTP_IN_HEAD) {
        return feed_head(http, p, n, used);
    }
    if (http->state == FAKEAPI_HTTP_IN_BODY) {
        *used = feed_data(http, p, n);
        if (http->remaining == 0) {
            http->state = FAKEAPI_HTTP_AT_END;
        }
    }
    while (*used < n && http->state != FAKEAPI_HTTP_AT_END &&
           http->state != FAKEAPI_HTTP_FAILED && http->state != FAKEAPI_HTTP_IN_BODY) {
        *used += feed_chunked(http, p + *used, n - *used);
    }
    if (http->state == FAKEAPI_HTTP_FAILED) {
        return FAKEAPI_HTTP_BAD;
    }
    return http->state == FAKEAPI_HTTP_AT_END ? FAKEAPI_HTTP_DONE : FAKEAPI_HTTP_MORE;
}

void fakeapi_http_reset(fakeapi_http *http)
{
    fakeapi_bytes head = http->head, line = http->line;
    fakeapi_header_line *headers = http->headers;
    size_t capacity = http->headers_capacity;
    fakeapi_bytes_dispose(&http->body);
    head.n = 0;
    line.n = 0;
    *http = (fakeapi_http){
        .head = head, .line = line, .headers = headers, .headers_capacity = capacity};
}

void fakeapi_http_dispose(fakeapi_http *http)
{
    fakeapi_bytes_dispose(&http->head);
    fakeapi_bytes_dispose(&http->line);
    fakeapi_bytes_dispose(&http->body);
    fakeapi_release(http->headers);
    *http = (fakeapi_http){0};
}

bool fakeapi_http_has_begun(const fakeapi_http *http)
{
    return http->state != FAKEAPI_HTTP_IN_HEAD || http->head.n > 0;
}

const char *fakeapi_http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {{200, "OK"},
                {202, "Accepted"},
                {204, "No Content"},
                {302, "Found"},
                {304, "Not Modified"},
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {402, "Payment Required"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {408, "Request Timeout"},
                {409, "Conflict"},
                {410, "Gone"},
                {413, "Content Too Large"},
                {422, "Unprocessable Content"},
                {425, "Too Early"},
                {429, "Too Many Requests"},
                {431, "Request Header Fields Too Large"},
                {500, "Internal Server Error"},
                {502, "Bad Gateway"},
                {503, "Service Unavailable"},
                {504, "Gateway Timeout"},
                {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (rows[i].status == status) {
            return rows[i].reason;
        }
    }
    return "Status";
}
