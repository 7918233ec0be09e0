/* Operators, attributes, items and slices, as Python and jinja2's sandbox do them.
 * Integers have 64 bits: what does not fit is an error, not another number. */
#include <math.h>
#include <string.h>

#include "text/jinja_run.h"

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

static bool too_large(tk_jrun *run)
{
    return tk_jrun_fail(run, TINKC_E_LIMIT, "an integer needs more than 64 bits");
}

static bool floor_div(tk_jrun *run, int64_t a, int64_t b, int64_t *quotient,
                      int64_t *rest)
{
    if (b == 0) {
        return tk_jrun_raise(run, "integer division or modulo by zero");
    }
    if (b == -1) {
        *rest = 0;
        return !__builtin_sub_overflow(0, a, quotient) || too_large(run);
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
    return !overflow || too_large(run);
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
    return !overflow || too_large(run);
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
        return !overflow || too_large(run);
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

/* ---- attributes and items ---- */

static bool loop_item(const tk_jloop *loop, size_t index, const char *what, tk_jval *out)
{
    *out = index < loop->n ? loop->items[index]
                           : tk_jval_undef(tk_str_of(what), TK_JU_EMPTY);
    return true;
}

static bool loop_attr(tk_jloop *loop, tk_str name, tk_jval *out)
{
    int64_t at = (int64_t)loop->at, n = (int64_t)loop->n;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"index", at + 1},          {"index0", at}, {"revindex", n - at},
                   {"revindex0", n - at - 1},  {"length", n},  {"depth", loop->depth},
                   {"depth0", loop->depth - 1}};
    for (size_t i = 0; i < TK_ARRAY_LEN(numbers); i++) {
        if (tk_str_is(name, numbers[i].name)) {
            *out = tk_jval_int(numbers[i].value);
            return true;
        }
    }
    if (tk_str_is(name, "first") || tk_str_is(name, "last")) {
        *out = tk_jval_bool(name.p[0] == 'f' ? at == 0 : at == n - 1);
        return true;
    }
    if (tk_str_is(name, "previtem")) {
        return loop_item(loop, loop->at - 1, "there is no previous item", out);
    }
    if (tk_str_is(name, "nextitem")) {
        return loop_item(loop, loop->at + 1, "there is no next item", out);
    }
    return false;
}

/* What getattr() of Python finds: methods and the attributes of our own objects. *found
 * says whether; the value may be undefined when it is not safe to use. */
static bool own_attr(tk_jrun *run, tk_jval object, tk_str name, bool *found, tk_jval *out)
{
    *found = true;
    if (object.type == TK_JT_NAMESPACE) {
        tk_jval *value = tk_jdict_get(object.as.dict, name);
        *found = value != NULL;
        if (*found) {
            *out = *value;
        }
        return true;
    }
    if (object.type == TK_JT_LOOP && loop_attr(object.as.loop, name, out)) {
        return true;
    }
    if (object.type == TK_JT_MACRO && tk_str_is(name, "name")) {
        *out = tk_jval_str(object.as.macro->name);
        return true;
    }
    bool is_unsafe = false;
    const tk_jfunc *func = tk_jinja_find_method(object.type, name, &is_unsafe);
    *found = func != NULL;
    if (func == NULL) {
        return true;
    }
    if (is_unsafe && run->job->strict) {
        *out = tk_jval_undef(name, TK_JU_UNSAFE + (uint32_t)object.type);
        return true;
    }
    tk_jmethod *method = tk_jrun_alloc(run, 1, sizeof(*method));
    if (method == NULL) {
        return false;
    }
    *method = (tk_jmethod){object, func, name};
    *out = (tk_jval){.type = TK_JT_METHOD, .as.method = method};
    return true;
}

bool tk_jval_attr(tk_jrun *run, tk_jval object, tk_str name, tk_jval *out)
{
    if (object.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, object);
    }
    bool found = false;
    if (!own_attr(run, object, name, &found, out)) {
        return false;
    }
    if (!found) {
        tk_jval *value =
            object.type == TK_JT_DICT ? tk_jdict_get(object.as.dict, name) : NULL;
        *out = value != NULL ? *value
                             : tk_jval_undef(name, TK_JU_OBJECT + (uint32_t)object.type);
    }
    return true;
}

/* obj[index] of a sequence; *found is false when Python would raise IndexError. */
static bool index_of(tk_jrun *run, tk_jval object, int64_t index, bool *found,
                     tk_jval *out)
{
    int64_t n = tk_jval_length(&object);
    if (object.type == TK_JT_STR && !tk_jrun_bytes(run, object.as.s.n)) {
        return false;
    }
    index += index < 0 ? n : 0;
    *found = index >= 0 && index < n;
    if (!*found) {
        return true;
    }
    if (object.type == TK_JT_STR) {
        size_t at = tk_jstr_offset(object.as.s, (size_t)index);
        tk_str rest = {object.as.s.p + at, object.as.s.n - at};
        uint32_t code;
        *out = tk_jval_str((tk_str){rest.p, tk_jstr_char(&code, rest)});
        out->flag = object.flag;
    } else if (object.type == TK_JT_RANGE) {
        *out = tk_jval_int(object.as.range->start + index * object.as.range->step);
    } else {
        *out = object.as.list->items[index];
    }
    return true;
}

