/* A tar archive from a stream into a directory, with libarchive. Only regular files and
 * directories below the directory are made; everything else in the archive is an error.
 * What was written before an error stays: the caller removes it. Blocking; thread: any
 * but the loop's. */
#ifndef CLIENT_UNPACK_H
#define CLIENT_UNPACK_H

#include "base/err.h"
#include "base/tk.h"

typedef struct tk_unpack_progress {
    uint64_t written;
    size_t files;
    const char *file; /* being written; borrowed for the call */
} tk_unpack_progress;

typedef struct tk_unpack_source {
    /* The next bytes of the archive; *n = 0 at the end. */
    tinkc_code (*read)(void *user, size_t *n, char *p, size_t size, tk_err *err);
    /* False: give up, TINKC_E_CANCELLED. */
    bool (*note)(void *user, const tk_unpack_progress *progress);
    void *user;
    uint64_t max_bytes, max_files;
} tk_unpack_source;

/* Plain, gzip, bzip2, xz or zstd. Reads the source to its end. TINKC_E_PARSE for broken
 * or cut archives, TINKC_E_DECODE for members that are not allowed, TINKC_E_LIMIT for too
 * much, TINKC_E_IO for the disk, or the source's error. */
TK_NODISCARD tinkc_code tk_unpack(const char *folder, const tk_unpack_source *source,
                                  tk_err *err);

#endif
