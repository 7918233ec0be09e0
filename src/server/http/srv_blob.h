/* Bytes with a count of owners: an answer that several connections may send while its
 * maker forgets it. Immutable once made. Thread: any. */
#ifndef SERVER_SRV_BLOB_H
#define SERVER_SRV_BLOB_H

#include <stdatomic.h>

#include "base/buf.h"

typedef struct srv_blob {
    atomic_size_t owners;
    char *p; /* owned; NULL when n is 0 */
    size_t n;
} srv_blob;

/* Takes the bytes out of `buf`, which is empty afterwards, also on failure. Returns NULL
 * when out of memory or when the buffer had failed. The caller is the one owner. */
TK_NODISCARD srv_blob *srv_blob_take(tk_buf *buf);

srv_blob *srv_blob_retain(srv_blob *blob); /* returns its argument */
void srv_blob_release(srv_blob *blob);     /* accepts NULL */

#endif
