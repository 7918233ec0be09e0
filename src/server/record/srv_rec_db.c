/* WAL without a sync for each commit: kill -9 loses nothing that was committed, a crash of
 * the machine the last seconds; neither damages the file. */
#include "server/record/srv_rec_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "server/record/srv_rec_upgrade.h"
#include "server/store/srv_data.h"

#define VERSION 2
#define MARK    1953199939 /* application_id: "tkcC" */
#define BUSY_MS 2000

static const char schema[] =
    "CREATE TABLE runs("
    " row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,"
    " name TEXT, checkpoint TEXT, model TEXT NOT NULL, rank INTEGER NOT NULL,"
    " metadata TEXT, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " step INTEGER NOT NULL, tokens INTEGER NOT NULL, loss REAL);"
    "CREATE INDEX runs_by_time ON runs(updated_ms);"
    "CREATE TABLE metrics("
    " run INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,"
    " n INTEGER NOT NULL, last REAL, min REAL, max REAL,"
    " first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,"
    " PRIMARY KEY(run, number)) WITHOUT ROWID;"
    "CREATE TABLE points("
    " run INTEGER NOT NULL, level INTEGER NOT NULL, first INTEGER NOT NULL,"
    " step INTEGER NOT NULL, time_ms INTEGER NOT NULL, tokens INTEGER NOT NULL,"
    " data BLOB NOT NULL, PRIMARY KEY(run, level, first)) WITHOUT ROWID;"
    "CREATE TABLE checkpoints("
    " run INTEGER NOT NULL, id TEXT NOT NULL, step INTEGER NOT NULL,"
    " PRIMARY KEY(run, id)) WITHOUT ROWID;" SRV_REC_UPGRADE_TABLE
    "PRAGMA application_id = 1953199939;"
    "PRAGMA user_version = 2;";

tinkc_code srv_rec_db_number(int64_t *out, sqlite3 *db, const char *text, tk_err *err)
{
    srv_sql sql;
    *out = 0;
    srv_sql_begin(&sql, db, text);
    if (srv_sql_row(&sql)) {
        *out = srv_sql_get_i64(&sql, 0);
    }
    return srv_sql_done(&sql, err);
}

bool srv_rec_db_is_damaged(sqlite3 *db)
{
    int code = db != NULL ? sqlite3_errcode(db) & 0xFF : SQLITE_OK;
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

bool srv_rec_db_is_busy(sqlite3 *db)
{
    return db != NULL && (sqlite3_errcode(db) & 0xFF) == SQLITE_BUSY;
}

static tinkc_code make_schema(sqlite3 *db, tk_err *err)
{
    tinkc_code code = srv_sql_exec(db, "BEGIN IMMEDIATE", err);
    if (code == TINKC_OK) {
        code = srv_sql_exec(db, schema, err);
    }
    return code == TINKC_OK ? srv_sql_exec(db, "COMMIT", err) : code;
}

static tinkc_code check_schema(sqlite3 *db, bool *damaged, tk_err *err)
{
    int64_t version = 0, mark = 0, objects = 0;
    tinkc_code code = srv_rec_db_number(&version, db, "PRAGMA user_version", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_rec_db_number(&mark, db, "PRAGMA application_id", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_rec_db_number(&objects, db, "SELECT count(*) FROM sqlite_master", err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (objects == 0 && version == 0) {
        code = make_schema(db, err);
    } else if (mark != MARK) {
        *damaged = true;
        code = tk_err_set(err, TINKC_E_IO, "database: not one of tinkc");
    } else if (version > VERSION) {
        code = tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the recordings were made by a newer version of tinkc");
    } else if (version < VERSION) {
        code = srv_rec_upgrade_run(db, err);
    }
out:
    return code;
}

/* Makes the file, closed to other users; SQLite would take a few bytes of something else
 * for an empty database. */
static tinkc_code make_file(const char *path, bool *damaged, tk_err *err)
{
    static const char magic[16] = "SQLite format 3";
    char begin[sizeof(magic)];
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return tk_err_sys(err, errno, "cannot write %s", path);
    }
    bool alien = fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
                 (st.st_size > 0 &&
                  (pread(fd, begin, sizeof(begin), 0) != (ssize_t)sizeof(begin) ||
                   memcmp(begin, magic, sizeof(magic)) != 0));
    (void)!fchmod(fd, 0600);
    (void)close(fd);
    if (alien) {
        *damaged = true;
        return tk_err_set(err, TINKC_E_IO, "database: the file is not a database");
    }
    return TINKC_OK;
}

static tinkc_code connect(sqlite3 **out, const char *path, bool *damaged, tk_err *err)
{
    tinkc_code code = make_file(path, damaged, err);
    if (code != TINKC_OK) {
        return code;
    }
    int result = sqlite3_open_v2(
        path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
        NULL);
    if (result != SQLITE_OK) {
        return tk_err_set(err, TINKC_E_IO, "database: %s",
                          *out != NULL ? sqlite3_errmsg(*out) : "no memory");
    }
    (void)sqlite3_busy_timeout(*out, BUSY_MS);
    return srv_sql_exec(*out,
                        "PRAGMA auto_vacuum = INCREMENTAL;"
                        "PRAGMA journal_mode = WAL;"
                        "PRAGMA synchronous = NORMAL;"
                        "PRAGMA cache_size = -1024;"
                        "PRAGMA wal_autocheckpoint = 512;"
                        "PRAGMA journal_size_limit = 4194304;",
                        err);
}

tinkc_code srv_rec_db_open(sqlite3 **out, const char *data, bool *damaged, tk_err *err)
{
    sqlite3 *db = NULL;
    char *path = tk_file_join(data, SRV_REC_DATABASE);
    *damaged = false;
    tinkc_code code = path != NULL ? connect(&db, path, damaged, err) : tk_err_nomem(err);
    tk_free(path);
    if (code == TINKC_OK) {
        code = check_schema(db, damaged, err);
    }
    if (code == TINKC_OK) { /* whatever this SQLite does by itself */
        code = srv_sql_exec(db, "PRAGMA secure_delete = FAST", err);
    }
    if (code != TINKC_OK) {
        *damaged = *damaged || srv_rec_db_is_damaged(db);
        code = srv_rec_db_is_busy(db) ? TINKC_E_STATE : code;
        (void)sqlite3_close(db);
        return code;
    }
    *out = db;
    return TINKC_OK;
}

tinkc_code srv_rec_db_set_aside(const char *data, const char *why, tk_log *log,
                                tk_err *err)
{
    static const char *const names[] = {SRV_REC_DATABASE, SRV_REC_DATABASE "-wal",
                                        SRV_REC_DATABASE "-shm"};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(names); i++) {
        struct stat st;
        char *path = tk_file_join(data, names[i]);
        if (path == NULL) {
            code = tk_err_nomem(err);
        } else if (lstat(path, &st) == 0) {
            code = srv_data_set_aside(data, names[i], why, log, err);
        }
        tk_free(path);
    }
    return code;
}
