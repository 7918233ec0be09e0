/* Packed arrays: counting ahead, the loop for token ids, and the switch from integers to
 * doubles; see json_packed.h. */
#include "base/json_packed.h"

#include "base/json_num.h"

/* Integers up to here survive as doubles. */
#define EXACT_DOUBLE (INT64_C(1) << 53)

/* Blocks of 64 have no exit inside, so that compilers vectorise them. */
size_t tk_json_packed_count(const char *p, const char *end)
{
    const char *first = p;
    size_t commas = 0;
    while (end - p >= 64) {
        unsigned char found = 0;
        unsigned char stops = 0;
        for (int i = 0; i < 64; i++) {
            unsigned char c = (unsigned char)p[i];
            found = (unsigned char)(found + (c == ','));
            /* Brackets, braces, letters of the literals, non-ASCII: not 'e' or 'E'. */
            stops = (unsigned char)(stops | ((c | 0x20) >= 'f') | (c == '"'));
        }
        if (stops != 0) {
            break;
        }
        commas += found;
        p += 64;
    }
    for (; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        commas += c == ',';
        if ((c | 0x20) >= 'f' || c == '"') {
            /* Each element and each comma takes a character: a text with more commas than
             * that is malformed, and no memory is reserved for it. */
            return c == ']' && commas <= (size_t)(p - first) / 2 ? commas + 1 : 0;
        }
    }
    return 0;
}

/* The bit position of the first comma among eight characters; 64 when there is none. */
static unsigned comma_bits(uint64_t chars)
{
    const uint64_t ones = 0x0101010101010101U;
    uint64_t x = chars ^ ones * ',';
    x = (x - ones) & ~x & (ones << 7); /* false alarms only after the first comma */
    return x != 0 ? (unsigned)__builtin_ctzll(x) & ~7U : 64;
}

/* Each element starts where the one before ended, so the way from one load to the next is
 * what counts. It leads through the position of the comma alone: whether there are only
 * digits before it and a blank after it (as after the first) is checked in parallel. */
size_t tk_json_packed_read_ints(int64_t *cells, size_t n, const char **at,
                                const char *end)
{
    const char *p = *at;
    size_t first = end - p >= 10 ? comma_bits(tk_json_num_load8(p)) / 8 : 8;
    size_t blank = first < 8 && p[first + 1] == ' ';
    while (end - p >= 10) {
        uint64_t chars = tk_json_num_load8(p);
        unsigned bits = comma_bits(chars);
        if (bits == 0 || bits == 64 ||
            tk_json_num_nondigits8(chars) << (64 - bits) != 0 ||
            (*p == '0' && bits > 8)) {
            break;
        }
        cells[n++] = tk_json_num_join8((chars - 0x3030303030303030U) << (64 - bits));
        p += bits / 8 + 1;
        if (blank != 0 && *p != ' ') {
            break;
        }
        p += blank;
    }
    *at = p;
    return n;
}

static bool is_exact_double(int64_t value)
{
    return value >= -EXACT_DOUBLE && value <= EXACT_DOUBLE;
}

/* Turns packed integers into packed doubles in place; false when one would change. */
static bool cells_to_reals(void *cells, size_t n)
{
    const int64_t *ints = cells;
    double *reals = cells;
    for (size_t i = 0; i < n; i++) {
        if (!is_exact_double(ints[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        reals[i] = (double)ints[i];
    }
    return true;
}

bool tk_json_packed_store(void *cells, size_t n, bool *real, const tk_json *number)
{
    if (!*real && number->type == TK_JSON_INT) {
        ((int64_t *)cells)[n] = number->as.integer;
        return true;
    }
    if (number->type == TK_JSON_UINT || (!*real && !cells_to_reals(cells, n))) {
        return false;
    }
    *real = true;
    if (number->type == TK_JSON_REAL) {
        ((double *)cells)[n] = number->as.real;
        return true;
    }
    ((double *)cells)[n] = (double)number->as.integer;
    return is_exact_double(number->as.integer);
}
