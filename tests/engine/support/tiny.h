/* Tiny random models, built in memory as config.json plus safetensors bytes. The numbers
 * depend on the seed only. */
#ifndef ENGINE_SUPPORT_TINY_H
#define ENGINE_SUPPORT_TINY_H

#include "base/buf.h"
#include "engine/eng.h"

typedef struct tiny_spec {
    const char *architecture; /* "LlamaForCausalLM", ... */
    size_t hidden, intermediate, layers, heads, kv_heads, head_dim, vocabulary;
    bool tied, bf16, llama3_rope, bias;
    bool int8; /* how the model holds them; the file has them as bf16 says */
    uint64_t seed;
    const char *extra; /* more config members, e.g. ", \"x\": 1"; or NULL */
} tiny_spec;

/* Three families, odd sizes on purpose: tails of every kernel are exercised. */
extern const tiny_spec tiny_llama, tiny_qwen2, tiny_qwen3;

typedef struct tiny_files {
    tk_buf config, weights;
    eng_weights held;
} tiny_files;

void tiny_files_init(tiny_files *files, const tiny_spec *spec);
void tiny_files_dispose(tiny_files *files);

eng_model_memory tiny_memory(const tiny_files *files); /* borrows */

/* A model on its own pool; files must outlive it. Fails the test on error. */
eng_model *tiny_open(eng_pool *pool, const tiny_files *files);

#endif
