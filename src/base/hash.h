/* SipHash-2-4: a keyed hash for tables whose keys come from outside. Without the secret
 * key, an attacker cannot choose keys that all land in one bucket. Thread: any. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

typedef struct tk_hash_key {
    uint64_t k0, k1;
} tk_hash_key;

uint64_t tk_hash_bytes(tk_hash_key key, const void *data, size_t n);

#endif
