/* Samples, from the reader's connection, with which they are deleted, too. */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "server/record/srv_rec_read_int.h"

#define LOOK_AT 2000 /* samples that one query looks at */

#define COLUMNS                                                                          \
    "id, grp, time_ms, model, run, path, sampler, stopped, prompt_tokens, tokens, mean," \
    " text"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* Whether a text contains another one, without regard to ASCII case. */
static bool contains(tk_str text, tk_str part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        size_t k = 0;
        while (k < part.n && lower(text.p[i + k]) == lower(part.p[k])) {
            k++;
        }
        if (k == part.n) {
            return true;
        }
    }
    return part.n == 0;
}

static tk_str column(srv_sql *sql, int at)
{
    const char *p = (const char *)sqlite3_column_text(sql->stmt, at);
    int n = sqlite3_column_bytes(sql->stmt, at);
    return (tk_str){p, p != NULL && n > 0 ? (size_t)n : 0};
}

static tk_str text_at(srv_sql *sql, tk_arena *arena, int at)
{
    return sqlite3_column_type(sql->stmt, at) == SQLITE_NULL
               ? (tk_str){NULL, 0}
               : srv_sql_get_text(sql, arena, at);
}

static bool is_asked(srv_sql *sql, const con_samples_query *query)
{
    return (query->model.n == 0 || tk_str_eq(column(sql, 3), query->model)) &&
           (query->run.n == 0 || tk_str_eq(column(sql, 4), query->run)) &&
           contains(column(sql, 11), query->search);
}

/* The beginning of a text, of this many characters. */
static tk_str preview(tk_str text, size_t most)
{
    size_t at = 0;
    for (size_t n = 0; n < most && at < text.n; n++) {
        size_t one = tk_utf8_len(text.p + at, text.n - at);
        at += one > 0 ? one : 1;
    }
    return (tk_str){text.p, TK_MIN(at, text.n)};
}

static bool read_row(con_sample *out, srv_sql *sql, tk_arena *arena, size_t most)
{
    tk_str text = preview(column(sql, 11), most);
    *out = (con_sample){
        .id = srv_sql_get_i64(sql, 0),
        .group = srv_sql_get_i64(sql, 1),
        .time_ms = srv_sql_get_i64(sql, 2),
        .model = srv_sql_get_text(sql, arena, 3),
        .run = text_at(sql, arena, 4),
        .path = text_at(sql, arena, 5),
        .sampler = text_at(sql, arena, 6),
        .stopped = srv_sql_get_i64(sql, 7) != 0,
        .prompt_tokens = srv_sql_get_i64(sql, 8),
        .tokens = srv_sql_get_i64(sql, 9),
        .mean_logprob = srv_sql_get_double(sql, 10),
    };
    return tk_arena_dup(arena, &out->text, text.n > 0 ? text.p : "", text.n);
}

static void begin_list(srv_sql *sql, sqlite3 *db, const con_samples_query *query)
{
    if (query->group != CON_UNKNOWN) {
        srv_sql_begin(sql, db,
                      "SELECT " COLUMNS " FROM samples WHERE grp = ? AND id < ?"
                      " ORDER BY id DESC LIMIT ?");
        srv_sql_i64(sql, query->group);
    } else {
        srv_sql_begin(sql, db,
                      "SELECT " COLUMNS " FROM samples WHERE id < ? ORDER BY id DESC"
                      " LIMIT ?");
    }
    srv_sql_i64(sql, query->before);
    srv_sql_i64(sql, LOOK_AT + 1);
}

static tinkc_code list_samples(con_samples *out, sqlite3 *db, tk_arena *arena,
                               const con_samples_query *query, tk_err *err)
{
    size_t n = 0, seen = 0, most = (size_t)query->limit;
    con_sample *list = tk_arena_array(arena, most, sizeof(*list));
    bool ok = list != NULL;
    srv_sql sql;
    begin_list(&sql, db, query);
    while (ok && srv_sql_row(&sql)) {
        if (n == most || seen == LOOK_AT) {
            out->more = true;
            break;
        }
        seen++;
        out->next = srv_sql_get_i64(&sql, 0);
        if (is_asked(&sql, query)) {
            ok = read_row(&list[n++], &sql, arena, CON_PREVIEW);
        }
    }
    srv_sql_stop(&sql);
    tinkc_code code = srv_sql_done(&sql, err);
    out->p = list;
    out->n = n;
    return ok ? code : tk_err_set(err, TINKC_E_RATE_LIMIT, "out of memory");
}

