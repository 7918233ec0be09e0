/* The tokenizer of the model that `tinkc serve` has built in (models/pebble-llama-2m), for
 * clients of any server that serves this model. Immutable. Thread: any. */
#ifndef TEXT_TOK_EMBED_H
#define TEXT_TOK_EMBED_H

#include "base/str.h"

/* Gives the files of the tokenizer, static, when `model` is the name of that model; false
 * for any other. */
bool tk_tok_embed_find(tk_str *json, tk_str *config, tk_str model);

#endif
