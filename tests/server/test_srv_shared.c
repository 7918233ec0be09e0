/* libtinkc at the level of SDK 0.36 against the real server: one poll for the samples of a
 * session, abandoned samples, one sampler for several services (docs/protocol.md §4.1 to
 * §4.3).
 * Links: client */
#include <tinkc/hooks.h>
#include <tinkc/sampling.h>

#include "server/clientfix.h"
#include "server/run/srv_embed.h"
#include "support/gate.h"

#define SAMPLES 200

/* ---- what is sent ---- */

typedef struct counts {
    gate polls, shared, cancels;
} counts;

static void on_event(const tinkc_hook *event, void *user)
{
    counts *c = user;
    if (event->event != TINKC_HOOK_START || event->kind != TINKC_SPAN_HTTP) {
        return;
    }
    if (strcmp(event->name, "retrieve_future") == 0) {
        gate_raise(&c->polls);
    } else if (strcmp(event->name, "retrieve_futures") == 0) {
        gate_raise(&c->shared);
    } else if (strcmp(event->name, "cancel_future") == 0) {
        gate_raise(&c->cancels);
    }
}

static void init_counts(counts *c)
{
    gate_init(&c->polls);
    gate_init(&c->shared);
    gate_init(&c->cancels);
}

static void dispose_counts(counts *c)
{
    gate_dispose(&c->polls);
    gate_dispose(&c->shared);
    gate_dispose(&c->cancels);
}

static tinkc_service *open_service(srvfix *f, counts *c)
{
    tinkc_service *service = NULL;
    tinkc_config *config = clientfix_config(f);
    OK(tinkc_config_set(config, "sdk_version", "0.36.0", &err));
    OK(tinkc_service_open(&service, config, &err));
    OK(tinkc_service_add_hook(service, on_event, c, NULL, &err));
    tinkc_config_free(&config);
    return service;
}

static tinkc_future *sample(tinkc_sampling *sampling, int tokens)
{
    static const int32_t prompt[] = {5, 7, 11};
    tinkc_model_input *input = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = tokens;
    OK(tinkc_model_input_from_tokens(&input, prompt, 3, &err));
    tinkc_future *future = tinkc_sampling_sample(sampling, input, &params, NULL);
    tinkc_model_input_free(&input);
    return future;
}

/* Every sample ends with this code; the futures are freed. */
static void wait_all(tinkc_future **futures, size_t n, tinkc_code code)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], TINKC_FOREVER), code);
        tinkc_future_free(&futures[i]);
    }
}

static void wait_accepted(const tinkc_future *future)
{
    tinkc_wait wait = TINKC_WAIT_INIT;
    while (wait.request_id[0] == '\0') {
        OK(tinkc_future_status(&wait, future, &err));
    }
}

/* One request for each result, and far fewer to learn that they are there. */
static void test_srv_shared_poll(void **state)
{
    static tinkc_future *futures[SAMPLES];
    srvfix f;
    counts c;
    tinkc_sampling *sampling = NULL;
    srvfix_open(&f, (srv_options){0});
    init_counts(&c);
    tinkc_service *service = open_service(&f, &c);
    OK(tinkc_service_create_sampling_wait(&sampling, service, SRV_EMBED_NAME, NULL,
                                          &err));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < SAMPLES; i++) {
            futures[i] = sample(sampling, 2);
        }
        wait_all(futures, SAMPLES, TINKC_OK);
    }
    assert_in_range(gate_count(&c.polls), 2 * SAMPLES, 3 * SAMPLES);
    assert_in_range(gate_count(&c.shared), 1, SAMPLES);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    dispose_counts(&c);
    srvfix_close(&f);
}

static void on_step(void *user, srv_step step)
{
    gate *go = user;
    if (step == SRV_STEP_SAMPLE) {
        (void)gate_wait(go, 1);
    }
}

static long waiting(srvfix *f)
{
    httpget_response response;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    assert_int_equal(httpget_once(srvfix_port(f), &request, &response), HTTPGET_OK);
    const char *at = strstr(response.body.p, "\ntinkc_samples_waiting ");
    assert_non_null(at);
    long value = strtol(at + strlen("\ntinkc_samples_waiting "), NULL, 10);
    httpget_response_dispose(&response);
    return value;
}

/* Cancelled by the caller, and by the close of the service: the engine is free. */
static void test_srv_shared_cancel(void **state)
{
    tinkc_future *futures[20];
    srvfix f;
    counts c;
    gate go;
    tinkc_sampling *sampling = NULL;
    gate_init(&go);
    srvfix_open(&f, (srv_options){.on_step = on_step, .hook_user = &go});
    init_counts(&c);
    tinkc_service *service = open_service(&f, &c);
    OK(tinkc_service_create_sampling_wait(&sampling, service, SRV_EMBED_NAME, NULL,
                                          &err));
    for (size_t i = 0; i < 20; i++) {
        futures[i] = sample(sampling, 400);
    }
    for (size_t i = 0; i < 20; i++) {
        wait_accepted(futures[i]);
    }
    for (size_t i = 0; i < 10; i++) {
        tinkc_future_cancel(futures[i]);
    }
    wait_all(futures, 10, TINKC_E_CANCELLED);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    wait_all(futures + 10, 10, TINKC_E_CANCELLED);
    assert_int_equal(gate_count(&c.cancels), 20);
    gate_raise(&go);
    while (waiting(&f) > 0) {
    }
    dispose_counts(&c);
    srvfix_close(&f);
    gate_dispose(&go);
}

/* Three services share a sampler; each gets its own results. */
static void test_srv_shared_sampler(void **state)
{
    static tinkc_future *futures[3][SAMPLES];
    srvfix f;
    counts c;
    tinkc_service *services[3];
    tinkc_sampling *samplings[3] = {NULL, NULL, NULL};
    char *handle = NULL;
    srvfix_open(&f, (srv_options){0});
    init_counts(&c);
    for (size_t i = 0; i < 3; i++) {
        services[i] = open_service(&f, &c);
        if (i == 0) {
            OK(tinkc_service_create_sampling_wait(&samplings[i], services[i],
                                                  SRV_EMBED_NAME, NULL, &err));
            OK(tinkc_sampling_export(&handle, samplings[i], &err));
        } else {
            OK(tinkc_service_import_sampling_wait(&samplings[i], services[i], handle,
                                                  &err));
        }
    }
    for (size_t j = 0; j < SAMPLES; j++) {
        for (size_t i = 0; i < 3; i++) {
            futures[i][j] = sample(samplings[i], 1 + (int)i);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < SAMPLES; j++) {
            tinkc_samples *samples = NULL;
            size_t n = 0;
            OK(tinkc_future_await_samples(&samples, &futures[i][j], &err));
            (void)tinkc_samples_tokens(&n, samples, 0);
            assert_in_range(n, 1, 1 + i); /* another client's may be longer */
            tinkc_samples_free(&samples);
        }
    }
    tinkc_text_free(&handle);
    for (size_t i = 0; i < 3; i++) {
        tinkc_sampling_close(&samplings[i]);
        tinkc_service_close(&services[i]);
    }
    dispose_counts(&c);
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_shared_poll),
        cmocka_unit_test(test_srv_shared_cancel),
        cmocka_unit_test(test_srv_shared_sampler),
    };
    return cmocka_run_group_tests_name("srv_shared", tests, NULL, NULL);
}
