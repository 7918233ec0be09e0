/* One file: an "....incomplete" file beside its place takes the bytes, under a lock, and is
 * renamed when length and checksum are right. What is there of an earlier try is read
 * once, for the checksum, and only the rest is asked for. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "client/hub/pull_int.h"
#include "client/transfer/fetch.h"

#define PIECE_BYTES (256 * TK_KIB)
#define FILE_MODE   0666 /* as the umask allows */

/* Where a file lies: the blob, its partial, and the link in the snapshot. In a directory of
 * the caller's the blob is the file itself. */
typedef struct place {
    char *blob, *partial, *link;
} place;

static char *with_end(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    char *text = tk_malloc(n + k + 1);
    if (text != NULL) {
        memcpy(text, path, n);
        memcpy(text + n, end, k + 1);
    }
    return text;
}

static void dispose(place *at)
{
    tk_free(at->blob);
    tk_free(at->partial);
    tk_free(at->link);
}

static bool find_place(place *at, const tk_pull *pull, const tk_pull_file *file)
{
    *at = (place){NULL, NULL, NULL};
    char *link = tk_file_join(pull->snapshot, file->name);
    if (pull->folder == NULL) {
        at->blob = link;
    } else {
        char *blobs = tk_file_join(pull->folder, "blobs");
        at->blob = blobs != NULL ? tk_file_join(blobs, file->digest) : NULL;
        at->link = link;
        tk_free(blobs);
    }
    at->partial = at->blob != NULL ? with_end(at->blob, ".incomplete") : NULL;
    return at->partial != NULL && (pull->folder == NULL || at->link != NULL);
}

/* Returns the size of a regular file; -1: there is none. */
static int64_t size_of(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
}

tinkc_code tk_pull_have(int64_t *out, const tk_pull *pull, const tk_pull_file *file,
                        tk_err *err)
{
    place at;
    bool ok = find_place(&at, pull, file);
    if (ok) {
        int64_t have = size_of(at.blob) == file->size ? file->size : size_of(at.partial);
        *out = TK_MAX(TK_MIN(have, file->size), (int64_t)0);
    }
    dispose(&at);
    return ok ? TINKC_OK : tk_err_nomem(err);
}

/* ---- the disk ---- */

static tinkc_code fail_disk(tk_err *err, int why, const char *path)
{
    if (why == ENOSPC || why == EDQUOT || why == EFBIG) {
        return tk_err_set(err, TINKC_E_IO,
                          "the disk is full: %s. What has arrived is kept; make room and "
                          "repeat the pull to go on",
                          path);
    }
    return tk_err_sys(err, why, "cannot write %s", path);
}

static tinkc_code write_all(int fd, const char *p, size_t n, const char *path,
                            tk_err *err)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR) {
            return fail_disk(err, errno, path);
        }
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return TINKC_OK;
}

/* Opens the partial and locks it: two processes would mix their bytes. */
static tinkc_code open_partial(int *out, const char *path, tk_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (fd < 0) {
        return fail_disk(err, errno, path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(fd);
        return tk_err_set(err, TINKC_E_STATE, "another process fetches %s", path);
    }
    *out = fd;
    return TINKC_OK;
}

/* ---- bytes ---- */

/* Feeds what an earlier try has left; what cannot be a part of the file is cut off. */
static tinkc_code feed_old(tk_pull *pull, const tk_pull_file *file, int fd, char *piece,
                           tk_err *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return tk_err_sys(err, errno, "%s", file->name);
    }
    if (!file->has_sha256 || info.st_size > file->size) {
        return ftruncate(fd, 0) == 0 ? TINKC_OK
                                     : tk_err_sys(err, errno, "%s", file->name);
    }
    for (;;) {
        ssize_t n = read(fd, piece, PIECE_BYTES);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 ? TINKC_OK : tk_err_sys(err, errno, "%s", file->name);
        }
        tinkc_code code = tk_fetch_feed(pull->fetch, piece, (size_t)n, err);
        if (code != TINKC_OK) {
            return code;
        }
        if (!tk_pull_tell(pull)) {
            return tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
        }
    }
}

static tinkc_code copy(tk_pull *pull, const tk_pull_file *file, int fd, const char *path,
                       tk_err *err)
{
    char *piece = tk_malloc(PIECE_BYTES);
    size_t n = 1;
    tinkc_code code =
        piece != NULL ? feed_old(pull, file, fd, piece, err) : tk_err_nomem(err);
    while (code == TINKC_OK && n > 0) {
        n = 0;
        code = tk_fetch_read(&n, pull->fetch, piece, PIECE_BYTES, err);
        if (n > 0) { /* also when the caller stops: it has arrived */
            tk_err why = TK_ERR_INIT;
            tinkc_code wrote = write_all(fd, piece, n, path, &why);
            if (wrote != TINKC_OK && code == TINKC_OK) {
                *err = why;
                code = wrote;
            }
        }
        if (code == TINKC_OK && tk_fetch_received(pull->fetch) > (uint64_t)file->size) {
            code = tk_err_set(err, TINKC_E_DECODE, "%s is longer than the hub says",
                              file->name);
        }
    }
    tk_free(piece);
    if (code == TINKC_OK && tk_fetch_received(pull->fetch) != (uint64_t)file->size) {
        code = tk_err_set(err, TINKC_E_DECODE, "%s is shorter than the hub says",
                          file->name);
    }
    return code;
}

/* ---- the transfer ---- */

