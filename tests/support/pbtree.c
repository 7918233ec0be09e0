/* See pbtree.h. */
#include "support/pbtree.h"

static bool read_varint(uint64_t *out, const char **at, const char *end)
{
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

bool pbtree_read(pbtree_field *out, const char *at, const char *end)
{
    uint64_t tag = 0, n = 0;
    *out = (pbtree_field){0};
    if (!read_varint(&tag, &at, end)) {
        return false;
    }
    out->number = tag >> 3;
    out->wire = (unsigned)(tag & 7);
    if (out->wire == 0) {
        out->end = at;
        bool ok = read_varint(&out->value, &out->end, end);
        return ok && out->number > 0;
    }
    n = out->wire == 1 ? 8 : out->wire == 5 ? 4 : 0;
    if ((out->wire != 2 && n == 0) || (out->wire == 2 && !read_varint(&n, &at, end)) ||
        n > (uint64_t)(end - at)) {
        return false;
    }
    out->payload = (tk_str){at, (size_t)n};
    out->end = at + n;
    return out->number > 0;
}

void pbtree_put_varint(tk_buf *out, uint64_t value)
{
    while (value >= 0x80) {
        tk_buf_putc(out, (char)(value | 0x80));
        value >>= 7;
    }
    tk_buf_putc(out, (char)value);
}

void pbtree_put_tag(tk_buf *out, uint64_t number, unsigned wire)
{
    pbtree_put_varint(out, number << 3 | wire);
}

void pbtree_put_content(tk_buf *out, const pbtree_field *field)
{
    if (field->wire == 0) {
        pbtree_put_varint(out, field->value);
        return;
    }
    if (field->wire == 2) {
        pbtree_put_varint(out, field->payload.n);
    }
    tk_buf_put(out, field->payload.p, field->payload.n);
}

void pbtree_put(tk_buf *out, const pbtree_field *field)
{
    pbtree_put_tag(out, field->number, field->wire);
    pbtree_put_content(out, field);
}
