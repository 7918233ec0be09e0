/* Writing ForwardBackwardRequest: check everything, compute the exact size, reserve once,
 * write in one pass. Inner sizes are computed again where a length is written: that costs
 * nanoseconds per tensor and needs no memory. Fields are written in the order of their
 * numbers and left out when zero, as protobuf does; members of a oneof are always
 * there. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "wire/pb_array.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_tensor.h"

/* ---- checks ---- */

/* `total` counts the array bytes seen so far: bounded by the buffer's room, so that no
 * later sum can overflow. */
typedef struct check {
    size_t total;
    size_t max;
    tk_err *err;
} check;

static tinkc_code check_bytes(check *c, size_t count, size_t item_bytes)
{
    size_t bytes;
    if (!tk_size_mul(&bytes, count, item_bytes) || bytes > c->max - c->total) {
        return tk_err_set(c->err, TINKC_E_LIMIT, "larger than the limit of %zu bytes",
                          c->max);
    }
    c->total += bytes;
    return TINKC_OK;
}

static tinkc_code check_text(check *c, tk_str text)
{
    if (!tk_utf8_is_valid(text)) {
        return tk_err_set(c->err, TINKC_E_INVALID, "text is not valid UTF-8");
    }
    return check_bytes(c, text.n, 1);
}

static tinkc_code check_image(check *c, const tk_chunk *chunk)
{
    if (chunk->format != TK_IMAGE_PNG && chunk->format != TK_IMAGE_JPEG) {
        return tk_err_set(c->err, TINKC_E_INVALID, "image format must be png or jpeg");
    }
    const tk_f_i64 *expected = &chunk->expected_tokens;
    if (expected->is == TK_SET && (expected->v < INT32_MIN || expected->v > INT32_MAX)) {
        return tk_err_set(c->err, TINKC_E_INVALID, "expected_tokens does not fit int32");
    }
    return check_bytes(c, chunk->data.n, 1);
}

static tinkc_code check_chunk(check *c, const tk_chunk *chunk)
{
    switch (chunk->kind) {
    case TK_CHUNK_TEXT:
        return check_bytes(c, chunk->tokens.n, sizeof(int32_t));
    case TK_CHUNK_IMAGE:
        return check_image(c, chunk);
    case TK_CHUNK_DMEL:
        return check_bytes(c, chunk->data.n, 1);
    case TK_CHUNK_IMAGE_POINTER:
        return tk_err_set(c->err, TINKC_E_INVALID,
                          "an image_asset_pointer chunk cannot be sent for training");
    case TK_CHUNK_UNKNOWN:
    default:
        return tk_err_set(c->err, TINKC_E_INVALID,
                          "a chunk of unknown type cannot be sent for training");
    }
}

static tinkc_code check_tensor(check *c, const tk_tensor *tensor)
{
    size_t bytes = 0;
    tinkc_code code = tk_pb_tensor_check(&bytes, tensor, c->err);
    return code == TINKC_OK ? check_bytes(c, bytes, 1) : code;
}

