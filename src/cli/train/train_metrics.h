/* The metrics of a run as JSON lines, one per step and one per evaluation:
 *
 *   {"step": 3, "epoch": 0.19, "loss": 2.1, "lr": 0.001, "tokens": 812, "seconds": 0.04}
 *   {"step": 0, "eval_loss": 2.5}
 *
 * A resumed run first removes the lines of the steps that it repeats. Thread: one. */
#ifndef CLI_TRAIN_METRICS_H
#define CLI_TRAIN_METRICS_H

#include <stdio.h>

#include "base/err.h"
#include "cli/train/train_curve.h"
#include "cli/train/train_state.h"

typedef struct train_metrics {
    FILE *file; /* NULL: no metrics */
    const char *path;
    const char *key; /* of the loss: "loss" */
} train_metrics;

/* A number beside the loss. */
typedef struct train_extra {
    const char *name; /* static; its key, too */
    double value;
    bool is_shown; /* in progress and summary */
} train_extra;

/* One step, or one evaluation. */
typedef struct train_record {
    size_t step; /* from 1 */
    double epoch, loss, rate;
    size_t tokens;
    double seconds; /* since the end of the previous step */
    train_extra extras[TRAIN_EXTRAS];
    size_t n_extras;
} train_record;

/* Adds a number to the record, which has room for it. */
void train_record_put(train_record *record, const char *name, double value,
                      bool is_shown);

/* Starts a new file (step 0), or continues one after `step` and adds its losses to the
 * curve. The path is borrowed; if it is NULL, all functions here do nothing. The caller
 * may set metrics->key before. */
TK_NODISCARD tinkc_code train_metrics_open(train_metrics *metrics, const char *path,
                                           size_t step, train_curve *curve, tk_err *err);

/* Write a line, which is in the file when they return. */
TK_NODISCARD tinkc_code train_metrics_step(train_metrics *metrics,
                                           const train_record *record, tk_err *err);
TK_NODISCARD tinkc_code train_metrics_eval(train_metrics *metrics,
                                           const train_record *record, tk_err *err);
void train_metrics_close(train_metrics *metrics); /* accepts a zeroed struct */

#endif
