/* The layers around one request on a scripted transport and a fake clock: L1, P, L2 and
 * the billing pause (wire.md §5.1-5.3, §5.5; ..A-089, A-092, A-095).
 */
#include <stdio.h>

#include "client/call.h"
#include "support/clientfix.h"

#define L1_PATH   "create_session"
#define L2_PATH   "save_weights"
#define BOTH_PATH "optim_step"

typedef struct called {
    clientfix f;
    tk_call call;
    const char *path;
    bool done;
    tinkc_code code;
    tk_err err;
    bool backpressure;
} called;

static void on_done(tk_call *call, const tk_call_answer *answer)
{
    called *c = call->user;
    assert_false(c->done);
    c->done = true;
    c->code = answer->code;
    c->err = *answer->err;
    c->backpressure = answer->backpressure;
}

static void open_with(called *c, const char *path, const char *const *options,
                      const char *flags)
{
    tk_endpoint_id id = strcmp(path, L1_PATH) == 0   ? TK_EP_CREATE_SESSION
                        : strcmp(path, L2_PATH) == 0 ? TK_EP_SAVE_WEIGHTS
                                                     : TK_EP_OPTIM_STEP;
    *c = (called){.path = path};
    clientfix_open(&c->f, options);
    if (flags != NULL) {
        faketransport_default(&c->f.net, "client/config", (fakeanswer){.body = flags});
    }
    faketransport_default(&c->f.net, "healthz", (fakeanswer){.body = "{}"});
    faketransport_default(&c->f.net, L1_PATH, (fakeanswer){.status = -1});
    tinkc_future *ready = tinkc_service_health(c->f.service);
    clientfix_turn(&c->f);
    assert_int_equal(tinkc_future_wait(ready, 0), TINKC_OK);
    tinkc_future_free(&ready);
    c->call = (tk_call){.core = tk_service_core(c->f.service),
                        .endpoint = tk_endpoint_at(id),
                        .body = "{}",
                        .body_n = 2,
                        .done = on_done,
                        .user = c};
    tk_call_start(&c->call);
    clientfix_turn(&c->f);
}

static void open_call(called *c, const char *path)
{
    open_with(c, path, NULL, NULL);
}

static void close_call(called *c)
{
    tk_call_cancel(&c->call);
    assert_true(c->done);
    clientfix_close(&c->f);
}

static void answer(called *c, fakeanswer said)
{
    assert_true(faketransport_answer(&c->f.net, c->path, said));
    clientfix_turn(&c->f);
}

/* The next request goes out between the two moments. */
static void assert_again(called *c, int64_t from_ms, int64_t to_ms)
{
    assert_false(c->done);
    if (from_ms > 0) {
        clientfix_advance(&c->f, from_ms - 1);
        assert_int_equal(faketransport_open(&c->f.net, c->path), 0);
    }
    clientfix_advance(&c->f, to_ms - TK_MAX(from_ms - 1, 0));
    assert_int_equal(faketransport_open(&c->f.net, c->path), 1);
}

static void header(called *c, size_t nth, const char *name, char *out)
{
    assert_true(
        faketransport_header(faketransport_nth(&c->f.net, c->path, nth), name, out, 64));
}

/* wire.md §5.1: 0.5, 1, 2, 4, 8, 10, 10 ... s less up to a quarter, eleven tries, one
 * idempotency key, a counter. */
static void test_call_l1_delays(void **unused)
{
    (void)unused;
    called c;
    open_call(&c, L1_PATH);
    for (int i = 0; i < 10; i++) {
        int64_t full = TK_MIN(INT64_C(500) << i, 10000);
        answer(&c, (fakeanswer){.status = 503, .body = "{}"});
        assert_again(&c, full * 3 / 4, full);
    }
    answer(&c, (fakeanswer){.status = 503, .body = "{}"});
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_SERVER);
    char first[64], value[64], expected[16];
    header(&c, 0, "x-idempotency-key", first);
    for (int i = 0; i < 11; i++) {
        (void)snprintf(expected, sizeof(expected), "%d", i);
        header(&c, (size_t)i, "x-stainless-retry-count", value);
        assert_string_equal(value, expected);
        header(&c, (size_t)i, "x-idempotency-key", value);
        assert_string_equal(value, first);
    }
    close_call(&c);
}

