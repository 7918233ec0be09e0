/* See docs/internals/server.md for what is in a data directory. */
#include "server/store/srv_data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/date.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/store/srv_files.h"
#include "wire/schema.h"

#define VERSION        1
#define MARK_MAX_BYTES (64 * TK_KIB)

/* ---- the mark ---- */

typedef struct mark {
    int64_t version;
    tk_str instance;
} mark;

#define T mark
static const tk_field mark_rows[] = {
    {TK_LITERAL("type", "tinkc_data")},
    {TK_BARE(T, version, I64, TK_REQUIRED)},
    {TK_BARE(T, instance, STR, TK_REQUIRED)},
};
#undef T

static const tk_schema mark_schema = {TK_SCHEMA(mark, "DataMark", mark_rows)};

tinkc_code srv_data_write_mark(const char *directory, const char *instance, tk_err *err)
{
    const mark doc = {VERSION, tk_str_of(instance)};
    tk_buf text;
    tk_buf_init(&text, MARK_MAX_BYTES);
    char *path = tk_file_join(directory, SRV_DATA_MARK_FILE);
    tinkc_code code = path != NULL ? tk_schema_encode(&text, &mark_schema, &doc, err)
                                   : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = tk_file_replace(path, text.p, text.n, 0600, err);
    }
    tk_free(path);
    tk_buf_dispose(&text);
    return code;
}

static tinkc_code parse_mark(char instance[SRV_DATA_INSTANCE_SIZE], tk_str text,
                             tk_err *err)
{
    mark doc;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tinkc_code code =
        tk_schema_decode_text(&doc, &mark_schema, &arena, text, TK_DECODE_CLOSED, err);
    if (code == TINKC_OK && doc.version > VERSION) {
        code = tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the data directory belongs to a newer version of tinkc");
    }
    if (code == TINKC_OK) {
        (void)snprintf(instance, SRV_DATA_INSTANCE_SIZE, TK_STR_FMT,
                       TK_STR_ARG(doc.instance));
    }
    tk_arena_dispose(&arena);
    return code;
}

tinkc_code srv_data_read_mark(char instance[SRV_DATA_INSTANCE_SIZE],
                              const char *directory, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    char *path = tk_file_join(directory, SRV_DATA_MARK_FILE);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_file_read(&text, &n, path, MARK_MAX_BYTES, err);
    tk_free(path);
    if (code == TINKC_OK) {
        code = parse_mark(instance, (tk_str){text, n}, err);
    }
    tk_free(text);
    return code;
}

/* ---- whose it is ---- */

/* What a directory without a mark may have and still be new: what programs that look for a
 * server put there, and what a new file system has. */
static const char *const nothing[] = {"lock",           "users",         "tinkc.key",
                                      "local.log",      "lost+found",    "console.db",
                                      "console.db-wal", "console.db-shm"};

/* Earlier versions wrote no mark: their database, also an empty one, is one. */
static tinkc_code find_database(bool *found, const char *data, tk_err *err)
{
    struct stat st;
    char *path = tk_file_join(data, SRV_DATA_DATABASE);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    *found = lstat(path, &st) == 0 && S_ISREG(st.st_mode);
    tk_free(path);
    return TINKC_OK;
}

static tinkc_code check_owner(const char *data, tk_err *err)
{
    char instance[SRV_DATA_INSTANCE_SIZE], stranger[256];
    bool is_old = false;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = srv_data_read_mark(instance, data, &why);
    if (code == TINKC_OK) {
        return TINKC_OK;
    }
    tinkc_code looked = find_database(&is_old, data, err);
    if (looked != TINKC_OK || is_old) {
        return looked;
    }
    if (code == TINKC_E_NOMEM || code == TINKC_E_UNSUPPORTED) {
        return tk_err_set(err, code, "%s", why.message);
    }
    code = tk_file_find_other(stranger, data, nothing, TK_ARRAY_LEN(nothing), err);
    if (code == TINKC_OK && stranger[0] != '\0') {
        code = tk_err_set(err, TINKC_E_CONFIG,
                          "%s is not a data directory of tinkc: it holds %s, and no %s; "
                          "use a new or an empty directory",
                          data, stranger, SRV_DATA_MARK_FILE);
    }
    return code;
}

tinkc_code srv_data_claim(const char *data, tk_log *log, tk_err *err)
{
    struct stat st;
    tinkc_code code = tk_file_mkdirs(data, 0700, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_owner(data, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (stat(data, &st) == 0 && (st.st_mode & 077) != 0 && chmod(data, 0700) != 0) {
        tk_err why = TK_ERR_INIT;
        (void)tk_err_sys(&why, errno, "other users of this machine may read %s", data);
        tk_log_write(log, TINKC_LOG_WARN, "server", "%s", why.message);
    }
out:
    return code;
}

/* ---- aside ---- */

/* "aside/20261117T182233.123456Z" */
static void name_aside(char out[64])
{
    char date[TK_DATE_TEXT_BYTES] = "";
    size_t n = (size_t)snprintf(out, 64, "aside/");
    (void)!tk_date_format_micros(date, tk_clock_wall_us(NULL));
    for (const char *at = date; *at != '\0' && n + 1 < 64; at++) {
        if (*at != '-' && *at != ':') {
            out[n++] = *at;
        }
    }
    out[n] = '\0';
}

/* Renames, with the parents of the target made and both directories synced. */
static tinkc_code move(const char *from, const char *to, tk_err *err)
{
    char *parent = tk_file_parent(from);
    char *target = tk_file_parent(to);
    tinkc_code code = parent != NULL && target != NULL ? srv_files_make_parent(to, err)
                                                       : tk_err_nomem(err);
    if (code == TINKC_OK && rename(from, to) != 0) {
        code = tk_err_sys(err, errno, "move %s", from);
    }
    if (code == TINKC_OK) {
        code = tk_file_sync_directory(target, err);
    }
    if (code == TINKC_OK) {
        code = tk_file_sync_directory(parent, err);
    }
    tk_free(parent);
    tk_free(target);
    return code;
}

tinkc_code srv_data_set_aside(const char *data, const char *name, const char *why,
                              tk_log *log, tk_err *err)
{
    char folder[64];
    name_aside(folder);
    char *below = tk_file_join(folder, name);
    char *from = tk_file_join(data, name);
    char *to = below != NULL ? tk_file_join(data, below) : NULL;
    tinkc_code code =
        from != NULL && to != NULL ? move(from, to, err) : tk_err_nomem(err);
    if (code == TINKC_OK) {
        tk_log_write(log, TINKC_LOG_WARN, "server", "moved %s to %s: %s", name, below,
                     why);
    }
    tk_free(below);
    tk_free(from);
    tk_free(to);
    return code;
}
