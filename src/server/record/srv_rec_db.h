/* The database of recordings, <data>/console.db, beside the store's: it can be lost without
 * harm. This is its schema and the opening of a connection. A file that is not such a
 * database is moved aside. Blocking. Thread: one for each connection. */
#ifndef SERVER_SRV_REC_DB_H
#define SERVER_SRV_REC_DB_H

#include "base/log.h"
#include "server/store/srv_sql.h"

#define SRV_REC_DATABASE "console.db"

/* Opens or makes it. TINKC_E_STATE when another program has it, TINKC_E_UNSUPPORTED when a
 * newer version wrote it, TINKC_E_IO; then *damaged says whether it is worth nothing. */
TK_NODISCARD tinkc_code srv_rec_db_open(sqlite3 **out, const char *data, bool *damaged,
                                        tk_err *err);

/* Whether the last failure of a connection means that the file is damaged. */
bool srv_rec_db_is_damaged(sqlite3 *db);

/* Whether it failed because another has the database. */
bool srv_rec_db_is_busy(sqlite3 *db);

/* Moves its files aside; no connection may be open. */
TK_NODISCARD tinkc_code srv_rec_db_set_aside(const char *data, const char *why,
                                             tk_log *log, tk_err *err);

/* Reads the number that a statement gives; 0 when it gives none. */
TK_NODISCARD tinkc_code srv_rec_db_number(int64_t *out, sqlite3 *db, const char *text,
                                          tk_err *err);

#endif
