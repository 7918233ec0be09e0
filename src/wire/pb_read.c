/* Reading protobuf primitives; see pb.h. Nothing is copied; a failure is sticky in the
 * reader, so a loop over fields checks once, after it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "wire/pb.h"

#define VARINT_MAX_BYTES   10
#define PREFETCH_MIN_BYTES 512
#define CACHE_LINE_BYTES   64
#define LIST_FIRST         ((size_t)2) /* most datums have one chunk and two tensors */

tinkc_code tk_pb_fail(const tk_pb_input *in, const unsigned char *at, tinkc_code code,
                      const char *format, ...)
{
    char text[TK_ERR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (at == NULL) {
        return tk_err_set(in->err, code, "%s", text);
    }
    return tk_err_at(in->err, code, (size_t)(at - in->base), "%s", text);
}

void *tk_pb_alloc(const tk_pb_input *in, size_t count, size_t size, tinkc_code *code)
{
    size_t bytes;
    tk_arena *arena = in->arena;
    void *ptr = tk_arena_array(arena, count, size);
    if (ptr != NULL) {
        return ptr;
    }
    if (!tk_size_mul(&bytes, count, size) ||
        bytes > arena->max_bytes - arena->used_bytes) {
        *code = tk_err_set(in->err, TINKC_E_LIMIT,
                           "message needs more than the %zu bytes allowed for it",
                           arena->max_bytes);
    } else {
        *code = tk_err_nomem(in->err);
    }
    return NULL;
}

tinkc_code tk_pb_input_open(tk_pb_input *in, tk_arena *arena, tk_bytes body, tk_err *err)
{
    *in = (tk_pb_input){body.p, arena, err, false};
    size_t guess = body.n + body.n / 4; /* arrays that lie unaligned, and structs */
    bool is_large = guess > TK_ARENA_BLOCK_BYTES;
    if (is_large && guess <= arena->max_bytes && !tk_arena_reserve(arena, guess)) {
        return tk_err_nomem(err);
    }
    return TINKC_OK;
}

tk_pb_reader tk_pb_reader_of(const tk_pb_input *in, tk_bytes body)
{
    const unsigned char *end = body.n > 0 ? body.p + body.n : body.p;
    return (tk_pb_reader){in, body.p, end, TINKC_OK};
}

static bool fail(tk_pb_reader *rd, const unsigned char *at, const char *text)
{
    rd->code = tk_pb_fail(rd->in, at, TINKC_E_PARSE, "protobuf: %s", text);
    return false;
}

static bool read_long_varint(tk_pb_reader *rd, uint64_t *out)
{
    const unsigned char *at = rd->p;
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_MAX_BYTES; i++) {
        if (rd->p == rd->end) {
            return fail(rd, at, "cut off inside a varint");
        }
        uint64_t byte = *rd->p++;
        value |= (byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            if (i == VARINT_MAX_BYTES - 1 && byte > 1) {
                return fail(rd, at, "varint does not fit 64 bits");
            }
            *out = value;
            return true;
        }
    }
    return fail(rd, at, "varint is longer than 10 bytes");
}

static bool read_varint(tk_pb_reader *rd, uint64_t *out)
{
    if (rd->p != rd->end && *rd->p < 0x80) {
        *out = *rd->p++;
        return true;
    }
    return read_long_varint(rd, out);
}

static bool read_fixed(tk_pb_reader *rd, size_t n, uint64_t *out)
{
    if (n > (size_t)(rd->end - rd->p)) {
        return fail(rd, rd->p, "cut off inside a fixed-size number");
    }
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value |= (uint64_t)rd->p[i] << (8 * i);
    }
    rd->p += n;
    *out = value;
    return true;
}

/* The next field follows the bytes, and the bytes are read soon: asking for both now
 * overlaps two waits for memory (a sixth of the time of reading a 5 MB request). */
