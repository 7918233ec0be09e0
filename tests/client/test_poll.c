/* The polling loop on a scripted transport and a fake clock: every row of the
 * retrieve_future table (wire.md §4), and what is told meanwhile (A-093, A-111, A-122,
 *
 */
#include <stdio.h>

#include "client/poll.h"
#include "support/clientfix.h"

#define POLL "retrieve_future"

typedef struct polled {
    clientfix f;
    tk_poll poll;
    bool done;
    tinkc_code code;
    tk_err err;
    char body[128];
    bool is_protobuf, has_json;
    size_t states_n;
    tinkc_queue_state states[16];
    char reason[64];
    char what[32];
} polled;

static void on_done(tk_poll *poll, const tk_poll_result *result)
{
    polled *p = poll->user;
    assert_false(p->done);
    p->done = true;
    p->code = result->code;
    if (result->err != NULL) {
        p->err = *result->err;
    }
    p->is_protobuf = result->is_protobuf;
    p->has_json = result->json != NULL;
    (void)snprintf(p->body, sizeof(p->body), TK_STR_FMT, TK_STR_ARG(result->body));
}

static void on_state(tinkc_queue_state state, const char *reason, const char *what,
                     void *user)
{
    polled *p = user;
    assert_true(p->states_n < TK_ARRAY_LEN(p->states));
    p->states[p->states_n++] = state;
    (void)snprintf(p->reason, sizeof(p->reason), "%s", reason);
    (void)snprintf(p->what, sizeof(p->what), "%s", what);
}

static void open_as(polled *p, tk_future_type type, const char *flags)
{
    *p = (polled){0};
    clientfix_open(&p->f, NULL);
    if (flags != NULL) {
        faketransport_default(&p->f.net, "client/config", (fakeanswer){.body = flags});
    }
    faketransport_default(&p->f.net, "healthz", (fakeanswer){.body = "{}"});
    assert_int_equal(tinkc_service_on_queue_state(p->f.service, on_state, p), TINKC_OK);
    tinkc_future *ready = tinkc_service_health(p->f.service);
    clientfix_turn(&p->f);
    assert_int_equal(tinkc_future_wait(ready, 0), TINKC_OK);
    tinkc_future_free(&ready);
    p->poll = (tk_poll){.core = tk_service_core(p->f.service),
                        .type = type,
                        .request_id = "r",
                        .what = "model-1",
                        .roundtrip_s = 0.25,
                        .done = on_done,
                        .user = p};
    tk_poll_start(&p->poll);
    clientfix_turn(&p->f);
}

static void open_polled(polled *p)
{
    open_as(p, TK_FUTURE_OPTIM_STEP, NULL);
}

static void close_polled(polled *p)
{
    tk_poll_cancel(&p->poll);
    assert_true(p->done);
    clientfix_close(&p->f);
}

static void answer(polled *p, fakeanswer said)
{
    assert_true(faketransport_answer(&p->f.net, POLL, said));
    clientfix_turn(&p->f);
}

static void answer_status(polled *p, int status)
{
    answer(p, (fakeanswer){.status = status, .body = "{\"detail\":\"x\"}"});
}

/* The next poll goes out after exactly so long. */
static void assert_again(polled *p, int64_t ms)
{
    assert_false(p->done);
    if (ms > 0) {
        assert_int_equal(faketransport_open(&p->f.net, POLL), 0);
        clientfix_advance(&p->f, ms - 1);
        assert_int_equal(faketransport_open(&p->f.net, POLL), 0);
        clientfix_advance(&p->f, 1);
    }
    assert_int_equal(faketransport_open(&p->f.net, POLL), 1);
}

static void assert_failed(polled *p, tinkc_code code)
{
    assert_true(p->done);
    assert_int_equal(p->code, code);
    assert_string_equal(p->err.request_id, "r");
    clientfix_advance(&p->f, 60000);
    assert_int_equal(faketransport_open(&p->f.net, POLL), 0);
}

static const fakeanswer bare = {.status = 400};

