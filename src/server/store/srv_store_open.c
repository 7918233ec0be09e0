/* The database: its schema, its opening, and what happens to one that is damaged. It is
 * moved aside and made new, and srv_store_reconcile fills in what the labels of the
 * checkpoints hold. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/store/srv_data.h"
#include "server/store/srv_store_int.h"

#define BUSY_NS  (INT64_C(250) * TK_NS_PER_MS)  /* one call waits for another process */
#define FAILS_NS (INT64_C(1000) * TK_NS_PER_MS) /* after that the next ones do not */

#define SQLITE_MIN_BYTES 512           /* one page */
#define ROOM_BYTES       (64 * TK_KIB) /* that SQLite needs to open a database */

/* Entry i migrates a database of version i to version i + 1. Entries are only added,
 * never changed. */
static const char *const migrations[] = {
    "CREATE TABLE sessions("
    " id TEXT PRIMARY KEY, created_us INTEGER NOT NULL, tags TEXT NOT NULL,"
    " user_metadata TEXT, sdk_version TEXT, project_id TEXT) WITHOUT ROWID;"
    "CREATE TABLE runs("
    " id TEXT PRIMARY KEY, session_id TEXT NOT NULL, base_model TEXT NOT NULL,"
    " lora_rank INTEGER NOT NULL, train_unembed INTEGER NOT NULL,"
    " train_mlp INTEGER NOT NULL, train_attn INTEGER NOT NULL, user_metadata TEXT,"
    " created_us INTEGER NOT NULL, last_request_us INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX runs_by_session ON runs(session_id);"
    "CREATE INDEX runs_by_time ON runs(last_request_us);"
    "CREATE TABLE samplers("
    " id TEXT PRIMARY KEY, session_id TEXT NOT NULL, base_model TEXT NOT NULL,"
    " model_path TEXT, created_us INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX samplers_by_session ON samplers(session_id);"
    "CREATE TABLE checkpoints("
    " row INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, kind INTEGER NOT NULL,"
    " name TEXT NOT NULL, dir TEXT NOT NULL, created_us INTEGER NOT NULL,"
    " expires_us INTEGER NOT NULL, size_bytes INTEGER NOT NULL,"
    " is_public INTEGER NOT NULL, has_optimizer INTEGER NOT NULL,"
    " UNIQUE(run_id, kind, name));"
    "CREATE INDEX checkpoints_by_expiry ON checkpoints(expires_us) WHERE expires_us > 0;"
    "CREATE TABLE usage("
    " bucket_us INTEGER NOT NULL, base_model TEXT NOT NULL, session_id TEXT NOT NULL,"
    " kind INTEGER NOT NULL, amount INTEGER NOT NULL,"
    " PRIMARY KEY(bucket_us, base_model, session_id, kind)) WITHOUT ROWID;",
    ("CREATE TABLE instance(id TEXT NOT NULL);"
     "INSERT INTO instance VALUES(lower(hex(randomblob(16))));"),
    "CREATE INDEX sessions_by_time ON sessions(created_us);", /* the id comes with it */
    /* Since this version directories of checkpoints have labels (srv_label.h), which
     * srv_store_reconcile writes where they are missing. Earlier versions must not open
     * such a database: they remove directories without a row. */
    ("CREATE TABLE clock(seen_us INTEGER NOT NULL);"
     "INSERT INTO clock VALUES(0);"),
    ("ALTER TABLE checkpoints ADD COLUMN user_metadata TEXT;"
     "ALTER TABLE sessions ADD COLUMN display_name TEXT;"),
    "CREATE TABLE finished(session_id TEXT PRIMARY KEY, reason TEXT NOT NULL,"
    " detail TEXT) WITHOUT ROWID;",
    ("ALTER TABLE runs ADD COLUMN project_id TEXT;"
     "UPDATE runs SET project_id ="
     " (SELECT project_id FROM sessions WHERE id = session_id);"),
};

/* ---- another process that holds the database ---- */

/* Waits a little, once: while the database stays locked, only one call a second waits,
 * because calls wait for each other. Under the lock. */
static int on_busy(void *user, int tries)
{
    srv_store *store = user;
    int64_t now = tk_clock_mono_ns(NULL);
    if (tries == 0) {
        store->busy_from_ns = now;
        if (store->busy_failed_ns != 0 && now - store->busy_failed_ns < FAILS_NS) {
            return 0;
        }
    }
    if (now - store->busy_from_ns > BUSY_NS) {
        store->busy_failed_ns = now;
        return 0;
    }
    (void)poll(NULL, 0, 2);
    return 1;
}

/* ---- schema ---- */