static void prefetch(const unsigned char *from, const unsigned char *behind)
{
    __builtin_prefetch(behind);
    for (size_t i = 1; i <= 4; i++) {
        __builtin_prefetch(from + i * CACHE_LINE_BYTES);
    }
}

static bool read_bytes(tk_pb_reader *rd, tk_bytes *out)
{
    const unsigned char *at = rd->p;
    uint64_t n;
    if (!read_varint(rd, &n)) {
        return false;
    }
    if (n > (uint64_t)(rd->end - rd->p)) {
        return fail(rd, at, "length goes past the end");
    }
    out->p = rd->p;
    out->n = (size_t)n;
    rd->p += n;
    if (n >= PREFETCH_MIN_BYTES) {
        prefetch(out->p, rd->p);
    }
    return true;
}

static bool read_tag(tk_pb_reader *rd, tk_pb_field *field)
{
    uint64_t tag;
    field->at = rd->p;
    if (!read_varint(rd, &tag)) {
        return false;
    }
    if (tag > UINT32_MAX || tag >> 3 == 0) {
        return fail(rd, field->at, "field number out of range");
    }
    field->tag = (uint32_t)tag;
    return true;
}

/* The value of the wire types that are rare in our messages. */
static bool read_rare_value(tk_pb_reader *rd, tk_pb_field *field)
{
    switch (field->tag & 7) {
    case TK_PB_FIXED64:
        return read_fixed(rd, 8, &field->value);
    case TK_PB_FIXED32:
        return read_fixed(rd, 4, &field->value);
    case TK_PB_GROUP_END:
        return fail(rd, field->at, "end of a group that was not begun");
    default:
        return fail(rd, field->at, "unknown wire type");
    }
}

/* The value after a tag that is not a group's. */
static inline bool read_value(tk_pb_reader *rd, tk_pb_field *field)
{
    uint32_t type = field->tag & 7;
    if (type == TK_PB_BYTES) {
        return read_bytes(rd, &field->bytes);
    }
    return type == TK_PB_VARINT ? read_varint(rd, &field->value)
                                : read_rare_value(rd, field);
}

/* Passes over a group whose start tag was just read. */
static bool skip_group(tk_pb_reader *rd, uint32_t start_tag)
{
    uint32_t open[TK_PB_MAX_DEPTH];
    size_t depth = 0;
    open[depth++] = start_tag >> 3;
    while (depth > 0) {
        tk_pb_field field;
        if (rd->p == rd->end) {
            return fail(rd, rd->p, "cut off inside a group");
        }
        if (!read_tag(rd, &field)) {
            return false;
        }
        uint32_t type = field.tag & 7;
        if (type == TK_PB_GROUP && depth == TK_PB_MAX_DEPTH) {
            return fail(rd, field.at, "groups are nested too deeply");
        }
        if (type == TK_PB_GROUP) {
            open[depth++] = field.tag >> 3;
        } else if (type == TK_PB_GROUP_END && field.tag >> 3 == open[depth - 1]) {
            depth--;
        } else if (!read_value(rd, &field)) {
            return false;
        }
    }
    return true;
}

bool tk_pb_next(tk_pb_reader *rd, tk_pb_field *field)
{
    while (rd->code == TINKC_OK && rd->p != rd->end) {
        if (!read_tag(rd, field)) {
            return false;
        }
        if ((field->tag & 7) != TK_PB_GROUP) {
            return read_value(rd, field);
        }
        if (rd->in->is_closed) {
            rd->code = tk_pb_skip(rd->in, field, "a group");
            return false;
        }
        if (!skip_group(rd, field->tag)) {
            return false;
        }
    }
    return false;
}

tinkc_code tk_pb_skip(const tk_pb_input *in, const tk_pb_field *field,
                      const char *message)
{
    return !in->is_closed ? TINKC_OK
                          : tk_pb_fail(in, field->at, TINKC_E_DECODE,
                                       "unknown field %u of wire type %u in %s",
                                       field->tag >> 3, field->tag & 7, message);
}

int32_t tk_pb_to_i32(const tk_pb_field *field)
{
    return (int32_t)(uint32_t)field->value;
}

