/* Rotary frequencies against golden numbers (llama3 scaling of Llama 3.2 1B and 3.1 8B),
 * and the rotation. */
#include "engine/eng_rope.h"

#include <math.h>

#include "support/test.h"

typedef struct golden {
    size_t i;
    double plain, scaled;
} golden;

static void check(double theta, size_t d, double factor, const golden *want, size_t n,
                  size_t unchanged)
{
    eng_rope_config config = {.theta = theta};
    float plain[64], scaled[64];
    eng_rope_frequencies(&config, d, plain);
    config = (eng_rope_config){.theta = theta,
                               .llama3 = true,
                               .factor = factor,
                               .low_freq_factor = 1,
                               .high_freq_factor = 4,
                               .original_context = 8192};
    eng_rope_frequencies(&config, d, scaled);
    for (size_t i = 0; i <= unchanged; i++) {
        assert_true(plain[i] == scaled[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const golden *g = &want[i];
        assert_true(fabs((double)plain[g->i] - g->plain) <= 1e-7 * g->plain);
        assert_true(fabs((double)scaled[g->i] - g->scaled) <= 1e-7 * g->scaled);
    }
}

static void test_llama3_frequencies(void **unused)
{
    static const golden small[] = {
        {14, 0.00321144599, 0.00321144599},   {15, 0.00213111954, 0.00129054793},
        {16, 0.00141421356, 0.000429556797},  {17, 0.00093847387, 9.7082878e-05},
        {18, 0.000622772422, 1.94616382e-05}, {31, 3.01385815e-06, 9.41830673e-08}};
    check(500000, 64, 32, small, TK_ARRAY_LEN(small), 14);
    static const golden large[] = {{29, 0.00261609925, 0.00216657076},
                                   {31, 0.0017360467, 0.000856751413},
                                   {35, 0.000764496988, 9.55621235e-05},
                                   {63, 2.45514079e-06, 3.06892599e-07}};
    check(500000, 128, 8, large, TK_ARRAY_LEN(large), 28);
}

static void test_rotation(void **unused)
{
    float freq[2] = {1.0f, 0.01f}, cosine[6], sine[6];
    eng_rope_table(cosine, sine, freq, 2, 3);
    float x[8] = {1, 2, 3, 4, -1, 0.5f, 0, 2}, kept[8];
    memcpy(kept, x, sizeof(x));
    eng_rope_apply(x, 2, 2, cosine + 4, sine + 4, false); /* position 2, two heads */
    assert_true(fabs((double)x[0] - (cos(2.0) * 1 - sin(2.0) * 3)) < 1e-6);
    assert_true(fabs((double)x[2] - (cos(2.0) * 3 + sin(2.0) * 1)) < 1e-6);
    assert_true(fabs((double)x[5] - (cos(0.02) * 0.5 - sin(0.02) * 2)) < 1e-6);
    eng_rope_apply(x, 2, 2, cosine + 4, sine + 4, true);
    for (size_t i = 0; i < 8; i++) {
        assert_true(fabs((double)(x[i] - kept[i])) < 1e-6);
    }
    eng_rope_apply(kept, 2, 2, cosine, sine, false); /* position 0 changes nothing */
    assert_true(kept[0] == 1 && kept[7] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama3_frequencies),
        cmocka_unit_test(test_rotation),
    };
    return cmocka_run_group_tests_name("eng_rope", tests, NULL, NULL);
}
