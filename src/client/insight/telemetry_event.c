/* Events of telemetry.h: their names, their data, their text. Secrets are masked string
 * by string before anything is encoded, so that the text stays JSON whatever is
 * hidden. */
#include "client/insight/telemetry.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "wire/wire_error.h"

#define ARENA_MAX_BYTES TK_MIB
#define DIGITS_MAX      3 /* in a row in a name */

/* The official SDK's, so that a server's dashboards know them. */
static const char *const names[TK_TELEMETRY_NAMES] = {
    [TK_TELEMETRY_USER_ERROR] = "user_error",
    [TK_TELEMETRY_CALL_FAILED] = "InternalClientHolder.execute_with_retries.exception",
    [TK_TELEMETRY_SAMPLE_FAILED] = "RetryHandler.execute.exception",
    [TK_TELEMETRY_POLL_CONNECTION] = "APIFuture.result_async.connection_error",
    [TK_TELEMETRY_POLL_STATUS] = "APIFuture.result_async.api_status_error",
    [TK_TELEMETRY_POLL_FAILED] = "APIFuture.result_async.application_error",
};

const char *tk_telemetry_name_text(tk_telemetry_name name)
{
    return names[name];
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool tk_telemetry_name_is_low(tk_str name)
{
    size_t digits = 0;
    if (name.n == 0 || name.n > TK_TELEMETRY_NAME_BYTES || !is_letter(name.p[0])) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_digit = c >= '0' && c <= '9';
        digits = is_digit ? digits + 1 : 0;
        if (digits > DIGITS_MAX ||
            (!is_digit && !is_letter(c) && c != '_' && c != '.' && c != '-')) {
            return false;
        }
    }
    return true;
}

/* ---- data ---- */

static tk_json_member fact(const char *key, tk_json_type type)
{
    return (tk_json_member){.key = tk_str_of(key), .value = {.type = type}};
}

tk_json_member tk_telemetry_text(const char *key, const char *text)
{
    tk_json_member member = fact(key, text != NULL ? TK_JSON_STRING : TK_JSON_NULL);
    if (text != NULL) {
        member.value.as.string = tk_str_of(text);
    }
    return member;
}

tk_json_member tk_telemetry_int(const char *key, int64_t number)
{
    tk_json_member member = fact(key, TK_JSON_INT);
    member.value.as.integer = number;
    return member;
}

tk_json_member tk_telemetry_real(const char *key, double number)
{
    tk_json_member member = fact(key, TK_JSON_REAL);
    member.value.as.real = number;
    return member;
}

tk_json_member tk_telemetry_bool(const char *key, bool truth)
{
    tk_json_member member = fact(key, TK_JSON_BOOL);
    member.value.as.boolean = truth;
    return member;
}

/* ---- masking ---- */

typedef struct mask {
    tk_arena *arena;
    tk_log *log;
    bool failed; /* no memory */
} mask;

/* The value after a name such as "api_key" is hidden because of the name, so both are
 * looked at together. */
static tk_str masked(mask *m, tk_str key, tk_str text)
{
    tk_str none = {"", 0};
    size_t head = key.n > 0 ? key.n + 2 : 0;
    size_t whole = head + text.n;
    size_t size = whole * 3 + 4; /* one hidden byte becomes three */
    char *in = tk_arena_alloc(m->arena, whole + 1);
    char *out = tk_arena_alloc(m->arena, size);
    if (in == NULL || out == NULL) {
        m->failed = true;
        return none;
    }
    if (head > 0) {
        memcpy(in, key.p, key.n);
        memcpy(in + key.n, ": ", 2);
    }
    memcpy(in + head, text.n > 0 ? text.p : "", text.n);
    size_t n = tk_log_redact(m->log, out, size, (tk_str){in, whole});
    if (n < head || memcmp(out, in, head) != 0) {
        return (tk_str){"***", 3};
    }
    return (tk_str){out + head, n - head};
}

static tk_json masked_value(mask *m, tk_str key, const tk_json *value);

static tk_json masked_object(mask *m, const tk_json *object)
{
    size_t n = object->as.object.n;
    tk_json copy = *object;
    tk_json_member *members = tk_arena_array(m->arena, n, sizeof(*members));
    if (members == NULL) {
        m->failed = true;
        return (tk_json){.type = TK_JSON_NULL};
    }
    for (size_t i = 0; i < n; i++) {
        const tk_json_member *from = &object->as.object.members[i];
        members[i].key = masked(m, (tk_str){NULL, 0}, from->key);
        members[i].value = masked_value(m, from->key, &from->value);
    }
    copy.as.object.members = members;
    return copy;
}

static tk_json masked_array(mask *m, tk_str key, const tk_json *array)
{
    size_t n = array->as.array.n;
    tk_json copy = *array;
    tk_json *items = tk_arena_array(m->arena, n, sizeof(*items));
    if (items == NULL) {
        m->failed = true;
        return (tk_json){.type = TK_JSON_NULL};
    }
    for (size_t i = 0; i < n; i++) {
        items[i] = masked_value(m, key, &array->as.array.items[i]);
    }
    copy.as.array.items = items;
    return copy;
}

