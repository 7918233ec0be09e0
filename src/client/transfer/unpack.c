/* Members are written by us and not by libarchive's disk writer: what is not a file or
 * a directory cannot come into being, and every byte is counted. Paths are walked
 * component by component from the open directory, never through a link. */
#include "client/transfer/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"

#define PIECE_BYTES    (64 * TK_KIB)
#define BLOCK_BYTES    512
#define TRAILING_BYTES (64 * TK_MIB) /* after the end of the archive */
#define DIR_MODE       0777          /* as the umask allows */
#define FILE_MODE      0666
#define NAME_BYTES     255

typedef struct job {
    const tk_unpack_source *source;
    struct archive *archive;
    int root_fd;
    uint64_t received;
    tk_unpack_progress progress;
    tk_err source_err; /* of a read callback that failed */
    char input[PIECE_BYTES];
    char output[PIECE_BYTES];
} job;

/* ---- from the source ---- */

static la_ssize_t on_read(struct archive *archive, void *user, const void **p)
{
    job *j = user;
    size_t n = 0;
    if (j->source->read(j->source->user, &n, j->input, PIECE_BYTES, &j->source_err) !=
        TINKC_OK) {
        archive_set_error(archive, EIO, "the source failed");
        return -1;
    }
    j->received += n;
    *p = j->input;
    return (la_ssize_t)n;
}

/* What libarchive reports, or the reason beneath it. */
static tinkc_code archive_failed(job *j, tk_err *err)
{
    const char *text = archive_error_string(j->archive);
    if (j->source_err.code != TINKC_OK) {
        *err = j->source_err;
        return err->code;
    }
    if (archive_errno(j->archive) == ENOMEM) {
        return tk_err_nomem(err);
    }
    return tk_err_set(err, TINKC_E_PARSE, "not a complete tar archive: %s",
                      text != NULL ? text : "unreadable");
}

static tinkc_code check_progress(job *j, tk_err *err)
{
    const tk_unpack_source *source = j->source;
    const tk_unpack_progress *progress = &j->progress;
    if (progress->written > source->max_bytes) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "the archive unpacks to more than %llu bytes",
                          (unsigned long long)source->max_bytes);
    }
    if (progress->written > TK_UNPACK_SLACK_BYTES &&
        (progress->written - TK_UNPACK_SLACK_BYTES) / TK_UNPACK_RATIO > j->received) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "the archive unpacks to more than %d times its size",
                          TK_UNPACK_RATIO);
    }
    if (progress->files > source->max_files) {
        return tk_err_set(err, TINKC_E_LIMIT, "the archive holds more than %llu members",
                          (unsigned long long)source->max_files);
    }
    if (source->note != NULL && !source->note(source->user, progress)) {
        return tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    return TINKC_OK;
}

/* ---- paths ---- */

static tinkc_code refuse(tk_err *err, const char *path, const char *why)
{
    return tk_err_set(err, TINKC_E_DECODE, "the archive holds \"%.120s\": %s", path, why);
}

/* Returns whether the name is that of the target itself: "/", as SkyRL writes it. */
static bool is_root(const char *path)
{
    return path[0] == '/' && strspn(path, "/") == strlen(path);
}

static tinkc_code check_path(const char *path, bool is_directory, tk_err *err)
{
    tk_str rest = tk_str_of(path);
    int depth = 0;
    if (rest.n == 0 || rest.n >= TK_UNPACK_PATH_BYTES) {
        return refuse(err, path, "a name that is empty or too long");
    }
    if (path[0] == '/' && !(is_directory && is_root(path))) {
        return refuse(err, path, "an absolute name");
    }
    while (rest.p != NULL) {
        tk_str part = tk_str_cut(&rest, '/');
        if (tk_str_is(part, "..")) {
            return refuse(err, path, "a name that leads out of the target");
        }
        if (part.n > NAME_BYTES || ++depth > TK_UNPACK_MAX_DEPTH) {
            return refuse(err, path, "a name that is too long or too deep");
        }
    }
    return TINKC_OK;
}

