/* Telemetry on a real connection (M-142, M-145): the end of a service, from many threads,
 * with a server that is fine, gone, or hangs.
 * Links: peer */
#include <tinkc/telemetry.h>

#include <stdatomic.h>
#include <stdio.h>

#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include "base/thread.h"
#include "client/core/service.h"
#include "support/datumfix.h"
#include "support/fakeapi_tinker.h"
#include "support/fakeclock.h"
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

/* M-046, M-145: with the threads of a program and with its own loop: what is queued,
 * and the end of the session, arrive before the close returns. */
static void test_close_drains(void **unused)
{
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

/* Without a session and without events a service sends no telemetry. */
static void test_close_silent(void **unused)
{
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
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = open_with_session(api, NULL);
    fakeapi_stop(&api);
    tinkc_service_close(&service);
    assert_null(service);
}

/* One that takes no events now is waited for as long as the option says. */
static void test_close_server_hangs(void **unused)
{
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

static void open_gate(tinkc_future *future, void *user)
{
    fakeapi_gate_open(user);
}

static void note_accepted(tinkc_log_level level, const char *component, const char *line,
                          void *user)
{
    if (strstr(line, "telemetry: 200 in") != NULL) {
        atomic_store((atomic_bool *)user, true);
    }
}

/* Work that is under way is cancelled before the events are waited for, not after. The
 * clock does not move: the events have the little time that a close with work gives them
 * (TK_TELEMETRY_HURRY_MS), however slow the machine is. */
static void test_close_cancels_first(void **unused)
{
    static const char *const options[] = {"log_level", "debug", "telemetry_drain",
                                          "60000", NULL};
    atomic_bool is_accepted = false;
    fakeclock clock;
    fakeclock_init(&clock);
    tk_core_seams seams = {.clock = &clock.clock};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(api), *work = fakeapi_gate_new(api);
    fakeapi_reply(api, "POST", PATH,
                  &(fakeapi_step){.gate = gate, .body = "{\"status\":\"accepted\"}"});
    fakeapi_reply(api, "GET", "/api/v1/healthz", &(fakeapi_step){.gate = work});
    tinkc_config *config = servicefix_config(api, options);
    tinkc_config_set_log(config, note_accepted, &is_accepted);
    tinkc_service *service = NULL;
    assert_int_equal(tk_service_open(&service, config, &seams, NULL), TINKC_OK);
    tinkc_config_free(&config);
    tinkc_future *future = tinkc_service_health(service);
    assert_int_equal(tinkc_future_on_done(future, open_gate, gate, NULL), TINKC_OK);
    assert_true(fakeapi_gate_wait(work, 1));
    assert_int_equal(tinkc_telemetry_event(service, "e", TINKC_SEVERITY_INFO, NULL, NULL),
                     TINKC_OK);
    tinkc_service_close(&service);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
    assert_true(atomic_load(&is_accepted)); /* the cancelled one let the events through */
    tinkc_future_free(&future);
    fakeapi_stop(&api);
}

/* An explicit flush says whether all has arrived. */
static void test_close_flush(void **unused)
{
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
    assert_int_equal(tinkc_telemetry_count(&counts, service, NULL), TINKC_OK);
    assert_true(counts.is_on && counts.sent == 1 && counts.queued == 0);
    fakeapi_default(api, "POST", PATH, &fakeapi_detail(404, "what?"));
    assert_int_equal(tinkc_telemetry_event(service, "e", TINKC_SEVERITY_INFO, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_telemetry_flush(service, 60000, &error), TINKC_E_TIMEOUT);
    tinkc_error_free(&error);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

#define STEPS 20

/* Steps of training, each with an event that is to be sent at once. */
static void train(fakeapi *api, const char *telemetry)
{
    const char *options[] = {"telemetry", telemetry, NULL};
    tinkc_service *service = servicefix_open(api, options);
    tinkc_training *training = NULL;
    tinkc_datum *datum = datumfix_new();
    assert_int_equal(
        tinkc_service_create_training_wait(&training, service, "m", NULL, NULL),
        TINKC_OK);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(tinkc_telemetry_exception(service, "Trouble", "told", NULL,
                                                   TINKC_SEVERITY_ERROR, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_training_forward_backward_wait(
                             NULL, training, &datum, 1, "cross_entropy", NULL, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_training_optim_step_wait(NULL, training, NULL, NULL),
                         TINKC_OK);
    }
    tinkc_datum_free(&datum);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
}

/* to a loop of training an endpoint that answers 500 makes no difference: the same
 * requests, but for a few to that endpoint. */
static void test_close_refused_while_training(void **unused)
{
    static const char *const paths[] = {"create_model", "forward_backward", "optim_step"};
    char path[64];
    fakeapi *apis[2];
    for (int i = 0; i < 2; i++) {
        apis[i] = fakeapi_start();
        fakeapi_tinker(apis[i], NULL);
        fakeapi_default(apis[i], "POST", PATH, &fakeapi_detail(500, "broken"));
        train(apis[i], i == 0 ? "false" : "true");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(paths); i++) {
        (void)snprintf(path, sizeof(path), "/api/v1/%s", paths[i]);
        assert_int_equal(fakeapi_count(apis[0], "POST", path), i == 0 ? 1 : STEPS);
        assert_int_equal(fakeapi_count(apis[1], "POST", path),
                         fakeapi_count(apis[0], "POST", path));
    }
    assert_int_equal(fakeapi_count(apis[0], "POST", PATH), 0);
    assert_in_range(fakeapi_count(apis[1], "POST", PATH), 1, 8);
    fakeapi_stop(&apis[0]);
    fakeapi_stop(&apis[1]);
}

typedef struct inside {
    tinkc_service *service;
    tinkc_code code;
} inside;

static void flush_inside(tinkc_future *future, void *user)
{
    inside *self = user;
    self->code = tinkc_telemetry_flush(self->service, 1000, NULL);
}

/* A flush in a callback fails instead of waiting for itself. */
static void test_close_flush_inside(void **unused)
{
    static const char *const options[] = {"loop", "manual", NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    inside self = {servicefix_open(api, options), TINKC_OK};
    tinkc_future *future = tinkc_service_health(self.service);
    assert_int_equal(tinkc_future_on_done(future, flush_inside, &self, NULL), TINKC_OK);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(self.code, TINKC_E_STATE);
    tinkc_future_free(&future);
    tinkc_service_close(&self.service);
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

/* Every event of every thread arrives once, with its own number. */
static void test_close_threads(void **unused)
{
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
    assert_int_equal(tinkc_telemetry_count(&counts, service, NULL), TINKC_OK);
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
        cmocka_unit_test(test_close_cancels_first),
        cmocka_unit_test(test_close_flush),
        cmocka_unit_test(test_close_threads),
        cmocka_unit_test(test_close_flush_inside),
        cmocka_unit_test(test_close_refused_while_training),
    };
    return cmocka_run_group_tests_name("telemetry_close", tests, NULL, NULL);
}
