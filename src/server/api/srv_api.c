/* The route table, in the order of docs/protocol.md §2. */
#include "server/api/srv_api.h"

#include "console/con.h"
#include "gateway/gw.h"
#include "server/api/srv_archive.h"
#include "server/api/srv_billing.h"
#include "server/api/srv_checkpoint.h"
#include "server/api/srv_checkpoint_search.h"
#include "server/api/srv_console.h"
#include "server/api/srv_copy.h"
#include "server/api/srv_external.h"
#include "server/api/srv_gateway.h"
#include "server/api/srv_info.h"
#include "server/api/srv_models.h"
#include "server/api/srv_rest.h"
#include "server/api/srv_retrieve.h"
#include "server/api/srv_sampling.h"
#include "server/api/srv_search.h"
#include "server/api/srv_service.h"
#include "server/api/srv_train.h"
#include "server/api/srv_upload.h"
#include "server/api/srv_weights.h"

#define API "/api/v1/"

#define PAGE  "limit offset"
#define SCOPE "access_scope=owned|accessible"
#define LINK  "row expires signature"

static const hd_route rows[] = {
    /* service and session */
    {"POST", API "client/config", srv_service_config, HD_ROUTE_PROMPT, 0, HD_ROUTE_ANY},
    {"POST", API "client/dynamic_config", srv_service_dynamic_config, HD_ROUTE_PROMPT, 0,
     HD_ROUTE_ANY},
    {"GET", API "healthz", srv_service_health, HD_ROUTE_OPEN | HD_ROUTE_PROMPT, 0,
     HD_ROUTE_ANY},
    {"GET", API "get_server_capabilities", srv_service_capabilities, HD_ROUTE_PROMPT, 0,
     NULL},
    {"POST", API "create_session", srv_service_create_session, 0, 0, NULL},
    {"POST", API "session_heartbeat", srv_service_heartbeat, HD_ROUTE_PROMPT, 0, NULL},
    {"POST", API "sessions/*/finish", srv_service_finish_session, 0, 0, NULL},
    {"POST", API "telemetry", srv_service_telemetry, HD_ROUTE_PROMPT,
     TK_SRV_BODY_SAMPLE_BYTES, HD_ROUTE_ANY},
    /* models and training */
    {"POST", API "create_model", srv_train_create_model, 0, 0, NULL},
    {"POST", API "get_info", srv_train_get_info, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", API "unload_model", srv_train_unload_model, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", API "forward_backward", srv_train_forward_backward, HD_ROUTE_HEAVY,
     TK_SRV_BODY_TRAIN_BYTES, NULL},
    {"POST", API "forward", srv_train_forward, HD_ROUTE_HEAVY, TK_SRV_BODY_TRAIN_BYTES,
     NULL},
    {"POST", API "optim_step", srv_train_optim_step, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", API "save_weights", srv_weights_save, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", API "save_weights_for_sampler", srv_weights_save_for_sampler, HD_ROUTE_LIGHT,
     0, NULL},
    {"POST", API "load_weights", srv_weights_load, 0, 0, NULL},
    {"POST", API "weights_info", srv_weights_info, 0, 0, NULL},
    {"POST", API "copy_weights", srv_copy_weights, HD_ROUTE_SLOW, 0, NULL},
    {"POST", API "save_weights_external", srv_weights_save_external, HD_ROUTE_LIGHT, 0,
     NULL},
    {"POST", API "external_weights_upload_start", srv_upload_start, 0, 0, NULL},
    {"PUT", "/tinkc/v1/uploads/*/*", srv_upload_put,
     HD_ROUTE_OPEN | HD_ROUTE_SIGNED | HD_ROUTE_SLOW, TK_SRV_BODY_UPLOAD_BYTES, LINK},
    {"POST", API "external_weights_upload_finish", srv_upload_finish, HD_ROUTE_SLOW, 0,
     NULL},
    {"POST", API "create_custom_loss", srv_rest_no_custom_losses, 0, 0, HD_ROUTE_ANY},
    /* sampling */
    {"POST", API "create_sampling_session", srv_sampling_create_session, 0, 0, NULL},
    {"POST", API "join_sampling_session", srv_sampling_join_session, HD_ROUTE_LIGHT, 0,
     NULL},
    {"GET", API "samplers/*", srv_sampling_get_sampler, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", API "asample", srv_sampling_sample, HD_ROUTE_HEAVY, TK_SRV_BODY_SAMPLE_BYTES,
     NULL},
    {"POST", API "stream_sample", srv_sampling_stream, HD_ROUTE_HEAVY,
     TK_SRV_BODY_SAMPLE_BYTES, NULL},
    /* futures */
    {"POST", API "retrieve_future", srv_retrieve_future, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", API "retrieve_futures", srv_retrieve_futures, HD_ROUTE_LIGHT,
     TK_SRV_BODY_SAMPLE_BYTES, NULL},
    {"POST", API "cancel_future", srv_retrieve_cancel, HD_ROUTE_LIGHT, 0, NULL},
    /* runs and checkpoints */
    {"GET", API "training_runs", srv_rest_list_runs, 0, 0, PAGE " " SCOPE " project_id"},
    {"GET", API "training_runs/*", srv_rest_get_run, 0, 0, SCOPE},
    {"GET", API "training_runs/*/checkpoints", srv_checkpoint_list_run, 0, 0, NULL},
    {"DELETE", API "training_runs/*/checkpoints/**", srv_checkpoint_delete, 0, 0, NULL},
    {"DELETE", API "training_runs/*/checkpoints/*", srv_checkpoint_refuse_bare, 0, 0,
     NULL},
    {"POST", API "training_runs/*/checkpoints/**/publish", srv_checkpoint_publish, 0, 0,
     NULL},
    {"DELETE", API "training_runs/*/checkpoints/**/publish", srv_checkpoint_unpublish, 0,
     0, NULL},
    {"PUT", API "training_runs/*/checkpoints/**/ttl", srv_checkpoint_set_ttl, 0, 0, NULL},
    {"GET", API "training_runs/*/checkpoints/**/archive", srv_archive_redirect, 0, 0,
     NULL},
    {"GET", API "training_runs/*/checkpoints/**/external_weights_urls", srv_external_urls,
     0, 0, NULL},
    {"GET", "/tinkc/v1/archives/*/**", srv_archive_get, HD_ROUTE_OPEN | HD_ROUTE_SLOW, 0,
     LINK},
    {"GET", "/tinkc/v1/files/*/**/*", srv_external_get, HD_ROUTE_OPEN | HD_ROUTE_SLOW, 0,
     LINK},
    {"GET", API "checkpoints", srv_checkpoint_list_all, 0, 0, PAGE},
    {"POST", API "checkpoints/search", srv_checkpoint_search, HD_ROUTE_SLOW, 0, NULL},
    /* sessions */
    {"GET", API "sessions", srv_rest_list_sessions, 0, 0, PAGE " " SCOPE},
    {"POST", API "sessions/search", srv_search_sessions, HD_ROUTE_SLOW, 0, NULL},
    {"GET", API "sessions/*", srv_rest_get_session, 0, 0, SCOPE},
    {"PUT", API "sessions/*/project", srv_rest_set_project, HD_ROUTE_SLOW, 0, NULL},
    {"GET", API "sessions/*/trace_export", srv_rest_no_traces, 0, 0, HD_ROUTE_ANY},
    {"GET", API "billing/usage/events", srv_billing_events, HD_ROUTE_SLOW, 0,
     "starting_on ending_before"},
    {"GET", API "billing/usage/checkpoints/current", srv_billing_storage, HD_ROUTE_SLOW,
     0, "project_id"},
    {"GET", API "audit", srv_rest_no_audit, 0, 0, HD_ROUTE_ANY},
    {"GET", API "auth/apikey/me", srv_rest_no_keys, 0, 0, HD_ROUTE_ANY},
    {"DELETE", API "auth/apikey/me", srv_rest_no_keys, 0, 0, HD_ROUTE_ANY},
    /* OpenAI's and Anthropic's APIs, and episodes */
    GW_ROUTES(srv_gateway_handle),
    /* ours */
    {"GET", "/", srv_info_root, HD_ROUTE_OPEN | HD_ROUTE_PROMPT, 0, HD_ROUTE_ANY},
    CON_ROUTES(srv_console_handle),
    {"GET", "/metrics", srv_info_metrics, HD_ROUTE_PROMPT, 0, HD_ROUTE_ANY},
    {"GET", "/tinkc/v1/models", srv_models_list, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", "/tinkc/v1/models", srv_models_load, HD_ROUTE_SLOW, 0, NULL},
    {"GET", "/tinkc/v1/models/*/*", srv_info_tokenizer, 0, 0, NULL},
    {"GET", "/tinkc/v1/models/*/*/*", srv_info_tokenizer, 0, 0, NULL},
};
const hd_routes srv_api_routes = {rows, TK_ARRAY_LEN(rows)};
