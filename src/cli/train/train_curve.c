/* Draws loss curves. Both drawings share the area: the range of steps and losses.
 * Needs: text */
#include "cli/train/train_curve.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define POINTS_MAX  ((size_t)64 * 1024 * 1024)
#define ROWS        10
#define COLUMNS_MIN 40
#define COLUMNS_MAX 110
#define MARGIN      10 /* for the numbers on the left */

bool train_curve_add(train_line *line, size_t step, double loss)
{
    if (!isfinite(loss)) {
        return true;
    }
    if (line->n == line->capacity) {
        size_t room = line->capacity * 2 + 64;
        train_point *points = room <= POINTS_MAX
                                  ? tk_realloc_array(line->points, room, sizeof(*points))
                                  : NULL;
        if (points == NULL) {
            return false;
        }
        line->points = points;
        line->capacity = room;
    }
    line->points[line->n++] = (train_point){step, loss};
    return true;
}

void train_curve_dispose(train_curve *curve)
{
    tk_free(curve->train.points);
    tk_free(curve->eval.points);
    memset(curve, 0, sizeof(*curve));
}

/* ---- the area ---- */

typedef struct area {
    size_t first, last; /* steps */
    double low, high;   /* losses */
} area;

static void widen(area *a, const train_line *line)
{
    for (size_t i = 0; i < line->n; i++) {
        const train_point *p = &line->points[i];
        a->first = TK_MIN(a->first, p->step);
        a->last = TK_MAX(a->last, p->step);
        a->low = TK_MIN(a->low, p->loss);
        a->high = TK_MAX(a->high, p->loss);
    }
}

static area area_of(const train_curve *curve)
{
    area a = {SIZE_MAX, 0, HUGE_VAL, -HUGE_VAL};
    widen(&a, &curve->train);
    widen(&a, &curve->eval);
    if (!(a.high > a.low)) {
        a.high = a.low + 1;
    }
    return a;
}

/* Return the position of a step and of a loss, from 0 to 1. */
static double across(const area *a, size_t step)
{
    return a->last > a->first ? (double)(step - a->first) / (double)(a->last - a->first)
                              : 0;
}

static double up(const area *a, double loss)
{
    return (loss - a->low) / (a->high - a->low);
}

/* ---- text ---- */

typedef struct grid {
    char cells[ROWS][COLUMNS_MAX];
    size_t columns;
} grid;

static void mark(grid *g, const area *a, size_t column, double loss, char c)
{
    size_t row = (size_t)lround(up(a, loss) * (ROWS - 1));
    g->cells[TK_MIN(row, ROWS - 1)][TK_MIN(column, g->columns - 1)] = c;
}

static void draw_means(grid *g, const area *a, const train_line *line)
{
    double sum = 0;
    size_t n = 0, column = 0;
    for (size_t i = 0; i < line->n; i++) {
        size_t here =
            (size_t)(across(a, line->points[i].step) * (double)(g->columns - 1) + 0.5);
        if (n > 0 && here != column) {
            mark(g, a, column, sum / (double)n, '*');
            sum = 0;
            n = 0;
        }
        column = here;
        sum += line->points[i].loss;
        n++;
    }
    if (n > 0) {
        mark(g, a, column, sum / (double)n, '*');
    }
}

void train_curve_text(const train_curve *curve, size_t columns, tk_buf *out)
{
    if (curve->train.n + curve->eval.n < 2) {
        return;
    }
    const area a = area_of(curve);
    grid g;
    memset(g.cells, ' ', sizeof(g.cells));
    columns = TK_MAX(columns, COLUMNS_MIN) - MARGIN - 1;
    g.columns = TK_MIN(TK_MIN(columns, COLUMNS_MAX), TK_MAX(a.last - a.first + 1, 20));
    draw_means(&g, &a, &curve->train);
    for (size_t i = 0; i < curve->eval.n; i++) {
        const train_point *p = &curve->eval.points[i];
        mark(&g, &a, (size_t)(across(&a, p->step) * (double)(g.columns - 1) + 0.5),
             p->loss, 'o');
    }
    for (size_t r = ROWS; r-- > 0;) {
        double loss = a.low + (a.high - a.low) * (double)r / (ROWS - 1);
        size_t n = g.columns;
        while (n > 0 && g.cells[r][n - 1] == ' ') {
            n--;
        }
        tk_buf_printf(out, "%8.3f |%.*s\n", loss, (int)n, g.cells[r]);
    }
    tk_buf_printf(out, "%8s +", "");
    for (size_t i = 0; i < g.columns; i++) {
        tk_buf_putc(out, '-');
    }
    tk_buf_printf(out, "\n%8s  step %zu to %zu%s\n", "", a.first, a.last,
                  curve->eval.n > 0 ? "; o held-out" : "");
}

