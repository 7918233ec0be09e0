/* Tables of telemetry; every kind of event repeats the common rows. */
#include "wire/msg_telemetry.h"

static const char *const severity_words[] = {"DEBUG", "INFO", "WARNING", "ERROR",
                                             "CRITICAL"};
static const tk_names severity_names = {severity_words, TK_ARRAY_LEN(severity_words),
                                        TK_OTHER};

#define T tk_event
#define COMMON_ROWS(word)                                                                \
    {TK_LITERAL("event", word)}, {TK_ROW(T, event_id, STR, TK_REQUIRED)},                \
        {TK_ROW(T, event_session_index, I64, TK_REQUIRED)},                              \
        {TK_ROW(T, severity, ENUM, TK_REQUIRED), .names = &severity_names},              \
    {                                                                                    \
        TK_ROW_TIME(T, timestamp, TK_REQUIRED | TK_MICROS)                               \
    }

static const tk_field session_start_rows[] = {COMMON_ROWS("SESSION_START")};

static const tk_field session_end_rows[] = {
    COMMON_ROWS("SESSION_END"),
    {TK_ROW(T, duration, STR, TK_REQUIRED)},
};

static const tk_field exception_rows[] = {
    COMMON_ROWS("UNHANDLED_EXCEPTION"),
    {TK_ROW(T, error_type, STR, TK_REQUIRED)},
    {TK_ROW(T, error_message, STR, TK_REQUIRED)},
    {TK_ROW(T, traceback, STR, 0)},
};

static const tk_field generic_rows[] = {
    COMMON_ROWS("GENERIC_EVENT"),
    {TK_ROW(T, event_name, STR, TK_REQUIRED)},
    {TK_ROW(T, event_data, RAW, TK_DEFAULT | TK_OBJECT)},
};

static const tk_schema session_start = {
    TK_SCHEMA(T, "SessionStartEvent", session_start_rows)};
static const tk_schema session_end = {TK_SCHEMA(T, "SessionEndEvent", session_end_rows)};
static const tk_schema exception = {
    TK_SCHEMA(T, "UnhandledExceptionEvent", exception_rows)};
static const tk_schema generic = {TK_SCHEMA(T, "GenericEvent", generic_rows)};
#undef T

static const tk_variant variants[] = {
    {"SESSION_START", TK_EVENT_SESSION_START, &session_start, NULL},
    {"SESSION_END", TK_EVENT_SESSION_END, &session_end, NULL},
    {"UNHANDLED_EXCEPTION", TK_EVENT_UNHANDLED_EXCEPTION, &exception, NULL},
    {"GENERIC_EVENT", TK_EVENT_GENERIC, &generic, NULL},
};

static const tk_union event_union = {.key = "event",
                                     .kind_at = offsetof(tk_event, kind),
                                     .variants = variants,
                                     .n = TK_ARRAY_LEN(variants),
                                     .unknown = TK_EVENT_UNKNOWN,
                                     .raw_at = offsetof(tk_event, raw)};

#define T tk_telemetry_request
static const tk_field request_rows[] = {
    {TK_BARE_PAIR(T, events, LIST, TK_REQUIRED), .sub = &tk_msg_event},
    {TK_ROW(T, platform, STR, TK_REQUIRED)},
    {TK_ROW(T, sdk_version, STR, TK_REQUIRED)},
    {TK_ROW(T, session_id, STR, TK_REQUIRED)},
    {TK_ROW(T, process_uuid, STR, TK_REQUIRED)},
};
#undef T

static const tk_field response_rows[] = {
    {TK_LITERAL("status", "accepted"), .flags = TK_REQUIRED},
};

const tk_schema tk_msg_event = {
    .name = "TelemetryEvent", .size = sizeof(tk_event), .variants = &event_union};
const tk_schema tk_msg_telemetry_request = {
    TK_SCHEMA(tk_telemetry_request, "TelemetrySendRequest", request_rows)};
const tk_schema tk_msg_telemetry_response = {
    TK_SCHEMA(tk_telemetry_response, "TelemetryResponse", response_rows)};
