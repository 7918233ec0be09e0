/* Runs, checkpoints, sessions, audit and billing: what the server stores. No call here
 * creates a session.
 *
 * Results are structs that the library allocates and the caller frees, each with its
 * own function. A program must not allocate one itself, because later versions add
 * members at the end. A text that the server did not send is NULL; a time is in
 * microseconds since 1970 (UTC), and TINKC_NO_TIME when the server sent none.
 *
 * A checkpoint is named by its path, "tinker://<run>/weights/<name>" or
 * "tinker://<run>/sampler_weights/<name>": "tinker://", the id of its run, "/" and its
 * checkpoint id. Arguments are read before a call returns. Thread: any. */
#ifndef TINKC_REST_H
#define TINKC_REST_H

#include <tinkc/params.h>
#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* A time that the server did not give: never, or not known. */
#define TINKC_NO_TIME INT64_MIN

/* Returns TINKC_NO_TIME, for programs in languages that cannot read a C macro. */
TINKC_API int64_t tinkc_time_none(void);

/* Whose runs and sessions to include. */
typedef enum tinkc_scope {
    TINKC_SCOPE_OWNED = 0,
    TINKC_SCOPE_ACCESSIBLE = 1 /* also what others share */
} tinkc_scope;

typedef enum tinkc_checkpoint_type {
    TINKC_CHECKPOINT_TRAINING = 0, /* weights/... */
    TINKC_CHECKPOINT_SAMPLER = 1,  /* sampler_weights/... */
    TINKC_CHECKPOINT_EXTERNAL = 2, /* external_weights/... */
    TINKC_CHECKPOINT_OTHER = -1    /* a type that this version does not know */
} tinkc_checkpoint_type;

typedef struct tinkc_checkpoint {
    const char *id; /* "weights/<name>" */
    tinkc_checkpoint_type type;
    const char *path; /* tinker://... */
    int64_t time_us;
    int64_t size_bytes; /* -1: not known */
    bool is_public;
    int64_t expires_us;    /* TINKC_NO_TIME: never */
    const char *type_text; /* the type as the server wrote it */
    const tinkc_pair *metadata;
    size_t metadata_n;
    bool has_metadata;
    const char *base_model; /* NULL: the server did not send it */
} tinkc_checkpoint;

/* One page of checkpoints, or all of a run. */
typedef struct tinkc_checkpoints {
    const tinkc_checkpoint *items;
    size_t n;
    int64_t total;    /* in all pages; -1: the server did not send it */
    const char *next; /* of a search (<tinkc/search.h>); NULL: this was the last page */
} tinkc_checkpoints;

typedef struct tinkc_run {
    const char *id;
    const char *base_model;
    const char *owner;
    bool is_lora;
    bool is_corrupted;
    int64_t lora_rank; /* -1: not known */
    int64_t last_request_us;
    const tinkc_checkpoint *last_checkpoint; /* NULL: none */
    const tinkc_checkpoint *last_sampler_checkpoint;
    const tinkc_pair *metadata;
    size_t metadata_n;
    bool has_metadata; /* false: the server sent none, or null */
} tinkc_run;

/* One page of runs. */
typedef struct tinkc_runs {
    const tinkc_run *items;
    size_t n;
    int64_t total; /* of all pages */
} tinkc_runs;

/* Where the archive of a checkpoint can be fetched, without credentials. */
typedef struct tinkc_archive {
    const char *url;
    int64_t expires_us;
} tinkc_archive;

typedef struct tinkc_weights_info {
    const char *base_model;
    bool is_lora;
    int64_t lora_rank; /* -1: not known */
    tinkc_choice train_unembed, train_mlp, train_attn;
    tinkc_optimizer optimizer;  /* of which the state was saved */
    const char *optimizer_name; /* as the server calls it */
} tinkc_weights_info;

typedef struct tinkc_sampler_info {
    const char *id;
    const char *base_model;
    const char *model_path; /* NULL: the base model itself */
} tinkc_sampler_info;

typedef struct tinkc_session_info {
    const char *const *run_ids;
    size_t run_ids_n;
    const char *const *sampler_ids;
    size_t sampler_ids_n;
    const tinkc_pair *metadata;
    size_t metadata_n;
    bool has_metadata;
    const char *display_name; /* may be NULL */
} tinkc_session_info;

