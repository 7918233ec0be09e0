/* Numbers to text. Integers go eight digits at a time; doubles and floats take the
 * shortest decimal inside their rounding interval, found with one 128-bit power of ten
 * (the Schubfach method of Raffaello Giulietti). No libc formatting: nothing here depends
 * on the locale. */
#include "base/json_num.h"

#include "base/json_pow10.h"

/* digits * 10^exponent */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

static void store8(char *room, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(room, &v, sizeof(v));
}

/* The eight digit values of v < 10^8, first digit in the lowest byte: v is split into two
 * lanes of four digits, those into four of two, those into eight of one. The factors are
 * 1/100 and 1/10 rounded up, exact over the lanes' ranges. */
static uint64_t split8(uint32_t v)
{
    uint64_t fours = v / 10000 | (uint64_t)(v % 10000) << 32;
    uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007F0000007F;
    uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = ((pairs * 103) >> 10) & 0x000F000F000F000F;
    return tens | (pairs - tens * 10) << 8;
}

static size_t put_small(char *room, uint32_t v)
{
    uint64_t digits = split8(v);
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
    store8(room, (digits >> (zeros * 8)) + 0x3030303030303030U);
    return 8 - zeros;
}

static void put_eight(char *room, uint32_t v)
{
    store8(room, split8(v) + 0x3030303030303030U);
}

size_t tk_json_num_put_u64(char *room, uint64_t value)
{
    const uint64_t unit = 100000000;
    if (value < unit) {
        return put_small(room, (uint32_t)value);
    }
    uint64_t upper = value / unit;
    size_t n;
    if (upper < unit) {
        n = put_small(room, (uint32_t)upper);
    } else {
        n = put_small(room, (uint32_t)(upper / unit));
        put_eight(room + n, (uint32_t)(upper % unit));
        n += 8;
    }
    put_eight(room + n, (uint32_t)(value % unit));
    return n + 8;
}

size_t tk_json_num_put_i64(char *room, int64_t value)
{
    if (value >= 0) {
        return tk_json_num_put_u64(room, (uint64_t)value);
    }
    room[0] = '-';
    return 1 + tk_json_num_put_u64(room + 1, 0 - (uint64_t)value);
}

/* floor(power * value / 2^128), with the last bit set when something was cut off. */
static uint64_t round_to_odd(tk_json_pow10 power, uint64_t value)
{
    uint64_t carry = (uint64_t)(((unsigned __int128)power.lo * value) >> 64);
    unsigned __int128 product = (unsigned __int128)power.hi * value + carry;
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* The power rounded up, as the method needs it. */
static tk_json_pow10 pow10_above(int exponent)
{
    tk_json_pow10 power = tk_json_pow10_table[exponent - TK_JSON_POW10_MIN];
    if (exponent < 0 || exponent > TK_JSON_POW10_EXACT_MAX) {
        power.lo++;
        power.hi += power.lo == 0;
    }
    return power;
}

/* The shortest decimal that rounds to c * 2^q, the closest one where several are equally
 * short. `narrow_below`: c is a power of two, so the neighbour below is only half as far.
 * Everything is computed in quarters of 10^k, where k is chosen so that the interval
 * between the two borders holds at least one multiple of 10^k and at most one of
 * 10^(k+1). */
static decimal shortest(uint64_t c, int q, bool narrow_below)
{
    int k = (q * 1262611 - (narrow_below ? 524031 : 0)) >> 22; /* floor(log10(2^q)) */
    int h = q + ((-k * 1741647) >> 19) + 1;                    /* floor(log2(10^-k)) */
    tk_json_pow10 power = pow10_above(-k);
    uint64_t low = round_to_odd(power, (4 * c - 2 + narrow_below) << h);
    uint64_t mid = round_to_odd(power, (4 * c) << h);
    uint64_t high = round_to_odd(power, (4 * c + 2) << h);
    uint64_t odd = c & 1; /* the borders themselves round to an even c only */
    low += odd;
    high -= odd;
    uint64_t s = mid / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        bool below = low <= 40 * tens;
        bool above = 40 * tens + 40 <= high;
        if (below != above) {
            return (decimal){tens + above, k + 1};
        }
    }
    bool below = low <= 4 * s;
    bool above = 4 * s + 4 <= high;
    if (below != above) {
        return (decimal){s + above, k};
    }
    bool up = mid > 4 * s + 2 || (mid == 4 * s + 2 && (s & 1) != 0);
    return (decimal){s + up, k};
}

