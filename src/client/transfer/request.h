/* A request of the caller's own making, in the form that a call borrows from: method,
 * URL, header lines, query, body. Everything is copied (files are opened), so that it
 * outlives the caller's arguments. Made on the caller's thread, used on the loop's. */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

#include <tinkc/raw.h>

#include "base/arena.h"
#include "client/call/call.h"
#include "client/transfer/multipart.h"

typedef struct tk_request {
    tk_endpoint endpoint;
    tk_arena arena; /* of the texts */
    const char *url, *query, *content_type;
    const char **lines;
    size_t lines_n;
    const void *body;
    size_t body_n;
    tk_multipart *multipart; /* instead of a body */
    bool has_file;           /* the same, see tk_request_set_file */
    int file;                /* owned */
    uint64_t file_from;
    bool anonymous;
    /* As in a call; the maker sets them, zeros are fine. */
    int pass_status;
    size_t max_response_bytes;
    bool is_once;
} tk_request;

enum {
    TK_REQUEST_STREAMS = 1u << 0, /* the answer will be streamed */
    TK_REQUEST_ANONYMOUS =
        1u << 1,                 /* nothing of ours goes along, redirects are followed */
    TK_REQUEST_FOREIGN = 1u << 2 /* nothing of ours goes along, redirects are answers */
};

/* From the public form; `flags` as above. TINKC_E_INVALID says what
 * is wrong; TINKC_E_IO for a file that cannot be opened. On failure there is nothing to
 * dispose of. `base_url` tells which servers are sent the credential. */
TK_NODISCARD tinkc_code tk_request_init(tk_request *out, const tinkc_raw_request *request,
                                        const char *base_url, unsigned flags,
                                        tk_err *err);

/* The body is n bytes of a regular file, from `from` on, read while they are sent: memory
 * does not grow with it, and the timeout is one of silence. Not for one that has a body.
 * TINKC_E_IO when the file cannot be opened or is shorter. */
TK_NODISCARD tinkc_code tk_request_set_file(tk_request *request, const char *path,
                                            uint64_t from, uint64_t n, tk_err *err);

void tk_request_dispose(tk_request *request); /* also of one that was only zeroed */

/* Sets what the request decides; the call borrows from it. Where the body is not in
 * memory the owner of the call sets read_body to a function that asks tk_request_read. */
void tk_request_apply(tk_call *call, tk_request *request);
bool tk_request_is_read(const tk_request *request);
size_t tk_request_read(tk_request *request, uint64_t offset, char *p, size_t n);

#endif
