/* Filters that make or change a number: int, float, abs, round; and texts as Python's
 * int() and float() read them. */
#include <math.h>

#include "base/json_num.h"
#include "text/jinja/jinja_run.h"

#define NUMBER_BYTES 512 /* longer texts are not numbers */

static int digit_at(tk_str s, size_t at)
{
    uint32_t code = 0;
    size_t n = tk_jstr_char(&code, (tk_str){s.p + at, s.n - at});
    return n > 0 ? tk_jstr_decimal(code) : -1;
}

/* What int() and float() read of a text: without the blanks around it, underscores
 * between digits and zeros in front; digits of any script are those of ASCII. */
static bool plain_number(tk_str s, char room[NUMBER_BYTES], tk_str *out)
{
    size_t n = 0;
    bool was_digit = false, leads = true;
    s = tk_jstr_rstrip(tk_jstr_lstrip(s));
    for (size_t at = 0, k; at < s.n; at += k) {
        uint32_t code = 0;
        k = tk_jstr_char(&code, (tk_str){s.p + at, s.n - at});
        int digit = tk_jstr_decimal(code), next = digit_at(s, at + k);
        if (code == '_' && was_digit && next >= 0) {
            continue;
        }
        bool is_sign = at == 0 && (code == '-' || code == '+');
        size_t after = at + k < s.n && s.p[at + k] == '_' ? at + k + 1 : at + k;
        was_digit = digit >= 0;
        leads = leads && (is_sign || digit == 0);
        if (leads && !is_sign && digit_at(s, after) >= 0) {
            continue;
        }
        if (n == NUMBER_BYTES || (code >= 0x80 && digit < 0) || code == '_') {
            return false;
        }
        room[n++] = digit >= 0 ? (char)('0' + digit) : (char)code;
    }
    *out = (tk_str){room, n};
    return n > 0;
}

/* Takes the sign off the front; false when another follows. */
static bool take_sign(tk_str *s, bool *negative)
{
    *negative = s->n > 0 && s->p[0] == '-';
    if (s->n > 0 && (s->p[0] == '-' || s->p[0] == '+')) {
        s->p++;
        s->n--;
    }
    return s->n > 0 && s->p[0] != '-' && s->p[0] != '+';
}

static bool parse_int(tk_str s, int64_t *out)
{
    char room[NUMBER_BYTES];
    bool negative;
    if (!plain_number(s, room, &s) || !take_sign(&s, &negative)) {
        return false;
    }
    tk_str signed_text = negative ? (tk_str){s.p - 1, s.n + 1} : s;
    return tk_str_to_i64(signed_text, out);
}

static bool parse_float(tk_str s, double *out)
{
    char digits[NUMBER_BYTES], room[NUMBER_BYTES + 1];
    size_t n = 0;
    bool negative;
    if (!plain_number(s, digits, &s) || !take_sign(&s, &negative)) {
        return false;
    }
    if (tk_str_is_nocase(s, "inf") || tk_str_is_nocase(s, "infinity") ||
        tk_str_is_nocase(s, "nan")) {
        *out = (s.p[0] | 0x20) == 'n' ? NAN : negative ? -INFINITY : INFINITY;
        return true;
    }
    if (s.p[0] == '.') {
        room[n++] = '0';
    }
    for (size_t i = 0; i < s.n; i++) {
        bool ends = s.p[i] == '.' && (i + 1 == s.n || (s.p[i + 1] | 0x20) == 'e');
        if (ends && i == 0) {
            return false;
        }
        if (!ends) {
            room[n++] = s.p[i];
        }
    }
    if (!tk_str_to_double((tk_str){room, n}, out)) {
        return false;
    }
    *out = negative ? -*out : *out;
    return true;
}

static bool fits_int(double value)
{
    return value > -9.2e18 && value < 9.2e18;
}

TK_JFUNC(do_int)
{
    const tk_jval *fallback = tk_jargs_at(args, 0);
    int64_t base = 10, i;
    double f;
    if (!tk_jargs_int(run, args, 1, 10, &base)) {
        return false;
    }
    if (base != 10) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "int with a base");
    }
    if (self.type == TK_JT_STR && !tk_jrun_bytes(run, self.as.s.n)) {
        return false;
    }
    if (tk_jval_as_int(&self, &i)) {
        *out = tk_jval_int(i);
    } else if (self.type == TK_JT_FLOAT && fits_int(self.as.f)) {
        *out = tk_jval_int((int64_t)self.as.f);
    } else if (self.type == TK_JT_STR && parse_int(self.as.s, &i)) {
        *out = tk_jval_int(i);
    } else if (self.type == TK_JT_STR && parse_float(self.as.s, &f) && fits_int(f)) {
        *out = tk_jval_int((int64_t)f);
    } else if (self.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, self);
    } else if ((self.type == TK_JT_FLOAT && isfinite(self.as.f)) ||
               (self.type == TK_JT_STR && parse_float(self.as.s, &f) && isfinite(f))) {
        return tk_jrun_too_large(run);
    } else {
        *out = fallback != NULL ? *fallback : tk_jval_int(0);
    }
    return true;
}

