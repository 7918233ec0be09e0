/* The statements that write, prepared once; and what deletes. */
#include <stdio.h>
#include <string.h>

#include "server/record/srv_rec_int.h"

#define TRIM_ROWS    8192 /* at a time */
#define TRIM_SAMPLES 256
#define TRIM_ROUNDS  8
#define UNUSED_PAGES 1024 /* of 4 KiB, that the file may have */
#define KEPT_SHARE   2    /* samples take at most a half */

static const char *const texts[SRV_REC_SQLS] = {
    [SRV_REC_SQL_RUN] =
        "INSERT INTO runs(id, session, name, checkpoint, model, rank, metadata, created_ms,"
        " updated_ms, step, tokens, loss) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(id) DO UPDATE SET name = coalesce(excluded.name, name),"
        " checkpoint = coalesce(excluded.checkpoint, checkpoint),"
        " updated_ms = excluded.updated_ms, step = excluded.step,"
        " tokens = excluded.tokens, loss = coalesce(excluded.loss, loss) RETURNING row",
    [SRV_REC_SQL_METRIC] =
        "INSERT OR REPLACE INTO metrics(run, number, name, n, last, min, max, first_step,"
        " last_step) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SRV_REC_SQL_POINT] =
        "INSERT OR REPLACE INTO points(run, level, first, step, time_ms, tokens, data)"
        " VALUES(?, ?, ?, ?, ?, ?, ?)",
    [SRV_REC_SQL_CHECKPOINT] =
        "INSERT OR REPLACE INTO checkpoints(run, id, step) VALUES(?, ?, ?)",
    [SRV_REC_SQL_SAMPLES] =
        "INSERT INTO sample_groups(last, grp, time_ms, bytes, model, path, sampler,"
        " prompt_tokens, members, texts, prompt, ids, logprobs)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
};

static srv_sql *use(srv_rec_writer *writer, int which)
{
    srv_sql *sql = &writer->kept[which];
    srv_sql_reuse(sql, writer->db, texts[which]);
    return sql;
}

tinkc_code srv_rec_writer_open(srv_rec_writer *writer, const char *data, bool *damaged,
                               tk_err *err)
{
    int64_t bytes = 0;
    tinkc_code code = srv_rec_db_open(&writer->db, data, damaged, err);
    if (code == TINKC_OK) {
        code = srv_rec_writer_measure(writer, true, &bytes, err);
    }
    if (code == TINKC_OK) {
        code = srv_rec_db_number(&writer->last_id, writer->db,
                                 "SELECT seq FROM sqlite_sequence WHERE name ="
                                 " 'sample_groups'",
                                 err);
    }
    if (code != TINKC_OK) {
        *damaged = *damaged || srv_rec_db_is_damaged(writer->db);
        code = srv_rec_db_is_busy(writer->db) ? TINKC_E_STATE : code;
        srv_rec_writer_close(writer);
    }
    return code;
}

void srv_rec_writer_close(srv_rec_writer *writer)
{
    for (size_t i = 0; i < SRV_REC_SQLS; i++) {
        srv_sql_drop(&writer->kept[i]);
    }
    (void)sqlite3_close(writer->db);
    writer->db = NULL;
}

/* ---- runs ---- */

static tk_str text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? tk_str_of(text) : (tk_str){NULL, 0};
}

static tinkc_code put_metric(srv_rec_writer *writer, const srv_rec_run *run, size_t i,
                             tk_err *err)
{
    const srv_rec_summary *m = &run->metrics[i];
    srv_sql *sql = use(writer, SRV_REC_SQL_METRIC);
    srv_sql_i64(sql, run->row);
    srv_sql_i64(sql, (int64_t)i);
    srv_sql_text(sql, tk_str_of(run->names[i]));
    srv_sql_i64(sql, m->n);
    srv_sql_double(sql, m->last);
    srv_sql_double(sql, m->min);
    srv_sql_double(sql, m->max);
    srv_sql_i64(sql, m->first_step);
    srv_sql_i64(sql, m->last_step);
    return srv_sql_run(sql, err);
}

tinkc_code srv_rec_writer_put_run(srv_rec_writer *writer, srv_rec_run *run, tk_err *err)
{
    srv_sql *sql = use(writer, SRV_REC_SQL_RUN);
    srv_sql_text(sql, tk_str_of(run->id));
    srv_sql_text(sql, tk_str_of(run->session));
    srv_sql_text(sql, text_or_null(run->name));
    srv_sql_text(sql, text_or_null(run->checkpoint));
    srv_sql_text(sql, tk_str_of(run->model));
    srv_sql_i64(sql, run->rank);
    srv_sql_text(sql, text_or_null(run->metadata));
    srv_sql_i64(sql, run->created_ms);
    srv_sql_i64(sql, run->updated_ms);
    srv_sql_i64(sql, run->step);
    srv_sql_i64(sql, run->tokens);
    srv_sql_double(sql, run->loss);
    if (srv_sql_row(sql)) {
        run->row = srv_sql_get_i64(sql, 0);
    }
    tinkc_code code = srv_sql_run(sql, err);
    for (size_t i = 0; code == TINKC_OK && i < run->n_metrics; i++) {
        if (run->metrics[i].n > 0) {
            code = put_metric(writer, run, i, err);
        }
    }
    return code;
}

