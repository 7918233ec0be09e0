/* UUID version 4: 122 random bits; the other six name version and variant. */
#include "base/uuid.h"

static bool is_dash_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

void tk_uuid_make(char out[TK_UUID_TEXT_BYTES], tk_rand *rand)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    tk_rand_bytes(rand, bytes, sizeof(bytes));
    bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40);
    bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80);
    char *p = out;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (is_dash_at((size_t)(p - out))) {
            *p++ = '-';
        }
        *p++ = digits[bytes[i] >> 4];
        *p++ = digits[bytes[i] & 15];
    }
    *p = '\0';
}
