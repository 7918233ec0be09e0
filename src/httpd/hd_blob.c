/* The last owner frees the bytes, on any thread. */
#include "httpd/hd_blob.h"

#include "base/mem.h"

hd_blob *hd_blob_take(tk_buf *buf)
{
    hd_blob *blob = buf->failure == TINKC_OK ? tk_zalloc(sizeof(*blob)) : NULL;
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

void hd_blob_charge(hd_blob *blob, hd_budget *budget, unsigned part)
{
    size_t size = blob->counted + sizeof(*blob);
    hd_budget_add(budget, part, size);
    tk_quota_give(blob->quota, blob->counted);
    blob->counted = size;
    blob->quota = hd_budget_quota(budget, part);
}

hd_blob *hd_blob_add_form(hd_blob *blob, hd_blob *form)
{
    hd_blob *none = NULL;
    if (atomic_compare_exchange_strong(&blob->form, &none, form)) {
        return form;
    }
    hd_blob_release(form);
    return none;
}

hd_blob *hd_blob_retain(hd_blob *blob)
{
    atomic_fetch_add_explicit(&blob->owners, 1, memory_order_relaxed);
    return blob;
}

void hd_blob_release(hd_blob *blob)
{
    if (blob != NULL &&
        atomic_fetch_sub_explicit(&blob->owners, 1, memory_order_acq_rel) == 1) {
        hd_blob_release(atomic_load(&blob->form));
        tk_quota_give(blob->quota, blob->counted);
        tk_free(blob->p);
        tk_free(blob);
    }
}
