/* What events say (docs/protocol.md §9, §4, §5.3, §5.4; A-142, M-144, M-145, M-150):
 * names, data, whose error it was, and no secret in any of them. */
#include <stdio.h>

#include "client/insight/telemetry.h"
#include "client/values/error.h"
#include "support/samplefix.h"
#include "support/telefix.h"

#define HEALTH "healthz"

/* The text of a fact of an event, or NULL. */
static const char *fact(const tk_event *event, const char *key)
{
    const tk_json *value = tk_json_get(event->event_data.v, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

static int64_t number(const tk_event *event, const char *key)
{
    int64_t value = -1;
    const tk_json *json = tk_json_get(event->event_data.v, key);
    return json != NULL && tk_json_to_i64(json, &value) ? value : -1;
}

/* The first event of that name in all batches; fails without. */
static const tk_event *find(clientfix *f, const char *name)
{
    for (size_t i = 0; i < faketransport_count(&f->net, TELEMETRY); i++) {
        const tk_telemetry_request *batch = telefix_batch(f, i);
        for (size_t j = 0; j < batch->events_n; j++) {
            if (batch->events[j].event_name.is == TK_SET &&
                tk_str_is(batch->events[j].event_name.v, name)) {
                return &batch->events[j];
            }
        }
    }
    fail_msg("no event %s", name);
    return NULL;
}

/* M-145: an operation that failed is reported at once, not after ten seconds, and the
 * caller does not wait for it; a loop of failures makes one request a second. */
static void test_event_fatal_flush(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    faketransport_default(&f.net, TELEMETRY, (fakeanswer){.status = -1});
    telefix_health(&f, (fakeanswer){.body = "{}", .headers = {"x", "y"}});
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 0);
    telefix_health(&f, (fakeanswer){.status = 403, .body = "{\"detail\":\"no\"}"});
    assert_int_equal(faketransport_open(&f.net, TELEMETRY), 1);
    assert_true(faketransport_answer(&f.net, TELEMETRY,
                                     (fakeanswer){.body = "{\"status\":\"accepted\"}"}));
    faketransport_default(&f.net, TELEMETRY,
                          (fakeanswer){.body = "{\"status\":\"accepted\"}"});
    for (int i = 0; i < 50; i++) {
        telefix_health(&f, (fakeanswer){.status = 403, .body = "{}"});
    }
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 1);
    clientfix_advance(&f, 1000);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 2);
    assert_int_equal(telefix_batch(&f, 1)->events_n, 50);
    clientfix_close(&f);
}

/* The user's error is a warning; anything else an exception. */
static void test_event_of_a_failure(void **unused)
{
    static const char *const options[] = {"telemetry", "true", "max_retries", "0", NULL};
    clientfix f;
    clientfix_open(&f, options);
    telefix_health(&f, (fakeanswer){.status = 404, .body = "{\"detail\":\"gone\"}"});
    clientfix_advance(&f, 2000);
    telefix_health(&f, (fakeanswer){.status = 500, .body = "{\"detail\":\"oops\"}"});
    clientfix_advance(&f, 2000);
    const tk_event *event = &telefix_batch(&f, 0)->events[0];
    assert_string_equal(event->event_name.v.p, "user_error");
    assert_int_equal(event->severity.v, TK_SEVERITY_WARNING);
    assert_string_equal(fact(event, "error_type"), "TINKC_E_NOT_FOUND");
    assert_string_equal(fact(event, "operation"), "health");
    assert_non_null(strstr(fact(event, "message"), "gone"));
    assert_int_equal(number(event, "status_code"), 404);
    event = &telefix_batch(&f, 1)->events[0];
    assert_int_equal(event->kind, TK_EVENT_UNHANDLED_EXCEPTION);
    assert_int_equal(event->severity.v, TK_SEVERITY_ERROR);
    assert_string_equal(event->error_type.v.p, "TINKC_E_SERVER");
    assert_non_null(strstr(event->error_message.v.p, "oops"));
    clientfix_close(&f);
}

/* A cancelled operation is not a failure. */
static void test_event_none_for_cancelled(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    faketransport_default(&f.net, HEALTH, (fakeanswer){.status = -1});
    tinkc_future *future = tinkc_service_health(f.service);
    clientfix_turn(&f);
    tinkc_future_cancel(future);
    clientfix_advance(&f, 20000);
    tinkc_future_free(&future);
    tinkc_service_close(&f.service);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 0);
    faketransport_dispose(&f.net);
}

