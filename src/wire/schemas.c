/* The list of all messages, in the order of docs/protocol.md §2, §4, §9 and its
 * appendices. */
#include "wire/schemas.h"

#include "wire/msg_external.h"
#include "wire/msg_future.h"
#include "wire/msg_model.h"
#include "wire/msg_rest.h"
#include "wire/msg_sample.h"
#include "wire/msg_search.h"
#include "wire/msg_session.h"
#include "wire/msg_telemetry.h"
#include "wire/msg_train.h"
#include "wire/msg_value.h"
#include "wire/msg_weights.h"

#define REQ  TK_DIR_REQUEST
#define RESP TK_DIR_RESPONSE
#define RES  TK_DIR_RESULT
#define PART TK_DIR_PART
#define API  "/api/v1/"
#define CKPT API "training_runs/{id}/checkpoints/{ckpt}"

const tk_schemas_row tk_schemas[] = {
    {&tk_msg_client_config_request, REQ, "POST " API "client/config"},
    {&tk_msg_client_config, RESP, "POST " API "client/config"},
    {&tk_msg_dynamic_config, RESP, "POST " API "client/dynamic_config"},
    {&tk_msg_auth_token_request, REQ, "POST " API "auth/token"},
    {&tk_msg_auth_token_response, RESP, "POST " API "auth/token"},
    {&tk_msg_health_response, RESP, "GET " API "healthz"},
    {&tk_msg_supported_model, PART, ""},
    {&tk_msg_capabilities_response, RESP, "GET " API "get_server_capabilities"},
    {&tk_msg_create_session_request, REQ, "POST " API "create_session"},
    {&tk_msg_create_session_response, RESP, "POST " API "create_session"},
    {&tk_msg_heartbeat_request, REQ, "POST " API "session_heartbeat"},
    {&tk_msg_heartbeat_response, RESP, "POST " API "session_heartbeat"},
    {&tk_msg_finish_reason, PART, ""},
    {&tk_msg_finish_session_request, REQ, "POST " API "sessions/{id}/finish"},
    {&tk_msg_create_sampling_session_request, REQ, "POST " API "create_sampling_session"},
    {&tk_msg_create_sampling_session_response, RESP,
     "POST " API "create_sampling_session"},
    {&tk_msg_join_sampling_session_request, REQ, "POST " API "join_sampling_session"},
    {&tk_msg_join_sampling_session_response, RESP, "POST " API "join_sampling_session"},
    {&tk_msg_sampler_response, RESP, "GET " API "samplers/{sampler_id}"},

    {&tk_msg_future_response, RESP, "every call that returns a future"},
    {&tk_msg_sample_future_response, RESP, "POST " API "asample"},
    {&tk_msg_lora_config, PART, ""},
    {&tk_msg_create_model_request, REQ, "POST " API "create_model"},
    {&tk_msg_create_model_result, RES, "create_model"},
    {&tk_msg_get_info_request, REQ, "POST " API "get_info"},
    {&tk_msg_model_data, PART, ""},
    {&tk_msg_get_info_response, RESP, "POST " API "get_info"},
    {&tk_msg_unload_model_request, REQ, "POST " API "unload_model"},
    {&tk_msg_unload_model_result, RES, "unload_model"},

    {&tk_msg_optimizer_config, PART, ""},
    {&tk_msg_adam_params, PART, ""},
    {&tk_msg_optim_params, PART, ""},
    {&tk_msg_optim_step_request, REQ, "POST " API "optim_step"},
    {&tk_msg_optim_step_result, RES, "optim_step"},
    {&tk_msg_custom_loss_input, PART, ""},
    {&tk_msg_create_custom_loss_request, REQ, "POST " API "create_custom_loss"},
    {&tk_msg_create_custom_loss_result, RES, "create_custom_loss"},
    {&tk_msg_save_weights_request, REQ, "POST " API "save_weights"},
    {&tk_msg_save_weights_result, RES, "save_weights"},
    {&tk_msg_save_for_sampler_request, REQ, "POST " API "save_weights_for_sampler"},
    {&tk_msg_save_for_sampler_result, RES, "save_weights_for_sampler"},
    {&tk_msg_load_weights_request, REQ, "POST " API "load_weights"},
    {&tk_msg_load_weights_result, RES, "load_weights"},
    {&tk_msg_weights_info_request, REQ, "POST " API "weights_info"},
    {&tk_msg_weights_info_response, RESP, "POST " API "weights_info"},
    {&tk_msg_save_external_request, REQ, "POST " API "save_weights_external"},
    {&tk_msg_save_external_result, RES, "save_weights_external"},
    {&tk_msg_external_urls_response, RESP, "GET " CKPT "/external_weights_urls"},
    {&tk_msg_copy_weights_request, REQ, "POST " API "copy_weights"},
    {&tk_msg_copy_weights_response, RESP, "POST " API "copy_weights"},
    {&tk_msg_upload_start_request, REQ, "POST " API "external_weights_upload_start"},
    {&tk_msg_upload_start_response, RESP, "POST " API "external_weights_upload_start"},
    {&tk_msg_upload_finish_request, REQ, "POST " API "external_weights_upload_finish"},
    {&tk_msg_upload_finish_response, RESP, "POST " API "external_weights_upload_finish"},

    {&tk_msg_chunk, PART, ""},
    {&tk_msg_model_input, PART, ""},
    {&tk_msg_tensor, PART, ""},
    {&tk_msg_tensor_map, PART, ""},
    {&tk_msg_datum, PART, ""},
    {&tk_msg_forward_backward_request, REQ, "POST " API "forward_backward"},
    {&tk_msg_forward_request, REQ, "POST " API "forward"},
    {&tk_msg_fwdbwd_output, RES, "forward_backward, forward"},

    {&tk_msg_stops, PART, ""},
    {&tk_msg_sampling_params, PART, ""},
    {&tk_msg_sample_request, REQ, "POST " API "asample"},
    {&tk_msg_sequence, PART, ""},
    {&tk_msg_topk_logprobs, PART, ""},
    {&tk_msg_sample_response, RES, "asample"},
    {&tk_msg_stream_event, RESP, "POST " API "stream_sample"},

    {&tk_msg_retrieve_future_request, REQ, "POST " API "retrieve_future"},
    {&tk_msg_try_again, RES, "POST " API "retrieve_future"},
    {&tk_msg_complete_metadata, RES, "POST " API "retrieve_future"},
    {&tk_msg_request_failed, RES, "POST " API "retrieve_future"},
    {&tk_msg_futures_target, PART, ""},
    {&tk_msg_retrieve_futures_request, REQ, "POST " API "retrieve_futures"},
    {&tk_msg_future_completion, PART, ""},
    {&tk_msg_retrieve_futures_response, RESP, "POST " API "retrieve_futures"},
    {&tk_msg_cancel_future_request, REQ, "POST " API "cancel_future"},

    {&tk_msg_cursor, PART, ""},
    {&tk_msg_checkpoint, PART, ""},
    {&tk_msg_training_run, RESP, "GET " API "training_runs/{id}"},
    {&tk_msg_training_runs_response, RESP, "GET " API "training_runs"},
    {&tk_msg_checkpoints_response, RESP, "GET " API "checkpoints"},
    {&tk_msg_archive_response, RESP, "GET " CKPT "/archive"},
    {&tk_msg_ttl_request, REQ, "PUT " CKPT "/ttl"},
    {&tk_msg_sessions_response, RESP, "GET " API "sessions"},
    {&tk_msg_session_response, RESP, "GET " API "sessions/{id}"},
    {&tk_msg_search_owner, PART, ""},
    {&tk_msg_session_status_query, PART, ""},
    {&tk_msg_session_search_request, REQ, "POST " API "sessions/search"},
    {&tk_msg_session_summary, PART, ""},
    {&tk_msg_session_search_response, RESP, "POST " API "sessions/search"},
    {&tk_msg_checkpoint_search_request, REQ, "POST " API "checkpoints/search"},
    {&tk_msg_checkpoint_search_response, RESP, "POST " API "checkpoints/search"},
    {&tk_msg_project_request, REQ, "PUT " API "sessions/{id}/project"},
    {&tk_msg_trace_export_response, RESP, "GET " API "sessions/{id}/trace_export"},
    {&tk_msg_audit_entry, PART, ""},
    {&tk_msg_audit_response, RESP, "GET " API "audit"},
    {&tk_msg_billing_info, PART, ""},
    {&tk_msg_billing_event, PART, ""},
    {&tk_msg_billing_session, PART, ""},
    {&tk_msg_billing_response, RESP, "GET " API "billing/usage/events"},
    {&tk_msg_storage_item, PART, ""},
    {&tk_msg_storage_response, RESP, "GET " API "billing/usage/checkpoints/current"},

    {&tk_msg_event, PART, ""},
    {&tk_msg_telemetry_request, REQ, "POST " API "telemetry"},
    {&tk_msg_telemetry_response, RESP, "POST " API "telemetry"},
};

const size_t tk_schemas_n = TK_ARRAY_LEN(tk_schemas);
