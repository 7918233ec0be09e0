/* What the files of the REST client share: ids and paths as parts of a URL. Pure. */
#ifndef CLIENT_REST_H
#define CLIENT_REST_H

#include <tinkc/rest.h>

#include "base/buf.h"
#include "base/err.h"

/* An id that fits between two slashes: not empty, no "/", not "." or "..", no control
 * characters. TINKC_E_INVALID names `what`. */
TK_NODISCARD tinkc_code tk_rest_check_id(const char *id, const char *what, tk_err *err);

/* Appends "<run>/checkpoints/<checkpoint id>", the argument of the checkpoint endpoints.
 * TINKC_E_INVALID when `path` names no checkpoint. */
tinkc_code tk_rest_put_checkpoint(tk_buf *out, const char *path, tk_err *err);

#endif
