/* Reads with pread; a line whose end is not there yet is read again later.
 * Needs: server */
#include "cli/console/board_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define FIRST_BYTES ((size_t)TK_MIB)

typedef struct reader {
    board_lines *lines;
    int fd;
    char *bytes;
    size_t n, capacity;
    bool (*each)(void *user, tk_str line, uint64_t offset);
    void *user;
} reader;

static tinkc_code open_file(int *fd, struct stat *st, const char *path, tk_err *err)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) {
        return errno == ENOENT ? tk_err_set(err, TINKC_E_MISSING, "%s is not there", path)
                               : tk_err_sys(err, errno, "cannot read %s", path);
    }
    if (fstat(*fd, st) == 0 && S_ISREG(st->st_mode)) {
        return TINKC_OK;
    }
    (void)close(*fd);
    return tk_err_set(err, TINKC_E_IO, "%s is not a file", path);
}

/* Fills the buffer from `at` on. */
static tinkc_code fill(reader *r, tk_err *err)
{
    r->n = 0;
    while (r->n < r->capacity) {
        ssize_t got = pread(r->fd, r->bytes + r->n, r->capacity - r->n,
                            (off_t)(r->lines->at + r->n));
        if (got < 0 && errno != EINTR) {
            return tk_err_sys(err, errno, "cannot read %s", r->lines->path);
        }
        if (got == 0) {
            break;
        }
        r->n += got > 0 ? (size_t)got : 0;
    }
    return TINKC_OK;
}

/* Gives the whole lines of the buffer away. Returns false when there was none, or `each`
 * wants no more. */
static bool give(reader *r)
{
    size_t from = 0;
    bool goes_on = true;
    while (goes_on) {
        const char *end = memchr(r->bytes + from, '\n', r->n - from);
        if (end == NULL) {
            break;
        }
        tk_str line = {r->bytes + from, (size_t)(end - r->bytes) - from};
        goes_on = r->lines->is_long || r->each(r->user, line, r->lines->at + from);
        if (goes_on) {
            r->lines->is_long = false;
            from = (size_t)(end - r->bytes) + 1;
        }
    }
    r->lines->at += from;
    return goes_on && from > 0;
}

/* Makes room for a longer line; beyond the limit skips it. Returns false at the end. */
static bool grow(reader *r)
{
    if (r->n < r->capacity) {
        return false; /* the end of the file, in the middle of a line or not */
    }
    if (r->capacity < BOARD_LINE_MAX_BYTES) {
        char *bytes = tk_realloc(r->bytes, r->capacity * 2);
        if (bytes != NULL) {
            r->bytes = bytes;
            r->capacity *= 2;
            return true;
        }
    }
    r->lines->at += r->n;
    r->lines->is_long = true;
    return true;
}

static bool is_other(const board_lines *lines, const struct stat *st)
{
    return lines->mtime_ms != 0 &&
           (st->st_dev != lines->device || st->st_ino != lines->inode ||
            (uint64_t)st->st_size < lines->at);
}

tinkc_code board_lines_read(board_lines *lines, bool *restarted,
                            bool (*each)(void *user, tk_str line, uint64_t offset),
                            void *user, tk_err *err)
{
    struct stat st;
    reader r = {.lines = lines, .capacity = FIRST_BYTES, .each = each, .user = user};
    tinkc_code code = open_file(&r.fd, &st, lines->path, err);
    if (code != TINKC_OK) {
        return code;
    }
    bool is_new = is_other(lines, &st);
    if (is_new) {
        lines->at = 0;
        lines->is_long = false;
    }
    *restarted = is_new;
    lines->device = st.st_dev;
    lines->inode = st.st_ino;
    lines->mtime_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    if (is_new || (uint64_t)st.st_size == lines->at) {
        goto out;
    }
    r.bytes = tk_malloc(r.capacity);
    if (r.bytes == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    do {
        code = fill(&r, err);
    } while (code == TINKC_OK && r.n > 0 && (give(&r) || grow(&r)));
out:
    tk_free(r.bytes);
    (void)close(r.fd);
    return code;
}

tinkc_code board_lines_at(char **out, const char *path, uint64_t offset, size_t n,
                          tk_err *err)
{
    struct stat st;
    int fd = -1;
    tinkc_code code = open_file(&fd, &st, path, err);
    if (code != TINKC_OK) {
        return code;
    }
    char *bytes = tk_malloc(n + 1);
    board_lines at = {.path = path, .at = offset};
    reader r = {.lines = &at, .fd = fd, .bytes = bytes, .capacity = n};
    code = bytes == NULL ? tk_err_nomem(err) : fill(&r, err);
    if (code == TINKC_OK && r.n != n) {
        code = tk_err_set(err, TINKC_E_MISSING, "%s has changed", path);
    }
    (void)close(fd);
    if (code != TINKC_OK) {
        tk_free(bytes);
        return code;
    }
    bytes[n] = '\0';
    *out = bytes;
    return TINKC_OK;
}
