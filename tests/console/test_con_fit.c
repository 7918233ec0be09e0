/* Merging neighbours: no minimum and no maximum is lost, whatever the numbers. */
#include "console/con_fit.h"

#include "base/rand.h"
#include "support/test.h"

#define POINTS 1000

static void test_con_fit_loses_nothing(void **state)
{
    (void)state;
    static con_point points[POINTS], was[POINTS];
    tk_rand rand;
    tk_rand_init(&rand, 1);
    for (size_t most = 1; most < POINTS + 10; most += 37) {
        double sum = 0.0, after = 0.0;
        int64_t n = 0;
        for (size_t i = 0; i < POINTS; i++) {
            double v = tk_rand_double(&rand) - 0.5;
            int64_t k = 1 + (int64_t)tk_rand_below(&rand, 5);
            was[i] = (con_point){.step = (int64_t)i + 1,
                                 .time_ms = (int64_t)i * 10,
                                 .tokens = (int64_t)i * 100,
                                 .n = k,
                                 .min = v - 1.0,
                                 .max = v + 1.0,
                                 .mean = v};
            points[i] = was[i];
            sum += v * (double)k;
            n += k;
        }
        size_t left = con_fit_points(points, POINTS, most);
        assert_true(left <= most && left > 0);
        assert_true(most < POINTS || left == POINTS);
        size_t i = 0;
        for (size_t at = 0; at < left; at++) {
            double min = was[i].min, max = was[i].max;
            for (; i < POINTS && was[i].step <= points[at].step; i++) {
                min = was[i].min < min ? was[i].min : min;
                max = was[i].max > max ? was[i].max : max;
            }
            assert_true(points[at].min == min && points[at].max == max);
            assert_int_equal(points[at].time_ms, was[i - 1].time_ms);
            assert_int_equal(points[at].tokens, was[i - 1].tokens);
            after += points[at].mean * (double)points[at].n;
            n -= points[at].n;
        }
        assert_int_equal(i, POINTS);
        assert_int_equal(n, 0);
        assert_true(after - sum < 1e-9 && sum - after < 1e-9);
    }
    assert_int_equal(con_fit_points(points, 0, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_con_fit_loses_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
