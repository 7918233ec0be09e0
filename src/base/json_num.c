/* Text to numbers: the JSON number reader and the tk_str_to_* family of str.h.
 *
 * Doubles take one of three ways. (1) Up to 2^53 with a power of ten up to 22: both
 * operands are exact, one multiplication or division rounds correctly. (2) Up to 19
 * digits: their product with a 128-bit power of ten (the method of Eisel and Lemire; that
 * it always decides is the result of Mushtak and Lemire, 2023). (3) More digits, where
 * the first 19 do not settle it: libc's strtod, on a text of digits and exponent only;
 * without a decimal point it does not depend on the locale. 780 digits and a sticky last
 * one are enough, because no border between two doubles has more than 767. */
#include "base/json_num.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_pow10.h"

#define MANTISSA_DIGITS   19  /* always fit 64 bits */
#define SLOW_DIGITS       780 /* more than any border between two doubles has */
#define MAX_EXPONENT_READ INT64_C(1000000000000)

/* A number as it is written in the text. Digit i has the weight 10^(int_digits - 1 - i +
 * exponent). */
typedef struct scanned {
    const char *first; /* first digit of the integer part */
    size_t int_digits;
    size_t digits; /* of integer part and fraction together */
    int64_t exponent;
    uint64_t low; /* the digits as an integer modulo 2^64: exact up to 19 digits */
    bool negative;
    bool integer; /* neither fraction nor exponent */
} scanned;

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static unsigned digit_at(const scanned *s, size_t i)
{
    return (unsigned)(s->first[i < s->int_digits ? i : i + 1] - '0');
}

static const char *scan_digits(const char *p, const char *end, uint64_t *low)
{
    uint64_t value = *low;
    while (end - p >= 8) {
        uint64_t chars = tk_json_num_load8(p);
        if (tk_json_num_nondigits8(chars) != 0) {
            break;
        }
        value = value * 100000000 + tk_json_num_join8(chars - 0x3030303030303030U);
        p += 8;
    }
    for (; p < end && is_digit(*p); p++) {
        value = value * 10 + (uint64_t)(*p - '0');
    }
    *low = value;
    return p;
}

static const char *scan_fraction(const char **at, const char *end, scanned *s)
{
    const char *first = *at + 1;
    *at = scan_digits(first, end, &s->low);
    s->digits += (size_t)(*at - first);
    s->integer = false;
    return *at == first ? "expected a digit after the decimal point" : NULL;
}

static const char *scan_exponent(const char **at, const char *end, scanned *s)
{
    const char *p = *at + 1;
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    const char *first = p;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++) {
        if (value < MAX_EXPONENT_READ) {
            value = value * 10 + (*p - '0');
        }
    }
    *at = p;
    s->exponent = negative ? -value : value;
    s->integer = false;
    return p == first ? "expected a digit in the exponent" : NULL;
}

static const char *scan(const char **at, const char *end, scanned *s)
{
    const char *p = *at;
    const char *fault = NULL;
    memset(s, 0, sizeof(*s));
    s->negative = p < end && *p == '-';
    p += s->negative;
    s->first = p;
    s->integer = true;
    p = scan_digits(p, end, &s->low);
    s->int_digits = s->digits = (size_t)(p - s->first);
    if (s->digits == 0) {
        fault = "expected a digit";
    } else if (s->digits > 1 && *s->first == '0') {
        fault = "number with a leading zero";
        p = s->first;
    }
    if (fault == NULL && p < end && *p == '.') {
        fault = scan_fraction(&p, end, s);
    }
    if (fault == NULL && p < end && (*p == 'e' || *p == 'E')) {
        fault = scan_exponent(&p, end, s);
    }
    *at = p;
    return fault;
}

