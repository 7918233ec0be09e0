/* Searches of sessions and checkpoints, storage: from the options of <tinkc/search.h> to a
 * request. Cursors are passed back as the server wrote them. */
#include <string.h>
#include <tinkc/search.h>

#include "client/call/op_call.h"
#include "client/core/service.h"
#include "client/future/tk_future.h"
#include "client/rest/rest_found.h"
#include "client/rest/rest_result.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "http/url.h"
#include "wire/msg_search.h"

#define LIMIT_MAX  200
#define OWNERS_MAX 10

#define SPEC(name, kind, endpoint, read)                                                 \
    {                                                                                    \
        name, TK_RESULT_##kind, TK_EP_##endpoint, false, read, tk_rest_result_free       \
    }

static const tk_op_call_spec sessions_spec =
    SPEC("search_sessions", FOUND_SESSIONS, SEARCH_SESSIONS, tk_rest_found_sessions);
static const tk_op_call_spec checkpoints_spec = SPEC(
    "search_checkpoints", CHECKPOINTS, SEARCH_CHECKPOINTS, tk_rest_found_checkpoints);
static const tk_op_call_spec storage_spec =
    SPEC("storage", STORAGE, STORAGE, tk_rest_found_storage);

/* ---- parts of a query, in the arena ---- */

static tinkc_code bad(tk_err *err, const char *name, const char *why)
{
    tk_err_set(err, TINKC_E_INVALID, "%s", why);
    tk_err_under(err, name);
    return err->code;
}

static tinkc_code read_texts(tk_f_strs *out, tk_arena *arena, const char *const *texts,
                             size_t n, const char *name, tk_err *err)
{
    if (texts == NULL) {
        return n == 0 ? TINKC_OK : bad(err, name, "is missing");
    }
    tk_str *items = tk_arena_array(arena, n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (texts[i] == NULL) {
            return bad(err, name, "has an entry without text");
        }
        items[i] = tk_str_of(texts[i]);
    }
    *out = (tk_f_strs){TK_SET, {items, n}};
    return TINKC_OK;
}

/* Always sent, as the official SDK does. */
static tinkc_code read_pairs(tk_f_str_map *out, tk_arena *arena, const tinkc_pair *pairs,
                             size_t n, tk_err *err)
{
    tk_f_raw checked = {.is = TK_UNSET};
    tinkc_code code = tk_params_metadata(&checked, arena, pairs, n, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_named_str *items = tk_arena_array(arena, n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].value == NULL) {
            return bad(err, "metadata", "has an entry without value");
        }
        items[i] = (tk_named_str){tk_str_of(pairs[i].name), tk_str_of(pairs[i].value)};
    }
    *out = (tk_f_str_map){TK_SET, {items, n}};
    return TINKC_OK;
}

static tinkc_code read_owner(tk_search_owner *out, tk_arena *arena, tinkc_scope scope,
                             const char *const *owners, size_t n, tk_err *err)
{
    out->type = (tk_f_str)TK_F_STR("own");
    if (scope == TINKC_SCOPE_ACCESSIBLE) {
        out->type = (tk_f_str)TK_F_STR("accessible");
    }
    if (n == 0) {
        return TINKC_OK;
    }
    if (n > OWNERS_MAX) {
        return bad(err, "owners", "are more than 10");
    }
    out->type = (tk_f_str)TK_F_STR("user");
    return read_texts(&out->owner_urns, arena, owners, n, "owners", err);
}

static tinkc_code read_limit(tk_f_i64 *out, int64_t limit, tk_err *err)
{
    if (limit < 0 || limit > LIMIT_MAX) {
        return bad(err, "limit", "must be 1 to 200, or 0 for 50");
    }
    *out = (tk_f_i64){limit > 0 ? TK_SET : TK_UNSET, limit};
    return TINKC_OK;
}

static tinkc_code read_cursor(tk_f_raw *out, tk_arena *arena, const char *text,
                              tk_err *err)
{
    tk_err ignored = TK_ERR_INIT;
    if (text == NULL) {
        return TINKC_OK;
    }
    out->is = TK_SET;
    tinkc_code code = tk_json_parse(&out->v, arena, text, strlen(text), NULL, &ignored);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    return code == TINKC_OK && out->v->type == TK_JSON_OBJECT
               ? TINKC_OK
               : bad(err, "cursor", "is not one of a search");
}

/* "client_finished:errored" is a status with a reason. */
static tinkc_code read_statuses(tk_session_search_request *out, tk_arena *arena,
                                const tinkc_session_query *q, tk_err *err)
{
    tk_session_status_query *items = tk_arena_array(arena, q->statuses_n, sizeof(*items));
    tk_str *reasons = tk_arena_array(arena, q->statuses_n, sizeof(*reasons));
    if (items == NULL || reasons == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < q->statuses_n; i++) {
        if (q->statuses == NULL || q->statuses[i] == NULL) {
            return bad(err, "statuses", "has an entry without text");
        }
        tk_str rest = tk_str_of(q->statuses[i]);
        tk_str type = tk_str_cut(&rest, ':');
        items[i] = (tk_session_status_query){.type = {TK_SET, type}};
        if (rest.p != NULL) {
            reasons[i] = rest;
            items[i].reasons = (tk_f_strs){TK_SET, {&reasons[i], 1}};
        }
    }
    out->has_statuses = q->statuses_n > 0;
    out->statuses = items;
    out->statuses_n = q->statuses_n;
    return TINKC_OK;
}

