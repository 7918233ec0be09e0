/* Scales, rounding and the layout of a row; see eng_int8.h. */
#include "engine/eng_int8.h"

#include <math.h>
#include <string.h>

#define MOST      127      /* the largest magnitude of an int8 weight; -128 is not used */
#define SMALLEST  0x0080   /* 2^-126 as bf16: products with it have all their bits */
#define ROUND_ADD 0x1.8p52 /* a double has no fraction beyond it */

uint16_t eng_int8_scale(eng_real max)
{
    float exact = (float)max / (float)MOST;
    uint32_t bits;
    memcpy(&bits, &exact, sizeof(bits));
    uint32_t up = (bits + 0xFFFF) >> 16;
    return (uint16_t)TK_MAX(up, (uint32_t)SMALLEST);
}

/* In double: the quotient of a float and a bf16 number that is no tie stays 2^-33 away
 * from it, so rounding twice gives what rounding once gives. */
int8_t eng_int8_round(eng_real value, uint16_t scale)
{
    double exact = (double)value / (double)eng_bf16_to_f32(scale);
    return (int8_t)((exact + ROUND_ADD) - ROUND_ADD);
}

/* One group: its scale and its weights, each ENG_LANES after the last. */
static void pack_group(char *group, size_t lane, const eng_real *in, size_t n)
{
    eng_real max = 0;
    for (size_t i = 0; i < n; i++) {
        eng_real size = in[i] < 0 ? -in[i] : in[i];
        max = size > max ? size : max;
    }
    uint16_t scale = eng_int8_scale(max);
    ((uint16_t *)(void *)group)[lane] = scale;
    int8_t *out = (int8_t *)group + ENG_SCALE_BYTES + lane;
    for (size_t i = 0; i < n; i++) {
        out[i * ENG_LANES] = eng_int8_round(in[i], scale);
    }
}

void eng_int8_pack_row(char *panel, size_t lane, const char *in, eng_dtype dtype,
                       size_t k)
{
    for (size_t first = 0; first < k; first += ENG_GROUP) {
        eng_real values[ENG_GROUP] = {0};
        size_t n = TK_MIN(k - first, (size_t)ENG_GROUP);
        if (in != NULL) {
            eng_dtype_read(values, in + first * eng_dtype_size(dtype), dtype, n);
        }
        pack_group(panel + eng_int8_bytes(first), lane, values, n);
    }
}

void eng_int8_unpack_row(const char *panel, size_t lane, eng_real *out, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        size_t in = i % ENG_GROUP;
        const char *group = panel + eng_int8_bytes(i - in);
        float scale = eng_bf16_to_f32(((const uint16_t *)(const void *)group)[lane]);
        const int8_t *weights = (const int8_t *)group + ENG_SCALE_BYTES;
        out[i] = (eng_real)weights[in * ENG_LANES + lane] * (eng_real)scale;
    }
}
