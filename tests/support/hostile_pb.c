/* One field of a protobuf message changed; the lengths around it follow, unless the length
 * is what is wrong. Fields are found without a schema: bytes that read as a message are
 * taken for one. See hostile_mutate.h. */
#include <stdio.h>
#include <string.h>

#include "support/hostile_mutate.h"
#include "support/pbtree.h"

#define NUMBER_MAX 64 /* of a field, when bytes are taken for a message */
#define DEPTH_MAX  8

typedef enum pb_kind {
    MISSING,
    TWICE,
    WIRE,
    NUMBER,
    VARINT,
    LENGTH,
    PAYLOAD,
    RAW,  /* bytes after the field */
    EXTRA /* the same, as a newer server could send them */
} pb_kind;

typedef struct pb_change {
    const char *what;
    pb_kind kind;
    uint64_t n; /* wire type, number, value, length; repetitions of `byte` */
    int byte;   /* PAYLOAD */
    const char *raw;
    size_t raw_n;
} pb_change;

#define BYTES(text) .raw = (text), .raw_n = sizeof(text) - 1

static const pb_change changes[] = {
    {"missing", MISSING, .n = 0},
    {"twice", TWICE, .n = 0},
    {"wire type 0", WIRE, .n = 0},
    {"wire type 1", WIRE, .n = 1},
    {"wire type 2", WIRE, .n = 2},
    {"wire type 3", WIRE, .n = 3},
    {"wire type 4", WIRE, .n = 4},
    {"wire type 5", WIRE, .n = 5},
    {"wire type 7", WIRE, .n = 7},
    {"number 0", NUMBER, .n = 0},
    {"a number of a newer server", NUMBER, .n = 900},
    {"the largest number", NUMBER, .n = 0x1FFFFFFF},
    {"a number too large", NUMBER, .n = UINT64_C(1) << 40},
    {"varint 0", VARINT, .n = 0},
    {"varint 1", VARINT, .n = 1},
    {"varint 99", VARINT, .n = 99},
    {"varint 2^31-1", VARINT, .n = INT32_MAX},
    {"varint 2^31", VARINT, .n = UINT64_C(1) << 31},
    {"varint 2^32", VARINT, .n = UINT64_C(1) << 32},
    {"varint 2^63", VARINT, .n = UINT64_C(1) << 63},
    {"varint -1", VARINT, .n = UINT64_MAX},
    {"length 0", LENGTH, .n = 0},
    {"length 2^31", LENGTH, .n = UINT64_C(1) << 31},
    {"length 2^32+1", LENGTH, .n = (UINT64_C(1) << 32) + 1},
    {"length 2^63-1", LENGTH, .n = INT64_MAX},
    {"length 2^64-1", LENGTH, .n = UINT64_MAX},
    {"payload empty", PAYLOAD, .n = 0},
    {"payload of 1 byte", PAYLOAD, .n = 1, .byte = 0x01},
    {"payload of 3 bytes", PAYLOAD, .n = 3, .byte = 0xFF},
    {"payload of 8 bytes", PAYLOAD, .n = 8, .byte = 0x7F},
    {"payload of 64 KiB of 0", PAYLOAD, .n = 64 * TK_KIB, .byte = 0},
    {"payload of 64 KiB of 7f", PAYLOAD, .n = 64 * TK_KIB, .byte = 0x7F},
    {"payload of 64 KiB of ff", PAYLOAD, .n = 64 * TK_KIB, .byte = 0xFF},
    {"payload of 900 KiB of 1", PAYLOAD, .n = 900 * TK_KIB, .byte = 1},
    {"payload of 64 KiB of 10", PAYLOAD, .n = 64 * TK_KIB, .byte = 0x0A},
    {"payload of 5000 groups", PAYLOAD, .n = 5000, .byte = 0x0B},
    {"a new number", EXTRA, BYTES("\xa0\x38\x01")},
    {"a new text", EXTRA, BYTES("\xa2\x38\x03\x61\x62\x63")},
    {"a tag of 11 bytes", RAW, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
    {"an endless varint", RAW, BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")},
    {"half a tag", RAW, BYTES("\x80")},
    {"an end without a group", RAW, BYTES("\x0c")},
};

static bool is_message(tk_str bytes)
{
    pbtree_field field;
    const char *end = bytes.p + bytes.n;
    for (const char *at = bytes.p; at < end; at = field.end) {
        if (!pbtree_read(&field, at, end) || field.number > NUMBER_MAX) {
            return false;
        }
    }
    return bytes.n > 0;
}

static void put_changed(tk_buf *out, const pb_change *change, const pbtree_field *field)
{
    switch (change->kind) {
    case MISSING:
        break;
    case TWICE:
        pbtree_put(out, field);
        pbtree_put(out, field);
        break;
    case WIRE:
        pbtree_put_tag(out, field->number, (unsigned)change->n);
        pbtree_put_content(out, field);
        break;
    case NUMBER:
        pbtree_put_tag(out, change->n, field->wire);
        pbtree_put_content(out, field);
        break;
    case VARINT:
        pbtree_put_tag(out, field->number, 0);
        pbtree_put_varint(out, change->n);
        break;
    case LENGTH:
        pbtree_put_tag(out, field->number, 2);
        pbtree_put_varint(out, change->n);
        tk_buf_put(out, field->payload.p, field->payload.n);
        break;
    case PAYLOAD:
        pbtree_put_tag(out, field->number, 2);
        pbtree_put_varint(out, change->n);
        for (uint64_t i = 0; i < change->n; i++) {
            tk_buf_putc(out, (char)change->byte);
        }
        break;
    case RAW:
    case EXTRA:
        pbtree_put(out, field);
        tk_buf_put(out, change->raw, change->raw_n);
        break;
    }
}

typedef struct emitter {
    size_t at, target;
    const pb_change *change;
    int depth; /* of the target */
} emitter;

static void emit(emitter *e, tk_buf *out, tk_str bytes, int depth)
{
    pbtree_field field;
    const char *end = bytes.p + bytes.n;
    for (const char *at = bytes.p; at < end && pbtree_read(&field, at, end);
         at = field.end) {
        if (e->at++ == e->target) {
            e->depth = depth;
            put_changed(out, e->change, &field);
        } else if (field.wire == 2 && depth < DEPTH_MAX && is_message(field.payload)) {
            tk_buf inner;
            tk_buf_init(&inner, out->max);
            emit(e, &inner, field.payload, depth + 1);
            pbtree_put_tag(out, field.number, 2);
            pbtree_put_varint(out, inner.n);
            tk_buf_put(out, inner.p, inner.n);
            tk_buf_dispose(&inner);
        } else {
            pbtree_put(out, &field);
        }
    }
}

size_t hostile_pb_count(tk_str body)
{
    tk_buf out;
    emitter e = {.target = SIZE_MAX};
    tk_buf_init(&out, 64 * TK_MIB);
    emit(&e, &out, body, 0);
    tk_buf_dispose(&out);
    return e.at * TK_ARRAY_LEN(changes);
}

void hostile_pb_mutate(hostile_answer *out, tk_str body, size_t k)
{
    emitter e = {.target = k / TK_ARRAY_LEN(changes),
                 .change = &changes[k % TK_ARRAY_LEN(changes)]};
    tk_buf_clear(&out->body);
    emit(&e, &out->body, body, 0);
    /* Deeper down, bytes may only look like a message. */
    out->is_readable = e.change->kind == EXTRA && e.depth == 0;
    (void)snprintf(out->what, sizeof(out->what), "field %zu: %s", e.target,
                   e.change->what);
}
