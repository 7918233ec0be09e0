/* Seeds and advantages of <tinkc/rl.h>. The expected numbers were computed with Python's
 * integers and its statistics module. */
#include <math.h>

#include <tinkc/rl.h>

#include "support/test.h"

#define MOST 8

static void test_rl_seeds(void **state)
{
    (void)state;
    assert_int_equal(tinkc_rl_seed(0, 0, 0, 0), 139205922);
    assert_int_equal(tinkc_rl_seed(1, 2, 3, 4), 215682197);
    assert_int_equal(tinkc_rl_seed(1, 2, 4, 3), 522041577);
    assert_int_equal(tinkc_rl_seed(42, 17, 7, 0), 510296607);
    assert_int_equal(tinkc_rl_seed(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX),
                     690605512);
}

static void check(const double *rewards, size_t n, tinkc_rl_baseline baseline, bool scale,
                  const double *want)
{
    tinkc_rl_advantage_options options = TINKC_RL_ADVANTAGE_OPTIONS_INIT;
    double got[MOST];
    bool differ = false;
    options.baseline = baseline;
    options.scale = scale;
    assert_int_equal(tinkc_rl_advantages(got, &differ, rewards, n, &options, NULL),
                     TINKC_OK);
    assert_true(differ);
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs(got[i] - want[i]) < 1e-12);
    }
}

static void test_rl_advantages(void **state)
{
    static const double rewards[] = {1, 0, 0, 1, 0.5};
    static const double centred[] = {0.5, -0.5, -0.5, 0.5, 0};
    static const double scaled[] = {1.118033988749895, -1.118033988749895,
                                    -1.118033988749895, 1.118033988749895, 0};
    static const double others[] = {0.625, -0.625, -0.625, 0.625, 0};
    double same[5];
    (void)state;
    check(rewards, 5, TINKC_RL_BASELINE_MEAN, false, centred);
    check(rewards, 5, TINKC_RL_BASELINE_MEAN, true, scaled);
    check(rewards, 5, TINKC_RL_BASELINE_OTHERS, false, others);
    memcpy(same, rewards, sizeof(same)); /* in place, with the defaults */
    assert_int_equal(tinkc_rl_advantages(same, NULL, same, 5, NULL, NULL), TINKC_OK);
    assert_memory_equal(same, centred, sizeof(same));
}

/* Nothing to learn: no advantage is anything but 0, not even by rounding. */
static void test_rl_advantages_equal(void **state)
{
    static const double groups[][3] = {{0.1, 0.1, 0.1},
                                       {0, 0, 0},
                                       {0.1 + 0.2, 0.3, 0.3}, /* differ by rounding */
                                       {-1e30, -1e30, -1e30}};
    tinkc_rl_advantage_options options = TINKC_RL_ADVANTAGE_OPTIONS_INIT;
    options.scale = true;
    (void)state;
    for (size_t i = 0; i < TK_ARRAY_LEN(groups); i++) {
        double got[3] = {9, 9, 9};
        bool differ = true;
        assert_int_equal(tinkc_rl_advantages(got, &differ, groups[i], 3, &options, NULL),
                         TINKC_OK);
        assert_false(differ);
        assert_true(got[0] == 0 && got[1] == 0 && got[2] == 0);
    }
    double one = 5;
    bool differ = true;
    assert_int_equal(tinkc_rl_advantages(&one, &differ, &one, 1, NULL, NULL), TINKC_OK);
    assert_false(differ);
    assert_true(one == 0);
}

/* Small differences of large rewards, and large rewards, stay numbers. */
static void test_rl_advantages_ranges(void **state)
{
    static const double tiny[] = {1e-300, 0};
    static const double huge[] = {3e38, -3e38};
    static const double unit[] = {1, -1};
    (void)state;
    check(huge, 2, TINKC_RL_BASELINE_MEAN, true, unit);
    check(tiny, 2, TINKC_RL_BASELINE_MEAN, false, (const double[]){5e-301, -5e-301});
}

static void test_rl_advantages_refused(void **state)
{
    double rewards[] = {1, 2, 3}, got[3] = {9, 9, 9};
    const double wrong[] = {NAN, INFINITY, -INFINITY, 1e300};
    tinkc_rl_advantage_options options = TINKC_RL_ADVANTAGE_OPTIONS_INIT;
    bool differ = true;
    (void)state;
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        tinkc_error *err = NULL;
        rewards[2] = wrong[i];
        assert_int_equal(tinkc_rl_advantages(got, &differ, rewards, 3, NULL, &err),
                         TINKC_E_INVALID);
        assert_non_null(strstr(tinkc_error_message(err), "rewards[2]"));
        tinkc_error_free(&err);
    }
    assert_true(got[0] == 9 && differ);
    rewards[2] = 3;
    assert_int_equal(tinkc_rl_advantages(got, NULL, rewards, 0, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_advantages(NULL, NULL, rewards, 3, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_advantages(got, NULL, NULL, 3, NULL, NULL),
                     TINKC_E_INVALID);
    options.baseline = (tinkc_rl_baseline)7;
    assert_int_equal(tinkc_rl_advantages(got, NULL, rewards, 3, &options, NULL),
                     TINKC_E_INVALID);
    options.size = 0;
    assert_int_equal(tinkc_rl_advantages(got, NULL, rewards, 3, &options, NULL),
                     TINKC_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rl_seeds),
        cmocka_unit_test(test_rl_advantages),
        cmocka_unit_test(test_rl_advantages_equal),
        cmocka_unit_test(test_rl_advantages_ranges),
        cmocka_unit_test(test_rl_advantages_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
