/* Operators, as Python has them. Integers have 64 bits: what does not fit is an error,
 * not another number. */
#include <math.h>
#include <string.h>

#include "text/jinja/jinja_run.h"

static bool bad_operands(tk_jrun *run, int op, const tk_jval *a, const tk_jval *b)
{
    if (a->type == TK_JT_UNDEFINED || b->type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, a->type == TK_JT_UNDEFINED ? *a : *b);
    }
    const char *text = op == TK_JOP_FLOORDIV ? "//" : op == TK_JOP_POW ? "**" : NULL;
    char one[2] = {(char)op, '\0'};
    return tk_jrun_raise(run, "unsupported operand type(s) for %s: '%s' and '%s'",
                         text != NULL ? text : one, tk_jval_type_name(a),
                         tk_jval_type_name(b));
}

/* ---- arithmetic ---- */

static bool floor_div(tk_jrun *run, int64_t a, int64_t b, int64_t *quotient,
                      int64_t *rest)
{
    if (b == 0) {
        return tk_jrun_raise(run, "integer division or modulo by zero");
    }
    if (b == -1) {
        *rest = 0;
        return !__builtin_sub_overflow(0, a, quotient) || tk_jrun_too_large(run);
    }
    *quotient = a / b;
    *rest = a % b;
    if (*rest != 0 && (*rest < 0) != (b < 0)) {
        *quotient -= 1;
        *rest += b;
    }
    return true;
}

static bool int_pow(tk_jrun *run, int64_t base, int64_t exponent, int64_t *out)
{
    int64_t result = 1;
    bool overflow = false;
    while (exponent > 0 && !overflow) {
        if (exponent & 1) {
            overflow = __builtin_mul_overflow(result, base, &result);
        }
        exponent >>= 1;
        if (exponent > 0 && !overflow) {
            overflow = __builtin_mul_overflow(base, base, &base);
        }
    }
    *out = result;
    return !overflow || tk_jrun_too_large(run);
}

static bool int_binary(tk_jrun *run, int op, int64_t a, int64_t b, tk_jval *out)
{
    int64_t r = 0, rest = 0;
    bool overflow = false;
    if (op == '+') {
        overflow = __builtin_add_overflow(a, b, &r);
    } else if (op == '-') {
        overflow = __builtin_sub_overflow(a, b, &r);
    } else if (op == '*') {
        overflow = __builtin_mul_overflow(a, b, &r);
    } else if (op == TK_JOP_POW) {
        if (!int_pow(run, a, b, &r)) {
            return false;
        }
    } else {
        if (!floor_div(run, a, b, &r, &rest)) {
            return false;
        }
        r = op == '%' ? rest : r;
    }
    *out = tk_jval_int(r);
    return !overflow || tk_jrun_too_large(run);
}

static bool float_binary(tk_jrun *run, int op, double a, double b, tk_jval *out)
{
    bool divides = op == '/' || op == '%' || op == TK_JOP_FLOORDIV;
    if (divides && !(b < 0 || b > 0 || isnan(b))) {
        return tk_jrun_raise(run, op == '/' ? "float division by zero" : "float modulo");
    }
    double r = 0;
    if (op == '+') {
        r = a + b;
    } else if (op == '-') {
        r = a - b;
    } else if (op == '*') {
        r = a * b;
    } else if (op == '/') {
        r = a / b;
    } else if (op == TK_JOP_POW) {
        r = pow(a, b);
        if (isinf(r) && isfinite(a) && isfinite(b)) {
            return tk_jrun_raise(run, "Numerical result out of range");
        }
    } else {
        double rest = fmod(a, b);
        if ((rest < 0 || rest > 0) && (rest < 0) != (b < 0)) {
            rest += b;
        } else if (!(rest < 0 || rest > 0)) {
            rest = copysign(0.0, b);
        }
        r = op == '%' ? rest : floor((a - rest) / b + 0.5);
    }
    *out = tk_jval_float(r);
    return true;
}

static bool number_binary(tk_jrun *run, int op, const tk_jval *a, const tk_jval *b,
                          tk_jval *out)
{
    int64_t x, y;
    bool ints = tk_jval_as_int(a, &x) && tk_jval_as_int(b, &y);
    if (ints && op != '/' && !(op == TK_JOP_POW && y < 0)) {
        return int_binary(run, op, x, y, out);
    }
    if (ints && op == '/' && y == 0) {
        return tk_jrun_raise(run, "division by zero");
    }
    return float_binary(run, op, tk_jval_as_double(a), tk_jval_as_double(b), out);
}

static bool repeat_str(tk_jrun *run, tk_str s, int64_t n, tk_jval *out)
{
    *out = tk_jval_str(TK_STR(""));
    if (n <= 0 || s.n == 0) {
        return true;
    }
    if ((uint64_t)n > run->max_output / s.n) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "a text is too long");
    }
    char *room = tk_jrun_alloc(run, s.n, (size_t)n);
    if (room == NULL || !tk_jrun_bytes(run, s.n * (size_t)n)) {
        return false;
    }
    for (size_t i = 0; i < (size_t)n; i++) {
        memcpy(room + i * s.n, s.p, s.n);
    }
    *out = tk_jval_str((tk_str){room, s.n * (size_t)n});
    return true;
}

static bool repeat_list(tk_jrun *run, tk_jval list, int64_t n, tk_jval *out)
{
    tk_jlist *result;
    if (!tk_jlist_new(run, &result, 0)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!tk_jrun_step(run, 1)) {
            return false;
        }
        for (size_t k = 0; k < list.as.list->n; k++) {
            if (!tk_jlist_add(run, result, list.as.list->items[k])) {
                return false;
            }
        }
    }
    *out = tk_jval_list(result, list.type);
    return true;
}

