/* The last owner frees the bytes, on any thread. */
#include "server/http/srv_blob.h"

#include "base/mem.h"

srv_blob *srv_blob_take(tk_buf *buf)
{
    srv_blob *blob = buf->failure == TINKC_OK ? tk_zalloc(sizeof(*blob)) : NULL;
    if (blob != NULL) {
        atomic_init(&blob->owners, 1);
        blob->p = tk_buf_take(buf, &blob->n);
    }
    tk_buf_dispose(buf);
    return blob;
}

srv_blob *srv_blob_retain(srv_blob *blob)
{
    atomic_fetch_add_explicit(&blob->owners, 1, memory_order_relaxed);
    return blob;
}

void srv_blob_release(srv_blob *blob)
{
    if (blob != NULL &&
        atomic_fetch_sub_explicit(&blob->owners, 1, memory_order_acq_rel) == 1) {
        tk_free(blob->p);
        tk_free(blob);
    }
}
