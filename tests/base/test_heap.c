/* The deadline heap against a plain array searched from end to end. */
#include "base/heap.h"
#include "base/rand.h"
#include "support/failmem.h"
#include "support/test.h"

static void test_heap_empty(void **unused)
{
    tk_heap heap;
    tk_heap_init(&heap);
    tk_heap_node node = {0};
    assert_null(tk_heap_min(&heap));
    assert_null(tk_heap_pop_due(&heap, INT64_MAX));
    tk_heap_remove(&heap, &node);
    assert_int_equal(heap.count, 0);
}

static void test_heap_equal_deadlines_keep_their_order(void **unused)
{
    tk_heap heap = {0};
    tk_heap_node nodes[100] = {{0}};
    for (size_t i = 0; i < TK_ARRAY_LEN(nodes); i++) {
        tk_heap_put(&heap, &nodes[i], i % 2 == 0 ? 7 : 8);
    }
    tk_heap_move(&heap, &nodes[0], 7); /* after all that are already there */
    for (size_t i = 2; i < TK_ARRAY_LEN(nodes); i += 2) {
        assert_ptr_equal(tk_heap_pop_due(&heap, 7), &nodes[i]);
    }
    assert_ptr_equal(tk_heap_pop_due(&heap, 7), &nodes[0]);
    assert_null(tk_heap_pop_due(&heap, 7));
    for (size_t i = 1; i < TK_ARRAY_LEN(nodes); i += 2) {
        assert_ptr_equal(tk_heap_pop_due(&heap, 8), &nodes[i]);
    }
    assert_int_equal(heap.count, 0);
}

static void test_heap_extreme_deadlines(void **unused)
{
    tk_heap heap = {0};
    tk_heap_node nodes[3] = {{0}};
    tk_heap_put(&heap, &nodes[0], INT64_MAX);
    tk_heap_put(&heap, &nodes[1], INT64_MIN);
    tk_heap_put(&heap, &nodes[2], 0);
    assert_ptr_equal(tk_heap_min(&heap), &nodes[1]);
    assert_ptr_equal(tk_heap_pop_due(&heap, INT64_MIN), &nodes[1]);
    assert_null(tk_heap_pop_due(&heap, -1));
    assert_ptr_equal(tk_heap_pop_due(&heap, INT64_MAX), &nodes[2]);
    assert_ptr_equal(tk_heap_pop_due(&heap, INT64_MAX), &nodes[0]);
}

static const tk_heap_node *model_min(const tk_heap_node *nodes, size_t n)
{
    const tk_heap_node *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const tk_heap_node *at = &nodes[i];
        if (at->linked && (best == NULL || at->deadline < best->deadline ||
                           (at->deadline == best->deadline && at->order < best->order))) {
            best = at;
        }
    }
    return best;
}

/* Any mixture of operations; no allocation at all. */
static void test_heap_against_a_model(void **unused)
{
    tk_heap heap = {0};
    tk_heap_node nodes[200] = {{0}};
    size_t count = 0;
    tk_rand rand;
    tk_rand_init(&rand, 3);
    failmem_start();
    for (int step = 0; step < 40000; step++) {
        tk_heap_node *node = &nodes[tk_rand_below(&rand, TK_ARRAY_LEN(nodes))];
        int64_t deadline = (int64_t)tk_rand_below(&rand, 50);
        if (tk_rand_below(&rand, 4) == 0) {
            count -= node->linked;
            tk_heap_remove(&heap, node);
        } else if (tk_rand_below(&rand, 8) == 0) {
            const tk_heap_node *expected = model_min(nodes, TK_ARRAY_LEN(nodes));
            assert_ptr_equal(tk_heap_pop_due(&heap, INT64_MAX), expected);
            count -= expected != NULL;
        } else {
            count += !node->linked;
            tk_heap_move(&heap, node, deadline);
        }
        assert_ptr_equal(tk_heap_min(&heap), model_min(nodes, TK_ARRAY_LEN(nodes)));
        assert_int_equal(heap.count, count);
    }
    assert_int_equal(failmem_count(), 0);
    assert_int_equal(failmem_stop(), 0);
}

/* A long list of siblings must not recurse: 200,000 levels would end the stack. */
static void test_heap_large(void **unused)
{
    enum { N = 200000 };
    static tk_heap_node nodes[N];
    tk_heap heap = {0};
    for (size_t i = 0; i < N; i++) {
        tk_heap_put(&heap, &nodes[i], (int64_t)(i * 7919 % N));
    }
    for (int64_t i = 0; i < N; i++) {
        tk_heap_node *node = tk_heap_pop_due(&heap, i);
        assert_non_null(node);
        assert_int_equal(node->deadline, i);
    }
    assert_null(tk_heap_min(&heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap_empty),
        cmocka_unit_test(test_heap_equal_deadlines_keep_their_order),
        cmocka_unit_test(test_heap_extreme_deadlines),
        cmocka_unit_test(test_heap_against_a_model),
        cmocka_unit_test(test_heap_large),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
