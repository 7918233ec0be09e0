/* Push-back and dispatch limits of sampling on a fake clock (docs/protocol.md §7.1, §7.3,
 * §5.5; A-003..A-008, A-010, A-080, A-084..A-090, A-095, A-096, A-098). */
#include <stdio.h>

#include "support/samplefix.h"

static fakeanswer push_back(const char *name, const char *value)
{
    return (fakeanswer){.status = 429, .headers = {name, value}};
}

typedef struct pair {
    clientfix f;
    tinkc_sampling *sampling;
} pair;

static void open_pair(pair *p, const char *const *options)
{
    clientfix_open(&p->f, options);
    p->sampling = samplefix_create(&p->f);
}

static void close_pair(pair *p)
{
    tinkc_sampling_close(&p->sampling);
    clientfix_close(&p->f);
}

/* Nothing is out, nor sent for `ms` less one; then exactly `n` requests are out. */
static void assert_paused(clientfix *f, int64_t ms, size_t n)
{
    size_t before = faketransport_count(&f->net, SAMPLE);
    assert_int_equal(faketransport_open(&f->net, SAMPLE), 0);
    clientfix_advance(f, ms - 1);
    assert_int_equal(faketransport_count(&f->net, SAMPLE), before);
    clientfix_advance(f, 1);
    assert_int_equal(faketransport_open(&f->net, SAMPLE), n);
}

/* M-080: the hint rules when it is
 * longer than what the size of the request asks for: 1 s up to 128 KiB, 5 s above. */
static void test_sample_pause_hints(void **unused)
{
    static const struct {
        const char *name, *value, *name2, *value2;
        size_t tokens;
        int64_t pause_ms;
    } rows[] = {
        {NULL, NULL, NULL, NULL, 2, 1000},
        {"retry-after-ms", "1500", "retry-after", "9", 2, 1500},
        {"retry-after-ms", "1500.5", NULL, NULL, 2, 1501},
        {"retry-after", "2", NULL, NULL, 2, 2000},
        {"retry-after", "0.5", NULL, NULL, 2, 1000},
        {"retry-after", "7", NULL, NULL, 2, 7000},
        {"retry-after", "Thu, 01 Jan 2026 00:00:03 GMT", NULL, NULL, 2, 3000},
        {"retry-after", "Wed, 31 Dec 2025 23:00:00 GMT", NULL, NULL, 2, 1000},
        {"retry-after", "soon", NULL, NULL, 2, 1000},
        {NULL, NULL, NULL, NULL, 13107, 1000},
        {NULL, NULL, NULL, NULL, 13108, 5000},
        {"retry-after", "2", NULL, NULL, 13108, 5000},
        {"retry-after", "6", NULL, NULL, 13108, 6000},
        {"retry-after", "7200", NULL, NULL, 2, 3600000},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        pair p;
        open_pair(&p, NULL);
        tinkc_future *future = samplefix_sample(&p.f, p.sampling, rows[i].tokens);
        fakeanswer answer = push_back(rows[i].name, rows[i].value);
        answer.headers[2] = rows[i].name2;
        answer.headers[3] = rows[i].value2;
        assert_true(faketransport_answer(&p.f.net, SAMPLE, answer));
        clientfix_turn(&p.f);
        tinkc_wait wait = TINKC_WAIT_INIT;
        assert_int_equal(tinkc_future_status(&wait, future, NULL), TINKC_OK);
        assert_int_equal(wait.stage, TINKC_STAGE_BACKOFF);
        assert_paused(&p.f, rows[i].pause_ms, 1);
        /* the same request again, with the same id */
        assert_string_equal(faketransport_nth(&p.f.net, SAMPLE, 0)->body,
                            faketransport_nth(&p.f.net, SAMPLE, 1)->body);
        assert_true(samplefix_accept(&p.f) && samplefix_finish(&p.f));
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
        tinkc_future_free(&future);
        close_pair(&p);
    }
}

