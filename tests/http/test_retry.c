/* The retry layers, row by row, with a number for "now" (docs/protocol.md §5;
 * A-085..A-088, A-092, A-095); which failures are transient is wire_error's table. */
#include "http/retry.h"
#include "support/test.h"

static uint64_t no_jitter(void *user)
{
    return 0;
}

static uint64_t most_jitter(void *user)
{
    return UINT64_MAX;
}

static tk_retry_outcome status_of(int status)
{
    bool transient = status == 408 || status == 409 || status == 429 || status >= 500;
    tk_retry_outcome outcome = {.success = status >= 200 && status <= 299,
                                .transient = transient,
                                .status = status,
                                .should_retry = -1,
                                .hint_ms = -1};
    return outcome;
}

static tk_retry_outcome no_response(bool transient)
{
    tk_retry_outcome outcome = {
        .transient = transient, .should_retry = -1, .hint_ms = -1};
    return outcome;
}

static int64_t l1_within(tk_retry_outcome outcome, int retries, int max, int64_t left_ms)
{
    tk_rand rand;
    tk_rand_init_fn(&rand, no_jitter, NULL);
    tk_retry_decision decision = tk_retry_l1(&outcome, retries, max, left_ms, &rand);
    return decision.what == TK_RETRY_AGAIN  ? decision.delay_ms
           : decision.what == TK_RETRY_DONE ? -1
                                            : -2;
}

static int64_t l1(tk_retry_outcome outcome, int retries, int max)
{
    return l1_within(outcome, retries, max, INT64_MAX);
}

/* L1 row "2xx". */
static void test_retry_l1_success(void **unused)
{
    for (int status = 200; status <= 299; status++) {
        assert_int_equal(l1(status_of(status), 0, 10), -1);
    }
}

/* What is not transient is final at once. */
static void test_retry_l1_final(void **unused)
{
    assert_int_equal(l1(status_of(404), 0, 10), -2);
    assert_int_equal(l1(status_of(503), 0, 10), 500);
    assert_int_equal(l1(no_response(true), 0, 10), 500);
    assert_int_equal(l1(no_response(false), 0, 10), -2);
}

/* x-should-retry rules over the table. */
static void test_retry_l1_should_retry(void **unused)
{
    tk_retry_outcome outcome = status_of(400);
    outcome.should_retry = 1;
    assert_int_equal(l1(outcome, 0, 10), 500);
    outcome = status_of(503);
    outcome.should_retry = 0;
    assert_int_equal(l1(outcome, 0, 10), -2);
}

static void test_retry_l1_exhausted(void **unused)
{
    assert_int_equal(l1(status_of(500), 9, 10), 10000);
    assert_int_equal(l1(status_of(500), 10, 10), -2);
    assert_int_equal(l1(status_of(500), 0, 0), -2);
}

/* 0.5, 1, 2, 4, 8, 10, 10 s, reduced by up to a quarter. */
static void test_retry_l1_delays(void **unused)
{
    static const int64_t full[] = {500, 1000, 2000, 4000, 8000, 10000, 10000};
    for (int i = 0; i < (int)TK_ARRAY_LEN(full); i++) {
        assert_int_equal(l1(status_of(500), i, 10), full[i]);
    }
    tk_rand rand;
    tk_rand_init_fn(&rand, most_jitter, NULL);
    tk_retry_outcome outcome = status_of(500);
    int64_t delay = tk_retry_l1(&outcome, 0, 10, INT64_MAX, &rand).delay_ms;
    assert_in_range(delay, 375, 376);
}

/* A-085..A-088, M-026: a hint is used exactly, up to an hour, but not beyond the total
 * time; after that the plain delays go on. */
