/* Conversions of stored numbers; see eng_dtype.h. Little-endian hosts only, which is
 * every host that the kernels are written for. */
#include "engine/eng_dtype.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the engine reads little-endian files in place"
#endif

size_t eng_dtype_size(eng_dtype dtype)
{
    return dtype == ENG_F32 ? 4 : 2;
}

const char *eng_dtype_name(eng_dtype dtype)
{
    static const char *const names[] = {"F32", "BF16", "F16"};
    return names[dtype];
}

float eng_bf16_to_f32(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

uint16_t eng_f32_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (value != value) {
        return (uint16_t)((bits >> 16) | 0x40);
    }
    uint32_t round = 0x7FFF + ((bits >> 16) & 1);
    return (uint16_t)((bits + round) >> 16);
}

float eng_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 0x1F;
    uint32_t mantissa = bits & 0x3FF;
    uint32_t wide;
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24, exact in float */
        float value = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    if (exponent == 0x1F) {
        wide = sign | 0x7F800000 | (mantissa << 13);
    } else {
        wide = sign | ((exponent + 112) << 23) | (mantissa << 13);
    }
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

static float read_one(const unsigned char *in, eng_dtype dtype, size_t i)
{
    if (dtype == ENG_F32) {
        float value;
        memcpy(&value, in + 4 * i, sizeof(value));
        return value;
    }
    uint16_t bits;
    memcpy(&bits, in + 2 * i, sizeof(bits));
    return dtype == ENG_BF16 ? eng_bf16_to_f32(bits) : eng_f16_to_f32(bits);
}

void eng_dtype_read(eng_real *out, const void *in, eng_dtype dtype, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = read_one(in, dtype, i);
    }
}

/* All exponent bits set: infinity or NaN. */
static bool is_bad(const unsigned char *in, eng_dtype dtype, size_t i)
{
    if (dtype == ENG_F32) {
        uint32_t bits;
        memcpy(&bits, in + 4 * i, sizeof(bits));
        return (bits & 0x7F800000) == 0x7F800000;
    }
    uint16_t bits;
    memcpy(&bits, in + 2 * i, sizeof(bits));
    uint16_t mask = dtype == ENG_BF16 ? 0x7F80 : 0x7C00;
    return (bits & mask) == mask;
}

size_t eng_dtype_find_bad(const void *in, eng_dtype dtype, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_bad(in, dtype, i)) {
            return i;
        }
    }
    return n;
}
