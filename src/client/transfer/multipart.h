/* multipart/form-data (RFC 7578): a body made of parts in memory, files and callbacks, of
 * which only the part headers are kept; bytes are fetched when they are sent, from any
 * offset, so that a request can be repeated. Thread: one at a time. */
#ifndef CLIENT_MULTIPART_H
#define CLIENT_MULTIPART_H

#include <tinkc/raw.h>

#include "base/err.h"
#include "base/tk.h"

typedef struct tk_multipart tk_multipart;

/* `boundary` of at most 70 characters that no content holds; the caller sees to that with
 * a random one. Copies texts and bytes, opens files. TINKC_E_INVALID for a part without
 * name or with more than one kind of content, TINKC_E_IO for a file that cannot be read,
 * TINKC_E_LIMIT when it is too large to be counted. */
TK_NODISCARD tinkc_code tk_multipart_new(tk_multipart **out, const tinkc_part *parts,
                                         size_t n, const char *boundary, tk_err *err);
void tk_multipart_free(tk_multipart **multipart); /* accepts NULL */

uint64_t tk_multipart_size(const tk_multipart *multipart);

/* "multipart/form-data; boundary=...": valid as long as the object. */
const char *tk_multipart_content_type(const tk_multipart *multipart);

/* Up to n bytes from `offset` on; SIZE_MAX when a file or callback fails or has become
 * shorter. */
size_t tk_multipart_read(tk_multipart *multipart, uint64_t offset, char *p, size_t n);

#endif
