/* Durations in buckets: edges, quantiles, extremes (M-147). */
#include <stdlib.h>

#include "base/rand.h"
#include "client/insight/histogram.h"
#include "support/test.h"

#define US INT64_C(1000)

static tk_histogram histogram; /* large */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* M-147: quantiles are the nearest rank's, never below it and at most 4 % above. */
static void test_histogram_quantiles(void **unused)
{
    enum { N = 5000 };
    static int64_t values[N];
    static const double qs[] = {0.0, 0.001, 0.5, 0.9, 0.99, 1.0};
    tk_rand rand;
    tk_rand_init(&rand, 7);
    memset(&histogram, 0, sizeof(histogram));
    for (size_t i = 0; i < N; i++) {
        unsigned shift = (unsigned)tk_rand_below(&rand, 45);
        values[i] = (int64_t)tk_rand_below(&rand, (UINT64_C(2) << shift));
        tk_histogram_add(&histogram, values[i]);
    }
    qsort(values, N, sizeof(values[0]), compare);
    for (size_t i = 0; i < TK_ARRAY_LEN(qs); i++) {
        size_t rank = (size_t)(qs[i] * N + 0.9999);
        int64_t exact = values[rank > 0 ? rank - 1 : 0];
        int64_t said = tk_histogram_quantile(&histogram, qs[i]);
        assert_true(said >= exact);
        assert_true((double)said <= (double)exact * 1.04 + 1000.0);
    }
    assert_int_equal(histogram.count, N);
    assert_int_equal(histogram.min_ns, values[0]);
    assert_int_equal(histogram.max_ns, values[N - 1]);
}

/* M-147: the rank is exact where the values lie apart. */
static void test_histogram_ranks(void **unused)
{
    memset(&histogram, 0, sizeof(histogram));
    for (int i = 0; i < 9; i++) {
        tk_histogram_add(&histogram, 32 * US);
    }
    tk_histogram_add(&histogram, 1000000 * US);
    assert_int_equal(tk_histogram_quantile(&histogram, 0.9), 32 * US);
    assert_int_equal(tk_histogram_quantile(&histogram, 0.91), 1000000 * US);
}

/* M-147: what lies exactly at a power of two counts as below it, a nanosecond more
 * not. */
static void test_histogram_edges(void **unused)
{
    for (unsigned power = 5; power <= 40; power++) {
        int64_t edge = (INT64_C(1) << power) * US;
        memset(&histogram, 0, sizeof(histogram));
        tk_histogram_add(&histogram, edge - 1);
        tk_histogram_add(&histogram, edge);
        tk_histogram_add(&histogram, edge + 1);
        assert_int_equal(tk_histogram_below(&histogram, power), 2);
        assert_int_equal(tk_histogram_below(&histogram, power + 1), 3);
    }
}

/* M-147: nothing, negative and endless durations are counted too. */
static void test_histogram_extremes(void **unused)
{
    memset(&histogram, 0, sizeof(histogram));
    assert_int_equal(tk_histogram_quantile(&histogram, 0.5), 0);
    tk_histogram_add(&histogram, -5);
    tk_histogram_add(&histogram, 0);
    assert_int_equal(tk_histogram_quantile(&histogram, 1.0), 0);
    tk_histogram_add(&histogram, INT64_MAX / 2);
    assert_int_equal(histogram.count, 3);
    assert_int_equal(tk_histogram_below(&histogram, 41), 3);
    assert_int_equal(tk_histogram_below(&histogram, 40), 2);
    assert_true(tk_histogram_quantile(&histogram, 0.99) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histogram_quantiles),
        cmocka_unit_test(test_histogram_ranks),
        cmocka_unit_test(test_histogram_edges),
        cmocka_unit_test(test_histogram_extremes),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
