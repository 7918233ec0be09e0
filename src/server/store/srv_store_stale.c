/* Rows that nothing needs any more: sessions of long ago without a checkpoint, with their
 * runs and samplers, and old counters of usage; and the time by which they are old. */
#include "base/clock.h"
#include "server/store/srv_store_int.h"

#define DAY_US (INT64_C(86400) * 1000000)

/* ---- time ---- */

int64_t srv_store_removal_us(srv_store *store)
{
    tk_mutex_lock(&store->lock);
    bool jumped = store->wall.jumped;
    int64_t now =
        srv_wall_read(&store->wall, tk_clock_wall_us(NULL), tk_clock_mono_ns(NULL));
    bool jumps = store->wall.jumped && !jumped;
    tk_mutex_unlock(&store->lock);
    if (jumps) {
        tk_log_write(store->log, TINKC_LOG_WARN, "store",
                     "the clock has jumped: nothing that expired is removed for an hour");
    }
    return now;
}

int64_t srv_store_end_us(srv_store *store, int64_t ttl_seconds)
{
    tk_mutex_lock(&store->lock);
    int64_t now =
        srv_wall_latest(&store->wall, tk_clock_wall_us(NULL), tk_clock_mono_ns(NULL));
    tk_mutex_unlock(&store->lock);
    return ttl_seconds > 0 ? now + ttl_seconds * INT64_C(1000000) : 0;
}

tinkc_code srv_store_note_time(srv_store *store, tk_err *err)
{
    srv_sql sql;
    int64_t now = srv_store_removal_us(store);
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "UPDATE clock SET seen_us = ?");
    srv_sql_i64(&sql, now);
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

/* ---- sessions ---- */

tinkc_code srv_store_stale_time(int64_t *out, srv_store *store, int64_t now_us,
                                tk_err *err)
{
    srv_sql sql;
    int64_t time_us = now_us - TK_SRV_SESSION_DAYS * DAY_US;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "SELECT created_us FROM sessions ORDER BY created_us DESC"
                  " LIMIT 1 OFFSET ?");
    srv_sql_i64(&sql, TK_SRV_SESSION_ROWS_MAX);
    if (srv_sql_row(&sql)) {
        time_us = TK_MAX(time_us, srv_sql_get_i64(&sql, 0) + 1);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    if (code == TINKC_OK) {
        *out = time_us;
    }
    return code;
}

tinkc_code srv_store_list_stale(tk_strs *ids, int64_t *last_us, srv_store *store,
                                tk_arena *arena, const srv_store_stale *stale,
                                tk_err *err)
{
    srv_sql sql;
    size_t n = 0;
    tk_str *list = tk_arena_array(arena, (size_t)stale->limit, sizeof(*list));
    if (list == NULL) {
        return tk_err_nomem(err);
    }
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "SELECT id, created_us FROM sessions s"
                  " WHERE (created_us, id) > (?1, ?2) AND created_us < ?3"
                  " AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE run_id IN"
                  "  (SELECT id FROM runs WHERE session_id = s.id))"
                  " ORDER BY created_us, id LIMIT ?4");
    srv_sql_i64(&sql, stale->after_us);
    srv_sql_text(&sql, stale->after_id);
    srv_sql_i64(&sql, stale->before_us);
    srv_sql_i64(&sql, stale->limit);
    while (n < (size_t)stale->limit && srv_sql_row(&sql)) {
        list[n++] = srv_sql_get_text(&sql, arena, 0);
        *last_us = srv_sql_get_i64(&sql, 1);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    if (code == TINKC_OK) {
        *ids = (tk_strs){list, n};
    }
    return code;
}

/* Runs a statement with one parameter. */
static tinkc_code run(srv_store *store, const char *text, tk_str id, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db, text);
    srv_sql_text(&sql, id);
    return srv_sql_done(&sql, err);
}

static tinkc_code forget(srv_store *store, tk_str id, tk_err *err)
{
    tinkc_code code = run(store,
                          "DELETE FROM runs WHERE session_id = ? AND NOT EXISTS"
                          " (SELECT 1 FROM checkpoints WHERE run_id = runs.id)",
                          id, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = run(store,
               "DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS"
               " (SELECT 1 FROM runs WHERE session_id = ?1)",
               id, err);
    if (code == TINKC_OK) {
        code = run(store,
                   "DELETE FROM finished WHERE session_id = ?1 AND NOT EXISTS"
                   " (SELECT 1 FROM sessions WHERE id = ?1)",
                   id, err);
    }
    return code == TINKC_OK
               ? run(store, "DELETE FROM samplers WHERE session_id = ?", id, err)
               : code;
}

tinkc_code srv_store_forget_session(srv_store *store, tk_str id, tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = srv_sql_exec(store->db, "BEGIN IMMEDIATE", err);
    if (code == TINKC_OK) {
        code = srv_store_end(store, forget(store, id, err), err);
    }
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_forget_runs(srv_store *store, int64_t before_us, tk_err *err)
{
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "DELETE FROM runs WHERE last_request_us < ?"
                  " AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = runs.session_id)"
                  " AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE run_id = runs.id)");
    srv_sql_i64(&sql, before_us);
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

/* ---- usage ---- */

tinkc_code srv_store_forget_usage(srv_store *store, int64_t now_us, tk_err *err)
{
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "DELETE FROM usage WHERE bucket_us < ?");
    srv_sql_i64(&sql, now_us - TK_SRV_USAGE_DAYS * DAY_US);
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code;
}
