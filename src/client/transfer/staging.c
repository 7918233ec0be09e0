/* The lock is flock(2) on the directory itself: it belongs to the open descriptor, so
 * that it also holds between threads, and ends with the process. After taking it, the
 * code checks again that the name still is the locked directory: its maker may have
 * renamed it, a sweep may have removed it. */
#include "client/transfer/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"

#define SUFFIX     ".tinkc-part-"
#define RANDOM     "XXXXXX"
#define TRIES_MAX  16
#define TREE_DEPTH (TK_UNPACK_MAX_DEPTH + 2)
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- removing ---- */

/* Removes what lies in the open directory; takes the descriptor. */
static void empty_folder(int fd, int depth)
{
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        close(fd);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            continue;
        }
        if (unlinkat(dirfd(folder), name, 0) == 0 || depth == 0) {
            continue;
        }
        int next = openat(dirfd(folder), name, OPEN_FLAGS);
        if (next >= 0) {
            empty_folder(next, depth - 1);
            (void)unlinkat(dirfd(folder), name, AT_REMOVEDIR);
        }
    }
    (void)closedir(folder);
}

void tk_staging_remove_tree(const char *path)
{
    int fd = open(path, OPEN_FLAGS);
    if (fd >= 0) {
        empty_folder(fd, TREE_DEPTH);
        (void)rmdir(path);
    } else {
        (void)unlink(path);
    }
}

/* ---- the lock ---- */

/* False, with errno: it cannot be opened, or a sweep was faster than we and takes it
 * away. Without locks there are no sweeps either. */
static bool lock_new(tk_staging *stage)
{
    struct stat info;
    int fd = open(stage->path, OPEN_FLAGS);
    bool is_taken = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd < 0 || is_taken || lstat(stage->path, &info) != 0) {
        int why = errno;
        if (fd >= 0) {
            close(fd);
        } else {
            (void)rmdir(stage->path);
        }
        errno = why;
        return false;
    }
    stage->lock = fd;
    return true;
}

tinkc_code tk_staging_make(tk_staging *out, const char *parent, const char *name,
                           tk_err *err)
{
    size_t n = strlen(parent) + 1 + strlen(name) + sizeof(SUFFIX RANDOM);
    tk_staging made = {.path = tk_malloc(n), .lock = -1};
    if (made.path == NULL) {
        return tk_err_nomem(err);
    }
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        (void)snprintf(made.path, n, "%s/%s" SUFFIX RANDOM, parent, name);
        if (mkdtemp(made.path) == NULL) {
            break;
        }
        if (lock_new(&made)) {
            *out = made;
            return TINKC_OK;
        }
    }
    tinkc_code code = tk_err_sys(err, errno, "%s", made.path);
    tk_free(made.path);
    return code;
}

void tk_staging_end(tk_staging *stage, bool remove)
{
    if (stage->path == NULL) {
        return;
    }
    if (remove) {
        tk_staging_remove_tree(stage->path);
    }
    close(stage->lock);
    tk_free(stage->path);
    *stage = (tk_staging){.lock = -1};
}

/* ---- those of the dead ---- */

static bool is_stage_of(const char *entry, const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t n = strlen(name);
    if (strncmp(entry, name, n) != 0 ||
        strncmp(entry + n, SUFFIX, sizeof(SUFFIX) - 1) != 0) {
        return false;
    }
    const char *rest = entry + n + sizeof(SUFFIX) - 1;
    return strlen(rest) == sizeof(RANDOM) - 1 && strspn(rest, letters) == strlen(rest);
}

/* Whether the name still means the open directory. */
static bool is_same(int folder, const char *name, int fd)
{
    struct stat named, opened;
    return fstat(fd, &opened) == 0 &&
           fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* The lock is held until the name is gone: its maker, should it only just have been made,
 * then finds nothing that it could take for its own. */
static void remove_stale(int folder, const char *entry, const char *keep)
{
    struct stat info;
    int fd = openat(folder, entry, OPEN_FLAGS);
    if (fd < 0) {
        return;
    }
    bool is_stale = flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same(folder, entry, fd) &&
                    (keep == NULL || fstatat(fd, keep, &info, AT_SYMLINK_NOFOLLOW) != 0);
    int inside = is_stale ? openat(fd, ".", OPEN_FLAGS) : -1;
    if (inside >= 0) {
        empty_folder(inside, TREE_DEPTH);
        (void)unlinkat(folder, entry, AT_REMOVEDIR);
    }
    close(fd);
}

void tk_staging_sweep(const char *parent, const char *name, const char *keep)
{
    DIR *folder = opendir(parent);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (is_stage_of(entry->d_name, name)) {
            remove_stale(dirfd(folder), entry->d_name, keep);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}
