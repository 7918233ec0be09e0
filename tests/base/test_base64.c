/* Base64: RFC 4648 vectors, sizes around every chunk border, strict refusals. */
#include "base/base64.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"
#include "support/textfix.h"

static const char *const vectors[][2] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

static void test_base64_vectors(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(vectors); i++) {
        size_t n = strlen(vectors[i][0]);
        tk_buf out;
        tk_buf_init(&out, strlen(vectors[i][1]) + (n == 0)); /* exactly enough */
        tk_base64_encode(&out, vectors[i][0], n);
        assert_true(tk_str_is(tk_buf_str(&out), vectors[i][1]));
        assert_int_equal(tk_buf_status(&out, NULL), TINKC_OK);
        size_t size;
        assert_true(tk_base64_encoded_size(&size, n));
        assert_int_equal(size, strlen(vectors[i][1]));
        tk_buf_dispose(&out);
        char bytes[8] = "";
        tk_str text = tk_str_of(vectors[i][1]);
        assert_int_equal(tk_base64_decoded_size(text), n);
        assert_int_equal(tk_base64_decode(bytes, text, NULL), TINKC_OK);
        assert_string_equal(bytes, vectors[i][0]);
    }
}

static void test_base64_url_form(void **unused)
{
    static const unsigned char bytes[] = {0xFB, 0xFF, 0xFE, 0xFF};
    tk_buf out;
    tk_buf_init(&out, 64);
    textfix_put_base64_url(&out, bytes, 4);
    assert_true(tk_str_is(tk_buf_str(&out), "-__-_w"));
    unsigned char back[4];
    assert_int_equal(tk_base64_decoded_size(tk_buf_str(&out)), 4);
    assert_int_equal(tk_base64_decode_url(back, tk_buf_str(&out), NULL), TINKC_OK);
    assert_memory_equal(back, bytes, 4);
    tk_buf_clear(&out);
    tk_base64_encode(&out, NULL, 0);
    assert_int_equal(out.n, 0);
    tk_buf_dispose(&out);
}

/* A-064: sizes 0..5 and large round trips; exact-size blocks let sanitizers see a byte
 * too many. */
static void test_base64_round_trips(void **unused)
{
    static const size_t sizes[] = {0,     1,     2,     3,     4,     5,
                                   766,   767,   768,   769,   49151, 49152,
                                   49153, 49154, 49155, 98304, 98305, 300000};
    for (size_t i = 0; i < TK_ARRAY_LEN(sizes); i++) {
        size_t n = sizes[i];
        unsigned char *data = tk_malloc(n);
        unsigned char *back = tk_malloc(n);
        for (size_t k = 0; k < n; k++) {
            data[k] = (unsigned char)(k * 167 + (k >> 8));
        }
        for (int url = 0; url < 2; url++) {
            tk_buf out;
            tk_buf_init(&out, n * 4 / 3 + 4);
            (url ? textfix_put_base64_url : tk_base64_encode)(&out, data, n);
            assert_int_equal(tk_buf_status(&out, NULL), TINKC_OK);
            tk_str text = tk_buf_str(&out);
            assert_int_equal(tk_base64_decoded_size(text), n);
            memset(back, 0, n);
            tinkc_code code =
                (url ? tk_base64_decode_url : tk_base64_decode)(back, text, NULL);
            assert_int_equal(code, TINKC_OK);
            assert_memory_equal(back, data, n);
            tk_buf_dispose(&out);
        }
        tk_free(data);
        tk_free(back);
    }
}

static void test_base64_refusals(void **unused)
{
    static const struct {
        const char *text;
        size_t offset;
    } bad[] = {
        {"Z", 1},       {"Zg", 2},       {"Zg=", 3},   {"Zm8", 3},      {"Zg===", 2},
        {"=", 1},       {"====", 0},     {"Zm9v=", 5}, {"Zm9vYg", 6},   {" Zg==", 0},
        {"Zg==\n", 2},  {"Zm\n9v", 2},   {"Z-9v", 1},  {"Z_9v", 1},     {"Zh==", 1},
        {"Zm9=", 2},    {"Zg==Zg==", 2}, {"Z=g=", 1},  {"Zm9v\x80", 4}, {"Zm9v====", 4},
        {"Zm9\x7F", 3}, {"Zm9@", 3},     {"Zm9[", 3},  {"Zm9`", 3},     {"Zm9{", 3},
        {"Zm9:", 3},    {"Zm9.", 3},     {"Zm9,", 3},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        char out[16];
        tk_err err = TK_ERR_INIT;
        tk_str text = tk_str_of(bad[i].text);
        assert_true(tk_base64_decoded_size(text) <= sizeof(out));
        assert_int_equal(tk_base64_decode(out, text, &err), TINKC_E_PARSE);
        assert_int_equal(err.offset, bad[i].offset);
    }
    static const char *const bad_url[] = {"Z",  "Zg==", "Zm8=",  "Z+9v", "Z/9v",
                                          "Zh", "Zm9",  "Zm9vA", "Zg ",  "\n"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad_url); i++) {
        char out[16];
        tk_str text = tk_str_of(bad_url[i]);
        assert_int_equal(tk_base64_decode_url(out, text, NULL), TINKC_E_PARSE);
    }
    assert_int_equal(tk_base64_decode(NULL, TK_STR("Zg\0="), NULL), TINKC_E_PARSE);
}

/* Exactly one of the 64 * 64 two-character groups decodes to each byte, and so on. */
static void test_base64_one_text_per_value(void **unused)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t one = 0;
    size_t two = 0;
    for (size_t a = 0; a < 64; a++) {
        for (size_t b = 0; b < 64; b++) {
            char out[3];
            char text[5] = {alphabet[a], alphabet[b], '=', '=', '\0'};
            one += tk_base64_decode(out, tk_str_of(text), NULL) == TINKC_OK;
            text[2] = text[0];
            text[0] = 'x';
            two += tk_base64_decode(out, tk_str_of(text), NULL) == TINKC_OK;
        }
    }
    assert_int_equal(one, 256);
    assert_int_equal(two, 64 * 16);
}

static void test_base64_limits(void **unused)
{
    size_t size = 5;
    assert_false(tk_base64_encoded_size(&size, SIZE_MAX));
    assert_int_equal(size, 5);
    assert_true(tk_base64_encoded_size(&size, SIZE_MAX / 4 * 3));
    tk_buf out;
    tk_buf_init(&out, 7);
    tk_base64_encode(&out, "abcd", 4);
    assert_int_equal(out.failure, TINKC_E_LIMIT);
    tk_buf_clear(&out);
    tk_base64_encode(&out, "x", SIZE_MAX);
    assert_int_equal(out.failure, TINKC_E_LIMIT);
    tk_buf_dispose(&out);
}

static bool encode_once(void *user)
{
    static const char data[5000];
    tk_buf out;
    tk_buf_init(&out, 20000);
    tk_base64_encode(&out, data, sizeof(data));
    bool ok = tk_buf_status(&out, NULL) == TINKC_OK;
    tk_buf_dispose(&out);
    return ok;
}

static void test_base64_sweep(void **unused)
{
    assert_in_range(failmem_sweep(encode_once, NULL, 1), 1, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64_vectors),
        cmocka_unit_test(test_base64_url_form),
        cmocka_unit_test(test_base64_round_trips),
        cmocka_unit_test(test_base64_refusals),
        cmocka_unit_test(test_base64_one_text_per_value),
        cmocka_unit_test(test_base64_limits),
        cmocka_unit_test(test_base64_sweep),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
