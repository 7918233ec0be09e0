/* The loss that `tinkc train` shows: per token, computed from the log-probabilities of each
 * result. What the server calls the loss is only compared with it, because servers send a
 * sum, a mean over tokens, a mean over lines, or nothing. Thread: one. */
#ifndef CLI_TRAIN_LOSS_H
#define CLI_TRAIN_LOSS_H

#include <tinkc/training.h>

#include "base/err.h"

#define TRAIN_LOSS "cross_entropy"

typedef struct train_loss {
    void (*warn)(const char *text); /* called at most once; NULL: not wanted */
    bool has_warned;
} train_loss;

typedef struct train_loss_batch {
    tinkc_datum *const *data;
    size_t n;
    double weight; /* sum of the weights of all tokens, more than 0 */
} train_loss_batch;

/* Gives the loss per token of a result. The server's own number is used when the result has
 * no log-probabilities. TINKC_E_DECODE when it has neither. */
TK_NODISCARD tinkc_code train_loss_read(train_loss *loss, const tinkc_fwdbwd *result,
                                        const train_loss_batch *batch, double *out,
                                        tk_err *err);

#endif
