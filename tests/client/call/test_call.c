/* The request loop (L1) on a scripted transport and a fake clock: every row of its table
 * (docs/protocol.md §5.1; ..A-089, A-091, A-092, A-095). The layers
 * around it are test_call_layers.c's. */
#include "support/callfix.h"

/* A-088, M-025, M-028, M-038: docs/protocol.md §5.1: 0.5, 1, 2, 4, 8, 10, 10 ... s
 * less up to a quarter, eleven tries, one idempotency key, a counter. */
static void test_call_l1_delays(void **unused)
{
    callfix c;
    callfix_open(&c, L1_PATH);
    for (int i = 0; i < 10; i++) {
        int64_t full = TK_MIN(INT64_C(500) << i, 10000);
        callfix_answer(&c, (fakeanswer){.status = 503, .body = "{}"});
        callfix_again(&c, full * 3 / 4, full);
    }
    callfix_answer(&c, (fakeanswer){.status = 503, .body = "{}"});
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_SERVER);
    char first[64], value[64], expected[16];
    callfix_header(&c, 0, "x-idempotency-key", first);
    for (int i = 0; i < 11; i++) {
        (void)snprintf(expected, sizeof(expected), "%d", i);
        callfix_header(&c, (size_t)i, "x-stainless-retry-count", value);
        assert_string_equal(value, expected);
        callfix_header(&c, (size_t)i, "x-idempotency-key", value);
        assert_string_equal(value, first);
    }
    callfix_close(&c);
}

/* docs/protocol.md §5.1: every 2xx is a success, at once. */
static void test_call_l1_success(void **unused)
{
    for (int status = 200; status <= 299; status++) {
        callfix c;
        callfix_open(&c, L1_PATH);
        callfix_answer(&c, (fakeanswer){.status = status,
                                        .body = "{}",
                                        .headers = {"x-should-retry", "true"}});
        assert_true(c.done);
        assert_int_equal(c.code, TINKC_OK);
        callfix_close(&c);
    }
}

static void assert_tried_again(int status, const char *word, bool again)
{
    fakeanswer said = {.status = status, .body = "{\"detail\":\"x\"}"};
    if (word != NULL) {
        said.headers[0] = "x-should-retry";
        said.headers[1] = word;
    }
    callfix c;
    callfix_open(&c, L1_PATH);
    callfix_answer(&c, said);
    assert_true(c.done != again);
    callfix_close(&c);
}

static bool is_transient(int status)
{
    return status == 408 || status == 409 || status == 429 || status >= 500;
}

/* A-083, M-025: which statuses are tried again. */
static void test_call_l1_statuses(void **unused)
{
    for (int status = 300; status <= 599; status++) {
        if (is_transient(status)) {
            assert_tried_again(status, NULL, true);
        }
    }
}

/* and which are not. */
static void test_call_l1_final(void **unused)
{
    for (int status = 300; status <= 599; status++) {
        if (!is_transient(status)) {
            assert_tried_again(status, NULL, false);
        }
    }
}

/* A-092, M-027: x-should-retry decides, for every status. */
static void test_call_l1_told_yes(void **unused)
{
    for (int status = 300; status <= 599; status++) {
        assert_tried_again(status, "true", true);
    }
}

/* A-092, M-027: and the other way round. */
static void test_call_l1_told_no(void **unused)
{
    for (int status = 300; status <= 599; status++) {
        assert_tried_again(status, "false", false);
    }
}

/* every kind of failed connection is tried again. */
static void test_call_l1_failures(void **unused)
{
    static const struct {
        tk_http_failure failure;
        tinkc_code code;
    } rows[] = {
        {TK_HTTP_DNS, TINKC_E_CONNECTION},  {TK_HTTP_CONNECT, TINKC_E_CONNECTION},
        {TK_HTTP_TLS, TINKC_E_CONNECTION},  {TK_HTTP_RESET, TINKC_E_CONNECTION},
        {TK_HTTP_TIMEOUT, TINKC_E_TIMEOUT}, {TK_HTTP_PROTOCOL, TINKC_E_CONNECTION},
        {TK_HTTP_OTHER, TINKC_E_CONNECTION}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        callfix c;
        callfix_open(&c, L1_PATH);
        faketransport_default(&c.f.net, L1_PATH,
                              (fakeanswer){.failure = rows[i].failure});
        callfix_answer(&c, (fakeanswer){.failure = rows[i].failure});
        clientfix_advance(&c.f, 100000);
        assert_true(c.done);
        assert_int_equal(c.code, rows[i].code);
        assert_int_equal(faketransport_count(&c.f.net, L1_PATH), 11);
        callfix_close(&c);
    }
}

/* docs/protocol.md §5.1: after the last try the error says why there was no answer. */
static void test_call_l1_exhausted(void **unused)
{
    static const char *const options[] = {"max_retries", "2", NULL};
    static const struct {
        fakeanswer said;
        tinkc_code code;
    } rows[] = {{{.failure = TK_HTTP_TIMEOUT}, TINKC_E_TIMEOUT},
                {{.failure = TK_HTTP_RESET}, TINKC_E_CONNECTION},
                {{.status = 503, .body = "{}"}, TINKC_E_SERVER},
                {{.status = 429, .body = "{}"}, TINKC_E_RATE_LIMIT}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        callfix c;
        callfix_open_with(&c, L1_PATH, options, NULL);
        for (int tries = 0; tries < 3; tries++) {
            assert_false(c.done);
            callfix_answer(&c, rows[i].said);
            clientfix_advance(&c.f, 10000);
        }
        assert_true(c.done);
        assert_int_equal(c.code, rows[i].code);
        callfix_close(&c);
    }
}

