/* Formatting as Python does it: "..." % values and str.format, as far as templates go:
 * fields by position or name, conversions s r d x o f, width, precision, sign, zeros.
 * Other conversions are refused by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_num.h"
#include "text/jinja/jinja_run.h"

typedef struct spec {
    bool left, center, zero, plus, blank, other_form;
    int64_t width, precision; /* -1 = not given */
    char kind;
} spec;

static bool take_number(tk_str s, size_t *at, int64_t *out)
{
    bool any = false;
    for (*out = 0; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; *at += 1) {
        *out = TK_MIN(*out * 10 + (s.p[*at] - '0'), INT32_MAX);
        any = true;
    }
    return any;
}

/* `number` with `digits` digits after the point, without a locale: exact for what a chat
 * template prints (at most 15 digits in all), refused beyond. */
static bool put_fixed(tk_jrun *run, tk_buf *out, double number, int64_t digits)
{
    if (isnan(number) || isinf(number)) {
        tk_buf_puts(out, isnan(number) ? "nan" : "inf");
        return true;
    }
    double scale = pow(10, (double)digits), scaled = number * scale;
    if (digits > 15 || scaled > 9e15) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "a float with more than 15 digits");
    }
    double error = fma(number, scale, -scaled), whole = floor(scaled);
    double rest = (scaled - whole) + error;
    int64_t units = (int64_t)whole;
    units += rest > 0.5 || (!(rest < 0.5) && (units & 1) != 0);
    int64_t power = 1;
    for (int64_t i = 0; i < digits; i++) {
        power *= 10;
    }
    tk_buf_printf(out, "%lld", (long long)(units / power));
    if (digits > 0) {
        tk_buf_printf(out, ".%0*lld", (int)digits, (long long)(units % power));
    }
    return true;
}

static void put_int(tk_buf *out, const spec *how, uint64_t value)
{
    char text[32];
    unsigned long long u = value;
    int n = how->kind == 'x'   ? snprintf(text, sizeof(text), "%llx", u)
            : how->kind == 'X' ? snprintf(text, sizeof(text), "%llX", u)
            : how->kind == 'o' ? snprintf(text, sizeof(text), "%llo", u)
                               : snprintf(text, sizeof(text), "%llu", u);
    for (int64_t zeros = TK_MIN(how->precision, 1000) - n; zeros > 0; zeros--) {
        tk_buf_putc(out, '0');
    }
    tk_buf_put(out, text, (size_t)n);
}

static bool put_number(tk_jrun *run, tk_buf *out, const spec *how, const tk_jval *value)
{
    int64_t i = 0;
    double f = tk_jval_as_double(value);
    bool is_float = how->kind == 'f' || how->kind == 'F';
    if (!is_float && !tk_jval_as_int(value, &i)) {
        if (how->kind != 'd' || !isfinite(f)) {
            return tk_jrun_raise(run, "%%%c format: an integer is required", how->kind);
        }
        if (!(f > -9.2e18 && f < 9.2e18)) {
            return tk_jrun_too_large(run);
        }
        i = (int64_t)f;
    }
    if (how->other_form || how->precision > 1000) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED,
                            "a format with '#' or more than 1000 digits");
    }
    bool negative = is_float ? signbit(f) != 0 : i < 0;
    tk_buf_puts(out, negative ? "-" : how->plus ? "+" : how->blank ? " " : "");
    if (is_float) {
        return put_fixed(run, out, fabs(f), how->precision < 0 ? 6 : how->precision);
    }
    put_int(out, how, i < 0 ? 0 - (uint64_t)i : (uint64_t)i);
    return true;
}

