/* Brings a database of recordings to this version's tables. Blocking. Thread: that of the
 * connection. */
#ifndef SERVER_SRV_REC_UPGRADE_H
#define SERVER_SRV_REC_UPGRADE_H

#include "server/store/srv_sql.h"

/* A row has the sequences of one request: their ids are grp and those after it, `last` is that
 * of the last one. No id is used twice, also not after a deletion. */
#define SRV_REC_UPGRADE_TABLE                                                            \
    "CREATE TABLE sample_groups("                                                        \
    " last INTEGER PRIMARY KEY AUTOINCREMENT, grp INTEGER NOT NULL,"                     \
    " time_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, model TEXT NOT NULL, path TEXT," \
    " sampler TEXT, prompt_tokens INTEGER NOT NULL, members BLOB NOT NULL,"              \
    " texts BLOB NOT NULL, prompt BLOB NOT NULL, ids BLOB NOT NULL,"                     \
    " logprobs BLOB NOT NULL);"

/* Upgrades version 1, which had a row for each sequence. Everything or nothing: after a
 * failure the database is as it was. */
TK_NODISCARD tinkc_code srv_rec_upgrade_run(sqlite3 *db, tk_err *err);

#endif
