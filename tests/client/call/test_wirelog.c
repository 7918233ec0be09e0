/* What the log says of requests (M-141): levels, the function that gets the lines, the
 * dump of the wire, and no secret in any of it. */
#include <stdio.h>

#include "support/samplefix.h"
#include "support/telefix.h"

#define HEALTH "healthz"
#define JWT    "eyJhbGciOiJub25lIn0.eyJleHAiOjQwMDAwMDAwMDB9.c2lnbmF0dXJl"

static size_t count_lines(const clientfix *f, const char *prefix)
{
    size_t n = 0, length = strlen(prefix);
    for (const char *at = f->log; *at != '\0'; at = strchr(at, '\n') + 1) {
        n += strncmp(at, prefix, length) == 0;
    }
    return n;
}

/* M-141: a level lets through itself and what matters more, to the configured
 * function. */
static void test_wirelog_levels(void **unused)
{
    static const char *const levels[] = {"off", "error", "warn", "info", "debug"};
    for (size_t i = 0; i < TK_ARRAY_LEN(levels); i++) {
        const char *options[] = {"log_level", levels[i], NULL};
        clientfix f;
        clientfix_open(&f, options);
        faketransport_default(&f.net, "create_session",
                              (fakeanswer){.body = "{\"session_id\":\"S\","
                                                   "\"info_message\":\"i\","
                                                   "\"warning_message\":\"w\","
                                                   "\"error_message\":\"e\"}"});
        tinkc_sampling *sampling = samplefix_create(&f);
        assert_int_equal(count_lines(&f, "error session: e"), i >= 1);
        assert_int_equal(count_lines(&f, "warn session: w"), i >= 2);
        assert_int_equal(count_lines(&f, "info session: i"), i >= 3);
        assert_int_equal(count_lines(&f, "info session: session S"), i >= 3);
        assert_int_equal(count_lines(&f, "debug "), i >= 4 ? 4 : 0);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* At level debug each request is one line, also when there is no answer. */
static void test_wirelog_requests(void **unused)
{
    static const char *const options[] = {"log_level", "debug", "max_retries", "0", NULL};
    clientfix f;
    clientfix_open(&f, options);
    telefix_health(&f, (fakeanswer){.status = 403, .body = "{}"});
    telefix_health(&f, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_non_null(strstr(f.log, "debug http: GET http://127.0.0.1:1/api/v1/healthz: "
                                  "403 in 0 ms, 0 bytes out, 2 in\n"));
    assert_int_equal(count_lines(&f, "debug http: GET "), 2);
    assert_int_equal(count_lines(&f, "debug http: POST "), 2); /* configuration */
    assert_null(strstr(f.log, "x-api-key"));
    clientfix_close(&f);
}

static void open_dumping(clientfix *f, const char *const *more)
{
    const char *options[16] = {"wire_dump", "true", "log_level", "warn"};
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        options[4 + i] = more[i];
    }
    clientfix_open(f, options);
}

/* M-011, M-012: the dump shows what goes over the wire but for the key, whatever the
 * level says. */
static void test_wirelog_dump(void **unused)
{
    clientfix f;
    open_dumping(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 3);
    assert_true(samplefix_accept(&f));
    assert_true(faketransport_answer(&f.net, POLL, samplefix_result()));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    assert_non_null(strstr(f.log, "http: > POST http://127.0.0.1:1/api/v1/asample\n"));
    assert_non_null(strstr(f.log, "http: > X-API-Key: ***\n"));
    assert_non_null(strstr(f.log, "http: > Content-Type: application/json\n"));
    assert_non_null(strstr(f.log, "\"tokens\":[1,2,3]"));
    assert_non_null(strstr(f.log, "http: < {\"request_id\":\"r\"}\n"));
    assert_non_null(strstr(f.log, "http: < content-type: application/x-protobuf\n"));
    assert_non_null(strstr(f.log, " bytes\n")); /* the result is not text */
    assert_null(strstr(f.log, "tml-test"));
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* Whatever the answer is. */
static void ask_health(clientfix *f)
{
    tinkc_future *future = tinkc_service_health(f->service);
    clientfix_turn(f);
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
}

/* What the library cannot know to be a secret is hidden when it may be one. */
static void test_wirelog_dump_of_a_stranger(void **unused)
{
    clientfix f;
    tinkc_config *config = NULL;
    fakeclock_init(&f.clock);
    faketransport_init(&f.net, &f.clock.clock);
    f.log_n = 0;
    f.log[0] = '\0';
    static const char *const own[] = {
        "base_url", "http://127.0.0.1:1", "api_key", "tml-test",  "loop",
        "manual",   "telemetry",          "false",   "wire_dump", "true"};
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(own); i += 2) {
        assert_int_equal(tinkc_config_set(config, own[i], own[i + 1], NULL), TINKC_OK);
    }
    assert_int_equal(tinkc_config_set_header(config, "X-Tenant", "shy-header", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_config_set_query(config, "tenant", "shy-query", NULL),
                     TINKC_OK);
    tinkc_config_set_log(config, clientfix_log, &f);
    tk_core_seams seams = {
        .clock = &f.clock.clock, .transport = &f.net.transport, .seed = 1};
    assert_int_equal(tk_service_open(&f.service, config, &seams, NULL), TINKC_OK);
    tinkc_config_free(&config);
    clientfix_answer_setup(&f);
    faketransport_default(&f.net, "client/config?tenant=shy-query",
                          (fakeanswer){.body = "{}"});
    ask_health(&f);
    assert_non_null(strstr(f.log, "http: > X-Tenant: ***\n"));
    assert_null(strstr(f.log, "shy-"));
    clientfix_close(&f);
}

/* Dumps a service that exchanges its key, up to the first session. */
static tinkc_sampling *open_exchanging(clientfix *f, const char *answer)
{
    open_dumping(f, NULL);
    faketransport_default(&f->net, "client/config",
                          (fakeanswer){.body = "{\"pjwt_auth_enabled\":true}"});
    faketransport_default(&f->net, "auth/token", (fakeanswer){.body = answer});
    tinkc_sampling *sampling = samplefix_create(f);
    assert_non_null(strstr(f->log, "http: < {\"jwt\":\"***\"}\n"));
    return sampling;
}

/* The exchange of a key for a token shows neither. */
static void test_wirelog_exchange(void **unused)
{
    clientfix f;
    char sent[256];
    tinkc_sampling *sampling = open_exchanging(&f, "{\"jwt\":\"" JWT "\"}");
    assert_true(faketransport_header(faketransport_nth(&f.net, "create_session", 0),
                                     "x-api-key", sent, sizeof(sent)));
    assert_string_equal(sent, JWT);
    assert_null(strstr(f.log, "eyJ"));
    assert_null(strstr(f.log, "tml-"));
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* A token that does not look like one is hidden in the answer that brings it, too. */
static void test_wirelog_exchange_opaque(void **unused)
{
    clientfix f;
    tinkc_sampling *sampling = open_exchanging(&f, "{\"jwt\":\"shy-token\"}");
    assert_non_null(strstr(f.log, "http: < {\"pjwt_auth_enabled\":true}\n"));
    assert_null(strstr(f.log, "shy-"));
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* Where a redirect leads is shown, but not its query: there a signed URL has what opens
 * it. */
static void test_wirelog_redirect(void **unused)
{
    clientfix f;
    open_dumping(&f, NULL);
    fakeanswer moved = {.status = 302,
                        .headers = {"location", "https://store.test/a?sp=r&sig=shy-part"},
                        .body = "{}"};
    faketransport_default(&f.net, HEALTH, moved);
    ask_health(&f);
    assert_non_null(strstr(f.log, "location: https://store.test/a\n"));
    assert_null(strstr(f.log, "shy-"));
    clientfix_close(&f);
}

/* A body of megabytes is one line of the usual length. */
static void test_wirelog_long_body(void **unused)
{
    clientfix f;
    open_dumping(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 100000);
    for (const char *at = f.log; *at != '\0';) {
        const char *end = strchr(at, '\n');
        assert_true(end - at < 1100);
        at = end + 1;
    }
    assert_non_null(strstr(f.log, "...\n"));
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wirelog_levels),
        cmocka_unit_test(test_wirelog_requests),
        cmocka_unit_test(test_wirelog_dump),
        cmocka_unit_test(test_wirelog_dump_of_a_stranger),
        cmocka_unit_test(test_wirelog_exchange),
        cmocka_unit_test(test_wirelog_exchange_opaque),
        cmocka_unit_test(test_wirelog_redirect),
        cmocka_unit_test(test_wirelog_long_body),
    };
    return cmocka_run_group_tests_name("wirelog", tests, NULL, NULL);
}
