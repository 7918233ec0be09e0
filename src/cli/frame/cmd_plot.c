/* The points of curves, the range that they take, and their drawing as text. */
#include "cli/frame/cmd_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define POINTS_MAX  ((size_t)64 * 1024 * 1024)
#define LARGEST     1e100 /* differences and sums stay finite */
#define SMALLEST    1e-100
#define ROWS        10
#define COLUMNS_MIN 40
#define COLUMNS_MAX 110
#define MARGIN      10 /* for the numbers on the left */

static const char marks[] = "*+x#@%&=~^";

bool cmd_plot_add(cmd_plot_line *line, double x, double y)
{
    if (!(fabs(x) <= LARGEST) || !(fabs(y) <= LARGEST)) {
        return true;
    }
    if (line->n == line->capacity) {
        size_t room = line->capacity * 2 + 64;
        cmd_plot_point *points =
            room <= POINTS_MAX ? tk_realloc_array(line->points, room, sizeof(*points))
                               : NULL;
        if (points == NULL) {
            return false;
        }
        line->points = points;
        line->capacity = room;
    }
    line->points[line->n++] = (cmd_plot_point){x, y};
    return true;
}

void cmd_plot_dispose(cmd_plot_line *line)
{
    tk_free(line->points);
    line->points = NULL;
    line->n = line->capacity = 0;
}

/* ---- axes ---- */

static void set_range(cmd_plot_axis *axis, double low, double high)
{
    double least = TK_MAX(TK_MAX(fabs(low), fabs(high)) * 1e-9, SMALLEST);
    if (!(high - low > least)) { /* one value: give it some room */
        double room = fabs(low) > SMALLEST ? fabs(low) * 0.5 : 1;
        low -= low > 0 ? TK_MIN(room, low) : room;
        high += room;
    }
    *axis = (cmd_plot_axis){low, high, (high - low) / 4};
}

size_t cmd_plot_measure(cmd_plot_axis *x, cmd_plot_axis *y, const cmd_plot *plot)
{
    double low_x = HUGE_VAL, high_x = -HUGE_VAL, low_y = HUGE_VAL, high_y = -HUGE_VAL;
    size_t n = 0;
    for (size_t l = 0; l < plot->n; l++) {
        const cmd_plot_line *line = &plot->lines[l];
        for (size_t i = 0; i < line->n; i++, n++) {
            low_x = TK_MIN(low_x, line->points[i].x);
            high_x = TK_MAX(high_x, line->points[i].x);
            low_y = TK_MIN(low_y, line->points[i].y);
            high_y = TK_MAX(high_y, line->points[i].y);
        }
    }
    set_range(x, n > 0 ? low_x : 0, n > 0 ? high_x : 1);
    set_range(y, n > 0 ? low_y : 0, n > 0 ? high_y : 1);
    return n;
}

void cmd_plot_round(cmd_plot_axis *axis, int ticks)
{
    double width = axis->high - axis->low;
    double power = pow(10, floor(log10(width / ticks)));
    double rough = width / ticks / power;
    double step = power * (rough <= 1.0001   ? 1
                           : rough <= 2.0001 ? 2
                           : rough <= 5.0001 ? 5
                                             : 10);
    double low = floor(axis->low / step + 1e-6) * step;
    double high = ceil(axis->high / step - 1e-6) * step;
    *axis = (cmd_plot_axis){low, high, step};
}

double cmd_plot_at(const cmd_plot_axis *axis, double value)
{
    double at = (value - axis->low) / (axis->high - axis->low);
    return TK_MIN(TK_MAX(at, 0), 1);
}

const char *cmd_plot_label(char out[CMD_PLOT_LABEL_BYTES], const cmd_plot_axis *axis,
                           double value)
{
    double most = TK_MAX(fabs(axis->low), fabs(axis->high));
    value = fabs(value) < axis->step * 1e-6 ? 0 : value;
    if (most >= 1e15 || axis->step < 1e-6) {
        (void)snprintf(out, CMD_PLOT_LABEL_BYTES, "%.4g", value);
        return out;
    }
    const char *unit = most >= 1e9 ? "G" : most >= 1e6 ? "M" : most >= 1e4 ? "k" : "";
    double scale = most >= 1e9 ? 1e9 : most >= 1e6 ? 1e6 : most >= 1e4 ? 1e3 : 1;
    double step = axis->step / scale;
    int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-6) : 0;
    (void)snprintf(out, CMD_PLOT_LABEL_BYTES, "%.*f%s", TK_MIN(decimals, 9),
                   value / scale, value == 0 ? "" : unit);
    return out;
}