tinkc_code srv_rec_writer_put_row(srv_rec_writer *writer, int64_t run, int64_t level,
                                  const srv_rec_row *row, tk_err *err)
{
    char bytes[SRV_REC_ROW_BYTES];
    srv_sql *sql = use(writer, SRV_REC_SQL_POINT);
    srv_sql_i64(sql, run);
    srv_sql_i64(sql, level);
    srv_sql_i64(sql, row->first);
    srv_sql_i64(sql, row->step);
    srv_sql_i64(sql, row->time_ms);
    srv_sql_i64(sql, row->tokens);
    srv_sql_blob(sql, bytes, srv_rec_row_encode(bytes, row, level));
    return srv_sql_run(sql, err);
}

tinkc_code srv_rec_writer_put_checkpoint(srv_rec_writer *writer, int64_t run, tk_str id,
                                         int64_t step, tk_err *err)
{
    srv_sql *sql = use(writer, SRV_REC_SQL_CHECKPOINT);
    srv_sql_i64(sql, run);
    srv_sql_text(sql, id);
    srv_sql_i64(sql, step);
    return srv_sql_run(sql, err);
}

/* ---- samples ---- */

tk_str srv_rec_run_of(tk_str path)
{
    static const char prefix[] = "tinker://";
    if (!tk_str_has_prefix(path, prefix)) {
        return (tk_str){NULL, 0};
    }
    tk_str rest = {path.p + sizeof(prefix) - 1, path.n - sizeof(prefix) + 1};
    return tk_str_cut(&rest, '/');
}

static tk_str given(tk_str text)
{
    return text.n > 0 ? text : (tk_str){NULL, 0};
}

tinkc_code srv_rec_writer_put_samples(srv_rec_writer *writer, const srv_rec_entry *entry,
                                      const srv_rec_group *group, int64_t *first,
                                      tk_err *err)
{
    const srv_rec_sample *sample = &entry->as.sample;
    size_t prompt_bytes = sample->n_prompt * sizeof(*sample->prompt);
    int64_t bytes = srv_rec_group_bytes(group, prompt_bytes);
    int64_t last = writer->last_id + (int64_t)sample->n;
    srv_sql *sql = use(writer, SRV_REC_SQL_SAMPLES);
    srv_sql_i64(sql, last);
    srv_sql_i64(sql, writer->last_id + 1);
    srv_sql_i64(sql, entry->time_ms);
    srv_sql_i64(sql, bytes);
    srv_sql_text(sql, sample->model);
    srv_sql_text(sql, given(sample->path));
    srv_sql_text(sql, given(sample->sampler));
    srv_sql_i64(sql, (int64_t)entry->n_prompt);
    srv_sql_blob(sql, group->members.p, group->members.n);
    srv_sql_blob(sql, group->texts.p, group->texts.n);
    srv_sql_blob(sql, sample->prompt, prompt_bytes);
    srv_sql_blob(sql, group->ids.p, group->ids.n);
    srv_sql_blob(sql, group->logprobs.p, group->logprobs.n);
    tinkc_code code = srv_sql_run(sql, err);
    if (code == TINKC_OK) {
        *first = writer->last_id + 1;
        writer->last_id = last; /* also when this is undone: an id is used once */
        writer->samples_bytes += bytes;
    }
    return code;
}

/* ---- limits ---- */

static tinkc_code run_with(sqlite3 *db, const char *text, const int64_t *values, size_t n,
                           tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, db, text);
    for (size_t i = 0; i < n; i++) {
        srv_sql_i64(&sql, values[i]);
    }
    return srv_sql_done(&sql, err);
}

static tinkc_code used_bytes(sqlite3 *db, int64_t *bytes, tk_err *err)
{
    int64_t pages = 0, unused = 0, size = 0;
    tinkc_code code = srv_rec_db_number(&pages, db, "PRAGMA page_count", err);
    if (code == TINKC_OK) {
        code = srv_rec_db_number(&unused, db, "PRAGMA freelist_count", err);
    }
    if (code == TINKC_OK) {
        code = srv_rec_db_number(&size, db, "PRAGMA page_size", err);
    }
    *bytes = (pages - unused) * size;
    return code;
}

