/* Values: making them, also from JSON, what they are, and walking over what they hold. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "text/jinja/jinja_run.h"

tk_jval tk_jval_none(void)
{
    return (tk_jval){.type = TK_JT_NONE};
}

tk_jval tk_jval_bool(bool value)
{
    return (tk_jval){.type = TK_JT_BOOL, .as.b = value};
}

tk_jval tk_jval_int(int64_t value)
{
    return (tk_jval){.type = TK_JT_INT, .as.i = value};
}

tk_jval tk_jval_float(double value)
{
    return (tk_jval){.type = TK_JT_FLOAT, .as.f = value};
}

tk_jval tk_jval_str(tk_str s)
{
    /* Never a NULL pointer: code that cuts texts does arithmetic with it. */
    return (tk_jval){.type = TK_JT_STR, .as.s = {s.p != NULL ? s.p : "", s.n}};
}

tk_jval tk_jval_text(const char *text)
{
    return tk_jval_str(tk_str_of(text));
}

tk_jval tk_jval_undef(tk_str name, uint32_t flag)
{
    return (tk_jval){.type = TK_JT_UNDEFINED, .flag = flag, .as.s = name};
}

tk_jval tk_jval_list(tk_jlist *list, tk_jtype type)
{
    return (tk_jval){.type = type, .as.list = list};
}

/* ---- strings ---- */

/* Room for n bytes at the end of the growing strings; NULL with the error set. */
static char *string_room(tk_jrun *run, size_t n)
{
    if (n > run->room_size - run->room_used) {
        size_t size = TK_MAX(n * 2, 64 * TK_KIB);
        char *room = tk_jrun_alloc(run, size, 1);
        if (room == NULL) {
            return NULL;
        }
        run->room = room;
        run->room_size = size;
        run->room_used = 0;
    }
    return run->room + run->room_used;
}

bool tk_jval_concat(tk_jrun *run, tk_str a, tk_str b, tk_jval *out)
{
    if (!tk_jrun_bytes(run, b.n)) {
        return false;
    }
    /* A template that adds to one string again and again must not copy it each time: what
     * lies at the end of the room grows in place. Older views of it keep their length. */
    bool is_last = a.n > 0 && run->room != NULL && a.p >= run->room &&
                   a.p + a.n == run->room + run->room_used &&
                   b.n <= run->room_size - run->room_used;
    if (is_last) {
        if (b.n > 0) {
            memmove(run->room + run->room_used, b.p, b.n);
        }
        run->room_used += b.n;
        *out = tk_jval_str((tk_str){a.p, a.n + b.n});
        return true;
    }
    if (a.n + b.n == 0) {
        *out = tk_jval_str(TK_STR(""));
        return true;
    }
    char *room = tk_jrun_bytes(run, a.n) ? string_room(run, a.n + b.n) : NULL;
    if (room == NULL) {
        return false;
    }
    if (a.n > 0) {
        memcpy(room, a.p, a.n);
    }
    if (b.n > 0) {
        memcpy(room + a.n, b.p, b.n);
    }
    run->room_used += a.n + b.n;
    *out = tk_jval_str((tk_str){room, a.n + b.n});
    return true;
}

bool tk_jval_copy(tk_jrun *run, tk_str s, tk_jval *out)
{
    return tk_jval_concat(run, TK_STR(""), s, out);
}

bool tk_jval_take(tk_jrun *run, tk_buf *buf, tk_jval *out)
{
    bool ok;
    if (buf->failure == TINKC_E_LIMIT) {
        ok = tk_jrun_fail(run, TINKC_E_LIMIT, "a text is too long");
    } else if (buf->failure != TINKC_OK) {
        tk_err_nomem(run->err);
        ok = false;
    } else {
        ok = tk_jval_copy(run, tk_buf_str(buf), out);
    }
    tk_buf_dispose(buf);
    return ok;
}

/* ---- lists ---- */

bool tk_jlist_new(tk_jrun *run, tk_jlist **out, size_t room)
{
    tk_jlist *list = tk_jrun_alloc(run, 1, sizeof(*list));
    if (list == NULL) {
        return false;
    }
    *list = (tk_jlist){.cap = room};
    if (room > 0 && (list->items = tk_jrun_alloc(run, room, sizeof(tk_jval))) == NULL) {
        return false;
    }
    *out = list;
    return true;
}

