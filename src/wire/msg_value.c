/* Tables of chunks, datums and results; the tensor and top-k codecs are in
 * msg_tensor.c. */
#include "wire/msg_value.h"

static const char *const format_words[] = {"png", "jpeg"};
static const tk_names format_names = {format_words, TK_ARRAY_LEN(format_words), TK_OTHER};

static const char *const stop_words[] = {"stop", "length"};
static const tk_names stop_names = {stop_words, TK_ARRAY_LEN(stop_words), TK_OTHER};

/* ---- chunks ---- */

#define T tk_chunk
static const tk_field text_rows[] = {
    {TK_BARE_LIST(T, tokens, I32S, TK_REQUIRED)},
    {TK_LITERAL("type", "encoded_text")},
};

static const tk_field image_rows[] = {
    {TK_BARE(T, data, BASE64, TK_REQUIRED)},
    {TK_BARE(T, format, ENUM, TK_REQUIRED), .names = &format_names},
    {TK_ROW(T, expected_tokens, I64, 0)},
    {TK_LITERAL("type", "image")},
};

static const tk_field image_pointer_rows[] = {
    {TK_BARE(T, format, ENUM, TK_REQUIRED), .names = &format_names},
    {TK_BARE(T, location, STR, TK_REQUIRED)},
    {TK_ROW(T, expected_tokens, I64, 0)},
    {TK_LITERAL("type", "image_asset_pointer")},
};

static const tk_field dmel_rows[] = {
    {.name = "dmel",
     .kind = TK_KIND_BASE64,
     .flags = TK_REQUIRED,
     .at = offsetof(T, data)},
    {TK_LITERAL("type", "dmel")},
};
#undef T

static const tk_schema text_schema = {TK_SCHEMA(tk_chunk, "EncodedTextChunk", text_rows)};
static const tk_schema image_schema = {TK_SCHEMA(tk_chunk, "ImageChunk", image_rows)};
static const tk_schema image_pointer_schema = {
    TK_SCHEMA(tk_chunk, "ImageAssetPointerChunk", image_pointer_rows)};
static const tk_schema dmel_schema = {TK_SCHEMA(tk_chunk, "DmelChunk", dmel_rows)};

static const tk_variant chunk_variants[] = {
    {"encoded_text", TK_CHUNK_TEXT, &text_schema, "tokens"},
    {"image_asset_pointer", TK_CHUNK_IMAGE_POINTER, &image_pointer_schema, "location"},
    {"image", TK_CHUNK_IMAGE, &image_schema, "data"},
    {"dmel", TK_CHUNK_DMEL, &dmel_schema, "dmel"},
};

static const tk_union chunk_union = {.key = "type",
                                     .kind_at = offsetof(tk_chunk, kind),
                                     .variants = chunk_variants,
                                     .n = TK_ARRAY_LEN(chunk_variants),
                                     .unknown = TK_CHUNK_UNKNOWN,
                                     .raw_at = offsetof(tk_chunk, raw)};

const tk_schema tk_msg_chunk = {
    .name = "ModelInputChunk", .size = sizeof(tk_chunk), .variants = &chunk_union};

static const tk_field model_input_rows[] = {
    {.name = "chunks",
     .kind = TK_KIND_LIST,
     .flags = TK_REQUIRED,
     TK_PAIR_(tk_model_input, chunks, n),
     .sub = &tk_msg_chunk},
};

const tk_schema tk_msg_model_input = {
    TK_SCHEMA(tk_model_input, "ModelInput", model_input_rows)};

/* ---- tensors by name, datums ---- */

static const tk_field tensor_map_rows[] = {
    {.kind = TK_KIND_MSG_MAP,
     .flags = TK_REQUIRED,
     TK_PAIR_(tk_tensor_map, items, n),
     .sub = &tk_msg_tensor,
     .item_size = sizeof(tk_named_tensor),
     .item_at = offsetof(tk_named_tensor, tensor)},
};

const tk_schema tk_msg_tensor_map = {
    TK_SCHEMA(tk_tensor_map, "TensorMap", tensor_map_rows)};

static const tk_field datum_rows[] = {
    {TK_BARE(tk_datum, loss_fn_inputs, MSG, TK_REQUIRED), .sub = &tk_msg_tensor_map},
    {TK_BARE(tk_datum, model_input, MSG, TK_REQUIRED), .sub = &tk_msg_model_input},
};

const tk_schema tk_msg_datum = {TK_SCHEMA(tk_datum, "Datum", datum_rows)};

/* ---- training ---- */

#define T tk_fwdbwd_request
static const tk_field fwdbwd_input_rows[] = {
    {TK_BARE_PAIR(T, data, LIST, TK_REQUIRED), .sub = &tk_msg_datum},
    {TK_BARE(T, loss_fn, STR, TK_REQUIRED)},
    {TK_BARE_MAP(T, loss_fn_config, NUM_MAP, TK_OMIT_ZERO)},
};

