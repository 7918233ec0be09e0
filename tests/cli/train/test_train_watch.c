/* A loss that explodes is noticed once; noise is not. */
#include "cli/train/train_watch.h"

#include "support/test.h"

static void test_train_watch_explodes(void **unused)
{
    train_watch watch = {0};
    for (int i = 0; i < 20; i++) {
        assert_false(train_watch_add(&watch, 2.5 - 0.1 * i));
    }
    assert_false(train_watch_add(&watch, 3)); /* a bad batch */
    int alarms = 0;
    for (int i = 0; i < 20; i++) {
        alarms += train_watch_add(&watch, 9);
    }
    assert_int_equal(alarms, 1);
    assert_true(watch.lowest < 1 && watch.mean == 9);
}

static void test_train_watch_first_steps(void **unused)
{
    train_watch watch = {0};
    assert_false(train_watch_add(&watch, 2.5));
    assert_false(train_watch_add(&watch, 9));
    assert_true(train_watch_add(&watch, 9));
}

static void test_train_watch_noise(void **unused)
{
    train_watch watch = {0};
    for (int i = 0; i < 100; i++) {
        assert_false(train_watch_add(&watch, i % 3 == 0 ? 1.2 : 0.05));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_watch_explodes),
        cmocka_unit_test(test_train_watch_first_steps),
        cmocka_unit_test(test_train_watch_noise),
    };
    return cmocka_run_group_tests_name("train_watch", tests, NULL, NULL);
}
