/* <tinkc/telemetry.h>: events that the program reports. */
#include <tinkc/telemetry.h>

#include "client/core/service.h"
#include "client/insight/telemetry.h"
#include "client/values/error.h"

#define DATA_MAX_BYTES (8 * TK_KIB)
#define DATA_MAX_DEPTH 16

static tinkc_code reporter_of(tk_telemetry **out, tinkc_service *service, tk_err *err)
{
    if (service == NULL) {
        return tk_err_set(err, TINKC_E_STATE, "telemetry: the handle is NULL or closed");
    }
    tinkc_code code = tk_core_check(tk_service_core(service), err);
    if (code == TINKC_OK) {
        *out = tk_core_telemetry(tk_service_core(service));
    }
    return code;
}

static tinkc_code add(tk_telemetry *telemetry, const tk_event *event, bool urgent,
                      tk_err *err)
{
    return tk_telemetry_add(telemetry, event, urgent)
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_LIMIT,
                            "the event was dropped: too many wait, "
                            "or it is too large");
}

static tinkc_code check_severity(tinkc_severity severity, tk_err *err)
{
    return (unsigned)severity <= TINKC_SEVERITY_CRITICAL
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID, "no such severity: %d", (int)severity);
}

static tinkc_code check_name(const char *name, tk_err *err)
{
    return name != NULL && tk_telemetry_name_is_low(tk_str_of(name))
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID,
                            "the name of an event is one of few: letters, digits, \"_\", "
                            "\".\", \"-\", at most 64 bytes, no ids");
}

static tinkc_code parse_data(const tk_json **out, tk_arena *arena, const char *data,
                             tk_err *err)
{
    static const tk_json_limits limits = {.max_bytes = DATA_MAX_BYTES,
                                          .max_depth = DATA_MAX_DEPTH};
    tk_str text = tk_str_of(data);
    tinkc_code code = tk_json_parse(out, arena, text.p, text.n, &limits, err);
    if (code == TINKC_OK && (*out)->type != TK_JSON_OBJECT) {
        code = tk_err_set(err, TINKC_E_PARSE, "the data of an event is a JSON object");
    }
    return code;
}

static tinkc_code log_event(tinkc_service *service, const char *name,
                            tinkc_severity severity, const char *data, tk_err *err)
{
    tk_telemetry *telemetry = NULL;
    tk_arena arena;
    const tk_json *json = NULL;
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = reporter_of(&telemetry, service, err);
    if (code == TINKC_OK) {
        code = check_name(name, err);
    }
    if (code == TINKC_OK) {
        code = check_severity(severity, err);
    }
    if (code == TINKC_OK && data != NULL) {
        code = parse_data(&json, &arena, data, err);
    }
    if (code == TINKC_OK && tk_telemetry_is_on(telemetry)) {
        tk_event event = {.kind = TK_EVENT_GENERIC,
                          .severity = {TK_SET, (int)severity},
                          .event_name = {TK_SET, tk_str_of(name)},
                          .event_data = {json != NULL ? TK_SET : TK_UNSET, json}};
        code = add(telemetry, &event, false, err);
    }
    tk_arena_dispose(&arena);
    return code;
}

tinkc_code tinkc_telemetry_event(tinkc_service *service, const char *name,
                                 tinkc_severity severity, const char *data,
                                 tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = log_event(service, name, severity, data, &err);
    return code == TINKC_OK ? code : tk_error_give(error, &err);
}

tinkc_code tinkc_telemetry_error(tinkc_service *service, const tinkc_error *error,
                                 tinkc_error **out)
{
    tk_err err = TK_ERR_INIT, said = TK_ERR_INIT;
    tk_telemetry *telemetry = NULL;
    if (reporter_of(&telemetry, service, &err) != TINKC_OK) {
        return tk_error_give(out, &err);
    }
    if (error != NULL) {
        tk_error_read(&said, error);
        tk_telemetry_failed(telemetry, NULL, &said, tinkc_error_is_user_error(error));
    }
    return TINKC_OK;
}

tinkc_code tinkc_telemetry_exception(tinkc_service *service, const char *type,
                                     const char *message, const char *trace,
                                     tinkc_severity severity, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_telemetry *telemetry = NULL;
    tinkc_code code = reporter_of(&telemetry, service, &err);
    if (code == TINKC_OK) {
        code = check_severity(severity, &err);
    }
    if (code == TINKC_OK && (type == NULL || message == NULL)) {
        code = tk_err_set(&err, TINKC_E_INVALID, "type and message must not be NULL");
    }
    if (code == TINKC_OK && tk_telemetry_is_on(telemetry)) {
        tk_event event = {.kind = TK_EVENT_UNHANDLED_EXCEPTION,
                          .severity = {TK_SET, (int)severity},
                          .error_type = {TK_SET, tk_str_of(type)},
                          .error_message = {TK_SET, tk_str_of(message)}};
        if (trace != NULL) {
            event.traceback = (tk_f_str){TK_SET, tk_str_of(trace)};
        }
        code = add(telemetry, &event, true, &err);
    }
    return code == TINKC_OK ? code : tk_error_give(error, &err);
}

tinkc_code tinkc_telemetry_flush(tinkc_service *service, int64_t timeout_ms,
                                 tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_telemetry *telemetry = NULL;
    tinkc_code code = reporter_of(&telemetry, service, &err);
    if (code == TINKC_OK) {
        code = tk_core_check_blocking(tk_service_core(service), &err);
    }
    if (code == TINKC_OK && !tk_telemetry_flush(telemetry, timeout_ms)) {
        code = tk_err_set(&err, TINKC_E_TIMEOUT, "not all events were sent");
    }
    return code == TINKC_OK ? code : tk_error_give(error, &err);
}

tinkc_code tinkc_telemetry_count(tinkc_telemetry_counts *out, tinkc_service *service,
                                 tinkc_error **err)
{
    if (service == NULL || out == NULL || out->size < sizeof(*out)) {
        return tk_error_tell(err, TINKC_E_STATE, "no service, or the size is not set");
    }
    tk_telemetry_read_counts(tk_core_telemetry(tk_service_core(service)), out);
    return TINKC_OK;
}
