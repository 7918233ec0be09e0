/* Attributes, items and slices, as Python and jinja2's sandbox give them. */
#include <string.h>

#include "text/jinja/jinja_run.h"

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

/* What getattr() of Python finds: methods, and the attributes of namespaces, loops and
 * macros. *found tells whether there is one; its value is undefined when the sandbox
 * refuses it. */
static bool own_attr(tk_jrun *run, tk_jval object, tk_str name, bool *found, tk_jval *out)
{
    *found = true;
    if (object.type == TK_JT_NAMESPACE) {
        tk_jval *value = tk_jdict_get(object.as.dict, name);
        *found = value != NULL;
        if (!tk_jrun_bytes(run, name.n)) {
            return false;
        }
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
    bool found = false, is_hashable = false;
    int64_t index;
    bool is_sequence = object.type == TK_JT_STR || object.type == TK_JT_LIST ||
                       object.type == TK_JT_TUPLE || object.type == TK_JT_RANGE;
    if (object.type == TK_JT_DICT && !tk_jval_is_hashable(run, &key, &is_hashable)) {
        return false;
    }
    if (object.type == TK_JT_DICT && is_hashable) {
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
    int64_t start, stop, step;
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
    out->stop = stop;
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

/* What the range has at `index`, which may be one past either end. */
static bool range_at(const tk_jrange *range, int64_t index, int64_t *out)
{
    int64_t offset;
    return !__builtin_mul_overflow(index, range->step, &offset) &&
           !__builtin_add_overflow(range->start, offset, out);
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
        *made = (tk_jrange){.n = range.n};
        if (!range_at(object.as.range, range.start, &made->start) ||
            !range_at(object.as.range, range.stop, &made->stop) ||
            __builtin_mul_overflow(object.as.range->step, range.step, &made->step)) {
            return tk_jrun_too_large(run);
        }
        *out = (tk_jval){.type = TK_JT_RANGE, .as.range = made};
        return true;
    }
    return tk_jrun_raise(run, "'%s' object is not subscriptable",
                         tk_jval_type_name(&object));
}
