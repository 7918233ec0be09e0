/* A copy of a caller's tinkc_context, checked. Immutable; owned by one view of a core.
 * Thread: any. */
#ifndef CLIENT_CONTEXT_H
#define CLIENT_CONTEXT_H

#include <tinkc/hooks.h>

#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct tk_context tk_context;

/* Checks and copies; TINKC_E_INVALID says what is wrong. The caller owns *out. */
TK_NODISCARD tinkc_code tk_context_new(tk_context **out, const tinkc_context *context,
                                       tk_err *err);
void tk_context_free(tk_context **context); /* accepts NULL */

/* NULL for NULL. */
const tinkc_context *tk_context_public(const tk_context *context);

/* The headers as lines "Name: value", which live as long as the context; *n of them. */
const char *const *tk_context_lines(size_t *n, const tk_context *context);

/* That of the operation, or NULL. Borrowed from the future. */
const tk_context *tk_context_of(const tinkc_future *future);

#endif
