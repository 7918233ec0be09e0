/* What the REST client asks for again until it is there: archives and traces, on a fake
 * clock (M-122, M-125). */
#include <tinkc/rest.h>

#include "support/clientfix.h"

#define PATH         "tinker://S:train:0/weights/0001"
#define ARCHIVE_REST "training_runs/S:train:0/checkpoints/weights/0001/archive"

/* M-122, A-084: 503 is waited out, 30 s at a time or as the server says, six times. */
static void test_rest_archive_503(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    fakeanswer later = {.status = 503, .body = "{}"};
    tinkc_future *future = tinkc_rest_archive_url(f.service, PATH);
    clientfix_turn(&f);
    assert_true(faketransport_answer(&f.net, ARCHIVE_REST, later));
    clientfix_advance(&f, 29999);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 1);
    clientfix_advance(&f, 1);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 2);
    fakeanswer hinted = later;
    hinted.headers[0] = "retry-after";
    hinted.headers[1] = "3";
    assert_true(faketransport_answer(&f.net, ARCHIVE_REST, hinted));
    clientfix_advance(&f, 3000);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 3);
    hinted.headers[1] = "7200"; /* an hour at most */
    assert_true(faketransport_answer(&f.net, ARCHIVE_REST, hinted));
    clientfix_advance(&f, 3599999);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 3);
    clientfix_advance(&f, 1);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 4);
    for (size_t i = 4; i < 6; i++) {
        assert_true(faketransport_answer(&f.net, ARCHIVE_REST, later));
        clientfix_advance(&f, 30000);
        assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), i + 1);
    }
    assert_false(tinkc_future_is_done(future));
    assert_true(faketransport_answer(&f.net, ARCHIVE_REST, later));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_SERVER);
    assert_non_null(strstr(f.log, "asking again"));
    tinkc_future_free(&future);
    future = tinkc_rest_archive_url(f.service, PATH);
    clientfix_turn(&f);
    assert_true(faketransport_answer(&f.net, ARCHIVE_REST, later));
    clientfix_turn(&f);
    tinkc_future_cancel(future);
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    clientfix_close(&f);
}

/* Short pauses, if the server wants them, are a second at least and do not use up the
 * tries: it has as much time as without them. */
static void test_rest_archive_short_hints(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(
        &f.net, ARCHIVE_REST,
        (fakeanswer){.status = 503, .body = "{}", .headers = {"retry-after-ms", "1"}});
    tinkc_future *future = tinkc_rest_archive_url(f.service, PATH);
    clientfix_advance(&f, 10000);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 11);
    clientfix_advance(&f, 139999);
    assert_false(tinkc_future_is_done(future));
    clientfix_advance(&f, 1);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_SERVER);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 151);
    tinkc_future_free(&future);
    clientfix_close(&f);
}

#define TRACE "sessions/a/trace_export"

/* M-125: pending every 5 s, then the URL; a failure has the server's message. */
static void test_rest_export_trace(void **unused)
{
    clientfix f;
    char *url = NULL;
    clientfix_open(&f, NULL);
    tinkc_future *future = tinkc_rest_export_trace(f.service, "a");
    clientfix_turn(&f);
    for (int i = 0; i < 3; i++) {
        assert_true(faketransport_answer(
            &f.net, TRACE, (fakeanswer){.body = "{\"status\":\"pending\"}"}));
        clientfix_advance(&f, 4999);
        assert_int_equal(faketransport_open(&f.net, TRACE), 0);
        clientfix_advance(&f, 1);
    }
    assert_true(faketransport_answer(
        &f.net, TRACE,
        (fakeanswer){.body = "{\"status\":\"ready\",\"url\":\"https://t\"}"}));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_take_text(&url, future, NULL), TINKC_OK);
    assert_string_equal(url, "https://t");
    tinkc_text_free(&url);
    tinkc_future_free(&future);
    future = tinkc_rest_export_trace(f.service, "a");
    clientfix_turn(&f);
    assert_true(faketransport_answer(
        &f.net, TRACE,
        (fakeanswer){.body = "{\"status\":\"failed\",\"error\":\"no data\"}"}));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_REQUEST);
    assert_non_null(strstr(tinkc_error_message(tinkc_future_error(future)), "no data"));
    tinkc_future_free(&future);
    clientfix_close(&f);
}

static tinkc_code trace_ends(clientfix *f, const char *body, int64_t after_ms)
{
    fakeanswer answer = {.body = body};
    faketransport_default(&f->net, TRACE, answer);
    tinkc_future *future = tinkc_rest_export_trace(f->service, "a");
    clientfix_advance(f, after_ms);
    tinkc_code code = tinkc_future_wait(future, 0);
    if (code == TINKC_E_STUCK) {
        assert_non_null(
            strstr(tinkc_error_message(tinkc_future_error(future)), "packing"));
    }
    tinkc_future_cancel(future);
    clientfix_turn(f);
    tinkc_future_free(&future);
    return code;
}

/* A status of a newer server is waited out for ten minutes; the error names it. A URL or
 * an error beside it is an end. */
static void test_rest_export_trace_other(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    const char *other = "{\"status\":\"packing\"}";
    assert_int_equal(trace_ends(&f, other, 599999), TINKC_E_TIMEOUT);
    assert_int_equal(trace_ends(&f, other, 600000), TINKC_E_STUCK);
    assert_int_equal(trace_ends(&f, "{\"status\":\"packing\",\"url\":\"https://t\"}", 0),
                     TINKC_OK);
    assert_int_equal(trace_ends(&f, "{\"status\":\"packing\",\"error\":\"x\"}", 0),
                     TINKC_E_REQUEST);
    clientfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest_archive_503),
        cmocka_unit_test(test_rest_archive_short_hints),
        cmocka_unit_test(test_rest_export_trace),
        cmocka_unit_test(test_rest_export_trace_other),
    };
    return cmocka_run_group_tests_name("rest_poll", tests, NULL, NULL);
}