/* B-133: the user's error is found through the chain of causes. */
static void test_event_cause_chain(void **unused)
{
    static const struct {
        int status;
        tinkc_category category;
        bool is_user;
    } rows[] = {
        {400, TINKC_CATEGORY_UNKNOWN, true},  {499, TINKC_CATEGORY_UNKNOWN, true},
        {408, TINKC_CATEGORY_UNKNOWN, false}, {500, TINKC_CATEGORY_UNKNOWN, false},
        {0, TINKC_CATEGORY_USER, true},       {0, TINKC_CATEGORY_SERVER, false}};
    clientfix f;
    clientfix_open(&f, telefix_on);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err inner = TK_ERR_INIT, outer = TK_ERR_INIT;
        tk_err_set(&inner, TINKC_E_REQUEST, "inner");
        inner.http_status = rows[i].status;
        inner.category = rows[i].category;
        tk_err_set(&outer, TINKC_E_STATE, "outer");
        tinkc_error *error =
            tk_error_new(&outer, tk_error_new(&outer, tk_error_new(&inner, NULL)));
        assert_int_equal(tinkc_telemetry_error(f.service, error, NULL), TINKC_OK);
        tinkc_error_free(&error);
        clientfix_advance(&f, 2000);
        const tk_telemetry_request *batch = telefix_batch(&f, i);
        assert_int_equal(batch->events_n, 1);
        assert_int_equal(batch->events[0].kind, rows[i].is_user
                                                    ? TK_EVENT_GENERIC
                                                    : TK_EVENT_UNHANDLED_EXCEPTION);
    }
    clientfix_close(&f);
}

/* docs/protocol.md §5.3: each failure that L2 sees. */
static void test_event_of_a_call(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    faketransport_default(&f.net, "client/config",
                          (fakeanswer){.status = 422, .body = "{\"detail\":\"no\"}"});
    telefix_health(&f, (fakeanswer){.body = "{}"});
    const tk_event *event =
        find(&f, "InternalClientHolder.execute_with_retries.exception");
    assert_int_equal(event->severity.v, TK_SEVERITY_WARNING);
    assert_string_equal(fact(event, "func"), "client_config");
    assert_string_equal(fact(event, "exception_type"), "TINKC_E_UNPROCESSABLE");
    assert_int_equal(number(event, "status_code"), 422);
    assert_int_equal(number(event, "attempt_count"), 0);
    assert_false(tk_json_get(event->event_data.v, "is_retryable")->as.boolean);
    assert_true(tk_json_get(event->event_data.v, "is_user_error")->as.boolean);
    assert_int_equal(tk_json_get(event->event_data.v, "exception_stack")->type,
                     TK_JSON_NULL);
    clientfix_close(&f);
}

/* docs/protocol.md §4, §5.4: polls that fail, work that failed, attempts that are
 * repeated. An outage of many polls is a handful of events. */
static void test_event_of_a_sample(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 3);
    faketransport_default(&f.net, POLL, (fakeanswer){.status = 503, .body = "{}"});
    assert_true(samplefix_accept(&f));
    clientfix_advance(&f, 20000); /* a poll every 100 ms */
    assert_true(faketransport_count(&f.net, POLL) > 100);
    tinkc_telemetry_counts counts = telefix_counts(&f);
    assert_true(counts.sent + counts.queued < 12);
    const tk_event *event = find(&f, "APIFuture.result_async.api_status_error");
    assert_int_equal(event->severity.v, TK_SEVERITY_WARNING);
    assert_string_equal(fact(event, "request_id"), "r");
    assert_string_equal(fact(event, "request_type"), "Sample");
    assert_string_equal(fact(event, "kind"), "retry_with_backoff");
    assert_int_equal(number(event, "status_code"), 503);
    assert_int_equal(number(event, "iteration"), 0);
    assert_null(tk_json_get(event->event_data.v, "request_headers"));
    faketransport_default(
        &f.net, POLL,
        (fakeanswer){.body = "{\"error\":\"worker lost\",\"category\":\"server\"}"});
    faketransport_default(&f.net, SAMPLE, (fakeanswer){.body = "{\"request_id\":\"r\"}"});
    clientfix_advance(&f, 60000);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_REQUEST);
    event = find(&f, "APIFuture.result_async.application_error");
    assert_int_equal(event->severity.v, TK_SEVERITY_ERROR);
    assert_string_equal(fact(event, "error"), "worker lost");
    event = find(&f, "RetryHandler.execute.exception");
    assert_string_equal(fact(event, "exception_type"), "TINKC_E_REQUEST");
    assert_true(tk_json_get(event->event_data.v, "should_retry")->as.boolean);
    faketransport_default(&f.net, POLL, (fakeanswer){.failure = TK_HTTP_RESET});
    tinkc_future_free(&future);
    future = samplefix_sample(&f, sampling, 3);
    clientfix_advance(&f, 20000);
    (void)find(&f, "APIFuture.result_async.connection_error");
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* A-142, M-150: whatever happens, the library's names are those of one table, all of
 * which pass the same check as a user's. */
