/* Lines are collected as NUL-terminated texts: those of the service once, those of a
 * try in the call's own buffer, whose lines get their addresses at the end, when it
 * does not move any more. No printf: this is done for every request. */
#include "client/core/headers.h"

#include <string.h>
#include <strings.h>

#include <tinkc/version.h>

#include "base/json_num.h"
#include "client/call/sdk_method.h"
#include "client/core/core.h"
#include "client/insight/context.h"
#include "http/url.h"

#define TEXT_MAX_BYTES (256 * TK_KIB)
#define TEXT_BYTES     512 /* of an ordinary try */

bool tk_headers_is_clean(tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7F) {
            return false;
        }
    }
    return true;
}

bool tk_headers_is_name(tk_str text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && (c < '0' || c > '9') &&
            (c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return text.n > 0;
}

/* A header that the configuration sets replaces ours of the same name. */
static bool is_overridden(const tinkc_config *config, const char *name)
{
    const tk_pairs *headers = &config->headers;
    for (size_t i = 0; i < headers->n; i++) {
        if (tk_str_is_nocase(tk_str_of(headers->items[i].name), name)) {
            return true;
        }
    }
    return false;
}

static void put_pair(tk_buf *text, const char *name, const char *value)
{
    tk_buf_puts(text, name);
    tk_buf_put(text, ": ", 2);
    tk_buf_put(text, value, strlen(value) + 1);
}

static void put_line(tk_buf *text, const tinkc_config *config, const char *name,
                     const char *value)
{
    if (value != NULL && !is_overridden(config, name)) {
        put_pair(text, name, value);
    }
}

static void put_number(tk_buf *text, const char *name, int64_t value)
{
    char number[TK_JSON_NUM_BYTES + 1];
    number[tk_json_num_put_i64(number, value)] = '\0';
    put_pair(text, name, number);
}

static const char *arch_name(void)
{
#if defined(__x86_64__)
    return "x64";
#elif defined(__aarch64__)
    return "arm64";
#elif defined(__i386__)
    return "x32";
#elif defined(__arm__)
    return "arm";
#else
    return "unknown";
#endif
}

static const char *os_name(void)
{
#if defined(__linux__)
    return "Linux";
#elif defined(__APPLE__)
    return "MacOS";
#elif defined(__FreeBSD__)
    return "FreeBSD";
#else
    return "Unknown";
#endif
}

/* Seconds without trailing zeros, "60" and "0.25", or always with a fraction: "60.0". */
static void put_read_timeout(tk_buf *text, int64_t timeout_ms, bool is_fraction)
{
    if (timeout_ms < 0) {
        return;
    }
    if (timeout_ms % 1000 == 0 && !is_fraction) {
        put_number(text, "x-stainless-read-timeout", timeout_ms / 1000);
        return;
    }
    int digits = 3;
    int64_t fraction = timeout_ms % 1000;
    for (; fraction % 10 == 0 && digits > 1; fraction /= 10) {
        digits--;
    }
    tk_buf_printf(text, "x-stainless-read-timeout: %lld.%0*lld",
                  (long long)(timeout_ms / 1000), digits, (long long)fraction);
    tk_buf_putc(text, '\0');
}

void tk_headers_common(tk_buf *out, const tinkc_config *config)
{
    put_line(out, config, "User-Agent", "tinkc/" TINKC_VERSION);
    put_line(out, config, "X-Stainless-Package-Version", config->sdk_version);
    put_line(out, config, "X-Stainless-OS", os_name());
    put_line(out, config, "X-Stainless-Arch", arch_name());
    put_line(out, config, "X-Stainless-Runtime", "C");
    put_line(out, config, "X-Stainless-Runtime-Version", TINKC_VERSION);
    put_line(out, config, "X-Stainless-Async", "async:epoll");
    put_line(out, config, "CF-Access-Client-Id", config->cf_access_id);
    put_line(out, config, "CF-Access-Client-Secret", config->cf_access_secret);
    for (size_t i = 0; i < config->headers.n; i++) {
        put_pair(out, config->headers.items[i].name, config->headers.items[i].value);
    }
}

static void put_content(tk_buf *text, const tk_call *call)
{
    const tinkc_config *config = tk_core_config(call->core);
    put_line(text, config, "Accept",
             call->accept != NULL ? call->accept : "application/json");
    if (call->state.request.method == TK_HTTP_GET) {
        return;
    }
    put_line(text, config, "Content-Type",
             call->content_type != NULL ? call->content_type : "application/json");
    put_line(text, config, "Content-Encoding", call->content_encoding);
    put_line(text, config, "X-Idempotency-Key", call->state.idempotency_key);
}

/* Of the operation's context; the same with every request that it makes. */
static void put_trace(tk_buf *text, const tk_call *call)
{
    const tinkc_config *config = tk_core_config(call->core);
    const tinkc_context *context = tinkc_future_context(call->future);
    if (context != NULL && context->traceparent != NULL &&
        !is_overridden(config, "traceparent")) {
        put_line(text, config, "traceparent", context->traceparent);
        put_line(text, config, "tracestate", context->tracestate);
    }
}

/* REST requests of 0.36 name the method that makes them. */
static void put_method(tk_buf *text, const tk_call *call)
{
    const tinkc_config *config = tk_core_config(call->core);
    const char *operation =
        call->future != NULL ? tk_future_operation(call->future) : NULL;
    const char *method = tk_sdk_method_of(call->endpoint, operation);
    if (method != NULL && tk_config_sdk_at_least(config, 36)) {
        put_line(text, config, "x-sdk-version", config->sdk_version);
        put_line(text, config, "x-sdk-method", method);
    }
}

/* Base, path with its argument, and the query of the configuration and of the call. */
static void put_url(tk_call *call)
{
    tk_buf *text = &call->state.text;
    const char *url = call->state.moved.n > 0 ? call->state.moved.p : call->url;
    if (url != NULL) {
        tk_buf_put(text, url, strlen(url) + 1);
        return;
    }
    const tk_pairs *query = &tk_core_config(call->core)->query;
    const char *path = call->endpoint->path;
    const char *hole = call->path_arg != NULL ? strstr(path, "{}") : NULL;
    tk_url_join(text, tk_str_of(tk_core_base_url(call->core)), "");
    tk_buf_put(text, path, hole != NULL ? (size_t)(hole - path) : strlen(path));
    if (hole != NULL) {
        tk_url_escape(text, tk_str_of(call->path_arg), "/:");
        tk_buf_puts(text, hole + 2);
    }
    char separator = '?';
    for (size_t i = 0; i < query->n; i++, separator = '&') {
        tk_buf_putc(text, separator);
        tk_url_escape(text, tk_str_of(query->items[i].name), "");
        tk_buf_putc(text, '=');
        tk_url_escape(text, tk_str_of(query->items[i].value), "");
    }
    if (call->query != NULL && call->query[0] != '\0') {
        tk_buf_putc(text, separator);
        tk_buf_puts(text, call->query);
    }
    tk_buf_putc(text, '\0');
}

/* What goes to another server than ours carries nothing of us. */
static bool is_anonymous(const tk_call *call)
{
    return call->anonymous || call->state.moved_away;
}

/* Lines that a caller gave, for one call or for all calls of a handle. */
typedef struct own_lines {
    const char *const *lines;
    size_t n;
} own_lines;

static own_lines lines_of_context(const tk_call *call)
{
    own_lines own = {NULL, 0};
    if (!is_anonymous(call)) {
        own.lines = tk_context_lines(&own.n, tk_context_of(call->future));
    }
    return own;
}

static bool is_among(own_lines own, const char *line)
{
    size_t name_n = strcspn(line, ":");
    for (size_t i = 0; i < own.n; i++) {
        tk_str theirs = tk_str_of(own.lines[i]);
        tk_str name = tk_str_cut(&theirs, ':');
        if (name.n == name_n && strncasecmp(name.p, line, name_n) == 0) {
            return true;
        }
    }
    return false;
}

/* A line that the call brings, or its context, replaces ours of the same name. */
static bool is_replaced(const tk_call *call, const char *line)
{
    return is_among((own_lines){call->lines, call->lines_n}, line) ||
           is_among(lines_of_context(call), line);
}

/* Every line of every request comes by here. */
static tinkc_code point_at(tk_call *call, const char *line, tk_err *err)
{
    size_t n = call->state.request.headers_n;
    if (n == TK_ARRAY_LEN(call->state.lines)) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %zu header lines",
                          TK_ARRAY_LEN(call->state.lines));
    }
    if (!tk_headers_is_clean(tk_str_of(line))) {
        return tk_err_set(err, TINKC_E_INVALID, "the header %.*s has control characters",
                          (int)TK_MIN(strcspn(line, ":\r\n"), 60), line);
    }
    call->state.lines[n] = line;
    call->state.request.headers_n = n + 1;
    return TINKC_OK;
}

