/* Traces: record what a service does in a file for Perfetto (ui.perfetto.dev) or
 * chrome://tracing.
 *
 * A trace is recorded with hooks (<tinkc/hooks.h>): every operation and every request is a
 * slice with its attributes and tags, retries and pauses are marks, tokens are counters. It
 * contains no addresses, headers or bodies. Events are written in blocks of 64 KiB; the
 * file of a program that crashed lacks the last ones, but can still be opened. Thread:
 * any. */
#ifndef TINKC_TRACE_H
#define TINKC_TRACE_H

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/service.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_trace tinkc_trace;

/* Creates the file `path`, or truncates it. The caller owns *out (tinkc_trace_close).
 * TINKC_E_IO, naming the file, when it cannot be written; TINKC_E_INVALID without a path;
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_trace_open(tinkc_trace **out, const char *path,
                                                      tinkc_error **err);

/* Records the service from now on; one trace may record several services. TINKC_E_STATE
 * for a NULL trace; other errors as tinkc_service_add_hook. */
TINKC_API tinkc_code tinkc_trace_attach(tinkc_trace *trace, tinkc_service *service,
                                        tinkc_error **err);

/* Completes and closes the file, whatever the outcome, and sets *trace to NULL; nothing is
 * recorded afterwards. TINKC_E_IO when part of the file could not be written,
 * TINKC_E_NOMEM when events were lost for lack of memory. Accepts NULL and a pointer to
 * NULL. Thread: any, even while the services are in use. */
TINKC_API tinkc_code tinkc_trace_close(tinkc_trace **trace, tinkc_error **err);

TINKC_END_DECLS

#endif
