/* Sealed reasoning: a prefix that says whose it is, then base64 of the text. */
#include "chatapi/ca_seal.h"

#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

#define PREFIX "tinkc1."

void ca_seal(tk_buf *out, tk_str text)
{
    tk_buf_puts(out, PREFIX);
    tk_base64_encode(out, text.p, text.n);
}

ca_unsealed ca_unseal(tk_arena *arena, tk_str sealed, tk_str *out)
{
    if (!tk_str_has_prefix(sealed, PREFIX)) {
        return CA_UNSEAL_FOREIGN;
    }
    tk_str coded = {sealed.p + strlen(PREFIX), sealed.n - strlen(PREFIX)};
    size_t n = tk_base64_decoded_size(coded);
    char *text = tk_arena_alloc(arena, n + 1);
    if (text == NULL) {
        return CA_UNSEAL_NOMEM;
    }
    if (tk_base64_decode(text, coded, NULL) != TINKC_OK) {
        return CA_UNSEAL_FOREIGN;
    }
    text[n] = '\0';
    *out = (tk_str){text, n};
    return tk_utf8_is_valid(*out) ? CA_UNSEAL_OK : CA_UNSEAL_FOREIGN;
}
