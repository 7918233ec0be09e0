/* What a client asks first, and what it sends while it lives (docs/protocol.md §10). */
#include "server/api/srv_service.h"

#include "server/run/srv_catalog.h"
#include "server/run/srv_head.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"
#include "wire/msg_session.h"
#include "wire/msg_telemetry.h"

hd_verdict srv_service_config(hd_request *request)
{
    /* The table's defaults are the official ones; and what this server offers. */
    const tk_client_config msg = {.sample_use_retrieve_futures = {TK_SET, true},
                                  .sample_join_sampling_session = {TK_SET, true}};
    return srv_msg_reply(request, &tk_msg_client_config, &msg);
}

hd_verdict srv_service_dynamic_config(hd_request *request)
{
    const tk_dynamic_config msg = {.sample_cancel_enabled = {TK_SET, true}};
    return srv_msg_reply(request, &tk_msg_dynamic_config, &msg);
}

hd_verdict srv_service_health(hd_request *request)
{
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{\"status\":\"ok\"}"));
}

hd_verdict srv_service_capabilities(hd_request *request)
{
    const srv *server = request->app;
    const srv_catalog *catalog = server->catalog;
    size_t n = atomic_load(&catalog->n_names);
    tk_supported_model *models = tk_arena_array(&request->arena, n, sizeof(*models));
    if (models == NULL) {
        return hd_reply_no_memory(request);
    }
    for (size_t i = 0; i < n; i++) {
        const srv_name *at = &catalog->names[i];
        models[i] = (tk_supported_model){
            .model_name = {TK_SET, tk_str_of(at->name)},
            .max_context_length = {TK_SET, (int64_t)at->base->info.context},
            .trainable = {TK_SET, true},
            .sampleable = {TK_SET, true},
        };
    }
    const tk_capabilities_response msg = {models, n};
    return srv_msg_reply(request, &tk_msg_capabilities_response, &msg);
}

/* ---- sessions ---- */

hd_verdict srv_service_create_session(hd_request *request)
{
    tk_create_session_request msg;
    if (!srv_msg_decode_open(request, &tk_msg_create_session_request, &msg)) {
        return HD_ANSWERED;
    }
    tk_err err = TK_ERR_INIT;
    char id[TK_UUID_TEXT_BYTES];
    tinkc_code code =
        srv_session_open(id, request->app, srv_head_key(request), &msg, &err);
    if (code == TINKC_E_RATE_LIMIT) {
        return hd_reply_fail(request, 429, "%s", err.message);
    }
    if (code != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    const tk_create_session_response reply = {.session_id = {TK_SET, tk_str_of(id)}};
    return srv_msg_reply(request, &tk_msg_create_session_response, &reply);
}

hd_verdict srv_service_heartbeat(hd_request *request)
{
    srv *server = request->app;
    tk_heartbeat_request msg;
    if (!srv_msg_decode_open(request, &tk_msg_heartbeat_request, &msg)) {
        return HD_ANSWERED;
    }
    /* A session that was ended, or made before a restart, is still answered: its client
     * would only warn without end (docs/protocol.md §10). */
    srv_beat beat = srv_session_beat(server, msg.session_id.v, request->is_inline);
    if (beat == SRV_BEAT_BUSY) {
        return hd_request_hop(request);
    }
    if (beat == SRV_BEAT_UNKNOWN) {
        tk_err err = TK_ERR_INIT;
        if (!request->may_wait) {
            return hd_request_wait(request);
        }
        if (srv_store_find_session(server->store, msg.session_id.v, &err) != TINKC_OK) {
            return hd_reply_error(request, &err);
        }
    }
    const tk_heartbeat_response reply = {0};
    return srv_msg_reply(request, &tk_msg_heartbeat_response, &reply);
}

hd_verdict srv_service_finish_session(hd_request *request)
{
    srv *server = request->app;
    tk_str id = request->params[0];
    tk_finish_session_request msg;
    tk_err err = TK_ERR_INIT;
    if (!srv_msg_decode_open(request, &tk_msg_finish_session_request, &msg)) {
        return HD_ANSWERED;
    }
    (void)!srv_session_end(server, id);
    tinkc_code code = srv_store_find_session(server->store, id, &err);
    if (code == TINKC_OK && msg.reason.is == TK_SET) {
        tk_str detail = msg.detail.is == TK_SET ? msg.detail.v : (tk_str){NULL, 0};
        code = srv_store_finish_session(server->store, id,
                                        tk_str_of(tk_finish_word(msg.reason.v.type.v)),
                                        detail, &err);
    }
    if (code != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{}"));
}

/* Accepts anything: any other answer makes clients send it again without end
 * (docs/protocol.md §11 row 4). Nothing of it is kept. */
hd_verdict srv_service_telemetry(hd_request *request)
{
    return hd_reply_fixed(request, 200, HD_TYPE_JSON,
                          TK_STR("{\"status\":\"accepted\"}"));
}
