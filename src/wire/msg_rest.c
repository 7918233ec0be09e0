/* Tables of checkpoints, runs, sessions and audit; billing is in msg_billing.c. */
#include "wire/msg_rest.h"

static const char *const checkpoint_words[] = {"training", "sampler", "external"};
static const tk_names checkpoint_names = {checkpoint_words,
                                          TK_ARRAY_LEN(checkpoint_words), TK_OTHER};

static const char *const export_words[] = {"pending", "ready", "failed"};
static const tk_names export_names = {export_words, TK_ARRAY_LEN(export_words), TK_OTHER};

#define T tk_cursor
static const tk_field cursor_rows[] = {
    {TK_ROW(T, offset, I64, TK_REQUIRED)},
    {TK_ROW(T, limit, I64, TK_REQUIRED)},
    {TK_ROW(T, total_count, I64, TK_REQUIRED)},
};
#undef T

#define T tk_checkpoint
static const tk_field checkpoint_rows[] = {
    {TK_ROW(T, checkpoint_id, STR, TK_REQUIRED)},
    {TK_ROW(T, checkpoint_type, ENUM, TK_REQUIRED),
     TK_WORDS(T, checkpoint_names, checkpoint_type_word)},
    {TK_ROW_TIME(T, time, TK_REQUIRED)},
    {TK_ROW(T, tinker_path, STR, TK_REQUIRED)},
    {TK_ROW(T, size_bytes, I64, TK_NULLABLE)},
    {TK_ROW(T, public, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, TK_NULLABLE)},
    {TK_ROW_TIME(T, expires_at, TK_NULLABLE)},
    {TK_ROW(T, base_model, STR, 0)},
};
#undef T

#define T tk_training_run
static const tk_field training_run_rows[] = {
    {TK_ROW(T, training_run_id, STR, TK_REQUIRED)},
    {TK_ROW(T, base_model, STR, TK_REQUIRED)},
    {TK_ROW(T, model_owner, STR, TK_REQUIRED)},
    {TK_ROW(T, is_lora, BOOL, TK_REQUIRED)},
    {TK_ROW(T, corrupted, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW(T, lora_rank, I64, TK_NULLABLE)},
    {TK_ROW_TIME(T, last_request_time, TK_REQUIRED)},
    {TK_ROW(T, last_checkpoint, MSG, TK_NULLABLE), .sub = &tk_msg_checkpoint},
    {TK_ROW(T, last_sampler_checkpoint, MSG, TK_NULLABLE), .sub = &tk_msg_checkpoint},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, TK_NULLABLE)},
};
#undef T

#define T tk_training_runs_response
static const tk_field training_runs_rows[] = {
    {TK_BARE_PAIR(T, training_runs, LIST, TK_REQUIRED), .sub = &tk_msg_training_run},
    {TK_BARE(T, cursor, MSG, TK_REQUIRED), .sub = &tk_msg_cursor},
};
#undef T

#define T tk_checkpoints_response
static const tk_field checkpoints_rows[] = {
    {TK_BARE_PAIR(T, checkpoints, LIST, TK_REQUIRED), .sub = &tk_msg_checkpoint},
    {TK_ROW(T, cursor, MSG, TK_NULLABLE), .sub = &tk_msg_cursor},
};
#undef T

static const tk_field archive_rows[] = {
    {TK_ROW(tk_archive_response, url, STR, TK_REQUIRED)},
    {TK_ROW_TIME(tk_archive_response, expires, TK_REQUIRED)},
};

static const tk_field ttl_rows[] = {
    {TK_ROW(tk_ttl_request, ttl_seconds, I64, TK_REQUIRED | TK_NULLABLE)},
};

static const tk_field sessions_rows[] = {
    {TK_BARE_LIST(tk_sessions_response, sessions, STRS, TK_REQUIRED)},
};

#define T tk_session_response
static const tk_field session_rows[] = {
    {TK_BARE_LIST(T, training_run_ids, STRS, TK_REQUIRED)},
    {TK_BARE_LIST(T, sampler_ids, STRS, TK_REQUIRED)},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, TK_NULLABLE)},
    {TK_ROW(T, display_name, STR, TK_NULLABLE)},
};
#undef T

static const tk_field project_rows[] = {
    {TK_ROW(tk_project_request, project_id, STR, TK_REQUIRED)},
};

#define T tk_trace_export_response
static const tk_field trace_export_rows[] = {
    {TK_ROW(T, status, ENUM, TK_REQUIRED), TK_WORDS(T, export_names, status_word)},
    {TK_ROW(T, url, STR, TK_NULLABLE)},
    {TK_ROW(T, error, STR, TK_NULLABLE)},
};
#undef T

#define T tk_audit_entry
static const tk_field audit_entry_rows[] = {
    {TK_ROW_TIME(T, timestamp, TK_REQUIRED)},   {TK_ROW(T, event, STR, TK_REQUIRED)},
    {TK_ROW(T, event_details, RAW, TK_OBJECT)}, {TK_ROW(T, model_id, STR, TK_NULLABLE)},
    {TK_ROW(T, tinker_path, STR, TK_NULLABLE)}, {TK_ROW(T, purpose, STR, TK_NULLABLE)},
};
#undef T

static const tk_field audit_rows[] = {
    {TK_BARE_PAIR(tk_audit_response, entries, LIST, TK_REQUIRED),
     .sub = &tk_msg_audit_entry},
};

const tk_schema tk_msg_cursor = {TK_SCHEMA(tk_cursor, "Cursor", cursor_rows)};
const tk_schema tk_msg_checkpoint = {
    TK_SCHEMA(tk_checkpoint, "Checkpoint", checkpoint_rows)};
const tk_schema tk_msg_training_run = {
    TK_SCHEMA(tk_training_run, "TrainingRun", training_run_rows)};
const tk_schema tk_msg_training_runs_response = {
    TK_SCHEMA(tk_training_runs_response, "TrainingRunsResponse", training_runs_rows)};
const tk_schema tk_msg_checkpoints_response = {
    TK_SCHEMA(tk_checkpoints_response, "CheckpointsListResponse", checkpoints_rows)};
const tk_schema tk_msg_archive_response = {
    TK_SCHEMA(tk_archive_response, "CheckpointArchiveUrlResponse", archive_rows)};
const tk_schema tk_msg_ttl_request = {
    TK_SCHEMA(tk_ttl_request, "CheckpointTtlRequest", ttl_rows)};
const tk_schema tk_msg_sessions_response = {
    TK_SCHEMA(tk_sessions_response, "ListSessionsResponse", sessions_rows)};
const tk_schema tk_msg_session_response = {
    TK_SCHEMA(tk_session_response, "GetSessionResponse", session_rows)};
const tk_schema tk_msg_project_request = {
    TK_SCHEMA(tk_project_request, "SessionProjectRequest", project_rows)};
const tk_schema tk_msg_trace_export_response = {
    TK_SCHEMA(tk_trace_export_response, "TraceExportResponse", trace_export_rows)};
const tk_schema tk_msg_audit_entry = {
    TK_SCHEMA(tk_audit_entry, "AuditLogEntry", audit_entry_rows)};
const tk_schema tk_msg_audit_response = {
    TK_SCHEMA(tk_audit_response, "AuditLogResponse", audit_rows)};
