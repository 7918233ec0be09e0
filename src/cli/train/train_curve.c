/* Collects the losses of a run and names its lines.
 * Needs: text */
#include "cli/train/train_curve.h"

#include <math.h>

bool train_curve_add(train_curve *curve, size_t step, double loss)
{
    return cmd_plot_add(&curve->lines[TRAIN_CURVE_STEPS], (double)step, loss);
}

bool train_curve_add_eval(train_curve *curve, size_t step, double loss)
{
    return cmd_plot_add(&curve->lines[TRAIN_CURVE_EVAL], (double)step, loss);
}

double train_curve_last(const train_curve *curve, int line)
{
    const cmd_plot_line *l = &curve->lines[line];
    return l->n > 0 ? l->points[l->n - 1].y : NAN;
}

cmd_plot train_curve_plot(train_curve *curve, const char *title)
{
    curve->lines[TRAIN_CURVE_STEPS].name = "training";
    curve->lines[TRAIN_CURVE_EVAL].name = "held-out";
    curve->lines[TRAIN_CURVE_EVAL].is_dotted = true;
    return (cmd_plot){.title = title,
                      .x_name = "step",
                      .y_name =
                          curve->y_name != NULL ? curve->y_name : "loss (nats per token)",
                      .lines = curve->lines,
                      .n = TRAIN_CURVE_LINES};
}

void train_curve_dispose(train_curve *curve)
{
    cmd_plot_dispose(&curve->lines[TRAIN_CURVE_STEPS]);
    cmd_plot_dispose(&curve->lines[TRAIN_CURVE_EVAL]);
}
