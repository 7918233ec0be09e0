/* Reading SampleResponse; see pb_sample.h. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/pb_array.h"
#include "wire/pb_sample.h"
#include "wire/pb_tensor.h"
#include "wire/tensor.h"

/* ---- top-k tables ---- */

/* Gathered over all occurrences of the field: protobuf merges them. */
typedef struct raw_topk {
    tk_bytes token_ids;
    tk_bytes logprobs;
    uint32_t k;
    uint32_t length;
} raw_topk;

static tinkc_code read_topk(const tk_pb_input *in, tk_bytes body, raw_topk *raw)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            raw->token_ids = field.bytes;
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            raw->logprobs = field.bytes;
            break;
        case TK_PB_TAG(3, TK_PB_VARINT):
            raw->k = (uint32_t)field.value;
            break;
        case TK_PB_TAG(4, TK_PB_VARINT):
            raw->length = (uint32_t)field.value;
            break;
        default:
            break;
        }
    }
    return rd.code;
}

static tinkc_code finish_topk(const tk_pb_input *in, const raw_topk *raw, bool *has,
                              tk_topk_logprobs *out)
{
    size_t cells;
    size_t bytes;
    tk_i32s ids;
    tk_f32s logprobs;
    if (raw->k == 0 || raw->length == 0) {
        return TINKC_OK;
    }
    if (!tk_size_mul(&cells, raw->k, raw->length) || !tk_size_mul(&bytes, cells, 4) ||
        raw->token_ids.n < bytes || raw->logprobs.n < bytes) {
        return tk_pb_fail(in, raw->token_ids.p, TINKC_E_DECODE,
                          "top-k table of %u x %u is longer than its data",
                          (unsigned)raw->length, (unsigned)raw->k);
    }
    tinkc_code code = tk_pb_array_i32s(in, raw->token_ids, &ids);
    if (code == TINKC_OK) {
        code = tk_pb_array_f32s(in, raw->logprobs, &logprobs);
    }
    if (code == TINKC_OK) {
        *has = true;
        *out = (tk_topk_logprobs){raw->length, raw->k, ids.p, logprobs.p};
    }
    return code;
}

/* ---- sequences ---- */

/* A number that this version does not know is kept as text. */
static tinkc_code read_stop_reason(const tk_pb_input *in, const tk_pb_field *field,
                                   tk_sequence *out)
{
    tinkc_code code = TINKC_OK;
    int32_t value = tk_pb_to_i32(field);
    out->stop_word = TK_STR("");
    if (value == TK_STOP_STOP || value == TK_STOP_LENGTH) {
        out->stop_reason = (tk_stop_reason)value;
        return TINKC_OK;
    }
    enum { NUMBER_BYTES = 12 };
    char *text = tk_pb_alloc(in, NUMBER_BYTES, 1, &code);
    if (text == NULL) {
        return code;
    }
    int n = snprintf(text, NUMBER_BYTES, "%d", (int)value);
    out->stop_reason = TK_STOP_OTHER;
    out->stop_word = (tk_str){text, (size_t)n};
    return TINKC_OK;
}

static tinkc_code finish_sequence(const tk_pb_input *in, tk_bytes tokens,
                                  tk_bytes logprobs, tk_sequence *out)
{
    tinkc_code code = tk_pb_array_i32s(in, tokens, &out->tokens);
    if (code == TINKC_OK) {
        code = tk_pb_array_f32s(in, logprobs, &out->logprobs);
    }
    if (code != TINKC_OK) {
        return code;
    }
    out->has_logprobs = logprobs.n > 0;
    if (out->has_logprobs && out->logprobs.n != out->tokens.n) {
        return tk_pb_fail(in, logprobs.p, TINKC_E_DECODE, "%zu logprobs for %zu tokens",
                          out->logprobs.n, out->tokens.n);
    }
    return TINKC_OK;
}

static tinkc_code read_sequence(const tk_pb_input *in, tk_bytes body, tk_sequence *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    tk_bytes tokens = {NULL, 0};
    tk_bytes logprobs = {NULL, 0};
    raw_topk topk = {.k = 0};
    *out = (tk_sequence){.stop_reason = TK_STOP_STOP};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_VARINT):
            rd.code = read_stop_reason(in, &field, out);
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            tokens = field.bytes;
            break;
        case TK_PB_TAG(3, TK_PB_BYTES):
            logprobs = field.bytes;
            break;
        case TK_PB_TAG(4, TK_PB_BYTES):
            rd.code = read_topk(in, field.bytes, &topk);
            break;
        default:
            break;
        }
    }
    tinkc_code code = rd.code;
    if (code == TINKC_OK) {
        code = finish_topk(in, &topk, &out->has_topk, &out->topk);
    }
    return code != TINKC_OK ? code : finish_sequence(in, tokens, logprobs, out);
}

static tinkc_code add_sequence(const tk_pb_input *in, tk_bytes body, tk_pb_list *list)
{
    tinkc_code code = TINKC_OK;
    tk_sequence *sequence = tk_pb_list_add(in, list, sizeof(*sequence), SIZE_MAX, &code);
    if (sequence != NULL) {
        code = read_sequence(in, body, sequence);
    }
    if (code != TINKC_OK) {
        tk_err_under_index(in->err, list->n - 1);
        tk_err_under(in->err, "sequences");
    }
    return code;
}

