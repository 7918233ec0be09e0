/* Protobuf wire format: sizes, a writer into memory of known size, and a reader that
 * hands out views.
 *
 * Ours because it measures (docs/decisions.md): the messages that travel are a few
 * headers around large byte fields, which are copied once when written and not at all
 * when read. Reading follows what protobuf itself does: unknown fields, groups and known
 * numbers with another wire type are skipped (and refused in requests), the last of
 * several scalars counts, repeated fields concatenate, embedded messages merge. Input is
 * hostile: every length is checked, nesting is bounded, errors carry the byte offset.
 * Thread: any; one reader or writer is used by one thread at a time. */
#ifndef WIRE_PB_H
#define WIRE_PB_H

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/field.h"
#include "wire/value.h"

typedef enum tk_pb_type {
    TK_PB_VARINT = 0,
    TK_PB_FIXED64 = 1,
    TK_PB_BYTES = 2,
    TK_PB_GROUP = 3,
    TK_PB_GROUP_END = 4,
    TK_PB_FIXED32 = 5
} tk_pb_type;

/* The tag in front of a field; usable as a case label. */
#define TK_PB_TAG(number, type) (((uint32_t)(number) << 3) | (uint32_t)(type))

/* memcpy for arrays of a few KB that are not in the cache, which is what messages are
 * made of: there this loop takes 0.6 to 0.8 of the time of libc's (bench_pb on an AMD
 * EPYC). */
static inline void tk_pb_copy(void *to, const void *from, size_t n)
{
    unsigned char *d = to;
    const unsigned char *s = from;
    size_t i = 0;
    for (; n - i >= 64; i += 64) {
        memcpy(d + i, s + i, 64);
    }
    if (n > i) {
        memcpy(d + i, s + i, n - i);
    }
}

/* ---- sizes: whole fields with their tags. In the header because they are half of the
 * work of writing a message. ---- */

static inline size_t tk_pb_varint_size(uint64_t value)
{
    /* 7 bits per byte: (bits * 9 + 64) / 64 is ceil(bits / 7) for 1..64 bits */
    unsigned bits = 64U - (unsigned)__builtin_clzll(value | 1);
    return (bits * 9 + 64) / 64;
}

static inline size_t tk_pb_uint_size(uint32_t number, uint64_t value)
{
    return tk_pb_varint_size(TK_PB_TAG(number, TK_PB_VARINT)) + tk_pb_varint_size(value);
}

/* Also strings and messages. */
static inline size_t tk_pb_bytes_size(uint32_t number, size_t n)
{
    return tk_pb_varint_size(TK_PB_TAG(number, TK_PB_BYTES)) + tk_pb_varint_size(n) + n;
}

size_t tk_pb_packed_size(uint32_t number, tk_i64s values);
size_t tk_pb_double_entry_size(tk_str key); /* body of a map<string,double> entry */
size_t tk_pb_double_size(uint32_t number);

/* ---- writing ----
 *
 * The caller computes the exact size first. A write that does not fit sets `overflow` and
 * writes nothing, so a wrong size is an error and never an overrun. */
typedef struct tk_pb_writer {
    unsigned char *p;
    const unsigned char *end;
    bool overflow;
} tk_pb_writer;

void tk_pb_writer_init(tk_pb_writer *w, void *room, size_t n);
bool tk_pb_writer_is_full(const tk_pb_writer *w); /* every byte written, none refused */

void tk_pb_put_uint(tk_pb_writer *w, uint32_t number, uint64_t value);
void tk_pb_put_int(tk_pb_writer *w, uint32_t number, int64_t value); /* 10 bytes if < 0 */
void tk_pb_put_head(tk_pb_writer *w, uint32_t number, size_t n);     /* n bytes follow */
void tk_pb_put_str(tk_pb_writer *w, uint32_t number, tk_str text);
void tk_pb_put_bytes(tk_pb_writer *w, uint32_t number, const void *data, size_t n);
void tk_pb_put_packed(tk_pb_writer *w, uint32_t number, tk_i64s values);
void tk_pb_put_double(tk_pb_writer *w, uint32_t number, double value);
void tk_pb_put_double_entry(tk_pb_writer *w, uint32_t number, tk_str key, double value);

/* Numbers as little-endian bytes: `count` items of 4 or 8 bytes. put_items writes no
 * head: a column of many pieces has one for all. */
