/* The end of a session, told to the server when the service closes, on a scripted transport
 * and on a real connection.
 * Links: peer */
#include <sys/wait.h>
#include <unistd.h>

#include <tinkc/hooks.h>

#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

#define FINISH  "sessions/S/finish"
#define FINISHP "/api/v1/sessions/*/finish"
#define BEAT    "session_heartbeat"

static void begin_session(clientfix *f)
{
    tinkc_sampling *sampling = samplefix_create(f);
    tinkc_sampling_close(&sampling);
}

/* ---- what is sent ---- */

/* Success without a detail unless the program says something else; once, and the last word
 * counts. */
static void test_finish_reasons(void **unused)
{
    static const struct {
        tinkc_finish reason;
        const char *detail, *body;
    } rows[] = {
        {TINKC_FINISH_SUCCESS, NULL,
         "{\"reason\":{\"type\":\"success\"},\"detail\":null}"},
        {TINKC_FINISH_ERRORED, "out of \"memory\"\n",
         "{\"reason\":{\"type\":\"errored\"},\"detail\":\"out of \\\"memory\\\"\\n\"}"},
        {TINKC_FINISH_INTERRUPTED, "",
         "{\"reason\":{\"type\":\"interrupted\"},\"detail\":\"\"}"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        begin_session(&f);
        if (i > 0) {
            assert_int_equal(
                tinkc_service_set_finish(f.service, TINKC_FINISH_ERRORED, "x", NULL),
                TINKC_OK);
            assert_int_equal(
                tinkc_service_set_finish(f.service, rows[i].reason, rows[i].detail, NULL),
                TINKC_OK);
        }
        assert_int_equal(faketransport_count(&f.net, FINISH), 0);
        tinkc_service_close(&f.service);
        assert_int_equal(faketransport_count(&f.net, FINISH), 1);
        const fakeseen *seen = faketransport_nth(&f.net, FINISH, 0);
        assert_string_equal(seen->body, rows[i].body);
        assert_int_equal(seen->timeout_ms, 60000);
        assert_non_null(strstr(f.log, "info session: session S is finished\n"));
        faketransport_dispose(&f.net);
    }
}

static void test_finish_refuses(void **unused)
{
    static char long_text[20000];
    const char *const bad[] = {"\xff", long_text};
    clientfix f;
    clientfix_open(&f, NULL);
    memset(long_text, 'x', sizeof(long_text) - 1);
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(
            tinkc_service_set_finish(f.service, TINKC_FINISH_ERRORED, bad[i], NULL),
            TINKC_E_INVALID);
    }
    assert_int_equal(tinkc_service_set_finish(f.service, (tinkc_finish)3, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_service_set_finish(NULL, TINKC_FINISH_ERRORED, NULL, NULL),
                     TINKC_E_STATE);
    begin_session(&f);
    tinkc_service_close(&f.service);
    assert_non_null(strstr(faketransport_nth(&f.net, FINISH, 0)->body, "success"));
    faketransport_dispose(&f.net);
}

/* ---- when nothing is sent ---- */

static void no_session(clientfix *f)
{
    faketransport_default(&f->net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_future *future = tinkc_service_health(f->service);
    clientfix_turn(f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
}

static void ended(clientfix *f)
{
    begin_session(f);
    faketransport_default(&f->net, BEAT, (fakeanswer){.status = 410, .body = "{}"});
    clientfix_advance(f, 10000);
    assert_non_null(strstr(f->log, "has ended"));
}

/* The server does not respond any more. */
static void lost(clientfix *f)
{
    begin_session(f);
    faketransport_default(&f->net, BEAT, (fakeanswer){.failure = TK_HTTP_CONNECT});
    clientfix_advance(f, 10000);
}

/* The sampling session of another process: this one never had a session. */
static void imported(clientfix *f)
{
    faketransport_default(
        &f->net, "client/config",
        (fakeanswer){.body = "{\"sample_join_sampling_session\":true}"});
    faketransport_default(&f->net, "join_sampling_session",
                          (fakeanswer){.body = "{\"client_counter\":2}"});
    tinkc_future *future = tinkc_service_import_sampling(
        f->service, "eyJzYW1wbGluZ19zZXNzaW9uX2lkIjoiUzpzYW1wbGU6MCJ9");
    tinkc_sampling *sampling = NULL;
    clientfix_turn(f);
    assert_int_equal(tinkc_future_take_sampling(&sampling, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
}

static void test_finish_not_sent(void **unused)
{
    static const struct {
        const char *option, *value;
        void (*run)(clientfix *f);
        size_t finished;
    } rows[] = {
        {"loop", "manual", begin_session, 1},
        {"sdk_version", "0.36.1", begin_session, 1},
        {"sdk_version", "0.25.0", begin_session, 0},
        {"finish_session", "false", begin_session, 0},
        {"loop", "manual", no_session, 0},
        {"loop", "manual", ended, 0},
        {"loop", "manual", lost, 0},
        {"heartbeat_failures", "1", lost, 0},
        {"loop", "manual", imported, 0},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, (const char *const[]){rows[i].option, rows[i].value, NULL});
        rows[i].run(&f);
        tinkc_service_close(&f.service);
        assert_int_equal(faketransport_count(&f.net, FINISH), rows[i].finished);
        faketransport_dispose(&f.net);
    }
}

/* A second handle ends nothing. */
static void test_finish_second_handle(void **unused)
{
    clientfix f;
    tinkc_service *second = NULL;
    clientfix_open(&f, NULL);
    begin_session(&f);
    assert_int_equal(tinkc_service_with_context(&second, f.service, NULL, NULL),
                     TINKC_OK);
    tinkc_service_close(&second);
    assert_int_equal(faketransport_count(&f.net, FINISH), 0);
    clientfix_close(&f);
}

/* ---- servers that do not take it ---- */

/* One of an earlier version has no such route, another refuses: that is only logged. */
static void test_finish_refused(void **unused)
{
    static const int statuses[] = {404, 405, 410, 422};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        clientfix f;
        clientfix_open(&f, (const char *const[]){"finish_drain", "none", NULL});
        begin_session(&f);
        faketransport_default(
            &f.net, FINISH,
            (fakeanswer){.status = statuses[i], .body = "{\"detail\":\"no\"}"});
        tinkc_service_close(&f.service);
        assert_int_equal(faketransport_count(&f.net, FINISH), 1);
        assert_non_null(strstr(f.log, "info session: the server was not told that "
                                      "session S is finished: "));
        assert_null(strstr(f.log, "warn"));
        faketransport_dispose(&f.net);
    }
}

/* One that does not answer, or asks for patience, is waited for as long as the option
 * says. */
static void test_finish_slow_server(void **unused)
{
    static const fakeanswer answers[] = {
        {.status = -1}, {.status = 503, .body = "{}"}, {.status = 429, .body = "{}"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(answers); i++) {
        clientfix f;
        clientfix_open(&f, (const char *const[]){"finish_drain", "10", NULL});
        begin_session(&f);
        faketransport_default(&f.net, FINISH, answers[i]);
        tinkc_service_close(&f.service);
        assert_int_equal(faketransport_count(&f.net, FINISH), 1);
        assert_non_null(strstr(f.log, "the server was not told"));
        faketransport_dispose(&f.net);
    }
}

/* ---- on a real connection ---- */

static tinkc_service *open_with_session(fakeapi *api, const char *const *options)
{
    tinkc_service *service = servicefix_open(api, options);
    assert_int_equal(tinkc_service_create_sampling_wait(NULL, service, "m", NULL, NULL),
                     TINKC_OK);
    return service;
}

static void open_gate(tinkc_future *future, void *user)
{
    fakeapi_gate_open(user);
}

/* M-046: it arrives before the close returns, and before the last events; what runs is
 * cancelled first: the server here answers only then. */
static void test_finish_arrives(void **unused)
{
    static const char *const loops[] = {"thread", "manual"};
    for (size_t i = 0; i < TK_ARRAY_LEN(loops); i++) {
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        fakeapi_gate *gate = fakeapi_gate_new(api), *end = fakeapi_gate_new(api);
        fakeapi_default(api, "GET", "/api/v1/healthz",
                        &(fakeapi_step){.body = "{}", .gate = gate});
        fakeapi_default(api, "POST", FINISHP, &(fakeapi_step){.body = "{}", .gate = end});
        tinkc_service *service = open_with_session(
            api, (const char *const[]){"loop", loops[i], "finish_drain", "none", NULL});
        tinkc_future *future = tinkc_service_health(service);
        while (fakeapi_gate_waiting(gate) == 0) {
            (void)tinkc_future_wait(future, 5);
        }
        assert_int_equal(tinkc_future_on_done(future, open_gate, end, NULL), TINKC_OK);
        tinkc_service_close(&service);
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
        tinkc_future_free(&future);
        assert_int_equal(fakeapi_count(api, "POST", FINISHP), 1);
        const fakeapi_request *finish = fakeapi_nth(api, "POST", FINISHP, 0);
        for (size_t at = 0; at < fakeapi_total(api); at++) {
            const fakeapi_request *other = fakeapi_request_at(api, at);
            assert_true(at <= finish->index || strstr(other->path, "telemetry") != NULL);
        }
        fakeapi_stop(&api);
    }
}

/* A server that asks for patience gets it again. */
static void test_finish_retries(void **unused)
{
    fakeapi *api = fakeapi_start();
    tk_err err = TK_ERR_INIT;
    fakeapi_tinker(api, NULL);
    fakeapi_reply(api, "POST", FINISHP, &fakeapi_status(503, "{}"));
    tinkc_config *config =
        servicefix_config(api, (const char *const[]){"finish_drain", "none", NULL});
    tinkc_service *service = NULL;
    assert_int_equal(
        tk_service_open(&service, config, &(tk_core_seams){.most_pause_ms = 1}, &err),
        TINKC_OK);
    tinkc_config_free(&config);
    assert_int_equal(tinkc_service_create_sampling_wait(NULL, service, "m", NULL, NULL),
                     TINKC_OK);
    tinkc_service_close(&service);
    assert_int_equal(fakeapi_count(api, "POST", FINISHP), 2);
    fakeapi_stop(&api);
}

/* A server that is gone, or drops the connection, is not asked again, however long the
 * close may wait. */
static void test_finish_server_gone(void **unused)
{
    static const char *const options[] = {"finish_drain", "none", "telemetry", "false",
                                          NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = open_with_session(api, options);
    fakeapi_default(api, "POST", FINISHP, &(fakeapi_step){.fault = FAKEAPI_RESET});
    tinkc_service_close(&service);
    service = open_with_session(api, options);
    fakeapi_stop(&api);
    tinkc_service_close(&service);
    assert_null(service);
}

/* a server that hangs while operations run does not hold the close. */
static void test_finish_hung_server(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "GET", "/api/v1/healthz",
                    &(fakeapi_step){.body = "{}", .gate = gate});
    fakeapi_default(api, "POST", FINISHP, &(fakeapi_step){.body = "{}", .gate = gate});
    tinkc_service *service =
        open_with_session(api, (const char *const[]){"finish_drain", "86400000", NULL});
    tinkc_future *future = tinkc_service_health(service);
    while (fakeapi_gate_waiting(gate) == 0) {
        (void)tinkc_future_wait(future, 5);
    }
    tinkc_service_close(&service);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    fakeapi_stop(&api);
}

/* Not from a forked child, whose parent goes on. */
static void test_finish_after_fork(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = open_with_session(api, SERVICEFIX_QUIET);
    pid_t child = fork();
    if (child == 0) {
        bool refused = tinkc_service_set_finish(service, TINKC_FINISH_ERRORED, NULL,
                                                NULL) == TINKC_E_STATE;
        tinkc_service_close(&service);
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(fakeapi_count(api, "POST", FINISHP), 0);
    tinkc_service_close(&service);
    assert_int_equal(fakeapi_count(api, "POST", FINISHP), 1);
    assert_non_null(strstr(fakeapi_nth(api, "POST", FINISHP, 0)->body, "success"));
    fakeapi_stop(&api);
}

/* ---- allocation failures ---- */

static bool sweep_once(void *user)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    bool ok =
        tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
        tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
        tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
        tinkc_config_set(config, "telemetry", "false", NULL) == TINKC_OK &&
        tinkc_service_open(&service, config, NULL) == TINKC_OK &&
        tinkc_service_create_sampling_wait(NULL, service, "m", NULL, NULL) == TINKC_OK &&
        tinkc_service_set_finish(service, TINKC_FINISH_ERRORED, "d", NULL) == TINKC_OK;
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    ok = ok && fakeapi_count(api, "POST", FINISHP) == 1;
    fakeapi_stop(&api);
    return ok && !failmem_fired(); /* without memory the server is not told */
}

static void test_finish_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finish_reasons),
        cmocka_unit_test(test_finish_refuses),
        cmocka_unit_test(test_finish_not_sent),
        cmocka_unit_test(test_finish_second_handle),
        cmocka_unit_test(test_finish_refused),
        cmocka_unit_test(test_finish_slow_server),
        cmocka_unit_test(test_finish_arrives),
        cmocka_unit_test(test_finish_retries),
        cmocka_unit_test(test_finish_server_gone),
        cmocka_unit_test(test_finish_hung_server),
        cmocka_unit_test(test_finish_after_fork),
        cmocka_unit_test(test_finish_allocation_sweep),
    };
    return cmocka_run_group_tests_name("finish", tests, NULL, NULL);
}