/* One page of session ids. */
typedef struct tinkc_sessions {
    const char *const *ids;
    size_t n;
} tinkc_sessions;

typedef struct tinkc_whoami {
    const char *user_urn;
    const char *email;   /* may be NULL */
    const char *org_urn; /* may be NULL */
} tinkc_whoami;

typedef struct tinkc_audit_entry {
    int64_t time_us;
    const char *event;
    const char *model_id; /* these three may be NULL */
    const char *path;
    const char *purpose;
    const char *details; /* a JSON object; NULL: none */
} tinkc_audit_entry;

typedef struct tinkc_audit {
    const tinkc_audit_entry *items;
    size_t n;
} tinkc_audit;

typedef enum tinkc_billing_kind {
    TINKC_BILLING_TRAINING = 0,
    TINKC_BILLING_SAMPLING_PREFILL = 1,
    TINKC_BILLING_SAMPLING_SAMPLE = 2,
    TINKC_BILLING_CHECKPOINT = 3,
    TINKC_BILLING_STORAGE = 4,
    TINKC_BILLING_OTHER = -1 /* a kind that this version does not know */
} tinkc_billing_kind;

/* Usage within one hour. */
typedef struct tinkc_billing_event {
    int64_t start_us, end_us;
    const char *base_model; /* these five may be NULL */
    const char *user_id, *user_name;
    const char *session_id;
    const char *project_id;
    tinkc_billing_kind kind;
    int64_t token_count;   /* training, sampling; else -1 */
    bool is_cached;        /* sampling prefill */
    int64_t count;         /* checkpoint; else -1 */
    double gigabyte_hours; /* storage; else 0 */
    const char *kind_text; /* the kind as the server wrote it */
    double cost_usd;       /* an estimate; this and the rates: not a number: not known */
    double usd_per_million_tokens;
    double usd_per_gigabyte_month;
} tinkc_billing_event;

typedef struct tinkc_billing_session {
    const char *session_id;
    const tinkc_pair *metadata;
    size_t metadata_n;
    bool has_metadata;
} tinkc_billing_session;

typedef struct tinkc_billing {
    const tinkc_billing_event *items;
    size_t n;
    const tinkc_billing_session *sessions;
    size_t sessions_n;
    int64_t cost_data_through_us; /* costs before this come from invoices, later ones from
                                     published rates; TINKC_NO_TIME: not known */
} tinkc_billing;

/* Returns "training", "sampler", "external" or "other"; the server's own word is in
 * tinkc_checkpoint.type_text. Static storage. */
TINKC_API const char *tinkc_checkpoint_type_name(tinkc_checkpoint_type type);

/* Returns the name that the protocol uses for a kind of billing event: "training",
 * "sampling_prefill", ...; "other" for TINKC_BILLING_OTHER, whose word is in
 * tinkc_billing_event.kind_text. Static storage. */
TINKC_API const char *tinkc_billing_kind_name(tinkc_billing_kind kind);

/* Writes a time as RFC 3339 in UTC ("2026-07-13T08:00:00Z", with microseconds unless
 * they are 0) to `text`, NUL-terminated; "" when it cannot be expressed. 32 bytes are
 * enough. Returns the full length as snprintf does; 0 when `size` is 0. */
TINKC_API size_t tinkc_time_format(char *text, size_t size, int64_t time_us);

/* Parses an RFC 3339 time into *out. Without a zone it is UTC; a date alone is its
 * midnight. TINKC_E_INVALID, with *out untouched, for any other text or when `out` is
 * NULL. */
TINKC_API tinkc_code tinkc_time_parse(int64_t *out, const char *text, tinkc_error **err);

/* ---- runs ---- */

