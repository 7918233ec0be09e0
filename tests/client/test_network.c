/* The way to the server: proxies (M-010), packed answers (M-031), one connection for
 * training (M-022).
 * Links: peer */
#include <stdio.h>
#include <tinkc/training.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define HEALTH "/api/v1/healthz"

static tinkc_code ask(fakeapi *api, const char *const *options)
{
    tinkc_service *service = servicefix_open(api, options);
    tinkc_code code = tinkc_service_health_wait(service, NULL);
    tinkc_service_close(&service);
    return code;
}

/* M-010: requests go to the proxy, with its user and password, which the server's own
 * headers do not carry; hosts of no_proxy are asked without it. */
static void test_network_proxy(void **unused)
{
    fakeapi *proxy = fakeapi_start(), *server = fakeapi_start();
    char with_user[128];
    fakeapi_default(proxy, "*", "*", &fakeapi_json("{}"));
    fakeapi_default(server, "*", "*", &fakeapi_json("{}"));
    (void)snprintf(with_user, sizeof(with_user), "http://me:secret@%s",
                   fakeapi_url(proxy) + strlen("http://"));
    const char *through[] = {
        "base_url", "http://example.invalid", "proxy", with_user, "max_retries", "0",
        NULL};
    assert_int_equal(ask(server, through), TINKC_OK);
    assert_int_equal(fakeapi_total(server), 0);
    const fakeapi_request *seen = fakeapi_request_at(proxy, fakeapi_total(proxy) - 1);
    assert_string_equal(seen->target, "http://example.invalid" HEALTH);
    assert_string_equal(fakeapi_header(seen, "host"), "example.invalid");
    assert_string_equal(fakeapi_header(seen, "proxy-authorization"),
                        "Basic bWU6c2VjcmV0");
    size_t before = fakeapi_total(proxy);
    const char *around[] = {"proxy", fakeapi_url(proxy), "no_proxy", "127.0.0.1", NULL};
    assert_int_equal(ask(server, around), TINKC_OK);
    assert_int_equal(fakeapi_total(proxy), before);
    assert_true(fakeapi_total(server) > 0);
    fakeapi_stop(&proxy);
    fakeapi_stop(&server);
}

/* M-031: the request asks for gzip, and a packed answer is read like a plain one. */
static void test_network_gzip(void **unused)
{
    /* gzip of {"supported_models":[{"model_name":"packed"}]} */
    static const char packed[] =
        "\037\213\010\000\000\000\000\000\002\003\253\126\052\056\055\050"
        "\310\057\052\111\115\211\317\315\117\111\315\051\126\262\212\256"
        "\126\002\063\343\363\022\163\123\225\254\224\012\022\223\263\123"
        "\123\224\152\143\153\001\105\340\167\052\056\000\000\000";
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_default(api, "GET", "/api/v1/get_server_capabilities",
                    &(fakeapi_step){.body = packed,
                                    .body_n = sizeof(packed) - 1,
                                    .headers = "Content-Encoding: gzip\r\n"});
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_capabilities *capabilities = NULL;
    assert_int_equal(tinkc_service_capabilities_wait(&capabilities, service, NULL),
                     TINKC_OK);
    assert_string_equal(tinkc_capabilities_name(capabilities, 0), "packed");
    assert_non_null(strstr(
        fakeapi_header(fakeapi_nth(api, "GET", "/api/v1/get_server_capabilities", 0),
                       "accept-encoding"),
        "gzip"));
    tinkc_capabilities_free(&capabilities);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* M-022: with the option all submissions of several models share one connection; without
 * it models do not wait for each other. */
static void test_network_one_training_connection(void **unused)
{
    enum { MODELS = 3 };
    static const char *const rows[] = {"true", "false"};
    for (size_t r = 0; r < TK_ARRAY_LEN(rows); r++) {
        const char *options[] = {"train_single_connection", rows[r], NULL};
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        fakeapi_default(api, "GET", HEALTH, &fakeapi_json("{}"));
        tinkc_service *service = servicefix_open(api, options);
        tinkc_training *models[MODELS];
        tinkc_future *steps[MODELS];
        for (size_t i = 0; i < MODELS; i++) {
            assert_int_equal(
                tinkc_service_create_training_wait(&models[i], service, "m", NULL, NULL),
                TINKC_OK);
        }
        fakeapi_gate *gate = fakeapi_gate_new(api);
        fakeapi_default(api, "POST", "*/optim_step",
                        &(fakeapi_step){.pass = true, .gate = gate});
        for (size_t i = 0; i < MODELS; i++) {
            steps[i] = tinkc_training_optim_step(models[i], NULL);
        }
        assert_true(fakeapi_gate_wait(gate, r == 0 ? 1 : MODELS));
        for (int i = 0; r == 0 && i < 10; i++) { /* time for others to arrive */
            assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
            assert_int_equal(fakeapi_gate_waiting(gate), 1);
        }
        fakeapi_gate_open(gate);
        assert_int_equal(tinkc_future_wait_all(steps, MODELS, TINKC_FOREVER), TINKC_OK);
        size_t first = fakeapi_nth(api, "POST", "/api/v1/optim_step", 0)->connection;
        for (size_t i = 1; i < MODELS; i++) {
            size_t other = fakeapi_nth(api, "POST", "/api/v1/optim_step", i)->connection;
            assert_int_equal(other == first, r == 0);
        }
        for (size_t i = 0; i < MODELS; i++) {
            tinkc_future_free(&steps[i]);
            tinkc_training_close(&models[i]);
        }
        tinkc_service_close(&service);
        fakeapi_stop(&api);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network_proxy),
        cmocka_unit_test(test_network_gzip),
        cmocka_unit_test(test_network_one_training_connection),
    };
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
