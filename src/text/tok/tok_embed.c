/* Files as symbols of the library, as in srv_embed.c. TOK_EMBED_DIR comes from CMake. */
#include "text/tok/tok_embed.h"

#define EMBED(symbol, file)                                                              \
    __asm__(".section .rodata\n" symbol ":\n"                                            \
            ".incbin \"" TOK_EMBED_DIR "/" file "\"\n" symbol "_end:\n"                  \
            ".byte 0\n"                                                                  \
            ".previous\n")

EMBED("tok_embed_json", "tokenizer.json");
EMBED("tok_embed_config", "tokenizer_config.json");

extern const char tok_embed_json[], tok_embed_json_end[];
extern const char tok_embed_config[], tok_embed_config_end[];

bool tk_tok_embed_find(tk_str *json, tk_str *config, tk_str model)
{
    if (!tk_str_is(model, "tinkc/pebble-llama-2m")) {
        return false;
    }
    *json = (tk_str){tok_embed_json, (size_t)(tok_embed_json_end - tok_embed_json)};
    *config =
        (tk_str){tok_embed_config, (size_t)(tok_embed_config_end - tok_embed_config)};
    return true;
}
