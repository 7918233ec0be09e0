/* Requests to an address where nothing is, on a scripted transport and a fake clock: they
 * fail soon as long as the service has had no response, and as late as all others after
 * that. */
#include "support/callfix.h"

#define CONFIG "client/config"

static const fakeanswer refused = {.failure = TK_HTTP_CONNECT, .is_absent = true};

static tinkc_future *ask(clientfix *f, const char *const *options, fakeanswer answer)
{
    clientfix_open(f, options);
    faketransport_default(&f->net, CONFIG, answer);
    faketransport_default(&f->net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_future *future = tinkc_service_health(f->service);
    clientfix_turn(f);
    return future;
}

static void end(clientfix *f, tinkc_future *future)
{
    tinkc_future_free(&future);
    clientfix_close(f);
}

/* The last attempt is exactly connect_wait_ms after the first; the error says what to do,
 * and nothing is sent after it. */
static void test_call_absent_fails_soon(void **unused)
{
    clientfix f;
    tinkc_future *future = ask(&f, NULL, refused);
    int64_t began_ms = faketransport_nth(&f.net, CONFIG, 0)->at_ms;
    clientfix_advance(&f, 1999);
    assert_false(tinkc_future_is_done(future));
    clientfix_advance(&f, 1);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CONNECTION);
    size_t n = faketransport_count(&f.net, CONFIG);
    assert_in_range(n, 3, 5);
    assert_int_equal(faketransport_nth(&f.net, CONFIG, n - 1)->at_ms - began_ms, 2000);
    tinkc_error *error = tinkc_future_take_error(future);
    const char *message = tinkc_error_message(error);
    assert_non_null(strstr(message, "there is no server at http://127.0.0.1:1 ("));
    assert_non_null(strstr(message, "tinkc serve"));
    tinkc_error_free(&error);
    clientfix_advance(&f, 600000);
    assert_int_equal(faketransport_count(&f.net, CONFIG), n);
    end(&f, future);
}

/* 0: at the first attempt; none: as long as any other failure. */
static void test_call_absent_option(void **unused)
{
    static const char *const at_once[] = {"connect_wait_ms", "0", NULL};
    static const char *const patient[] = {"connect_wait_ms", "none", NULL};
    clientfix f;
    tinkc_future *future = ask(&f, at_once, refused);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CONNECTION);
    assert_int_equal(faketransport_count(&f.net, CONFIG), 1);
    end(&f, future);
    future = ask(&f, patient, refused);
    clientfix_advance(&f, 60000);
    assert_false(tinkc_future_is_done(future));
    end(&f, future);
}

/* A server that starts within that time is found. */
static void test_call_absent_late_server(void **unused)
{
    clientfix f;
    tinkc_future *future = ask(&f, NULL, refused);
    clientfix_advance(&f, 1500);
    faketransport_default(&f.net, CONFIG, (fakeanswer){.body = "{}"});
    clientfix_advance(&f, 500);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    end(&f, future);
}

/* A name server that could not be asked, a reset or an answer 503: nothing is known about
 * the address. */
static void test_call_absent_others_wait(void **unused)
{
    static const fakeanswer rows[] = {{.failure = TK_HTTP_DNS},
                                      {.failure = TK_HTTP_CONNECT},
                                      {.failure = TK_HTTP_RESET},
                                      {.status = 503, .body = "{}"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        tinkc_future *future = ask(&f, NULL, rows[i]);
        clientfix_advance(&f, 30000);
        assert_false(tinkc_future_is_done(future));
        end(&f, future);
    }
}

/* Once there was a response, of any kind, a server that refuses is one that restarts. */
static void test_call_absent_after_response(void **unused)
{
    clientfix f;
    tinkc_future *future = ask(&f, NULL, (fakeanswer){.status = 401, .body = "{}"});
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_AUTH);
    tinkc_future_free(&future);
    faketransport_default(&f.net, CONFIG, refused);
    future = tinkc_service_health(f.service);
    clientfix_advance(&f, 30000);
    assert_false(tinkc_future_is_done(future));
    end(&f, future);
    callfix c;
    callfix_open(&c, BOTH_PATH);
    faketransport_default(&c.f.net, BOTH_PATH, refused);
    callfix_answer(&c, refused);
    clientfix_advance(&c.f, 200000);
    assert_false(c.done);
    callfix_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_absent_fails_soon),
        cmocka_unit_test(test_call_absent_option),
        cmocka_unit_test(test_call_absent_late_server),
        cmocka_unit_test(test_call_absent_others_wait),
        cmocka_unit_test(test_call_absent_after_response),
    };
    return cmocka_run_group_tests_name("call_absent", tests, NULL, NULL);
}
