/* Downloads that leave all or nothing: everything is made in a private directory beside
 * the target and renamed at the end. Archives and single files are here, the files of
 * external weights in download_external.c. On the calling thread. */
#include <tinkc/download.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/core/service.h"
#include "client/transfer/download_int.h"
#include "client/transfer/fetch.h"
#include "client/transfer/staging.h"
#include "client/transfer/unpack.h"
#include "client/values/error.h"
#include "client/values/types.h"
#include "http/url.h"

#define FILE_MODE   0666
#define STARTS_MAX  3 /* when the file at the server changes under us */
#define PIECE_BYTES (64 * TK_KIB)

/* ---- progress ---- */

bool tk_download_tell(void *user)
{
    tk_download *d = user;
    tinkc_progress *progress = &d->progress;
    if (d->fetch != NULL) {
        progress->received = d->before + tk_fetch_received(d->fetch);
        progress->total = d->external == NULL ? tk_fetch_total(d->fetch) : -1;
        progress->connections = d->connections + tk_fetch_connections(d->fetch);
    }
    return d->options.fn == NULL || d->options.fn(progress, d->options.user);
}

static bool note(void *user, const tk_unpack_progress *unpacked)
{
    tk_download *d = user;
    d->progress.written = unpacked->written;
    d->progress.files = unpacked->files;
    d->progress.file = unpacked->file;
    return tk_download_tell(d);
}

/* ---- where it is ---- */

void tk_download_wait(tk_download *d, tinkc_future *future)
{
    while (tinkc_future_wait(future, 200) == TINKC_E_TIMEOUT &&
           !tinkc_future_is_done(future)) {
        if (!tk_download_tell(d)) {
            tinkc_future_cancel(future);
        }
    }
}

/* A server of https does not send its clients to http. */
tinkc_code tk_download_check_scheme(const tk_download *d, const char *url, tk_err *err)
{
    tk_core *core = tk_service_core(d->service);
    return tk_url_is_https(tk_str_of(tk_core_base_url(core))) &&
                   !tk_url_is_https(tk_str_of(url))
               ? tk_err_set(err, TINKC_E_CONFIG,
                            "the server redirects from https to http, which is refused")
               : TINKC_OK;
}

static tinkc_code locate_archive(void *user, tk_buf *url, int64_t *expires_us,
                                 tk_err *err)
{
    tk_download *d = user;
    tinkc_archive *archive = NULL;
    tinkc_error *error = NULL;
    tinkc_future *future = tinkc_rest_archive_url(d->service, d->from);
    tk_download_wait(d, future);
    tinkc_code code = tinkc_future_take_archive(&archive, future, &error);
    if (code != TINKC_OK) {
        tk_error_read(err, error);
    } else {
        code = tk_download_check_scheme(d, archive->url, err);
    }
    if (code == TINKC_OK) {
        tk_buf_puts(url, archive->url);
        *expires_us = archive->expires_us;
    }
    tinkc_error_free(&error);
    tinkc_archive_free(&archive);
    tinkc_future_free(&future);
    return code;
}

static tinkc_code locate_url(void *user, tk_buf *url, int64_t *expires_us, tk_err *err)
{
    tk_download *d = user;
    (void)err;
    tk_buf_puts(url, d->from);
    *expires_us = INT64_MAX;
    return TINKC_OK;
}

typedef enum origin { FROM_URL, FROM_ARCHIVE, FROM_FILES } origin;

static tinkc_code begin_fetch(tk_download *d, origin from, tk_err *err)
{
    static tinkc_code (*const locate[])(void *user, tk_buf *url, int64_t *expires_us,
                                        tk_err *err) = {
        [FROM_URL] = locate_url,
        [FROM_ARCHIVE] = locate_archive,
        [FROM_FILES] = tk_download_locate_file,
    };
    tk_handle *handle = tk_service_handle(d->service);
    int retries = d->options.max_retries;
    tk_fetch_options options = {
        .handle = handle,
        .locate = locate[from],
        .can_relocate = from != FROM_URL,
        .tick = tk_download_tell,
        .user = d,
        .retry_ms = d->options.retry_ms,
        .max_failures =
            retries >= 0 ? retries : (int)tk_core_config(handle->core)->max_retries,
        .sha256 = d->options.sha256};
    return tk_fetch_new(&d->fetch, &options, err);
}

static tinkc_code read_fetch(void *user, size_t *n, char *p, size_t size, tk_err *err)
{
    tk_download *d = user;
    return tk_fetch_read(n, d->fetch, p, size, err);
}

