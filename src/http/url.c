/* URLs are split here, not by a library, because the key must not depend on a library's
 * idea of normal form; sending is libcurl's, which parses the joined URL again. */
#include "http/url.h"

#include <string.h>
#include <strings.h>

static bool has_control_or_space(tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] <= 0x20 || text.p[i] == 0x7F) {
            return true;
        }
    }
    return false;
}

/* Cuts the scheme off; false when it is neither http nor https. */
static bool cut_scheme(tk_url *url, tk_str *rest)
{
    static const struct {
        const char *name;
        bool is_https;
        uint16_t port;
    } schemes[] = {{"http", false, 80}, {"https", true, 443}};
    for (size_t i = 0; i < TK_ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i].name);
        tk_str head = {rest->p, TK_MIN(n, rest->n)};
        if (rest->n >= n + 3 && tk_str_is_nocase(head, schemes[i].name) &&
            memcmp(rest->p + n, "://", 3) == 0) {
            url->scheme = head;
            url->is_https = schemes[i].is_https;
            url->port = schemes[i].port;
            rest->p += n + 3;
            rest->n -= n + 3;
            return true;
        }
    }
    return false;
}

/* "host", "host:port", "[v6]", "[v6]:port". */
static bool cut_authority(tk_url *url, tk_str authority)
{
    tk_str port = {NULL, 0};
    if (authority.n > 0 && authority.p[0] == '[') {
        tk_str rest = {authority.p + 1, authority.n - 1};
        url->host = tk_str_cut(&rest, ']');
        if (rest.p == NULL || (rest.n > 0 && rest.p[0] != ':')) {
            return false;
        }
        if (rest.n > 0) {
            port.p = rest.p + 1;
            port.n = rest.n - 1;
        }
    } else {
        tk_str rest = authority;
        url->host = tk_str_cut(&rest, ':');
        port = rest;
    }
    if (url->host.n == 0) {
        return false;
    }
    if (port.p == NULL) {
        return true;
    }
    uint64_t number;
    if (!tk_str_to_u64(port, &number) || number == 0 || number > UINT16_MAX) {
        return false;
    }
    url->port = (uint16_t)number;
    return true;
}

static bool host_is_loopback(tk_str host)
{
    if (tk_str_is_nocase(host, "localhost") || tk_str_is(host, "::1")) {
        return true;
    }
    if (!tk_str_has_prefix(host, "127.")) {
        return false;
    }
    for (size_t i = 0; i < host.n; i++) {
        if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9')) {
            return false; /* "127.evil.example" is a name */
        }
    }
    return true;
}

tinkc_code tk_url_parse(tk_url *out, tk_str text, tk_err *err)
{
    tk_url url = {0};
    tk_str rest = text;
    if (has_control_or_space(text)) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "base URL holds a space or control character");
    }
    if (!cut_scheme(&url, &rest)) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "base URL must start with http:// or https://");
    }
    const char *slash = rest.n > 0 ? memchr(rest.p, '/', rest.n) : NULL;
    tk_str authority = {rest.p, slash != NULL ? (size_t)(slash - rest.p) : rest.n};
    if (slash != NULL) {
        url.path.p = slash;
        url.path.n = rest.n - authority.n;
    }
    if (memchr(text.p, '?', text.n) != NULL || memchr(text.p, '#', text.n) != NULL ||
        memchr(text.p, '@', text.n) != NULL) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "base URL must not hold a query, a fragment or user info");
    }
    if (!cut_authority(&url, authority)) {
        return tk_err_set(err, TINKC_E_CONFIG, "base URL has no usable host or port");
    }
    url.is_loopback = host_is_loopback(url.host);
    *out = url;
    return TINKC_OK;
}

void tk_url_key(tk_buf *out, const tk_url *url)
{
    tk_buf_puts(out, url->is_https ? "https://" : "http://");
    bool is_v6 = memchr(url->host.p, ':', url->host.n) != NULL;
    tk_buf_puts(out, is_v6 ? "[" : "");
    for (size_t i = 0; i < url->host.n; i++) {
        char c = url->host.p[i];
        tk_buf_putc(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
    tk_buf_puts(out, is_v6 ? "]" : "");
    if (url->port != (url->is_https ? 443 : 80)) {
        tk_buf_printf(out, ":%u", url->port);
    }
}

void tk_url_join(tk_buf *out, tk_str base, const char *path)
{
    while (base.n > 0 && base.p[base.n - 1] == '/') {
        base.n--;
    }
    tk_buf_put(out, base.p, base.n);
    tk_buf_puts(out, path);
}

/* "https://host:port" of an absolute URL, as it is written. */
static tk_str authority_part(tk_str url)
{
    size_t slashes = 0, n = 0;
    for (; n < url.n; n++) {
        slashes += url.p[n] == '/' ? 1 : 0;
        if (slashes == 3 || url.p[n] == '?' || url.p[n] == '#') {
            break;
        }
    }
    return (tk_str){url.p, n};
}

bool tk_url_same_origin(tk_str a, tk_str b)
{
    tk_url first, second;
    return tk_url_parse(&first, authority_part(a), NULL) == TINKC_OK &&
           tk_url_parse(&second, authority_part(b), NULL) == TINKC_OK &&
           first.is_https == second.is_https && first.port == second.port &&
           first.host.n == second.host.n &&
           strncasecmp(first.host.p, second.host.p, first.host.n) == 0;
}

bool tk_url_is_https(tk_str url)
{
    tk_url parsed;
    return cut_scheme(&parsed, &url) && parsed.is_https;
}

tinkc_code tk_url_resolve(tk_buf *out, tk_str base, tk_str location, tk_err *err)
{
    tk_url url;
    size_t start = out->n;
    tk_str server = authority_part(base);
    bool has_scheme = location.n > 0 && location.p[0] != '/';
    if (location.n == 0 || has_control_or_space(location)) {
        return tk_err_set(err, TINKC_E_DECODE, "the server redirects to nowhere");
    }
    if (tk_str_has_prefix(location, "//")) {
        const char *colon = memchr(server.p, ':', server.n);
        tk_buf_put(out, server.p, colon != NULL ? (size_t)(colon - server.p) + 1 : 0);
    } else if (!has_scheme) {
        tk_buf_put(out, server.p, server.n);
    }
    tk_buf_put(out, location.p, location.n);
    if (out->failure != TINKC_OK) {
        return tk_buf_status(out, err);
    }
    tk_str whole = {out->p + start, out->n - start};
    if (tk_url_parse(&url, authority_part(whole), NULL) != TINKC_OK) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "the server redirects to something that is not an http or "
                          "https URL");
    }
    return TINKC_OK;
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c) != NULL);
}

void tk_url_escape(tk_buf *out, tk_str text, const char *keep)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (is_unreserved(c) || (c != '\0' && strchr(keep, c) != NULL)) {
            tk_buf_putc(out, c);
        } else {
            tk_buf_printf(out, "%%%02X", (unsigned char)c);
        }
    }
}

void tk_url_query_add(tk_buf *query, const char *name, tk_str value)
{
    if (query->n > 0) {
        tk_buf_putc(query, '&');
    }
    tk_url_escape(query, tk_str_of(name), "");
    tk_buf_putc(query, '=');
    tk_url_escape(query, value, "");
}