tinkc_code srv_rec_writer_measure(srv_rec_writer *writer, bool recount, int64_t *bytes,
                                  tk_err *err)
{
    tinkc_code code =
        recount ? srv_rec_db_number(&writer->samples_bytes, writer->db,
                                    "SELECT total(bytes) FROM sample_groups", err)
                : TINKC_OK;
    return code == TINKC_OK ? used_bytes(writer->db, bytes, err) : code;
}

/* Deletes groups of samples up to one that leaves `keep` bytes of them, or up to a time. */
static tinkc_code trim_samples(srv_rec_writer *writer, int64_t keep, int64_t before_ms,
                               tk_err *err)
{
    sqlite3 *db = writer->db;
    int64_t last = 0, bytes = 0, n = 0;
    srv_sql sql;
    srv_sql_begin(&sql, db,
                  "SELECT last, bytes, time_ms FROM sample_groups ORDER BY last LIMIT ?");
    srv_sql_i64(&sql, TRIM_SAMPLES);
    while (srv_sql_row(&sql)) {
        if (writer->samples_bytes - bytes <= keep &&
            srv_sql_get_i64(&sql, 2) >= before_ms) {
            break;
        }
        last = srv_sql_get_i64(&sql, 0);
        bytes += srv_sql_get_i64(&sql, 1);
        n++;
    }
    srv_sql_stop(&sql);
    tinkc_code code = srv_sql_done(&sql, err);
    if (code != TINKC_OK || n == 0) {
        return code;
    }
    code = run_with(db, "DELETE FROM sample_groups WHERE last <= ?", &last, 1, err);
    writer->samples_bytes -= bytes;
    return code;
}

/* The number of a row that was deleted is given to the next run. One that is loaded takes a
 * new one when it goes on: until then it stays away, or it would be deleted again. */
static void forget_row(const srv_rec_writer *writer, int64_t row)
{
    for (tk_list *at = writer->loaded->next; at != writer->loaded; at = at->next) {
        srv_rec_run *run = TK_CONTAINER_OF(at, srv_rec_run, link);
        run->row = run->row == row ? 0 : run->row;
    }
}

static tinkc_code delete_run(srv_rec_writer *writer, int64_t row, tk_err *err)
{
    sqlite3 *db = writer->db;
    forget_row(writer, row);
    tinkc_code code = run_with(db, "DELETE FROM points WHERE run = ?", &row, 1, err);
    if (code == TINKC_OK) {
        code = run_with(db, "DELETE FROM metrics WHERE run = ?", &row, 1, err);
    }
    if (code == TINKC_OK) {
        code = run_with(db, "DELETE FROM checkpoints WHERE run = ?", &row, 1, err);
    }
    return code == TINKC_OK ? run_with(db, "DELETE FROM runs WHERE row = ?", &row, 1, err)
                            : code;
}