/* Asks for a run. TINKC_E_INVALID when `run_id` is empty or cannot be an id. Result:
 * tinkc_future_take_run. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_get_run(tinkc_service *service, const char *run_id, tinkc_scope scope);

/* Calls tinkc_rest_get_run and waits for its result. The caller owns *out
 * (tinkc_run_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_get_run_wait(tinkc_run **out, tinkc_service *service,
                                             const char *run_id, tinkc_scope scope,
                                             tinkc_error **err);

/* Asks for the run that a checkpoint belongs to. TINKC_E_INVALID when `path` is not
 * the path of a checkpoint. Result: tinkc_future_take_run. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_get_run_of_path(tinkc_service *service, const char *path, tinkc_scope scope);

/* Calls tinkc_rest_get_run_of_path and waits for its result. The caller owns *out
 * (tinkc_run_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_get_run_of_path_wait(tinkc_run **out,
                                                     tinkc_service *service,
                                                     const char *path, tinkc_scope scope,
                                                     tinkc_error **err);

/* Takes the run out of a completed future. The caller owns *out (tinkc_run_free).
 * TINKC_E_STATE when the future is NULL or not done, has a result of another kind, or
 * its result was already taken; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_run(tinkc_run **out, tinkc_future *future,
                                           tinkc_error **err);

/* Waits for the future, takes the run as tinkc_future_take_run does, and frees the
 * future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_run(tinkc_run **out, tinkc_future **future,
                                            tinkc_error **err);

/* Frees the run and sets *run to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_run_free(tinkc_run **run);

/* Which page of a list. Start from TINKC_LIST_OPTIONS_INIT. */
typedef struct tinkc_list_options {
    size_t size;
    int64_t limit; /* 0: the default of the official SDK: 20 runs or sessions, 100
                      checkpoints */
    int64_t offset;
    tinkc_scope scope;      /* runs and sessions */
    const char *project_id; /* runs; NULL: all projects */
} tinkc_list_options;

#define TINKC_LIST_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_list_options), 0, 0, TINKC_SCOPE_OWNED, NULL                        \
    }

/* Sets *options to TINKC_LIST_OPTIONS_INIT. */
TINKC_API void tinkc_list_options_init(tinkc_list_options *options);

/* Lists one page of runs, newest first. `options` NULL: the first 20. For all pages
 * see tinkc_pager_runs. TINKC_E_INVALID for a negative limit or offset, or a limit
 * above 1,000,000. Result: tinkc_future_take_runs. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_list_runs(tinkc_service *service, const tinkc_list_options *options);

/* Calls tinkc_rest_list_runs and waits for its result. The caller owns *out
 * (tinkc_runs_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_list_runs_wait(tinkc_runs **out, tinkc_service *service,
                                               const tinkc_list_options *options,
                                               tinkc_error **err);

/* Takes the list of runs out of a completed future. The caller owns *out
 * (tinkc_runs_free). TINKC_E_STATE when the future is NULL or not done, has a result
 * of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_runs(tinkc_runs **out, tinkc_future *future,
                                            tinkc_error **err);

/* Waits for the future, takes the list of runs as tinkc_future_take_runs does, and
 * frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * discards the result. */
TINKC_API tinkc_code tinkc_future_await_runs(tinkc_runs **out, tinkc_future **future,
                                             tinkc_error **err);

/* Frees the list of runs and sets *runs to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_runs_free(tinkc_runs **runs);

/* ---- checkpoints ---- */

/* Lists all checkpoints of a run. TINKC_E_INVALID when `run_id` is empty or cannot be
 * an id. Result: tinkc_future_take_checkpoints. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_list_checkpoints(tinkc_service *service, const char *run_id);

/* Calls tinkc_rest_list_checkpoints and waits for its result. The caller owns *out
 * (tinkc_checkpoints_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_list_checkpoints_wait(tinkc_checkpoints **out,
                                                      tinkc_service *service,
                                                      const char *run_id,
                                                      tinkc_error **err);

/* Lists one page of the user's checkpoints, the newest first. `options` NULL: the
 * first 100. For all pages see tinkc_pager_checkpoints. Result:
 * tinkc_future_take_checkpoints. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_list_user_checkpoints(tinkc_service *service,
                                 const tinkc_list_options *options);

/* Calls tinkc_rest_list_user_checkpoints and waits for its result. The caller owns
 * *out (tinkc_checkpoints_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_list_user_checkpoints_wait(
    tinkc_checkpoints **out, tinkc_service *service, const tinkc_list_options *options,
    tinkc_error **err);

/* Takes the list of checkpoints out of a completed future. The caller owns *out
 * (tinkc_checkpoints_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_checkpoints(tinkc_checkpoints **out,
                                                   tinkc_future *future,
                                                   tinkc_error **err);

/* Waits for the future, takes the list of checkpoints as tinkc_future_take_checkpoints
 * does, and frees the future whatever the outcome: *future is NULL afterwards. A NULL
 * `out` discards the result. */
