/* The service handle on the scripted peer: becoming ready, headers, retries, closing
 * (A-013, A-014, A-026, A-107, A-110, M-014, M-029, M-045).
 * Links: peer */
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"
#include "support/textfix.h"

#define HEALTH "/api/v1/healthz"

static fakeapi *start_peer(void)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_default(api, "GET", HEALTH, &fakeapi_json("{\"status\":\"ok\"}"));
    fakeapi_default(api, "GET", "/api/v1/get_server_capabilities",
                    &fakeapi_json("{\"supported_models\":[{\"model_name\":\"m\","
                                  "\"max_context_length\":1024},{}]}"));
    return api;
}

/* M-045, M-129: without training or sampling there is no session. */
static void test_service_capabilities(void **unused)
{
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_capabilities *capabilities = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_service_capabilities_wait(&capabilities, service, &error),
                     TINKC_OK);
    assert_int_equal(tinkc_capabilities_count(capabilities), 2);
    assert_string_equal(tinkc_capabilities_name(capabilities, 0), "m");
    assert_int_equal(tinkc_capabilities_context(capabilities, 0), 1024);
    assert_null(tinkc_capabilities_name(capabilities, 1));
    assert_int_equal(tinkc_capabilities_context(capabilities, 1), -1);
    assert_null(tinkc_capabilities_name(capabilities, 2));
    tinkc_capabilities_free(&capabilities);
    assert_int_equal(fakeapi_count(api, "POST", "/api/v1/create_session"), 0);
    assert_int_equal(fakeapi_count(api, "POST", "/api/v1/client/config"), 1);
    assert_null(tinkc_service_session_id(service));
    assert_int_equal(tinkc_service_health_wait(service, &error), TINKC_OK);
    assert_int_equal(fakeapi_count(api, "POST", "/api/v1/client/config"), 1);
    tinkc_service_close(&service);
    assert_null(service);
    fakeapi_stop(&api);
}

/* What is wrong with a key, and what to do without one. */
static void test_service_bad_key(void **unused)
{
    static const struct {
        const char *key, *says;
    } table[] = {
        {"foo", "api_key: 3 bytes are too short; an API key starts with \"tml-\""},
        {"a-longer-one", "an API key must start with \"tml-\""},
        {NULL, "set base_url (TINKER_BASE_URL) to its address"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        tinkc_config *config = NULL;
        tinkc_service *service = NULL;
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
        assert_int_equal(
            tinkc_config_set(config, "base_url", "https://tinker.invalid", NULL),
            TINKC_OK);
        assert_int_equal(tinkc_config_set(config, "api_key", table[i].key, NULL),
                         TINKC_OK);
        assert_int_not_equal(tinkc_service_open(&service, config, &error), TINKC_OK);
        if (strstr(tinkc_error_message(error), table[i].says) == NULL) {
            fail_msg("%s", tinkc_error_message(error));
        }
        tinkc_error_free(&error);
        tinkc_config_free(&config);
    }
}

/* M-002, M-007: the environment is read when the configuration is made,
 * never again: what it says later changes no request. */
static void test_service_environment_once(void **unused)
{
    static const char *const names[] = {
        "TINKER_API_KEY", "TINKER_BASE_URL", "CLOUDFLARE_ACCESS_CLIENT_ID",
        "CLOUDFLARE_ACCESS_CLIENT_SECRET", "TINKER_CREDENTIAL_CMD"};
    static const char *const later[] = {"tml-later", "http://127.0.0.1:1", "later",
                                        "later", "exit 1"};
    fakeapi *api = start_peer();
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    assert_int_equal(setenv("TINKER_API_KEY", "tml-first", 1), 0);
    assert_int_equal(setenv("TINKER_BASE_URL", fakeapi_url(api), 1), 0);
    assert_int_equal(setenv("CLOUDFLARE_ACCESS_CLIENT_ID", "first", 1), 0);
    assert_int_equal(setenv("CLOUDFLARE_ACCESS_CLIENT_SECRET", "shy-one", 1), 0);
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "proxy", "", NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        assert_int_equal(setenv(names[i], later[i], 1), 0);
    }
    for (size_t round = 0; round < 2; round++) {
        assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
        assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
        tinkc_service_close(&service);
        for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
            assert_int_equal(unsetenv(names[i]), 0);
        }
    }
    assert_int_equal(fakeapi_count(api, "GET", HEALTH), 2);
    for (size_t i = 0; i < fakeapi_total(api); i++) {
        const fakeapi_request *request = fakeapi_request_at(api, i);
        assert_string_equal(fakeapi_header(request, "x-api-key"), "tml-first");
        assert_string_equal(fakeapi_header(request, "cf-access-client-id"), "first");
        assert_string_equal(fakeapi_header(request, "cf-access-client-secret"),
                            "shy-one");
    }
    tinkc_config_free(&config);
    fakeapi_stop(&api);
}

