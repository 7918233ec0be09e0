/* HTTP/1.x requests, bytes in, events out; no I/O. Strict on purpose (RFC 9112, CRLF
 * only, one Host, no ambiguous lengths), so that a sloppy client of ours shows here.
 * Survives any input. Thread: one at a time per parser. */
#ifndef SUPPORT_FAKEAPI_HTTP_H
#define SUPPORT_FAKEAPI_HTTP_H

#include <stdint.h>

#include "support/fakeapi_mem.h"

#define FAKEAPI_HEAD_MAX_BYTES ((size_t)64 * 1024)
#define FAKEAPI_BODY_MAX_BYTES ((size_t)256 * 1024 * 1024)

typedef struct fakeapi_header_line {
    const char *name;
    const char *value;
} fakeapi_header_line;

typedef enum fakeapi_http_event {
    FAKEAPI_HTTP_MORE, /* everything given was consumed; more bytes are needed */
    FAKEAPI_HTTP_HEAD, /* the head is complete; once per request, before any body byte */
    FAKEAPI_HTTP_DONE, /* the request is complete; bytes not consumed belong to the next
                        */
    FAKEAPI_HTTP_BAD   /* bad_status and bad_detail say why; the connection must end */
} fakeapi_http_event;

typedef enum fakeapi_http_state {
    FAKEAPI_HTTP_IN_HEAD,
    FAKEAPI_HTTP_IN_BODY, /* content-length */
    FAKEAPI_HTTP_IN_CHUNK_SIZE,
    FAKEAPI_HTTP_IN_CHUNK,
    FAKEAPI_HTTP_IN_CHUNK_END,
    FAKEAPI_HTTP_IN_TRAILER,
    FAKEAPI_HTTP_AT_END,
    FAKEAPI_HTTP_FAILED
} fakeapi_http_state;

/* Read-only to the outside; the strings point into `head` and live until the reset. */
typedef struct fakeapi_http {
    fakeapi_http_state state;
    fakeapi_bytes head;
    fakeapi_bytes line; /* chunk size or trailer line so far */
    fakeapi_bytes body;
    uint64_t remaining; /* of the body or of the chunk */
    const char *method;
    const char *target;
    int minor; /* HTTP/1.minor */
    fakeapi_header_line *headers;
    size_t headers_n;
    size_t headers_capacity;
    bool is_chunked;
    bool expects_continue;
    bool keep_alive;
    int bad_status;
    const char *bad_detail;
} fakeapi_http;

/* Consumes bytes up to the next event; *used says how many. After DONE call _reset. */
fakeapi_http_event fakeapi_http_feed(fakeapi_http *http, const char *p, size_t n,
                                     size_t *used);
void fakeapi_http_reset(fakeapi_http *http); /* ready for the next request */
void fakeapi_http_dispose(fakeapi_http *http);

bool fakeapi_http_has_begun(const fakeapi_http *http); /* some of a request has come */
const char *fakeapi_http_reason(int status); /* "OK", ...; "Status" if unknown */

/* Percent-decodes in place ("%3A" becomes ":"; a bad escape stays as it is). */
void fakeapi_http_unescape(char *text);

#endif
