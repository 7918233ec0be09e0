/* The layers around the request loop on a scripted transport and a fake clock: P, L2 and
 * the billing pause, row by row (docs/protocol.md §5.2, §5.3, §5.5). */
#include "support/callfix.h"

/* M-030: docs/protocol.md §5.2: a bare 400 is a broken connection: a new one is used,
 * sixteen times. */
static void test_call_pool(void **unused)
{
    static const fakeanswer bare[] = {
        {.status = 400},
        {.status = 400, .body = "{\"detail\":\"x\"}", .no_length = true}};
    for (size_t i = 0; i < TK_ARRAY_LEN(bare); i++) {
        callfix c;
        callfix_open(&c, L2_PATH);
        assert_false(faketransport_nth(&c.f.net, L2_PATH, 0)->fresh_connection);
        for (size_t j = 1; j <= 9; j++) {
            callfix_answer(&c, bare[i]);
            clientfix_advance(&c.f, 30000);
            const fakeseen *next = faketransport_nth(&c.f.net, L2_PATH, j);
            assert_non_null(next);
            assert_true(next->fresh_connection);
        }
        callfix_close(&c);
    }
    callfix c;
    callfix_open(&c, L2_PATH);
    callfix_answer(&c, (fakeanswer){.status = 400, .body = "{\"detail\":\"really\"}"});
    assert_true(c.done); /* with a body of a known length it is a real one */
    assert_int_equal(c.code, TINKC_E_BAD_REQUEST);
    callfix_close(&c);
}

/* M-030: sixteen bare 400 are forgiven, the next one is an error. */
static void test_call_pool_budget(void **unused)
{
    callfix c;
    callfix_open(&c, L1_PATH); /* no layer above: each bare 400 ends the call */
    tk_retry_pool *pool = tk_core_pool(tk_service_core(c.f.service), TK_HTTP_SESSION);
    for (int left = pool->budget; left > 0; left--) {
        callfix_answer(&c, (fakeanswer){.status = 400});
        assert_true(c.done);
        assert_int_equal(c.code, TINKC_E_CONNECTION);
        assert_int_equal(pool->budget, left - 1);
        c.done = false;
        tk_call_start(&c.call);
        clientfix_turn(&c.f);
    }
    callfix_answer(&c, (fakeanswer){.status = 400});
    assert_int_equal(c.code, TINKC_E_BAD_REQUEST);
    c.done = false;
    tk_call_start(&c.call);
    clientfix_turn(&c.f);
    callfix_answer(&c, (fakeanswer){.body = "{}"});
    assert_int_equal(c.code, TINKC_OK);
    assert_int_equal(pool->budget, 1);
    callfix_close(&c);
}

/* docs/protocol.md §5.2: a success gives one back, and never fills the budget beyond
 * 16. */
static void test_call_pool_refill(void **unused)
{
    callfix c;
    callfix_open(&c, L1_PATH);
    tk_retry_pool *pool = tk_core_pool(tk_service_core(c.f.service), TK_HTTP_SESSION);
    pool->budget = TK_RETRY_POOL_BUDGET - 1;
    for (int i = 0; i < 2; i++) {
        callfix_answer(&c, (fakeanswer){.body = "{}"});
        assert_true(c.done);
        assert_int_equal(pool->budget, TK_RETRY_POOL_BUDGET);
        c.done = false;
        tk_call_start(&c.call);
        clientfix_turn(&c.f);
    }
    callfix_close(&c);
}

/* docs/protocol.md §5.2: what is neither a success nor a bare 400 leaves the budget as it
 * is. */
static void test_call_pool_untouched(void **unused)
{
    static const char *const options[] = {"max_retries", "0", NULL};
    static const fakeanswer rows[] = {{.status = 503, .body = "{}"},
                                      {.status = 404, .body = "{}"},
                                      {.status = 400, .body = "{\"detail\":\"x\"}"},
                                      {.failure = TK_HTTP_RESET},
                                      {.failure = TK_HTTP_TIMEOUT}};
    callfix c;
    callfix_open_with(&c, L1_PATH, options, NULL);
    tk_retry_pool *pool = tk_core_pool(tk_service_core(c.f.service), TK_HTTP_SESSION);
    callfix_answer(&c, (fakeanswer){.body = "{}"});
    pool->budget = 7;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        c.done = false;
        tk_call_start(&c.call);
        clientfix_turn(&c.f);
        assert_false(faketransport_nth(&c.f.net, L1_PATH, i + 1)->fresh_connection);
        callfix_answer(&c, rows[i]);
        assert_true(c.done);
        assert_int_equal(pool->budget, 7);
    }
    callfix_close(&c);
}

/* docs/protocol.md §5.3: 1, 2, 4, 8, 16, 30 ... s until 300 s have passed; a new key each
 * time. */
