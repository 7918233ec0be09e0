/* Writes the members with libarchive. */
#include "server/api/srv_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

#define PIECE_BYTES (64 * TK_KIB)

typedef struct tar {
    struct archive *out;
    const char *directory;
    int64_t time_us;
} tar;

static tinkc_code refuse(struct archive *out, tk_err *err)
{
    const char *why = archive_error_string(out);
    return tk_err_set(err, TINKC_E_IO, "archive: %s", why != NULL ? why : "failed");
}

static tinkc_code put_header(const tar *t, const char *name, int64_t size, tk_err *err)
{
    struct archive_entry *entry = archive_entry_new();
    if (entry == NULL) {
        return tk_err_nomem(err);
    }
    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, size);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_mtime(entry, (time_t)(t->time_us / 1000000), 0);
    int result = archive_write_header(t->out, entry);
    archive_entry_free(entry);
    return result == ARCHIVE_OK ? TINKC_OK : refuse(t->out, err);
}

static tinkc_code put_bytes(const tar *t, int fd, int64_t size, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    char *piece = tk_malloc(PIECE_BYTES);
    if (piece == NULL) {
        return tk_err_nomem(err);
    }
    while (code == TINKC_OK && size > 0) {
        ssize_t n = read(fd, piece, (size_t)TK_MIN(size, (int64_t)PIECE_BYTES));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            code = tk_err_set(err, TINKC_E_IO, "a checkpoint's file cannot be read");
        } else if (archive_write_data(t->out, piece, (size_t)n) != n) {
            code = refuse(t->out, err);
        }
        size -= n;
    }
    tk_free(piece);
    return code;
}

static tinkc_code put_file(const tar *t, const char *name, tk_err *err)
{
    char *path = tk_file_join(t->directory, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    tk_free(path);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found");
    }
    tinkc_code code = put_header(t, name, st.st_size, err);
    if (code == TINKC_OK) {
        code = put_bytes(t, fd, st.st_size, err);
    }
    (void)close(fd);
    return code;
}

static tinkc_code fill(const tar *t, int fd, tk_err *err)
{
    if (archive_write_set_format_ustar(t->out) != ARCHIVE_OK ||
        archive_write_add_filter_none(t->out) != ARCHIVE_OK ||
        archive_write_open_fd(t->out, fd) != ARCHIVE_OK) {
        return refuse(t->out, err);
    }
    tinkc_code code = put_file(t, "adapter_config.json", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = put_file(t, "adapter_model.safetensors", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = put_header(t, "checkpoint_complete", 0, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (archive_write_close(t->out) != ARCHIVE_OK) {
        code = refuse(t->out, err);
    }
out:
    return code;
}

static int open_nameless(const char *scratch)
{
    char *path = tk_file_join(scratch, "archive.XXXXXX");
    int fd = path != NULL ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)unlink(path);
    }
    tk_free(path);
    return fd;
}

tinkc_code srv_tar_make(int *fd_out, int64_t *size, const char *directory,
                        int64_t time_us, const char *scratch, tk_err *err)
{
    struct stat st;
    int fd = open_nameless(scratch);
    if (fd < 0) {
        return tk_err_set(err, TINKC_E_IO, "no room for an archive");
    }
    const tar t = {archive_write_new(), directory, time_us};
    tinkc_code code = t.out != NULL ? fill(&t, fd, err) : tk_err_nomem(err);
    (void)archive_write_free(t.out);
    if (code == TINKC_OK && fstat(fd, &st) != 0) {
        code = tk_err_set(err, TINKC_E_IO, "an archive cannot be read");
    }
    if (code != TINKC_OK) {
        (void)close(fd);
        return code;
    }
    *fd_out = fd;
    *size = st.st_size;
    return TINKC_OK;
}