/* ---- SVG ---- */

#define WIDTH    720
#define HEIGHT   400
#define LEFT     64
#define RIGHT    (WIDTH - 20)
#define TOP      44
#define BOTTOM   (HEIGHT - 48)
#define TICKS    5
#define DOTS_MAX 1000 /* points of a line; more cannot be distinguished */

static double svg_x(const area *a, size_t step)
{
    return LEFT + across(a, step) * (RIGHT - LEFT);
}

static double svg_y(const area *a, double loss)
{
    return BOTTOM - up(a, loss) * (BOTTOM - TOP);
}

/* Escapes text for XML; control characters are not allowed there. */
static void put_escaped(tk_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&' || *text == '<' || *text == '>' || *text == '"') {
            tk_buf_printf(out, "&#%d;", *text);
        } else if ((unsigned char)*text >= ' ') {
            tk_buf_putc(out, *text);
        }
    }
}

static void put_line(tk_buf *out, const area *a, const train_line *line,
                     const char *style)
{
    size_t dots = TK_MIN(line->n, DOTS_MAX);
    tk_buf_printf(out, "<polyline fill=\"none\" %s points=\"", style);
    for (size_t d = 0; d < dots; d++) {
        size_t begin = line->n * d / dots, end = line->n * (d + 1) / dots;
        double sum = 0;
        for (size_t i = begin; i < end; i++) {
            sum += line->points[i].loss;
        }
        tk_buf_printf(out, "%s%.1f,%.1f", d > 0 ? " " : "",
                      svg_x(a, line->points[(begin + end - 1) / 2].step),
                      svg_y(a, sum / (double)(end - begin)));
    }
    tk_buf_puts(out, "\"/>\n");
}

static void put_axes(tk_buf *out, const area *a)
{
    for (int i = 0; i < TICKS; i++) {
        double part = (double)i / (TICKS - 1);
        double y = BOTTOM - part * (BOTTOM - TOP);
        double x = LEFT + part * (RIGHT - LEFT);
        tk_buf_printf(out,
                      "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
                      "stroke=\"#ddd\"/>\n<text x=\"%d\" y=\"%.1f\" "
                      "text-anchor=\"end\">%.3f</text>\n",
                      LEFT, y, RIGHT, y, LEFT - 8, y + 4,
                      a->low + part * (a->high - a->low));
        tk_buf_printf(
            out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", x,
            BOTTOM + 18, (double)a->first + part * (double)(a->last - a->first));
    }
    tk_buf_printf(out,
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n"
                  "<text x=\"%d\" y=\"%d\">loss (nats per token)</text>\n",
                  (LEFT + RIGHT) / 2, HEIGHT - 10, LEFT - 56, TOP - 10);
}

void train_curve_svg(const train_curve *curve, const char *title, tk_buf *out)
{
    const area a = area_of(curve);
    tk_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                  "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"20\" font-size=\"15\" text-anchor=\"middle\">",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH / 2);
    put_escaped(out, title);
    tk_buf_puts(out, "</text>\n");
    if (curve->train.n + curve->eval.n > 0) {
        put_axes(out, &a);
    }
    if (curve->train.n > 0) {
        put_line(out, &a, &curve->train, "stroke=\"#3b6fb6\" stroke-width=\"1.5\"");
    }
    if (curve->eval.n > 0) {
        put_line(out, &a, &curve->eval, "stroke=\"#c8553d\" stroke-width=\"2.5\"");
    }
    tk_buf_puts(out, "</svg>\n");
}
