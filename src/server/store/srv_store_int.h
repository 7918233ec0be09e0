/* What the files of the store share. Private to srv_store*.c. */
#ifndef SERVER_SRV_STORE_INT_H
#define SERVER_SRV_STORE_INT_H

#include "base/rand.h"
#include "base/thread.h"
#include "server/store/srv_data.h"
#include "server/store/srv_label.h"
#include "server/store/srv_sql.h"
#include "server/store/srv_store.h"
#include "server/store/srv_wall.h"

struct srv_store {
    tk_mutex lock;
    sqlite3 *db;            /* under lock */
    tk_rand rand;           /* under lock; of the names of directories */
    int64_t busy_from_ns;   /* under lock; of the call that waits for the database */
    int64_t busy_failed_ns; /* under lock; when a call last gave up */
    srv_wall wall;          /* under lock */
    bool is_full;           /* under lock; the last transaction had no room */
    char *data;             /* directory; constant, as all below */
    char *checkpoints;      /* directory in it */
    char *work;             /* directory in that: what is not complete yet */
    char instance[SRV_DATA_INSTANCE_SIZE];
    bool made_new; /* the database was missing, empty or damaged at the start */
    tk_log *log;
};

#define SRV_STORE_WORK ".work"

#define SRV_STORE_CHECKPOINT_COLUMNS                                                     \
    "row, run_id, kind, name, dir, created_us, expires_us, size_bytes, is_public,"       \
    " has_optimizer, user_metadata,"                                                     \
    " (SELECT base_model FROM runs WHERE id = run_id),"                                  \
    " (SELECT project_id FROM runs WHERE id = run_id)"
#define SRV_STORE_RUN_COLUMNS                                                            \
    "id, session_id, base_model, lora_rank, train_unembed, train_mlp, train_attn,"       \
    " user_metadata, created_us, last_request_us, project_id"

/* Read the current row of a SELECT of those columns; strings in the arena. Under the
 * lock. */
void srv_store_read_checkpoint(srv_store_checkpoint *out, srv_sql *sql, tk_arena *arena);
void srv_store_read_run(srv_store_run *out, srv_sql *sql, tk_arena *arena);

/* Binds the columns of a run up to user_metadata. */
void srv_store_bind_run(srv_sql *sql, const srv_store_run *run);

/* Reads a run as srv_store_get_run does. Under the lock. */
TK_NODISCARD tinkc_code srv_store_find_run(srv_store_run *out, srv_store *store,
                                           tk_arena *arena, tk_str id, tk_err *err);

/* Fills in the label of a checkpoint from its row and its run's; strings in the arena.
 * Under the lock. */
TK_NODISCARD tinkc_code srv_store_fill_label(srv_label *out, srv_store *store,
                                             tk_arena *arena,
                                             const srv_store_checkpoint *checkpoint,
                                             tk_err *err);

/* Inserts the row of a checkpoint: with the number checkpoint->row, or with the next one
 * when that is 0. *row is the number. TINKC_E_CONFLICT when the name or the number is in
 * use. Under the lock. */
TK_NODISCARD tinkc_code srv_store_insert_checkpoint(
    srv_store *store, const srv_store_checkpoint *checkpoint, int64_t *row, tk_err *err);

/* Ends the transaction that is open: commits when `code` is TINKC_OK, else (also when the
 * commit fails) rolls back, so that the next one can begin. Returns the first failure.
 * Under the lock. */
TK_NODISCARD tinkc_code srv_store_end(srv_store *store, tinkc_code code, tk_err *err);

/* Brings rows and directories together; only at the open, before anything is saved. The
 * label of a directory counts more than its row, which may be of an old copy of the
 * database. Nothing is removed after the database was made new. */
TK_NODISCARD tinkc_code srv_store_reconcile(srv_store *store, tk_err *err);

#endif
