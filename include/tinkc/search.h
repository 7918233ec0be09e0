/* Searches of sessions and checkpoints, and what the stored checkpoints take. Servers of
 * the level of the official SDK 0.36 have them; the search of checkpoints came with 0.39.
 * Results and texts as in <tinkc/rest.h>.
 *
 * A search gives one page, newest first. `next` of a page is the `cursor` of the next one;
 * it is opaque. Arguments are read before a call returns. Thread: any. */
#ifndef TINKC_SEARCH_H
#define TINKC_SEARCH_H

#include <tinkc/rest.h>

TINKC_BEGIN_DECLS

/* ---- sessions ---- */

typedef struct tinkc_found_session {
    const char *id;
    int64_t created_us;
    const char *owner;
    const char *project_id;
    const char *status;      /* "active", "client_finished", "failed", ...; NULL: none */
    const char *status_json; /* the whole status as JSON; NULL: none */
    int64_t checkpoints;     /* how many; -1: not known */
    const char *display_name;
    const tinkc_pair *metadata;
    size_t metadata_n;
    bool has_metadata;
    int64_t checkpoint_bytes; /* -1: not known */
} tinkc_found_session;

typedef struct tinkc_found_sessions {
    const tinkc_found_session *items;
    size_t n;
    const char *next; /* NULL: this was the last page */
} tinkc_found_sessions;

/* What to look for; everything that is set has to match. Start from
 * TINKC_SESSION_QUERY_INIT. */
typedef struct tinkc_session_query {
    size_t size;
    const char *session_id;   /* with display_name: either one matches */
    const char *display_name; /* words, each of which is in the name, in any case */
    const char *const *project_ids;
    size_t project_ids_n;
    const tinkc_pair *metadata; /* every pair has to be there */
    size_t metadata_n;
    tinkc_scope scope;
    const char *const *owners; /* URNs of users, up to 10; instead of `scope` */
    size_t owners_n;
    const char *const *statuses; /* any of "active", "cancelled", "failed" and
                                    "client_finished", or with a reason:
                                    "client_finished:errored" */
    size_t statuses_n;
    int64_t limit;      /* 1 to 200; 0: 50 */
    const char *cursor; /* `next` of the page before; NULL: the first page */
} tinkc_session_query;

#define TINKC_SESSION_QUERY_INIT                                                         \
    {                                                                                    \
        sizeof(tinkc_session_query), NULL, NULL, NULL, 0, NULL, 0, TINKC_SCOPE_OWNED,    \
            NULL, 0, NULL, 0, 0, NULL                                                    \
    }

/* Sets *query to TINKC_SESSION_QUERY_INIT. */
TINKC_API void tinkc_session_query_init(tinkc_session_query *query);

/* Searches sessions. `query` NULL: the newest 50 of the user. TINKC_E_INVALID for a limit
 * out of range or a cursor that is not one. Result: tinkc_future_take_found_sessions. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_search_sessions(tinkc_service *service, const tinkc_session_query *query);

/* Calls tinkc_rest_search_sessions and waits for its result. The caller owns *out
 * (tinkc_found_sessions_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_search_sessions_wait(tinkc_found_sessions **out,
                                                     tinkc_service *service,
                                                     const tinkc_session_query *query,
                                                     tinkc_error **err);

/* Takes the page out of a completed future. The caller owns *out
 * (tinkc_found_sessions_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_found_sessions(tinkc_found_sessions **out,
                                                      tinkc_future *future,
                                                      tinkc_error **err);

/* Waits for the future, takes the page as tinkc_future_take_found_sessions does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_found_sessions(tinkc_found_sessions **out,
                                                       tinkc_future **future,
                                                       tinkc_error **err);

/* Frees the page and sets *sessions to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_found_sessions_free(tinkc_found_sessions **sessions);

/* ---- checkpoints ---- */

/* What to look for; everything that is set has to match. Start from
 * TINKC_CHECKPOINT_QUERY_INIT. */
typedef struct tinkc_checkpoint_query {
    size_t size;
    const char *type;               /* "training", "sampler" or "external"; NULL: any */
    const char *const *base_models; /* any of them; NULL: any at all */
    size_t base_models_n;
    const char *const *project_ids;
    size_t project_ids_n;
    const tinkc_pair *metadata; /* every pair has to be there */
    size_t metadata_n;
    tinkc_scope scope;
    const char *const *owners; /* URNs of users, up to 10; instead of `scope` */
    size_t owners_n;
    int64_t limit;      /* 1 to 200; 0: 50 */
    const char *cursor; /* `next` of the page before; NULL: the first page */
} tinkc_checkpoint_query;

#define TINKC_CHECKPOINT_QUERY_INIT                                                      \
    {                                                                                    \
        sizeof(tinkc_checkpoint_query), NULL, NULL, 0, NULL, 0, NULL, 0,                 \
            TINKC_SCOPE_OWNED, NULL, 0, 0, NULL                                          \
    }

/* Sets *query to TINKC_CHECKPOINT_QUERY_INIT. */
TINKC_API void tinkc_checkpoint_query_init(tinkc_checkpoint_query *query);

/* Searches checkpoints. `query` NULL: the newest 50 of the user. TINKC_E_INVALID for a
 * limit out of range or a cursor that is not one. Result: tinkc_future_take_checkpoints,
 * with `next` and without `total`. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_search_checkpoints(tinkc_service *service,
                              const tinkc_checkpoint_query *query);

/* Calls tinkc_rest_search_checkpoints and waits for its result. The caller owns *out
 * (tinkc_checkpoints_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_search_checkpoints_wait(
    tinkc_checkpoints **out, tinkc_service *service, const tinkc_checkpoint_query *query,
    tinkc_error **err);

/* ---- storage ---- */

/* What the checkpoints of one project and user take. A cost that the server did not give
 * is not a number. */
typedef struct tinkc_storage_item {
    const char *project_id; /* these four may be NULL */
    const char *user_urn;
    const char *user_email;
    const char *user_name;
    int64_t checkpoints;
    int64_t bytes;
    double gigabytes;
    double monthly_cost_usd;
} tinkc_storage_item;

typedef struct tinkc_storage {
    const tinkc_storage_item *items;
    size_t n;
    double usd_per_gigabyte_month; /* not a number: not known */
} tinkc_storage;

/* Asks what the stored checkpoints take now, by project and user; of one project, or of
 * all (NULL). Result: tinkc_future_take_storage. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_storage(tinkc_service *service,
                                                           const char *project_id);

/* Calls tinkc_rest_storage and waits for its result. The caller owns *out
 * (tinkc_storage_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_storage_wait(tinkc_storage **out, tinkc_service *service,
                                             const char *project_id, tinkc_error **err);

/* Takes the storage out of a completed future. The caller owns *out
 * (tinkc_storage_free). TINKC_E_STATE when the future is NULL or not done, has a result of
 * another kind, or its result was already taken; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_storage(tinkc_storage **out, tinkc_future *future,
                                               tinkc_error **err);

/* Waits for the future, takes the storage as tinkc_future_take_storage does, and frees the
 * future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_storage(tinkc_storage **out,
                                                tinkc_future **future, tinkc_error **err);

/* Frees the storage and sets *storage to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_storage_free(tinkc_storage **storage);

TINKC_END_DECLS

#endif
