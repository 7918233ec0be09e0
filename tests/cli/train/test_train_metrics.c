/* The metrics file, also of a run that is resumed.
 * Links: client text */
#include "base/file.h"
#include "base/mem.h"
#include "cli/train/train_metrics.h"
#include "cli/train/trainfix.h"

static void write_steps(train_metrics *metrics, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        const train_record record = {.step = i, .loss = 4.0 / (double)i, .rate = 0.5};
        assert_int_equal(train_metrics_step(metrics, &record, NULL), TINKC_OK);
    }
}

/* What lies after the checkpoint comes again, also a line that was cut in its middle. */
static void test_train_metrics_resume(void **state)
{
    train_metrics metrics = {.key = NULL};
    train_curve curve = {.y_name = NULL};
    char *text = NULL;
    assert_int_equal(train_metrics_open(&metrics, trainfix_path("m"), 0, &curve, NULL),
                     TINKC_OK);
    assert_int_equal(
        train_metrics_eval(&metrics, &(train_record){.step = 0, .loss = 5.5}, NULL),
        TINKC_OK);
    write_steps(&metrics, 1, 7);
    assert_true(fputs("{\"step\":4,\"lo", metrics.file) >= 0);
    train_metrics_close(&metrics);
    assert_int_equal(train_metrics_open(&metrics, trainfix_path("m"), 4, &curve, NULL),
                     TINKC_OK);
    write_steps(&metrics, 5, 7);
    train_metrics_close(&metrics);
    assert_int_equal(curve.lines[TRAIN_CURVE_STEPS].n, 4);
    assert_true(curve.lines[TRAIN_CURVE_STEPS].points[3].y == 1);
    assert_int_equal(curve.lines[TRAIN_CURVE_EVAL].n, 1);
    assert_int_equal(tk_file_read(&text, NULL, trainfix_path("m"), TK_MIB, NULL),
                     TINKC_OK);
    size_t lines = 0, step = 0;
    for (const char *at = text; (at = strstr(at, "{\"step\":")) != NULL; at++, lines++) {
        if (strncmp(at + 8, "0,", 2) != 0) {
            assert_int_equal(at[8] - '0', (int)++step);
        }
    }
    assert_int_equal(lines, 8);
    tk_free(text);
    train_curve_dispose(&curve);
}

static void test_train_metrics_none(void **state)
{
    train_metrics metrics = {.key = NULL};
    const train_record record = {.step = 1};
    assert_int_equal(train_metrics_open(&metrics, NULL, 3, NULL, NULL), TINKC_OK);
    assert_int_equal(train_metrics_step(&metrics, &record, NULL), TINKC_OK);
    assert_int_equal(
        train_metrics_eval(&metrics, &(train_record){.step = 1, .loss = 2}, NULL),
        TINKC_OK);
    train_metrics_close(&metrics);
    tk_err err = TK_ERR_INIT;
    assert_int_not_equal(
        train_metrics_open(&metrics, trainfix_path("no/such/dir"), 0, NULL, &err),
        TINKC_OK);
    assert_non_null(strstr(err.message, "no/such/dir"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_metrics_resume),
        cmocka_unit_test(test_train_metrics_none),
    };
    return cmocka_run_group_tests_name("train_metrics", tests, trainfix_open,
                                       trainfix_close);
}
