/* Samples that are abandoned are cancelled at the server (docs/protocol.md §4.2), on a
 * scripted transport and a fake clock.
 * Links: peer */
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/groupfix.h"

#define OFFERED "{\"sample_cancel_enabled\":true}"

static const char *const level[] = {"sdk_version", "0.36.0", NULL};

static void open_fix(groupfix *g, const char *flags, const char *dynamic)
{
    groupfix_open_as(g, level, flags, dynamic);
}

static void abandon(groupfix *g, tinkc_future **future)
{
    tinkc_future_cancel(*future);
    clientfix_turn(&g->f);
    groupfix_ended(future, 1, TINKC_E_CANCELLED);
}

/* By the caller, whichever way the sample is polled; once, and never for what is done. */
static void test_cancel_by_caller(void **unused)
{
    static const char *const flags[] = {"{}", GROUPFIX_FLAG};
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        groupfix g;
        open_fix(&g, flags[i], OFFERED);
        tinkc_future *future = groupfix_sample(&g);
        abandon(&g, &future);
        assert_int_equal(faketransport_count(&g.f.net, CANCEL), 1);
        const fakeseen *seen = faketransport_nth(&g.f.net, CANCEL, 0);
        assert_string_equal(seen->body, "{\"request_id\":\"r0\"}");
        assert_int_equal(seen->timeout_ms, 30000);
        assert_true(faketransport_answer(&g.f.net, CANCEL, (fakeanswer){.body = "null"}));
        clientfix_advance(&g.f, 600000);
        assert_int_equal(faketransport_count(&g.f.net, CANCEL), 1);
        groupfix_close(&g);
    }
}

/* A server that lacks the request is asked once; those that wait for their turn are
 * dropped. */
static void test_cancel_not_offered(void **unused)
{
    groupfix g;
    open_fix(&g, "{}",
             "{\"sample_cancel_enabled\":true,\"sample_cancel_max_batch_size\":1}");
    tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g),
                               groupfix_sample(&g)};
    abandon(&g, &futures[0]);
    abandon(&g, &futures[1]);
    assert_true(faketransport_answer(
        &g.f.net, CANCEL,
        (fakeanswer){.status = 404, .body = "{\"detail\":\"Not Found\"}"}));
    clientfix_turn(&g.f);
    assert_non_null(strstr(g.f.log, "has no cancel_future"));
    abandon(&g, &futures[2]);
    clientfix_advance(&g.f, 600000);
    assert_int_equal(faketransport_count(&g.f.net, CANCEL), 1);
    groupfix_close(&g);
}

/* By its deadline, and by the rule for work that is stuck. */
static void test_cancel_by_time(void **unused)
{
    static const char *const stuck[] = {"sdk_version", "0.36.0", "stuck_total", "5000",
                                        NULL};
    for (int i = 0; i < 2; i++) {
        groupfix g;
        groupfix_open_as(&g, i == 0 ? level : stuck, "{}", OFFERED);
        faketransport_default(&g.f.net, POLL, (fakeanswer){.status = 408, .body = "{}"});
        faketransport_default(&g.f.net, CANCEL, (fakeanswer){.body = "{}"});
        tinkc_model_input *prompt = samplefix_prompt(2);
        tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
        options.deadline_ms = i == 0 ? 5000 : -1;
        tinkc_future *future = tinkc_sampling_sample(g.sampling, prompt, NULL, &options);
        clientfix_turn(&g.f);
        groupfix_accept(&g);
        clientfix_advance(&g.f, 4900);
        assert_int_equal(faketransport_count(&g.f.net, CANCEL), 0);
        clientfix_advance(&g.f, 300);
        assert_int_equal(faketransport_count(&g.f.net, CANCEL), 1);
        groupfix_ended(&future, 1, i == 0 ? TINKC_E_TIMEOUT : TINKC_E_STUCK);
        tinkc_model_input_free(&prompt);
        groupfix_close(&g);
    }
}

