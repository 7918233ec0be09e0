/* The allocation door: overflow, zero sizes, failed growth, hooks. */
#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"

static void test_mem_overflow(void **unused)
{
    char *old = tk_strdup("kept");
    assert_non_null(old);
    assert_null(tk_array(SIZE_MAX / 2, 3));
    assert_null(tk_zarray(SIZE_MAX, SIZE_MAX));
    assert_null(tk_realloc_array(old, SIZE_MAX / 4, 8));
    assert_string_equal(old, "kept");
    tk_free(old);
}

static void test_mem_zero_sizes(void **unused)
{
    void *a = tk_malloc(0);
    void *b = tk_zarray(0, 8);
    void *c = tk_memdup(NULL, 0);
    char *d = tk_strndup(NULL, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    assert_string_equal(d, "");
    tk_free(a);
    tk_free(b);
    tk_free(c);
    tk_free(d);
    tk_free(NULL);
}

static void test_mem_copies(void **unused)
{
    char *cut = tk_strndup("hello", 3);
    assert_string_equal(cut, "hel");
    unsigned char *zeros = tk_zalloc(32);
    static const unsigned char expected[32];
    assert_memory_equal(zeros, expected, 32);
    unsigned char *copy = tk_memdup("a\0b", 3);
    assert_memory_equal(copy, "a\0b", 3);
    tk_mem_wipe(copy, 3);
    assert_memory_equal(copy, "\0\0\0", 3);
    tk_mem_wipe(NULL, 0);
    tk_free(cut);
    tk_free(zeros);
    tk_free(copy);
}

static void test_mem_size_arithmetic(void **unused)
{
    size_t out = 7;
    assert_false(tk_size_mul(&out, SIZE_MAX, 2));
    assert_false(tk_size_add(&out, SIZE_MAX, 1));
    assert_int_equal(out, 7);
    assert_true(tk_size_mul(&out, SIZE_MAX, 1));
    assert_true(out == SIZE_MAX);
    assert_true(tk_size_add(&out, SIZE_MAX - 1, 1));
    assert_true(out == SIZE_MAX);
}

static void test_mem_failed_growth_keeps_the_block(void **unused)
{
    failmem_start();
    char *text = tk_strdup("kept");
    failmem_fail_at(1);
    assert_null(tk_realloc(text, 4096));
    assert_true(failmem_fired());
    assert_string_equal(text, "kept");
    tk_free(text);
    assert_int_equal(failmem_count(), 2);
    assert_int_equal(failmem_stop(), 0);
}

static bool copies(void *user)
{
    void *parts[] = {tk_strdup("a"), tk_memdup("b", 1), tk_zalloc(3), tk_array(2, 8),
                     tk_zarray(2, 8)};
    bool ok = true;
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) {
        ok = ok && parts[i] != NULL;
        tk_free(parts[i]);
    }
    return ok;
}

static void test_mem_sweep(void **unused)
{
    assert_int_equal(failmem_sweep(copies, NULL, 1), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mem_overflow),
        cmocka_unit_test(test_mem_zero_sizes),
        cmocka_unit_test(test_mem_copies),
        cmocka_unit_test(test_mem_size_arithmetic),
        cmocka_unit_test(test_mem_failed_growth_keeps_the_block),
        cmocka_unit_test(test_mem_sweep),
    };
    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
