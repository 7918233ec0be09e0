/* The reporters on a fake clock (docs/protocol.md §9, M-142,
 * M-143, M-144): batches, periods, limits, sessions, and servers that do not want
 * events. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/uuid.h"
#include "client/insight/telemetry.h"
#include "support/failmem.h"
#include "support/samplefix.h"
#include "support/telefix.h"
#include "support/textfix.h"

/* 1,050 events give 11 posts; none is lost, in order, each within 5 s. */
static void test_telemetry_batches(void **unused)
{
    clientfix f;
    char data[32];
    clientfix_open(&f, telefix_on);
    for (int i = 0; i < 1050; i++) {
        (void)snprintf(data, sizeof(data), "{\"i\":%d}", i);
        assert_int_equal(telefix_log(&f, "counted", data), TINKC_OK);
        if (i % 70 == 0) {
            clientfix_turn(&f); /* full batches go meanwhile, others wait */
        }
    }
    clientfix_turn(&f);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 10);
    clientfix_advance(&f, 10000);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 11);
    int64_t next = 0;
    for (size_t i = 0; i < 11; i++) {
        const fakeseen *seen = faketransport_nth(&f.net, TELEMETRY, i);
        assert_int_equal(seen->group, TK_HTTP_TELEMETRY);
        assert_int_equal(seen->timeout_ms, 5000);
        const tk_telemetry_request *batch = telefix_batch(&f, i);
        assert_int_equal(batch->events_n, i < 10 ? 100 : 50);
        for (size_t j = 0; j < batch->events_n; j++, next++) {
            const tk_event *event = &batch->events[j];
            assert_int_equal(event->event_session_index.v, next);
            assert_int_equal(tk_json_get(event->event_data.v, "i")->as.integer, next);
        }
    }
    assert_int_equal(telefix_counts(&f).sent, 1050);
    assert_int_equal(telefix_counts(&f).queued, 0);
    clientfix_advance(&f, 60000);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 11);
    clientfix_close(&f);
}

/* what does not fit into 10,000 is counted and dropped. */
static void test_telemetry_overflow(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(telefix_log(&f, "counted", NULL), TINKC_OK);
    }
    for (int i = 0; i < 7; i++) {
        assert_int_equal(telefix_log(&f, "counted", NULL), TINKC_E_LIMIT);
    }
    assert_int_equal(telefix_counts(&f).dropped, 7);
    assert_int_equal(telefix_counts(&f).queued, 10000);
    for (int i = 0; i < 40; i++) {
        clientfix_turn(&f);
    }
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 100);
    assert_int_equal(telefix_counts(&f).sent, 10000);
    assert_int_equal(telefix_log(&f, "counted", NULL), TINKC_OK);
    clientfix_close(&f);
}

/* nor what does not fit into 16 MiB; what was sent makes room. */
static void test_telemetry_overflow_bytes(void **unused)
{
    clientfix f;
    static char data[8000];
    clientfix_open(&f, telefix_on);
    (void)snprintf(data, sizeof(data), "{\"a\":\"%07900d\"}", 0);
    const size_t fit = (16 << 20) / sizeof(data);
    size_t n = 0;
    while (n < 10000 && telefix_log(&f, "large", data) == TINKC_OK) {
        n++;
    }
    assert_in_range(n, fit - fit / 10, fit);
    assert_int_equal(telefix_counts(&f).queued, n);
    assert_int_equal(telefix_counts(&f).dropped, 1);
    for (int i = 0; i < 20; i++) {
        clientfix_turn(&f);
    }
    assert_int_equal(telefix_log(&f, "large", data), TINKC_OK);
    clientfix_close(&f);
}

/* One event waits ten seconds for others; then all that is there goes. */
static void test_telemetry_period(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    assert_int_equal(telefix_log(&f, "first", NULL), TINKC_OK);
    clientfix_advance(&f, 9999);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 0);
    assert_int_equal(telefix_log(&f, "second", NULL), TINKC_OK);
    clientfix_advance(&f, 1);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 1);
    assert_int_equal(telefix_batch(&f, 0)->events_n, 2);
    assert_int_equal(telefix_log(&f, "third", NULL), TINKC_OK);
    clientfix_advance(&f, 10000);
    assert_int_equal(telefix_batch(&f, 1)->events_n, 1);
    clientfix_close(&f);
}

/* A-137, M-142, M-144: events before the session have a separate id; later ones have
 * the session's, numbered from its start. SESSION_END comes with the close. */
