/* Telemetry: events that the library and the program report to the server.
 *
 * On by default, as in the official SDK; off with TINKER_TELEMETRY=0, with the option
 * `telemetry`, or in a library built without it: these functions then check their arguments
 * and report nothing. The library itself reports the start and end of a session, failed
 * operations and retries; secrets are masked before an event is queued. At most 10,000
 * events, 16 MiB in all, are queued; further events are dropped and counted. When the
 * server has no such endpoint, or after 8 failures in a row, telemetry is switched off for
 * this service. Every function returns TINKC_E_STATE for a NULL service, and all but
 * tinkc_telemetry_count return TINKC_E_CANCELLED after the close. Arguments are copied.
 * Thread: any. */
#ifndef TINKC_TELEMETRY_H
#define TINKC_TELEMETRY_H

#include <tinkc/error.h>
#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* Values are part of the ABI. */
typedef enum tinkc_severity {
    TINKC_SEVERITY_DEBUG = 0,
    TINKC_SEVERITY_INFO = 1,
    TINKC_SEVERITY_WARNING = 2,
    TINKC_SEVERITY_ERROR = 3,
    TINKC_SEVERITY_CRITICAL = 4
} tinkc_severity;

/* Reports an event of the program. `name` should be one of a small fixed set: a letter,
 * then letters, digits, '_', '.' and '-', at most 64 bytes, without ids (four digits in a
 * row are rejected). What differs from event to event belongs in `data`, a JSON object of
 * at most 8 KiB, or NULL. TINKC_E_INVALID for a name or severity that is not valid,
 * TINKC_E_PARSE for data that is not a JSON object, TINKC_E_LIMIT when data is too large
 * or the queue is full; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_telemetry_event(tinkc_service *service, const char *name,
                                           tinkc_severity severity, const char *data,
                                           tinkc_error **err);

/* Reports a failure of the program. An error that the user caused
 * (tinkc_error_is_user_error) becomes a `user_error` event of severity WARNING, any other
 * an exception of severity ERROR. The library reports its own failed operations itself.
 * The event is sent without delay; it is dropped and counted when the queue is full. Does
 * nothing for a NULL error. */
TINKC_API tinkc_code tinkc_telemetry_error(tinkc_service *service,
                                           const tinkc_error *error, tinkc_error **err);

/* Reports a failure for which there is no tinkc_error: its type, its message and a stack
 * trace (`trace`, may be NULL). The event is sent without delay. TINKC_E_INVALID without a
 * type or message, or for a severity that is not valid; TINKC_E_LIMIT when the queue is
 * full or the event is too large. */
TINKC_API tinkc_code tinkc_telemetry_exception(tinkc_service *service, const char *type,
                                               const char *message, const char *trace,
                                               tinkc_severity severity,
                                               tinkc_error **err);

/* Sends the queued events and waits at most `timeout_ms` (TINKC_FOREVER: without limit)
 * until the server has accepted them, for example before the program aborts. Blocks;
 * thread: any but the loop's (TINKC_E_STATE). TINKC_E_TIMEOUT when the time is over, or
 * when events were dropped meanwhile. tinkc_service_close also flushes, for a limited
 * time. */
TINKC_API tinkc_code tinkc_telemetry_flush(tinkc_service *service, int64_t timeout_ms,
                                           tinkc_error **err);

typedef struct tinkc_telemetry_counts {
    size_t size;
    bool is_on;      /* false: switched off, or off after failures */
    uint64_t queued; /* waiting to be sent, including those being sent */
    uint64_t sent;   /* accepted by the server */
    uint64_t dropped;
} tinkc_telemetry_counts;

#define TINKC_TELEMETRY_COUNTS_INIT                                                      \
    {                                                                                    \
        sizeof(tinkc_telemetry_counts), false, 0, 0, 0                                   \
    }

/* Sets *counts to TINKC_TELEMETRY_COUNTS_INIT. */
TINKC_API void tinkc_telemetry_counts_init(tinkc_telemetry_counts *counts);

/* Counts the events of the service so far. Start from TINKC_TELEMETRY_COUNTS_INIT.
 * TINKC_E_STATE for NULL, or when the size of *out is not set. */
TINKC_API tinkc_code tinkc_telemetry_count(tinkc_telemetry_counts *out,
                                           tinkc_service *service, tinkc_error **err);

TINKC_END_DECLS

#endif
