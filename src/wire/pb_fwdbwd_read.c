/* Reading ForwardBackwardRequest. Each repeated field is counted first and allocated
 * once. Messages that protobuf merges when they come twice (a map's value, a oneof
 * member) are gathered in a plain struct first and turned into the result at the end. */
#include <stdio.h>
#include <string.h>

#include "wire/pb_array.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_tensor.h"

/* ---- tensors ---- */

static tinkc_code read_tensor_entry(const tk_pb_input *in, tk_bytes body,
                                    tk_named_tensor *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    tk_pb_tensor raw;
    tk_pb_tensor_init(&raw);
    out->name = (tk_str){NULL, 0};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &out->name);
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            rd.code = tk_pb_tensor_add(in, field.bytes, &raw);
            break;
        default:
            rd.code = tk_pb_skip(in, &field, "an entry of loss_fn_inputs");
            break;
        }
    }
    tinkc_code code = rd.code;
    if (code == TINKC_OK) {
        code = tk_pb_tensor_finish(in, &raw, &out->tensor);
    }
    if (code != TINKC_OK) {
        char name[TK_ERR_PATH_BYTES];
        (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(out->name));
        tk_err_under(in->err, name);
    }
    return code;
}

/* The last of equal keys counts. */
static tinkc_code add_tensor(const tk_pb_input *in, tk_bytes body, tk_pb_list *list)
{
    tk_named_tensor item;
    tinkc_code code = read_tensor_entry(in, body, &item);
    if (code != TINKC_OK) {
        return code;
    }
    tk_named_tensor *items = list->items;
    for (size_t i = 0; i < list->n; i++) {
        if (tk_str_eq(items[i].name, item.name)) {
            items[i] = item;
            return TINKC_OK;
        }
    }
    items = tk_pb_list_add(in, list, sizeof(*items), TK_TENSOR_MAP_MAX, &code);
    if (items != NULL) {
        *items = item;
    }
    return code;
}

/* ---- chunks ---- */

typedef struct raw_chunk {
    bool is_known;
    tk_chunk_kind kind;
    tk_bytes data;
    tk_str format;
    tk_f_i64 expected_tokens;
} raw_chunk;

static tinkc_code read_chunk_body(const tk_pb_input *in, tk_bytes body, raw_chunk *raw)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    bool is_image = raw->kind == TK_CHUNK_IMAGE;
    while (tk_pb_next(&rd, &field)) {
        if (field.tag == TK_PB_TAG(1, TK_PB_BYTES)) {
            raw->data = field.bytes;
        } else if (is_image && field.tag == TK_PB_TAG(2, TK_PB_BYTES)) {
            rd.code = tk_pb_to_str(in, &field, &raw->format);
        } else if (is_image && field.tag == TK_PB_TAG(3, TK_PB_VARINT)) {
            raw->expected_tokens = (tk_f_i64){TK_SET, tk_pb_to_i32(&field)};
        } else {
            rd.code = tk_pb_skip(in, &field, "a chunk");
        }
    }
    return rd.code;
}

/* The same member of the oneof again merges, another one starts afresh. */
static tinkc_code read_chunk_member(const tk_pb_input *in, tk_bytes body,
                                    tk_chunk_kind kind, raw_chunk *raw)
{
    if (!raw->is_known || raw->kind != kind) {
        *raw = (raw_chunk){.is_known = true, .kind = kind};
    }
    return read_chunk_body(in, body, raw);
}

static tinkc_code finish_chunk(const tk_pb_input *in, const raw_chunk *raw,
                               const unsigned char *at, tk_chunk *out)
{
    tk_chunk chunk = {.kind = raw->kind, .expected_tokens = raw->expected_tokens};
    if (!raw->is_known) {
        return tk_pb_fail(in, at, TINKC_E_DECODE, "chunk of no known type");
    }
    if (raw->kind == TK_CHUNK_TEXT) {
        tinkc_code code = tk_pb_array_i32s(in, raw->data, &chunk.tokens);
        if (code != TINKC_OK) {
            return code;
        }
    } else {
        chunk.data = raw->data;
    }
    if (raw->kind == TK_CHUNK_IMAGE) {
        if (!tk_str_is(raw->format, "png") && !tk_str_is(raw->format, "jpeg")) {
            return tk_pb_fail(in, at, TINKC_E_DECODE, "image format must be png or jpeg");
        }
        chunk.format = tk_str_is(raw->format, "png") ? TK_IMAGE_PNG : TK_IMAGE_JPEG;
    }
    *out = chunk;
    return TINKC_OK;
}

