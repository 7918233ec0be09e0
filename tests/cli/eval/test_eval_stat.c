/* Intervals, against values of published tables and of SciPy; and which answers are right. */
#include "cli/eval/eval_stat.h"

#include <math.h>

#include "cli/eval/eval_match.h"
#include "support/test.h"

static void check_near(double got, double wanted, double by)
{
    assert_true(fabs(got - wanted) <= by);
}

/* scipy.stats.binomtest(k, n).proportion_ci(method="wilson") */
static void test_eval_stat_wilson(void **state)
{
    double scores[100] = {0};
    eval_mean none = eval_stat_mean(scores, 100);
    assert_int_equal(none.method, EVAL_WILSON);
    check_near(none.low, 0, 1e-9);
    check_near(none.high, 0.03699, 1e-4);
    for (size_t i = 0; i < 99; i++) {
        scores[i] = 1;
    }
    eval_mean most = eval_stat_mean(scores, 100);
    check_near(most.mean, 0.99, 1e-12);
    check_near(most.low, 0.94554, 1e-4);
    check_near(most.high, 0.99823, 1e-4);
    assert_true(isnan(eval_stat_mean(scores, 0).mean));
    assert_int_equal(eval_stat_mean(scores, 0).method, EVAL_NONE);
}

static void test_eval_stat_t(void **state)
{
    static const double scores[] = {0.5, 1, 0, 0.25, 0.75};
    eval_mean mean = eval_stat_mean(scores, 5);
    assert_int_equal(mean.method, EVAL_T);
    check_near(mean.mean, 0.5, 1e-12);
    check_near(mean.high - mean.mean, 2.776 * 0.3952847 / sqrt(5), 1e-4);
    assert_int_equal(eval_stat_mean(scores, 1).method, EVAL_NONE);
    check_near(eval_stat_t(1), 12.706, 1e-3);
    check_near(eval_stat_t(9), 2.262, 1e-3);
    check_near(eval_stat_t(30), 2.042, 1e-3);
    check_near(eval_stat_t(100000), 1.960, 1e-3);
}

static void test_eval_stat_pairs(void **state)
{
    static const double a[] = {1, 1, 0, 1}, b[] = {0, 1, 1, 0};
    eval_pairs pairs = eval_stat_pairs(a, b, 4);
    assert_int_equal(pairs.wins, 2);
    assert_int_equal(pairs.losses, 1);
    assert_int_equal(pairs.ties, 1);
    check_near(pairs.difference.mean, 0.25, 1e-12);
    check_near(pairs.difference.low, -1, 1e-12); /* not below */
    pairs = eval_stat_pairs(a, a, 4);
    check_near(pairs.difference.low, 0, 1e-12);
    check_near(pairs.difference.high, 0, 1e-12);
}

static void check_match(eval_match match, const char *answer, const char *expected,
                        bool is_right)
{
    assert_int_equal(eval_match_is_right(match, tk_str_of(answer), tk_str_of(expected)),
                     is_right);
}

static void test_eval_match(void **state)
{
    check_match(EVAL_EXACT, " cold\n", "cold", true);
    check_match(EVAL_EXACT, "Cold", "cold", false);
    check_match(EVAL_EXACT, "", "", true);
    check_match(EVAL_CONTAINS, "It is cold.", "cold", true);
    check_match(EVAL_CONTAINS, "anything", "", false);
    check_match(EVAL_CONTAINS, "cool", "cold", false);
    check_match(EVAL_NUMBER, "6 + 6 is 1,024.", "1024", true);
    check_match(EVAL_NUMBER, "#### -3.50", "-3.5", true);
    check_match(EVAL_NUMBER, "3", "-3", false);
    check_match(EVAL_NUMBER, "none", "3", false);
    check_match(EVAL_NUMBER, "1,234,567.5", "1234567.5", true);
    check_match(EVAL_NUMBER, "at 10,20", "20", true); /* no thousands */
    check_match(EVAL_NUMBER, "3,4", "34", false);
    check_match(EVAL_NUMBER, "3,4567", "4567", true);
    check_match(EVAL_NUMBER, "pages 3-4", "4", true); /* no sign */
    check_match(EVAL_NUMBER, "x=-4", "-4", true);
    double x = 0;
    assert_true(eval_match_number(TK_STR("1.2.3"), &x));
    check_near(x, 3, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval_stat_wilson),
        cmocka_unit_test(test_eval_stat_t),
        cmocka_unit_test(test_eval_stat_pairs),
        cmocka_unit_test(test_eval_match),
    };
    return cmocka_run_group_tests_name("eval_stat", tests, NULL, NULL);
}
