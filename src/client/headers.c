/* See headers.h. Lines are collected in one buffer as NUL-terminated texts; their
 * addresses are taken at the end, when the buffer does not move any more. */
#include "client/headers.h"

#include <string.h>

#include <tinkc/version.h>

#include "client/core.h"
#include "http/url.h"

#define TEXT_MAX_BYTES (256 * TK_KIB)

/* A header that the configuration or the call sets replaces ours of the same name. */
static bool is_overridden(const tk_call *call, const char *name)
{
    const tk_pairs *headers = &tk_core_config(call->core)->headers;
    for (size_t i = 0; i < headers->n; i++) {
        if (tk_str_is_nocase(tk_str_of(headers->items[i].name), name)) {
            return true;
        }
    }
    return false;
}

static void put_line(tk_call *call, const char *name, const char *value)
{
    if (value != NULL && !is_overridden(call, name)) {
        tk_buf_printf(&call->state.text, "%s: %s", name, value);
        tk_buf_putc(&call->state.text, '\0');
    }
}

static void put_number(tk_call *call, const char *name, int64_t value)
{
    tk_buf_printf(&call->state.text, "%s: %lld", name, (long long)value);
    tk_buf_putc(&call->state.text, '\0');
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

/* Seconds without trailing zeros: "60", "0.25". */
static void put_read_timeout(tk_call *call, int64_t timeout_ms)
{
    if (timeout_ms < 0) {
        return;
    }
    if (timeout_ms % 1000 == 0) {
        put_number(call, "x-stainless-read-timeout", timeout_ms / 1000);
        return;
    }
    tk_buf_printf(&call->state.text, "x-stainless-read-timeout: %lld.%03lld",
                  (long long)(timeout_ms / 1000), (long long)(timeout_ms % 1000));
    tk_buf_putc(&call->state.text, '\0');
}

static void put_identity(tk_call *call)
{
    const tinkc_config *config = tk_core_config(call->core);
    put_line(call, "User-Agent", "tinkc/" TINKC_VERSION);
    put_line(call, "X-Stainless-Package-Version", config->sdk_version);
    put_line(call, "X-Stainless-OS", os_name());
    put_line(call, "X-Stainless-Arch", arch_name());
    put_line(call, "X-Stainless-Runtime", "C");
    put_line(call, "X-Stainless-Runtime-Version", TINKC_VERSION);
    put_line(call, "X-Stainless-Async", "async:epoll");
    put_line(call, "CF-Access-Client-Id", config->cf_access_id);
    put_line(call, "CF-Access-Client-Secret", config->cf_access_secret);
}

static void put_content(tk_call *call)
{
    put_line(call, "Accept", call->accept != NULL ? call->accept : "application/json");
    if (call->endpoint->method == TK_HTTP_GET) {
        return;
    }
    put_line(call, "Content-Type",
             call->content_type != NULL ? call->content_type : "application/json");
    put_line(call, "Content-Encoding", call->content_encoding);
    put_line(call, "X-Idempotency-Key", call->state.idempotency_key);
}

static void put_extra(tk_call *call)
{
    const tk_pairs *headers = &tk_core_config(call->core)->headers;
    for (size_t i = 0; i < headers->n; i++) {
        tk_buf_printf(&call->state.text, "%s: %s", headers->items[i].name,
                      headers->items[i].value);
        tk_buf_putc(&call->state.text, '\0');
    }
    for (size_t i = 0; i < TK_CALL_EXTRA_HEADERS && call->extra[i] != NULL; i++) {
        tk_buf_put(&call->state.text, call->extra[i], strlen(call->extra[i]) + 1);
    }
}

/* Base, path with its argument, and the query of the configuration and of the call. */
static void put_url(tk_call *call)
{
    tk_buf *text = &call->state.text;
    const tk_pairs *query = &tk_core_config(call->core)->query;
    const char *path = call->endpoint->path;
    const char *hole = strstr(path, "{}");
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

static tinkc_code point_at_lines(tk_call *call, tk_err *err)
{
    const char *at = call->state.text.p;
    const char *end = at + call->state.text.n;
    size_t n = 0;
    call->state.request.url = at;
    for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
        if (n == TK_ARRAY_LEN(call->state.lines)) {
            return tk_err_set(err, TINKC_E_LIMIT, "more than %zu header lines", n);
        }
        call->state.lines[n++] = at;
    }
    call->state.request.headers = call->state.lines;
    call->state.request.headers_n = n;
    return TINKC_OK;
}

tinkc_code tk_headers_build(tk_call *call, const char *credential, tk_err *err)
{
    tk_buf *text = &call->state.text;
    if (text->max == 0) {
        tk_buf_init(text, TEXT_MAX_BYTES);
    }
    tk_buf_clear(text);
    put_url(call);
    put_content(call);
    put_identity(call);
    put_line(call, "X-API-Key", credential);
    put_number(call, "x-stainless-retry-count", call->state.retries);
    put_read_timeout(call, call->state.request.timeout_ms);
    put_extra(call);
    tinkc_code code = tk_buf_status(text, err);
    return code == TINKC_OK ? point_at_lines(call, err) : code;
}
