/* Tables and classification of what retrieve_future answers. */
#include "wire/msg_future.h"

#include <string.h>

#include "wire/msg_external.h"
#include "wire/msg_model.h"
#include "wire/msg_train.h"
#include "wire/msg_value.h"
#include "wire/msg_weights.h"

static const char *const queue_words[] = {"unknown", "active", "paused_capacity",
                                          "paused_rate_limit"};
static const tk_names queue_names = {queue_words, TK_ARRAY_LEN(queue_words),
                                     TK_QUEUE_UNKNOWN};

static const char *const category_words[] = {"unknown", "server", "user"};
static const tk_names category_names = {category_words, TK_ARRAY_LEN(category_words),
                                        TINKC_CATEGORY_UNKNOWN};

#define T tk_retrieve_future_request
static const tk_field retrieve_rows[] = {
    {TK_ROW(T, request_id, STR, TK_REQUIRED)},
    {TK_ROW(T, allow_metadata_only, BOOL, TK_DEFAULT), .def.b = false},
};
#undef T

#define T tk_try_again
static const tk_field try_again_rows[] = {
    {TK_LITERAL("type", "try_again")},
    {TK_ROW(T, request_id, STR, TK_NULLABLE)},
    {TK_ROW(T, queue_state, ENUM, TK_NULLABLE), .names = &queue_names},
    {TK_ROW(T, queue_state_reason, STR, TK_NULLABLE)},
    {TK_ROW(T, retry_after_ms, I64, TK_NULLABLE)},
};
#undef T

static const tk_field metadata_rows[] = {
    {TK_LITERAL("status", "complete_metadata")},
    {TK_ROW(tk_complete_metadata, response_payload_size, I64, TK_NULLABLE),
     TK_RANGE(0, INT64_MAX)},
};

#define T tk_request_failed
static const tk_field failed_rows[] = {
    {TK_ROW(T, error, STR, TK_REQUIRED)},
    {TK_ROW(T, category, ENUM, TK_DEFAULT), .names = &category_names},
};
#undef T

#define T tk_futures_target
static const tk_field futures_target_rows[] = {
    {TK_LITERAL("type", "sampling_session")},
    {TK_ROW(T, sampling_session_id, STR, TK_REQUIRED)},
    {TK_ROW(T, cloned_sampler_id, I64, TK_DEFAULT), TK_RANGE(0, INT64_MAX), .def.i = 0},
};
#undef T

#define T tk_retrieve_futures_request
static const tk_field retrieve_futures_rows[] = {
    {TK_BARE(T, target, MSG, TK_REQUIRED), .sub = &tk_msg_futures_target},
    {TK_ROW(T, prev_cursor, I64, TK_DEFAULT), .def.i = 0},
    {TK_ROW(T, timeout, NUM, 0)},
    {TK_BARE_LIST(T, retrieved_request_ids, STRS, 0)},
};
#undef T

static const char *const completion_words[] = {"finished", "failed", "other"};
static const tk_names completion_names = {
    completion_words, TK_ARRAY_LEN(completion_words), TK_COMPLETION_OTHER};

#define T tk_future_completion
static const tk_field completion_rows[] = {
    {TK_ROW(T, state, ENUM, 0), .names = &completion_names},
    {TK_ROW(T, request_id, STR, TK_REQUIRED)},
    {TK_ROW(T, response_payload_uncompressed_size, I64, TK_NULLABLE),
     TK_RANGE(0, INT64_MAX)},
};
#undef T

#define T tk_retrieve_futures_response
static const tk_field retrieve_futures_response_rows[] = {
    {TK_BARE_PAIR(T, completions, LIST, TK_REQUIRED), .sub = &tk_msg_future_completion},
    {TK_ROW(T, cursor, I64, TK_REQUIRED)},
};
#undef T

static const tk_field cancel_rows[] = {
    {TK_ROW(tk_cancel_future_request, request_id, STR, TK_REQUIRED)},
};

const tk_schema tk_msg_retrieve_future_request = {
    TK_SCHEMA(tk_retrieve_future_request, "FutureRetrieveRequest", retrieve_rows)};
const tk_schema tk_msg_try_again = {
    TK_SCHEMA(tk_try_again, "TryAgainResponse", try_again_rows)};
const tk_schema tk_msg_complete_metadata = {
    TK_SCHEMA(tk_complete_metadata, "CompleteMetadataResponse", metadata_rows)};
const tk_schema tk_msg_request_failed = {
    TK_SCHEMA(tk_request_failed, "RequestFailedResponse", failed_rows)};

const tk_schema tk_msg_futures_target = {
    TK_SCHEMA(tk_futures_target, "SamplingSessionFuturesTarget", futures_target_rows)};
const tk_schema tk_msg_retrieve_futures_request = {TK_SCHEMA(
    tk_retrieve_futures_request, "FuturesRetrieveRequest", retrieve_futures_rows)};
