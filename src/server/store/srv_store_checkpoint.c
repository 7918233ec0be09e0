/* Rows of checkpoints and the names of their directories. A checkpoint ends with its row;
 * its directory is removed after that, and the next start removes what a crash left. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store_int.h"

#define DIR_NAME_BYTES 200 /* with the random end, less than file systems allow */

void srv_store_read_checkpoint(srv_store_checkpoint *out, srv_sql *sql, tk_arena *arena)
{
    out->row = srv_sql_get_i64(sql, 0);
    out->run_id = srv_sql_get_text(sql, arena, 1);
    out->kind = (tk_path_kind)srv_sql_get_i64(sql, 2);
    out->name = srv_sql_get_text(sql, arena, 3);
    out->dir = srv_sql_get_text(sql, arena, 4);
    out->created_us = srv_sql_get_i64(sql, 5);
    out->expires_us = srv_sql_get_i64(sql, 6);
    out->size_bytes = srv_sql_get_i64(sql, 7);
    out->is_public = srv_sql_get_i64(sql, 8) != 0;
    out->has_optimizer = srv_sql_get_i64(sql, 9) != 0;
}

/* The only row of a statement. */
static tinkc_code finish_one(srv_store_checkpoint *out, srv_sql *sql, tk_arena *arena,
                             tk_err *err)
{
    srv_store_checkpoint found = {0};
    bool any = srv_sql_row(sql);
    if (any) {
        srv_store_read_checkpoint(&found, sql, arena);
    }
    tinkc_code code = srv_sql_done(sql, err);
    if (code == TINKC_OK && !any) {
        return tk_err_set(err, TINKC_E_MISSING, "Checkpoint not found");
    }
    if (code == TINKC_OK) {
        *out = found;
    }
    return code;
}

static void bind_key(srv_sql *sql, tk_str run_id, tk_path_kind kind, tk_str name)
{
    srv_sql_text(sql, run_id);
    srv_sql_i64(sql, (int64_t)kind);
    srv_sql_text(sql, name);
}

tinkc_code srv_store_get_checkpoint(srv_store_checkpoint *out, srv_store *store,
                                    tk_arena *arena, const tk_path *path, tk_err *err)
{
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "SELECT " SRV_STORE_CHECKPOINT_COLUMNS " FROM checkpoints"
                  " WHERE run_id = ? AND kind = ? AND name = ?"
                  " AND (expires_us = 0 OR expires_us > ?)");
    bind_key(&sql, path->run, path->kind, path->name);
    srv_sql_i64(&sql, tk_clock_wall_us(NULL));
    tinkc_code code = finish_one(out, &sql, arena, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_last_checkpoint(srv_store_checkpoint *out, srv_store *store,
                                     tk_arena *arena, tk_str run_id, tk_err *err)
{
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "SELECT " SRV_STORE_CHECKPOINT_COLUMNS
                  " FROM checkpoints WHERE run_id = ?"
                  " ORDER BY row DESC LIMIT 1");
    srv_sql_text(&sql, run_id);
    tinkc_code code = finish_one(out, &sql, arena, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

static tinkc_code insert(srv_store *store, const srv_store_checkpoint *checkpoint,
                         tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db,
                  "INSERT INTO checkpoints(run_id, kind, name, dir, created_us,"
                  " expires_us, size_bytes, is_public, has_optimizer)"
                  " VALUES(?,?,?,?,?,?,?,?,?)");
    bind_key(&sql, checkpoint->run_id, checkpoint->kind, checkpoint->name);
    srv_sql_text(&sql, checkpoint->dir);
    srv_sql_i64(&sql, checkpoint->created_us);
    srv_sql_i64(&sql, checkpoint->expires_us);
    srv_sql_i64(&sql, checkpoint->size_bytes);
    srv_sql_i64(&sql, checkpoint->is_public);
    srv_sql_i64(&sql, checkpoint->has_optimizer);
    return srv_sql_done(&sql, err);
}

static tinkc_code replace(srv_store *store, tk_arena *arena,
                          const srv_store_checkpoint *checkpoint, tk_str *old_dir,
                          tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db,
                  "DELETE FROM checkpoints WHERE run_id = ? AND kind = ? AND name = ?"
                  " RETURNING dir");
    bind_key(&sql, checkpoint->run_id, checkpoint->kind, checkpoint->name);
    if (srv_sql_row(&sql)) {
        *old_dir = srv_sql_get_text(&sql, arena, 0);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    return code == TINKC_OK ? insert(store, checkpoint, err) : code;
}

static tinkc_code touch_run(srv_store *store, const srv_store_checkpoint *checkpoint,
                            tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db, "UPDATE runs SET last_request_us = ? WHERE id = ?");
    srv_sql_i64(&sql, checkpoint->created_us);
    srv_sql_text(&sql, checkpoint->run_id);
    return srv_sql_done(&sql, err);
}

