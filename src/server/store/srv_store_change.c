/* Changes of checkpoints that exist: delete, publish, time to live. Each statement leaves
 * out those past their time. The label in the directory is changed before the row is
 * committed, and set back when that fails. */
#include "base/clock.h"
#include "server/store/srv_store_int.h"

#define ALIVE                                                                            \
    " WHERE run_id = ? AND kind = ? AND name = ? AND (expires_us = 0 OR expires_us > ?)"
#define RETURNING " RETURNING " SRV_STORE_CHECKPOINT_COLUMNS
#define SELECT    "SELECT " SRV_STORE_CHECKPOINT_COLUMNS " FROM checkpoints"

static void bind_path(srv_sql *sql, const tk_path *path)
{
    srv_sql_text(sql, path->run);
    srv_sql_i64(sql, (int64_t)path->kind);
    srv_sql_text(sql, path->name);
    srv_sql_i64(sql, tk_clock_wall_us(NULL));
}

/* Ends a statement that returns a row; *any is false when there is none. */
static tinkc_code finish(srv_store_checkpoint *out, bool *any, srv_sql *sql,
                         tk_arena *arena, tk_err *err)
{
    *any = srv_sql_row(sql);
    if (*any) {
        srv_store_read_checkpoint(out, sql, arena);
    }
    return srv_sql_done(sql, err);
}

/* ---- delete ---- */

/* Which checkpoint to delete. */
typedef struct deletion {
    const char *select;
    const tk_path *path; /* NULL: one past its time */
    int64_t now_us;
    int64_t skip; /* of those past their time */
    bool stuck;   /* out: its directory cannot be marked */
} deletion;

/* Commits a deletion, after its directory was marked. Without a directory there is nothing
 * to mark. */
static tinkc_code end_deletion(srv_store *store, tk_arena *arena, deletion *what,
                               const srv_store_checkpoint *row, tinkc_code code,
                               tk_err *err)
{
    const char *full = NULL;
    tk_err why = TK_ERR_INIT;
    bool buried = false;
    if (code == TINKC_OK && row->dir.n > 0) {
        code = srv_store_dir(&full, store, arena, row->dir, err);
    }
    if (code == TINKC_OK && full != NULL) {
        tinkc_code marked = srv_label_bury(full, &why);
        buried = marked == TINKC_OK;
        if (!buried && marked != TINKC_E_MISSING) {
            code = tk_err_set(err, marked, "%s", why.message);
            what->stuck = true;
        }
    }
    code = srv_store_end(store, code, err);
    if (code != TINKC_OK && buried) {
        (void)!srv_label_unearth(full, &why);
    }
    return code;
}

/* Runs a deletion in its transaction. *row is the row, also on failure, or has no
 * directory. */
