/* xoshiro256** over a state spread from the seed by splitmix64, both by Blackman and
 * Vigna (public domain algorithms): fast, and good enough for jitter and identifiers. */
#include "base/rand.h"

#include <errno.h>
#include <sys/random.h>

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t splitmix(uint64_t *x)
{
    *x += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *x;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void tk_rand_init(tk_rand *rand, uint64_t seed)
{
    rand->next = NULL;
    rand->user = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(rand->state); i++) {
        rand->state[i] = splitmix(&seed);
    }
}

void tk_rand_init_fn(tk_rand *rand, uint64_t (*next)(void *user), void *user)
{
    tk_rand_init(rand, 0);
    rand->next = next;
    rand->user = user;
}

tinkc_code tk_rand_init_os(tk_rand *rand, tk_err *err)
{
    uint64_t state[4];
    tinkc_code code = tk_rand_entropy(state, sizeof(state), err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_rand_init(rand, 0);
    for (size_t i = 0; i < TK_ARRAY_LEN(state); i++) {
        rand->state[i] ^= state[i]; /* never all zero, where the generator would stay */
    }
    return TINKC_OK;
}

uint64_t tk_rand_u64(tk_rand *rand)
{
    if (rand->next != NULL) {
        return rand->next(rand->user);
    }
    uint64_t *s = rand->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double tk_rand_double(tk_rand *rand)
{
    return (double)(tk_rand_u64(rand) >> 11) * 0x1p-53;
}

uint64_t tk_rand_below(tk_rand *rand, uint64_t limit)
{
    if (limit == 0) {
        return 0;
    }
    /* 2^64 mod limit values at the bottom would be hit once too often */
    uint64_t skip = (UINT64_MAX - limit + 1) % limit;
    uint64_t value = tk_rand_u64(rand);
    while (value < skip) {
        value = tk_rand_u64(rand);
    }
    return value % limit;
}

void tk_rand_bytes(tk_rand *rand, void *out, size_t n)
{
    unsigned char *p = out;
    while (n > 0) {
        uint64_t word = tk_rand_u64(rand);
        size_t part = TK_MIN(n, sizeof(word));
        for (size_t i = 0; i < part; i++) {
            p[i] = (unsigned char)(word >> 8 * i); /* not memcpy: the same on every CPU */
        }
        p += part;
        n -= part;
    }
}

tinkc_code tk_rand_entropy(void *out, size_t n, tk_err *err)
{
    unsigned char *p = out;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return tk_err_set(err, TINKC_E_IO, "no random bytes from the system");
        }
        p += got;
        n -= (size_t)got;
    }
    return TINKC_OK;
}
