/* Signed links, and parts of the tar that they lead to. */
#include "server/api/srv_archive.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/date.h"
#include "base/sha256.h"
#include "server/api/srv_checkpoint.h"
#include "server/api/srv_tar.h"
#include "server/http/srv_reply.h"
#include "server/run/srv_state.h"

#define LIFE_US    (INT64_C(900) * 1000000)
#define TYPE_BYTES "application/octet-stream"

/* ---- signatures ---- */

/* Signs "<run>/<checkpoint> <row> <expires>". The row is in it because a new checkpoint
 * with an old name is not what the link was for. */
static tinkc_code sign(char out[TK_SHA256_HEX_BYTES], srv *server, const tk_path *path,
                       const int64_t row_and_end[2], tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, 4 * TK_KIB);
    tk_buf_printf(&text, TK_STR_FMT "/" TK_STR_FMT " %lld %lld", TK_STR_ARG(path->run),
                  TK_STR_ARG(path->checkpoint_id), (long long)row_and_end[0],
                  (long long)row_and_end[1]);
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

/* ---- the redirect ---- */

static srv_verdict reply_link(srv_request *request, const tk_path *path, int64_t row)
{
    srv *server = request->app;
    char signature[TK_SHA256_HEX_BYTES], date[TK_DATE_HTTP_BYTES];
    tk_err err = TK_ERR_INIT;
    int64_t end = tk_clock_wall_us(NULL) + LIFE_US;
    const int64_t row_and_end[2] = {row, end};
    if (sign(signature, server, path, row_and_end, &err) != TINKC_OK ||
        !tk_date_format_http(date, end)) {
        return srv_reply_error(request, &err);
    }
    tk_buf url;
    tk_buf_init(&url, 4 * TK_KIB);
    if (request->host.n > 0) {
        tk_buf_printf(&url, "%s://" TK_STR_FMT, request->came_by_https ? "https" : "http",
                      TK_STR_ARG(request->host));
    } else {
        tk_buf_puts(&url, server->url);
    }
    tk_buf_printf(&url,
                  "/tinkc/v1/archives/" TK_STR_FMT "/" TK_STR_FMT
                  "?row=%lld&expires=%lld&signature=%s",
                  TK_STR_ARG(path->run), TK_STR_ARG(path->checkpoint_id), (long long)row,
                  (long long)end, signature);
    tk_buf_putc(&url, '\0');
    bool ok = url.failure == TINKC_OK && srv_reply_header(request, "Location", url.p) &&
              srv_reply_header(request, "Expires", date);
    tk_buf_dispose(&url);
    return ok ? srv_reply_empty(request, 302)
              : srv_reply_fail(request, 500, "out of memory");
}

srv_verdict srv_archive_redirect(srv_request *request)
{
    srv *server = request->app;
    tk_path path;
    srv_store_checkpoint row;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_path(&path, request)) {
        return SRV_ANSWERED;
    }
    if (srv_store_get_checkpoint(&row, server->store, &request->arena, &path, &err) !=
        TINKC_OK) {
        return srv_reply_error(request, &err);
    }
    return reply_link(request, &path, row.row);
}

/* ---- parts ---- */

srv_range_kind srv_archive_range(srv_range *out, tk_str header, int64_t size)
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

/* ---- the tar ---- */

static bool is_allowed(srv_request *request, const tk_path *path, int64_t *row)
{
    char signature[TK_SHA256_HEX_BYTES];
    int64_t row_and_end[2];
    tk_err err = TK_ERR_INIT;
    if (!tk_str_to_i64(srv_request_query(request, "row"), &row_and_end[0]) ||
        !tk_str_to_i64(srv_request_query(request, "expires"), &row_and_end[1]) ||
        sign(signature, request->app, path, row_and_end, &err) != TINKC_OK ||
        !same(srv_request_query(request, "signature"), signature)) {
        (void)srv_reply_fail(request, 403, "the link is not one of this server's");
        return false;
    }
    if (row_and_end[1] <= tk_clock_wall_us(NULL)) {
        (void)srv_reply_fail(request, 403, "the link has expired; ask for another one");
        return false;
    }
    *row = row_and_end[0];
    return true;
}

/* Takes the tar. The entity tag has the number of the format, too: 2. */
static srv_verdict reply_tar(srv_request *request, srv_tar *tar, tk_str name)
{
    char etag[64], line[96 + TK_SRV_NAME_BYTES];
    int64_t size = srv_tar_size(tar);
    request->state = tar;
    request->free_state = srv_tar_free;
    (void)snprintf(etag, sizeof(etag), "\"" TK_STR_FMT "-2\"",
                   TK_STR_ARG(srv_request_query(request, "row")));
    srv_range range = {0, size - 1};
    bool current = request->if_range.n == 0 || tk_str_is(request->if_range, etag);
    srv_range_kind kind =
        current ? srv_archive_range(&range, request->range, size) : SRV_RANGE_ALL;
    if (kind == SRV_RANGE_OUTSIDE) {
        (void)snprintf(line, sizeof(line), "bytes */%lld", (long long)size);
        (void)srv_reply_header(request, "Content-Range", line);
        return srv_reply_fail(request, 416, "the range begins after the end");
    }
    if (kind == SRV_RANGE_PART) {
        (void)snprintf(line, sizeof(line), "bytes %lld-%lld/%lld", (long long)range.first,
                       (long long)range.last, (long long)size);
        (void)srv_reply_header(request, "Content-Range", line);
    }
    (void)snprintf(line, sizeof(line), "attachment; filename=\"" TK_STR_FMT ".tar\"",
                   TK_STR_ARG(name));
    (void)srv_reply_header(request, "Content-Disposition", line);
    (void)srv_reply_header(request, "ETag", etag);
    (void)srv_reply_header(request, "Accept-Ranges", "bytes");
    request->source =
        (srv_source){srv_tar_read, range.first, range.last - range.first + 1};
    return srv_reply_fixed(request, kind == SRV_RANGE_PART ? 206 : 200, TYPE_BYTES,
                           TK_STR(""));
}

srv_verdict srv_archive_get(srv_request *request)
{
    srv *server = request->app;
    tk_path path;
    srv_store_checkpoint row;
    const char *dir = NULL;
    tk_err err = TK_ERR_INIT;
    int64_t wanted = 0;
    srv_tar *tar = NULL;
    if (!srv_checkpoint_path(&path, request) || !is_allowed(request, &path, &wanted) ||
        !srv_reply_hold_file(request)) {
        return SRV_ANSWERED;
    }
    tinkc_code code =
        srv_store_get_checkpoint(&row, server->store, &request->arena, &path, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (row.row != wanted) {
        code = tk_err_set(&err, TINKC_E_MISSING, "Checkpoint not found");
        goto out;
    }
    code = srv_store_dir(&dir, server->store, &request->arena, row.dir, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_tar_open(&tar, &request->arena, dir, row.created_us, &err);
out:
    return code == TINKC_OK ? reply_tar(request, tar, path.name)
                            : srv_reply_error(request, &err);
}
