/* Architecture parameters from config.json and generation_config.json, checked: whatever
 * the engine cannot compute exactly is refused by name here. Thread: any. */
#ifndef ENGINE_ENG_CONFIG_H
#define ENGINE_ENG_CONFIG_H

#include "base/err.h"
#include "base/str.h"

#define ENG_EOS_MAX 16

typedef enum eng_family { ENG_LLAMA, ENG_QWEN2, ENG_QWEN3 } eng_family;

typedef struct eng_rope_config {
    double theta;
    bool llama3; /* the fields below count */
    double factor, low_freq_factor, high_freq_factor, original_context;
} eng_rope_config;

typedef struct eng_config {
    eng_family family;
    const char *architecture; /* static */
    size_t hidden, intermediate, layers, heads, kv_heads, head_dim, vocabulary, context;
    double rms_eps;
    eng_rope_config rope;
    bool tied;     /* no separate head: the embedding is the head */
    bool qkv_bias; /* biases on q, k and v */
    bool o_bias, mlp_bias;
    bool qk_norm; /* RMSNorm over each head of q and k */
    int64_t eos[ENG_EOS_MAX];
    size_t n_eos;
} eng_config;

/* TINKC_E_UNSUPPORTED: understood but not implemented; TINKC_E_DECODE: a field is
 * missing, has the wrong type or an impossible value. generation may be empty. *out is
 * written only on success. */
TK_NODISCARD tinkc_code eng_config_read(eng_config *out, tk_str config, tk_str generation,
                                        tk_err *err);

#endif
