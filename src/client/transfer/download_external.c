/* The files of external weights, each by its own link, and the way to the files of a
 * checkpoint: an archive, or an export where the server has no archives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "client/transfer/download_int.h"
#include "client/transfer/export.h"
#include "client/transfer/staging.h"
#include "client/values/error.h"
#include "wire/path.h"

#define RENEW_US        (INT64_C(300) * 1000000) /* before their end links are renewed */
#define FILE_NAME_BYTES 1024

/* ---- links ---- */

/* A temporary export must outlive its new links. What fails here shows when the files are
 * fetched. */
static void renew_export(tk_download *d)
{
    tinkc_future *future =
        tinkc_rest_set_checkpoint_ttl(d->service, d->external, TK_EXPORT_TTL_S);
    tk_download_wait(d, future);
    tinkc_future_free(&future);
}

static tinkc_code ask_urls(tk_download *d, tk_err *err)
{
    tinkc_error *error = NULL;
    if (d->temporary && d->urls != NULL) {
        renew_export(d);
    }
    tinkc_future *future = tinkc_rest_external_urls(d->service, d->external);
    tk_download_wait(d, future);
    tinkc_file_urls_free(&d->urls);
    tinkc_code code = tinkc_future_take_file_urls(&d->urls, future, &error);
    if (code != TINKC_OK) {
        tk_error_read(err, error);
    }
    tinkc_error_free(&error);
    tinkc_future_free(&future);
    return code;
}

/* The links of all files end together: those of a file that is fetched later are asked for
 * again shortly before that. A link that is located again did not work, whatever its end
 * was said to be. */
tinkc_code tk_download_locate_file(void *user, tk_buf *url, int64_t *expires_us,
                                   tk_err *err)
{
    tk_download *d = user;
    tinkc_code code = TINKC_OK;
    if (d->urls == NULL || d->located ||
        d->urls->expires_us - RENEW_US <= tk_clock_wall_us(NULL)) {
        code = ask_urls(d, err);
    }
    d->located = true;
    for (size_t i = 0; code == TINKC_OK && i < d->urls->n; i++) {
        if (strcmp(d->urls->items[i].name, d->file) == 0) {
            tk_buf_puts(url, d->urls->items[i].value);
            *expires_us = d->urls->expires_us;
            return tk_download_check_scheme(d, d->urls->items[i].value, err);
        }
    }
    return code == TINKC_OK ? tk_err_set(err, TINKC_E_MISSING, "%s is gone", d->file)
                            : code;
}

/* ---- names ---- */

/* A name is a path below the target. */
static tinkc_code check_file_name(const char *name, tk_err *err)
{
    tk_str rest = tk_str_of(name);
    size_t depth = 0;
    bool ok = rest.n > 0 && rest.n < FILE_NAME_BYTES && tk_utf8_is_valid(rest);
    for (size_t i = 0; ok && i < rest.n; i++) {
        ok = (unsigned char)name[i] >= ' ' && name[i] != 0x7f && name[i] != '\\';
    }
    while (ok && rest.n > 0) {
        tk_str part = tk_str_cut(&rest, '/');
        ok = part.n > 0 && !tk_str_is(part, ".") && !tk_str_is(part, "..") &&
             ++depth <= TK_UNPACK_MAX_DEPTH && (rest.p == NULL || rest.n > 0);
    }
    return ok ? TINKC_OK
              : tk_err_set(err, TINKC_E_DECODE, "unsafe name of a file: %.200s", name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tinkc_pair *)a)->name, ((const tinkc_pair *)b)->name);
}

/* Fails for a name that is there twice, or is the directory of another one too. */
static tinkc_code check_collisions(const tinkc_pair *names, size_t n, tk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(names[i].name);
        for (size_t k = i + 1;
             k < n && strncmp(names[i].name, names[k].name, length) == 0; k++) {
            char next = names[k].name[length];
            if (next == '\0' || next == '/') {
                return tk_err_set(err, TINKC_E_DECODE, "two files are called %.200s",
                                  names[i].name);
            }
        }
    }
    return TINKC_OK;
}

/* Copies the names, sorted, to *out: the list of the answer is replaced when it is asked
 * for again. */
