/* UUID version 4: form, fixed bits, reproducible from a seed. */
#include "base/uuid.h"
#include "support/test.h"
#include "support/textfix.h"

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
    assert_true(textfix_is_uuid(tk_str_of(first)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uuid_fixed_bits),
        cmocka_unit_test(test_uuid_sequence),
    };
    return cmocka_run_group_tests_name("uuid", tests, NULL, NULL);
}
