/* Curves as text and as SVG.
 * Links: client */
#include "cli/frame/cmd_plot.h"

#include <math.h>

#include "support/test.h"

static cmd_plot plot_of(cmd_plot_line lines[2], size_t n)
{
    lines[0] = (cmd_plot_line){.name = "training"};
    lines[1] = (cmd_plot_line){.name = "held-out", .is_dotted = true};
    for (size_t i = 1; i <= n; i++) {
        assert_true(cmd_plot_add(&lines[0], (double)i, 1 + 3.0 / (double)i));
    }
    assert_true(cmd_plot_add(&lines[0], (double)n + 1, NAN)); /* left out */
    if (n > 0) {
        assert_true(cmd_plot_add(&lines[1], 0, 5));
        assert_true(cmd_plot_add(&lines[1], (double)n, 1.5));
    }
    return (cmd_plot){
        .title = "a<b & \"c\"", .x_name = "step", .y_name = "loss", lines, 2};
}

static void free_lines(cmd_plot_line lines[2])
{
    cmd_plot_dispose(&lines[0]);
    cmd_plot_dispose(&lines[1]);
}

static void test_cmd_plot_text(void **state)
{
    static const size_t widths[] = {0, 40, 80, 100000};
    cmd_plot_line lines[2];
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    cmd_plot plot = plot_of(lines, 0);
    cmd_plot_text(&plot, 80, &out);
    assert_int_equal(out.n, 0);
    plot = plot_of(lines, 5000);
    for (size_t i = 0; i < TK_ARRAY_LEN(widths); i++) {
        tk_buf_clear(&out);
        cmd_plot_text(&plot, widths[i], &out);
        const char *text = tk_buf_cstr(&out);
        assert_non_null(text);
        assert_non_null(strstr(text, "   5.000 |o"));
        assert_non_null(strstr(text, "step 0 to 5000; * training; o held-out\n"));
        size_t most = widths[i] < 60 ? 60 : widths[i];
        for (const char *line = text; *line != '\0';) {
            size_t n = strcspn(line, "\n");
            assert_true(n < most);
            line += n + 1;
        }
    }
    tk_buf_dispose(&out);
    free_lines(lines);
}

/* Round numbers at the ticks, a legend, points for the line that has few of them. */
static void test_cmd_plot_svg(void **state)
{
    cmd_plot_line lines[2];
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    cmd_plot plot = plot_of(lines, 100000);
    cmd_plot_svg(&plot, &out);
    const char *text = tk_buf_cstr(&out);
    assert_non_null(text);
    assert_true(out.n < 64 * TK_KIB);
    assert_non_null(strstr(text, "a&#60;b &#38; &#34;c&#34;"));
    assert_non_null(strstr(text, ">training</text>"));
    assert_non_null(strstr(text, ">held-out</text>"));
    assert_non_null(strstr(text, ">20k</text>"));
    assert_non_null(strstr(text, ">100k</text>"));
    assert_non_null(strstr(text, ">5</text>"));
    assert_non_null(strstr(text, "<circle"));
    assert_non_null(strstr(text, "</svg>\n"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    tk_buf_clear(&out);
    free_lines(lines);
    cmd_plot_svg(&plot, &out); /* of nothing: a picture without a line */
    assert_null(strstr(tk_buf_cstr(&out), "polyline"));
    tk_buf_dispose(&out);
}

/* Names of files and runs are anything; XML is not. */
static void test_cmd_plot_names(void **state)
{
    cmd_plot_line line = {.name = "\x1b[31m\xff<script>"};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_true(cmd_plot_add(&line, 1, 2));
    assert_true(cmd_plot_add(&line, 2, 3));
    cmd_plot plot = {.x_name = "step", .y_name = "loss", .lines = &line, .n = 1};
    cmd_plot_svg(&plot, &out);
    const char *text = tk_buf_cstr(&out);
    assert_non_null(strstr(text, ">?[31m?&#60;script&#62;</text>"));
    tk_buf_dispose(&out);
    cmd_plot_dispose(&line);
}

static void test_cmd_plot_axis(void **state)
{
    static const struct {
        double low, high, round_low, round_high, step;
        const char *label; /* of the upper end */
    } rows[] = {
        {0, 1, 0, 1, 0.2, "1.0"},
        {1.03, 4.97, 1, 5, 1, "5"},
        {0.0123, 0.0161, 0.012, 0.017, 0.001, "0.017"},
        {1, 123456, 0, 150000, 50000, "150k"},
        {-3, 2, -3, 2, 1, "2"},
        {1e-9, 9e-9, 0, 1e-8, 2e-9, "1e-08"},
        {0, 3.2e7, 0, 4e7, 1e7, "40M"},
    };
    char label[CMD_PLOT_LABEL_BYTES];
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        cmd_plot_axis axis = {rows[i].low, rows[i].high, 0};
        cmd_plot_round(&axis, i == 3 ? 3 : 6);
        assert_true(fabs(axis.low - rows[i].round_low) <= axis.step * 1e-6);
        assert_true(fabs(axis.high - rows[i].round_high) <= axis.step * 1e-6);
        assert_true(fabs(axis.step - rows[i].step) <= axis.step * 1e-6);
        assert_string_equal(cmd_plot_label(label, &axis, axis.high), rows[i].label);
    }
}

/* One value, equal values, and the largest numbers there are: still a picture. */
static void test_cmd_plot_extremes(void **state)
{
    static const double values[][2] = {{0, 0},          {7, 7},      {-7, -7},
                                       {1e308, -1e308}, {5e-324, 0}, {1e16, 1e16}};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    for (size_t i = 0; i < TK_ARRAY_LEN(values); i++) {
        cmd_plot_line line = {.name = "x"};
        assert_true(cmd_plot_add(&line, values[i][0], values[i][0]));
        assert_true(cmd_plot_add(&line, values[i][0], values[i][1]));
        cmd_plot plot = {.x_name = "step", .y_name = "loss", .lines = &line, .n = 1};
        tk_buf_clear(&out);
        cmd_plot_svg(&plot, &out);
        cmd_plot_text(&plot, 80, &out);
        const char *text = tk_buf_cstr(&out);
        assert_non_null(text);
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "\"inf"));
        cmd_plot_dispose(&line);
    }
    tk_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_plot_text),     cmocka_unit_test(test_cmd_plot_svg),
        cmocka_unit_test(test_cmd_plot_names),    cmocka_unit_test(test_cmd_plot_axis),
        cmocka_unit_test(test_cmd_plot_extremes),
    };
    return cmocka_run_group_tests_name("cmd_plot", tests, NULL, NULL);
}
