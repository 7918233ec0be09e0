/* Heartbeats while everything else is busy: on a fake clock, with every place for
 * samples taken, and on sockets, with every connection of the samples held. How late they
 * are on busy cores: soak_heartbeat.
 * Links: peer */
#include <tinkc/sampling.h>

#include "support/datumfix.h"
#include "support/fakeapi_tinker.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

#define BEAT    "session_heartbeat"
#define SAMPLES 500

/* A-106, M-043: 400 samples are on the wire, 100 wait for a place, and the server has
 * asked all of them to pause; each heartbeat leaves at its moment. */
static void test_session_heartbeat_among_samples(void **unused)
{
    static tinkc_future *futures[SAMPLES];
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    int64_t start = clientfix_now(&f);
    tinkc_model_input *prompt = samplefix_prompt(2);
    for (size_t i = 0; i < SAMPLES; i++) {
        futures[i] = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    }
    clientfix_turn(&f);
    assert_int_equal(faketransport_open(&f.net, SAMPLE), 400);
    assert_true(faketransport_answer(
        &f.net, SAMPLE,
        (fakeanswer){.status = 429, .body = "{}", .headers = {"retry-after", "600"}}));
    clientfix_advance(&f, 100000);
    assert_int_equal(faketransport_open(&f.net, SAMPLE), 399);
    assert_int_equal(faketransport_count(&f.net, BEAT), 10);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(faketransport_nth(&f.net, BEAT, i)->at_ms - start,
                         10000 * (int64_t)(i + 1));
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        tinkc_future_cancel(futures[i]);
        tinkc_future_free(&futures[i]);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* A-106, M-043: every group but the session's has one connection, and those of the
 * samples and of the polls are held: heartbeats go on, over the connection that they
 * keep. */
static void test_session_heartbeat_has_a_connection(void **unused)
{
    enum { HELD = 6 };
    static const char *const options[] = {"connections_sample",
                                          "1",
                                          "connections_futures",
                                          "1",
                                          "connections_train",
                                          "1",
                                          "connections_rest",
                                          "1",
                                          "connections_telemetry",
                                          "1",
                                          "heartbeat",
                                          "100",
                                          NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, options);
    tinkc_sampling *sampling = NULL;
    tinkc_datum *datum = datumfix_new();
    assert_int_equal(
        tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL),
        TINKC_OK);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    static const char *const held[] = {"*/asample", "*/retrieve_future", "*/healthz"};
    for (size_t i = 0; i < TK_ARRAY_LEN(held); i++) {
        fakeapi_default(api, "*", held[i], &(fakeapi_step){.pass = true, .gate = gate});
    }
    tinkc_future *futures[HELD + 1];
    for (size_t i = 0; i < HELD; i++) {
        futures[i] =
            tinkc_sampling_sample(sampling, tinkc_datum_input(datum), NULL, NULL);
    }
    futures[HELD] = tinkc_service_health(service);
    assert_true(fakeapi_gate_wait(gate, 2));
    size_t before = fakeapi_count(api, "POST", "/api/v1/" BEAT);
    assert_true(fakeapi_wait_for(api, "POST", "/api/v1/" BEAT, before + 5));
    assert_int_equal(fakeapi_count(api, "POST", "/api/v1/asample"), 1);
    size_t first = fakeapi_nth(api, "POST", "/api/v1/" BEAT, before)->connection;
    for (size_t i = 1; i < 5; i++) {
        assert_int_equal(
            fakeapi_nth(api, "POST", "/api/v1/" BEAT, before + i)->connection, first);
    }
    fakeapi_gate_open(gate);
    for (size_t i = 0; i <= HELD; i++) {
        (void)tinkc_future_wait(futures[i], TINKC_FOREVER);
        tinkc_future_free(&futures[i]);
    }
    tinkc_datum_free(&datum);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_heartbeat_among_samples),
        cmocka_unit_test(test_session_heartbeat_has_a_connection),
    };
    return cmocka_run_group_tests_name("session_load", tests, NULL, NULL);
}
