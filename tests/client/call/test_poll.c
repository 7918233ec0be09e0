/* The polling loop on a scripted transport and a fake clock: the rows of the
 * retrieve_future table about statuses (docs/protocol.md §4, 1 to 11), and what is
 * reported meanwhile. Rows 12 to 19 are
 * test_poll_answers.c's. */
#include "support/pollfix.h"

static const fakeanswer bare = {.status = 400};

/* row 1. */
static void test_poll_row_1_connection(void **unused)
{
    static const fakeanswer faults[] = {{.failure = TK_HTTP_DNS},
                                        {.failure = TK_HTTP_CONNECT},
                                        {.failure = TK_HTTP_TLS},
                                        {.failure = TK_HTTP_RESET},
                                        {.failure = TK_HTTP_TIMEOUT},
                                        {.status = 400},
                                        {.status = 400, .body = "x", .no_length = true}};
    static const int64_t delays[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        pollfix p;
        pollfix_open(&p);
        assert_int_equal(faketransport_nth(&p.f.net, POLL, 0)->timeout_ms, 45000);
        assert_int_equal(faketransport_nth(&p.f.net, POLL, 0)->group, TK_HTTP_FUTURES);
        for (size_t j = 0; j < TK_ARRAY_LEN(delays); j++) {
            pollfix_answer(&p, faults[i]);
            pollfix_again(&p, delays[j]);
        }
        pollfix_close(&p);
    }
}

/* M-095: a server that answers a long poll at once, and says nothing, is asked ten
 * times a second: rows 2, 3, 5, 6 and 13, counted from the start of the poll before. */
static void test_poll_instant_answers(void **unused)
{
    static const fakeanswer useless[] = {
        {.status = 408},
        {.status = 408, .body = "{\"retry_after_ms\":0}"},
        {.status = 408, .body = "{\"retry_after_ms\":1}"},
        {.status = 503, .body = "{}"},
        {.status = 503, .headers = {"retry-after-ms", "1"}},
        {.body = "{\"type\":\"try_again\"}"},
        {.body = "{\"type\":\"try_again\",\"retry_after_ms\":-5}"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(useless); i++) {
        pollfix p;
        pollfix_open(&p);
        faketransport_default(&p.f.net, POLL, useless[i]);
        p.hold_ms = 0;
        pollfix_answer(&p, useless[i]);
        size_t before = faketransport_count(&p.f.net, POLL);
        clientfix_advance(&p.f, 10000);
        assert_in_range(faketransport_count(&p.f.net, POLL) - before, 90, 100);
        pollfix_close(&p);
    }
}

/* The hint in the body counts as one in a header does; the longer one rules. */
static void test_poll_hint_in_body(void **unused)
{
    static const struct {
        int status;
        const char *body, *header;
        int64_t delay_ms;
    } rows[] = {
        {408, "{\"retry_after_ms\":2500}", NULL, 2500},
        {200, "{\"type\":\"try_again\",\"retry_after_ms\":2500}", NULL, 2500},
        {200, "{\"type\":\"try_again\",\"retry_after_ms\":9000000}", NULL, 3600000},
        {200, "{\"type\":\"try_again\",\"retry_after_ms\":2500}", "4000", 4000},
        {408, "{\"retry_after_ms\":2500}", "1000", 2500},
        {200, "{\"type\":\"try_again\"}", "4000", 4000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        pollfix p;
        pollfix_open(&p);
        pollfix_answer(
            &p, (fakeanswer){.status = rows[i].status,
                             .body = rows[i].body,
                             .headers = {rows[i].header != NULL ? "retry-after-ms" : NULL,
                                         rows[i].header}});
        pollfix_again(&p, rows[i].delay_ms);
        pollfix_close(&p);
    }
}

/* A-152, M-094: row 2: no delay after a poll that the server held; both counters start
 * over. */
static void test_poll_row_2_408(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 1000);
    for (int i = 0; i < 3; i++) {
        pollfix_status(&p, 400);
        pollfix_again(&p, 0);
    }
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 1000);
    pollfix_status(&p, 408);
    pollfix_again(&p, 0);
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 1000); /* not 2 s */
    for (int i = 0; i < 3; i++) {
        pollfix_status(&p, 400);
        pollfix_again(&p, 0);
    }
    pollfix_close(&p);
}