static tinkc_code list_files(tinkc_pair **out, tk_arena *arena, const tk_download *d,
                             tk_err *err)
{
    const tinkc_file_urls *urls = d->urls;
    uint64_t most =
        d->options.max_files != 0 ? d->options.max_files : (uint64_t)TK_UNPACK_MAX_FILES;
    if (urls->n == 0) {
        return tk_err_set(err, TINKC_E_DECODE, "the checkpoint has no files");
    }
    if (urls->n > most) {
        return tk_err_set(err, TINKC_E_LIMIT, "the checkpoint has too many files");
    }
    tinkc_pair *names = tk_arena_array(arena, urls->n, sizeof(*names));
    tinkc_code code = names != NULL ? TINKC_OK : tk_err_nomem(err);
    for (size_t i = 0; code == TINKC_OK && i < urls->n; i++) {
        tk_str copy, name = tk_str_of(urls->items[i].name);
        code = check_file_name(name.p, err);
        if (code == TINKC_OK && !tk_arena_dup(arena, &copy, name.p, name.n)) {
            code = tk_err_nomem(err);
        }
        names[i] = (tinkc_pair){code == TINKC_OK ? copy.p : "", NULL};
    }
    if (code == TINKC_OK) {
        qsort(names, urls->n, sizeof(*names), by_name);
        code = check_collisions(names, urls->n, err);
        *out = names;
    }
    return code;
}

/* ---- files ---- */

static tinkc_code fill_files(tk_download *d, const char *folder, tk_err *err)
{
    tk_arena arena;
    tinkc_pair *names = NULL;
    size_t n = 0;
    tk_arena_init(&arena, 0);
    tinkc_code code = ask_urls(d, err);
    if (code == TINKC_OK) {
        code = list_files(&names, &arena, d, err);
        n = d->urls->n;
    }
    if (code == TINKC_OK && mkdir(folder, TK_DOWNLOAD_DIR_MODE) != 0) {
        code = tk_err_sys(err, errno, "%s", folder);
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        char *path = tk_file_join(folder, names[i].name);
        d->file = names[i].name;
        code = path != NULL ? tk_download_get_file(d, path, err) : tk_err_nomem(err);
        tk_free(path);
        d->before = d->progress.received;
    }
    tinkc_file_urls_free(&d->urls);
    tk_arena_dispose(&arena);
    return code;
}

/* ---- a checkpoint ---- */

/* Whether the answer to the request for an archive means that the server has none of it
 * (any more): it is final, and not about the key. A checkpoint that does not exist is found
 * missing by the export, too. */
static bool has_no_archives(int status)
{
    switch (status) {
    case 401:
    case 408:
    case 409:
    case 425:
    case 429:
        return false;
    default:
        return (status >= 400 && status < 500) || status == 501;
    }
}

/* Whether the checkpoint is to be exported after its archive was not to be had. */
static bool should_export(const tk_download *d, tk_path_kind kind, const tk_err *why)
{
    return kind == TK_PATH_WEIGHTS && d->connections == 0 && d->options.sha256 == NULL &&
           has_no_archives(why->http_status);
}

static tinkc_code fill_exported(tk_download *d, const char *folder, tk_err *err)
{
    tk_export e = {.service = d->service, .tick = tk_download_tell, .user = d};
    tinkc_code code = tk_export_make(&e, d->from, err);
    if (code == TINKC_OK) {
        d->external = e.path;
        d->temporary = true;
        code = fill_files(d, folder, err);
        d->external = NULL;
    }
    tk_export_end(&e);
    return code;
}

/* When the server can neither archive nor export, its answer about the archive is the
 * error. */
static tinkc_code fill_any(tk_download *d, const char *folder, tk_path_kind kind,
                           tk_err *err)
{
    tk_err why = TK_ERR_INIT, other = TK_ERR_INIT;
    tinkc_code code = tk_download_unpack(d, folder, &why);
    if (code == TINKC_OK) {
        return TINKC_OK;
    }
    if (should_export(d, kind, &why)) {
        tk_staging_remove_tree(folder);
        code = fill_exported(d, folder, &other);
        if (code == TINKC_OK) {
            return TINKC_OK;
        }
        why = d->temporary || !has_no_archives(other.http_status) ? other : why;
    }
    *err = why;
    return err->code;
}

tinkc_code tk_download_fill(tk_download *d, const char *folder, tk_err *err)
{
    tk_path path;
    tinkc_code code = tk_path_parse(&path, tk_str_of(d->from), err);
    if (code != TINKC_OK) {
        return code;
    }
    if (path.kind != TK_PATH_EXTERNAL_WEIGHTS) {
        return fill_any(d, folder, path.kind, err);
    }
    if (d->options.sha256 != NULL) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "sha256 is that of an archive: external weights have none");
    }
    d->external = d->from;
    return fill_files(d, folder, err);
}
