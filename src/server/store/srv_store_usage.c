/* Counters of usage by hour, base model, session and kind. */
#include "base/clock.h"
#include "server/store/srv_store_int.h"

static tinkc_code add_one(srv_store *store, const srv_store_usage *row, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db,
                  "INSERT INTO usage(bucket_us, base_model, session_id, kind, amount)"
                  " VALUES(?,?,?,?,?) ON CONFLICT(bucket_us, base_model, session_id,"
                  " kind) DO UPDATE SET amount = amount + excluded.amount");
    srv_sql_i64(&sql, row->bucket_us);
    srv_sql_text(&sql, row->base_model);
    srv_sql_text(&sql, row->session_id);
    srv_sql_i64(&sql, row->kind);
    srv_sql_i64(&sql, row->amount);
    return srv_sql_done(&sql, err);
}

tinkc_code srv_store_add_usage(srv_store *store, const srv_store_usage *rows, size_t n,
                               tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = srv_sql_exec(store->db, "BEGIN IMMEDIATE", err);
    if (code == TINKC_OK) {
        for (size_t i = 0; code == TINKC_OK && i < n; i++) {
            code = add_one(store, &rows[i], err);
        }
        code = srv_store_end(store, code, err);
    }
    tk_mutex_unlock(&store->lock);
    return code;
}

static tinkc_code count_usage(int64_t *out, srv_store *store, const int64_t span[2],
                              tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db,
                  "SELECT count(*) FROM usage WHERE bucket_us >= ? AND bucket_us < ?");
    srv_sql_i64(&sql, span[0]);
    srv_sql_i64(&sql, span[1]);
    if (srv_sql_row(&sql)) {
        *out = srv_sql_get_i64(&sql, 0);
    }
    return srv_sql_done(&sql, err);
}

static tinkc_code read_usage(srv_store_usages *out, srv_store *store, tk_arena *arena,
                             const int64_t span[2], tk_err *err)
{
    srv_sql sql;
    int64_t max = 0;
    tinkc_code code = count_usage(&max, store, span, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_store_usages list = {0};
    srv_store_usage *rows = tk_arena_array(arena, (size_t)max, sizeof(*rows));
    if (max > 0 && rows == NULL) {
        return tk_err_nomem(err);
    }
    srv_sql_begin(&sql, store->db,
                  "SELECT bucket_us, base_model, session_id, kind, amount FROM usage"
                  " WHERE bucket_us >= ? AND bucket_us < ?"
                  " ORDER BY bucket_us, session_id, base_model, kind");
    srv_sql_i64(&sql, span[0]);
    srv_sql_i64(&sql, span[1]);
    while (list.n < (size_t)max && srv_sql_row(&sql)) {
        srv_store_usage *row = &rows[list.n++];
        row->bucket_us = srv_sql_get_i64(&sql, 0);
        row->base_model = srv_sql_get_text(&sql, arena, 1);
        row->session_id = srv_sql_get_text(&sql, arena, 2);
        row->kind = srv_sql_get_i64(&sql, 3);
        row->amount = srv_sql_get_i64(&sql, 4);
    }
    list.p = rows;
    code = srv_sql_done(&sql, err);
    if (code == TINKC_OK) {
        *out = list;
    }
    return code;
}

tinkc_code srv_store_list_usage(srv_store_usages *out, srv_store *store, tk_arena *arena,
                                const int64_t span_us[2], tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = read_usage(out, store, arena, span_us, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_get_session(srv_store_session *out, srv_store *store,
                                 tk_arena *arena, tk_str id, tk_err *err)
{
    srv_sql sql;
    srv_store_session session = {{"", 0}, {"", 0}};
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "SELECT user_metadata, display_name FROM sessions WHERE id = ?");
    srv_sql_text(&sql, id);
    bool found = srv_sql_row(&sql);
    if (found) {
        session.user_metadata = srv_sql_get_text(&sql, arena, 0);
        session.display_name = srv_sql_get_text(&sql, arena, 1);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    if (code == TINKC_OK && !found) {
        return tk_err_set(err, TINKC_E_MISSING, "Session not found");
    }
    if (code == TINKC_OK) {
        *out = session;
    }
    return code;
}

/* ---- space ---- */

#define SPACE_FROM                                                                       \
    " FROM checkpoints c LEFT JOIN runs r ON r.id = c.run_id"                            \
    " WHERE (c.expires_us = 0 OR c.expires_us > ?1)"                                     \
    " AND (?2 IS NULL OR r.project_id = ?2)"

static tinkc_code read_space(srv_store_spaces *out, srv_store *store, tk_arena *arena,
                             tk_str project_id, tk_err *err)
{
    srv_sql sql;
    int64_t now = tk_clock_wall_us(NULL), total = 0;
    size_t n = 0;
    srv_sql_begin(&sql, store->db,
                  "SELECT count(DISTINCT coalesce(r.project_id, ''))" SPACE_FROM);
    srv_sql_i64(&sql, now);
    srv_sql_text(&sql, project_id);
    if (srv_sql_row(&sql)) {
        total = srv_sql_get_i64(&sql, 0);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_store_space *rows = tk_arena_array(arena, (size_t)total, sizeof(*rows));
    if (total > 0 && rows == NULL) {
        return tk_err_nomem(err);
    }
    srv_sql_begin(&sql, store->db,
                  "SELECT coalesce(r.project_id, ''), count(*),"
                  " coalesce(sum(c.size_bytes), 0)" SPACE_FROM " GROUP BY 1 ORDER BY 1");
    srv_sql_i64(&sql, now);
    srv_sql_text(&sql, project_id);
    while (n < (size_t)total && srv_sql_row(&sql)) {
        rows[n++] = (srv_store_space){srv_sql_get_text(&sql, arena, 0),
                                      srv_sql_get_i64(&sql, 1), srv_sql_get_i64(&sql, 2)};
    }
    code = srv_sql_done(&sql, err);
    if (code == TINKC_OK) {
        *out = (srv_store_spaces){rows, n};
    }
    return code;
}

tinkc_code srv_store_list_space(srv_store_spaces *out, srv_store *store, tk_arena *arena,
                                tk_str project_id, tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = read_space(out, store, arena, project_id, err);
    tk_mutex_unlock(&store->lock);
    return code;
}
