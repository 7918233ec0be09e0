/* Brings the rows of checkpoints and their directories together when the store is opened.
 *
 *   label, row         the row takes the label's values
 *   label, no row      the row is inserted, with those of its run and session: the
 *                      database is new, was restored from a copy, or a save was cut off
 *                      before its commit
 *   no label, row      the label is written: an earlier version saved the checkpoint
 *   neither            moved aside: not of this server, or not certainly
 *   row, no directory  the row is deleted
 *   deleted label      the directory is removed
 *   two of one name    the newer one stays, the other one is removed
 *
 * After the database was made new nothing is removed: what would be is moved aside, or
 * left where it is for the next start. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/mem.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store_int.h"

/* A directory that has a label, or a row. */
typedef struct found {
    srv_store_checkpoint checkpoint;
    struct found *next;
} found;

typedef struct walk {
    srv_store *store;
    tk_arena arena;
    tk_map rows;    /* by directory: srv_store_checkpoint, of the database */
    tk_map by_name; /* "<run>/<kind>/<name>": found, the newest */
    found *deleted; /* directories to remove */
    found *older;   /* directories whose name a newer one has */
    size_t labelled, inserted, changed, dropped;
} walk;

/* ---- what the database has ---- */

static tinkc_code read_rows(walk *w, tk_err *err)
{
    srv_sql sql;
    tinkc_code code = TINKC_OK;
    srv_sql_begin(&sql, w->store->db,
                  "SELECT " SRV_STORE_CHECKPOINT_COLUMNS " FROM checkpoints");
    while (code == TINKC_OK && srv_sql_row(&sql)) {
        srv_store_checkpoint *row = tk_arena_zalloc(&w->arena, sizeof(*row));
        if (row == NULL) {
            code = tk_err_nomem(err);
            break;
        }
        srv_store_read_checkpoint(row, &sql, &w->arena);
        code = tk_map_put(&w->rows, row->dir, row, err);
    }
    tinkc_code done = srv_sql_done(&sql, err);
    return code == TINKC_OK ? done : code;
}

/* ---- what the disk has ---- */

static bool copy_text(tk_arena *arena, tk_str *text)
{
    return tk_arena_dup(arena, text, text->p, text->n);
}

/* Copies a checkpoint into the walk's own memory, with `dir` as its directory. */
static found *copy_found(walk *w, const srv_store_checkpoint *checkpoint, tk_str dir)
{
    found *item = tk_arena_zalloc(&w->arena, sizeof(*item));
    if (item == NULL) {
        return NULL;
    }
    item->checkpoint = *checkpoint;
    item->checkpoint.dir = dir;
    return copy_text(&w->arena, &item->checkpoint.dir) &&
                   copy_text(&w->arena, &item->checkpoint.run_id) &&
                   copy_text(&w->arena, &item->checkpoint.name) &&
                   copy_text(&w->arena, &item->checkpoint.user_metadata)
               ? item
               : NULL;
}

static bool name_key(tk_buf *out, const srv_store_checkpoint *c)
{
    tk_buf_printf(out, TK_STR_FMT "/%d/" TK_STR_FMT, TK_STR_ARG(c->run_id), (int)c->kind,
                  TK_STR_ARG(c->name));
    return out->failure == TINKC_OK;
}

static bool is_newer(const srv_store_checkpoint *a, const srv_store_checkpoint *b)
{
    return a->row != b->row ? a->row > b->row : a->created_us > b->created_us;
}

/* Takes a checkpoint up, as the one of its name unless there is a newer one. */
static tinkc_code keep(walk *w, const srv_store_checkpoint *checkpoint, tk_str dir,
                       tk_err *err)
{
    tk_buf key;
    found *item = copy_found(w, checkpoint, dir);
    if (item == NULL) {
        return tk_err_nomem(err);
    }
    tk_buf_init(&key, 4 * TK_KIB);
    tinkc_code code = name_key(&key, checkpoint) ? TINKC_OK : tk_buf_status(&key, err);
    if (code == TINKC_OK) {
        found *other = tk_map_get(&w->by_name, tk_buf_str(&key));
        bool newer = other == NULL || is_newer(&item->checkpoint, &other->checkpoint);
        if (other != NULL) {
            found *loser = newer ? other : item;
            loser->next = w->older;
            w->older = loser;
        }
        if (newer) {
            code = tk_map_put(&w->by_name, tk_buf_str(&key), item, err);
        }
    }
    tk_buf_dispose(&key);
    return code;
}

