/* Hex text to bytes and back, for the protobuf tests. */
#ifndef TESTS_WIRE_PB_HEX_H
#define TESTS_WIRE_PB_HEX_H

#include "base/buf.h"
#include "support/test.h"
#include "wire/field.h"

#define PB_HEX_MAX 1024

typedef struct pb_hex {
    _Alignas(16) unsigned char p[PB_HEX_MAX];
    size_t n;
} pb_hex;

static inline unsigned pb_hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* Blanks are ignored; "( ... )" writes the length of what is inside and then the
 * content. */
static inline tk_bytes pb_hex_bytes(pb_hex *hex, const char *text)
{
    size_t open[16];
    size_t depth = 0;
    hex->n = 0;
    for (const char *c = text; *c != '\0'; c++) {
        assert_true(hex->n < PB_HEX_MAX);
        if (*c == '(') {
            open[depth++] = hex->n++;
        } else if (*c == ')') {
            size_t at = open[--depth];
            assert_true(hex->n - at - 1 < 128);
            hex->p[at] = (unsigned char)(hex->n - at - 1);
        } else if (*c != ' ') {
            hex->p[hex->n++] =
                (unsigned char)(pb_hex_digit(c[0]) << 4 | pb_hex_digit(c[1]));
            c++;
        }
    }
    assert_int_equal(depth, 0);
    tk_bytes view = {hex->p, hex->n};
    return view;
}

static inline void pb_hex_assert(const tk_buf *got, const char *want)
{
    pb_hex hex;
    tk_bytes bytes = pb_hex_bytes(&hex, want);
    assert_int_equal(got->n, bytes.n);
    assert_memory_equal(got->p, bytes.p, bytes.n);
}

#endif
