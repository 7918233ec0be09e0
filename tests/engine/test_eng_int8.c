/* Rounding to int8: scales, the nearest weight against a definition in long double, what
 * is hard to divide (zeros, denormals, the largest floats, ties), and rows of a panel. */
#include "engine/eng_int8.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/eng_rng.h"
#include "support/test.h"

static float scale_of(float max)
{
    return eng_bf16_to_f32(eng_int8_scale(max));
}

/* 127 scales hold the largest number, and one step less would not. */
static void check_scale(float max)
{
    uint16_t bits = eng_int8_scale(max);
    float scale = eng_bf16_to_f32(bits), less = eng_bf16_to_f32((uint16_t)(bits - 1));
    assert_true(isnormal(scale) && scale > 0);
    assert_true((double)scale * 127 >= (double)max * (1 - 0x1p-24));
    assert_true(scale <= FLT_MIN || (double)less * 127 < (double)max);
    int8_t most = eng_int8_round(max, bits), least = eng_int8_round(-max, bits);
    assert_true(most >= 0 && least == -most);
    assert_true(max < FLT_MIN * 127 || most >= 126);
    assert_true(isfinite((float)most * scale));
    assert_true(fabs((double)most * (double)scale - (double)max) <= (double)scale / 2);
}

static void test_scales(void **unused)
{
    eng_rng rng;
    eng_rng_init(&rng, 1, 1);
    const float hard[] = {0,
                          FLT_TRUE_MIN,
                          1e-40f,
                          FLT_MIN,
                          FLT_MIN * 126,
                          FLT_MIN * 128,
                          1.0f,
                          127.0f,
                          127.00001f,
                          126.99999f,
                          FLT_MAX / 2,
                          FLT_MAX,
                          0x1.02p121f * 127};
    for (size_t i = 0; i < TK_ARRAY_LEN(hard); i++) {
        check_scale(hard[i]);
    }
    for (size_t i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)eng_rng_next(&rng) & 0x7FFFFFFF;
        float max;
        memcpy(&max, &bits, sizeof(max));
        if (isfinite(max)) {
            check_scale(max);
        }
    }
    assert_true(scale_of(127.0f) == 1.0f);
    assert_true(scale_of(0) == FLT_MIN);
}

/* To the nearest, ties to the even one; never more than half a scale away. */
static void check_round(float value, uint16_t bits)
{
    long double scale = (long double)eng_bf16_to_f32(bits);
    long double exact = (long double)value / scale;
    long double low = floorl(exact), rest = exact - low;
    long double want = rest < 0.5L          ? low
                       : rest > 0.5L        ? low + 1
                       : fmodl(low, 2) == 0 ? low
                                            : low + 1;
    if ((long double)eng_int8_round(value, bits) != want) {
        fail_msg("%a / %La: %d, wanted %Lf", (double)value, scale,
                 eng_int8_round(value, bits), want);
    }
}

static void test_rounds_to_nearest_even(void **unused)
{
    eng_rng rng;
    eng_rng_init(&rng, 2, 2);
    for (size_t i = 0; i < 100000; i++) {
        uint16_t bits = eng_int8_scale((float)eng_rng_unit(&rng) + 0.01f);
        float scale = eng_bf16_to_f32(bits);
        float any = (float)(eng_rng_unit(&rng) * 254 - 127) * scale;
        check_round(any, bits);
        /* a tie, which a float holds, and its neighbours */
        float tie = ((float)(eng_rng_next(&rng) % 253) - 126.5f) * scale;
        check_round(tie, bits);
        check_round(nextafterf(tie, 1000), bits);
        check_round(nextafterf(tie, -1000), bits);
    }
    assert_int_equal(eng_int8_round(0.5f, 0x3F80), 0);
    assert_int_equal(eng_int8_round(1.5f, 0x3F80), 2);
    assert_int_equal(eng_int8_round(-2.5f, 0x3F80), -2);
    assert_int_equal(eng_int8_round(1e-42f, eng_int8_scale(1e-42f)), 0);
}

#define K 150 /* two groups and a part */

/* Weights are within half a scale of what was packed, groups have scales of their own,
 * and rows of a panel do not touch each other. */
static void test_rows(void **unused)
{
    static float rows[ENG_LANES][K], back[K];
    static char panel[K * ENG_LANES + 3 * ENG_SCALE_BYTES];
    eng_rng rng;
    eng_rng_init(&rng, 3, 3);
    assert_int_equal(eng_int8_bytes(K), sizeof(panel));
    assert_int_equal(eng_int8_bytes(0), 0);
    for (size_t i = 0; i < ENG_LANES * K; i++) {
        float size = i % K < ENG_GROUP ? 100.0f : i % K < 2 * ENG_GROUP ? 1e-3f : 1e-42f;
        rows[i / K][i % K] = size * (float)(eng_rng_unit(&rng) - 0.5);
    }
    memset(panel, 0x55, sizeof(panel));
    for (size_t lane = 0; lane < ENG_LANES; lane++) {
        const char *in = lane == 7 ? NULL : (const char *)rows[lane];
        eng_int8_pack_row(panel, lane, in, ENG_F32, K);
    }
    for (size_t lane = 0; lane < ENG_LANES; lane++) {
        eng_int8_unpack_row(panel, lane, back, K);
        for (size_t i = 0; i < K; i++) {
            float max = 0, want = lane == 7 ? 0 : rows[lane][i];
            size_t first = i / ENG_GROUP * ENG_GROUP;
            for (size_t j = first; j < first + ENG_GROUP && j < K; j++) {
                max = fmaxf(max, lane == 7 ? 0 : fabsf(rows[lane][j]));
            }
            assert_true(fabsf(back[i] - want) <= scale_of(max) * 0.5f);
            assert_true(lane != 7 || back[i] == 0);
        }
    }
}

/* What int8 holds is the same when it is packed again: nothing drifts. */
static void test_packing_again_changes_nothing(void **unused)
{
    static float row[K], once[K], twice[K];
    static char panel[K * ENG_LANES + 3 * ENG_SCALE_BYTES];
    for (size_t i = 0; i < K; i++) {
        row[i] = (float)((int)(i * 37 % 255) - 127) * 0x1p-9f; /* the largest is 127 */
    }
    row[3] = row[70] = row[140] = -127 * 0x1p-9f;
    eng_int8_pack_row(panel, 0, (const char *)row, ENG_F32, K);
    eng_int8_unpack_row(panel, 0, once, K);
    assert_memory_equal(row, once, sizeof(row)); /* multiples of a scale are exact */
    eng_int8_pack_row(panel, 5, (const char *)once, ENG_F32, K);
    eng_int8_unpack_row(panel, 5, twice, K);
    assert_memory_equal(once, twice, sizeof(once));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_rounds_to_nearest_even),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_packing_again_changes_nothing),
    };
    return cmocka_run_group_tests_name("eng_int8", tests, NULL, NULL);
}