/* one 429 pauses every other sample; of 50, ten at a time go on. */
static void test_sample_pause_all(void **unused)
{
    enum { N = 50 };
    pair p;
    open_pair(&p, NULL);
    tinkc_future *futures[N];
    futures[0] = samplefix_sample(&p.f, p.sampling, 2);
    assert_true(faketransport_answer(&p.f.net, SAMPLE, push_back(NULL, NULL)));
    clientfix_turn(&p.f);
    for (size_t i = 1; i < N; i++) {
        futures[i] = samplefix_sample(&p.f, p.sampling, 2);
    }
    assert_int_equal(faketransport_count(&p.f.net, SAMPLE), 1);
    assert_paused(&p.f, 1000, 11); /* the first one came in before it was throttled */
    for (size_t i = 0; i < N; i++) {
        assert_true(faketransport_open(&p.f.net, SAMPLE) <= 11);
        assert_true(samplefix_accept(&p.f));
    }
    for (size_t i = 0; i < N; i++) {
        assert_true(samplefix_finish(&p.f));
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], 0), TINKC_OK);
        tinkc_future_free(&futures[i]);
    }
    close_pair(&p);
}

/* a pause that grows while samples wait for its end holds them longer. A-007: a
 * shorter one does not bring its end nearer. */
static void test_sample_pause_grows_only(void **unused)
{
    pair p;
    open_pair(&p, NULL);
    tinkc_future *futures[3];
    for (size_t i = 0; i < 3; i++) {
        futures[i] = samplefix_sample(&p.f, p.sampling, 2);
    }
    assert_true(faketransport_answer(&p.f.net, SAMPLE, push_back("retry-after", "3")));
    clientfix_advance(&p.f, 2000);
    assert_true(faketransport_answer(&p.f.net, SAMPLE, push_back("retry-after", "5")));
    clientfix_advance(&p.f, 500);
    assert_true(faketransport_answer(&p.f.net, SAMPLE, push_back("retry-after", "1")));
    clientfix_turn(&p.f);
    assert_paused(&p.f, 4500, 3); /* 2 s + 5 s after the start, not 3 s, not 3.5 s */
    for (size_t i = 0; i < 3; i++) {
        tinkc_future_cancel(futures[i]);
        tinkc_future_free(&futures[i]);
    }
    close_pair(&p);
}

/* the wall clock may jump. */
static void test_sample_pause_is_monotonic(void **unused)
{
    static const int64_t day_us = INT64_C(86400) * 1000000;
    for (int sign = -1; sign <= 1; sign += 2) {
        pair p;
        open_pair(&p, NULL);
        tinkc_future *future = samplefix_sample(&p.f, p.sampling, 2);
        assert_true(
            faketransport_answer(&p.f.net, SAMPLE, push_back("retry-after", "4")));
        clientfix_turn(&p.f);
        fakeclock_set_wall_us(&p.f.clock,
                              tk_clock_wall_us(&p.f.clock.clock) + sign * day_us);
        assert_paused(&p.f, 4000, 1);
        tinkc_future_cancel(future);
        tinkc_future_free(&future);
        close_pair(&p);
    }
}

/* M-014, M-080: shared by services with the same server and key, by no
 * others; A-096: however it is written. */
static void test_sample_pause_is_shared(void **unused)
{
    static const struct {
        const char *name, *value;
        bool shared;
    } rows[] = {{"api_key", "tml-test", true},
                {"base_url", "HTTP://127.0.0.1:1/path/", true},
                {"api_key", "tml-other", false},
                {"base_url", "http://127.0.0.1:2", false},
                {"base_url", "https://127.0.0.1:1", false}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *options[] = {rows[i].name, rows[i].value, NULL};
        pair a, b;
        open_pair(&a, NULL);
        open_pair(&b, options);
        tinkc_future *first = samplefix_sample(&a.f, a.sampling, 2);
        assert_true(
            faketransport_answer(&a.f.net, SAMPLE, push_back("retry-after", "7")));
        clientfix_turn(&a.f);
        tinkc_future *second = samplefix_sample(&b.f, b.sampling, 2);
        if (rows[i].shared) {
            assert_paused(&b.f, 7000, 1);
        } else {
            assert_int_equal(faketransport_open(&b.f.net, SAMPLE), 1);
        }
        tinkc_future_cancel(first);
        tinkc_future_free(&first);
        tinkc_future_cancel(second);
        tinkc_future_free(&second);
        close_pair(&a);
        close_pair(&b);
    }
}

