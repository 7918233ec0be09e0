/* How a service becomes ready and stays so, on a fake clock (docs/protocol.md §10, §2.1;
 * configuration, session, heartbeats, refreshes, and what is
 * logged. */
#include <stdio.h>

#include "support/samplefix.h"

#define BEAT    "session_heartbeat"
#define DYNAMIC "client/dynamic_config"
#define CONFIG  "client/config"
#define SESSION "create_session"

/* M-038, M-042: every 10 s, the first after 10 s, on separate
 * connections, 10 s each. */
static void test_session_heartbeat(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    clientfix_advance(&f, 9999);
    assert_int_equal(faketransport_count(&f.net, BEAT), 0);
    for (size_t i = 1; i <= 5; i++) {
        clientfix_advance(&f, i == 1 ? 1 : 10000);
        assert_int_equal(faketransport_count(&f.net, BEAT), i);
    }
    const fakeseen *beat = faketransport_nth(&f.net, BEAT, 0);
    assert_int_equal(beat->group, TK_HTTP_SESSION);
    assert_int_equal(beat->timeout_ms, 10000);
    assert_string_equal(beat->body,
                        "{\"session_id\":\"S\",\"type\":\"session_heartbeat\"}");
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* Without a session there is no heartbeat. */
static void test_session_no_heartbeat_without_session(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(&f.net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_future *future = tinkc_service_health(f.service);
    clientfix_advance(&f, 60000);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    assert_int_equal(faketransport_count(&f.net, BEAT), 0);
    assert_int_equal(faketransport_count(&f.net, SESSION), 0);
    tinkc_future_free(&future);
    clientfix_close(&f);
}

/* A-106, M-042: a failed heartbeat is not repeated before the next one is due; after
 * 120 s each failure is logged. */
static void test_session_heartbeat_fails(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    faketransport_default(&f.net, BEAT, (fakeanswer){.status = 503, .body = "{}"});
    clientfix_advance(&f, 120000);
    assert_int_equal(faketransport_count(&f.net, BEAT), 12);
    assert_null(strstr(f.log, "heartbeat"));
    clientfix_advance(&f, 10000);
    assert_non_null(strstr(f.log, "warn session: no heartbeat has been answered for 130 "
                                  "s"));
    clientfix_advance(&f, 10000);
    assert_non_null(strstr(f.log, "for 140 s"));
    faketransport_default(&f.net, BEAT, (fakeanswer){.body = "{}"});
    clientfix_advance(&f, 10000);
    f.log_n = 0;
    f.log[0] = '\0';
    faketransport_default(&f.net, BEAT, (fakeanswer){.status = 404, .body = "{}"});
    clientfix_advance(&f, 120000);
    assert_null(strstr(f.log, "heartbeat"));
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* A heartbeat that hangs does not pile up others. */
static void test_session_heartbeat_hangs(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    faketransport_default(&f.net, BEAT, (fakeanswer){.status = -1});
    clientfix_advance(&f, 60000);
    assert_int_equal(faketransport_count(&f.net, BEAT), 1);
    assert_true(
        faketransport_answer(&f.net, BEAT, (fakeanswer){.failure = TK_HTTP_TIMEOUT}));
    clientfix_advance(&f, 10000);
    assert_int_equal(faketransport_count(&f.net, BEAT), 2);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

static tinkc_code code_of(clientfix *f, tinkc_future *future, const char *words)
{
    clientfix_turn(f);
    tinkc_code code = tinkc_future_wait(future, 0);
    const tinkc_error *err = tinkc_future_error(future);
    assert_true(err != NULL && strstr(tinkc_error_message(err), words) != NULL);
    tinkc_future_free(&future);
    return code;
}

/* 410 to a heartbeat: the session has ended. The beats stop, the log says so, and what
 * needs the session fails with that reason; the rest of the service works. */
static void test_session_ended(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    faketransport_default(&f.net, BEAT,
                          (fakeanswer){.status = 410, .body = "{\"detail\":\"over\"}"});
    clientfix_advance(&f, 60000);
    assert_int_equal(faketransport_count(&f.net, BEAT), 1);
    assert_non_null(strstr(f.log, "warn session: session S has ended: "));
    assert_non_null(strstr(f.log, "over\n"));
    assert_int_equal(
        code_of(&f, tinkc_service_create_sampling(f.service, "m", NULL), "has ended"),
        TINKC_E_GONE);
    assert_int_equal(
        code_of(&f, tinkc_service_create_training(f.service, "m", NULL), "has ended"),
        TINKC_E_GONE);
    assert_int_equal(faketransport_count(&f.net, SESSION), 1);
    faketransport_default(&f.net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_future *health = tinkc_service_health(f.service);
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(health, 0), TINKC_OK);
    tinkc_future_free(&health);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* M-047: option heartbeat_failures: after so many failures in a row the session counts
 * as lost; one success starts the count again. */
static void test_session_heartbeat_limit(void **unused)
{
    static const char *const options[] = {"heartbeat_failures", "3", NULL};
    clientfix f;
    clientfix_open(&f, options);
    tinkc_sampling *sampling = samplefix_create(&f);
    faketransport_default(&f.net, BEAT, (fakeanswer){.status = 503, .body = "{}"});
    clientfix_advance(&f, 20000);
    faketransport_default(&f.net, BEAT, (fakeanswer){.body = "{}"});
    clientfix_advance(&f, 10000);
    faketransport_default(&f.net, BEAT, (fakeanswer){.failure = TK_HTTP_CONNECT});
    clientfix_advance(&f, 90000);
    assert_int_equal(faketransport_count(&f.net, BEAT), 6);
    assert_non_null(strstr(f.log, "warn session: session S is lost: 3 heartbeats"));
    assert_int_equal(
        code_of(&f, tinkc_service_create_sampling(f.service, "m", NULL), "is lost"),
        TINKC_E_GONE);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* x-deprecation-note is logged once for each text, at the level that the server asks
 * for. */
static void test_session_deprecation_notes(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(
        &f.net, BEAT,
        (fakeanswer){.body = "{}", .headers = {"X-Deprecation-Note", "use v2"}});
    tinkc_sampling *sampling = samplefix_create(&f);
    clientfix_advance(&f, 30000);
    const char *found = strstr(f.log, "warn http: deprecation notice: use v2");
    assert_non_null(found);
    assert_null(strstr(found + 1, "warn http: deprecation"));
    faketransport_default(&f.net, BEAT,
                          (fakeanswer){.status = 503,
                                       .body = "{}",
                                       .headers = {"x-deprecation-note", "update now",
                                                   "x-deprecation-level", " Error "}});
    clientfix_advance(&f, 20000);
    assert_non_null(strstr(f.log, "error http: deprecation notice: update now"));
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* M-016: docs/protocol.md §2.1: 404 at the start means defaults; the interval is the
 * server's, not below ten seconds; what fails later changes nothing and is tried once. */
static void test_session_dynamic_config(void **unused)
{
    static const struct {
        fakeanswer first;
        int64_t every_ms;
    } rows[] = {{{.status = 404, .body = "{}"}, 300000},
                {{.body = "{}"}, 300000},
                {{.body = "{\"refresh_interval_sec\":20,\"later\":1}"}, 20000},
                {{.body = "{\"refresh_interval_sec\":3}"}, 10000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(&f.net, DYNAMIC, rows[i].first);
        tinkc_sampling *sampling = samplefix_create(&f);
        faketransport_default(&f.net, DYNAMIC, (fakeanswer){.status = 503, .body = "{}"});
        for (size_t n = 1; n <= 3; n++) {
            assert_int_equal(faketransport_count(&f.net, DYNAMIC), n);
            clientfix_advance(&f, rows[i].every_ms - 1);
            assert_int_equal(faketransport_count(&f.net, DYNAMIC), n);
            clientfix_advance(&f, 1);
        }
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* A server without configurations has the defaults; one that forbids them is refused
 * (above). */
static void test_session_no_config(void **unused)
{
    static const fakeanswer answers[] = {
        {.status = 404, .body = "{\"detail\":\"Not Found\"}"},
        {.status = 404, .body = "{\"error\":\"Not Found\"}"},
        {.status = 405, .body = "{\"detail\":\"Method Not Allowed\"}"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(answers); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(&f.net, CONFIG, answers[i]);
        faketransport_default(&f.net, DYNAMIC, answers[i]);
        tinkc_sampling *sampling = samplefix_create(&f);
        assert_int_equal(faketransport_count(&f.net, CONFIG), 1);
        assert_non_null(strstr(f.log, "has no configuration for its clients"));
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* A huge number does not overflow. */
static void test_session_huge_numbers(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(
        &f.net, CONFIG,
        (fakeanswer){.body = "{\"billing_exception_max_pause_duration_sec\":"
                             "9223372036854775807}"});
    faketransport_default(
        &f.net, DYNAMIC,
        (fakeanswer){.body = "{\"refresh_interval_sec\":9223372036854775807}"});
    tinkc_sampling *sampling = samplefix_create(&f);
    clientfix_advance(&f, 3600000);
    assert_int_equal(faketransport_count(&f.net, DYNAMIC), 1);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* Any final failure of a step fails the waiting operations; the next one continues with
 * that step. */
static void test_session_failure_is_not_sticky(void **unused)
{
    static const char *const steps[] = {CONFIG, DYNAMIC, SESSION};
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(&f.net, steps[i],
                              (fakeanswer){.status = 403, .body = "{}"});
        tinkc_future *future = tinkc_service_create_sampling(f.service, "m", NULL);
        clientfix_turn(&f);
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_PERMISSION);
        tinkc_future_free(&future);
        faketransport_default(&f.net, steps[i],
                              (fakeanswer){.body = "{\"session_id\":\"S\"}"});
        tinkc_sampling *sampling = samplefix_create(&f);
        assert_int_equal(faketransport_count(&f.net, CONFIG), i < 2 ? 2 : 1);
        assert_int_equal(faketransport_count(&f.net, SESSION), i < 2 ? 1 : 2);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* M-015: unusable flags are an error, not a client that hangs. */
static void test_session_bad_flags(void **unused)
{
    static const char *const bodies[] = {"{\"sample_max_concurrent_requests\":0}",
                                         "{\"sample_no_retries\":\"yes\"}", "[]", "x"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(&f.net, CONFIG, (fakeanswer){.body = bodies[i]});
        tinkc_future *future = tinkc_service_create_sampling(f.service, "m", NULL);
        clientfix_turn(&f);
        tinkc_code code = tinkc_future_wait(future, 0);
        assert_true(code == TINKC_E_DECODE || code == TINKC_E_PARSE);
        tinkc_future_free(&future);
        clientfix_close(&f);
    }
}

/* Every operation that starts while the session is set up waits for the same steps. */
static void test_session_setup_is_shared(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_future *futures[20];
    for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
        futures[i] = tinkc_service_create_sampling(f.service, "m", NULL);
    }
    tinkc_future_cancel(futures[3]);
    clientfix_turn(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
        assert_int_equal(tinkc_future_wait(futures[i], 0),
                         i == 3 ? TINKC_E_CANCELLED : TINKC_OK);
        tinkc_future_free(&futures[i]);
    }
    assert_int_equal(faketransport_count(&f.net, CONFIG), 1);
    assert_int_equal(faketransport_count(&f.net, DYNAMIC), 1);
    assert_int_equal(faketransport_count(&f.net, SESSION), 1);
    clientfix_close(&f);
}

/* M-041: the server's messages are logged, each at its level; an error does not stop
 * anything. */
static void test_session_messages(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(&f.net, SESSION,
                          (fakeanswer){.body = "{\"session_id\":\"S\","
                                               "\"info_message\":\"hello\","
                                               "\"warning_message\":\"careful\","
                                               "\"error_message\":\"too old\"}"});
    tinkc_sampling *sampling = samplefix_create(&f);
    assert_non_null(strstr(f.log, "info session: hello\n"));
    assert_non_null(strstr(f.log, "warn session: careful\n"));
    assert_non_null(strstr(f.log, "error session: too old\n"));
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

static void test_session_request(void **unused)
{
    static const char *const options[] = {"project_id", "p-1", "display_name", "a run",
                                          NULL};
    clientfix f;
    clientfix_open(&f, options);
    tinkc_sampling *sampling = samplefix_create(&f);
    assert_string_equal(faketransport_nth(&f.net, SESSION, 0)->body,
                        "{\"tags\":[],\"user_metadata\":{},\"sdk_version\":\"0.36.0\","
                        "\"project_id\":\"p-1\",\"display_name\":\"a run\",\"type\":"
                        "\"create_session\"}");
    assert_string_equal(tinkc_service_session_id(f.service), "S");
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* Closing at any step ends the waiting operations. */
static void test_session_close_on_the_way(void **unused)
{
    static const char *const steps[] = {CONFIG, DYNAMIC, SESSION,
                                        "create_sampling_session"};
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(&f.net, steps[i], (fakeanswer){.status = -1});
        tinkc_future *future = tinkc_service_create_sampling(f.service, "m", NULL);
        clientfix_turn(&f);
        assert_int_equal(faketransport_open(&f.net, steps[i]), 1);
        clientfix_close(&f);
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
        tinkc_future_free(&future);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_heartbeat),
        cmocka_unit_test(test_session_no_heartbeat_without_session),
        cmocka_unit_test(test_session_heartbeat_fails),
        cmocka_unit_test(test_session_heartbeat_hangs),
        cmocka_unit_test(test_session_ended),
        cmocka_unit_test(test_session_heartbeat_limit),
        cmocka_unit_test(test_session_deprecation_notes),
        cmocka_unit_test(test_session_dynamic_config),
        cmocka_unit_test(test_session_no_config),
        cmocka_unit_test(test_session_huge_numbers),
        cmocka_unit_test(test_session_failure_is_not_sticky),
        cmocka_unit_test(test_session_bad_flags),
        cmocka_unit_test(test_session_setup_is_shared),
        cmocka_unit_test(test_session_messages),
        cmocka_unit_test(test_session_request),
        cmocka_unit_test(test_session_close_on_the_way),
    };
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