/* ---- the message ---- */

/* What is gathered over several occurrences. */
typedef struct raw_response {
    tk_pb_list sequences;
    tk_bytes prompt;
    raw_topk topk;
    bool has_target, has_alt;
    tk_pb_tensor target, alt_tokens, alt_logprobs;
} raw_response;

static void raw_response_init(raw_response *raw)
{
    raw->sequences = (tk_pb_list){NULL, 0, 0};
    raw->prompt = (tk_bytes){NULL, 0};
    raw->topk = (raw_topk){.k = 0};
    raw->has_target = raw->has_alt = false;
    tk_pb_tensor_init(&raw->target);
    tk_pb_tensor_init(&raw->alt_tokens);
    tk_pb_tensor_init(&raw->alt_logprobs);
}

static tinkc_code read_alt(const tk_pb_input *in, tk_bytes body, raw_response *raw)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    raw->has_alt = true;
    while (tk_pb_next(&rd, &field)) {
        if (field.tag == TK_PB_TAG(1, TK_PB_BYTES)) {
            rd.code = tk_pb_tensor_add(in, field.bytes, &raw->alt_tokens);
        } else if (field.tag == TK_PB_TAG(2, TK_PB_BYTES)) {
            rd.code = tk_pb_tensor_add(in, field.bytes, &raw->alt_logprobs);
        }
    }
    return rd.code;
}

static tinkc_code read_response(const tk_pb_input *in, tk_bytes body, raw_response *raw,
                                tk_sample_response *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = add_sequence(in, field.bytes, &raw->sequences);
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            raw->prompt = field.bytes;
            break;
        case TK_PB_TAG(3, TK_PB_BYTES):
            rd.code = read_topk(in, field.bytes, &raw->topk);
            break;
        case TK_PB_TAG(4, TK_PB_VARINT):
            out->prompt_cache_hit_tokens = tk_pb_to_i32(&field);
            break;
        case TK_PB_TAG(5, TK_PB_BYTES):
            raw->has_target = true;
            rd.code = tk_pb_tensor_add(in, field.bytes, &raw->target);
            break;
        case TK_PB_TAG(6, TK_PB_BYTES):
            rd.code = read_alt(in, field.bytes, raw);
            break;
        default:
            break;
        }
    }
    return rd.code;
}

/* `type` is the one that a caller is promised. A dtype that this version does not know
 * leaves the tensor without elements, and the rest of the answer readable. */
static tinkc_code finish_tensor(const tk_pb_input *in, const tk_pb_tensor *raw,
                                tk_dtype type, tk_tensor *out, const char *name)
{
    if (raw->dtype != TK_DTYPE_UNSPECIFIED && tk_pb_array_item_bytes(raw->dtype) == 0) {
        *out = (tk_tensor){.dtype = TK_DTYPE_UNSPECIFIED};
        return TINKC_OK;
    }
    tinkc_code code = tk_pb_tensor_finish(in, raw, out);
    if (code == TINKC_OK && out->dtype != type) {
        code = tk_pb_fail(in, raw->values.p, TINKC_E_DECODE, "must be %s",
                          tk_dtype_name(type));
    }
    if (code != TINKC_OK) {
        tk_err_under(in->err, name);
    }
    return code;
}

static tinkc_code finish_tensors(const tk_pb_input *in, const raw_response *raw,
                                 tk_sample_response *out)
{
    tinkc_code code = TINKC_OK;
    out->has_target = raw->has_target;
    out->has_alt = raw->has_alt;
    if (raw->has_target) {
        code = finish_tensor(in, &raw->target, TK_DTYPE_F32, &out->target_prompt_logprobs,
                             "target_prompt_logprobs");
    }
    if (code == TINKC_OK && raw->has_alt) {
        code = finish_tensor(in, &raw->alt_tokens, TK_DTYPE_I64, &out->alt.tokens,
                             "prompt_alt_tokens.tokens");
    }
    if (code == TINKC_OK && raw->has_alt) {
        code = finish_tensor(in, &raw->alt_logprobs, TK_DTYPE_F32, &out->alt.logprobs,
                             "prompt_alt_tokens.logprobs");
    }
    return code;
}

static tinkc_code finish_message(const tk_pb_input *in, const raw_response *raw,
                                 tk_sample_response *out)
{
    out->sequences = raw->sequences.items;
    out->sequences_n = raw->sequences.n;
    out->has_prompt_logprobs = raw->prompt.n > 0;
    tinkc_code code = tk_pb_array_f32s(in, raw->prompt, &out->prompt_logprobs);
    if (code == TINKC_OK) {
        code = finish_topk(in, &raw->topk, &out->has_topk, &out->topk);
    }
    return code != TINKC_OK ? code : finish_tensors(in, raw, out);
}

tinkc_code tk_pb_sample_decode(tk_sample_response *out, tk_arena *arena, tk_bytes input,
                               tk_err *err)
{
    tk_pb_input in;
    raw_response raw;
    tk_sample_response response = {.sequences_n = 0};
    tinkc_code code = tk_pb_input_open(&in, arena, input, err);
    raw_response_init(&raw);
    if (code == TINKC_OK) {
        code = read_response(&in, input, &raw, &response);
    }
    if (code == TINKC_OK) {
        code = finish_message(&in, &raw, &response);
    }
    if (code == TINKC_OK) {
        *out = response;
    }
    return code;
}
