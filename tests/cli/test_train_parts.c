/* The parts of `tinkc train` that need no server: the plan of batches, the state file,
 * the metrics file and the curves. Links: client */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/train/train_curve.h"
#include "cli/train/train_metrics.h"
#include "cli/train/train_plan.h"
#include "cli/train/train_state.h"
#include "support/test.h"

#define BATCH 4

/* ---- plan ---- */

static void test_train_plan_epochs(void **state)
{
    (void)state;
    train_plan plan = {.rows = 10, .batch = BATCH, .seed = 7};
    size_t out[BATCH], seen[10] = {0}, first_order[10], n_all = 0;
    bool is_same = true;
    assert_int_equal(train_plan_init(&plan, 2, 0, NULL), TINKC_OK);
    assert_int_equal(plan.steps, 5);
    for (size_t step = 0; step < plan.steps; step++) {
        size_t n = train_plan_batch(&plan, step, out);
        assert_int_equal(n, BATCH);
        for (size_t i = 0; i < n; i++, n_all++) {
            seen[out[i]]++;
            if (n_all < 10) {
                first_order[n_all] = out[i];
            } else {
                is_same = is_same && first_order[n_all - 10] == out[i];
            }
        }
    }
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(seen[i], 2); /* each epoch visits each row once */
    }
    assert_false(is_same);
    train_plan_dispose(&plan);
    plan = (train_plan){.rows = 10, .batch = BATCH, .seed = 7};
    assert_int_equal(train_plan_init(&plan, 1, 0, NULL), TINKC_OK);
    assert_int_equal(plan.steps, 3);
    assert_int_equal(train_plan_batch(&plan, 2, out), 2); /* what is left */
    train_plan_dispose(&plan);
}

/* A step's batch does not depend on which steps were asked for before. */
static void test_train_plan_any_step(void **state)
{
    (void)state;
    size_t there[64][BATCH], out[BATCH];
    train_plan plan = {.rows = 3, .batch = BATCH, .seed = 1};
    assert_int_equal(train_plan_init(&plan, 0, 64, NULL), TINKC_OK);
    for (size_t step = 0; step < 64; step++) {
        assert_int_equal(train_plan_batch(&plan, step, there[step]), BATCH);
    }
    train_plan_dispose(&plan);
    plan = (train_plan){.rows = 3, .batch = BATCH, .seed = 1};
    assert_int_equal(train_plan_init(&plan, 0, 64, NULL), TINKC_OK);
    for (size_t step = 64; step-- > 0;) {
        assert_int_equal(train_plan_batch(&plan, step, out), BATCH);
        assert_memory_equal(out, there[step], sizeof(out));
    }
    train_plan_dispose(&plan);
}

static void test_train_plan_refuses(void **state)
{
    (void)state;
    train_plan plan = {.rows = 0, .batch = 1};
    assert_int_equal(train_plan_init(&plan, 1, 0, NULL), TINKC_E_INVALID);
    plan = (train_plan){.rows = 5, .batch = 1};
    assert_int_equal(train_plan_init(&plan, SIZE_MAX / 2, 0, NULL), TINKC_E_LIMIT);
    train_plan_dispose(&plan);
}

static void test_train_plan_rates(void **state)
{
    (void)state;
    train_plan plan = {.rows = 1, .batch = 1, .rate = 1, .steps = 10};
    assert_true(train_plan_rate(&plan, 9) == 1);
    plan.schedule = TRAIN_LINEAR;
    assert_true(train_plan_rate(&plan, 0) == 1);
    assert_true(fabs(train_plan_rate(&plan, 9) - 0.1) < 1e-12);
    plan.schedule = TRAIN_COSINE;
    assert_true(fabs(train_plan_rate(&plan, 5) - 0.5) < 1e-12);
    plan.warmup = 3;
    assert_true(train_plan_rate(&plan, 0) == 0.25);
    assert_true(train_plan_rate(&plan, 2) == 0.75);
    assert_true(train_plan_rate(&plan, 3) == 1);
    plan.warmup = 20; /* longer than the run */
    assert_true(train_plan_rate(&plan, 9) < 0.5);
}

/* ---- state ---- */

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/tinkc-train-XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : 1;
}