const tk_schema tk_msg_future_completion = {
    TK_SCHEMA(tk_future_completion, "FutureCompletion", completion_rows)};
const tk_schema tk_msg_retrieve_futures_response = {
    TK_SCHEMA(tk_retrieve_futures_response, "FuturesRetrieveResponse",
              retrieve_futures_response_rows)};
const tk_schema tk_msg_cancel_future_request = {
    TK_SCHEMA(tk_cancel_future_request, "FutureCancelRequest", cancel_rows)};

const tk_future_info *tk_future_info_of(tk_future_type type)
{
    static const tk_future_info infos[TK_FUTURE_TYPES] = {
        [TK_FUTURE_CREATE_MODEL] = {"CreateModel", "create_model",
                                    &tk_msg_create_model_result, false},
        [TK_FUTURE_FORWARD_BACKWARD] = {"ForwardBackward", "forward_backward",
                                        &tk_msg_fwdbwd_output, true},
        [TK_FUTURE_FORWARD] = {"Forward", "forward", &tk_msg_fwdbwd_output, true},
        [TK_FUTURE_OPTIM_STEP] = {"OptimStep", "optim_step", &tk_msg_optim_step_result,
                                  false},
        [TK_FUTURE_SAVE_WEIGHTS] = {"SaveWeights", "save_weights",
                                    &tk_msg_save_weights_result, false},
        [TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER] = {"SaveWeightsForSampler",
                                                "save_weights_for_sampler",
                                                &tk_msg_save_for_sampler_result, false},
        [TK_FUTURE_LOAD_WEIGHTS] = {"LoadWeights", "load_weights",
                                    &tk_msg_load_weights_result, false},
        [TK_FUTURE_UNLOAD_MODEL] = {"UnloadModel", "unload_model",
                                    &tk_msg_unload_model_result, false},
        [TK_FUTURE_SAMPLE] = {"Sample", "sample", &tk_msg_sample_response, true},
        [TK_FUTURE_SAVE_WEIGHTS_EXTERNAL] = {"SaveWeightsExternal",
                                             "save_weights_external",
                                             &tk_msg_save_external_result, false},
        [TK_FUTURE_CREATE_CUSTOM_LOSS] = {"CreateCustomLoss", "create_custom_loss",
                                          &tk_msg_create_custom_loss_result, false},
    };
    return &infos[type];
}

static bool contains_nocase(tk_str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++) {
        tk_str part = {text.p + i, n};
        if (tk_str_is_nocase(part, word)) {
            return true;
        }
    }
    return false;
}

static bool key_is(const tk_json *object, const char *key, const char *word)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type == TK_JSON_STRING &&
           tk_str_is(value->as.string, word);
}

