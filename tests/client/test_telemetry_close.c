/* Telemetry on a real connection (M-142, M-145): the end of a service, from many threads,
 * with a server that is fine, gone, or hangs.
 * Links: peer */
#include <tinkc/telemetry.h>

#include <tinkc/sampling.h>

#include "base/thread.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define PATH "/api/v1/telemetry"

static tinkc_service *open_with_session(fakeapi *api, const char *const *options)
{
    tinkc_service *service = servicefix_open(api, options);
    tinkc_sampling *sampling = NULL;
    assert_int_equal(
        tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL),
        TINKC_OK);
    tinkc_sampling_close(&sampling);
    return service;
}

/* M-145: with the threads of a program and with its own loop: what is queued, and the end
 * of the session, arrive before the close returns. */
static void test_close_drains(void **unused)
{
    (void)unused;
    static const char *const loops[] = {"thread", "manual"};
    for (size_t i = 0; i < TK_ARRAY_LEN(loops); i++) {
        const char *options[] = {"loop", loops[i], NULL};
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        tinkc_service *service = open_with_session(api, options);
        for (int j = 0; j < 250; j++) {
            assert_int_equal(tinkc_telemetry_event(service, "last_words",
                                                   TINKC_SEVERITY_INFO, NULL, NULL),
                             TINKC_OK);
        }
        tinkc_service_close(&service);
        size_t posts = fakeapi_count(api, "POST", PATH);
        assert_true(posts >= 3);
        const char *first = fakeapi_nth(api, "POST", PATH, 0)->body;
        const char *last = fakeapi_nth(api, "POST", PATH, posts - 1)->body;
        assert_non_null(strstr(first, "\"SESSION_START\""));
        assert_non_null(strstr(last, "\"SESSION_END\""));
        assert_non_null(strstr(last, "\"duration\":\"0:0"));
        fakeapi_stop(&api);
    }
}

/* Without a session and without events a service never speaks of itself. */
static void test_close_silent(void **unused)
{
    (void)unused;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, NULL);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    tinkc_service_close(&service);
    assert_int_equal(fakeapi_count(api, "POST", PATH), 0);
    fakeapi_stop(&api);
}

/* A server that went away since is not waited for. */
static void test_close_server_gone(void **unused)
{
    (void)unused;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = open_with_session(api, NULL);
    fakeapi_stop(&api);
    tinkc_service_close(&service);
    assert_null(service);
}

/* One that takes no events now is waited for as long as the option says; work that was
 * under way is cancelled before, not behind that. */
static void test_close_server_hangs(void **unused)
{
    (void)unused;
    static const char *const options[] = {"telemetry_drain", "50", NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(api), *work = fakeapi_gate_new(api);
    tinkc_service *service = open_with_session(api, options);
    fakeapi_reply(api, "POST", PATH, &(fakeapi_step){.gate = gate});
    fakeapi_reply(api, "GET", "/api/v1/healthz", &(fakeapi_step){.gate = work});
    tinkc_future *future = tinkc_service_health(service);
    assert_true(fakeapi_gate_wait(work, 1));
    tinkc_service_close(&service);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    fakeapi_stop(&api);
}

/* An explicit flush says whether all has arrived. */
static void test_close_flush(void **unused)
{
    (void)unused;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_telemetry_counts counts = TINKC_TELEMETRY_COUNTS_INIT;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_telemetry_flush(service, TINKC_FOREVER, NULL), TINKC_OK);
    assert_int_equal(tinkc_telemetry_exception(service, "Fatal", "the end", NULL,
                                               TINKC_SEVERITY_CRITICAL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_telemetry_flush(service, 60000, NULL), TINKC_OK);
    assert_int_equal(fakeapi_count(api, "POST", PATH), 1);
    assert_int_equal(tinkc_telemetry_count(service, &counts), TINKC_OK);
    assert_true(counts.is_on && counts.sent == 1 && counts.queued == 0);
    fakeapi_default(api, "POST", PATH, &fakeapi_detail(404, "what?"));
    assert_int_equal(tinkc_telemetry_event(service, "e", TINKC_SEVERITY_INFO, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_telemetry_flush(service, 60000, &error), TINKC_E_TIMEOUT);
    tinkc_error_free(&error);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

#define THREADS 4
#define EACH    300

static void log_many(void *user)
{
    for (int i = 0; i < EACH; i++) {
        assert_int_equal(
            tinkc_telemetry_event(user, "shared", TINKC_SEVERITY_DEBUG, NULL, NULL),
            TINKC_OK);
    }
}

/* Every event of every thread arrives once, with a number of its own. */
static void test_close_threads(void **unused)
{
    (void)unused;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_telemetry_counts counts = TINKC_TELEMETRY_COUNTS_INIT;
    tk_thread threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(tk_thread_start(&threads[i], "log", log_many, service, NULL),
                         TINKC_OK);
    }
    for (size_t i = 0; i < THREADS; i++) {
        tk_thread_join(&threads[i]);
    }
    assert_int_equal(tinkc_telemetry_flush(service, 60000, NULL), TINKC_OK);
    assert_int_equal(tinkc_telemetry_count(service, &counts), TINKC_OK);
    assert_int_equal(counts.sent, THREADS * EACH);
    assert_true(fakeapi_count(api, "POST", PATH) >= THREADS * EACH / 100);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_drains),
        cmocka_unit_test(test_close_silent),
        cmocka_unit_test(test_close_server_gone),
        cmocka_unit_test(test_close_server_hangs),
        cmocka_unit_test(test_close_flush),
        cmocka_unit_test(test_close_threads),
    };
    return cmocka_run_group_tests_name("telemetry_close", tests, NULL, NULL);
}
