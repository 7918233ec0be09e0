/* Equality and order of values, as Python has them: numbers of all kinds compare by
 * value, lists item by item. */
#include <math.h>

#include "text/jinja/jinja_run.h"

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
        int64_t x, y;
        bool both = tk_jval_as_int(a, &x) && tk_jval_as_int(b, &y);
        double d = tk_jval_as_double(a) - tk_jval_as_double(b);
        *out = both ? x == y : d <= 0 && d >= 0;
        if (!both && isinf(tk_jval_as_double(a))) {
            *out = isinf(tk_jval_as_double(b)) &&
                   signbit(tk_jval_as_double(a)) == signbit(tk_jval_as_double(b));
        }
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
        int64_t x, y;
        if (tk_jval_as_int(a, &x) && tk_jval_as_int(b, &y)) {
            *out = x < y ? -1 : x > y;
        } else {
            double d = tk_jval_as_double(a), e = tk_jval_as_double(b);
            *out = d < e ? -1 : d > e;
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
