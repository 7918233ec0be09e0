/* Service and session messages (docs/protocol.md §2.1): client configuration,
 * credentials, health, capabilities, sessions, sampling sessions. A zeroed struct is a
 * valid start: every unset field takes the official SDK's default or is left out. */
#ifndef WIRE_MSG_SESSION_H
#define WIRE_MSG_SESSION_H

#include "wire/schema.h"

/* POST client/config and client/dynamic_config */
typedef struct tk_client_config_request {
    tk_f_str sdk_version;
} tk_client_config_request;

/* The flags a server drives its clients with; after decoding, each `v` holds the value
 * or its default. */
typedef struct tk_client_config {
    tk_f_bool pjwt_auth_enabled;
    tk_f_str credential_default_source; /* "api_key" or "credential_cmd" */
    tk_f_i64 sample_dispatch_bytes_semaphore_size;
    tk_f_i64 inflight_response_bytes_semaphore_size;
    tk_f_bool parallel_fwdbwd_chunks;
    tk_f_bool proto_compress_fwdbwd;
    tk_f_i64 fwdbwd_max_chunk_len;
    tk_f_i64 fwdbwd_max_chunk_bytes_count;
    tk_f_i64 fwdbwd_dispatch_bytes_semaphore_size;
    tk_f_i64 billing_exception_max_pause_duration_sec;
    tk_f_bool sample_no_retries;
    tk_f_bool sample_enable_stuck_detection;
    tk_f_i64 sample_max_concurrent_requests;
    tk_f_bool use_pyqwest_transport;
    tk_f_bool create_model_via_load_weights;
    tk_f_bool sample_use_retrieve_futures;
    tk_f_bool sample_join_sampling_session;
    tk_f_bool custom_loss_server_side; /* create_custom_loss is served */
} tk_client_config;

typedef struct tk_dynamic_config {
    tk_f_i64 refresh_interval_sec;
    tk_f_bool sample_cancel_enabled;
    tk_f_i64 sample_cancel_max_batch_size;
} tk_dynamic_config;

/* POST auth/token; the request is an empty object. */
typedef struct tk_auth_token_request {
    char nothing; /* C has no empty structs */
} tk_auth_token_request;

typedef struct tk_auth_token_response {
    tk_f_str jwt;
} tk_auth_token_response;

typedef struct tk_health_response {
    tk_f_str status;
} tk_health_response;

typedef struct tk_supported_model {
    tk_f_str model_name;
    tk_f_i64 max_context_length;
    tk_f_bool trainable, sampleable;
} tk_supported_model;

typedef struct tk_capabilities_response {
    const tk_supported_model *supported_models;
    size_t supported_models_n;
} tk_capabilities_response;

typedef struct tk_create_session_request {
    tk_strs tags;
    tk_f_raw user_metadata; /* object; {} when unset */
    tk_f_str sdk_version;
    tk_f_str project_id;
    tk_f_str display_name;
} tk_create_session_request;

typedef struct tk_create_session_response {
    tk_f_str session_id;
    tk_f_str info_message, warning_message, error_message;
} tk_create_session_response;

typedef struct tk_heartbeat_request {
    tk_f_str session_id;
} tk_heartbeat_request;

typedef struct tk_heartbeat_response {
    char nothing;
} tk_heartbeat_response;

/* POST sessions/{id}/finish: why the client ended its session. */
typedef enum tk_finish_type {
    TK_FINISH_SUCCESS,
    TK_FINISH_ERRORED,
    TK_FINISH_INTERRUPTED
} tk_finish_type;

typedef struct tk_finish_reason {
    tk_f_enum type; /* tk_finish_type */
} tk_finish_reason;

typedef struct tk_f_finish_reason {
    tk_presence is;
    tk_finish_reason v;
} tk_f_finish_reason;

typedef struct tk_finish_session_request {
    tk_f_finish_reason reason;
    tk_f_str detail; /* for people */
} tk_finish_session_request;

typedef struct tk_create_sampling_session_request {
    tk_f_str session_id;
    tk_f_i64 sampling_session_seq_id;
    tk_f_str base_model, model_path; /* at least one: tk_sampling_session_check */
} tk_create_sampling_session_request;

typedef struct tk_create_sampling_session_response {
    tk_f_str sampling_session_id;
} tk_create_sampling_session_response;

/* POST join_sampling_session: asks for a range of sequence ids that no other client uses. */
typedef struct tk_join_sampling_session_request {
    tk_f_str sampling_session_id;
} tk_join_sampling_session_request;

typedef struct tk_join_sampling_session_response {
    tk_f_i64 client_counter; /* n: the range starts at n * TK_CLONE_SEQS */
} tk_join_sampling_session_response;

#define TK_CLONE_SEQS INT64_C(1000000000)
#define TK_CLONES_MAX INT64_C(9000000000) /* all their sequence ids fit int64_t */

typedef struct tk_sampler_response {
    tk_f_str sampler_id, base_model;
    tk_f_str model_path;
} tk_sampler_response;

extern const tk_schema tk_msg_client_config_request, tk_msg_client_config,
    tk_msg_dynamic_config, tk_msg_auth_token_request, tk_msg_auth_token_response,
    tk_msg_health_response, tk_msg_supported_model, tk_msg_capabilities_response,
    tk_msg_create_session_request, tk_msg_create_session_response,
    tk_msg_heartbeat_request, tk_msg_heartbeat_response, tk_msg_finish_reason,
    tk_msg_finish_session_request, tk_msg_create_sampling_session_request,
    tk_msg_create_sampling_session_response, tk_msg_join_sampling_session_request,
    tk_msg_join_sampling_session_response, tk_msg_sampler_response;

/* The word of a tk_finish_type; NULL for another number. */
const char *tk_finish_word(int type);

/* The client's rule: base_model or model_path (or both), and a model_path starts with
 * "tinker://". TINKC_E_INVALID otherwise. */
TK_NODISCARD tinkc_code
tk_sampling_session_check(const tk_create_sampling_session_request *msg, tk_err *err);

#endif
