/* The search for a model's tokenizer, from place to place (<tinkc/tokenizer.h>).
 * Blocking; not on the loop's thread. */
#ifndef CLIENT_TOKENIZER_LOOKUP_H
#define CLIENT_TOKENIZER_LOOKUP_H

#include "base/env.h"
#include "client/core/core.h"
#include "client/values/tokenizer.h"

typedef struct tk_tokenizer_search {
    tk_handle *handle;     /* the way to the network; NULL: one is made when needed */
    bool has_server;       /* its server may be asked */
    bool is_callers_word;  /* the model's name comes from the caller, not a server */
    const char *model;     /* "org/name:...", or, the caller's, a directory */
    const char *server_id; /* tokenizer_id of the server; NULL: none */
    const tinkc_tokenizer_options *options; /* complete */
    const tk_env *env;                      /* NULL: the process's own */
} tk_tokenizer_search;

/* The caller owns *out; on failure *error (which may not be NULL) is the error, with one
 * cause for each place. */
TK_NODISCARD tinkc_code tk_tokenizer_lookup(tk_tok **out,
                                            const tk_tokenizer_search *search,
                                            tinkc_error **error);

#endif
