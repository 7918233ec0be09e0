/* Runs and sessions out of the store, and what a local server does not have. */
#include "server/api/srv_rest.h"

#include <string.h>

#include "server/api/srv_checkpoint.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"

#define OWNER "local"

/* ---- runs ---- */

/* Fills in the newest checkpoint of a kind, or null. */
static tinkc_code fill_last(tk_f_checkpoint *out, hd_request *request, tk_str run_id,
                            tk_path_kind kind, tk_err *err)
{
    const srv_store_filter filter = {
        .run_id = run_id, .has_kind = true, .kind = kind, .page = {1, 0}};
    const srv *server = request->app;
    srv_store_checkpoints list;
    tinkc_code code =
        srv_store_list_checkpoints(&list, server->store, &request->arena, &filter, err);
    if (code != TINKC_OK) {
        return code;
    }
    out->is = list.n > 0 ? TK_SET : TK_NULL;
    if (list.n > 0 && !srv_checkpoint_fill(&out->v, &request->arena, &list.p[0])) {
        return tk_err_nomem(err);
    }
    return TINKC_OK;
}

/* Metadata is kept as the client wrote it; the wire's form here has strings only. */
void srv_rest_fill_metadata(tk_f_str_map *out, tk_arena *arena, tk_str text)
{
    const tk_json *json = NULL;
    tk_err ignored = TK_ERR_INIT;
    out->is = TK_NULL;
    if (text.n == 0 ||
        tk_json_parse(&json, arena, text.p, text.n, NULL, &ignored) != TINKC_OK ||
        json->type != TK_JSON_OBJECT) {
        return;
    }
    size_t n = 0;
    tk_named_str *items = tk_arena_array(arena, json->as.object.n, sizeof(*items));
    for (size_t i = 0; items != NULL && i < json->as.object.n; i++) {
        const tk_json_member *member = &json->as.object.members[i];
        if (member->value.type == TK_JSON_STRING) {
            items[n++] = (tk_named_str){member->key, member->value.as.string};
        }
    }
    *out = (tk_f_str_map){TK_SET, {items, n}};
}

static tinkc_code fill_run(tk_training_run *out, hd_request *request,
                           const srv_store_run *row, tk_err *err)
{
    *out = (tk_training_run){
        .training_run_id = {TK_SET, row->id},
        .base_model = {TK_SET, row->base_model},
        .model_owner = TK_F_STR(OWNER),
        .is_lora = {TK_SET, true},
        .corrupted = {TK_SET, false},
        .lora_rank = {TK_SET, row->rank},
        .last_request_time = {TK_SET, row->last_request_us},
    };
    srv_rest_fill_metadata(&out->user_metadata, &request->arena, row->user_metadata);
    tinkc_code code =
        fill_last(&out->last_checkpoint, request, row->id, TK_PATH_WEIGHTS, err);
    return code == TINKC_OK ? fill_last(&out->last_sampler_checkpoint, request, row->id,
                                        TK_PATH_SAMPLER_WEIGHTS, err)
                            : code;
}

hd_verdict srv_rest_list_runs(hd_request *request)
{
    srv *server = request->app;
    srv_store_page page;
    srv_store_runs list;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_page(&page, request, 20)) {
        return HD_ANSWERED;
    }
    tinkc_code code = srv_store_list_runs(&list, server->store, &request->arena, &page,
                                          hd_request_query(request, "project_id"), &err);
    if (code != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    tk_training_run *runs = tk_arena_array(&request->arena, list.n, sizeof(*runs));
    if (list.n > 0 && runs == NULL) {
        return hd_reply_no_memory(request);
    }
    for (size_t i = 0; i < list.n; i++) {
        if (fill_run(&runs[i], request, &list.p[i], &err) != TINKC_OK) {
            return hd_reply_error(request, &err);
        }
    }
    const tk_training_runs_response reply = {
        .training_runs = runs,
        .training_runs_n = list.n,
        .cursor = {{TK_SET, page.offset}, {TK_SET, page.limit}, {TK_SET, list.total}},
    };
    return srv_msg_reply(request, &tk_msg_training_runs_response, &reply);
}