static bool put_padded(tk_jrun *run, tk_buf *out, const spec *how, tk_str text)
{
    int64_t n = (int64_t)tk_jstr_count(text);
    int64_t pad = how->width > n ? how->width - n : 0;
    if (pad > 65536) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "a width is too large");
    }
    size_t sign = how->zero && text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');
    int64_t before = how->left ? 0 : how->center ? pad / 2 : pad;
    tk_buf_put(out, text.p, sign);
    for (int64_t i = 0; i < before; i++) {
        tk_buf_putc(out, how->zero ? '0' : ' ');
    }
    tk_buf_put(out, text.p + sign, text.n - sign);
    for (int64_t i = before; i < pad; i++) {
        tk_buf_putc(out, ' ');
    }
    return tk_jrun_bytes(run, text.n + (size_t)pad);
}

static bool put_value(tk_jrun *run, tk_buf *out, const spec *how, const tk_jval *value)
{
    tk_buf one;
    tk_buf_init(&one, run->max_output);
    bool ok;
    if (how->kind == 's') {
        ok = tk_jval_put(run, &one, value);
    } else if (how->kind == 'r') {
        ok = tk_jval_put_repr(run, &one, value);
    } else if (!tk_jval_is_number(value)) {
        ok = tk_jrun_raise(run, "%%%c format: a real number is required, not %s",
                           how->kind, tk_jval_type_name(value));
    } else {
        ok = put_number(run, &one, how, value);
    }
    tk_jval text;
    if (!ok) {
        tk_buf_dispose(&one);
        return false;
    }
    if (!tk_jval_take(run, &one, &text)) {
        return false;
    }
    tk_str s = text.as.s;
    if ((how->kind == 's' || how->kind == 'r') && how->precision >= 0) {
        s.n = tk_jstr_offset(s, (size_t)how->precision);
    }
    return put_padded(run, out, how, s);
}

/* ---- % ---- */

typedef struct percent {
    tk_jval values;
    size_t used;
} percent;

static bool next_value(tk_jrun *run, percent *p, tk_str key, tk_jval *out)
{
    if (key.p != NULL) {
        const tk_jdict *dict = p->values.type == TK_JT_DICT ? p->values.as.dict : NULL;
        if (dict != NULL && !tk_jrun_step(run, dict->slots == NULL ? dict->n : 1)) {
            return false;
        }
        tk_jval *value = dict != NULL ? tk_jdict_get(dict, key) : NULL;
        if (value == NULL) {
            return tk_jrun_raise(run, "format requires a mapping with '" TK_STR_FMT "'",
                                 TK_STR_ARG(key));
        }
        *out = *value;
        return true;
    }
    bool is_tuple = p->values.type == TK_JT_TUPLE;
    size_t n = is_tuple ? p->values.as.list->n : 1;
    if (p->used >= n) {
        return tk_jrun_raise(run, "not enough arguments for format string");
    }
    *out = is_tuple ? p->values.as.list->items[p->used] : p->values;
    p->used++;
    return true;
}

/* *at is after "%"; moves it past the conversion's letter. */
static bool one_percent(tk_jrun *run, tk_str f, size_t *at, percent *p, tk_buf *out)
{
    spec how = {.width = -1, .precision = -1};
    tk_str key = {NULL, 0};
    if (*at < f.n && f.p[*at] == '(') {
        size_t end = tk_jstr_find(f, TK_STR(")"), *at);
        if (end == SIZE_MAX) {
            return tk_jrun_raise(run, "incomplete format key");
        }
        key = (tk_str){f.p + *at + 1, end - *at - 1};
        *at = end + 1;
    }
    for (; *at < f.n && strchr("-+ 0#", f.p[*at]) != NULL && f.p[*at] != '\0'; *at += 1) {
        how.left |= f.p[*at] == '-';
        how.plus |= f.p[*at] == '+';
        how.blank |= f.p[*at] == ' ';
        how.zero |= f.p[*at] == '0';
        how.other_form |= f.p[*at] == '#';
    }
    (void)take_number(f, at, &how.width);
    if (*at < f.n && f.p[*at] == '.') {
        *at += 1;
        (void)take_number(f, at, &how.precision);
    }
    if (*at >= f.n) {
        return tk_jrun_raise(run, "incomplete format");
    }
    how.kind = f.p[(*at)++];
    if (how.kind == '%') {
        tk_buf_putc(out, '%');
        return true;
    }
    how.kind = how.kind == 'i' || how.kind == 'u' ? 'd' : how.kind;
    if (strchr("srdxXof", how.kind) == NULL) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "format character '%c'", how.kind);
    }
    how.zero = how.zero && !how.left && how.kind != 's' && how.kind != 'r';
    tk_jval value;
    return next_value(run, p, key, &value) && put_value(run, out, &how, &value);
}

