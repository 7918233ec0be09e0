/* Results out of futures: take and await, for results, errors and the wrong kind.
 * Links: peer */
#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define CAPABILITIES "/api/v1/get_server_capabilities"

typedef struct fixture {
    fakeapi *api;
    tinkc_service *service;
} fixture;

static fixture open_peer(void)
{
    fixture f = {.api = fakeapi_start()};
    fakeapi_tinker(f.api, NULL);
    f.service = servicefix_open(f.api, SERVICEFIX_QUIET);
    return f;
}

static void close_peer(fixture *f)
{
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

/* M-089: the result belongs to the caller, the future is gone. */
static void test_take_await(void **unused)
{
    (void)unused;
    fixture f = open_peer();
    tinkc_capabilities *capabilities = NULL;
    tinkc_future *future = tinkc_service_capabilities(f.service);
    assert_int_equal(tinkc_future_await_capabilities(&capabilities, &future, NULL),
                     TINKC_OK);
    assert_null(future);
    assert_non_null(capabilities);
    tinkc_capabilities_free(&capabilities);
    future = tinkc_service_capabilities(f.service);
    assert_int_equal(tinkc_future_await_capabilities(NULL, &future, NULL), TINKC_OK);
    future = tinkc_service_health(f.service);
    assert_int_equal(tinkc_future_await(&future, NULL), TINKC_OK);
    assert_null(future);
    close_peer(&f);
}

/* A failed operation: its error, and the future is gone too. */
static void test_take_await_failed(void **unused)
{
    (void)unused;
    fixture f = open_peer();
    tinkc_capabilities *capabilities = NULL;
    tinkc_error *error = NULL;
    fakeapi_reply(f.api, "GET", CAPABILITIES, &fakeapi_detail(403, "not yours"));
    tinkc_future *future = tinkc_service_capabilities(f.service);
    assert_int_equal(tinkc_future_await_capabilities(&capabilities, &future, &error),
                     TINKC_E_PERMISSION);
    assert_non_null(strstr(tinkc_error_message(error), "not yours"));
    assert_null(future);
    assert_null(capabilities);
    tinkc_error_free(&error);
    close_peer(&f);
}

/* The wrong kind is an error of the program: the future goes, as in every outcome. */
static void test_take_await_wrong_kind(void **unused)
{
    (void)unused;
    fixture f = open_peer();
    tinkc_error *error = NULL;
    tinkc_samples *samples = NULL;
    tinkc_future *future = tinkc_service_capabilities(f.service);
    assert_int_equal(tinkc_future_await_samples(&samples, &future, &error),
                     TINKC_E_STATE);
    assert_non_null(strstr(tinkc_error_message(error), "another kind"));
    assert_null(future);
    assert_null(samples);
    tinkc_error_free(&error);
    future = tinkc_service_capabilities(f.service);
    assert_int_equal(tinkc_future_await(&future, NULL), TINKC_E_STATE);
    assert_null(future);
    assert_int_equal(tinkc_future_await(&future, &error), TINKC_E_STATE);
    tinkc_error_free(&error);
    assert_int_equal(tinkc_future_await_text(NULL, NULL, &error), TINKC_E_STATE);
    assert_non_null(strstr(tinkc_error_message(error), "no future"));
    tinkc_error_free(&error);
    close_peer(&f);
}

/* A take leaves the future; a second one finds nothing. */
static void test_take_twice(void **unused)
{
    (void)unused;
    fixture f = open_peer();
    tinkc_capabilities *first = NULL, *second = NULL;
    tinkc_future *future = tinkc_service_capabilities(f.service);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_take_capabilities(&first, future, NULL), TINKC_OK);
    assert_int_equal(tinkc_future_take_capabilities(&second, future, NULL),
                     TINKC_E_STATE);
    assert_null(second);
    assert_int_equal(tinkc_future_await_capabilities(&second, &future, NULL),
                     TINKC_E_STATE);
    assert_null(future);
    tinkc_capabilities_free(&first);
    close_peer(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_await),
        cmocka_unit_test(test_take_await_failed),
        cmocka_unit_test(test_take_await_wrong_kind),
        cmocka_unit_test(test_take_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
