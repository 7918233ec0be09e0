/* A caller's way to a service: the shared core, and the context that the caller gave with
 * it (or none). Every tinkc_service, tinkc_training and tinkc_sampling holds one, and
 * what is called through it carries its context: a future knows its handle as a
 * tk_driver.
 *
 * Reference-counted; immutable. Thread: any. */
#ifndef CLIENT_HANDLE_H
#define CLIENT_HANDLE_H

#include <stdatomic.h>

#include "client/future/tk_future.h"
#include "client/insight/context.h"

typedef struct tk_core tk_core;

typedef struct tk_handle {
    tk_core *core;       /* a reference */
    tk_context *context; /* owned; NULL: none */
    tk_driver driver;
    atomic_size_t refs;
} tk_handle;

/* Makes a handle for this core; `context` is copied and may be NULL. The caller owns
 * *out. TINKC_E_INVALID: the context is refused; TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_handle_new(tk_handle **out, tk_core *core,
                                      const tinkc_context *context, tk_err *err);

/* Makes the second handle of a tinkc_..._with_context: the same core, another context
 * (NULL gives an empty one). Also TINKC_E_STATE and TINKC_E_CANCELLED as
 * tk_core_check. */
TK_NODISCARD tinkc_code tk_handle_with_context(tk_handle **out, const tk_handle *from,
                                               const tinkc_context *context, tk_err *err);

tk_handle *tk_handle_ref(tk_handle *handle);
void tk_handle_unref(tk_handle **handle); /* sets it to NULL; accepts a NULL inside */

/* Returns a future that is done with this error: arguments refused at the call. */
tinkc_future *tk_handle_refuse(tk_handle *handle, const char *operation,
                               tk_result_kind kind, const tk_err *err);

#endif
