/* The rows and the learning rate of each step. Both depend only on the seed and the
 * number of the step, so that a resumed run continues exactly. Every epoch visits every
 * row once, in its own order. Thread: one. */
#ifndef CLI_TRAIN_PLAN_H
#define CLI_TRAIN_PLAN_H

#include "base/err.h"

typedef enum train_schedule {
    TRAIN_CONSTANT = 0,
    TRAIN_LINEAR = 1, /* down to zero */
    TRAIN_COSINE = 2
} train_schedule;

typedef struct train_plan {
    size_t rows, batch;
    size_t steps; /* of the whole run */
    size_t total; /* rows of all steps; the last batch may be short */
    uint64_t seed;
    double rate;
    size_t warmup; /* steps in which the rate rises */
    train_schedule schedule;
    uint32_t *order; /* owned: the rows of `epoch` */
    size_t epoch;
} train_plan;

/* Completes a plan whose rows, batch, seed, rate, warmup and schedule are set. The run
 * has `steps` steps or, if that is 0, as many as `epochs` take. TINKC_E_INVALID for no
 * rows or no steps, TINKC_E_LIMIT, TINKC_E_NOMEM. The caller disposes of it, also after a
 * failure. */
TK_NODISCARD tinkc_code train_plan_init(train_plan *plan, size_t epochs, size_t steps,
                                        tk_err *err);
void train_plan_dispose(train_plan *plan);

/* Writes the rows of a step (from 0) into out[0 .. batch) and returns how many they
 * are. */
size_t train_plan_batch(train_plan *plan, size_t step, size_t *out);

/* Returns the learning rate of a step (from 0). */
double train_plan_rate(const train_plan *plan, size_t step);

#endif