static tinkc_code try_delete(srv_store_checkpoint *row, srv_store *store, tk_arena *arena,
                             deletion *what, tk_err *err)
{
    srv_sql sql;
    bool any = false;
    *row = (srv_store_checkpoint){.dir = {"", 0}};
    tinkc_code code = srv_sql_exec(store->db, "BEGIN IMMEDIATE", err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_sql_begin(&sql, store->db, what->select);
    if (what->path != NULL) {
        bind_path(&sql, what->path);
    } else {
        srv_sql_i64(&sql, what->now_us);
        srv_sql_i64(&sql, what->skip);
    }
    code = finish(row, &any, &sql, arena, err);
    if (code == TINKC_OK && !any && what->path != NULL) {
        code = tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found");
    }
    if (code == TINKC_OK && any) {
        srv_sql_begin(&sql, store->db, "DELETE FROM checkpoints WHERE row = ?");
        srv_sql_i64(&sql, row->row);
        code = srv_sql_done(&sql, err);
    }
    return end_deletion(store, arena, what, row, code, err);
}

/* Deletes a row. On a full disk the files go first: that makes the room that the database
 * needs. Their label was renamed, so they are gone for the next start too. */
static tinkc_code delete_one(tk_str *dir, srv_store *store, tk_arena *arena,
                             deletion *what, tk_err *err)
{
    srv_store_checkpoint row;
    tk_err why = TK_ERR_INIT;
    tk_mutex_lock(&store->lock);
    tinkc_code code = try_delete(&row, store, arena, what, &why);
    if (code != TINKC_OK && store->is_full && row.dir.n > 0) {
        srv_store_remove_dir(store, row.dir);
        code = try_delete(&row, store, arena, what, err);
    } else if (code != TINKC_OK) {
        (void)tk_err_set(err, code, "%s", why.message);
    }
    tk_mutex_unlock(&store->lock);
    if (code == TINKC_OK || what->stuck) {
        *dir = row.dir;
    }
    return code;
}

tinkc_code srv_store_delete_checkpoint(tk_str *dir, srv_store *store, tk_arena *arena,
                                       const tk_path *path, tk_err *err)
{
    deletion what = {.select = SELECT ALIVE, .path = path};
    return delete_one(dir, store, arena, &what, err);
}

tinkc_code srv_store_take_expired(srv_store_expiry *at, srv_store *store, tk_arena *arena,
                                  int64_t now_us, tk_err *err)
{
    deletion what = {.select = SELECT " WHERE expires_us > 0 AND expires_us <= ?"
                                      " ORDER BY expires_us, row LIMIT 1 OFFSET ?",
                     .now_us = now_us,
                     .skip = at->skip};
    at->dir = (tk_str){"", 0};
    tinkc_code code = delete_one(&at->dir, store, arena, &what, err);
    at->skip += what.stuck;
    return code;
}

/* ---- changes of one number ---- */

/* Writes the label of a row that was changed and commits. */
static tinkc_code relabel(srv_store *store, tk_arena *arena,
                          const srv_store_checkpoint *row, tk_err *err)
{
    srv_label label, old;
    const char *full = NULL;
    tk_err ignored = TK_ERR_INIT;
    bool has_old = false, tried = false;
    tinkc_code code = srv_store_dir(&full, store, arena, row->dir, err);
    if (code == TINKC_OK) {
        has_old = srv_label_read(&old, arena, full, &ignored) == TINKC_OK;
        code = srv_store_fill_label(&label, store, arena, row, err);
    }
    if (code == TINKC_OK) {
        code = srv_label_write(full, &label, err);
        tried = true; /* it may have been written and not synced */
    }
    code = srv_store_end(store, code, err);
    if (code != TINKC_OK && tried && has_old) {
        (void)!srv_label_write(full, &old, &ignored);
    }
    return code;
}

/* Runs an UPDATE that sets one number, in a transaction, which it ends. */
static tinkc_code set(srv_store *store, tk_arena *arena, const tk_path *path,
                      const char *update, int64_t value, tk_err *err)
{
    srv_sql sql;
    srv_store_checkpoint row;
    bool any = false;
    srv_sql_begin(&sql, store->db, update);
    srv_sql_i64(&sql, value);
    bind_path(&sql, path);
    tinkc_code code = finish(&row, &any, &sql, arena, err);
    if (code == TINKC_OK && !any) {
        code = tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found");
    }
    return code == TINKC_OK ? relabel(store, arena, &row, err)
                            : srv_store_end(store, code, err);
}

static tinkc_code change(srv_store *store, tk_arena *arena, const tk_path *path,
                         const char *update, int64_t value, tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = srv_sql_exec(store->db, "BEGIN IMMEDIATE", err);
    if (code == TINKC_OK) {
        code = set(store, arena, path, update, value, err);
    }
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_publish_checkpoint(srv_store *store, tk_arena *arena,
                                        const tk_path *path, bool is_public, tk_err *err)
{
    return change(store, arena, path,
                  "UPDATE checkpoints SET is_public = ?" ALIVE RETURNING, is_public, err);
}

tinkc_code srv_store_expire_checkpoint(srv_store *store, tk_arena *arena,
                                       const tk_path *path, int64_t expires_us,
                                       tk_err *err)
{
    return change(store, arena, path,
                  "UPDATE checkpoints SET expires_us = ?" ALIVE RETURNING, expires_us,
                  err);
}