/* Enters (and makes) one directory; closes *fd unless it is the root. */
static tinkc_code enter(job *j, int *fd, tk_str part, tk_err *err)
{
    char name[NAME_BYTES + 1];
    (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(part));
    if (mkdirat(*fd, name, DIR_MODE) != 0 && errno != EEXIST) {
        return tk_err_sys(err, errno, "%s", name);
    }
    int next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) {
        return errno == ENOTDIR ? refuse(err, name, "a file and a directory of one name")
                                : tk_err_sys(err, errno, "%s", name);
    }
    if (*fd != j->root_fd) {
        close(*fd);
    }
    *fd = next;
    return TINKC_OK;
}

/* Walks to the directory of a member; `last` is its own name, "" for the root itself.
 * The caller closes *fd unless it is the root. */
static tinkc_code walk(job *j, const char *path, bool is_directory, int *fd,
                       char last[NAME_BYTES + 1], tk_err *err)
{
    tk_str rest = tk_str_of(path), waiting = {0};
    tinkc_code code = TINKC_OK;
    *fd = j->root_fd;
    while (code == TINKC_OK && rest.p != NULL) {
        tk_str part = tk_str_cut(&rest, '/');
        if (part.n == 0 || tk_str_is(part, ".")) {
            continue;
        }
        if (waiting.n > 0) {
            code = enter(j, fd, waiting, err);
        }
        waiting = part;
    }
    if (code == TINKC_OK && is_directory && waiting.n > 0) {
        code = enter(j, fd, waiting, err);
    }
    (void)snprintf(last, NAME_BYTES + 1, TK_STR_FMT, TK_STR_ARG(waiting));
    return code;
}

/* ---- members ---- */

static tinkc_code write_all(int fd, const char *p, size_t n, const char *path,
                            tk_err *err)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return tk_err_sys(err, errno, "%s", path);
        }
        p += done;
        n -= (size_t)done;
    }
    return TINKC_OK;
}

static tinkc_code copy_data(job *j, int fd, const char *path, tk_err *err)
{
    for (;;) {
        la_ssize_t n = archive_read_data(j->archive, j->output, PIECE_BYTES);
        if (n == 0) {
            return TINKC_OK;
        }
        if (n < 0) {
            return archive_failed(j, err);
        }
        j->progress.written += (uint64_t)n;
        tinkc_code code = check_progress(j, err);
        if (code == TINKC_OK) {
            code = write_all(fd, j->output, (size_t)n, path, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
    }
}

static tinkc_code write_file(job *j, int folder_fd, const char *name, const char *path,
                             tk_err *err)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    FILE_MODE);
    if (fd < 0) {
        return errno == EEXIST ? refuse(err, path, "the same name twice")
                               : tk_err_sys(err, errno, "%s", path);
    }
    j->progress.file = path;
    tinkc_code code = copy_data(j, fd, path, err);
    if (code == TINKC_OK && fsync(fd) != 0) {
        code = tk_err_sys(err, errno, "%s", path);
    }
    if (close(fd) != 0 && code == TINKC_OK) {
        code = tk_err_sys(err, errno, "%s", path);
    }
    j->progress.file = NULL;
    return code;
}

static tinkc_code check_kind(struct archive_entry *entry, const char *path, tk_err *err)
{
    if (archive_entry_symlink(entry) != NULL || archive_entry_hardlink(entry) != NULL ||
        archive_entry_filetype(entry) == AE_IFLNK) {
        return refuse(err, path, "a link");
    }
    if (archive_entry_filetype(entry) != AE_IFREG &&
        archive_entry_filetype(entry) != AE_IFDIR) {
        return refuse(err, path, "neither a file nor a directory");
    }
    return TINKC_OK;
}