/* Row 1. */
static void test_poll_row_1_connection(void **unused)
{
    (void)unused;
    static const fakeanswer faults[] = {{.failure = TK_HTTP_DNS},
                                        {.failure = TK_HTTP_CONNECT},
                                        {.failure = TK_HTTP_TLS},
                                        {.failure = TK_HTTP_RESET},
                                        {.failure = TK_HTTP_TIMEOUT},
                                        {.status = 400},
                                        {.status = 400, .body = "x", .no_length = true}};
    static const int64_t delays[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        polled p;
        open_polled(&p);
        assert_int_equal(faketransport_nth(&p.f.net, POLL, 0)->timeout_ms, 45000);
        assert_int_equal(faketransport_nth(&p.f.net, POLL, 0)->group, TK_HTTP_FUTURES);
        for (size_t j = 0; j < TK_ARRAY_LEN(delays); j++) {
            answer(&p, faults[i]);
            assert_again(&p, delays[j]);
        }
        close_polled(&p);
    }
}

/* Row 2: no delay; both counters start over. */
static void test_poll_row_2_408(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_again(&p, 1000);
    for (int i = 0; i < 3; i++) {
        answer_status(&p, 400);
        assert_again(&p, 0);
    }
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_again(&p, 1000);
    answer_status(&p, 408);
    assert_again(&p, 0);
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_again(&p, 1000); /* not 2 s */
    for (int i = 0; i < 3; i++) {
        answer_status(&p, 400);
        assert_again(&p, 0);
    }
    close_polled(&p);
}

/* Row 3: a body that is no JSON leaves the count of bad requests alone; connection
 * errors count anew. */
static void test_poll_row_3_408_text(void **unused)
{
    (void)unused;
    static const char *const bodies[] = {"<html>", "null", ""};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        polled p;
        open_polled(&p);
        answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        assert_again(&p, 1000);
        for (int j = 0; j < 3; j++) {
            answer_status(&p, 400);
            assert_again(&p, 0);
        }
        answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        assert_again(&p, 1000);
        answer(&p, (fakeanswer){.status = 408, .body = bodies[i]});
        assert_again(&p, 0);
        answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        assert_again(&p, 1000); /* not 2 s */
        answer_status(&p, 400);
        assert_failed(&p, TINKC_E_BAD_REQUEST);
        close_polled(&p);
    }
}

/* Row 4, A-084: as row 1, unless the server says how long. */
static void test_poll_row_4_429(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    answer_status(&p, 429);
    assert_again(&p, 1000);
    answer_status(&p, 429);
    assert_again(&p, 2000);
    answer(&p, (fakeanswer){.status = 429, .headers = {"retry-after", "11"}});
    assert_again(&p, 11000);
    answer_status(&p, 429);
    assert_again(&p, 8000);
    close_polled(&p);
}

/* Row 5: at once in the official SDK; 100 ms here, so that an outage is no busy loop. */
static void test_poll_row_5_server_errors(void **unused)
{
    (void)unused;
    static const int statuses[] = {500, 502, 503, 504, 599};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        polled p;
        open_polled(&p);
        answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        assert_again(&p, 1000);
        for (int j = 0; j < 5; j++) {
            answer_status(&p, statuses[i]);
            assert_again(&p, 100);
        }
        answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        assert_again(&p, 1000);
        close_polled(&p);
    }
}

/* Row 6: three bad requests are forgiven, at once; connection errors count anew. */
static void test_poll_row_6_bad_request(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    for (int i = 0; i < 3; i++) {
        answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        assert_again(&p, 1000);
        answer_status(&p, 400);
        assert_again(&p, 0);
    }
    close_polled(&p);
}

/* Row 7: the fourth is not; what comes between forgives nothing, but for a 408. */
static void test_poll_row_7_bad_request(void **unused)
{
    (void)unused;
    static const int between[] = {429, 503};
    for (size_t i = 0; i < TK_ARRAY_LEN(between); i++) {
        polled p;
        open_polled(&p);
        for (int k = 0; k < 3; k++) {
            answer_status(&p, 400);
            assert_again(&p, 0);
        }
        answer_status(&p, between[i]);
        clientfix_advance(&p.f, 30000);
        answer_status(&p, 400);
        assert_failed(&p, TINKC_E_BAD_REQUEST);
        close_polled(&p);
    }
}

/* P, wire.md §5.2: after sixteen a bare 400 is what it says. */
static void test_poll_bare_400_budget(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    for (int i = 0; i < 16; i++) {
        answer(&p, bare);
        clientfix_advance(&p.f, 30000);
        assert_int_equal(faketransport_open(&p.f.net, POLL), 1);
    }
    for (int i = 0; i < 3; i++) {
        answer(&p, bare);
        assert_again(&p, 0);
    }
    answer(&p, bare);
    assert_failed(&p, TINKC_E_BAD_REQUEST);
    close_polled(&p);
}

