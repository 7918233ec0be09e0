/* Links to the two files of external weights. A file that is deleted meanwhile can be read
 * to its end. */
#include "server/api/srv_external.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/api/srv_checkpoint.h"
#include "server/api/srv_link.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"
#include "wire/msg_external.h"

/* The official client asks for new links five minutes before the end. */
#define LIFE_US    (INT64_C(3600) * 1000000)
#define TYPE_BYTES "application/octet-stream"
#define PLACE      "files"

static const char *const files[] = {"adapter_config.json", "adapter_model.safetensors"};

/* "<run>/<checkpoint>/<file>". */
static tinkc_code name_thing(tk_str *out, tk_arena *arena, const tk_path *path,
                             tk_str file, tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, 4 * TK_KIB);
    tk_buf_printf(&text, TK_STR_FMT "/" TK_STR_FMT "/" TK_STR_FMT, TK_STR_ARG(path->run),
                  TK_STR_ARG(path->checkpoint_id), TK_STR_ARG(file));
    tinkc_code code = tk_buf_status(&text, err);
    if (code == TINKC_OK && !tk_arena_dup(arena, out, text.p, text.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&text);
    return code;
}

/* ---- links ---- */

static tinkc_code put_url(tk_named_str *out, hd_request *request, const tk_path *path,
                          const srv_link *like, const char *file, tk_err *err)
{
    srv_link link = *like;
    tk_buf url;
    tk_buf_init(&url, 4 * TK_KIB);
    tinkc_code code =
        name_thing(&link.thing, &request->arena, path, tk_str_of(file), err);
    if (code == TINKC_OK) {
        code = srv_link_put(&url, request, &link, err);
    }
    if (code == TINKC_OK && !tk_arena_dup(&request->arena, &out->v, url.p, url.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&url);
    out->name = tk_str_of(file);
    return code;
}

hd_verdict srv_external_urls(hd_request *request)
{
    srv *server = request->app;
    tk_path path;
    srv_store_checkpoint row;
    tk_err err = TK_ERR_INIT;
    tk_named_str urls[TK_ARRAY_LEN(files)];
    if (!srv_checkpoint_path(&path, request)) {
        return HD_ANSWERED;
    }
    if (path.kind != TK_PATH_EXTERNAL_WEIGHTS) {
        return hd_reply_fail(request, 400,
                             "only external_weights/<name> has files to fetch: "
                             "save_weights_external makes them");
    }
    tinkc_code code =
        srv_store_get_checkpoint(&row, server->store, &request->arena, &path, &err);
    const srv_link link = {
        .place = PLACE, .row = row.row, .end_us = tk_clock_wall_us(NULL) + LIFE_US};
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(files); i++) {
        code = put_url(&urls[i], request, &path, &link, files[i], &err);
    }
    if (code != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    const tk_external_urls_response reply = {.urls = {urls, TK_ARRAY_LEN(files)},
                                             .expires = {TK_SET, link.end_us}};
    return srv_msg_reply(request, &tk_msg_external_urls_response, &reply);
}

/* ---- files ---- */

static tinkc_code open_file(int *fd, int64_t *size, const char *dir, const char *name,
                            tk_err *err)
{
    struct stat st;
    char *path = tk_file_join(dir, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int errnum = errno;
    tk_free(path);
    if (*fd < 0) {
        return errnum == ENOENT ? tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found")
                                : tk_err_sys(err, errnum, "cannot read %s", name);
    }
    if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(*fd);
        return tk_err_set(err, TINKC_E_IO, "cannot read %s", name);
    }
    *size = st.st_size;
    return TINKC_OK;
}

static hd_verdict reply_file(hd_request *request, const srv_link *link, int fd,
                             const char *name, int64_t size)
{
    char etag[64];
    srv_range range;
    (void)snprintf(etag, sizeof(etag), "\"%lld-%s\"", (long long)link->row, name);
    int status = srv_link_begin(&range, request, etag, name, size);
    if (status == 0) {
        (void)close(fd);
        return HD_ANSWERED;
    }
    request->file = (hd_file){fd, range.first, range.last - range.first + 1};
    return hd_reply_fixed(request, status, TYPE_BYTES, TK_STR(""));
}

static const char *file_name(tk_str text)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(files); i++) {
        if (tk_str_is(text, files[i])) {
            return files[i];
        }
    }
    return NULL;
}

hd_verdict srv_external_get(hd_request *request)
{
    srv *server = request->app;
    tk_path path;
    srv_store_checkpoint row;
    srv_link link = {.place = PLACE};
    const char *dir = NULL;
    tk_err err = TK_ERR_INIT;
    int fd = -1;
    int64_t size = 0;
    const char *name = file_name(request->params[2]);
    if (!srv_checkpoint_path(&path, request)) {
        return HD_ANSWERED;
    }
    tinkc_code code =
        name_thing(&link.thing, &request->arena, &path, request->params[2], &err);
    if (code != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    if (!srv_link_check(&link, request) || !hd_reply_hold_file(request)) {
        return HD_ANSWERED;
    }
    code = srv_store_get_checkpoint(&row, server->store, &request->arena, &path, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (row.row != link.row || name == NULL) {
        code = tk_err_set(&err, TINKC_E_MISSING, "Checkpoint not found");
        goto out;
    }
    code = srv_store_dir(&dir, server->store, &request->arena, row.dir, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = open_file(&fd, &size, dir, name, &err);
out:
    return code == TINKC_OK ? reply_file(request, &link, fd, name, size)
                            : hd_reply_error(request, &err);
}
