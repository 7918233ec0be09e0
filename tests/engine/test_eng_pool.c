/* The thread pool: every unit once, contiguous pieces, separate scratch memory. */
#include "engine/eng_pool.h"

#include <sched.h>
#include <stdatomic.h>

#include "support/test.h"

#define UNITS 1000

typedef struct marks {
    unsigned count[UNITS];
    void *scratch[UNITS];
} marks;

static void mark(void *user, size_t begin, size_t end, void *scratch)
{
    marks *m = user;
    assert_true(begin < end);
    for (size_t i = begin; i < end; i++) {
        m->count[i]++;
        m->scratch[i] = scratch;
    }
    if (scratch != NULL) {
        ((size_t *)scratch)[0] = begin; /* TSan: no other thread writes here */
    }
}

static void test_every_unit_once(void **unused)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    static const size_t units[] = {0, 1, 2, 3, 6, 7, 8, 100, UNITS};
    for (size_t t = 0; t < TK_ARRAY_LEN(threads); t++) {
        eng_pool *pool = NULL;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(eng_pool_new(&pool, threads[t], &err), TINKC_OK);
        assert_int_equal(eng_pool_size(pool), threads[t]);
        for (size_t round = 0; round < 3 * TK_ARRAY_LEN(units); round++) {
            static marks m;
            size_t n = units[round % TK_ARRAY_LEN(units)];
            memset(&m, 0, sizeof(m));
            if (round % 2 == 0) {
                eng_pool_run(pool, n, mark, &m);
            } else {
                eng_pool_run_work(pool, n, round % 4 == 1 ? 1 : (size_t)1 << 30, mark,
                                  &m);
            }
            for (size_t i = 0; i < UNITS; i++) {
                assert_int_equal(m.count[i], i < n ? 1 : 0);
            }
            if (round == 5) {
                assert_int_equal(eng_pool_reserve(pool, 100, &err), TINKC_OK);
            }
        }
        eng_pool_free(pool);
    }
    eng_pool_free(NULL);
}

typedef struct meeting {
    atomic_uint arrived;
    void *scratch[2];
} meeting;

/* Each of two units waits for the other, so two threads must run them. */
static void meet(void *user, size_t begin, size_t end, void *scratch)
{
    meeting *m = user;
    assert_int_equal(end, begin + 1);
    m->scratch[begin] = scratch;
    atomic_fetch_add(&m->arrived, 1);
    for (int i = 0; i < 100000000 && atomic_load(&m->arrived) < 2; i++) {
        (void)sched_yield();
    }
}

static void test_scratch(void **unused)
{
    eng_pool *pool = NULL;
    tk_err err = TK_ERR_INIT;
    static marks m;
    meeting two = {.scratch = {NULL, NULL}};
    assert_int_equal(eng_pool_new(&pool, 2, &err), TINKC_OK);
    assert_int_equal(eng_pool_reserve(pool, 5000, &err), TINKC_OK);
    eng_pool_run(pool, 2, meet, &two);
    assert_int_equal(atomic_load(&two.arrived), 2);
    assert_true(two.scratch[0] != NULL && two.scratch[1] != NULL);
    assert_ptr_not_equal(two.scratch[0], two.scratch[1]);
    assert_int_equal((uintptr_t)two.scratch[0] % 64, 0);
    eng_pool_run(pool, 1, mark, &m); /* one unit: the caller's own */
    void *kept = m.scratch[0];
    assert_int_equal(eng_pool_reserve(pool, 4000, &err), TINKC_OK); /* never shrinks */
    eng_pool_run(pool, 1, mark, &m);
    assert_ptr_equal(m.scratch[0], kept);
    assert_int_equal(eng_pool_reserve(pool, SIZE_MAX - 5, &err), TINKC_E_NOMEM);
    eng_pool_free(pool);
    tk_err_clear(&err);
    pool = NULL;
    assert_int_equal(eng_pool_new(&pool, 100000, &err), TINKC_E_INVALID);
    assert_null(pool);
    assert_int_equal(eng_pool_new(&pool, 0, &err), TINKC_OK); /* one per CPU */
    assert_true(eng_pool_size(pool) > 0);
    eng_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_unit_once),
        cmocka_unit_test(test_scratch),
    };
    return cmocka_run_group_tests_name("eng_pool", tests, NULL, NULL);
}