/* row 3: a body that is not JSON leaves the count of bad requests alone;
 * connection errors count from 0 again. */
static void test_poll_row_3_408_text(void **unused)
{
    static const char *const bodies[] = {"<html>", "null", ""};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        pollfix p;
        pollfix_open(&p);
        pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        pollfix_again(&p, 1000);
        for (int j = 0; j < 3; j++) {
            pollfix_status(&p, 400);
            pollfix_again(&p, 0);
        }
        pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        pollfix_again(&p, 1000);
        pollfix_answer(&p, (fakeanswer){.status = 408, .body = bodies[i]});
        pollfix_again(&p, 0);
        pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        pollfix_again(&p, 1000); /* not 2 s */
        pollfix_status(&p, 400);
        pollfix_failed(&p, TINKC_E_BAD_REQUEST);
        pollfix_close(&p);
    }
}

/* A-152, M-094: row 4, A-084: as row 1, unless the server says how long. */
static void test_poll_row_4_429(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_status(&p, 429);
    pollfix_again(&p, 1000);
    pollfix_status(&p, 429);
    pollfix_again(&p, 2000);
    pollfix_answer(&p, (fakeanswer){.status = 429, .headers = {"retry-after", "11"}});
    pollfix_again(&p, 11000);
    pollfix_status(&p, 429);
    pollfix_again(&p, 8000);
    pollfix_close(&p);
}

/* a hint rules after any status that is polled again, up to an hour and not below
 * the floor between two polls. */
static void test_poll_hints(void **unused)
{
    static const struct {
        int status;
        const char *name, *value;
        int64_t delay_ms;
    } rows[] = {{429, "retry-after", "61", 61000},  {429, "retry-after", "7200", 3600000},
                {429, "retry-after-ms", "1", 100},  {503, "retry-after", "3", 3000},
                {503, "retry-after-ms", "1", 100},  {408, "retry-after", "2", 2000},
                {402, "retry-after-ms", "1", 5000}, {402, "retry-after", "7", 7000},
                {400, "retry-after", "4", 4000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        pollfix p;
        pollfix_open(&p);
        pollfix_answer(&p, (fakeanswer){.status = rows[i].status,
                                        .body = "{}",
                                        .headers = {rows[i].name, rows[i].value}});
        pollfix_again(&p, rows[i].delay_ms);
        pollfix_close(&p);
    }
}

/* A date means what it means for the server: our clock may be in 1970 or in 2038. */
static void test_poll_hint_dates(void **unused)
{
    static const int64_t walls_s[] = {0, INT64_C(1767225600), INT64_C(2147483648)};
    for (size_t i = 0; i < TK_ARRAY_LEN(walls_s); i++) {
        pollfix p;
        pollfix_open(&p);
        fakeclock_set_wall_us(&p.f.clock, walls_s[i] * 1000000);
        pollfix_answer(
            &p,
            (fakeanswer){.status = 429,
                         .body = "{}",
                         .headers = {"date", "Thu, 01 Jan 2026 00:00:00 GMT",
                                     "retry-after", "Thu, 01 Jan 2026 00:00:07 GMT"}});
        pollfix_again(&p, 7000);
        pollfix_close(&p);
    }
}

/* a pause that the server asked for does not count as silence, and stuck_total
 * ends it. */
static void test_poll_hints_and_stuck(void **unused)
{
    fakeanswer later = {.status = 429, .body = "{}", .headers = {"retry-after", "3000"}};
    pollfix p;
    pollfix_open(&p);
    p.hold_ms = 0;
    pollfix_answer(&p, later);
    pollfix_again(&p, 3000000);
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 2000);
    pollfix_answer(&p, later);
    pollfix_again(&p, 3000000);
    pollfix_answer(&p, later); /* 6002 s have passed: 1198 of the two hours are left */
    pollfix_again(&p, 1198000);
    pollfix_answer(&p, later);
    pollfix_failed(&p, TINKC_E_STUCK);
    pollfix_close(&p);
}

/* A-152, M-095: row 5: at once in the official SDK; 100 ms here, so that an outage
 * does not make a busy loop. */
