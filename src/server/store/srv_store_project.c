/* The project of a session: its row, those of its runs, and the labels of their
 * checkpoints, from which a lost database is rebuilt. */
#include "server/store/srv_store_int.h"

/* Sets the project of the row of a session, or of the rows of its runs. Under the lock. */
static tinkc_code update(srv_store *store, const char *text, tk_str id, tk_str project_id,
                         tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db, text);
    srv_sql_text(&sql, id);
    srv_sql_text(&sql, project_id);
    return srv_sql_done(&sql, err);
}

static tinkc_code set_rows(srv_store *store, tk_str id, tk_str project_id, tk_err *err)
{
    tinkc_code code = srv_sql_exec(store->db, "BEGIN IMMEDIATE", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = update(store, "UPDATE sessions SET project_id = nullif(?2, '') WHERE id = ?1",
                  id, project_id, err);
    if (code == TINKC_OK && sqlite3_changes(store->db) == 0) {
        code = tk_err_set(err, TINKC_E_MISSING, "Session not found");
    }
    if (code == TINKC_OK) {
        code = update(store,
                      "UPDATE runs SET project_id = nullif(?2, '') WHERE session_id = ?1",
                      id, project_id, err);
    }
    return srv_store_end(store, code, err);
}

/* Writes the label of the first checkpoint of the session above *row, which becomes its
 * number; 0 when there is none. Under the lock: a deletion comes before or after it. */
static tinkc_code relabel_next(srv_store *store, tk_str id, int64_t *row, tk_err *err)
{
    srv_sql sql;
    srv_label label;
    srv_store_checkpoint at;
    const char *full = NULL;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    srv_sql_begin(&sql, store->db,
                  "SELECT " SRV_STORE_CHECKPOINT_COLUMNS " FROM checkpoints"
                  " WHERE row > ?1 AND run_id IN"
                  "  (SELECT id FROM runs WHERE session_id = ?2) ORDER BY row LIMIT 1");
    srv_sql_i64(&sql, *row);
    srv_sql_text(&sql, id);
    *row = 0;
    if (srv_sql_row(&sql)) {
        srv_store_read_checkpoint(&at, &sql, &arena);
        *row = at.row;
    }
    tinkc_code code = srv_sql_done(&sql, err);
    if (code != TINKC_OK || *row == 0 || at.dir.n == 0) {
        goto out;
    }
    code = srv_store_dir(&full, store, &arena, at.dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_fill_label(&label, store, &arena, &at, err);
    if (code == TINKC_OK) {
        code = srv_label_write(full, &label, err);
    }
out:
    tk_arena_dispose(&arena);
    return code;
}

/* A directory that cannot be written keeps no other from its new label. */
tinkc_code srv_store_set_project(srv_store *store, tk_str id, tk_str project_id,
                                 tk_err *err)
{
    int64_t row = 0;
    tk_mutex_lock(&store->lock);
    tinkc_code first = set_rows(store, id, project_id, err);
    tk_mutex_unlock(&store->lock);
    if (first != TINKC_OK) {
        return first;
    }
    do {
        tk_err why = TK_ERR_INIT;
        tk_mutex_lock(&store->lock);
        tinkc_code code = relabel_next(store, id, &row, &why);
        tk_mutex_unlock(&store->lock);
        if (first == TINKC_OK && code != TINKC_OK) {
            first = tk_err_set(err, code, "%s", why.message);
        }
    } while (row > 0);
    return first;
}
