/* Rows of sessions, runs and samplers. The database itself is in srv_store_open.c,
 * checkpoints are in srv_store_checkpoint.c. */
#include "server/store/srv_store.h"

#include "base/clock.h"
#include "base/json.h"
#include "server/store/srv_sql.h"
#include "server/store/srv_store_int.h"

/* ---- sessions ---- */

static tinkc_code json_of(tk_buf *out, const tk_create_session_request *msg, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_array(&w);
    for (size_t i = 0; i < msg->tags.n; i++) {
        tk_json_put_str(&w, msg->tags.p[i]);
    }
    tk_json_end_array(&w);
    return tk_json_finish(&w, err);
}

static tk_str metadata_text(tk_buf *out, const tk_f_raw *raw)
{
    if (raw->is != TK_SET || raw->v == NULL) {
        return (tk_str){NULL, 0};
    }
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_put_value(&w, raw->v);
    return out->failure == TINKC_OK ? tk_buf_str(out) : (tk_str){NULL, 0};
}

static tk_str optional(const tk_f_str *field)
{
    return field->is == TK_SET ? field->v : (tk_str){NULL, 0};
}

tinkc_code srv_store_add_session(srv_store *store, const char *id,
                                 const tk_create_session_request *msg, tk_err *err)
{
    tk_buf tags, metadata;
    tk_buf_init(&tags, 2 * TK_HD_BODY_LIGHT_BYTES);
    tk_buf_init(&metadata, 2 * TK_HD_BODY_LIGHT_BYTES);
    tinkc_code code = json_of(&tags, msg, err);
    if (code == TINKC_OK) {
        srv_sql sql;
        tk_mutex_lock(&store->lock);
        srv_sql_begin(&sql, store->db, "INSERT INTO sessions VALUES(?,?,?,?,?,?,?)");
        srv_sql_text(&sql, tk_str_of(id));
        srv_sql_i64(&sql, tk_clock_wall_us(NULL));
        srv_sql_text(&sql, tk_buf_str(&tags));
        srv_sql_text(&sql, metadata_text(&metadata, &msg->user_metadata));
        srv_sql_text(&sql, optional(&msg->sdk_version));
        srv_sql_text(&sql, optional(&msg->project_id));
        srv_sql_text(&sql, optional(&msg->display_name));
        code = srv_sql_done(&sql, err);
        tk_mutex_unlock(&store->lock);
    }
    tk_buf_dispose(&tags);
    tk_buf_dispose(&metadata);
    return code;
}

tinkc_code srv_store_find_session(srv_store *store, tk_str id, tk_err *err)
{
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "SELECT 1 FROM sessions WHERE id = ?");
    srv_sql_text(&sql, id);
    bool found = srv_sql_row(&sql);
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code == TINKC_OK && !found
               ? tk_err_set(err, TINKC_E_MISSING, "Session not found")
               : code;
}

tinkc_code srv_store_finish_session(srv_store *store, tk_str id, tk_str reason,
                                    tk_str detail, tk_err *err)
{
    srv_sql sql;
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "INSERT OR IGNORE INTO finished VALUES(?,?,?)");
    srv_sql_text(&sql, id);
    srv_sql_text(&sql, reason);
    srv_sql_text(&sql, detail);
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

/* ---- runs and samplers ---- */

void srv_store_bind_run(srv_sql *sql, const srv_store_run *run)
{
    srv_sql_text(sql, run->id);
    srv_sql_text(sql, run->session_id);
    srv_sql_text(sql, run->base_model);
    srv_sql_i64(sql, run->rank);
    srv_sql_i64(sql, run->train_unembed);
    srv_sql_i64(sql, run->train_mlp);
    srv_sql_i64(sql, run->train_attn);
    srv_sql_text(sql, run->user_metadata);
}

