/* Rows of checkpoints and their directories. A directory is labelled and moved to its
 * place before the row is committed: a crash between these leaves a checkpoint that the
 * next start takes up. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store_int.h"

#define DIR_NAME_BYTES 200 /* with the random end, less than file systems allow */
#define PATIENCE_NS    (INT64_C(5000) * TK_NS_PER_MS) /* of a save; the lock is free */

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
    out->user_metadata = srv_sql_get_text(sql, arena, 10);
    out->base_model = srv_sql_get_text(sql, arena, 11);
    out->project_id = srv_sql_get_text(sql, arena, 12);
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

tinkc_code srv_store_insert_checkpoint(srv_store *store,
                                       const srv_store_checkpoint *checkpoint,
                                       int64_t *row, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db,
                  "INSERT INTO checkpoints(run_id, kind, name, dir, created_us,"
                  " expires_us, size_bytes, is_public, has_optimizer, user_metadata, row)"
                  " VALUES(?,?,?,?,?,?,?,?,?,nullif(?, ''),nullif(?, 0))");
    bind_key(&sql, checkpoint->run_id, checkpoint->kind, checkpoint->name);
    srv_sql_text(&sql, checkpoint->dir);
    srv_sql_i64(&sql, checkpoint->created_us);
    srv_sql_i64(&sql, checkpoint->expires_us);
    srv_sql_i64(&sql, checkpoint->size_bytes);
    srv_sql_i64(&sql, checkpoint->is_public);
    srv_sql_i64(&sql, checkpoint->has_optimizer);
    srv_sql_text(&sql, checkpoint->user_metadata);
    srv_sql_i64(&sql, checkpoint->row);
    tinkc_code code = srv_sql_done(&sql, err);
    if (code == TINKC_OK) {
        *row = sqlite3_last_insert_rowid(store->db);
    }
    return code;
}

/* Deletes the row with the name of a new checkpoint: any with `overwrite`, else only one
 * that is past its time. */
static tinkc_code make_way(srv_store *store, tk_arena *arena,
                           const srv_store_checkpoint *checkpoint, bool overwrite,
                           tk_str *old_dir, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db,
                  "DELETE FROM checkpoints WHERE run_id = ? AND kind = ? AND name = ?"
                  " AND (? OR (expires_us > 0 AND expires_us <= ?)) RETURNING dir");
    bind_key(&sql, checkpoint->run_id, checkpoint->kind, checkpoint->name);
    srv_sql_i64(&sql, overwrite);
    srv_sql_i64(&sql, tk_clock_wall_us(NULL));
    if (srv_sql_row(&sql)) {
        *old_dir = srv_sql_get_text(&sql, arena, 0);
    }
    return srv_sql_done(&sql, err);
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

/* ---- directories ---- */

static tk_str last_part(tk_str path)
{
    tk_str part = path;
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '/') {
            part = (tk_str){path.p + i + 1, path.n - i - 1};
        }
    }
    return part;
}

tinkc_code srv_store_fill_label(srv_label *out, srv_store *store, tk_arena *arena,
                                const srv_store_checkpoint *checkpoint, tk_err *err)
{
    tk_err ignored = TK_ERR_INIT;
    srv_label label = {.checkpoint = *checkpoint};
    tinkc_code code =
        srv_store_find_run(&label.run, store, arena, checkpoint->run_id, &ignored);
    if (code == TINKC_E_MISSING) { /* what its id tells */
        tk_str id = checkpoint->run_id;
        label.run = (srv_store_run){.id = id, .session_id = tk_str_cut(&id, ':')};
        code = TINKC_OK;
    }
    if (code != TINKC_OK) {
        return tk_err_set(err, code, "%s", ignored.message);
    }
    label.checkpoint.dir = last_part(checkpoint->dir);
    *out = label;
    return TINKC_OK;
}