/* wire.md §5.1: every 2xx is a success, at once. */
static void test_call_l1_success(void **unused)
{
    (void)unused;
    for (int status = 200; status <= 299; status++) {
        called c;
        open_call(&c, L1_PATH);
        answer(&c, (fakeanswer){.status = status,
                                .body = "{}",
                                .headers = {"x-should-retry", "true"}});
        assert_true(c.done);
        assert_int_equal(c.code, TINKC_OK);
        close_call(&c);
    }
}

/* which statuses are tried again, and the server's last word. */
static void test_call_l1_statuses(void **unused)
{
    (void)unused;
    static const char *const words[] = {NULL, "true", "false"};
    for (int status = 300; status <= 599; status++) {
        for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
            bool again = status == 408 || status == 409 || status == 429 || status >= 500;
            again = i == 0 ? again : i == 1;
            fakeanswer said = {.status = status, .body = "{\"detail\":\"x\"}"};
            if (words[i] != NULL) {
                said.headers[0] = "x-should-retry";
                said.headers[1] = words[i];
            }
            called c;
            open_call(&c, L1_PATH);
            answer(&c, said);
            assert_true(c.done != again);
            close_call(&c);
        }
    }
}

/* whatever kept the answer away. */
static void test_call_l1_failures(void **unused)
{
    (void)unused;
    static const struct {
        tk_http_failure failure;
        tinkc_code code;
    } rows[] = {
        {TK_HTTP_DNS, TINKC_E_CONNECTION},  {TK_HTTP_CONNECT, TINKC_E_CONNECTION},
        {TK_HTTP_TLS, TINKC_E_CONNECTION},  {TK_HTTP_RESET, TINKC_E_CONNECTION},
        {TK_HTTP_TIMEOUT, TINKC_E_TIMEOUT}, {TK_HTTP_PROTOCOL, TINKC_E_CONNECTION},
        {TK_HTTP_OTHER, TINKC_E_CONNECTION}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        called c;
        open_call(&c, L1_PATH);
        faketransport_default(&c.f.net, L1_PATH,
                              (fakeanswer){.failure = rows[i].failure});
        answer(&c, (fakeanswer){.failure = rows[i].failure});
        clientfix_advance(&c.f, 100000);
        assert_true(c.done);
        assert_int_equal(c.code, rows[i].code);
        assert_int_equal(faketransport_count(&c.f.net, L1_PATH), 11);
        close_call(&c);
    }
}

/* What is no fault of the network is not tried again. */
static void test_call_l1_local_failures(void **unused)
{
    (void)unused;
    static const struct {
        tk_http_failure failure;
        tinkc_code code;
    } rows[] = {{TK_HTTP_TOO_LARGE, TINKC_E_LIMIT},
                {TK_HTTP_NOMEM, TINKC_E_NOMEM},
                {TK_HTTP_TRUST, TINKC_E_CONFIG}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        called c;
        open_call(&c, BOTH_PATH);
        answer(&c, (fakeanswer){.failure = rows[i].failure});
        assert_true(c.done);
        assert_int_equal(c.code, rows[i].code);
        close_call(&c);
    }
}

/* A-084..A-088: a hint up to a minute is obeyed to the millisecond. */
static void test_call_l1_hints(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *value;
        int64_t from_ms, to_ms;
    } rows[] = {{"retry-after-ms", "1500", 1500, 1500},
                {"retry-after", "2", 2000, 2000},
                {"retry-after", "0.5", 500, 500},
                {"retry-after", "60", 60000, 60000},
                {"retry-after", "61", 375, 500},
                {"retry-after", "0", 375, 500},
                {"retry-after", "Thu, 01 Jan 2026 00:00:03 GMT", 3000, 3000},
                {"retry-after", "Wed, 31 Dec 2025 00:00:00 GMT", 375, 500},
                {"retry-after", "soon", 375, 500}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        called c;
        open_call(&c, L1_PATH);
        answer(&c, (fakeanswer){.status = 429,
                                .body = "{}",
                                .headers = {rows[i].name, rows[i].value}});
        assert_again(&c, rows[i].from_ms, rows[i].to_ms);
        close_call(&c);
    }
}

