/* Dicts of a template, as Python has them: they keep the order of insertion, numbers of
 * all kinds are one key when they are equal, lists and dicts cannot be keys. */
#include <string.h>

#include "base/hash.h"
#include "text/jinja/jinja_run.h"

/* Below this many entries a search from the front is faster than a hash. */
#define FEW 8

bool tk_jval_is_hashable(tk_jrun *run, const tk_jval *value, bool *out)
{
    *out = value->type != TK_JT_LIST && value->type != TK_JT_DICT;
    if (value->type != TK_JT_TUPLE) {
        return true;
    }
    bool ok = tk_jrun_enter(run);
    for (size_t i = 0; ok && *out && i < value->as.list->n; i++) {
        ok = tk_jrun_step(run, 1) &&
             tk_jval_is_hashable(run, &value->as.list->items[i], out);
    }
    tk_jrun_leave(run);
    return ok;
}

/* The key is made of addresses, which an attacker does not know, so that colliding keys
 * cannot be chosen. */
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
    bool is_hashable = false, is_same = false;
    if (!tk_jval_is_hashable(run, &key, &is_hashable) ||
        !tk_jrun_bytes(run, key.type == TK_JT_STR ? key.as.s.n : 0)) {
        return false;
    }
    if (!is_hashable) {
        return tk_jrun_raise(run, "unhashable type: '%s'", tk_jval_type_name(&key));
    }
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