static void test_poll_row_5_server_errors(void **unused)
{
    static const int statuses[] = {500, 502, 503, 504, 599};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        pollfix p;
        pollfix_open(&p);
        pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        pollfix_again(&p, 1000);
        for (int j = 0; j < 5; j++) {
            pollfix_status(&p, statuses[i]);
            pollfix_again(&p, 100);
        }
        pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        pollfix_again(&p, 1000);
        pollfix_close(&p);
    }
}

/* A-152, M-094: row 6: three bad requests are forgiven, at once; connection errors
 * count from 0 again. */
static void test_poll_row_6_bad_request(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    for (int i = 0; i < 3; i++) {
        pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
        pollfix_again(&p, 1000);
        pollfix_status(&p, 400);
        pollfix_again(&p, 0);
    }
    pollfix_close(&p);
}

/* row 7: the fourth is not; what comes between forgives nothing, but for a 408. */
static void test_poll_row_7_bad_request(void **unused)
{
    static const int between[] = {429, 503};
    for (size_t i = 0; i < TK_ARRAY_LEN(between); i++) {
        pollfix p;
        pollfix_open(&p);
        for (int k = 0; k < 3; k++) {
            pollfix_status(&p, 400);
            pollfix_again(&p, 0);
        }
        pollfix_status(&p, between[i]);
        clientfix_advance(&p.f, 30000);
        pollfix_status(&p, 400);
        pollfix_failed(&p, TINKC_E_BAD_REQUEST);
        pollfix_close(&p);
    }
}

/* P, docs/protocol.md §5.2: after sixteen a bare 400 is what it says. */
static void test_poll_bare_400_budget(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    for (int i = 0; i < 16; i++) {
        pollfix_answer(&p, bare);
        clientfix_advance(&p.f, 30000);
        assert_int_equal(faketransport_open(&p.f.net, POLL), 1);
    }
    for (int i = 0; i < 3; i++) {
        pollfix_answer(&p, bare);
        pollfix_again(&p, 0);
    }
    pollfix_answer(&p, bare);
    pollfix_failed(&p, TINKC_E_BAD_REQUEST);
    pollfix_close(&p);
}

/* A-152, M-094: row 8: five seconds each, for as long as the window lasts. */
static void test_poll_row_8_billing(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    p.hold_ms = 0;
    for (int ms = 0; ms <= 3600000; ms += 5000) {
        pollfix_status(&p, 402);
        pollfix_again(&p, 5000);
    }
    pollfix_close(&p);
}

/* row 9: the window is over. */
static void test_poll_row_9_billing(void **unused)
{
    pollfix p;
    pollfix_open_as(&p, TK_FUTURE_OPTIM_STEP,
                    "{\"billing_exception_max_pause_duration_sec\":12}");
    for (int i = 0; i < 3; i++) {
        pollfix_status(&p, 402);
        pollfix_again(&p, 5000);
    }
    pollfix_status(&p, 402); /* 15 s after the first */
    pollfix_failed(&p, TINKC_E_PAYMENT);
    pollfix_close(&p);
}

/* Row 8 keeps the count of connection errors. */
static void test_poll_row_8_keeps_counts(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 1000);
    pollfix_status(&p, 402);
    pollfix_again(&p, 5000);
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_again(&p, 2000);
    pollfix_close(&p);
}

/* A-152, M-094: row 10. */
static void test_poll_row_10_gone(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    pollfix_status(&p, 410);
    pollfix_failed(&p, TINKC_E_GONE);
    assert_int_equal(p.err.http_status, 410);
    pollfix_close(&p);
}

/* row 11; 409 too. */
static void test_poll_row_11_others(void **unused)
{
    static const struct {
        int status;
        tinkc_code code;
    } rows[] = {{301, TINKC_E_STATUS},        {401, TINKC_E_AUTH},
                {403, TINKC_E_PERMISSION},    {404, TINKC_E_NOT_FOUND},
                {409, TINKC_E_CONFLICT},      {413, TINKC_E_STATUS},
                {422, TINKC_E_UNPROCESSABLE}, {425, TINKC_E_STATUS}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        pollfix p;
        pollfix_open(&p);
        pollfix_status(&p, rows[i].status);
        pollfix_failed(&p, rows[i].code);
        assert_int_equal(faketransport_count(&p.f.net, POLL), 1);
        pollfix_close(&p);
    }
}

