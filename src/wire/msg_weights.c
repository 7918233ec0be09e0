/* Tables of weight messages, and which fields go together in their two modes. */
#include "wire/msg_weights.h"

#define T tk_save_weights_request
static const tk_field save_weights_request_rows[] = {
    {TK_ROW(T, model_id, STR, TK_REQUIRED)},
    {TK_ROW(T, path, STR, 0)},
    {TK_ROW(T, seq_id, I64, 0)},
    {TK_ROW(T, ttl_seconds, I64, 0)},
    {TK_ROW(T, overwrite, BOOL, TK_DEFAULT), .def.b = false},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, 0)},
    {TK_LITERAL("type", "save_weights")},
};
#undef T

static const tk_field save_weights_result_rows[] = {
    {TK_ROW(tk_save_weights_result, path, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "save_weights")},
};

#define T tk_save_for_sampler_request
static const tk_field save_for_sampler_request_rows[] = {
    {TK_ROW(T, model_id, STR, TK_REQUIRED)},
    {TK_ROW(T, path, STR, 0)},
    {TK_ROW(T, sampling_session_seq_id, I64, 0)},
    {TK_ROW(T, seq_id, I64, 0)},
    {TK_ROW(T, ttl_seconds, I64, 0)},
    {TK_ROW_MAP(T, user_metadata, STR_MAP, 0)},
    {TK_LITERAL("type", "save_weights_for_sampler")},
};
#undef T

#define T tk_save_for_sampler_result
static const tk_field save_for_sampler_result_rows[] = {
    {TK_ROW(T, path, STR, TK_NULLABLE)},
    {TK_ROW(T, sampling_session_id, STR, TK_NULLABLE)},
    {TK_LITERAL("type", "save_weights_for_sampler")},
};
#undef T

#define T tk_load_weights_request
static const tk_field load_weights_request_rows[] = {
    {TK_ROW(T, model_id, STR, 0)},
    {TK_ROW(T, seq_id, I64, 0)},
    {TK_ROW(T, session_id, STR, 0)},
    {TK_ROW(T, model_seq_id, I64, 0), TK_RANGE(0, INT64_MAX)},
    {TK_ROW(T, base_model, STR, 0)},
    {TK_ROW(T, user_metadata, RAW, TK_NULLABLE | TK_OBJECT)},
    {TK_ROW(T, path, STR, TK_REQUIRED)},
    {TK_ROW(T, optimizer, BOOL, TK_REQUIRED)},
    {TK_ROW(T, optimizer_config, MSG, 0), .sub = &tk_msg_optimizer_config},
    {TK_ROW(T, weights_access_token, STR, 0)},
    {TK_LITERAL("type", "load_weights")},
};
#undef T

#define T tk_load_weights_result
static const tk_field load_weights_result_rows[] = {
    {TK_ROW(T, path, STR, TK_NULLABLE)},
    {TK_ROW(T, model_id, STR, TK_NULLABLE)},
    {TK_LITERAL("type", "load_weights")},
};
#undef T

static const tk_field weights_info_request_rows[] = {
    {TK_ROW(tk_weights_info_request, tinker_path, STR, TK_REQUIRED)},
};

#define T tk_weights_info_response
static const tk_field weights_info_response_rows[] = {
    {TK_ROW(T, base_model, STR, TK_REQUIRED)},
    {TK_ROW(T, is_lora, BOOL, TK_REQUIRED)},
    {TK_ROW(T, lora_rank, I64, TK_NULLABLE)},
    {TK_ROW(T, train_unembed, BOOL, TK_NULLABLE)},
    {TK_ROW(T, train_mlp, BOOL, TK_NULLABLE)},
    {TK_ROW(T, train_attn, BOOL, TK_NULLABLE)},
    {TK_ROW(T, optimizer_config, MSG, 0), .sub = &tk_msg_optimizer_config},
};
#undef T

const tk_schema tk_msg_save_weights_request = {
    TK_SCHEMA(tk_save_weights_request, "SaveWeightsRequest", save_weights_request_rows)};
const tk_schema tk_msg_save_weights_result = {
    TK_SCHEMA(tk_save_weights_result, "SaveWeightsResponse", save_weights_result_rows)};
const tk_schema tk_msg_save_for_sampler_request = {
    TK_SCHEMA(tk_save_for_sampler_request, "SaveWeightsForSamplerRequest",
              save_for_sampler_request_rows)};
const tk_schema tk_msg_save_for_sampler_result = {
    TK_SCHEMA(tk_save_for_sampler_result, "SaveWeightsForSamplerResponse",
              save_for_sampler_result_rows)};
const tk_schema tk_msg_load_weights_request = {
    TK_SCHEMA(tk_load_weights_request, "LoadWeightsRequest", load_weights_request_rows)};
const tk_schema tk_msg_load_weights_result = {
    TK_SCHEMA(tk_load_weights_result, "LoadWeightsResponse", load_weights_result_rows)};
const tk_schema tk_msg_weights_info_request = {
    TK_SCHEMA(tk_weights_info_request, "WeightsInfoRequest", weights_info_request_rows)};
const tk_schema tk_msg_weights_info_response = {TK_SCHEMA(
    tk_weights_info_response, "WeightsInfoResponse", weights_info_response_rows)};

tinkc_code tk_save_for_sampler_check(const tk_save_for_sampler_request *msg, tk_err *err)
{
    bool named = msg->path.is == TK_SET;
    bool ephemeral = msg->sampling_session_seq_id.is == TK_SET;
    if (named == ephemeral || (ephemeral && msg->seq_id.is != TK_SET)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "give path, or sampling_session_seq_id with seq_id");
    }
    return TINKC_OK;
}

tinkc_code tk_load_weights_check(const tk_load_weights_request *msg, tk_err *err)
{
    bool has_model = msg->model_id.is == TK_SET || msg->seq_id.is == TK_SET;
    bool has_session = msg->session_id.is == TK_SET || msg->model_seq_id.is == TK_SET;
    bool complete = has_model
                        ? msg->model_id.is == TK_SET
                        : msg->session_id.is == TK_SET && msg->model_seq_id.is == TK_SET;
    if (has_model == has_session || !complete) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "give model_id, or session_id with model_seq_id");
    }
    return TINKC_OK;
}