/* ---- text ---- */

typedef struct grid {
    char cells[ROWS][COLUMNS_MAX];
    size_t columns;
    cmd_plot_axis x, y;
} grid;

static void mark(grid *g, size_t column, double y, char c)
{
    size_t row = (size_t)lround(cmd_plot_at(&g->y, y) * (ROWS - 1));
    g->cells[TK_MIN(row, ROWS - 1)][TK_MIN(column, g->columns - 1)] = c;
}

static size_t column_of(const grid *g, double x)
{
    return (size_t)(cmd_plot_at(&g->x, x) * (double)(g->columns - 1) + 0.5);
}

static void mark_points(grid *g, const cmd_plot_line *line, char c)
{
    for (size_t i = 0; i < line->n; i++) {
        mark(g, column_of(g, line->points[i].x), line->points[i].y, c);
    }
}

static void mark_means(grid *g, const cmd_plot_line *line, char c)
{
    double sum = 0;
    size_t n = 0, column = 0;
    for (size_t i = 0; i < line->n; i++) {
        size_t here = column_of(g, line->points[i].x);
        if (n > 0 && here != column) {
            mark(g, column, sum / (double)n, c);
            sum = 0;
            n = 0;
        }
        column = here;
        sum += line->points[i].y;
        n++;
    }
    if (n > 0) {
        mark(g, column, sum / (double)n, c);
    }
}

/* Returns the mark of a line: "o" for the first that is dotted. */
static char mark_of(const cmd_plot *plot, size_t index)
{
    size_t before = 0;
    for (size_t i = 0; i < index; i++) {
        before += plot->lines[i].is_dotted == plot->lines[index].is_dotted ? 1 : 0;
    }
    return plot->lines[index].is_dotted ? "oO0cC"[before % 5]
                                        : marks[before % (sizeof(marks) - 1)];
}

static void put_rows(const grid *g, tk_buf *out)
{
    for (size_t r = ROWS; r-- > 0;) {
        double y = g->y.low + (g->y.high - g->y.low) * (double)r / (ROWS - 1);
        size_t n = g->columns;
        while (n > 0 && g->cells[r][n - 1] == ' ') {
            n--;
        }
        if (fabs(y) >= 1e5 || (fabs(y) < 1e-3 && g->y.high < 0.01)) {
            tk_buf_printf(out, "%8.2g |%.*s\n", y, (int)n, g->cells[r]);
        } else {
            tk_buf_printf(out, "%8.3f |%.*s\n", y, (int)n, g->cells[r]);
        }
    }
}

/* Explains the marks: after the steps, or one per line when there are many. */
static void put_legend(const cmd_plot *plot, tk_buf *out)
{
    for (size_t i = 0; i < plot->n; i++) {
        const cmd_plot_line *line = &plot->lines[i];
        if (line->n == 0 || line->name == NULL) {
            continue;
        }
        if (plot->n > 2) {
            tk_buf_printf(out, "\n%8s  %c %.60s", "", mark_of(plot, i), line->name);
        } else {
            tk_buf_printf(out, "; %c %.24s", mark_of(plot, i), line->name);
        }
    }
    tk_buf_putc(out, '\n');
}

void cmd_plot_text(const cmd_plot *plot, size_t columns, tk_buf *out)
{
    grid g;
    char low[CMD_PLOT_LABEL_BYTES], high[CMD_PLOT_LABEL_BYTES];
    if (cmd_plot_measure(&g.x, &g.y, plot) < 2) {
        return;
    }
    memset(g.cells, ' ', sizeof(g.cells));
    columns = TK_MAX(columns, COLUMNS_MIN) - MARGIN - 1;
    size_t longest = 20;
    for (size_t i = 0; i < plot->n; i++) {
        longest = TK_MAX(longest, plot->lines[i].n + 1);
    }
    g.columns = TK_MIN(TK_MIN(columns, COLUMNS_MAX), longest); /* without gaps */
    for (size_t i = 0; i < plot->n; i++) {
        const cmd_plot_line *line = &plot->lines[i];
        (line->is_dotted ? mark_points : mark_means)(&g, line, mark_of(plot, i));
    }
    put_rows(&g, out);
    tk_buf_printf(out, "%8s +", "");
    for (size_t i = 0; i < g.columns; i++) {
        tk_buf_putc(out, '-');
    }
    (void)snprintf(low, sizeof(low), "%.7g", g.x.low);
    (void)snprintf(high, sizeof(high), "%.7g", g.x.high);
    tk_buf_printf(out, "\n%8s  %s %s to %s", "", plot->x_name, low, high);
    put_legend(plot, out);
}