tinkc_code srv_rec_read_samples(con_samples *out, srv_rec *rec, tk_arena *arena,
                                const con_samples_query *query, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    srv_rec_stats stats;
    srv_rec_get_stats(rec, &stats);
    *out = (con_samples){.next = CON_UNKNOWN,
                         .recording = stats.samples,
                         .dropped = (int64_t)stats.dropped};
    if (rec == NULL) {
        return TINKC_OK;
    }
    tk_mutex_lock(&rec->reading);
    if (rec->reader != NULL) {
        code = list_samples(out, rec->reader, arena, query, err);
    }
    tk_mutex_unlock(&rec->reading);
    return code;
}

/* ---- one ---- */

/* Copies numbers of 4 bytes; *n is how many. */
static void *copy_blob(srv_sql *sql, tk_arena *arena, int at, size_t *n)
{
    tk_str bytes = srv_sql_get_blob(sql, at);
    void *out = tk_arena_alloc(arena, bytes.n + 4);
    *n = bytes.n / 4;
    if (out != NULL && bytes.n > 0) {
        memcpy(out, bytes.p, bytes.n);
    }
    return out;
}

static tinkc_code read_one(con_sample_details *out, sqlite3 *db, tk_arena *arena,
                           int64_t id, tk_err *err)
{
    size_t n = 0, n_logprobs = 0;
    bool found = false, ok = true;
    srv_sql sql;
    srv_sql_begin(&sql, db,
                  "SELECT " COLUMNS ", ids, logprobs, (SELECT ids FROM prompts p WHERE"
                  " p.id = grp) FROM samples WHERE id = ?");
    srv_sql_i64(&sql, id);
    if (srv_sql_row(&sql)) {
        found = true;
        ok = read_row(&out->sample, &sql, arena, SIZE_MAX);
        out->output.ids = copy_blob(&sql, arena, 12, &n);
        out->output.n = n;
        out->output.logprobs = copy_blob(&sql, arena, 13, &n_logprobs);
        out->prompt.ids = copy_blob(&sql, arena, 14, &n);
        out->prompt.n = n;
        ok = ok && out->output.ids != NULL && out->output.logprobs != NULL &&
             out->prompt.ids != NULL;
    }
    tinkc_code code = srv_sql_done(&sql, err);
    if (code == TINKC_OK && !found) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no such sample");
    }
    if (n_logprobs != out->output.n) {
        out->output.logprobs = NULL;
    }
    return ok ? code : tk_err_set(err, TINKC_E_RATE_LIMIT, "out of memory");
}

tinkc_code srv_rec_read_sample(con_sample_details *out, srv_rec *rec, tk_arena *arena,
                               int64_t id, tk_err *err)
{
    tinkc_code code = TINKC_E_MISSING;
    *out = (con_sample_details){0};
    if (rec != NULL) {
        tk_mutex_lock(&rec->reading);
        if (rec->reader != NULL) {
            code = read_one(out, rec->reader, arena, id, err);
        }
        tk_mutex_unlock(&rec->reading);
    }
    return code == TINKC_E_MISSING
               ? tk_err_set(err, TINKC_E_MISSING, "there is no such sample")
               : code;
}

/* ---- deleting ---- */

static tinkc_code delete_samples(sqlite3 *db, int64_t *n, int64_t id, tk_err *err)
{
    srv_sql sql;
    bool all = id == CON_UNKNOWN;
    srv_sql_begin(&sql, db,
                  all ? "DELETE FROM samples" : "DELETE FROM samples WHERE id = ?");
    if (!all) {
        srv_sql_i64(&sql, id);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    *n = sqlite3_changes(db);
    if (code == TINKC_OK) {
        code = srv_sql_exec(
            db, "DELETE FROM prompts WHERE id NOT IN (SELECT grp FROM samples)", err);
    }
    return code;
}

/* In one transaction; then the log is emptied, in which old pages are. */
static tinkc_code forget(sqlite3 *db, int64_t *n, int64_t id, tk_err *err)
{
    tk_err ignored = TK_ERR_INIT;
    tinkc_code code = srv_sql_exec(db, "PRAGMA secure_delete = ON; BEGIN IMMEDIATE", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = delete_samples(db, n, id, err);
    if (code == TINKC_OK) {
        code = srv_sql_exec(db, "COMMIT", err);
    }
    if (code != TINKC_OK) {
        (void)!srv_sql_exec(db, "ROLLBACK", &ignored);
        return code;
    }
    (void)!srv_sql_exec(db,
                        "PRAGMA incremental_vacuum(65536);"
                        "PRAGMA wal_checkpoint(TRUNCATE)",
                        &ignored);
    return code;
}

tinkc_code srv_rec_forget(srv_rec *rec, int64_t *n, int64_t id, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    *n = 0;
    if (rec == NULL) {
        return TINKC_OK;
    }
    srv_rec_flush(rec);
    tk_mutex_lock(&rec->reading);
    if (rec->reader != NULL) {
        code = forget(rec->reader, n, id, err);
        atomic_store(&rec->recount, true);
    }
    tk_mutex_unlock(&rec->reading);
    return code;
}