static tinkc_code check_inputs(check *c, const tk_tensor_map *map)
{
    if (map->n > TK_TENSOR_MAP_MAX) {
        return tk_err_set(c->err, TINKC_E_LIMIT, "more than %d tensors",
                          TK_TENSOR_MAP_MAX);
    }
    for (size_t i = 0; i < map->n; i++) {
        tinkc_code code = check_text(c, map->items[i].name);
        if (code == TINKC_OK) {
            code = check_tensor(c, &map->items[i].tensor);
        }
        if (code != TINKC_OK) {
            char name[TK_ERR_PATH_BYTES];
            (void)snprintf(name, sizeof(name), TK_STR_FMT,
                           TK_STR_ARG(map->items[i].name));
            tk_err_under(c->err, name);
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code check_spans(check *c, const tk_origins *spans, const char *name)
{
    for (size_t i = 0; i < spans->n; i++) {
        const tk_origin *span = &spans->p[i];
        tinkc_code code = span->offset < 0 || span->length < 0
                              ? tk_err_set(c->err, TINKC_E_INVALID,
                                           "offset and length must not be negative")
                              : check_text(c, span->sequence_id);
        if (code != TINKC_OK) {
            tk_err_under_index(c->err, i);
            tk_err_under(c->err, name);
            return code;
        }
    }
    return check_bytes(c, spans->n, sizeof(tk_origin));
}

static tinkc_code check_datum(check *c, const tk_datum *datum)
{
    for (size_t i = 0; i < datum->model_input.n; i++) {
        tinkc_code code = check_chunk(c, &datum->model_input.chunks[i]);
        if (code != TINKC_OK) {
            tk_err_under_index(c->err, i);
            tk_err_under(c->err, "model_input");
            return code;
        }
    }
    tinkc_code code = check_inputs(c, &datum->loss_fn_inputs);
    if (code != TINKC_OK) {
        tk_err_under(c->err, "loss_fn_inputs");
        return code;
    }
    code = check_spans(c, &datum->model_input_spans, "model_input_spans");
    return code != TINKC_OK
               ? code
               : check_spans(c, &datum->loss_fn_input_spans, "loss_fn_input_spans");
}

static tinkc_code check_config(check *c, const tk_fwdbwd_request *r)
{
    const tk_num_map *config = &r->loss_fn_config;
    const tk_loss_values *values = &r->loss_fn_config_v2;
    tinkc_code code = TINKC_OK;
    if (config->n > TK_NUM_MAP_MAX || values->n > TK_NUM_MAP_MAX) {
        code = tk_err_set(c->err, TINKC_E_LIMIT, "more than %d entries", TK_NUM_MAP_MAX);
    }
    for (size_t i = 0; i < config->n && code == TINKC_OK; i++) {
        code = check_text(c, config->items[i].name);
    }
    for (size_t i = 0; i < values->n && code == TINKC_OK; i++) {
        code = check_text(c, values->items[i].name);
        if (code == TINKC_OK && values->items[i].is_text) {
            code = check_text(c, values->items[i].text);
        }
    }
    if (code != TINKC_OK) {
        tk_err_under(c->err, "loss_fn_config");
    }
    return code;
}

static tinkc_code check_head(check *c, const tk_fwdbwd_request *r)
{
    if (r->data_n > TK_DATUMS_MAX) {
        return tk_err_set(c->err, TINKC_E_LIMIT, "more than %zu datums", TK_DATUMS_MAX);
    }
    tinkc_code code = TINKC_OK;
    const char *name = "seq_id";
    if (r->seq_id < INT32_MIN || r->seq_id > INT32_MAX) {
        code = tk_err_set(c->err, TINKC_E_INVALID, "does not fit int32");
    }
    if (code == TINKC_OK) {
        code = check_text(c, r->model_id);
        name = "model_id";
    }
    if (code == TINKC_OK) {
        code = check_text(c, r->loss_fn);
        name = "loss_fn";
    }
    if (code != TINKC_OK) {
        tk_err_under(c->err, name);
    }
    return code;
}

static tinkc_code check_request(const tk_fwdbwd_request *r, size_t max, tk_err *err)
{
    check c = {0, max, err};
    tinkc_code code = check_head(&c, r);
    if (code == TINKC_OK) {
        code = check_config(&c, r);
    }
    for (size_t i = 0; i < r->data_n && code == TINKC_OK; i++) {
        code = check_datum(&c, &r->data[i]);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "data");
        }
    }
    return code;
}

/* ---- sizes ---- */

static tk_str format_name(tk_image_format format)
{
    return format == TK_IMAGE_PNG ? TK_STR("png") : TK_STR("jpeg");
}

/* A bytes field that is left out when empty. */
static size_t plain_size(uint32_t number, size_t n)
{
    return n > 0 ? tk_pb_bytes_size(number, n) : 0;
}

/* Body of the message inside the Chunk. */
static size_t chunk_body_size(const tk_chunk *chunk)
{
    if (chunk->kind == TK_CHUNK_TEXT) {
        return plain_size(1, chunk->tokens.n * sizeof(int32_t));
    }
    size_t n = plain_size(1, chunk->data.n);
    if (chunk->kind == TK_CHUNK_IMAGE) {
        n += tk_pb_bytes_size(2, format_name(chunk->format).n);
        if (chunk->expected_tokens.is == TK_SET) {
            n += tk_pb_uint_size(3, (uint64_t)chunk->expected_tokens.v);
        }
    }
    return n;
}

/* Body of the message inside the ProvenanceSpan. */
static size_t span_body_size(const tk_origin *span)
{
    return plain_size(1, span->sequence_id.n) +
           (span->offset != 0 ? tk_pb_uint_size(2, (uint64_t)span->offset) : 0) +
           (span->length != 0 ? tk_pb_uint_size(3, (uint64_t)span->length) : 0);
}

static size_t spans_size(uint32_t number, const tk_origins *spans)
{
    size_t n = 0;
    for (size_t i = 0; i < spans->n; i++) {
        size_t body = tk_pb_bytes_size(1, span_body_size(&spans->p[i]));
        n += tk_pb_bytes_size(number, body);
    }
    return n;
}

static size_t datum_size(const tk_datum *datum)
{
    size_t n = 0;
    for (size_t i = 0; i < datum->model_input.n; i++) {
        size_t body = chunk_body_size(&datum->model_input.chunks[i]);
        n += tk_pb_bytes_size(1, tk_pb_bytes_size(1, body));
    }
    for (size_t i = 0; i < datum->loss_fn_inputs.n; i++) {
        const tk_named_tensor *item = &datum->loss_fn_inputs.items[i];
        size_t entry = tk_pb_bytes_size(1, item->name.n) +
                       tk_pb_bytes_size(2, tk_pb_tensor_size(&item->tensor));
        n += tk_pb_bytes_size(2, entry);
    }
    return n + spans_size(3, &datum->model_input_spans) +
           spans_size(4, &datum->loss_fn_input_spans);
}

/* Body of a LossConfigValue. */
static size_t value_size(const tk_loss_value *value)
{
    return value->is_text ? tk_pb_bytes_size(2, value->text.n) : tk_pb_double_size(1);
}

static size_t value_entry_size(const tk_loss_value *value)
{
    return tk_pb_bytes_size(1, value->name.n) + tk_pb_bytes_size(2, value_size(value));
}

static size_t request_size(const tk_fwdbwd_request *r)
{
    size_t n = plain_size(1, r->model_id.n) + plain_size(4, r->loss_fn.n);
    n += r->seq_id != 0 ? tk_pb_uint_size(2, (uint64_t)r->seq_id) : 0;
    n += r->forward_only ? tk_pb_uint_size(6, 1) : 0;
    for (size_t i = 0; i < r->data_n; i++) {
        n += tk_pb_bytes_size(3, datum_size(&r->data[i]));
    }
    for (size_t i = 0; i < r->loss_fn_config.n; i++) {
        n +=
            tk_pb_bytes_size(5, tk_pb_double_entry_size(r->loss_fn_config.items[i].name));
    }
    for (size_t i = 0; i < r->loss_fn_config_v2.n; i++) {
        n += tk_pb_bytes_size(7, value_entry_size(&r->loss_fn_config_v2.items[i]));
    }
    return n;
}

/* ---- writing ---- */

static void put_plain_bytes(tk_pb_writer *w, uint32_t number, const void *p, size_t n)
{
    if (n > 0) {
        tk_pb_put_bytes(w, number, p, n);
    }
}

static void put_plain_array(tk_pb_writer *w, uint32_t number, const void *items,
                            size_t count, size_t item_bytes)
{
    if (count > 0) {
        tk_pb_put_array(w, number, items, count, item_bytes);
    }
}

static uint32_t chunk_number(tk_chunk_kind kind)
{
    return kind == TK_CHUNK_TEXT ? 1 : kind == TK_CHUNK_IMAGE ? 2 : 3;
}

static void put_chunk(tk_pb_writer *w, const tk_chunk *chunk)
{
    size_t body = chunk_body_size(chunk);
    tk_pb_put_head(w, 1, tk_pb_bytes_size(1, body));
    tk_pb_put_head(w, chunk_number(chunk->kind), body);
    if (chunk->kind == TK_CHUNK_TEXT) {
        put_plain_array(w, 1, chunk->tokens.p, chunk->tokens.n, sizeof(int32_t));
        return;
    }
    put_plain_bytes(w, 1, chunk->data.p, chunk->data.n);
    if (chunk->kind == TK_CHUNK_IMAGE) {
        tk_pb_put_str(w, 2, format_name(chunk->format));
        if (chunk->expected_tokens.is == TK_SET) {
            tk_pb_put_int(w, 3, chunk->expected_tokens.v);
        }
    }
}

static void put_spans(tk_pb_writer *w, uint32_t number, const tk_origins *spans)
{
    for (size_t i = 0; i < spans->n; i++) {
        const tk_origin *span = &spans->p[i];
        size_t body = span_body_size(span);
        tk_pb_put_head(w, number, tk_pb_bytes_size(1, body));
        tk_pb_put_head(w, span->is_sampled ? 2 : 1, body);
        put_plain_bytes(w, 1, span->sequence_id.p, span->sequence_id.n);
        if (span->offset != 0) {
            tk_pb_put_int(w, 2, span->offset);
        }
        if (span->length != 0) {
            tk_pb_put_int(w, 3, span->length);
        }
    }
}

static void put_datum(tk_pb_writer *w, const tk_datum *datum)
{
    for (size_t i = 0; i < datum->model_input.n; i++) {
        put_chunk(w, &datum->model_input.chunks[i]);
    }
    for (size_t i = 0; i < datum->loss_fn_inputs.n; i++) {
        const tk_named_tensor *item = &datum->loss_fn_inputs.items[i];
        size_t body = tk_pb_tensor_size(&item->tensor);
        tk_pb_put_head(w, 2,
                       tk_pb_bytes_size(1, item->name.n) + tk_pb_bytes_size(2, body));
        tk_pb_put_str(w, 1, item->name);
        tk_pb_put_head(w, 2, body);
        tk_pb_tensor_put(w, &item->tensor);
    }
    put_spans(w, 3, &datum->model_input_spans);
    put_spans(w, 4, &datum->loss_fn_input_spans);
}

static void put_value(tk_pb_writer *w, const tk_loss_value *value)
{
    tk_pb_put_head(w, 7, value_entry_size(value));
    tk_pb_put_str(w, 1, value->name);
    tk_pb_put_head(w, 2, value_size(value));
    if (value->is_text) {
        tk_pb_put_str(w, 2, value->text);
    } else {
        tk_pb_put_double(w, 1, value->number);
    }
}

static void put_request(tk_pb_writer *w, const tk_fwdbwd_request *r)
{
    put_plain_bytes(w, 1, r->model_id.p, r->model_id.n);
    if (r->seq_id != 0) {
        tk_pb_put_int(w, 2, r->seq_id);
    }
    for (size_t i = 0; i < r->data_n; i++) {
        tk_pb_put_head(w, 3, datum_size(&r->data[i]));
        put_datum(w, &r->data[i]);
    }
    put_plain_bytes(w, 4, r->loss_fn.p, r->loss_fn.n);
    for (size_t i = 0; i < r->loss_fn_config.n; i++) {
        const tk_named_num *num = &r->loss_fn_config.items[i];
        tk_pb_put_double_entry(w, 5, num->name, num->v);
    }
    if (r->forward_only) {
        tk_pb_put_uint(w, 6, 1);
    }
    for (size_t i = 0; i < r->loss_fn_config_v2.n; i++) {
        put_value(w, &r->loss_fn_config_v2.items[i]);
    }
}

tinkc_code tk_pb_fwdbwd_encode(tk_buf *out, const tk_fwdbwd_request *request, tk_err *err)
{
    tinkc_code code = tk_buf_status(out, err);
    if (code == TINKC_OK) {
        code = check_request(request, out->max - out->n, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = request_size(request);
    void *room = tk_buf_reserve(out, n);
    if (room == NULL) {
        return tk_buf_status(out, err);
    }
    tk_pb_writer w;
    tk_pb_writer_init(&w, room, n);
    put_request(&w, request);
    if (!tk_pb_writer_is_full(&w)) {
        return tk_err_set(err, TINKC_E_INTERNAL, "wrong protobuf size");
    }
    tk_buf_advance(out, n);
    return TINKC_OK;
}

void tk_pb_fwdbwd_put_seq(tk_buf *out, int64_t seq_id)
{
    size_t n = tk_pb_uint_size(2, (uint64_t)seq_id);
    void *room = tk_buf_reserve(out, n);
    if (room != NULL) {
        tk_pb_writer w;
        tk_pb_writer_init(&w, room, n);
        tk_pb_put_int(&w, 2, seq_id);
        tk_buf_advance(out, n);
    }
}
