/* Clocks: saturation, rounding for poll(2), the manual clock. */
#include "base/clock.h"

#include <limits.h>

#include "support/fakeclock.h"
#include "support/test.h"

static void test_clock_real(void **unused)
{
    int64_t a = tk_clock_mono_ns(NULL);
    int64_t b = tk_clock_mono_ns(&tk_clock_real);
    assert_true(b >= a);
    assert_true(tk_clock_mono_ms(NULL) >= a / TK_NS_PER_MS);
    assert_true(tk_clock_wall_us(NULL) > INT64_C(1700000000000000)); /* after 2023 */
}

static void test_clock_after(void **unused)
{
    assert_int_equal(tk_clock_after(5, 7), 12);
    assert_int_equal(tk_clock_after(5, -7), 5);
    assert_true(tk_clock_after(5, INT64_MAX) == TK_FOREVER);
    assert_true(tk_clock_after(-5, INT64_MAX) == INT64_MAX - 5);
    assert_true(tk_clock_after(TK_FOREVER, 1) == TK_FOREVER);
}

static void test_clock_manual(void **unused)
{
    fakeclock fake;
    fakeclock_init(&fake);
    int64_t start = tk_clock_mono_ns(&fake.clock);
    int64_t wall = tk_clock_wall_us(&fake.clock);
    assert_int_equal(tk_clock_mono_ns(&fake.clock), start);
    fakeclock_advance_ms(&fake, 1500);
    assert_int_equal(tk_clock_mono_ms(&fake.clock), start / TK_NS_PER_MS + 1500);
    assert_int_equal(tk_clock_wall_us(&fake.clock), wall + 1500000);
    fakeclock_advance_ns(&fake, 999);
    assert_int_equal(tk_clock_wall_us(&fake.clock), wall + 1500000);
    fakeclock_advance_ns(&fake, 1);
    assert_int_equal(tk_clock_wall_us(&fake.clock), wall + 1500001);
    fakeclock_set_wall_us(&fake, 5);
    assert_int_equal(tk_clock_wall_us(&fake.clock), 5);
    assert_int_equal(tk_clock_mono_ns(&fake.clock), start + INT64_C(1500001000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_real),
        cmocka_unit_test(test_clock_after),
        cmocka_unit_test(test_clock_manual),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
