/* Hides secrets in text that is about to leave the process: log lines, telemetry.
 *
 * Two nets: secrets that were registered are found wherever they occur, and patterns
 * catch those that were not registered: tml-... keys, eyJ... tokens, hf_... tokens,
 * values of credential headers and parameters in any notation ("X-API-Key: v",
 * "x-api-key": "v", signature=v), user:password@ in URLs. When in doubt it hides more. An
 * encoded form of a secret (percent, base64) must be registered by itself. Thread: one at
 * a time; log.c locks. */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

typedef struct tk_redact {
    char *secrets[TK_REDACT_SECRETS_MAX]; /* copies, wiped when freed */
    size_t sizes[TK_REDACT_SECRETS_MAX];
    size_t uses[TK_REDACT_SECRETS_MAX]; /* how often it was added */
    size_t count;
} tk_redact;

void tk_redact_init(tk_redact *redact);
void tk_redact_dispose(tk_redact *redact);

/* Keeps a copy of the secret until it is removed as often as it was added: so to renew a
 * secret, add the new one, which may be the same, and then remove the old one.
 * TINKC_E_INVALID below TK_REDACT_SECRET_MIN_BYTES (it would hide ordinary text),
 * TINKC_E_LIMIT above TK_REDACT_SECRET_MAX_BYTES or when there are too many,
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_redact_add(tk_redact *redact, tk_str secret, tk_err *err);
void tk_redact_remove(tk_redact *redact, tk_str secret);

/* Writes `text` with "***" in place of each secret to out[0..size), size > 0,
 * NUL-terminated; returns the length. What does not fit is cut off. With `text_was_cut`
 * the text is the start of a longer one, and its last TK_REDACT_SECRET_MAX_BYTES are not
 * shown: they might hold a part of a secret. `redact` may be NULL: patterns only. */
size_t tk_redact_apply(const tk_redact *redact, char *out, size_t size, tk_str text,
                       bool text_was_cut);

#endif