static void test_telemetry_session(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    assert_int_equal(telefix_log(&f, "early", NULL), TINKC_OK);
    tinkc_sampling *sampling = samplefix_create(&f);
    assert_int_equal(tinkc_telemetry_event(f.service, "late", TINKC_SEVERITY_CRITICAL,
                                           "{\"x\":null}", NULL),
                     TINKC_OK);
    clientfix_advance(&f, 10000);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 2);
    const tk_telemetry_request *batch = telefix_batch(&f, 0);
    assert_true(tk_str_has_prefix(batch->session_id.v, "sessionless-"));
    assert_true(textfix_is_uuid(tk_str_of(batch->session_id.v.p + 12)));
    assert_int_equal(batch->events_n, 1);
    assert_int_equal(batch->events[0].event_session_index.v, 0);
    batch = telefix_batch(&f, 1);
    assert_string_equal(batch->session_id.v.p, "S");
    assert_string_equal(batch->platform.v.p, "Linux");
    assert_string_equal(batch->sdk_version.v.p, "0.36.0");
    assert_true(textfix_is_uuid(batch->process_uuid.v));
    assert_int_equal(batch->events_n, 2);
    assert_int_equal(batch->events[0].kind, TK_EVENT_SESSION_START);
    assert_int_equal(batch->events[0].event_session_index.v, 0);
    assert_int_equal(batch->events[0].timestamp.us, INT64_C(1767225600000000));
    assert_true(textfix_is_uuid(batch->events[0].event_id.v));
    assert_int_equal(batch->events[1].event_session_index.v, 1);
    assert_int_equal(batch->events[1].severity.v, TK_SEVERITY_CRITICAL);
    fakeclock_advance_ms(&f.clock, 73456);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&f.service);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 3);
    batch = telefix_batch(&f, 2);
    assert_int_equal(batch->events_n, 1);
    assert_int_equal(batch->events[0].kind, TK_EVENT_SESSION_END);
    assert_string_equal(batch->events[0].duration.v.p, "0:01:23.456000");
    faketransport_dispose(&f.net);
}

/* The process uuid that a fresh service reports. */
static void read_process(char out[40])
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    assert_int_equal(telefix_log(&f, "who", NULL), TINKC_OK);
    clientfix_advance(&f, 10000);
    (void)snprintf(out, 40, "%s", telefix_batch(&f, 0)->process_uuid.v.p);
    clientfix_close(&f);
}

/* M-144: a process keeps its uuid; a forked child has another one. */
static void test_telemetry_process(void **unused)
{
    char mine[40], again[40], theirs[40] = "";
    int ends[2], status = -1;
    read_process(mine);
    read_process(again);
    assert_string_equal(mine, again);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        read_process(theirs);
        _exit(write(ends[1], theirs, sizeof(theirs)) == sizeof(theirs) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], theirs, sizeof(theirs)), sizeof(theirs));
    assert_true(textfix_is_uuid(tk_str_of(theirs)));
    assert_string_not_equal(mine, theirs);
    close(ends[0]);
    close(ends[1]);
}

#define SERVICES 10

/* M-044: ten services in one process beat and report on their own; every
 * batch carries its own session's id, and all the same process. */
static void test_telemetry_ten_services(void **unused)
{
    static clientfix f[SERVICES];
    tinkc_sampling *sampling[SERVICES];
    char answers[SERVICES][64], finish[SERVICES][32], name[32], process[64] = "";
    for (size_t i = 0; i < SERVICES; i++) {
        clientfix_open(&f[i], telefix_on);
        (void)snprintf(answers[i], sizeof(answers[i]), "{\"session_id\":\"S%zu\"}", i);
        faketransport_default(&f[i].net, "create_session",
                              (fakeanswer){.body = answers[i]});
        (void)snprintf(finish[i], sizeof(finish[i]), "sessions/S%zu/finish", i);
        faketransport_default(&f[i].net, finish[i], (fakeanswer){.body = "{}"});
        sampling[i] = samplefix_create(&f[i]);
    }
    for (size_t i = 0; i < SERVICES; i++) {
        for (size_t j = 0; j <= i; j++) {
            (void)snprintf(name, sizeof(name), "of_service_%c", (char)('a' + i));
            assert_int_equal(telefix_log(&f[i], name, NULL), TINKC_OK);
        }
        clientfix_advance(&f[i], 10000);
    }
    for (size_t i = 0; i < SERVICES; i++) {
        (void)snprintf(name, sizeof(name), "S%zu", i);
        const tk_telemetry_request *batch = telefix_batch(&f[i], 0);
        assert_string_equal(batch->session_id.v.p, name);
        assert_int_equal(batch->events_n, i + 2); /* and the start */
        assert_int_equal(faketransport_count(&f[i].net, "session_heartbeat"), 1);
        if (i == 0) {
            (void)snprintf(process, sizeof(process), "%s", batch->process_uuid.v.p);
        }
        assert_string_equal(batch->process_uuid.v.p, process);
        tinkc_sampling_close(&sampling[i]);
        clientfix_close(&f[i]);
    }
}

