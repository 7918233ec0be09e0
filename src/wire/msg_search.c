/* Tables of searches and of storage usage. */
#include "wire/msg_search.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MAX     200

#define T tk_search_owner
static const tk_field owner_rows[] = {
    {TK_ROW(T, type, STR, TK_DEFAULT), .def.s = "own"},
    {TK_ROW_LIST(T, owner_urns, STRS, 0)},
};
#undef T

#define T tk_session_status_query
static const tk_field status_rows[] = {
    {TK_ROW(T, type, STR, TK_REQUIRED)},
    {TK_ROW_LIST(T, reasons, STRS, 0)},
};
#undef T

#define T tk_session_search_request
static const tk_field session_search_rows[] = {
    {TK_ROW(T, session_id, STR, 0)},
    {TK_ROW_LIST(T, project_ids, STRS, 0)},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, 0)},
    {TK_ROW(T, display_name, STR, 0)},
    {TK_BARE(T, owner, MSG, 0), .sub = &tk_msg_search_owner},
    {TK_BARE_PAIR(T, statuses, LIST, 0), .form = TK_FORM_BOOL,
     .is_at = offsetof(T, has_statuses), .sub = &tk_msg_session_status_query},
    {TK_ROW(T, limit, I64, TK_DEFAULT), TK_RANGE(1, LIMIT_MAX), .def.i = LIMIT_DEFAULT},
    {TK_ROW(T, cursor, RAW, TK_OBJECT)},
};
#undef T

#define T tk_session_summary
static const tk_field summary_rows[] = {
    {TK_ROW(T, session_id, STR, TK_REQUIRED)},
    {TK_ROW_AT_(T, created_at, TIME, TK_REQUIRED | TK_MICROS),
     .at = offsetof(T, created_at.us)},
    {TK_ROW(T, owner, STR, TK_NULLABLE)},
    {TK_ROW(T, project_id, STR, TK_NULLABLE)},
    {TK_ROW(T, status, RAW, TK_NULLABLE | TK_OBJECT)},
    {TK_ROW(T, checkpoints_count, I64, TK_NULLABLE)},
    {TK_ROW(T, display_name, STR, TK_NULLABLE)},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, TK_NULLABLE)},
    {TK_ROW(T, checkpoint_storage_bytes, I64, TK_NULLABLE)},
};
#undef T

#define T tk_session_search_response
static const tk_field found_sessions_rows[] = {
    {TK_BARE_PAIR(T, sessions, LIST, TK_REQUIRED), .sub = &tk_msg_session_summary},
    {TK_ROW(T, next_cursor, RAW, TK_NULLABLE | TK_OBJECT)},
};
#undef T

#define T tk_checkpoint_search_request
static const tk_field checkpoint_search_rows[] = {
    {TK_ROW_LIST(T, project_ids, STRS, 0)},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, 0)},
    {TK_ROW(T, checkpoint_type, STR, 0)},
    {TK_BARE(T, owner, MSG, 0), .sub = &tk_msg_search_owner},
    {TK_ROW_LIST(T, base_models, STRS, 0)},
    {TK_ROW(T, limit, I64, TK_DEFAULT), TK_RANGE(1, LIMIT_MAX), .def.i = LIMIT_DEFAULT},
    {TK_ROW(T, cursor, RAW, TK_OBJECT)},
};
#undef T

#define T tk_checkpoint_search_response
static const tk_field found_checkpoints_rows[] = {
    {TK_BARE_PAIR(T, checkpoints, LIST, TK_REQUIRED), .sub = &tk_msg_checkpoint},
    {TK_ROW(T, next_cursor, RAW, TK_NULLABLE | TK_OBJECT)},
};
#undef T

#define T tk_storage_item
static const tk_field storage_item_rows[] = {
    {TK_ROW(T, project_id, STR, TK_NULLABLE)},
    {TK_ROW(T, org_user_urn, STR, TK_NULLABLE)},
    {TK_ROW(T, user_email, STR, TK_NULLABLE)},
    {TK_ROW(T, user_name, STR, TK_NULLABLE)},
    {TK_ROW(T, checkpoint_count, I64, TK_REQUIRED)},
    {TK_ROW(T, size_bytes, I64, TK_REQUIRED)},
    {TK_ROW(T, size_gigabytes, NUM, TK_REQUIRED)},
    {TK_ROW(T, estimated_monthly_cost_usd, NUM, TK_NULLABLE)},
};
#undef T

#define T tk_storage_response
static const tk_field storage_rows[] = {
    {TK_ROW(T, effective_rate_usd_per_gigabyte_month, NUM, TK_NULLABLE)},
    {TK_BARE_PAIR(T, data, LIST, TK_REQUIRED), .sub = &tk_msg_storage_item},
};
#undef T

const tk_schema tk_msg_search_owner = {
    TK_SCHEMA(tk_search_owner, "SearchOwner", owner_rows)};
const tk_schema tk_msg_session_status_query = {
    TK_SCHEMA(tk_session_status_query, "SessionStatusQuery", status_rows)};
const tk_schema tk_msg_session_search_request = {
    TK_SCHEMA(tk_session_search_request, "SessionSearchRequest", session_search_rows)};
const tk_schema tk_msg_session_summary = {
    TK_SCHEMA(tk_session_summary, "SessionSummary", summary_rows)};
const tk_schema tk_msg_session_search_response = {
    TK_SCHEMA(tk_session_search_response, "SessionSearchResponse", found_sessions_rows)};
const tk_schema tk_msg_checkpoint_search_request = {TK_SCHEMA(
    tk_checkpoint_search_request, "CheckpointSearchRequest", checkpoint_search_rows)};
const tk_schema tk_msg_checkpoint_search_response = {TK_SCHEMA(
    tk_checkpoint_search_response, "CheckpointSearchResponse", found_checkpoints_rows)};
const tk_schema tk_msg_storage_item = {
    TK_SCHEMA(tk_storage_item, "CurrentCheckpointStorageUsageItem", storage_item_rows)};
const tk_schema tk_msg_storage_response = {TK_SCHEMA(
    tk_storage_response, "CurrentCheckpointStorageUsageResponse", storage_rows)};