bool tk_jval_percent(tk_jrun *run, tk_str format, tk_jval values, tk_jval *out)
{
    percent p = {.values = values};
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    bool ok = tk_jrun_bytes(run, format.n);
    for (size_t i = 0; ok && i < format.n;) {
        char c = format.p[i++];
        if (c == '%') {
            ok = one_percent(run, format, &i, &p, &buf);
        } else {
            tk_buf_putc(&buf, c);
        }
    }
    /* Whatever has items counts as a mapping, whose keys need not all be used. */
    bool is_mapping = values.type == TK_JT_DICT || values.type == TK_JT_LIST ||
                      values.type == TK_JT_RANGE || values.type == TK_JT_UNDEFINED;
    bool all_used =
        is_mapping || p.used == (values.type == TK_JT_TUPLE ? values.as.list->n : 1);
    if (ok && !all_used) {
        ok = tk_jrun_raise(run, "not all arguments converted during string formatting");
    }
    if (!ok) {
        tk_buf_dispose(&buf);
        return false;
    }
    return tk_jval_take(run, &buf, out);
}

/* ---- str.format ---- */

/* How the fields of one text are numbered. */
typedef struct numbering {
    size_t next;
    bool by_hand, by_itself;
} numbering;

/* The value of "name.attr[0]". */
static bool field_value(tk_jrun *run, tk_str field, const tk_jargs *args,
                        numbering *fields, tk_jval *out)
{
    size_t n = 0;
    while (n < field.n && field.p[n] != '.' && field.p[n] != '[') {
        n++;
    }
    tk_str name = {field.p, n};
    int64_t index;
    bool is_index = n == 0 || tk_str_to_i64(name, &index);
    if (is_index) {
        fields->by_itself |= n == 0;
        fields->by_hand |= n > 0;
        if (fields->by_hand && fields->by_itself) {
            return tk_jrun_raise(run, "cannot switch between manual field specification "
                                      "and automatic field numbering");
        }
        index = n == 0 ? (int64_t)fields->next++ : index;
        if (index < 0 || (uint64_t)index >= args->n) {
            return tk_jrun_raise(run,
                                 "Replacement index %lld out of range for positional "
                                 "args tuple",
                                 (long long)index);
        }
        *out = args->items[index];
    } else {
        bool found = false;
        if (!tk_jrun_step(run, args->n_named)) {
            return false;
        }
        for (size_t i = 0; i < args->n_named && !found; i++) {
            found = tk_str_eq(args->named[i].key.as.s, name);
            if (found) {
                *out = args->named[i].value;
            }
        }
        if (!found) {
            return tk_jrun_raise(run, "'" TK_STR_FMT "'", TK_STR_ARG(name));
        }
    }
    if (n < field.n) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "format with attributes or items");
    }
    return true;
}

