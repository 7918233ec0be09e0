/* Reads the limits where Linux shows them. A group that cannot be read does not count: in
 * a container its path may be one of the host. */
#include "httpd/hd_ram.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"

/* Returns the file's first bytes, as far as they fit. */
static tk_str read_start(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size) : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return (tk_str){out, n > 0 ? (size_t)n : 0};
}

static size_t read_limit(const char *path)
{
    char text[64];
    uint64_t limit = 0;
    tk_str start = read_start(path, text, sizeof(text));
    if (!tk_str_to_u64(tk_str_trim(start), &limit) || limit == 0 || limit > SIZE_MAX) {
        return SIZE_MAX; /* "max" */
    }
    return (size_t)limit;
}

/* The limits of a group and of its ancestors. */
static size_t walk(const char *mount, const char *file, tk_str group)
{
    size_t least = SIZE_MAX;
    for (;;) {
        char path[1024];
        int n = snprintf(path, sizeof(path), "%s" TK_STR_FMT "/%s", mount,
                         TK_STR_ARG(group), file);
        if (n > 0 && (size_t)n < sizeof(path)) {
            least = TK_MIN(least, read_limit(path));
        }
        if (group.n == 0) {
            return least;
        }
        do {
            group.n--;
        } while (group.n > 0 && group.p[group.n] != '/');
    }
}

static bool has_memory(tk_str controllers)
{
    while (controllers.n > 0) {
        if (tk_str_is(tk_str_cut(&controllers, ','), "memory")) {
            return true;
        }
    }
    return false;
}

size_t hd_ram_limit(const char *root, tk_str groups)
{
    char v1[512];
    size_t least = SIZE_MAX;
    (void)snprintf(v1, sizeof(v1), "%s/memory", root);
    while (groups.n > 0) {
        tk_str group = tk_str_cut(&groups, '\n');
        (void)tk_str_cut(&group, ':'); /* its number */
        tk_str controllers = tk_str_cut(&group, ':');
        if (controllers.n == 0 && group.n > 0) {
            least = TK_MIN(least, walk(root, "memory.max", group));
        } else if (has_memory(controllers)) {
            least = TK_MIN(least, walk(v1, "memory.limit_in_bytes", group));
        }
    }
    return least;
}

size_t hd_ram_bytes(void)
{
    char text[4096];
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    size_t memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : TK_GIB;
    tk_str groups = read_start("/proc/self/cgroup", text, sizeof(text));
    return TK_MIN(memory, hd_ram_limit("/sys/fs/cgroup", groups));
}