/* Whether a label belongs to the directory that it was found in: "<run>/<kind>/<dir>". */
static bool fits(const srv_label *label, tk_str dir)
{
    tk_str rest = dir;
    tk_str run = tk_str_cut(&rest, '/');
    tk_str kind = tk_str_cut(&rest, '/');
    return tk_str_eq(run, label->run.id) && tk_str_eq(rest, label->checkpoint.dir) &&
           tk_str_is(kind, tk_path_kind_name(label->checkpoint.kind)) &&
           label->checkpoint.name.n > 0;
}

/* Writes the label of a checkpoint that has a row; one that cannot be written is missing
 * at the next start again. */
static tinkc_code write_label(walk *w, tk_arena *scratch, const srv_store_checkpoint *row,
                              const char *full, tk_err *err)
{
    srv_label label;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = srv_store_fill_label(&label, w->store, scratch, row, &why);
    if (code == TINKC_OK) {
        code = srv_label_write(full, &label, &why);
    }
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    if (code != TINKC_OK) {
        tk_log_write(w->store->log, TINKC_LOG_WARN, "store",
                     TK_STR_FMT " has no label: %s", TK_STR_ARG(row->dir), why.message);
    }
    w->labelled += code == TINKC_OK;
    srv_files_tighten(full);
    return keep(w, row, row->dir, err);
}

static tinkc_code set_aside(walk *w, const char *dir, const char *why, tk_err *err)
{
    tk_buf name;
    tk_err failure = TK_ERR_INIT;
    tk_buf_init(&name, 8 * TK_KIB);
    tk_buf_printf(&name, "checkpoints/%s", dir);
    const char *text = tk_buf_cstr(&name);
    tinkc_code code = text != NULL ? srv_data_set_aside(w->store->data, text, why,
                                                        w->store->log, &failure)
                                   : tk_err_nomem(&failure);
    tk_buf_dispose(&name);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    if (code != TINKC_OK) { /* it stays, without a row */
        tk_log_write(w->store->log, TINKC_LOG_WARN, "store", "%s is left: %s; %s", dir,
                     why, failure.message);
    }
    return TINKC_OK;
}

static tinkc_code judge(walk *w, tk_arena *scratch, const char *dir, const char *full,
                        tk_err *err)
{
    const tk_str name = tk_str_of(dir);
    const srv_store_checkpoint *row = tk_map_get(&w->rows, name);
    srv_label label;
    tk_err why = TK_ERR_INIT;
    if (srv_label_is_buried(full)) {
        found *item = copy_found(w, &(srv_store_checkpoint){0}, name);
        if (item == NULL) {
            return tk_err_nomem(err);
        }
        item->next = w->deleted;
        w->deleted = item;
        return TINKC_OK;
    }
    tinkc_code code = srv_label_read(&label, scratch, full, &why);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    if (code == TINKC_OK && fits(&label, name)) {
        return keep(w, &label.checkpoint, name, err);
    }
    if (row != NULL) {
        return write_label(w, scratch, row, full, err);
    }
    return set_aside(w, dir,
                     code == TINKC_OK          ? "its label is of another place"
                     : code == TINKC_E_MISSING ? "it has no label and no row"
                                               : why.message,
                     err);
}

static tinkc_code visit(walk *w, const char *below, int level, tk_err *err);

/* One entry of a directory at `level`; directories three levels down are checkpoints. */
static tinkc_code visit_entry(walk *w, const char *below, const char *entry, int level,
                              tk_err *err)
{
    tk_arena scratch;
    tk_buf name, path;
    struct stat st;
    tk_arena_init(&scratch, 0);
    tk_buf_init(&name, 4 * TK_KIB);
    tk_buf_init(&path, 8 * TK_KIB);
    tk_buf_printf(&name, "%s%s%s", below, level > 0 ? "/" : "", entry);
    tk_buf_printf(&path, "%s/%s%s%s", w->store->checkpoints, below, level > 0 ? "/" : "",
                  entry);
    const char *dir = tk_buf_cstr(&name);
    const char *full = tk_buf_cstr(&path);
    tinkc_code code = dir != NULL && full != NULL ? TINKC_OK : tk_err_nomem(err);
    if (code == TINKC_OK && lstat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
        code = level < 2 ? visit(w, dir, level + 1, err)
                         : judge(w, &scratch, dir, full, err);
    }
    tk_buf_dispose(&name);
    tk_buf_dispose(&path);
    tk_arena_dispose(&scratch);
    return code;
}

/* A directory that cannot be read ends the start: its checkpoints must not count as
 * lost. */
