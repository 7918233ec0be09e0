/* Filters on sequences and mappings. Those that are generators in jinja2 give a
 * TK_JT_ITER: it can be walked once and has no length. */
#include <string.h>

#include "text/jinja_run.h"

#define FILTER(name)                                                                     \
    static bool name(tk_jrun *run, tk_jval self, const tk_jargs *args, tk_jval *out)

static bool new_list(tk_jrun *run, tk_jtype type, tk_jlist **list, tk_jval *out)
{
    if (!tk_jlist_new(run, list, 0)) {
        return false;
    }
    *out = tk_jval_list(*list, type);
    return true;
}

/* Lower-case text, as jinja2 compares it. */
static bool fold(tk_jrun *run, tk_jval *value)
{
    if (value->type != TK_JT_STR) {
        return true;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_jstr_put_case(&buf, value->as.s, TK_JSTR_LOWER);
    return tk_jrun_bytes(run, value->as.s.n) && tk_jval_take(run, &buf, value);
}

/* "a.b.0" of an item. */
static bool attribute_of(tk_jrun *run, tk_jval item, tk_jval path, tk_jval *out)
{
    *out = item;
    if (path.type != TK_JT_STR) {
        return tk_jval_item(run, item, path, out);
    }
    tk_str rest = path.as.s;
    do {
        tk_str part = tk_str_cut(&rest, '.');
        int64_t index;
        bool is_index = part.n > 0 && part.p[0] != '-' && tk_str_to_i64(part, &index);
        if (!tk_jval_item(run, *out, is_index ? tk_jval_int(index) : tk_jval_str(part),
                          out)) {
            return false;
        }
    } while (rest.p != NULL);
    return true;
}

/* A generator of jinja2 raises when it is walked, not when it is made: what went wrong is
 * kept for then. Lack of memory, of steps and of support is told at once. */
static bool lazily(tk_jrun *run, bool ok, tk_jval *out)
{
    if (ok || run->err->code != TINKC_E_INVALID) {
        return ok;
    }
    tk_err why = *run->err;
    tk_jlist *list;
    tk_err_clear(run->err);
    if (!tk_jlist_new(run, &list, 0)) {
        return false;
    }
    list->why = tk_jrun_alloc(run, 1, sizeof(*list->why));
    if (list->why == NULL) {
        return false;
    }
    *list->why = why;
    *out = tk_jval_list(list, TK_JT_ITER);
    return true;
}

#define LAZY(name, of)                                                                   \
    FILTER(name)                                                                         \
    {                                                                                    \
        return lazily(run, of(run, self, args, out), out);                               \
    }

/* ---- length, ends, conversion ---- */

FILTER(do_length)
{
    (void)args;
    int64_t n = tk_jval_length(&self);
    if (n < 0) {
        return tk_jrun_raise(run, "object of type '%s' has no len()",
                             tk_jval_type_name(&self));
    }
    *out = tk_jval_int(n);
    return self.type != TK_JT_STR || tk_jrun_bytes(run, self.as.s.n);
}

FILTER(do_list)
{
    (void)args;
    tk_jlist items, *list;
    if (!tk_jval_iterate(run, self, &items) || !new_list(run, TK_JT_LIST, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        if (!tk_jlist_add(run, list, items.items[i])) {
            return false;
        }
    }
    return true;
}

FILTER(do_first)
{
    tk_jlist items;
    bool is_last = args->op == 1;
    bool takes_one = self.type == TK_JT_ITER && !is_last && self.as.list->why == NULL;
    if (takes_one) {
        tk_jlist *from = self.as.list;
        *out = from->at < from->n ? from->items[from->at++]
                                  : tk_jval_undef(TK_STR("No first item, sequence was "
                                                         "empty."),
                                                  TK_JU_EMPTY);
        return true;
    }
    if (is_last && self.type == TK_JT_ITER) {
        return tk_jrun_raise(run, "'generator' object is not reversible");
    }
    if (!tk_jval_iterate(run, self, &items)) {
        return false;
    }
    *out = items.n > 0
               ? items.items[is_last ? items.n - 1 : 0]
               : tk_jval_undef(is_last ? TK_STR("No last item, sequence was empty.")
                                       : TK_STR("No first item, sequence was empty."),
                               TK_JU_EMPTY);
    return true;
}

FILTER(do_reverse)
{
    (void)args;
    tk_jval bounds[3] = {tk_jval_none(), tk_jval_none(), tk_jval_int(-1)};
    if (self.type == TK_JT_STR) {
        return tk_jval_slice(run, self, bounds, out);
    }
    tk_jlist items, *list;
    bool is_generator = self.type == TK_JT_ITER || self.type == TK_JT_UNDEFINED;
    if (!tk_jval_iterate(run, self, &items) ||
        !new_list(run, is_generator ? TK_JT_LIST : TK_JT_ITER, &list, out)) {
        return false;
    }
    for (size_t i = items.n; i-- > 0;) {
        if (!tk_jlist_add(run, list, items.items[i])) {
            return false;
        }
    }
    return true;
}

FILTER(do_items)
{
    (void)args;
    if (self.type != TK_JT_DICT && self.type != TK_JT_UNDEFINED) {
        return tk_jrun_raise(run, "Can only get item pairs from a mapping.");
    }
    tk_jlist items = {.n = 0}, *list;
    tk_jview view = {self.as.dict, 'i'};
    if (self.type == TK_JT_DICT &&
        !tk_jval_iterate(run, (tk_jval){.type = TK_JT_VIEW, .as.view = &view}, &items)) {
        return false;
    }
    if (!new_list(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    *list = items;
    return true;
}

FILTER(do_join)
{
    tk_str between = TK_STR("");
    const tk_jval *d = tk_jargs_at(args, 0), *attribute = tk_jargs_at(args, 1);
    tk_jlist items;
    if ((d != NULL && !tk_jval_to_str(run, d, &between)) ||
        !tk_jval_iterate(run, self, &items)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    for (size_t i = 0; i < items.n; i++) {
        tk_jval item = items.items[i];
        if (i > 0) {
            tk_buf_put(&buf, between.p, between.n);
        }
        bool ok = tk_jrun_bytes(run, between.n + 16) &&
                  (attribute == NULL || attribute->type == TK_JT_NONE ||
                   attribute_of(run, item, *attribute, &item)) &&
                  tk_jval_put(run, &buf, &item);
        if (!ok) {
            tk_buf_dispose(&buf);
            return false;
        }
    }
    return tk_jval_take(run, &buf, out);
}

/* ---- sorting ---- */

typedef struct sort_item {
    tk_jval key, value;
} sort_item;

/* Stable merge of [from, middle) and [middle, to); `room` is as large. */
static bool merge(tk_jrun *run, sort_item *items, sort_item *room, size_t middle,
                  size_t n, bool reverse)
{
    size_t a = 0, b = middle;
    for (size_t i = 0; i < n; i++) {
        bool left = b >= n;
        if (!left && a < middle) {
            int order;
            if (!tk_jval_compare(run, &items[b].key, &items[a].key, &order)) {
                return false;
            }
            left = reverse ? order <= 0 : order >= 0;
        }
        room[i] = items[left ? a++ : b++];
    }
    memcpy(items, room, n * sizeof(*items));
    return tk_jrun_step(run, n);
}

static bool sort(tk_jrun *run, sort_item *items, sort_item *room, size_t n, bool reverse)
{
    if (n < 2) {
        return true;
    }
    size_t middle = n / 2;
    return sort(run, items, room, middle, reverse) &&
           sort(run, items + middle, room, n - middle, reverse) &&
           merge(run, items, room, middle, n, reverse);
}

static bool sorted(tk_jrun *run, sort_item *items, size_t n, bool reverse, tk_jval *out)
{
    sort_item *room = tk_jrun_alloc(run, n + 1, sizeof(*room));
    tk_jlist *list;
    if (room == NULL || !sort(run, items, room, n, reverse) ||
        !new_list(run, TK_JT_LIST, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!tk_jlist_add(run, list, items[i].value)) {
            return false;
        }
    }
    return true;
}

/* The key to sort by: the item, an attribute of it, or several between commas. */
static bool sort_key(tk_jrun *run, tk_jval item, const tk_jval *attribute, bool exact,
                     tk_jval *out)
{
    *out = item;
    if (attribute == NULL || attribute->type == TK_JT_NONE) {
        return exact || fold(run, out);
    }
    if (attribute->type != TK_JT_STR ||
        tk_jstr_find(attribute->as.s, TK_STR(","), 0) == SIZE_MAX) {
        return attribute_of(run, item, *attribute, out) && (exact || fold(run, out));
    }
    tk_jlist *keys;
    if (!new_list(run, TK_JT_LIST, &keys, out)) {
        return false;
    }
    tk_str rest = attribute->as.s;
    do {
        tk_jval key;
        if (!attribute_of(run, item, tk_jval_str(tk_str_cut(&rest, ',')), &key) ||
            !(exact || fold(run, &key)) || !tk_jlist_add(run, keys, key)) {
            return false;
        }
    } while (rest.p != NULL);
    return true;
}

/* jinja2 sorts by lists of keys: keys that are equal are never asked for their order. */
static bool sort_by(tk_jrun *run, tk_jval item, const tk_jval *attribute, bool exact,
                    tk_jval *out)
{
    tk_jval key;
    tk_jlist *list;
    if (!sort_key(run, item, attribute, exact, &key)) {
        return false;
    }
    return new_list(run, TK_JT_LIST, &list, out) && tk_jlist_add(run, list, key);
}

enum { BY_LIST = 0, BY_KEY = 1 };

FILTER(do_sort)
{
    tk_jlist items;
    bool reverse = tk_jargs_bool(args, 0, false), exact = tk_jargs_bool(args, 1, false);
    if (!tk_jval_iterate(run, self, &items)) {
        return false;
    }
    sort_item *all = tk_jrun_alloc(run, items.n + 1, sizeof(*all));
    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        all[i].value = items.items[i];
        if (!(args->op == BY_KEY ? sort_key : sort_by)(
                run, items.items[i], tk_jargs_at(args, 2), exact, &all[i].key)) {
            return false;
        }
    }
    return sorted(run, all, items.n, reverse, out);
}

FILTER(do_dictsort)
{
    bool exact = tk_jargs_bool(args, 0, false), reverse = tk_jargs_bool(args, 2, false);
    const tk_jval *by = tk_jargs_at(args, 1);
    bool by_value = by != NULL && by->type == TK_JT_STR && tk_str_is(by->as.s, "value");
    if (by != NULL && !by_value &&
        !(by->type == TK_JT_STR && tk_str_is(by->as.s, "key"))) {
        return tk_jrun_raise(run, "You can only sort by either \"key\" or \"value\"");
    }
    if (self.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, self);
    }
    if (self.type != TK_JT_DICT) {
        return tk_jrun_raise(run, "'%s' object has no attribute 'items'",
                             tk_jval_type_name(&self));
    }
    tk_jlist items;
    tk_jview view = {self.as.dict, 'i'};
    if (!tk_jval_iterate(run, (tk_jval){.type = TK_JT_VIEW, .as.view = &view}, &items)) {
        return false;
    }
    sort_item *all = tk_jrun_alloc(run, items.n + 1, sizeof(*all));
    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        all[i].value = items.items[i];
        all[i].key = items.items[i].as.list->items[by_value];
        if (!exact && !fold(run, &all[i].key)) {
            return false;
        }
    }
    return sorted(run, all, items.n, reverse, out);
}

FILTER(do_unique)
{
    bool exact = tk_jargs_bool(args, 0, false);
    const tk_jval *attribute = tk_jargs_at(args, 1);
    tk_jlist items, *list;
    tk_jdict *seen;
    if (!tk_jval_iterate(run, self, &items) || !tk_jdict_new(run, &seen) ||
        !new_list(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval key;
        tk_jentry *known = NULL;
        if (!sort_key(run, items.items[i], attribute, exact, &key) ||
            !tk_jdict_find(run, seen, key, &known)) {
            return false;
        }
        if (known == NULL && (!tk_jdict_put(run, seen, key, tk_jval_none()) ||
                              !tk_jlist_add(run, list, items.items[i]))) {
            return false;
        }
    }
    return true;
}

FILTER(do_min_max)
{
    bool exact = tk_jargs_bool(args, 0, false);
    const tk_jval *attribute = tk_jargs_at(args, 1);
    tk_jlist items;
    if (!tk_jval_iterate(run, self, &items)) {
        return false;
    }
    *out = tk_jval_undef(TK_STR("No aggregated item, sequence was empty."), TK_JU_EMPTY);
    tk_jval best = tk_jval_none();
    for (size_t i = 0; i < items.n; i++) {
        tk_jval key;
        int order = -1;
        if (!sort_key(run, items.items[i], attribute, exact, &key)) {
            return false;
        }
        if (i > 0 && !(args->op == 0 ? tk_jval_compare(run, &key, &best, &order)
                                     : tk_jval_compare(run, &best, &key, &order))) {
            return false;
        }
        if (order < 0) {
            best = key;
            *out = items.items[i];
        }
    }
    return true;
}

FILTER(do_sum)
{
    const tk_jval *attribute = tk_jargs_at(args, 0), *start = tk_jargs_at(args, 1);
    tk_jlist items;
    *out = start != NULL ? *start : tk_jval_int(0);
    if (!tk_jval_iterate(run, self, &items)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval item = items.items[i];
        if ((attribute != NULL && attribute->type != TK_JT_NONE &&
             !attribute_of(run, item, *attribute, &item)) ||
            !tk_jval_binary(run, '+', *out, item, out)) {
            return false;
        }
    }
    return true;
}

/* ---- map, select and their kin ---- */

FILTER(do_map)
{
    tk_jlist items, *list;
    const tk_jval *attribute = NULL, *fallback = NULL;
    for (size_t i = 0; i < args->n_named && args->n == 0; i++) {
        tk_str key = args->named[i].key.as.s;
        attribute = tk_str_is(key, "attribute") ? &args->named[i].value : attribute;
        fallback = tk_str_is(key, "default") ? &args->named[i].value : fallback;
    }
    if (!tk_jval_truth(&self)) {
        return new_list(run, TK_JT_ITER, &list, out);
    }
    if (attribute == NULL && (args->n == 0 || args->items[0].type != TK_JT_STR)) {
        return tk_jrun_raise(run, "map requires a filter argument");
    }
    if (!tk_jval_iterate(run, self, &items) || !new_list(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval item = items.items[i];
        bool ok;
        if (attribute != NULL) {
            ok = attribute_of(run, item, *attribute, &item);
            if (ok && fallback != NULL && item.type == TK_JT_UNDEFINED) {
                item = *fallback;
            }
        } else {
            tk_jargs rest = {args->items + 1, args->n - 1, args->named, args->n_named, 0};
            ok = tk_jrun_enter(run) &&
                 tk_jinja_filter(run, args->items[0].as.s, item, &rest, &item);
            tk_jrun_leave(run);
        }
        if (!ok || !tk_jlist_add(run, list, item)) {
            return false;
        }
    }
    return true;
}

enum { SELECT = 0, REJECT = 1, BY_ATTR = 2 };

FILTER(do_select)
{
    tk_jlist items, *list;
    bool by_attr = (args->op & BY_ATTR) != 0;
    size_t skip = by_attr ? 1 : 0;
    if (!tk_jval_truth(&self)) {
        return new_list(run, TK_JT_ITER, &list, out);
    }
    if (args->n < skip) {
        return tk_jrun_raise(run, "Missing parameter for attribute name");
    }
    const tk_jval *test = args->n > skip ? &args->items[skip] : NULL;
    if (!tk_jval_iterate(run, self, &items) || !new_list(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    if (test != NULL &&
        (test->type != TK_JT_STR || tk_jinja_find_test(test->as.s) == NULL)) {
        tk_str name;
        return tk_jval_to_str(run, test, &name) &&
               tk_jrun_raise(run, "No test named '" TK_STR_FMT "'.", TK_STR_ARG(name));
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval item = items.items[i];
        if (by_attr && !attribute_of(run, item, args->items[0], &item)) {
            return false;
        }
        bool holds = tk_jval_truth(&item);
        if (test != NULL) {
            tk_jargs rest = {args->items + skip + 1, args->n - skip - 1, args->named,
                             args->n_named, 0};
            if (!tk_jinja_test(run, test->as.s, item, &rest, &holds)) {
                return false;
            }
        }
        if (holds != ((args->op & REJECT) != 0) &&
            !tk_jlist_add(run, list, items.items[i])) {
            return false;
        }
    }
    return true;
}

/* The four of them take any arguments, so each needs its own entry to know which it is.
 */
#define SELECTOR(name, bits)                                                             \
    FILTER(name)                                                                         \
    {                                                                                    \
        tk_jargs with = *args;                                                           \
        with.op = (bits);                                                                \
        return lazily(run, do_select(run, self, &with, out), out);                       \
    }
SELECTOR(do_plain_select, SELECT)
SELECTOR(do_plain_reject, REJECT)
SELECTOR(do_selectattr, SELECT | BY_ATTR)
SELECTOR(do_rejectattr, REJECT | BY_ATTR)

/* ---- groups ---- */

FILTER(do_batch)
{
    int64_t size;
    const tk_jval *fill = tk_jargs_at(args, 1);
    tk_jlist items, *list, *part = NULL;
    if (!tk_jargs_int(run, args, 0, 1, &size) || !tk_jval_iterate(run, self, &items) ||
        !new_list(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval value;
        if ((part == NULL || (int64_t)part->n == size) &&
            (!new_list(run, TK_JT_LIST, &part, &value) ||
             !tk_jlist_add(run, list, value))) {
            return false;
        }
        if (!tk_jlist_add(run, part, items.items[i])) {
            return false;
        }
    }
    while (part != NULL && fill != NULL && fill->type != TK_JT_NONE &&
           (int64_t)part->n < size) {
        if (!tk_jlist_add(run, part, *fill)) {
            return false;
        }
    }
    return true;
}

FILTER(do_groupby)
{
    const tk_jval *attribute = tk_jargs_at(args, 0);
    tk_jval sorted_items;
    tk_jval sort_args[3] = {tk_jval_bool(false),
                            tk_jval_bool(tk_jargs_bool(args, 2, false)), *attribute};
    tk_jargs placed = {.items = sort_args, .n = 3, .op = BY_KEY};
    tk_jlist *list, *group = NULL;
    tk_jval last = tk_jval_none();
    if (!do_sort(run, self, &placed, &sorted_items) ||
        !new_list(run, TK_JT_LIST, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < sorted_items.as.list->n; i++) {
        tk_jval item = sorted_items.as.list->items[i], key, shown, members, pair;
        bool same = false;
        tk_jlist *two;
        if (!attribute_of(run, item, *attribute, &shown) ||
            !sort_key(run, item, attribute, tk_jargs_bool(args, 2, false), &key) ||
            !tk_jval_equal(run, &key, &last, &same)) {
            return false;
        }
        if ((group == NULL || !same) &&
            (!new_list(run, TK_JT_LIST, &group, &members) ||
             !new_list(run, TK_JT_TUPLE, &two, &pair) || !tk_jlist_add(run, two, shown) ||
             !tk_jlist_add(run, two, members) || !tk_jlist_add(run, list, pair))) {
            return false;
        }
        last = key;
        if (!tk_jlist_add(run, group, item)) {
            return false;
        }
    }
    return true;
}

FILTER(do_slice)
{
    (void)self;
    (void)args;
    (void)out;
    return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "filter slice");
}

LAZY(lazy_items, do_items)
LAZY(lazy_unique, do_unique)
LAZY(lazy_map, do_map)
LAZY(lazy_batch, do_batch)

const tk_jfunc tk_jfilters_seq[] = {
    {"length", "", do_length, 0, 0, 0},
    {"count", "", do_length, 0, 0, 0},
    {"list", "", do_list, 0, 0, 0},
    {"first", "", do_first, 0, 0, 0},
    {"last", "", do_first, 0, 0, 1},
    {"reverse", "", do_reverse, 0, 0, 0},
    {"items", "", lazy_items, 0, 0, 0},
    {"join", "d attribute", do_join, 0, 2, 0},
    {"sort", "reverse case_sensitive attribute", do_sort, 0, 3, BY_LIST},
    {"dictsort", "case_sensitive by reverse", do_dictsort, 0, 3, 0},
    {"unique", "case_sensitive attribute", lazy_unique, 0, 2, 0},
    {"min", "case_sensitive attribute", do_min_max, 0, 2, 0},
    {"max", "case_sensitive attribute", do_min_max, 0, 2, 1},
    {"sum", "attribute start", do_sum, 0, 2, 0},
    {"map", "", lazy_map, 0, -1, 0},
    {"select", "", do_plain_select, 0, -1, 0},
    {"reject", "", do_plain_reject, 0, -1, 0},
    {"selectattr", "", do_selectattr, 0, -1, 0},
    {"rejectattr", "", do_rejectattr, 0, -1, 0},
    {"batch", "linecount fill_with", lazy_batch, 1, 2, 0},
    {"groupby", "attribute default case_sensitive", do_groupby, 1, 3, 0},
    {"slice", "", do_slice, 0, -1, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