static const tk_schema fwdbwd_input_schema = {
    TK_SCHEMA(T, "ForwardBackwardInput", fwdbwd_input_rows)};

/* The inner object lies in the same struct, at offset 0. It comes first because reading
 * it starts by zeroing. */
static const tk_field forward_backward_request_rows[] = {
    {.name = "forward_backward_input",
     .kind = TK_KIND_MSG,
     .flags = TK_REQUIRED,
     .sub = &fwdbwd_input_schema},
    {TK_BARE(T, model_id, STR, TK_REQUIRED)},
    {TK_BARE(T, seq_id, I64, TK_OMIT_ZERO), TK_RANGE(1, INT32_MAX)},
};

static const tk_field forward_request_rows[] = {
    {.name = "forward_input",
     .kind = TK_KIND_MSG,
     .flags = TK_REQUIRED,
     .sub = &fwdbwd_input_schema},
    {TK_BARE(T, model_id, STR, TK_REQUIRED)},
    {TK_BARE(T, seq_id, I64, TK_OMIT_ZERO), TK_RANGE(1, INT32_MAX)},
};

const tk_schema tk_msg_forward_backward_request = {
    TK_SCHEMA(T, "ForwardBackwardRequest", forward_backward_request_rows)};
const tk_schema tk_msg_forward_request = {
    TK_SCHEMA(T, "ForwardRequest", forward_request_rows)};
#undef T

#define T tk_fwdbwd_output
static const tk_field fwdbwd_output_rows[] = {
    {TK_BARE(T, loss_fn_output_type, STR, TK_REQUIRED)},
    {TK_BARE_PAIR(T, loss_fn_outputs, LIST, TK_REQUIRED), .sub = &tk_msg_tensor_map},
    {TK_BARE_MAP(T, metrics, NUM_MAP, 0)},
};

const tk_schema tk_msg_fwdbwd_output = {
    TK_SCHEMA(T, "ForwardBackwardOutput", fwdbwd_output_rows)};
#undef T

/* ---- sampling ---- */

#define T tk_sequence
static const tk_field sequence_rows[] = {
    {TK_BARE(T, stop_reason, ENUM, TK_REQUIRED), TK_WORDS(T, stop_names, stop_word)},
    {TK_BARE_LIST(T, tokens, I32S, TK_REQUIRED)},
    {TK_BARE_LIST(T, logprobs, F32S, 0), .form = TK_FORM_BOOL,
     .is_at = offsetof(T, has_logprobs)},
    {.name = "topk_sampled_logprobs",
     .kind = TK_KIND_MSG,
     .form = TK_FORM_BOOL,
     .at = offsetof(T, topk),
     .is_at = offsetof(T, has_topk),
     .sub = &tk_msg_topk_logprobs},
};

const tk_schema tk_msg_sequence = {TK_SCHEMA(T, "SampledSequence", sequence_rows)};
#undef T

static const tk_field alt_tokens_rows[] = {
    {TK_BARE(tk_alt_tokens, tokens, MSG, TK_REQUIRED), .sub = &tk_msg_tensor},
    {TK_BARE(tk_alt_tokens, logprobs, MSG, TK_REQUIRED), .sub = &tk_msg_tensor},
};

static const tk_schema alt_tokens_schema = {
    TK_SCHEMA(tk_alt_tokens, "PromptAltTokens", alt_tokens_rows)};

#define T tk_sample_response
static const tk_field sample_response_rows[] = {
    {TK_BARE_PAIR(T, sequences, LIST, TK_REQUIRED), .sub = &tk_msg_sequence},
    {TK_LITERAL("type", "sample")},
    {TK_BARE_LIST(T, prompt_logprobs, F32S, TK_NAN_NULL), .form = TK_FORM_BOOL,
     .is_at = offsetof(T, has_prompt_logprobs)},
    {.name = "topk_prompt_logprobs",
     .kind = TK_KIND_MSG,
     .form = TK_FORM_BOOL,
     .at = offsetof(T, topk),
     .is_at = offsetof(T, has_topk),
     .sub = &tk_msg_topk_logprobs},
    {TK_BARE(T, prompt_cache_hit_tokens, I64, TK_OMIT_ZERO)},
    {TK_BARE(T, target_prompt_logprobs, MSG, 0), .form = TK_FORM_BOOL,
     .is_at = offsetof(T, has_target), .sub = &tk_msg_tensor},
    {.name = "prompt_alt_tokens",
     .kind = TK_KIND_MSG,
     .form = TK_FORM_BOOL,
     .at = offsetof(T, alt),
     .is_at = offsetof(T, has_alt),
     .sub = &alt_tokens_schema},
};

const tk_schema tk_msg_sample_response = {
    TK_SCHEMA(T, "SampleResponse", sample_response_rows)};
#undef T
