/* Checkpoints, runs, sessions, audit and billing (docs/protocol.md §2.5, §2.6). */
#ifndef WIRE_MSG_REST_H
#define WIRE_MSG_REST_H

#include "wire/schema.h"

typedef struct tk_cursor {
    tk_f_i64 offset, limit, total_count;
} tk_cursor;

typedef struct tk_f_cursor {
    tk_presence is;
    tk_cursor v;
} tk_f_cursor;

typedef enum tk_checkpoint_type {
    TK_CHECKPOINT_TRAINING,
    TK_CHECKPOINT_SAMPLER,
    TK_CHECKPOINT_EXTERNAL
} tk_checkpoint_type;

typedef struct tk_checkpoint {
    tk_f_str checkpoint_id;    /* "weights/<name>" */
    tk_f_enum checkpoint_type; /* tk_checkpoint_type, or TK_OTHER */
    tk_str checkpoint_type_word;
    tk_f_time time;
    tk_f_str tinker_path;
    tk_f_i64 size_bytes;
    tk_f_bool public; /* false */
    tk_f_str_map user_metadata;
    tk_f_time expires_at;
    tk_f_str base_model; /* since SDK 0.39 */
} tk_checkpoint;

typedef struct tk_f_checkpoint {
    tk_presence is;
    tk_checkpoint v;
} tk_f_checkpoint;

typedef struct tk_training_run {
    tk_f_str training_run_id, base_model, model_owner;
    tk_f_bool is_lora;
    tk_f_bool corrupted; /* false */
    tk_f_i64 lora_rank;
    tk_f_time last_request_time;
    tk_f_checkpoint last_checkpoint, last_sampler_checkpoint;
    tk_f_str_map user_metadata;
} tk_training_run;

typedef struct tk_training_runs_response {
    const tk_training_run *training_runs;
    size_t training_runs_n;
    tk_cursor cursor;
} tk_training_runs_response;

typedef struct tk_checkpoints_response {
    const tk_checkpoint *checkpoints;
    size_t checkpoints_n;
    tk_f_cursor cursor;
} tk_checkpoints_response;

/* Body of a 200; a 302 says the same in its headers. */
typedef struct tk_archive_response {
    tk_f_str url;
    tk_f_time expires;
} tk_archive_response;

/* PUT .../ttl: null removes the expiry, so it has to be sent. */
typedef struct tk_ttl_request {
    tk_f_i64 ttl_seconds;
} tk_ttl_request;

typedef struct tk_sessions_response {
    tk_strs sessions;
} tk_sessions_response;

typedef struct tk_session_response {
    tk_strs training_run_ids, sampler_ids;
    tk_f_str_map user_metadata;
    tk_f_str display_name;
} tk_session_response;

typedef struct tk_project_request {
    tk_f_str project_id;
} tk_project_request;

typedef enum tk_export_status {
    TK_EXPORT_PENDING,
    TK_EXPORT_READY,
    TK_EXPORT_FAILED
} tk_export_status;

typedef struct tk_trace_export_response {
    tk_f_enum status; /* tk_export_status, or TK_OTHER */
    tk_str status_word;
    tk_f_str url; /* there when ready */
    tk_f_str error;
} tk_trace_export_response;

typedef struct tk_audit_entry {
    tk_f_time timestamp;
    tk_f_str event;
    tk_f_raw event_details; /* object */
    tk_f_str model_id, tinker_path, purpose;
} tk_audit_entry;

typedef struct tk_audit_response {
    const tk_audit_entry *entries;
    size_t entries_n;
} tk_audit_response;

typedef enum tk_billing_kind {
    TK_BILLING_TRAINING,
    TK_BILLING_SAMPLING_PREFILL,
    TK_BILLING_SAMPLING_SAMPLE,
    TK_BILLING_CHECKPOINT,
    TK_BILLING_STORAGE
} tk_billing_kind;

typedef struct tk_billing_info {
    int kind;                /* tk_billing_kind, or TK_OTHER */
    tk_f_i64 token_count;    /* training, sampling_* */
    tk_f_bool cached;        /* sampling_prefill */
    tk_f_i64 count;          /* checkpoint */
    tk_f_num gigabyte_hours; /* storage */
    const tk_json *raw;      /* TK_OTHER: the object as it came */
} tk_billing_info;

typedef struct tk_billing_event {
    tk_f_time bucket_start, bucket_end;
    tk_f_str base_model, user_id, user_name, session_id, project_id;
    tk_f_num estimated_cost_usd;
    tk_f_num effective_rate_usd_per_million_tokens;
    tk_f_num effective_rate_usd_per_gigabyte_month;
    tk_billing_info event_info;
} tk_billing_event;

typedef struct tk_billing_session {
    tk_f_str_map user_metadata;
} tk_billing_session;

typedef struct tk_named_billing_session {
    tk_str name; /* session id */
    tk_billing_session session;
} tk_named_billing_session;

typedef struct tk_billing_response {
    const tk_billing_event *data;
    size_t data_n;
    const tk_named_billing_session *sessions;
    size_t sessions_n;
    tk_f_time cost_data_through;
} tk_billing_response;

extern const tk_schema tk_msg_cursor, tk_msg_checkpoint, tk_msg_training_run,
    tk_msg_training_runs_response, tk_msg_checkpoints_response, tk_msg_archive_response,
    tk_msg_ttl_request, tk_msg_sessions_response, tk_msg_session_response,
    tk_msg_project_request, tk_msg_trace_export_response, tk_msg_audit_entry,
    tk_msg_audit_response, tk_msg_billing_info, tk_msg_billing_event,
    tk_msg_billing_session, tk_msg_billing_response;

#endif
