/* Jumps of the wall clock: a short time after one, nothing counts as later than both
 * clocks say. */
#include "server/store/srv_wall.h"

#include "support/test.h"

#define S_US   INT64_C(1000000)
#define S_NS   INT64_C(1000000000)
#define HOUR_S 3600
#define NOW_US (INT64_C(1794900000) * S_US) /* 2026 */
#define Y2040  (INT64_C(2208988800) * S_US)

/* The reading `s` seconds after the start, with the wall clock `off_us` from where it
 * should be. */
static int64_t at(srv_wall *wall, int64_t s, int64_t off_us)
{
    return srv_wall_read(wall, NOW_US + s * S_US + off_us, 5 + s * S_NS);
}

static void test_srv_steady_clock_counts(void **state)
{
    srv_wall wall;
    srv_wall_init(&wall, NOW_US, 5, 0);
    for (int64_t s = 0; s < 10000; s += 10) { /* a second in a thousand slow */
        assert_int_equal(at(&wall, s, -s * S_US / 1000),
                         NOW_US + s * S_US - s * S_US / 1000);
    }
}

static void test_srv_jump_ahead_must_last(void **state)
{
    srv_wall wall;
    const int64_t off = Y2040 - NOW_US;
    srv_wall_init(&wall, NOW_US, 5, 0);
    assert_int_equal(at(&wall, 100, off), NOW_US + 100 * S_US);
    assert_int_equal(at(&wall, HOUR_S, off), NOW_US + HOUR_S * S_US);
    assert_int_equal(at(&wall, HOUR_S + 100, off), Y2040 + (HOUR_S + 100) * S_US);
}

static void test_srv_jump_that_is_corrected_is_forgotten(void **state)
{
    srv_wall wall;
    const int64_t off = Y2040 - NOW_US;
    srv_wall_init(&wall, NOW_US, 5, 0);
    assert_int_equal(at(&wall, 100, off), NOW_US + 100 * S_US);
    assert_int_equal(at(&wall, 200, 0), NOW_US + 200 * S_US);
    assert_int_equal(at(&wall, 2 * HOUR_S, off), NOW_US + 2 * HOUR_S * S_US);
    assert_int_equal(at(&wall, 3 * HOUR_S - 1, off / 2),
                     NOW_US + (3 * HOUR_S - 1) * S_US);
    assert_int_equal(at(&wall, 3 * HOUR_S, off / 2), NOW_US + 3 * HOUR_S * S_US);
}

static void test_srv_jump_back_counts_at_once(void **state)
{
    srv_wall wall;
    srv_wall_init(&wall, NOW_US, 5, 0);
    assert_int_equal(at(&wall, 10, -NOW_US), 10 * S_US); /* 1970 */
    assert_int_equal(at(&wall, 20, 0), NOW_US + 20 * S_US);
    srv_wall_init(&wall, 0, 5, NOW_US); /* and at the start */
    assert_int_equal(srv_wall_read(&wall, S_US, 5 + S_NS), S_US);
}

/* Times to live count from the later of both times. */
static void test_srv_ends_outlive_a_jump(void **state)
{
    srv_wall wall;
    srv_wall_init(&wall, NOW_US, 5, 0);
    (void)at(&wall, 10, -NOW_US);
    assert_int_equal(srv_wall_latest(&wall, 20 * S_US, 5 + 20 * S_NS),
                     NOW_US + 20 * S_US);
    assert_int_equal(srv_wall_latest(&wall, Y2040, 5 + 20 * S_NS), Y2040);
    srv_wall_init(&wall, 1000 * S_US, 5, NOW_US); /* a start in 1970 */
    assert_int_equal(srv_wall_latest(&wall, 1001 * S_US, 5 + S_NS), NOW_US + S_US);
}

/* A machine that starts with its clock in 2040. */
static void test_srv_start_ahead_must_last(void **state)
{
    srv_wall wall;
    srv_wall_init(&wall, Y2040, 5, NOW_US);
    assert_int_equal(srv_wall_read(&wall, Y2040 + S_US, 5 + S_NS), NOW_US + S_US);
    assert_int_equal(srv_wall_read(&wall, NOW_US + 100 * S_US, 5 + 100 * S_NS),
                     NOW_US + 100 * S_US);
    srv_wall_init(&wall, Y2040, 5, NOW_US); /* it was off for years */
    assert_int_equal(srv_wall_read(&wall, Y2040 + HOUR_S * S_US, 5 + HOUR_S * S_NS),
                     Y2040 + HOUR_S * S_US);
    srv_wall_init(&wall, NOW_US + 20 * 24 * HOUR_S * S_US, 5, NOW_US); /* for weeks */
    assert_int_equal(srv_wall_read(&wall, NOW_US + 20 * 24 * HOUR_S * S_US, 5),
                     NOW_US + 20 * 24 * HOUR_S * S_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_steady_clock_counts),
        cmocka_unit_test(test_srv_jump_ahead_must_last),
        cmocka_unit_test(test_srv_jump_that_is_corrected_is_forgotten),
        cmocka_unit_test(test_srv_jump_back_counts_at_once),
        cmocka_unit_test(test_srv_ends_outlive_a_jump),
        cmocka_unit_test(test_srv_start_ahead_must_last),
    };
    return cmocka_run_group_tests_name("srv_wall", tests, NULL, NULL);
}