double tk_pb_to_double(const tk_pb_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof(value));
    return value;
}

tinkc_code tk_pb_to_str(const tk_pb_input *in, const tk_pb_field *field, tk_str *out)
{
    tk_str text = {(const char *)field->bytes.p, field->bytes.n};
    if (text.n > TK_STRING_MAX_BYTES) {
        return tk_pb_fail(in, field->at, TINKC_E_LIMIT, "string of %zu bytes", text.n);
    }
    if (!tk_utf8_is_valid(text)) {
        return tk_pb_fail(in, field->at, TINKC_E_PARSE,
                          "protobuf: string is not valid UTF-8");
    }
    *out = text;
    return TINKC_OK;
}

static tinkc_code add_dim(const tk_pb_input *in, const tk_pb_field *field,
                          tk_pb_dims *dims, uint64_t value)
{
    if (dims->n == TK_TENSOR_MAX_DIMS) {
        return tk_pb_fail(in, field->at, TINKC_E_LIMIT, "more than %d dimensions",
                          TK_TENSOR_MAX_DIMS);
    }
    dims->v[dims->n++] = (int64_t)value;
    return TINKC_OK;
}

tinkc_code tk_pb_add_dims(const tk_pb_input *in, const tk_pb_field *field,
                          tk_pb_dims *dims)
{
    if ((field->tag & 7) == TK_PB_VARINT) {
        return add_dim(in, field, dims, field->value);
    }
    tk_pb_reader rd = tk_pb_reader_of(in, field->bytes);
    while (rd.code == TINKC_OK && rd.p != rd.end) {
        uint64_t value;
        if (read_varint(&rd, &value)) {
            rd.code = add_dim(in, field, dims, value);
        }
    }
    return rd.code;
}

static tinkc_code read_num_entry(const tk_pb_input *in, const tk_pb_field *entry,
                                 tk_named_num *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, entry->bytes);
    tk_pb_field field;
    tk_named_num num = {{NULL, 0}, 0};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &num.name);
            break;
        case TK_PB_TAG(2, TK_PB_FIXED64):
            num.v = tk_pb_to_double(&field);
            break;
        default:
            rd.code = tk_pb_skip(in, &field, "an entry of a map");
            break;
        }
    }
    *out = num;
    return rd.code;
}

static bool grow(const tk_pb_input *in, tk_pb_list *list, size_t size, tinkc_code *code)
{
    size_t capacity = list->capacity > 0 ? list->capacity * 2 : LIST_FIRST;
    void *items = tk_pb_alloc(in, capacity, size, code);
    if (items == NULL) {
        return false;
    }
    if (list->n > 0) {
        memcpy(items, list->items, list->n * size);
    }
    list->items = items;
    list->capacity = capacity;
    return true;
}

void *tk_pb_list_add(const tk_pb_input *in, tk_pb_list *list, size_t size, size_t max,
                     tinkc_code *code)
{
    if (list->n >= max) {
        *code = tk_pb_fail(in, NULL, TINKC_E_LIMIT, "more than %zu entries", max);
        return NULL;
    }
    if (list->n == list->capacity && !grow(in, list, size, code)) {
        return NULL;
    }
    return (char *)list->items + size * list->n++;
}

tinkc_code tk_pb_add_num(const tk_pb_input *in, const tk_pb_field *field,
                         tk_pb_list *list)
{
    tk_named_num num;
    tinkc_code code = read_num_entry(in, field, &num);
    if (code != TINKC_OK) {
        return code;
    }
    tk_named_num *items = list->items;
    for (size_t i = 0; i < list->n; i++) {
        if (tk_str_eq(items[i].name, num.name)) {
            items[i] = num;
            return TINKC_OK;
        }
    }
    tk_named_num *item = tk_pb_list_add(in, list, sizeof(*item), TK_NUM_MAP_MAX, &code);
    if (item != NULL) {
        *item = num;
    }
    return code;
}