static tinkc_code visit(walk *w, const char *below, int level, tk_err *err)
{
    tk_buf path;
    tk_buf_init(&path, 8 * TK_KIB);
    tk_buf_printf(&path, "%s/%s", w->store->checkpoints, below);
    const char *full = tk_buf_cstr(&path);
    DIR *dir = full != NULL ? opendir(full) : NULL;
    tinkc_code code = full == NULL  ? tk_err_nomem(err)
                      : dir == NULL ? tk_err_sys(err, errno, "%s", full)
                                    : TINKC_OK;
    if (code == TINKC_OK) {
        (void)!fchmod(dirfd(dir), 0700);
    }
    while (code == TINKC_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            code = errno == 0 ? TINKC_OK : tk_err_sys(err, errno, "%s", full);
            break;
        }
        if (entry->d_name[0] != '.') { /* ".", "..", the work folder */
            code = visit_entry(w, below, entry->d_name, level, err);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    tk_buf_dispose(&path);
    return code;
}

/* ---- the rows ---- */

static found *of_row(walk *w, const srv_store_checkpoint *row)
{
    tk_buf key;
    tk_buf_init(&key, 4 * TK_KIB);
    found *item = name_key(&key, row) ? tk_map_get(&w->by_name, tk_buf_str(&key)) : NULL;
    tk_buf_dispose(&key);
    return item != NULL && tk_str_eq(item->checkpoint.dir, row->dir) ? item : NULL;
}

static bool is_same(const srv_store_checkpoint *a, const srv_store_checkpoint *b)
{
    return a->row == b->row && a->kind == b->kind && tk_str_eq(a->run_id, b->run_id) &&
           tk_str_eq(a->name, b->name) && a->created_us == b->created_us &&
           a->expires_us == b->expires_us && a->size_bytes == b->size_bytes &&
           a->is_public == b->is_public && a->has_optimizer == b->has_optimizer &&
           tk_str_eq(a->user_metadata, b->user_metadata);
}

static tinkc_code delete_row(walk *w, int64_t row, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, w->store->db, "DELETE FROM checkpoints WHERE row = ?");
    srv_sql_i64(&sql, row);
    return srv_sql_done(&sql, err);
}

/* Deletes the rows that are not as the disk has them. */
static tinkc_code delete_rows(walk *w, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    size_t at = 0;
    void *value = NULL;
    while (code == TINKC_OK && tk_map_next(&w->rows, &at, NULL, &value)) {
        const srv_store_checkpoint *row = value;
        const found *item = of_row(w, row);
        if (item != NULL && is_same(row, &item->checkpoint)) {
            continue;
        }
        if (item == NULL) {
            tk_log_write(w->store->log, TINKC_LOG_WARN, "store",
                         TK_STR_FMT " is gone from the disk", TK_STR_ARG(row->dir));
        }
        w->dropped += item == NULL;
        code = delete_row(w, row->row, err);
    }
    return code;
}

