/* Sessions for a search, with the count and the bytes of their checkpoints. */
#include "server/store/srv_store_int.h"

tinkc_code srv_store_search_sessions(srv_store_founds *out, srv_store *store,
                                     tk_arena *arena, const srv_store_search *search,
                                     tk_err *err)
{
    srv_store_found *rows = tk_arena_array(arena, (size_t)search->limit, sizeof(*rows));
    size_t n = 0, bytes = 0;
    if (rows == NULL) {
        return tk_err_nomem(err);
    }
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db,
                  "SELECT id, created_us, user_metadata, project_id,"
                  " (SELECT count(*) FROM checkpoints WHERE run_id IN"
                  "  (SELECT id FROM runs WHERE session_id = s.id)),"
                  " (SELECT coalesce(sum(size_bytes), 0) FROM checkpoints WHERE run_id IN"
                  "  (SELECT id FROM runs WHERE session_id = s.id)), display_name,"
                  " f.reason, f.detail"
                  " FROM sessions s LEFT JOIN finished f ON f.session_id = s.id"
                  " WHERE (created_us, id) < (?1, ?2)"
                  " AND (?3 IS NULL OR id = ?3)"
                  " ORDER BY created_us DESC, id DESC LIMIT ?4");
    srv_sql_i64(&sql, search->before_us);
    srv_sql_text(&sql, search->before_id);
    srv_sql_text(&sql, search->id);
    srv_sql_i64(&sql, search->limit);
    while (bytes < TK_SRV_SEARCH_PAGE_BYTES && n < (size_t)search->limit &&
           srv_sql_row(&sql)) {
        rows[n++] = (srv_store_found){
            .id = srv_sql_get_text(&sql, arena, 0),
            .created_us = srv_sql_get_i64(&sql, 1),
            .user_metadata = srv_sql_get_text(&sql, arena, 2),
            .project_id = srv_sql_get_text(&sql, arena, 3),
            .n_checkpoints = srv_sql_get_i64(&sql, 4),
            .checkpoint_bytes = srv_sql_get_i64(&sql, 5),
            .display_name = srv_sql_get_text(&sql, arena, 6),
            .finish_reason = srv_sql_get_text(&sql, arena, 7),
            .finish_detail = srv_sql_get_text(&sql, arena, 8),
        };
        bytes += rows[n - 1].user_metadata.n + rows[n - 1].display_name.n +
                 rows[n - 1].finish_detail.n;
    }
    bool more = !sql.ended;
    srv_sql_stop(&sql);
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    *out = (srv_store_founds){rows, n, bytes, more};
    return code;
}