TINKC_API tinkc_code tinkc_future_await_checkpoints(tinkc_checkpoints **out,
                                                    tinkc_future **future,
                                                    tinkc_error **err);

/* Frees the list of checkpoints and sets *checkpoints to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_checkpoints_free(tinkc_checkpoints **checkpoints);

/* Deletes a checkpoint permanently. TINKC_E_INVALID when `path` is not the path of a
 * checkpoint, as for every function below that takes a path. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_delete_checkpoint(tinkc_service *service, const char *path);

/* Calls tinkc_rest_delete_checkpoint and waits until it is done. */
TINKC_API tinkc_code tinkc_rest_delete_checkpoint_wait(tinkc_service *service,
                                                       const char *path,
                                                       tinkc_error **err);

/* Makes a checkpoint readable by every user of the server. TINKC_E_CONFLICT when it is
 * already public. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_publish_checkpoint(tinkc_service *service, const char *path);

/* Calls tinkc_rest_publish_checkpoint and waits until it is done. */
TINKC_API tinkc_code tinkc_rest_publish_checkpoint_wait(tinkc_service *service,
                                                        const char *path,
                                                        tinkc_error **err);

/* Makes a public checkpoint private again. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_unpublish_checkpoint(tinkc_service *service, const char *path);

/* Calls tinkc_rest_unpublish_checkpoint and waits until it is done. */
TINKC_API tinkc_code tinkc_rest_unpublish_checkpoint_wait(tinkc_service *service,
                                                          const char *path,
                                                          tinkc_error **err);

/* As a time to live: the checkpoint never expires. */
enum { TINKC_NO_TTL = -1 };

/* Sets a checkpoint to expire after `ttl_seconds`, or never (TINKC_NO_TTL).
 * TINKC_E_INVALID for any other value below 1. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_set_checkpoint_ttl(tinkc_service *service, const char *path,
                              int64_t ttl_seconds);

/* Calls tinkc_rest_set_checkpoint_ttl and waits until it is done. */
TINKC_API tinkc_code tinkc_rest_set_checkpoint_ttl_wait(tinkc_service *service,
                                                        const char *path,
                                                        int64_t ttl_seconds,
                                                        tinkc_error **err);

/* Asks for a URL from which the checkpoint can be downloaded as an archive, and asks
 * again while the server is building it (options archive_poll and archive_tries; then
 * TINKC_E_SERVER). To get the files themselves call tinkc_download_checkpoint. Result:
 * tinkc_future_take_archive. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_archive_url(tinkc_service *service,
                                                               const char *path);

/* Calls tinkc_rest_archive_url and waits for its result. The caller owns *out
 * (tinkc_archive_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_archive_url_wait(tinkc_archive **out,
                                                 tinkc_service *service, const char *path,
                                                 tinkc_error **err);

/* Takes the archive out of a completed future. The caller owns *out
 * (tinkc_archive_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_archive(tinkc_archive **out, tinkc_future *future,
                                               tinkc_error **err);

/* Waits for the future, takes the archive as tinkc_future_take_archive does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_archive(tinkc_archive **out,
                                                tinkc_future **future, tinkc_error **err);

/* Frees the archive and sets *archive to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_archive_free(tinkc_archive **archive);

/* Asks what kind of weights a checkpoint holds. Result:
 * tinkc_future_take_weights_info. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_weights_info(tinkc_service *service,
                                                                const char *path);

/* Calls tinkc_rest_weights_info and waits for its result. The caller owns *out
 * (tinkc_weights_info_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_weights_info_wait(tinkc_weights_info **out,
                                                  tinkc_service *service,
                                                  const char *path, tinkc_error **err);

/* Takes the description of the weights out of a completed future. The caller owns *out
 * (tinkc_weights_info_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_weights_info(tinkc_weights_info **out,
                                                    tinkc_future *future,
                                                    tinkc_error **err);

/* Waits for the future, takes the description of the weights as
 * tinkc_future_take_weights_info does, and frees the future whatever the outcome:
 * *future is NULL afterwards. A NULL `out` discards the result. */