void tk_pb_put_array(tk_pb_writer *w, uint32_t number, const void *items, size_t count,
                     size_t item_bytes);
void tk_pb_put_items(tk_pb_writer *w, const void *items, size_t count, size_t item_bytes);

/* ---- reading ---- */

/* One input, shared by the readers of all its levels. */
typedef struct tk_pb_input {
    const unsigned char *base; /* offsets in errors count from here */
    tk_arena *arena;
    tk_err *err;    /* may be NULL */
    bool is_closed; /* unknown fields are errors: for requests */
} tk_pb_input;

/* Prepares to read `body`; a large one gets its arena memory in one piece. */
TK_NODISCARD tinkc_code tk_pb_input_open(tk_pb_input *in, tk_arena *arena, tk_bytes body,
                                         tk_err *err);

typedef struct tk_pb_reader {
    const tk_pb_input *in;
    const unsigned char *p;
    const unsigned char *end;
    tinkc_code code; /* why tk_pb_next returned false: TINKC_OK = the end. What handles a
                      * field may set it too, which ends the loop. */
} tk_pb_reader;

typedef struct tk_pb_field {
    uint32_t tag;            /* compare with TK_PB_TAG */
    uint64_t value;          /* VARINT, FIXED64, FIXED32 */
    tk_bytes bytes;          /* BYTES: a view into the input */
    const unsigned char *at; /* the tag, for offsets */
} tk_pb_field;

/* Returns a reader at the first field of `body`. */
tk_pb_reader tk_pb_reader_of(const tk_pb_input *in, tk_bytes body);

/* The next field; groups are passed over, but not in a closed input. False at the end and
 * on malformed input; rd->code distinguishes the two. */
TK_NODISCARD bool tk_pb_next(tk_pb_reader *rd, tk_pb_field *field);

/* Passes over a field that the message does not have, or of another wire type; in a
 * closed input that is TINKC_E_DECODE with its number and the message's name. */
TK_NODISCARD tinkc_code tk_pb_skip(const tk_pb_input *in, const tk_pb_field *field,
                                   const char *message);

/* Values of a field that was found. int32 and enums keep the low 32 bits, as protobuf
 * does. */
int32_t tk_pb_to_i32(const tk_pb_field *field);
double tk_pb_to_double(const tk_pb_field *field);

/* Valid UTF-8 within TK_STRING_MAX_BYTES, as a view. */
TK_NODISCARD tinkc_code tk_pb_to_str(const tk_pb_input *in, const tk_pb_field *field,
                                     tk_str *out);

/* Repeated int64 that is a shape: packed and single values, appended. */
typedef struct tk_pb_dims {
    int64_t v[TK_TENSOR_MAX_DIMS];
    size_t n;
} tk_pb_dims;

TK_NODISCARD tinkc_code tk_pb_add_dims(const tk_pb_input *in, const tk_pb_field *field,
                                       tk_pb_dims *dims);

/* A repeated field, growing as it is met: counting first would touch cold memory twice.
 * Starts zeroed. */
typedef struct tk_pb_list {
    void *items; /* in the arena */
    size_t n;
    size_t capacity;
} tk_pb_list;

/* A new item (not initialised) at the end, or NULL with *code set: TINKC_E_LIMIT when
 * there are `max` already. Moves the others: pointers to them die. */
TK_NODISCARD void *tk_pb_list_add(const tk_pb_input *in, tk_pb_list *list, size_t size,
                                  size_t max, tinkc_code *code);

/* Reads a map<string,double> entry into a list of tk_named_num; the last of equal keys
 * counts. A missing key reads as "", a missing value as 0. */
TK_NODISCARD tinkc_code tk_pb_add_num(const tk_pb_input *in, const tk_pb_field *field,
                                      tk_pb_list *list);

/* Arena memory, or NULL with *code (and the input's err) set: TINKC_E_LIMIT when the
 * arena's cap is what refused. */
TK_NODISCARD void *tk_pb_alloc(const tk_pb_input *in, size_t count, size_t size,
                               tinkc_code *code);

/* Reports at the byte `at` points to; NULL = no offset. */
tinkc_code tk_pb_fail(const tk_pb_input *in, const unsigned char *at, tinkc_code code,
                      const char *format, ...) TK_PRINTF(4, 5);

#endif
