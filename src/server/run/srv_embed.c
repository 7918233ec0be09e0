/* Files as symbols of the program: the assembler copies them into read-only memory, page
 * aligned, so that the weights are not read before they are used. SRV_EMBED_DIR comes
 * from CMake. */
#include "server/run/srv_embed.h"

#define EMBED(symbol, file)                                                              \
    __asm__(".section .rodata\n"                                                         \
            ".balign 4096\n" symbol ":\n"                                                \
            ".incbin \"" SRV_EMBED_DIR "/" file "\"\n" symbol "_end:\n"                  \
            ".byte 0\n"                                                                  \
            ".previous\n")

EMBED("srv_embed_config", "config.json");
EMBED("srv_embed_generation", "generation_config.json");
EMBED("srv_embed_weights", "model.safetensors");
EMBED("srv_embed_tokenizer", "tokenizer.json");
EMBED("srv_embed_tokconfig", "tokenizer_config.json");

extern const char srv_embed_config[], srv_embed_config_end[];
extern const char srv_embed_generation[], srv_embed_generation_end[];
extern const char srv_embed_weights[], srv_embed_weights_end[];
extern const char srv_embed_tokenizer[], srv_embed_tokenizer_end[];
extern const char srv_embed_tokconfig[], srv_embed_tokconfig_end[];

static tk_str view(const char *begin, const char *end)
{
    return (tk_str){begin, (size_t)(end - begin)};
}

void srv_embed_get(srv_embed *out)
{
    out->config = view(srv_embed_config, srv_embed_config_end);
    out->generation_config = view(srv_embed_generation, srv_embed_generation_end);
    out->weights = view(srv_embed_weights, srv_embed_weights_end);
    out->tokenizer = view(srv_embed_tokenizer, srv_embed_tokenizer_end);
    out->tokenizer_config = view(srv_embed_tokconfig, srv_embed_tokconfig_end);
}
