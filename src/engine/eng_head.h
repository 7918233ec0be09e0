/* The output head: logits, log-probabilities of wanted tokens, and the gradient back into
 * the hidden states. Logits exist for a bounded number of rows at a time.
 *
 * Sampling, prompt log-probabilities and training all use eng_head_logits and
 * eng_head_softmax, so that a token has one log-probability, bit for bit. */
#ifndef ENGINE_ENG_HEAD_H
#define ENGINE_ENG_HEAD_H

#include "engine/eng_backward.h"

/* logits[rows][vocabulary] = head(x) (+ the adapter's part). u has room for rows * rank;
 * it may be NULL when adapter is. */
typedef struct eng_logits {
    const eng_model *model;
    const eng_adapter *adapter; /* or NULL */
    const eng_real *x;          /* [rows][hidden] */
    size_t rows;
    eng_real *logits;
    eng_real *u;
} eng_logits;

TK_NODISCARD tinkc_code eng_head_logits(const eng_logits *l, tk_err *err);

/* The adapter's part alone, added to logits that hold the base model's. */
TK_NODISCARD tinkc_code eng_head_adapt(const eng_logits *l, tk_err *err);

/* logits become exp(logit - max); the sum is in the fixed order of the vocabulary. */
typedef struct eng_softmax {
    double max, sum, log_sum;
} eng_softmax;

eng_softmax eng_head_softmax(eng_real *logits, size_t n);

/* log p of a token from its logit before eng_head_softmax. */
static inline float eng_head_logprob(const eng_softmax *s, eng_real logit)
{
    return (float)((double)logit - s->max - s->log_sum);
}

/* Rows that one piece of logits may hold. */
size_t eng_head_piece_rows(const eng_config *config, size_t rows);

/* Scores `k` targets in each row; `loss` then says dL/dl for each of them. */
typedef struct eng_head_args {
    const eng_acts *acts; /* after eng_forward; one adapter for all rows */
    const eng_adapter *adapter;
    eng_work *work;
    const int32_t *const *targets; /* [rows] -> its targets */
    const size_t *k;               /* [rows] targets per row */
    float *const *logprobs;        /* [rows] -> where its log-probabilities go */
    /* Called for rows in order. Fills coef[k] with dL/dl; false = all zero. NULL =
     * forward only. */
    bool (*loss)(void *user, size_t row, double *coef);
    void *user;
    size_t max_k;
    eng_real *d_hidden; /* [rows][hidden], written when loss is given */
    const eng_grad_hook *hook;
} eng_head_args;

/* *active_out: whether any row has a gradient. */
TK_NODISCARD tinkc_code eng_head_run(const eng_head_args *args, bool *active_out,
                                     tk_err *err);

#endif
