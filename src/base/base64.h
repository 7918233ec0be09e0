/* Base64 (RFC 4648): the standard alphabet with padding, and base64url without.
 *
 * Decoding is strict, so that one value has one text: no white space, no characters of
 * the other alphabet, exact padding, unused trailing bits zero. The groups are coded by
 * libcrypto; what it tolerates is refused here. Thread: any. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* *out = bytes of the standard encoding of n bytes, without a NUL; false on overflow. */
TK_NODISCARD bool tk_base64_encoded_size(size_t *out, size_t n);

/* Appends; failure is the buffer's sticky failure. `data` may be NULL when n is 0. */
void tk_base64_encode(tk_buf *out, const void *data, size_t n);

/* Bytes that a valid text decodes to; for other text a number not smaller than what a
 * failing decode may write. */
size_t tk_base64_decoded_size(tk_str text);

/* Writes exactly tk_base64_decoded_size(text) bytes to `out` (may be NULL when that is
 * 0). Otherwise TINKC_E_PARSE with the offset; the bytes at `out` are unspecified
 * then. */
TK_NODISCARD tinkc_code tk_base64_decode(void *out, tk_str text, tk_err *err);
TK_NODISCARD tinkc_code tk_base64_decode_url(void *out, tk_str text, tk_err *err);

#endif
