/* Plain files are read directly, packed ones through libarchive, whose "raw" format is
 * one stream of bytes. Owns the descriptor, unless it is standard input's.
 * Needs: text */
#include "cli/data/data_input.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"

#define PIECE_BYTES (64 * TK_KIB)

struct data_input {
    const char *path; /* "standard input" for "-" */
    int fd;
    int64_t size;            /* of the file; 0: not known */
    uint64_t taken;          /* bytes of the file */
    uint64_t given;          /* unpacked bytes */
    struct archive *archive; /* or NULL: not packed */
    tk_sha256 *digest;
    tk_err source_err; /* of a read below libarchive */
    size_t head_n;     /* bytes in `packed` that were read to recognise the file */
    char packed[PIECE_BYTES];
    char plain[PIECE_BYTES];
};

/* ---- the file ---- */

/* Reads until the room is full or the file ends. */
static tinkc_code read_full(data_input *in, char *room, size_t size, size_t *n,
                            tk_err *err)
{
    *n = 0;
    while (*n < size) {
        ssize_t got = read(in->fd, room + *n, size - *n);
        if (got < 0 && errno != EINTR) {
            return tk_err_sys(err, errno, "cannot read %s", in->path);
        }
        if (got == 0) {
            break;
        }
        *n += got > 0 ? (size_t)got : 0;
    }
    in->taken += *n;
    return TINKC_OK;
}

static bool is_packed(const char *p, size_t n)
{
    static const struct {
        const char *magic;
        size_t n;
    } kinds[] = {{"\x1f\x8b", 2},
                 {"\x28\xb5\x2f\xfd", 4},
                 {"BZh", 3},
                 {"\xfd"
                  "7zXZ\0",
                  6}};
    for (size_t i = 0; i < TK_ARRAY_LEN(kinds); i++) {
        if (n >= kinds[i].n && memcmp(p, kinds[i].magic, kinds[i].n) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- unpacking ---- */

static la_ssize_t on_read(struct archive *archive, void *user, const void **p)
{
    data_input *in = user;
    size_t n = in->head_n;
    in->head_n = 0;
    if (n == 0 &&
        read_full(in, in->packed, PIECE_BYTES, &n, &in->source_err) != TINKC_OK) {
        archive_set_error(archive, EIO, "the source failed");
        return -1;
    }
    *p = in->packed;
    return (la_ssize_t)n;
}

static tinkc_code unpack_failed(data_input *in, tk_err *err)
{
    const char *text = archive_error_string(in->archive);
    if (in->source_err.code != TINKC_OK) {
        *err = in->source_err;
        return err->code;
    }
    if (archive_errno(in->archive) == ENOMEM) {
        return tk_err_nomem(err);
    }
    return tk_err_set(err, TINKC_E_PARSE, "%s cannot be unpacked: %s", in->path,
                      text != NULL ? text : "unreadable");
}

/* Only filters that are libraries: others would start programs. */
static tinkc_code open_archive(data_input *in, tk_err *err)
{
    struct archive_entry *entry = NULL;
    struct archive *archive = archive_read_new();
    if (archive == NULL) {
        return tk_err_nomem(err);
    }
    in->archive = archive;
    bool ok = archive_read_support_format_raw(archive) == ARCHIVE_OK &&
              archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
              archive_read_support_filter_bzip2(archive) == ARCHIVE_OK &&
              archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
              archive_read_support_filter_zstd(archive) == ARCHIVE_OK &&
              archive_read_open(archive, in, NULL, on_read, NULL) == ARCHIVE_OK &&
              archive_read_next_header(archive, &entry) == ARCHIVE_OK;
    if (ok && archive_filter_code(archive, 0) == ARCHIVE_FILTER_NONE) {
        return tk_err_set(err, TINKC_E_PARSE, "%s cannot be unpacked: broken header",
                          in->path);
    }
    return ok ? TINKC_OK : unpack_failed(in, err);
}

static tinkc_code unpack(data_input *in, size_t *n, tk_err *err)
{
    *n = 0;
    while (*n < PIECE_BYTES) {
        la_ssize_t got = archive_read_data(in->archive, in->plain + *n, PIECE_BYTES - *n);
        if (got < 0) {
            return unpack_failed(in, err);
        }
        if (got == 0) {
            break;
        }
        *n += (size_t)got;
    }
    uint64_t given = in->given + *n;
    if (given > TK_DATA_SLACK_BYTES &&
        (given - TK_DATA_SLACK_BYTES) / TK_DATA_RATIO > in->taken) {
        return tk_err_set(err, TINKC_E_LIMIT, "%s unpacks to more than %d times its size",
                          in->path, TK_DATA_RATIO);
    }
    return TINKC_OK;
}

/* ---- the interface ---- */

static tinkc_code open_file(data_input *in, const char *path, tk_err *err)
{
    struct stat about;
    in->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    in->path = in->fd == STDIN_FILENO ? "standard input" : path;
    if (in->fd < 0) {
        return tk_err_sys(err, errno, "cannot open %s", path);
    }
    if (fstat(in->fd, &about) == 0 && S_ISREG(about.st_mode)) {
        in->size = about.st_size;
    }
    tinkc_code code = read_full(in, in->packed, PIECE_BYTES, &in->head_n, err);
    if (code == TINKC_OK && is_packed(in->packed, in->head_n)) {
        code = open_archive(in, err);
    }
    return code;
}

tinkc_code data_input_open(data_input **out, const char *path, tk_sha256 *digest,
                           tk_err *err)
{
    data_input *in = tk_zalloc(sizeof(*in));
    if (in == NULL) {
        return tk_err_nomem(err);
    }
    in->digest = digest;
    in->source_err = (tk_err)TK_ERR_INIT;
    tinkc_code code = open_file(in, path, err);
    if (code != TINKC_OK) {
        data_input_close(&in);
        return code;
    }
    *out = in;
    return TINKC_OK;
}

tinkc_code data_input_read(data_input *in, tk_str *piece, tk_err *err)
{
    size_t n = in->head_n;
    const char *p = in->archive != NULL ? in->plain : in->packed;
    tinkc_code code = TINKC_OK;
    if (in->archive != NULL) {
        code = unpack(in, &n, err);
    } else if (n == 0) {
        code = read_full(in, in->packed, PIECE_BYTES, &n, err);
    } else {
        in->head_n = 0;
    }
    in->given += n;
    if (code == TINKC_OK && in->given > TK_DATA_INPUT_BYTES) {
        code = tk_err_set(err, TINKC_E_LIMIT, "%s has more than %zu bytes", in->path,
                          TK_DATA_INPUT_BYTES);
    }
    if (code == TINKC_OK && in->digest != NULL && n > 0) {
        code = tk_sha256_update(in->digest, p, n, err);
    }
    if (code == TINKC_OK) {
        *piece = (tk_str){p, n};
    }
    return code;
}

double data_input_done(const data_input *in)
{
    return in->size > 0 ? TK_MIN((double)in->taken / (double)in->size, 1.0) : -1;
}

void data_input_close(data_input **input)
{
    data_input *in = *input;
    if (in == NULL) {
        return;
    }
    if (in->archive != NULL) {
        (void)archive_read_free(in->archive);
    }
    if (in->fd > STDIN_FILENO) {
        close(in->fd);
    }
    tk_free(in);
    *input = NULL;
}