TK_JFUNC(do_float)
{
    const tk_jval *fallback = tk_jargs_at(args, 0);
    double f;
    if (self.type == TK_JT_STR && !tk_jrun_bytes(run, self.as.s.n)) {
        return false;
    }
    if (tk_jval_is_number(&self)) {
        *out = tk_jval_float(tk_jval_as_double(&self));
    } else if (self.type == TK_JT_STR && parse_float(self.as.s, &f)) {
        *out = tk_jval_float(f);
    } else if (self.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, self);
    } else {
        *out = fallback != NULL ? *fallback : tk_jval_float(0);
    }
    return true;
}

TK_JFUNC(do_abs)
{
    (void)args;
    int64_t i;
    if (tk_jval_as_int(&self, &i)) {
        if (i == INT64_MIN) {
            return tk_jrun_too_large(run);
        }
        *out = tk_jval_int(i < 0 ? -i : i);
        return true;
    }
    if (self.type == TK_JT_FLOAT) {
        *out = tk_jval_float(fabs(self.as.f));
        return true;
    }
    return tk_jrun_raise(run, "bad operand type for abs(): '%s'",
                         tk_jval_type_name(&self));
}

/* To a multiple of ten to the power -digits, half to even. */
static bool round_int(tk_jrun *run, int64_t value, int64_t digits, int64_t *out)
{
    int64_t unit = 1;
    if (digits < -17) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "round: too many digits");
    }
    for (; digits < 0; digits++) {
        unit *= 10;
    }
    int64_t rest = value % unit;
    int64_t twice = 2 * (rest < 0 ? -rest : rest);
    bool away = twice > unit || (twice == unit && value / unit % 2 != 0);
    int64_t step = !away ? 0 : rest < 0 ? -unit : unit;
    return !__builtin_add_overflow(value - rest, step, out) || tk_jrun_too_large(run);
}

/* round() of Python: half to even, decided on the decimal that was meant. */
static double round_half_even(double value, int64_t digits)
{
    double scale = pow(10, (double)digits);
    double scaled = value * scale;
    if (!(fabs(scaled) < 9007199254740992.0) && digits > 0) {
        return value; /* has no digits there */
    }
    double r = nearbyint(scaled);
    /* The product may have been rounded onto a half that the value is not. */
    if (fabs(scaled - trunc(scaled)) - 0.5 == 0.0 && digits > 0) {
        double error = fma(value, scale, -scaled);
        if (error > 0) {
            r = ceil(scaled);
        } else if (error < 0) {
            r = floor(scaled);
        }
    }
    return r / scale;
}

TK_JFUNC(do_round)
{
    int64_t digits;
    tk_str how = TK_STR("common");
    if (!tk_jargs_int(run, args, 0, 0, &digits) ||
        (tk_jargs_at(args, 1) != NULL && !tk_jargs_str(run, args, 1, &how))) {
        return false;
    }
    if (!tk_jval_is_number(&self)) {
        return tk_jrun_raise(run, "type %s doesn't define __round__ method",
                             tk_jval_type_name(&self));
    }
    if (digits < -300 || digits > 300) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "round: too many digits");
    }
    double value = tk_jval_as_double(&self), scale = pow(10, (double)digits);
    if (tk_str_is(how, "common")) {
        int64_t i;
        if (tk_jval_as_int(&self, &i)) {
            *out = tk_jval_int(i);
            return digits >= 0 || round_int(run, i, digits, &out->as.i);
        }
        value = round_half_even(value, digits);
    } else if (tk_str_is(how, "ceil") || tk_str_is(how, "floor")) {
        value = (how.p[0] == 'c' ? ceil(value * scale) : floor(value * scale)) / scale;
        value += 0.0; /* Python's ceil() and floor() give integers: -0 is 0 */
    } else {
        return tk_jrun_raise(run, "method must be common, ceil or floor");
    }
    *out = tk_jval_float(value);
    return true;
}

const tk_jfunc tk_jfilters_number[] = {
    {"int", "default base", do_int, 0, 2, 0},
    {"float", "default", do_float, 0, 1, 0},
    {"abs", "", do_abs, 0, 0, 0},
    {"round", "precision method", do_round, 0, 2, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
