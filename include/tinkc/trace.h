/* Traces: what a service does, as a file for Perfetto (ui.perfetto.dev) or
 * chrome://tracing.
 *
 * A recorder uses the hooks (<tinkc/hooks.h>): every operation and every request is a slice
 * with its attributes and tags, retries and pauses are marks, tokens are counters. It
 * records no addresses, headers or bodies. Lines are written as events come, so that the
 * file of a program that crashed can be opened too. Thread: any. */
#ifndef TINKC_TRACE_H
#define TINKC_TRACE_H

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/service.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_trace tinkc_trace;

/* Creates the file, or empties it. The caller owns *out (tinkc_trace_close).
 * TINKC_E_IO names the file; TINKC_E_INVALID without a path; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_trace_open(tinkc_trace **out, const char *path,
                                                      tinkc_error **err);

/* Records the service from now on; one recorder may record several services. Errors as
 * tinkc_service_add_hook. */
TINKC_API tinkc_code tinkc_trace_attach(tinkc_trace *trace, tinkc_service *service,
                                        tinkc_error **err);

/* Writes the end of the file, closes it and sets *trace to NULL; what services do
 * afterwards is not recorded. It is closed whatever the outcome. TINKC_E_IO when
 * something could not be written, TINKC_E_NOMEM when events were lost for lack of
 * memory. Accepts NULL and a pointer to NULL. Thread: any, also while services
 * work. */
TINKC_API tinkc_code tinkc_trace_close(tinkc_trace **trace, tinkc_error **err);

TINKC_END_DECLS

#endif