static bool multiply(tk_jrun *run, tk_jval a, tk_jval b, tk_jval *out)
{
    int64_t n;
    if (tk_jval_as_int(&a, &n)) {
        tk_jval other = a;
        a = b;
        b = other;
    }
    if (!tk_jval_as_int(&b, &n)) {
        return bad_operands(run, '*', &a, &b);
    }
    if (a.type == TK_JT_STR) {
        bool ok = repeat_str(run, a.as.s, n, out);
        out->flag = ok ? a.flag : 0;
        return ok;
    }
    if (a.type == TK_JT_LIST || a.type == TK_JT_TUPLE) {
        return repeat_list(run, a, n, out);
    }
    return bad_operands(run, '*', &a, &b);
}

static bool escape(tk_jrun *run, tk_jval value, tk_str *out)
{
    if (value.flag != 0) {
        *out = value.as.s;
        return true;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_jstr_put_escaped(&buf, value.as.s);
    tk_jval text;
    if (!tk_jval_take(run, &buf, &text)) {
        return false;
    }
    *out = text.as.s;
    return true;
}

static bool add_texts(tk_jrun *run, tk_jval a, tk_jval b, tk_jval *out)
{
    bool is_markup = a.flag != 0 || b.flag != 0;
    tk_str left = a.as.s, right = b.as.s;
    if (is_markup && (!escape(run, a, &left) || !escape(run, b, &right))) {
        return false;
    }
    if (!tk_jval_concat(run, left, right, out)) {
        return false;
    }
    out->flag = is_markup;
    return true;
}

static bool add_lists(tk_jrun *run, tk_jval a, tk_jval b, tk_jval *out)
{
    tk_jlist *result;
    if (!tk_jlist_new(run, &result, a.as.list->n + b.as.list->n)) {
        return false;
    }
    const tk_jlist *both[] = {a.as.list, b.as.list};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < both[k]->n; i++) {
            if (!tk_jlist_add(run, result, both[k]->items[i])) {
                return false;
            }
        }
    }
    *out = tk_jval_list(result, a.type);
    return true;
}

bool tk_jval_binary(tk_jrun *run, int op, tk_jval a, tk_jval b, tk_jval *out)
{
    if (tk_jval_is_number(&a) && tk_jval_is_number(&b)) {
        return number_binary(run, op, &a, &b, out);
    }
    if (op == '+' && a.type == TK_JT_STR && b.type == TK_JT_STR) {
        return add_texts(run, a, b, out);
    }
    if (op == '+' && a.type == b.type &&
        (a.type == TK_JT_LIST || a.type == TK_JT_TUPLE)) {
        return add_lists(run, a, b, out);
    }
    if (op == '*') {
        return multiply(run, a, b, out);
    }
    if (op == '%' && a.type == TK_JT_STR) {
        return tk_jval_percent(run, a.as.s, b, out);
    }
    return bad_operands(run, op, &a, &b);
}

bool tk_jval_negate(tk_jrun *run, tk_jval a, bool plus, tk_jval *out)
{
    int64_t i;
    if (tk_jval_as_int(&a, &i)) {
        int64_t r = i;
        bool overflow = !plus && __builtin_sub_overflow(0, i, &r);
        *out = tk_jval_int(r);
        return !overflow || tk_jrun_too_large(run);
    }
    if (a.type == TK_JT_FLOAT) {
        *out = tk_jval_float(plus ? a.as.f : -a.as.f);
        return true;
    }
    if (a.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, a);
    }
    return tk_jrun_raise(run, "bad operand type for unary -: '%s'",
                         tk_jval_type_name(&a));
}

/* ---- comparison ---- */

static bool contains(tk_jrun *run, tk_jval item, tk_jval all, bool *out)
{
    *out = false;
    if (all.type == TK_JT_STR) {
        if (item.type != TK_JT_STR) {
            return tk_jrun_raise(run,
                                 "'in <string>' requires string as left operand, not %s",
                                 tk_jval_type_name(&item));
        }
        *out = tk_jstr_find(all.as.s, item.as.s, 0) != SIZE_MAX;
        return tk_jrun_bytes(run, all.as.s.n);
    }
    if (all.type == TK_JT_DICT) {
        tk_jentry *entry = NULL;
        if (item.type == TK_JT_UNDEFINED) {
            return true;
        }
        if (!tk_jdict_find(run, all.as.dict, item, &entry)) {
            return false;
        }
        *out = entry != NULL;
        return true;
    }
    tk_jlist items;
    if (!tk_jval_iterate(run, all, &items)) {
        return false;
    }
    for (size_t i = 0; !*out && i < items.n; i++) {
        if (!tk_jval_equal(run, &items.items[i], &item, out)) {
            return false;
        }
    }
    return true;
}

bool tk_jval_relate(tk_jrun *run, int op, tk_jval a, tk_jval b, bool *out)
{
    if (op == TK_JOP_EQ || op == TK_JOP_NE) {
        bool ok = tk_jval_equal(run, &a, &b, out);
        *out = ok && (*out == (op == TK_JOP_EQ));
        return ok;
    }
    if (op == TK_JOP_IN || op == TK_JOP_NOTIN) {
        bool ok = contains(run, a, b, out);
        *out = ok && (*out == (op == TK_JOP_IN));
        return ok;
    }
    bool has_nan = (a.type == TK_JT_FLOAT && isnan(a.as.f)) ||
                   (b.type == TK_JT_FLOAT && isnan(b.as.f));
    int order = 0;
    if (!tk_jval_compare(run, &a, &b, &order)) {
        return false;
    }
    *out = !has_nan && (op == '<'         ? order < 0
                        : op == '>'       ? order > 0
                        : op == TK_JOP_LE ? order <= 0
                                          : order >= 0);
    return true;
}
