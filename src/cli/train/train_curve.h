/* The loss over the steps of a run, drawn by cli/frame/cmd_plot.h. Thread: one. */
#ifndef CLI_TRAIN_CURVE_H
#define CLI_TRAIN_CURVE_H

#include "cli/frame/cmd_plot.h"

/* The lines of a run. */
enum { TRAIN_CURVE_STEPS, TRAIN_CURVE_EVAL, TRAIN_CURVE_LINES };

typedef struct train_curve {
    cmd_plot_line lines[TRAIN_CURVE_LINES]; /* loss of each step, and of held-out data */
    const char *y_name;                     /* NULL: "loss (nats per token)" */
} train_curve;

/* Add the loss after `step` steps, which come in order. A loss that is not finite is ignored.
 * Return false when memory ran out. */
TK_NODISCARD bool train_curve_add(train_curve *curve, size_t step, double loss);
TK_NODISCARD bool train_curve_add_eval(train_curve *curve, size_t step, double loss);

/* Returns the last loss of a line; NaN without one. */
double train_curve_last(const train_curve *curve, int line);

/* Returns the drawing of the curve; it borrows `curve` and `title`. */
cmd_plot train_curve_plot(train_curve *curve, const char *title);

void train_curve_dispose(train_curve *curve); /* accepts a zeroed curve */

#endif