static bool scan_whole(tk_str text, scanned *s)
{
    const char *at = text.p;
    return text.n > 0 && scan(&at, text.p + text.n, s) == NULL && at == text.p + text.n;
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Way 1. Only where the compiler computes in doubles, not in wider registers. */
static bool small_double(uint64_t mantissa, int64_t exponent, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (FLT_EVAL_METHOD != 0 || mantissa > (UINT64_C(1) << 53) || exponent < -22 ||
        exponent > 22) {
        return false;
    }
    double value = (double)mantissa;
    *out = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    return true;
}

/* mantissa * 10^exponent, first 128 bits: *hi and *lo. The mantissa has its top bit set.
 * The second half of the power matters only when it could carry into the bits that decide
 * the rounding. */
static void multiply_pow10(uint64_t mantissa, int exponent, uint64_t *hi, uint64_t *lo)
{
    tk_json_pow10 power = tk_json_pow10_table[exponent - TK_JSON_POW10_MIN];
    if (exponent >= -27 && exponent < 0) {
        power.lo++; /* the reciprocals of exact powers are needed rounded up */
        power.hi += power.lo == 0;
    }
    unsigned __int128 product = (unsigned __int128)mantissa * power.hi;
    if (((uint64_t)(product >> 64) & 0x1FF) == 0x1FF) {
        product += (uint64_t)(((unsigned __int128)mantissa * power.lo) >> 64);
    }
    *hi = (uint64_t)(product >> 64);
    *lo = (uint64_t)product;
}

/* Way 2, for a mantissa of exactly these digits. Infinity means overflow. `keep` holds 54
 * bits: the 53 of the result and the one that rounds. */
static double product_double(uint64_t mantissa, int64_t exponent)
{
    const uint64_t infinity = UINT64_C(0x7FF) << 52;
    if (mantissa == 0 || exponent < TK_JSON_POW10_MIN) {
        return 0;
    }
    if (exponent > 308) {
        return double_of_bits(infinity);
    }
    int zeros = __builtin_clzll(mantissa);
    uint64_t hi, lo;
    multiply_pow10(mantissa << zeros, (int)exponent, &hi, &lo);
    int top = (int)(hi >> 63);
    uint64_t keep = hi >> (top + 9);
    /* 217706 / 2^16 is log2(10), close enough for every exponent here. */
    int64_t biased = ((217706 * exponent) >> 16) + 63 + top - zeros + 1023;
    if (biased <= 0) {
        keep = biased > -63 ? keep >> (1 - biased) : 0;
        keep = (keep + (keep & 1)) >> 1;
        return double_of_bits(keep); /* 2^52, if reached, is the exponent's first bit */
    }
    bool halfway = lo <= 1 && exponent >= -4 && exponent <= 23 && (keep & 3) == 1 &&
                   keep << (top + 9) == hi;
    keep -= halfway; /* exactly between two doubles: to the even one */
    keep = (keep + (keep & 1)) >> 1;
    if (keep >> 53 != 0) {
        keep >>= 1;
        biased++;
    }
    keep &= (UINT64_C(1) << 52) - 1;
    return double_of_bits(biased < 0x7FF ? (uint64_t)biased << 52 | keep : infinity);
}

double tk_json_num_of_decimal(uint64_t mantissa, int64_t exponent)
{
    double value;
    return small_double(mantissa, exponent, &value) ? value
                                                    : product_double(mantissa, exponent);
}

/* Way 3; `skip` leading zeros are known. */
static double slow_double(const scanned *s, size_t skip)
{
    char text[SLOW_DIGITS + 40];
    size_t n = 0;
    size_t i = skip;
    for (; i < s->digits && n < SLOW_DIGITS; i++) {
        text[n++] = (char)('0' + digit_at(s, i));
    }
    int64_t exponent = (int64_t)s->int_digits - (int64_t)i + s->exponent;
    bool sticky = false;
    for (; i < s->digits && !sticky; i++) {
        sticky = digit_at(s, i) != 0;
    }
    if (sticky) {
        text[n++] = '1';
        exponent--;
    }
    (void)snprintf(text + n, sizeof(text) - n, "e%lld", (long long)exponent);
    return strtod(text, NULL);
}

/* More digits than 64 bits hold: the first 19 and the knowledge that some follow. When
 * that and the next larger mantissa give the same double, so does the whole. */
static double many_digits_double(const scanned *s)
{
    size_t skip = 0;
    while (skip < s->digits && digit_at(s, skip) == 0) {
        skip++;
    }
    uint64_t mantissa = 0;
    size_t i = skip;
    for (; i < s->digits && i < skip + MANTISSA_DIGITS; i++) {
        mantissa = mantissa * 10 + digit_at(s, i);
    }
    int64_t exponent = (int64_t)s->int_digits - (int64_t)i + s->exponent;
    double low = product_double(mantissa, exponent);
    bool same = i == s->digits || product_double(mantissa + 1, exponent) == low;
    return same ? low : slow_double(s, skip);
}

/* False on overflow. */
static bool to_double(const scanned *s, double *out)
{
    int64_t exponent = (int64_t)s->int_digits - (int64_t)s->digits + s->exponent;
    double value = s->digits > MANTISSA_DIGITS ? many_digits_double(s)
                                               : tk_json_num_of_decimal(s->low, exponent);
    if (value > DBL_MAX) {
        return false;
    }
    *out = s->negative ? -value : value;
    return true;
}

/* The digits as an integer; false when it does not fit. */
static bool to_magnitude(const scanned *s, uint64_t *out)
{
    if (s->digits <= MANTISSA_DIGITS) {
        *out = s->low;
        return true;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < s->digits; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit_at(s, i), &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

static bool to_signed(uint64_t magnitude, bool negative, int64_t *out)
{
    if (magnitude > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *out = negative ? -(int64_t)(magnitude - (magnitude > 0)) - (magnitude > 0)
                    : (int64_t)magnitude;
    return true;
}

static bool to_integer(const scanned *s, tk_json *out)
{
    uint64_t magnitude;
    if (!to_magnitude(s, &magnitude)) {
        return false;
    }
    if (to_signed(magnitude, s->negative, &out->as.integer)) {
        out->type = TK_JSON_INT;
        return true;
    }
    if (s->negative) {
        return false;
    }
    out->type = TK_JSON_UINT;
    out->as.uinteger = magnitude;
    return true;
}

const char *tk_json_num_read(const char **at, const char *end, tk_json *out)
{
    const char *start = *at;
    scanned s;
    const char *fault = scan(at, end, &s);
    if (fault != NULL || (s.integer && to_integer(&s, out))) {
        return fault;
    }
    double value;
    if (!to_double(&s, &value)) {
        *at = start;
        return "number too large for a double";
    }
    out->type = TK_JSON_REAL;
    out->as.real = value;
    return NULL;
}

bool tk_str_to_u64(tk_str a, uint64_t *out)
{
    scanned s = {.first = a.p, .int_digits = a.n, .digits = a.n};
    return a.n > 0 && scan_digits(a.p, a.p + a.n, &s.low) == a.p + a.n &&
           to_magnitude(&s, out);
}

bool tk_str_to_i64(tk_str a, int64_t *out)
{
    bool negative = a.n > 0 && a.p[0] == '-';
    tk_str digits = {negative ? a.p + 1 : a.p, negative ? a.n - 1 : a.n};
    uint64_t magnitude;
    return tk_str_to_u64(digits, &magnitude) && to_signed(magnitude, negative, out);
}

bool tk_str_to_double(tk_str a, double *out)
{
    scanned s;
    return scan_whole(a, &s) && to_double(&s, out);
}
