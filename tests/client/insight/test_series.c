/* Metrics of the program's own in a meter: what they count, which names they may have, how
 * many there may be (M-147, M-148, M-150). */
#include "client/insight/series.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "base/json.h"
#include "support/failmem.h"
#include "support/test.h"
#include <tinkc/tinkc.h>

static tinkc_reading find(tinkc_meter *meter, const char *name)
{
    tinkc_readings *readings = NULL;
    tinkc_reading row = TINKC_READING_INIT;
    assert_int_equal(tinkc_meter_read(&readings, meter, NULL), TINKC_OK);
    assert_int_equal(tinkc_readings_find(&row, readings, name, NULL, NULL), TINKC_OK);
    assert_null(row.label);
    tinkc_readings_free(&readings);
    return row;
}

/* M-147: counters add up, gauges keep the last value, histograms have quantiles; a reset
 * removes them. */
static void test_series_kinds(void **unused)
{
    tinkc_meter *meter = NULL;
    assert_int_equal(tinkc_meter_new(&meter, NULL), TINKC_OK);
    for (int i = 1; i <= 100; i++) {
        assert_int_equal(tinkc_meter_add(meter, "rollouts", 0.5, NULL), TINKC_OK);
        assert_int_equal(tinkc_meter_set(meter, "reward", -i, NULL), TINKC_OK);
        assert_int_equal(tinkc_meter_observe(meter, "grade_seconds", i, NULL), TINKC_OK);
    }
    tinkc_reading row = find(meter, "rollouts");
    assert_int_equal(row.kind, TINKC_READING_COUNTER);
    assert_float_equal(row.value, 50, 0);
    row = find(meter, "reward");
    assert_int_equal(row.kind, TINKC_READING_GAUGE);
    assert_float_equal(row.value, -100, 0);
    row = find(meter, "grade_seconds");
    assert_int_equal(row.kind, TINKC_READING_HISTOGRAM);
    assert_int_equal(row.count, 100);
    assert_float_equal(row.value, 5050, 1e-6);
    assert_float_equal(row.min, 1, 0);
    assert_float_equal(row.max, 100, 0);
    assert_true(row.p50 >= 50 && row.p50 <= 52);
    tinkc_meter_reset(meter);
    tinkc_readings *readings = NULL;
    tinkc_reading none = TINKC_READING_INIT;
    assert_int_equal(tinkc_meter_read(&readings, meter, NULL), TINKC_OK);
    assert_int_equal(tinkc_readings_find(&none, readings, "reward", NULL, NULL),
                     TINKC_E_MISSING);
    tinkc_readings_free(&readings);
    assert_int_equal(tinkc_meter_observe(meter, "reward", 1, NULL), TINKC_OK);
    tinkc_meter_free(&meter);
}

/* M-150: names are those of metrics, not data; a value has to make sense; what is refused
 * changes nothing and says why. */
