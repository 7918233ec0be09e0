/* The generator against published values, bounds without bias, injection. */
#include "base/rand.h"
#include "support/test.h"

/* xoshiro256** from the state {1, 2, 3, 4}: values of the authors' reference code. */
static void test_rand_reference_sequence(void **unused)
{
    static const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
    };
    tk_rand rand;
    tk_rand_init(&rand, 0);
    for (size_t i = 0; i < 4; i++) {
        rand.state[i] = i + 1;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(expected); i++) {
        assert_true(tk_rand_u64(&rand) == expected[i]);
    }
}

/* splitmix64 from 1234567, as its author publishes it. */
static void test_rand_seed_is_spread(void **unused)
{
    tk_rand rand;
    tk_rand_init(&rand, 1234567);
    assert_true(rand.state[0] == UINT64_C(6457827717110365317));
    assert_true(rand.state[1] == UINT64_C(3203168211198807973));
    assert_true(rand.state[2] == UINT64_C(9817491932198370423));
    assert_true(rand.state[3] == UINT64_C(4593380528125082431));
}

static uint64_t scripted(void *user)
{
    const uint64_t **next = user;
    return *(*next)++;
}

static void test_rand_below_has_no_bias(void **unused)
{
    /* 2^64 mod 10 is 6: values 0..5 are one too many and are drawn again */
    static const uint64_t script[] = {0, 5, 6, UINT64_MAX, 3, 15};
    const uint64_t *next = script;
    tk_rand rand;
    tk_rand_init_fn(&rand, scripted, &next);
    assert_int_equal(tk_rand_below(&rand, 10), 6);
    assert_int_equal(tk_rand_below(&rand, 10), 5);
    assert_int_equal(tk_rand_below(&rand, 10), 5);
    assert_true(next == script + 6);
    tk_rand_init(&rand, 1);
    assert_int_equal(tk_rand_below(&rand, 0), 0);
    bool seen[7] = {false};
    for (int i = 0; i < 500; i++) {
        uint64_t value = tk_rand_below(&rand, 7);
        assert_true(value < 7);
        seen[value] = true;
        assert_int_equal(tk_rand_below(&rand, 1), 0);
        assert_true(tk_rand_below(&rand, UINT64_MAX) < UINT64_MAX);
    }
    for (size_t i = 0; i < 7; i++) {
        assert_true(seen[i]);
    }
}

static void test_rand_double_stays_below_one(void **unused)
{
    static const uint64_t script[] = {0, UINT64_MAX, UINT64_C(1) << 63};
    const uint64_t *next = script;
    tk_rand rand;
    tk_rand_init_fn(&rand, scripted, &next);
    assert_true(tk_rand_double(&rand) == 0.0);
    double top = tk_rand_double(&rand);
    assert_true(top < 1.0 && top > 0.9999999999999998);
    assert_true(tk_rand_double(&rand) == 0.5);
}

static void test_rand_bytes(void **unused)
{
    static const uint64_t script[] = {UINT64_C(0x0807060504030201), UINT64_C(0xFF0B0A09)};
    const uint64_t *next = script;
    tk_rand rand;
    tk_rand_init_fn(&rand, scripted, &next);
    unsigned char bytes[12] = {0};
    tk_rand_bytes(&rand, bytes, 11);
    assert_memory_equal(bytes, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x00", 12);
    tk_rand_bytes(&rand, NULL, 0);
}

static void test_rand_os_seeds_differ(void **unused)
{
    tk_rand seeded;
    tk_rand a;
    tk_rand_init(&seeded, 1);
    tk_rand_init(&a, 1);
    tk_rand b = a;
    assert_int_equal(tk_rand_init_os(&a, NULL), TINKC_OK);
    assert_int_equal(tk_rand_init_os(&b, NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(a.state); i++) {
        assert_true(a.state[i] != b.state[i]);
        assert_true(a.state[i] != seeded.state[i]);
    }
    unsigned char large[5000];
    unsigned char again[5000];
    assert_int_equal(tk_rand_entropy(large, sizeof(large), NULL), TINKC_OK);
    assert_int_equal(tk_rand_entropy(again, sizeof(again), NULL), TINKC_OK);
    assert_true(memcmp(large + 4900, again + 4900, 100) != 0); /* filled to the end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rand_reference_sequence),
        cmocka_unit_test(test_rand_seed_is_spread),
        cmocka_unit_test(test_rand_below_has_no_bias),
        cmocka_unit_test(test_rand_double_stays_below_one),
        cmocka_unit_test(test_rand_bytes),
        cmocka_unit_test(test_rand_os_seeds_differ),
    };
    return cmocka_run_group_tests_name("rand", tests, NULL, NULL);
}
