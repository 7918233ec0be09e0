/* The three states of a timeout: not given, none and a value, for a service and
 * for the calls of a handle with a context; and the deadline of an operation (M-096).
 *
 * Links: peer */
#include <tinkc/hooks.h>
#include <tinkc/raw.h>
#include <tinkc/training.h>

#include "support/fakeapi_tinker.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

#define HEALTH "/api/v1/healthz"

/* A peer that answers no question about its health until the gate is opened. */
static fakeapi *start_silent(fakeapi_gate **gate)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "GET", HEALTH,
                    &(fakeapi_step){.body = "{\"status\":\"ok\"}", .gate = *gate});
    return api;
}

/* The value trips, twice; none still waits then, has been sent once, and ends when the
 * answer comes. Neither repeats a request: a short timeout could not pass for none. */
static void expect_only_value_trips(fakeapi *api, fakeapi_gate *gate,
                                    tinkc_service *patient, tinkc_service *hasty)
{
    tinkc_future *waits = tinkc_service_health(patient);
    assert_true(fakeapi_gate_wait(gate, 1));
    for (int i = 0; i < 2; i++) {
        tinkc_future *trips = tinkc_service_health(hasty);
        assert_int_equal(tinkc_future_wait(trips, TINKC_FOREVER), TINKC_E_TIMEOUT);
        assert_true(tinkc_error_is_retryable(tinkc_future_error(trips)));
        tinkc_future_free(&trips);
        assert_false(tinkc_future_is_done(waits));
    }
    assert_int_equal(fakeapi_count(api, "GET", HEALTH), 3);
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(waits, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&waits);
}

/* A-073, M-024: a value trips, none waits. */
static void test_timeout_value_and_none(void **unused)
{
    fakeapi_gate *gate = NULL;
    fakeapi *api = start_silent(&gate);
    tinkc_service *patient = servicefix_open(
        api, (const char *const[]){"timeout", "none", "max_retries", "0", NULL});
    tinkc_service *hasty = servicefix_open(
        api, (const char *const[]){"timeout", "300", "max_retries", "0", NULL});
    expect_only_value_trips(api, gate, patient, hasty);
    tinkc_service_close(&patient);
    tinkc_service_close(&hasty);
    fakeapi_stop(&api);
}

/* A-073, M-024: not given is the default of 60 s, and each request says so; none says
 * nothing. */
static void test_timeout_said_on_the_wire(void **unused)
{
    static const struct {
        const char *option, *header;
    } rows[] = {{NULL, "60"}, {"2000", "2"}, {"none", NULL}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        fakeapi_default(api, "GET", HEALTH, &fakeapi_json("{\"status\":\"ok\"}"));
        tinkc_service *service =
            servicefix_open(api, (const char *const[]){"timeout", rows[i].option, NULL});
        assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
        const char *said = fakeapi_header(fakeapi_nth(api, "GET", HEALTH, 0),
                                          "x-stainless-read-timeout");
        if (rows[i].header == NULL) {
            assert_null(said);
        } else {
            assert_string_equal(said, rows[i].header);
        }
        tinkc_service_close(&service);
        fakeapi_stop(&api);
    }
}

