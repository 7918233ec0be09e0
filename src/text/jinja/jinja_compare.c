/* Equality and order of values, as Python has them: numbers of all kinds compare by
 * value, lists item by item. */
#include <math.h>

#include "text/jinja/jinja_run.h"

/* An integer against a float, exactly: a double does not hold every integer. */
static int compare_mixed(int64_t i, double f)
{
    const double limit = 9223372036854775808.0; /* 2 to the power of 63 */
    if (f >= limit || f < -limit) {
        return f > 0 ? -1 : 1;
    }
    int64_t whole = (int64_t)f;
    if (i != whole) {
        return i < whole ? -1 : 1;
    }
    double rest = f - (double)whole;
    return rest > 0 ? -1 : rest < 0;
}

/* -1, 0 or 1 in *out; false when one is not a number (NaN), which has no order. */
static bool compare_numbers(const tk_jval *a, const tk_jval *b, int *out)
{
    int64_t x, y;
    bool is_int = tk_jval_as_int(a, &x), is_int_b = tk_jval_as_int(b, &y);
    if (is_int && is_int_b) {
        *out = x < y ? -1 : x > y;
        return true;
    }
    double d = tk_jval_as_double(a), e = tk_jval_as_double(b);
    if (isnan(d) || isnan(e)) {
        return false;
    }
    if (is_int || is_int_b) {
        *out = is_int ? compare_mixed(x, e) : -compare_mixed(y, d);
    } else {
        *out = d < e ? -1 : d > e;
    }
    return true;
}

static bool lists_equal(tk_jrun *run, const tk_jlist *a, const tk_jlist *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++) {
        if (!tk_jval_equal(run, &a->items[i], &b->items[i], out)) {
            return false;
        }
    }
    return true;
}

static bool dicts_equal(tk_jrun *run, const tk_jdict *a, const tk_jdict *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++) {
        tk_jentry *other = NULL;
        if (!tk_jdict_find(run, b, a->entries[i].key, &other)) {
            return false;
        }
        *out = other != NULL;
        if (*out && !tk_jval_equal(run, &a->entries[i].value, &other->value, out)) {
            return false;
        }
    }
    return true;
}

static bool equal_inside(tk_jrun *run, const tk_jval *a, const tk_jval *b, bool *out)
{
    if (tk_jval_is_number(a) && tk_jval_is_number(b)) {
        int order = 0;
        *out = compare_numbers(a, b, &order) && order == 0;
        return true;
    }
    *out = false;
    if (a->type != b->type) {
        return true;
    }
    if (a->type == TK_JT_STR) {
        *out = tk_str_eq(a->as.s, b->as.s);
        return tk_jrun_bytes(run, TK_MIN(a->as.s.n, b->as.s.n));
    }
    if (a->type == TK_JT_LIST || a->type == TK_JT_TUPLE) {
        return lists_equal(run, a->as.list, b->as.list, out);
    }
    if (a->type == TK_JT_DICT) {
        return dicts_equal(run, a->as.dict, b->as.dict, out);
    }
    if (a->type == TK_JT_RANGE) {
        *out = a->as.range->n == b->as.range->n &&
               (a->as.range->n == 0 || a->as.range->start == b->as.range->start) &&
               (a->as.range->n < 2 || a->as.range->step == b->as.range->step);
        return true;
    }
    *out = a->type == TK_JT_NONE || a->type == TK_JT_UNDEFINED ||
           (a->type != TK_JT_METHOD && a->as.dict == b->as.dict);
    return true;
}

bool tk_jval_equal(tk_jrun *run, const tk_jval *a, const tk_jval *b, bool *out)
{
    bool ok = tk_jrun_enter(run) && equal_inside(run, a, b, out);
    tk_jrun_leave(run);
    return ok;
}

static bool compare_lists(tk_jrun *run, const tk_jlist *a, const tk_jlist *b, int *out)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        bool is_equal = false;
        if (!tk_jval_equal(run, &a->items[i], &b->items[i], &is_equal)) {
            return false;
        }
        if (!is_equal) {
            return tk_jval_compare(run, &a->items[i], &b->items[i], out);
        }
    }
    *out = a->n < b->n ? -1 : a->n > b->n;
    return true;
}

static bool compare_inside(tk_jrun *run, const tk_jval *a, const tk_jval *b, int *out)
{
    if (tk_jval_is_number(a) && tk_jval_is_number(b)) {
        if (!compare_numbers(a, b, out)) {
            *out = 0;
        }
        return true;
    }
    if (a->type == TK_JT_STR && b->type == TK_JT_STR) { /* UTF-8 sorts as code points */
        *out = tk_str_cmp(a->as.s, b->as.s);
        return tk_jrun_bytes(run, TK_MIN(a->as.s.n, b->as.s.n));
    }
    if (a->type == b->type && (a->type == TK_JT_LIST || a->type == TK_JT_TUPLE)) {
        return compare_lists(run, a->as.list, b->as.list, out);
    }
    if (a->type == TK_JT_UNDEFINED || b->type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, a->type == TK_JT_UNDEFINED ? *a : *b);
    }
    return tk_jrun_raise(run, "'<' not supported between instances of '%s' and '%s'",
                         tk_jval_type_name(a), tk_jval_type_name(b));
}

bool tk_jval_compare(tk_jrun *run, const tk_jval *a, const tk_jval *b, int *out)
{
    bool ok = tk_jrun_enter(run) && compare_inside(run, a, b, out);
    tk_jrun_leave(run);
    return ok;
}
