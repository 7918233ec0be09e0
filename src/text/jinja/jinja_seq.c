/* Filters on sequences and mappings. Those that are generators in jinja2 give a
 * TK_JT_ITER: it can be walked once and has no length. */
#include "text/jinja/jinja_run.h"

bool tk_jval_path(tk_jrun *run, tk_jval item, tk_jval path, tk_jval *out)
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
        if (!tk_jrun_step(run, 1) ||
            !tk_jval_item(run, *out, is_index ? tk_jval_int(index) : tk_jval_str(part),
                          out)) {
            return false;
        }
    } while (rest.p != NULL);
    return true;
}

bool tk_jfilter_lazily(tk_jrun *run, bool ok, tk_jval *out)
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

/* ---- length, ends, conversion ---- */

TK_JFUNC(do_length)
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

TK_JFUNC(do_list)
{
    (void)args;
    tk_jlist items, *list;
    if (!tk_jval_iterate(run, self, &items) ||
        !tk_jlist_make(run, TK_JT_LIST, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        if (!tk_jlist_add(run, list, items.items[i])) {
            return false;
        }
    }
    return true;
}

TK_JFUNC(do_first)
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

TK_JFUNC(do_reverse)
{
    (void)args;
    tk_jval bounds[3] = {tk_jval_none(), tk_jval_none(), tk_jval_int(-1)};
    if (self.type == TK_JT_STR) {
        return tk_jval_slice(run, self, bounds, out);
    }
    tk_jlist items, *list;
    bool is_generator = self.type == TK_JT_ITER || self.type == TK_JT_UNDEFINED;
    if (!tk_jval_iterate(run, self, &items) ||
        !tk_jlist_make(run, is_generator ? TK_JT_LIST : TK_JT_ITER, &list, out)) {
        return false;
    }
    for (size_t i = items.n; i-- > 0;) {
        if (!tk_jlist_add(run, list, items.items[i])) {
            return false;
        }
    }
    return true;
}

TK_JFUNC(do_items)
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
    if (!tk_jlist_make(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    *list = items;
    return true;
}

TK_JFUNC(do_join)
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
                   tk_jval_path(run, item, *attribute, &item)) &&
                  tk_jval_put(run, &buf, &item);
        if (!ok) {
            tk_buf_dispose(&buf);
            return false;
        }
    }
    return tk_jval_take(run, &buf, out);
}

TK_JFUNC(do_sum)
{
    const tk_jval *attribute = tk_jargs_at(args, 0), *start = tk_jargs_at(args, 1);
    tk_jlist items;
    *out = start != NULL ? *start : tk_jval_int(0);
    if (out->type == TK_JT_STR) {
        return tk_jrun_raise(run, "sum() can't sum strings [use ''.join(seq) instead]");
    }
    if (!tk_jval_iterate(run, self, &items) || !tk_jrun_step(run, items.n)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval item = items.items[i];
        if ((attribute != NULL && attribute->type != TK_JT_NONE &&
             !tk_jval_path(run, item, *attribute, &item)) ||
            !tk_jval_binary(run, '+', *out, item, out)) {
            return false;
        }
    }
    return true;
}

/* ---- map, select, reject ---- */

TK_JFUNC(do_map)
{
    tk_jlist items, *list;
    const tk_jval *attribute = NULL, *fallback = NULL;
    for (size_t i = 0; i < args->n_named && args->n == 0; i++) {
        tk_str key = args->named[i].key.as.s;
        attribute = tk_str_is(key, "attribute") ? &args->named[i].value : attribute;
        fallback = tk_str_is(key, "default") ? &args->named[i].value : fallback;
    }
    if (!tk_jval_truth(&self)) {
        return tk_jlist_make(run, TK_JT_ITER, &list, out);
    }
    if (attribute == NULL && (args->n == 0 || args->items[0].type != TK_JT_STR)) {
        return tk_jrun_raise(run, "map requires a filter argument");
    }
    if (!tk_jval_iterate(run, self, &items) ||
        !tk_jlist_make(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval item = items.items[i];
        bool ok;
        if (attribute != NULL) {
            ok = tk_jval_path(run, item, *attribute, &item);
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

TK_JFUNC(do_select)
{
    tk_jlist items, *list;
    bool by_attr = (args->op & BY_ATTR) != 0;
    size_t skip = by_attr ? 1 : 0;
    if (!tk_jval_truth(&self)) {
        return tk_jlist_make(run, TK_JT_ITER, &list, out);
    }
    if (args->n < skip) {
        return tk_jrun_raise(run, "Missing parameter for attribute name");
    }
    const tk_jval *test = args->n > skip ? &args->items[skip] : NULL;
    if (!tk_jval_iterate(run, self, &items) || !tk_jrun_step(run, items.n) ||
        !tk_jlist_make(run, TK_JT_ITER, &list, out)) {
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
        if (by_attr && !tk_jval_path(run, item, args->items[0], &item)) {
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

/* The four take any arguments, which tk_jfunc_call passes on without `op`: each has its
 * own function that sets it. */
#define SELECTOR(name, bits)                                                             \
    TK_JFUNC(name)                                                                       \
    {                                                                                    \
        tk_jargs with = *args;                                                           \
        with.op = (bits);                                                                \
        return tk_jfilter_lazily(run, do_select(run, self, &with, out), out);            \
    }
SELECTOR(do_plain_select, SELECT)
SELECTOR(do_plain_reject, REJECT)
SELECTOR(do_selectattr, SELECT | BY_ATTR)
SELECTOR(do_rejectattr, REJECT | BY_ATTR)

/* ---- groups ---- */

TK_JFUNC(do_batch)
{
    int64_t size;
    const tk_jval *fill = tk_jargs_at(args, 1);
    tk_jlist items, *list, *part = NULL;
    if (!tk_jargs_int(run, args, 0, 1, &size) || !tk_jval_iterate(run, self, &items) ||
        !tk_jlist_make(run, TK_JT_ITER, &list, out)) {
        return false;
    }
    for (size_t i = 0; i < items.n; i++) {
        tk_jval value;
        if ((part == NULL || (int64_t)part->n == size) &&
            (!tk_jlist_make(run, TK_JT_LIST, &part, &value) ||
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

TK_JFUNC_LAZY(lazy_items, do_items)
TK_JFUNC_LAZY(lazy_map, do_map)
TK_JFUNC_LAZY(lazy_batch, do_batch)

const tk_jfunc tk_jfilters_seq[] = {
    {"length", "", do_length, 0, 0, 0},
    {"count", "", do_length, 0, 0, 0},
    {"list", "", do_list, 0, 0, 0},
    {"first", "", do_first, 0, 0, 0},
    {"last", "", do_first, 0, 0, 1},
    {"reverse", "", do_reverse, 0, 0, 0},
    {"items", "", lazy_items, 0, 0, 0},
    {"join", "d attribute", do_join, 0, 2, 0},
    {"sum", "attribute start", do_sum, 0, 2, 0},
    {"map", "", lazy_map, 0, -1, 0},
    {"select", "", do_plain_select, 0, -1, 0},
    {"reject", "", do_plain_reject, 0, -1, 0},
    {"selectattr", "", do_selectattr, 0, -1, 0},
    {"rejectattr", "", do_rejectattr, 0, -1, 0},
    {"batch", "linecount fill_with", lazy_batch, 1, 2, 0},
    {"slice", "", NULL, 0, -1, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
