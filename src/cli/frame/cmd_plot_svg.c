/* Curves as an SVG document: one picture that a browser, an editor or a README shows
 * without anything else. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/frame/cmd_plot.h"

#define SVG_BYTES    (16 * TK_MIB)
#define WIDTH        720
#define HEIGHT       400
#define LEFT         64
#define RIGHT        (WIDTH - 20)
#define BOTTOM       (HEIGHT - 48)
#define TICKS        6
#define DOTS_MAX     1000 /* points of a line; more cannot be distinguished */
#define LEGEND_WIDTH ((RIGHT - LEFT) / 3)
#define LEGEND_CHARS 30
#define LEGEND_MAX   12

/* Distinct for people who do not tell red from green, and dark enough on white. */
static const char *const colors[] = {"#2b6cb0", "#c2571a", "#2f7d4f", "#7b4fa3",
                                     "#a8324a", "#4a6a70", "#8a6d1a", "#b04a8f"};

typedef struct drawing {
    tk_buf *out;
    cmd_plot_axis x, y;
    int top;
} drawing;

static double svg_x(const drawing *d, double x)
{
    return LEFT + cmd_plot_at(&d->x, x) * (RIGHT - LEFT);
}

static double svg_y(const drawing *d, double y)
{
    return BOTTOM - cmd_plot_at(&d->y, y) * (BOTTOM - d->top);
}

/* Appends at most `most` characters of text, escaped for XML, which allows no control
 * characters and no bytes that are not UTF-8. */
static void put_escaped(tk_buf *out, const char *text, size_t most)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n && most > 0; most--) {
        uint32_t c = 0;
        size_t used = tk_utf8_decode(&c, text + i, n - i);
        bool is_bad = used == 0 || c < ' ' || c == 0x7f || c == 0xfffe || c == 0xffff;
        if (is_bad) {
            tk_buf_putc(out, '?');
        } else if (c == '&' || c == '<' || c == '>' || c == '"') {
            tk_buf_printf(out, "&#%u;", (unsigned)c);
        } else {
            tk_buf_put(out, text + i, used);
        }
        i += used > 0 ? used : 1;
    }
}

static void put_line(drawing *d, const cmd_plot_line *line, const char *color)
{
    size_t dots = TK_MIN(line->n, DOTS_MAX);
    tk_buf_printf(d->out,
                  "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" "
                  "stroke-linejoin=\"round\" points=\"",
                  color);
    for (size_t i = 0; i < dots; i++) {
        size_t begin = line->n * i / dots, end = line->n * (i + 1) / dots;
        double sum = 0;
        for (size_t k = begin; k < end; k++) {
            sum += line->points[k].y / (double)(end - begin);
        }
        tk_buf_printf(d->out, "%s%.1f,%.1f", i > 0 ? " " : "",
                      svg_x(d, line->points[(begin + end - 1) / 2].x), svg_y(d, sum));
    }
    tk_buf_puts(d->out, "\"/>\n");
}

static void put_dots(drawing *d, const cmd_plot_line *line, const char *color)
{
    size_t dots = TK_MIN(line->n, DOTS_MAX);
    for (size_t i = 0; i < dots; i++) {
        const cmd_plot_point *p = &line->points[line->n * (i + 1) / dots - 1];
        tk_buf_printf(d->out,
                      "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" "
                      "stroke=\"#fff\"/>\n",
                      svg_x(d, p->x), svg_y(d, p->y), color);
    }
}

/* Draws the ticks and the lines of the grid. */
static void put_ticks(drawing *d)
{
    char label[CMD_PLOT_LABEL_BYTES];
    for (int i = 0; i <= 2 * TICKS; i++) {
        double y = d->y.low + i * d->y.step;
        double x = ceil(d->x.low / d->x.step - 1e-6) * d->x.step + i * d->x.step;
        if (y <= d->y.high + d->y.step * 1e-6) {
            tk_buf_printf(d->out,
                          "<path d=\"M%d %.1fH%d\" stroke=\"#e2e2e2\"/>\n"
                          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                          LEFT, svg_y(d, y), RIGHT, LEFT - 8, svg_y(d, y) + 4,
                          cmd_plot_label(label, &d->y, y));
        }
        if (x <= d->x.high + d->x.step * 1e-6) {
            tk_buf_printf(d->out,
                          "<path d=\"M%.1f %dv5\" stroke=\"#999\"/>\n"
                          "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                          svg_x(d, x), BOTTOM, svg_x(d, x), BOTTOM + 19,
                          cmd_plot_label(label, &d->x, x));
        }
    }
}