/* A-143, M-143: off by option: no request, at no time. */
static void test_telemetry_off(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    assert_null(tk_core_telemetry(tk_service_core(f.service)));
    tinkc_sampling *sampling = samplefix_create(&f);
    assert_int_equal(telefix_log(&f, "nobody", NULL), TINKC_OK);
    assert_int_equal(tinkc_telemetry_flush(f.service, 0, NULL), TINKC_OK);
    assert_false(telefix_counts(&f).is_on);
    telefix_health(&f, (fakeanswer){.status = 404, .body = "{}"});
    clientfix_advance(&f, 60000);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&f.service);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 0);
    faketransport_dispose(&f.net);
}

/* A-143, M-143: off by the environment, as the official SDK reads it. */
static void test_telemetry_off_by_env(void **unused)
{
    static const struct {
        const char *value;
        bool is_on;
    } rows[] = {{"0", false}, {"nope", false}, {"YES", true}, {NULL, true}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_config *config = NULL;
        tinkc_service *service = NULL;
        if (rows[i].value != NULL) {
            assert_int_equal(setenv("TINKER_TELEMETRY", rows[i].value, 1), 0);
        }
        assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
        assert_int_equal(unsetenv("TINKER_TELEMETRY"), 0);
        assert_int_equal(tinkc_config_set(config, "base_url", "http://127.0.0.1:1", NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
        assert_int_equal(tk_core_telemetry(tk_service_core(service)) != NULL,
                         rows[i].is_on);
        tinkc_service_close(&service);
        tinkc_config_free(&config);
    }
}

/* One sample, answered at once. */
static void run_sample(clientfix *f, tinkc_sampling *sampling)
{
    tinkc_future *future = samplefix_sample(f, sampling, 3);
    assert_true(samplefix_accept(f));
    assert_true(faketransport_answer(&f->net, POLL, samplefix_result()));
    clientfix_turn(f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
}

/* an endpoint that answers 500 is asked eight times, with growing pauses, while
 * work goes on as if it were not there; then never again, and nothing is queued any
 * more. */
static void test_telemetry_given_up(void **unused)
{
    static const int64_t pauses[] = {1, 2, 4, 8, 16, 30, 30};
    clientfix f;
    clientfix_open(&f, telefix_on);
    faketransport_default(&f.net, TELEMETRY, (fakeanswer){.status = 500, .body = "{}"});
    tinkc_sampling *sampling = samplefix_create(&f);
    clientfix_advance(&f, 10000);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 1);
    for (size_t i = 0; i < TK_ARRAY_LEN(pauses); i++) {
        run_sample(&f, sampling);
        clientfix_advance(&f, pauses[i] * 1000 - 1);
        assert_int_equal(faketransport_count(&f.net, TELEMETRY), i + 1);
        clientfix_advance(&f, 1);
        assert_int_equal(faketransport_count(&f.net, TELEMETRY), i + 2);
    }
    assert_false(telefix_counts(&f).is_on);
    assert_int_equal(telefix_counts(&f).queued, 0);
    assert_non_null(strstr(f.log, "info telemetry: given up"));
    telefix_health(&f, (fakeanswer){.status = 404, .body = "{}"});
    for (int i = 0; i < 50; i++) {
        run_sample(&f, sampling);
        clientfix_advance(&f, 60000);
    }
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&f.service);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 8);
    assert_int_equal(faketransport_count(&f.net, SAMPLE), 57);
    assert_int_equal(faketransport_count(&f.net, POLL), 57);
    faketransport_dispose(&f.net);
}

/* What a server says decides how often it is asked; a batch that was not accepted goes
 * out again as it was. */