static tinkc_code join(const char **out, tk_arena *arena, const char *parent, tk_str name,
                       tk_err *err)
{
    tk_str full;
    tk_buf buf;
    tk_buf_init(&buf, 4 * TK_KIB);
    tk_buf_puts(&buf, parent);
    tk_buf_putc(&buf, '/');
    tk_buf_put(&buf, name.p, name.n);
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

/* Renames a directory, to last. */
static tinkc_code move(const char *from, const char *to, tk_err *err)
{
    tinkc_code code = srv_files_make_parent(to, err);
    if (code == TINKC_OK && rename(from, to) != 0) {
        code = tk_err_sys(err, errno, "cannot move the checkpoint to its place");
    }
    char *parent = code == TINKC_OK ? tk_file_parent(to) : NULL;
    if (code == TINKC_OK) {
        code = parent != NULL ? tk_file_sync_directory(parent, err) : tk_err_nomem(err);
        if (code != TINKC_OK) {
            (void)!rename(to, from);
        }
    }
    tk_free(parent);
    return code;
}

/* Labels the directory of a new checkpoint and moves it from the work folder to its
 * place. */
static tinkc_code place(srv_store *store, tk_arena *arena,
                        const srv_store_checkpoint *checkpoint, const char *paths[2],
                        tk_err *err)
{
    srv_label label;
    tinkc_code code = srv_store_fill_label(&label, store, arena, checkpoint, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = srv_label_write(paths[0], &label, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_files_tighten(paths[0]);
    return move(paths[0], paths[1], err);
}

/* ---- add ---- */

/* Takes the lock and begins a transaction. While another process holds the database it
 * waits without the lock. On failure the lock is free. */
static tinkc_code begin_patiently(srv_store *store, tk_err *err)
{
    int64_t end = tk_clock_mono_ns(NULL) + PATIENCE_NS;
    for (;;) {
        tk_err why = TK_ERR_INIT;
        tk_mutex_lock(&store->lock);
        tinkc_code code = srv_sql_exec(store->db, "BEGIN IMMEDIATE", &why);
        if (code == TINKC_OK) {
            return TINKC_OK;
        }
        bool busy = (sqlite3_errcode(store->db) & 0xFF) == SQLITE_BUSY;
        tk_mutex_unlock(&store->lock);
        if (!busy || tk_clock_mono_ns(NULL) > end) {
            return tk_err_set(err, code, "%s", why.message);
        }
        (void)poll(NULL, 0, 20);
    }
}

/* In a transaction. */
static tinkc_code add(srv_store *store, tk_arena *arena,
                      const srv_store_checkpoint *checkpoint, const char *paths[2],
                      tk_err *err)
{
    srv_store_checkpoint row = *checkpoint;
    row.row = 0;
    tinkc_code code = srv_store_insert_checkpoint(store, &row, &row.row, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = touch_run(store, checkpoint, err);
    return code == TINKC_OK ? place(store, arena, &row, paths, err) : code;
}

tinkc_code srv_store_add_checkpoint(srv_store *store, tk_arena *arena,
                                    const srv_store_checkpoint *checkpoint,
                                    bool overwrite, tk_str *old_dir, tk_err *err)
{
    const char *paths[2] = {NULL, NULL};
    *old_dir = (tk_str){"", 0};
    tinkc_code code =
        join(&paths[0], arena, store->work, last_part(checkpoint->dir), err);
    if (code != TINKC_OK) {
        return code;
    }
    code = srv_store_dir(&paths[1], store, arena, checkpoint->dir, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = begin_patiently(store, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = make_way(store, arena, checkpoint, overwrite, old_dir, err);
    if (code == TINKC_OK) {
        code = add(store, arena, checkpoint, paths, err);
    }
    bool placed = code == TINKC_OK;
    code = srv_store_end(store, code, err);
    if (placed && code != TINKC_OK) {
        (void)!rename(paths[1], paths[0]); /* the caller removes it there */
    }
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_dir(const char **out, srv_store *store, tk_arena *arena, tk_str dir,
                         tk_err *err)
{
    return join(out, arena, store->checkpoints, dir, err);
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
    return code == TINKC_OK ? join(full, arena, store->work, last_part(*dir), err) : code;
}

void srv_store_remove_dir(srv_store *store, tk_str dir)
{
    tk_arena arena;
    const char *full = NULL;
    tk_err ignored = TK_ERR_INIT;
    tk_arena_init(&arena, TK_MIB);
    if (srv_store_dir(&full, store, &arena, dir, &ignored) == TINKC_OK) {
        (void)!srv_label_bury(full, &ignored); /* in case the removal is cut off */
        srv_files_remove_dir(full);
    }
    tk_arena_dispose(&arena);
}

/* ---- uploads ---- */

#define UPLOAD_PREFIX "upload-"

tinkc_code srv_store_upload_dir(const char **out, srv_store *store, tk_arena *arena,
                                tk_str id, tk_err *err)
{
    tk_buf name;
    tk_buf_init(&name, TK_KIB);
    tk_buf_puts(&name, UPLOAD_PREFIX);
    tk_buf_put(&name, id.p, id.n);
    tinkc_code code = tk_buf_status(&name, err);
    if (code == TINKC_OK) {
        code = join(out, arena, store->work, tk_buf_str(&name), err);
    }
    tk_buf_dispose(&name);
    return code;
}

size_t srv_store_sweep_uploads(srv_store *store, int64_t before_us)
{
    size_t left = 0;
    DIR *dir = opendir(store->work);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct stat st;
        if (strncmp(entry->d_name, UPLOAD_PREFIX, sizeof(UPLOAD_PREFIX) - 1) != 0 ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        char *path = (int64_t)st.st_ctim.tv_sec * 1000000 < before_us
                         ? tk_file_join(store->work, entry->d_name)
                         : NULL;
        if (path != NULL) {
            srv_files_remove_dir(path);
            tk_free(path);
        } else {
            left++;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return left;
}
