/* Causal grouped-query attention over key/value blocks, forward and backward.
 *
 * A row is one query head of one token. Its scores are chains over head_dim, its softmax
 * sum runs in the kernel's lane order by key position, its output is a chain over keys in
 * order. Rows are tiled for speed; tiles pad with exact zeros, so a row's bits depend
 * only on its query and its keys. Training and decoding call the same function. */
#ifndef ENGINE_ENG_ATTN_H
#define ENGINE_ENG_ATTN_H

#include "engine/eng_kv.h"
#include "engine/eng_pool.h"

typedef struct eng_attn_seq {
    size_t row;              /* of its first token in q and out */
    size_t n;                /* tokens */
    size_t pos;              /* position of its first token */
    eng_real *const *blocks; /* this layer's blocks: positions 0.. of the sequence */
    size_t first_unit;       /* set by eng_attn_forward */
} eng_attn_seq;

typedef struct eng_attn {
    const eng_config *config;
    eng_attn_seq *seqs;
    size_t n_seqs;
    const eng_real *q; /* [rows][heads * head_dim], rotated */
    eng_real *out;     /* the same shape */
    eng_real *stat;    /* [rows][heads][2]: row maximum and 1 / sum; NULL = not kept */
} eng_attn;

/* The scratch, in bytes, that a thread of the pool needs when the longest sequence has
 * `keys` positions. */
size_t eng_attn_scratch(const eng_config *config, size_t keys);
size_t eng_attn_back_scratch(const eng_config *config, size_t keys);

TK_NODISCARD tinkc_code eng_attn_forward(eng_pool *pool, const eng_attn *a, tk_err *err);

/* For sequences that start at position 0. d_k and d_v are [rows][kv_heads * head_dim];
 * all three gradients are overwritten. */
typedef struct eng_attn_grad {
    const eng_attn *forward; /* with its out and stat */
    const eng_real *d_out;   /* as forward->out */
    eng_real *d_q, *d_k, *d_v;
} eng_attn_grad;

TK_NODISCARD tinkc_code eng_attn_backward(eng_pool *pool, const eng_attn_grad *g,
                                          tk_err *err);

#endif
