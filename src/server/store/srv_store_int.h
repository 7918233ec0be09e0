/* What the files of the store share. Private to srv_store*.c. */
#ifndef SERVER_SRV_STORE_INT_H
#define SERVER_SRV_STORE_INT_H

#include "base/rand.h"
#include "base/thread.h"
#include "server/store/srv_sql.h"
#include "server/store/srv_store.h"

struct srv_store {
    tk_mutex lock;
    sqlite3 *db;       /* under lock */
    tk_rand rand;      /* under lock; of the names of directories */
    char *checkpoints; /* directory; constant */
    char instance[40]; /* constant */
};

#define SRV_STORE_CHECKPOINT_COLUMNS                                                     \
    "row, run_id, kind, name, dir, created_us, expires_us, size_bytes, is_public,"       \
    " has_optimizer"
#define SRV_STORE_RUN_COLUMNS                                                            \
    "id, session_id, base_model, lora_rank, train_unembed, train_mlp, train_attn,"       \
    " user_metadata, created_us, last_request_us"

/* Read the current row of a SELECT of those columns; strings in the arena. Under the
 * lock. */
void srv_store_read_checkpoint(srv_store_checkpoint *out, srv_sql *sql, tk_arena *arena);
void srv_store_read_run(srv_store_run *out, srv_sql *sql, tk_arena *arena);

/* Ends the transaction that is open: commits when `code` is TINKC_OK, else (also when the
 * commit fails) rolls back, so that the next one can begin. Returns the first failure.
 * Under the lock. */
TK_NODISCARD tinkc_code srv_store_end(srv_store *store, tinkc_code code, tk_err *err);

/* Removes directories of checkpoints without a row; *removed is their number. Only at the
 * open, before anything is saved. */
TK_NODISCARD tinkc_code srv_store_sweep(srv_store *store, size_t *removed, tk_err *err);

#endif
