/* Requests of the service and its session against those of the official SDK (A-107, M-100,
 * M-101, M-102).
 * Links: level peer */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/service.h>
#include <tinkc/telemetry.h>
#include <tinkc/training.h>
#include <tinkc/types.h>
#include <tinkc/weights.h>

#include "support/levelfix.h"
#include "support/servicefix.h"
#include "support/test.h"

#define OK(call) assert_int_equal((call), TINKC_OK)

/* Something that needs a session. */
static void begin_session(levelfix *f)
{
    OK(tinkc_service_create_sampling_wait(NULL, f->service, LEVEL_MODEL, NULL, NULL));
}

static void session(levelfix *f)
{
    level_open(f, NULL);
    begin_session(f);
}

/* Options as in level_open; the caller adds headers, tags and metadata. */
static tinkc_config *configure(levelfix *f, const char *name, const char *value)
{
    return servicefix_config(f->api,
                             (const char *const[]){"sdk_version", f->version, "api_key",
                                                   "tml-recorded", "telemetry", "false",
                                                   name, value, NULL});
}

/* Opens the service with the configuration, which is freed, and begins its session. */
static void session_of(levelfix *f, tinkc_config *config)
{
    OK(tinkc_service_open(&f->service, config, NULL));
    tinkc_config_free(&config);
    begin_session(f);
}

static void session_full(levelfix *f)
{
    tinkc_config *config = configure(f, "project_id", "project-1");
    OK(tinkc_config_add_tag(config, "alpha", NULL));
    OK(tinkc_config_set_metadata(config, "a", "1", NULL));
    OK(tinkc_config_set_metadata(config, "b", "\xc3\xbc", NULL));
    if (f->is_new) {
        OK(tinkc_config_set(config, "display_name", "a run", NULL));
    }
    session_of(f, config);
}

static void session_environment(levelfix *f)
{
    assert_int_equal(setenv("TINKER_PROJECT_ID", "project-2", 1), 0);
    assert_int_equal(setenv("TINKER_TAGS", "", 1), 0);
    session(f);
    assert_int_equal(unsetenv("TINKER_PROJECT_ID"), 0);
    assert_int_equal(unsetenv("TINKER_TAGS"), 0);
    const fakeapi_request *got = fakeapi_nth(f->api, "POST", "/api/v1/create_session", 0);
    assert_non_null(strstr(got->body, "\"tags\":[]"));
}

static void default_headers(levelfix *f)
{
    tinkc_config *config = configure(f, "cf_access_id", "cf-id");
    OK(tinkc_config_set(config, "cf_access_secret", "cf-secret", NULL));
    OK(tinkc_config_set_header(config, "X-Custom", "1", NULL));
    session_of(f, config);
}

/* Into the project of the service there; here the caller names it. */
static void copy_weights(levelfix *f)
{
    tinkc_copy_options options = TINKC_COPY_OPTIONS_INIT;
    options.project_id = "project-1";
    level_open(f, NULL);
    OK(tinkc_rest_copy_weights_wait(NULL, f->service, "tinker://" LEVEL_RUN "/weights/a",
                                    &options, NULL));
}

static void capabilities(levelfix *f)
{
    level_open(f, NULL);
    OK(tinkc_service_capabilities_wait(NULL, f->service, NULL));
}

static void healthz(levelfix *f)
{
    level_open(f, NULL);
    OK(tinkc_service_health_wait(f->service, NULL));
}

static void heartbeat(levelfix *f)
{
    static const char path[] = "/api/v1/session_heartbeat";
    fakeapi_step never = {.body = "{}", .gate = fakeapi_gate_new(f->api)};
    fakeapi_default(f->api, "POST", path, &never); /* so that there is only one */
    level_open(f, (const char *const[]){"heartbeat", "100", NULL});
    begin_session(f);
    assert_true(fakeapi_wait_for(f->api, "POST", path, 1));
}

/* Answered 410, after which there is no other: what needs the session fails. */
static void heartbeat_ended(levelfix *f)
{
    static const char path[] = "/api/v1/session_heartbeat";
    fakeapi_step never = {.body = "{}", .gate = fakeapi_gate_new(f->api)};
    fakeapi_reply(f->api, "POST", path, &(fakeapi_step){.status = 410, .body = "{}"});
    fakeapi_default(f->api, "POST", path, &never);
    level_open(f, (const char *const[]){"heartbeat", "100", NULL});
    begin_session(f);
    assert_true(fakeapi_wait_for(f->api, "POST", path, 1));
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < 10000; i++) {
        code =
            tinkc_service_create_sampling_wait(NULL, f->service, LEVEL_MODEL, NULL, NULL);
    }
    assert_int_equal(code, TINKC_E_GONE);
}