static void test_call_l2(void **unused)
{
    static const fakeanswer faults[] = {
        {.status = 503, .body = "{}"}, {.status = 408, .body = "{}"},
        {.status = 409, .body = "{}"}, {.status = 429, .body = "{}"},
        {.failure = TK_HTTP_RESET},    {.failure = TK_HTTP_TIMEOUT}};
    static const int64_t delays[] = {1000,  2000,  4000,  8000,  16000, 30000, 30000,
                                     30000, 30000, 30000, 30000, 30000, 30000, 29000};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        callfix c;
        callfix_open(&c, L2_PATH);
        for (size_t j = 0; j < TK_ARRAY_LEN(delays); j++) {
            callfix_answer(&c, faults[i]);
            callfix_again(&c, delays[j], delays[j]);
        }
        callfix_answer(&c, faults[i]);
        assert_true(c.done);
        char first[64], second[64];
        callfix_header(&c, 0, "x-idempotency-key", first);
        callfix_header(&c, 1, "x-idempotency-key", second);
        assert_string_not_equal(first, second);
        callfix_close(&c);
    }
}

/* L2 does not ask x-should-retry, and nothing else is tried again. */
static void test_call_l2_statuses(void **unused)
{
    static const int final[] = {301, 401, 403, 404, 410, 413, 422, 425};
    for (size_t i = 0; i < TK_ARRAY_LEN(final); i++) {
        callfix c;
        callfix_open(&c, L2_PATH);
        callfix_answer(&c, (fakeanswer){.status = final[i], .body = "{}"});
        assert_true(c.done);
        callfix_close(&c);
    }
    callfix c;
    callfix_open(&c, L2_PATH);
    callfix_answer(&c, (fakeanswer){.status = 503,
                                    .body = "{}",
                                    .headers = {"x-should-retry", "false"}});
    callfix_again(&c, 1000, 1000);
    callfix_close(&c);
}

/* L1 first, L2 around it. */
static void test_call_both(void **unused)
{
    callfix c;
    callfix_open(&c, BOTH_PATH);
    faketransport_default(&c.f.net, BOTH_PATH, (fakeanswer){.failure = TK_HTTP_RESET});
    callfix_answer(&c, (fakeanswer){.failure = TK_HTTP_RESET});
    clientfix_advance(&c.f, 400000);
    size_t n = faketransport_count(&c.f.net, BOTH_PATH), rounds = 0;
    assert_true(c.done);
    for (size_t i = 0; i < n; i++) {
        char value[64];
        callfix_header(&c, i, "x-stainless-retry-count", value);
        rounds += strcmp(value, "0") == 0;
    }
    assert_int_equal(n, rounds * 11);
    assert_true(rounds >= 5);
    callfix_close(&c);
}

static void open_billing(callfix *c)
{
    callfix_open_with(c, L2_PATH, NULL,
                      "{\"billing_exception_max_pause_duration_sec\":20}");
}

/* One 402 and its pause. */
static void pause_once(callfix *c)
{
    callfix_answer(c, (fakeanswer){.status = 402, .body = "{}"});
    callfix_again(c, 5000, 5000);
}

/* M-083: docs/protocol.md §5.5: five seconds each, until the window ends; then it is
 * fatal. */
static void test_call_billing(void **unused)
{
    callfix c;
    open_billing(&c);
    for (int i = 0; i < 5; i++) {
        pause_once(&c);
    }
    callfix_answer(&c, (fakeanswer){.status = 402, .body = "{\"detail\":\"pay\"}"});
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_PAYMENT);
    callfix_close(&c);
}

static size_t lines_with(const clientfix *f, const char *text)
{
    size_t n = 0;
    for (const char *at = strstr(f->log, text); at != NULL; at = strstr(at + 1, text)) {
        n++;
    }
    return n;
}

/* docs/protocol.md §5.5 (2), (3): a warning at first and when the last one is older than
 * a minute, an error at the end. */
static void test_call_billing_log(void **unused)
{
    callfix c;
    callfix_open_with(&c, L2_PATH, NULL,
                      "{\"billing_exception_max_pause_duration_sec\":100}");
    for (int ms = 0; ms <= 100000; ms += 5000) {
        callfix_answer(&c, (fakeanswer){.status = 402, .body = "{}"});
        assert_int_equal(lines_with(&c.f, "paused: the server"), ms <= 60000 ? 1 : 2);
        callfix_again(&c, 5000, 5000);
    }
    assert_int_equal(lines_with(&c.f, "giving up"), 0);
    callfix_answer(&c, (fakeanswer){.status = 402, .body = "{}"});
    assert_true(c.done);
    assert_int_equal(lines_with(&c.f, "giving up"), 1);
    callfix_close(&c);
}

/* A pause costs L2 no attempt: the next delay is still the first. */
static void test_call_billing_costs_no_attempt(void **unused)
{
    callfix c;
    callfix_open(&c, L2_PATH);
    pause_once(&c);
    callfix_answer(&c, (fakeanswer){.status = 503, .body = "{}"});
    callfix_again(&c, 1000, 1000);
    callfix_close(&c);
}

/* After 300 s without a 402 a new incident begins. */
static void test_call_billing_incident(void **unused)
{
    callfix c;
    open_billing(&c);
    pause_once(&c);
    clientfix_advance(&c.f, 301000);
    pause_once(&c);
    callfix_close(&c);
}