/* compute_logprobs is a sample, too. */
static void test_cancel_logprobs(void **unused)
{
    groupfix g;
    open_fix(&g, "{}", OFFERED);
    tinkc_model_input *prompt = samplefix_prompt(2);
    tinkc_future *future = tinkc_sampling_compute_logprobs(g.sampling, prompt);
    clientfix_turn(&g.f);
    groupfix_accept(&g);
    abandon(&g, &future);
    assert_int_equal(faketransport_count(&g.f.net, CANCEL), 1);
    tinkc_model_input_free(&prompt);
    groupfix_close(&g);
}

/* Nothing is sent where the server does not ask for it, before it has accepted a sample,
 * and after the result. */
static void test_cancel_not_sent(void **unused)
{
    static const char *const old[] = {"sdk_version", "0.25.0", NULL};
    const struct {
        const char *const *level;
        const char *dynamic;
    } rows[] = {
        {level, "{}"}, {level, "{\"sample_cancel_enabled\":false}"}, {old, OFFERED}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        groupfix g;
        groupfix_open_as(&g, rows[i].level, "{}", rows[i].dynamic);
        tinkc_future *future = groupfix_sample(&g);
        abandon(&g, &future);
        assert_int_equal(faketransport_count(&g.f.net, CANCEL), 0);
        groupfix_close(&g);
    }
    groupfix g;
    open_fix(&g, "{}", OFFERED);
    tinkc_future *early = samplefix_sample(&g.f, g.sampling, 2);
    abandon(&g, &early);
    tinkc_future *done = samplefix_sample(&g.f, g.sampling, 2);
    groupfix_accept(&g);
    assert_true(samplefix_finish(&g.f));
    tinkc_future_cancel(done);
    clientfix_turn(&g.f);
    groupfix_ended(&done, 1, TINKC_OK);
    assert_int_equal(faketransport_count(&g.f.net, CANCEL), 0);
    groupfix_close(&g);
}

/* The server says later that it takes them. */
static void test_cancel_refresh(void **unused)
{
    groupfix g;
    open_fix(&g, "{}", "{\"refresh_interval_sec\":10}");
    tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g)};
    abandon(&g, &futures[0]);
    assert_int_equal(faketransport_count(&g.f.net, CANCEL), 0);
    faketransport_default(&g.f.net, "client/dynamic_config",
                          (fakeanswer){.body = OFFERED});
    clientfix_advance(&g.f, 11000);
    abandon(&g, &futures[1]);
    assert_int_equal(faketransport_count(&g.f.net, CANCEL), 1);
    groupfix_close(&g);
}

/* No more at a time than the server says, and all in the end. */
static void test_cancel_batches(void **unused)
{
    enum { SAMPLES = 10 };
    static const struct {
        const char *dynamic;
        size_t most;
    } rows[] = {
        {"{\"sample_cancel_enabled\":true,\"sample_cancel_max_batch_size\":3}", 3},
        {"{\"sample_cancel_enabled\":true,\"sample_cancel_max_batch_size\":0}", 1},
        {"{\"sample_cancel_enabled\":true,\"sample_cancel_max_batch_size\":-7}", 1},
        {OFFERED, SAMPLES}};
    for (size_t row = 0; row < TK_ARRAY_LEN(rows); row++) {
        groupfix g;
        open_fix(&g, GROUPFIX_FLAG, rows[row].dynamic);
        tinkc_future *futures[SAMPLES];
        for (size_t i = 0; i < SAMPLES; i++) {
            futures[i] = groupfix_sample(&g);
        }
        for (size_t i = 0; i < SAMPLES; i++) {
            abandon(&g, &futures[i]);
        }
        for (size_t left = SAMPLES; left > 0; left--) {
            assert_int_equal(faketransport_open(&g.f.net, CANCEL),
                             TK_MIN(left, rows[row].most));
            assert_true(
                faketransport_answer(&g.f.net, CANCEL, (fakeanswer){.body = "{}"}));
            clientfix_turn(&g.f);
        }
        assert_int_equal(faketransport_count(&g.f.net, CANCEL), SAMPLES);
        groupfix_close(&g);
    }
}