static void put_axes(drawing *d, const cmd_plot *plot)
{
    put_ticks(d);
    tk_buf_printf(d->out,
                  "<path d=\"M%d %dH%d\" stroke=\"#999\"/>\n"
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                  LEFT, BOTTOM, RIGHT, (LEFT + RIGHT) / 2, HEIGHT - 10);
    put_escaped(d->out, plot->x_name, 80);
    tk_buf_printf(d->out, "</text>\n<text x=\"12\" y=\"%d\">", d->top - 12);
    put_escaped(d->out, plot->y_name, 80);
    tk_buf_puts(d->out, "</text>\n");
}

/* Draws one entry of the legend, three in a row. */
static void put_entry(drawing *d, const cmd_plot_line *line, size_t at, const char *color)
{
    int x = LEFT + (int)(at % 3) * LEGEND_WIDTH, y = 44 + (int)(at / 3) * 18;
    if (line->is_dotted) {
        tk_buf_printf(d->out, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/>\n",
                      x + 9, y - 4, color);
    } else {
        tk_buf_printf(d->out,
                      "<path d=\"M%d %dh18\" stroke=\"%s\" stroke-width=\"2.5\"/>\n", x,
                      y - 4, color);
    }
    tk_buf_printf(d->out, "<text x=\"%d\" y=\"%d\">", x + 24, y);
    put_escaped(d->out, line->name, LEGEND_CHARS);
    tk_buf_puts(d->out, "</text>\n");
}

static bool is_listed(const cmd_plot_line *line)
{
    return line->n > 0 && line->name != NULL;
}

void cmd_plot_svg(const cmd_plot *plot, tk_buf *out)
{
    drawing d = {.out = out};
    size_t entries = 0, points = cmd_plot_measure(&d.x, &d.y, plot);
    cmd_plot_axis round = d.x; /* the curves take the whole width */
    cmd_plot_round(&round, TICKS);
    d.x.step = round.step;
    cmd_plot_round(&d.y, TICKS);
    for (size_t i = 0; i < plot->n; i++) {
        entries += is_listed(&plot->lines[i]) ? 1 : 0;
    }
    entries = TK_MIN(entries, LEGEND_MAX);
    d.top = 56 + 18 * (int)((entries + 2) / 3);
    tk_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                  "font-family=\"system-ui, sans-serif\" font-size=\"12\" "
                  "fill=\"#333\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"22\" font-size=\"15\" text-anchor=\"middle\">",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH / 2);
    put_escaped(out, plot->title != NULL ? plot->title : "", 90);
    tk_buf_puts(out, "</text>\n");
    if (points > 0) {
        put_axes(&d, plot);
    }
    size_t listed = 0;
    for (size_t i = 0; i < plot->n; i++) {
        const cmd_plot_line *line = &plot->lines[i];
        const char *color = colors[i % TK_ARRAY_LEN(colors)];
        if (is_listed(line) && listed < LEGEND_MAX) {
            put_entry(&d, line, listed++, color);
        }
        if (line->n > 0) {
            (line->is_dotted || line->n == 1 ? put_dots : put_line)(&d, line, color);
        }
    }
    tk_buf_puts(out, "</svg>\n");
}

tinkc_code cmd_plot_save(const cmd_plot *plot, const char *path, tk_err *err)
{
    tk_buf svg;
    tk_buf_init(&svg, SVG_BYTES);
    cmd_plot_svg(plot, &svg);
    tinkc_code code = tk_buf_status(&svg, err);
    if (code == TINKC_OK) {
        code = tk_file_replace(path, svg.p, svg.n, 0666, err);
    }
    tk_buf_dispose(&svg);
    return code;
}