/* M-079: at most sample_dispatch submissions at a time. */
static void test_sample_pause_dispatch_limit(void **unused)
{
    enum { N = 500 };
    static const struct {
        const char *option;
        size_t limit;
    } rows[] = {{NULL, 400}, {"7", 7}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *options[] = {"sample_dispatch", rows[i].option, NULL};
        pair p;
        open_pair(&p, rows[i].option != NULL ? options : NULL);
        tinkc_future *futures[N];
        for (size_t j = 0; j < N; j++) {
            futures[j] = samplefix_sample(&p.f, p.sampling, 2);
        }
        assert_int_equal(faketransport_open(&p.f.net, SAMPLE), rows[i].limit);
        tinkc_wait wait = TINKC_WAIT_INIT;
        assert_int_equal(tinkc_future_status(&wait, futures[N - 1], NULL), TINKC_OK);
        assert_int_equal(wait.stage, TINKC_STAGE_BUDGET);
        for (size_t j = 0; j < N; j++) {
            assert_true(samplefix_accept(&p.f));
            assert_int_equal(faketransport_open(&p.f.net, SAMPLE),
                             TK_MIN(rows[i].limit, N - 1 - j));
        }
        for (size_t j = 0; j < N; j++) {
            assert_true(samplefix_finish(&p.f));
            assert_int_equal(tinkc_future_wait(futures[j], 0), TINKC_OK);
            tinkc_future_free(&futures[j]);
        }
        close_pair(&p);
    }
}

/* A release of one service lets a sample of another one in. */
static void test_sample_pause_limit_is_shared(void **unused)
{
    static const char *const options[] = {"sample_dispatch", "1", NULL};
    pair a, b;
    open_pair(&a, options);
    open_pair(&b, options);
    tinkc_future *first = samplefix_sample(&a.f, a.sampling, 2);
    tinkc_future *second = samplefix_sample(&b.f, b.sampling, 2);
    assert_int_equal(faketransport_open(&a.f.net, SAMPLE), 1);
    assert_int_equal(faketransport_open(&b.f.net, SAMPLE), 0);
    assert_true(samplefix_accept(&a.f));
    clientfix_turn(&b.f);
    assert_int_equal(faketransport_open(&b.f.net, SAMPLE), 1);
    /* closing one leaves the other at work */
    tinkc_future *third = samplefix_sample(&a.f, a.sampling, 2);
    assert_int_equal(faketransport_open(&a.f.net, SAMPLE), 0);
    close_pair(&b);
    assert_int_equal(tinkc_future_wait(second, 0), TINKC_E_CANCELLED);
    clientfix_turn(&a.f);
    assert_true(samplefix_accept(&a.f));
    assert_true(samplefix_finish(&a.f) && samplefix_finish(&a.f));
    assert_int_equal(tinkc_future_wait(third, 0), TINKC_OK);
    tinkc_future_free(&first);
    tinkc_future_free(&second);
    tinkc_future_free(&third);
    close_pair(&a);
}

/* A service with a manual loop that is not driven any more keeps its places, also those
 * that were granted without its knowledge; closing it gives all of them back, although
 * its futures and handles are still held. */
