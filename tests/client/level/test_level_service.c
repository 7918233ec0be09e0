/* Requests of the service and its session against those of the official SDK (A-107, M-100,
 * M-101, M-102).
 * Links: level peer */
#include <tinkc/sampling.h>
#include <tinkc/service.h>
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

/* Answered 410; test_session.c counts the beats after it. */
static void heartbeat_ended(levelfix *f)
{
    static const char path[] = "/api/v1/session_heartbeat";
    fakeapi_step never = {.body = "{}", .gate = fakeapi_gate_new(f->api)};
    fakeapi_reply(f->api, "POST", path, &(fakeapi_step){.status = 410, .body = "{}"});
    fakeapi_default(f->api, "POST", path, &never);
    level_open(f, (const char *const[]){"heartbeat", "100", NULL});
    begin_session(f);
    assert_true(fakeapi_wait_for(f->api, "POST", path, 1));
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
    {LEVEL_NOT("service/create_session_environment",
               "tags is [] and not [\"\"]: an empty TINKER_TAGS counts as not set here")},
    {LEVEL("service/default_headers", default_headers)},
    {LEVEL("service/auth_token", session), .config = JWT_CONFIG},
    {LEVEL("service/auth_credential_cmd", credential_cmd), .config = CMD_CONFIG},
    {LEVEL("service/get_server_capabilities", capabilities)},
    {LEVEL("service/healthz", healthz)},
    {LEVEL("service/session_heartbeat", heartbeat)},
    {LEVEL("service/heartbeat_ended", heartbeat_ended),
     .newer = "a 410 ends the beats at 0.25 too, where the SDK sends another"},
    {LEVEL("service/copy_weights", copy_weights)},
    {LEVEL("service/cancel_future", cancel_future)},
    {LEVEL("service/finish_session", finish)},
};

#define POLLS "ids and pauses of the server decide: test_poll.c, test_poll_answers.c"
static const level_case future_cases[] = {
    {LEVEL_NOT("futures/poll_sequence", POLLS)},
    {LEVEL_NOT("futures/poll_each_type", POLLS)},
};

#define EVENTS "events are ours, their form is compared in test_fixtures_build.c"
static const level_case telemetry_cases[] = {
    {LEVEL_NOT("telemetry/fatal_exception", EVENTS)},
    {LEVEL_NOT("telemetry/poll_error", EVENTS)},
    {LEVEL_NOT("telemetry/session_start_and_generic", EVENTS)},
    {LEVEL_NOT("telemetry/user_error", EVENTS)},
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