/* ---- sending ---- */

/* Sends it, or refuses what was wrong. */
static tinkc_future *run(tinkc_service *service, const tk_op_call_spec *spec,
                         const tk_op_call_args *args, const tk_err *err)
{
    tk_handle *handle = tk_service_handle(service);
    return err->code == TINKC_OK
               ? tk_op_call_run(handle, spec, args)
               : tk_handle_refuse(handle, spec->operation, spec->kind, err);
}

static tinkc_code read_session_query(tk_session_search_request *out, tk_arena *arena,
                                     const tinkc_session_query *query, tk_err *err)
{
    tinkc_session_query q = TINKC_SESSION_QUERY_INIT;
    tinkc_code code = tk_types_options(&q, sizeof(q), query, err);
    if (code != TINKC_OK) {
        goto out;
    }
    out->session_id = tk_f_str_of(q.session_id);
    out->display_name = tk_f_str_of(q.display_name);
    code = read_texts(&out->project_ids, arena, q.project_ids, q.project_ids_n,
                      "project_ids", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_pairs(&out->user_metadata, arena, q.metadata, q.metadata_n, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_owner(&out->owner, arena, q.scope, q.owners, q.owners_n, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_statuses(out, arena, &q, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_limit(&out->limit, q.limit, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_cursor(&out->cursor, arena, q.cursor, err);
out:
    return code;
}

tinkc_future *tinkc_rest_search_sessions(tinkc_service *service,
                                         const tinkc_session_query *query)
{
    tk_session_search_request request = {0};
    const tk_op_call_args args = {.schema = &tk_msg_session_search_request,
                                  .message = &request};
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    if (service == NULL) {
        return tk_service_none(sessions_spec.operation, sessions_spec.kind);
    }
    tk_arena_init(&arena, 0);
    (void)!read_session_query(&request, &arena, query, &err);
    tinkc_future *future = run(service, &sessions_spec, &args, &err);
    tk_arena_dispose(&arena);
    return future;
}

static tinkc_code read_checkpoint_query(tk_checkpoint_search_request *out,
                                        tk_arena *arena,
                                        const tinkc_checkpoint_query *query, tk_err *err)
{
    tinkc_checkpoint_query q = TINKC_CHECKPOINT_QUERY_INIT;
    tinkc_code code = tk_types_options(&q, sizeof(q), query, err);
    if (code != TINKC_OK) {
        goto out;
    }
    out->checkpoint_type = tk_f_str_of(q.type);
    code = read_texts(&out->project_ids, arena, q.project_ids, q.project_ids_n,
                      "project_ids", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_texts(&out->base_models, arena, q.base_models, q.base_models_n,
                      "base_models", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_pairs(&out->user_metadata, arena, q.metadata, q.metadata_n, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_owner(&out->owner, arena, q.scope, q.owners, q.owners_n, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_limit(&out->limit, q.limit, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_cursor(&out->cursor, arena, q.cursor, err);
out:
    return code;
}

tinkc_future *tinkc_rest_search_checkpoints(tinkc_service *service,
                                            const tinkc_checkpoint_query *query)
{
    tk_checkpoint_search_request request = {0};
    const tk_op_call_args args = {.schema = &tk_msg_checkpoint_search_request,
                                  .message = &request};
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    if (service == NULL) {
        return tk_service_none(checkpoints_spec.operation, checkpoints_spec.kind);
    }
    tk_arena_init(&arena, 0);
    (void)!read_checkpoint_query(&request, &arena, query, &err);
    tinkc_future *future = run(service, &checkpoints_spec, &args, &err);
    tk_arena_dispose(&arena);
    return future;
}

tinkc_future *tinkc_rest_storage(tinkc_service *service, const char *project_id)
{
    tk_buf query;
    tk_err err = TK_ERR_INIT;
    if (service == NULL) {
        return tk_service_none(storage_spec.operation, storage_spec.kind);
    }
    tk_buf_init(&query, 64 * TK_KIB);
    if (project_id != NULL) {
        tk_url_query_add(&query, "project_id", tk_str_of(project_id));
    }
    (void)!tk_buf_status(&query, &err);
    const tk_op_call_args args = {.query = tk_buf_cstr(&query)};
    (void)!tk_buf_status(&query, &err);
    tinkc_future *future = run(service, &storage_spec, &args, &err);
    tk_buf_dispose(&query);
    return future;
}

/* ---- blocking forms ---- */

tinkc_code tinkc_rest_search_sessions_wait(tinkc_found_sessions **out,
                                           tinkc_service *service,
                                           const tinkc_session_query *query,
                                           tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_search_sessions(service, query),
                               TK_RESULT_FOUND_SESSIONS, err);
}

tinkc_code tinkc_rest_search_checkpoints_wait(tinkc_checkpoints **out,
                                              tinkc_service *service,
                                              const tinkc_checkpoint_query *query,
                                              tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_search_checkpoints(service, query),
                               TK_RESULT_CHECKPOINTS, err);
}

tinkc_code tinkc_rest_storage_wait(tinkc_storage **out, tinkc_service *service,
                                   const char *project_id, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_storage(service, project_id),
                               TK_RESULT_STORAGE, err);
}
