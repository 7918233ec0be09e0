/* Whole files, replaced atomically, and directories. Blocking: not for the loop thread.
 *
 * Errors: TINKC_E_MISSING when something named is not there, TINKC_E_LIMIT above a cap,
 * TINKC_E_NOMEM, TINKC_E_IO otherwise; the text names the path. Thread: any. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/tk.h"

/* All bytes of a regular file of at most max_bytes, followed by a NUL; the caller frees
 * *data with tk_free. n_out may be NULL when the content is text. */
TK_NODISCARD tinkc_code tk_file_read(char **data, size_t *n_out, const char *path,
                                     size_t max_bytes, tk_err *err);

/* Writes a file so that a reader, also after a crash, sees the old content or the new,
 * never a part: a temporary file in the same directory, fsync, rename, fsync of the
 * directory. `mode` is subject to the umask, as with open(2). A symbolic link at `path`
 * is replaced, not followed. On failure the old file is as it was, unless only the last
 * step failed, and no temporary file is left. */
TK_NODISCARD tinkc_code tk_file_replace(const char *path, const void *data, size_t n,
                                        mode_t mode, tk_err *err);

/* Replaces a file like tk_file_replace, with the content given in pieces. commit and
 * abort free the writer; nothing exists at `path` before the commit. */
typedef struct tk_file_writer tk_file_writer;

TK_NODISCARD tinkc_code tk_file_writer_new(tk_file_writer **out, const char *path,
                                           mode_t mode, tk_err *err);
TK_NODISCARD tinkc_code tk_file_writer_put(tk_file_writer *writer, const void *data,
                                           size_t n, tk_err *err);
TK_NODISCARD tinkc_code tk_file_writer_commit(tk_file_writer *writer, tk_err *err);
void tk_file_writer_abort(tk_file_writer *writer); /* accepts NULL */

/* A commit that does not wait for the disk: for what can be made again, because a crash
 * of the machine may leave an empty file. Frees the writer. */
TK_NODISCARD tinkc_code tk_file_writer_publish(tk_file_writer *writer, tk_err *err);

/* Makes the directory and all that are missing above it; one that is there is fine. */
TK_NODISCARD tinkc_code tk_file_mkdirs(const char *path, mode_t mode, tk_err *err);

/* The directory that holds `path`: "." when it has no slash. The caller frees it with
 * tk_free; NULL when out of memory. */
TK_NODISCARD char *tk_file_parent(const char *path);

/* fsync of a directory: makes what was renamed in it last. Allocates nothing. */
TK_NODISCARD tinkc_code tk_file_sync_directory(const char *path, tk_err *err);

/* "dir/name" with exactly one slash between them; `name` alone when dir is "". The caller
 * frees it with tk_free; NULL when out of memory. Neither is checked for ".." . */
TK_NODISCARD char *tk_file_join(const char *dir, const char *name);

/* Finds an entry of a directory that is none of `known`, nor "." or "..": its name, cut to
 * 255 bytes, or "" when there is none. */
TK_NODISCARD tinkc_code tk_file_find_other(char found[256], const char *dir,
                                           const char *const *known, size_t n,
                                           tk_err *err);

#endif
