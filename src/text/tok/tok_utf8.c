/* UTF-8 with U+FFFD for what is invalid, as Python and Rust replace it (one for each
 * maximal part of a character), and the alphabet in which GPT-2 writes bytes. */
#include "base/utf8.h"
#include "text/tok/tok_tables.h"

size_t tk_tok_utf8_step(const char *p, size_t n, bool *valid)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t len = tk_utf8_len(p, n);
    *valid = len > 0;
    if (len > 0) {
        return len;
    }
    if (u[0] < 0xC2 || u[0] > 0xF4) {
        return 1;
    }
    size_t wanted = u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
    unsigned char low = u[0] == 0xE0 ? 0xA0 : u[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = u[0] == 0xED ? 0x9F : u[0] == 0xF4 ? 0x8F : 0xBF;
    for (size_t i = 1; i < wanted; i++) {
        if (i == n) {
            return 0;
        }
        if (u[i] < low || u[i] > high) {
            return i;
        }
        low = 0x80;
        high = 0xBF;
    }
    return 1; /* not reached: such bytes are valid */
}

size_t tk_tok_utf8_lossy(tk_buf *out, const char *p, size_t n, bool last)
{
    size_t at = 0;
    while (at < n) {
        size_t good = tk_utf8_valid_prefix(p + at, n - at);
        tk_buf_put(out, p + at, good);
        at += good;
        if (at == n) {
            break;
        }
        bool valid;
        size_t len = tk_tok_utf8_step(p + at, n - at, &valid);
        if (len == 0 && !last) {
            break;
        }
        tk_buf_put(out, "\xEF\xBF\xBD", 3);
        at += len > 0 ? len : n - at;
    }
    return at;
}

uint32_t tk_tok_utf8_of_byte(unsigned char byte)
{
    if (byte <= 32) {
        return 256u + byte;
    }
    if (byte >= 127 && byte <= 160) {
        return 256u + 33u + (byte - 127u);
    }
    return byte == 173 ? 256u + 33u + 34u : byte;
}

int tk_tok_utf8_to_byte(uint32_t c)
{
    if (c >= 256 && c < 256 + 33) {
        return (int)c - 256;
    }
    if (c >= 256 + 33 && c < 256 + 33 + 34) {
        return (int)c - 256 - 33 + 127;
    }
    if (c == 256 + 33 + 34) {
        return 173;
    }
    return c < 256 && tk_tok_utf8_of_byte((unsigned char)c) == c ? (int)c : -1;
}
