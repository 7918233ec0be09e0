/* Plain decoding for the sample sheet and its tests: one sequence at a time, the engine's
 * forward pass over a key/value cache. Thread: one. */
#ifndef PRETRAIN_SAMPLE_H
#define PRETRAIN_SAMPLE_H

#include "engine/eng_model.h"
#include "text/tok/tok.h"

typedef struct pre_sampling {
    double temperature; /* 0 = greedy, the lowest id of equals */
    uint64_t seed;
    size_t max_tokens;
} pre_sampling;

/* Appends to *ids, which holds the prompt (not empty), until an end token of the model,
 * max_tokens or the context; the end token is appended too. */
TK_NODISCARD tinkc_code pre_sample(eng_model *model, tk_tok_ids *ids,
                                   const pre_sampling *how, tk_err *err);

/* Logits after the last of n tokens, from position 0: [vocabulary]. */
TK_NODISCARD tinkc_code pre_logits(eng_model *model, const int32_t *tokens, size_t n,
                                   eng_real *logits, tk_err *err);

/* Sum of -log p of tokens[1..n] given those before, n + 1 tokens in all. */
TK_NODISCARD tinkc_code pre_score(eng_model *model, const int32_t *tokens, size_t n,
                                  double *loss_out, tk_err *err);

#endif
