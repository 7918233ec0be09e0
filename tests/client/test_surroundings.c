/* What surrounds the client and may be missing: file descriptors, IPv4 (docs/faults.md).
 * Links: peer */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tinkc/training.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define HEALTH "/api/v1/healthz"

/* ---- IPv6 ---- */

static const char *header_of(fakeapi *api, const char *path, const char *name)
{
    const fakeapi_request *request = fakeapi_nth(api, "*", path, 0);
    assert_non_null(request);
    return fakeapi_header(request, name);
}

/* A base URL with an address in brackets: everything works, redirects included, and the
 * loopback needs no key. Without IPv6 on the machine: a connection error. */
static void test_surroundings_ipv6(void **unused)
{
    static const char *const options[] = {"api_key",   NULL,    "heartbeat",   "none",
                                          "telemetry", "false", "max_retries", "0",
                                          "base_url",  NULL,    NULL};
    const char *mine[TK_ARRAY_LEN(options)];
    memcpy(mine, options, sizeof(options));
    fakeapi *v6 = fakeapi_start_v6();
    fakeapi *api = v6 != NULL ? v6 : fakeapi_start();
    fakeapi_tinker(api, NULL);
    mine[9] = v6 != NULL ? fakeapi_url(v6) : "http://[::1]:9";
    tinkc_service *service = servicefix_open(api, mine);
    if (v6 == NULL) {
        assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_E_CONNECTION);
    } else {
        fakeapi_reply(api, "GET", HEALTH,
                      &(fakeapi_step){.status = 307, .headers = "Location: /moved\r\n"});
        fakeapi_default(api, "GET", "/moved", &fakeapi_json("{\"status\":\"ok\"}"));
        assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
        assert_string_equal(header_of(api, HEALTH, "host"), fakeapi_url(v6) + 7);
        assert_string_equal(header_of(api, HEALTH, "x-api-key"), "tml-local");
        assert_string_equal(header_of(api, "/moved", "x-api-key"), "tml-local");
        tinkc_training *training = NULL;
        assert_int_equal(
            tinkc_service_create_training_wait(&training, service, "m", NULL, NULL),
            TINKC_OK);
        tinkc_training_close(&training);
    }
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* ---- descriptors ---- */

typedef struct table {
    int spare[1024];
    size_t n;
    struct rlimit before;
} table;

static void fill_table(table *t)
{
    struct rlimit low;
    t->n = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &t->before), 0);
    low = t->before;
    low.rlim_cur = 512;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (t->n < TK_ARRAY_LEN(t->spare) && (t->spare[t->n] = dup(0)) >= 0) {
        t->n++;
    }
    assert_int_equal(errno, EMFILE);
}

static void empty_table(table *t)
{
    while (t->n > 0) {
        close(t->spare[--t->n]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &t->before), 0);
}

/* What has to open something says so; requests wait until there is a descriptor, and the
 * service that was open works on. */
static void test_surroundings_descriptors(void **unused)
{
    static const char *const quiet[] = {"heartbeat", "none", "telemetry", "false", NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, quiet), *second = NULL;
    tinkc_config *config = servicefix_config(api, quiet);
    tinkc_queue *queue = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    table t;
    fill_table(&t);
    assert_int_equal(tinkc_service_open(&second, config, &error), TINKC_E_IO);
    assert_null(second);
    tinkc_error_free(&error);
    assert_int_equal(tinkc_queue_open(&queue, &error), TINKC_E_IO);
    tinkc_error_free(&error);
    tinkc_future *future = tinkc_service_create_training(service, "m", NULL);
    tinkc_wait wait = TINKC_WAIT_INIT;
    while (wait.stage != TINKC_STAGE_WIRE) { /* it has been given to the transport */
        assert_int_equal(tinkc_future_wait(future, 1), TINKC_E_TIMEOUT);
        assert_int_equal(tinkc_future_status(&wait, future, NULL), TINKC_OK);
    }
    assert_false(tinkc_future_is_done(future));
    empty_table(&t);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&future);
    assert_int_equal(tinkc_service_open(&second, config, NULL), TINKC_OK);
    tinkc_service_close(&second);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
}

/* The credential command needs a pipe: an error with the reason, and the next request
 * tries again. */
static void test_surroundings_command(void **unused)
{
    static const char *const options[] = {"heartbeat",      "none",        "telemetry",
                                          "false",          "api_key",     NULL,
                                          "credential_cmd", "echo tml-ok", NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, options);
    table t;
    fill_table(&t);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_E_IO);
    empty_table(&t);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    assert_string_equal(header_of(api, HEALTH, "x-api-key"), "tml-ok");
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_surroundings_ipv6),
        cmocka_unit_test(test_surroundings_descriptors),
        cmocka_unit_test(test_surroundings_command),
    };
    return cmocka_run_group_tests_name("surroundings", tests, NULL, NULL);
}
