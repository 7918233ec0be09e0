/* URLs: the one normalised key of a server, and joining a base with a path
 * (docs/protocol.md §1.1). Pure; results are allocated. */
#ifndef HTTP_URL_H
#define HTTP_URL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

typedef struct tk_url {
    tk_str scheme; /* "http" or "https", any case as written */
    tk_str host;   /* without brackets for IPv6 */
    bool is_https;
    bool is_loopback; /* localhost, 127.0.0.0/8, ::1 */
    uint16_t port;    /* effective */
    tk_str path;      /* from the first "/", or empty; query and fragment are refused */
} tk_url;

/* Views into `text`. TINKC_E_CONFIG with the reason: only http and https, a host, a port
 * in range, no user info, no query, no control characters. */
TK_NODISCARD tinkc_code tk_url_parse(tk_url *out, tk_str text, tk_err *err);

/* "https://host" or "https://host:8443": lower case, default port of the scheme stripped,
 * path dropped. Everything that is shared per server uses this key. */
void tk_url_key(tk_buf *out, const tk_url *url);

/* Base (with or without a slash at its end) and "/api/v1/x": the base's path is kept. */
void tk_url_join(tk_buf *out, tk_str base, const char *path);

/* The absolute URL that a Location header means, seen from a request to the server of
 * `base`: absolute, "//host/..." or "/path". Control characters, spaces, user info and
 * other schemes are refused: TINKC_E_DECODE. */
TK_NODISCARD tinkc_code tk_url_resolve(tk_buf *out, tk_str base, tk_str location,
                                       tk_err *err);

/* Whether two absolute URLs, which may have paths and queries, name the same server by
 * scheme, host and port. False when one is not a URL. */
bool tk_url_same_origin(tk_str a, tk_str b);

/* Whether the scheme of an absolute URL is https, in any case. */
bool tk_url_is_https(tk_str url);

/* Appends with everything but unreserved characters percent-encoded; `keep` lists further
 * characters that stay, e.g. "/:" for checkpoint ids. */
void tk_url_escape(tk_buf *out, tk_str text, const char *keep);

/* Appends "name=value" to a query, with "&" where one is there already. */
void tk_url_query_add(tk_buf *query, const char *name, tk_str value);

#endif
