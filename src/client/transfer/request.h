/* One request beside the table of endpoints, in the form that a call borrows from:
 * method, URL, header lines, query, body. Everything is copied (files are opened), so
 * that it outlives the arguments. Made on the caller's thread, used on the loop's.
 *
 * Downloads, the hub and the public raw requests (raw.h) are made of it. */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

#include <tinkc/raw.h>

#include "base/arena.h"
#include "client/call/call.h"
#include "client/transfer/multipart.h"

/* To which server a request goes, and what it takes along. */
typedef enum tk_request_peer {
    TK_REQUEST_OURS, /* credential and identity, unless the URL is of another server */
    TK_REQUEST_ANONYMOUS, /* nothing of ours; redirects are followed */
    TK_REQUEST_FOREIGN    /* nothing of ours; redirects are answers */
} tk_request_peer;

/* What to ask for. Zeros are defaults; borrowed while tk_request_init runs. */
typedef struct tk_request_spec {
    tk_http_method method;
    const char *path; /* "/...", or an absolute URL */
    tk_request_peer peer;
    bool is_streamed; /* the answer will be */
    const tinkc_pair *query;
    size_t query_n;
    const tinkc_pair *headers; /* replace the library's of the same name */
    size_t headers_n;
    const char *content_type; /* NULL: application/json */
    const void *body;         /* at most one of body, parts and file */
    size_t body_n;
    bool is_form; /* multipart/form-data, of these parts */
    const tinkc_part *parts;
    size_t parts_n;
    /* The body is file_n bytes of a regular file, read while they are sent: memory does
     * not grow with it, and the timeout is one of silence. */
    const char *file;
    uint64_t file_from, file_n;
    int64_t timeout_ms; /* 0: option timeout */
    int max_retries;    /* -1: option max_retries */
    /* As in a call. */
    int pass_status;
    size_t max_response_bytes;
    bool is_once;
} tk_request_spec;

typedef struct tk_request {
    tk_endpoint endpoint;
    tk_arena arena; /* of the texts */
    const char *url, *query, *content_type;
    const char **lines;
    size_t lines_n;
    const void *body;
    size_t body_n;
    tk_multipart *multipart; /* instead of a body */
    bool has_file;           /* the same */
    int file;                /* owned */
    uint64_t file_from;
    bool anonymous;
    int pass_status;
    size_t max_response_bytes;
    bool is_once;
} tk_request;

/* Makes the request. TINKC_E_INVALID names what is wrong; TINKC_E_IO for a file that
 * cannot be opened or is too short. On failure there is nothing to dispose of. `base_url`
 * decides which servers get the credential. */
TK_NODISCARD tinkc_code tk_request_init(tk_request *out, const tk_request_spec *spec,
                                        const char *base_url, tk_err *err);

void tk_request_dispose(tk_request *request); /* also of one that was only zeroed */

/* Sets what the request decides; the call borrows from it. Where the body is not in
 * memory the owner of the call sets read_body to a function that asks tk_request_read. */
void tk_request_apply(tk_call *call, tk_request *request);
bool tk_request_is_read(const tk_request *request);
size_t tk_request_read(tk_request *request, uint64_t offset, char *p, size_t n);

#endif
