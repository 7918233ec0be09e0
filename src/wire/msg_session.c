/* Tables of the service and session messages; rows in the order of docs/protocol.md
 * §2.1. */
#include "wire/msg_session.h"

#include "wire/path.h"

#define T tk_client_config_request
static const tk_field client_config_request_rows[] = {
    {TK_ROW(T, sdk_version, STR, TK_REQUIRED)},
};
#undef T

/* A negative budget, or no concurrent request at all, would stop the client, so such
 * values are refused where they are read. */
#define T tk_client_config
static const tk_field client_config_rows[] = {
    {TK_ROW(T, pjwt_auth_enabled, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, credential_default_source, STR, TK_DEFAULT), .def.s = "api_key"},
    {TK_ROW(T, sample_dispatch_bytes_semaphore_size, I64, TK_DEFAULT),
     TK_RANGE(0, INT64_MAX), .def.i = 10485760},
    {TK_ROW(T, inflight_response_bytes_semaphore_size, I64, TK_DEFAULT),
     TK_RANGE(0, INT64_MAX), .def.i = 52428800},
    {TK_ROW(T, parallel_fwdbwd_chunks, BOOL, TK_DEFAULT), .def.b = true},
    {TK_ROW(T, proto_compress_fwdbwd, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, fwdbwd_max_chunk_len, I64, TK_DEFAULT), TK_RANGE(0, INT64_MAX),
     .def.i = 1024},
    {TK_ROW(T, fwdbwd_max_chunk_bytes_count, I64, TK_DEFAULT), TK_RANGE(0, INT64_MAX),
     .def.i = 5000000},
    {TK_ROW(T, fwdbwd_dispatch_bytes_semaphore_size, I64, TK_DEFAULT),
     TK_RANGE(0, INT64_MAX), .def.i = 50000000},
    {TK_ROW(T, billing_exception_max_pause_duration_sec, I64, TK_DEFAULT),
     TK_RANGE(0, INT64_MAX), .def.i = 3600},
    {TK_ROW(T, sample_no_retries, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, sample_enable_stuck_detection, BOOL, TK_DEFAULT), .def.b = true},
    {TK_ROW(T, sample_max_concurrent_requests, I64, TK_DEFAULT), TK_RANGE(1, INT64_MAX),
     .def.i = 2000},
    {TK_ROW(T, use_pyqwest_transport, BOOL, TK_DEFAULT), .def.b = true},
    {TK_ROW(T, create_model_via_load_weights, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, sample_use_retrieve_futures, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, sample_join_sampling_session, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, custom_loss_server_side, BOOL, 0)},
};
#undef T

#define T tk_dynamic_config
static const tk_field dynamic_config_rows[] = {
    {TK_ROW(T, refresh_interval_sec, I64, TK_DEFAULT), .def.i = 300},
    {TK_ROW(T, sample_cancel_enabled, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, sample_cancel_max_batch_size, I64, TK_DEFAULT), .def.i = 64},
};
#undef T

#define T tk_auth_token_response
static const tk_field auth_token_response_rows[] = {{TK_ROW(T, jwt, STR, TK_REQUIRED)}};
#undef T

static const tk_field health_rows[] = {
    {TK_ROW(tk_health_response, status, STR, TK_REQUIRED)},
};

#define T tk_supported_model
static const tk_field supported_model_rows[] = {
    {TK_ROW(T, model_name, STR, TK_NULLABLE)},
    {TK_ROW(T, max_context_length, I64, TK_NULLABLE)},
    {TK_ROW(T, trainable, BOOL, TK_NULLABLE)},
    {TK_ROW(T, sampleable, BOOL, TK_NULLABLE)},
};
#undef T

#define T tk_capabilities_response
static const tk_field capabilities_rows[] = {
    {TK_BARE_PAIR(T, supported_models, LIST, TK_REQUIRED),
     .sub = &tk_msg_supported_model},
};
#undef T

#define T tk_create_session_request
static const tk_field create_session_request_rows[] = {
    {TK_BARE_LIST(T, tags, STRS, TK_REQUIRED)},
    {TK_ROW(T, user_metadata, RAW, TK_DEFAULT | TK_NULLABLE | TK_OBJECT)},
    {TK_ROW(T, sdk_version, STR, TK_REQUIRED)},
    {TK_ROW(T, project_id, STR, 0)},
    {TK_ROW(T, display_name, STR, 0)},
    {TK_LITERAL("type", "create_session")},
};
#undef T

#define T tk_create_session_response
static const tk_field create_session_response_rows[] = {
    {TK_LITERAL("type", "create_session")},
    {TK_ROW(T, session_id, STR, TK_REQUIRED)},
    {TK_ROW(T, info_message, STR, TK_NULLABLE)},
    {TK_ROW(T, warning_message, STR, TK_NULLABLE)},
    {TK_ROW(T, error_message, STR, TK_NULLABLE)},
};
#undef T

static const tk_field heartbeat_request_rows[] = {
    {TK_ROW(tk_heartbeat_request, session_id, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "session_heartbeat")},
};

static const tk_field heartbeat_response_rows[] = {
    {TK_LITERAL("type", "session_heartbeat")},
};

static const char *const finish_words[] = {"success", "errored", "interrupted"};
static const tk_names finish_names = {finish_words, TK_ARRAY_LEN(finish_words), TK_OTHER};

static const tk_field finish_reason_rows[] = {
    {TK_ROW(tk_finish_reason, type, ENUM, TK_REQUIRED), .names = &finish_names},
};