/* What is not a fault of the network is not tried again. */
static void test_call_l1_local_failures(void **unused)
{
    static const struct {
        tk_http_failure failure;
        tinkc_code code;
    } rows[] = {{TK_HTTP_TOO_LARGE, TINKC_E_LIMIT},
                {TK_HTTP_NOMEM, TINKC_E_NOMEM},
                {TK_HTTP_TRUST, TINKC_E_CONFIG}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        callfix c;
        callfix_open(&c, BOTH_PATH);
        callfix_answer(&c, (fakeanswer){.failure = rows[i].failure});
        assert_true(c.done);
        assert_int_equal(c.code, rows[i].code);
        callfix_close(&c);
    }
}

/* A-084..A-088, M-026: a hint is obeyed to the millisecond, up to an hour, within
 * retry_total. */
static void test_call_l1_hints(void **unused)
{
    static const struct {
        const char *name, *value;
        int64_t from_ms, to_ms;
        const char *total;
    } rows[] = {{"retry-after-ms", "1500", 1500, 1500, NULL},
                {"retry-after", "2", 2000, 2000, NULL},
                {"retry-after", "0.5", 500, 500, NULL},
                {"retry-after", "60", 60000, 60000, NULL},
                {"retry-after", "61", 61000, 61000, NULL},
                {"retry-after", "7200", 300000, 300000, NULL},
                {"retry-after", "7200", 3600000, 3600000, "none"},
                {"retry-after", "61", 20000, 20000, "20000"},
                {"retry-after", "61", 375, 500, "0"},
                {"retry-after", "0", 375, 500, NULL},
                {"retry-after", "Thu, 01 Jan 2026 00:00:03 GMT", 3000, 3000, NULL},
                {"retry-after", "Wed, 31 Dec 2025 00:00:00 GMT", 375, 500, NULL},
                {"retry-after", "soon", 375, 500, NULL}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *const options[] = {rows[i].total != NULL ? "retry_total" : NULL,
                                       rows[i].total, NULL};
        callfix c;
        callfix_open_with(&c, L1_PATH, options, NULL);
        callfix_answer(&c, (fakeanswer){.status = 429,
                                        .body = "{}",
                                        .headers = {rows[i].name, rows[i].value}});
        callfix_again(&c, rows[i].from_ms, rows[i].to_ms);
        callfix_close(&c);
    }
}

/* so does the layer around it; the total time ends the call, not the hint. */
static void test_call_l2_hints(void **unused)
{
    callfix c;
    fakeanswer later = {.status = 429, .body = "{}", .headers = {"retry-after", "11"}};
    callfix_open(&c, L2_PATH);
    callfix_answer(&c, later);
    callfix_again(&c, 11000, 11000);
    later.headers[1] = "7200";
    callfix_answer(&c, later);
    callfix_again(&c, 289000, 289000);
    callfix_answer(&c, later);
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_RATE_LIMIT);
    assert_int_equal(c.err.retry_after_ms, 7200000);
    callfix_close(&c);
}

/* the last 429 carries its hint. A-095: how often is an option. */
static void test_call_l1_error(void **unused)
{
    static const char *const options[] = {"max_retries", "0", NULL};
    callfix c;
    callfix_open_with(&c, L1_PATH, options, NULL);
    callfix_answer(&c, (fakeanswer){.status = 429,
                                    .body = "{\"detail\":\"slow\"}",
                                    .headers = {"retry-after", "9"}});
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_RATE_LIMIT);
    assert_int_equal(c.err.retry_after_ms, 9000);
    assert_int_equal(c.err.http_status, 429);
    callfix_close(&c);
}

/* a caller that handles push-back itself gets it at once, and nothing else. */
static void test_call_backpressure(void **unused)
{
    static const int statuses[] = {429, 402};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        callfix c;
        callfix_open(&c, L2_PATH);
        c.call.pass_backpressure = true;
        callfix_answer(&c, (fakeanswer){.status = statuses[i], .body = "{}"});
        assert_true(c.done && c.backpressure);
        callfix_close(&c);
    }
    callfix c;
    callfix_open(&c, L2_PATH);
    c.call.pass_backpressure = true;
    callfix_answer(&c, (fakeanswer){.status = 503, .body = "{}"});
    callfix_again(&c, 1000, 1000);
    callfix_close(&c);
}

static void test_call_cancel(void **unused)
{
    for (int place = 0; place < 3; place++) {
        callfix c;
        callfix_open(&c, place == 1 ? L1_PATH : L2_PATH);
        if (place > 0) {
            callfix_answer(&c, (fakeanswer){.status = 503, .body = "{}"});
        }
        assert_true(tk_call_is_running(&c.call));
        tk_call_cancel(&c.call);
        assert_true(c.done);
        assert_int_equal(c.code, TINKC_E_CANCELLED);
        clientfix_advance(&c.f, 60000);
        assert_int_equal(faketransport_count(&c.f.net, c.path), 1);
        callfix_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_l1_delays),
        cmocka_unit_test(test_call_l1_success),
        cmocka_unit_test(test_call_l1_statuses),
        cmocka_unit_test(test_call_l1_final),
        cmocka_unit_test(test_call_l1_told_yes),
        cmocka_unit_test(test_call_l1_told_no),
        cmocka_unit_test(test_call_l1_failures),
        cmocka_unit_test(test_call_l1_exhausted),
        cmocka_unit_test(test_call_l1_local_failures),
        cmocka_unit_test(test_call_l1_hints),
        cmocka_unit_test(test_call_l2_hints),
        cmocka_unit_test(test_call_l1_error),
        cmocka_unit_test(test_call_backpressure),
        cmocka_unit_test(test_call_cancel),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
