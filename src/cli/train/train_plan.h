/* Which rows each step trains on, and how fast: a function of the seed and the step's
 * number, so that a run that is resumed goes on exactly. Every epoch visits every row
 * once, in an order of its own. Thread: one. */
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
    size_t total; /* rows that all steps read; the last batch may be short */
    uint64_t seed;
    double rate;
    size_t warmup; /* steps in which the rate rises to that */
    train_schedule schedule;
    uint32_t *order; /* owned: the rows of one epoch */
    size_t epoch;    /* that `order` is of */
} train_plan;

/* Completes a plan whose rows, batch, seed, rate, warmup and schedule are set: `steps`
 * when it is not 0, else as many as `epochs` take. TINKC_E_INVALID for no rows or no
 * steps, TINKC_E_LIMIT, TINKC_E_NOMEM. The caller disposes of it, also after a failure.
 */
TK_NODISCARD tinkc_code train_plan_init(train_plan *plan, size_t epochs, size_t steps,
                                        tk_err *err);
void train_plan_dispose(train_plan *plan);

/* The rows of a step (from 0) into out[0 .. batch); returns how many. */
size_t train_plan_batch(train_plan *plan, size_t step, size_t *out);

/* The learning rate of a step (from 0). */
double train_plan_rate(const train_plan *plan, size_t step);

#endif
