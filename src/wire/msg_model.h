/* Model messages (docs/protocol.md §2.2) and the answer that every asynchronous call
 * gives at once, the future. A zeroed struct is a valid start, see msg_session.h. */
#ifndef WIRE_MSG_MODEL_H
#define WIRE_MSG_MODEL_H

#include "wire/msg_train.h"
#include "wire/schema.h"

/* Answer of every submit call: `{"request_id", "model_id"?}`. */
typedef struct tk_future_response {
    tk_f_str request_id;
    tk_f_str model_id;
} tk_future_response;

/* Answer of asample: has an id per sample, which the official SDK reads from 0.36 on. */
typedef struct tk_sample_future_response {
    tk_f_str request_id;
    tk_strs sample_sequence_ids;
} tk_sample_future_response;

typedef struct tk_lora_config {
    tk_f_i64 rank;
    tk_f_u64 seed;                                  /* any 64 bits */
    tk_f_bool train_unembed, train_mlp, train_attn; /* true when unset */
} tk_lora_config;

typedef struct tk_f_lora_config {
    tk_presence is;
    tk_lora_config v;
} tk_f_lora_config;

typedef struct tk_create_model_request {
    tk_f_str session_id;
    tk_f_i64 model_seq_id;
    tk_f_str base_model;
    tk_f_raw user_metadata; /* object */
    tk_f_lora_config lora_config;
    tk_f_optimizer_config optimizer_config; /* 0.36: always sent */
} tk_create_model_request;

/* Result of create_model and of unload_model. */
typedef struct tk_model_result {
    tk_f_str model_id;
} tk_model_result;

/* Body of get_info and of unload_model. */
typedef struct tk_model_request {
    tk_f_str model_id;
} tk_model_request;

typedef struct tk_model_data {
    tk_f_str arch, model_name, tokenizer_id;
} tk_model_data;

typedef struct tk_get_info_response {
    tk_f_str model_id;
    tk_model_data model_data;
    tk_f_bool is_lora;
    tk_f_i64 lora_rank;
    tk_f_str model_name;
    tk_f_optimizer_config optimizer_config; /* unset: AdamW */
} tk_get_info_response;

extern const tk_schema tk_msg_future_response, tk_msg_sample_future_response,
    tk_msg_lora_config, tk_msg_create_model_request, tk_msg_create_model_result,
    tk_msg_get_info_request, tk_msg_model_data, tk_msg_get_info_response,
    tk_msg_unload_model_request, tk_msg_unload_model_result;

/* The client's rule: at least one train_* flag is true (unset counts as true). */
TK_NODISCARD tinkc_code tk_lora_config_check(const tk_lora_config *config, tk_err *err);

#endif