/* Best effort: what passes is tried again, but not for ever; a refusal is the end. */
static void test_cancel_retries(void **unused)
{
    groupfix g;
    open_fix(&g, "{}", OFFERED);
    tinkc_future *future = groupfix_sample(&g);
    faketransport_default(&g.f.net, CANCEL, (fakeanswer){.status = 503, .body = "{}"});
    abandon(&g, &future);
    clientfix_advance(&g.f, 3600000);
    size_t tries = faketransport_count(&g.f.net, CANCEL);
    assert_in_range(tries, 5, 30);
    assert_non_null(strstr(g.f.log, "the server was not told that r0 is cancelled"));
    clientfix_advance(&g.f, 3600000);
    assert_int_equal(faketransport_count(&g.f.net, CANCEL), tries);
    faketransport_default(&g.f.net, CANCEL, (fakeanswer){.status = 404, .body = "{}"});
    future = groupfix_sample(&g);
    abandon(&g, &future);
    clientfix_advance(&g.f, 60000);
    assert_int_equal(faketransport_count(&g.f.net, CANCEL), tries + 1);
    groupfix_close(&g);
}

/* Closing cancels what runs at the server, without waiting for long. */
static void test_cancel_close(void **unused)
{
    for (int answered = 0; answered < 2; answered++) {
        groupfix g;
        open_fix(&g, GROUPFIX_FLAG, OFFERED);
        tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g)};
        if (answered) {
            faketransport_default(&g.f.net, CANCEL, (fakeanswer){.body = "{}"});
        }
        tinkc_sampling_close(&g.sampling);
        tinkc_service_close(&g.f.service);
        groupfix_ended(futures, 2, TINKC_E_CANCELLED);
        assert_int_equal(faketransport_count(&g.f.net, CANCEL), 2);
        faketransport_dispose(&g.f.net);
    }
}

/* ---- allocation failures ---- */

static bool sweep_once(void *user)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.hold = true});
    fakeapi_default(api, "POST", "/api/v1/client/dynamic_config",
                    &(fakeapi_step){.body = OFFERED});
    fakeapi_default(api, "POST", "/api/v1/cancel_future", &(fakeapi_step){.body = "{}"});
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    const int32_t token = 3;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "sdk_version", "0.36.0", NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL) ==
                  TINKC_OK &&
              tinkc_model_input_new(&prompt, NULL) == TINKC_OK &&
              tinkc_model_input_add_tokens(prompt, &token, 1, NULL) == TINKC_OK;
    if (ok) {
        tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
        while (!tinkc_future_is_done(future) &&
               fakeapi_count(api, "POST", "/api/v1/retrieve_future") == 0) {
            (void)tinkc_future_wait(future, 5);
        }
        tinkc_future_cancel(future);
        ok = tinkc_future_wait(future, TINKC_FOREVER) == TINKC_E_CANCELLED;
        tinkc_future_free(&future);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    ok = ok && fakeapi_count(api, "POST", "/api/v1/cancel_future") == 1;
    fakeapi_stop(&api);
    return ok && !failmem_fired(); /* without memory the server is not told */
}

static void test_cancel_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_by_caller),
        cmocka_unit_test(test_cancel_not_offered),
        cmocka_unit_test(test_cancel_by_time),
        cmocka_unit_test(test_cancel_logprobs),
        cmocka_unit_test(test_cancel_not_sent),
        cmocka_unit_test(test_cancel_refresh),
        cmocka_unit_test(test_cancel_batches),
        cmocka_unit_test(test_cancel_retries),
        cmocka_unit_test(test_cancel_close),
        cmocka_unit_test(test_cancel_allocation_sweep),
    };
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
