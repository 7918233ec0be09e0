/* The two texts of a pushed checkpoint: adapter_config.json, which has to name its base
 * model, and the model card. Both are byte for byte what the official program writes.
 * Thread: any. */
#ifndef CLIENT_PUSH_CARD_H
#define CLIENT_PUSH_CARD_H

#include <tinkc/rest.h>

#include "base/buf.h"
#include "base/err.h"

#define TK_PUSH_CONFIG_BYTES (4 * TK_MIB) /* an adapter_config.json that is read */
#define TK_PUSH_CARD_BYTES   (64 * TK_KIB)

/* What the server says of the weights; `base` is "unknown" when it says nothing. */
typedef struct tk_push_facts {
    const char *base;
    int64_t lora_rank; /* -1: not known */
    tinkc_choice train_unembed, train_mlp, train_attn;
} tk_push_facts;

/* Appends the configuration with the base model in it, keys sorted. *changed is false,
 * and nothing appended, when it names one already or is not a JSON object.
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_push_patch(tk_buf *out, bool *changed, tk_str config,
                                      const char *base, tk_err *err);

/* Appends README.md. */
void tk_push_card(tk_buf *out, const tk_push_facts *facts, const char *repo,
                  const char *path);

/* The first "tinker://..." in a README; empty when there is none. */
tk_str tk_push_named_in(tk_str readme);

#endif
