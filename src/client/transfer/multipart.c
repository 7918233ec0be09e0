/* The body is a row of pieces, each with its place in the whole. */
#include "client/transfer/multipart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define HEAD_MAX_BYTES (64 * TK_KIB)
#define PARTS_MAX      10000
#define BOUNDARY_MAX   70

/* One piece: bytes of ours, a file, or a callback. */
typedef struct piece {
    uint64_t at, n; /* place in the body */
    char *data;     /* owned */
    int fd;         /* -1: none; owned */
    tinkc_read_fn read;
    void *user;
} piece;

struct tk_multipart {
    piece *pieces;
    size_t n;
    uint64_t size;
    char content_type[128];
};

/* A quoted parameter as browsers write it: quotes and line ends are percent-encoded. */
static void put_quoted(tk_buf *out, const char *text)
{
    tk_buf_putc(out, '"');
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '"':
            tk_buf_puts(out, "%22");
            break;
        case '\r':
            tk_buf_puts(out, "%0D");
            break;
        case '\n':
            tk_buf_puts(out, "%0A");
            break;
        default:
            tk_buf_putc(out, *text);
        }
    }
    tk_buf_putc(out, '"');
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void put_head(tk_buf *out, const tinkc_part *part, const char *boundary,
                     bool is_first)
{
    const char *filename = part->filename;
    const char *type = part->content_type;
    if (filename == NULL && part->path != NULL) {
        filename = last_component(part->path);
    }
    if (type == NULL && filename != NULL) {
        type = "application/octet-stream";
    }
    tk_buf_printf(out, "%s--%s\r\nContent-Disposition: form-data; name=",
                  is_first ? "" : "\r\n", boundary);
    put_quoted(out, part->name);
    if (filename != NULL) {
        tk_buf_puts(out, "; filename=");
        put_quoted(out, filename);
    }
    if (type != NULL) {
        tk_buf_printf(out, "\r\nContent-Type: %s", type);
    }
    tk_buf_puts(out, "\r\n\r\n");
}

static tinkc_code add_piece(tk_multipart *multipart, piece made, tk_err *err)
{
    made.at = multipart->size;
    if (made.n > (uint64_t)INT64_MAX - multipart->size) {
        return tk_err_set(err, TINKC_E_LIMIT, "the form is too large");
    }
    multipart->pieces[multipart->n++] = made;
    multipart->size += made.n;
    return TINKC_OK;
}

static tinkc_code add_bytes(tk_multipart *multipart, const void *data, size_t n,
                            tk_err *err)
{
    char *copy = tk_memdup(data, n);
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = add_piece(multipart, (piece){.n = n, .data = copy, .fd = -1}, err);
    if (code != TINKC_OK) {
        tk_free(copy);
    }
    return code;
}

static tinkc_code add_file(tk_multipart *multipart, const char *path, tk_err *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return tk_err_sys(err, errno, "%s", path);
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return tk_err_set(err, TINKC_E_IO, "%s: not a regular file", path);
    }
    tinkc_code code =
        add_piece(multipart, (piece){.n = (uint64_t)info.st_size, .fd = fd}, err);
    if (code != TINKC_OK) {
        close(fd);
    }
    return code;
}

static bool is_clean(const char *text)
{
    return text == NULL || strpbrk(text, "\r\n") == NULL;
}

static tinkc_code add_part(tk_multipart *multipart, const tinkc_part *part,
                           const char *boundary, tk_err *err)
{
    int kinds = (part->data != NULL) + (part->path != NULL) + (part->read != NULL);
    if (part->name == NULL || kinds != 1 || !is_clean(part->content_type)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a part needs a name and one of data, path and read");
    }
    tk_buf head;
    tk_buf_init(&head, HEAD_MAX_BYTES);
    put_head(&head, part, boundary, multipart->n == 0);
    tinkc_code code = tk_buf_status(&head, err);
    if (code == TINKC_OK) {
        code = add_bytes(multipart, head.p, head.n, err);
    }
    tk_buf_dispose(&head);
    if (code != TINKC_OK) {
        return code;
    }
    if (part->path != NULL) {
        return add_file(multipart, part->path, err);
    }
    if (part->read != NULL) {
        piece made = {
            .n = part->read_n, .fd = -1, .read = part->read, .user = part->read_user};
        return add_piece(multipart, made, err);
    }
    return add_bytes(multipart, part->data, part->data_n, err);
}