tinkc_code srv_store_add_checkpoint(srv_store *store, tk_arena *arena,
                                    const srv_store_checkpoint *checkpoint,
                                    bool overwrite, tk_str *old_dir, tk_err *err)
{
    *old_dir = (tk_str){"", 0};
    tk_mutex_lock(&store->lock);
    tinkc_code code = srv_sql_exec(store->db, "BEGIN IMMEDIATE", err);
    if (code == TINKC_OK) {
        code = overwrite ? replace(store, arena, checkpoint, old_dir, err)
                         : insert(store, checkpoint, err);
        if (code == TINKC_OK) {
            code = touch_run(store, checkpoint, err);
        }
        code = srv_store_end(store, code, err);
    }
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_dir(const char **out, srv_store *store, tk_arena *arena, tk_str dir,
                         tk_err *err)
{
    tk_str full;
    tk_buf buf;
    tk_buf_init(&buf, 4 * TK_KIB);
    tk_buf_puts(&buf, store->checkpoints);
    tk_buf_putc(&buf, '/');
    tk_buf_put(&buf, dir.p, dir.n);
    tinkc_code code = tk_buf_status(&buf, err);
    if (code == TINKC_OK && !tk_arena_dup(arena, &full, buf.p, buf.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&buf);
    if (code == TINKC_OK) {
        *out = full.p;
    }
    return code;
}

/* "<run>/<kind>/<name>.<random>". The random end keeps the old directory readable while a
 * name is saved again; the name is only for people, so a long one may be cut. */
tinkc_code srv_store_new_dir(tk_str *dir, const char **full, srv_store *store,
                             tk_arena *arena, const tk_path *path, tk_err *err)
{
    tk_str name = {path->name.p, TK_MIN(path->name.n, DIR_NAME_BYTES)};
    tk_mutex_lock(&store->lock);
    uint64_t unique = tk_rand_u64(&store->rand);
    tk_mutex_unlock(&store->lock);
    tk_buf buf;
    tk_buf_init(&buf, TK_KIB);
    tk_buf_printf(&buf, TK_STR_FMT "/%s/" TK_STR_FMT ".%016llx", TK_STR_ARG(path->run),
                  tk_path_kind_name(path->kind), TK_STR_ARG(name),
                  (unsigned long long)unique);
    tinkc_code code = tk_buf_status(&buf, err);
    if (code == TINKC_OK && !tk_arena_dup(arena, dir, buf.p, buf.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&buf);
    return code == TINKC_OK ? srv_store_dir(full, store, arena, *dir, err) : code;
}

void srv_store_remove_dir(srv_store *store, tk_str dir)
{
    tk_arena arena;
    const char *full = NULL;
    tk_err ignored = TK_ERR_INIT;
    tk_arena_init(&arena, TK_MIB);
    if (srv_store_dir(&full, store, &arena, dir, &ignored) == TINKC_OK) {
        srv_files_remove_dir(full);
    }
    tk_arena_dispose(&arena);
}
