/* The directory of the log: whose it is, one process at a time, which files it has.
 *
 * It carries the file gateway.json. One that is not empty and has no such file is refused
 * before anything is written to it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "gateway/gw_log_int.h"

#define MARK_FILE      "gateway.json"
#define MARK_TEXT      "{\"tinkc\": \"gateway\", \"version\": 1}\n"
#define MARK_VERSION   1
#define MARK_MAX_BYTES 4096

char *gw_log_path(const gw_log *log, uint32_t number)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "episodes-%08u.log", (unsigned)number);
    return tk_file_join(log->dir, name);
}

/* Takes "episodes-00000001.log" apart. */
static bool read_name(uint32_t *out, const char *name)
{
    tk_str rest = tk_str_of(name);
    int digits = 0;
    if (!tk_str_has_prefix(rest, "episodes-")) {
        return false;
    }
    rest = (tk_str){rest.p + 9, rest.n - 9};
    if (!tk_str_take_digits(&digits, &rest, 8) || !tk_str_is(rest, ".log")) {
        return false;
    }
    *out = (uint32_t)digits;
    return true;
}

/* ---- whose it is ---- */

/* What a directory without a mark may have and still be new. */
static const char *const nothing[] = {"lock", "lost+found"};

static tinkc_code find_stranger(char found[256], const char *path, tk_err *err)
{
    return tk_file_find_other(found, path, nothing, TK_ARRAY_LEN(nothing), err);
}

static tinkc_code read_mark(tk_str text, const char *path, tk_err *err)
{
    tk_arena arena;
    const tk_json *root = NULL;
    int64_t version = 0;
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = tk_json_parse(&root, &arena, text.p, text.n, NULL, err);
    if (code == TINKC_OK && (tk_json_get(root, "tinkc") == NULL ||
                             !tk_json_to_i64(tk_json_get(root, "version"), &version))) {
        code = tk_err_set(err, TINKC_E_CONFIG, "%s is not a mark of tinkc", path);
    }
    if (code == TINKC_OK && version > MARK_VERSION) {
        code = tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "%s: a newer version of tinkc wrote this directory", path);
    }
    tk_arena_dispose(&arena);
    return code;
}

static tinkc_code check_mark(gw_log *log, const char *path, tk_err *err)
{
    char *text = NULL, stranger[256];
    size_t n = 0;
    tk_err local = TK_ERR_INIT;
    tinkc_code code = tk_file_read(&text, &n, path, MARK_MAX_BYTES, &local);
    if (code == TINKC_OK) {
        code = read_mark((tk_str){text, n}, path, err);
        tk_free(text);
        return code;
    }
    if (code != TINKC_E_MISSING) {
        return tk_err_set(err, code, "%s", local.message);
    }
    code = find_stranger(stranger, log->dir, err);
    if (code == TINKC_OK && stranger[0] != '\0') {
        code = tk_err_set(err, TINKC_E_CONFIG,
                          "%s is not a directory of the gateway: it holds %s, and no %s; "
                          "use a new or an empty directory",
                          log->dir, stranger, MARK_FILE);
    }
    if (code == TINKC_OK) {
        code = tk_file_replace(path, MARK_TEXT, strlen(MARK_TEXT), 0600, err);
    }
    return code;
}

static tinkc_code take_lock(gw_log *log, tk_err *err)
{
    char *path = tk_file_join(log->dir, "lock");
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = TINKC_OK;
    log->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (log->lock_fd < 0) {
        code = tk_err_sys(err, errno, "%s", path);
    } else if (flock(log->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        code = errno == EWOULDBLOCK
                   ? tk_err_set(err, TINKC_E_STATE,
                                "another gateway uses the directory %s", log->dir)
                   : tk_err_sys(err, errno, "%s: its file system has no locks", path);
    }
    tk_free(path);
    return code;
}

tinkc_code gw_log_claim(gw_log *log, tk_err *err)
{
    struct stat st;
    char *mark = tk_file_join(log->dir, MARK_FILE);
    tinkc_code code =
        mark != NULL ? tk_file_mkdirs(log->dir, 0700, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (access(mark, F_OK) != 0) { /* nothing is written to a foreign directory */
        char stranger[256];
        code = find_stranger(stranger, log->dir, err);
        if (code == TINKC_OK && stranger[0] != '\0') {
            code = check_mark(log, mark, err);
        }
    }
    if (code != TINKC_OK) {
        goto out;
    }
    code = take_lock(log, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_mark(log, mark, err);
    if (code == TINKC_OK && stat(log->dir, &st) == 0 && (st.st_mode & 077) != 0 &&
        chmod(log->dir, 0700) != 0) {
        tk_log_write(log->log, TINKC_LOG_WARN, "gateway",
                     "other users of this machine may read %s", log->dir);
    }
out:
    tk_free(mark);
    return code;
}

/* ---- its files ---- */

tinkc_code gw_log_add_segment(gw_log *log, const gw_segment *segment, tk_err *err)
{
    if (log->n >= TK_GW_SEGMENTS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "%s has too many files", log->dir);
    }
    if (log->n == log->cap) {
        size_t cap = log->cap * 2 + 8;
        gw_segment *more = tk_realloc_array(log->segments, cap, sizeof(*more));
        if (more == NULL) {
            return tk_err_nomem(err);
        }
        log->segments = more;
        log->cap = cap;
    }
    size_t at = log->n++;
    while (at > 0 && log->segments[at - 1].number > segment->number) {
        log->segments[at] = log->segments[at - 1];
        at--;
    }
    log->segments[at] = *segment;
    return TINKC_OK;
}

tinkc_code gw_log_list(gw_log *log, tk_err *err)
{
    DIR *dir = opendir(log->dir);
    const struct dirent *entry;
    tinkc_code code = TINKC_OK;
    if (dir == NULL) {
        return tk_err_sys(err, errno, "%s", log->dir);
    }
    errno = 0;
    while (code == TINKC_OK && (entry = readdir(dir)) != NULL) {
        gw_segment segment = {.number = 0};
        if (read_name(&segment.number, entry->d_name)) {
            code = gw_log_add_segment(log, &segment, err);
        }
        errno = 0;
    }
    int errnum = errno;
    (void)closedir(dir);
    return code != TINKC_OK || errnum == 0 ? code
                                           : tk_err_sys(err, errnum, "%s", log->dir);
}