static void test_sample_pause_undriven(void **unused)
{
    static const char *const options[] = {"sample_dispatch", "2", NULL};
    pair a, b;
    open_pair(&a, options);
    open_pair(&b, options);
    tinkc_future *held = samplefix_sample(&a.f, a.sampling, 2);
    tinkc_future *others = samplefix_sample(&b.f, b.sampling, 2);
    tinkc_future *granted = samplefix_sample(&a.f, a.sampling, 2);
    assert_int_equal(faketransport_open(&a.f.net, SAMPLE), 1);
    assert_true(samplefix_accept(&b.f)); /* its place goes to `granted` of a */
    tinkc_future *waiting = samplefix_sample(&b.f, b.sampling, 2);
    clientfix_advance(&b.f, 60000);
    assert_int_equal(faketransport_open(&b.f.net, SAMPLE), 0);
    tinkc_service_close(&a.f.service);
    assert_int_equal(tinkc_future_wait(held, 0), TINKC_E_CANCELLED);
    assert_int_equal(tinkc_future_wait(granted, 0), TINKC_E_CANCELLED);
    clientfix_turn(&b.f);
    assert_true(samplefix_accept(&b.f));
    assert_true(samplefix_finish(&b.f) && samplefix_finish(&b.f));
    assert_int_equal(tinkc_future_wait(waiting, 0), TINKC_OK);
    tinkc_future_free(&held);
    tinkc_future_free(&others);
    tinkc_future_free(&granted);
    tinkc_future_free(&waiting);
    close_pair(&a);
    close_pair(&b);
}

/* M-015, M-079: docs/protocol.md §7.1: the byte budget lets one in while anything is
 * left. */
static void test_sample_pause_byte_budget(void **unused)
{
    pair p;
    clientfix_open(&p.f, NULL);
    faketransport_default(
        &p.f.net, "client/config",
        (fakeanswer){.body = "{\"sample_dispatch_bytes_semaphore_size\":1000}"});
    p.sampling = samplefix_create(&p.f);
    tinkc_future *futures[3];
    for (size_t i = 0; i < 3; i++) {
        futures[i] = samplefix_sample(&p.f, p.sampling, 60); /* 600 bytes each */
    }
    assert_int_equal(faketransport_open(&p.f.net, SAMPLE), 2);
    assert_true(samplefix_accept(&p.f));
    assert_int_equal(faketransport_open(&p.f.net, SAMPLE), 2);
    for (size_t i = 0; i < 3; i++) {
        tinkc_future_cancel(futures[i]);
        tinkc_future_free(&futures[i]);
    }
    close_pair(&p);
}

/* M-083: docs/protocol.md §5.5: a 402 pauses submissions like a 429 until the window
 * ends. */
static void test_sample_pause_billing(void **unused)
{
    pair p;
    clientfix_open(&p.f, NULL);
    faketransport_default(
        &p.f.net, "client/config",
        (fakeanswer){.body = "{\"billing_exception_max_pause_duration_sec\":10}"});
    p.sampling = samplefix_create(&p.f);
    tinkc_future *future = samplefix_sample(&p.f, p.sampling, 2);
    faketransport_default(&p.f.net, SAMPLE, (fakeanswer){.status = 402});
    assert_true(faketransport_answer(&p.f.net, SAMPLE, (fakeanswer){.status = 402}));
    clientfix_turn(&p.f);
    clientfix_advance(&p.f, 10000);
    assert_int_equal(faketransport_count(&p.f.net, SAMPLE), 11);
    assert_false(tinkc_future_is_done(future));
    clientfix_advance(&p.f, 1000);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_PAYMENT);
    tinkc_future_free(&future);
    close_pair(&p);
}