TINKC_API tinkc_code tinkc_future_await_weights_info(tinkc_weights_info **out,
                                                     tinkc_future **future,
                                                     tinkc_error **err);

/* Frees the description of the weights and sets *info to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_weights_info_free(tinkc_weights_info **info);

/* ---- samplers and sessions ---- */

/* Asks what a sampler samples from. TINKC_E_INVALID when `sampler_id` cannot be an id.
 * Result: tinkc_future_take_sampler_info. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_get_sampler(tinkc_service *service,
                                                               const char *sampler_id);

/* Calls tinkc_rest_get_sampler and waits for its result. The caller owns *out
 * (tinkc_sampler_info_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_get_sampler_wait(tinkc_sampler_info **out,
                                                 tinkc_service *service,
                                                 const char *sampler_id,
                                                 tinkc_error **err);

/* Takes the description of the sampler out of a completed future. The caller owns *out
 * (tinkc_sampler_info_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_sampler_info(tinkc_sampler_info **out,
                                                    tinkc_future *future,
                                                    tinkc_error **err);

/* Waits for the future, takes the description of the sampler as
 * tinkc_future_take_sampler_info does, and frees the future whatever the outcome:
 * *future is NULL afterwards. A NULL `out` discards the result. */
TINKC_API tinkc_code tinkc_future_await_sampler_info(tinkc_sampler_info **out,
                                                     tinkc_future **future,
                                                     tinkc_error **err);

/* Frees the description of the sampler and sets *info to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_sampler_info_free(tinkc_sampler_info **info);

/* Asks which runs and samplers a session has. TINKC_E_INVALID when `session_id` cannot
 * be an id. Result: tinkc_future_take_session_info. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_get_session(tinkc_service *service, const char *session_id, tinkc_scope scope);

/* Calls tinkc_rest_get_session and waits for its result. The caller owns *out
 * (tinkc_session_info_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_get_session_wait(tinkc_session_info **out,
                                                 tinkc_service *service,
                                                 const char *session_id,
                                                 tinkc_scope scope, tinkc_error **err);

/* Takes the description of the session out of a completed future. The caller owns *out
 * (tinkc_session_info_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_session_info(tinkc_session_info **out,
                                                    tinkc_future *future,
                                                    tinkc_error **err);

/* Waits for the future, takes the description of the session as
 * tinkc_future_take_session_info does, and frees the future whatever the outcome:
 * *future is NULL afterwards. A NULL `out` discards the result. */
TINKC_API tinkc_code tinkc_future_await_session_info(tinkc_session_info **out,
                                                     tinkc_future **future,
                                                     tinkc_error **err);

/* Frees the description of the session and sets *info to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_session_info_free(tinkc_session_info **info);

/* Lists one page of session ids. `options` NULL: the first 20. For all pages see
 * tinkc_pager_sessions. Result: tinkc_future_take_sessions. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_list_sessions(tinkc_service *service, const tinkc_list_options *options);

/* Calls tinkc_rest_list_sessions and waits for its result. The caller owns *out
 * (tinkc_sessions_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_list_sessions_wait(tinkc_sessions **out,
                                                   tinkc_service *service,
                                                   const tinkc_list_options *options,
                                                   tinkc_error **err);

/* Takes the list of sessions out of a completed future. The caller owns *out
 * (tinkc_sessions_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_sessions(tinkc_sessions **out,
                                                tinkc_future *future, tinkc_error **err);

/* Waits for the future, takes the list of sessions as tinkc_future_take_sessions does,
 * and frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * discards the result. */
TINKC_API tinkc_code tinkc_future_await_sessions(tinkc_sessions **out,
                                                 tinkc_future **future,
                                                 tinkc_error **err);

