/* Making tinkc_error objects at the public boundary, from tk_err. The public functions
 * are in <tinkc/error.h>. Objects are immutable and counted. Thread: any. */
#ifndef CLIENT_ERROR_H
#define CLIENT_ERROR_H

#include <tinkc/error.h>

#include "base/err.h"

/* The public form of *err (whose code is not TINKC_OK), with the error beneath it.
 * Takes `cause` (may be NULL) in every case. Never NULL: without memory it is the static
 * out-of-memory error, which needs none and which tinkc_error_free accepts. */
tinkc_error *tk_error_new(const tk_err *err, tinkc_error *cause);

/* As tk_error_new for a function with the usual `tinkc_error **` output, which may be
 * NULL; *out is left as it is when err->code is TINKC_OK. Returns err->code. */
tinkc_code tk_error_give(tinkc_error **out, const tk_err *err);

/* As tk_error_give for a failure that is found in a public function itself: a code and a
 * fixed text. Returns `code`. */
tinkc_code tk_error_tell(tinkc_error **out, tinkc_code code, const char *text);

/* The static out-of-memory error. tinkc_error_free accepts it. */
tinkc_error *tk_error_oom(void);

/* Copies a public error into *err. No effect for NULL. */
void tk_error_read(tk_err *err, const tinkc_error *error);

#endif
