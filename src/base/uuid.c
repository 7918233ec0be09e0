/* Version 4: 122 random bits, the rest says so. */
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

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool tk_uuid_is_valid(tk_str text)
{
    if (text.n != TK_UUID_TEXT_BYTES - 1) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (is_dash_at(i) ? text.p[i] != '-' : !is_hex(text.p[i])) {
            return false;
        }
    }
    return true;
}
