/* Metrics on the hooks: rows, JSON, Prometheus (A-140, M-147, M-148).
 * Links: peer */
#include <stdio.h>
#include <stdlib.h>

#include <tinkc/meter.h>
#include <tinkc/training.h>

#include "base/json.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/hookfix.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

static hookfix hooks; /* large */

typedef struct fixture {
    clientfix f;
    tinkc_sampling *sampling;
    tinkc_meter *meter;
} fixture;

static void open_all(fixture *t)
{
    clientfix_open(&t->f, NULL);
    t->sampling = samplefix_create(&t->f);
    assert_int_equal(tinkc_meter_new(&t->meter, NULL), TINKC_OK);
    assert_int_equal(tinkc_meter_attach(t->meter, t->f.service, NULL), TINKC_OK);
}

static void close_all(fixture *t)
{
    tinkc_meter_free(&t->meter);
    tinkc_sampling_close(&t->sampling);
    clientfix_close(&t->f);
}

/* One sample that takes 5 + 7 ms, after a push-back when asked for. */
static void sample_once(fixture *t, bool push_back)
{
    tinkc_future *future = samplefix_sample(&t->f, t->sampling, 2);
    if (push_back) {
        assert_true(faketransport_answer(&t->f.net, SAMPLE, (fakeanswer){.status = 429}));
        clientfix_advance(&t->f, 60000);
    }
    fakeclock_advance_ms(&t->f.clock, 5);
    assert_true(samplefix_accept(&t->f));
    fakeclock_advance_ms(&t->f.clock, 7);
    assert_true(samplefix_finish(&t->f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
}

static tinkc_reading find(tinkc_meter *meter, const char *name, const char *value)
{
    tinkc_readings *readings = NULL;
    tinkc_reading metric = TINKC_READING_INIT;
    assert_int_equal(tinkc_meter_read(&readings, meter, NULL), TINKC_OK);
    assert_int_equal(tinkc_readings_find(&metric, readings, name, value, NULL), TINKC_OK);
    tinkc_readings_free(&readings);
    metric.name = metric.label = metric.label_value = metric.help = NULL;
    return metric;
}

static int64_t number(tinkc_meter *meter, const char *name, const char *value)
{
    return (int64_t)find(meter, name, value).value;
}

/* M-147: counters, gauges and durations of successes and failures. */
static void test_meter_counts(void **unused)
{
    fixture t;
    open_all(&t);
    sample_once(&t, false);
    sample_once(&t, true);
    tinkc_future *refused = tinkc_sampling_sample(t.sampling, NULL, NULL, NULL);
    tinkc_future *open = samplefix_sample(&t.f, t.sampling, 2);
    assert_int_equal(number(t.meter, "tinkc_operations_total", "sample"), 3);
    assert_int_equal(number(t.meter, "tinkc_operations_failed_total", "sample"), 1);
    assert_int_equal(number(t.meter, "tinkc_operations_in_flight", NULL), 1);
    assert_int_equal(number(t.meter, "tinkc_errors_total", "TINKC_E_INVALID"), 1);
    assert_int_equal(number(t.meter, "tinkc_http_requests_total", "asample"), 3);
    assert_int_equal(number(t.meter, "tinkc_http_requests_failed_total", "asample"), 1);
    assert_int_equal(number(t.meter, "tinkc_http_requests_total", POLL), 2);
    assert_int_equal(number(t.meter, "tinkc_http_requests_in_flight", NULL), 1);
    assert_int_equal(number(t.meter, "tinkc_http_answers_total", "429"), 1);
    assert_int_equal(number(t.meter, "tinkc_retries_total", "429"), 1);
    assert_true(number(t.meter, "tinkc_http_sent_bytes_total", NULL) > 500);
    assert_true(number(t.meter, "tinkc_http_received_bytes_total", NULL) > 50);
    tinkc_reading polls = find(t.meter, "tinkc_http_request_duration_seconds", POLL);
    assert_int_equal(polls.kind, TINKC_READING_HISTOGRAM);
    assert_int_equal(polls.count, 2);
    assert_true(polls.min == 0.007 && polls.max == 0.007 && polls.p50 == 0.007);
    assert_true(polls.value == 0.014);
    tinkc_meter_reset(t.meter);
    assert_int_equal(number(t.meter, "tinkc_operations_in_flight", NULL), 1);
    assert_int_equal(number(t.meter, "tinkc_http_sent_bytes_total", NULL), 0);
    tinkc_future_free(&refused);
    tinkc_future_free(&open);
    close_all(&t);
}

/* M-147: pauses are counted once for each operation that is paused. */
static void test_meter_pauses(void **unused)
{
    fixture t;
    open_all(&t);
    tinkc_future *future = samplefix_sample(&t.f, t.sampling, 2);
    assert_true(samplefix_accept(&t.f));
    static const char paused[] = "{\"type\":\"try_again\",\"request_id\":\"r\",\"queue_"
                                 "state\":\"paused_rate_limit\"}";
    for (int i = 0; i < 3; i++) {
        clientfix_advance(&t.f, 2 * TK_RETRY_EVERY_MS);
        assert_true(faketransport_answer(&t.f.net, POLL, (fakeanswer){.body = paused}));
        clientfix_turn(&t.f);
    }
    assert_int_equal(number(t.meter, "tinkc_queue_pauses_total", "rate_limit"), 1);
    tinkc_future_free(&future);
    close_all(&t);
}

/* hooks without a meter, a meter without other hooks, both: what each sees does
 * not depend on the other. */
static void test_meter_and_hooks_are_apart(void **unused)
{
    fixture with_both, with_meter;
    open_all(&with_both);
    hookfix_attach(&hooks, with_both.f.service);
    sample_once(&with_both, true);
    size_t events = hooks.n;
    int64_t total = number(with_both.meter, "tinkc_http_requests_total", "asample");
    assert_true(events > 0);
    close_all(&with_both);
    open_all(&with_meter);
    sample_once(&with_meter, true);
    assert_int_equal(number(with_meter.meter, "tinkc_http_requests_total", "asample"),
                     total);
    close_all(&with_meter);
    fixture t = {.meter = NULL};
    clientfix_open(&t.f, NULL);
    t.sampling = samplefix_create(&t.f);
    hookfix_attach(&hooks, t.f.service);
    sample_once(&t, true);
    assert_int_equal(hooks.n, events);
    close_all(&t);
}

/* a meter outlives its caller and its service, and serves several. */
static void test_meter_life(void **unused)
{
    fixture a, b;
    open_all(&a);
    open_all(&b);
    assert_int_equal(tinkc_meter_attach(a.meter, b.f.service, NULL), TINKC_OK);
    sample_once(&a, false);
    sample_once(&b, false);
    assert_int_equal(number(a.meter, "tinkc_operations_total", "sample"), 2);
    assert_int_equal(number(b.meter, "tinkc_operations_total", "sample"), 1);
    tinkc_meter_free(&b.meter);
    sample_once(&b, false);
    tinkc_sampling_close(&b.sampling);
    clientfix_close(&b.f);
    assert_int_equal(number(a.meter, "tinkc_operations_total", "sample"), 3);
    tinkc_error *err = NULL;
    assert_int_equal(tinkc_meter_attach(a.meter, NULL, &err), TINKC_E_STATE);
    tinkc_error_free(&err);
    close_all(&a);
}

static tinkc_readings *some_readings(void)
{
    fixture t;
    tinkc_readings *readings = NULL;
    open_all(&t);
    sample_once(&t, true);
    assert_int_equal(tinkc_meter_read(&readings, t.meter, NULL), TINKC_OK);
    close_all(&t);
    return readings;
}

/* M-148: the JSON says what the rows say. */
static void test_meter_json(void **unused)
{
    tinkc_readings *readings = some_readings();
    char *text = NULL;
    const tk_json *root = NULL;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    assert_int_equal(tinkc_readings_json(&text, readings, NULL), TINKC_OK);
    assert_int_equal(tk_json_parse(&root, &arena, text, strlen(text), NULL, NULL),
                     TINKC_OK);
    const tk_json *rows = tk_json_get(root, "metrics");
    assert_int_equal(tk_json_len(rows), tinkc_readings_count(readings));
    for (size_t i = 0; i < tinkc_readings_count(readings); i++) {
        tinkc_reading metric = TINKC_READING_INIT;
        tk_json row = tk_json_at(rows, i);
        assert_true(tinkc_readings_at(&metric, readings, i));
        assert_string_equal(tk_json_get(&row, "name")->as.string.p, metric.name);
        if (metric.label != NULL) {
            const tk_json *labels = tk_json_get(&row, "labels");
            assert_string_equal(tk_json_get(labels, metric.label)->as.string.p,
                                metric.label_value);
        }
        if (metric.kind == TINKC_READING_HISTOGRAM) {
            assert_int_equal(tk_json_get(&row, "count")->as.integer, metric.count);
            assert_non_null(tk_json_get(&row, "p99"));
        } else {
            assert_int_equal(tk_json_get(&row, "value")->as.integer,
                             (int64_t)metric.value);
        }
    }
    tinkc_reading metric = TINKC_READING_INIT;
    assert_false(tinkc_readings_at(&metric, readings, tinkc_readings_count(readings)));
    assert_int_equal(tinkc_readings_find(&metric, readings, "no", NULL, NULL),
                     TINKC_E_MISSING);
    tinkc_text_free(&text);
    tk_arena_dispose(&arena);
    tinkc_readings_free(&readings);
}

/* M-148: one HELP and TYPE for each name, in front of its samples; buckets add up. */
static void test_meter_prometheus(void **unused)
{
    tinkc_readings *readings = some_readings();
    char *text = NULL;
    assert_int_equal(tinkc_readings_prometheus(&text, readings, NULL), TINKC_OK);
    assert_non_null(strstr(text, "# TYPE tinkc_operations_total counter\n"
                                 "tinkc_operations_total{operation=\"sample\"} 1\n"));
    assert_non_null(strstr(text, "# TYPE tinkc_operations_in_flight gauge\n"
                                 "tinkc_operations_in_flight 0\n"));
    assert_non_null(strstr(text, "tinkc_http_request_duration_seconds_bucket{endpoint="
                                 "\"retrieve_future\",le=\"0.004096\"} 0\n"));
    assert_non_null(strstr(text, "tinkc_http_request_duration_seconds_bucket{endpoint="
                                 "\"retrieve_future\",le=\"0.016384\"} 1\n"));
    assert_non_null(strstr(text, "{endpoint=\"retrieve_future\",le=\"+Inf\"} 1\n"));
    assert_non_null(strstr(text, "tinkc_http_request_duration_seconds_sum{endpoint="
                                 "\"retrieve_future\"} 0.007\n"));
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        n++;
    }
    size_t names = 0;
    const char *last = "";
    for (size_t i = 0; i < tinkc_readings_count(readings); i++) {
        tinkc_reading metric = TINKC_READING_INIT;
        assert_true(tinkc_readings_at(&metric, readings, i));
        names += strcmp(metric.name, last) != 0;
        last = metric.name;
    }
    assert_int_equal(n, names);
    tinkc_text_free(&text);
    tinkc_readings_free(&readings);
}

/* Everything was counted; true when the durations are there, too. */
static bool is_whole(const tinkc_readings *readings)
{
    tinkc_reading health = TINKC_READING_INIT;
    size_t names = 0, durations = 0;
    assert_int_equal(
        tinkc_readings_find(&health, readings, "tinkc_operations_total", "health", NULL),
        TINKC_OK);
    assert_true(health.value == 1);
    for (size_t i = 0; i < tinkc_readings_count(readings); i++) {
        tinkc_reading metric = TINKC_READING_INIT;
        assert_true(tinkc_readings_at(&metric, readings, i));
        names += strcmp(metric.name, "tinkc_operations_total") == 0 ||
                 strcmp(metric.name, "tinkc_http_requests_total") == 0;
        durations += metric.kind == TINKC_READING_HISTOGRAM;
    }
    return names == durations;
}

static bool sweep_once(void *unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_meter *meter = NULL;
    tinkc_readings *readings = NULL;
    char *json = NULL, *text = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_meter_new(&meter, NULL) == TINKC_OK &&
              tinkc_meter_attach(meter, service, NULL) == TINKC_OK &&
              tinkc_service_health_wait(service, NULL) == TINKC_OK;
    if (ok) {
        ok = tinkc_meter_read(&readings, meter, NULL) == TINKC_OK && is_whole(readings) &&
             tinkc_readings_json(&json, readings, NULL) == TINKC_OK &&
             tinkc_readings_prometheus(&text, readings, NULL) == TINKC_OK;
    }
    tinkc_text_free(&json);
    tinkc_text_free(&text);
    tinkc_readings_free(&readings);
    tinkc_meter_free(&meter);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

/* M-147: without memory reading fails whole, and a meter without it still counts. */
static void test_meter_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meter_counts),
        cmocka_unit_test(test_meter_pauses),
        cmocka_unit_test(test_meter_and_hooks_are_apart),
        cmocka_unit_test(test_meter_life),
        cmocka_unit_test(test_meter_json),
        cmocka_unit_test(test_meter_prometheus),
        cmocka_unit_test(test_meter_allocation_sweep),
    };
    return cmocka_run_group_tests_name("meter", tests, NULL, NULL);
}
