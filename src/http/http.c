/* What the transport's enumerations and statuses mean, and header look-up. Pure. */
#include "http/http.h"

tk_str tk_http_header(const tk_http_response *response, const char *name)
{
    for (size_t i = 0; i < response->headers_n; i++) {
        if (tk_str_is_nocase(response->headers[i].name, name)) {
            return response->headers[i].value;
        }
    }
    tk_str none = {NULL, 0};
    return none;
}

bool tk_http_is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 ||
           status == 308;
}

const char *tk_http_method_name(tk_http_method method)
{
    static const char *const names[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    return names[method];
}

const char *tk_http_failure_name(tk_http_failure failure)
{
    static const char *const names[] = {
        "ok",
        "name look-up failed",
        "connection failed",
        "TLS failed",
        "certificate not accepted",
        "connection lost",
        "timed out",
        "response too large",
        "protocol error",
        "cancelled",
        "out of memory",
        "failed",
    };
    return names[failure];
}

tinkc_code tk_http_failure_code(tk_http_failure failure)
{
    switch (failure) {
    case TK_HTTP_OK:
        return TINKC_OK;
    case TK_HTTP_TIMEOUT:
        return TINKC_E_TIMEOUT;
    case TK_HTTP_CANCELLED:
        return TINKC_E_CANCELLED;
    case TK_HTTP_NOMEM:
        return TINKC_E_NOMEM;
    case TK_HTTP_TOO_LARGE:
        return TINKC_E_LIMIT;
    case TK_HTTP_TRUST:
        return TINKC_E_CONFIG; /* a retry does not help */
    case TK_HTTP_DNS:
    case TK_HTTP_CONNECT:
    case TK_HTTP_TLS:
    case TK_HTTP_RESET:
    case TK_HTTP_PROTOCOL:
    case TK_HTTP_OTHER:
        return TINKC_E_CONNECTION;
    }
    return TINKC_E_CONNECTION;
}
