/* The generator: add the golden ratio, mix (the splitmix64 scheme); see eng_rng.h. */
#include "engine/eng_rng.h"

#define STEP 0x9E3779B97F4A7C15ULL

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

void eng_rng_init(eng_rng *rng, uint64_t seed, uint64_t stream)
{
    rng->state = mix(mix(seed + STEP) ^ (stream * STEP));
}

uint64_t eng_rng_next(eng_rng *rng)
{
    rng->state += STEP;
    return mix(rng->state);
}

double eng_rng_unit(eng_rng *rng)
{
    return (double)(eng_rng_next(rng) >> 11) * 0x1p-53;
}