/* the last 429 carries its hint. A-095: how often is an option. */
static void test_call_l1_error(void **unused)
{
    (void)unused;
    static const char *const options[] = {"max_retries", "0", NULL};
    called c;
    open_with(&c, L1_PATH, options, NULL);
    answer(&c, (fakeanswer){.status = 429,
                            .body = "{\"detail\":\"slow\"}",
                            .headers = {"retry-after", "9"}});
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_RATE_LIMIT);
    assert_int_equal(c.err.retry_after_ms, 9000);
    assert_int_equal(c.err.http_status, 429);
    close_call(&c);
}

/* wire.md §5.2: a bare 400 is a broken connection: a new one is used, sixteen times. */
static void test_call_pool(void **unused)
{
    (void)unused;
    static const fakeanswer bare[] = {
        {.status = 400},
        {.status = 400, .body = "{\"detail\":\"x\"}", .no_length = true}};
    for (size_t i = 0; i < TK_ARRAY_LEN(bare); i++) {
        called c;
        open_call(&c, L2_PATH);
        assert_false(faketransport_nth(&c.f.net, L2_PATH, 0)->fresh_connection);
        for (size_t j = 1; j <= 9; j++) {
            answer(&c, bare[i]);
            clientfix_advance(&c.f, 30000);
            const fakeseen *next = faketransport_nth(&c.f.net, L2_PATH, j);
            assert_non_null(next);
            assert_true(next->fresh_connection);
        }
        close_call(&c);
    }
    called c;
    open_call(&c, L2_PATH);
    answer(&c, (fakeanswer){.status = 400, .body = "{\"detail\":\"really\"}"});
    assert_true(c.done); /* with a body of a known length it is a real one */
    assert_int_equal(c.code, TINKC_E_BAD_REQUEST);
    close_call(&c);
}

static void test_call_pool_budget(void **unused)
{
    (void)unused;
    called c;
    open_call(&c, L1_PATH); /* no layer above: each bare 400 ends the call */
    tk_retry_pool *pool = tk_core_pool(tk_service_core(c.f.service), TK_HTTP_SESSION);
    for (int left = pool->budget; left > 0; left--) {
        answer(&c, (fakeanswer){.status = 400});
        assert_true(c.done);
        assert_int_equal(c.code, TINKC_E_CONNECTION);
        assert_int_equal(pool->budget, left - 1);
        c.done = false;
        tk_call_start(&c.call);
        clientfix_turn(&c.f);
    }
    answer(&c, (fakeanswer){.status = 400});
    assert_int_equal(c.code, TINKC_E_BAD_REQUEST);
    c.done = false;
    tk_call_start(&c.call);
    clientfix_turn(&c.f);
    answer(&c, (fakeanswer){.body = "{}"});
    assert_int_equal(c.code, TINKC_OK);
    assert_int_equal(pool->budget, 1);
    close_call(&c);
}

/* wire.md §5.2: what is neither a success nor a bare 400 leaves the budget as it is, and
 * a success never fills it beyond 16. */
static void test_call_pool_untouched(void **unused)
{
    (void)unused;
    static const char *const options[] = {"max_retries", "0", NULL};
    static const fakeanswer rows[] = {{.status = 503, .body = "{}"},
                                      {.status = 404, .body = "{}"},
                                      {.status = 400, .body = "{\"detail\":\"x\"}"},
                                      {.failure = TK_HTTP_RESET},
                                      {.failure = TK_HTTP_TIMEOUT}};
    called c;
    open_with(&c, L1_PATH, options, NULL);
    tk_retry_pool *pool = tk_core_pool(tk_service_core(c.f.service), TK_HTTP_SESSION);
    answer(&c, (fakeanswer){.body = "{}"});
    assert_int_equal(pool->budget, TK_RETRY_POOL_BUDGET);
    pool->budget = 7;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        c.done = false;
        tk_call_start(&c.call);
        clientfix_turn(&c.f);
        assert_false(faketransport_nth(&c.f.net, L1_PATH, i + 1)->fresh_connection);
        answer(&c, rows[i]);
        assert_true(c.done);
        assert_int_equal(pool->budget, 7);
    }
    close_call(&c);
}