static size_t put_exponent(char *room, int exponent)
{
    unsigned magnitude = (unsigned)(exponent < 0 ? -exponent : exponent);
    size_t n = 0;
    room[n++] = 'e';
    room[n++] = exponent < 0 ? '-' : '+';
    if (magnitude >= 100) {
        room[n++] = (char)('0' + magnitude / 100);
    }
    room[n++] = (char)('0' + magnitude / 10 % 10);
    room[n++] = (char)('0' + magnitude % 10);
    return n;
}

/* `n` digits with the decimal point after the first `point` of them, -4 < point <= 16. */
static size_t put_fixed(char *room, const char *digits, size_t n, int point)
{
    if (point <= 0) {
        size_t lead = 2 + (size_t)-point;
        memcpy(room, "0.000", 5);
        memcpy(room + lead, digits, n);
        return lead + n;
    }
    size_t whole = (size_t)point;
    if (n <= whole) {
        memset(room, '0', whole + 2);
        memcpy(room, digits, n);
        room[whole] = '.';
        return whole + 2;
    }
    memcpy(room, digits, whole);
    room[whole] = '.';
    memcpy(room + whole + 1, digits + whole, n - whole);
    return n + 1;
}

static size_t put_decimal(char *room, decimal d)
{
    char digits[TK_JSON_NUM_BYTES];
    size_t n = tk_json_num_put_u64(digits, d.digits);
    int point = (int)n + d.exponent;
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    if (point > -4 && point <= 16) {
        return put_fixed(room, digits, n, point);
    }
    room[0] = digits[0];
    size_t used = 1;
    if (n > 1) {
        room[used++] = '.';
        memcpy(room + used, digits + 1, n - 1);
        used += n - 1;
    }
    return used + put_exponent(room + used, point - 1);
}

/* An integer below 2^53 needs no search. */
static size_t put_whole(char *room, uint64_t value)
{
    size_t n = tk_json_num_put_u64(room, value);
    room[n] = '.';
    room[n + 1] = '0';
    return n + 2;
}

size_t tk_json_num_put_double(char *room, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    room[0] = '-';
    size_t sign = (size_t)(bits >> 63);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)((bits >> 52) & 0x7FF);
    uint64_t c = biased > 0 ? fraction | UINT64_C(1) << 52 : fraction;
    int q = biased > 0 ? biased - 1075 : -1074;
    if (c == 0 || (q <= 0 && q > -53 && (c & ((UINT64_C(1) << -q) - 1)) == 0)) {
        return sign + put_whole(room + sign, c == 0 ? 0 : c >> -q);
    }
    return sign + put_decimal(room + sign, shortest(c, q, fraction == 0 && biased > 1));
}

/* The shortest decimal of a float can lie so close to the border to its neighbour that,
 * read as a double, it becomes the border itself and then the neighbour. The digits of
 * the float's exact value as a double are safe. */
static size_t put_float_decimal(char *room, float magnitude, decimal d)
{
    if ((float)tk_json_num_of_decimal(d.digits, d.exponent) != magnitude) {
        return tk_json_num_put_double(room, (double)magnitude);
    }
    return put_decimal(room, d);
}

size_t tk_json_num_put_float(char *room, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    room[0] = '-';
    size_t sign = bits >> 31;
    uint32_t fraction = bits & ((UINT32_C(1) << 23) - 1);
    int biased = (int)((bits >> 23) & 0xFF);
    uint32_t c = biased > 0 ? fraction | UINT32_C(1) << 23 : fraction;
    int q = biased > 0 ? biased - 150 : -149;
    if (c == 0 || (q <= 0 && q > -24 && (c & ((UINT32_C(1) << -q) - 1)) == 0)) {
        return sign + put_whole(room + sign, c == 0 ? 0 : c >> -q);
    }
    decimal d = shortest(c, q, fraction == 0 && biased > 1);
    return sign + put_float_decimal(room + sign, sign != 0 ? -value : value, d);
}
