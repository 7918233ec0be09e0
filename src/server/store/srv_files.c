/* Symbolic links are never followed: the name itself is removed. */
#include "server/store/srv_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "server/store/srv_label.h"

static tinkc_code make_lasting(const char *path, tk_err *err);

/* Makes a directory and syncs its parent: without that a crash may undo it. */
static tinkc_code make_one(const char *path, const char *parent, tk_err *err)
{
    struct stat st;
    int errnum = mkdir(path, 0700) == 0 ? 0 : errno;
    if (errnum == ENOENT && strcmp(path, parent) != 0) {
        tinkc_code code = make_lasting(parent, err);
        if (code != TINKC_OK) {
            return code;
        }
        errnum = mkdir(path, 0700) == 0 ? 0 : errno;
    }
    if (errnum == 0) {
        tinkc_code code = tk_file_sync_directory(parent, err);
        if (code != TINKC_OK) {
            (void)rmdir(path);
        }
        return code;
    }
    if (errnum == EEXIST) {
        errnum = stat(path, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    }
    return errnum == 0 ? TINKC_OK : tk_err_sys(err, errnum, "make directory %s", path);
}

/* Makes a directory and those that are missing above it. */
static tinkc_code make_lasting(const char *path, tk_err *err)
{
    char *parent = tk_file_parent(path);
    tinkc_code code = parent != NULL ? make_one(path, parent, err) : tk_err_nomem(err);
    tk_free(parent);
    return code;
}

tinkc_code srv_files_make_parent(const char *path, tk_err *err)
{
    char *parent = tk_file_parent(path);
    tinkc_code code = parent != NULL ? make_lasting(parent, err) : tk_err_nomem(err);
    tk_free(parent);
    return code;
}

static bool is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static bool is_label(const struct dirent *entry)
{
    return strcmp(entry->d_name, SRV_LABEL_FILE) == 0 ||
           strcmp(entry->d_name, SRV_LABEL_DELETED_FILE) == 0;
}

/* Whether it is a file of the checkpoint itself, and not a label, which another thread may
 * be writing under a name that begins like that of the label. */
static bool is_member(const struct dirent *entry)
{
    return is_entry(entry) && !is_label(entry) &&
           strncmp(entry->d_name, SRV_LABEL_FILE, sizeof(SRV_LABEL_FILE) - 1) != 0;
}

int64_t srv_files_size(const char *directory)
{
    int64_t total = 0;
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct stat st;
        if (is_member(entry) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode)) {
            total += st.st_size;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return total;
}

void srv_files_tighten(const char *directory)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    if (dir == NULL) {
        return;
    }
    (void)!fchmod(dirfd(dir), 0700);
    while ((entry = readdir(dir)) != NULL) {
        struct stat st;
        if (is_entry(entry) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && (st.st_mode & 077) != 0) {
            (void)!fchmodat(dirfd(dir), entry->d_name, 0600, 0);
        }
    }
    (void)closedir(dir);
}

/* Removes the entries of a directory, its labels or all others; returns false when one is
 * left. */
static bool remove_entries(DIR *dir, bool labels)
{
    const struct dirent *entry;
    bool all = true;
    rewinddir(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (is_entry(entry) && is_label(entry) == labels) {
            all = (unlinkat(dirfd(dir), entry->d_name, 0) == 0 || errno == ENOENT) && all;
        }
    }
    return all;
}

void srv_files_remove_dir(const char *directory)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return;
    }
    if (remove_entries(dir, false)) {
        (void)remove_entries(dir, true);
    }
    (void)closedir(dir);
    (void)rmdir(directory);
}

/* Files that are not there any more are those of a directory that is being removed. */
static tinkc_code link_files(DIR *from, int to, tk_err *err)
{
    const struct dirent *entry;
    size_t n = 0;
    int errnum = 0;
    while (errnum == 0 && (entry = readdir(from)) != NULL) {
        if (is_member(entry)) {
            bool linked = linkat(dirfd(from), entry->d_name, to, entry->d_name, 0) == 0;
            errnum = linked ? 0 : errno;
            n++;
        }
    }
    if (errnum == ENOENT || n == 0) {
        return tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found");
    }
    return errnum == 0 ? TINKC_OK : tk_err_sys(err, errnum, "cannot link a file");
}

tinkc_code srv_files_link_dir(const char *from, const char *to, tk_err *err)
{
    tinkc_code code = make_lasting(to, err);
    if (code != TINKC_OK) {
        return code;
    }
    DIR *source = opendir(from);
    int target = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    code = source != NULL && target >= 0 ? link_files(source, target, err)
                                         : tk_err_sys(err, errno, "%s", from);
    if (target >= 0) {
        (void)close(target);
    }
    if (source != NULL) {
        (void)closedir(source);
    }
    if (code == TINKC_OK) {
        code = tk_file_sync_directory(to, err);
    }
    if (code != TINKC_OK) {
        srv_files_remove_dir(to);
    }
    return code;
}

/* Returns how many entries `a` has; -1 when one of them is not the same file in `b`. */
static int64_t count_linked(DIR *a, DIR *b)
{
    const struct dirent *entry;
    int64_t n = 0;
    while ((entry = readdir(a)) != NULL) {
        struct stat x, y;
        if (!is_member(entry)) {
            continue;
        }
        if (fstatat(dirfd(a), entry->d_name, &x, AT_SYMLINK_NOFOLLOW) != 0 ||
            fstatat(dirfd(b), entry->d_name, &y, AT_SYMLINK_NOFOLLOW) != 0 ||
            x.st_ino != y.st_ino || x.st_dev != y.st_dev) {
            return -1;
        }
        n++;
    }
    return n;
}

bool srv_files_is_linked(const char *a, const char *b)
{
    DIR *first = opendir(a);
    DIR *second = opendir(b);
    bool same = false;
    if (first != NULL && second != NULL) {
        int64_t n = count_linked(first, second);
        same = n >= 0 && count_linked(second, first) == n;
    }
    if (first != NULL) {
        (void)closedir(first);
    }
    if (second != NULL) {
        (void)closedir(second);
    }
    return same;
}
