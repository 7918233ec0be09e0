/* Work spaces: the pool gives back what it was given, keeps what is small, drops what one
 * huge text needed; room for items and ids grows. */
#include "support/failmem.h"
#include "support/toktest.h"

static void test_tok_work_pool(void **unused)
{
    tk_tok_pool *pool = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_work_pool_new(&pool, &err), TINKC_OK);
    tk_tok_work *a = tk_tok_work_take(pool), *b = tk_tok_work_take(pool);
    assert_true(a != NULL && b != NULL && a != b);
    tk_tok_work_give(pool, a);
    assert_ptr_equal(tk_tok_work_take(pool), a); /* the warm one */
    tk_tok_work_give(pool, a);
    tk_tok_work_give(pool, b);
    assert_ptr_equal(tk_tok_work_take(pool), b);
    assert_ptr_equal(tk_tok_work_take(pool), a);
    tk_tok_work_give(pool, a);
    tk_tok_work_give(pool, b);
    tk_tok_work_pool_free(pool);
    tk_tok_work_pool_free(NULL);
}

/* A buffer of more than a megabyte, and nodes of as much, go; smaller ones stay. */
static void test_tok_work_trims(void **unused)
{
    tk_tok_pool *pool = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_work_pool_new(&pool, &err), TINKC_OK);
    static const size_t sizes[] = {TK_KIB, 2 * TK_MIB};
    for (size_t i = 0; i < TK_ARRAY_LEN(sizes); i++) {
        tk_tok_work *work = tk_tok_work_take(pool);
        tk_buf *bufs[] = {&work->repaired, &work->normal[0], &work->normal[1],
                          &work->prefixed};
        for (size_t k = 0; k < TK_ARRAY_LEN(bufs); k++) {
            tk_buf_clear(bufs[k]);
            for (size_t n = 0; n < sizes[i]; n += 16) {
                tk_buf_put(bufs[k], "0123456789abcdef", 16);
            }
            assert_true(bufs[k]->capacity >= sizes[i]);
        }
        size_t n = sizes[i] / sizeof(*work->nodes) + 1;
        assert_true(
            tk_tok_work_room(&work->nodes, &work->nodes_max, n, sizeof(*work->nodes)));
        assert_true(
            tk_tok_work_room(&work->heap, &work->heap_max, n, sizeof(*work->heap)));
        tk_tok_work_give(pool, work);
        assert_ptr_equal(tk_tok_work_take(pool), work);
        bool is_small = sizes[i] < TK_MIB;
        for (size_t k = 0; k < TK_ARRAY_LEN(bufs); k++) {
            assert_int_equal(bufs[k]->capacity > 0, is_small);
            tk_buf_clear(bufs[k]);
            tk_buf_puts(bufs[k], "usable"); /* the limit is as before */
            assert_int_equal(bufs[k]->failure, TINKC_OK);
        }
        assert_int_equal(work->nodes_max > 0, is_small);
        assert_int_equal(work->heap_max > 0, is_small);
        tk_tok_work_give(pool, work);
    }
    tk_tok_work_pool_free(pool);
}

static void test_tok_work_rooms(void **unused)
{
    int *items = NULL;
    size_t max = 0;
    assert_true(tk_tok_work_room(&items, &max, 3, sizeof(*items)));
    assert_int_equal(max, 3);
    items[2] = 7;
    assert_true(tk_tok_work_room(&items, &max, 2, sizeof(*items)));
    assert_int_equal(max, 3);
    assert_true(tk_tok_work_room(&items, &max, 100, sizeof(*items)));
    assert_int_equal(max, 100);
    assert_true(tk_tok_work_room(&items, &max, 101, sizeof(*items)));
    assert_int_equal(max, 150); /* half as much again */
    assert_int_equal(items[2], 7);
    int *before = items;
    assert_false(tk_tok_work_room(&items, &max, SIZE_MAX / 2, sizeof(*items)));
    assert_true(items == before && max == 150);
    tk_free(items);
}

static void test_tok_work_ids(void **unused)
{
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    assert_true(tk_tok_ids_reserve(&ids, 10));
    assert_true(ids.capacity >= 10);
    ids.n = 10;
    assert_true(tk_tok_ids_reserve(&ids, 5));
    assert_true(ids.capacity >= 15);
    assert_false(tk_tok_ids_reserve(&ids, SIZE_MAX));
    tk_tok_ids_dispose(&ids);
    assert_true(ids.ids == NULL && ids.n == 0 && ids.capacity == 0);
}

static bool take_and_give(void *user)
{
    tk_tok_pool *pool = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_tok_work_pool_new(&pool, &err) != TINKC_OK) {
        return false;
    }
    tk_tok_work *work = tk_tok_work_take(pool);
    if (work != NULL) {
        tk_tok_work_give(pool, work);
    }
    tk_tok_work_pool_free(pool);
    return work != NULL;
}

static void test_tok_work_out_of_memory(void **unused)
{
    assert_int_equal(failmem_sweep(take_and_give, NULL, 1), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tok_work_pool),
        cmocka_unit_test(test_tok_work_trims),
        cmocka_unit_test(test_tok_work_rooms),
        cmocka_unit_test(test_tok_work_ids),
        cmocka_unit_test(test_tok_work_out_of_memory),
    };
    return cmocka_run_group_tests_name("tok_work", tests, NULL, NULL);
}