/* Row 8: five seconds each, for as long as the window lasts. */
static void test_poll_row_8_billing(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    for (int ms = 0; ms <= 3600000; ms += 5000) {
        answer_status(&p, 402);
        assert_again(&p, 5000);
    }
    close_polled(&p);
}

/* Row 9: the window is over. */
static void test_poll_row_9_billing(void **unused)
{
    (void)unused;
    polled p;
    open_as(&p, TK_FUTURE_OPTIM_STEP,
            "{\"billing_exception_max_pause_duration_sec\":12}");
    for (int i = 0; i < 3; i++) {
        answer_status(&p, 402);
        assert_again(&p, 5000);
    }
    answer_status(&p, 402); /* 15 s after the first */
    assert_failed(&p, TINKC_E_PAYMENT);
    close_polled(&p);
}

/* Row 8 keeps the count of connection errors. */
static void test_poll_row_8_keeps_counts(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_again(&p, 1000);
    answer_status(&p, 402);
    assert_again(&p, 5000);
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_again(&p, 2000);
    close_polled(&p);
}

/* Row 10. */
static void test_poll_row_10_gone(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    answer_status(&p, 410);
    assert_failed(&p, TINKC_E_GONE);
    assert_int_equal(p.err.http_status, 410);
    close_polled(&p);
}

/* Row 11; 409 too. */
static void test_poll_row_11_others(void **unused)
{
    (void)unused;
    static const struct {
        int status;
        tinkc_code code;
    } rows[] = {{301, TINKC_E_STATUS},        {401, TINKC_E_AUTH},
                {403, TINKC_E_PERMISSION},    {404, TINKC_E_NOT_FOUND},
                {409, TINKC_E_CONFLICT},      {413, TINKC_E_STATUS},
                {422, TINKC_E_UNPROCESSABLE}, {425, TINKC_E_STATUS}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        polled p;
        open_polled(&p);
        answer_status(&p, rows[i].status);
        assert_failed(&p, rows[i].code);
        assert_int_equal(faketransport_count(&p.f.net, POLL), 1);
        close_polled(&p);
    }
}

/* Row 12. */
static void test_poll_row_12_protobuf(void **unused)
{
    (void)unused;
    polled p;
    open_as(&p, TK_FUTURE_SAMPLE, NULL);
    char accept[64];
    assert_true(faketransport_header(faketransport_nth(&p.f.net, POLL, 0), "accept",
                                     accept, sizeof(accept)));
    assert_string_equal(accept, "application/x-protobuf");
    answer(&p, (fakeanswer){
                   .body = "{\"type\":\"try_again\"}",
                   .headers = {"content-type", "application/x-protobuf; charset=x"}});
    assert_true(p.done && p.is_protobuf);
    assert_int_equal(p.code, TINKC_OK);
    assert_string_equal(p.body, "{\"type\":\"try_again\"}"); /* not looked into */
    close_polled(&p);
}

/* Row 13. */
static void test_poll_row_13_try_again(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_again(&p, 1000);
    for (int i = 0; i < 3; i++) {
        answer(&p, (fakeanswer){.body = "{\"type\":\"try_again\"}"});
        assert_again(&p, 0);
    }
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_again(&p, 1000);
    close_polled(&p);
}

static const fakeanswer metadata = {
    .body = "{\"status\":\"complete_metadata\",\"response_payload_size\":60}"};

/* Row 14: asks again at once, now for all of it. */
static void test_poll_row_14_metadata(void **unused)
{
    (void)unused;
    polled p;
    open_as(&p, TK_FUTURE_SAMPLE, NULL);
    assert_non_null(strstr(faketransport_nth(&p.f.net, POLL, 0)->body,
                           "\"allow_metadata_only\":true"));
    answer(&p, metadata);
    assert_again(&p, 0);
    assert_non_null(strstr(faketransport_nth(&p.f.net, POLL, 1)->body,
                           "\"allow_metadata_only\":false"));
    close_polled(&p);
}

/* Row 15: a server that answers the second time with metadata, too. */
static void test_poll_row_15_metadata(void **unused)
{
    (void)unused;
    polled p;
    open_as(&p, TK_FUTURE_SAMPLE, NULL);
    answer(&p, metadata);
    assert_again(&p, 0);
    answer(&p, metadata);
    assert_failed(&p, TINKC_E_DECODE);
    close_polled(&p);
}

