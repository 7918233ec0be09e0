/* Telemetry: events that the library and the program report to the server.
 *
 * On by default, as in the official SDK; off with TINKER_TELEMETRY=0, with the option
 * `telemetry`, or in a library built without it: these functions then do nothing and
 * return TINKC_OK. The library reports the start and end of a session, failed operations
 * and retries; secrets are masked before an event is queued. At most 10,000 events, 16 MiB
 * in all, are queued; more are counted and dropped. After a few failures the library stops
 * sending events to a server that does not accept them. TINKC_E_STATE for NULL and
 * TINKC_E_CANCELLED after the close, in every function. Arguments are copied. Thread:
 * any. */
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

/* Reports an event of the program. `name` comes from a small fixed set: letters,
 * digits, '_', '.' and '-', at most 64 bytes, no ids (four digits in a row are
 * refused). What differs from event to event goes into `data`, a JSON object of at
 * most 8 KiB, or NULL. TINKC_E_INVALID for a name or severity that is out of range,
 * TINKC_E_PARSE for data that is not a JSON object, TINKC_E_LIMIT when the queue is
 * full. */
TINKC_API tinkc_code tinkc_telemetry_event(tinkc_service *service, const char *name,
                                           tinkc_severity severity, const char *data,
                                           tinkc_error **err);

/* Reports a failure of the program. An error that the user caused
 * (tinkc_error_is_user_error) becomes `user_error` of severity WARNING, any other an
 * exception of severity ERROR. Operations of the library that fail are reported by the
 * library. Sent at once; dropped and counted when the queue is full. Does nothing for
 * a NULL error. */
TINKC_API tinkc_code tinkc_telemetry_error(tinkc_service *service,
                                           const tinkc_error *error, tinkc_error **err);

/* Reports a failure for which there is no tinkc_error. `trace` may be NULL.
 * TINKC_E_INVALID without a type or message, or for a severity that is out of range;
 * TINKC_E_LIMIT when the queue is full. */
TINKC_API tinkc_code tinkc_telemetry_exception(tinkc_service *service, const char *type,
                                               const char *message, const char *trace,
                                               tinkc_severity severity,
                                               tinkc_error **err);

/* Sends what is queued and waits until the server has it, e.g. before the program
 * aborts. TINKC_E_TIMEOUT when that took too long, or sending was given up;
 * TINKC_E_STATE in a callback, which the loop waits for. tinkc_service_close does it
 * too. */
TINKC_API tinkc_code tinkc_telemetry_flush(tinkc_service *service, int64_t timeout_ms,
                                           tinkc_error **err);

typedef struct tinkc_telemetry_counts {
    size_t size;
    bool is_on;      /* false: switched off, or given up */
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

/* Fills *out, whose `size` must be set. TINKC_E_STATE for NULL, or when the size is
 * not set. */
TINKC_API tinkc_code tinkc_telemetry_count(tinkc_telemetry_counts *out,
                                           tinkc_service *service, tinkc_error **err);

TINKC_END_DECLS

#endif