static void test_event_names(void **unused)
{
    for (int i = 0; i < TK_TELEMETRY_NAMES; i++) {
        const char *name = tk_telemetry_name_text((tk_telemetry_name)i);
        assert_true(tk_telemetry_name_is_low(tk_str_of(name)));
    }
    static const struct {
        const char *name;
        bool ok;
    } rows[] = {
        {"step_done", true},
        {"Trainer.eval-2", true},
        {"gpt4o_128k", true},
        {"", false},
        {"2fast", false},
        {"step_1024", false},
        {"run 7", false},
        {"run/7", false},
        {"caf\xc3\xa9", false},
        {"550e8400-e29b-41d4-a716-446655440000", false},
        {"a234567890123456789012345678901234567890123456789012345678901234", false},
        {"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcd", true},
        {"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcde", false}};
    clientfix f;
    clientfix_open(&f, telefix_on);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(telefix_log(&f, rows[i].name, NULL),
                         rows[i].ok ? TINKC_OK : TINKC_E_INVALID);
    }
    clientfix_close(&f);
}

static bool is_listed(tk_str name)
{
    for (int i = 0; i < TK_TELEMETRY_NAMES; i++) {
        if (tk_str_is(name, tk_telemetry_name_text((tk_telemetry_name)i))) {
            return true;
        }
    }
    return false;
}

/* a run in which each request fails in turn sends no other names. */
static void test_event_names_of_a_run(void **unused)
{
    static const char *const steps[] = {"client/config",  "client/dynamic_config",
                                        "create_session", "create_sampling_session",
                                        SAMPLE,           POLL};
    static const int statuses[] = {400, 402, 404, 409, 410, 429, 500};
    size_t events = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(steps) * TK_ARRAY_LEN(statuses); i++) {
        clientfix f;
        clientfix_open(&f, telefix_on);
        faketransport_default(&f.net, SAMPLE,
                              (fakeanswer){.body = "{\"request_id\":\"request-77\"}"});
        faketransport_default(&f.net, steps[i % TK_ARRAY_LEN(steps)],
                              (fakeanswer){.status = statuses[i / TK_ARRAY_LEN(steps)],
                                           .body = "{\"detail\":\"d\"}"});
        tinkc_future *made = tinkc_service_create_sampling(f.service, "m", NULL);
        clientfix_advance(&f, 1000);
        tinkc_sampling *sampling = NULL;
        if (tinkc_future_take_sampling(&sampling, made, NULL) == TINKC_OK) {
            tinkc_future *future = samplefix_sample(&f, sampling, 3);
            clientfix_advance(&f, 1000);
            tinkc_future_cancel(future);
            tinkc_future_free(&future);
        }
        clientfix_advance(&f, 11000);
        for (size_t j = 0; j < faketransport_count(&f.net, TELEMETRY); j++) {
            const tk_telemetry_request *batch = telefix_batch(&f, j);
            for (size_t k = 0; k < batch->events_n; k++, events++) {
                assert_true(batch->events[k].kind != TK_EVENT_GENERIC ||
                            is_listed(batch->events[k].event_name.v));
            }
        }
        tinkc_future_free(&made);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
    assert_true(events > 50);
}

/* M-011: no secret leaves in an event, however it got in: in a message of the server,
 * in the data of the program, under a name that gives it away, in a trace. */