bool tk_jval_item(tk_jrun *run, tk_jval object, tk_jval key, tk_jval *out)
{
    if (object.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, object);
    }
    bool found = false;
    int64_t index;
    bool is_sequence = object.type == TK_JT_STR || object.type == TK_JT_LIST ||
                       object.type == TK_JT_TUPLE || object.type == TK_JT_RANGE;
    if (object.type == TK_JT_DICT && tk_jval_is_hashable(&key)) {
        tk_jentry *entry = NULL;
        if (!tk_jdict_find(run, object.as.dict, key, &entry)) {
            return false;
        }
        found = entry != NULL;
        if (found) {
            *out = entry->value;
        }
    } else if (is_sequence && tk_jval_as_int(&key, &index)) {
        if (!index_of(run, object, index, &found, out)) {
            return false;
        }
    }
    if (found) {
        return true;
    }
    if (key.type == TK_JT_STR) {
        if (!own_attr(run, object, key.as.s, &found, out)) {
            return false;
        }
        if (found) {
            return true;
        }
    }
    tk_str name;
    if (!tk_jval_to_str(run, &key, &name)) {
        return false;
    }
    *out = tk_jval_undef(name, TK_JU_OBJECT + (uint32_t)object.type);
    return true;
}

/* ---- slices ---- */

typedef struct slice {
    int64_t start, step;
    size_t n;
} slice;

static bool bound_of(tk_jrun *run, const tk_jval *value, int64_t *out, bool *given)
{
    *given = value->type != TK_JT_NONE;
    if (*given && !tk_jval_as_int(value, out)) {
        return tk_jrun_raise(run, "slice indices must be integers or None");
    }
    return true;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static bool slice_of(tk_jrun *run, const tk_jval bounds[3], int64_t n, slice *out)
{
    int64_t start = 0, stop = 0, step = 1;
    bool has_start, has_stop, has_step;
    if (!bound_of(run, &bounds[0], &start, &has_start) ||
        !bound_of(run, &bounds[1], &stop, &has_stop) ||
        !bound_of(run, &bounds[2], &step, &has_step)) {
        return false;
    }
    if (has_step && step == 0) {
        return tk_jrun_raise(run, "slice step cannot be zero");
    }
    step = clamp(step, -INT64_MAX, INT64_MAX);
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    start = !has_start ? (step > 0 ? 0 : n - 1)
                       : clamp(start < 0 ? start + n : start, low, high);
    stop = !has_stop ? (step > 0 ? n : -1) : clamp(stop < 0 ? stop + n : stop, low, high);
    int64_t distance = step > 0 ? stop - start : start - stop;
    int64_t stride = step > 0 ? step : -step;
    out->start = start;
    out->step = step;
    out->n = distance > 0 ? (size_t)((distance - 1) / stride + 1) : 0;
    return true;
}

static bool slice_str(tk_jrun *run, tk_str s, const slice *range, tk_jval *out)
{
    if (range->step == 1 || range->n == 0) {
        size_t from = tk_jstr_offset(s, (size_t)TK_MAX(range->start, 0));
        tk_str rest = {s.p + from, s.n - from};
        *out = tk_jval_str((tk_str){rest.p, tk_jstr_offset(rest, range->n)});
        return true;
    }
    tk_jlist chars;
    if (!tk_jval_iterate(run, tk_jval_str(s), &chars)) {
        return false;
    }
    char *room = tk_jrun_alloc(run, s.n + 1, 1);
    if (room == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < range->n; i++) {
        tk_str c = chars.items[range->start + (int64_t)i * range->step].as.s;
        memcpy(room + n, c.p, c.n);
        n += c.n;
    }
    *out = tk_jval_str((tk_str){room, n});
    return true;
}

static bool slice_list(tk_jrun *run, tk_jval list, const slice *range, tk_jval *out)
{
    tk_jlist *result;
    if (!tk_jlist_new(run, &result, range->n)) {
        return false;
    }
    for (size_t i = 0; i < range->n; i++) {
        int64_t at = range->start + (int64_t)i * range->step;
        if (!tk_jlist_add(run, result, list.as.list->items[at])) {
            return false;
        }
    }
    *out = tk_jval_list(result, list.type);
    return true;
}

bool tk_jval_slice(tk_jrun *run, tk_jval object, const tk_jval bounds[3], tk_jval *out)
{
    if (object.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, object);
    }
    slice range;
    if (object.type == TK_JT_STR) {
        bool ok = tk_jrun_bytes(run, object.as.s.n) &&
                  slice_of(run, bounds, tk_jval_length(&object), &range) &&
                  slice_str(run, object.as.s, &range, out);
        out->flag = ok ? object.flag : 0;
        return ok;
    }
    if (object.type == TK_JT_LIST || object.type == TK_JT_TUPLE) {
        return slice_of(run, bounds, tk_jval_length(&object), &range) &&
               slice_list(run, object, &range, out);
    }
    if (object.type == TK_JT_RANGE) {
        tk_jrange *made = tk_jrun_alloc(run, 1, sizeof(*made));
        if (made == NULL || !slice_of(run, bounds, tk_jval_length(&object), &range)) {
            return false;
        }
        const tk_jrange *from = object.as.range;
        *made = (tk_jrange){from->start + range.start * from->step, 0, range.n};
        if (__builtin_mul_overflow(from->step, range.step, &made->step)) {
            return too_large(run);
        }
        *out = (tk_jval){.type = TK_JT_RANGE, .as.range = made};
        return true;
    }
    return tk_jrun_raise(run, "'%s' object is not subscriptable",
                         tk_jval_type_name(&object));
}
