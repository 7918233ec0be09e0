/* The ustar format of POSIX: each member is a header of one block, its bytes, and zeros up
 * to the next block; two blocks of zeros are the end. */
#include "server/api/srv_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define BLOCK     512
#define MEMBERS   3
#define COPY_MAX  (64 * TK_KIB)         /* bytes of a member that is kept in memory */
#define OCTAL_MAX INT64_C(077777777777) /* what eleven digits hold */

typedef struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type[1],
        linkname[100], magic[6], version[2], uname[32], gname[32], devmajor[8],
        devminor[8], prefix[155], padding[12];
} header;

typedef struct member {
    header head;
    int fd;        /* -1 = see `copy` */
    char *copy;    /* in the arena; NULL = no bytes */
    int64_t begin; /* of the header in the tar */
    int64_t size;
} member;

struct srv_tar {
    member members[MEMBERS];
    size_t n;
    int64_t size;
};

/* ---- headers ---- */

/* Writes a number as octal digits; a larger one as GNU tar does, in binary with the first
 * bit set. */
static void put_number(char out[12], int64_t value)
{
    if (value <= OCTAL_MAX) {
        (void)snprintf(out, 12, "%011llo", (unsigned long long)value);
        return;
    }
    memset(out, 0, 12);
    for (int i = 11; i > 3; i--, value >>= 8) {
        out[i] = (char)(value & 0xFF);
    }
    out[0] = (char)0x80;
}

static void fill_header(header *head, const char *name, int64_t size, int64_t time_us)
{
    unsigned sum = 0;
    unsigned char bytes[sizeof(*head)];
    memset(head, 0, sizeof(*head));
    (void)snprintf(head->name, sizeof(head->name), "%s", name);
    (void)snprintf(head->mode, sizeof(head->mode), "0000644");
    (void)snprintf(head->uid, sizeof(head->uid), "0000000");
    (void)snprintf(head->gid, sizeof(head->gid), "0000000");
    put_number(head->size, size);
    put_number(head->mtime, TK_MIN(TK_MAX(time_us, 0) / 1000000, OCTAL_MAX));
    head->type[0] = '0';
    memcpy(head->magic, "ustar", 6);
    memcpy(head->version, "00", 2);
    (void)snprintf(head->devmajor, sizeof(head->devmajor), "0000000");
    (void)snprintf(head->devminor, sizeof(head->devminor), "0000000");
    memset(head->checksum, ' ', sizeof(head->checksum)); /* counts as spaces */
    memcpy(bytes, head, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        sum += bytes[i];
    }
    (void)snprintf(head->checksum, sizeof(head->checksum), "%06o", sum);
}

/* ---- open ---- */

static long read_file(const member *m, int64_t at, char *out, size_t max)
{
    ssize_t n;
    do {
        n = pread(m->fd, out, max, (off_t)at);
    } while (n < 0 && errno == EINTR);
    return n > 0 ? (long)n : -1;
}

static int64_t round_up(int64_t size)
{
    return (size + BLOCK - 1) / BLOCK * BLOCK;
}

/* Opens a file of the checkpoint and finds its size. */
static tinkc_code open_member(member *m, const char *directory, const char *name,
                              tk_err *err)
{
    struct stat st;
    char *path = tk_file_join(directory, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int errnum = errno;
    tk_free(path);
    if (m->fd < 0) {
        return errnum == ENOENT ? tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found")
                                : tk_err_sys(err, errnum, "cannot read %s", name);
    }
    if (fstat(m->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return tk_err_set(err, TINKC_E_IO, "cannot read %s", name);
    }
    m->size = st.st_size;
    return TINKC_OK;
}

/* Reads a small member into the arena and closes its file: an answer may be sent for
 * hours, and descriptors are few. */
static tinkc_code copy_member(member *m, tk_arena *arena, const char *name, tk_err *err)
{
    if (m->size > (int64_t)COPY_MAX) {
        return tk_err_set(err, TINKC_E_IO, "%s is too large", name);
    }
    m->copy = tk_arena_alloc(arena, (size_t)m->size + 1);
    if (m->copy == NULL) {
        return tk_err_nomem(err);
    }
    for (int64_t at = 0; at < m->size;) {
        long n = read_file(m, at, m->copy + at, (size_t)(m->size - at));
        if (n < 0) {
            return tk_err_set(err, TINKC_E_IO, "cannot read %s", name);
        }
        at += n;
    }
    (void)close(m->fd);
    m->fd = -1;
    return TINKC_OK;
}

static void put_member(srv_tar *tar, const char *name, int64_t time_us)
{
    member *m = &tar->members[tar->n++];
    m->begin = tar->size;
    fill_header(&m->head, name, m->size, time_us);
    tar->size += BLOCK + round_up(m->size);
}

tinkc_code srv_tar_open(srv_tar **out, tk_arena *arena, const char *directory,
                        int64_t time_us, tk_err *err)
{
    static const char config[] = "adapter_config.json";
    static const char weights[] = "adapter_model.safetensors";
    srv_tar *tar = tk_zalloc(sizeof(*tar));
    if (tar == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        tar->members[i].fd = -1;
    }
    tinkc_code code = open_member(&tar->members[0], directory, config, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = copy_member(&tar->members[0], arena, config, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = open_member(&tar->members[1], directory, weights, err);
out:
    if (code != TINKC_OK) {
        srv_tar_free(tar);
        return code;
    }
    put_member(tar, config, time_us);
    put_member(tar, weights, time_us);
    put_member(tar, "checkpoint_complete", time_us);
    tar->size += 2 * (int64_t)BLOCK;
    *out = tar;
    return TINKC_OK;
}

void srv_tar_free(void *user)
{
    srv_tar *tar = user;
    for (size_t i = 0; tar != NULL && i < MEMBERS; i++) {
        if (tar->members[i].fd >= 0) {
            (void)close(tar->members[i].fd);
        }
    }
    tk_free(tar);
}

int64_t srv_tar_size(const srv_tar *tar)
{
    return tar->size;
}

/* ---- read ---- */

long srv_tar_read(void *user, int64_t at, char *out, size_t max)
{
    const srv_tar *tar = user;
    int64_t zeros = tar->size - at; /* up to the end, unless a member follows */
    for (size_t i = tar->n; i-- > 0;) {
        const member *m = &tar->members[i];
        int64_t in = at - m->begin;
        if (in < 0) {
            zeros = m->begin - at;
            continue;
        }
        if (in < BLOCK) {
            size_t n = TK_MIN((size_t)(BLOCK - in), max);
            memcpy(out, (const char *)&m->head + in, n);
            return (long)n;
        }
        if (in < BLOCK + m->size) {
            size_t n = (size_t)TK_MIN(BLOCK + m->size - in, (int64_t)max);
            if (m->copy == NULL) {
                return read_file(m, in - BLOCK, out, n);
            }
            memcpy(out, m->copy + (in - BLOCK), n);
            return (long)n;
        }
        break;
    }
    size_t n = (size_t)TK_MIN(zeros, (int64_t)max);
    memset(out, 0, n);
    return (long)n;
}