static tinkc_code trim_old_runs(srv_rec_writer *writer, int64_t before_ms, tk_err *err)
{
    int64_t row = 0;
    srv_sql sql;
    srv_sql_begin(
        &sql, writer->db,
        "SELECT row FROM runs WHERE updated_ms < ? ORDER BY updated_ms LIMIT 1");
    srv_sql_i64(&sql, before_ms);
    if (srv_sql_row(&sql)) {
        row = srv_sql_get_i64(&sql, 0);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    return code == TINKC_OK && row > 0 ? delete_run(writer, row, err) : code;
}

/* Deletes the oldest rows of a level that the next one has, too: minimum and maximum stay.
 * *n is how many. */
static tinkc_code thin(srv_rec_writer *writer, int64_t run, int64_t level, int64_t *n,
                       tk_err *err)
{
    const int64_t where[] = {run, level};
    int64_t until = 0, upper = 0;
    srv_sql sql;
    *n = 0;
    srv_sql_begin(&sql, writer->db,
                  "SELECT first FROM points WHERE run = ? AND level = ? ORDER BY first"
                  " LIMIT 1 OFFSET ?");
    srv_sql_i64(&sql, where[0]);
    srv_sql_i64(&sql, where[1]);
    srv_sql_i64(&sql, TRIM_ROWS);
    until = srv_sql_row(&sql) ? srv_sql_get_i64(&sql, 0) : INT64_MAX;
    tinkc_code code = srv_sql_done(&sql, err);
    if (code != TINKC_OK) {
        return code;
    }
    srv_sql_begin(&sql, writer->db,
                  "SELECT step FROM points WHERE run = ? AND level = ? AND first < ? AND"
                  " step < ? ORDER BY first DESC LIMIT 1");
    srv_sql_i64(&sql, run);
    srv_sql_i64(&sql, level + 1);
    srv_sql_i64(&sql, until);
    srv_sql_i64(&sql, until);
    upper = srv_sql_row(&sql) ? srv_sql_get_i64(&sql, 0) : 0;
    srv_sql_stop(&sql);
    code = srv_sql_done(&sql, err);
    if (code == TINKC_OK && upper > 0) {
        const int64_t values[] = {run, level, upper};
        code = run_with(writer->db,
                        "DELETE FROM points WHERE run = ? AND level = ? AND first <= ?",
                        values, 3, err);
        *n = sqlite3_changes(writer->db);
    }
    return code;
}

/* Thins one level of the run with activity longest ago that has any; *n is how many rows. */
static tinkc_code thin_any(srv_rec_writer *writer, int64_t level, int64_t *n, tk_err *err)
{
    enum { MOST = 64 };
    int64_t rows[MOST];
    size_t count = 0;
    srv_sql sql;
    /* the rows of a level are more than those of the next one only while it has its own */
    srv_sql_begin(&sql, writer->db,
                  "SELECT row FROM runs WHERE EXISTS(SELECT 1 FROM points p WHERE p.run ="
                  " row AND p.level = ?1 AND p.first <= coalesce((SELECT max(step) FROM"
                  " points q WHERE q.run = row AND q.level = ?1 + 1), 0)) ORDER BY"
                  " updated_ms LIMIT ?2");
    srv_sql_i64(&sql, level);
    srv_sql_i64(&sql, MOST);
    while (srv_sql_row(&sql)) {
        rows[count++] = srv_sql_get_i64(&sql, 0);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    *n = 0;
    for (size_t i = 0; code == TINKC_OK && *n == 0 && i < count; i++) {
        code = thin(writer, rows[i], level, n, err);
    }
    return code;
}

/* Deletes the whole run with activity longest ago, if there is another one. */
static tinkc_code drop_oldest(srv_rec_writer *writer, tk_err *err)
{
    int64_t n = 0, row = 0;
    tinkc_code code = srv_rec_db_number(&n, writer->db, "SELECT count(*) FROM runs", err);
    if (code == TINKC_OK && n > 1) {
        code = srv_rec_db_number(&row, writer->db,
                                 "SELECT row FROM runs ORDER BY updated_ms LIMIT 1", err);
    }
    return code == TINKC_OK && row > 0 ? delete_run(writer, row, err) : code;
}

/* Makes the series smaller: the finest level first, of the oldest runs first. */
static tinkc_code trim_series(srv_rec_writer *writer, tk_err *err)
{
    int64_t n = 0;
    tinkc_code code = TINKC_OK;
    for (int64_t level = 0; code == TINKC_OK && n == 0 && level + 1 < SRV_REC_LEVELS;
         level++) {
        code = thin_any(writer, level, &n, err);
    }
    return code == TINKC_OK && n == 0 ? drop_oldest(writer, err) : code;
}

/* Makes room once; *over = it was needed. */
static tinkc_code trim_once(srv_rec_writer *writer, int64_t limit, int64_t before_ms,
                            bool *over, tk_err *err)
{
    int64_t used = 0;
    tinkc_code code = used_bytes(writer->db, &used, err);
    *over = code == TINKC_OK && used > limit;
    if (!*over) {
        return code;
    }
    return writer->samples_bytes > limit / 4
               ? trim_samples(writer, writer->samples_bytes - limit / 20, before_ms, err)
               : trim_series(writer, err);
}

/* Makes the file smaller when much of it is unused. What is deleted here is soon written
 * again: without the rest, each page would be moved when one is freed, and added again. */
static tinkc_code give_back(sqlite3 *db, tk_err *err)
{
    char text[64];
    int64_t unused = 0;
    tinkc_code code = srv_rec_db_number(&unused, db, "PRAGMA freelist_count", err);
    if (code != TINKC_OK || unused <= UNUSED_PAGES) {
        return code;
    }
    (void)snprintf(text, sizeof(text), "PRAGMA incremental_vacuum(%d)",
                   (int)TK_MIN(unused - UNUSED_PAGES, INT64_C(4096)));
    return srv_sql_exec(db, text, err);
}

tinkc_code srv_rec_writer_trim(srv_rec_writer *writer, uint64_t limit_bytes,
                               int64_t before_ms, tk_err *err)
{
    int64_t limit = (int64_t)TK_MIN(limit_bytes, (uint64_t)INT64_MAX);
    bool over = true;
    tinkc_code code = trim_samples(writer, limit / KEPT_SHARE, before_ms, err);
    if (code == TINKC_OK) {
        code = trim_old_runs(writer, before_ms, err);
    }
    /* an eighth is for what the next batches add, and for the write-ahead log */
    for (int i = 0; code == TINKC_OK && over && i < TRIM_ROUNDS; i++) {
        code = trim_once(writer, limit - limit / 8, before_ms, &over, err);
    }
    return code == TINKC_OK ? give_back(writer->db, err) : code;
}
