/* Curves of the loss over the steps, drawn as text for a terminal and as SVG. Thread:
 * one. */
#ifndef CLI_TRAIN_CURVE_H
#define CLI_TRAIN_CURVE_H

#include "base/buf.h"

typedef struct train_point {
    size_t step; /* steps done at the time */
    double loss;
} train_point;

typedef struct train_line {
    train_point *points; /* owned */
    size_t n, capacity;
} train_line;

typedef struct train_curve {
    train_line train; /* of each step */
    train_line eval;  /* of held-out data */
} train_curve;

/* Adds a point; steps come in order. A loss that is not finite is ignored. Returns false
 * when memory ran out. */
TK_NODISCARD bool train_curve_add(train_line *line, size_t step, double loss);
void train_curve_dispose(train_curve *curve); /* accepts a zeroed curve */

/* Draws the curve in ASCII, at most `columns` (at least 40) wide; draws nothing without
 * two points. '*' is the mean of the steps that share a column, 'o' the held-out loss. */
void train_curve_text(const train_curve *curve, size_t columns, tk_buf *out);

/* Draws the curve as an SVG document. */
void train_curve_svg(const train_curve *curve, const char *title, tk_buf *out);

#endif
