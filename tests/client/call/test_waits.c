/* Reports of what operations wait for, on a fake clock: in the log after 30 s and then
 * every minute, and as a list of all that is pending, from any thread.
 * Links: peer */
#include <stdio.h>

#include "client/call/waits.h"
#include "support/fakeapi_tinker.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

/* M-097: a line after 30 s, 90 s, 150 s ...; none after the end. */
static void test_waits_log(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 3);
    assert_true(samplefix_accept(&f));
    clientfix_advance(&f, 29999);
    assert_null(strstr(f.log, "wait:"));
    clientfix_advance(&f, 1);
    assert_non_null(strstr(f.log, "info wait: sample is running at the server since 30.0 "
                                  "s (30.0 s in all, 2 requests; last answer HTTP 200 "
                                  "30.0 s ago; r)\n"));
    clientfix_advance(&f, 59999);
    assert_int_equal(count(f.log, "wait:"), 1);
    clientfix_advance(&f, 1);
    assert_int_equal(count(f.log, "wait:"), 2);
    assert_non_null(strstr(f.log, "(90.0 s in all"));
    clientfix_advance(&f, 300000);
    assert_int_equal(count(f.log, "wait:"), 7);
    assert_true(faketransport_answer(&f.net, POLL, samplefix_result()));
    clientfix_advance(&f, 600000);
    assert_int_equal(count(f.log, "wait:"), 7);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* When the level hides info, nothing is logged and no timer is set. */
static void test_waits_log_is_quiet(void **unused)
{
    static const char *const options[] = {"log_level", "warn", "heartbeat", "none", NULL};
    clientfix f;
    clientfix_open(&f, options);
    faketransport_default(&f.net, "healthz", (fakeanswer){.status = -1});
    tinkc_future *future = tinkc_service_health(f.service);
    clientfix_turn(&f);
    assert_int_equal(tinkc_service_deadline_ms(f.service), -1);
    clientfix_advance(&f, 600000);
    assert_string_equal(f.log, "");
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    clientfix_close(&f);
}

#define MANY 50

/* Of many waiting operations a few get a line each, and one more line counts the
 * others. */
static void test_waits_log_many(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(&f.net, "healthz", (fakeanswer){.status = -1});
    tinkc_future *futures[MANY];
    for (size_t i = 0; i < MANY; i++) {
        futures[i] = tinkc_service_health(f.service);
    }
    clientfix_advance(&f, 30000);
    assert_int_equal(count(f.log, "wait: health"), TK_WAITS_LINES);
    assert_int_equal(count(f.log, "wait: and 42 more operations wait"), 1);
    for (size_t i = 0; i < MANY; i++) {
        tinkc_future_cancel(futures[i]);
        tinkc_future_free(&futures[i]);
    }
    clientfix_advance(&f, 600000);
    assert_int_equal(count(f.log, "wait:"), TK_WAITS_LINES + 1);
    clientfix_close(&f);
}

/* The list: from the call on, before the loop has turned, the oldest first; cancelled and
 * done ones are not in it. */
static void test_waits_list(void **unused)
{
    clientfix f;
    char text[640];
    tinkc_wait waits[3] = {TINKC_WAIT_INIT};
    clientfix_open(&f, NULL);
    assert_int_equal(tinkc_service_waits(waits, 3, f.service), 0);
    faketransport_default(&f.net, "get_server_capabilities", (fakeanswer){.status = -1});
    faketransport_default(&f.net, "healthz", (fakeanswer){.status = -1});
    tinkc_future *futures[4];
    for (size_t i = 0; i < 4; i++) {
        futures[i] = i == 0 ? tinkc_service_capabilities(f.service)
                            : tinkc_service_health(f.service);
        assert_int_equal(tinkc_service_waits(NULL, 0, f.service), i + 1);
        fakeclock_advance_ms(&f.clock, 1000);
    }
    clientfix_turn(&f);
    assert_int_equal(tinkc_service_waits(waits, 3, f.service), 4);
    assert_string_equal(waits[0].operation, "capabilities");
    assert_string_equal(waits[2].operation, "health");
    assert_int_equal(waits[0].age_ms, 4000);
    assert_int_equal(waits[2].age_ms, 2000);
    assert_int_equal(waits[2].size, sizeof(tinkc_wait));
    (void)tinkc_wait_explain(text, sizeof(text), &waits[0]);
    assert_string_equal(text, "capabilities is on the wire since 0.0 s (4.0 s in all, 1 "
                              "request)");
    tinkc_future_cancel(futures[1]);
    assert_int_equal(tinkc_service_waits(waits, 3, f.service), 3);
    assert_true(faketransport_answer(&f.net, "get_server_capabilities",
                                     (fakeanswer){.body = "{\"supported_models\":[]}"}));
    clientfix_turn(&f);
    assert_int_equal(tinkc_service_waits(waits, 3, f.service), 2);
    for (size_t i = 0; i < 4; i++) {
        tinkc_future_cancel(futures[i]);
        tinkc_future_free(&futures[i]);
    }
    assert_int_equal(tinkc_service_waits(waits, 3, f.service), 0);
    clientfix_close(&f);
}

static void test_waits_arguments(void **unused)
{
    clientfix f;
    char text[64];
    tinkc_wait wait = {0};
    clientfix_open(&f, NULL);
    tinkc_future *future = tinkc_service_health(f.service);
    assert_int_equal(tinkc_service_waits(NULL, 0, NULL), 0);
    assert_int_equal(tinkc_service_waits(&wait, 1, f.service),
                     1); /* no size: not filled */
    assert_string_equal(wait.operation, "");
    (void)tinkc_wait_explain(text, sizeof(text), NULL);
    assert_string_equal(text, "no operation");
    (void)tinkc_wait_explain(text, sizeof(text), &wait);
    assert_string_equal(text, "no operation");
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    clientfix_close(&f);
}

typedef struct watcher {
    tinkc_service *service;
    atomic_bool is_over;
    size_t most;
} watcher;

static void look(void *user)
{
    watcher *self = user;
    while (!atomic_load(&self->is_over)) {
        char text[640];
        tinkc_wait waits[4] = {TINKC_WAIT_INIT};
        size_t n = tinkc_service_waits(waits, 4, self->service);
        self->most = TK_MAX(self->most, n);
        for (size_t i = 0; i < TK_MIN(n, 4); i++) {
            (void)tinkc_wait_explain(text, sizeof(text), &waits[i]);
            assert_memory_equal(text, "health ", 7);
        }
    }
}

/* One thread looks while operations come and go. */
static void test_waits_list_meanwhile(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    watcher self = {.service = servicefix_open(api, NULL)};
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_reply(api, "GET", "/api/v1/healthz",
                  &(fakeapi_step){.gate = gate, .body = "{}"});
    tinkc_future *slow = tinkc_service_health(self.service);
    assert_true(fakeapi_gate_wait(gate, 1));
    tk_thread thread;
    assert_int_equal(tk_thread_start(&thread, "look", look, &self, NULL), TINKC_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(tinkc_service_health_wait(self.service, NULL), TINKC_OK);
        assert_int_equal(tinkc_service_waits(NULL, 0, self.service), 1);
    }
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(slow, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&slow);
    atomic_store(&self.is_over, true);
    tk_thread_join(&thread);
    assert_true(self.most <= 2);
    tinkc_service_close(&self.service);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_log),
        cmocka_unit_test(test_waits_log_is_quiet),
        cmocka_unit_test(test_waits_log_many),
        cmocka_unit_test(test_waits_list),
        cmocka_unit_test(test_waits_arguments),
        cmocka_unit_test(test_waits_list_meanwhile),
    };
    return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
