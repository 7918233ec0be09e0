/* Tables of the model messages; rows in the order of docs/protocol.md §2.2. */
#include "wire/msg_model.h"

#define DEFAULT_RANK 32

#define T tk_future_response
static const tk_field future_rows[] = {
    {TK_ROW(T, request_id, STR, TK_REQUIRED)},
    {TK_ROW(T, model_id, STR, TK_NULLABLE)},
};
#undef T

#define T tk_sample_future_response
static const tk_field sample_future_rows[] = {
    {TK_ROW(T, request_id, STR, TK_REQUIRED)},
    {TK_BARE_LIST(T, sample_sequence_ids, STRS, TK_OMIT_ZERO | TK_IN_PLACE)},
};
#undef T

#define T tk_lora_config
static const tk_field lora_config_rows[] = {
    {TK_ROW(T, rank, I64, TK_DEFAULT), TK_RANGE(1, INT32_MAX), .def.i = DEFAULT_RANK},
    {TK_ROW(T, seed, U64, TK_SIGNED)},
    {TK_ROW(T, train_unembed, BOOL, TK_DEFAULT), .def.b = true},
    {TK_ROW(T, train_mlp, BOOL, TK_DEFAULT), .def.b = true},
    {TK_ROW(T, train_attn, BOOL, TK_DEFAULT), .def.b = true},
};
#undef T

#define T tk_create_model_request
static const tk_field create_model_request_rows[] = {
    {TK_ROW(T, session_id, STR, TK_REQUIRED)},
    {TK_ROW(T, model_seq_id, I64, TK_REQUIRED), TK_RANGE(0, INT64_MAX)},
    {TK_ROW(T, base_model, STR, TK_REQUIRED)},
    {TK_ROW(T, user_metadata, RAW, TK_NULLABLE | TK_OBJECT)},
    {TK_ROW(T, lora_config, MSG, 0), .sub = &tk_msg_lora_config},
    {TK_ROW(T, optimizer_config, MSG, 0), .sub = &tk_msg_optimizer_config},
    {TK_LITERAL("type", "create_model")},
};
#undef T

static const tk_field create_model_result_rows[] = {
    {TK_ROW(tk_model_result, model_id, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "create_model")},
};

static const tk_field get_info_request_rows[] = {
    {TK_ROW(tk_model_request, model_id, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "get_info")},
};

#define T tk_model_data
static const tk_field model_data_rows[] = {
    {TK_ROW(T, arch, STR, TK_NULLABLE)},
    {TK_ROW(T, model_name, STR, TK_NULLABLE)},
    {TK_ROW(T, tokenizer_id, STR, TK_NULLABLE)},
};
#undef T

#define T tk_get_info_response
static const tk_field get_info_response_rows[] = {
    {TK_LITERAL("type", "get_info")},
    {TK_BARE(T, model_data, MSG, TK_REQUIRED), .sub = &tk_msg_model_data},
    {TK_ROW(T, model_id, STR, TK_REQUIRED)},
    {TK_ROW(T, is_lora, BOOL, TK_NULLABLE)},
    {TK_ROW(T, lora_rank, I64, TK_NULLABLE)},
    {TK_ROW(T, model_name, STR, TK_NULLABLE)},
    {TK_ROW(T, optimizer_config, MSG, 0), .sub = &tk_msg_optimizer_config},
};
#undef T

static const tk_field unload_model_request_rows[] = {
    {TK_ROW(tk_model_request, model_id, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "unload_model")},
};

static const tk_field unload_model_result_rows[] = {
    {TK_ROW(tk_model_result, model_id, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "unload_model")},
};

const tk_schema tk_msg_future_response = {
    TK_SCHEMA(tk_future_response, "UntypedAPIFuture", future_rows)};
const tk_schema tk_msg_sample_future_response = {
    TK_SCHEMA(tk_sample_future_response, "SampleFuture", sample_future_rows)};
const tk_schema tk_msg_lora_config = {
    TK_SCHEMA(tk_lora_config, "LoraConfig", lora_config_rows)};
const tk_schema tk_msg_create_model_request = {
    TK_SCHEMA(tk_create_model_request, "CreateModelRequest", create_model_request_rows)};
const tk_schema tk_msg_create_model_result = {
    TK_SCHEMA(tk_model_result, "CreateModelResponse", create_model_result_rows)};
const tk_schema tk_msg_get_info_request = {
    TK_SCHEMA(tk_model_request, "GetInfoRequest", get_info_request_rows)};
const tk_schema tk_msg_model_data = {
    TK_SCHEMA(tk_model_data, "ModelData", model_data_rows)};
const tk_schema tk_msg_get_info_response = {
    TK_SCHEMA(tk_get_info_response, "GetInfoResponse", get_info_response_rows)};
const tk_schema tk_msg_unload_model_request = {
    TK_SCHEMA(tk_model_request, "UnloadModelRequest", unload_model_request_rows)};
const tk_schema tk_msg_unload_model_result = {
    TK_SCHEMA(tk_model_result, "UnloadModelResponse", unload_model_result_rows)};

tinkc_code tk_lora_config_check(const tk_lora_config *config, tk_err *err)
{
    const tk_f_bool flags[] = {config->train_unembed, config->train_mlp,
                               config->train_attn};
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        if (flags[i].is != TK_SET || flags[i].v) {
            return TINKC_OK;
        }
    }
    return tk_err_set(
        err, TINKC_E_INVALID,
        "at least one of train_unembed, train_mlp, train_attn must be true");
}