static tinkc_code fill(tk_multipart *multipart, const tinkc_part *parts, size_t n,
                       const char *boundary, tk_err *err)
{
    tk_buf text;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = add_part(multipart, &parts[i], boundary, err);
    }
    tk_buf_init(&text, 256);
    tk_buf_printf(&text, "%s--%s--\r\n", n > 0 ? "\r\n" : "", boundary);
    if (code == TINKC_OK) {
        code = tk_buf_status(&text, err);
    }
    if (code == TINKC_OK) {
        code = add_bytes(multipart, text.p, text.n, err);
    }
    tk_buf_dispose(&text);
    return code;
}

tinkc_code tk_multipart_new(tk_multipart **out, const tinkc_part *parts, size_t n,
                            const char *boundary, tk_err *err)
{
    if (n > PARTS_MAX || (parts == NULL && n > 0) || strlen(boundary) > BOUNDARY_MAX) {
        return tk_err_set(err, TINKC_E_INVALID, "too many parts, or none");
    }
    tk_multipart *multipart = tk_zalloc(sizeof(*multipart));
    piece *pieces = tk_zarray(2 * n + 1, sizeof(*pieces));
    if (multipart == NULL || pieces == NULL) {
        tk_free(multipart);
        tk_free(pieces);
        return tk_err_nomem(err);
    }
    multipart->pieces = pieces;
    (void)snprintf(multipart->content_type, sizeof(multipart->content_type),
                   "multipart/form-data; boundary=%s", boundary);
    tinkc_code code = fill(multipart, parts, n, boundary, err);
    if (code != TINKC_OK) {
        tk_multipart_free(&multipart);
        return code;
    }
    *out = multipart;
    return TINKC_OK;
}

void tk_multipart_free(tk_multipart **multipart_ref)
{
    tk_multipart *multipart = *multipart_ref;
    *multipart_ref = NULL;
    if (multipart == NULL) {
        return;
    }
    for (size_t i = 0; i < multipart->n; i++) {
        tk_free(multipart->pieces[i].data);
        if (multipart->pieces[i].fd >= 0) {
            close(multipart->pieces[i].fd);
        }
    }
    tk_free(multipart->pieces);
    tk_free(multipart);
}

uint64_t tk_multipart_size(const tk_multipart *multipart)
{
    return multipart->size;
}

const char *tk_multipart_content_type(const tk_multipart *multipart)
{
    return multipart->content_type;
}

static size_t read_piece(const piece *from, uint64_t offset, char *p, size_t n)
{
    if (from->data != NULL) {
        memcpy(p, from->data + offset, n);
        return n;
    }
    if (from->read != NULL) {
        return from->read(p, n, offset, from->user);
    }
    ssize_t got;
    do {
        got = pread(from->fd, p, n, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? SIZE_MAX : (size_t)got;
}

size_t tk_multipart_read(tk_multipart *multipart, uint64_t offset, char *p, size_t n)
{
    size_t done = 0;
    for (size_t i = 0; i < multipart->n && done < n; i++) {
        const piece *from = &multipart->pieces[i];
        if (offset + done < from->at || offset + done >= from->at + from->n) {
            continue;
        }
        uint64_t inside = offset + done - from->at;
        size_t most = (size_t)TK_MIN(from->n - inside, (uint64_t)(n - done));
        size_t got = read_piece(from, inside, p + done, most);
        if (got == 0 || got > most) {
            return SIZE_MAX; /* failed, or has become shorter */
        }
        done += got;
        i -= got < most ? 1 : 0; /* the rest of the same piece */
    }
    return done;
}
