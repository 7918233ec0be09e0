/* A request of the caller's own making, in the form that a call borrows from: method,
 * URL, header lines, query, body. Everything is copied (files are opened), so that it
 * outlives the caller's arguments. Made on the caller's thread, used on the loop's. */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

#include <tinkc/raw.h>

#include "base/arena.h"
#include "client/call.h"
#include "client/multipart.h"

typedef struct tk_request {
    tk_endpoint endpoint;
    tk_arena arena; /* of the texts */
    const char *url, *query, *content_type;
    const char **lines;
    size_t lines_n;
    const void *body;
    size_t body_n;
    tk_multipart *multipart; /* instead of a body */
    bool anonymous;
} tk_request;

enum {
    TK_REQUEST_STREAMS = 1u << 0, /* the answer will be streamed */
    TK_REQUEST_ANONYMOUS =
        1u << 1 /* nothing of ours goes along, redirects are followed */
};

/* From the public form; `flags` as above. TINKC_E_INVALID says what
 * is wrong; TINKC_E_IO for a file that cannot be opened. On failure there is nothing to
 * dispose of. `base_url` tells which servers are sent the credential. */
TK_NODISCARD tinkc_code tk_request_init(tk_request *out, const tinkc_raw_request *request,
                                        const char *base_url, unsigned flags,
                                        tk_err *err);
void tk_request_dispose(tk_request *request); /* also of one that was only zeroed */

/* Sets what the request decides; the call borrows from it. For a form the owner of the
 * call sets read_body to a function that asks tk_request_read. */
void tk_request_apply(tk_call *call, tk_request *request);
size_t tk_request_read(tk_request *request, uint64_t offset, char *p, size_t n);

#endif
