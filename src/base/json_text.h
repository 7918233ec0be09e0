/* What the reader and the writer of JSON strings share: finding the next byte that needs
 * a look. Inline, because it runs once per string and mostly finds the end at once. */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/json_num.h"

/* The first byte from p on that is not plain: a quote, a backslash, a control character
 * or beyond ASCII; `end` when all are plain. */
static inline const char *tk_json_text_plain_end(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101U;
    const uint64_t high = 0x8080808080808080U;
    while (end - p >= 8) {
        uint64_t v = tk_json_num_load8(p);
        uint64_t quote = v ^ ones * '"';
        uint64_t slash = v ^ ones * '\\';
        /* A borrow can only raise false alarms behind the first true one. */
        uint64_t hits = v | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) |
                        ((v - ones * 0x20) & ~v);
        hits &= high;
        if (hits != 0) {
            return p + __builtin_ctzll(hits) / 8;
        }
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 &&
           *p != '"' && *p != '\\') {
        p++;
    }
    return p;
}

/* Bytes of the well-formed UTF-8 sequence at p (which is before `end`), or 0: overlong
 * forms, surrogates, values above U+10FFFF and cut sequences are not well-formed. */
static inline size_t tk_json_text_utf8(const char *p, const char *end)
{
    const unsigned char *b = (const unsigned char *)p;
    size_t have = (size_t)(end - p);
    if (b[0] < 0x80) {
        return 1;
    }
    if (b[0] < 0xC2 || b[0] > 0xF4 || have < 2) {
        return 0;
    }
    unsigned char low = b[0] == 0xE0 ? 0xA0 : b[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char top = b[0] == 0xED ? 0x9F : b[0] == 0xF4 ? 0x8F : 0xBF;
    if (b[1] < low || b[1] > top) {
        return 0;
    }
    size_t n = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    for (size_t i = 2; i < n; i++) {
        if (i >= have || (b[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return n;
}

#endif
