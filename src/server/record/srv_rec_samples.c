/* Samples, from the reader's connection, with which they are deleted, too. */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "server/record/srv_rec_read_int.h"

#define LOOK_AT     2000         /* samples that one query looks at */
#define GROUP_BYTES (8 * TK_MIB) /* more than the queue has room for */

/* of a group: read_group has their places */
#define COLUMNS "last, grp, time_ms, model, path, sampler, prompt_tokens, members, texts"
#define WHOLE   COLUMNS ", prompt, ids, logprobs"

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
           (query->run.n == 0 || tk_str_eq(srv_rec_run_of(column(sql, 4)), query->run));
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

/* Borrows the blobs of a row, until the next one. */
static srv_rec_group read_group(srv_sql *sql, bool is_whole)
{
    srv_rec_group group = {.members = srv_sql_get_blob(sql, 7),
                           .texts = srv_sql_get_blob(sql, 8)};
    if (is_whole) {
        group.ids = srv_sql_get_blob(sql, 10);
        group.logprobs = srv_sql_get_blob(sql, 11);
    }
    return group;
}

static bool read_member(con_sample *out, srv_sql *sql, tk_arena *arena,
                        const srv_rec_group *group, const srv_rec_member *member,
                        size_t most)
{
    tk_str text = preview(srv_rec_group_text(group, member), most);
    *out = (con_sample){
        .id = srv_sql_get_i64(sql, 1) + (int64_t)member->number,
        .group = srv_sql_get_i64(sql, 1),
        .time_ms = srv_sql_get_i64(sql, 2),
        .model = srv_sql_get_text(sql, arena, 3),
        .path = text_at(sql, arena, 4),
        .sampler = text_at(sql, arena, 5),
        .stopped = member->stopped,
        .prompt_tokens = srv_sql_get_i64(sql, 6),
        .tokens = (int64_t)member->n,
        .mean_logprob = member->mean,
    };
    out->run = srv_rec_run_of(out->path);
    return tk_arena_dup(arena, &out->text, text.n > 0 ? text.p : "", text.n);
}

/* Ids go up from group to group and within each, so that an id is in the first group whose
 * last one is not below it, or nowhere. */
static void begin_list(srv_sql *sql, sqlite3 *db, const con_samples_query *query)
{
    if (query->group != CON_UNKNOWN) {
        srv_sql_begin(sql, db,
                      "SELECT " COLUMNS " FROM (SELECT " COLUMNS
                      " FROM sample_groups WHERE"
                      " last >= ?1 ORDER BY last LIMIT 1) WHERE grp = ?1");
        srv_sql_i64(sql, query->group);
    } else {
        srv_sql_begin(
            sql, db,
            "SELECT " COLUMNS " FROM sample_groups WHERE last <="
            " coalesce((SELECT last FROM sample_groups WHERE last >= ?1 ORDER BY"
            " last LIMIT 1), ?1) ORDER BY last DESC");
        srv_sql_i64(sql, query->before);
    }
}

typedef struct listing {
    con_samples *out;
    con_sample *list;
    size_t n, most, seen;
    tk_arena *arena;
    const con_samples_query *query;
} listing;

/* Takes the members of a row, newest first; returns false without memory. */
static bool list_group(listing *l, srv_sql *sql)
{
    const srv_rec_group group = read_group(sql, false);
    bool wanted = is_asked(sql, l->query);
    int64_t first = srv_sql_get_i64(sql, 1);
    for (size_t i = srv_rec_group_count(&group); i > 0; i--) {
        srv_rec_member member;
        srv_rec_group_at(&member, &group, i - 1);
        if (first + (int64_t)member.number >= l->query->before) {
            continue;
        }
        if (l->n == l->most || l->seen == LOOK_AT) {
            l->out->more = true;
            return true;
        }
        l->seen++;
        l->out->next = first + (int64_t)member.number;
        if (wanted && contains(srv_rec_group_text(&group, &member), l->query->search) &&
            !read_member(&l->list[l->n++], sql, l->arena, &group, &member, CON_PREVIEW)) {
            return false;
        }
    }
    return true;
}