/* ---- directories ---- */

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

/* Best effort: what is there is whole in any case. */
static void sync_folder(const char *path)
{
    tk_err ignored = TK_ERR_INIT;
    (void)!tk_file_sync_directory(path, &ignored);
}

/* Puts `made` in the place of `target`. What is there goes to `aside` first and comes
 * back when the second step fails. */
static tinkc_code install(const char *made, const char *target, const char *aside,
                          bool overwrite, tk_err *err)
{
    bool replaces = exists(target);
    if (replaces && !overwrite) {
        return tk_err_set(err, TINKC_E_STATE, "%s already exists", target);
    }
    if (replaces && rename(target, aside) != 0) {
        return tk_err_sys(err, errno, "%s", target);
    }
    if (rename(made, target) == 0) {
        return TINKC_OK;
    }
    int why = errno;
    if (replaces) {
        (void)rename(aside, target);
    }
    return tk_err_sys(err, why, "%s", target);
}

/* The stage beside the target, with "files" and "old" in it. */
typedef struct place {
    tk_staging stage;
    char *target, *parent, *files, *old;
} place;

static void leave(place *at)
{
    tk_staging_end(&at->stage, true);
    tk_free(at->target);
    tk_free(at->parent);
    tk_free(at->files);
    tk_free(at->old);
}

/* A crash between the two steps of `install` leaves no target, but what was there before
 * in "old": that is the user's, and stays. */
