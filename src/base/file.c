/* Files over plain POSIX calls; every one of them is retried on EINTR where it may be. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"

#define READ_BYTES ((size_t)64 * 1024)

static tinkc_code failed(tk_err *err, int errnum, const char *what, const char *path)
{
    if (errnum == ENOENT) {
        return tk_err_set(err, TINKC_E_MISSING, "cannot %s %s: No such file or directory",
                          what, path);
    }
    return tk_err_sys(err, errnum, "cannot %s %s", what, path);
}

static int open_retrying(const char *path, int flags, mode_t mode)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* ---- reading ---- */

/* O_NONBLOCK: opening a FIFO without a writer would block. */
static tinkc_code open_regular(int *out, struct stat *info, const char *path, tk_err *err)
{
    int fd = open_retrying(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0) {
        return failed(err, errno, "open", path);
    }
    int errnum = fstat(fd, info) != 0 ? errno : 0;
    if (errnum == 0 && S_ISREG(info->st_mode)) {
        *out = fd;
        return TINKC_OK;
    }
    (void)close(fd);
    if (errnum != 0) {
        return failed(err, errnum, "read", path);
    }
    return tk_err_set(err, TINKC_E_IO, "cannot read %s: not a regular file", path);
}

/* Up to n bytes; 0 at the end, -1 with errno. */
static ssize_t read_some(int fd, char *out, size_t n)
{
    ssize_t got;
    do {
        got = read(fd, out, n);
    } while (got < 0 && errno == EINTR);
    return got;
}

static tinkc_code too_large(tk_err *err, const char *path, size_t max_bytes)
{
    return tk_err_set(err, TINKC_E_LIMIT, "%s is larger than %zu bytes", path, max_bytes);
}

/* The size that stat gives is a hint only: files grow, and those of /proc say 0. */
static tinkc_code read_all(tk_buf *buf, int fd, size_t hint, const char *path,
                           tk_err *err)
{
    for (;;) {
        char probe;
        size_t left = buf->max - buf->n;
        size_t want = TK_MIN(left, TK_MAX(READ_BYTES, hint - TK_MIN(hint, buf->n) + 1));
        char *room = left > 0 ? tk_buf_reserve(buf, want) : &probe;
        if (room == NULL) {
            return tk_buf_status(buf, err);
        }
        ssize_t got = read_some(fd, room, left > 0 ? want : 1);
        if (got < 0) {
            return failed(err, errno, "read", path);
        }
        if (got == 0) {
            return TINKC_OK;
        }
        if (left == 0) {
            return too_large(err, path, buf->max);
        }
        tk_buf_advance(buf, (size_t)got);
    }
}

tinkc_code tk_file_read(char **data, size_t *n_out, const char *path, size_t max_bytes,
                        tk_err *err)
{
    int fd = -1;
    struct stat info;
    tinkc_code code = open_regular(&fd, &info, path, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_buf buf;
    tk_buf_init(&buf, max_bytes);
    size_t hint = info.st_size > 0 ? (size_t)info.st_size : 0;
    code = hint > max_bytes ? too_large(err, path, max_bytes)
                            : read_all(&buf, fd, hint, path, err);
    (void)close(fd);
    if (code == TINKC_OK && tk_buf_cstr(&buf) == NULL) {
        code = tk_buf_status(&buf, err);
    }
    if (code != TINKC_OK) {
        tk_buf_dispose(&buf);
        return code;
    }
    if (n_out != NULL) {
        *n_out = buf.n;
    }
    *data = buf.p; /* not tk_buf_take, which returns NULL for an empty file, too */
    return TINKC_OK;
}

/* ---- writing ---- */

struct tk_file_writer {
    int fd;
    char *path;
    char *temp;
    char *dir; /* where `path` is; known before anything is written */
};

static void writer_free(tk_file_writer *writer)
{
    tk_free(writer->path);
    tk_free(writer->temp);
    tk_free(writer->dir);
    tk_free(writer);
}

char *tk_file_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return tk_strdup(".");
    }
    return tk_strndup(path, slash > path ? (size_t)(slash - path) : 1);
}

static tinkc_code fill_names(tk_file_writer *writer, const char *path, tk_err *err)
{
    uint64_t random;
    tinkc_code code = tk_rand_entropy(&random, sizeof(random), err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t size = strlen(path) + 32;
    writer->path = tk_strdup(path);
    writer->dir = tk_file_parent(path);
    writer->temp = tk_malloc(size);
    if (writer->path == NULL || writer->dir == NULL || writer->temp == NULL) {
        return tk_err_nomem(err);
    }
    (void)snprintf(writer->temp, size, "%s.%016llx.tmp", path,
                   (unsigned long long)random);
    return TINKC_OK;
}

tinkc_code tk_file_writer_new(tk_file_writer **out, const char *path, mode_t mode,
                              tk_err *err)
{
    tk_file_writer *writer = tk_zalloc(sizeof(*writer));
    if (writer == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = fill_names(writer, path, err);
    if (code == TINKC_OK) {
        writer->fd = open_retrying(writer->temp, O_WRONLY | O_CREAT | O_EXCL, mode);
        code = writer->fd >= 0 ? TINKC_OK : failed(err, errno, "write", path);
    }
    if (code != TINKC_OK) {
        writer_free(writer);
        return code;
    }
    *out = writer;
    return TINKC_OK;
}

tinkc_code tk_file_writer_put(tk_file_writer *writer, const void *data, size_t n,
                              tk_err *err)
{
    const char *p = data;
    while (n > 0) {
        ssize_t put = write(writer->fd, p, n);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return failed(err, put < 0 ? errno : EIO, "write", writer->path);
        }
        p += put;
        n -= (size_t)put;
    }
    return TINKC_OK;
}

void tk_file_writer_abort(tk_file_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->fd >= 0) {
        (void)close(writer->fd);
    }
    (void)unlink(writer->temp);
    writer_free(writer);
}