/* The reason of a failure as text, whatever JSON value it is. */
static tinkc_code failure_text(tk_str *out, tk_arena *arena, const tk_json *error,
                               tk_err *err)
{
    if (error->type == TK_JSON_STRING) {
        *out = error->as.string;
        return TINKC_OK;
    }
    tk_buf text;
    tk_buf_init(&text, TK_STRING_MAX_BYTES);
    tk_json_writer w;
    tk_json_writer_init(&w, &text);
    tk_json_put_value(&w, error);
    tinkc_code code = tk_buf_status(&text, err);
    if (code == TINKC_OK && !tk_arena_dup(arena, out, text.p, text.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&text);
    return code;
}

static tinkc_code read_failure(tk_future_answer *out, tk_arena *arena, tk_err *err)
{
    const tk_json *category = tk_json_get(out->json, "category");
    out->category = TINKC_CATEGORY_UNKNOWN;
    if (category != NULL && category->type == TK_JSON_STRING) {
        out->category =
            (tinkc_category)tk_names_find(&category_names, category->as.string);
    }
    return failure_text(&out->error, arena, tk_json_get(out->json, "error"), err);
}

static tinkc_code read_metadata(tk_future_answer *out, tk_arena *arena, tk_err *err)
{
    tk_complete_metadata metadata;
    tinkc_code code =
        tk_schema_decode(&metadata, &tk_msg_complete_metadata, arena, out->json, 0, err);
    out->payload_size = metadata.response_payload_size.v;
    return code;
}

static bool has_known_key(const tk_json *json, const tk_schema *schema)
{
    for (size_t i = 0; i < schema->n; i++) {
        if (tk_json_get(json, schema->fields[i].name) != NULL) {
            return true;
        }
    }
    return false;
}

/* The word that says what the answer is, when that is not this result: a `type` of another
 * one, or a `status` and nothing of the result. An answer with such a word must not pass
 * for success. Most results may lack `type`. */
static const tk_json *other_word(const tk_json *json, const tk_future_info *info)
{
    const tk_json *type = tk_json_get(json, "type");
    const tk_json *status = tk_json_get(json, "status");
    if (type != NULL && type->type == TK_JSON_STRING) {
        return tk_str_is(type->as.string, info->label) ? NULL : type;
    }
    bool is_word = status != NULL && status->type == TK_JSON_STRING;
    return is_word && !has_known_key(json, info->result) ? status : NULL;
}

static tk_answer_kind kind_of_result(tk_future_answer *out, const tk_future_info *info)
{
    const tk_json *other = other_word(out->json, info);
    if (other != NULL) {
        out->error = other->as.string;
        return TK_ANSWER_OTHER;
    }
    return TK_ANSWER_RESULT;
}

tinkc_code tk_future_classify(tk_future_answer *out, const tk_future_poll *poll,
                              tk_arena *arena, tk_str body, tk_err *err)
{
    memset(out, 0, sizeof(*out));
    out->kind = TK_ANSWER_MALFORMED;
    if (contains_nocase(poll->content_type, "application/x-protobuf")) {
        if (!tk_future_info_of(poll->type)->is_proto) {
            return tk_err_set(err, TINKC_E_DECODE,
                              "protobuf, where this result is a JSON object");
        }
        out->kind = TK_ANSWER_PROTO;
        return TINKC_OK;
    }
    tinkc_code code = tk_json_parse(&out->json, arena, body.p, body.n, NULL, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (out->json->type != TK_JSON_OBJECT) {
        return tk_schema_mismatch("object", out->json, err);
    }
    if (key_is(out->json, "type", "try_again")) {
        out->kind = TK_ANSWER_TRY_AGAIN;
        code = tk_schema_decode(&out->try_again, &tk_msg_try_again, arena, out->json, 0,
                                NULL);
        return code == TINKC_E_NOMEM ? tk_err_nomem(err) : TINKC_OK;
    }
    if (key_is(out->json, "status", "complete_metadata")) {
        code = read_metadata(out, arena, err);
        if (code == TINKC_OK) {
            out->kind =
                poll->allow_metadata_only ? TK_ANSWER_METADATA : TK_ANSWER_METADATA_TWICE;
        }
        return code;
    }
    if (tk_json_get(out->json, "error") != NULL) {
        code = read_failure(out, arena, err);
        out->kind = code == TINKC_OK ? TK_ANSWER_FAILED : TK_ANSWER_MALFORMED;
        return code;
    }
    out->kind = kind_of_result(out, tk_future_info_of(poll->type));
    return TINKC_OK;
}

void tk_future_read_408(tk_try_again *out, tk_arena *arena, tk_str body)
{
    if (tk_schema_decode_text(out, &tk_msg_try_again, arena, body, 0, NULL) != TINKC_OK) {
        memset(out, 0, sizeof(*out));
    }
}

/* ---- retrieve_futures ---- */

/* Reads what matters of one: its id. A state or size that cannot be read is one that the
 * server did not send. */
static bool read_completion(tk_future_completion *out, const tk_json *row)
{
    const tk_json *id = tk_json_get(row, "request_id");
    const tk_json *state = tk_json_get(row, "state");
    const tk_json *size = tk_json_get(row, "response_payload_uncompressed_size");
    int64_t bytes = 0;
    if (id == NULL || id->type != TK_JSON_STRING) {
        return false;
    }
    *out = (tk_future_completion){.request_id = {TK_SET, id->as.string},
                                  .state = {TK_SET, TK_COMPLETION_OTHER}};
    if (state != NULL && state->type == TK_JSON_STRING) {
        out->state.v = tk_names_find(&completion_names, state->as.string);
    }
    if (size != NULL && tk_json_to_i64(size, &bytes) && bytes >= 0) {
        out->response_payload_uncompressed_size = (tk_f_i64){TK_SET, bytes};
    }
    return true;
}

/* One that cannot be read does not hide the others. */
static tinkc_code read_completions(tk_retrieve_futures_response *out, tk_arena *arena,
                                   const tk_json *list, tk_err *err)
{
    size_t n = tk_json_len(list);
    tk_future_completion *items = tk_arena_array(arena, n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        const tk_json row = tk_json_at(list, i);
        out->completions_n += read_completion(&items[out->completions_n], &row);
    }
    out->completions = items;
    return TINKC_OK;
}

tinkc_code tk_retrieve_futures_read(tk_retrieve_futures_response *out, tk_arena *arena,
                                    tk_str body, tk_err *err)
{
    const tk_json *json = NULL;
    memset(out, 0, sizeof(*out));
    tinkc_code code = tk_json_parse(&json, arena, body.p, body.n, NULL, err);
    if (code != TINKC_OK) {
        return code;
    }
    const tk_json *list =
        json->type == TK_JSON_OBJECT ? tk_json_get(json, "completions") : NULL;
    if (list == NULL || !tk_json_is_array(list)) {
        return tk_err_set(err, TINKC_E_DECODE, "there is no list of completions");
    }
    const tk_json *cursor = tk_json_get(json, "cursor");
    if (cursor != NULL && tk_json_to_i64(cursor, &out->cursor.v)) {
        out->cursor.is = TK_SET;
    }
    return read_completions(out, arena, list, err);
}
