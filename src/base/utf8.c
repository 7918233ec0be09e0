/* Validation by ranges of the second byte; ASCII runs are skipped eight bytes at a
 * time. */
#include "base/utf8.h"

#include <string.h>

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

/* Bytes that a lead byte announces; 0 for one that may not lead. */
static size_t announced(unsigned char lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* The second byte alone identifies overlong forms, surrogates and values above
 * U+10FFFF. */
static bool second_fits(unsigned char lead, unsigned char second)
{
    switch (lead) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return is_tail(second);
    }
}

size_t tk_utf8_len(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t len = n > 0 ? announced(u[0]) : 0;
    if (len < 2) {
        return len;
    }
    if (len > n || !second_fits(u[0], u[1])) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if (!is_tail(u[i])) {
            return 0;
        }
    }
    return len;
}

size_t tk_utf8_decode(uint32_t *out, const char *p, size_t n)
{
    static const unsigned char lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t len = tk_utf8_len(p, n);
    if (len == 0) {
        return 0;
    }
    uint32_t value = (unsigned char)p[0] & lead_mask[len];
    for (size_t i = 1; i < len; i++) {
        value = value << 6 | ((unsigned char)p[i] & 0x3F);
    }
    *out = value;
    return len;
}

size_t tk_utf8_encode(char out[4], uint32_t code_point)
{
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
        return 0;
    }
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    static const unsigned char lead_bits[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t len = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    out[0] = (char)(lead_bits[len] | code_point);
    return len;
}

static size_t ascii_run(const char *p, size_t n)
{
    size_t i = 0;
    for (uint64_t word; i + sizeof(word) <= n; i += sizeof(word)) {
        memcpy(&word, p + i, sizeof(word));
        if ((word & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
    }
    while (i < n && (unsigned char)p[i] < 0x80) {
        i++;
    }
    return i;
}

/* Three bytes whose first puts no bounds on the second; most of the world's text that is
 * not ASCII and not of two. */
static bool is_plain_three(const unsigned char *u)
{
    return u[0] > 0xE0 && u[0] < 0xF0 && u[0] != 0xED && is_tail(u[1]) && is_tail(u[2]);
}

size_t tk_utf8_valid_prefix(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t i = 0;
    while (i < n) {
        if (u[i] < 0x80) {
            i += ascii_run(p + i, n - i);
            continue;
        }
        while (n - i >= 3 && is_plain_three(u + i)) {
            i += 3;
        }
        if (i == n || u[i] < 0x80) {
            continue;
        }
        size_t len = tk_utf8_len(p + i, n - i);
        if (len == 0) {
            break;
        }
        i += len;
    }
    return i;
}

bool tk_utf8_is_valid(tk_str text)
{
    return tk_utf8_valid_prefix(text.p, text.n) == text.n;
}

size_t tk_utf8_count(tk_str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.n; count++) {
        size_t len = tk_utf8_len(text.p + i, text.n - i);
        i += len > 0 ? len : 1;
    }
    return count;
}

size_t tk_utf8_whole(const char *p, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)p[n - back];
        if (!is_tail(c)) {
            return announced(c) > back ? n - back : n;
        }
    }
    return n;
}

tk_str tk_utf8_cut(tk_str text, size_t max_bytes)
{
    if (text.n > max_bytes) {
        text.n = tk_utf8_whole(text.p, max_bytes);
    }
    return text;
}

bool tk_utf8_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

void tk_utf8_scrub(char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t c = 0;
        size_t len = tk_utf8_decode(&c, p + i, n - i);
        if (len == 0) {
            p[i++] = '?';
            continue;
        }
        if (tk_utf8_is_control(c)) {
            memset(p + i, ' ', len);
        }
        i += len;
    }
}
