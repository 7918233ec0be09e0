/* The redirect to a tar, and the tar. */
#include "server/api/srv_archive.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/date.h"
#include "httpd/hd_reply.h"
#include "server/api/srv_checkpoint.h"
#include "server/api/srv_link.h"
#include "server/api/srv_tar.h"
#include "server/run/srv_state.h"

#define LIFE_US    (INT64_C(900) * 1000000)
#define TYPE_BYTES "application/octet-stream"
#define PLACE      "archives"

/* "<run>/<checkpoint>". */
static bool name_thing(tk_str *out, hd_request *request, const tk_path *path)
{
    tk_buf text;
    tk_buf_init(&text, 4 * TK_KIB);
    tk_buf_printf(&text, TK_STR_FMT "/" TK_STR_FMT, TK_STR_ARG(path->run),
                  TK_STR_ARG(path->checkpoint_id));
    bool ok =
        text.failure == TINKC_OK && tk_arena_dup(&request->arena, out, text.p, text.n);
    tk_buf_dispose(&text);
    return ok;
}

/* ---- the redirect ---- */

static hd_verdict reply_link(hd_request *request, const tk_path *path, int64_t row)
{
    char date[TK_DATE_HTTP_BYTES];
    tk_err err = TK_ERR_INIT;
    tk_buf url;
    srv_link link = {
        .place = PLACE, .row = row, .end_us = tk_clock_wall_us(NULL) + LIFE_US};
    tk_buf_init(&url, 4 * TK_KIB);
    bool ok = name_thing(&link.thing, request, path) &&
              srv_link_put(&url, request, &link, &err) == TINKC_OK &&
              tk_date_format_http(date, link.end_us);
    tk_buf_putc(&url, '\0');
    ok = ok && url.failure == TINKC_OK && hd_reply_header(request, "Location", url.p) &&
         hd_reply_header(request, "Expires", date);
    tk_buf_dispose(&url);
    return ok ? hd_reply_empty(request, 302) : hd_reply_no_memory(request);
}

hd_verdict srv_archive_redirect(hd_request *request)
{
    srv *server = request->app;
    tk_path path;
    srv_store_checkpoint row;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_path(&path, request)) {
        return HD_ANSWERED;
    }
    if (srv_store_get_checkpoint(&row, server->store, &request->arena, &path, &err) !=
        TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    return reply_link(request, &path, row.row);
}

/* ---- the tar ---- */

/* Takes the tar. The entity tag has the number of the format, too: 2. */
static hd_verdict reply_tar(hd_request *request, srv_tar *tar, tk_str name)
{
    char etag[64], file[TK_SRV_NAME_BYTES + 8];
    srv_range range;
    request->state = tar;
    request->free_state = srv_tar_free;
    (void)snprintf(etag, sizeof(etag), "\"" TK_STR_FMT "-2\"",
                   TK_STR_ARG(hd_request_query(request, "row")));
    (void)snprintf(file, sizeof(file), TK_STR_FMT ".tar", TK_STR_ARG(name));
    int status = srv_link_begin(&range, request, etag, file, srv_tar_size(tar));
    if (status == 0) {
        return HD_ANSWERED;
    }
    request->source =
        (hd_source){srv_tar_read, range.first, range.last - range.first + 1};
    return hd_reply_fixed(request, status, TYPE_BYTES, TK_STR(""));
}

hd_verdict srv_archive_get(hd_request *request)
{
    srv *server = request->app;
    tk_path path;
    srv_store_checkpoint row;
    srv_link link = {.place = PLACE};
    const char *dir = NULL;
    tk_err err = TK_ERR_INIT;
    srv_tar *tar = NULL;
    if (!srv_checkpoint_path(&path, request)) {
        return HD_ANSWERED;
    }
    if (!name_thing(&link.thing, request, &path)) {
        return hd_reply_no_memory(request);
    }
    if (!srv_link_check(&link, request) || !hd_reply_hold_file(request)) {
        return HD_ANSWERED;
    }
    tinkc_code code =
        srv_store_get_checkpoint(&row, server->store, &request->arena, &path, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (row.row != link.row) {
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
                            : hd_reply_error(request, &err);
}
