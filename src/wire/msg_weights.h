/* Saving and loading of weights (docs/protocol.md §2.3), and weights_info (§2.5). */
#ifndef WIRE_MSG_WEIGHTS_H
#define WIRE_MSG_WEIGHTS_H

#include "wire/msg_train.h"
#include "wire/schema.h"

typedef struct tk_save_weights_request {
    tk_f_str model_id;
    tk_f_str path; /* the checkpoint's name */
    tk_f_i64 seq_id;
    tk_f_i64 ttl_seconds;
    tk_f_bool overwrite; /* false */
    tk_f_str_map user_metadata;
} tk_save_weights_request;

typedef struct tk_save_weights_result {
    tk_f_str path; /* tinker://<run>/weights/<name> */
} tk_save_weights_result;

/* Named: path. Ephemeral: sampling_session_seq_id and seq_id, no path. */
typedef struct tk_save_for_sampler_request {
    tk_f_str model_id;
    tk_f_str path;
    tk_f_i64 sampling_session_seq_id;
    tk_f_i64 seq_id;
    tk_f_i64 ttl_seconds;
    tk_f_str_map user_metadata;
} tk_save_for_sampler_request;

typedef struct tk_save_for_sampler_result {
    tk_f_str path;
    tk_f_str sampling_session_id;
} tk_save_for_sampler_result;

/* An existing model (model_id, seq_id), or a new one (session_id, model_seq_id). */
typedef struct tk_load_weights_request {
    tk_f_str model_id;
    tk_f_i64 seq_id;
    tk_f_str session_id;
    tk_f_i64 model_seq_id;
    tk_f_str base_model;
    tk_f_raw user_metadata; /* object */
    tk_f_str path;
    tk_f_bool optimizer;
    tk_f_optimizer_config optimizer_config; /* of a new model without optimizer state */
    tk_f_str weights_access_token;
} tk_load_weights_request;

typedef struct tk_load_weights_result {
    tk_f_str path;
    tk_f_str model_id;
} tk_load_weights_result;

typedef struct tk_weights_info_request {
    tk_f_str tinker_path;
} tk_weights_info_request;

typedef struct tk_weights_info_response {
    tk_f_str base_model;
    tk_f_bool is_lora;
    tk_f_i64 lora_rank;
    tk_f_bool train_unembed, train_mlp, train_attn; /* null counts as true */
    tk_f_optimizer_config optimizer_config;         /* unset: AdamW */
} tk_weights_info_response;

extern const tk_schema tk_msg_save_weights_request, tk_msg_save_weights_result,
    tk_msg_save_for_sampler_request, tk_msg_save_for_sampler_result,
    tk_msg_load_weights_request, tk_msg_load_weights_result, tk_msg_weights_info_request,
    tk_msg_weights_info_response;

/* Either a path or both ids, not both forms. TINKC_E_INVALID otherwise. */
TK_NODISCARD tinkc_code tk_save_for_sampler_check(const tk_save_for_sampler_request *msg,
                                                  tk_err *err);

/* Exactly one of the two ways to name the model, complete. TINKC_E_INVALID otherwise. */
TK_NODISCARD tinkc_code tk_load_weights_check(const tk_load_weights_request *msg,
                                              tk_err *err);

#endif
