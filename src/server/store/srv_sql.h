/* SQLite with our errors: prepared statements that bind and read by position. Thread: as
 * the store says. */
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
    int failure; /* first result code that was no success */
    bool ended;  /* there is no further row */
} srv_sql;

/* Prepares; failures are kept until srv_sql_done. */
void srv_sql_begin(srv_sql *sql, sqlite3 *db, const char *text);
void srv_sql_text(srv_sql *sql, tk_str value); /* next parameter; {NULL, 0} = NULL */
void srv_sql_i64(srv_sql *sql, int64_t value);
void srv_sql_null(srv_sql *sql);
/* Steps to the next row; false at the end or on failure. */
bool srv_sql_row(srv_sql *sql);
/* Column of the current row; text is copied to the arena, {"", 0} for NULL; without
 * memory the statement fails. */
tk_str srv_sql_get_text(srv_sql *sql, tk_arena *arena, int column);
int64_t srv_sql_get_i64(srv_sql *sql, int column);
/* Runs what is left, finalizes. TINKC_E_CONFLICT for a broken uniqueness, TINKC_E_IO. */
TK_NODISCARD tinkc_code srv_sql_done(srv_sql *sql, tk_err *err);

/* Statements without parameters or results. */
TK_NODISCARD tinkc_code srv_sql_exec(sqlite3 *db, const char *text, tk_err *err);

#endif