static void test_retry_l1_hints(void **unused)
{
    static const struct {
        int64_t hint, left, delay;
    } rows[] = {{1500, INT64_MAX, 1500},
                {1, INT64_MAX, 1},
                {60001, INT64_MAX, 60001},
                {3600000, INT64_MAX, 3600000},
                {3600001, INT64_MAX, 3600000},
                {INT64_MAX, INT64_MAX, 3600000},
                {0, INT64_MAX, 500},
                {-1, INT64_MAX, 500},
                {60001, 60000, 60000},
                {60001, 0, 500},
                {60001, -1000, 500},
                {-1, 0, 500},
                {200, 0, 200}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_retry_outcome outcome = status_of(429);
        outcome.hint_ms = rows[i].hint;
        assert_int_equal(l1_within(outcome, 0, 10, rows[i].left), rows[i].delay);
    }
}

/* hints one layer up, where the total time ends the call. */
static void test_retry_l2_hints(void **unused)
{
    static const struct {
        int64_t hint, budget, delay;
    } rows[] = {{11000, 300000, 11000},        {1, 300000, 1000},
                {7200000, 300000, 300000},     {7200000, INT64_MAX, 3600000},
                {3600000, INT64_MAX, 3600000}, {-1, 300000, 1000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_retry_l2_state state = {.budget_ms = rows[i].budget};
        tk_retry_outcome outcome = status_of(429);
        outcome.hint_ms = rows[i].hint;
        assert_int_equal(tk_retry_l2(&state, &outcome, false, 0).delay_ms, rows[i].delay);
        outcome = status_of(402);
        outcome.hint_ms = rows[i].hint;
        assert_int_equal(tk_retry_l2(&state, &outcome, true, 0).delay_ms,
                         TK_MAX(5000, TK_MIN(rows[i].hint, 3600000)));
    }
}

/* P: success refills up to 16, a bare 400 costs one and becomes a connection error, and
 * once the budget is used up it stays a 400. The connection goes in both cases. */
static void test_retry_pool_budget(void **unused)
{
    tk_retry_pool pool = {TK_RETRY_POOL_BUDGET};
    bool replace;
    for (int i = 0; i < 16; i++) {
        tk_retry_outcome bare = status_of(400);
        bare.bare_400 = true;
        tk_retry_pool_note(&pool, &bare, &replace);
        assert_true(replace);
        assert_int_equal(bare.status, 0);
        assert_true(bare.transient);
    }
    tk_retry_outcome bare = status_of(400);
    bare.bare_400 = true;
    tk_retry_pool_note(&pool, &bare, &replace);
    assert_true(replace);
    assert_int_equal(bare.status, 400);
    tk_retry_outcome good = status_of(200);
    for (int i = 0; i < 20; i++) {
        tk_retry_pool_note(&pool, &good, &replace);
        assert_false(replace);
    }
    assert_int_equal(pool.budget, TK_RETRY_POOL_BUDGET);
    tk_retry_outcome other = status_of(400);
    tk_retry_pool_note(&pool, &other, &replace);
    assert_false(replace);
    assert_int_equal(other.status, 400);
    assert_int_equal(pool.budget, TK_RETRY_POOL_BUDGET);
}

/* L2: 1, 2, 4, 8, 16, 30, 30 s, until 5 minutes have passed since the first attempt. */
static void test_retry_l2_delays(void **unused)
{
    static const int64_t delays[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    tk_retry_l2_state state = {.budget_ms = 300000, .started_ms = 7000};
    tk_retry_outcome outcome = status_of(503);
    for (size_t i = 0; i < TK_ARRAY_LEN(delays); i++) {
        tk_retry_decision decision = tk_retry_l2(&state, &outcome, false, 7000);
        assert_int_equal(decision.what, TK_RETRY_AGAIN);
        assert_int_equal(decision.delay_ms, delays[i]);
    }
    assert_int_equal(tk_retry_l2(&state, &outcome, false, 7000 + 290000).delay_ms, 10000);
    assert_int_equal(tk_retry_l2(&state, &outcome, false, 7000 + 299999).delay_ms, 1);
    assert_int_equal(tk_retry_l2(&state, &outcome, false, 7000 + 300000).what,
                     TK_RETRY_FAIL);
}

static void test_retry_l2_rows(void **unused)
{
    for (int status = 200; status <= 599; status++) {
        tk_retry_l2_state state = {.budget_ms = 300000};
        tk_retry_outcome outcome = status_of(status);
        outcome.should_retry = 1; /* not consulted here */
        bool again = status == 408 || status == 409 || status == 429 || status >= 500;
        int what = (int)tk_retry_l2(&state, &outcome, false, 0).what;
        assert_int_equal(what, status < 300 ? TK_RETRY_DONE
                               : again      ? TK_RETRY_AGAIN
                                            : TK_RETRY_FAIL);
    }
    tk_retry_l2_state state = {.budget_ms = 300000};
    tk_retry_outcome lost = no_response(true);
    assert_int_equal(tk_retry_l2(&state, &lost, false, 0).what, TK_RETRY_AGAIN);
}

/* L2 row 402: a pause of 5 s that does not count as an attempt, even after the 5
 * minutes. */
static void test_retry_l2_billing(void **unused)
{
    tk_retry_l2_state state = {.budget_ms = 300000};
    tk_retry_outcome outcome = status_of(402);
    assert_int_equal(tk_retry_l2(&state, &outcome, true, 400000).delay_ms, 5000);
    assert_int_equal(state.k, 0);
    assert_int_equal(tk_retry_l2(&state, &outcome, false, 0).what, TK_RETRY_FAIL);
}

/* §5.5 (1)-(4). */
static void test_retry_billing_window(void **unused)
{
    tk_retry_billing billing = {.max_pause_ms = 3600000};
    bool log_now;
    assert_true(tk_retry_billing_pause(&billing, 1000, &log_now));
    assert_true(log_now);
    assert_true(tk_retry_billing_pause(&billing, 61000, &log_now));
    assert_false(log_now); /* not older than 60 s */
    assert_true(tk_retry_billing_pause(&billing, 61001, &log_now));
    assert_true(log_now);
    for (int64_t now = 120000; now <= 3601000; now += 120000) {
        assert_true(tk_retry_billing_pause(&billing, now, &log_now));
    }
    assert_true(tk_retry_billing_pause(&billing, 3601000, &log_now));
    assert_false(tk_retry_billing_pause(&billing, 3601001, &log_now));
    int64_t later = 3601001 + 400000; /* silence: a new incident */
    assert_true(tk_retry_billing_pause(&billing, later, &log_now));
    assert_true(log_now);
}

/* L3: 0.5 s doubling to 10 s, a quarter either way, never above the maximum. */
static void test_retry_l3_delays(void **unused)
{
    static const tk_retry_l3_config config = {500, 10000, 0.25};
    tk_rand low, high;
    tk_rand_init_fn(&low, no_jitter, NULL);
    tk_rand_init_fn(&high, most_jitter, NULL);
    assert_int_equal(tk_retry_l3_delay(&config, 0, &low), 375);
    assert_in_range(tk_retry_l3_delay(&config, 0, &high), 624, 625);
    assert_int_equal(tk_retry_l3_delay(&config, 3, &low), 3000);
    assert_int_equal(tk_retry_l3_delay(&config, 5, &low), 7500);
    assert_int_equal(tk_retry_l3_delay(&config, 5, &high), 10000);
    assert_int_equal(tk_retry_l3_delay(&config, 1000000, &high), 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retry_l1_success),
        cmocka_unit_test(test_retry_l1_final),
        cmocka_unit_test(test_retry_l1_should_retry),
        cmocka_unit_test(test_retry_l1_exhausted),
        cmocka_unit_test(test_retry_l1_delays),
        cmocka_unit_test(test_retry_l1_hints),
        cmocka_unit_test(test_retry_l2_hints),
        cmocka_unit_test(test_retry_pool_budget),
        cmocka_unit_test(test_retry_l2_delays),
        cmocka_unit_test(test_retry_l2_rows),
        cmocka_unit_test(test_retry_l2_billing),
        cmocka_unit_test(test_retry_billing_window),
        cmocka_unit_test(test_retry_l3_delays),
    };
    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
