/* SipHash-2-4 against values of the authors' reference code. */
#include "base/hash.h"
#include "support/test.h"

static void test_hash_reference_values(void **unused)
{
    /* key 00..0f, input 00..n-1 */
    static const struct {
        size_t n;
        uint64_t hash;
    } expected[] = {
        {0, UINT64_C(0x726FDB47DD0E0E31)},  {1, UINT64_C(0x74F839C593DC67FD)},
        {7, UINT64_C(0xAB0200F58B01D137)},  {8, UINT64_C(0x93F5F5799A932462)},
        {15, UINT64_C(0xA129CA6149BE45E5)}, {63, UINT64_C(0x958A324CEB064572)},
    };
    tk_hash_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0F0E0D0C0B0A0908)};
    unsigned char input[64];
    for (size_t i = 0; i < sizeof(input); i++) {
        input[i] = (unsigned char)i;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(expected); i++) {
        uint64_t hash = tk_hash_bytes(key, input, expected[i].n);
        if (hash != expected[i].hash) {
            fail_msg("n %zu: %016llx", expected[i].n, (unsigned long long)hash);
        }
    }
    assert_true(tk_hash_bytes(key, NULL, 0) == expected[0].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_reference_values),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