static tinkc_code read_number(int64_t *out, sqlite3 *db, const char *text, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, db, text);
    if (srv_sql_row(&sql)) {
        *out = srv_sql_get_i64(&sql, 0);
    }
    return srv_sql_done(&sql, err);
}

static tinkc_code run_migrations(sqlite3 *db, int64_t version, tk_err *err)
{
    const int64_t wanted = (int64_t)TK_ARRAY_LEN(migrations);
    char pragma[64];
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", (int)wanted);
    tinkc_code code = srv_sql_exec(db, "BEGIN IMMEDIATE", err);
    for (; code == TINKC_OK && version < wanted; version++) {
        code = srv_sql_exec(db, migrations[version], err);
    }
    if (code == TINKC_OK) {
        code = srv_sql_exec(db, pragma, err);
    }
    return code == TINKC_OK ? srv_sql_exec(db, "COMMIT", err) : code;
}

/* Brings the schema to this version. Fails with *damaged set when the database is one of
 * another program. */
static tinkc_code migrate(srv_store *store, bool *damaged, tk_err *err)
{
    int64_t version = 0, objects = 0;
    tinkc_code code = read_number(&version, store->db, "PRAGMA user_version", err);
    if (code == TINKC_OK) {
        code =
            read_number(&objects, store->db, "SELECT count(*) FROM sqlite_master", err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    store->made_new = version == 0;
    if (version > (int64_t)TK_ARRAY_LEN(migrations)) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the data directory belongs to a newer version of tinkc");
    }
    if (version == 0 && objects > 0) {
        *damaged = true;
        return tk_err_set(err, TINKC_E_IO, "database: not one of tinkc");
    }
    return version < (int64_t)TK_ARRAY_LEN(migrations)
               ? run_migrations(store->db, version, err)
               : TINKC_OK;
}

/* Reads every page: a database that was cut off may open and fail later. */
static tinkc_code check_pages(srv_store *store, bool *damaged, tk_err *err)
{
    srv_sql sql;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    srv_sql_begin(&sql, store->db, "PRAGMA quick_check(1)");
    tk_str first =
        srv_sql_row(&sql) ? srv_sql_get_text(&sql, &arena, 0) : TK_STR("no answer");
    *damaged = sql.failure == SQLITE_OK && !tk_str_is(first, "ok");
    tinkc_code code = srv_sql_done(&sql, err);
    if (code == TINKC_OK && *damaged) {
        code = tk_err_set(err, TINKC_E_IO, "database: " TK_STR_FMT, TK_STR_ARG(first));
    }
    tk_arena_dispose(&arena);
    return code;
}

/* ---- open ---- */

/* Whether a file is neither empty nor one of SQLite, which would take a few bytes of it
 * for an empty one and write over them. */
static bool is_alien(int fd, int64_t size)
{
    static const char magic[16] = "SQLite format 3";
    char begin[sizeof(magic)];
    return size > 0 && (size < SQLITE_MIN_BYTES ||
                        pread(fd, begin, sizeof(begin), 0) != (ssize_t)sizeof(begin) ||
                        memcmp(begin, magic, sizeof(magic)) != 0);
}

/* Whether the file ends inside a page. SQLite takes zeros for the rest, which it need not
 * notice. A log beside it may hold the page: then an interrupted copy is continued. */
static bool is_cut(int fd, int64_t size, const char *path)
{
    struct stat log;
    char name[4096];
    uint8_t at[2];
    (void)snprintf(name, sizeof(name), "%s-wal", path);
    if (size == 0 || pread(fd, at, sizeof(at), 16) != (ssize_t)sizeof(at) ||
        (stat(name, &log) == 0 && log.st_size > 0)) {
        return false;
    }
    int64_t page = at[0] * 256 + at[1];
    return page != 0 && size % (page == 1 ? 65536 : page) != 0;
}

/* Makes the file, if it is missing, and closes it to other users. SQLite gives the files
 * beside it the same mode. */
static tinkc_code make_file(const char *path, bool *damaged, tk_err *err)
{
    static const char *const more[] = {"-wal", "-shm"};
    struct stat st;
    char name[4096];
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return tk_err_sys(err, errno, "cannot write %s", path);
    }
    tinkc_code code = fstat(fd, &st) == 0 ? TINKC_OK : tk_err_sys(err, errno, "%s", path);
    if (code == TINKC_OK && (st.st_mode & 077) != 0) {
        (void)!fchmod(fd, 0600);
    }
    if (code == TINKC_OK && is_alien(fd, st.st_size)) {
        *damaged = true;
        code = tk_err_set(err, TINKC_E_IO, "database: the file is not a database");
    } else if (code == TINKC_OK && is_cut(fd, st.st_size, path)) {
        *damaged = true;
        code = tk_err_set(err, TINKC_E_IO, "database: the file was cut off");
    }
    (void)close(fd);
    for (size_t i = 0; i < TK_ARRAY_LEN(more); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, more[i]);
        (void)!chmod(name, 0600);
    }
    return code;
}

