/* Searches of sessions and checkpoints, and storage usage (docs/protocol.md §2.5, §2.6). */
#ifndef WIRE_MSG_SEARCH_H
#define WIRE_MSG_SEARCH_H

#include "wire/msg_rest.h"

/* A list that may be absent; an empty one is sent. */
typedef struct tk_f_strs {
    tk_presence is;
    tk_strs v;
} tk_f_strs;

/* "own", "accessible", or "user" with owner_urns. */
typedef struct tk_search_owner {
    tk_f_str type;
    tk_f_strs owner_urns;
} tk_search_owner;

/* "active", "cancelled", "failed", or "client_finished" with reasons. */
typedef struct tk_session_status_query {
    tk_f_str type;
    tk_f_strs reasons;
} tk_session_status_query;

typedef struct tk_session_search_request {
    tk_f_str session_id;
    tk_f_strs project_ids;
    tk_f_str_map user_metadata; /* {} when unset */
    tk_f_str display_name;
    tk_search_owner owner;
    bool has_statuses; /* else every status */
    const tk_session_status_query *statuses;
    size_t statuses_n;
    tk_f_i64 limit;
    tk_f_raw cursor; /* as the server sent it */
} tk_session_search_request;

typedef struct tk_session_summary {
    tk_f_str session_id;
    tk_f_time created_at;
    tk_f_str owner, project_id;
    tk_f_raw status; /* object with a type */
    tk_f_i64 checkpoints_count;
    tk_f_str display_name;
    tk_f_str_map user_metadata;
    tk_f_i64 checkpoint_storage_bytes;
} tk_session_summary;

typedef struct tk_session_search_response {
    const tk_session_summary *sessions;
    size_t sessions_n;
    tk_f_raw next_cursor;
} tk_session_search_response;

/* Since SDK 0.39. */
typedef struct tk_checkpoint_search_request {
    tk_f_strs project_ids;
    tk_f_str_map user_metadata; /* {} when unset */
    tk_f_str checkpoint_type;
    tk_search_owner owner;
    tk_f_strs base_models;
    tk_f_i64 limit;
    tk_f_raw cursor; /* as the server sent it */
} tk_checkpoint_search_request;

typedef struct tk_checkpoint_search_response {
    const tk_checkpoint *checkpoints;
    size_t checkpoints_n;
    tk_f_raw next_cursor;
} tk_checkpoint_search_response;

typedef struct tk_storage_item {
    tk_f_str project_id, org_user_urn, user_email, user_name;
    tk_f_i64 checkpoint_count, size_bytes;
    tk_f_num size_gigabytes, estimated_monthly_cost_usd;
} tk_storage_item;

typedef struct tk_storage_response {
    tk_f_num effective_rate_usd_per_gigabyte_month;
    const tk_storage_item *data;
    size_t data_n;
} tk_storage_response;

extern const tk_schema tk_msg_search_owner, tk_msg_session_status_query,
    tk_msg_session_search_request, tk_msg_session_summary, tk_msg_session_search_response,
    tk_msg_checkpoint_search_request, tk_msg_checkpoint_search_response,
    tk_msg_storage_item, tk_msg_storage_response;

#endif
