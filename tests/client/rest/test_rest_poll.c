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

#define SAMPLER      "tinker://S:train:0/sampler_weights/s1"
#define SAMPLER_REST "training_runs/S:train:0/checkpoints/sampler_weights/s1/archive"
#define BARE         "tinker://S:train:0/s1"
#define BARE_REST    "training_runs/S:train:0/checkpoints/s1/archive"

/* A server that knows weights for sampling by their name alone (SkyRL) is asked with it
 * after 404 or 405, and at once for a path that it gave. Of two refusals the one that
 * says more is shown. Weights for training are not asked for by their name. */
static void test_rest_archive_bare(void **unused)
{
    static const fakeanswer none = {.status = 404, .body = "{\"detail\":\"Not Found\"}"};
    static const fakeanswer wrong = {.status = 405, .body = "{}"};
    static const fakeanswer missing = {.status = 404,
                                       .body = "{\"detail\":\"no checkpoint s1\"}"};
    fakeanswer there = {.status = 302, .headers = {"location", "http://h/a"}};
    clientfix f;
    for (size_t i = 0; i < 5; i++) {
        clientfix_open(&f, NULL);
        tinkc_future *future = tinkc_rest_archive_url(f.service, i == 2 ? BARE : SAMPLER);
        tinkc_error *error = NULL;
        tinkc_archive *archive = NULL;
        clientfix_turn(&f);
        if (i != 2) {
            assert_true(faketransport_answer(&f.net, SAMPLER_REST,
                                             i == 1   ? wrong
                                             : i == 4 ? missing
                                                      : none));
            clientfix_turn(&f);
        }
        clientfix_advance(&f, 1000);
        assert_true(faketransport_answer(&f.net, BARE_REST,
                                         i == 3   ? missing
                                         : i == 4 ? none
                                                  : there));
        clientfix_turn(&f);
        if (i < 3) {
            assert_int_equal(tinkc_future_take_archive(&archive, future, &error),
                             TINKC_OK);
            assert_string_equal(archive->url, "http://h/a");
        } else {
            assert_int_equal(tinkc_future_take_archive(&archive, future, &error),
                             TINKC_E_NOT_FOUND);
            assert_string_equal(tinkc_error_message(error), "HTTP 404: no checkpoint s1");
        }
        tinkc_error_free(&error);
        tinkc_archive_free(&archive);
        tinkc_future_free(&future);
        clientfix_close(&f);
    }
    clientfix_open(&f, NULL);
    tinkc_future *future = tinkc_rest_archive_url(f.service, PATH);
    clientfix_turn(&f);
    assert_true(faketransport_answer(&f.net, ARCHIVE_REST, none));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_NOT_FOUND);
    tinkc_future_free(&future);
    clientfix_close(&f);
}

/* Which name the server knows is learned from the first archive that it gives. */
static void test_rest_archive_learned(void **unused)
{
    static const fakeanswer none = {.status = 404, .body = "{\"detail\":\"Not Found\"}"};
    const fakeanswer there = {.status = 302, .headers = {"location", "http://h/a"}};
    for (int is_bare = 0; is_bare < 2; is_bare++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(&f.net, SAMPLER_REST, is_bare ? none : there);
        faketransport_default(&f.net, BARE_REST, is_bare ? there : none);
        for (size_t i = 1; i <= 3; i++) {
            tinkc_future *future = tinkc_rest_archive_url(f.service, SAMPLER);
            clientfix_advance(&f, 2000);
            assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
            tinkc_future_free(&future);
            assert_int_equal(faketransport_count(&f.net, SAMPLER_REST), is_bare ? 1 : i);
            assert_int_equal(faketransport_count(&f.net, BARE_REST), is_bare ? i : 0);
        }
        clientfix_close(&f);
    }
}

/* A server that has no archives is asked once for one, not as one that failed. */
static void test_rest_archive_501(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_future *future = tinkc_rest_archive_url(f.service, PATH);
    clientfix_turn(&f);
    assert_true(faketransport_answer(&f.net, ARCHIVE_REST,
                                     (fakeanswer){.status = 501, .body = "{}"}));
    clientfix_turn(&f);
    assert_int_not_equal(tinkc_future_wait(future, 0), TINKC_OK);
    assert_int_equal(tinkc_error_http_status(tinkc_future_error(future)), 501);
    assert_int_equal(faketransport_count(&f.net, ARCHIVE_REST), 1);
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
        cmocka_unit_test(test_rest_archive_bare),
        cmocka_unit_test(test_rest_archive_learned),
        cmocka_unit_test(test_rest_archive_501),
        cmocka_unit_test(test_rest_archive_short_hints),
        cmocka_unit_test(test_rest_export_trace),
        cmocka_unit_test(test_rest_export_trace_other),
    };
    return cmocka_run_group_tests_name("rest_poll", tests, NULL, NULL);
}
