/* Methods of dict, list, tuple, loop and cycler, and the look-up of a method by type.
 * Methods that change a list or dict are refused by jinja2's immutable sandbox; here they
 * work unless the job is strict, because real templates use them. */
#include <string.h>

#include "text/jinja/jinja_run.h"

/* ---- dict ---- */

TK_JFUNC(dict_get)
{
    tk_jentry *entry = NULL;
    const tk_jval *fallback = tk_jargs_at(args, 1);
    if (!tk_jdict_find(run, self.as.dict, *tk_jargs_at(args, 0), &entry)) {
        return false;
    }
    *out = entry != NULL ? entry->value : fallback != NULL ? *fallback : tk_jval_none();
    return true;
}

TK_JFUNC(dict_view)
{
    tk_jview *view = tk_jrun_alloc(run, 1, sizeof(*view));
    if (view == NULL) {
        return false;
    }
    *view = (tk_jview){self.as.dict, (char)args->op};
    *out = (tk_jval){.type = TK_JT_VIEW, .as.view = view};
    return true;
}

static bool put_all(tk_jrun *run, tk_jdict *to, const tk_jdict *from)
{
    for (size_t i = 0; i < from->n; i++) {
        if (!tk_jdict_put(run, to, from->entries[i].key, from->entries[i].value)) {
            return false;
        }
    }
    return true;
}

TK_JFUNC(dict_copy)
{
    (void)args;
    tk_jdict *copy;
    if (!tk_jdict_new(run, &copy) || !put_all(run, copy, self.as.dict)) {
        return false;
    }
    *out = (tk_jval){.type = TK_JT_DICT, .as.dict = copy};
    return true;
}

TK_JFUNC(dict_pop)
{
    tk_jentry *entry = NULL;
    const tk_jval *fallback = tk_jargs_at(args, 1);
    if (!tk_jdict_find(run, self.as.dict, *tk_jargs_at(args, 0), &entry)) {
        return false;
    }
    if (entry == NULL && fallback == NULL) {
        return tk_jrun_raise(run, "pop: no such key");
    }
    *out = entry != NULL ? entry->value : *fallback;
    for (size_t i = 0; entry != NULL && i < self.as.dict->n;
         i++) { /* each key is hashed again */
        const tk_jval *key = &self.as.dict->entries[i].key;
        if (!tk_jrun_step(run, 1 + (key->type == TK_JT_STR ? key->as.s.n / 16 : 0))) {
            return false;
        }
    }
    if (entry != NULL) {
        tk_jdict_remove(self.as.dict, entry);
    }
    return true;
}

TK_JFUNC(dict_setdefault)
{
    tk_jentry *entry = NULL;
    const tk_jval *value = tk_jargs_at(args, 1);
    if (!tk_jdict_find(run, self.as.dict, *tk_jargs_at(args, 0), &entry)) {
        return false;
    }
    *out = entry != NULL ? entry->value : value != NULL ? *value : tk_jval_none();
    return entry != NULL || tk_jdict_put(run, self.as.dict, *tk_jargs_at(args, 0), *out);
}

TK_JFUNC(dict_update)
{
    *out = tk_jval_none();
    for (size_t i = 0; i < args->n; i++) {
        if (args->items[i].type != TK_JT_DICT) {
            return tk_jrun_raise(run, "update: not a dict");
        }
        if (args->items[i].as.dict != self.as.dict &&
            !put_all(run, self.as.dict, args->items[i].as.dict)) {
            return false;
        }
    }
    tk_jdict named = {.entries = args->named, .n = args->n_named};
    return put_all(run, self.as.dict, &named);
}

TK_JFUNC(dict_clear)
{
    (void)run;
    (void)args;
    *self.as.dict = (tk_jdict){.n = 0};
    *out = tk_jval_none();
    return true;
}

/* ---- list and tuple ---- */

