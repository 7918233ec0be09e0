/* Signatures with HMAC-SHA-256, and ranges of bytes. */
#include "server/api/srv_link.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "httpd/hd_reply.h"
#include "httpd/hd_route.h"
#include "server/run/srv_state.h"

#define PREFIX "/tinkc/v1/"

/* ---- signatures ---- */

/* Signs "<place>/<thing> <row> <end>". */
static tinkc_code sign(char out[TK_SHA256_HEX_BYTES], srv *server, const srv_link *link,
                       tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, 4 * TK_KIB);
    tk_buf_printf(&text, "%s/" TK_STR_FMT " %lld %lld", link->place,
                  TK_STR_ARG(link->thing), (long long)link->row, (long long)link->end_us);
    tinkc_code code = tk_buf_status(&text, err);
    if (code == TINKC_OK) {
        const tk_str key = {(const char *)server->archive_key,
                            sizeof(server->archive_key)};
        code = tk_sha256_hmac_hex(out, key, tk_buf_str(&text), err);
    }
    tk_buf_dispose(&text);
    return code;
}

/* Takes the same time wherever they differ. */
static bool same(tk_str a, const char b[TK_SHA256_HEX_BYTES])
{
    unsigned differ = a.n != TK_SHA256_HEX_BYTES - 1;
    for (size_t i = 0; i < TK_SHA256_HEX_BYTES - 1; i++) {
        unsigned char c = i < a.n ? (unsigned char)a.p[i] : 0;
        differ |= (unsigned)(c ^ (unsigned char)b[i]);
    }
    return differ == 0;
}

tinkc_code srv_link_put(tk_buf *url, hd_request *request, const srv_link *link,
                        tk_err *err)
{
    srv *server = request->app;
    char signature[TK_SHA256_HEX_BYTES];
    tinkc_code code = sign(signature, server, link, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (request->host.n > 0) {
        tk_buf_printf(url, "%s://" TK_STR_FMT, request->came_by_https ? "https" : "http",
                      TK_STR_ARG(request->host));
    } else {
        tk_buf_puts(url, server->url);
    }
    tk_buf_printf(url, PREFIX "%s/" TK_STR_FMT "?row=%lld&expires=%lld&signature=%s",
                  link->place, TK_STR_ARG(link->thing), (long long)link->row,
                  (long long)link->end_us, signature);
    return tk_buf_status(url, err);
}

bool srv_link_check(srv_link *link, hd_request *request)
{
    char signature[TK_SHA256_HEX_BYTES];
    tk_err err = TK_ERR_INIT;
    if (!tk_str_to_i64(hd_request_query(request, "row"), &link->row) ||
        !tk_str_to_i64(hd_request_query(request, "expires"), &link->end_us) ||
        sign(signature, request->app, link, &err) != TINKC_OK ||
        !same(hd_request_query(request, "signature"), signature)) {
        (void)hd_reply_fail(request, 403, "the link is not one of this server's");
        return false;
    }
    if (link->end_us <= tk_clock_wall_us(NULL)) {
        (void)hd_reply_fail(request, 403, "the link has expired; ask for another one");
        return false;
    }
    return true;
}

bool srv_link_admit(hd_request *request)
{
    char place[32], thing[256];
    size_t n = 0;
    const char *from = request->route->pattern + sizeof(PREFIX) - 1;
    (void)snprintf(place, sizeof(place), "%.*s", (int)strcspn(from, "/"), from);
    for (size_t i = 0; i < HD_PARAMS_MAX && request->params[i].n > 0; i++) {
        int written = snprintf(thing + n, sizeof(thing) - n, "%s" TK_STR_FMT,
                               i > 0 ? "/" : "", TK_STR_ARG(request->params[i]));
        n = TK_MIN(n + (size_t)TK_MAX(written, 0), sizeof(thing) - 1);
    }
    srv_link link = {.place = place, .thing = {thing, n}};
    return srv_link_check(&link, request);
}

/* ---- parts ---- */

srv_range_kind srv_link_range(srv_range *out, tk_str header, int64_t size)
{
    const size_t n = sizeof("bytes=") - 1;
    int64_t first = 0, last = size - 1;
    if (!tk_str_has_prefix(header, "bytes=")) {
        return SRV_RANGE_ALL;
    }
    tk_str rest = {header.p + n, header.n - n};
    tk_str from = tk_str_cut(&rest, '-');
    if (rest.p == NULL || (from.n == 0 && rest.n == 0)) {
        return SRV_RANGE_ALL;
    }
    if (from.n == 0) {
        if (!tk_str_to_i64(rest, &first) || first < 0) {
            return SRV_RANGE_ALL;
        }
        first = first < size ? size - first : 0;
    } else if (!tk_str_to_i64(from, &first) || first < 0 ||
               (rest.n > 0 && (!tk_str_to_i64(rest, &last) || last < first))) {
        return SRV_RANGE_ALL;
    }
    if (first >= size) {
        return SRV_RANGE_OUTSIDE;
    }
    *out = (srv_range){first, TK_MIN(last, size - 1)};
    return SRV_RANGE_PART;
}

int srv_link_begin(srv_range *out, hd_request *request, const char *etag,
                   const char *name, int64_t size)
{
    char line[96 + TK_SRV_NAME_BYTES];
    *out = (srv_range){0, size - 1};
    bool current = request->if_range.n == 0 || tk_str_is(request->if_range, etag);
    srv_range_kind kind =
        current ? srv_link_range(out, request->range, size) : SRV_RANGE_ALL;
    if (kind == SRV_RANGE_OUTSIDE) {
        (void)snprintf(line, sizeof(line), "bytes */%lld", (long long)size);
        (void)hd_reply_header(request, "Content-Range", line);
        (void)hd_reply_fail(request, 416, "the range begins after the end");
        return 0;
    }
    if (kind == SRV_RANGE_PART) {
        (void)snprintf(line, sizeof(line), "bytes %lld-%lld/%lld", (long long)out->first,
                       (long long)out->last, (long long)size);
        (void)hd_reply_header(request, "Content-Range", line);
    }
    (void)snprintf(line, sizeof(line), "attachment; filename=\"%s\"", name);
    (void)hd_reply_header(request, "Content-Disposition", line);
    (void)hd_reply_header(request, "ETag", etag);
    (void)hd_reply_header(request, "Accept-Ranges", "bytes");
    return kind == SRV_RANGE_PART ? 206 : 200;
}
