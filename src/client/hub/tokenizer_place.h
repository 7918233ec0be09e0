/* Where tokenizers lie on this machine and at the hub, as options and environment say:
 * the cache of Hugging Face's programs, the library's own, the hub's URL and token.
 * Reads files, makes no request and writes nothing. Thread: any. */
#ifndef CLIENT_TOKENIZER_PLACE_H
#define CLIENT_TOKENIZER_PLACE_H

#include <tinkc/tokenizer.h>

#include "base/env.h"
#include "client/hub/tokenizer_rule.h"

typedef struct tk_tokenizer_places {
    char *hf_cache; /* NULL: no variable names it, and there is no home directory */
    char *cache;    /* NULL: the same */
    char *hub_url;  /* without a slash at its end; NULL: HF_ENDPOINT is malformed */
    char *token;    /* NULL: none, or not looked for yet */
    bool hub_is_off;
} tk_tokenizer_places;

/* `env` NULL: the process's own. On failure there is nothing to dispose of. */
TK_NODISCARD tinkc_code tk_tokenizer_places_init(tk_tokenizer_places *out,
                                                 const tinkc_tokenizer_options *options,
                                                 const tk_env *env, tk_err *err);

/* Fills `token`, once, when the hub is about to be asked: the places on this machine must
 * answer also when it, or HF_ENDPOINT, is malformed (TINKC_E_CONFIG). */
TK_NODISCARD tinkc_code tk_tokenizer_places_find_token(
    tk_tokenizer_places *places, const tinkc_tokenizer_options *options,
    const tk_env *env, tk_err *err);

void tk_tokenizer_places_dispose(tk_tokenizer_places *places); /* wipes the token */

/* Whether a directory holds a vocabulary. */
bool tk_tokenizer_place_has(const char *directory);

/* The directory of `id` in Hugging Face's cache, NULL with TINKC_OK when it has none;
 * allocated. `where` is the directory that was looked at, for messages; allocated. */
TK_NODISCARD tinkc_code tk_tokenizer_place_hf(char **out, char **where,
                                              const tk_tokenizer_places *places,
                                              const tk_tokenizer_id *id, tk_err *err);

/* The directory of `id` in the library's own cache, whether it is there or not;
 * allocated. */
TK_NODISCARD tinkc_code tk_tokenizer_place_own(char **out,
                                               const tk_tokenizer_places *places,
                                               const tk_tokenizer_id *id, tk_err *err);

#endif
