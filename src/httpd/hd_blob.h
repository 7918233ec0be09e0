/* Bytes with a count of owners: an answer that several connections may send while its
 * maker forgets it. Immutable once made, except that it may be given a second form of
 * the same content once. The budget counts it until its last owner is gone.
 * Thread: any. */
#ifndef HTTPD_HD_BLOB_H
#define HTTPD_HD_BLOB_H

#include <stdatomic.h>

#include "base/buf.h"
#include "httpd/hd_budget.h"

typedef struct hd_blob hd_blob;
struct hd_blob {
    atomic_size_t owners;
    char *p; /* owned; NULL when n is 0 */
    size_t n;
    size_t counted;          /* bytes, with this struct */
    tk_quota *quota;         /* that counts them; or NULL */
    _Atomic(hd_blob *) form; /* owned: the same content in another encoding; or NULL */
};

/* Takes the bytes out of `buf`, which is empty afterwards, also on failure. Returns NULL
 * when out of memory or when the buffer had failed. The caller is the one owner. */
TK_NODISCARD hd_blob *hd_blob_take(tk_buf *buf);

/* Counts the bytes as those of `part` from now on. Only the one owner may call it. */
void hd_blob_charge(hd_blob *blob, hd_budget *budget, unsigned part);

/* Gives the blob its second form, which it takes over. Returns the form that it has
 * afterwards: another thread may have been first. */
hd_blob *hd_blob_add_form(hd_blob *blob, hd_blob *form);

hd_blob *hd_blob_retain(hd_blob *blob); /* returns its argument */
void hd_blob_release(hd_blob *blob);    /* accepts NULL */

#endif
