/* Directories of checkpoints: flat folders of files that the server wrote, and a label
 * (srv_label.h), which is not counted as one of them. Blocking. Thread: any. */
#ifndef SERVER_SRV_FILES_H
#define SERVER_SRV_FILES_H

#include "base/err.h"
#include "base/tk.h"

/* Makes the directories above `path` that are missing, for this user only, each synced
 * into its parent. */
TK_NODISCARD tinkc_code srv_files_make_parent(const char *path, tk_err *err);

/* Returns the bytes of the files in a directory; 0 when it cannot be read. */
int64_t srv_files_size(const char *directory);

/* Makes `to`, with its parents, a directory of hard links to the files of `from`, without
 * its label. They survive a crash once it has returned. `to` is removed on failure. */
TK_NODISCARD tinkc_code srv_files_link_dir(const char *from, const char *to, tk_err *err);

/* Whether two directories hold the same files (not just equal bytes): one is a copy of
 * the other by srv_files_link_dir. False when either cannot be read. */
bool srv_files_is_linked(const char *a, const char *b);

/* Closes a directory and its files to other users: 0700 and 0600. What cannot be changed
 * stays as it is. */
void srv_files_tighten(const char *directory);

/* Removes a directory with its files, its label after all others: what could not be
 * removed still shows whose it is. It is left for the next start. */
void srv_files_remove_dir(const char *directory);

#endif
