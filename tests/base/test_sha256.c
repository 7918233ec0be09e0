/* SHA-256: the vectors of FIPS 180-4, whole and in pieces. */
#include "base/sha256.h"
#include "support/failmem.h"
#include "support/test.h"

static const char two_blocks[] =
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
static const char two_blocks_hex[] =
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";

static void test_sha256_vectors(void **unused)
{
    char hex[TK_SHA256_HEX_BYTES];
    assert_int_equal(tk_sha256_hex(hex, "", 0, NULL), TINKC_OK);
    assert_string_equal(
        hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(tk_sha256_hex(hex, "abc", 3, NULL), TINKC_OK);
    assert_string_equal(
        hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(tk_sha256_hex(hex, two_blocks, 56, NULL), TINKC_OK);
    assert_string_equal(hex, two_blocks_hex);
}

static bool stream(void *user)
{
    tk_sha256 *sha = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_sha256_new(&sha, &err) != TINKC_OK) {
        assert_int_equal(err.code, TINKC_E_NOMEM);
        assert_null(sha);
        return false;
    }
    for (size_t i = 0; i < 56; i += 7) {
        assert_int_equal(tk_sha256_update(sha, two_blocks + i, 7, NULL), TINKC_OK);
    }
    assert_int_equal(tk_sha256_update(sha, NULL, 0, NULL), TINKC_OK);
    char hex[TK_SHA256_HEX_BYTES];
    assert_int_equal(tk_sha256_finish(hex, sha, NULL), TINKC_OK);
    assert_string_equal(hex, two_blocks_hex);
    tk_sha256_free(sha);
    return true;
}

static void test_sha256_stream(void **unused)
{
    tk_sha256_free(NULL);
    assert_int_equal(failmem_sweep(stream, NULL, 1), 1);
}

/* RFC 4231, test case 2. */
static void test_sha256_hmac(void **unused)
{
    char hex[TK_SHA256_HEX_BYTES];
    assert_int_equal(tk_sha256_hmac_hex(hex, TK_STR("Jefe"),
                                        TK_STR("what do ya want for nothing?"), NULL),
                     TINKC_OK);
    assert_string_equal(
        hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_vectors),
        cmocka_unit_test(test_sha256_stream),
        cmocka_unit_test(test_sha256_hmac),
    };
    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
