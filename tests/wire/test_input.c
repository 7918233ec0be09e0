/* Lengths in tokens and byte estimates (docs/protocol.md §6.2, §7.2, §8.3; B-235, M-108,
 * M-109). */
#include "wire/input.h"

#include "support/test.h"

#define BYTES(...)                                                                       \
    (tk_bytes)                                                                           \
    {                                                                                    \
        (const unsigned char[]){__VA_ARGS__},                                            \
            sizeof((const unsigned char[]){__VA_ARGS__})                                 \
    }

static void test_input_dmel_header(void **unused)
{
    int64_t n = -1;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_dmel_length(&n, BYTES(4, 2, 7, 80, 1, 2, 3), &err), TINKC_OK);
    assert_int_equal(n, 7);
    assert_int_equal(tk_dmel_length(&n, BYTES(0xFE, 4, 2, 0x80, 0x02, 80), &err),
                     TINKC_OK);
    assert_int_equal(n, 256);
    assert_int_equal(tk_dmel_length(&n, BYTES(0, 1, 0), &err), TINKC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(
        tk_dmel_length(
            &n, BYTES(7, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F), &err),
        TINKC_OK);
    assert_int_equal(n, INT64_MAX);
}

static void test_input_dmel_refusals(void **unused)
{
    const struct {
        tk_bytes bytes;
        const char *why;
    } rows[] = {
        {{NULL, 0}, "empty"},
        {BYTES(0xFE), "cut short"},
        {BYTES(8, 1, 1), "unknown dtype"},
        {BYTES(0xFE, 0xFE, 1, 1), "unknown dtype"},
        {BYTES(4), "cut short"},
        {BYTES(4, 0), "no dimension"},
        {BYTES(4, 2, 1), "cut short"},
        {BYTES(4, 1, 0x80), "cut short"},
        {BYTES(4, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2), "64 bits"},
        {BYTES(4, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1),
         "64 bits"},
        {BYTES(4, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1),
         "too large"},
        /* A huge number of dimensions ends with the bytes. */
        {BYTES(4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 1, 1),
         "cut short"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        int64_t n = -7;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_dmel_length(&n, rows[i].bytes, &err), TINKC_E_INVALID);
        assert_non_null(strstr(err.message, rows[i].why));
        assert_int_equal(n, -7);
    }
}

static const int32_t tokens[] = {1, 2, 3};

static void test_input_length(void **unused)
{
    tk_chunk chunks[] = {
        {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 3}},
        {.kind = TK_CHUNK_IMAGE, .expected_tokens = TK_F_VAL(10)},
        {.kind = TK_CHUNK_DMEL, .data = BYTES(4, 1, 5)},
        {.kind = TK_CHUNK_IMAGE_POINTER, .expected_tokens = TK_F_VAL(0)},
    };
    tk_model_input input = {chunks, TK_ARRAY_LEN(chunks)};
    int64_t n = 0;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_model_input_length(&n, &input, &err), TINKC_OK);
    assert_int_equal(n, 18);
    chunks[3].expected_tokens.is = TK_UNSET;
    assert_int_equal(tk_model_input_length(&n, &input, &err), TINKC_E_INVALID);
    assert_string_equal(err.path, "chunks[3]");
    chunks[3] =
        (tk_chunk){.kind = TK_CHUNK_IMAGE, .expected_tokens = TK_F_VAL(INT64_MAX)};
    tk_err_clear(&err);
    assert_int_equal(tk_model_input_length(&n, &input, &err), TINKC_E_INVALID);
    chunks[3] = (tk_chunk){.kind = TK_CHUNK_UNKNOWN};
    tk_err_clear(&err);
    assert_int_equal(tk_model_input_length(&n, &input, &err), TINKC_E_INVALID);
    assert_int_equal(n, 18);
}

static void test_input_estimates(void **unused)
{
    const tk_chunk chunks[] = {
        {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 3}},
        {.kind = TK_CHUNK_IMAGE, .data = {NULL, 100}},
        {.kind = TK_CHUNK_DMEL, .data = {NULL, 20}},
        {.kind = TK_CHUNK_IMAGE_POINTER, .location = TK_STR("abcde")},
        {.kind = TK_CHUNK_UNKNOWN},
    };
    const tk_model_input input = {chunks, TK_ARRAY_LEN(chunks)};
    assert_int_equal(tk_model_input_bytes(&input, TK_TRAIN_TOKEN_BYTES), 12 + 125);
    assert_int_equal(tk_model_input_bytes(&input, TK_SAMPLE_TOKEN_BYTES), 30 + 125);
    const tk_named_tensor tensors[] = {
        {TK_STR("weights"), {.dtype = TK_DTYPE_F32, .n = 7}},
        {TK_STR("target_tokens"), {.dtype = TK_DTYPE_I64, .n = 7}},
        {TK_STR("sparse"),
         {.dtype = TK_DTYPE_F32,
          .n = 2,
          .is_sparse = true,
          .crow = {NULL, 4},
          .col = {NULL, 2}}},
    };
    const tk_datum datum = {.model_input = input,
                            .loss_fn_inputs = {tensors, TK_ARRAY_LEN(tensors)}};
    assert_int_equal(tk_datum_bytes(&datum), 137 + 28 + 56 + (8 + 32 + 16));
    const tk_tensor huge = {.dtype = TK_DTYPE_I64, .n = SIZE_MAX / 2};
    assert_int_equal(tk_tensor_bytes(&huge), SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_dmel_header),
        cmocka_unit_test(test_input_dmel_refusals),
        cmocka_unit_test(test_input_length),
        cmocka_unit_test(test_input_estimates),
    };
    return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
