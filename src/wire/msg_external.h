/* External weights: files of a checkpoint for other programs, out and in, and copies of
 * checkpoints (docs/protocol.md §2.3, §2.5). */
#ifndef WIRE_MSG_EXTERNAL_H
#define WIRE_MSG_EXTERNAL_H

#include "wire/msg_model.h"
#include "wire/msg_search.h"

typedef struct tk_save_external_request {
    tk_f_str model_id;
    tk_f_str path; /* the checkpoint's name */
    tk_f_i64 seq_id;
    tk_f_i64 ttl_seconds;
    tk_f_strs age_encryption_recipients;
} tk_save_external_request;

typedef struct tk_save_external_result {
    tk_f_str path; /* tinker://<run>/external_weights/<name> */
    tk_f_i64 size_bytes;
} tk_save_external_result;

typedef struct tk_external_urls_response {
    tk_str_map urls; /* file: signed URL */
    tk_f_time expires;
} tk_external_urls_response;

typedef struct tk_copy_weights_request {
    tk_f_str session_id;
    tk_f_i64 model_seq_id;
    tk_f_str destination_project_id;
    tk_f_str source_path;
    tk_f_i64 ttl_seconds;
    tk_f_str weights_access_token;
} tk_copy_weights_request;

/* Also the answer of external_weights_upload_finish. */
typedef struct tk_copy_weights_response {
    tk_f_str tinker_path;
} tk_copy_weights_response;

/* Since SDK 0.39. */
typedef struct tk_upload_start_request {
    tk_f_str base_model;
    tk_lora_config lora_config;
    tk_f_str destination_project_id;
} tk_upload_start_request;

typedef struct tk_upload_start_response {
    tk_f_str upload_id;
    tk_str_map urls; /* file: signed URL for a PUT */
    tk_f_time expires;
} tk_upload_start_response;

typedef struct tk_upload_finish_request {
    tk_f_str upload_id;
} tk_upload_finish_request;

extern const tk_schema tk_msg_save_external_request, tk_msg_save_external_result,
    tk_msg_external_urls_response, tk_msg_copy_weights_request,
    tk_msg_copy_weights_response, tk_msg_upload_start_request,
    tk_msg_upload_start_response, tk_msg_upload_finish_request,
    tk_msg_upload_finish_response;

#endif
