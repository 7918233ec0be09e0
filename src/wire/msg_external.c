/* Tables of external weights and of copies. */
#include "wire/msg_external.h"

#define T tk_save_external_request
static const tk_field save_rows[] = {
    {TK_ROW(T, model_id, STR, TK_REQUIRED)},
    {TK_ROW(T, path, STR, TK_REQUIRED)},
    {TK_ROW(T, seq_id, I64, 0)},
    {TK_ROW(T, ttl_seconds, I64, 0)},
    {TK_ROW_LIST(T, age_encryption_recipients, STRS, 0)},
    {TK_LITERAL("type", "save_weights_external")},
};
#undef T

#define T tk_save_external_result
static const tk_field saved_rows[] = {
    {TK_ROW(T, path, STR, TK_NULLABLE)},
    {TK_ROW(T, size_bytes, I64, TK_NULLABLE)},
    {TK_LITERAL("type", "save_weights_external")},
};
#undef T

#define T tk_external_urls_response
static const tk_field urls_rows[] = {
    {TK_BARE_MAP(T, urls, STR_MAP, TK_REQUIRED)},
    {TK_ROW_TIME(T, expires, TK_REQUIRED)},
};
#undef T

#define T tk_copy_weights_request
static const tk_field copy_rows[] = {
    {TK_ROW(T, session_id, STR, 0)},
    {TK_ROW(T, model_seq_id, I64, 0), TK_RANGE(0, INT64_MAX)},
    {TK_ROW(T, destination_project_id, STR, 0)},
    {TK_ROW(T, source_path, STR, TK_REQUIRED)},
    {TK_ROW(T, ttl_seconds, I64, 0)},
    {TK_ROW(T, weights_access_token, STR, 0)},
};
#undef T

static const tk_field copied_rows[] = {
    {TK_ROW(tk_copy_weights_response, tinker_path, STR, TK_REQUIRED)},
};

#define T tk_upload_start_request
static const tk_field start_rows[] = {
    {TK_ROW(T, base_model, STR, TK_REQUIRED)},
    {TK_BARE(T, lora_config, MSG, TK_REQUIRED), .sub = &tk_msg_lora_config},
    {TK_ROW(T, destination_project_id, STR, 0)},
};
#undef T

#define T tk_upload_start_response
static const tk_field started_rows[] = {
    {TK_ROW(T, upload_id, STR, TK_REQUIRED)},
    {TK_BARE_MAP(T, urls, STR_MAP, TK_REQUIRED)},
    {TK_ROW_TIME(T, expires, TK_REQUIRED)},
};
#undef T

static const tk_field finish_rows[] = {
    {TK_ROW(tk_upload_finish_request, upload_id, STR, TK_REQUIRED)},
};

const tk_schema tk_msg_save_external_request = {
    TK_SCHEMA(tk_save_external_request, "SaveWeightsExternalRequest", save_rows)};
const tk_schema tk_msg_save_external_result = {
    TK_SCHEMA(tk_save_external_result, "SaveWeightsExternalResponse", saved_rows)};
const tk_schema tk_msg_external_urls_response = {
    TK_SCHEMA(tk_external_urls_response, "ExternalWeightsUrlsResponse", urls_rows)};
const tk_schema tk_msg_copy_weights_request = {
    TK_SCHEMA(tk_copy_weights_request, "CopyWeightsRequest", copy_rows)};
const tk_schema tk_msg_copy_weights_response = {
    TK_SCHEMA(tk_copy_weights_response, "CopyWeightsResponse", copied_rows)};
const tk_schema tk_msg_upload_start_request = {
    TK_SCHEMA(tk_upload_start_request, "ExternalWeightsUploadStartRequest", start_rows)};
const tk_schema tk_msg_upload_start_response = {TK_SCHEMA(
    tk_upload_start_response, "ExternalWeightsUploadStartResponse", started_rows)};
const tk_schema tk_msg_upload_finish_request = {TK_SCHEMA(
    tk_upload_finish_request, "ExternalWeightsUploadFinishRequest", finish_rows)};
const tk_schema tk_msg_upload_finish_response = {TK_SCHEMA(
    tk_copy_weights_response, "ExternalWeightsUploadFinishResponse", copied_rows)};
