/* Telemetry (docs/protocol.md §9): a batch of events. */
#ifndef WIRE_MSG_TELEMETRY_H
#define WIRE_MSG_TELEMETRY_H

#include "wire/schema.h"

typedef enum tk_event_kind {
    TK_EVENT_SESSION_START,
    TK_EVENT_SESSION_END,
    TK_EVENT_UNHANDLED_EXCEPTION,
    TK_EVENT_GENERIC,
    TK_EVENT_UNKNOWN /* a kind this version does not know; `raw` holds it */
} tk_event_kind;

typedef enum tk_severity {
    TK_SEVERITY_DEBUG,
    TK_SEVERITY_INFO,
    TK_SEVERITY_WARNING,
    TK_SEVERITY_ERROR,
    TK_SEVERITY_CRITICAL
} tk_severity;

typedef struct tk_event {
    tk_event_kind kind;
    tk_f_str event_id; /* uuid4 */
    tk_f_i64 event_session_index;
    tk_f_enum severity; /* tk_severity */
    tk_f_time timestamp;
    tk_f_str duration;                             /* SESSION_END */
    tk_f_str error_type, error_message, traceback; /* UNHANDLED_EXCEPTION */
    tk_f_str event_name;                           /* GENERIC */
    tk_f_raw event_data;                           /* GENERIC: object, {} when unset */
    const tk_json *raw;                            /* UNKNOWN */
} tk_event;

typedef struct tk_telemetry_request {
    const tk_event *events;
    size_t events_n;
    tk_f_str platform, sdk_version, session_id, process_uuid;
} tk_telemetry_request;

typedef struct tk_telemetry_response {
    char nothing; /* {"status":"accepted"}, exactly */
} tk_telemetry_response;

extern const tk_schema tk_msg_event, tk_msg_telemetry_request, tk_msg_telemetry_response;

#endif
