/* Open addressing over 32-bit positions; the entries lie densely in a second array.
 * Both are rebuilt together, so a failed allocation leaves the old pair in use. */
#include "base/map.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/rand.h"

#define SLOT_FREE    UINT32_MAX       /* ends a probe */
#define SLOT_REMOVED (UINT32_MAX - 1) /* does not */
#define FIRST_SLOTS  ((size_t)8)

struct tk_map_entry {
    tk_str key;
    void *value;
    uint64_t hash;
    bool live;
};

void tk_map_init(tk_map *map, tk_map_keys keys)
{
    memset(map, 0, sizeof(*map));
    map->keys = keys;
}

static void free_key(const tk_map *map, tk_str key)
{
    if (map->keys == TK_MAP_COPY_KEYS) {
        tk_free((void *)(uintptr_t)key.p);
    }
}

void tk_map_dispose(tk_map *map)
{
    for (size_t i = 0; i < map->n_entries; i++) {
        if (map->entries[i].live) {
            free_key(map, map->entries[i].key);
        }
    }
    tk_free(map->entries);
    tk_free(map->slots);
    tk_map_init(map, map->keys);
}

/* The table is at most 3/4 full, holes included: every probe ends. */
static size_t room(size_t n_slots)
{
    return n_slots / 4 * 3;
}

/* The slot that holds the key, or n_slots. */
static size_t find_slot(const tk_map *map, tk_str key, uint64_t hash)
{
    for (size_t i = hash & (map->n_slots - 1);; i = (i + 1) & (map->n_slots - 1)) {
        uint32_t at = map->slots[i];
        if (at == SLOT_FREE) {
            return map->n_slots;
        }
        if (at != SLOT_REMOVED && map->entries[at].hash == hash &&
            tk_str_eq(map->entries[at].key, key)) {
            return i;
        }
    }
}

static tk_map_entry *find(const tk_map *map, tk_str key)
{
    if (map->count == 0) {
        return NULL;
    }
    uint64_t hash = tk_hash_bytes(map->hash_key, key.p, key.n);
    size_t slot = find_slot(map, key, hash);
    return slot < map->n_slots ? &map->entries[map->slots[slot]] : NULL;
}

static void link_entry(uint32_t *slots, size_t n_slots, uint64_t hash, size_t position)
{
    size_t i = hash & (n_slots - 1);
    while (slots[i] != SLOT_FREE) {
        i = (i + 1) & (n_slots - 1);
    }
    slots[i] = (uint32_t)position;
}

/* New arrays of n_slots without holes. */
static tinkc_code rebuild(tk_map *map, size_t n_slots, tk_err *err)
{
    tk_map_entry *entries = tk_array(room(n_slots), sizeof(*entries));
    uint32_t *slots = tk_array(n_slots, sizeof(*slots));
    if (entries == NULL || slots == NULL) {
        tk_free(entries);
        tk_free(slots);
        return tk_err_nomem(err);
    }
    memset(slots, 0xFF, n_slots * sizeof(*slots)); /* all SLOT_FREE */
    size_t n = 0;
    for (size_t i = 0; i < map->n_entries; i++) {
        if (map->entries[i].live) {
            entries[n] = map->entries[i];
            link_entry(slots, n_slots, entries[n].hash, n);
            n++;
        }
    }
    tk_free(map->entries);
    tk_free(map->slots);
    map->entries = entries;
    map->slots = slots;
    map->n_slots = n_slots;
    map->n_entries = n;
    return TINKC_OK;
}

static tinkc_code make_room(tk_map *map, tk_err *err)
{
    if (map->count >= TK_MAP_MAX_ENTRIES) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d entries in a map",
                          TK_MAP_MAX_ENTRIES);
    }
    if (map->n_slots == 0) {
        tinkc_code code = tk_rand_entropy(&map->hash_key, sizeof(map->hash_key), err);
        return code == TINKC_OK ? rebuild(map, FIRST_SLOTS, err) : code;
    }
    if (map->n_entries < room(map->n_slots)) {
        return TINKC_OK;
    }
    bool mostly_holes = map->count < room(map->n_slots) / 2;
    return rebuild(map, mostly_holes ? map->n_slots : map->n_slots * 2, err);
}

static tinkc_code add(tk_map *map, tk_str key, void *value, tk_err *err)
{
    tinkc_code code = make_room(map, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_map_entry entry = {key, value, tk_hash_bytes(map->hash_key, key.p, key.n), true};
    if (map->keys == TK_MAP_COPY_KEYS) {
        entry.key.p = tk_strndup(key.p, key.n);
        if (entry.key.p == NULL) {
            return tk_err_nomem(err);
        }
    }
    map->entries[map->n_entries] = entry;
    link_entry(map->slots, map->n_slots, entry.hash, map->n_entries);
    map->n_entries++;
    map->count++;
    return TINKC_OK;
}

tinkc_code tk_map_put(tk_map *map, tk_str key, void *value, tk_err *err)
{
    tk_map_entry *entry = find(map, key);
    if (entry == NULL) {
        return add(map, key, value, err);
    }
    entry->value = value;
    if (map->keys == TK_MAP_BORROW_KEYS) {
        entry->key = key;
    }
    return TINKC_OK;
}

void *tk_map_get(const tk_map *map, tk_str key)
{
    const tk_map_entry *entry = find(map, key);
    return entry != NULL ? entry->value : NULL;
}

bool tk_map_has(const tk_map *map, tk_str key)
{
    return find(map, key) != NULL;
}

void *tk_map_remove(tk_map *map, tk_str key)
{
    if (map->count == 0) {
        return NULL;
    }
    uint64_t hash = tk_hash_bytes(map->hash_key, key.p, key.n);
    size_t slot = find_slot(map, key, hash);
    if (slot == map->n_slots) {
        return NULL;
    }
    tk_map_entry *entry = &map->entries[map->slots[slot]];
    map->slots[slot] = SLOT_REMOVED;
    entry->live = false;
    free_key(map, entry->key);
    map->count--;
    return entry->value;
}

bool tk_map_next(const tk_map *map, size_t *cursor, tk_str *key, void **value)
{
    while (*cursor < map->n_entries && !map->entries[*cursor].live) {
        (*cursor)++;
    }
    if (*cursor >= map->n_entries) {
        return false;
    }
    const tk_map_entry *entry = &map->entries[(*cursor)++];
    if (key != NULL) {
        *key = entry->key;
    }
    if (value != NULL) {
        *value = entry->value;
    }
    return true;
}