/* not given, none, a value; each request says it on the wire. */
static void test_timeout_of_a_raw_request(void **unused)
{
    static const struct {
        int64_t given;
        const char *header;
    } rows[] = {{0, "60"}, {TINKC_FOREVER, NULL}, {2000, "2"}};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_default(api, "GET", "/t", &fakeapi_json("{}"));
    tinkc_service *service = servicefix_open(api, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
        request.path = "/t";
        request.timeout_ms = rows[i].given;
        assert_int_equal(tinkc_raw_send_wait(NULL, service, &request, NULL), TINKC_OK);
        const char *header =
            fakeapi_header(fakeapi_nth(api, "GET", "/t", i), "x-stainless-read-timeout");
        assert_int_equal(header != NULL, rows[i].header != NULL);
        assert_true(header == NULL || strcmp(header, rows[i].header) == 0);
    }
    tinkc_raw_request bad = TINKC_RAW_REQUEST_INIT;
    bad.path = "/t";
    bad.timeout_ms = -2;
    assert_int_equal(tinkc_raw_send_wait(NULL, service, &bad, NULL), TINKC_E_INVALID);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* ---- of a context ---- */

static tinkc_context context_with(int64_t timeout_ms, int64_t deadline_ms)
{
    tinkc_context context = TINKC_CONTEXT_INIT;
    context.timeout_ms = timeout_ms;
    context.deadline_ms = deadline_ms;
    return context;
}

static tinkc_service *with_times(tinkc_service *service, int64_t timeout_ms,
                                 int64_t deadline_ms)
{
    tinkc_context context = context_with(timeout_ms, deadline_ms);
    tinkc_service *second = NULL;
    assert_int_equal(tinkc_service_with_context(&second, service, &context, NULL),
                     TINKC_OK);
    return second;
}

/* A-073, M-024: a timeout that is not given is the service's, "none" and a value
 * replace it, only for calls through this handle. */
static void test_timeout_of_a_context(void **unused)
{
    static const char *const seven[] = {"timeout", "7000", NULL};
    static const struct {
        int64_t given, is;
        const char *header;
    } rows[] = {{0, 7000, "7"}, {TINKC_FOREVER, -1, NULL}, {1500, 1500, "1.5"}};
    clientfix f;
    clientfix_open(&f, seven);
    faketransport_default(&f.net, "healthz", (fakeanswer){.body = "{}"});
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_service *second = with_times(f.service, rows[i].given, 0);
        tinkc_future *future = tinkc_service_health(second);
        clientfix_turn(&f);
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
        fakeseen *seen = faketransport_nth(&f.net, "healthz", i);
        assert_int_equal(seen->timeout_ms, rows[i].is);
        char text[32];
        bool is_said =
            faketransport_header(seen, "x-stainless-read-timeout", text, sizeof(text));
        assert_int_equal(is_said, rows[i].header != NULL);
        if (is_said) {
            assert_string_equal(text, rows[i].header);
        }
        tinkc_future_free(&future);
        tinkc_service_close(&second);
    }
    tinkc_future *plain = tinkc_service_health(f.service);
    clientfix_turn(&f);
    assert_int_equal(faketransport_nth(&f.net, "healthz", 3)->timeout_ms, 7000);
    tinkc_future_free(&plain);
    clientfix_close(&f);
}

/* of a sample the submission has it; the polls keep theirs, and so do
 * heartbeats. */