/* Whether there are checkpoints of the run that have another shape. Under the lock. */
static tinkc_code check_shape(srv_store *store, const srv_store_run *run, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, store->db,
                  "SELECT 1 FROM runs WHERE id = ?1 AND (base_model <> ?2"
                  " OR lora_rank <> ?3 OR train_unembed <> ?4 OR train_mlp <> ?5"
                  " OR train_attn <> ?6)"
                  " AND EXISTS (SELECT 1 FROM checkpoints WHERE run_id = ?1)");
    srv_sql_text(&sql, run->id);
    srv_sql_text(&sql, run->base_model);
    srv_sql_i64(&sql, run->rank);
    srv_sql_i64(&sql, run->train_unembed);
    srv_sql_i64(&sql, run->train_mlp);
    srv_sql_i64(&sql, run->train_attn);
    bool differs = srv_sql_row(&sql);
    tinkc_code code = srv_sql_done(&sql, err);
    return code == TINKC_OK && differs
               ? tk_err_set(err, TINKC_E_CONFLICT,
                            "model_seq_id is in use: its run has checkpoints of another "
                            "kind of model")
               : code;
}

static tinkc_code put_run(srv_store *store, const srv_store_run *run, tk_err *err)
{
    srv_sql sql;
    int64_t now = tk_clock_wall_us(NULL);
    srv_sql_begin(&sql, store->db,
                  "INSERT OR REPLACE INTO runs VALUES(?,?2,?,?,?,?,?,?,?,?,"
                  " coalesce(nullif(?, ''),"
                  "  (SELECT project_id FROM sessions WHERE id = ?2)))");
    srv_store_bind_run(&sql, run);
    srv_sql_i64(&sql, now);
    srv_sql_i64(&sql, now);
    srv_sql_text(&sql, run->project_id);
    return srv_sql_done(&sql, err);
}

tinkc_code srv_store_add_run(srv_store *store, const srv_store_run *run, tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = check_shape(store, run, err);
    if (code == TINKC_OK) {
        code = put_run(store, run, err);
    }
    tk_mutex_unlock(&store->lock);
    return code;
}

void srv_store_read_run(srv_store_run *out, srv_sql *sql, tk_arena *arena)
{
    out->id = srv_sql_get_text(sql, arena, 0);
    out->session_id = srv_sql_get_text(sql, arena, 1);
    out->base_model = srv_sql_get_text(sql, arena, 2);
    out->rank = srv_sql_get_i64(sql, 3);
    out->train_unembed = srv_sql_get_i64(sql, 4) != 0;
    out->train_mlp = srv_sql_get_i64(sql, 5) != 0;
    out->train_attn = srv_sql_get_i64(sql, 6) != 0;
    out->user_metadata = srv_sql_get_text(sql, arena, 7);
    out->created_us = srv_sql_get_i64(sql, 8);
    out->last_request_us = srv_sql_get_i64(sql, 9);
    out->project_id = srv_sql_get_text(sql, arena, 10);
}

tinkc_code srv_store_find_run(srv_store_run *out, srv_store *store, tk_arena *arena,
                              tk_str id, tk_err *err)
{
    srv_sql sql;
    srv_store_run run = {0};
    srv_sql_begin(&sql, store->db,
                  "SELECT " SRV_STORE_RUN_COLUMNS " FROM runs WHERE id = ?");
    srv_sql_text(&sql, id);
    bool found = srv_sql_row(&sql);
    if (found) {
        srv_store_read_run(&run, &sql, arena);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    if (code == TINKC_OK && !found) {
        return tk_err_set(err, TINKC_E_MISSING, "Training run not found");
    }
    if (code == TINKC_OK) {
        *out = run;
    }
    return code;
}

tinkc_code srv_store_get_run(srv_store_run *out, srv_store *store, tk_arena *arena,
                             tk_str id, tk_err *err)
{
    tk_mutex_lock(&store->lock);
    tinkc_code code = srv_store_find_run(out, store, arena, id, err);
    tk_mutex_unlock(&store->lock);
    return code;
}

tinkc_code srv_store_add_sampler(srv_store *store, const srv_store_sampler *sampler,
                                 tk_err *err)
{
    srv_sql sql;
    tk_str path = sampler->model_path.n > 0 ? sampler->model_path : (tk_str){NULL, 0};
    tk_mutex_lock(&store->lock);
    srv_sql_begin(&sql, store->db, "INSERT OR REPLACE INTO samplers VALUES(?,?,?,?,?)");
    srv_sql_text(&sql, sampler->id);
    srv_sql_text(&sql, sampler->session_id);
    srv_sql_text(&sql, sampler->base_model);
    srv_sql_text(&sql, path);
    srv_sql_i64(&sql, tk_clock_wall_us(NULL));
    tinkc_code code = srv_sql_done(&sql, err);
    tk_mutex_unlock(&store->lock);
    return code;
}
