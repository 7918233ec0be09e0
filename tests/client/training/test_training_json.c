/* A server without protobuf, played by the scripted peer, as SkyRL 0.3.0, open-rl or twinkle
 * are: the whole scenario of a client, at both levels of the SDK.
 * Links: peer */
#include <math.h>
#include <stdio.h>

#include <tinkc/sampling.h>

#include "support/datumfix.h"
#include "support/failmem.h"
#include "support/trainfix.h"

#define FWDBWD  "/api/v1/forward_backward"
#define FORWARD "/api/v1/forward"
#define STEPS   3

/* FastAPI's answer to a body that is not JSON. */
static const fakeapi_step refusal = {
    .status = 422,
    .body = "{\"detail\":[{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"msg\":"
            "\"Input should be a valid dictionary\",\"input\":\"x\"}]}"};

static const tk_num_map no_metrics = {NULL, 0};

static const fakeapi_tinker_options json_only = {.refuses_proto = &refusal,
                                                 .json_results = true,
                                                 .metrics = &no_metrics,
                                                 .short_logprobs = true};

static void log_line(tinkc_log_level level, const char *component, const char *line,
                     void *user)
{
    int *counts = user;
    counts[0] += strcmp(component, "server") == 0 && strstr(line, "sent as JSON") != NULL;
    counts[1] += strcmp(component, "server") == 0 && strstr(line, "read as JSON") != NULL;
}

static double train_step(tinkc_training *training, tinkc_datum **data)
{
    tinkc_fwdbwd *result = NULL;
    double loss = NAN;
    const int64_t *dims = NULL;
    size_t n = 0;
    assert_int_equal(tinkc_training_forward_backward_wait(&result, training, data, 2,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(
        tinkc_fwdbwd_computed_loss(&loss, result, data, 2, "cross_entropy", NULL),
        TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_shape(&dims, &n, result, 1, "logprobs", NULL),
                     TINKC_OK);
    assert_int_equal(n, 1);
    assert_int_equal(dims[0], DATUMFIX_TOKENS);
    tinkc_fwdbwd_free(&result);
    assert_int_equal(tinkc_training_optim_step_wait(NULL, training, NULL, NULL),
                     TINKC_OK);
    return loss;
}

static void sample(tinkc_sampling *sampling)
{
    static const int32_t tokens[] = {5, 6, 7};
    tinkc_model_input *prompt = NULL;
    tinkc_samples *samples = NULL;
    tinkc_logprobs *logprobs = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    size_t n = 0;
    params.max_tokens = 2;
    assert_int_equal(tinkc_model_input_from_tokens(&prompt, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_sampling_sample_wait(&samples, sampling, prompt, &params, NULL, NULL),
        TINKC_OK);
    const int32_t *drawn = tinkc_samples_tokens(&n, samples, 0);
    assert_int_equal(n, 2);
    assert_int_equal(drawn[0], 8);
    assert_float_equal(tinkc_samples_logprobs(&n, samples, 0)[1], -0.5, 0);
    assert_int_equal(tinkc_samples_stop_reason(samples, 0), TINKC_STOP_LENGTH);
    assert_null(tinkc_samples_prompt_logprobs(&n, samples));
    assert_int_equal(
        tinkc_sampling_compute_logprobs_wait(&logprobs, sampling, prompt, NULL),
        TINKC_OK);
    const float *values = tinkc_logprobs_values(&n, logprobs);
    assert_int_equal(n, 3);
    assert_true(isnan(values[0]) && fabsf(values[2] + 0.5F) < 1e-6F);
    tinkc_logprobs_free(&logprobs);
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
}

/* Every request but the first is JSON, and each is applied once. */
static void expect_traffic(fakeapi *api, size_t operations)
{
    assert_int_equal(fakeapi_count(api, "POST", FWDBWD), STEPS + 1);
    assert_int_equal(fakeapi_count(api, "POST", FORWARD), 1);
    for (size_t i = 0; i <= STEPS; i++) {
        const fakeapi_request *sent = fakeapi_nth(api, "POST", FWDBWD, i);
        const char *type = fakeapi_header(sent, "content-type");
        assert_string_equal(type, i == 0 ? "application/x-protobuf" : "application/json");
    }
    assert_non_null(strstr(fakeapi_nth(api, "POST", FORWARD, 0)->body,
                           "{\"forward_input\":{\"data\":[{\"loss_fn_inputs\":{"));
    assert_int_equal(fakeapi_tinker_ops(api, NULL), operations);
    assert_int_equal(fakeapi_tinker_conflicts(api), 0);
    for (size_t i = 0; i < operations; i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(api, NULL, i, &op));
        assert_int_equal(op.resent, 0);
    }
}

static void scenario(const char *level)
{
    int counts[2] = {0, 0};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &json_only);
    tinkc_config *config = servicefix_config(
        api, (const char *const[]){"heartbeat", "none", "telemetry", "false",
                                   "sdk_version", level, "log_level", "info", NULL});
    tinkc_config_set_log(config, log_line, counts);
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_sampling *sampling = NULL;
    char *path = NULL;
    tinkc_fwdbwd *result = NULL;
    tinkc_datum *data[] = {datumfix_new(), datumfix_new()};
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    assert_int_equal(
        tinkc_service_create_training_wait(&training, service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    for (int i = 0; i < STEPS; i++) {
        double loss = train_step(training, data);
        assert_true(fabs(loss - 12.0 / (1 + i)) < 1e-5);
    }
    assert_int_equal(tinkc_training_forward_wait(&result, training, data, 2,
                                                 "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_count(result), 2);
    assert_int_equal(tinkc_training_save_state_wait(&path, training, "one", NULL, NULL),
                     TINKC_OK);
    tinkc_text_free(&path);
    assert_int_equal(
        tinkc_training_save_weights_for_sampler_wait(&path, training, "two", NULL, NULL),
        TINKC_OK);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&sampling, service, NULL, path, NULL),
        TINKC_OK);
    sample(sampling);
    expect_traffic(api, 1 + 2 * STEPS + 1 + 2 + 2);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    tinkc_text_free(&path);
    tinkc_fwdbwd_free(&result);
    tinkc_datum_free(&data[0]);
    tinkc_datum_free(&data[1]);
    tinkc_sampling_close(&sampling);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

static void test_json_scenario(void **unused)
{
    scenario("0.36.0");
    scenario("0.25.0");
}

/* A text among the settings of a loss has no place in JSON: it is not left out. */
static void test_json_text_setting(void **unused)
{
    trainfix f = trainfix_open(&json_only, SERVICEFIX_QUIET);
    tinkc_datum *datum = datumfix_new();
    const tinkc_pair text = {"kind", "soft"};
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    tinkc_error *err = NULL;
    options.texts = &text;
    options.texts_n = 1;
    assert_int_equal(tinkc_training_forward_backward_wait(
                         NULL, f.training, &datum, 1, "cross_entropy", &options, &err),
                     TINKC_E_UNSUPPORTED);
    assert_non_null(strstr(tinkc_error_message(err), "\"kind\""));
    assert_int_equal(fakeapi_tinker_ops(f.api, NULL), 1);
    tinkc_error_free(&err);
    tinkc_datum_free(&datum);
    trainfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_scenario),
        cmocka_unit_test(test_json_text_setting),
    };
    return cmocka_run_group_tests_name("training_json", tests, NULL, NULL);
}