static tinkc_code connect(srv_store *store, bool *damaged, tk_err *err)
{
    char *path = tk_file_join(store->data, SRV_DATA_DATABASE);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = make_file(path, damaged, err);
    int result = code == TINKC_OK
                     ? sqlite3_open_v2(path, &store->db,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                           SQLITE_OPEN_EXRESCODE,
                                       NULL)
                     : SQLITE_OK;
    tk_free(path);
    if (result != SQLITE_OK) {
        code = tk_err_set(err, TINKC_E_IO, "database: %s",
                          store->db != NULL ? sqlite3_errmsg(store->db) : "no memory");
    }
    return code;
}

static bool is_error(sqlite3 *db, int code)
{
    return db != NULL && (sqlite3_errcode(db) & 0xFF) == code;
}

/* Opens the database and checks it; on failure *damaged says whether it is worth nothing
 * any more. */
static tinkc_code open_db(srv_store *store, bool *damaged, tk_err *err)
{
    *damaged = false;
    tinkc_code code = connect(store, damaged, err);
    if (code != TINKC_OK) {
        goto out;
    }
    (void)sqlite3_busy_handler(store->db, on_busy, store);
    code = srv_sql_exec(store->db,
                        "PRAGMA journal_mode = WAL;"
                        "PRAGMA synchronous = FULL;"
                        "PRAGMA journal_size_limit = 16777216;",
                        err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_pages(store, damaged, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = migrate(store, damaged, err);
out:
    *damaged = code != TINKC_OK && (*damaged || is_error(store->db, SQLITE_CORRUPT) ||
                                    is_error(store->db, SQLITE_NOTADB));
    return code;
}

/* Moves the files of a damaged database aside. */
static tinkc_code set_db_aside(srv_store *store, const char *why, tk_err *err)
{
    static const char *const names[] = {SRV_DATA_DATABASE, SRV_DATA_DATABASE "-wal",
                                        SRV_DATA_DATABASE "-shm"};
    (void)sqlite3_close(store->db);
    store->db = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        struct stat st;
        char *path = tk_file_join(store->data, names[i]);
        bool there = path != NULL && lstat(path, &st) == 0;
        tinkc_code code =
            path == NULL ? tk_err_nomem(err)
            : there      ? srv_data_set_aside(store->data, names[i], why, store->log, err)
                         : TINKC_OK;
        tk_free(path);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

/* Reports why a sound database did not open. */
static tinkc_code explain(const srv_store *store, tinkc_code code, const char *why,
                          tk_err *err)
{
    struct statvfs disk;
    if (is_error(store->db, SQLITE_BUSY)) {
        return tk_err_set(err, code,
                          "another process holds the database, or its file system has no "
                          "locks");
    }
    if (statvfs(store->data, &disk) == 0 && disk.f_bavail * disk.f_frsize < ROOM_BYTES) {
        return tk_err_set(err, code, "%s: the disk is full", why);
    }
    return tk_err_set(err, code, "%s", why);
}

static tinkc_code open_or_replace_db(srv_store *store, tk_err *err)
{
    bool damaged = false;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = open_db(store, &damaged, &why);
    if (code == TINKC_OK) {
        return TINKC_OK;
    }
    if (!damaged) {
        return explain(store, code, why.message, err);
    }
    code = set_db_aside(store, why.message, err);
    return code == TINKC_OK ? open_db(store, &damaged, err) : code;
}

/* ---- the name of this data directory ---- */

static tinkc_code read_instance(srv_store *store, tk_err *err)
{
    srv_sql sql;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    srv_sql_begin(&sql, store->db, "SELECT id FROM instance");
    if (srv_sql_row(&sql)) {
        (void)snprintf(store->instance, sizeof(store->instance), TK_STR_FMT,
                       TK_STR_ARG(srv_sql_get_text(&sql, &arena, 0)));
    }
    tinkc_code code = srv_sql_done(&sql, err);
    tk_arena_dispose(&arena);
    return code;
}

/* The mark of the directory knows the name too, and outlives the database. */
static tinkc_code agree_instance(srv_store *store, tk_err *err)
{
    char marked[SRV_DATA_INSTANCE_SIZE];
    tk_err why = TK_ERR_INIT;
    tinkc_code code = read_instance(store, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = srv_data_read_mark(marked, store->data, &why);
    if (code == TINKC_E_NOMEM || code == TINKC_E_UNSUPPORTED) {
        return tk_err_set(err, code, "%s", why.message);
    }
    if (code != TINKC_OK) {
        return srv_data_write_mark(store->data, store->instance, err);
    }
    if (store->made_new) {
        tk_log_write(store->log, TINKC_LOG_WARN, "store",
                     "the database was lost; it is rebuilt from the checkpoints");
    }
    srv_sql sql;
    memcpy(store->instance, marked, sizeof(marked));
    srv_sql_begin(&sql, store->db, "UPDATE instance SET id = ?1 WHERE id <> ?1");
    srv_sql_text(&sql, tk_str_of(marked));
    return srv_sql_done(&sql, err);
}

const char *srv_store_instance(const srv_store *store)
{
    return store->instance;
}

/* ---- the store ---- */

/* The folder of checkpoints that are not complete yet, with a mark: what is in it may be
 * removed at the start. */
static tinkc_code make_folders(srv_store *store, tk_err *err)
{
    char instance[SRV_DATA_INSTANCE_SIZE];
    struct stat st;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = tk_file_mkdirs(store->checkpoints, 0700, err);
    if (code != TINKC_OK) {
        goto out;
    }
    (void)!chmod(store->checkpoints, 0700);
    code = srv_data_read_mark(instance, store->work, &why);
    if (code == TINKC_OK || code == TINKC_E_NOMEM) {
        code = code == TINKC_OK ? TINKC_OK : tk_err_nomem(err);
        goto out;
    }
    if (lstat(store->work, &st) == 0) {
        code = srv_data_set_aside(store->data, "checkpoints/" SRV_STORE_WORK,
                                  "it is not of this server", store->log, err);
        if (code != TINKC_OK) {
            goto out;
        }
    }
    code = tk_file_mkdirs(store->work, 0700, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_data_write_mark(store->work, store->instance, err);
out:
    return code;
}

static tinkc_code read_clock(srv_store *store, tk_err *err)
{
    int64_t seen = 0;
    tinkc_code code = read_number(&seen, store->db, "SELECT seen_us FROM clock", err);
    srv_wall_init(&store->wall, tk_clock_wall_us(NULL), tk_clock_mono_ns(NULL), seen);
    if (code == TINKC_OK && store->wall.jumped) {
        tk_log_write(store->log, TINKC_LOG_WARN, "store",
                     "the last run was long ago, or the clock is wrong: nothing that "
                     "expired is removed for an hour");
    }
    return code;
}

static tinkc_code open_all(srv_store *store, const char *data, tk_err *err)
{
    tinkc_code code = tk_rand_init_os(&store->rand, err);
    if (code != TINKC_OK) {
        goto out;
    }
    store->data = tk_strdup(data);
    store->checkpoints = tk_file_join(data, "checkpoints");
    store->work = store->checkpoints != NULL
                      ? tk_file_join(store->checkpoints, SRV_STORE_WORK)
                      : NULL;
    if (store->data == NULL || store->work == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    code = open_or_replace_db(store, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = agree_instance(store, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_clock(store, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = make_folders(store, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_reconcile(store, err);
out:
    return code;
}

tinkc_code srv_store_open(srv_store **out, const char *data, tk_log *log, tk_err *err)
{
    srv_store *store = tk_zalloc(sizeof(*store));
    if (store == NULL) {
        return tk_err_nomem(err);
    }
    store->log = log;
    tinkc_code code = tk_mutex_init(&store->lock, err);
    if (code != TINKC_OK) {
        tk_free(store);
        return code;
    }
    code = open_all(store, data, err);
    if (code != TINKC_OK) {
        srv_store_close(store);
        return code;
    }
    *out = store;
    return TINKC_OK;
}

void srv_store_close(srv_store *store)
{
    if (store == NULL) {
        return;
    }
    (void)sqlite3_close(store->db);
    tk_mutex_dispose(&store->lock);
    tk_free(store->data);
    tk_free(store->checkpoints);
    tk_free(store->work);
    tk_free(store);
}

tinkc_code srv_store_end(srv_store *store, tinkc_code code, tk_err *err)
{
    tk_err ignored = TK_ERR_INIT;
    if (code == TINKC_OK) {
        code = srv_sql_exec(store->db, "COMMIT", err);
    }
    store->is_full = code != TINKC_OK && is_error(store->db, SQLITE_FULL);
    if (code != TINKC_OK) {
        (void)!srv_sql_exec(store->db, "ROLLBACK", &ignored);
    }
    return code;
}