static tinkc_code make_stage(place *at, tk_err *err)
{
    const char *slash = strrchr(at->target, '/');
    const char *name = slash != NULL ? slash + 1 : at->target;
    tinkc_code code = tk_file_mkdirs(at->parent, TK_DOWNLOAD_DIR_MODE, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_staging_sweep(at->parent, name, exists(at->target) ? NULL : "old");
    return tk_staging_make(&at->stage, at->parent, name, err);
}

static tinkc_code make_names(place *at, const char *target, tk_err *err)
{
    size_t n = strlen(target);
    while (n > 1 && target[n - 1] == '/') {
        n--;
    }
    at->target = tk_strndup(target, n);
    at->parent = at->target != NULL ? tk_file_parent(at->target) : NULL;
    tinkc_code code = at->parent != NULL ? make_stage(at, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        return code;
    }
    at->files = tk_file_join(at->stage.path, "files");
    at->old = tk_file_join(at->stage.path, "old");
    return at->files != NULL && at->old != NULL ? TINKC_OK : tk_err_nomem(err);
}

/* ---- an archive ---- */

static tinkc_code fill_once(tk_download *d, const char *folder, tk_err *err)
{
    if (mkdir(folder, TK_DOWNLOAD_DIR_MODE) != 0) {
        return tk_err_sys(err, errno, "%s", folder);
    }
    tinkc_code code = begin_fetch(d, FROM_ARCHIVE, err);
    if (code == TINKC_OK) {
        tk_unpack_source source = {
            .read = read_fetch,
            .note = note,
            .user = d,
            .max_bytes = d->options.max_bytes != 0 ? d->options.max_bytes
                                                   : (uint64_t)TK_UNPACK_MAX_BYTES,
            .max_files = d->options.max_files != 0 ? d->options.max_files
                                                   : (uint64_t)TK_UNPACK_MAX_FILES};
        code = tk_unpack(folder, &source, err);
    }
    return code;
}

tinkc_code tk_download_unpack(tk_download *d, const char *folder, tk_err *err)
{
    for (int starts = 1;; starts++) {
        tk_err why = TK_ERR_INIT;
        tinkc_code code = fill_once(d, folder, &why);
        bool again = code != TINKC_OK && d->fetch != NULL &&
                     tk_fetch_has_changed(d->fetch) && starts < STARTS_MAX;
        if (d->fetch != NULL) {
            d->connections += tk_fetch_connections(d->fetch);
            tk_fetch_free(&d->fetch);
        }
        if (!again) {
            *err = why;
            return code;
        }
        tk_staging_remove_tree(folder);
        d->progress.written = 0;
        d->progress.files = 0;
    }
}

/* ---- one file ---- */

static tinkc_code copy_file(tk_download *d, tk_file_writer *writer, tk_err *err)
{
    char *piece = tk_malloc(PIECE_BYTES);
    uint64_t most =
        d->options.max_bytes != 0 ? d->options.max_bytes : (uint64_t)TK_UNPACK_MAX_BYTES;
    if (piece == NULL) {
        return tk_err_nomem(err);
    }
    size_t n = 0;
    tinkc_code code;
    do {
        code = tk_fetch_read(&n, d->fetch, piece, PIECE_BYTES, err);
        if (code == TINKC_OK && n > 0) {
            code = tk_file_writer_put(writer, piece, n, err);
            d->progress.written += n;
        }
        if (code == TINKC_OK && d->progress.written > most) {
            code = tk_err_set(err, TINKC_E_LIMIT, "the file is too large");
        }
    } while (code == TINKC_OK && n > 0);
    tk_free(piece);
    return code;
}

tinkc_code tk_download_get_file(tk_download *d, const char *file, tk_err *err)
{
    tk_file_writer *writer = NULL;
    d->located = false;
    if (exists(file) && !d->options.overwrite) {
        return tk_err_set(err, TINKC_E_STATE, "%s already exists", file);
    }
    char *parent = tk_file_parent(file);
    tinkc_code code = parent != NULL ? tk_file_mkdirs(parent, TK_DOWNLOAD_DIR_MODE, err)
                                     : tk_err_nomem(err);
    tk_free(parent);
    if (code != TINKC_OK) {
        goto out;
    }
    code = begin_fetch(d, d->external != NULL ? FROM_FILES : FROM_URL, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_file_writer_new(&writer, file, FILE_MODE, err);
    if (code != TINKC_OK) {
        goto out;
    }
    d->progress.file = file;
    code = copy_file(d, writer, err);
    d->progress.file = NULL;
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_file_writer_commit(writer, err);
    writer = NULL;
    d->progress.files++;
out:
    tk_file_writer_abort(writer); /* of one that was not committed */
    d->connections += d->fetch != NULL ? tk_fetch_connections(d->fetch) : 0;
    tk_fetch_free(&d->fetch);
    return code;
}

static tinkc_code get_checkpoint(tk_download *d, const char *target, tk_err *err)
{
    place at = {0};
    if (exists(target) && !d->options.overwrite) {
        return tk_err_set(err, TINKC_E_STATE, "%s already exists", target);
    }
    tinkc_code code = make_names(&at, target, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_download_fill(d, at.files, err);
    if (code != TINKC_OK) {
        goto out;
    }
    sync_folder(at.files);
    code = install(at.files, at.target, at.old, d->options.overwrite, err);
    if (code == TINKC_OK) {
        sync_folder(at.parent);
    }
out:
    leave(&at);
    return code;
}

/* ---- the calls ---- */

static tinkc_code prepare(tk_download *d, tinkc_service *service, const char *from,
                          const char *to, const tinkc_download_options *options,
                          tk_err *err)
{
    *d = (tk_download){.service = service,
                       .options = TINKC_DOWNLOAD_OPTIONS_INIT,
                       .from = from,
                       .progress = {.total = -1}};
    if (service == NULL) {
        return tk_err_set(err, TINKC_E_STATE, "download: the handle is NULL or closed");
    }
    tinkc_code code = tk_types_options(&d->options, sizeof(d->options), options, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (from == NULL || to == NULL || to[0] == '\0' || d->options.retry_ms < 0 ||
        d->options.retry_ms > 3600000) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "download: no source, no target, or retry_ms out of range");
    }
    return tk_core_check_blocking(tk_service_core(service), err);
}

static tinkc_code finish(tinkc_progress *result, const tk_download *d, tk_err *err,
                         tinkc_error **error)
{
    if (err->code != TINKC_OK) {
        return tk_error_give(error, err);
    }
    if (result != NULL) {
        *result = d->progress;
        result->file = NULL;
    }
    return TINKC_OK;
}

tinkc_code tinkc_download_checkpoint(tinkc_progress *result, tinkc_service *service,
                                     const char *path, const char *target,
                                     const tinkc_download_options *options,
                                     tinkc_error **error)
{
    tk_download d;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = prepare(&d, service, path, target, options, &err);
    if (code == TINKC_OK) {
        err.code = get_checkpoint(&d, target, &err);
    }
    return finish(result, &d, &err, error);
}

tinkc_code tinkc_download_url(tinkc_progress *result, tinkc_service *service,
                              const char *url, const char *file,
                              const tinkc_download_options *options, tinkc_error **error)
{
    tk_download d;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = prepare(&d, service, url, file, options, &err);
    if (code == TINKC_OK) {
        err.code = tk_download_get_file(&d, file, &err);
    }
    return finish(result, &d, &err, error);
}
