/* Tokenizer files over the network: from the service's own server, or from the hub into
 * the library's cache. Blocking; not on the loop's thread. */
#ifndef CLIENT_TOKENIZER_HUB_H
#define CLIENT_TOKENIZER_HUB_H

#include "client/core/core.h"
#include "client/hub/tokenizer_place.h"
#include "client/values/tokenizer.h"

/* GET /tinkc/v1/models/<model>/tokenizer.json, and tokenizer_config.json and
 * chat_template.jinja where there are such. The caller owns *out. TINKC_E_NOT_FOUND where
 * the server has no such model or route. */
TK_NODISCARD tinkc_code tk_tokenizer_hub_serve(tk_tok **out, tk_handle *handle,
                                               const char *model,
                                               const tinkc_tokenizer_options *options,
                                               tk_err *err);

/* Downloads the files of `id`, loads them, and only then puts them into `directory`, all
 * at once (NULL: they are not kept). What cannot be loaded is not kept. The caller owns
 * *out. TINKC_E_NOT_FOUND, TINKC_E_AUTH, TINKC_E_FORBIDDEN as the hub says. `handle` is
 * only the way to the network: nothing of it goes along. */
TK_NODISCARD tinkc_code tk_tokenizer_hub_get(tk_tok **out, tk_handle *handle,
                                             const tk_tokenizer_places *places,
                                             const tk_tokenizer_id *id,
                                             const tinkc_tokenizer_options *options,
                                             tk_err *err);

#endif
