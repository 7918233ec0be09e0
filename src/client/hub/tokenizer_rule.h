/* Which tokenizer a model has, by name. Pure. */
#ifndef CLIENT_TOKENIZER_RULE_H
#define CLIENT_TOKENIZER_RULE_H

#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"

#define TK_TOKENIZER_ID_BYTES       256
#define TK_TOKENIZER_REVISION_BYTES 128

/* A place at the hub: both are safe as parts of a path and of a URL. */
typedef struct tk_tokenizer_id {
    char id[TK_TOKENIZER_ID_BYTES];             /* "org/name" or "name" */
    char revision[TK_TOKENIZER_REVISION_BYTES]; /* "main" when no other is given */
    bool is_private; /* the hub has no files of this one: it is not to be asked */
} tk_tokenizer_id;

/* `said` (NULL: nothing) is what the server or the caller calls the tokenizer, perhaps
 * with ":revision"; `revision` (or NULL) counts before that. TINKC_E_INVALID for what
 * cannot be the name of anything at the hub, such as "../x". */
TK_NODISCARD tinkc_code tk_tokenizer_rule(tk_tokenizer_id *out, const char *model,
                                          const char *said, const char *revision,
                                          tk_err *err);

#endif
