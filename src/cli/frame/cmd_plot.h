/* Curves of numbers over steps, tokens or time, drawn as text for a terminal
 * (cmd_plot.c) and as an SVG document (cmd_plot_svg.c). `tinkc train`, `tinkc rl` and
 * `tinkc run plot` draw with it. Thread: one. */
#ifndef CLI_CMD_PLOT_H
#define CLI_CMD_PLOT_H

#include "base/buf.h"
#include "base/err.h"

typedef struct cmd_plot_point {
    double x, y;
} cmd_plot_point;

typedef struct cmd_plot_line {
    const char *name;       /* in the legend; borrowed; NULL: none */
    bool is_dotted;         /* few values: each is shown as a point */
    cmd_plot_point *points; /* owned */
    size_t n, capacity;
} cmd_plot_line;

typedef struct cmd_plot { /* everything is borrowed */
    const char *title;    /* NULL: none */
    const char *x_name, *y_name;
    const cmd_plot_line *lines;
    size_t n;
} cmd_plot;

/* Adds a point; x does not fall. A point that is not finite, or larger than 1e100, is
 * ignored. Returns false when memory ran out. */
TK_NODISCARD bool cmd_plot_add(cmd_plot_line *line, double x, double y);
void cmd_plot_dispose(
    cmd_plot_line *line); /* keeps name and kind; accepts a zeroed one */

/* Draws in ASCII, at most `columns` (at least 40) wide; nothing without two points. A mark
 * is the mean of the values that share a column. */
void cmd_plot_text(const cmd_plot *plot, size_t columns, tk_buf *out);

/* Draws an SVG document with a legend and round numbers at the axes. */
void cmd_plot_svg(const cmd_plot *plot, tk_buf *out);

/* Replaces the file with the SVG document. Errors: those of tk_file_replace. */
TK_NODISCARD tinkc_code cmd_plot_save(const cmd_plot *plot, const char *path,
                                      tk_err *err);

/* ---- shared by the two drawings ---- */

typedef struct cmd_plot_axis {
    double low, high; /* low < high, finite */
    double step;      /* between two ticks: 1, 2 or 5 times a power of ten */
} cmd_plot_axis;

/* Returns the number of points of all lines, and the smallest axes that hold them. */
size_t cmd_plot_measure(cmd_plot_axis *x, cmd_plot_axis *y, const cmd_plot *plot);

/* Widens the axis to round numbers with at most `ticks` steps between them. */
void cmd_plot_round(cmd_plot_axis *axis, int ticks);

/* Returns the position of a value on the axis, from 0 to 1. */
double cmd_plot_at(const cmd_plot_axis *axis, double value);

#define CMD_PLOT_LABEL_BYTES 32
/* Writes a value as the ticks of the axis show it ("0.25", "20k") and returns `out`. */
const char *cmd_plot_label(char out[CMD_PLOT_LABEL_BYTES], const cmd_plot_axis *axis,
                           double value);

#endif
