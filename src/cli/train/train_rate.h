/* The learning rate of --lr auto, which depends on the size of the model:
 *
 *   rate = 1e-3 * (1e9 / parameters)^(1/4)
 *
 * It does not depend on the rank, because servers scale a LoRA by alpha / rank. The number
 * of parameters is the server's, or is read from the model's name. Thread: any. */
#ifndef CLI_TRAIN_RATE_H
#define CLI_TRAIN_RATE_H

#include "base/tk.h"

/* Used where the size is not known. */
#define TRAIN_RATE_UNKNOWN 3e-4

/* Returns how many parameters the name of a model says that it has ("Qwen3-8B": 8e9); 0
 * when it does not say. */
double train_rate_parameters(const char *model);

/* Returns the rate for that many parameters, rounded to two digits; TRAIN_RATE_UNKNOWN for
 * 0. */
double train_rate_auto(double parameters);

#endif
