/* Links that need no key: they are signed with a key that lives as long as the server, and
 * are good for a limited time. Also what answers with a part of a file share (Range).
 * Thread: any. */
#ifndef SERVER_SRV_LINK_H
#define SERVER_SRV_LINK_H

#include "base/buf.h"
#include "httpd/hd_request.h"

/* What a link leads to: "/tinkc/v1/<place>/<thing>". */
typedef struct srv_link {
    const char *place; /* "archives", "files", "uploads" */
    tk_str thing;
    int64_t row; /* of the checkpoint: another one with an old name is not what the link
                    was for; 0 for uploads */
    int64_t end_us;
} srv_link;

/* Appends the URL, absolute. */
TK_NODISCARD tinkc_code srv_link_put(tk_buf *url, hd_request *request,
                                     const srv_link *link, tk_err *err);

/* Checks the row, end and signature of the request's query for place and thing of *link,
 * and fills in row and end. Answers 403 and returns false when the link is not one of this
 * server's or is over. */
bool srv_link_check(srv_link *link, hd_request *request);

/* Checks the link of a request to "/tinkc/v1/<place>/<thing>", whatever its place: for
 * hd_http_config.admit. Answers and returns false as srv_link_check does. */
bool srv_link_admit(hd_request *request);

/* What a Range header asks for of `size` bytes. */
typedef enum srv_range_kind {
    SRV_RANGE_ALL,    /* none, several, or not understood: the whole is an answer */
    SRV_RANGE_PART,   /* first and last are set */
    SRV_RANGE_OUTSIDE /* 416 */
} srv_range_kind;

typedef struct srv_range {
    int64_t first, last; /* both inclusive */
} srv_range;

srv_range_kind srv_link_range(srv_range *out, tk_str header, int64_t size);

/* Sets the headers of an answer of `size` bytes that is to be saved as `name`, and finds
 * the part that is asked for. Returns the status, 200 or 206; 0 after it has answered 416.
 * `etag` changes with the bytes. */
int srv_link_begin(srv_range *out, hd_request *request, const char *etag,
                   const char *name, int64_t size);

#endif