/* Row 14: the payload waits for the budget of large results, and gives it back. */
static void test_poll_row_14_budget(void **unused)
{
    (void)unused;
    polled p;
    open_as(&p, TK_FUTURE_SAMPLE, "{\"inflight_response_bytes_semaphore_size\":50}");
    tk_budget *budget = tk_core_response_budget(tk_service_core(p.f.service));
    polled second = {.f = {.service = NULL}};
    second.poll = p.poll;
    second.poll.user = &second;
    tk_poll_start(&second.poll);
    answer(&p, metadata); /* 60 of 50: admitted, as anything was left */
    answer(&p, metadata); /* the second one's */
    assert_int_equal(faketransport_open(&p.f.net, POLL), 1);
    assert_int_equal(budget->remaining, -10);
    answer(&p, (fakeanswer){.body = "",
                            .headers = {"content-type", "application/x-protobuf"}});
    assert_true(p.done);
    assert_int_equal(faketransport_open(&p.f.net, POLL), 1);
    answer(&p, (fakeanswer){.status = 404});
    assert_true(second.done);
    assert_int_equal(budget->remaining, 50);
    close_polled(&p);
}

/* Row 16: any value under "error" fails; category in any case. */
static void test_poll_row_16_failed(void **unused)
{
    (void)unused;
    static const struct {
        const char *body, *text;
        tinkc_category category;
    } rows[] = {
        {"{\"error\":\"bad\",\"category\":\"user\"}", "bad", TINKC_CATEGORY_USER},
        {"{\"error\":\"bad\",\"category\":\"server\"}", "bad", TINKC_CATEGORY_SERVER},
        {"{\"error\":\"bad\",\"category\":\"unknown\"}", "bad", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":\"bad\"}", "bad", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":null}", "null", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":{\"a\":1},\"category\":7}", "{\"a\":1}", TINKC_CATEGORY_UNKNOWN}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        polled p;
        open_polled(&p);
        answer(&p, (fakeanswer){.body = rows[i].body});
        assert_failed(&p, TINKC_E_REQUEST);
        assert_int_equal(p.err.category, rows[i].category);
        assert_non_null(strstr(p.err.message, rows[i].text));
        close_polled(&p);
    }
}

/* Row 17. */
static void test_poll_row_17_legacy(void **unused)
{
    (void)unused;
    static const tk_future_type types[] = {TK_FUTURE_SAMPLE, TK_FUTURE_FORWARD,
                                           TK_FUTURE_FORWARD_BACKWARD};
    for (size_t i = 0; i < TK_ARRAY_LEN(types); i++) {
        polled p;
        open_as(&p, types[i], NULL);
        answer(&p, (fakeanswer){.body = "{\"sequences\":[]}"});
        assert_failed(&p, TINKC_E_DECODE);
        assert_non_null(strstr(p.err.message, "too old"));
        close_polled(&p);
    }
}

/* Row 18. */
static void test_poll_row_18_result(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    answer(&p, (fakeanswer){.body = "{\"metrics\":{\"a\":1}}"});
    assert_true(p.done && p.has_json && !p.is_protobuf);
    assert_int_equal(p.code, TINKC_OK);
    assert_string_equal(p.body, "{\"metrics\":{\"a\":1}}");
    close_polled(&p);
}

/* Row 19. */
static void test_poll_row_19_malformed(void **unused)
{
    (void)unused;
    static const char *const bodies[] = {"", "<html>", "[]", "7", "{\"a\":"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        polled p;
        open_polled(&p);
        answer(&p, (fakeanswer){.body = bodies[i]});
        assert_failed(&p, TINKC_E_DECODE);
        close_polled(&p);
    }
}

/* 408 is never counted. */
static void test_poll_408_without_limit(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    for (int i = 0; i < 1000; i++) {
        answer_status(&p, 408);
        assert_again(&p, 0);
    }
    answer(&p, (fakeanswer){.body = "{}"});
    assert_int_equal(p.code, TINKC_OK);
    close_polled(&p);
}