/* M-017, M-028, M-029: docs/protocol.md §1.4. */
static void test_service_headers(void **unused)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"user-agent", "tinkc/0.1.0"},
                {"x-api-key", "tml-test-key"},
                {"x-stainless-package-version", "0.36.0"},
                {"x-stainless-runtime", "C"},
                {"x-stainless-async", "async:epoll"},
                {"x-stainless-retry-count", "0"},
                {"x-stainless-read-timeout", "60"},
                {"accept", "application/json"},
                {"content-type", "application/json"}};
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    const fakeapi_request *config = fakeapi_nth(api, "POST", "/api/v1/client/config", 0);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_string_equal(fakeapi_header(config, rows[i].name), rows[i].value);
        assert_int_equal(fakeapi_header_count(config, rows[i].name), 1);
    }
    assert_string_equal(config->body, "{\"sdk_version\":\"0.36.0\"}");
    const char *key = fakeapi_header(config, "x-idempotency-key");
    assert_int_equal(strncmp(key, "tinkc-retry-", 12), 0);
    assert_true(textfix_is_uuid(tk_str_of(key + 12)));
    const fakeapi_request *health = fakeapi_nth(api, "GET", HEALTH, 0);
    assert_null(fakeapi_header(health, "content-type"));
    assert_null(fakeapi_header(health, "x-idempotency-key"));
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* M-029: as Python prints a float. */
static void test_service_read_timeout(void **unused)
{
    static const struct {
        const char *option, *header;
    } rows[] = {{"90000", "90"},     {"61500", "61.5"},  {"60250", "60.25"},
                {"60001", "60.001"}, {"60010", "60.01"}, {"none", NULL}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fakeapi *api = start_peer();
        const char *const options[] = {"timeout", rows[i].option, NULL};
        tinkc_service *service = servicefix_open(api, options);
        assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
        const char *said =
            fakeapi_header(fakeapi_nth(api, "POST", "/api/v1/client/config", 0),
                           "x-stainless-read-timeout");
        if (rows[i].header == NULL) {
            assert_null(said);
        } else {
            assert_string_equal(said, rows[i].header);
        }
        tinkc_service_close(&service);
        fakeapi_stop(&api);
    }
}