/* 408 is never counted. */
static void test_poll_408_without_limit(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    for (int i = 0; i < 1000; i++) {
        pollfix_status(&p, 408);
        pollfix_again(&p, 0);
    }
    pollfix_answer(&p, (fakeanswer){.body = "{}"});
    assert_int_equal(p.code, TINKC_OK);
    pollfix_close(&p);
}

/* A-122, M-091: 0, 1, 2, ...; the round trip is reported once. */
static void test_poll_headers(void **unused)
{
    pollfix p;
    pollfix_open(&p);
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
        pollfix_status(&p, 408);
    }
    pollfix_close(&p);
}

/* A-123, M-097: both forms of "not yet" tell the observer what the server says. */
static void test_poll_observer(void **unused)
{
    static const struct {
        const char *word;
        tinkc_queue_state state;
    } rows[] = {{"active", TINKC_QUEUE_ACTIVE},
                {"paused_capacity", TINKC_QUEUE_PAUSED_CAPACITY},
                {"paused_rate_limit", TINKC_QUEUE_PAUSED_RATE_LIMIT},
                {"asleep", TINKC_QUEUE_UNKNOWN}};
    for (size_t i = 0; i < 2 * TK_ARRAY_LEN(rows); i++) {
        char body[160];
        pollfix p;
        pollfix_open(&p);
        (void)snprintf(body, sizeof(body),
                       "{\"type\":\"try_again\",\"queue_state\":\"%s\","
                       "\"queue_state_reason\":\"because\"}",
                       rows[i / 2].word);
        pollfix_answer(&p, (fakeanswer){.status = i % 2 == 0 ? 408 : 200, .body = body});
        assert_int_equal(p.states_n, 1);
        assert_int_equal(p.states[0], rows[i / 2].state);
        assert_string_equal(p.reason, "because");
        assert_string_equal(p.what, "model-1");
        /* an answer without a queue state reports none */
        pollfix_answer(&p, (fakeanswer){.status = 408, .body = "{\"detail\":\"x\"}"});
        assert_int_equal(p.states_n, 1);
        pollfix_close(&p);
    }
}

/* A-152, M-102: design §3: ten minutes without any answer, two hours without an end. */
static void test_poll_stuck(void **unused)
{
    pollfix p;
    pollfix_open(&p);
    faketransport_default(&p.f.net, POLL, (fakeanswer){.failure = TK_HTTP_RESET});
    pollfix_answer(&p, (fakeanswer){.failure = TK_HTTP_RESET});
    clientfix_advance(&p.f, 599000);
    assert_false(p.done);
    clientfix_advance(&p.f, 31000);
    pollfix_failed(&p, TINKC_E_STUCK);
    pollfix_close(&p);
    pollfix_open(&p);
    p.hold_ms = 0;
    for (int i = 0; i < 720; i++) {
        assert_false(p.done);
        clientfix_advance(&p.f, 10000);
        pollfix_status(&p, 408);
    }
    pollfix_failed(&p, TINKC_E_STUCK);
    pollfix_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll_row_1_connection),
        cmocka_unit_test(test_poll_instant_answers),
        cmocka_unit_test(test_poll_hint_in_body),
        cmocka_unit_test(test_poll_hint_dates),
        cmocka_unit_test(test_poll_row_2_408),
        cmocka_unit_test(test_poll_row_3_408_text),
        cmocka_unit_test(test_poll_row_4_429),
        cmocka_unit_test(test_poll_hints),
        cmocka_unit_test(test_poll_hints_and_stuck),
        cmocka_unit_test(test_poll_row_5_server_errors),
        cmocka_unit_test(test_poll_row_6_bad_request),
        cmocka_unit_test(test_poll_row_7_bad_request),
        cmocka_unit_test(test_poll_bare_400_budget),
        cmocka_unit_test(test_poll_row_8_billing),
        cmocka_unit_test(test_poll_row_9_billing),
        cmocka_unit_test(test_poll_row_8_keeps_counts),
        cmocka_unit_test(test_poll_row_10_gone),
        cmocka_unit_test(test_poll_row_11_others),
        cmocka_unit_test(test_poll_408_without_limit),
        cmocka_unit_test(test_poll_headers),
        cmocka_unit_test(test_poll_observer),
        cmocka_unit_test(test_poll_stuck),
    };
    return cmocka_run_group_tests_name("poll", tests, NULL, NULL);
}
