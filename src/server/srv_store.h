/* What must survive: sessions, runs, samplers, checkpoints, usage, in SQLite (WAL, full
 * sync) at <data>/tinkc.db. Rows describe; weights are directories under
 * <data>/checkpoints, written whole before their row is. A checkpoint exists when its row
 * does; directories without a row are swept at the start.
 *
 * Thread: any; one connection behind a lock of its own, which is a leaf. Blocking: not
 * for the HTTP thread, not under the server's lock. */
#ifndef SERVER_SRV_STORE_H
#define SERVER_SRV_STORE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/msg_session.h"
#include "wire/path.h"

typedef struct srv_store srv_store;

/* Opens or makes the database and brings it to this version's schema; TINKC_E_UNSUPPORTED
 * when a newer version wrote it. */
TK_NODISCARD tinkc_code srv_store_open(srv_store **out, const char *data, tk_err *err);
void srv_store_close(srv_store *store); /* accepts NULL */

/* ---- sessions ---- */

TK_NODISCARD tinkc_code srv_store_add_session(srv_store *store, const char *id,
                                              const tk_create_session_request *msg,
                                              tk_err *err);
bool srv_store_has_session(srv_store *store, tk_str id);

/* ---- runs: models that are trained ---- */

typedef struct srv_store_run {
    tk_str id, session_id, base_model;
    int64_t rank;
    bool train_unembed, train_mlp, train_attn;
    tk_str user_metadata; /* JSON object, or empty */
    int64_t created_us, last_request_us;
} srv_store_run;

TK_NODISCARD tinkc_code srv_store_add_run(srv_store *store, const srv_store_run *run,
                                          tk_err *err);
/* TINKC_E_MISSING when there is none. Strings live in the arena. */
TK_NODISCARD tinkc_code srv_store_get_run(srv_store_run *out, srv_store *store,
                                          tk_arena *arena, tk_str id, tk_err *err);

/* ---- sampling sessions ---- */

TK_NODISCARD tinkc_code srv_store_add_sampler(srv_store *store, const char *id,
                                              const char *session_id,
                                              const char *base_model,
                                              const char *model_path, tk_err *err);

/* ---- checkpoints ---- */

typedef struct srv_store_checkpoint {
    int64_t row; /* of the table; larger = newer */
    tk_str run_id;
    tk_path_kind kind;
    tk_str name;
    tk_str dir; /* below <data>/checkpoints */
    int64_t created_us;
    int64_t expires_us; /* 0 = never */
    int64_t size_bytes;
    bool is_public;
    bool has_optimizer;
} srv_store_checkpoint;

/* Adds the row of a directory that is complete on disk; with `overwrite` it takes the
 * place of one with the same name, whose directory's name goes to *old_dir (arena;
 * empty = none). TINKC_E_CONFLICT when there is one. The row has reached the disk when it
 * returns. */
TK_NODISCARD tinkc_code srv_store_add_checkpoint(srv_store *store, tk_arena *arena,
                                                 const srv_store_checkpoint *checkpoint,
                                                 bool overwrite, tk_str *old_dir,
                                                 tk_err *err);

/* By path; TINKC_E_MISSING when there is none (any more). */
TK_NODISCARD tinkc_code srv_store_get_checkpoint(srv_store_checkpoint *out,
                                                 srv_store *store, tk_arena *arena,
                                                 const tk_path *path, tk_err *err);
/* The newest one of a run; TINKC_E_MISSING when there is none. */
TK_NODISCARD tinkc_code srv_store_last_checkpoint(srv_store_checkpoint *out,
                                                  srv_store *store, tk_arena *arena,
                                                  tk_str run_id, tk_err *err);

/* Absolute directory of a checkpoint, or a new unique one for a name (`dir` is its name
 * for the row). Arena. */
TK_NODISCARD tinkc_code srv_store_dir(const char **out, srv_store *store, tk_arena *arena,
                                      tk_str dir, tk_err *err);

#endif