/* M-009: a caller's header replaces ours, and goes out once. */
static void test_service_header_override(void **unused)
{
    fakeapi *api = start_peer();
    tinkc_config *config = servicefix_config(api, NULL);
    tinkc_service *service = NULL;
    assert_int_equal(tinkc_config_set_header(config, "User-Agent", "mine/1", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_config_set_query(config, "tenant", "a b", NULL), TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    const fakeapi_request *seen = fakeapi_nth(api, "GET", HEALTH, 0);
    assert_string_equal(fakeapi_header(seen, "user-agent"), "mine/1");
    assert_int_equal(fakeapi_header_count(seen, "user-agent"), 1);
    assert_string_equal(seen->query, "tenant=a%20b");
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* M-033: redirects on the own server keep the key; on another one they lose it and all
 * else that is ours. */
static void test_service_redirects(void **unused)
{
    char location[128];
    fakeapi *api = start_peer(), *other = fakeapi_start();
    (void)snprintf(location, sizeof(location), "Location: %s/there\r\n",
                   fakeapi_url(other));
    fakeapi_reply(api, "GET", HEALTH,
                  &(fakeapi_step){.status = 307, .headers = "Location: /moved\r\n"});
    fakeapi_default(api, "GET", "/moved",
                    &(fakeapi_step){.status = 302, .headers = location});
    fakeapi_default(other, "GET", "/there", &fakeapi_json("{}"));
    tinkc_config *config = servicefix_config(api, NULL);
    tinkc_service *service = NULL;
    assert_int_equal(tinkc_config_set_header(config, "X-Secret", "s", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "cf_access_secret", "cf-secret", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    const fakeapi_request *near = fakeapi_nth(api, "GET", "/moved", 0);
    const fakeapi_request *far = fakeapi_nth(other, "GET", "/there", 0);
    assert_string_equal(fakeapi_header(near, "x-api-key"), "tml-test-key");
    assert_string_equal(fakeapi_header(near, "x-secret"), "s");
    assert_null(fakeapi_header(far, "x-api-key"));
    assert_null(fakeapi_header(far, "x-secret"));
    assert_null(fakeapi_header(far, "cf-access-client-secret"));
    assert_null(fakeapi_header(far, "x-stainless-os"));
    tinkc_service_close(&service);
    fakeapi_stop(&api);
    fakeapi_stop(&other);
}

/* Redirects in a circle, and to nowhere, end with an error. */
static void test_service_redirect_circle(void **unused)
{
    fakeapi *api = start_peer();
    fakeapi_default(
        api, "GET", HEALTH,
        &(fakeapi_step){.status = 302, .headers = "Location: " HEALTH "\r\n"});
    tinkc_service *service = servicefix_open(api, NULL);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_E_STATUS);
    assert_int_equal(fakeapi_count(api, "GET", HEALTH), 11);
    fakeapi_default(api, "GET", HEALTH, &(fakeapi_step){.status = 302});
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_E_STATUS);
    fakeapi_default(
        api, "GET", HEALTH,
        &(fakeapi_step){.status = 302, .headers = "Location: file:///etc/passwd\r\n"});
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_E_DECODE);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* 404 reaches the server once and comes back with the server's message. */
static void test_service_error(void **unused)
{
    fakeapi *api = start_peer();
    fakeapi_reply(api, "GET", HEALTH, &fakeapi_detail(404, "no such thing"));
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_service_health_wait(service, &error), TINKC_E_NOT_FOUND);
    assert_int_equal(tinkc_error_http_status(error), 404);
    assert_non_null(strstr(tinkc_error_message(error), "no such thing"));
    assert_true(tinkc_error_is_user_error(error));
    tinkc_error_free(&error);
    assert_int_equal(fakeapi_count(api, "GET", HEALTH), 1);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* A failed start is not sticky: the next operation tries again. */
static void test_service_start_failure_is_not_sticky(void **unused)
{
    fakeapi *api = start_peer();
    fakeapi_reply(api, "POST", "/api/v1/client/config", &fakeapi_detail(403, "not you"));
    tinkc_service *service = servicefix_open(api, NULL);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_E_PERMISSION);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* M-001, M-014: two tenants in one process; keys never cross. */
static void test_service_two_tenants(void **unused)
{
    fakeapi *apis[2] = {start_peer(), start_peer()};
    tinkc_service *services[2];
    for (int i = 0; i < 2; i++) {
        const char *options[] = {"api_key", i == 0 ? "tml-first" : "tml-second", NULL};
        services[i] = servicefix_open(apis[i], options);
    }
    for (int i = 0; i < 20; i++) {
        assert_int_equal(tinkc_service_health_wait(services[i % 2], NULL), TINKC_OK);
    }
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < fakeapi_total(apis[i]); j++) {
            assert_string_equal(
                fakeapi_header(fakeapi_request_at(apis[i], j), "x-api-key"),
                i == 0 ? "tml-first" : "tml-second");
        }
        tinkc_service_close(&services[i]);
        fakeapi_stop(&apis[i]);
    }
}

/* The caller's own loop: fd, deadline, process; no thread of ours. */
static void test_service_manual(void **unused)
{
    static const char *const options[] = {"loop", "manual", NULL};
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, options);
    assert_true(tinkc_service_fd(service) >= 0);
    tinkc_future *future = tinkc_service_health(service);
    int64_t end = tk_clock_mono_ms(NULL) + 60000;
    while (!tinkc_future_is_done(future) && tk_clock_mono_ms(NULL) < end) {
        struct pollfd fd = {.fd = tinkc_service_fd(service), .events = POLLIN};
        int64_t deadline = tinkc_service_deadline_ms(service);
        (void)poll(&fd, 1, deadline < 0 || deadline > 1 ? 1 : (int)deadline);
        assert_int_equal(tinkc_service_process(service, NULL), TINKC_OK);
    }
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    assert_int_equal(tinkc_service_health_wait(service, NULL),
                     TINKC_OK); /* drives itself */
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

static void test_service_threaded_refuses_process(void **unused)
{
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    assert_int_equal(tinkc_service_fd(service), -1);
    assert_int_equal(tinkc_service_process(service, NULL), TINKC_E_STATE);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* A question that the peer has and does not answer. */
static tinkc_future *ask_silent(fakeapi *api, tinkc_service *service)
{
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_reply(api, "GET", HEALTH, &(fakeapi_step){.gate = gate});
    tinkc_future *future = tinkc_service_health(service);
    assert_true(fakeapi_gate_wait(gate, 1));
    return future;
}

/* A-026, M-046: closing ends what is under way; the future reports it. */
static void test_service_close_while_waiting(void **unused)
{
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_future *future = ask_silent(api, service);
    tinkc_service_close(&service);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    fakeapi_stop(&api);
}

static void test_service_cancel(void **unused)
{
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_future *future = ask_silent(api, service);
    tinkc_future_cancel(future);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* */
static void test_service_null(void **unused)
{
    tinkc_service *none = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_service_health_wait(NULL, &error), TINKC_E_STATE);
    assert_true(tinkc_error_message(error)[0] != '\0');
    tinkc_error_free(&error);
    assert_int_equal(tinkc_service_process(NULL, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_service_fd(NULL), -1);
    assert_null(tinkc_service_session_id(NULL));
    tinkc_service_close(NULL);
    tinkc_service_close(&none);
}

static void test_service_bad_configuration(void **unused)
{
    static const struct {
        const char *name, *value, *text;
    } rows[] = {{"base_url", "ftp://x", "http"},
                {"base_url", "local", "tinkc serve"},
                {"api_key", "sk-123", "tml-"}};
    fakeapi *api = start_peer();
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *options[] = {rows[i].name, rows[i].value, NULL};
        tinkc_config *config = servicefix_config(api, options);
        tinkc_service *service = NULL;
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_service_open(&service, config, &error), TINKC_E_CONFIG);
        assert_non_null(strstr(tinkc_error_message(error), rows[i].text));
        assert_null(service);
        tinkc_error_free(&error);
        tinkc_config_free(&config);
    }
    fakeapi_stop(&api);
}

/* M-168, A-014: a handle of the parent is refused in the child, and closing it there does
 * no harm: a request that the parent has under way is answered, on its connection. */
static void test_service_after_fork(void **unused)
{
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_reply(api, "GET", HEALTH, &(fakeapi_step){.body = "{}", .gate = gate});
    tinkc_future *future = tinkc_service_health(service);
    assert_true(fakeapi_gate_wait(gate, 1));
    size_t connections = fakeapi_connections_total(api);
    pid_t child = fork();
    if (child == 0) {
        tinkc_future *refused = tinkc_service_health(service);
        if (tinkc_future_wait(refused, 0) != TINKC_E_STATE) { /* at once */
            _exit(1);
        }
        tinkc_future_free(&refused);
        tinkc_service_close(&service);
        tinkc_future_free(&future);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(future, 60000), TINKC_OK);
    tinkc_future_free(&future);
    assert_int_equal(fakeapi_connections_total(api), connections);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* The peer starts and stops inside: its thread decodes with the same allocator. */
static bool sweep_once(void *user)
{
    fakeapi *api = start_peer();
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_capabilities *capabilities = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_service_capabilities_wait(&capabilities, service, NULL) == TINKC_OK;
    tinkc_capabilities_free(&capabilities);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

/* with any one allocation failing, the wait returns and nothing leaks. */
static void test_service_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_service_capabilities),
        cmocka_unit_test(test_service_bad_key),
        cmocka_unit_test(test_service_environment_once),
        cmocka_unit_test(test_service_headers),
        cmocka_unit_test(test_service_read_timeout),
        cmocka_unit_test(test_service_header_override),
        cmocka_unit_test(test_service_redirects),
        cmocka_unit_test(test_service_redirect_circle),
        cmocka_unit_test(test_service_error),
        cmocka_unit_test(test_service_start_failure_is_not_sticky),
        cmocka_unit_test(test_service_two_tenants),
        cmocka_unit_test(test_service_manual),
        cmocka_unit_test(test_service_threaded_refuses_process),
        cmocka_unit_test(test_service_close_while_waiting),
        cmocka_unit_test(test_service_cancel),
        cmocka_unit_test(test_service_null),
        cmocka_unit_test(test_service_bad_configuration),
        cmocka_unit_test(test_service_after_fork),
        cmocka_unit_test(test_service_allocation_sweep),
    };
    return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
