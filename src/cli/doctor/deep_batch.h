/* Data of `tinkc doctor --deep`: small batches of token ids that every vocabulary has, and
 * log-probabilities of them. A batch owns its datums. Thread: one at a time. */
#ifndef CLI_DEEP_BATCH_H
#define CLI_DEEP_BATCH_H

#include <tinkc/types.h>

#include "base/tk.h"

#define DEEP_VALUES_MAX 96
#define DEEP_DATUMS_MAX 3

typedef struct deep_values {
    float v[DEEP_VALUES_MAX];
    size_t n;
} deep_values;

typedef struct deep_batch {
    tinkc_datum *datums[DEEP_DATUMS_MAX];
    size_t lengths[DEEP_DATUMS_MAX]; /* in tokens */
    size_t n;                        /* datums */
    deep_values weights;             /* of all tokens, one datum after another */
} deep_batch;

/* Writes n token ids of text number `which`. */
void deep_batch_tokens(int32_t *out, size_t n, unsigned which);

/* Makes n datums of different lengths, from texts number `which` and up, with targets and
 * weights: 0 for the first token of each and 0.5 for the second. */
tinkc_code deep_batch_open(deep_batch *batch, size_t n, unsigned which,
                           tinkc_error **error);

/* Makes one datum that teaches `end` after the `n` given tokens; nothing else counts. */
tinkc_code deep_batch_teach(deep_batch *batch, const int32_t *tokens, size_t n,
                            int32_t end, tinkc_error **error);

/* Makes one datum of n tokens of text number `which`, with weights of 1. */
tinkc_code deep_batch_text(deep_batch *batch, size_t n, unsigned which,
                           tinkc_error **error);

/* Makes a batch for losses of reinforcement learning: the tokens of text number `which`, the
 * log-probabilities under which they count as sampled, and their advantages. */
tinkc_code deep_batch_rl(deep_batch *batch, unsigned which, const deep_values *sampled,
                         const deep_values *advantages, tinkc_error **error);

void deep_batch_close(deep_batch *batch);

/* Returns the number of tokens of datums [first, first + n), and of those before them. */
size_t deep_batch_count(const deep_batch *batch, size_t first, size_t n);

/* Returns the sum of -weight * value over tokens that begin at `first`. */
double deep_batch_loss(const deep_batch *batch, size_t first, const deep_values *lp);

/* Returns the largest difference; INFINITY when the numbers differ in count or one of them
 * is not a number. */
double deep_values_gap(const deep_values *a, const deep_values *b);

#endif
