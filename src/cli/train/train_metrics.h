/* Metrics of a run as JSON lines, one per step and one per measurement of held-out data:
 * {"step": 3, "epoch": 0.19, "loss": 2.1, "lr": 0.001, "tokens": 812, "seconds": 0.04}
 * and
 * {"step": 0, "eval_loss": 2.5}. A file that a resumed run goes on with loses the lines
 * behind the step from which it goes on, which come again. Thread: one. */
#ifndef CLI_TRAIN_METRICS_H
#define CLI_TRAIN_METRICS_H

#include <stdio.h>

#include "base/err.h"
#include "cli/train/train_curve.h"

typedef struct train_metrics {
    FILE *file; /* NULL: not asked for */
    const char *path;
} train_metrics;

/* One step. */
typedef struct train_record {
    size_t step; /* from 1 */
    double epoch, loss, rate;
    size_t tokens;
    double seconds; /* since the step before ended */
} train_record;

/* Starts a file anew (step 0), or goes on behind `step` and puts what is there into the
 * curve. path NULL: everything here does nothing. The path is borrowed. */
TK_NODISCARD tinkc_code train_metrics_open(train_metrics *metrics, const char *path,
                                           size_t step, train_curve *curve, tk_err *err);

/* Each line is in the file when they return. */
TK_NODISCARD tinkc_code train_metrics_step(train_metrics *metrics,
                                           const train_record *record, tk_err *err);
TK_NODISCARD tinkc_code train_metrics_eval(train_metrics *metrics, size_t step,
                                           double loss, tk_err *err);
void train_metrics_close(train_metrics *metrics); /* accepts one that was only zeroed */

#endif