#define T tk_finish_session_request
static const tk_field finish_session_request_rows[] = {
    {TK_ROW(T, reason, MSG, 0), .sub = &tk_msg_finish_reason},
    {TK_ROW(T, detail, STR, TK_NULLABLE)},
};
#undef T

#define T tk_create_sampling_session_request
static const tk_field create_sampling_session_request_rows[] = {
    {TK_ROW(T, session_id, STR, TK_REQUIRED)},
    {TK_ROW(T, sampling_session_seq_id, I64, TK_REQUIRED), TK_RANGE(0, INT64_MAX)},
    {TK_ROW(T, base_model, STR, 0)},
    {TK_ROW(T, model_path, STR, 0)},
    {TK_LITERAL("type", "create_sampling_session")},
};
#undef T

static const tk_field create_sampling_session_response_rows[] = {
    {TK_LITERAL("type", "create_sampling_session")},
    {TK_ROW(tk_create_sampling_session_response, sampling_session_id, STR, TK_REQUIRED)},
};

#define T tk_join_sampling_session_request
static const tk_field join_sampling_session_request_rows[] = {
    {TK_ROW(T, sampling_session_id, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "join_sampling_session")},
};
#undef T

#define T tk_join_sampling_session_response
static const tk_field join_sampling_session_response_rows[] = {
    {TK_LITERAL("type", "join_sampling_session")},
    {TK_ROW(T, client_counter, I64, TK_REQUIRED), TK_RANGE(0, TK_CLONES_MAX)},
};
#undef T

#define T tk_sampler_response
static const tk_field sampler_rows[] = {
    {TK_ROW(T, sampler_id, STR, TK_REQUIRED)},
    {TK_ROW(T, base_model, STR, TK_REQUIRED)},
    {TK_ROW(T, model_path, STR, TK_NULLABLE)},
};
#undef T

const tk_schema tk_msg_client_config_request = {TK_SCHEMA(
    tk_client_config_request, "ClientConfigRequest", client_config_request_rows)};
const tk_schema tk_msg_client_config = {
    TK_SCHEMA(tk_client_config, "ClientConfigResponse", client_config_rows)};
const tk_schema tk_msg_dynamic_config = {
    TK_SCHEMA(tk_dynamic_config, "ClientDynamicConfigResponse", dynamic_config_rows)};
const tk_schema tk_msg_auth_token_request = {.name = "AuthTokenRequest",
                                             .size = sizeof(tk_auth_token_request)};
const tk_schema tk_msg_auth_token_response = {
    TK_SCHEMA(tk_auth_token_response, "AuthTokenResponse", auth_token_response_rows)};
const tk_schema tk_msg_health_response = {
    TK_SCHEMA(tk_health_response, "HealthResponse", health_rows)};
const tk_schema tk_msg_supported_model = {
    TK_SCHEMA(tk_supported_model, "SupportedModel", supported_model_rows)};
const tk_schema tk_msg_capabilities_response = {TK_SCHEMA(
    tk_capabilities_response, "GetServerCapabilitiesResponse", capabilities_rows)};
const tk_schema tk_msg_create_session_request = {TK_SCHEMA(
    tk_create_session_request, "CreateSessionRequest", create_session_request_rows)};
const tk_schema tk_msg_create_session_response = {TK_SCHEMA(
    tk_create_session_response, "CreateSessionResponse", create_session_response_rows)};
const tk_schema tk_msg_heartbeat_request = {
    TK_SCHEMA(tk_heartbeat_request, "SessionHeartbeatRequest", heartbeat_request_rows)};
const tk_schema tk_msg_heartbeat_response = {TK_SCHEMA(
    tk_heartbeat_response, "SessionHeartbeatResponse", heartbeat_response_rows)};
const tk_schema tk_msg_finish_reason = {
    TK_SCHEMA(tk_finish_reason, "ClientSessionFinishReason", finish_reason_rows)};
const tk_schema tk_msg_finish_session_request = {TK_SCHEMA(
    tk_finish_session_request, "SessionFinishRequest", finish_session_request_rows)};
const tk_schema tk_msg_create_sampling_session_request = {
    TK_SCHEMA(tk_create_sampling_session_request, "CreateSamplingSessionRequest",
              create_sampling_session_request_rows)};
const tk_schema tk_msg_create_sampling_session_response = {
    TK_SCHEMA(tk_create_sampling_session_response, "CreateSamplingSessionResponse",
              create_sampling_session_response_rows)};
const tk_schema tk_msg_join_sampling_session_request = {
    TK_SCHEMA(tk_join_sampling_session_request, "JoinSamplingSessionRequest",
              join_sampling_session_request_rows)};
const tk_schema tk_msg_join_sampling_session_response = {
    TK_SCHEMA(tk_join_sampling_session_response, "JoinSamplingSessionResponse",
              join_sampling_session_response_rows)};
const tk_schema tk_msg_sampler_response = {
    TK_SCHEMA(tk_sampler_response, "GetSamplerResponse", sampler_rows)};

const char *tk_finish_word(int type)
{
    return tk_names_word(&finish_names, type);
}

tinkc_code tk_sampling_session_check(const tk_create_sampling_session_request *msg,
                                     tk_err *err)
{
    bool has_path = msg->model_path.is == TK_SET;
    if (!has_path && msg->base_model.is != TK_SET) {
        return tk_err_set(err, TINKC_E_INVALID, "base_model or model_path is required");
    }
    if (has_path && tk_path_scheme(msg->model_path.v) == 0) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "model_path must start with \"tinker://\"");
    }
    return TINKC_OK;
}
