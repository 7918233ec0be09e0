/* Rows of usage as billing events, with the metadata of their sessions. */
#include "server/api/srv_billing.h"

#include "base/date.h"
#include "base/map.h"
#include "server/api/srv_rest.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"
#include "server/run/srv_usage.h"
#include "wire/msg_search.h"

#define SPAN_MAX_H (14 * 24)

/* Reads an hour of the query; returns false with an answer. */
static bool read_hour(int64_t *out, hd_request *request, const char *name)
{
    tk_err ignored = TK_ERR_INIT;
    tk_str text = hd_request_query(request, name);
    if (text.p == NULL || tk_date_parse(out, text, &ignored) != TINKC_OK ||
        *out % SRV_USAGE_HOUR_US != 0) {
        (void)hd_reply_fail(request, 400, "%s must be a time at a full hour, UTC", name);
        return false;
    }
    return true;
}

static tk_billing_event event_of(const srv_store_usage *row)
{
    tk_billing_event event = {
        .bucket_start = {TK_SET, row->bucket_us},
        .bucket_end = {TK_SET, row->bucket_us + SRV_USAGE_HOUR_US},
        .base_model = {TK_SET, row->base_model},
        .session_id = {row->session_id.n > 0 ? TK_SET : TK_NULL, row->session_id},
    };
    event.event_info.kind = (int)(row->kind % SRV_USAGE_CACHED);
    if (event.event_info.kind == TK_BILLING_CHECKPOINT) {
        event.event_info.count = (tk_f_i64){TK_SET, row->amount};
    } else {
        event.event_info.token_count = (tk_f_i64){TK_SET, row->amount};
    }
    if (event.event_info.kind == TK_BILLING_SAMPLING_PREFILL) {
        event.event_info.cached = (tk_f_bool){TK_SET, row->kind >= SRV_USAGE_CACHED};
    }
    return event;
}

static tinkc_code fill_events(tk_billing_response *reply, hd_request *request,
                              const srv_store_usages *list, tk_err *err)
{
    tk_billing_event *events = tk_arena_array(&request->arena, list->n, sizeof(*events));
    if (list->n > 0 && events == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < list->n; i++) {
        events[i] = event_of(&list->p[i]);
    }
    reply->data = events;
    reply->data_n = list->n;
    return TINKC_OK;
}

/* Collects the sessions of the rows, each once, in the order of their first row. */
static tinkc_code collect_ids(tk_map *out, const srv_store_usages *list, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < list->n; i++) {
        tk_str id = list->p[i].session_id;
        if (!tk_map_has(out, id)) {
            code = tk_map_put(out, id, NULL, err);
        }
    }
    return code;
}

static tinkc_code read_sessions(tk_billing_response *reply, hd_request *request,
                                const tk_map *ids, tk_err *err)
{
    srv *server = request->app;
    tk_named_billing_session *all =
        tk_arena_array(&request->arena, ids->count, sizeof(*all));
    size_t cursor = 0, n = 0;
    tk_str id;
    if (ids->count > 0 && all == NULL) {
        return tk_err_nomem(err);
    }
    while (tk_map_next(ids, &cursor, &id, NULL)) {
        srv_store_session session;
        tk_err why = TK_ERR_INIT;
        tinkc_code code =
            srv_store_get_session(&session, server->store, &request->arena, id, &why);
        if (code == TINKC_E_MISSING) {
            continue;
        }
        if (code != TINKC_OK) {
            return tk_err_set(err, code, "%s", why.message);
        }
        all[n] = (tk_named_billing_session){.name = id};
        srv_rest_fill_metadata(&all[n++].session.user_metadata, &request->arena,
                               session.user_metadata);
    }
    reply->sessions = all;
    reply->sessions_n = n;
    return TINKC_OK;
}

/* Lists each session once, with its metadata. */
static tinkc_code fill_sessions(tk_billing_response *reply, hd_request *request,
                                const srv_store_usages *list, tk_err *err)
{
    tk_map ids;
    tk_map_init(&ids, TK_MAP_BORROW_KEYS);
    tinkc_code code = collect_ids(&ids, list, err);
    if (code == TINKC_OK) {
        code = read_sessions(reply, request, &ids, err);
    }
    tk_map_dispose(&ids);
    return code;
}

/* ---- storage ---- */

#define GIGABYTE 1e9

hd_verdict srv_billing_storage(hd_request *request)
{
    srv *server = request->app;
    srv_store_spaces list = {0};
    tk_err err = TK_ERR_INIT;
    if (srv_store_list_space(&list, server->store, &request->arena,
                             hd_request_query(request, "project_id"), &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    tk_storage_item *items = tk_arena_array(&request->arena, list.n, sizeof(*items));
    if (list.n > 0 && items == NULL) {
        return hd_reply_no_memory(request);
    }
    for (size_t i = 0; i < list.n; i++) {
        const srv_store_space *row = &list.p[i];
        items[i] = (tk_storage_item){
            .project_id = {row->project_id.n > 0 ? TK_SET : TK_NULL, row->project_id},
            .user_name = TK_F_STR("local"),
            .checkpoint_count = {TK_SET, row->n_checkpoints},
            .size_bytes = {TK_SET, row->bytes},
            .size_gigabytes = {TK_SET, (double)row->bytes / GIGABYTE},
        };
    }
    const tk_storage_response reply = {.data = items, .data_n = list.n};
    return srv_msg_reply(request, &tk_msg_storage_response, &reply);
}

/* ---- events ---- */

hd_verdict srv_billing_events(hd_request *request)
{
    srv *server = request->app;
    int64_t start = 0, end = 0;
    srv_store_usages list = {0};
    tk_err err = TK_ERR_INIT;
    if (!read_hour(&start, request, "starting_on") ||
        !read_hour(&end, request, "ending_before")) {
        return HD_ANSWERED;
    }
    if (end <= start || (end - start) / SRV_USAGE_HOUR_US > SPAN_MAX_H) {
        return hd_reply_fail(request, 400,
                             "ending_before must be up to 14 days after starting_on");
    }
    tk_billing_response reply = {0};
    const int64_t span[2] = {start, end};
    tinkc_code code = srv_usage_write(server->usage, server->store, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_list_usage(&list, server->store, &request->arena, span, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = fill_events(&reply, request, &list, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = fill_sessions(&reply, request, &list, &err);
out:
    return code == TINKC_OK ? srv_msg_reply(request, &tk_msg_billing_response, &reply)
                            : hd_reply_error(request, &err);
}