tinkc_code tk_file_sync_directory(const char *dir, tk_err *err)
{
    int fd = open_retrying(dir, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        return failed(err, errno, "sync", dir);
    }
    int errnum = fsync(fd) != 0 ? errno : 0;
    (void)close(fd);
    if (errnum != 0 && errnum != EINVAL) { /* not every file system can */
        return failed(err, errnum, "sync", dir);
    }
    return TINKC_OK;
}

/* `synced` is whether what came before went well, else errno says why. */
static tinkc_code put_in_place(tk_file_writer *writer, bool synced, tk_err *err)
{
    int errnum = synced ? 0 : errno;
    bool closed = close(writer->fd) == 0;
    errnum = synced && !closed ? errno : errnum;
    writer->fd = -1;
    if (errnum == 0 && rename(writer->temp, writer->path) != 0) {
        errnum = errno;
    }
    if (errnum != 0) {
        return failed(err, errnum, "write", writer->path);
    }
    return TINKC_OK;
}

tinkc_code tk_file_writer_commit(tk_file_writer *writer, tk_err *err)
{
    tinkc_code code = put_in_place(writer, fsync(writer->fd) == 0, err);
    if (code != TINKC_OK) {
        tk_file_writer_abort(writer);
        return code;
    }
    code = tk_file_sync_directory(writer->dir, err);
    writer_free(writer);
    return code;
}

tinkc_code tk_file_writer_publish(tk_file_writer *writer, tk_err *err)
{
    tinkc_code code = put_in_place(writer, true, err);
    if (code != TINKC_OK) {
        tk_file_writer_abort(writer);
        return code;
    }
    writer_free(writer);
    return TINKC_OK;
}

tinkc_code tk_file_replace(const char *path, const void *data, size_t n, mode_t mode,
                           tk_err *err)
{
    tk_file_writer *writer;
    tinkc_code code = tk_file_writer_new(&writer, path, mode, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_file_writer_put(writer, data, n, err);
    if (code != TINKC_OK) {
        tk_file_writer_abort(writer);
        return code;
    }
    return tk_file_writer_commit(writer, err);
}

/* ---- directories and names ---- */

static tinkc_code make_directory(const char *path, mode_t mode, tk_err *err)
{
    struct stat info;
    if (mkdir(path, mode) == 0) {
        return TINKC_OK;
    }
    int errnum = errno;
    if (errnum == EEXIST && stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return TINKC_OK;
        }
        errnum = ENOTDIR;
    }
    return failed(err, errnum, "make directory", path);
}

tinkc_code tk_file_mkdirs(const char *path, mode_t mode, tk_err *err)
{
    if (path[0] == '\0') {
        return tk_err_set(err, TINKC_E_INVALID, "a directory needs a name");
    }
    char *part = tk_strdup(path);
    if (part == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = TINKC_OK;
    for (size_t i = 1; code == TINKC_OK && part[i - 1] != '\0'; i++) {
        if ((part[i] == '/' || part[i] == '\0') && part[i - 1] != '/') {
            char end = part[i];
            part[i] = '\0';
            code = make_directory(part, mode, err);
            part[i] = end;
        }
    }
    tk_free(part);
    return code;
}

char *tk_file_join(const char *dir, const char *name)
{
    size_t n_dir = strlen(dir);
    size_t n_name = strlen(name);
    while (n_dir > 1 && dir[n_dir - 1] == '/') {
        n_dir--;
    }
    bool slash = n_dir > 0 && dir[n_dir - 1] != '/';
    char *path = tk_malloc(n_dir + n_name + 2);
    if (path != NULL) {
        memcpy(path, dir, n_dir);
        path[n_dir] = '/';
        memcpy(path + n_dir + slash, name, n_name + 1);
    }
    return path;
}

/* ---- directories ---- */

static bool is_among(const char *name, const char *const *known, size_t n)
{
    bool found = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    for (size_t i = 0; i < n && !found; i++) {
        found = strcmp(name, known[i]) == 0;
    }
    return found;
}

tinkc_code tk_file_find_other(char found[256], const char *dir, const char *const *known,
                              size_t n, tk_err *err)
{
    DIR *stream = opendir(dir);
    const struct dirent *entry;
    if (stream == NULL) {
        return tk_err_sys(err, errno, "%s", dir);
    }
    found[0] = '\0';
    errno = 0;
    while (found[0] == '\0' && (entry = readdir(stream)) != NULL) {
        if (!is_among(entry->d_name, known, n)) {
            (void)snprintf(found, 256, "%s", entry->d_name);
        }
    }
    int errnum = found[0] == '\0' ? errno : 0;
    (void)closedir(stream);
    return errnum == 0 ? TINKC_OK : tk_err_sys(err, errnum, "%s", dir);
}