typedef struct source {
    tk_pull *pull;
    const tk_pull_file *file;
} source;

static tinkc_code locate(void *user, tk_buf *url, int64_t *expires_us, tk_err *err)
{
    const source *from = user;
    (void)err;
    tk_buf_printf(url, "%s/%s/resolve/%s/%s", from->pull->hub_url, from->pull->id,
                  from->pull->commit, from->file->name);
    *expires_us = INT64_MAX;
    return TINKC_OK;
}

static bool tick(void *user)
{
    const source *from = user;
    return tk_pull_tell(from->pull);
}

static tinkc_code fetch_all(tk_pull *pull, const tk_pull_file *file, int fd,
                            const char *path, tk_err *err)
{
    source from = {pull, file};
    const tk_fetch_options options = {
        .handle = pull->peer.handle,
        .locate = locate,
        .tick = tick,
        .user = &from,
        .retry_ms = pull->options.retry_ms,
        .max_failures = pull->peer.retries,
        .sha256 = file->has_sha256 ? file->digest : NULL,
        .authorization = pull->pass.authorization,
    };
    tinkc_code code = tk_fetch_new(&pull->fetch, &options, err);
    if (code == TINKC_OK) {
        code = copy(pull, file, fd, path, err);
    }
    tk_fetch_free(&pull->fetch);
    return code;
}

/* Whether the partial is whole by its length: a server has nothing to send then, and
 * only the checksum is left. */
static bool is_whole(int fd, const tk_pull_file *file)
{
    struct stat info;
    return file->has_sha256 && fstat(fd, &info) == 0 && info.st_size == file->size;
}

static tinkc_code check_whole(tk_pull *pull, const tk_pull_file *file, int fd,
                              tk_err *err)
{
    tk_sha256 *sha = NULL;
    char *piece = tk_malloc(PIECE_BYTES), got[TK_SHA256_HEX_BYTES];
    tinkc_code code = piece != NULL ? tk_sha256_new(&sha, err) : tk_err_nomem(err);
    ssize_t n = 1;
    while (code == TINKC_OK && n > 0) {
        n = read(fd, piece, PIECE_BYTES);
        if (n > 0) {
            code = tk_sha256_update(sha, piece, (size_t)n, err);
        } else if (n < 0) {
            code = tk_err_sys(err, errno, "%s", file->name);
        }
        if (code == TINKC_OK && !tk_pull_tell(pull)) {
            code = tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
        }
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(got, sha, err);
    }
    if (code == TINKC_OK && strcmp(got, file->digest) != 0) {
        code = tk_err_set(err, TINKC_E_DECODE, "%s: the checksum is wrong", file->name);
    }
    tk_sha256_free(sha);
    tk_free(piece);
    return code;
}

/* ---- the place ---- */

/* Brings the blob; it is not there yet. */
static tinkc_code make_blob(tk_pull *pull, const tk_pull_file *file, const place *at,
                            tk_err *err)
{
    int fd = -1;
    tinkc_code code = open_partial(&fd, at->partial, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = is_whole(fd, file) ? check_whole(pull, file, fd, err)
                              : fetch_all(pull, file, fd, at->partial, err);
    if (code == TINKC_OK && fsync(fd) != 0) {
        code = fail_disk(err, errno, at->partial);
    }
    if (code == TINKC_OK && rename(at->partial, at->blob) != 0) {
        code = tk_err_sys(err, errno, "%s", at->blob);
    }
    if (code == TINKC_E_DECODE) { /* more of it would not make it right */
        (void)unlink(at->partial);
    }
    (void)close(fd);
    return code;
}

/* Makes the name in the snapshot lead to the blob. */
static tinkc_code make_link(const tk_pull_file *file, const char *link_path, tk_err *err)
{
    char target[96] = "../../blobs/", old[sizeof(target)];
    memcpy(target + strlen(target), file->digest, strlen(file->digest) + 1);
    ssize_t n = readlink(link_path, old, sizeof(old) - 1);
    if (n > 0 && (size_t)n == strlen(target) && memcmp(old, target, (size_t)n) == 0) {
        return TINKC_OK;
    }
    (void)unlink(link_path); /* of another version of the file */
    return symlink(target, link_path) == 0
               ? TINKC_OK
               : tk_err_sys(err, errno, "cannot make %s", link_path);
}

/* The file of a directory of the caller's may be an older one. */
static bool is_there(tk_pull *pull, const tk_pull_file *file, const place *at)
{
    tk_err ignored = TK_ERR_INIT;
    if (size_of(at->blob) != file->size) {
        return false;
    }
    if (pull->folder != NULL) {
        return true; /* its name is its digest */
    }
    int fd = file->has_sha256 ? open(at->blob, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    bool ok = fd >= 0 && check_whole(pull, file, fd, &ignored) == TINKC_OK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

tinkc_code tk_pull_get(tk_pull *pull, const tk_pull_file *file, tk_err *err)
{
    place at;
    tinkc_code code = TINKC_OK;
    if (!find_place(&at, pull, file)) {
        code = tk_err_nomem(err);
        goto out;
    }
    pull->progress.file = file->name;
    if (!is_there(pull, file, &at)) {
        code = make_blob(pull, file, &at, err);
    }
    if (code == TINKC_OK && at.link != NULL) {
        code = make_link(file, at.link, err);
    }
    if (code == TINKC_OK) {
        pull->before += (uint64_t)file->size;
        pull->progress.files++;
    }
    pull->progress.file = NULL;
out:
    dispose(&at);
    return code;
}
