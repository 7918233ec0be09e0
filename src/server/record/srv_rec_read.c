/* Runs, from the reader's connection. */
#include "server/record/srv_rec_read.h"

#include <string.h>

#include "server/record/srv_rec_read_int.h"

#define RUN_COLUMNS                                                                      \
    "row, id, session, coalesce(name, checkpoint, id), model, rank, metadata,"           \
    " created_ms, updated_ms, step, tokens, loss"

static tk_str text_at(srv_sql *sql, tk_arena *arena, int column)
{
    return sqlite3_column_type(sql->stmt, column) == SQLITE_NULL
               ? (tk_str){NULL, 0}
               : srv_sql_get_text(sql, arena, column);
}

static void read_row(con_run *out, int64_t *row, srv_sql *sql, tk_arena *arena)
{
    int64_t rank = srv_sql_get_i64(sql, 5);
    *row = srv_sql_get_i64(sql, 0);
    *out = (con_run){
        .id = srv_sql_get_text(sql, arena, 1),
        .session = srv_sql_get_text(sql, arena, 2),
        .name = srv_sql_get_text(sql, arena, 3),
        .model = srv_sql_get_text(sql, arena, 4),
        .rank = rank > 0 ? rank : CON_UNKNOWN,
        .metadata = text_at(sql, arena, 6),
        .created_ms = srv_sql_get_i64(sql, 7),
        .updated_ms = srv_sql_get_i64(sql, 8),
        .step = srv_sql_get_i64(sql, 9),
        .tokens = srv_sql_get_i64(sql, 10),
        .loss = srv_sql_get_double(sql, 11),
        .state = CON_ENDED,
    };
}

/* Fills in the curve in a row of a list. */
static tinkc_code add_spark(con_run *run, sqlite3 *db, tk_arena *arena, int64_t row,
                            tk_err *err)
{
    static const tk_str loss = {"loss", 4};
    const con_series_query query = {
        .names = &loss, .n_names = 1, .from = 0.0, .to = 9e18, .points = CON_SPARK_MAX};
    con_series_list list;
    double *spark = tk_arena_array(arena, CON_SPARK_MAX, sizeof(*spark));
    if (spark == NULL) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "out of memory");
    }
    tinkc_code code = srv_rec_series_of(&list, db, arena, row, &query, err);
    for (size_t i = 0; code == TINKC_OK && i < list.p[0].n; i++) {
        spark[run->n_spark++] = list.p[0].p[i].mean;
    }
    run->spark = spark;
    return code;
}

#define MATCHES                                                                           \
    " FROM runs WHERE ?1 = '' OR instr(lower(id || ' ' || coalesce(name, checkpoint, '')" \
    " || ' ' || model), lower(?1)) > 0"

static tinkc_code count_runs(int64_t *out, sqlite3 *db, tk_str search, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, db, "SELECT count(*)" MATCHES);
    srv_sql_text(&sql, search);
    if (srv_sql_row(&sql)) {
        *out = srv_sql_get_i64(&sql, 0);
    }
    return srv_sql_done(&sql, err);
}

static tinkc_code list_runs(con_runs *out, sqlite3 *db, tk_arena *arena,
                            const con_runs_query *query, tk_err *err)
{
    tk_str search = query->search.n > 0 ? query->search : TK_STR("");
    size_t n = 0, most = (size_t)query->limit;
    con_run *runs = tk_arena_array(arena, most, sizeof(*runs));
    int64_t *rows = tk_arena_array(arena, most, sizeof(*rows));
    srv_sql sql;
    if (runs == NULL || rows == NULL) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "out of memory");
    }
    tinkc_code code = count_runs(&out->total, db, search, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_sql_begin(&sql, db,
                  "SELECT " RUN_COLUMNS MATCHES
                  " ORDER BY updated_ms DESC, row DESC LIMIT ?2 OFFSET ?3");
    srv_sql_text(&sql, search);
    srv_sql_i64(&sql, query->limit);
    srv_sql_i64(&sql, query->offset);
    while (n < most && srv_sql_row(&sql)) {
        read_row(&runs[n], &rows[n], &sql, arena);
        n++;
    }
    code = srv_sql_done(&sql, err);
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = add_spark(&runs[i], db, arena, rows[i], err);
    }
    out->p = runs;
    out->n = n;
    return code;
}

tinkc_code srv_rec_read_runs(con_runs *out, srv_rec *rec, tk_arena *arena,
                             const con_runs_query *query, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    *out = (con_runs){0};
    if (rec == NULL) {
        return TINKC_OK;
    }
    tk_mutex_lock(&rec->reading);
    if (rec->reader != NULL) {
        code = list_runs(out, rec->reader, arena, query, err);
    }
    tk_mutex_unlock(&rec->reading);
    return code;
}