bool tk_jlist_make(tk_jrun *run, tk_jtype type, tk_jlist **list, tk_jval *out)
{
    if (!tk_jlist_new(run, list, 0)) {
        return false;
    }
    *out = tk_jval_list(*list, type);
    return true;
}

bool tk_jlist_add(tk_jrun *run, tk_jlist *list, tk_jval value)
{
    if (list->n == list->cap) {
        size_t cap = list->cap < 4 ? 8 : list->cap * 2;
        tk_jval *items = tk_jrun_alloc(run, cap, sizeof(*items));
        if (items == NULL) {
            return false;
        }
        if (list->n > 0) {
            memcpy(items, list->items, list->n * sizeof(*items));
        }
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = value;
    return tk_jrun_step(run, 1);
}

/* ---- from JSON ---- */

static bool object_of_json(tk_jrun *run, const tk_json *json, tk_jval *out)
{
    tk_jdict *dict;
    if (!tk_jdict_new(run, &dict)) {
        return false;
    }
    for (size_t i = 0; i < json->as.object.n; i++) {
        const tk_json_member *member = &json->as.object.members[i];
        tk_jval value;
        if (!tk_jval_of_json(run, &member->value, &value) ||
            !tk_jdict_put(run, dict, tk_jval_str(member->key), value)) {
            return false;
        }
    }
    *out = (tk_jval){.type = TK_JT_DICT, .as.dict = dict};
    return true;
}

static bool array_of_json(tk_jrun *run, const tk_json *json, tk_jval *out)
{
    tk_jlist *list;
    if (!tk_jlist_new(run, &list, tk_json_len(json))) {
        return false;
    }
    for (size_t i = 0; i < tk_json_len(json); i++) {
        tk_json item = tk_json_at(json, i);
        tk_jval value;
        if (!tk_jval_of_json(run, &item, &value) || !tk_jlist_add(run, list, value)) {
            return false;
        }
    }
    *out = tk_jval_list(list, TK_JT_LIST);
    return true;
}

bool tk_jval_of_json(tk_jrun *run, const tk_json *json, tk_jval *out)
{
    if (!tk_jrun_step(run, 1)) {
        return false;
    }
    switch (json->type) {
    case TK_JSON_NULL:
        *out = tk_jval_none();
        return true;
    case TK_JSON_BOOL:
        *out = tk_jval_bool(json->as.boolean);
        return true;
    case TK_JSON_INT:
        *out = tk_jval_int(json->as.integer);
        return true;
    case TK_JSON_UINT:
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "an integer beyond 64 bits");
    case TK_JSON_REAL:
        *out = tk_jval_float(json->as.real);
        return true;
    case TK_JSON_STRING:
        *out = tk_jval_str(json->as.string);
        return true;
    case TK_JSON_ARRAY:
    case TK_JSON_INTS:
    case TK_JSON_REALS:
        return array_of_json(run, json, out);
    case TK_JSON_OBJECT:
        return object_of_json(run, json, out);
    }
    return false;
}

/* ---- what values are ---- */

bool tk_jval_is_number(const tk_jval *value)
{
    return value->type == TK_JT_INT || value->type == TK_JT_FLOAT ||
           value->type == TK_JT_BOOL;
}

bool tk_jval_as_int(const tk_jval *value, int64_t *out)
{
    if (value->type == TK_JT_INT) {
        *out = value->as.i;
        return true;
    }
    if (value->type == TK_JT_BOOL) {
        *out = value->as.b;
        return true;
    }
    return false;
}

double tk_jval_as_double(const tk_jval *value)
{
    return value->type == TK_JT_FLOAT ? value->as.f
           : value->type == TK_JT_INT ? (double)value->as.i
                                      : (double)value->as.b;
}

const char *tk_jval_type_name(const tk_jval *value)
{
    static const char *const names[] = {
        "Undefined", "NoneType",    "bool",  "int",      "float",
        "str",       "list",        "tuple", "dict",     "range",
        "Namespace", "LoopContext", "Macro", "function", "builtin_function_or_method",
        "generator", "dict_items",  "Cycler"};
    return names[value->type];
}

