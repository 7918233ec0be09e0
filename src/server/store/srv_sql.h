/* Prepared statements of SQLite that bind and read by position, with the library's
 * errors. Thread: one at a time, under the lock of the store. */
#ifndef SERVER_SRV_SQL_H
#define SERVER_SRV_SQL_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

typedef struct srv_sql {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    int n_bound;
    int failure; /* first result code that was not SQLITE_OK */
    bool ended;  /* the last row was read */
} srv_sql;

/* Prepares a statement; failures are kept until srv_sql_done. */
void srv_sql_begin(srv_sql *sql, sqlite3 *db, const char *text);
/* Bind the next parameter; {NULL, 0} is NULL. */
void srv_sql_text(srv_sql *sql, tk_str value);
void srv_sql_i64(srv_sql *sql, int64_t value);
void srv_sql_double(srv_sql *sql, double value);
/* Binds bytes, which must live until the statement has run. */
void srv_sql_blob(srv_sql *sql, const void *bytes, size_t n);
/* Steps to the next row; returns false at the end or on failure. */
bool srv_sql_row(srv_sql *sql);
/* Read a column of the current row; text is copied to the arena, {"", 0} for NULL;
 * without memory the statement fails. */
tk_str srv_sql_get_text(srv_sql *sql, tk_arena *arena, int column);
int64_t srv_sql_get_i64(srv_sql *sql, int column);
/* NAN for NULL. */
double srv_sql_get_double(srv_sql *sql, int column);
/* Returns bytes that are there until the next row. */
tk_str srv_sql_get_blob(srv_sql *sql, int column);
/* Leaves the other rows unread: srv_sql_done does not run to the end. For SELECT. */
void srv_sql_stop(srv_sql *sql);
/* Runs what is left and finalizes. TINKC_E_CONFLICT for a broken uniqueness,
 * TINKC_E_IO. */
TK_NODISCARD tinkc_code srv_sql_done(srv_sql *sql, tk_err *err);

/* The same for one that is used often: prepares it the first time, when *sql is zeroed, and
 * else makes it ready to bind again; runs it, and keeps it; finalizes it, without an
 * error. */
void srv_sql_reuse(srv_sql *sql, sqlite3 *db, const char *text);
TK_NODISCARD tinkc_code srv_sql_run(srv_sql *sql, tk_err *err);
void srv_sql_drop(srv_sql *sql);

/* Runs statements without parameters or results. */
TK_NODISCARD tinkc_code srv_sql_exec(sqlite3 *db, const char *text, tk_err *err);

#endif
