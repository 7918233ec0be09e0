/* The last owner frees the bytes, on any thread. */
#include "server/http/srv_blob.h"

#include "base/mem.h"

srv_blob *srv_blob_take(tk_buf *buf)
{
    srv_blob *blob = buf->failure == TINKC_OK ? tk_zalloc(sizeof(*blob)) : NULL;
    if (blob != NULL) {
        atomic_init(&blob->owners, 1);
        atomic_init(&blob->form, NULL);
        blob->counted = buf->capacity;
        blob->quota = buf->quota;
        buf->quota = NULL; /* the bytes stay counted */
        blob->p = tk_buf_take(buf, &blob->n);
    }
    tk_buf_dispose(buf);
    return blob;
}

void srv_blob_charge(srv_blob *blob, srv_budget *budget, srv_part_name part)
{
    size_t size = blob->counted + sizeof(*blob);
    srv_budget_add(budget, part, size);
    tk_quota_give(blob->quota, blob->counted);
    blob->counted = size;
    blob->quota = srv_budget_quota(budget, part);
}

srv_blob *srv_blob_add_form(srv_blob *blob, srv_blob *form)
{
    srv_blob *none = NULL;
    if (atomic_compare_exchange_strong(&blob->form, &none, form)) {
        return form;
    }
    srv_blob_release(form);
    return none;
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
        srv_blob_release(atomic_load(&blob->form));
        tk_quota_give(blob->quota, blob->counted);
        tk_free(blob->p);
        tk_free(blob);
    }
}