static void test_event_secrets(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    telefix_health(
        &f, (fakeanswer){.status = 403, .body = "{\"detail\":\"key tml-test is bad\"}"});
    assert_int_equal(
        telefix_log(&f, "leak",
                    "{\"api_key\":\"plain-secret\",\"text\":\"use tml-test now\","
                    "\"list\":[{\"x-api-key\":\"listed-secret\"},\"eyJhbGciOi.J9.x\"],"
                    "\"tml-test\":1,\"kept\":\"in clear\"}"),
        TINKC_OK);
    assert_int_equal(tinkc_telemetry_exception(f.service, "Leak",
                                               "got hf_abcdefghijklmnopqrstuvwxyz",
                                               "X-API-Key: trace-secret\n  at main",
                                               TINKC_SEVERITY_CRITICAL, NULL),
                     TINKC_OK);
    clientfix_advance(&f, 10000);
    static const char *const secrets[] = {"tml-test", "plain-secret", "listed-secret",
                                          "eyJ",      "hf_",          "trace-secret"};
    for (size_t i = 0; i < faketransport_count(&f.net, TELEMETRY); i++) {
        const char *body = faketransport_nth(&f.net, TELEMETRY, i)->body;
        for (size_t j = 0; j < TK_ARRAY_LEN(secrets); j++) {
            assert_null(strstr(body, secrets[j]));
        }
    }
    assert_string_equal(fact(find(&f, "leak"), "kept"), "in clear");
    assert_string_equal(fact(find(&f, "leak"), "api_key"), "***");
    clientfix_close(&f);
}

/* What a program gives is checked; nothing of it crashes. */
static void test_event_arguments(void **unused)
{
    clientfix f;
    char big[20 * 1024];
    memset(big, 'x', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    clientfix_open(&f, telefix_on);
    tinkc_service *s = f.service;
    tinkc_severity none = (tinkc_severity)9;
    assert_int_equal(telefix_log(&f, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(telefix_log(&f, "e", "[1]"), TINKC_E_PARSE);
    assert_int_equal(telefix_log(&f, "e", "{"), TINKC_E_PARSE);
    assert_int_equal(telefix_log(&f, "e", big), TINKC_E_LIMIT);
    assert_int_equal(tinkc_telemetry_event(s, "e", none, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(
        tinkc_telemetry_exception(s, "T", big, NULL, TINKC_SEVERITY_ERROR, NULL),
        TINKC_E_LIMIT);
    assert_int_equal(
        tinkc_telemetry_exception(s, NULL, "m", NULL, TINKC_SEVERITY_ERROR, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_telemetry_exception(s, "T", "m", NULL, none, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_telemetry_error(s, NULL, NULL), TINKC_OK);
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_telemetry_event(NULL, "e", none, NULL, &error), TINKC_E_STATE);
    assert_true(tinkc_error_message(error)[0] != '\0');
    tinkc_error_free(&error);
    assert_int_equal(tinkc_telemetry_flush(NULL, 0, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_telemetry_error(NULL, NULL, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_telemetry_count(NULL, NULL, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_telemetry_count(&(tinkc_telemetry_counts){0}, s, NULL),
                     TINKC_E_STATE);
    clientfix_close(&f);
}

/* As Python prints them. */
static void test_event_duration(void **unused)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {{0, "0:00:00"},
                {5000000, "0:00:05"},
                {83456000, "0:01:23.456000"},
                {INT64_C(36000000001), "10:00:00.000001"},
                {INT64_C(86400000000), "1 day, 0:00:00"},
                {INT64_C(172805000000), "2 days, 0:00:05"}};
    char text[64];
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_telemetry_duration(text, sizeof(text), rows[i].us);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_fatal_flush),
        cmocka_unit_test(test_event_of_a_failure),
        cmocka_unit_test(test_event_none_for_cancelled),
        cmocka_unit_test(test_event_cause_chain),
        cmocka_unit_test(test_event_of_a_call),
        cmocka_unit_test(test_event_of_a_sample),
        cmocka_unit_test(test_event_names),
        cmocka_unit_test(test_event_names_of_a_run),
        cmocka_unit_test(test_event_secrets),
        cmocka_unit_test(test_event_arguments),
        cmocka_unit_test(test_event_duration),
    };
    return cmocka_run_group_tests_name("telemetry_event", tests, NULL, NULL);
}