TK_JFUNC(list_index)
{
    const tk_jlist *list = self.as.list;
    int64_t count = 0;
    for (size_t i = 0; i < list->n; i++) {
        bool same = false;
        if (!tk_jval_equal(run, &list->items[i], tk_jargs_at(args, 0), &same)) {
            return false;
        }
        if (same && args->op == 'i') {
            *out = tk_jval_int((int64_t)i);
            return true;
        }
        count += same;
    }
    *out = tk_jval_int(count);
    return args->op == 'c' || tk_jrun_raise(run, "value is not in list");
}

static bool list_extend(tk_jrun *run, tk_jlist *list, const tk_jval *items)
{
    tk_jlist more;
    if (!tk_jval_iterate(run, *items, &more)) {
        return false;
    }
    size_t n = more.n; /* it may be the list itself */
    for (size_t i = 0; i < n; i++) {
        if (!tk_jlist_add(run, list, more.items[i])) {
            return false;
        }
    }
    return true;
}

TK_JFUNC(list_copy)
{
    (void)args;
    tk_jlist *copy;
    if (!tk_jlist_new(run, &copy, self.as.list->n) || !list_extend(run, copy, &self)) {
        return false;
    }
    *out = tk_jval_list(copy, TK_JT_LIST);
    return true;
}

TK_JFUNC(list_add)
{
    *out = tk_jval_none();
    return args->op == 'a' ? tk_jlist_add(run, self.as.list, *tk_jargs_at(args, 0))
                           : list_extend(run, self.as.list, tk_jargs_at(args, 0));
}

TK_JFUNC(list_insert)
{
    tk_jlist *list = self.as.list;
    int64_t at;
    *out = tk_jval_none();
    if (!tk_jargs_int(run, args, 0, 0, &at) ||
        !tk_jlist_add(run, list, *tk_jargs_at(args, 1)) || !tk_jrun_step(run, list->n)) {
        return false;
    }
    int64_t n = (int64_t)list->n - 1;
    at = at < 0 ? at + n : at;
    at = at < 0 ? 0 : at > n ? n : at;
    memmove(list->items + at + 1, list->items + at, (size_t)(n - at) * sizeof(tk_jval));
    list->items[at] = *tk_jargs_at(args, 1);
    return true;
}

TK_JFUNC(list_pop)
{
    tk_jlist *list = self.as.list;
    int64_t at;
    if (!tk_jargs_int(run, args, 0, -1, &at) || !tk_jrun_step(run, list->n)) {
        return false;
    }
    at += at < 0 ? (int64_t)list->n : 0;
    if (at < 0 || at >= (int64_t)list->n) {
        return tk_jrun_raise(run, "pop index out of range");
    }
    *out = list->items[at];
    memmove(list->items + at, list->items + at + 1,
            (list->n - (size_t)at - 1) * sizeof(tk_jval));
    list->n--;
    return true;
}

TK_JFUNC(list_reverse)
{
    (void)args;
    tk_jlist *list = self.as.list;
    *out = tk_jval_none();
    for (size_t i = 0; i < list->n / 2; i++) {
        tk_jval other = list->items[i];
        list->items[i] = list->items[list->n - 1 - i];
        list->items[list->n - 1 - i] = other;
    }
    return tk_jrun_step(run, list->n);
}

TK_JFUNC(list_clear)
{
    (void)run;
    (void)args;
    self.as.list->n = 0;
    *out = tk_jval_none();
    return true;
}

/* ---- loop and cycler ---- */

TK_JFUNC(loop_cycle)
{
    if (args->n == 0) {
        return tk_jrun_raise(run, "no items for cycling given");
    }
    *out = args->items[self.as.loop->at % args->n];
    return true;
}

