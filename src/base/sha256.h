/* SHA-256 through libcrypto, as lower-case hex: names of cached files, checks of
 * downloads. Thread: one per object. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"

#define TK_SHA256_HEX_BYTES 65 /* 64 digits and a NUL */

/* The digest of one piece of memory. TINKC_E_INTERNAL when libcrypto refuses. */
TK_NODISCARD tinkc_code tk_sha256_hex(char out[TK_SHA256_HEX_BYTES], const void *data,
                                      size_t n, tk_err *err);

/* HMAC (RFC 2104) over SHA-256. TINKC_E_INTERNAL when libcrypto refuses. */
TK_NODISCARD tinkc_code tk_sha256_hmac_hex(char out[TK_SHA256_HEX_BYTES], tk_str key,
                                           tk_str data, tk_err *err);

/* The digest of a stream: new, any number of updates, finish (once), free. */
typedef struct tk_sha256 tk_sha256;

TK_NODISCARD tinkc_code tk_sha256_new(tk_sha256 **out, tk_err *err);
TK_NODISCARD tinkc_code tk_sha256_update(tk_sha256 *sha, const void *data, size_t n,
                                         tk_err *err);
TK_NODISCARD tinkc_code tk_sha256_finish(char out[TK_SHA256_HEX_BYTES], tk_sha256 *sha,
                                         tk_err *err);
void tk_sha256_free(tk_sha256 *sha); /* accepts NULL */

#endif
