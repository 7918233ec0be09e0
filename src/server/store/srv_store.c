/* The database and its schema; rows of sessions, runs and samplers. Checkpoints are in
 * srv_store_checkpoint.c. */
#include "server/store/srv_store.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/store/srv_sql.h"
#include "server/store/srv_store_int.h"

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
};

/* ---- open ---- */

static tinkc_code read_version(int64_t *out, sqlite3 *db, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, db, "PRAGMA user_version");
    if (srv_sql_row(&sql)) {
        *out = srv_sql_get_i64(&sql, 0);
    }
    return srv_sql_done(&sql, err);
}

static tinkc_code migrate(sqlite3 *db, tk_err *err)
{
    int64_t version = 0;
    const int64_t wanted = (int64_t)TK_ARRAY_LEN(migrations);
    char pragma[64];
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", (int)wanted);
    tinkc_code code = read_version(&version, db, err);
    if (code != TINKC_OK || version == wanted) {
        goto out;
    }
    if (version > wanted) {
        code = tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the data directory belongs to a newer version of tinkc");
        goto out;
    }
    code = srv_sql_exec(db, "BEGIN IMMEDIATE", err);
    for (; code == TINKC_OK && version < wanted; version++) {
        code = srv_sql_exec(db, migrations[version], err);
    }
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_sql_exec(db, pragma, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_sql_exec(db, "COMMIT", err);
out:
    return code;
}

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

const char *srv_store_instance(const srv_store *store)
{
    return store->instance;
}

static tinkc_code open_db(srv_store *store, const char *data, tk_err *err)
{
    char *path = tk_file_join(data, "tinkc.db");
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    int result = sqlite3_open_v2(path, &store->db,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                     SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                                 NULL);
    tk_free(path);
    if (result != SQLITE_OK) {
        return tk_err_set(err, TINKC_E_IO, "database: %s",
                          store->db != NULL ? sqlite3_errmsg(store->db) : "no memory");
    }
    tinkc_code code = srv_sql_exec(store->db,
                                   "PRAGMA journal_mode = WAL;"
                                   "PRAGMA synchronous = FULL;"
                                   "PRAGMA busy_timeout = 5000;"
                                   "PRAGMA journal_size_limit = 16777216;",
                                   err);
    if (code == TINKC_OK) {
        code = migrate(store->db, err);
    }
    return code == TINKC_OK ? read_instance(store, err) : code;
}

tinkc_code srv_store_open(srv_store **out, const char *data, tk_err *err)
{
    srv_store *store = tk_zalloc(sizeof(*store));
    if (store == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&store->lock, err);
    if (code != TINKC_OK) {
        tk_free(store);
        return code;
    }
    code = tk_rand_init_os(&store->rand, err);
    if (code != TINKC_OK) {
        goto out;
    }
    store->checkpoints = tk_file_join(data, "checkpoints");
    code = store->checkpoints != NULL ? tk_file_mkdirs(store->checkpoints, 0777, err)
                                      : tk_err_nomem(err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = open_db(store, data, err);
    if (code != TINKC_OK) {
        goto out;
    }
    size_t removed = 0;
    code = srv_store_sweep(store, &removed, err);
    if (code != TINKC_OK) {
        goto out;
    }
    *out = store;
    return TINKC_OK;
out:
    srv_store_close(store);
    return code;
}

void srv_store_close(srv_store *store)
{
    if (store == NULL) {
        return;
    }
    (void)sqlite3_close(store->db);
    tk_mutex_dispose(&store->lock);
    tk_free(store->checkpoints);
    tk_free(store);
}

tinkc_code srv_store_end(srv_store *store, tinkc_code code, tk_err *err)
{
    tk_err ignored = TK_ERR_INIT;
    if (code == TINKC_OK) {
        code = srv_sql_exec(store->db, "COMMIT", err);
    }
    if (code != TINKC_OK) {
        (void)!srv_sql_exec(store->db, "ROLLBACK", &ignored);
    }
    return code;
}

/* ---- sessions ---- */

static tinkc_code json_of(tk_buf *out, const tk_create_session_request *msg, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_array(&w);
    for (size_t i = 0; i < msg->tags.n; i++) {
        tk_json_put_str(&w, msg->tags.p[i]);
    }
    tk_json_end_array(&w);
    return tk_json_finish(&w, err);
}

static tk_str metadata_text(tk_buf *out, const tk_f_raw *raw)
{
    if (raw->is != TK_SET || raw->v == NULL) {
        return (tk_str){NULL, 0};
    }
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_put_value(&w, raw->v);
    return out->failure == TINKC_OK ? tk_buf_str(out) : (tk_str){NULL, 0};
}

static tk_str optional(const tk_f_str *field)
{
    return field->is == TK_SET ? field->v : (tk_str){NULL, 0};
}

tinkc_code srv_store_add_session(srv_store *store, const char *id,
                                 const tk_create_session_request *msg, tk_err *err)
{
    tk_buf tags, metadata;
    tk_buf_init(&tags, 2 * TK_SRV_BODY_LIGHT_BYTES);
    tk_buf_init(&metadata, 2 * TK_SRV_BODY_LIGHT_BYTES);
    tinkc_code code = json_of(&tags, msg, err);
    if (code == TINKC_OK) {
        srv_sql sql;
        tk_mutex_lock(&store->lock);
        srv_sql_begin(&sql, store->db, "INSERT INTO sessions VALUES(?,?,?,?,?,?)");
        srv_sql_text(&sql, tk_str_of(id));
        srv_sql_i64(&sql, tk_clock_wall_us(NULL));
        srv_sql_text(&sql, tk_buf_str(&tags));
        srv_sql_text(&sql, metadata_text(&metadata, &msg->user_metadata));
        srv_sql_text(&sql, optional(&msg->sdk_version));
        srv_sql_text(&sql, optional(&msg->project_id));
        code = srv_sql_done(&sql, err);
        tk_mutex_unlock(&store->lock);
    }
    tk_buf_dispose(&tags);
    tk_buf_dispose(&metadata);
    return code;
}

bool srv_store_has_session(srv_store *store, tk_str id)
{
    srv_sql sql;
    tk_err ignored = TK_ERR_INIT;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "SELECT 1 FROM sessions WHERE id = ?");
    srv_sql_text(&sql, id);
    bool found = srv_sql_row(&sql);
    tinkc_code code = srv_sql_done(&sql, &ignored);
    tk_mutex_unlock(&store->lock);
    return code == TINKC_OK && found;
}

/* ---- runs and samplers ---- */

tinkc_code srv_store_add_run(srv_store *store, const srv_store_run *run, tk_err *err)
{
    srv_sql sql;
    int64_t now = tk_clock_wall_us(NULL);
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "INSERT OR REPLACE INTO runs VALUES(?,?,?,?,?,?,?,?,?,?)");
    srv_sql_text(&sql, run->id);
    srv_sql_text(&sql, run->session_id);
    srv_sql_text(&sql, run->base_model);
    srv_sql_i64(&sql, run->rank);
    srv_sql_i64(&sql, run->train_unembed);
    srv_sql_i64(&sql, run->train_mlp);
    srv_sql_i64(&sql, run->train_attn);
    srv_sql_text(&sql, run->user_metadata);
    srv_sql_i64(&sql, now);
    srv_sql_i64(&sql, now);
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

void srv_store_read_run(srv_store_run *out, srv_sql *sql, tk_arena *arena)
{
    out->id = srv_sql_get_text(sql, arena, 0);
    out->session_id = srv_sql_get_text(sql, arena, 1);
    out->base_model = srv_sql_get_text(sql, arena, 2);
    out->rank = srv_sql_get_i64(sql, 3);
    out->train_unembed = srv_sql_get_i64(sql, 4) != 0;
    out->train_mlp = srv_sql_get_i64(sql, 5) != 0;
    out->train_attn = srv_sql_get_i64(sql, 6) != 0;
    out->user_metadata = srv_sql_get_text(sql, arena, 7);
    out->created_us = srv_sql_get_i64(sql, 8);
    out->last_request_us = srv_sql_get_i64(sql, 9);
}

tinkc_code srv_store_get_run(srv_store_run *out, srv_store *store, tk_arena *arena,
                             tk_str id, tk_err *err)
{
    srv_sql sql;
    srv_store_run run = {0};
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "SELECT " SRV_STORE_RUN_COLUMNS " FROM runs WHERE id = ?");
    srv_sql_text(&sql, id);
    bool found = srv_sql_row(&sql);
    if (found) {
        srv_store_read_run(&run, &sql, arena);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    if (code == TINKC_OK && !found) {
        return tk_err_set(err, TINKC_E_MISSING, "Training run not found");
    }
    if (code == TINKC_OK) {
        *out = run;
    }
    return code;
}

tinkc_code srv_store_add_sampler(srv_store *store, const srv_store_sampler *sampler,
                                 tk_err *err)
{
    srv_sql sql;
    tk_str path = sampler->model_path.n > 0 ? sampler->model_path : (tk_str){NULL, 0};
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "INSERT OR REPLACE INTO samplers VALUES(?,?,?,?,?)");
    srv_sql_text(&sql, sampler->id);
    srv_sql_text(&sql, sampler->session_id);
    srv_sql_text(&sql, sampler->base_model);
    srv_sql_text(&sql, path);
    srv_sql_i64(&sql, tk_clock_wall_us(NULL));
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code;
}