static void test_series_refusals(void **unused)
{
    static const char *const names[] = {
        "",
        "1st",
        "a-b",
        "a b",
        "a.b",
        "caf\xc3\xa9",
        "a\nb",
        "tinkc_x",
        "x_count",
        "x_sum",
        "x_bucket",
        "_count",
        "a234567890123456789012345678901234567890123456789012345678901234x"};
    tinkc_meter *meter = NULL;
    tinkc_readings *readings = NULL;
    assert_int_equal(tinkc_meter_new(&meter, NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_meter_add(meter, names[i], 1, &error), TINKC_E_INVALID);
        assert_non_null(strstr(tinkc_error_message(error), "name"));
        tinkc_error_free(&error);
    }
    static const double bad[] = {(double)NAN, (double)INFINITY, -1, -(double)INFINITY};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tinkc_meter_add(meter, "a", bad[i], NULL), TINKC_E_INVALID);
        assert_int_equal(tinkc_meter_observe(meter, "a", bad[i], NULL), TINKC_E_INVALID);
        assert_int_equal(tinkc_meter_set(meter, "a", bad[i], NULL),
                         i == 2 ? TINKC_OK : TINKC_E_INVALID);
    }
    assert_int_equal(tinkc_meter_observe(meter, "h", 2199024, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_meter_add(meter, "a", 1, NULL), TINKC_E_INVALID); /* a gauge */
    assert_int_equal(tinkc_meter_observe(meter, "a", 1, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_meter_add(meter, NULL, 1, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_meter_add(NULL, "a", 1, NULL), TINKC_E_STATE);
    assert_float_equal(find(meter, "a").value, -1, 0);
    assert_int_equal(tinkc_meter_read(&readings, meter, NULL), TINKC_OK);
    tinkc_reading row = TINKC_READING_INIT;
    assert_true(tinkc_readings_at(&row, readings, tinkc_readings_count(readings) - 1));
    assert_string_equal(row.name, "a"); /* the only one */
    tinkc_readings_free(&readings);
    tinkc_meter_free(&meter);
}

/* M-150: a program that puts data into names meets a limit; the metrics that it has go
 * on. */
static void test_series_limit(void **unused)
{
    tinkc_meter *meter = NULL;
    char name[32];
    assert_int_equal(tinkc_meter_new(&meter, NULL), TINKC_OK);
    for (int i = 0; i < TK_SERIES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "step_%d", i);
        assert_int_equal(tinkc_meter_add(meter, name, i, NULL), TINKC_OK);
    }
    assert_int_equal(tinkc_meter_add(meter, "one_more", 1, NULL), TINKC_E_LIMIT);
    assert_int_equal(tinkc_meter_set(meter, "one_more", 1, NULL), TINKC_E_LIMIT);
    assert_int_equal(tinkc_meter_observe(meter, "one_more", 1, NULL), TINKC_E_LIMIT);
    assert_int_equal(tinkc_meter_add(meter, "step_255", 1, NULL), TINKC_OK);
    assert_float_equal(find(meter, "step_255").value, 256, 0);
    tinkc_meter_free(&meter);
}

/* M-148: in both texts, with the kind and the value that was given. */
static void test_series_texts(void **unused)
{
    tinkc_meter *meter = NULL;
    tinkc_readings *readings = NULL;
    char *text = NULL;
    assert_int_equal(tinkc_meter_new(&meter, NULL), TINKC_OK);
    assert_int_equal(tinkc_meter_add(meter, "rollouts", 2.5, NULL), TINKC_OK);
    assert_int_equal(tinkc_meter_set(meter, "reward", -0.125, NULL), TINKC_OK);
    assert_int_equal(tinkc_meter_observe(meter, "grade_seconds", 0.5, NULL), TINKC_OK);
    assert_int_equal(tinkc_meter_read(&readings, meter, NULL), TINKC_OK);
    assert_int_equal(tinkc_readings_prometheus(&text, readings, NULL), TINKC_OK);
    static const char *const lines[] = {
        "# TYPE rollouts counter\nrollouts 2.5\n", "# TYPE reward gauge\nreward -0.125\n",
        "# TYPE grade_seconds histogram\ngrade_seconds_bucket{le=\"0.000256\"} 0\n",
        ("grade_seconds_bucket{le=\"+Inf\"} 1\ngrade_seconds_sum 0.5\n"
         "grade_seconds_count 1\n")};
    for (size_t i = 0; i < TK_ARRAY_LEN(lines); i++) {
        assert_non_null(strstr(text, lines[i]));
    }
    tinkc_text_free(&text);
    assert_int_equal(tinkc_readings_json(&text, readings, NULL), TINKC_OK);
    assert_non_null(strstr(
        text, "{\"name\":\"reward\",\"type\":\"gauge\",\"labels\":{},\"value\":-0.125}"));
    assert_non_null(strstr(text, "{\"name\":\"grade_seconds\",\"type\":\"histogram\","
                                 "\"labels\":{},\"count\":1,\"sum\":0.5,"));
    tinkc_text_free(&text);
    tinkc_readings_free(&readings);
    tinkc_meter_free(&meter);
}

#define THREADS 4
#define ROUNDS  10000

static pthread_barrier_t start_line;

static void *count_much(void *user)
{
    (void)pthread_barrier_wait(&start_line);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(tinkc_meter_add(user, "all", 1, NULL), TINKC_OK);
        assert_int_equal(tinkc_meter_observe(user, "times", 0.001, NULL), TINKC_OK);
    }
    return NULL;
}

/* M-147: from several threads nothing is lost. For TSan, too. */
static void test_series_threads(void **unused)
{
    pthread_t threads[THREADS];
    tinkc_meter *meter = NULL;
    assert_int_equal(tinkc_meter_new(&meter, NULL), TINKC_OK);
    assert_int_equal(pthread_barrier_init(&start_line, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_much, meter), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(pthread_barrier_destroy(&start_line), 0);
    assert_float_equal(find(meter, "all").value, THREADS * ROUNDS, 0);
    assert_int_equal(find(meter, "times").count, THREADS * ROUNDS);
    tinkc_meter_free(&meter);
}

/* Sums of the largest values stay at the largest sum. */
static void test_series_sums_are_bounded(void **unused)
{
    tk_series_table table = {NULL, 0, 0};
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(
            tk_series_put(&table, "h", TINKC_READING_HISTOGRAM, 2199023, NULL), TINKC_OK);
    }
    assert_int_equal(table.rows[0].histogram->sum_ns, INT64_MAX);
    tk_series_dispose(&table);
}

static bool scenario(void *user)
{
    tinkc_meter *meter = NULL;
    tinkc_readings *readings = NULL;
    char name[] = "metric_a";
    bool ok = tinkc_meter_new(&meter, NULL) == TINKC_OK;
    for (int i = 0; ok && i < 12; i++, name[7]++) {
        ok = tinkc_meter_add(meter, name, 1, NULL) == TINKC_OK;
    }
    ok = ok && tinkc_meter_observe(meter, "times", 1, NULL) == TINKC_OK &&
         tinkc_meter_read(&readings, meter, NULL) == TINKC_OK;
    tinkc_readings_free(&readings);
    tinkc_meter_free(&meter);
    return ok;
}

static void test_series_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(scenario, NULL, 1) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series_kinds),
        cmocka_unit_test(test_series_refusals),
        cmocka_unit_test(test_series_limit),
        cmocka_unit_test(test_series_texts),
        cmocka_unit_test(test_series_threads),
        cmocka_unit_test(test_series_sums_are_bounded),
        cmocka_unit_test(test_series_allocation_sweep),
    };
    return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