/* Frees the list of sessions and sets *sessions to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_sessions_free(tinkc_sessions **sessions);

/* Assigns a session, with its runs, to a project. It can be moved to another project
 * later, but not removed from all projects. TINKC_E_INVALID when an id is empty or
 * cannot be an id. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_assign_project(tinkc_service *service,
                                                                  const char *session_id,
                                                                  const char *project_id);

/* Calls tinkc_rest_assign_project and waits until it is done. */
TINKC_API tinkc_code tinkc_rest_assign_project_wait(tinkc_service *service,
                                                    const char *session_id,
                                                    const char *project_id,
                                                    tinkc_error **err);

/* Asks the server to write a trace of the session, polls until it is ready (option
 * trace_poll, 5 s), and gets its URL, which is valid for about an hour. TINKC_E_INVALID
 * when `session_id` cannot be an id, TINKC_E_REQUEST when the server failed to write the
 * trace, TINKC_E_STUCK after option stuck_total. Result: tinkc_future_take_text. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_export_trace(tinkc_service *service,
                                                                const char *session_id);

/* Calls tinkc_rest_export_trace and waits for its result. The caller owns *out
 * (tinkc_text_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_export_trace_wait(char **out, tinkc_service *service,
                                                  const char *session_id,
                                                  tinkc_error **err);

/* ---- account ---- */

/* Reads which account the credential belongs to from the token that the service holds.
 * The server has no endpoint for it: requests are sent only to make the service ready
 * and to get that token. TINKC_E_UNSUPPORTED when the credential is a plain key.
 * Result: tinkc_future_take_whoami. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_whoami(tinkc_service *service);

/* Calls tinkc_rest_whoami and waits for its result. The caller owns *out
 * (tinkc_whoami_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_whoami_wait(tinkc_whoami **out, tinkc_service *service,
                                            tinkc_error **err);

/* Takes the account out of a completed future. The caller owns *out
 * (tinkc_whoami_free). TINKC_E_STATE when the future is NULL or not done, has a result
 * of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_whoami(tinkc_whoami **out, tinkc_future *future,
                                              tinkc_error **err);

/* Waits for the future, takes the account as tinkc_future_take_whoami does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_whoami(tinkc_whoami **out, tinkc_future **future,
                                               tinkc_error **err);

/* Frees the account and sets *whoami to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_whoami_free(tinkc_whoami **whoami);

typedef enum tinkc_audit_events {
    TINKC_AUDIT_ALL = 0,
    TINKC_AUDIT_CHECKPOINTS = 1,
    TINKC_AUDIT_PROJECTS = 2, /* these three: servers of the level 0.36 */
    TINKC_AUDIT_TEAMS = 3,
    TINKC_AUDIT_ORGANIZATIONS = 4
} tinkc_audit_events;

/* Asks for the audit log of one UTC day ("2026-07-13"; NULL: today). For
 * administrators. TINKC_E_INVALID for text that is not a date. Result:
 * tinkc_future_take_audit. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_audit(tinkc_service *service, tinkc_audit_events events, const char *day);

/* Calls tinkc_rest_audit and waits for its result. The caller owns *out
 * (tinkc_audit_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_audit_wait(tinkc_audit **out, tinkc_service *service,
                                           tinkc_audit_events events, const char *day,
                                           tinkc_error **err);

/* Takes the audit log out of a completed future. The caller owns *out
 * (tinkc_audit_free). TINKC_E_STATE when the future is NULL or not done, has a result
 * of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_audit(tinkc_audit **out, tinkc_future *future,
                                             tinkc_error **err);

/* Waits for the future, takes the audit log as tinkc_future_take_audit does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_audit(tinkc_audit **out, tinkc_future **future,
                                              tinkc_error **err);

/* Frees the audit log and sets *audit to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_audit_free(tinkc_audit **audit);

/* Asks for the usage per hour in [start_us, end_us). The server requires whole UTC
 * hours and at most 14 days. TINKC_E_INVALID when the span is empty or a time cannot
 * be written as a date. Result: tinkc_future_take_billing. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_billing(tinkc_service *service, int64_t start_us, int64_t end_us);

/* Calls tinkc_rest_billing and waits for its result. The caller owns *out
 * (tinkc_billing_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_billing_wait(tinkc_billing **out, tinkc_service *service,
                                             int64_t start_us, int64_t end_us,
                                             tinkc_error **err);

/* Takes the usage out of a completed future. The caller owns *out
 * (tinkc_billing_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_billing(tinkc_billing **out, tinkc_future *future,
                                               tinkc_error **err);

/* Waits for the future, takes the usage as tinkc_future_take_billing does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_billing(tinkc_billing **out,
                                                tinkc_future **future, tinkc_error **err);

/* Frees the usage and sets *billing to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_billing_free(tinkc_billing **billing);

/* ---- all pages ----
 *
 * A pager walks a list item by item and requests a page when it needs one. An item
 * that moved between two pages because the list changed is not returned twice; when
 * the list became shorter, the pager steps back so that no item is skipped. Thread:
 * one at a time. The service must stay open while the pager is used. */

