/* Series of a run of 100,000 steps: any range has the minimum, the maximum and the mean that
 * an independent computation finds; the database and the memory stay small. */
#include <math.h>

#include "base/rand.h"
#include "recfix.h"

#define STEPS 100000
#define EACH  2000 /* steps between two waits for the recorder: its queue is bounded */

static double losses[STEPS + 1];

static void record(recfix *it, int64_t from, int64_t to)
{
    tk_rand rand;
    tk_rand_init(&rand, 7);
    for (int64_t i = 1; i <= to; i++) {
        double loss = 10.0 / (double)(1 + i) + tk_rand_double(&rand);
        if (tk_rand_below(&rand, 1000) == 0) {
            loss *= 50; /* a peak that must not get lost */
        }
        losses[i] = loss;
        if (i >= from) {
            recfix_step(it->rec, i, loss);
        }
        if (i >= from && i % EACH == 0) {
            srv_rec_flush(it->rec);
        }
    }
    srv_rec_flush(it->rec);
}

static void check(recfix *it, int64_t a, int64_t b, size_t points)
{
    con_series s = recfix_series(it, "loss", CON_BY_STEP, (double)a, (double)b, points);
    double min = INFINITY, max = -(double)INFINITY, sum = 0.0;
    double found_min = INFINITY, found_max = -(double)INFINITY, found_sum = 0.0;
    int64_t n = 0, last = a - 1;
    for (int64_t i = TK_MAX(a, 1); i <= TK_MIN(b, STEPS); i++) {
        min = fmin(min, losses[i]);
        max = fmax(max, losses[i]);
        sum += losses[i];
        n++;
    }
    assert_true(s.n <= points);
    assert_int_equal(s.total, n);
    for (size_t i = 0; i < s.n; i++) {
        found_min = fmin(found_min, s.p[i].min);
        found_max = fmax(found_max, s.p[i].max);
        found_sum += s.p[i].mean * (double)s.p[i].n;
        assert_true(s.p[i].step > last && s.p[i].min <= s.p[i].mean &&
                    s.p[i].mean <= s.p[i].max);
        assert_int_equal(s.p[i].tokens, s.p[i].step * 10);
        last = s.p[i].step;
    }
    if (n > 0 && (min != found_min || max != found_max || last != TK_MIN(b, STEPS) ||
                  fabs(sum - found_sum) > 1e-6 * fabs(sum))) {
        fail_msg("%lld to %lld in %zu: %g %g %g are %g %g %g, the last %lld",
                 (long long)a, (long long)b, points, min, max, sum, found_min, found_max,
                 found_sum, (long long)last);
    }
    assert_int_equal(s.decimated, n > (int64_t)s.n);
}

static void test_srv_rec_series_of_any_range(void **state)
{
    recfix it;
    tk_rand rand;
    srv_rec_stats stats;
    recfix_make(&it);
    recfix_open(&it, NULL);
    recfix_begin(it.rec);
    record(&it, 1, STEPS);
    srv_rec_get_stats(it.rec, &stats);
    assert_int_equal(stats.dropped, 0);
    assert_true(recfix_size(&it) < 40 * TK_MIB);
    assert_true(atomic_load(&it.memory.peak) < 10 * TK_MIB);
    check(&it, 1, STEPS, 1000);
    check(&it, 1, STEPS, 1);
    check(&it, -5, STEPS + 100, 4000);
    check(&it, STEPS + 1, STEPS + 5, 10);
    tk_rand_init(&rand, 3);
    for (int i = 0; i < 300; i++) {
        int64_t a = 1 + (int64_t)tk_rand_below(&rand, STEPS);
        int64_t most = i % 3 == 0 ? STEPS : 500;
        int64_t b = a + (int64_t)tk_rand_below(&rand, (uint64_t)most);
        check(&it, a, b, 1 + tk_rand_below(&rand, 400));
    }
    /* the same range in tokens: ten for each step */
    con_series s = recfix_series(&it, "lr", CON_BY_TOKENS, 495, 1005, 4000);
    assert_int_equal(s.total, 51);
    assert_int_equal(s.p[0].step, 50);
    assert_int_equal(s.p[s.n - 1].step, 100);
    s = recfix_series(&it, "loss", CON_BY_TIME, 0, 9e15, 100);
    assert_int_equal(s.total, STEPS);
    s = recfix_series(&it, "loss", CON_BY_TIME, 0, 1, 100);
    assert_int_equal(s.total, 0);
    s = recfix_series(&it, "nothing", CON_BY_STEP, 0, 9e15, 100);
    assert_int_equal(s.n, 0);
    recfix_close(&it);
    recfix_open(&it, NULL); /* a restart */
    check(&it, 1, STEPS, 1000);
    check(&it, 77777, 99999, 33);
    recfix_close(&it);
    recfix_remove(&it);
}

/* With a small limit the finest values of long ago go; minima and maxima stay. */
static void test_srv_rec_series_are_bounded(void **state)
{
    const srv_rec_config small = {.limit_bytes = SRV_REC_LIMIT_MIN};
    recfix it;
    recfix_make(&it);
    recfix_open(&it, &small);
    recfix_begin(it.rec);
    record(&it, 1, STEPS);
    for (int i = 0; i < 3; i++) { /* what is over the limit goes with the next batches */
        recfix_step(it.rec, STEPS + 1 + i, 1.0);
        srv_rec_flush(it.rec);
    }
    assert_true(recfix_size(&it) < SRV_REC_LIMIT_MIN + 16 * TK_MIB);
    con_series s = recfix_series(&it, "loss", CON_BY_STEP, 1, STEPS, 100);
    double min = INFINITY, max = -(double)INFINITY;
    double found_min = INFINITY, found_max = -(double)INFINITY;
    for (size_t i = 1; i <= STEPS; i++) {
        min = fmin(min, losses[i]);
        max = fmax(max, losses[i]);
    }
    for (size_t i = 0; i < s.n; i++) {
        found_min = fmin(found_min, s.p[i].min);
        found_max = fmax(found_max, s.p[i].max);
    }
    assert_true(min == found_min && max == found_max);
    assert_int_equal(s.total, STEPS);
    /* ranges of tokens and of time, where the single steps are gone */
    s = recfix_series(&it, "loss", CON_BY_STEP, 1, 4096, 4000);
    assert_true(s.total == 4096 && s.n <= 512);
    int64_t time_ms = s.p[s.n - 1].time_ms;
    s = recfix_series(&it, "loss", CON_BY_TOKENS, 1, 40960, 100);
    assert_true(s.total == 4096 && s.p[s.n - 1].step == 4096);
    s = recfix_series(&it, "loss", CON_BY_TOKENS, 20481, 40960, 100);
    assert_true(s.total == 2048 && s.p[s.n - 1].step == 4096);
    s = recfix_series(&it, "loss", CON_BY_TOKENS, 20481, 40959, 100);
    assert_true(s.total < 2048 && s.total >= 1536 && s.p[s.n - 1].tokens < 40960);
    s = recfix_series(&it, "loss", CON_BY_TIME, 0, (double)time_ms, 100);
    assert_true(s.total >= 4096 && s.p[s.n - 1].time_ms == time_ms);
    /* the last steps are all there */
    s = recfix_series(&it, "loss", CON_BY_STEP, STEPS - 99, STEPS, 100);
    assert_int_equal(s.n, 100);
    for (int64_t i = 0; i < 100; i++) {
        assert_true(s.p[i].mean == losses[STEPS - 99 + i]);
    }
    recfix_close(&it);
    recfix_remove(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_rec_series_of_any_range),
        cmocka_unit_test(test_srv_rec_series_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
