/* Randomness that is passed in, never global: jitter, identifiers, hash seeds.
 *
 * Production code seeds one generator per owner from the OS; tests give a fixed seed or
 * their own function. Not for keys or other secrets. Thread: one per tk_rand. */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include "base/err.h"
#include "base/tk.h"

typedef struct tk_rand {
    uint64_t (*next)(void *user); /* NULL = the generator over `state` */
    void *user;
    uint64_t state[4];
} tk_rand;

/* The same seed gives the same sequence on every machine. */
void tk_rand_init(tk_rand *rand, uint64_t seed);
void tk_rand_init_fn(tk_rand *rand, uint64_t (*next)(void *user), void *user);

/* Seeded by the OS. TINKC_E_IO when it gives nothing; *rand is untouched then. */
TK_NODISCARD tinkc_code tk_rand_init_os(tk_rand *rand, tk_err *err);

uint64_t tk_rand_u64(tk_rand *rand);
double tk_rand_double(tk_rand *rand); /* uniform in [0, 1) */

/* Uniform in [0, limit), without bias; 0 when limit is 0. */
uint64_t tk_rand_below(tk_rand *rand, uint64_t limit);
void tk_rand_bytes(tk_rand *rand, void *out, size_t n);

/* n bytes straight from the OS. Blocks only while the machine boots. On failure (which
 * is TINKC_E_IO) the bytes at `out` are unspecified. Thread: any. */
TK_NODISCARD tinkc_code tk_rand_entropy(void *out, size_t n, tk_err *err);

#endif
