/* Values: making, hashing, equality, order, iteration. Python's rules: numbers of all
 * kinds compare by value, a dict keeps the order of insertion, lists are no keys. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "text/jinja_run.h"

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
    /* Never a NULL pointer: whoever cuts a text adds to it. */
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

/* ---- dicts ---- */

/* Below this many entries a search from the front is faster than a hash. */
#define FEW 8

bool tk_jval_is_hashable(const tk_jval *value)
{
    if (value->type == TK_JT_TUPLE) {
        for (size_t i = 0; i < value->as.list->n; i++) {
            if (!tk_jval_is_hashable(&value->as.list->items[i])) {
                return false;
            }
        }
        return true;
    }
    return value->type != TK_JT_LIST && value->type != TK_JT_DICT;
}

/* Nobody can send many keys with one hash without knowing where the arena lies. */
static tk_hash_key hash_key(const tk_jdict *dict)
{
    return (tk_hash_key){(uint64_t)(uintptr_t)dict, (uint64_t)(uintptr_t)dict->slots};
}

static uint64_t hash_of(const tk_jdict *dict, const tk_jval *key)
{
    if (key->type == TK_JT_STR) {
        return tk_hash_bytes(hash_key(dict), key->as.s.p, key->as.s.n);
    }
    if (tk_jval_is_number(key)) {
        double number = tk_jval_as_double(key);
        number = number == 0 ? 0 : number; /* -0 is 0 */
        return tk_hash_bytes(hash_key(dict), &number, sizeof(number));
    }
    return (uint64_t)key->type; /* rare as keys */
}

static bool index_dict(tk_jrun *run, tk_jdict *dict)
{
    size_t n_slots = 32;
    while (n_slots < dict->cap * 2) {
        n_slots *= 2;
    }
    uint32_t *slots = tk_jrun_alloc(run, n_slots, sizeof(*slots));
    if (slots == NULL || !tk_jrun_step(run, dict->n)) {
        return false;
    }
    memset(slots, 0, n_slots * sizeof(*slots));
    dict->slots = slots;
    dict->n_slots = n_slots;
    for (size_t i = 0; i < dict->n; i++) {
        uint64_t at = hash_of(dict, &dict->entries[i].key);
        while (slots[at & (n_slots - 1)] != 0) {
            at++;
        }
        slots[at & (n_slots - 1)] = (uint32_t)i + 1;
    }
    return true;
}

bool tk_jdict_new(tk_jrun *run, tk_jdict **out)
{
    *out = tk_jrun_alloc(run, 1, sizeof(**out));
    if (*out == NULL) {
        return false;
    }
    **out = (tk_jdict){.n = 0};
    return true;
}

static bool same_key(tk_jrun *run, const tk_jval *a, const tk_jval *b, bool *out)
{
    if (a->type == TK_JT_STR && b->type == TK_JT_STR) {
        *out = tk_str_eq(a->as.s, b->as.s);
        return true;
    }
    return tk_jval_equal(run, a, b, out);
}

bool tk_jdict_find(tk_jrun *run, const tk_jdict *dict, tk_jval key, tk_jentry **out)
{
    *out = NULL;
    if (!tk_jval_is_hashable(&key)) {
        return tk_jrun_raise(run, "unhashable type: '%s'", tk_jval_type_name(&key));
    }
    bool is_same = false;
    if (dict->slots == NULL) {
        for (size_t i = 0; i < dict->n; i++) {
            if (!same_key(run, &dict->entries[i].key, &key, &is_same)) {
                return false;
            }
            if (is_same) {
                *out = &dict->entries[i];
                return true;
            }
        }
        return true;
    }
    uint64_t at = hash_of(dict, &key);
    for (uint32_t slot; (slot = dict->slots[at & (dict->n_slots - 1)]) != 0; at++) {
        if (!tk_jrun_step(run, 1) ||
            !same_key(run, &dict->entries[slot - 1].key, &key, &is_same)) {
            return false;
        }
        if (is_same) {
            *out = &dict->entries[slot - 1];
            return true;
        }
    }
    return true;
}

tk_jval *tk_jdict_get(const tk_jdict *dict, tk_str key)
{
    tk_jval k = tk_jval_str(key);
    if (dict->slots == NULL) {
        for (size_t i = 0; i < dict->n; i++) {
            const tk_jval *have = &dict->entries[i].key;
            if (have->type == TK_JT_STR && tk_str_eq(have->as.s, key)) {
                return &dict->entries[i].value;
            }
        }
        return NULL;
    }
    uint64_t at = hash_of(dict, &k);
    for (uint32_t slot; (slot = dict->slots[at & (dict->n_slots - 1)]) != 0; at++) {
        tk_jentry *entry = &dict->entries[slot - 1];
        if (entry->key.type == TK_JT_STR && tk_str_eq(entry->key.as.s, key)) {
            return &entry->value;
        }
    }
    return NULL;
}

static bool grow_dict(tk_jrun *run, tk_jdict *dict)
{
    size_t cap = dict->cap == 0 ? FEW : dict->cap * 2;
    tk_jentry *entries = tk_jrun_alloc(run, cap, sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    if (dict->n > 0) {
        memcpy(entries, dict->entries, dict->n * sizeof(*entries));
    }
    dict->entries = entries;
    dict->cap = cap;
    return cap <= FEW || index_dict(run, dict);
}

bool tk_jdict_put(tk_jrun *run, tk_jdict *dict, tk_jval key, tk_jval value)
{
    tk_jentry *entry = NULL;
    if (!tk_jdict_find(run, dict, key, &entry)) {
        return false;
    }
    if (entry != NULL) {
        entry->value = value;
        return true;
    }
    if (dict->n == dict->cap && !grow_dict(run, dict)) {
        return false;
    }
    dict->entries[dict->n++] = (tk_jentry){key, value};
    if (dict->slots != NULL) {
        uint64_t at = hash_of(dict, &key);
        while (dict->slots[at & (dict->n_slots - 1)] != 0) {
            at++;
        }
        dict->slots[at & (dict->n_slots - 1)] = (uint32_t)dict->n;
    }
    return tk_jrun_step(run, 1);
}

void tk_jdict_remove(tk_jdict *dict, tk_jentry *entry)
{
    size_t at = (size_t)(entry - dict->entries);
    memmove(entry, entry + 1, (dict->n - at - 1) * sizeof(*entry));
    dict->n--;
    if (dict->slots == NULL) {
        return;
    }
    memset(dict->slots, 0, dict->n_slots * sizeof(*dict->slots));
    for (size_t i = 0; i < dict->n; i++) {
        uint64_t slot = hash_of(dict, &dict->entries[i].key);
        while (dict->slots[slot & (dict->n_slots - 1)] != 0) {
            slot++;
        }
        dict->slots[slot & (dict->n_slots - 1)] = (uint32_t)i + 1;
    }
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

/* ---- equality and order ---- */

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
