/* Directories of checkpoints: flat folders of files that the server wrote. Blocking.
 * Thread: any. */
#ifndef SERVER_SRV_FILES_H
#define SERVER_SRV_FILES_H

#include "base/err.h"
#include "base/tk.h"

/* Makes the directories above `path` that are missing, each synced into its parent. */
TK_NODISCARD tinkc_code srv_files_make_parent(const char *path, tk_err *err);

/* Returns the bytes of the files in a directory; 0 when it cannot be read. */
int64_t srv_files_size(const char *directory);

/* Makes `to`, with its parents, a directory of hard links to the files of `from`. They
 * survive a crash once it has returned. `to` is removed on failure. */
TK_NODISCARD tinkc_code srv_files_link_dir(const char *from, const char *to, tk_err *err);

/* Whether two directories hold the same files (not just equal bytes): one is a copy of
 * the other by srv_files_link_dir. False when either cannot be read. */
bool srv_files_is_linked(const char *a, const char *b);

/* Removes a directory with its files. What cannot be removed is left for the next
 * start. */
void srv_files_remove_dir(const char *directory);

#endif