typedef struct tinkc_pager tinkc_pager;

typedef struct tinkc_pager_options {
    size_t size;
    int64_t page;           /* items per request; 0: 100 runs or sessions, 1000
                               checkpoints */
    int64_t limit;          /* stop after this many items; 0: all */
    int64_t offset;         /* where to begin */
    tinkc_scope scope;      /* runs and sessions */
    const char *project_id; /* runs; NULL: of any */
} tinkc_pager_options;

#define TINKC_PAGER_OPTIONS_INIT                                                         \
    {                                                                                    \
        sizeof(tinkc_pager_options), 0, 0, 0, TINKC_SCOPE_OWNED, NULL                    \
    }

/* Sets *options to TINKC_PAGER_OPTIONS_INIT. */
TINKC_API void tinkc_pager_options_init(tinkc_pager_options *options);

/* Creates a pager over the runs; sends no request. `options` NULL:
 * TINKC_PAGER_OPTIONS_INIT. The caller owns *out (tinkc_pager_close). TINKC_E_INVALID
 * for a negative number, a page above 1,000,000 or a NULL `out`; TINKC_E_STATE when
 * `service` is NULL; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_pager_runs(tinkc_pager **out,
                                                      tinkc_service *service,
                                                      const tinkc_pager_options *options,
                                                      tinkc_error **err);

/* Makes a pager over all checkpoints of the user. On a server that has no such list the
 * runs are walked, with a request for each, which gives the same. Ownership and errors
 * as tinkc_pager_runs. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_pager_checkpoints(tinkc_pager **out, tinkc_service *service,
                        const tinkc_pager_options *options, tinkc_error **err);

/* Makes a pager over the sessions. Ownership and errors as tinkc_pager_runs. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_pager_sessions(tinkc_pager **out, tinkc_service *service,
                     const tinkc_pager_options *options, tinkc_error **err);

/* Frees the pager and sets *pager to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_pager_close(tinkc_pager **pager);

/* Gets the next run, borrowed until the next call on this pager. Blocks while a page
 * is fetched; not on the loop's thread. TINKC_E_MISSING at the end; TINKC_E_STATE when
 * `pager` is NULL or of another kind; TINKC_E_INVALID when `out` is NULL. After any
 * other error the pager has not moved, and the call may be repeated. */
TINKC_API tinkc_code tinkc_pager_next_run(const tinkc_run **out, tinkc_pager *pager,
                                          tinkc_error **err);

/* Gives the next checkpoint, as tinkc_pager_next_run gives runs. */
TINKC_API tinkc_code tinkc_pager_next_checkpoint(const tinkc_checkpoint **out,
                                                 tinkc_pager *pager, tinkc_error **err);

/* Gives the id of the next session, as tinkc_pager_next_run gives runs. */
TINKC_API tinkc_code tinkc_pager_next_session(const char **out, tinkc_pager *pager,
                                              tinkc_error **err);

/* Determines whether there is another item and, if necessary, fetches a page; blocks
 * meanwhile. At the end it stores false and returns TINKC_OK. TINKC_E_STATE when
 * `pager` is NULL, TINKC_E_INVALID when `out` is NULL, otherwise the error of the
 * request; *out is then not written. */
TINKC_API tinkc_code tinkc_pager_has_next(bool *out, tinkc_pager *pager,
                                          tinkc_error **err);

/* Returns the total number of items according to the last page; -1 before the first
 * page, when the server does not report it (sessions), and for NULL. */
TINKC_API int64_t tinkc_pager_total(const tinkc_pager *pager);

TINKC_END_DECLS

#endif
