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
#define OCTAL_MAX INT64_C(077777777777) /* what eleven digits hold */

typedef struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type[1],
        linkname[100], magic[6], version[2], uname[32], gname[32], devmajor[8],
        devminor[8], prefix[155], padding[12];
} header;

typedef struct member {
    header head;
    int fd;        /* -1 = no bytes */
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

static int64_t round_up(int64_t size)
{
    return (size + BLOCK - 1) / BLOCK * BLOCK;
}

/* Adds a member; without a directory it is empty. */
static tinkc_code add(srv_tar *tar, const char *directory, const char *name,
                      int64_t time_us, tk_err *err)
{
    member *m = &tar->members[tar->n];
    struct stat st = {.st_size = 0};
    m->fd = -1;
    if (directory != NULL) {
        char *path = tk_file_join(directory, name);
        if (path == NULL) {
            return tk_err_nomem(err);
        }
        m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        int errnum = errno;
        tk_free(path);
        if (m->fd < 0) {
            return errnum == ENOENT
                       ? tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found")
                       : tk_err_sys(err, errnum, "cannot read %s", name);
        }
    }
    tar->n++; /* the file is closed with the tar from here on */
    if (m->fd >= 0 && (fstat(m->fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        return tk_err_set(err, TINKC_E_IO, "cannot read %s", name);
    }
    m->begin = tar->size;
    m->size = st.st_size;
    fill_header(&m->head, name, m->size, time_us);
    tar->size += BLOCK + round_up(m->size);
    return TINKC_OK;
}

tinkc_code srv_tar_open(srv_tar **out, const char *directory, int64_t time_us,
                        tk_err *err)
{
    srv_tar *tar = tk_zalloc(sizeof(*tar));
    if (tar == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = add(tar, directory, "adapter_config.json", time_us, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = add(tar, directory, "adapter_model.safetensors", time_us, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = add(tar, NULL, "checkpoint_complete", time_us, err);
out:
    if (code != TINKC_OK) {
        srv_tar_free(tar);
        return code;
    }
    tar->size += 2 * (int64_t)BLOCK;
    *out = tar;
    return TINKC_OK;
}

void srv_tar_free(void *user)
{
    srv_tar *tar = user;
    for (size_t i = 0; tar != NULL && i < tar->n; i++) {
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

static long read_file(const member *m, int64_t at, char *out, size_t max)
{
    ssize_t n;
    do {
        n = pread(m->fd, out, max, (off_t)at);
    } while (n < 0 && errno == EINTR);
    return n > 0 ? (long)n : -1;
}

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
            int64_t left = BLOCK + m->size - in;
            return read_file(m, in - BLOCK, out, (size_t)TK_MIN(left, (int64_t)max));
        }
        break;
    }
    size_t n = (size_t)TK_MIN(zeros, (int64_t)max);
    memset(out, 0, n);
    return (long)n;
}
