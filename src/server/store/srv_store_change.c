/* Changes of checkpoints that exist: delete, publish, time to live. Each statement leaves
 * out those past their time. */
#include "base/clock.h"
#include "server/store/srv_store_int.h"

#define ALIVE                                                                            \
    " WHERE run_id = ? AND kind = ? AND name = ? AND (expires_us = 0 OR expires_us > ?)" \
    " RETURNING "

static void bind_path(srv_sql *sql, const tk_path *path)
{
    srv_sql_text(sql, path->run);
    srv_sql_i64(sql, (int64_t)path->kind);
    srv_sql_text(sql, path->name);
    srv_sql_i64(sql, tk_clock_wall_us(NULL));
}

/* Ends a statement that returns the directory of the row that it changed. */
static tinkc_code finish(tk_str *dir, srv_sql *sql, tk_arena *arena, tk_err *err)
{
    tk_str found = {"", 0};
    bool any = srv_sql_row(sql);
    if (any) {
        found = srv_sql_get_text(sql, arena, 0);
    }
    tinkc_code code = srv_sql_done(sql, err);
    if (code == TINKC_OK && !any) {
        return tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found");
    }
    if (code == TINKC_OK) {
        *dir = found;
    }
    return code;
}

tinkc_code srv_store_delete_checkpoint(tk_str *dir, srv_store *store, tk_arena *arena,
                                       const tk_path *path, tk_err *err)
{
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "DELETE FROM checkpoints" ALIVE "dir");
    bind_path(&sql, path);
    tinkc_code code = finish(dir, &sql, arena, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

/* Runs an UPDATE that sets one number. */
static tinkc_code set(srv_store *store, tk_arena *arena, const tk_path *path,
                      const char *update, int64_t value, tk_err *err)
{
    srv_sql sql;
    tk_str dir;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, update);
    srv_sql_i64(&sql, value);
    bind_path(&sql, path);
    tinkc_code code = finish(&dir, &sql, arena, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_publish_checkpoint(srv_store *store, tk_arena *arena,
                                        const tk_path *path, bool is_public, tk_err *err)
{
    return set(store, arena, path, "UPDATE checkpoints SET is_public = ?" ALIVE "dir",
               is_public, err);
}

tinkc_code srv_store_expire_checkpoint(srv_store *store, tk_arena *arena,
                                       const tk_path *path, int64_t expires_us,
                                       tk_err *err)
{
    return set(store, arena, path, "UPDATE checkpoints SET expires_us = ?" ALIVE "dir",
               expires_us, err);
}

tinkc_code srv_store_take_expired(tk_str *dir, srv_store *store, tk_arena *arena,
                                  int64_t now_us, tk_err *err)
{
    srv_sql sql;
    tk_str found = {"", 0};
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "DELETE FROM checkpoints WHERE row IN (SELECT row FROM checkpoints"
                  " WHERE expires_us > 0 AND expires_us <= ? LIMIT 1) RETURNING dir");
    srv_sql_i64(&sql, now_us);
    if (srv_sql_row(&sql)) {
        found = srv_sql_get_text(&sql, arena, 0);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    if (code == TINKC_OK) {
        *dir = found;
    }
    return code;
}