/* M-081: design §3: silent for ten minutes, or nothing completed for two hours. */
static void test_sample_pause_stuck(void **unused)
{
    static const struct {
        const char *silent, *total;
        fakeanswer submit, poll;
        int64_t end_ms;
    } rows[] = {
        {NULL, NULL, {.failure = TK_HTTP_RESET}, {0}, 600000},
        {"60000", NULL, {.failure = TK_HTTP_RESET}, {0}, 300000},
        {NULL, "60000", {.body = "{\"request_id\":\"r\"}"}, {.status = 410}, 60000},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *options[5] = {NULL};
        size_t n = 0;
        if (rows[i].silent != NULL) {
            options[n++] = "stuck_silent";
            options[n++] = rows[i].silent;
        }
        if (rows[i].total != NULL) {
            options[n++] = "stuck_total";
            options[n++] = rows[i].total;
        }
        pair p;
        open_pair(&p, options);
        faketransport_default(&p.f.net, SAMPLE, rows[i].submit);
        faketransport_default(&p.f.net, POLL, rows[i].poll);
        tinkc_future *future = samplefix_sample(&p.f, p.sampling, 2);
        clientfix_advance(&p.f, rows[i].end_ms - 1);
        assert_false(tinkc_future_is_done(future));
        clientfix_advance(&p.f, 25000);
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_STUCK);
        tinkc_future_free(&future);
        close_pair(&p);
    }
}

/* docs/protocol.md §5.4: the server's flag switches it off, while submitting and while
 * polling. */
static void test_sample_pause_stuck_off(void **unused)
{
    static const char *const options[] = {"stuck_silent", "60000", "stuck_total", "60000",
                                          NULL};
    for (int polls = 0; polls < 2; polls++) {
        pair p;
        clientfix_open(&p.f, options);
        faketransport_default(
            &p.f.net, "client/config",
            (fakeanswer){.body = "{\"sample_enable_stuck_detection\":false}"});
        p.sampling = samplefix_create(&p.f);
        tinkc_future *future = samplefix_sample(&p.f, p.sampling, 2);
        const char *path = polls != 0 ? POLL : SAMPLE;
        assert_true(polls == 0 || samplefix_accept(&p.f));
        faketransport_default(&p.f.net, path, (fakeanswer){.failure = TK_HTTP_RESET});
        assert_true(
            faketransport_answer(&p.f.net, path, (fakeanswer){.failure = TK_HTTP_RESET}));
        clientfix_advance(&p.f, 700000);
        assert_false(tinkc_future_is_done(future));
        tinkc_future_cancel(future);
        tinkc_future_free(&future);
        close_pair(&p);
    }
}

/* M-081: docs/protocol.md §5.4: a sample that succeeds is progress for all of the
 * handle. */
static void test_sample_pause_stuck_progress(void **unused)
{
    static const char *const options[] = {"stuck_total", "60000", NULL};
    static const fakeanswer not_yet = {.status = 408, .body = "{}"};
    pair p;
    open_pair(&p, options);
    tinkc_future *slow = samplefix_sample(&p.f, p.sampling, 2);
    assert_true(samplefix_accept(&p.f));
    clientfix_advance(&p.f, 50000);
    tinkc_future *quick = samplefix_sample(&p.f, p.sampling, 2);
    assert_true(samplefix_accept(&p.f));
    assert_true(faketransport_answer(&p.f.net, POLL, not_yet)); /* the slow one's */
    clientfix_turn(&p.f);
    assert_true(samplefix_finish(&p.f));
    assert_int_equal(tinkc_future_wait(quick, 0), TINKC_OK);
    clientfix_advance(&p.f, 59999);
    assert_true(faketransport_answer(&p.f.net, POLL, not_yet));
    clientfix_turn(&p.f);
    assert_false(tinkc_future_is_done(slow));
    clientfix_advance(&p.f, 1);
    assert_true(faketransport_answer(&p.f.net, POLL, not_yet));
    clientfix_turn(&p.f);
    assert_int_equal(tinkc_future_wait(slow, 0), TINKC_E_STUCK);
    tinkc_future_free(&slow);
    tinkc_future_free(&quick);
    close_pair(&p);
}

/* A server that pushes back for ever is stuck, too. */
static void test_sample_pause_stuck_pushed_back(void **unused)
{
    static const char *const options[] = {"stuck_total", "60000", NULL};
    pair p;
    open_pair(&p, options);
    tinkc_future *future = samplefix_sample(&p.f, p.sampling, 2);
    for (int i = 0; i < 60; i++) {
        assert_true(faketransport_answer(&p.f.net, SAMPLE, push_back(NULL, NULL)));
        clientfix_advance(&p.f, 1000);
        assert_false(tinkc_future_is_done(future));
    }
    assert_true(faketransport_answer(&p.f.net, SAMPLE, push_back(NULL, NULL)));
    clientfix_turn(&p.f);
    assert_true(tinkc_future_is_done(future));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_STUCK);
    tinkc_future_free(&future);
    close_pair(&p);
}

