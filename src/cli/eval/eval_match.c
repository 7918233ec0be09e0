/* Compares answers with what is expected. */
#include "cli/eval/eval_match.h"

#include <math.h>
#include <string.h>

#define NUMBER_BYTES 64

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns whether exactly three digits begin at text[at]. */
static bool is_group(tk_str text, size_t at)
{
    size_t n = 0;
    while (n < 4 && at + n < text.n && is_digit(text.p[at + n])) {
        n++;
    }
    return n == 3;
}

/* Returns whether the hyphen before text[at] is a sign: in "3-4" it is not. */
static bool has_sign(tk_str text, size_t at)
{
    return at > 0 && text.p[at - 1] == '-' && !(at > 1 && is_digit(text.p[at - 2]));
}

/* Reads the number that begins at text[at]; returns its end. */
static size_t read_number(tk_str text, size_t at, double *out)
{
    char copy[NUMBER_BYTES];
    size_t n = 0, i = at;
    bool has_point = false;
    for (; i < text.n && n < sizeof(copy); i++) {
        char c = text.p[i];
        bool has_next = i + 1 < text.n && is_digit(text.p[i + 1]);
        if (is_digit(c)) {
            copy[n++] = c;
        } else if (c == '.' && !has_point && has_next) {
            has_point = true;
            copy[n++] = c;
        } else if (!(c == ',' && !has_point && is_group(text, i + 1))) {
            break;
        }
    }
    double value = 0;
    bool is_negative = has_sign(text, at);
    if (tk_str_to_double((tk_str){copy, n}, &value)) {
        *out = is_negative ? -value : value;
    }
    return i;
}

bool eval_match_number(tk_str text, double *out)
{
    bool has = false;
    for (size_t i = 0; i < text.n;) {
        if (is_digit(text.p[i])) {
            has = true;
            i = TK_MAX(read_number(text, i, out), i + 1);
        } else {
            i++;
        }
    }
    return has;
}

bool eval_match_is_right(eval_match match, tk_str answer, tk_str expected)
{
    tk_str a = tk_str_trim(answer), b = tk_str_trim(expected);
    double x = 0, y = 0;
    switch (match) {
    case EVAL_CONTAINS:
        return b.n > 0 && a.n >= b.n && memmem(a.p, a.n, b.p, b.n) != NULL;
    case EVAL_NUMBER:
        return eval_match_number(a, &x) && eval_match_number(b, &y) &&
               fabs(x - y) <= 1e-9 * fmax(1, fabs(y));
    case EVAL_EXACT:
        break;
    }
    return tk_str_eq(a, b);
}