static void test_telemetry_refusals(void **unused)
{
    static const struct {
        fakeanswer answer;
        size_t asked;
    } rows[] = {{{.status = 404, .body = "{}"}, 1}, {{.status = 405, .body = "{}"}, 1},
                {{.status = 501, .body = "{}"}, 1}, {{.status = 422, .body = "{}"}, 8},
                {{.status = 429, .body = "{}"}, 8}, {{.body = "{\"status\":\"ok\"}"}, 8},
                {{.body = "accepted"}, 8},          {{.failure = TK_HTTP_CONNECT}, 8},
                {{.failure = TK_HTTP_TIMEOUT}, 8}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, telefix_on);
        faketransport_default(&f.net, TELEMETRY, rows[i].answer);
        assert_int_equal(telefix_log(&f, "refused", NULL), TINKC_OK);
        clientfix_advance(&f, 3600000);
        assert_int_equal(faketransport_count(&f.net, TELEMETRY), rows[i].asked);
        for (size_t j = 1; j < rows[i].asked; j++) {
            assert_string_equal(faketransport_nth(&f.net, TELEMETRY, j)->body,
                                faketransport_nth(&f.net, TELEMETRY, 0)->body);
        }
        assert_int_equal(telefix_counts(&f).dropped, 1);
        clientfix_close(&f);
    }
}

/* a hint makes a pause longer, up to an hour, and never shorter. */
static void test_telemetry_hints(void **unused)
{
    static const struct {
        const char *value;
        int64_t pause_ms;
    } rows[] = {{"0.5", 1000}, {"120", 120000}, {"7200", 3600000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, telefix_on);
        faketransport_default(&f.net, TELEMETRY,
                              (fakeanswer){.status = 429,
                                           .body = "{}",
                                           .headers = {"retry-after", rows[i].value}});
        assert_int_equal(telefix_log(&f, "later", NULL), TINKC_OK);
        clientfix_advance(&f, 10000);
        assert_int_equal(faketransport_count(&f.net, TELEMETRY), 1);
        clientfix_advance(&f, rows[i].pause_ms - 1);
        assert_int_equal(faketransport_count(&f.net, TELEMETRY), 1);
        clientfix_advance(&f, 1);
        assert_int_equal(faketransport_count(&f.net, TELEMETRY), 2);
        clientfix_close(&f);
    }
}

/* A server that comes back gets what has gathered meanwhile; the pauses start over. */
static void test_telemetry_recovers(void **unused)
{
    clientfix f;
    clientfix_open(&f, telefix_on);
    faketransport_default(&f.net, TELEMETRY, (fakeanswer){.status = 503, .body = "{}"});
    assert_int_equal(telefix_log(&f, "patient", NULL), TINKC_OK);
    clientfix_advance(&f, 10000 + 1000 + 2000);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 3);
    for (int i = 0; i < 250; i++) {
        assert_int_equal(telefix_log(&f, "gathered", NULL), TINKC_OK);
    }
    faketransport_default(&f.net, TELEMETRY,
                          (fakeanswer){.body = "{\"status\":\"accepted\"}"});
    clientfix_advance(&f, 10000);
    assert_int_equal(telefix_counts(&f).sent, 251);
    assert_int_equal(faketransport_count(&f.net, TELEMETRY), 7);
    assert_int_equal(telefix_counts(&f).dropped, 0);
    clientfix_close(&f);
}

/* Whatever allocation fails, nothing but events is lost, and nothing leaks. */
static void test_telemetry_allocation_failures(void **unused)
{
    size_t points = 0;
    for (size_t n = 0; n <= points; n++) {
        clientfix f;
        failmem_start();
        clientfix_open(&f, telefix_on);
        tinkc_sampling *sampling = samplefix_create(&f);
        size_t before = failmem_count();
        failmem_fail_at(n);
        for (int i = 0; i < 3; i++) {
            (void)telefix_log(&f, "fragile", "{\"a\":[{\"b\":\"text\"}]}");
        }
        clientfix_advance(&f, 10000);
        points = n == 0 ? failmem_count() - before : points;
        tinkc_telemetry_counts counts = telefix_counts(&f);
        failmem_fail_at(0);
        assert_true(n > 0 || (counts.sent == 4 && counts.dropped == 0));
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
        assert_int_equal(failmem_stop(), 0);
    }
    assert_true(points > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_telemetry_batches),
        cmocka_unit_test(test_telemetry_overflow),
        cmocka_unit_test(test_telemetry_overflow_bytes),
        cmocka_unit_test(test_telemetry_period),
        cmocka_unit_test(test_telemetry_session),
        cmocka_unit_test(test_telemetry_process),
        cmocka_unit_test(test_telemetry_ten_services),
        cmocka_unit_test(test_telemetry_off),
        cmocka_unit_test(test_telemetry_off_by_env),
        cmocka_unit_test(test_telemetry_given_up),
        cmocka_unit_test(test_telemetry_refusals),
        cmocka_unit_test(test_telemetry_hints),
        cmocka_unit_test(test_telemetry_recovers),
        cmocka_unit_test(test_telemetry_allocation_failures),
    };
    return cmocka_run_group_tests_name("telemetry", tests, NULL, NULL);
}