hd_verdict srv_rest_get_run(hd_request *request)
{
    srv *server = request->app;
    srv_store_run row;
    tk_training_run run;
    tk_err err = TK_ERR_INIT;
    tinkc_code code =
        srv_store_get_run(&row, server->store, &request->arena, request->params[0], &err);
    if (code == TINKC_OK) {
        code = fill_run(&run, request, &row, &err);
    }
    return code == TINKC_OK ? srv_msg_reply(request, &tk_msg_training_run, &run)
                            : hd_reply_error(request, &err);
}

/* ---- sessions ---- */

hd_verdict srv_rest_list_sessions(hd_request *request)
{
    srv *server = request->app;
    srv_store_page page;
    tk_sessions_response reply;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_page(&page, request, 20)) {
        return HD_ANSWERED;
    }
    tinkc_code code = srv_store_list_sessions(&reply.sessions, server->store,
                                              &request->arena, &page, &err);
    return code == TINKC_OK ? srv_msg_reply(request, &tk_msg_sessions_response, &reply)
                            : hd_reply_error(request, &err);
}

hd_verdict srv_rest_get_session(hd_request *request)
{
    srv *server = request->app;
    tk_session_response reply = {0};
    srv_store_session session;
    tk_err err = TK_ERR_INIT;
    tk_str id = request->params[0];
    tinkc_code code =
        srv_store_get_session(&session, server->store, &request->arena, id, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    srv_rest_fill_metadata(&reply.user_metadata, &request->arena, session.user_metadata);
    reply.display_name =
        (tk_f_str){session.display_name.n > 0 ? TK_SET : TK_NULL, session.display_name};
    code = srv_store_list_session_runs(&reply.training_run_ids, server->store,
                                       &request->arena, id, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = srv_store_list_session_samplers(&reply.sampler_ids, server->store,
                                           &request->arena, id, &err);
out:
    return code == TINKC_OK ? srv_msg_reply(request, &tk_msg_session_response, &reply)
                            : hd_reply_error(request, &err);
}

/* Projects are names here: there is one as soon as it is used. */
hd_verdict srv_rest_set_project(hd_request *request)
{
    srv *server = request->app;
    tk_project_request msg;
    tk_err err = TK_ERR_INIT;
    if (!srv_msg_decode(request, &tk_msg_project_request, &msg)) {
        return HD_ANSWERED;
    }
    tk_str project = msg.project_id.v;
    if (project.n == 0 || project.n > TK_SRV_ID_BYTES) {
        return hd_reply_field(request, "project_id",
                              project.n == 0 ? "is empty" : "is too long");
    }
    if (memchr(project.p, '\0', project.n) != NULL) {
        return hd_reply_field(request, "project_id", "is not a name of a project");
    }
    tinkc_code code =
        srv_store_set_project(server->store, request->params[0], project, &err);
    return code == TINKC_OK ? hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{}"))
                            : hd_reply_error(request, &err);
}

/* ---- what a local server does not have ---- */

/* The official client retries every status of 500 and above for five minutes. */
static hd_verdict reply_not_here(hd_request *request, const char *text)
{
    return hd_reply_fail(request, 404, "%s", text);
}

hd_verdict srv_rest_no_audit(hd_request *request)
{
    return reply_not_here(request, "a local server keeps no audit log");
}

hd_verdict srv_rest_no_keys(hd_request *request)
{
    return reply_not_here(request, "a local server has no accounts, and no keys of them "
                                   "to show or delete: set TINKER_API_KEY instead");
}

hd_verdict srv_rest_no_traces(hd_request *request)
{
    return reply_not_here(request, "a local server exports no traces");
}

hd_verdict srv_rest_no_custom_losses(hd_request *request)
{
    return reply_not_here(request, "a local server runs no custom losses: the client "
                                   "differentiates them itself");
}
