/* String-keyed hash map with pointer values, iterated in the order of insertion.
 *
 * The hash is keyed with bytes from the OS, so hostile keys cannot make it slow; nothing
 * visible depends on that key. Values belong to the caller: the map never frees them.
 * Thread: one at a time. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

typedef enum tk_map_keys {
    TK_MAP_COPY_KEYS,  /* the map keeps copies, each followed by a NUL */
    TK_MAP_BORROW_KEYS /* key bytes must live as long as their entry */
} tk_map_keys;

typedef struct tk_map_entry tk_map_entry;

typedef struct tk_map {
    tk_map_entry *entries; /* in order of insertion, with holes where one was removed */
    uint32_t *slots;       /* hash table of positions in `entries` */
    size_t n_slots;        /* a power of two, or 0 */
    size_t n_entries;      /* with holes */
    size_t count;          /* without */
    tk_hash_key hash_key;
    tk_map_keys keys;
} tk_map;

/* Allocates nothing. */
void tk_map_init(tk_map *map, tk_map_keys keys);
void tk_map_dispose(tk_map *map); /* the map is empty and usable again */

/* Adds, or replaces the value in its old place (with TK_MAP_BORROW_KEYS the key bytes
 * too). On failure (TINKC_E_NOMEM; TINKC_E_LIMIT above TK_MAP_MAX_ENTRIES; TINKC_E_IO
 * without entropy) the map is as before. */
TK_NODISCARD tinkc_code tk_map_put(tk_map *map, tk_str key, void *value, tk_err *err);

/* NULL when the key is absent; tk_map_has distinguishes that from a NULL value. */
void *tk_map_get(const tk_map *map, tk_str key);
bool tk_map_has(const tk_map *map, tk_str key);

/* Removes the entry and returns its value, or NULL when there is none. */
void *tk_map_remove(tk_map *map, tk_str key);

/* Steps through the entries: start with *cursor = 0; false at the end. Either output may
 * be NULL. Removing during the walk is allowed, putting is not. */
bool tk_map_next(const tk_map *map, size_t *cursor, tk_str *key, void **value);

#endif
