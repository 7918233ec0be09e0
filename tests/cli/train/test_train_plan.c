/* The plan of batches and learning rates.
 * Links: client text */
#include "cli/train/train_plan.h"

#include <math.h>

#include "support/test.h"

#define BATCH 4

static void test_train_plan_epochs(void **state)
{
    train_plan plan = {.rows = 10, .batch = BATCH, .seed = 7};
    size_t out[BATCH], seen[10] = {0}, first_order[10], n_all = 0;
    bool is_same = true;
    assert_int_equal(train_plan_init(&plan, 2, 0, NULL), TINKC_OK);
    assert_int_equal(plan.steps, 5);
    for (size_t step = 0; step < plan.steps; step++) {
        size_t n = train_plan_batch(&plan, step, out);
        assert_int_equal(n, BATCH);
        for (size_t i = 0; i < n; i++, n_all++) {
            seen[out[i]]++;
            if (n_all < 10) {
                first_order[n_all] = out[i];
            } else {
                is_same = is_same && first_order[n_all - 10] == out[i];
            }
        }
    }
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(seen[i], 2); /* each epoch visits each row once */
    }
    assert_false(is_same);
    train_plan_dispose(&plan);
    plan = (train_plan){.rows = 10, .batch = BATCH, .seed = 7};
    assert_int_equal(train_plan_init(&plan, 1, 0, NULL), TINKC_OK);
    assert_int_equal(plan.steps, 3);
    assert_int_equal(train_plan_batch(&plan, 2, out), 2); /* what is left */
    train_plan_dispose(&plan);
}

/* A step's batch does not depend on which steps were asked for before. */
static void test_train_plan_any_step(void **state)
{
    size_t there[64][BATCH], out[BATCH];
    train_plan plan = {.rows = 3, .batch = BATCH, .seed = 1};
    assert_int_equal(train_plan_init(&plan, 0, 64, NULL), TINKC_OK);
    for (size_t step = 0; step < 64; step++) {
        assert_int_equal(train_plan_batch(&plan, step, there[step]), BATCH);
    }
    train_plan_dispose(&plan);
    plan = (train_plan){.rows = 3, .batch = BATCH, .seed = 1};
    assert_int_equal(train_plan_init(&plan, 0, 64, NULL), TINKC_OK);
    for (size_t step = 64; step-- > 0;) {
        assert_int_equal(train_plan_batch(&plan, step, out), BATCH);
        assert_memory_equal(out, there[step], sizeof(out));
    }
    train_plan_dispose(&plan);
}

static void test_train_plan_refuses(void **state)
{
    train_plan plan = {.rows = 0, .batch = 1};
    assert_int_equal(train_plan_init(&plan, 1, 0, NULL), TINKC_E_INVALID);
    plan = (train_plan){.rows = 5, .batch = 1};
    assert_int_equal(train_plan_init(&plan, SIZE_MAX / 2, 0, NULL), TINKC_E_LIMIT);
    train_plan_dispose(&plan);
}

static void test_train_plan_rates(void **state)
{
    train_plan plan = {.rows = 1, .batch = 1, .rate = 1, .steps = 10};
    assert_true(train_plan_rate(&plan, 9) == 1);
    plan.schedule = TRAIN_LINEAR;
    assert_true(train_plan_rate(&plan, 0) == 1);
    assert_true(fabs(train_plan_rate(&plan, 9) - 0.1) < 1e-12);
    plan.schedule = TRAIN_COSINE;
    assert_true(fabs(train_plan_rate(&plan, 5) - 0.5) < 1e-12);
    plan.warmup = 3;
    assert_true(train_plan_rate(&plan, 0) == 0.25);
    assert_true(train_plan_rate(&plan, 2) == 0.75);
    assert_true(train_plan_rate(&plan, 3) == 1);
    plan.warmup = 20; /* longer than the run */
    assert_true(train_plan_rate(&plan, 9) < 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_plan_epochs),
        cmocka_unit_test(test_train_plan_any_step),
        cmocka_unit_test(test_train_plan_refuses),
        cmocka_unit_test(test_train_plan_rates),
    };
    return cmocka_run_group_tests_name("train_plan", tests, NULL, NULL);
}
