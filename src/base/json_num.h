/* Numbers as JSON writes them: text to integer or double and back, exactly.
 *
 * Reading is correctly rounded (nearest, ties to even); writing gives the fewest digits
 * that read back to the same value. Neither looks at the locale. Used by json_read.c and
 * json_write.c; the rest of the code goes through json.h and str.h. Thread: any. */
#ifndef BASE_JSON_NUM_H
#define BASE_JSON_NUM_H

#include <string.h>

#include "base/json.h"

/* Reads the JSON number at *at (grammar of RFC 8259 §6) up to `end`. On success returns
 * NULL, fills *out with an INT, UINT or REAL and moves *at past it. Otherwise returns
 * what is wrong (static text) with *at on the offending byte; *out is untouched. A
 * negative zero without fraction or exponent is the integer 0, as in Python. */
const char *tk_json_num_read(const char **at, const char *end, tk_json *out);

/* The double nearest to mantissa * 10^exponent; infinity when it is too large. */
double tk_json_num_of_decimal(uint64_t mantissa, int64_t exponent);

/* Room that one number needs. The writers below may scribble over all of it; they return
 * the bytes that count and add no NUL. */
#define TK_JSON_NUM_BYTES 32

size_t tk_json_num_put_i64(char *room, int64_t value);
size_t tk_json_num_put_u64(char *room, uint64_t value);

/* Finite values only. Always with a fraction or an exponent ("3.0", "1e+16"), so that a
 * real stays a real; the choice between both forms is Python's. The float form has the
 * fewest digits that read back to the same float, also by way of a double, as most
 * readers of JSON do it. */
size_t tk_json_num_put_double(char *room, double value);
size_t tk_json_num_put_float(char *room, float value);

/* ---- eight characters at a time ---- */

/* The byte at p in the lowest bits, whatever the machine's byte order. */
static inline uint64_t tk_json_num_load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* The high bit of each byte that is not an ASCII digit (other bits are 0). */
static inline uint64_t tk_json_num_nondigits8(uint64_t v)
{
    const uint64_t high = 0x8080808080808080U;
    uint64_t low7 = v & ~high;
    uint64_t below = (low7 | high) - 0x3030303030303030U; /* bit 7 clear: below '0' */
    uint64_t above = low7 + (0x7F - 0x39) * 0x0101010101010101U; /* set: above '9' */
    return (~below | above | v) & high;
}

/* The number that eight digit values 0-9 (not characters) spell, first in the lowest
 * byte. */
static inline uint32_t tk_json_num_join8(uint64_t digits)
{
    const uint64_t mask = 0x000000FF000000FFU;
    uint64_t pairs = digits * 10 + (digits >> 8); /* bytes 0, 2, 4, 6 hold 0-99 */
    uint64_t upper = (pairs & mask) * (100 + (UINT64_C(1000000) << 32));
    uint64_t lower = ((pairs >> 16) & mask) * (1 + (UINT64_C(10000) << 32));
    return (uint32_t)((upper + lower) >> 32);
}

#endif
