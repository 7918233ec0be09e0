/* UUID version 4: form, fixed bits, reproducible from a seed. */
#include "base/uuid.h"
#include "support/test.h"

static uint64_t all_ones(void *user)
{
    return UINT64_MAX;
}

static uint64_t all_zeros(void *user)
{
    return 0;
}

static void test_uuid_fixed_bits(void **unused)
{
    char text[TK_UUID_TEXT_BYTES];
    tk_rand rand;
    tk_rand_init_fn(&rand, all_ones, NULL);
    tk_uuid_make(text, &rand);
    assert_string_equal(text, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    tk_rand_init_fn(&rand, all_zeros, NULL);
    tk_uuid_make(text, &rand);
    assert_string_equal(text, "00000000-0000-4000-8000-000000000000");
}

static void test_uuid_sequence(void **unused)
{
    tk_rand a;
    tk_rand b;
    tk_rand_init(&a, 42);
    tk_rand_init(&b, 42);
    char first[TK_UUID_TEXT_BYTES];
    char same[TK_UUID_TEXT_BYTES];
    char next[TK_UUID_TEXT_BYTES];
    tk_uuid_make(first, &a);
    tk_uuid_make(same, &b);
    tk_uuid_make(next, &a);
    assert_string_equal(first, same);
    assert_string_not_equal(first, next);
    assert_true(tk_uuid_is_valid(tk_str_of(first)));
}

static void test_uuid_validation(void **unused)
{
    assert_true(tk_uuid_is_valid(TK_STR("0123abCD-ffff-1fff-0fff-AFFFFFFFFFFF")));
    static const char *const bad[] = {
        "",
        "0123abCD-ffff-1fff-0fff-AFFFFFFFFFF",
        "0123abCD-ffff-1fff-0fff-AFFFFFFFFFFF0",
        "0123abCDffff1fff0fffAFFFFFFFFFFF",
        "0123abCD-ffff-1fff-0fff-AFFFFFFFFFFg",
        "0123abCD-ffff-1fff-0fff_AFFFFFFFFFFF",
        "0123abCDf-fff-1fff-0fff-AFFFFFFFFFFF",
        "{123abCD-ffff-1fff-0fff-AFFFFFFFFFF}",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_false(tk_uuid_is_valid(tk_str_of(bad[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uuid_fixed_bits),
        cmocka_unit_test(test_uuid_sequence),
        cmocka_unit_test(test_uuid_validation),
    };
    return cmocka_run_group_tests_name("uuid", tests, NULL, NULL);
}
