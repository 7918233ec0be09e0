/* Log lines of the library. The library writes nothing by itself: lines go to the function
 * of tinkc_config_set_log; without one they are discarded.
 *
 * In every line secrets are masked (API keys, tokens, values of credential headers), and
 * it is one line of valid UTF-8 without control characters. Thread: any. */
#ifndef TINKC_LOG_H
#define TINKC_LOG_H

#include <stdbool.h>

#include <tinkc/export.h>

TINKC_BEGIN_DECLS

/* Values are part of the ABI. A level lets through itself and everything above it in this
 * list. */
typedef enum tinkc_log_level {
    TINKC_LOG_OFF = 0,
    TINKC_LOG_ERROR = 1, /* something that the caller asked for has failed */
    TINKC_LOG_WARN = 2,  /* it continues, but deserves attention */
    TINKC_LOG_INFO = 3,  /* sessions, checkpoints, queue states */
    TINKC_LOG_DEBUG = 4  /* every request */
} tinkc_log_level;

/* Receives one line, without a line break. `component` says which part speaks ("http",
 * "session", ...). Both strings are valid during the call only. Called on any thread,
 * possibly on several at once, never with a lock held; it must not block. */
typedef void (*tinkc_log_fn)(tinkc_log_level level, const char *component,
                             const char *line, void *user);

/* Returns "off", "error", "warn", "info" or "debug"; "?" for a value that this version
 * does not know. Static storage. */
TINKC_API const char *tinkc_log_level_name(tinkc_log_level level);

/* Reads one of these names, or "warning", in lower case as in TINKER_LOG. Returns
 * false, and leaves *out untouched, for anything else and for NULL. */
TINKC_API bool tinkc_log_level_parse(tinkc_log_level *out, const char *name);

TINKC_END_DECLS

#endif
