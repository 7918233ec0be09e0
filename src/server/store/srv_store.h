/* What must survive: sessions, runs, samplers, checkpoints, usage, in SQLite (WAL, full
 * sync) at <data>/tinkc.db. Weights are directories under <data>/checkpoints, each with a
 * label (srv_label.h), from which the rows of checkpoints and runs can be rebuilt. A
 * directory is written in <data>/checkpoints/.work and moved when it is complete, before
 * its row is committed.
 *
 * Thread: any; one connection, guarded by a lock that is a leaf. Blocking: not for the
 * HTTP thread, not under the server's lock. */
#ifndef SERVER_SRV_STORE_H
#define SERVER_SRV_STORE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "wire/msg_session.h"
#include "wire/path.h"

typedef struct srv_store srv_store;

/* Opens or makes the database in a directory that srv_data_claim has accepted, migrates
 * it to this version's schema and brings it together with the checkpoints on disk. A
 * damaged database is moved aside and rebuilt. TINKC_E_UNSUPPORTED when a newer version
 * wrote it. What was found goes to `log` (may be NULL), which must outlive the store. */
TK_NODISCARD tinkc_code srv_store_open(srv_store **out, const char *data, tk_log *log,
                                       tk_err *err);
void srv_store_close(srv_store *store); /* accepts NULL */

/* ---- sessions ---- */

/* Returns a name of this data directory, for ids that belong to no session: it is the
 * same after a restart. Lives as long as the store. */
const char *srv_store_instance(const srv_store *store);

TK_NODISCARD tinkc_code srv_store_add_session(srv_store *store, const char *id,
                                              const tk_create_session_request *msg,
                                              tk_err *err);
/* Whether a session was ever made: TINKC_E_MISSING "Session not found" when it was not,
 * or long ago (srv_store_forget_session); TINKC_E_IO when the database cannot be read. */
TK_NODISCARD tinkc_code srv_store_find_session(srv_store *store, tk_str id, tk_err *err);

/* Keeps why its client finished a session; the first time counts. */
TK_NODISCARD tinkc_code srv_store_finish_session(srv_store *store, tk_str id,
                                                 tk_str reason, tk_str detail,
                                                 tk_err *err);

/* Gives a session, its runs and their checkpoints a project. TINKC_E_MISSING "Session not
 * found". After TINKC_E_IO the labels of some checkpoints may have the project before:
 * calling it again writes them. */
TK_NODISCARD tinkc_code srv_store_set_project(srv_store *store, tk_str id,
                                              tk_str project_id, tk_err *err);

/* ---- sessions of long ago ---- */

typedef struct srv_store_stale {
    int64_t before_us; /* made before this */
    int64_t after_us;  /* and after this one, at which the last list ended */
    tk_str after_id;
    int64_t limit;
} srv_store_stale;

/* Lists sessions without a checkpoint, oldest first; *last_us is when the last one was
 * made. Ids live in the arena. */
TK_NODISCARD tinkc_code srv_store_list_stale(tk_strs *ids, int64_t *last_us,
                                             srv_store *store, tk_arena *arena,
                                             const srv_store_stale *stale, tk_err *err);

/* Returns the time before which sessions are old at `now_us`: TK_SRV_SESSION_DAYS ago, or
 * when there are more than TK_SRV_SESSION_ROWS_MAX, the time of the newest one beyond
 * that. */
TK_NODISCARD tinkc_code srv_store_stale_time(int64_t *out, srv_store *store,
                                             int64_t now_us, tk_err *err);

/* Deletes the row of a session, with its samplers and its runs, unless a checkpoint
 * belongs to it. */
TK_NODISCARD tinkc_code srv_store_forget_session(srv_store *store, tk_str id,
                                                 tk_err *err);

/* Deletes runs without a session and without a checkpoint, which copies and uploads
 * leave, unless something was asked of them since. */
TK_NODISCARD tinkc_code srv_store_forget_runs(srv_store *store, int64_t before_us,
                                              tk_err *err);

/* Deletes counters of usage of hours before TK_SRV_USAGE_DAYS ago. */
TK_NODISCARD tinkc_code srv_store_forget_usage(srv_store *store, int64_t now_us,
                                               tk_err *err);

/* ---- runs: models that are trained ---- */

typedef struct srv_store_run {
    tk_str id, session_id, base_model;
    int64_t rank;
    bool train_unembed, train_mlp, train_attn;
    tk_str user_metadata; /* JSON object, or empty */
    int64_t created_us, last_request_us;
    tk_str project_id; /* or empty; added with none it gets that of its session */
} srv_store_run;

/* Adds or replaces a run. TINKC_E_CONFLICT when it has checkpoints and is of another base
 * model, rank or kind of layers. */
TK_NODISCARD tinkc_code srv_store_add_run(srv_store *store, const srv_store_run *run,
                                          tk_err *err);
/* Reads a run; TINKC_E_MISSING when there is none. Strings live in the arena. */
TK_NODISCARD tinkc_code srv_store_get_run(srv_store_run *out, srv_store *store,
                                          tk_arena *arena, tk_str id, tk_err *err);

