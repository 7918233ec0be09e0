/* S-017: the order of a model's requests, without a clock. */
#include "server/run/srv_order.h"
#include "support/test.h"

#define S (INT64_C(1000) * TK_NS_PER_MS)

static srv_order_node g(int64_t seq, int64_t at)
{
    return (srv_order_node){.seq = seq, .kind = SRV_ORDER_GRADIENT, .arrived_ns = at};
}

static srv_order_node f(int64_t seq)
{
    return (srv_order_node){.seq = seq, .kind = SRV_ORDER_FORWARD};
}

static srv_order_node b(int64_t seq)
{
    return (srv_order_node){.seq = seq, .kind = SRV_ORDER_BARRIER};
}

static void expect(srv_order *order, srv_order_node *node, int64_t now)
{
    assert_ptr_equal(srv_order_take(order, now), node);
}

/* S-017: parts of one batch, the first one last: they run in order. */
static void test_srv_first_part_comes_last(void **state)
{
    srv_order order;
    srv_order_init(&order, 1);
    srv_order_node one = g(1, 0), two = g(2, 0), three = g(3, 0);
    srv_order_add(&order, &three);
    srv_order_add(&order, &two);
    expect(&order, NULL, 0);
    assert_int_equal(srv_order_deadline(&order, 0), 2 * S);
    assert_true(srv_order_is_held(&order, &three, 0));
    assert_false(srv_order_is_held(&order, &three, 2 * S));
    srv_order_add(&order, &one);
    assert_int_equal(srv_order_deadline(&order, 0), 0);
    expect(&order, &one, 0);
    expect(&order, &two, 0);
    expect(&order, &three, 0);
    assert_int_equal(srv_order_deadline(&order, 0), TK_FOREVER);
}

/* S-017: a part that was never sent does not stop what comes after it. */
static void test_srv_barrier_ends_the_wait(void **state)
{
    srv_order order;
    srv_order_init(&order, 1);
    srv_order_node two = g(2, 0), four = b(4), five = g(5, 0);
    srv_order_add(&order, &two);
    expect(&order, NULL, 0);
    srv_order_add(&order, &four);
    srv_order_add(&order, &five);
    expect(&order, &two, 0);
    expect(&order, &four, 0);
    expect(&order, &five, 0);
    assert_true(srv_order_is_late(&order, 3));
    assert_false(srv_order_is_late(&order, 6));
}

/* S-017: a part that is missing is waited for three seconds, then the others run in
 * order. */
static void test_srv_time_ends_the_wait(void **state)
{
    srv_order order;
    srv_order_init(&order, 1);
    srv_order_node three = g(3, S), two = g(2, S), late = g(1, 3 * S);
    srv_order_add(&order, &three);
    srv_order_add(&order, &two);
    expect(&order, NULL, 3 * S - 1);
    expect(&order, &two, 3 * S);
    expect(&order, &three, 3 * S);
    assert_false(srv_order_is_late(&order, 1)); /* no step was taken yet */
    srv_order_add(&order, &late);
    expect(&order, &late, 3 * S);
}

/* S-017: forward-only requests run at once, but never before a step below them. */
static void test_srv_forward_is_not_held(void **state)
{
    srv_order order;
    srv_order_init(&order, 1);
    srv_order_node two = g(2, 0), three = f(3), one = g(1, 0);
    srv_order_add(&order, &two);
    srv_order_add(&order, &three);
    expect(&order, &three, 0);
    expect(&order, NULL, 0);
    srv_order_add(&order, &one);
    expect(&order, &one, 0);
    expect(&order, &two, 0);
    srv_order_node step = b(4), after = f(5);
    srv_order_add(&order, &after);
    srv_order_add(&order, &step);
    expect(&order, &step, 0);
    expect(&order, &after, 0);
}

/* After a forward ran early, the next id need not wait for it. */
static void test_srv_early_forward_is_counted(void **state)
{
    srv_order order;
    srv_order_init(&order, 1);
    srv_order_node two = f(2), one = g(1, 0), three = g(3, 0);
    srv_order_add(&order, &two);
    expect(&order, &two, 0);
    srv_order_add(&order, &three);
    expect(&order, NULL, 0);
    srv_order_add(&order, &one);
    expect(&order, &one, 0);
    expect(&order, &three, 0);
    assert_int_equal(srv_order_next_seq(&order), 4);
}

/* A step whose result is forgotten is not made twice. */
static void test_srv_barrier_is_taken_once(void **state)
{
    srv_order order;
    srv_order_init(&order, 0);
    srv_order_node create = b(0), step = b(3);
    assert_false(srv_order_is_late(&order, 0));
    srv_order_add(&order, &create);
    expect(&order, &create, 0);
    assert_false(srv_order_is_late(&order, 1));
    assert_false(srv_order_is_late(&order, 3));
    srv_order_add(&order, &step);
    expect(&order, &step, 0);
    assert_true(srv_order_is_late(&order, 3));
    assert_false(srv_order_is_late(&order, 4));
}

/* S-017: a request that was refused is not waited for, in whatever order it came; ids
 * below it are. */
static void test_srv_refused_ids_are_skipped(void **state)
{
    srv_order order;
    srv_order_init(&order, 1);
    srv_order_node one = g(1, 0), four = g(4, 0), again = g(3, 0);
    srv_order_skip(&order, 3);
    srv_order_skip(&order, 2);
    srv_order_skip(&order, 0);
    srv_order_skip(&order, INT64_MAX);
    srv_order_add(&order, &four);
    expect(&order, NULL, 0);
    srv_order_add(&order, &one);
    expect(&order, &one, 0);
    expect(&order, &four, 0);
    srv_order_add(&order, &again); /* corrected */
    expect(&order, &again, 0);
    srv_order_skip(&order, 5);
    assert_int_equal(order.next, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_first_part_comes_last),
        cmocka_unit_test(test_srv_barrier_ends_the_wait),
        cmocka_unit_test(test_srv_time_ends_the_wait),
        cmocka_unit_test(test_srv_forward_is_not_held),
        cmocka_unit_test(test_srv_early_forward_is_counted),
        cmocka_unit_test(test_srv_barrier_is_taken_once),
        cmocka_unit_test(test_srv_refused_ids_are_skipped),
    };
    return cmocka_run_group_tests_name("srv_order", tests, NULL, NULL);
}