static tk_json masked_value(mask *m, tk_str key, const tk_json *value)
{
    tk_json copy = *value;
    if (value->type == TK_JSON_STRING) {
        copy.as.string = masked(m, key, value->as.string);
    } else if (value->type == TK_JSON_OBJECT) {
        copy = masked_object(m, value);
    } else if (value->type == TK_JSON_ARRAY) {
        copy = masked_array(m, key, value);
    }
    return copy;
}

static void mask_field(mask *m, tk_f_str *field)
{
    if (field->is == TK_SET) {
        field->v = masked(m, (tk_str){NULL, 0}, field->v);
    }
}

tinkc_code tk_telemetry_encode(tk_buf *out, tk_log *log, const tk_event *event,
                               tk_err *err)
{
    tk_arena arena;
    tk_event copy = *event;
    tk_json data = {.type = TK_JSON_NULL};
    tk_arena_init(&arena, ARENA_MAX_BYTES);
    mask m = {&arena, log, false};
    mask_field(&m, &copy.error_message);
    mask_field(&m, &copy.traceback);
    mask_field(&m, &copy.error_type);
    if (copy.event_data.is == TK_SET) {
        data = masked_value(&m, (tk_str){NULL, 0}, copy.event_data.v);
        copy.event_data.v = &data;
    }
    tinkc_code code =
        m.failed ? tk_err_nomem(err) : tk_schema_encode(out, &tk_msg_event, &copy, err);
    tk_arena_dispose(&arena);
    return code;
}

void tk_telemetry_duration(char *out, size_t size, int64_t us)
{
    int64_t seconds = us / 1000000, micros = us % 1000000;
    int64_t days = seconds / 86400, rest = seconds % 86400;
    char day_text[40] = "", fraction[16] = "";
    if (days > 0) {
        (void)snprintf(day_text, sizeof(day_text), "%lld day%s, ", (long long)days,
                       days == 1 ? "" : "s");
    }
    if (micros > 0) {
        (void)snprintf(fraction, sizeof(fraction), ".%06d", (int)micros);
    }
    (void)snprintf(out, size, "%s%d:%02d:%02d%s", day_text, (int)(rest / 3600),
                   (int)(rest / 60 % 60), (int)(rest % 60), fraction);
}

/* ---- what the library reports ---- */

static bool add_generic(tk_telemetry *telemetry, tk_telemetry_name name,
                        tk_severity severity, const tk_json *data, bool urgent)
{
    tk_event event = {.kind = TK_EVENT_GENERIC,
                      .severity = {TK_SET, (int)severity},
                      .event_name = {TK_SET, tk_str_of(names[name])},
                      .event_data = {TK_SET, data}};
    return tk_telemetry_add(telemetry, &event, urgent);
}

void tk_telemetry_note(tk_telemetry *telemetry, tk_telemetry_name name,
                       tk_severity severity, const tk_json_member *facts, size_t n)
{
    if (tk_telemetry_is_on(telemetry)) {
        tk_json data = {.type = TK_JSON_OBJECT, .as.object = {facts, n}};
        (void)add_generic(telemetry, name, severity, &data, false);
    }
}

void tk_telemetry_failed(tk_telemetry *telemetry, const char *operation,
                         const tk_err *err, bool is_user)
{
    if (!tk_telemetry_is_on(telemetry) || err->code == TINKC_E_CANCELLED) {
        return;
    }
    const char *type = tinkc_code_name(err->code);
    if (is_user) {
        tk_json_member facts[4] = {tk_telemetry_text("error_type", type),
                                   tk_telemetry_text("message", err->message),
                                   tk_telemetry_text("operation", operation)};
        size_t n = 3;
        if (err->http_status != 0) {
            facts[n++] = tk_telemetry_int("status_code", err->http_status);
        }
        tk_json data = {.type = TK_JSON_OBJECT, .as.object = {facts, n}};
        (void)add_generic(telemetry, TK_TELEMETRY_USER_ERROR, TK_SEVERITY_WARNING, &data,
                          true);
        return;
    }
    tk_event event = {.kind = TK_EVENT_UNHANDLED_EXCEPTION,
                      .severity = {TK_SET, TK_SEVERITY_ERROR},
                      .error_type = {TK_SET, tk_str_of(type)},
                      .error_message = {TK_SET, tk_str_of(err->message)}};
    if (operation != NULL) {
        event.traceback = (tk_f_str){TK_SET, tk_str_of(operation)};
    }
    (void)tk_telemetry_add(telemetry, &event, true);
}

bool tk_telemetry_is_notable(int64_t count)
{
    return count > 0 && (count & (count - 1)) == 0;
}