static int remove_dir(void **state)
{
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static char *path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void test_train_state_file(void **state)
{
    (void)state;
    train_state out = {.step = 40, .steps = 100, .eval_first = 2.5};
    train_state in;
    tk_err err = TK_ERR_INIT;
    (void)snprintf(out.data, sizeof(out.data), "%064d", 5);
    out.settings[TRAIN_MODEL] = "a \"model\"";
    out.settings[TRAIN_LR] = "0.003";
    out.checkpoint = "tinker://r/weights/x-000040";
    assert_int_equal(train_state_write(&out, path_of("s"), &err), TINKC_OK);
    assert_int_equal(train_state_read(&in, path_of("s"), &err), TINKC_OK);
    assert_int_equal(in.step, 40);
    assert_int_equal(in.steps, 100);
    assert_string_equal(in.data, out.data);
    assert_string_equal(in.settings[TRAIN_MODEL], "a \"model\"");
    assert_null(in.settings[TRAIN_RANK]);
    assert_string_equal(in.checkpoint, out.checkpoint);
    assert_null(in.weights);
    assert_false(in.is_finished);
    assert_true(in.eval_first == 2.5);

    const char *given[TRAIN_SETTINGS] = {NULL};
    given[TRAIN_LR] = "0.003";
    assert_int_equal(train_state_adopt(given, &in), TRAIN_SETTINGS);
    assert_string_equal(given[TRAIN_MODEL], "a \"model\"");
    given[TRAIN_RANK] = "8"; /* was not given then */
    assert_int_equal(train_state_adopt(given, &in), TRAIN_RANK);
    train_state_dispose(&in);
}

static void test_train_state_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "{", "[]", "{\"tinkc_train\":1}",
        "{\"tinkc_train\":2,\"step\":1,\"steps\":2,\"finished\":false,\"settings\":{}}"};
    train_state in;
    assert_int_equal(train_state_read(&in, path_of("none"), NULL), TINKC_E_MISSING);
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(
            tk_file_replace(path_of("b"), bad[i], strlen(bad[i]), 0600, NULL), TINKC_OK);
        assert_int_equal(train_state_read(&in, path_of("b"), NULL), TINKC_E_DECODE);
    }
}

/* ---- metrics ---- */

static void write_steps(train_metrics *metrics, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        const train_record record = {.step = i, .loss = 4.0 / (double)i, .rate = 0.5};
        assert_int_equal(train_metrics_step(metrics, &record, NULL), TINKC_OK);
    }
}

/* What lies behind the checkpoint comes again, also a line that was cut in its middle. */
static void test_train_metrics_resume(void **state)
{
    (void)state;
    train_metrics metrics;
    train_curve curve = {{NULL, 0, 0}, {NULL, 0, 0}};
    char *text = NULL;
    assert_int_equal(train_metrics_open(&metrics, path_of("m"), 0, &curve, NULL),
                     TINKC_OK);
    assert_int_equal(train_metrics_eval(&metrics, 0, 5.5, NULL), TINKC_OK);
    write_steps(&metrics, 1, 7);
    assert_true(fputs("{\"step\":4,\"lo", metrics.file) >= 0);
    train_metrics_close(&metrics);
    assert_int_equal(train_metrics_open(&metrics, path_of("m"), 4, &curve, NULL),
                     TINKC_OK);
    write_steps(&metrics, 5, 7);
    train_metrics_close(&metrics);
    assert_int_equal(curve.train.n, 4);
    assert_true(curve.train.points[3].loss == 1);
    assert_int_equal(curve.eval.n, 1);
    assert_int_equal(tk_file_read(&text, NULL, path_of("m"), TK_MIB, NULL), TINKC_OK);
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
    (void)state;
    train_metrics metrics;
    const train_record record = {.step = 1};
    assert_int_equal(train_metrics_open(&metrics, NULL, 3, NULL, NULL), TINKC_OK);
    assert_int_equal(train_metrics_step(&metrics, &record, NULL), TINKC_OK);
    assert_int_equal(train_metrics_eval(&metrics, 1, 2, NULL), TINKC_OK);
    train_metrics_close(&metrics);
    tk_err err = TK_ERR_INIT;
    assert_int_not_equal(
        train_metrics_open(&metrics, path_of("no/such/dir"), 0, NULL, &err), TINKC_OK);
    assert_non_null(strstr(err.message, "no/such/dir"));
}

/* ---- curves ---- */

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
    (void)state;
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
    (void)state;
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
        cmocka_unit_test(test_train_plan_epochs),
        cmocka_unit_test(test_train_plan_any_step),
        cmocka_unit_test(test_train_plan_refuses),
        cmocka_unit_test(test_train_plan_rates),
        cmocka_unit_test(test_train_state_file),
        cmocka_unit_test(test_train_state_refuses),
        cmocka_unit_test(test_train_metrics_resume),
        cmocka_unit_test(test_train_metrics_none),
        cmocka_unit_test(test_train_curve_text),
        cmocka_unit_test(test_train_curve_svg),
    };
    return cmocka_run_group_tests_name("train_parts", tests, make_dir, remove_dir);
}
