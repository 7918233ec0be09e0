/* The three states of a timeout on a server that never answers: the default,
 * none, and a value.
 *
 * Links: peer */
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define HEALTH "/api/v1/healthz"

/* the value trips; none still waits then, and ends when the answer comes. */
static void test_timeout_value_and_none(void **unused)
{
    (void)unused;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "GET", HEALTH,
                    &(fakeapi_step){.body = "{\"status\":\"ok\"}", .gate = gate});
    tinkc_service *patient =
        servicefix_open(api, (const char *const[]){"timeout", "none", NULL});
    tinkc_service *hasty = servicefix_open(
        api, (const char *const[]){"timeout", "300", "max_retries", "0", NULL});
    tinkc_future *waits = tinkc_service_health(patient);
    assert_true(fakeapi_gate_wait(gate, 1));
    tinkc_future *trips = tinkc_service_health(hasty);
    assert_int_equal(tinkc_future_wait(trips, TINKC_FOREVER), TINKC_E_TIMEOUT);
    assert_true(tinkc_error_is_retryable(tinkc_future_error(trips)));
    assert_false(tinkc_future_is_done(waits));
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(waits, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&waits);
    tinkc_future_free(&trips);
    tinkc_service_close(&patient);
    tinkc_service_close(&hasty);
    fakeapi_stop(&api);
}

/* not given is the default of 60 s, and each request says so; none says
 * nothing. */
static void test_timeout_said_on_the_wire(void **unused)
{
    (void)unused;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout_value_and_none),
        cmocka_unit_test(test_timeout_said_on_the_wire),
    };
    return cmocka_run_group_tests_name("timeout", tests, NULL, NULL);
}
