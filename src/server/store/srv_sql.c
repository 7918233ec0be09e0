/* The first failure of a statement is kept; later calls do nothing. */
#include "server/store/srv_sql.h"

#include <math.h>

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

void srv_sql_double(srv_sql *sql, double value)
{
    int at = ++sql->n_bound;
    if (sql->failure == SQLITE_OK) { /* NAN becomes NULL */
        note(sql, sqlite3_bind_double(sql->stmt, at, value));
    }
}

void srv_sql_blob(srv_sql *sql, const void *bytes, size_t n)
{
    int at = ++sql->n_bound;
    if (sql->failure == SQLITE_OK) {
        note(sql, n > 0 ? sqlite3_bind_blob64(sql->stmt, at, bytes, n, SQLITE_STATIC)
                        : sqlite3_bind_zeroblob(sql->stmt, at, 0));
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

double srv_sql_get_double(srv_sql *sql, int column)
{
    return sqlite3_column_type(sql->stmt, column) == SQLITE_NULL
               ? (double)NAN
               : sqlite3_column_double(sql->stmt, column);
}

tk_str srv_sql_get_blob(srv_sql *sql, int column)
{
    const void *bytes = sqlite3_column_blob(sql->stmt, column);
    int n = sqlite3_column_bytes(sql->stmt, column);
    return (tk_str){bytes, bytes != NULL && n > 0 ? (size_t)n : 0};
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

void srv_sql_reuse(srv_sql *sql, sqlite3 *db, const char *text)
{
    if (sql->stmt == NULL) {
        srv_sql_begin(sql, db, text);
    } else {
        *sql = (srv_sql){.db = db, .stmt = sql->stmt};
    }
}

tinkc_code srv_sql_run(srv_sql *sql, tk_err *err)
{
    while (srv_sql_row(sql)) {
    }
    tinkc_code code =
        sql->failure == SQLITE_OK ? TINKC_OK : fail(sql->db, sql->failure, err);
    if (sql->stmt != NULL) {
        (void)sqlite3_reset(sql->stmt);
        (void)sqlite3_clear_bindings(sql->stmt);
    }
    return code;
}

void srv_sql_drop(srv_sql *sql)
{
    (void)sqlite3_finalize(sql->stmt);
    *sql = (srv_sql){0};
}

tinkc_code srv_sql_exec(sqlite3 *db, const char *text, tk_err *err)
{
    int result = sqlite3_exec(db, text, NULL, NULL, NULL);
    return result == SQLITE_OK ? TINKC_OK : fail(db, result, err);
}