/* ---- one ---- */

static tinkc_code find_run(con_run *out, int64_t *row, sqlite3 *db, tk_arena *arena,
                           tk_str id, tk_err *err)
{
    srv_sql sql;
    *row = 0;
    srv_sql_begin(&sql, db, "SELECT " RUN_COLUMNS " FROM runs WHERE id = ?");
    srv_sql_text(&sql, id);
    if (srv_sql_row(&sql)) {
        read_row(out, row, &sql, arena);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    return code == TINKC_OK && *row == 0
               ? tk_err_set(err, TINKC_E_MISSING, "there is no such run")
               : code;
}

static tinkc_code read_metrics(con_run_details *out, sqlite3 *db, tk_arena *arena,
                               int64_t row, tk_err *err)
{
    con_metric *metrics = tk_arena_array(arena, SRV_REC_METRICS, sizeof(*metrics));
    size_t n = 0;
    srv_sql sql;
    if (metrics == NULL) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "out of memory");
    }
    srv_sql_begin(&sql, db,
                  "SELECT name, n, last, min, max, first_step, last_step FROM metrics"
                  " WHERE run = ? ORDER BY name <> 'loss', name");
    srv_sql_i64(&sql, row);
    while (n < SRV_REC_METRICS && srv_sql_row(&sql)) {
        metrics[n++] = (con_metric){
            .name = srv_sql_get_text(&sql, arena, 0),
            .n = srv_sql_get_i64(&sql, 1),
            .last = srv_sql_get_double(&sql, 2),
            .min = srv_sql_get_double(&sql, 3),
            .max = srv_sql_get_double(&sql, 4),
            .first_step = srv_sql_get_i64(&sql, 5),
            .last_step = srv_sql_get_i64(&sql, 6),
        };
    }
    out->metrics = metrics;
    out->n_metrics = n;
    return srv_sql_done(&sql, err);
}

tinkc_code srv_rec_read_run(con_run_details *out, srv_rec *rec, tk_arena *arena,
                            tk_str id, tk_err *err)
{
    int64_t row = 0;
    *out = (con_run_details){0};
    if (rec == NULL) {
        return tk_err_set(err, TINKC_E_MISSING, "runs are not recorded");
    }
    tk_mutex_lock(&rec->reading);
    tinkc_code code = rec->reader != NULL
                          ? find_run(&out->run, &row, rec->reader, arena, id, err)
                          : tk_err_set(err, TINKC_E_MISSING, "nothing could be recorded");
    if (code == TINKC_OK) {
        code = add_spark(&out->run, rec->reader, arena, row, err);
    }
    if (code == TINKC_OK) {
        code = read_metrics(out, rec->reader, arena, row, err);
    }
    tk_mutex_unlock(&rec->reading);
    return code;
}

int64_t srv_rec_read_step(srv_rec *rec, tk_str run, tk_str id)
{
    int64_t step = CON_UNKNOWN;
    tk_err ignored = TK_ERR_INIT;
    srv_sql sql;
    if (rec == NULL) {
        return step;
    }
    tk_mutex_lock(&rec->reading);
    if (rec->reader != NULL) {
        srv_sql_begin(&sql, rec->reader,
                      "SELECT step FROM checkpoints WHERE run = (SELECT row FROM runs"
                      " WHERE id = ?) AND id = ?");
        srv_sql_text(&sql, run);
        srv_sql_text(&sql, id);
        if (srv_sql_row(&sql)) {
            step = srv_sql_get_i64(&sql, 0);
        }
        (void)!srv_sql_done(&sql, &ignored);
    }
    tk_mutex_unlock(&rec->reading);
    return step;
}

tinkc_code srv_rec_read_series(con_series_list *out, srv_rec *rec, tk_arena *arena,
                               const con_series_query *query, tk_err *err)
{
    con_run run;
    int64_t row = 0;
    if (rec == NULL) {
        return tk_err_set(err, TINKC_E_MISSING, "runs are not recorded");
    }
    tk_mutex_lock(&rec->reading);
    tinkc_code code = rec->reader != NULL
                          ? find_run(&run, &row, rec->reader, arena, query->run, err)
                          : tk_err_set(err, TINKC_E_MISSING, "nothing could be recorded");
    if (code == TINKC_OK) {
        code = srv_rec_series_of(out, rec->reader, arena, row, query, err);
    }
    tk_mutex_unlock(&rec->reading);
    return code;
}
