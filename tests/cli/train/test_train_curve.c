/* Loss curves as text and as SVG.
 * Links: client text */
#include "cli/train/train_curve.h"

#include <math.h>

#include "support/test.h"

static void fill(train_curve *curve, size_t n)
{
    for (size_t i = 1; i <= n; i++) {
        assert_true(train_curve_add(&curve->train, i, 1 + 3.0 / (double)i));
    }
    assert_true(train_curve_add(&curve->train, n + 1, NAN)); /* left out */
    assert_true(train_curve_add(&curve->eval, 0, 5));
    assert_true(train_curve_add(&curve->eval, n, 1.5));
}

static void test_train_curve_text(void **state)
{
    static const size_t widths[] = {0, 40, 80, 100000};
    train_curve curve = {{NULL, 0, 0}, {NULL, 0, 0}};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    train_curve_text(&curve, 80, &out);
    assert_int_equal(out.n, 0);
    fill(&curve, 5000);
    for (size_t i = 0; i < TK_ARRAY_LEN(widths); i++) {
        tk_buf_clear(&out);
        train_curve_text(&curve, widths[i], &out);
        const char *text = tk_buf_cstr(&out);
        assert_non_null(text);
        assert_non_null(strstr(text, "   5.000 |o"));
        assert_non_null(strstr(text, "step 0 to 5000; o held-out"));
        for (const char *line = text; *line != '\0';) {
            size_t n = strcspn(line, "\n");
            assert_true(n < (widths[i] < 40 ? 40 : widths[i]));
            line += n + 1;
        }
    }
    tk_buf_dispose(&out);
    train_curve_dispose(&curve);
}

static void test_train_curve_svg(void **state)
{
    train_curve curve = {{NULL, 0, 0}, {NULL, 0, 0}};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    fill(&curve, 100000);
    train_curve_svg(&curve, "a<b & \"c\"", &out);
    const char *text = tk_buf_cstr(&out);
    assert_non_null(text);
    assert_true(out.n < 64 * TK_KIB);
    assert_non_null(strstr(text, "a&#60;b &#38; &#34;c&#34;"));
    assert_non_null(strstr(text, "</svg>\n"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    tk_buf_clear(&out);
    train_curve_dispose(&curve);
    train_curve_svg(&curve, "", &out); /* of nothing: a picture without a line */
    assert_null(strstr(tk_buf_cstr(&out), "polyline"));
    tk_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_curve_text),
        cmocka_unit_test(test_train_curve_svg),
    };
    return cmocka_run_group_tests_name("train_curve", tests, NULL, NULL);
}