static tinkc_code point_at_all(tk_call *call, tk_str text, tk_err *err)
{
    const char *end = text.p + text.n;
    tinkc_code code = TINKC_OK;
    for (const char *at = text.p; code == TINKC_OK && at < end; at += strlen(at) + 1) {
        code = is_replaced(call, at) ? TINKC_OK : point_at(call, at, err);
    }
    return code;
}

static tinkc_code point_at_lines(tk_call *call, tk_err *err)
{
    tk_str text = tk_buf_str(&call->state.text);
    size_t url_n = strlen(text.p) + 1;
    tk_str rest = {text.p + url_n, text.n - url_n};
    call->state.request.url = text.p;
    call->state.request.headers = call->state.lines;
    call->state.request.headers_n = 0;
    tinkc_code code = point_at_all(call, rest, err);
    if (code == TINKC_OK && !is_anonymous(call)) {
        code = point_at_all(call, tk_core_common_headers(call->core), err);
    }
    for (size_t i = 0;
         code == TINKC_OK && i < TK_CALL_EXTRA_HEADERS && call->extra[i] != NULL; i++) {
        code = is_replaced(call, call->extra[i]) ? TINKC_OK
                                                 : point_at(call, call->extra[i], err);
    }
    own_lines mine = {call->lines, call->lines_n}, context = lines_of_context(call);
    for (size_t i = 0; code == TINKC_OK && i < context.n; i++) {
        code = is_among(mine, context.lines[i]) ? TINKC_OK
                                                : point_at(call, context.lines[i], err);
    }
    for (size_t i = 0; code == TINKC_OK && i < call->lines_n; i++) {
        code = point_at(call, call->lines[i], err);
    }
    return code;
}

tinkc_code tk_headers_build(tk_call *call, const char *credential, tk_err *err)
{
    tk_buf *text = &call->state.text;
    const tinkc_config *config = tk_core_config(call->core);
    if (text->max == 0) {
        tk_buf_init(text, TEXT_MAX_BYTES);
    }
    tk_buf_clear(text);
    if (tk_buf_reserve(text, TEXT_BYTES) == NULL) {
        return tk_buf_status(text, err);
    }
    put_url(call);
    put_content(text, call);
    if (is_anonymous(call)) {
        put_pair(text, "User-Agent", "tinkc/" TINKC_VERSION);
    } else {
        put_line(text, config, "X-API-Key", credential);
        put_number(text, "x-stainless-retry-count", call->state.retries);
        put_read_timeout(text,
                         call->on_data != NULL ? call->state.request.idle_timeout_ms
                                               : call->state.request.timeout_ms,
                         call->fraction_timeout);
        put_trace(text, call);
        put_method(text, call);
    }
    tinkc_code code = tk_buf_status(text, err);
    return code == TINKC_OK ? point_at_lines(call, err) : code;
}
