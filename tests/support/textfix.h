/* Texts that several tests read or make: UUIDs and the URL form of Base64. The library
 * only makes the first and only reads the second. */
#ifndef SUPPORT_TEXTFIX_H
#define SUPPORT_TEXTFIX_H

#include <ctype.h>

#include "base/base64.h"
#include "base/str.h"

/* Returns whether the text has the form 8-4-4-4-12 in hexadecimal digits. */
static inline bool textfix_is_uuid(tk_str text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool fits = text.n == sizeof(form) - 1;
    for (size_t i = 0; fits && i < text.n; i++) {
        fits =
            form[i] == '-' ? text.p[i] == '-' : isxdigit((unsigned char)text.p[i]) != 0;
    }
    return fits;
}

/* Appends the bytes in the URL form, without padding, as a token's claims are sent. */
static inline void textfix_put_base64_url(tk_buf *out, const void *data, size_t n)
{
    size_t from = out->n;
    tk_base64_encode(out, data, n);
    while (out->n > from && out->p[out->n - 1] == '=') {
        out->n--;
    }
    for (size_t i = from; i < out->n; i++) {
        out->p[i] = out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i];
    }
}

#endif
