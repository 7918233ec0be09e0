/* One training step: a batch with gradients and the optimizer's step on them, submitted
 * together, with one future for both.
 *
 * The two parts are ordinary operations, each in its turn. They share a
 * tk_training_step: the batch notes there that it failed, and the optimizer looks there
 * before it is sent. Counted: each part and the call that joins them hold a reference. */
#ifndef CLIENT_TRAINING_STEP_H
#define CLIENT_TRAINING_STEP_H

#include "client/training/batch.h"

typedef struct tk_training_step tk_training_step;

tk_training_step *tk_training_step_ref(tk_training_step *step);
void tk_training_step_unref(tk_training_step **step); /* accepts NULL */

/* Notes that the batch failed: the optimizer is not sent any more. Accepts NULL. */
void tk_training_step_break(tk_training_step *step);

/* tinkc_training_forward_backward as part of a step (defined in training_fwdbwd.c). */
tinkc_future *tk_training_step_batch(tinkc_training *training, const tk_batch_data *data,
                                     const char *loss,
                                     const tinkc_fwdbwd_options *options,
                                     tk_training_step *step);

#endif
