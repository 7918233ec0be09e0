/* httpget: a small HTTP/1.1 client on a plain blocking socket, for tests of servers. It
 * sends exactly the given bytes (also split, pipelined, chunked or broken) and returns
 * exactly what came back. Every wait ends after HTTPGET_CAP_S. Allocates through
 * fakeapi_mem.h. Thread: one at a time per connection. */
#ifndef SUPPORT_HTTPGET_H
#define SUPPORT_HTTPGET_H

#include "support/fakeapi_mem.h"

#define HTTPGET_CAP_S 60

typedef struct httpget httpget; /* one connection */

typedef enum httpget_outcome {
    HTTPGET_OK,
    HTTPGET_CLOSED, /* FIN before the first byte of an answer */
    HTTPGET_CUT,    /* FIN in the middle of one */
    HTTPGET_RESET,  /* RST at any point */
    HTTPGET_BAD,    /* not HTTP */
    HTTPGET_TIMEOUT /* nothing for HTTPGET_CAP_S */
} httpget_outcome;

typedef struct httpget_response {
    int status;
    int minor;          /* HTTP/1.minor */
    unsigned interim;   /* 1xx answers in front of it */
    fakeapi_bytes head; /* status line and header lines */
    fakeapi_bytes body; /* decoded; after CUT or RESET as far as it came; then a NUL */
    unsigned chunks;    /* how many carried the body, 0 = not chunked */
    bool has_length;
    uint64_t length;
    fakeapi_bytes value; /* what httpget_header returned */
} httpget_response;

httpget *httpget_connect(int port); /* to 127.0.0.1; NULL when refused */
void httpget_close(httpget **connection);
void httpget_half_close(httpget *connection); /* no more requests will come: FIN */

/* Sends bytes as they are. False when the connection broke. */
bool httpget_send(httpget *connection, const void *data, size_t n);
/* Sends like httpget_send, with a packet for each `piece` bytes. */
bool httpget_send_split(httpget *connection, const void *data, size_t n, size_t piece);

typedef struct httpget_request {
    const char *method; /* NULL = GET, or POST with a body */
    const char *target;
    const char *headers;      /* more lines, each ending in CRLF; may be NULL */
    const void *body;         /* may be NULL */
    size_t body_n;            /* 0 = strlen(body) */
    size_t chunk;             /* > 0: chunked body in pieces of that size */
    const char *content_type; /* NULL = application/json */
} httpget_request;

/* The bytes of a request, appended to *out. */
void httpget_write(fakeapi_bytes *out, const httpget_request *request);
bool httpget_ask(httpget *connection, const httpget_request *request);

/* Reads the status of an answer and no byte after it, so that the sender waits with the
 * rest. 0 when the connection ended or nothing came. */
int httpget_status(httpget *connection);

/* Reads the next byte as it came, of an answer without an end. False when the connection
 * ended or nothing came. */
bool httpget_byte(httpget *connection, char *out);

/* Reads one answer. *out is set in every case and must be disposed of. */
httpget_outcome httpget_read(httpget *connection, httpget_response *out);
void httpget_response_dispose(httpget_response *response);

/* Value of a header of the answer, or NULL; borrowed, valid until the next call or the
 * disposal. */
const char *httpget_header(httpget_response *response, const char *name);

/* How the connection ended: HTTPGET_CLOSED (FIN) or HTTPGET_RESET. HTTPGET_OK when bytes
 * came instead, HTTPGET_TIMEOUT when nothing happened within the cap. */
httpget_outcome httpget_wait_end(httpget *connection);

/* Sends one request on a new connection. */
httpget_outcome httpget_once(int port, const httpget_request *request,
                             httpget_response *out);

#endif