static tinkc_code unpack_member(job *j, struct archive_entry *entry, tk_err *err)
{
    char last[NAME_BYTES + 1];
    const char *path = archive_entry_pathname_utf8(entry);
    path = path != NULL ? path : archive_entry_pathname(entry);
    if (path == NULL) {
        return refuse(err, "?", "a name that cannot be read");
    }
    bool is_directory = archive_entry_filetype(entry) == AE_IFDIR;
    int fd = j->root_fd;
    tinkc_code code = check_path(path, is_directory, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_kind(entry, path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    j->progress.files++; /* counted before it is made: directories too */
    code = check_progress(j, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = walk(j, path, is_directory, &fd, last, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (is_directory) {
        j->progress.files--;
    } else {
        code = last[0] != '\0' ? write_file(j, fd, last, path, err)
                               : refuse(err, path, "a file without a name");
    }
out:
    if (fd != j->root_fd) {
        close(fd);
    }
    return code;
}

/* ---- the whole ---- */

/* A tar ends with blocks of zeros; one that was cut between two members does not, and
 * libarchive does not mind. `before` is where the last member's data ended. */
static tinkc_code check_end(job *j, int64_t before, tk_err *err)
{
    int64_t padded = (before + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    if (archive_filter_bytes(j->archive, 0) - padded < BLOCK_BYTES) {
        return tk_err_set(err, TINKC_E_PARSE,
                          "not a complete tar archive: it has no end");
    }
    return TINKC_OK;
}

/* Reads what is left, so that the source can check length and sum. */
static tinkc_code drain(job *j, tk_err *err)
{
    uint64_t start = j->received;
    for (;;) {
        size_t n = 0;
        tinkc_code code =
            j->source->read(j->source->user, &n, j->input, PIECE_BYTES, err);
        if (code != TINKC_OK || n == 0) {
            return code;
        }
        j->received += n;
        if (j->received - start > TRAILING_BYTES) {
            return tk_err_set(err, TINKC_E_LIMIT, "too many bytes follow the archive");
        }
    }
}

static tinkc_code unpack_all(job *j, tk_err *err)
{
    struct archive_entry *entry = NULL;
    tinkc_code code = TINKC_OK;
    size_t members = 0;
    while (code == TINKC_OK) {
        int64_t before = archive_filter_bytes(j->archive, 0);
        int said = archive_read_next_header(j->archive, &entry);
        if (said == ARCHIVE_EOF) {
            code = members > 0 ? check_end(j, before, err)
                               : tk_err_set(err, TINKC_E_PARSE, "the archive is empty");
            break;
        }
        if (said != ARCHIVE_OK && said != ARCHIVE_WARN) {
            return archive_failed(j, err);
        }
        members++;
        code = unpack_member(j, entry, err);
    }
    return code == TINKC_OK ? drain(j, err) : code;
}

/* Only filters that are libraries: others would start programs. */
static bool open_archive(job *j)
{
    struct archive *archive = j->archive;
    return archive_read_support_format_tar(archive) == ARCHIVE_OK &&
           archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
           archive_read_support_filter_bzip2(archive) == ARCHIVE_OK &&
           archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(archive) == ARCHIVE_OK &&
           archive_read_open(archive, j, NULL, on_read, NULL) == ARCHIVE_OK;
}

static tinkc_code run(job *j, const char *folder, tk_err *err)
{
    j->root_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (j->root_fd < 0) {
        return tk_err_sys(err, errno, "%s", folder);
    }
    j->archive = archive_read_new();
    tinkc_code code;
    if (j->archive == NULL) {
        code = tk_err_nomem(err);
    } else {
        code = open_archive(j) ? unpack_all(j, err) : archive_failed(j, err);
        (void)archive_read_free(j->archive);
    }
    close(j->root_fd);
    return code;
}

tinkc_code tk_unpack(const char *folder, const tk_unpack_source *source, tk_err *err)
{
    job *j = tk_zalloc(sizeof(*j));
    if (j == NULL) {
        return tk_err_nomem(err);
    }
    j->source = source;
    j->source_err = (tk_err)TK_ERR_INIT;
    tinkc_code code = run(j, folder, err);
    tk_free(j);
    return code;
}
