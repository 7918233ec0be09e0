/* How the samples of one handle are tried again: its own settings instead of the options of
 * the service (M-081). What the options do is in test_sample.c. */
#include <math.h>
#include <tinkc/hooks.h>

#include "support/samplefix.h"

static tinkc_sampling *with(tinkc_sampling *sampling, const tinkc_sample_retry *retry)
{
    tinkc_sampling *out = NULL;
    assert_int_equal(tinkc_sampling_with_retry(&out, sampling, retry, NULL), TINKC_OK);
    return out;
}

static void lose(clientfix *f)
{
    assert_true(samplefix_accept(f));
    assert_true(faketransport_answer(&f->net, POLL, (fakeanswer){.status = 410}));
    clientfix_turn(f);
}

/* M-081: a lost sample is submitted again by one handle and fails with the other, in any
 * order; a handle with a context keeps the settings. */
static void test_sample_retry_off(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *first = samplefix_create(&f), *again = NULL;
    tinkc_sample_retry retry = TINKC_SAMPLE_RETRY_INIT;
    tinkc_context context = TINKC_CONTEXT_INIT;
    retry.retry = false;
    tinkc_sampling *second = with(first, &retry);
    assert_int_equal(tinkc_sampling_with_context(&again, second, &context, NULL),
                     TINKC_OK);
    tinkc_sampling *const handles[] = {second, again, first};
    for (size_t i = 0; i < TK_ARRAY_LEN(handles); i++) {
        tinkc_future *future = samplefix_sample(&f, handles[i], 2);
        lose(&f);
        assert_int_equal(tinkc_future_is_done(future), i < 2);
        if (i < 2) {
            assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_GONE);
        }
        tinkc_future_cancel(future);
        tinkc_future_free(&future);
        clientfix_turn(&f);
    }
    assert_string_equal(tinkc_sampling_session_id(again), "S:sample:0");
    tinkc_sampling_close(&again);
    tinkc_sampling_close(&second);
    tinkc_sampling_close(&first);
    clientfix_close(&f);
}

/* M-081: base, factor of two, most, without a random part. */
static void test_sample_retry_delays(void **unused)
{
    static const int64_t delays[] = {700, 1400, 2000, 2000};
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *first = samplefix_create(&f);
    tinkc_sample_retry retry = TINKC_SAMPLE_RETRY_INIT;
    retry.delay_base_ms = 700;
    retry.delay_max_ms = 2000;
    retry.jitter = 0;
    tinkc_sampling *sampling = with(first, &retry);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    for (size_t i = 0; i < TK_ARRAY_LEN(delays); i++) {
        lose(&f);
        clientfix_advance(&f, delays[i] - 1);
        assert_int_equal(faketransport_open(&f.net, SAMPLE), 0);
        clientfix_advance(&f, 1);
        assert_int_equal(faketransport_open(&f.net, SAMPLE), 1);
    }
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    tinkc_sampling_close(&first);
    clientfix_close(&f);
}

/* M-081: failed work is submitted again as often as the handle says; 0 is not the
 * option. */
static void test_sample_retry_resubmits(void **unused)
{
    static const struct {
        int64_t resubmits;
        size_t submissions;
    } rows[] = {{0, 1}, {1, 2}, {-1, 3}};
    static const char *const options[] = {"sample_resubmits", "2", NULL};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, options);
        tinkc_sampling *first = samplefix_create(&f);
        tinkc_sample_retry retry = TINKC_SAMPLE_RETRY_INIT;
        retry.resubmits = rows[i].resubmits;
        tinkc_sampling *sampling = with(first, &retry);
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        for (size_t j = 0; j < rows[i].submissions; j++) {
            assert_false(tinkc_future_is_done(future));
            assert_true(samplefix_accept(&f));
            assert_true(faketransport_answer(
                &f.net, POLL,
                (fakeanswer){.body = "{\"error\":\"broken\",\"category\":\"server\"}"}));
            clientfix_turn(&f);
            clientfix_advance(&f, 10000);
        }
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_REQUEST);
        tinkc_future_free(&future);
        tinkc_sampling_close(&sampling);
        tinkc_sampling_close(&first);
        clientfix_close(&f);
    }
}

/* Answers "not yet" for two minutes; whether the sample was given up. */
static bool gives_up(tinkc_sampling *sampling, clientfix *f)
{
    tinkc_future *future = samplefix_sample(f, sampling, 2);
    assert_true(samplefix_accept(f));
    for (int i = 0; i < 12 && !tinkc_future_is_done(future); i++) {
        clientfix_advance(f, 10000);
        (void)faketransport_answer(
            &f->net, POLL,
            (fakeanswer){.status = 408, .body = "{\"type\":\"try_again\"}"});
        clientfix_turn(f);
    }
    bool done = tinkc_future_is_done(future);
    if (done) {
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_STUCK);
    }
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    clientfix_turn(f);
    return done;
}

/* M-081: a sampler that finishes nothing is given up after the handle's time, or never. */
static void test_sample_retry_stuck(void **unused)
{
    static const char *const impatient[] = {"stuck_total", "60000", NULL};
    for (size_t i = 0; i < 2; i++) {
        clientfix f;
        clientfix_open(&f, i == 0 ? NULL : impatient);
        tinkc_sampling *first = samplefix_create(&f);
        tinkc_sample_retry retry = TINKC_SAMPLE_RETRY_INIT;
        retry.progress_timeout_ms = i == 0 ? 60000 : 600000;
        tinkc_sampling *sampling = with(first, &retry);
        assert_int_equal(gives_up(first, &f), i == 1);
        assert_int_equal(gives_up(sampling, &f), i == 0);
        tinkc_sampling_close(&sampling);
        retry.detect_stuck = false;
        sampling = with(first, &retry);
        assert_false(gives_up(sampling, &f));
        tinkc_sampling_close(&sampling);
        sampling = with(first, NULL); /* the options */
        assert_int_equal(gives_up(sampling, &f), i == 1);
        tinkc_sampling_close(&sampling);
        tinkc_sampling_close(&first);
        clientfix_close(&f);
    }
}

static void test_sample_retry_refused(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *first = samplefix_create(&f), *out = NULL;
    tinkc_sample_retry bad[7];
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tinkc_sample_retry_init(&bad[i]);
    }
    bad[0].progress_timeout_ms = -1;
    bad[1].delay_base_ms = -1;
    bad[2].delay_max_ms = -1;
    bad[3].jitter = 1.5;
    bad[4].jitter = (double)NAN;
    bad[5].resubmits = -2;
    bad[6].size = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_sample_retry_check(&bad[i], NULL), TINKC_E_INVALID);
        assert_int_equal(tinkc_sampling_with_retry(&out, first, &bad[i], &error),
                         TINKC_E_INVALID);
        assert_null(out);
        tinkc_error_free(&error);
    }
    assert_int_equal(tinkc_sample_retry_check(NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_sampling_with_retry(NULL, first, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_sampling_with_retry(&out, NULL, NULL, NULL), TINKC_E_STATE);
    tinkc_sampling_close(&first);
    clientfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_retry_off),
        cmocka_unit_test(test_sample_retry_delays),
        cmocka_unit_test(test_sample_retry_resubmits),
        cmocka_unit_test(test_sample_retry_stuck),
        cmocka_unit_test(test_sample_retry_refused),
    };
    return cmocka_run_group_tests_name("sample_retry", tests, NULL, NULL);
}
