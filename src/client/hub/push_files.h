/* The files of a checkpoint that go to the hub: found below a directory, chosen by
 * patterns, and what the hub wants to know of each. Blocking; thread: any but the
 * loop's. */
#ifndef CLIENT_PUSH_FILES_H
#define CLIENT_PUSH_FILES_H

#include <tinkc/push.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"

#define TK_PUSH_SAMPLE_BYTES 512

typedef struct tk_push_file {
    const char *name; /* below the directory, with "/" */
    const char *path;
    uint64_t size;
    char sha256[TK_SHA256_HEX_BYTES]; /* "": not computed */
    bool is_large;                    /* goes to the storage, not into the commit */
    bool is_left_out;                 /* the hub has it, or ignores it */
    bool is_stored;                   /* large, and there */
} tk_push_file;

typedef struct tk_push_files {
    tk_arena arena;
    tk_push_file *items; /* sorted by the parts of their names */
    size_t n, capacity;
} tk_push_files;

/* Every regular file below `folder` that the patterns of the options let through.
 * TINKC_E_INVALID when none is left. On failure too, there is something to dispose of. */
TK_NODISCARD tinkc_code tk_push_files_find(tk_push_files *out, const char *folder,
                                           const tinkc_push_options *options,
                                           tk_err *err);
void tk_push_files_dispose(tk_push_files *files);

/* The first bytes; *n is how many. */
TK_NODISCARD tinkc_code tk_push_file_sample(unsigned char sample[TK_PUSH_SAMPLE_BYTES],
                                            size_t *n, const tk_push_file *file,
                                            tk_err *err);

/* All of it, in pieces of a multiple of three bytes but the last one. TINKC_E_IO when the
 * file has another size now, or the error of `take`. */
typedef tinkc_code (*tk_push_take_fn)(void *user, const char *p, size_t n, tk_err *err);
TK_NODISCARD tinkc_code tk_push_file_read(const tk_push_file *file, tk_push_take_fn take,
                                          void *user, tk_err *err);

/* Fills sha256. `tick` with each piece; false: TINKC_E_CANCELLED. */
TK_NODISCARD tinkc_code tk_push_file_hash(tk_push_file *file, bool (*tick)(void *user),
                                          void *user, tk_err *err);

/* The name under which git knows the content of a small file: SHA-1, as hex. */
#define TK_PUSH_GIT_BYTES 41
TK_NODISCARD tinkc_code tk_push_file_git(char out[TK_PUSH_GIT_BYTES],
                                         const tk_push_file *file, tk_err *err);

#endif
