/* Keys and values of one sequence, in blocks of ENG_KV_BLOCK positions: one block holds
 * the positions of one layer for all kv heads. Training and decoding use the same layout,
 * hence the same attention kernel. Blocks may be shared between sequences (a common
 * prefix); the caller keeps track of the owners. Thread: one writer per block. */
#ifndef ENGINE_ENG_KV_H
#define ENGINE_ENG_KV_H

#include "engine/eng_config.h"
#include "engine/eng_kern.h"

#define ENG_KV_BLOCK 64 /* a multiple of ENG_LANES */

/* Width of a value row, padded for the tile kernel. */
static inline size_t eng_kv_width(const eng_config *config)
{
    return ENG_ROUND_UP(config->head_dim, ENG_LANES);
}

/* eng_reals in a block. A new block must be zeroed: unused positions are multiplied by
 * zero, not skipped. */
static inline size_t eng_kv_block_reals(const eng_config *config)
{
    return config->kv_heads * ENG_KV_BLOCK * (config->head_dim + eng_kv_width(config));
}

/* Keys of one head: panels of ENG_LANES positions, [head_dim][ENG_LANES] each. */
static inline eng_real *eng_kv_keys(eng_real *block, const eng_config *config,
                                    size_t head)
{
    return block + head * ENG_KV_BLOCK * (config->head_dim + eng_kv_width(config));
}

/* Values of one head: [ENG_KV_BLOCK][eng_kv_width]. */
static inline eng_real *eng_kv_values(eng_real *block, const eng_config *config,
                                      size_t head)
{
    return eng_kv_keys(block, config, head) + ENG_KV_BLOCK * config->head_dim;
}

/* Stores position `slot` (0..ENG_KV_BLOCK - 1): k and v are [kv_heads][head_dim], k
 * already rotated. */
void eng_kv_store(eng_real *block, const eng_config *config, size_t slot,
                  const eng_real *k, const eng_real *v);

/* Copies the first n positions of all heads. */
void eng_kv_copy(eng_real *to, eng_real *from, const eng_config *config, size_t n);

#endif
