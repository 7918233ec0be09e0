/* Pages of runs, checkpoints and sessions. The count and the rows are read under one hold
 * of the lock, so they agree. */
#include "base/clock.h"
#include "server/store/srv_store_int.h"

/* Returns how many rows of `total` a page shows. */
static size_t rows_of(const srv_store_page *page, int64_t total)
{
    int64_t left = page->offset < total ? total - page->offset : 0;
    return (size_t)TK_MIN(left, page->limit);
}

/* Reads the number that a statement selects, and ends it. */
static tinkc_code read_count(int64_t *out, srv_sql *sql, tk_err *err)
{
    if (srv_sql_row(sql)) {
        *out = srv_sql_get_i64(sql, 0);
    }
    return srv_sql_done(sql, err);
}

/* ---- runs ---- */

#define OF_PROJECT " FROM runs WHERE (?1 IS NULL OR project_id = ?1)"

static tinkc_code read_runs(srv_store_runs *out, srv_store *store, tk_arena *arena,
                            const srv_store_page *page, tk_str project_id, tk_err *err)
{
    srv_sql sql;
    srv_store_runs list = {0};
    srv_sql_begin(&sql, store->db, "SELECT count(*)" OF_PROJECT);
    srv_sql_text(&sql, project_id);
    tinkc_code code = read_count(&list.total, &sql, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t max = rows_of(page, list.total);
    srv_store_run *rows = tk_arena_array(arena, max, sizeof(*rows));
    if (max > 0 && rows == NULL) {
        return tk_err_nomem(err);
    }
    srv_sql_begin(&sql, store->db,
                  "SELECT " SRV_STORE_RUN_COLUMNS OF_PROJECT
                  " ORDER BY last_request_us DESC, id LIMIT ?2 OFFSET ?3");
    srv_sql_text(&sql, project_id);
    srv_sql_i64(&sql, (int64_t)max);
    srv_sql_i64(&sql, page->offset);
    while (list.n < max && srv_sql_row(&sql)) {
        srv_store_read_run(&rows[list.n++], &sql, arena);
    }
    list.p = rows;
    code = srv_sql_done(&sql, err);
    if (code == TINKC_OK) {
        *out = list;
    }
    return code;
}

tinkc_code srv_store_list_runs(srv_store_runs *out, srv_store *store, tk_arena *arena,
                               const srv_store_page *page, tk_str project_id, tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = read_runs(out, store, arena, page, project_id, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

/* ---- checkpoints ---- */

#define OF_RUN " FROM checkpoints WHERE run_id = ?1"
#define OF_ALL " FROM checkpoints WHERE ?1 IS NOT NULL"
#define ALIVE                                                                            \
    " AND (?2 < 0 OR kind = ?2) AND (expires_us = 0 OR expires_us > ?3)"                 \
    " AND row < ?4"
#define PAGE   " ORDER BY row DESC LIMIT ?5 OFFSET ?6"
#define SELECT "SELECT " SRV_STORE_CHECKPOINT_COLUMNS

static void bind_filter(srv_sql *sql, const srv_store_filter *filter, int64_t now_us)
{
    srv_sql_text(sql, filter->run_id.p != NULL ? filter->run_id : TK_STR(""));
    srv_sql_i64(sql, filter->has_kind ? (int64_t)filter->kind : -1);
    srv_sql_i64(sql, now_us);
    srv_sql_i64(sql, filter->before_row > 0 ? filter->before_row : INT64_MAX);
}

static tinkc_code read_checkpoints(srv_store_checkpoints *out, srv_store *store,
                                   tk_arena *arena, const srv_store_filter *filter,
                                   tk_err *err)
{
    srv_sql sql;
    srv_store_checkpoints list = {0};
    bool of_run = filter->run_id.n > 0;
    int64_t now = tk_clock_wall_us(NULL);
    srv_sql_begin(&sql, store->db,
                  of_run ? "SELECT count(*)" OF_RUN ALIVE
                         : "SELECT count(*)" OF_ALL ALIVE);
    bind_filter(&sql, filter, now);
    tinkc_code code = read_count(&list.total, &sql, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t max = rows_of(&filter->page, list.total);
    srv_store_checkpoint *rows = tk_arena_array(arena, max, sizeof(*rows));
    if (max > 0 && rows == NULL) {
        return tk_err_nomem(err);
    }
    srv_sql_begin(&sql, store->db,
                  of_run ? SELECT OF_RUN ALIVE PAGE : SELECT OF_ALL ALIVE PAGE);
    bind_filter(&sql, filter, now);
    srv_sql_i64(&sql, (int64_t)max);
    srv_sql_i64(&sql, filter->page.offset);
    while (list.n < max && srv_sql_row(&sql)) {
        srv_store_read_checkpoint(&rows[list.n++], &sql, arena);
    }
    list.p = rows;
    code = srv_sql_done(&sql, err);
    if (code == TINKC_OK) {
        *out = list;
    }
    return code;
}

tinkc_code srv_store_list_checkpoints(srv_store_checkpoints *out, srv_store *store,
                                      tk_arena *arena, const srv_store_filter *filter,
                                      tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = read_checkpoints(out, store, arena, filter, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

/* ---- ids ---- */

/* Ids that `rows` selects, of which `count` says how many there are; both take `key` as
 * their first parameter unless it is NULL. Under the lock. */
typedef struct id_query {
    const char *count, *rows;
    const tk_str *key;
    srv_store_page page;
} id_query;

static tinkc_code read_ids(tk_strs *out, srv_store *store, tk_arena *arena,
                           const id_query *query, tk_err *err)
{
    srv_sql sql;
    int64_t total = 0;
    size_t n = 0;
    srv_sql_begin(&sql, store->db, query->count);
    if (query->key != NULL) {
        srv_sql_text(&sql, *query->key);
    }
    tinkc_code code = read_count(&total, &sql, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t max = rows_of(&query->page, total);
    tk_str *ids = tk_arena_array(arena, max, sizeof(*ids));
    if (max > 0 && ids == NULL) {
        return tk_err_nomem(err);
    }
    srv_sql_begin(&sql, store->db, query->rows);
    if (query->key != NULL) {
        srv_sql_text(&sql, *query->key);
    }
    srv_sql_i64(&sql, (int64_t)max);
    srv_sql_i64(&sql, query->page.offset);
    while (n < max && srv_sql_row(&sql)) {
        ids[n++] = srv_sql_get_text(&sql, arena, 0);
    }
    code = srv_sql_done(&sql, err);
    if (code == TINKC_OK) {
        *out = (tk_strs){ids, n};
    }
    return code;
}

static tinkc_code list_ids(tk_strs *out, srv_store *store, tk_arena *arena,
                           const id_query *query, tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = read_ids(out, store, arena, query, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_list_sessions(tk_strs *ids, srv_store *store, tk_arena *arena,
                                   const srv_store_page *page, tk_err *err)
{
    const id_query query = {
        "SELECT count(*) FROM sessions",
        "SELECT id FROM sessions ORDER BY created_us DESC, id LIMIT ? OFFSET ?", NULL,
        *page};
    return list_ids(ids, store, arena, &query, err);
}

tinkc_code srv_store_list_session_runs(tk_strs *ids, srv_store *store, tk_arena *arena,
                                       tk_str session_id, tk_err *err)
{
    const id_query query = {"SELECT count(*) FROM runs WHERE session_id = ?",
                            "SELECT id FROM runs WHERE session_id = ?"
                            " ORDER BY created_us, id LIMIT ? OFFSET ?",
                            &session_id,
                            {INT64_MAX, 0}};
    return list_ids(ids, store, arena, &query, err);
}

tinkc_code srv_store_list_session_samplers(tk_strs *ids, srv_store *store,
                                           tk_arena *arena, tk_str session_id,
                                           tk_err *err)
{
    const id_query query = {"SELECT count(*) FROM samplers WHERE session_id = ?",
                            "SELECT id FROM samplers WHERE session_id = ?"
                            " ORDER BY created_us, id LIMIT ? OFFSET ?",
                            &session_id,
                            {INT64_MAX, 0}};
    return list_ids(ids, store, arena, &query, err);
}
