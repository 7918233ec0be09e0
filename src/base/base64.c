/* libcrypto counts in int and writes a NUL after what it encodes: large input goes
 * through it in chunks, and the last group through the stack, so that not one byte after
 * the caller's room is touched. */
#include "base/base64.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_BYTES ((size_t)48 * 1024) /* a multiple of 3; its text, of 4 */
#define GROUP_CHARS ((size_t)1024)      /* a multiple of 4 */

bool tk_base64_encoded_size(size_t *out, size_t n)
{
    return tk_size_mul(out, n / 3 + (n % 3 != 0), 4);
}

static void encode_to(char *out, const unsigned char *data, size_t n)
{
    size_t tail = n % 3 != 0 ? n % 3 : 3;
    while (n > tail) {
        size_t part = TK_MIN(n - tail, CHUNK_BYTES);
        (void)EVP_EncodeBlock((unsigned char *)out, data, (int)part);
        out += part / 3 * 4;
        data += part;
        n -= part;
    }
    unsigned char last[5];
    (void)EVP_EncodeBlock(last, data, (int)n);
    memcpy(out, last, 4);
}

void tk_base64_encode(tk_buf *out, const void *data, size_t n)
{
    size_t size;
    if (!tk_base64_encoded_size(&size, n)) {
        tk_buf_fail(out, TINKC_E_LIMIT);
        return;
    }
    char *room = n > 0 ? tk_buf_reserve(out, size) : NULL;
    if (room != NULL) {
        encode_to(room, data, n);
        tk_buf_advance(out, size);
    }
}

static size_t without_padding(tk_str text)
{
    size_t n = text.n;
    while (n > 0 && text.n - n < 2 && text.p[n - 1] == '=') {
        n--;
    }
    return n;
}

size_t tk_base64_decoded_size(tk_str text)
{
    size_t n = without_padding(text);
    return n / 4 * 3 + n % 4 * 3 / 4;
}

/* One bit per byte value below 128: letters, digits and the last two of the alphabet. */
static bool in_alphabet(unsigned char c, bool url)
{
    static const uint64_t standard[] = {UINT64_C(0x03FF880000000000),
                                        UINT64_C(0x07FFFFFE07FFFFFE)};
    static const uint64_t urlsafe[] = {UINT64_C(0x03FF200000000000),
                                       UINT64_C(0x07FFFFFE87FFFFFE)};
    return c < 128 && ((url ? urlsafe : standard)[c >> 6] >> (c & 63) & 1) != 0;
}

/* The last character of a partial group carries 4 or 2 bits that must be zero. */
static bool is_canonical(const char *body, size_t n)
{
    if (n % 4 == 0) {
        return true;
    }
    return strchr(n % 4 == 2 ? "AQgw" : "AEIMQUYcgkosw048", body[n - 1]) != NULL;
}

static tinkc_code check(tk_str body, bool url, tk_err *err)
{
    for (size_t i = 0; i < body.n; i++) {
        if (!in_alphabet((unsigned char)body.p[i], url)) {
            return tk_err_at(err, TINKC_E_PARSE, i, "not a base64 character");
        }
    }
    if (body.n % 4 == 1) {
        return tk_err_at(err, TINKC_E_PARSE, body.n, "base64 text is cut short");
    }
    if (!is_canonical(body.p, body.n)) {
        return tk_err_at(err, TINKC_E_PARSE, body.n - 1, "base64 has bits left over");
    }
    return TINKC_OK;
}

/* Up to GROUP_CHARS characters, padded to whole groups, in the standard alphabet. */
static size_t to_standard(unsigned char *out, const char *text, size_t n)
{
    size_t size = (n + 3) / 4 * 4;
    memset(out, 'A', size);
    for (size_t i = 0; i < n; i++) {
        char c = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
        out[i] = (unsigned char)c;
    }
    return size;
}

static void decode_checked(unsigned char *out, tk_str body)
{
    while (body.n > 0) {
        unsigned char group[GROUP_CHARS];
        unsigned char bytes[GROUP_CHARS / 4 * 3];
        size_t part = TK_MIN(body.n, GROUP_CHARS);
        size_t size = part / 4 * 3 + part % 4 * 3 / 4;
        (void)EVP_DecodeBlock(bytes, group, (int)to_standard(group, body.p, part));
        memcpy(out, bytes, size);
        out += size;
        body.p += part;
        body.n -= part;
    }
}

tinkc_code tk_base64_decode(void *out, tk_str text, tk_err *err)
{
    tk_str body = {text.p, without_padding(text)};
    tinkc_code code = check(body, false, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (text.n % 4 != 0) {
        return tk_err_at(err, TINKC_E_PARSE, text.n, "base64 padding is wrong");
    }
    decode_checked(out, body);
    return TINKC_OK;
}

tinkc_code tk_base64_decode_url(void *out, tk_str text, tk_err *err)
{
    tinkc_code code = check(text, true, err);
    if (code == TINKC_OK) {
        decode_checked(out, text);
    }
    return code;
}
