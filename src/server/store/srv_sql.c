/* The first failure of a statement is kept; later calls do nothing. */
#include "server/store/srv_sql.h"

static void note(srv_sql *sql, int result)
{
    if (sql->failure == SQLITE_OK && result != SQLITE_OK) {
        sql->failure = result;
    }
}

void srv_sql_begin(srv_sql *sql, sqlite3 *db, const char *text)
{
    *sql = (srv_sql){.db = db};
    note(sql, sqlite3_prepare_v2(db, text, -1, &sql->stmt, NULL));
}

void srv_sql_text(srv_sql *sql, tk_str value)
{
    int at = ++sql->n_bound;
    if (sql->failure != SQLITE_OK) {
        return;
    }
    if (value.p == NULL) {
        note(sql, sqlite3_bind_null(sql->stmt, at));
    } else {
        note(sql, sqlite3_bind_text64(sql->stmt, at, value.p, value.n, SQLITE_TRANSIENT,
                                      SQLITE_UTF8));
    }
}

void srv_sql_i64(srv_sql *sql, int64_t value)
{
    int at = ++sql->n_bound;
    if (sql->failure == SQLITE_OK) {
        note(sql, sqlite3_bind_int64(sql->stmt, at, value));
    }
}

bool srv_sql_row(srv_sql *sql)
{
    if (sql->failure != SQLITE_OK || sql->ended) {
        return false;
    }
    int result = sqlite3_step(sql->stmt);
    if (result == SQLITE_ROW) {
        return true;
    }
    sql->ended = true; /* another step would run the statement again */
    note(sql, result == SQLITE_DONE ? SQLITE_OK : result);
    return false;
}

tk_str srv_sql_get_text(srv_sql *sql, tk_arena *arena, int column)
{
    tk_str out = {"", 0};
    const void *text = sqlite3_column_text(sql->stmt, column);
    int n = sqlite3_column_bytes(sql->stmt, column);
    if (text != NULL && !tk_arena_dup(arena, &out, text, (size_t)n)) {
        note(sql, SQLITE_NOMEM);
        return (tk_str){"", 0};
    }
    return out;
}

int64_t srv_sql_get_i64(srv_sql *sql, int column)
{
    return sqlite3_column_int64(sql->stmt, column);
}

void srv_sql_stop(srv_sql *sql)
{
    sql->ended = true;
}

static tinkc_code fail(sqlite3 *db, int result, tk_err *err)
{
    if (result == SQLITE_NOMEM) {
        return tk_err_nomem(err);
    }
    tinkc_code code =
        (result & 0xFF) == SQLITE_CONSTRAINT ? TINKC_E_CONFLICT : TINKC_E_IO;
    return tk_err_set(err, code, "database: %s", sqlite3_errmsg(db));
}

tinkc_code srv_sql_done(srv_sql *sql, tk_err *err)
{
    while (srv_sql_row(sql)) {
    }
    tinkc_code code =
        sql->failure == SQLITE_OK ? TINKC_OK : fail(sql->db, sql->failure, err);
    (void)sqlite3_finalize(sql->stmt);
    sql->stmt = NULL;
    return code;
}

tinkc_code srv_sql_exec(sqlite3 *db, const char *text, tk_err *err)
{
    int result = sqlite3_exec(db, text, NULL, NULL, NULL);
    return result == SQLITE_OK ? TINKC_OK : fail(db, result, err);
}
