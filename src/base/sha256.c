/* A thin door over EVP_Digest*: what it adds is our errors and the hex form. */
#include "base/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/mem.h"

#define DIGEST_BYTES 32

struct tk_sha256 {
    EVP_MD_CTX *ctx;
};

static tinkc_code refused(tk_err *err)
{
    return tk_err_set(err, TINKC_E_INTERNAL, "libcrypto could not compute SHA-256");
}

static void to_hex(char *out, const unsigned char *digest)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[TK_SHA256_HEX_BYTES - 1] = '\0';
}

tinkc_code tk_sha256_hex(char out[TK_SHA256_HEX_BYTES], const void *data, size_t n,
                         tk_err *err)
{
    unsigned char digest[DIGEST_BYTES];
    if (EVP_Digest(data, n, digest, NULL, EVP_sha256(), NULL) != 1) {
        return refused(err);
    }
    to_hex(out, digest);
    return TINKC_OK;
}

tinkc_code tk_sha256_hmac_hex(char out[TK_SHA256_HEX_BYTES], tk_str key, tk_str data,
                              tk_err *err)
{
    unsigned char digest[DIGEST_BYTES];
    if (key.n > INT32_MAX ||
        HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)data.p, data.n,
             digest, NULL) == NULL) {
        return refused(err);
    }
    to_hex(out, digest);
    return TINKC_OK;
}

tinkc_code tk_sha256_new(tk_sha256 **out, tk_err *err)
{
    tk_sha256 *sha = tk_zalloc(sizeof(*sha));
    if (sha == NULL) {
        return tk_err_nomem(err);
    }
    sha->ctx = EVP_MD_CTX_new();
    if (sha->ctx == NULL || EVP_DigestInit_ex(sha->ctx, EVP_sha256(), NULL) != 1) {
        tk_sha256_free(sha);
        return refused(err);
    }
    *out = sha;
    return TINKC_OK;
}

tinkc_code tk_sha256_update(tk_sha256 *sha, const void *data, size_t n, tk_err *err)
{
    return EVP_DigestUpdate(sha->ctx, data, n) == 1 ? TINKC_OK : refused(err);
}

tinkc_code tk_sha256_finish(char out[TK_SHA256_HEX_BYTES], tk_sha256 *sha, tk_err *err)
{
    unsigned char digest[DIGEST_BYTES];
    if (EVP_DigestFinal_ex(sha->ctx, digest, NULL) != 1) {
        return refused(err);
    }
    to_hex(out, digest);
    return TINKC_OK;
}

void tk_sha256_free(tk_sha256 *sha)
{
    if (sha != NULL) {
        EVP_MD_CTX_free(sha->ctx);
        tk_free(sha);
    }
}