static bool read_spec(tk_jrun *run, tk_str text, char conversion, const tk_jval *value,
                      spec *how)
{
    size_t at = 0;
    bool is_number = tk_jval_is_number(value) && conversion == '\0';
    *how = (spec){.width = -1, .precision = -1, .kind = conversion == 'r' ? 'r' : 's'};
    how->left = !is_number;
    if (text.n > 0 && conversion == '\0' && !is_number && value->type != TK_JT_STR) {
        return tk_jrun_raise(run, "unsupported format string passed to %s.__format__",
                             tk_jval_type_name(value));
    }
    if (at < text.n && strchr("<>^", text.p[at]) != NULL && text.p[at] != '\0') {
        how->left = text.p[at] == '<';
        how->center = text.p[at] == '^';
        at++;
    }
    if (at < text.n && (text.p[at] == '+' || text.p[at] == ' ')) {
        how->plus = text.p[at] == '+';
        how->blank = text.p[at] == ' ';
        at++;
    }
    if (at < text.n && text.p[at] == '0') {
        how->zero = is_number;
        at++;
    }
    (void)take_number(text, &at, &how->width);
    if (at < text.n && text.p[at] == '.') {
        at++;
        (void)take_number(text, &at, &how->precision);
    }
    if (at < text.n && strchr("sdxXof", text.p[at]) != NULL && text.p[at] != '\0') {
        char kind = text.p[at++];
        if (is_number == (kind == 's')) {
            return tk_jrun_raise(run, "Unknown format code '%c' for object of type '%s'",
                                 kind, is_number ? tk_jval_type_name(value) : "str");
        }
        bool is_int = is_number && kind != 'f';
        if (is_int && (value->type == TK_JT_FLOAT || how->precision >= 0)) {
            return tk_jrun_raise(
                run, "format code '%c' is for integers, without precision", kind);
        }
        how->kind = is_number ? kind : how->kind;
    } else if (is_number && value->type == TK_JT_INT) {
        how->kind = how->plus || how->blank ? 'd' : how->kind;
    }
    if (!is_number && (how->plus || how->blank)) {
        return tk_jrun_raise(run, "Sign not allowed in string format specifier");
    }
    bool is_short = how->kind == 's' && is_number; /* as str() shows it */
    if (at < text.n || (is_short && (how->precision >= 0 || how->plus || how->blank))) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "format specifier '" TK_STR_FMT "'",
                            TK_STR_ARG(text));
    }
    return true;
}

/* *at is after "{"; moves it past "}". */
static bool one_field(tk_jrun *run, tk_str f, size_t *at, const tk_jargs *args,
                      numbering *fields, tk_buf *out)
{
    size_t end = tk_jstr_find(f, TK_STR("}"), *at);
    if (end == SIZE_MAX) {
        return tk_jrun_raise(run, "expected '}' before end of string");
    }
    tk_str rest = {f.p + *at, end - *at};
    *at = end + 1;
    tk_str field = tk_str_cut(&rest, ':'), spec_text = rest.p != NULL ? rest : TK_STR("");
    char conversion = '\0';
    if (field.n >= 2 && field.p[field.n - 2] == '!') {
        conversion = field.p[field.n - 1];
        field.n -= 2;
    }
    tk_jval value;
    spec how;
    return field_value(run, field, args, fields, &value) &&
           read_spec(run, spec_text, conversion, &value, &how) &&
           put_value(run, out, &how, &value);
}

bool tk_jmethod_format(tk_jrun *run, tk_jval self, const tk_jargs *args, tk_jval *out)
{
    tk_str f = self.as.s;
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    numbering fields = {.next = 0};
    bool ok = tk_jrun_bytes(run, f.n);
    for (size_t i = 0; ok && i < f.n;) {
        char c = f.p[i++];
        bool is_doubled = i < f.n && f.p[i] == c;
        if ((c == '{' || c == '}') && is_doubled) {
            tk_buf_putc(&buf, c);
            i++;
        } else if (c == '{') {
            ok = one_field(run, f, &i, args, &fields, &buf);
        } else if (c == '}') {
            ok = tk_jrun_raise(run, "Single '}' encountered in format string");
        } else {
            tk_buf_putc(&buf, c);
        }
    }
    if (!ok) {
        tk_buf_dispose(&buf);
        return false;
    }
    return tk_jval_take(run, &buf, out);
}
