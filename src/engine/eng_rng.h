/* A seeded generator whose numbers are part of the engine's promise (initial weights,
 * sampling): 64-bit counter steps through a mixing function. Thread: one at a time. */
#ifndef ENGINE_ENG_RNG_H
#define ENGINE_ENG_RNG_H

#include <stdint.h>

typedef struct eng_rng {
    uint64_t state;
} eng_rng;

/* Streams with different (seed, stream) are independent. */
void eng_rng_init(eng_rng *rng, uint64_t seed, uint64_t stream);
uint64_t eng_rng_next(eng_rng *rng);
double eng_rng_unit(eng_rng *rng); /* uniform in [0, 1), 53 bits */

#endif