static tinkc_code list_samples(con_samples *out, sqlite3 *db, tk_arena *arena,
                               const con_samples_query *query, tk_err *err)
{
    listing l = {
        .out = out, .most = (size_t)query->limit, .arena = arena, .query = query};
    l.list = tk_arena_array(arena, l.most, sizeof(*l.list));
    bool ok = l.list != NULL;
    srv_sql sql;
    begin_list(&sql, db, query);
    while (ok && !out->more && srv_sql_row(&sql)) {
        ok = list_group(&l, &sql);
    }
    srv_sql_stop(&sql);
    tinkc_code code = srv_sql_done(&sql, err);
    out->p = l.list;
    out->n = l.n;
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

static void begin_one(srv_sql *sql, sqlite3 *db, int64_t id)
{
    srv_sql_begin(sql, db,
                  "SELECT " WHOLE " FROM sample_groups WHERE last >= ? ORDER BY last"
                  " LIMIT 1");
    srv_sql_i64(sql, id);
}

/* Copies numbers of 4 bytes. */
static void *copy_numbers(tk_arena *arena, tk_str bytes)
{
    void *out = tk_arena_alloc(arena, bytes.n + 4);
    if (out != NULL && bytes.n > 0) {
        memcpy(out, bytes.p, bytes.n);
    }
    return out;
}

static bool copy_tokens(con_sample_details *out, srv_sql *sql, tk_arena *arena,
                        const srv_rec_group *group, const srv_rec_member *member)
{
    tk_str prompt = srv_sql_get_blob(sql, 9);
    tk_str ids = srv_rec_group_ids(group, member);
    tk_str logprobs = srv_rec_group_logprobs(group, member);
    bool ok = read_member(&out->sample, sql, arena, group, member, SIZE_MAX);
    out->prompt.ids = copy_numbers(arena, prompt);
    out->prompt.n = prompt.n / 4;
    out->output.ids = copy_numbers(arena, ids);
    out->output.n = ids.n / 4;
    out->output.logprobs = copy_numbers(arena, logprobs);
    ok = ok && out->output.ids != NULL && out->output.logprobs != NULL &&
         out->prompt.ids != NULL;
    if (logprobs.n != ids.n) {
        out->output.logprobs = NULL;
    }
    return ok;
}

static tinkc_code read_one(con_sample_details *out, sqlite3 *db, tk_arena *arena,
                           int64_t id, tk_err *err)
{
    bool found = false, ok = true;
    srv_sql sql;
    begin_one(&sql, db, id);
    if (srv_sql_row(&sql)) {
        const srv_rec_group group = read_group(&sql, true);
        size_t at = srv_rec_group_find(&group, id - srv_sql_get_i64(&sql, 1));
        srv_rec_member member;
        found = at != SIZE_MAX;
        if (found) {
            srv_rec_group_at(&member, &group, at);
            ok = copy_tokens(out, &sql, arena, &group, &member);
        }
    }
    tinkc_code code = srv_sql_done(&sql, err);
    if (code == TINKC_OK && !found) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no such sample");
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

static tinkc_code delete_all(sqlite3 *db, int64_t *n, tk_err *err)
{
    srv_sql sql;
    tinkc_code code =
        srv_rec_db_number(n, db, "SELECT total(length(members)) FROM sample_groups", err);
    *n /= SRV_REC_MEMBER_BYTES;
    if (code != TINKC_OK) {
        return code;
    }
    srv_sql_begin(&sql, db, "DELETE FROM sample_groups");
    return srv_sql_done(&sql, err);
}

/* Reads the others of the group that a sample is in; returns whether it is there. */
static bool read_others(srv_rec_group_bufs *others, int64_t *last, int64_t *prompt_bytes,
                        srv_sql *sql, int64_t id)
{
    const srv_rec_group group = read_group(sql, true);
    size_t at = srv_rec_group_find(&group, id - srv_sql_get_i64(sql, 1));
    *last = srv_sql_get_i64(sql, 0);
    *prompt_bytes = (int64_t)srv_sql_get_blob(sql, 9).n;
    for (size_t i = 0; at != SIZE_MAX && i < srv_rec_group_count(&group); i++) {
        srv_rec_member member;
        srv_rec_group_at(&member, &group, i);
        if (i != at) {
            srv_rec_group_add(others, &group, &member, member.number);
        }
    }
    return at != SIZE_MAX;
}

static tinkc_code write_others(sqlite3 *db, const srv_rec_group *group, int64_t last,
                               int64_t prompt_bytes, tk_err *err)
{
    srv_sql sql;
    if (group->members.n == 0) {
        srv_sql_begin(&sql, db, "DELETE FROM sample_groups WHERE last = ?");
    } else {
        srv_sql_begin(&sql, db,
                      "UPDATE sample_groups SET bytes = ?, members = ?, texts = ?, ids ="
                      " ?, logprobs = ? WHERE last = ?");
        srv_sql_i64(&sql, srv_rec_group_bytes(group, (size_t)prompt_bytes));
        srv_sql_blob(&sql, group->members.p, group->members.n);
        srv_sql_blob(&sql, group->texts.p, group->texts.n);
        srv_sql_blob(&sql, group->ids.p, group->ids.n);
        srv_sql_blob(&sql, group->logprobs.p, group->logprobs.n);
    }
    srv_sql_i64(&sql, last);
    return srv_sql_done(&sql, err);
}

static tinkc_code delete_one(sqlite3 *db, tk_quota *quota, int64_t *n, int64_t id,
                             tk_err *err)
{
    srv_rec_group_bufs others;
    int64_t last = 0, prompt_bytes = 0;
    bool found = false;
    srv_sql sql;
    srv_rec_group_init(&others, GROUP_BYTES, quota);
    begin_one(&sql, db, id);
    if (srv_sql_row(&sql)) {
        found = read_others(&others, &last, &prompt_bytes, &sql, id);
    }
    tinkc_code code = srv_sql_done(&sql, err);
    if (code == TINKC_OK) {
        code = srv_rec_group_status(&others, err);
    }
    if (code == TINKC_OK && found) {
        const srv_rec_group group = srv_rec_group_of(&others);
        code = write_others(db, &group, last, prompt_bytes, err);
    }
    *n = code == TINKC_OK && found ? 1 : 0;
    srv_rec_group_dispose(&others);
    return code;
}

/* In one transaction; then the log is emptied, in which old pages are. */
static tinkc_code forget(srv_rec *rec, int64_t *n, int64_t id, tk_err *err)
{
    sqlite3 *db = rec->reader;
    tk_quota *quota = hd_budget_quota(rec->config.budget, rec->config.part);
    tk_err ignored = TK_ERR_INIT;
    tinkc_code code = srv_sql_exec(db, "PRAGMA secure_delete = ON; BEGIN IMMEDIATE", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = id == CON_UNKNOWN ? delete_all(db, n, err) : delete_one(db, quota, n, id, err);
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
    if (!srv_rec_flush(rec)) { /* what is in the queue would come back after this */
        return tk_err_set(err, TINKC_E_STATE,
                          "what is recorded waits for " SRV_REC_DATABASE "; try again");
    }
    tk_mutex_lock(&rec->reading);
    if (rec->reader != NULL) {
        code = forget(rec, n, id, err);
        atomic_store(&rec->recount, true);
    }
    tk_mutex_unlock(&rec->reading);
    return code;
}