static void credential_cmd(levelfix *f)
{
    level_open(f, (const char *const[]){"credential_cmd", "echo tml-from-command", NULL});
    begin_session(f);
}

static void cancel_future(levelfix *f)
{
    static const int32_t token = 1;
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    fakeapi_step never = {.body = "{}", .gate = fakeapi_gate_new(f->api)};
    fakeapi_default(f->api, "POST", "/api/v1/client/dynamic_config",
                    &(fakeapi_step){.body = "{\"sample_cancel_enabled\":true}"});
    fakeapi_default(f->api, "POST", "/api/v1/asample",
                    &(fakeapi_step){.body = "{\"request_id\":\"00000001-0000-4000-8000-"
                                            "000000000000:sample:0:0\"}"});
    fakeapi_default(f->api, "POST", "/api/v1/retrieve_future", &never);
    level_open(f, NULL);
    OK(tinkc_service_create_sampling_wait(&sampling, f->service, LEVEL_MODEL, NULL,
                                          NULL));
    OK(tinkc_model_input_from_tokens(&prompt, &token, 1, NULL));
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    assert_true(fakeapi_wait_for(f->api, "POST", "/api/v1/retrieve_future", 1));
    tinkc_future_cancel(future);
    assert_true(fakeapi_wait_for(f->api, "POST", "/api/v1/cancel_future", 1));
    tinkc_future_free(&future);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

static void finish(levelfix *f)
{
    level_open(f, NULL);
    begin_session(f);
    tinkc_service_close(&f->service);
    fakeapi_default(f->api, "POST", "/api/v1/create_session", /* the same again */
                    &(fakeapi_step){.body = "{\"session_id\":\"00000001-0000-4000-8000-"
                                            "000000000000\"}"});
    level_open(f, NULL);
    begin_session(f);
    OK(tinkc_service_set_finish(f->service, TINKC_FINISH_ERRORED, "out of memory", NULL));
    tinkc_service_close(&f->service);
}

#define JWT_CONFIG "{\"pjwt_auth_enabled\":true}"
#define CMD_CONFIG                                                                       \
    "{\"pjwt_auth_enabled\":true,\"credential_default_source\":\"credential_cmd\"}"

static const level_case cases[] = {
    {LEVEL("service/client_config", session)},
    {LEVEL("service/client_dynamic_config", session)},
    {LEVEL("service/construct_session", session)},
    {LEVEL("service/construct_rest", capabilities)},
    {LEVEL("service/create_session_default", session)},
    {LEVEL("service/create_session_full", session_full)},
    {LEVEL("service/create_session_environment", session_environment),
     .apart_from = "tags",
     .why = "an empty TINKER_TAGS counts as not set here (docs/deviations.md)"},
    {LEVEL("service/default_headers", default_headers)},
    {LEVEL("service/auth_token", session), .config = JWT_CONFIG},
    {LEVEL("service/auth_credential_cmd", credential_cmd), .config = CMD_CONFIG},
    {LEVEL("service/get_server_capabilities", capabilities)},
    {LEVEL("service/healthz", healthz)},
    {LEVEL("service/session_heartbeat", heartbeat)},
    {LEVEL("service/heartbeat_ended", heartbeat_ended), .without = 1u << 1,
     .why = "SDK 0.25 beats on after a 410 (docs/deviations.md); 0.36 does not"},
    {LEVEL("service/copy_weights", copy_weights)},
    {LEVEL("service/cancel_future", cancel_future)},
    {LEVEL("service/finish_session", finish)},
};

/* ---- polls ---- */

#define TRY_AGAIN                                                                        \
    "{\"type\":\"try_again\",\"request_id\":\"r\",\"queue_state\":"                      \
    "\"paused_capacity\",\"queue_state_reason\":\"busy\"}"
#define MADE    "00000001-0000-4000-8000-000000000000:train:0"
#define SAMPLER "00000001-0000-4000-8000-000000000000:sample:0"
#define OUTPUT                                                                           \
    "{\"loss_fn_output_type\":\"ArrayRecord\",\"metrics\":{},\"loss_fn_outputs\":"       \
    "[{\"logprobs\":{\"data\":[-1,-1,-1],\"dtype\":\"float32\",\"shape\":[3]}}]}"
#define SAVED(kind) "{\"path\":\"tinker://" MADE "/weights/a\",\"type\":\"" kind "\"}"

/* Operations as the recorder's server answered them: an id, and what polls for it get. */
static const struct {
    const char *path, *id, *result;
} works[] = {
    {"create_model", MADE ":0", "{\"model_id\":\"" MADE "\",\"type\":\"create_model\"}"},
    {"forward_backward", MADE ":1", OUTPUT},
    {"forward_backward", MADE ":2", OUTPUT},
    {"optim_step", MADE ":3", "{\"metrics\":null,\"type\":\"optim_step\"}"},
    {"save_weights", MADE ":4", SAVED("save_weights")},
    {"save_weights_for_sampler", MADE ":5", SAVED("save_weights_for_sampler")},
    {"load_weights", MADE ":6", SAVED("load_weights")},
    {"asample", SAMPLER ":0",
     "{\"type\":\"sample\",\"sequences\":[{\"stop_reason\":\"length\",\"tokens\":[1]}]}"},
};

static void answer(levelfix *f, size_t work)
{
    char path[64], id[128];
    (void)snprintf(path, sizeof(path), "/api/v1/%s", works[work].path);
    (void)snprintf(id, sizeof(id), "{\"request_id\":\"%s\"}", works[work].id);
    fakeapi_reply(f->api, "POST", path, &(fakeapi_step){.body = id});
    fakeapi_reply(f->api, "POST", "/api/v1/retrieve_future",
                  &(fakeapi_step){.body = works[work].result});
}

static tinkc_datum *datum(void)
{
    static const int32_t tokens[] = {1, 2, 3}, targets[] = {2, 3, 4};
    static const float weights[] = {1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *out = NULL;
    OK(tinkc_model_input_from_tokens(&input, tokens, 3, NULL));
    OK(tinkc_datum_new(&out, &input, NULL));
    OK(tinkc_datum_set_i32(out, "target_tokens", targets, 3, NULL));
    OK(tinkc_datum_set_f32(out, "weights", weights, 3, NULL));
    return out;
}

static void poll_sequence(levelfix *f)
{
    static const fakeapi_step steps[] = {
        {.status = 408, .body = TRY_AGAIN},
        {.body = TRY_AGAIN},
        {.body = "{\"status\":\"complete_metadata\",\"response_payload_size\":1000}"}};
    tinkc_training *training = NULL;
    tinkc_datum *one = datum();
    level_open(f, NULL);
    OK(tinkc_service_create_training_wait(&training, f->service, LEVEL_MODEL, NULL,
                                          NULL));
    level_record(f);
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        fakeapi_reply(f->api, "POST", "/api/v1/retrieve_future", &steps[i]);
    }
    answer(f, 1);
    OK(tinkc_training_forward_backward_wait(NULL, training, &one, 1, "cross_entropy",
                                            NULL, NULL));
    tinkc_datum_free(&one);
    tinkc_training_close(&training);
}

static void sample_once(levelfix *f)
{
    static const int32_t token = 1;
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    OK(tinkc_service_create_sampling_wait(&sampling, f->service, LEVEL_MODEL, NULL,
                                          NULL));
    OK(tinkc_model_input_from_tokens(&prompt, &token, 1, NULL));
    OK(tinkc_sampling_sample_wait(NULL, sampling, prompt, NULL, NULL, NULL));
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

static void poll_each_type(levelfix *f)
{
    tinkc_training *training = NULL;
    tinkc_datum *one = datum();
    for (size_t i = 0; i < TK_ARRAY_LEN(works); i++) {
        answer(f, i);
    }
    level_open(f, NULL);
    OK(tinkc_service_create_training_wait(&training, f->service, LEVEL_MODEL, NULL,
                                          NULL));
    OK(tinkc_training_forward_wait(NULL, training, &one, 1, "cross_entropy", NULL, NULL));
    OK(tinkc_training_forward_backward_wait(NULL, training, &one, 1, "cross_entropy",
                                            NULL, NULL));
    OK(tinkc_training_optim_step_wait(NULL, training, NULL, NULL));
    OK(tinkc_training_save_state_wait(NULL, training, "a", NULL, NULL));
    OK(tinkc_training_save_weights_for_sampler_wait(NULL, training, "a", NULL, NULL));
    OK(tinkc_training_load_state_wait(training, "tinker://" LEVEL_RUN "/weights/a", false,
                                      NULL, NULL));
    sample_once(f);
    tinkc_datum_free(&one);
    tinkc_training_close(&training);
}

static const level_case future_cases[] = {
    {LEVEL("futures/poll_sequence", poll_sequence)},
    {LEVEL("futures/poll_each_type", poll_each_type)},
};

/* ---- telemetry ---- */

static void open_reporting(levelfix *f)
{
    fakeapi_default(f->api, "POST", "/api/v1/telemetry",
                    &(fakeapi_step){.body = "{\"status\":\"accepted\"}"});
    level_open(f, (const char *const[]){"telemetry", "true", NULL});
}

static void generic_events(levelfix *f)
{
    open_reporting(f);
    begin_session(f);
    for (int severity = TINKC_SEVERITY_DEBUG; severity <= TINKC_SEVERITY_CRITICAL;
         severity++) {
        OK(tinkc_telemetry_event(f->service, "an_event", (tinkc_severity)severity,
                                 "{\"n\":1,\"x\":0.5,\"null\":null,\"list\":[1,\"a\"]}",
                                 NULL));
    }
    OK(tinkc_telemetry_event(f->service, "no_data", TINKC_SEVERITY_INFO, NULL, NULL));
    OK(tinkc_telemetry_exception(f->service, "ValueError", "bad value", NULL,
                                 TINKC_SEVERITY_ERROR, NULL));
    OK(tinkc_telemetry_flush(f->service, TINKC_FOREVER, NULL));
}

static void fatal_exception(levelfix *f)
{
    open_reporting(f);
    begin_session(f);
    OK(tinkc_telemetry_exception(f->service, "RuntimeError", "broken",
                                 "Traceback (most recent call last):\n  ...\n",
                                 TINKC_SEVERITY_CRITICAL, NULL));
    tinkc_service_close(&f->service);
}

static void user_error(levelfix *f)
{
    fakeapi_reply(f->api, "GET", "/api/v1/sessions/*",
                  &(fakeapi_step){.status = 422, .body = "{\"detail\":\"no\"}"});
    open_reporting(f);
    assert_int_equal(tinkc_rest_get_session_wait(NULL, f->service, LEVEL_SESSION,
                                                 TINKC_SCOPE_OWNED, NULL),
                     TINKC_E_UNPROCESSABLE);
    OK(tinkc_telemetry_flush(f->service, TINKC_FOREVER, NULL));
}

static void poll_error(levelfix *f)
{
    tinkc_training *training = NULL;
    open_reporting(f);
    OK(tinkc_service_create_training_wait(&training, f->service, LEVEL_MODEL, NULL,
                                          NULL));
    fakeapi_reply(f->api, "POST", "/api/v1/optim_step",
                  &fakeapi_json("{\"request_id\":\"" MADE ":1\"}"));
    fakeapi_reply(f->api, "POST", "/api/v1/retrieve_future",
                  &(fakeapi_step){.status = 404, .body = "{\"detail\":\"gone\"}"});
    assert_int_equal(tinkc_training_optim_step_wait(NULL, training, NULL, NULL),
                     TINKC_E_NOT_FOUND);
    tinkc_training_close(&training);
    tinkc_service_close(&f->service);
}

#define FACTS                                                                            \
    "func exception exception_type exception_stack start_time current_time "             \
    "elapsed_time error_type message detail body operation"
#define WHY_FACTS "what Python and a clock say (docs/deviations.md, Telemetry)"
static const level_case telemetry_cases[] = {
    {LEVEL("telemetry/fatal_exception", fatal_exception), .events = true},
    {LEVEL("telemetry/session_start_and_generic", generic_events), .events = true},
    {LEVEL("telemetry/user_error", user_error), .events = true, .apart_from = FACTS,
     .why = WHY_FACTS},
    {LEVEL("telemetry/poll_error", poll_error), .events = true,
     .apart_from = FACTS " request_headers response_headers response_body",
     .why = WHY_FACTS "; headers, the key among them, are not sent"},
};

static void test_level_background(void **unused)
{
    level_run("futures/", future_cases, TK_ARRAY_LEN(future_cases));
    level_run("telemetry/", telemetry_cases, TK_ARRAY_LEN(telemetry_cases));
}

static void test_level_service(void **unused)
{
    level_run("service/", cases, TK_ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_level_service),
                                       cmocka_unit_test(test_level_background)};
    return cmocka_run_group_tests_name("level_service", tests, NULL, NULL);
}
