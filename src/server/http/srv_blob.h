/* Bytes with a count of owners: an answer that several connections may send while its
 * maker forgets it. Immutable once made, except that it may be given a second form of
 * the same content once. The budget counts it until its last owner is gone.
 * Thread: any. */
#ifndef SERVER_SRV_BLOB_H
#define SERVER_SRV_BLOB_H

#include <stdatomic.h>

#include "base/buf.h"
#include "server/http/srv_budget.h"

typedef struct srv_blob srv_blob;
struct srv_blob {
    atomic_size_t owners;
    char *p; /* owned; NULL when n is 0 */
    size_t n;
    size_t counted;           /* bytes, with this struct */
    tk_quota *quota;          /* that counts them; or NULL */
    _Atomic(srv_blob *) form; /* owned: the same content in another encoding; or NULL */
};

/* Takes the bytes out of `buf`, which is empty afterwards, also on failure. Returns NULL
 * when out of memory or when the buffer had failed. The caller is the one owner. */
TK_NODISCARD srv_blob *srv_blob_take(tk_buf *buf);

/* Counts the bytes as those of `part` from now on. Only the one owner may call it. */
void srv_blob_charge(srv_blob *blob, srv_budget *budget, srv_part_name part);

/* Gives the blob its second form, which it takes over. Returns the form that it has
 * afterwards: another thread may have been first. */
srv_blob *srv_blob_add_form(srv_blob *blob, srv_blob *form);

srv_blob *srv_blob_retain(srv_blob *blob); /* returns its argument */
void srv_blob_release(srv_blob *blob);     /* accepts NULL */

#endif