int64_t tk_jval_length(const tk_jval *value)
{
    switch (value->type) {
    case TK_JT_UNDEFINED:
        return 0;
    case TK_JT_STR:
        return (int64_t)tk_jstr_count(value->as.s);
    case TK_JT_LIST:
    case TK_JT_TUPLE:
        return (int64_t)value->as.list->n;
    case TK_JT_DICT:
        return (int64_t)value->as.dict->n;
    case TK_JT_VIEW:
        return (int64_t)value->as.view->dict->n;
    case TK_JT_RANGE:
        return (int64_t)value->as.range->n;
    case TK_JT_LOOP:
        return (int64_t)value->as.loop->n;
    case TK_JT_NONE:
    case TK_JT_BOOL:
    case TK_JT_INT:
    case TK_JT_FLOAT:
    case TK_JT_NAMESPACE:
    case TK_JT_MACRO:
    case TK_JT_FUNC:
    case TK_JT_METHOD:
    case TK_JT_ITER:
    case TK_JT_CYCLER:
        break;
    }
    return -1;
}

bool tk_jval_truth(const tk_jval *value)
{
    switch (value->type) {
    case TK_JT_NONE:
        return false;
    case TK_JT_BOOL:
        return value->as.b;
    case TK_JT_INT:
        return value->as.i != 0;
    case TK_JT_FLOAT:
        return value->as.f < 0 || value->as.f > 0 || isnan(value->as.f);
    case TK_JT_STR:
        return value->as.s.n > 0;
    case TK_JT_UNDEFINED:
    case TK_JT_LIST:
    case TK_JT_TUPLE:
    case TK_JT_DICT:
    case TK_JT_RANGE:
    case TK_JT_VIEW:
    case TK_JT_LOOP:
        return tk_jval_length(value) > 0;
    case TK_JT_NAMESPACE:
    case TK_JT_MACRO:
    case TK_JT_FUNC:
    case TK_JT_METHOD:
    case TK_JT_ITER:
    case TK_JT_CYCLER:
        break;
    }
    return true;
}

/* ---- iteration ---- */

static bool iterate_dict(tk_jrun *run, const tk_jdict *dict, char what, tk_jlist *out)
{
    for (size_t i = 0; i < dict->n; i++) {
        tk_jval item = what == 'v' ? dict->entries[i].value : dict->entries[i].key;
        if (what == 'i') {
            tk_jlist *pair;
            if (!tk_jlist_new(run, &pair, 2) ||
                !tk_jlist_add(run, pair, dict->entries[i].key) ||
                !tk_jlist_add(run, pair, dict->entries[i].value)) {
                return false;
            }
            item = tk_jval_list(pair, TK_JT_TUPLE);
        }
        if (!tk_jlist_add(run, out, item)) {
            return false;
        }
    }
    return true;
}

static bool iterate_str(tk_jrun *run, tk_str s, tk_jlist *out)
{
    uint32_t code;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        if (!tk_jlist_add(run, out, tk_jval_str((tk_str){s.p, k}))) {
            return false;
        }
    }
    return true;
}

bool tk_jval_iterate(tk_jrun *run, tk_jval value, tk_jlist *out)
{
    *out = (tk_jlist){.n = 0};
    if (value.type == TK_JT_LIST || value.type == TK_JT_TUPLE) {
        *out = (tk_jlist){.items = value.as.list->items, .n = value.as.list->n};
        out->cap = out->n;
        return true;
    }
    if (value.type == TK_JT_ITER) {
        tk_jlist *from = value.as.list;
        if (from->why != NULL) {
            *run->err = *from->why;
            return false;
        }
        if (from->at < from->n) {
            *out = (tk_jlist){.items = from->items + from->at, .n = from->n - from->at};
        }
        out->cap = out->n;
        from->at = from->n;
        return true;
    }
    if (value.type == TK_JT_UNDEFINED) {
        return true;
    }
    if (value.type == TK_JT_DICT) {
        return iterate_dict(run, value.as.dict, 'k', out);
    }
    if (value.type == TK_JT_VIEW) {
        return iterate_dict(run, value.as.view->dict, value.as.view->what, out);
    }
    if (value.type == TK_JT_STR) {
        return iterate_str(run, value.as.s, out);
    }
    if (value.type == TK_JT_RANGE) {
        const tk_jrange *range = value.as.range;
        for (size_t i = 0; i < range->n; i++) {
            int64_t at = range->start + (int64_t)i * range->step;
            if (!tk_jlist_add(run, out, tk_jval_int(at))) {
                return false;
            }
        }
        return true;
    }
    return tk_jrun_raise(run, "'%s' object is not iterable", tk_jval_type_name(&value));
}
