/* The logger that a context passes down. NULL is a silent logger.
 *
 * One per service handle, so that two of them in one process do not share a sink, a level
 * or secrets; there is no global one. Writing allocates nothing. Thread: any. Locks: its
 * own, never while the sink runs. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <tinkc/log.h>

#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct tk_log tk_log;

/* fn NULL or level TINKC_LOG_OFF: silent, but secrets can be registered. */
TK_NODISCARD tinkc_code tk_log_new(tk_log **out, tinkc_log_level level, tinkc_log_fn fn,
                                   void *user, tk_err *err);
void tk_log_free(tk_log *log); /* accepts NULL; no thread may be writing */

/* Whether a line of this level would go anywhere: ask before costly preparation. */
bool tk_log_wants(const tk_log *log, tinkc_log_level level);

/* From now on these bytes are masked in every line: the API key, a JWT, a hub token. See
 * tk_redact_add for errors. */
TK_NODISCARD tinkc_code tk_log_add_secret(tk_log *log, tk_str secret, tk_err *err);
void tk_log_remove_secret(tk_log *log, tk_str secret);

/* One line, masked, scrubbed, and cut at TK_LOG_LINE_BYTES, where it then ends in "...".
 * The component is a short constant word. */
void tk_log_write(tk_log *log, tinkc_log_level level, const char *component,
                  const char *format, ...) TK_PRINTF(4, 5);

/* Masks text that leaves the process by another way, e.g. telemetry; as tk_redact_apply.
 * Also works with log NULL, by patterns only. */
size_t tk_log_redact(tk_log *log, char *out, size_t size, tk_str text);

#endif
