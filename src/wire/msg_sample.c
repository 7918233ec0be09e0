/* Tables of sampling, and the codec of `stop`, which has three forms. */
#include "wire/msg_sample.h"

/* ---- stop ---- */

static tinkc_code encode_stops(tk_json_writer *w, const void *value, tk_err *err)
{
    const tk_stops *stops = value;
    switch (stops->form) {
    case TK_STOPS_TEXT:
        tk_json_put_str(w, stops->text);
        return TINKC_OK;
    case TK_STOPS_TOKENS:
        tk_json_put_i32s(w, stops->tokens.p, stops->tokens.n);
        return TINKC_OK;
    case TK_STOPS_TEXTS:
        tk_json_begin_array(w);
        for (size_t i = 0; i < stops->texts.n; i++) {
            tk_json_put_str(w, stops->texts.p[i]);
        }
        tk_json_end_array(w);
        return TINKC_OK;
    }
    return tk_err_set(err, TINKC_E_INVALID, "unknown form of stop");
}

static tinkc_code decode_stops(void *value, tk_arena *arena, const tk_json *json,
                               unsigned flags, tk_err *err)
{
    (void)flags;
    tk_stops *stops = value;
    if (json->type == TK_JSON_STRING) {
        stops->form = TK_STOPS_TEXT;
        stops->text = json->as.string;
        return TINKC_OK;
    }
    if (!tk_json_is_array(json)) {
        return tk_schema_mismatch("string, or array of strings or integers", json, err);
    }
    tk_json first = {.type = TK_JSON_STRING};
    if (tk_json_len(json) > 0) {
        first = tk_json_at(json, 0);
    }
    if (first.type == TK_JSON_STRING) {
        stops->form = TK_STOPS_TEXTS;
        return tk_schema_read_strs(&stops->texts, arena, json, err);
    }
    stops->form = TK_STOPS_TOKENS;
    return tk_schema_read_i32s(&stops->tokens, arena, json, err);
}

static const tk_codec stops_codec = {encode_stops, decode_stops,
                                     "string | string[] | integer[]", NULL};

const tk_schema tk_msg_stops = {
    .name = "Stop", .size = sizeof(tk_stops), .codec = &stops_codec};

/* ---- tables ---- */

#define T tk_sampling_params
static const tk_field sampling_params_rows[] = {
    {TK_ROW(T, max_tokens, I64, 0)},
    {TK_ROW(T, seed, U64, TK_SIGNED)},
    {TK_ROW(T, stop, MSG, 0), .sub = &tk_msg_stops},
    {TK_ROW(T, temperature, NUM, TK_DEFAULT), .def.d = 1.0},
    {TK_ROW(T, top_k, I64, TK_DEFAULT), .def.i = -1},
    {TK_ROW(T, top_p, NUM, TK_DEFAULT), .def.d = 1.0},
};
#undef T

#define T tk_sample_request
static const tk_field sample_request_rows[] = {
    {TK_ROW(T, num_samples, I64, TK_DEFAULT), .def.i = 1},
    {TK_BARE(T, prompt, MSG, TK_REQUIRED), .sub = &tk_msg_model_input},
    {TK_BARE(T, sampling_params, MSG, TK_REQUIRED), .sub = &tk_msg_sampling_params},
    {TK_ROW(T, base_model, STR, 0)},
    {TK_ROW(T, model_path, STR, 0)},
    {TK_ROW(T, sampling_session_id, STR, 0)},
    {TK_ROW(T, seq_id, I64, 0), TK_RANGE(0, INT64_MAX)},
    {TK_ROW(T, prompt_logprobs, BOOL, 0)},
    {TK_ROW(T, topk_prompt_logprobs, I64, TK_DEFAULT), .def.i = 0},
    {TK_ROW(T, topk_sample_logprobs, I64, 0)},
    {TK_ROW(T, target_prompt_logprobs, MSG, 0), .sub = &tk_msg_tensor},
    {TK_ROW(T, prompt_alt_tokens_k, I64, 0)},
    {TK_ROW(T, prompt_logprobs_last_n, I64, 0)},
    {TK_ROW(T, record_stability_info, BOOL, 0)},
    {TK_LITERAL("type", "sample")},
};
#undef T

#define T tk_stream_event
static const tk_field stream_event_rows[] = {
    {TK_ROW(T, token, STR, TK_NULLABLE)},
    {TK_ROW(T, token_id, I64, TK_NULLABLE)},
    {TK_ROW(T, index, I64, TK_NULLABLE)},
    {TK_ROW(T, logprob, NUM, TK_NULLABLE)},
    {TK_ROW(T, finish_reason, STR, TK_NULLABLE)},
    {TK_ROW(T, total_tokens, I64, TK_NULLABLE)},
    {TK_ROW(T, prompt_cache_hit_tokens, I64, TK_NULLABLE)},
    {TK_ROW(T, error, RAW, TK_NULLABLE)},
};
#undef T

const tk_schema tk_msg_sampling_params = {
    TK_SCHEMA(tk_sampling_params, "SamplingParams", sampling_params_rows)};
const tk_schema tk_msg_sample_request = {
    TK_SCHEMA(tk_sample_request, "SampleRequest", sample_request_rows)};
const tk_schema tk_msg_stream_event = {
    TK_SCHEMA(tk_stream_event, "SampleStreamEvent", stream_event_rows)};

tinkc_code tk_sample_request_check(const tk_sample_request *msg, tk_sample_mode *out,
                                   tk_err *err)
{
    bool session = msg->sampling_session_id.is == TK_SET;
    bool path = msg->model_path.is == TK_SET;
    bool base = msg->base_model.is == TK_SET;
    if (session + path + base != 1) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "give exactly one of sampling_session_id, model_path, "
                          "base_model");
    }
    if (session && msg->seq_id.is != TK_SET) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a sample by sampling_session_id needs a seq_id");
    }
    if (out != NULL) {
        *out = session ? TK_SAMPLE_BY_SESSION
               : path  ? TK_SAMPLE_BY_PATH
                       : TK_SAMPLE_BY_BASE;
    }
    return TINKC_OK;
}
