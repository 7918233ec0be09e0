/* A Llama model with all parameters trained: flat arrays of weights, gradients and moments,
 * and engine models that compute with the weights.
 *
 * The flat arrays are authoritative; pre_net_sync copies them into the engine's packed form.
 * Matrices come first and norms last, because only matrices decay. A batch is always cut
 * into PRE_SHARDS parts, each with its own model, gradients and thread. They synchronise
 * once per step, which a busy machine disturbs less than threads inside every product.
 * Gradients are added in the order of the shards. Thread: one caller. */
#ifndef PRETRAIN_NET_H
#define PRETRAIN_NET_H

#include "base/buf.h"
#include "engine/eng_backward.h"
#include "engine/eng_model.h"

#define PRE_NAME_BYTES 96

typedef struct pre_shape {
    size_t hidden, intermediate, layers, heads, kv_heads, vocabulary, context;
} pre_shape;

typedef struct pre_tensor {
    char name[PRE_NAME_BYTES]; /* as in safetensors */
    size_t shape[2], n_dims;
    size_t at, n; /* place in the flat arrays */
    size_t layer; /* shape.layers: not part of a layer */
    int linear;   /* which of the layer's matrices; -1 = none */
} pre_tensor;

#define PRE_SHARDS 2

typedef struct pre_shard {
    eng_pool *pool; /* one thread: the shard's */
    eng_model *model;
    eng_real *grads;
} pre_shard;

typedef struct pre_net {
    pre_shape shape;
    pre_shard shards[PRE_SHARDS];
    tk_buf config; /* config.json; the models borrow it and `file` */
    tk_buf file;
    pre_tensor *tensors;
    size_t n_tensors;
    size_t n, n_decay; /* parameters; those that decay come first */
    eng_real *weights, *m, *v;
    uint64_t step; /* optimizer steps so far */
} pre_net;

/* Weights from the seed. On failure *net holds nothing. */
TK_NODISCARD tinkc_code pre_net_init(pre_net *net, const pre_shape *shape, uint64_t seed,
                                     tk_err *err);
void pre_net_dispose(pre_net *net); /* accepts a zeroed one */

void pre_net_sync(pre_net *net); /* flat weights -> the models */

/* config.json of the shape, with bf16 as the stored type. */
void pre_net_put_config(tk_buf *out, const pre_shape *shape);

/* One sequence of n tokens: inputs tokens[0..n), targets tokens[1..n]. */
typedef struct pre_seq {
    const int32_t *tokens;
    size_t n;
} pre_seq;

/* Adds `scale` times the gradient of the summed loss to the shards' gradients, or only
 * computes the loss when scale is 0. Sequence i goes to shard i modulo PRE_SHARDS.
 * *loss_out gets the sum of -log p over all targets. */
TK_NODISCARD tinkc_code pre_net_run(pre_net *net, const pre_seq *seqs, size_t n_seqs,
                                    double scale, double *loss_out, tk_err *err);

/* Adds all gradients to those of shard 0. */
void pre_net_fold(pre_net *net);

/* Folds, makes one AdamW step and clears the gradients. *norm_out: their norm before
 * clipping. */
TK_NODISCARD tinkc_code pre_net_step(pre_net *net, const eng_adam *adam, double *norm_out,
                                     tk_err *err);

#endif