static tinkc_code read_chunk(const tk_pb_input *in, const tk_pb_field *entry,
                             tk_chunk *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, entry->bytes);
    tk_pb_field field;
    raw_chunk raw = {.is_known = false};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = read_chunk_member(in, field.bytes, TK_CHUNK_TEXT, &raw);
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            rd.code = read_chunk_member(in, field.bytes, TK_CHUNK_IMAGE, &raw);
            break;
        case TK_PB_TAG(3, TK_PB_BYTES):
            rd.code = read_chunk_member(in, field.bytes, TK_CHUNK_DMEL, &raw);
            break;
        default:
            rd.code = tk_pb_skip(in, &field, "ModelInputChunk");
            break;
        }
    }
    tinkc_code code = rd.code;
    return code != TINKC_OK ? code : finish_chunk(in, &raw, entry->at, out);
}

static tinkc_code add_chunk(const tk_pb_input *in, const tk_pb_field *field,
                            tk_pb_list *list)
{
    tinkc_code code = TINKC_OK;
    tk_chunk *chunk = tk_pb_list_add(in, list, sizeof(*chunk), SIZE_MAX, &code);
    if (chunk != NULL) {
        code = read_chunk(in, field, chunk);
    }
    if (code != TINKC_OK) {
        tk_err_under_index(in->err, list->n - 1);
        tk_err_under(in->err, "model_input");
    }
    return code;
}

/* ---- spans ---- */

static tinkc_code read_span_body(const tk_pb_input *in, tk_bytes body, tk_origin *span)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &span->sequence_id);
            break;
        case TK_PB_TAG(2, TK_PB_VARINT):
            span->offset = (int64_t)field.value;
            break;
        case TK_PB_TAG(3, TK_PB_VARINT):
            span->length = (int64_t)field.value;
            break;
        default:
            rd.code = tk_pb_skip(in, &field, "ProvenanceSpan");
            break;
        }
    }
    return rd.code;
}

/* The same member of the oneof again merges, the other one starts afresh. */
static tinkc_code read_span(const tk_pb_input *in, const tk_pb_field *entry,
                            tk_origin *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, entry->bytes);
    tk_pb_field field;
    tk_origin span = {.is_sampled = false};
    bool is_known = false;
    while (tk_pb_next(&rd, &field)) {
        bool is_sampled = field.tag == TK_PB_TAG(2, TK_PB_BYTES);
        if (!is_sampled && field.tag != TK_PB_TAG(1, TK_PB_BYTES)) {
            rd.code = tk_pb_skip(in, &field, "ProvenanceSpan");
            continue;
        }
        if (!is_known || span.is_sampled != is_sampled) {
            span = (tk_origin){.is_sampled = is_sampled};
        }
        is_known = true;
        rd.code = read_span_body(in, field.bytes, &span);
    }
    if (rd.code == TINKC_OK && !is_known) {
        return tk_pb_fail(in, entry->at, TINKC_E_DECODE, "span of no known type");
    }
    *out = span;
    return rd.code;
}

static tinkc_code add_span(const tk_pb_input *in, const tk_pb_field *field,
                           tk_pb_list *list, const char *name)
{
    tinkc_code code = TINKC_OK;
    tk_origin *span = tk_pb_list_add(in, list, sizeof(*span), SIZE_MAX, &code);
    if (span != NULL) {
        code = read_span(in, field, span);
    }
    if (code != TINKC_OK) {
        tk_err_under_index(in->err, list->n > 0 ? list->n - 1 : 0);
        tk_err_under(in->err, name);
    }
    return code;
}

/* ---- datums ---- */

static tinkc_code read_datum(const tk_pb_input *in, tk_bytes body, tk_datum *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    tk_pb_list chunks = {NULL, 0, 0};
    tk_pb_list inputs = {NULL, 0, 0};
    tk_pb_list spans = {NULL, 0, 0};
    tk_pb_list target_spans = {NULL, 0, 0};
    while (tk_pb_next(&rd, &field)) {
        if (field.tag == TK_PB_TAG(1, TK_PB_BYTES)) {
            rd.code = add_chunk(in, &field, &chunks);
        } else if (field.tag == TK_PB_TAG(3, TK_PB_BYTES)) {
            rd.code = add_span(in, &field, &spans, "model_input_spans");
        } else if (field.tag == TK_PB_TAG(4, TK_PB_BYTES)) {
            rd.code = add_span(in, &field, &target_spans, "loss_fn_input_spans");
        } else if (field.tag == TK_PB_TAG(2, TK_PB_BYTES)) {
            rd.code = add_tensor(in, field.bytes, &inputs);
            if (rd.code != TINKC_OK) {
                tk_err_under(in->err, "loss_fn_inputs");
            }
        } else {
            rd.code = tk_pb_skip(in, &field, "Datum");
        }
    }
    out->model_input = (tk_model_input){chunks.items, chunks.n};
    out->loss_fn_inputs = (tk_tensor_map){inputs.items, inputs.n};
    out->model_input_spans = (tk_origins){spans.items, spans.n};
    out->loss_fn_input_spans = (tk_origins){target_spans.items, target_spans.n};
    return rd.code;
}

