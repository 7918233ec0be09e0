/* The arena: alignment, cap, overflow, growth, reuse, failure. */
#include "base/arena.h"
#include "support/failmem.h"
#include "support/test.h"

static void test_arena_alignment_and_separation(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    unsigned char *objects[64];
    for (size_t i = 0; i < TK_ARRAY_LEN(objects); i++) {
        objects[i] = tk_arena_alloc(&arena, i + 1);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % 16, 0);
        memset(objects[i], (int)i, i + 1);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(objects); i++) {
        assert_int_equal(objects[i][0], i);
        assert_int_equal(objects[i][i], i);
    }
    tk_arena_dispose(&arena);
}

static void test_arena_large_objects(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    char *small = tk_arena_zalloc(&arena, 8);
    char *large = tk_arena_array(&arena, 5, TK_MIB);
    char *after = tk_arena_zalloc(&arena, 8);
    assert_non_null(small);
    assert_non_null(large);
    assert_non_null(after);
    memset(large, 'x', 5 * TK_MIB);
    assert_int_equal(small[7], 0);
    assert_int_equal(after[0], 0);
    tk_arena_dispose(&arena);
}

static void test_arena_cap_and_overflow(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 64);
    assert_non_null(tk_arena_alloc(&arena, 48));
    assert_null(tk_arena_alloc(&arena, 17));
    assert_non_null(tk_arena_alloc(&arena, 16));
    assert_null(tk_arena_alloc(&arena, 1));
    assert_null(tk_arena_alloc(&arena, SIZE_MAX));
    assert_null(tk_arena_alloc(&arena, SIZE_MAX - 15));
    assert_null(tk_arena_array(&arena, SIZE_MAX / 2, 3));
    tk_str out = TK_STR("stale");
    assert_false(tk_arena_dup(&arena, &out, "x", SIZE_MAX));
    assert_null(out.p);
    tk_arena_dispose(&arena);
    assert_non_null(tk_arena_alloc(&arena, 64)); /* usable again, the cap stays */
    assert_null(tk_arena_alloc(&arena, 1));
    tk_arena_dispose(&arena);
}

static void test_arena_zeroed_is_usable(void **unused)
{
    tk_arena arena = {0};
    tk_arena_dispose(&arena);
    tk_str out;
    assert_true(tk_arena_dup(&arena, &out, "a\0b", 3));
    assert_int_equal(out.n, 3);
    assert_memory_equal(out.p, "a\0b", 4);
    assert_true(tk_arena_dup(&arena, &out, NULL, 0));
    assert_string_equal(out.p, "");
    tk_arena_dispose(&arena);
}

static void test_arena_shrink_last(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 1024);
    char *first = tk_arena_alloc(&arena, 512);
    char *second = tk_arena_alloc(&arena, 512);
    assert_non_null(second);
    tk_arena_shrink_last(&arena, first, 512, 16); /* not the newest: nothing happens */
    assert_null(tk_arena_alloc(&arena, 16));
    tk_arena_shrink_last(&arena, second, 512, 1024); /* cannot grow */
    assert_null(tk_arena_alloc(&arena, 16));
    tk_arena_shrink_last(&arena, second, 512, 64);
    memset(second, 'x', 64);
    char *third = tk_arena_alloc(&arena, 448);
    assert_non_null(third);
    memset(third, 'y', 448);
    assert_int_equal(second[63], 'x');
    assert_null(tk_arena_alloc(&arena, 16));
    tk_arena_dispose(&arena);
}

static bool fill(void *user)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    bool ok = true;
    for (size_t i = 0; i < 40 && ok; i++) {
        tk_str copy;
        ok = tk_arena_zalloc(&arena, 3000) != NULL &&
             tk_arena_dup(&arena, &copy, "text", 4);
    }
    if (!ok) {
        ok = tk_arena_alloc(&arena, 8) == NULL; /* must survive a later call */
        ok = false;
    }
    tk_arena_dispose(&arena);
    return ok;
}

static void test_arena_sweep(void **unused)
{
    size_t points = failmem_sweep(fill, NULL, 1);
#ifdef TINKC_SANITIZED
    assert_int_equal(points, 80); /* one block per object */
#else
    assert_in_range(points, 2, 10);
#endif
}

/* Objects within what was reserved cost no further block (sanitizer builds give each its
 * own); the cap counts objects, not the reservation. */
static void test_arena_reserve(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    failmem_start();
    assert_true(tk_arena_reserve(&arena, TK_MIB));
    for (size_t i = 0; i < 64; i++) {
        assert_non_null(tk_arena_alloc(&arena, 16 * TK_KIB));
    }
#ifndef TINKC_SANITIZED
    assert_int_equal(failmem_count(), 1);
    failmem_fail_at(1);
    assert_false(tk_arena_reserve(&arena, 1));
#endif
    assert_null(tk_arena_alloc(&arena, 1));
    tk_arena_dispose(&arena);
    assert_int_equal(failmem_stop(), 0);
}

/* What was allocated is overwritten, and the arena can be used on. */
static void test_arena_wipe(void **unused)
{
    tk_arena arena;
    tk_str small, large;
    char secret[5000];
    memset(secret, 's', sizeof(secret));
    tk_arena_init(&arena, 0);
    assert_true(tk_arena_dup(&arena, &small, secret, 10));
    assert_true(tk_arena_dup(&arena, &large, secret, sizeof(secret)));
    tk_arena_wipe(&arena);
    assert_null(memchr(small.p, 's', 10));
    assert_null(memchr(large.p, 's', sizeof(secret)));
    assert_true(tk_arena_dup(&arena, &small, secret, 10));
    tk_arena_dispose(&arena);
    tk_arena_wipe(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_reserve),
        cmocka_unit_test(test_arena_alignment_and_separation),
        cmocka_unit_test(test_arena_large_objects),
        cmocka_unit_test(test_arena_cap_and_overflow),
        cmocka_unit_test(test_arena_zeroed_is_usable),
        cmocka_unit_test(test_arena_shrink_last),
        cmocka_unit_test(test_arena_sweep),
        cmocka_unit_test(test_arena_wipe),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