/* ---- sampling sessions ---- */

typedef struct srv_store_sampler {
    tk_str id, session_id, base_model;
    tk_str model_path; /* or empty */
} srv_store_sampler;

TK_NODISCARD tinkc_code srv_store_add_sampler(srv_store *store,
                                              const srv_store_sampler *sampler,
                                              tk_err *err);

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
    tk_str user_metadata;          /* JSON object of strings, or empty */
    tk_str base_model, project_id; /* of its run; only where the database is read */
} srv_store_checkpoint;

/* Adds a checkpoint whose directory is complete at the path that srv_store_new_dir gave,
 * from where it is moved to its place. With `overwrite` it replaces one with the same
 * name, whose directory's name goes to *old_dir (arena; empty = none); without,
 * TINKC_E_CONFLICT when there is one that is not past its time. Label, directory and row
 * are on disk when it returns. On failure the directory is where it was. */
TK_NODISCARD tinkc_code srv_store_add_checkpoint(srv_store *store, tk_arena *arena,
                                                 const srv_store_checkpoint *checkpoint,
                                                 bool overwrite, tk_str *old_dir,
                                                 tk_err *err);

/* Reads a checkpoint; TINKC_E_MISSING when there is none, or none any more. */
TK_NODISCARD tinkc_code srv_store_get_checkpoint(srv_store_checkpoint *out,
                                                 srv_store *store, tk_arena *arena,
                                                 const tk_path *path, tk_err *err);
/* Reads the newest one of a run; TINKC_E_MISSING when there is none. */
TK_NODISCARD tinkc_code srv_store_last_checkpoint(srv_store_checkpoint *out,
                                                  srv_store *store, tk_arena *arena,
                                                  tk_str run_id, tk_err *err);

/* Deletes one; its directory, whose name goes to *dir (arena), is marked as deleted and
 * is the caller's to remove. TINKC_E_MISSING. */
TK_NODISCARD tinkc_code srv_store_delete_checkpoint(tk_str *dir, srv_store *store,
                                                    tk_arena *arena, const tk_path *path,
                                                    tk_err *err);
/* Makes it public or private, in its label too; no error when it is so already.
 * TINKC_E_MISSING. */
TK_NODISCARD tinkc_code srv_store_publish_checkpoint(srv_store *store, tk_arena *arena,
                                                     const tk_path *path, bool is_public,
                                                     tk_err *err);
/* Sets its end; `expires_us` 0 = never. TINKC_E_MISSING. */
TK_NODISCARD tinkc_code srv_store_expire_checkpoint(srv_store *store, tk_arena *arena,
                                                    const tk_path *path,
                                                    int64_t expires_us, tk_err *err);

/* Returns the time by which things may be removed: now, unless the clock has just jumped
 * (srv_wall.h). */
int64_t srv_store_removal_us(srv_store *store);

/* Returns when something ends that is to live for `ttl_seconds` from now; 0 for 0, which
 * is never. */
int64_t srv_store_end_us(srv_store *store, int64_t ttl_seconds);

/* Stores the time, for the next start. */
TK_NODISCARD tinkc_code srv_store_note_time(srv_store *store, tk_err *err);

/* Where a search for checkpoints past their time is; {0} is its begin. */
typedef struct srv_store_expiry {
    int64_t skip; /* those that could not be deleted, which come first */
    tk_str dir;   /* out: the name of the directory (arena); empty = there is none */
} srv_store_expiry;

/* Deletes one checkpoint that is past its time at `now_us`. When its directory cannot be
 * changed it stays, at->dir is its name, and the next call with the same `at` goes on
 * with the checkpoint after it. After every other failure at->dir is empty. */
TK_NODISCARD tinkc_code srv_store_take_expired(srv_store_expiry *at, srv_store *store,
                                               tk_arena *arena, int64_t now_us,
                                               tk_err *err);

/* Gives the absolute path of a checkpoint's directory (arena); `dir` is its name in the
 * row. */
TK_NODISCARD tinkc_code srv_store_dir(const char **out, srv_store *store, tk_arena *arena,
                                      tk_str dir, tk_err *err);

/* Names a directory for a new checkpoint, which does not exist yet: its name for the row
 * in *dir, and in *full the path where it is to be written (arena). What is left there is
 * removed at the next start. */
TK_NODISCARD tinkc_code srv_store_new_dir(tk_str *dir, const char **full,
                                          srv_store *store, tk_arena *arena,
                                          const tk_path *path, tk_err *err);

/* Gives the path of a directory of the work folder for the upload `id` (arena), which may
 * not exist. What is left there is removed at the next start, and by
 * srv_store_sweep_uploads. */
TK_NODISCARD tinkc_code srv_store_upload_dir(const char **out, srv_store *store,
                                             tk_arena *arena, tk_str id, tk_err *err);

/* Removes directories of uploads that were made before `before_us`; returns how many are
 * left. */
size_t srv_store_sweep_uploads(srv_store *store, int64_t before_us);

/* Removes the directory of a checkpoint that has no row any more; `dir` is its name in
 * the row. The next start removes what could not be. */
