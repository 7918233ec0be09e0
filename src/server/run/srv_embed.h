/* The files of the model that is linked into the program (models/pebble-llama-2m).
 * Immutable. Thread: any. */
#ifndef SERVER_SRV_EMBED_H
#define SERVER_SRV_EMBED_H

#include "base/str.h"

#define SRV_EMBED_NAME "tinkc/pebble-llama-2m"

typedef struct srv_embed {
    tk_str config, generation_config, weights, tokenizer, tokenizer_config;
} srv_embed;

void srv_embed_get(srv_embed *out); /* static views */

#endif
