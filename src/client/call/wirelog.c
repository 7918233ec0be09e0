/* The log masks what it knows to be secret; this file hides what it cannot know: the
 * values of headers that the program configured, and all queries, which is where signed
 * URLs carry their signature. Bytes that are not text are only counted. */
#include "client/call/wirelog.h"

#include <string.h>

#include "client/core/core.h"

#define COMPONENT "http"
/* More than a line holds, so that the log sees that the text is cut. */
#define SHOWN_BYTES (TK_LOG_TEXT_BYTES + 1)

static tk_str without_query(tk_str url)
{
    tk_str path = tk_str_cut(&url, '?');
    return tk_str_cut(&path, '#');
}

static bool dumps(const tk_call *call)
{
    return tk_core_config(call->core)->wire_dump != 0;
}

static bool is_configured(const tk_call *call, tk_str name)
{
    const tk_pairs *headers = &tk_core_config(call->core)->headers;
    for (size_t i = 0; i < headers->n; i++) {
        if (tk_str_is_nocase(name, headers->items[i].name)) {
            return true;
        }
    }
    return false;
}

static void dump_field(const tk_call *call, char direction, tk_str name, tk_str value)
{
    tk_str shown = is_configured(call, name)            ? (tk_str){"***", 3}
                   : tk_str_is_nocase(name, "location") ? without_query(value)
                                                        : value;
    tk_log_write(tk_core_log(call->core), TINKC_LOG_DEBUG, COMPONENT,
                 "%c " TK_STR_FMT ": " TK_STR_FMT, direction, TK_STR_ARG(name),
                 TK_STR_ARG(shown));
}

/* JSON and other text; NUL bytes end what printf shows, and occur in neither. */
static bool is_text(const char *type, const char *encoding)
{
    return encoding == NULL && (type == NULL || strstr(type, "json") != NULL ||
                                strncmp(type, "text/", 5) == 0);
}

static void dump_body(const tk_call *call, char direction, tk_str body, bool is_shown)
{
    tk_log *log = tk_core_log(call->core);
    tk_str shown = {body.p, TK_MIN(body.n, SHOWN_BYTES)};
    if (body.n == 0) {
        return;
    }
    if (is_shown) {
        tk_log_write(log, TINKC_LOG_DEBUG, COMPONENT, "%c " TK_STR_FMT, direction,
                     TK_STR_ARG(shown));
    } else {
        tk_log_write(log, TINKC_LOG_DEBUG, COMPONENT, "%c %zu bytes", direction, body.n);
    }
}

static void dump_request(const tk_call *call)
{
    const tk_http_request *request = &call->state.request;
    tk_str url = without_query(tk_str_of(request->url));
    tk_log_write(tk_core_log(call->core), TINKC_LOG_DEBUG, COMPONENT, "> %s " TK_STR_FMT,
                 tk_http_method_name(request->method), TK_STR_ARG(url));
    for (size_t i = 0; i < request->headers_n; i++) {
        tk_str value = tk_str_of(request->headers[i]);
        tk_str name = tk_str_cut(&value, ':');
        dump_field(call, '>', name, tk_str_trim(value));
    }
    tk_str body = {request->body, request->body != NULL ? request->body_n : 0};
    dump_body(call, '>', body, is_text(call->content_type, call->content_encoding));
}

void tk_wirelog_sent(tk_call *call)
{
    call->state.sent_ms = tk_loop_now_ms(tk_core_loop(call->core));
    if (tk_log_wants(tk_core_log(call->core), TINKC_LOG_DEBUG) && dumps(call)) {
        dump_request(call);
    }
}

static void dump_response(const tk_call *call, const tk_http_response *response)
{
    char type[64] = "";
    tk_str said = tk_http_header(response, "content-type");
    memcpy(type, said.n > 0 ? said.p : "", TK_MIN(said.n, sizeof(type) - 1));
    for (size_t i = 0; i < response->headers_n; i++) {
        dump_field(call, '<', response->headers[i].name, response->headers[i].value);
    }
    dump_body(call, '<', response->body, is_text(type[0] != '\0' ? type : NULL, NULL));
}

void tk_wirelog_answered(const tk_call *call, const tk_http_response *response)
{
    tk_log *log = tk_core_log(call->core);
    if (!tk_log_wants(log, TINKC_LOG_DEBUG)) {
        return;
    }
    const tk_http_request *request = &call->state.request;
    tk_str url = without_query(tk_str_of(request->url));
    int64_t took_ms = tk_loop_now_ms(tk_core_loop(call->core)) - call->state.sent_ms;
    const char *method = tk_http_method_name(request->method);
    if (response->failure != TK_HTTP_OK) {
        tk_log_write(log, TINKC_LOG_DEBUG, COMPONENT,
                     "%s " TK_STR_FMT ": %s after %lld ms", method, TK_STR_ARG(url),
                     response->err.message, (long long)took_ms);
        return;
    }
    tk_log_write(log, TINKC_LOG_DEBUG, COMPONENT,
                 "%s " TK_STR_FMT ": %d in %lld ms, %zu bytes out, %zu in", method,
                 TK_STR_ARG(url), response->status, (long long)took_ms, request->body_n,
                 response->body.n);
    if (dumps(call)) {
        dump_response(call, response);
    }
}