/* docs/protocol.md §5.5 (4): the window is counted from the first 402 of the incident. */
static void test_call_billing_counts_from_first(void **unused)
{
    callfix c;
    open_billing(&c);
    pause_once(&c);
    clientfix_advance(&c.f, 10000);
    pause_once(&c);
    clientfix_advance(&c.f, 1); /* 20 s and a bit after the first, 5 s after the last */
    callfix_answer(&c, (fakeanswer){.status = 402, .body = "{}"});
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_PAYMENT);
    callfix_close(&c);
}

/* M-033: what went out encrypted is not sent again in clear; everything else is
 * followed. */
static void test_call_redirect_schemes(void **unused)
{
    static const struct {
        const char *base, *location;
        bool refused;
    } rows[] = {
        {"https://127.0.0.1:1", "http://127.0.0.1:1/api/v1/x", true},
        {"https://127.0.0.1:1", "HTTP://other.example/api/v1/x", true},
        {"HTTPS://127.0.0.1:1", "http://127.0.0.1:1/api/v1/x", true},
        {"https://127.0.0.1:1", "https://other.example/api/v1/x", false},
        {"https://127.0.0.1:1", "//127.0.0.1:1/api/v1/x", false},
        {"https://127.0.0.1:1", "/api/v1/x", false},
        {"http://127.0.0.1:1", "https://127.0.0.1:1/api/v1/x", false},
        {"http://127.0.0.1:1", "http://127.0.0.1:1/api/v1/x", false},
    };
    static const int statuses[] = {301, 302, 303, 307, 308};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows) * TK_ARRAY_LEN(statuses); i++) {
        size_t row = i / TK_ARRAY_LEN(statuses);
        const char *options[] = {"base_url", rows[row].base, NULL};
        callfix c;
        callfix_open_with(&c, L1_PATH, options, NULL);
        callfix_answer(&c, (fakeanswer){.status = statuses[i % TK_ARRAY_LEN(statuses)],
                                        .headers = {"location", rows[row].location}});
        assert_int_equal(c.done, rows[row].refused);
        assert_int_equal(faketransport_count(&c.f.net, "x"), !rows[row].refused);
        if (rows[row].refused) {
            assert_int_equal(c.code, TINKC_E_CONFIG);
            assert_non_null(strstr(c.err.message, "https to http"));
        }
        callfix_close(&c);
    }
}

/* The one place where all header lines pass: a line end in any of them, whatever part of
 * the client it came from, ends the call before anything is sent. */
static void test_call_header_lines(void **unused)
{
    static const char *const bad[] = {"X-A: a\r\nX-Evil: 1", "X-A: a\nb", "X-A: a\rb",
                                      "X-A: \x01", "X-A: \x7f"};
    for (size_t i = 0; i < 4 * TK_ARRAY_LEN(bad); i++) {
        const char *line = bad[i / 4];
        callfix c;
        callfix_open(&c, L1_PATH);
        callfix_answer(&c, (fakeanswer){.body = "{}"});
        assert_true(c.done);
        c.done = false;
        c.call.extra[0] = i % 4 == 0 ? line : NULL;
        c.call.lines = i % 4 == 1 ? &line : NULL;
        c.call.lines_n = i % 4 == 1;
        c.call.accept = i % 4 == 2 ? line : NULL;
        c.call.credential = i % 4 == 3 ? line : NULL;
        size_t before = c.f.net.seen_n;
        tk_call_start(&c.call);
        assert_true(c.done);
        assert_int_equal(c.code, TINKC_E_INVALID);
        assert_null(strpbrk(c.err.message, "\r\n"));
        assert_int_equal(c.f.net.seen_n, before);
        callfix_close(&c);
    }
}

/* Also after another hop. */
static void test_call_redirect_back_to_http(void **unused)
{
    callfix c;
    callfix_open(&c, L1_PATH);
    callfix_answer(&c,
                   (fakeanswer){.status = 307,
                                .headers = {"location", "https://a.example/api/v1/x"}});
    assert_true(faketransport_answer(
        &c.f.net, "x",
        (fakeanswer){.status = 307,
                     .headers = {"location", "http://a.example/api/v1/y"}}));
    clientfix_advance(&c.f, 1000);
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_CONFIG);
    assert_int_equal(faketransport_count(&c.f.net, "y"), 0);
    callfix_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_pool),
        cmocka_unit_test(test_call_pool_budget),
        cmocka_unit_test(test_call_pool_refill),
        cmocka_unit_test(test_call_pool_untouched),
        cmocka_unit_test(test_call_l2),
        cmocka_unit_test(test_call_l2_statuses),
        cmocka_unit_test(test_call_both),
        cmocka_unit_test(test_call_billing),
        cmocka_unit_test(test_call_billing_log),
        cmocka_unit_test(test_call_billing_costs_no_attempt),
        cmocka_unit_test(test_call_billing_incident),
        cmocka_unit_test(test_call_billing_counts_from_first),
        cmocka_unit_test(test_call_header_lines),
        cmocka_unit_test(test_call_redirect_schemes),
        cmocka_unit_test(test_call_redirect_back_to_http),
    };
    return cmocka_run_group_tests_name("call_layers", tests, NULL, NULL);
}
