/* Reference log-probabilities of `tinkc dpo`: how likely the start weights find each answer.
 * They are computed once, before the first step, by a forward pass with the model that is
 * trained, which then has the start weights, and kept in a file beside the state file: a run
 * that is resumed, and whose model has other weights by then, reads them. The state has the
 * digest of those of the training data. Thread: the main one. */
#ifndef CLI_DPO_REFERENCE_H
#define CLI_DPO_REFERENCE_H

#include "cli/train/cmd_train.h"

#define DPO_PATH_BYTES (TRAIN_NAME_BYTES + 48)

typedef struct dpo_reference {
    double *rows;                     /* owned: one for each row of the training data */
    double *eval;                     /* owned: one for each row of the held-out data */
    char digest[TK_SHA256_HEX_BYTES]; /* of `rows` */
    char path[DPO_PATH_BYTES];        /* of the file */
} dpo_reference;

/* A new run computes everything. A run that is resumed reads what the file has that fits its
 * data, computes the rest, and must get the values it began with. The file is written again
 * if something was computed. Returns CMD_OK, or another exit code after an error line. The caller disposes of
 * *out in either case. */
int dpo_reference_get(dpo_reference *out, train_job *job);
void dpo_reference_dispose(dpo_reference *reference); /* accepts a zeroed struct */

#endif
