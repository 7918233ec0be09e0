/* Loss functions as rows of a table: what each needs, its settings, its value and its
 * derivative per target. Sums are plain: no mean, no mask. Thread: any. */
#ifndef ENGINE_ENG_LOSS_H
#define ENGINE_ENG_LOSS_H

#include "engine/eng.h"

typedef struct eng_loss_token {
    double logprob;   /* l, of the target under the model */
    double weight;    /* cross_entropy */
    double reference; /* q, of the behaviour policy */
    double advantage;
    double low, high; /* clip bounds of the ratio */
    double beta;
} eng_loss_token;

typedef struct eng_loss_value {
    double loss;
    double grad; /* dloss/dl */
} eng_loss_value;

typedef struct eng_loss {
    const char *name;
    bool weighted;          /* target_tokens, weights; else target_tokens, logprobs,
                               advantages */
    bool clipped;           /* clip_low_threshold, clip_high_threshold */
    bool has_beta;          /* beta */
    bool ratio_metrics;     /* ppo_* */
    bool sequence;          /* the ratio is that of the whole sequence: needs
                               sequence_ratio_mask, and both clip bounds */
    double low, high, beta; /* defaults */
    eng_loss_value (*value)(const eng_loss_token *token);
} eng_loss;

/* NULL when there is no such loss. */
const eng_loss *eng_loss_find(tk_str name);

/* Reports that there is no such loss, and why one that the service has is not here.
 * TINKC_E_INVALID. */
tinkc_code eng_loss_refuse(tk_str name, tk_err *err);

/* Applies loss_fn_config to the defaults in *token. TINKC_E_INVALID names the key. */
TK_NODISCARD tinkc_code eng_loss_configure(const eng_loss *loss,
                                           const eng_setting *settings, size_t n,
                                           eng_loss_token *token, tk_err *err);

#endif
