/* Downloads of checkpoints (docs/protocol.md §11 row 22): a redirect to a URL that needs
 * no key and is good for a quarter of an hour, and the tar that it leads to, of which a
 * part can be asked for (Range). The URL is signed with a key that lives as long as the
 * server. Thread: a worker. */
#ifndef SERVER_SRV_ARCHIVE_H
#define SERVER_SRV_ARCHIVE_H

#include "server/http/srv_request.h"

srv_verdict srv_archive_redirect(srv_request *request);
srv_verdict srv_archive_get(srv_request *request);

/* What a Range header asks for of `size` bytes. */
typedef enum srv_range_kind {
    SRV_RANGE_ALL,    /* none, several, or not understood: the whole is an answer */
    SRV_RANGE_PART,   /* first and last are set */
    SRV_RANGE_OUTSIDE /* 416 */
} srv_range_kind;

typedef struct srv_range {
    int64_t first, last; /* both inclusive */
} srv_range;

srv_range_kind srv_archive_range(srv_range *out, tk_str header, int64_t size);

#endif
