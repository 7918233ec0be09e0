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
        /* A borrow can only raise false alarms after the first true one. */
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

#endif
