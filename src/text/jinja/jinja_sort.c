/* Filters that need an order or a key of the items: sort, dictsort, groupby, unique, min
 * and max. */
#include <string.h>

#include "text/jinja/jinja_run.h"

/* Lower-case text, as jinja2 compares it. */
static bool fold(tk_jrun *run, tk_jval *value)
{
    if (value->type != TK_JT_STR) {
        return true;
    }
    if (!tk_jrun_bytes(run, value->as.s.n)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_jstr_put_case(&buf, value->as.s, TK_JSTR_LOWER);
    return tk_jval_take(run, &buf, value);
}

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
        return tk_jval_path(run, item, *attribute, out) && (exact || fold(run, out));
    }
    tk_jlist *keys;
    if (!tk_jlist_make(run, TK_JT_LIST, &keys, out)) {
        return false;
    }
    tk_str rest = attribute->as.s;
    do {
        tk_jval key;
        if (!tk_jval_path(run, item, tk_jval_str(tk_str_cut(&rest, ',')), &key) ||
            !(exact || fold(run, &key)) || !tk_jlist_add(run, keys, key)) {
            return false;
        }
    } while (rest.p != NULL);
    return true;
}

/* How a filter orders its items. */
typedef struct ordering {
    bool (*key)(tk_jrun *run, tk_jval item, const struct ordering *by, tk_jval *out);
    bool reverse, exact; /* exact: upper and lower case differ */
    const tk_jval *attribute;
    size_t member; /* of a pair: 0 = key, 1 = value */
} ordering;

static bool plain_key(tk_jrun *run, tk_jval item, const ordering *by, tk_jval *out)
{
    return sort_key(run, item, by->attribute, by->exact, out);
}

/* jinja2 sorts by lists of keys: keys that are equal are never asked for their order. */
static bool list_key(tk_jrun *run, tk_jval item, const ordering *by, tk_jval *out)
{
    tk_jval key;
    tk_jlist *list;
    return plain_key(run, item, by, &key) && tk_jlist_make(run, TK_JT_LIST, &list, out) &&
           tk_jlist_add(run, list, key);
}

static bool pair_key(tk_jrun *run, tk_jval item, const ordering *by, tk_jval *out)
{
    *out = item.as.list->items[by->member];
    return by->exact || fold(run, out);
}

static bool sort_all(tk_jrun *run, tk_jval from, const ordering *by, tk_jval *out)
{
    tk_jlist items, *list;
    if (!tk_jval_iterate(run, from, &items)) {
        return false;
    }
    size_t n = items.n;
    sort_item *all = tk_jrun_alloc(run, n + 1, sizeof(*all));
    sort_item *room = tk_jrun_alloc(run, n + 1, sizeof(*room));
    if (all == NULL || room == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        all[i].value = items.items[i];
        if (!by->key(run, all[i].value, by, &all[i].key)) {
            return false;
        }
    }
    if (!sort(run, all, room, n, by->reverse) ||
        !tk_jlist_make(run, TK_JT_LIST, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!tk_jlist_add(run, list, all[i].value)) {
            return false;
        }
    }
    return true;
}

TK_JFUNC(do_sort)
{
    ordering by = {.key = list_key,
                   .reverse = tk_jargs_bool(args, 0, false),
                   .exact = tk_jargs_bool(args, 1, false),
                   .attribute = tk_jargs_at(args, 2)};
    return sort_all(run, self, &by, out);
}

TK_JFUNC(do_dictsort)
{
    const tk_jval *what = tk_jargs_at(args, 1);
    bool is_text = what != NULL && what->type == TK_JT_STR;
    bool by_value = is_text && tk_str_is(what->as.s, "value");
    if (what != NULL && !by_value && !(is_text && tk_str_is(what->as.s, "key"))) {
        return tk_jrun_raise(run, "You can only sort by either \"key\" or \"value\"");
    }
    if (self.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, self);
    }
    if (self.type != TK_JT_DICT) {
        return tk_jrun_raise(run, "'%s' object has no attribute 'items'",
                             tk_jval_type_name(&self));
    }
    ordering by = {.key = pair_key,
                   .reverse = tk_jargs_bool(args, 2, false),
                   .exact = tk_jargs_bool(args, 0, false),
                   .member = by_value};
    tk_jview view = {self.as.dict, 'i'};
    return sort_all(run, (tk_jval){.type = TK_JT_VIEW, .as.view = &view}, &by, out);
}

TK_JFUNC(do_unique)
{
    bool exact = tk_jargs_bool(args, 0, false);
    const tk_jval *attribute = tk_jargs_at(args, 1);
    tk_jlist items, *list;
    tk_jdict *seen;
    if (!tk_jval_iterate(run, self, &items) || !tk_jrun_step(run, items.n) ||
        !tk_jdict_new(run, &seen) || !tk_jlist_make(run, TK_JT_ITER, &list, out)) {
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

TK_JFUNC(do_min_max)
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

TK_JFUNC(do_groupby)
{
    const tk_jval *attribute = tk_jargs_at(args, 0);
    tk_jval sorted_items;
    ordering by = {
        .key = plain_key, .exact = tk_jargs_bool(args, 2, false), .attribute = attribute};
    tk_jlist *list, *group = NULL;
    tk_jval last = tk_jval_none();
    if (!sort_all(run, self, &by, &sorted_items) ||
        !tk_jlist_make(run, TK_JT_LIST, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < sorted_items.as.list->n; i++) {
        tk_jval item = sorted_items.as.list->items[i], key, shown, members, pair;
        bool same = false;
        tk_jlist *two;
        if (!tk_jval_path(run, item, *attribute, &shown) ||
            !plain_key(run, item, &by, &key) || !tk_jval_equal(run, &key, &last, &same)) {
            return false;
        }
        if ((group == NULL || !same) &&
            (!tk_jlist_make(run, TK_JT_LIST, &group, &members) ||
             !tk_jlist_make(run, TK_JT_TUPLE, &two, &pair) ||
             !tk_jlist_add(run, two, shown) || !tk_jlist_add(run, two, members) ||
             !tk_jlist_add(run, list, pair))) {
            return false;
        }
        last = key;
        if (!tk_jlist_add(run, group, item)) {
            return false;
        }
    }
    return true;
}

TK_JFUNC_LAZY(lazy_unique, do_unique)

const tk_jfunc tk_jfilters_sort[] = {
    {"sort", "reverse case_sensitive attribute", do_sort, 0, 3, 0},
    {"dictsort", "case_sensitive by reverse", do_dictsort, 0, 3, 0},
    {"unique", "case_sensitive attribute", lazy_unique, 0, 2, 0},
    {"min", "case_sensitive attribute", do_min_max, 0, 2, 0},
    {"max", "case_sensitive attribute", do_min_max, 0, 2, 1},
    {"groupby", "attribute default case_sensitive", do_groupby, 1, 3, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
