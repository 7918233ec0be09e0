/* Writing protobuf primitives; see pb.h. Multi-byte numbers are copied as they are on
 * little-endian hosts and turned item by item on the others. */
#include <string.h>

#include "wire/pb.h"

#define PAIR_MAX_BYTES 15 /* a tag of 5 bytes and a number of 10 */

static size_t packed_body(tk_i64s values)
{
    size_t n = 0;
    for (size_t i = 0; i < values.n; i++) {
        n += tk_pb_varint_size((uint64_t)values.p[i]);
    }
    return n;
}

size_t tk_pb_packed_size(uint32_t number, tk_i64s values)
{
    return values.n > 0 ? tk_pb_bytes_size(number, packed_body(values)) : 0;
}

size_t tk_pb_double_size(uint32_t number)
{
    return tk_pb_varint_size(TK_PB_TAG(number, TK_PB_FIXED64)) + sizeof(double);
}

size_t tk_pb_double_entry_size(tk_str key)
{
    return tk_pb_bytes_size(1, key.n) + tk_pb_double_size(2);
}

void tk_pb_writer_init(tk_pb_writer *w, void *room, size_t n)
{
    w->p = room;
    w->end = w->p + n;
    w->overflow = false;
}

bool tk_pb_writer_is_full(const tk_pb_writer *w)
{
    return !w->overflow && w->p == w->end;
}

static bool fits(tk_pb_writer *w, size_t n)
{
    if (n > (size_t)(w->end - w->p)) {
        w->overflow = true;
    }
    return !w->overflow;
}

static unsigned char *raw_varint(unsigned char *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *p++ = (unsigned char)value;
    return p;
}

static void put_varint(tk_pb_writer *w, uint64_t value)
{
    if (fits(w, tk_pb_varint_size(value))) {
        w->p = raw_varint(w->p, value);
    }
}

/* Tag and number; the exact size is only asked for near the end. */
static void put_pair(tk_pb_writer *w, uint32_t tag, uint64_t value)
{
    if ((size_t)(w->end - w->p) >= PAIR_MAX_BYTES ||
        fits(w, tk_pb_varint_size(tag) + tk_pb_varint_size(value))) {
        w->p = raw_varint(raw_varint(w->p, tag), value);
    }
}

static void put_raw(tk_pb_writer *w, const void *data, size_t n)
{
    if (n > 0 && fits(w, n)) {
        tk_pb_copy(w->p, data, n);
        w->p += n;
    }
}

void tk_pb_put_uint(tk_pb_writer *w, uint32_t number, uint64_t value)
{
    put_pair(w, TK_PB_TAG(number, TK_PB_VARINT), value);
}

void tk_pb_put_int(tk_pb_writer *w, uint32_t number, int64_t value)
{
    tk_pb_put_uint(w, number, (uint64_t)value);
}

void tk_pb_put_head(tk_pb_writer *w, uint32_t number, size_t n)
{
    put_pair(w, TK_PB_TAG(number, TK_PB_BYTES), n);
}

void tk_pb_put_bytes(tk_pb_writer *w, uint32_t number, const void *data, size_t n)
{
    tk_pb_put_head(w, number, n);
    put_raw(w, data, n);
}

void tk_pb_put_str(tk_pb_writer *w, uint32_t number, tk_str text)
{
    tk_pb_put_bytes(w, number, text.p, text.n);
}

void tk_pb_put_packed(tk_pb_writer *w, uint32_t number, tk_i64s values)
{
    if (values.n == 0) {
        return;
    }
    tk_pb_put_head(w, number, packed_body(values));
    for (size_t i = 0; i < values.n; i++) {
        put_varint(w, (uint64_t)values.p[i]);
    }
}

void tk_pb_put_double_entry(tk_pb_writer *w, uint32_t number, tk_str key, double value)
{
    tk_pb_put_head(w, number, tk_pb_double_entry_size(key));
    tk_pb_put_str(w, 1, key);
    tk_pb_put_double(w, 2, value);
}

void tk_pb_put_double(tk_pb_writer *w, uint32_t number, double value)
{
    put_varint(w, TK_PB_TAG(number, TK_PB_FIXED64));
    tk_pb_put_items(w, &value, 1, sizeof(value));
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
void tk_pb_put_items(tk_pb_writer *w, const void *items, size_t count, size_t item_bytes)
{
    put_raw(w, items, count * item_bytes);
}
#else
void tk_pb_put_items(tk_pb_writer *w, const void *items, size_t count, size_t item_bytes)
{
    if (!fits(w, count * item_bytes)) {
        return;
    }
    const unsigned char *from = items;
    for (size_t i = 0; i < count; i++, from += item_bytes) {
        for (size_t b = item_bytes; b > 0; b--) {
            *w->p++ = from[b - 1];
        }
    }
}
#endif

void tk_pb_put_array(tk_pb_writer *w, uint32_t number, const void *items, size_t count,
                     size_t item_bytes)
{
    tk_pb_put_head(w, number, count * item_bytes);
    tk_pb_put_items(w, items, count, item_bytes);
}