/* A new sample is not stuck because an older one has waited for long. */
static void test_sample_pause_stuck_newcomer(void **unused)
{
    static const char *const options[] = {"stuck_total", "60000", NULL};
    pair p;
    open_pair(&p, options);
    tinkc_future *older = samplefix_sample(&p.f, p.sampling, 2);
    assert_true(samplefix_accept(&p.f)); /* its poll is not answered */
    clientfix_advance(&p.f, 61000);
    tinkc_future *newer = samplefix_sample(&p.f, p.sampling, 2);
    clientfix_turn(&p.f);
    assert_true(faketransport_answer(&p.f.net, SAMPLE, push_back(NULL, NULL)));
    clientfix_turn(&p.f);
    assert_false(tinkc_future_is_done(newer));
    tinkc_future_cancel(older);
    tinkc_future_cancel(newer);
    tinkc_future_free(&older);
    tinkc_future_free(&newer);
    close_pair(&p);
}

/* docs/protocol.md §5.4: time in which nothing was asked for does not count. */
static void test_sample_pause_stuck_idle(void **unused)
{
    static const char *const options[] = {"stuck_total", "60000", NULL};
    pair p;
    open_pair(&p, options);
    for (int i = 0; i < 2; i++) {
        clientfix_advance(&p.f, 61000);
        tinkc_future *future = samplefix_sample(&p.f, p.sampling, 2);
        assert_true(samplefix_accept(&p.f));
        assert_true(faketransport_answer(&p.f.net, POLL, (fakeanswer){.status = 410}));
        clientfix_advance(&p.f, 10000);
        assert_false(tinkc_future_is_done(future));
        assert_true(samplefix_accept(&p.f) && samplefix_finish(&p.f));
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
        tinkc_future_free(&future);
    }
    close_pair(&p);
}

/* the hint of the last answer makes the delay before a new attempt longer. */
static void test_sample_pause_before_attempt(void **unused)
{
    static const char *const options[] = {"retry_total", "0", NULL};
    clientfix f;
    clientfix_open(&f, options);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    fakeanswer later = {.status = 503, .body = "{}", .headers = {"retry-after", "7200"}};
    assert_true(faketransport_answer(&f.net, SAMPLE, later));
    clientfix_advance(&f, 3600000 - 1);
    assert_int_equal(faketransport_count(&f.net, SAMPLE), 1);
    clientfix_advance(&f, 1);
    assert_int_equal(faketransport_count(&f.net, SAMPLE), 2);
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_pause_hints),
        cmocka_unit_test(test_sample_pause_before_attempt),
        cmocka_unit_test(test_sample_pause_all),
        cmocka_unit_test(test_sample_pause_grows_only),
        cmocka_unit_test(test_sample_pause_is_monotonic),
        cmocka_unit_test(test_sample_pause_is_shared),
        cmocka_unit_test(test_sample_pause_dispatch_limit),
        cmocka_unit_test(test_sample_pause_limit_is_shared),
        cmocka_unit_test(test_sample_pause_undriven),
        cmocka_unit_test(test_sample_pause_byte_budget),
        cmocka_unit_test(test_sample_pause_billing),
        cmocka_unit_test(test_sample_pause_stuck),
        cmocka_unit_test(test_sample_pause_stuck_off),
        cmocka_unit_test(test_sample_pause_stuck_progress),
        cmocka_unit_test(test_sample_pause_stuck_pushed_back),
        cmocka_unit_test(test_sample_pause_stuck_newcomer),
        cmocka_unit_test(test_sample_pause_stuck_idle),
    };
    return cmocka_run_group_tests_name("sample_pause", tests, NULL, NULL);
}