/* 0, 1, 2, ...; the round trip is told once. */
static void test_poll_headers(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    for (int i = 0; i < 4; i++) {
        char value[64], expected[16];
        const fakeseen *seen = faketransport_nth(&p.f.net, POLL, (size_t)i);
        (void)snprintf(expected, sizeof(expected), "%d", i);
        assert_true(faketransport_header(seen, "X-Tinker-Request-Iteration", value,
                                         sizeof(value)));
        assert_string_equal(value, expected);
        assert_true(
            faketransport_header(seen, "X-Tinker-Request-Type", value, sizeof(value)));
        assert_string_equal(value, "OptimStep");
        bool first = faketransport_header(seen, "X-Tinker-Create-Promise-Roundtrip-Time",
                                          value, sizeof(value));
        assert_true(first == (i == 0));
        answer_status(&p, 408);
    }
    close_polled(&p);
}

/* both forms of "not yet" tell the observer what the server says. */
static void test_poll_observer(void **unused)
{
    (void)unused;
    static const struct {
        const char *word;
        tinkc_queue_state state;
    } rows[] = {{"active", TINKC_QUEUE_ACTIVE},
                {"paused_capacity", TINKC_QUEUE_PAUSED_CAPACITY},
                {"paused_rate_limit", TINKC_QUEUE_PAUSED_RATE_LIMIT},
                {"asleep", TINKC_QUEUE_UNKNOWN}};
    for (size_t i = 0; i < 2 * TK_ARRAY_LEN(rows); i++) {
        char body[160];
        polled p;
        open_polled(&p);
        (void)snprintf(body, sizeof(body),
                       "{\"type\":\"try_again\",\"queue_state\":\"%s\","
                       "\"queue_state_reason\":\"because\"}",
                       rows[i / 2].word);
        answer(&p, (fakeanswer){.status = i % 2 == 0 ? 408 : 200, .body = body});
        assert_int_equal(p.states_n, 1);
        assert_int_equal(p.states[0], rows[i / 2].state);
        assert_string_equal(p.reason, "because");
        assert_string_equal(p.what, "model-1");
        /* nothing said, nothing told */
        answer(&p, (fakeanswer){.status = 408, .body = "{\"detail\":\"x\"}"});
        assert_int_equal(p.states_n, 1);
        close_polled(&p);
    }
}

/* design §3: ten minutes without any answer, two hours without an end. */
static void test_poll_stuck(void **unused)
{
    (void)unused;
    polled p;
    open_polled(&p);
    faketransport_default(&p.f.net, POLL, (fakeanswer){.failure = TK_HTTP_RESET});
    answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    clientfix_advance(&p.f, 599000);
    assert_false(p.done);
    clientfix_advance(&p.f, 31000);
    assert_failed(&p, TINKC_E_STUCK);
    close_polled(&p);
    open_polled(&p);
    for (int i = 0; i < 720; i++) {
        assert_false(p.done);
        clientfix_advance(&p.f, 10000);
        answer_status(&p, 408);
    }
    assert_failed(&p, TINKC_E_STUCK);
    close_polled(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll_row_1_connection),
        cmocka_unit_test(test_poll_row_2_408),
        cmocka_unit_test(test_poll_row_3_408_text),
        cmocka_unit_test(test_poll_row_4_429),
        cmocka_unit_test(test_poll_row_5_server_errors),
        cmocka_unit_test(test_poll_row_6_bad_request),
        cmocka_unit_test(test_poll_row_7_bad_request),
        cmocka_unit_test(test_poll_bare_400_budget),
        cmocka_unit_test(test_poll_row_8_billing),
        cmocka_unit_test(test_poll_row_9_billing),
        cmocka_unit_test(test_poll_row_8_keeps_counts),
        cmocka_unit_test(test_poll_row_10_gone),
        cmocka_unit_test(test_poll_row_11_others),
        cmocka_unit_test(test_poll_row_12_protobuf),
        cmocka_unit_test(test_poll_row_13_try_again),
        cmocka_unit_test(test_poll_row_14_metadata),
        cmocka_unit_test(test_poll_row_15_metadata),
        cmocka_unit_test(test_poll_row_14_budget),
        cmocka_unit_test(test_poll_row_16_failed),
        cmocka_unit_test(test_poll_row_17_legacy),
        cmocka_unit_test(test_poll_row_18_result),
        cmocka_unit_test(test_poll_row_19_malformed),
        cmocka_unit_test(test_poll_408_without_limit),
        cmocka_unit_test(test_poll_headers),
        cmocka_unit_test(test_poll_observer),
        cmocka_unit_test(test_poll_stuck),
    };
    return cmocka_run_group_tests_name("poll", tests, NULL, NULL);
}