/* Inserts the run and the session of a label, unless they are there. */
static tinkc_code insert_run(walk *w, const srv_label *label, tk_err *err)
{
    srv_sql sql;
    const srv_store_run *run = &label->run;
    srv_sql_begin(&sql, w->store->db,
                  "INSERT OR IGNORE INTO runs VALUES(?,?,?,?,?,?,?,nullif(?, ''),?9,?9,"
                  " nullif(?10, ''))");
    srv_store_bind_run(&sql, run);
    srv_sql_i64(&sql, run->created_us);
    srv_sql_text(&sql, run->project_id);
    tinkc_code code = srv_sql_done(&sql, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_sql_begin(&sql, w->store->db,
                  "UPDATE runs SET last_request_us = max(last_request_us, ?)"
                  " WHERE id = ?");
    srv_sql_i64(&sql, label->checkpoint.created_us);
    srv_sql_text(&sql, run->id);
    code = srv_sql_done(&sql, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_sql_begin(&sql, w->store->db,
                  "INSERT OR IGNORE INTO sessions(id, created_us, tags, project_id)"
                  " VALUES(?,?,'[]',nullif(?, ''))");
    srv_sql_text(&sql, run->session_id);
    srv_sql_i64(&sql, run->created_us);
    srv_sql_text(&sql, run->project_id);
    return srv_sql_done(&sql, err);
}

/* Inserts the row of a checkpoint, under its number or, when another one has that, under
 * the next. */
static tinkc_code insert_row(walk *w, const found *item, srv_label *label,
                             const char *full, tk_err *err)
{
    srv_store_checkpoint row = item->checkpoint;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = srv_store_insert_checkpoint(w->store, &row, &row.row, &why);
    if (code == TINKC_E_CONFLICT) {
        row.row = 0;
        code = srv_store_insert_checkpoint(w->store, &row, &row.row, err);
        label->checkpoint.row = row.row;
        if (code == TINKC_OK) {
            code = srv_label_write(full, label, err);
        }
        return code;
    }
    return code == TINKC_OK ? TINKC_OK : tk_err_set(err, code, "%s", why.message);
}

static tinkc_code insert(walk *w, const found *item, tk_err *err)
{
    tk_arena scratch;
    srv_label label;
    const char *full = NULL;
    tk_arena_init(&scratch, 0);
    tinkc_code code = srv_store_dir(&full, w->store, &scratch, item->checkpoint.dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_label_read(&label, &scratch, full, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = insert_run(w, &label, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = insert_row(w, item, &label, full, err);
out:
    tk_arena_dispose(&scratch);
    return code;
}

/* Inserts what the disk has and the database has not, or not so. */
static tinkc_code insert_rows(walk *w, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    size_t at = 0;
    void *value = NULL;
    while (code == TINKC_OK && tk_map_next(&w->by_name, &at, NULL, &value)) {
        const found *item = value;
        const srv_store_checkpoint *row = tk_map_get(&w->rows, item->checkpoint.dir);
        if (row != NULL && is_same(row, &item->checkpoint)) {
            continue;
        }
        w->inserted += row == NULL;
        w->changed += row != NULL;
        code = insert(w, item, err);
    }
    return code;
}

static tinkc_code write_rows(walk *w, tk_err *err)
{
    tinkc_code code = srv_sql_exec(w->store->db, "BEGIN IMMEDIATE", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = delete_rows(w, err);
    if (code == TINKC_OK) {
        code = insert_rows(w, err);
    }
    return srv_store_end(w->store, code, err);
}

/* ---- what is left over ---- */

static tinkc_code clear_older(walk *w, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (found *at = w->older; code == TINKC_OK && at != NULL; at = at->next) {
        if (w->store->made_new) {
            code = set_aside(w, at->checkpoint.dir.p, "a newer checkpoint has its name",
                             err);
        } else {
            srv_store_remove_dir(w->store, at->checkpoint.dir);
        }
    }
    return code;
}

/* Removes what saves that were cut off left in the work folder. */
static tinkc_code clear_work(walk *w, tk_err *err)
{
    DIR *dir = opendir(w->store->work);
    tinkc_code code =
        dir != NULL ? TINKC_OK : tk_err_sys(err, errno, "%s", w->store->work);
    const struct dirent *entry;
    while (code == TINKC_OK && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, SRV_DATA_MARK_FILE) == 0) {
            continue;
        }
        tk_buf path;
        tk_buf_init(&path, 8 * TK_KIB);
        tk_buf_printf(&path, "%s/%s", w->store->work, entry->d_name);
        const char *full = tk_buf_cstr(&path);
        code = full != NULL ? TINKC_OK : tk_err_nomem(err);
        if (full != NULL) {
            srv_files_remove_dir(full);
        }
        tk_buf_dispose(&path);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return code;
}

static tinkc_code clear(walk *w, tk_err *err)
{
    tinkc_code code = clear_older(w, err);
    if (code != TINKC_OK || w->store->made_new) {
        return code;
    }
    for (found *at = w->deleted; at != NULL; at = at->next) {
        srv_store_remove_dir(w->store, at->checkpoint.dir);
    }
    return clear_work(w, err);
}

static void report(const walk *w)
{
    if (w->labelled + w->inserted + w->changed + w->dropped > 0) {
        tk_log_write(w->store->log, TINKC_LOG_INFO, "store",
                     "checkpoints: %zu labelled, %zu taken up, %zu corrected, %zu gone",
                     w->labelled, w->inserted, w->changed, w->dropped);
    }
}

tinkc_code srv_store_reconcile(srv_store *store, tk_err *err)
{
    walk w = {.store = store};
    tk_arena_init(&w.arena, 0);
    tk_map_init(&w.rows, TK_MAP_BORROW_KEYS);
    tk_map_init(&w.by_name, TK_MAP_COPY_KEYS);
    tinkc_code code = read_rows(&w, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = visit(&w, "", 0, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = write_rows(&w, err);
    if (code != TINKC_OK) {
        goto out;
    }
    report(&w);
    code = clear(&w, err);
out:
    tk_map_dispose(&w.rows);
    tk_map_dispose(&w.by_name);
    tk_arena_dispose(&w.arena);
    return code;
}