void srv_store_remove_dir(srv_store *store, tk_str dir);

/* ---- usage ---- */

typedef struct srv_store_usage {
    int64_t bucket_us; /* the hour's start */
    tk_str base_model, session_id;
    int64_t kind; /* tk_billing_kind */
    int64_t amount;
} srv_store_usage;

typedef struct srv_store_usages {
    const srv_store_usage *p;
    size_t n;
} srv_store_usages;

/* Adds to the counters, all or none. */
TK_NODISCARD tinkc_code srv_store_add_usage(srv_store *store, const srv_store_usage *rows,
                                            size_t n, tk_err *err);
/* Lists those of hours that begin in [span_us[0], span_us[1]), by hour and session.
 * Arena. */
TK_NODISCARD tinkc_code srv_store_list_usage(srv_store_usages *out, srv_store *store,
                                             tk_arena *arena, const int64_t span_us[2],
                                             tk_err *err);
typedef struct srv_store_session {
    tk_str user_metadata; /* JSON, or empty */
    tk_str display_name;  /* or empty */
} srv_store_session;

/* Reads what a session's client says about it. Arena. TINKC_E_MISSING "Session not
 * found". */
TK_NODISCARD tinkc_code srv_store_get_session(srv_store_session *out, srv_store *store,
                                              tk_arena *arena, tk_str id, tk_err *err);

/* What the checkpoints of one project take; those of runs without a project are
 * together, with an empty id. */
typedef struct srv_store_space {
    tk_str project_id;
    int64_t n_checkpoints, bytes;
} srv_store_space;

typedef struct srv_store_spaces {
    const srv_store_space *p;
    size_t n;
} srv_store_spaces;

/* Adds up the checkpoints that are not past their time, by project; of one project unless
 * `project_id` is {NULL, 0}. Arena. */
TK_NODISCARD tinkc_code srv_store_list_space(srv_store_spaces *out, srv_store *store,
                                             tk_arena *arena, tk_str project_id,
                                             tk_err *err);

/* ---- lists, newest first; strings and arrays live in the arena ---- */

typedef struct srv_store_page {
    int64_t limit, offset; /* not negative */
} srv_store_page;

typedef struct srv_store_runs {
    const srv_store_run *p;
    size_t n;
    int64_t total; /* of all pages */
} srv_store_runs;

/* project_id: {NULL, 0} = any. */
TK_NODISCARD tinkc_code srv_store_list_runs(srv_store_runs *out, srv_store *store,
                                            tk_arena *arena, const srv_store_page *page,
                                            tk_str project_id, tk_err *err);

typedef struct srv_store_filter {
    tk_str run_id; /* empty = of all runs */
    bool has_kind;
    tk_path_kind kind;
    int64_t before_row; /* only older ones than this; 0 = any */
    srv_store_page page;
} srv_store_filter;

typedef struct srv_store_checkpoints {
    const srv_store_checkpoint *p;
    size_t n;
    int64_t total; /* of all pages */
} srv_store_checkpoints;

/* Leaves out those past their time. */
TK_NODISCARD tinkc_code srv_store_list_checkpoints(srv_store_checkpoints *out,
                                                   srv_store *store, tk_arena *arena,
                                                   const srv_store_filter *filter,
                                                   tk_err *err);

TK_NODISCARD tinkc_code srv_store_list_sessions(tk_strs *ids, srv_store *store,
                                                tk_arena *arena,
                                                const srv_store_page *page, tk_err *err);
/* List the ids of the runs and of the samplers of one session, oldest first. */
TK_NODISCARD tinkc_code srv_store_list_session_runs(tk_strs *ids, srv_store *store,
                                                    tk_arena *arena, tk_str session_id,
                                                    tk_err *err);
TK_NODISCARD tinkc_code srv_store_list_session_samplers(tk_strs *ids, srv_store *store,
                                                        tk_arena *arena,
                                                        tk_str session_id, tk_err *err);

/* ---- search ---- */

typedef struct srv_store_search {
    tk_str id; /* {NULL, 0} = any */
    int64_t before_us;
    tk_str before_id; /* of sessions with the same time: only ids below this one */
    int64_t limit;
} srv_store_search;

typedef struct srv_store_found {
    tk_str id, user_metadata, project_id, display_name;
    tk_str finish_reason, finish_detail; /* empty: not finished by its client */
    int64_t created_us, n_checkpoints, checkpoint_bytes;
} srv_store_found;

typedef struct srv_store_founds {
    const srv_store_found *p;
    size_t n;
    size_t bytes; /* of metadata */
    bool more;    /* there may be others after the last one */
} srv_store_founds;

/* Reads at most search->limit sessions, and fewer when their metadata is long: it ends
 * after TK_SRV_SEARCH_PAGE_BYTES of it, so that the lock is not held for long. Strings
 * live in the arena. */
TK_NODISCARD tinkc_code srv_store_search_sessions(srv_store_founds *out, srv_store *store,
                                                  tk_arena *arena,
                                                  const srv_store_search *search,
                                                  tk_err *err);

#endif
