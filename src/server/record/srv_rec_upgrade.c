/* Rows of neighbouring ids with the same group become one row. */
#include "server/record/srv_rec_upgrade.h"

#include "base/tk.h"
#include "base/utf8.h"
#include "server/record/srv_rec_group.h"

#define GROUP_BYTES (16 * TK_MIB) /* more than the queue of version 1 had room for */

enum { /* columns of the old rows */
       ID,
       GROUP,
       TIME_MS,
       MODEL,
       PATH,
       SAMPLER,
       STOPPED,
       PROMPT_TOKENS,
       MEAN,
       TEXT,
       IDS,
       LOGPROBS,
       PROMPT
};

typedef struct upgrade {
    sqlite3 *db;
    srv_sql old;
    srv_rec_group_bufs bufs;
    tk_arena arena; /* what follows, of the group that is put together */
    int64_t group, last, time_ms, prompt_tokens;
    tk_str model, path, sampler, prompt;
} upgrade;

static tk_str text_or_null(upgrade *u, int column)
{
    return sqlite3_column_type(u->old.stmt, column) == SQLITE_NULL
               ? (tk_str){NULL, 0}
               : srv_sql_get_text(&u->old, &u->arena, column);
}

static bool begin_group(upgrade *u)
{
    tk_str prompt = srv_sql_get_blob(&u->old, PROMPT);
    tk_arena_dispose(&u->arena);
    srv_rec_group_clear(&u->bufs);
    u->group = srv_sql_get_i64(&u->old, GROUP);
    u->time_ms = srv_sql_get_i64(&u->old, TIME_MS);
    u->prompt_tokens = srv_sql_get_i64(&u->old, PROMPT_TOKENS);
    u->model = srv_sql_get_text(&u->old, &u->arena, MODEL);
    u->path = text_or_null(u, PATH);
    u->sampler = text_or_null(u, SAMPLER);
    return tk_arena_dup(&u->arena, &u->prompt, prompt.n > 0 ? prompt.p : "", prompt.n);
}

static void add_member(upgrade *u)
{
    /* one token could make a text longer than it was to be */
    const srv_rec_group row = {
        .texts = tk_utf8_cut(srv_sql_get_blob(&u->old, TEXT), SRV_REC_TEXT_BYTES),
        .ids = srv_sql_get_blob(&u->old, IDS),
        .logprobs = srv_sql_get_blob(&u->old, LOGPROBS)};
    const srv_rec_member member = {.stopped = srv_sql_get_i64(&u->old, STOPPED) != 0,
                                   .n = (uint32_t)(row.ids.n / 4),
                                   .text_n = (uint32_t)row.texts.n,
                                   .mean = srv_sql_get_double(&u->old, MEAN)};
    u->last = srv_sql_get_i64(&u->old, ID);
    srv_rec_group_add(&u->bufs, &row, &member, (uint32_t)(u->last - u->group));
}

static tinkc_code end_group(upgrade *u, tk_err *err)
{
    const srv_rec_group group = srv_rec_group_of(&u->bufs);
    srv_sql sql;
    tinkc_code code = srv_rec_group_status(&u->bufs, err);
    if (code != TINKC_OK || group.members.n == 0) {
        return code;
    }
    srv_sql_begin(&sql, u->db,
                  "INSERT INTO sample_groups(last, grp, time_ms, bytes, model, path,"
                  " sampler, prompt_tokens, members, texts, prompt, ids, logprobs)"
                  " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    srv_sql_i64(&sql, u->last);
    srv_sql_i64(&sql, u->group);
    srv_sql_i64(&sql, u->time_ms);
    srv_sql_i64(&sql, srv_rec_group_bytes(&group, u->prompt.n));
    srv_sql_text(&sql, u->model);
    srv_sql_text(&sql, u->path);
    srv_sql_text(&sql, u->sampler);
    srv_sql_i64(&sql, u->prompt_tokens);
    srv_sql_blob(&sql, group.members.p, group.members.n);
    srv_sql_blob(&sql, group.texts.p, group.texts.n);
    srv_sql_blob(&sql, u->prompt.p, u->prompt.n);
    srv_sql_blob(&sql, group.ids.p, group.ids.n);
    srv_sql_blob(&sql, group.logprobs.p, group.logprobs.n);
    return srv_sql_done(&sql, err);
}

static tinkc_code move_samples(upgrade *u, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    bool ok = true, begun = false;
    tk_err ignored = TK_ERR_INIT;
    srv_sql_begin(&u->old, u->db,
                  "SELECT id, grp, time_ms, model, path, sampler, stopped, prompt_tokens,"
                  " mean, CAST(text AS BLOB), ids, logprobs, (SELECT p.ids FROM prompts p"
                  " WHERE p.id = grp) FROM samples WHERE id >= grp ORDER BY id");
    while (code == TINKC_OK && ok && srv_sql_row(&u->old)) {
        if (!begun || srv_sql_get_i64(&u->old, GROUP) != u->group) {
            code = end_group(u, err);
            ok = begin_group(u);
            begun = true;
        }
        add_member(u);
    }
    if (code == TINKC_OK && ok) {
        code = end_group(u, err);
    }
    srv_sql_stop(&u->old);
    tinkc_code read = srv_sql_done(&u->old, code == TINKC_OK ? err : &ignored);
    code = code == TINKC_OK ? read : code;
    return ok ? code : tk_err_nomem(err);
}

static tinkc_code change(sqlite3 *db, tk_err *err)
{
    upgrade u = {.db = db};
    tinkc_code code = srv_sql_exec(db, SRV_REC_UPGRADE_TABLE, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_arena_init(&u.arena, GROUP_BYTES);
    srv_rec_group_init(&u.bufs, GROUP_BYTES, NULL); /* once, when nothing runs yet */
    code = move_samples(&u, err);
    srv_rec_group_dispose(&u.bufs);
    tk_arena_dispose(&u.arena);
    if (code != TINKC_OK) {
        return code;
    }
    return srv_sql_exec(db,
                        "DELETE FROM sqlite_sequence WHERE name = 'sample_groups';"
                        "INSERT INTO sqlite_sequence(name, seq) SELECT 'sample_groups',"
                        " seq FROM sqlite_sequence WHERE name = 'samples';"
                        "DROP TABLE samples;"
                        "DROP TABLE prompts;"
                        "PRAGMA user_version = 2",
                        err);
}

tinkc_code srv_rec_upgrade_run(sqlite3 *db, tk_err *err)
{
    tk_err ignored = TK_ERR_INIT;
    /* a sample that is deleted later would still be in the pages of the old tables */
    tinkc_code code = srv_sql_exec(db, "PRAGMA secure_delete = ON; BEGIN IMMEDIATE", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = change(db, err);
    if (code == TINKC_OK) {
        code = srv_sql_exec(db, "COMMIT", err);
    }
    if (code != TINKC_OK) {
        (void)!srv_sql_exec(db, "ROLLBACK", &ignored);
    }
    return code;
}