static void test_timeout_of_a_sample(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_context context = context_with(TINKC_FOREVER, 0);
    tinkc_sampling *sampling = samplefix_create(&f), *second = NULL;
    assert_int_equal(tinkc_sampling_with_context(&second, sampling, &context, NULL),
                     TINKC_OK);
    tinkc_future *future = samplefix_sample(&f, second, 2);
    assert_true(samplefix_accept(&f));
    assert_int_equal(faketransport_nth(&f.net, SAMPLE, 0)->timeout_ms, -1);
    assert_int_equal(faketransport_nth(&f.net, POLL, 0)->timeout_ms, 45000);
    clientfix_advance(&f, 10000);
    assert_int_equal(faketransport_nth(&f.net, "session_heartbeat", 0)->timeout_ms,
                     10000);
    assert_true(samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    tinkc_sampling_close(&second);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

static void test_timeout_bad_context(void **unused)
{
    const tinkc_context rows[] = {context_with(-2, 0), context_with(0, -1)};
    clientfix f;
    clientfix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_service *second = NULL;
        assert_int_equal(tinkc_service_with_context(&second, f.service, &rows[i], NULL),
                         TINKC_E_INVALID);
        assert_null(second);
    }
    clientfix_close(&f);
}

/* the same for two handles of one service. */
static void test_timeout_of_calls_of_one_service(void **unused)
{
    fakeapi_gate *gate = NULL;
    fakeapi *api = start_silent(&gate);
    tinkc_service *service =
        servicefix_open(api, (const char *const[]){"max_retries", "0", NULL});
    tinkc_service *patient = with_times(service, TINKC_FOREVER, 0);
    tinkc_service *hasty = with_times(service, 300, 0);
    expect_only_value_trips(api, gate, patient, hasty);
    tinkc_service_close(&patient);
    tinkc_service_close(&hasty);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* ---- deadlines ---- */

/* M-096: on the wire and while it backs off; the request is given up, and without a
 * deadline it would go on. */
static void test_timeout_deadline(void **unused)
{
    static const fakeanswer answers[] = {{.status = -1}, {.status = 503, .body = "{}"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(answers); i++) {
        static const char *const patient[] = {"max_retries", "50", NULL};
        clientfix f;
        clientfix_open(&f, patient);
        faketransport_default(&f.net, "healthz", answers[i]);
        tinkc_service *second = with_times(f.service, 0, 5000);
        tinkc_future *due = tinkc_service_health(second);
        tinkc_future *open = tinkc_service_health(f.service);
        clientfix_advance(&f, 4999);
        assert_false(tinkc_future_is_done(due));
        clientfix_advance(&f, 1);
        assert_int_equal(tinkc_future_wait(due, 0), TINKC_E_TIMEOUT);
        assert_string_equal(tinkc_error_message(tinkc_future_error(due)),
                            "health was not done before its deadline");
        assert_false(tinkc_future_is_done(open));
        assert_int_equal(faketransport_open(&f.net, "healthz"), i == 0 ? 1 : 0);
        tinkc_future_free(&due);
        tinkc_future_free(&open);
        tinkc_service_close(&second);
        clientfix_close(&f);
    }
}

/* a deadline counts from the call, also while the operation waits to be
 * started; what is done in time is not touched. */
static void test_timeout_deadline_from_the_call(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(&f.net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_service *second = with_times(f.service, 0, 5000);
    tinkc_future *in_time = tinkc_service_health(second);
    clientfix_turn(&f);
    faketransport_default(&f.net, "healthz", (fakeanswer){.status = -1});
    tinkc_future *late = tinkc_service_health(second);
    fakeclock_advance_ms(&f.clock, 5000);
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(in_time, 0), TINKC_OK);
    assert_true(tinkc_future_is_done(late)); /* a wait also gives TINKC_E_TIMEOUT */
    assert_int_equal(tinkc_future_wait(late, 0), TINKC_E_TIMEOUT);
    tinkc_future_free(&in_time);
    tinkc_future_free(&late);
    tinkc_service_close(&second);
    clientfix_close(&f);
}

/* A sample has two: the earlier one counts. */
static void test_timeout_deadline_of_a_sample(void **unused)
{
    static const int64_t rows[][2] = {{3000, 5000}, {5000, 3000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        tinkc_context context = context_with(0, rows[i][0]);
        tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
        options.deadline_ms = rows[i][1];
        tinkc_sampling *sampling = samplefix_create(&f), *second = NULL;
        assert_int_equal(tinkc_sampling_with_context(&second, sampling, &context, NULL),
                         TINKC_OK);
        tinkc_model_input *prompt = samplefix_prompt(2);
        tinkc_future *future = tinkc_sampling_sample(second, prompt, NULL, &options);
        clientfix_advance(&f, 2999);
        assert_false(tinkc_future_is_done(future));
        clientfix_advance(&f, 1);
        assert_true(tinkc_future_is_done(future));
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_TIMEOUT);
        tinkc_future_free(&future);
        tinkc_model_input_free(&prompt);
        tinkc_sampling_close(&second);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout_value_and_none),
        cmocka_unit_test(test_timeout_said_on_the_wire),
        cmocka_unit_test(test_timeout_of_a_raw_request),
        cmocka_unit_test(test_timeout_of_a_context),
        cmocka_unit_test(test_timeout_of_a_sample),
        cmocka_unit_test(test_timeout_bad_context),
        cmocka_unit_test(test_timeout_of_calls_of_one_service),
        cmocka_unit_test(test_timeout_deadline),
        cmocka_unit_test(test_timeout_deadline_from_the_call),
        cmocka_unit_test(test_timeout_deadline_of_a_sample),
    };
    return cmocka_run_group_tests_name("timeout", tests, NULL, NULL);
}