TK_JFUNC(loop_changed)
{
    tk_jloop *loop = self.as.loop;
    tk_jlist *list;
    bool same = false;
    if (!tk_jlist_new(run, &list, args->n)) {
        return false;
    }
    for (size_t i = 0; i < args->n; i++) {
        if (!tk_jlist_add(run, list, args->items[i])) {
            return false;
        }
    }
    tk_jval now = tk_jval_list(list, TK_JT_TUPLE);
    if (loop->has_changed && !tk_jval_equal(run, &loop->changed, &now, &same)) {
        return false;
    }
    loop->has_changed = true;
    loop->changed = now;
    *out = tk_jval_bool(!same);
    return true;
}

TK_JFUNC(cycler_next)
{
    (void)run;
    tk_jlist *list = self.as.list;
    *out = args->op == 'r' ? tk_jval_none() : list->items[list->at];
    list->at = args->op == 'r' ? 0 : (list->at + 1) % list->n;
    return true;
}

static const tk_jfunc dict_methods[] = {
    {"get", "", dict_get, 1, 2, 0},     {"items", "", dict_view, 0, 0, 'i'},
    {"keys", "", dict_view, 0, 0, 'k'}, {"values", "", dict_view, 0, 0, 'v'},
    {"copy", "", dict_copy, 0, 0, 0},   {"fromkeys", "", NULL, 0, -1, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};

static const tk_jfunc dict_changes[] = {
    {"pop", "", dict_pop, 1, 2, 0},        {"setdefault", "", dict_setdefault, 1, 2, 0},
    {"update", "", dict_update, 0, -1, 0}, {"clear", "", dict_clear, 0, 0, 0},
    {"popitem", "", NULL, 0, -1, 0},       {NULL, NULL, NULL, 0, 0, 0},
};

static const tk_jfunc list_methods[] = {
    {"index", "", list_index, 1, 1, 'i'},
    {"count", "", list_index, 1, 1, 'c'},
    {"copy", "", list_copy, 0, 0, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};

static const tk_jfunc tuple_methods[] = {
    {"index", "", list_index, 1, 1, 'i'},
    {"count", "", list_index, 1, 1, 'c'},
    {NULL, NULL, NULL, 0, 0, 0},
};

static const tk_jfunc list_changes[] = {
    {"append", "", list_add, 1, 1, 'a'},
    {"extend", "", list_add, 1, 1, 'e'},
    {"insert", "", list_insert, 2, 2, 0},
    {"pop", "", list_pop, 0, 1, 0},
    {"reverse", "", list_reverse, 0, 0, 0},
    {"clear", "", list_clear, 0, 0, 0},
    {"remove", "", NULL, 0, -1, 0},
    {"sort", "", NULL, 0, -1, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};

static const tk_jfunc loop_methods[] = {
    {"cycle", "", loop_cycle, 0, -1, 0},
    {"changed", "", loop_changed, 0, -1, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};

static const tk_jfunc cycler_methods[] = {
    {"next", "", cycler_next, 0, 0, 'n'},
    {"reset", "", cycler_next, 0, 0, 'r'},
    {NULL, NULL, NULL, 0, 0, 0},
};

static const tk_jfunc *find(const tk_jfunc *table, tk_str name)
{
    for (; table != NULL && table->name != NULL; table++) {
        if (tk_str_is(name, table->name)) {
            return table;
        }
    }
    return NULL;
}

const tk_jfunc *tk_jinja_find_method(tk_jtype type, tk_str name, bool *is_unsafe)
{
    const tk_jfunc *table = type == TK_JT_STR      ? tk_jmethods_str
                            : type == TK_JT_DICT   ? dict_methods
                            : type == TK_JT_LIST   ? list_methods
                            : type == TK_JT_TUPLE  ? tuple_methods
                            : type == TK_JT_LOOP   ? loop_methods
                            : type == TK_JT_CYCLER ? cycler_methods
                                                   : NULL;
    const tk_jfunc *func = find(table, name);
    *is_unsafe = false;
    if (func == NULL && (type == TK_JT_DICT || type == TK_JT_LIST)) {
        func = find(type == TK_JT_DICT ? dict_changes : list_changes, name);
        *is_unsafe = func != NULL;
    }
    return func;
}
