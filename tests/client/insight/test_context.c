/* Headers of a context: with every request of an operation, over those of the
 * configuration, to the service's own server only (M-009, M-024). Timeouts and deadlines:
 * test_timeout; traces and tags: test_hooks.
 * Links: peer */
#include <stdio.h>
#include <tinkc/hooks.h>
#include <tinkc/raw.h>

#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

#define HEALTH "/api/v1/healthz"

static const tinkc_pair two[] = {{"X-Team", "blue"}, {"user-agent", "mine/1"}};

static tinkc_context with_headers(const tinkc_pair *headers, size_t n)
{
    tinkc_context context = TINKC_CONTEXT_INIT;
    context.headers = headers;
    context.headers_n = n;
    return context;
}

static void expect_header(const fakeseen *seen, const char *name, const char *value)
{
    char text[128];
    bool is_there = faketransport_header(seen, name, text, sizeof(text));
    assert_int_equal(is_there, value != NULL);
    if (is_there) {
        assert_string_equal(text, value);
    }
}

/* M-009: submission, retry and polls have them; what belongs to no context has none. The
 * struct and its texts may go once the handle is made. */
static void test_context_headers(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f), *second = NULL;
    char name[] = "X-Team", value[] = "blue";
    tinkc_pair pair = {name, value};
    tinkc_context context = with_headers(&pair, 1);
    assert_int_equal(tinkc_sampling_with_context(&second, sampling, &context, NULL),
                     TINKC_OK);
    memset(name, 'x', sizeof(name) - 1);
    memset(value, 'x', sizeof(value) - 1);
    tinkc_future *future = samplefix_sample(&f, second, 2);
    assert_true(faketransport_answer(&f.net, SAMPLE, (fakeanswer){.status = 500}));
    clientfix_advance(&f, 60000);
    assert_true(samplefix_accept(&f));
    assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 503}));
    clientfix_advance(&f, 60000);
    assert_true(samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    assert_string_equal(tinkc_future_context(future)->headers[0].value, "blue");
    for (size_t i = 0; i < 2; i++) {
        expect_header(faketransport_nth(&f.net, SAMPLE, i), "X-Team", "blue");
        expect_header(faketransport_nth(&f.net, POLL, i), "X-Team", "blue");
    }
    tinkc_future *plain = samplefix_sample(&f, sampling, 2);
    expect_header(faketransport_nth(&f.net, SAMPLE, 2), "X-Team", NULL);
    expect_header(faketransport_nth(&f.net, "session_heartbeat", 0), "X-Team", NULL);
    tinkc_future_free(&plain);
    tinkc_future_free(&future);
    tinkc_sampling_close(&second);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* M-009: they replace the configuration's and the library's of the same name, in any case
 * of letters; a raw request's own replace them. */
static void test_context_headers_replace(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_default(api, "GET", HEALTH, &fakeapi_json("{}"));
    tinkc_config *config = servicefix_config(api, NULL);
    tinkc_service *service = NULL, *second = NULL;
    assert_int_equal(tinkc_config_set_header(config, "x-team", "red", NULL), TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_context context = with_headers(two, 2);
    assert_int_equal(tinkc_service_with_context(&second, service, &context, NULL),
                     TINKC_OK);
    tinkc_raw_request raw = TINKC_RAW_REQUEST_INIT;
    static const tinkc_pair own = {"X-TEAM", "raw"};
    raw.path = HEALTH;
    raw.headers = &own;
    raw.headers_n = 1;
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    assert_int_equal(tinkc_service_health_wait(second, NULL), TINKC_OK);
    assert_int_equal(tinkc_raw_send_wait(NULL, second, &raw, NULL), TINKC_OK);
    static const char *const teams[] = {"red", "blue", "raw"};
    for (size_t i = 0; i < TK_ARRAY_LEN(teams); i++) {
        const fakeapi_request *seen = fakeapi_nth(api, "GET", HEALTH, i);
        assert_int_equal(fakeapi_header_count(seen, "x-team"), 1);
        assert_string_equal(fakeapi_header(seen, "x-team"), teams[i]);
        assert_int_equal(fakeapi_header_count(seen, "user-agent"), 1);
        assert_int_equal(strcmp(fakeapi_header(seen, "user-agent"), "mine/1") == 0,
                         i > 0);
    }
    tinkc_service_close(&second);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
}

/* A request to another server carries none of them. */
static void test_context_headers_stay_home(void **unused)
{
    fakeapi *home = fakeapi_start(), *other = fakeapi_start();
    char url[128];
    fakeapi_tinker(home, NULL);
    fakeapi_default(other, "GET", "/file", &fakeapi_json("{}"));
    (void)snprintf(url, sizeof(url), "%s/file", fakeapi_url(other));
    tinkc_service *service = servicefix_open(home, NULL), *second = NULL;
    tinkc_context context = with_headers(two, 2);
    assert_int_equal(tinkc_service_with_context(&second, service, &context, NULL),
                     TINKC_OK);
    tinkc_raw_request raw = TINKC_RAW_REQUEST_INIT;
    raw.path = url;
    assert_int_equal(tinkc_raw_send_wait(NULL, second, &raw, NULL), TINKC_OK);
    assert_null(fakeapi_header(fakeapi_nth(other, "GET", "/file", 0), "x-team"));
    tinkc_service_close(&second);
    tinkc_service_close(&service);
    fakeapi_stop(&home);
    fakeapi_stop(&other);
}

/* What no header can be is refused when the handle is made. */
static void test_context_header_refusals(void **unused)
{
    static const tinkc_pair bad[][2] = {
        {{NULL, "x"}, {"a", "b"}},      {{"x", NULL}, {"a", "b"}},
        {{"", "x"}, {"a", "b"}},        {{"a b", "x"}, {"c", "d"}},
        {{"a:", "x"}, {"c", "d"}},      {{"x", "a\r\nb: c"}, {"c", "d"}},
        {{"a\n", "x"}, {"c", "d"}},     {{"x", "a\x7f"}, {"c", "d"}},
        {{"name", "x"}, {"NAME", "y"}},
    };
    static const tinkc_pair many[9] = {{"a", ""}, {"b", ""}, {"c", ""},
                                       {"d", ""}, {"e", ""}, {"f", ""},
                                       {"g", ""}, {"h", ""}, {"i", ""}};
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_service *second = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad) + 2; i++) {
        tinkc_error *error = NULL;
        tinkc_context context = i < TK_ARRAY_LEN(bad)    ? with_headers(bad[i], 2)
                                : i == TK_ARRAY_LEN(bad) ? with_headers(many, 9)
                                                         : with_headers(NULL, 1);
        assert_int_equal(tinkc_service_with_context(&second, f.service, &context, &error),
                         TINKC_E_INVALID);
        assert_non_null(strstr(tinkc_error_message(error), "header"));
        assert_null(second);
        tinkc_error_free(&error);
    }
    tinkc_context most = with_headers(many, 8);
    assert_int_equal(tinkc_service_with_context(&second, f.service, &most, NULL),
                     TINKC_OK);
    tinkc_service_close(&second);
    clientfix_close(&f);
}

static bool scenario(void *user)
{
    tinkc_service *second = NULL;
    tinkc_context context = with_headers(two, 2);
    bool ok = tinkc_service_with_context(&second, user, &context, NULL) == TINKC_OK;
    tinkc_service_close(&second);
    return ok;
}

static void test_context_allocation_sweep(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    assert_true(failmem_sweep(scenario, f.service, 1) >= 3);
    clientfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_headers),
        cmocka_unit_test(test_context_headers_replace),
        cmocka_unit_test(test_context_headers_stay_home),
        cmocka_unit_test(test_context_header_refusals),
        cmocka_unit_test(test_context_allocation_sweep),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