static tinkc_code add_datum(const tk_pb_input *in, tk_bytes body, tk_pb_list *list)
{
    tinkc_code code = TINKC_OK;
    tk_datum *datum = tk_pb_list_add(in, list, sizeof(*datum), TK_DATUMS_MAX, &code);
    if (datum != NULL) {
        code = read_datum(in, body, datum);
    }
    if (code != TINKC_OK) {
        tk_err_under_index(in->err, list->n - 1);
        tk_err_under(in->err, "data");
    }
    return code;
}

static tinkc_code add_config(const tk_pb_input *in, const tk_pb_field *field,
                             tk_pb_list *list)
{
    tinkc_code code = tk_pb_add_num(in, field, list);
    if (code != TINKC_OK) {
        tk_err_under(in->err, "loss_fn_config");
    }
    return code;
}

/* A value without a member reads as the number 0, as protobuf has it for a map. */
static tinkc_code read_value(const tk_pb_input *in, tk_bytes body, tk_loss_value *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    while (tk_pb_next(&rd, &field)) {
        if (field.tag == TK_PB_TAG(1, TK_PB_FIXED64)) {
            out->is_text = false;
            out->number = tk_pb_to_double(&field);
        } else if (field.tag == TK_PB_TAG(2, TK_PB_BYTES)) {
            out->is_text = true;
            rd.code = tk_pb_to_str(in, &field, &out->text);
        } else {
            rd.code = tk_pb_skip(in, &field, "a value of loss_fn_config_v2");
        }
    }
    return rd.code;
}

static tinkc_code read_value_entry(const tk_pb_input *in, tk_bytes body,
                                   tk_loss_value *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    tk_loss_value value = {.is_text = false};
    while (tk_pb_next(&rd, &field)) {
        if (field.tag == TK_PB_TAG(1, TK_PB_BYTES)) {
            rd.code = tk_pb_to_str(in, &field, &value.name);
        } else if (field.tag == TK_PB_TAG(2, TK_PB_BYTES)) {
            rd.code = read_value(in, field.bytes, &value);
        } else {
            rd.code = tk_pb_skip(in, &field, "an entry of loss_fn_config_v2");
        }
    }
    *out = value;
    return rd.code;
}

/* The last of equal keys counts. */
static tinkc_code add_value(const tk_pb_input *in, tk_bytes body, tk_pb_list *list)
{
    tk_loss_value value;
    tinkc_code code = read_value_entry(in, body, &value);
    tk_loss_value *items = list->items;
    for (size_t i = 0; code == TINKC_OK && i < list->n; i++) {
        if (tk_str_eq(items[i].name, value.name)) {
            items[i] = value;
            return TINKC_OK;
        }
    }
    if (code == TINKC_OK) {
        items = tk_pb_list_add(in, list, sizeof(*items), TK_NUM_MAP_MAX, &code);
        if (items != NULL) {
            *items = value;
        }
    }
    if (code != TINKC_OK) {
        tk_err_under(in->err, "loss_fn_config_v2");
    }
    return code;
}

static tinkc_code read_request(const tk_pb_input *in, tk_bytes body,
                               tk_fwdbwd_request *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    tk_pb_list data = {NULL, 0, 0};
    tk_pb_list config = {NULL, 0, 0};
    tk_pb_list values = {NULL, 0, 0};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &out->model_id);
            break;
        case TK_PB_TAG(2, TK_PB_VARINT):
            out->seq_id = tk_pb_to_i32(&field);
            break;
        case TK_PB_TAG(3, TK_PB_BYTES):
            rd.code = add_datum(in, field.bytes, &data);
            break;
        case TK_PB_TAG(4, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &out->loss_fn);
            break;
        case TK_PB_TAG(5, TK_PB_BYTES):
            rd.code = add_config(in, &field, &config);
            break;
        case TK_PB_TAG(6, TK_PB_VARINT):
            out->forward_only = field.value != 0;
            break;
        case TK_PB_TAG(7, TK_PB_BYTES):
            rd.code = add_value(in, field.bytes, &values);
            break;
        default:
            rd.code = tk_pb_skip(in, &field, "ForwardBackwardRequest");
            break;
        }
    }
    out->data = data.items;
    out->data_n = data.n;
    out->loss_fn_config = (tk_num_map){config.items, config.n};
    out->loss_fn_config_v2 = (tk_loss_values){values.items, values.n};
    return rd.code;
}

tinkc_code tk_pb_fwdbwd_decode(tk_fwdbwd_request *out, tk_arena *arena, tk_bytes input,
                               tk_err *err)
{
    tk_pb_input in;
    tk_fwdbwd_request request = {.seq_id = 0};
    tinkc_code code = tk_pb_input_open(&in, arena, input, err);
    in.is_closed = true;
    if (code == TINKC_OK) {
        code = read_request(&in, input, &request);
    }
    if (code == TINKC_OK) {
        *out = request;
    }
    return code;
}