/* wire.md §5.3: 1, 2, 4, 8, 16, 30 ... s until 300 s have passed; a new key each time. */
static void test_call_l2(void **unused)
{
    (void)unused;
    static const fakeanswer faults[] = {
        {.status = 503, .body = "{}"}, {.status = 408, .body = "{}"},
        {.status = 409, .body = "{}"}, {.status = 429, .body = "{}"},
        {.failure = TK_HTTP_RESET},    {.failure = TK_HTTP_TIMEOUT}};
    static const int64_t delays[] = {1000,  2000,  4000,  8000,  16000, 30000, 30000,
                                     30000, 30000, 30000, 30000, 30000, 30000, 29000};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        called c;
        open_call(&c, L2_PATH);
        for (size_t j = 0; j < TK_ARRAY_LEN(delays); j++) {
            answer(&c, faults[i]);
            assert_again(&c, delays[j], delays[j]);
        }
        answer(&c, faults[i]);
        assert_true(c.done);
        char first[64], second[64];
        header(&c, 0, "x-idempotency-key", first);
        header(&c, 1, "x-idempotency-key", second);
        assert_string_not_equal(first, second);
        close_call(&c);
    }
}

/* L2 does not ask x-should-retry, and nothing else is tried again. */
static void test_call_l2_statuses(void **unused)
{
    (void)unused;
    static const int final[] = {301, 401, 403, 404, 410, 413, 422, 425};
    for (size_t i = 0; i < TK_ARRAY_LEN(final); i++) {
        called c;
        open_call(&c, L2_PATH);
        answer(&c, (fakeanswer){.status = final[i], .body = "{}"});
        assert_true(c.done);
        close_call(&c);
    }
    called c;
    open_call(&c, L2_PATH);
    answer(&c, (fakeanswer){
                   .status = 503, .body = "{}", .headers = {"x-should-retry", "false"}});
    assert_again(&c, 1000, 1000);
    close_call(&c);
}

/* L1 first, L2 around it. */
static void test_call_both(void **unused)
{
    (void)unused;
    called c;
    open_call(&c, BOTH_PATH);
    faketransport_default(&c.f.net, BOTH_PATH, (fakeanswer){.failure = TK_HTTP_RESET});
    answer(&c, (fakeanswer){.failure = TK_HTTP_RESET});
    clientfix_advance(&c.f, 400000);
    size_t n = faketransport_count(&c.f.net, BOTH_PATH), rounds = 0;
    assert_true(c.done);
    for (size_t i = 0; i < n; i++) {
        char value[64];
        header(&c, i, "x-stainless-retry-count", value);
        rounds += strcmp(value, "0") == 0;
    }
    assert_int_equal(n, rounds * 11);
    assert_true(rounds >= 5);
    close_call(&c);
}

/* wire.md §5.5: five seconds each, until the window ends; then it is fatal. */
static void test_call_billing(void **unused)
{
    (void)unused;
    called c;
    open_with(&c, L2_PATH, NULL, "{\"billing_exception_max_pause_duration_sec\":20}");
    for (int i = 0; i < 5; i++) {
        answer(&c, (fakeanswer){.status = 402, .body = "{}"});
        assert_again(&c, 5000, 5000);
    }
    answer(&c, (fakeanswer){.status = 402, .body = "{\"detail\":\"pay\"}"});
    assert_true(c.done);
    assert_int_equal(c.code, TINKC_E_PAYMENT);
    close_call(&c);
}

static size_t lines_with(const clientfix *f, const char *text)
{
    size_t n = 0;
    for (const char *at = strstr(f->log, text); at != NULL; at = strstr(at + 1, text)) {
        n++;
    }
    return n;
}

/* wire.md §5.5 (2), (3): a warning at first and when the last one is older than a minute,
 * an error at the end. */
