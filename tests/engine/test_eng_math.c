/* Our own elementary functions against the C library's, and stored number formats. */
#include "engine/eng_math.h"

#include <math.h>

#include "engine/eng_dtype.h"
#include "engine/eng_rng.h"
#include "support/test.h"

static void near_to(double have, double want, double bar)
{
    double size = fabs(want) > 1e-300 ? fabs(want) : 1;
    if (!(fabs(have - want) <= bar * size)) {
        fail_msg("%.17g, wanted %.17g", have, want);
    }
}

static void test_exp_log_pow(void **unused)
{
    for (double x = -707.9; x < 708.9; x += 0.371) {
        near_to(eng_exp(x), exp(x), 4e-16 * 4);
    }
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        near_to(eng_log(x), log(x), 8e-16);
    }
    for (double x = 0.5; x < 2; x += 0.00037) {
        double size = fmax(fabs(log(x)), 1e-3);
        assert_true(fabs(eng_log(x) - log(x)) <= 8e-16 * size + 1e-18);
    }
    near_to(eng_pow(500000.0, -0.46875), pow(500000.0, -0.46875), 1e-14);
    near_to(eng_powi(0.95, 1000), pow(0.95, 1000), 1e-13);
    near_to(eng_powi(0.9, 0), 1, 0);
    assert_true(eng_exp(-1e9) == 0 && eng_exp(1e9) == INFINITY && isnan(eng_exp(NAN)));
    assert_true(eng_log(0) == -INFINITY && isnan(eng_log(-1)) && isnan(eng_log(NAN)));
}

static void test_sincos(void **unused)
{
    for (double x = -20; x < 1e6; x = x < 100 ? x + 0.0137 : x * 1.0007) {
        double s, c;
        eng_sincos(x, &s, &c);
        assert_true(fabs(s - sin(x)) < 4e-16 && fabs(c - cos(x)) < 4e-16);
    }
}

static void test_stored_formats(void **unused)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float wide = eng_bf16_to_f32((uint16_t)bits);
        if (wide == wide) {
            assert_int_equal(eng_f32_to_bf16(wide), bits);
        } else {
            float again = eng_bf16_to_f32(eng_f32_to_bf16(wide));
            assert_true(again != again);
        }
        uint16_t half = (uint16_t)bits;
        float f = eng_f16_to_f32(half);
        bool bad = eng_dtype_find_bad(&half, ENG_F16, 1) == 0;
        assert_int_equal(bad, !isfinite(f));
        if (isfinite(f)) { /* 2^24 times a half is an integer of at most 41 bits */
            assert_true(floorf(f * 0x1p24f) == f * 0x1p24f);
        }
    }
    assert_true(eng_f16_to_f32(0x3C00) == 1.0f && eng_f16_to_f32(0x0001) == 0x1p-24f);
    assert_true(eng_f16_to_f32(0xFBFF) == -65504.0f &&
                eng_f16_to_f32(0x0400) == 0x1p-14f);
    /* ties to even */
    assert_int_equal(eng_f32_to_bf16(1.0f + 0x1p-8f), 0x3F80);
    assert_int_equal(eng_f32_to_bf16(1.0f + 3 * 0x1p-8f), 0x3F82);
}

/* Initial weights and sampling depend on these numbers: they may never change. */
static void test_generator_is_frozen(void **unused)
{
    eng_rng rng;
    eng_rng_init(&rng, 0, 0);
    uint64_t first = eng_rng_next(&rng);
    assert_int_equal(first, 0x568A9B0B1A2C05ECULL);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double x = eng_rng_unit(&rng);
        assert_true(x >= 0 && x < 1);
        sum += x;
    }
    assert_true(fabs(sum / 10000 - 0.5) < 0.02);
    eng_rng other;
    eng_rng_init(&other, 0, 1);
    assert_int_not_equal(eng_rng_next(&other), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_log_pow),
        cmocka_unit_test(test_sincos),
        cmocka_unit_test(test_stored_formats),
        cmocka_unit_test(test_generator_is_frozen),
    };
    return cmocka_run_group_tests_name("eng_math", tests, NULL, NULL);
}
