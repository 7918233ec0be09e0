/* Written from the paper (Aumasson and Bernstein, 2012): 2 rounds per word, 4 at the
 * end, words little-endian. */
#include "base/hash.h"

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], int count)
{
    for (; count > 0; count--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] = rotate_left(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] = rotate_left(v[2], 32);
    }
}

static uint64_t read_word(const unsigned char *p, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)p[i] << 8 * i;
    }
    return word;
}

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

uint64_t tk_hash_bytes(tk_hash_key key, const void *data, size_t n)
{
    uint64_t v[4] = {
        key.k0 ^ UINT64_C(0x736F6D6570736575), key.k1 ^ UINT64_C(0x646F72616E646F6D),
        key.k0 ^ UINT64_C(0x6C7967656E657261), key.k1 ^ UINT64_C(0x7465646279746573)};
    const unsigned char *p = data;
    size_t whole = n / 8 * 8;
    for (size_t i = 0; i < whole; i += 8) {
        absorb(v, read_word(p + i, 8));
    }
    uint64_t last = n > whole ? read_word(p + whole, n - whole) : 0;
    absorb(v, last | (uint64_t)n << 56);
    v[2] ^= 0xFF;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