static void test_call_billing_log(void **unused)
{
    (void)unused;
    called c;
    open_with(&c, L2_PATH, NULL, "{\"billing_exception_max_pause_duration_sec\":100}");
    for (int ms = 0; ms <= 100000; ms += 5000) {
        answer(&c, (fakeanswer){.status = 402, .body = "{}"});
        assert_int_equal(lines_with(&c.f, "paused: the server"), ms <= 60000 ? 1 : 2);
        assert_again(&c, 5000, 5000);
    }
    assert_int_equal(lines_with(&c.f, "giving up"), 0);
    answer(&c, (fakeanswer){.status = 402, .body = "{}"});
    assert_true(c.done);
    assert_int_equal(lines_with(&c.f, "giving up"), 1);
    close_call(&c);
}

/* A pause costs L2 no attempt: the next delay is still the first. */
static void test_call_billing_costs_no_attempt(void **unused)
{
    (void)unused;
    called c;
    open_call(&c, L2_PATH);
    answer(&c, (fakeanswer){.status = 402, .body = "{}"});
    assert_again(&c, 5000, 5000);
    answer(&c, (fakeanswer){.status = 503, .body = "{}"});
    assert_again(&c, 1000, 1000);
    close_call(&c);
}

/* After 300 s without a 402 a new incident begins. */
static void test_call_billing_incident(void **unused)
{
    (void)unused;
    called c;
    open_with(&c, L2_PATH, NULL, "{\"billing_exception_max_pause_duration_sec\":20}");
    answer(&c, (fakeanswer){.status = 402, .body = "{}"});
    assert_again(&c, 5000, 5000);
    clientfix_advance(&c.f, 301000);
    answer(&c, (fakeanswer){.status = 402, .body = "{}"});
    assert_again(&c, 5000, 5000);
    close_call(&c);
}

/* who passes push-back on gets it at once, and nothing else. */
static void test_call_backpressure(void **unused)
{
    (void)unused;
    static const int statuses[] = {429, 402};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        called c;
        open_call(&c, L2_PATH);
        c.call.pass_backpressure = true;
        answer(&c, (fakeanswer){.status = statuses[i], .body = "{}"});
        assert_true(c.done && c.backpressure);
        close_call(&c);
    }
    called c;
    open_call(&c, L2_PATH);
    c.call.pass_backpressure = true;
    answer(&c, (fakeanswer){.status = 503, .body = "{}"});
    assert_again(&c, 1000, 1000);
    close_call(&c);
}

static void test_call_cancel(void **unused)
{
    (void)unused;
    for (int place = 0; place < 3; place++) {
        called c;
        open_call(&c, place == 1 ? L1_PATH : L2_PATH);
        if (place > 0) {
            answer(&c, (fakeanswer){.status = 503, .body = "{}"});
        }
        assert_true(tk_call_is_running(&c.call));
        tk_call_cancel(&c.call);
        assert_true(c.done);
        assert_int_equal(c.code, TINKC_E_CANCELLED);
        clientfix_advance(&c.f, 60000);
        assert_int_equal(faketransport_count(&c.f.net, c.path), 1);
        close_call(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_l1_delays),
        cmocka_unit_test(test_call_l1_success),
        cmocka_unit_test(test_call_l1_statuses),
        cmocka_unit_test(test_call_l1_failures),
        cmocka_unit_test(test_call_l1_local_failures),
        cmocka_unit_test(test_call_l1_hints),
        cmocka_unit_test(test_call_l1_error),
        cmocka_unit_test(test_call_pool),
        cmocka_unit_test(test_call_pool_budget),
        cmocka_unit_test(test_call_pool_untouched),
        cmocka_unit_test(test_call_l2),
        cmocka_unit_test(test_call_l2_statuses),
        cmocka_unit_test(test_call_both),
        cmocka_unit_test(test_call_billing),
        cmocka_unit_test(test_call_billing_log),
        cmocka_unit_test(test_call_billing_costs_no_attempt),
        cmocka_unit_test(test_call_billing_incident),
        cmocka_unit_test(test_call_backpressure),
        cmocka_unit_test(test_call_cancel),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
