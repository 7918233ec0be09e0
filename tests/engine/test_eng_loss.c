/* Loss values and derivatives against golden numbers, and the settings of each loss. */
#include <math.h>

#include "engine/eng_loss.h"
#include "support/test.h"

#define N 5

static const double l[N] = {-0.5, -1, -2, -0.1, -3};
static const double q[N] = {-0.7, -1, -1, -2, 0};
static const double a[N] = {1, -0.5, 2, 1.5, 0};
static const double w[N] = {0, 1, 0.5, 1, -0.25};

typedef struct golden {
    const char *loss;
    eng_setting settings[2];
    size_t n_settings;
    double value[N], sum, grad[N];
} golden;

static const golden goldens[] = {
    {"cross_entropy",
     {{{0}, 0, false}},
     0,
     {0, 1, 1, 0.1, -0.75},
     1.35,
     {0, -1, -0.5, -1, 0.25}},
    {"importance_sampling",
     {{{0}, 0, false}},
     0,
     {-1.22140276, 0.5, -0.73575888, -10.02884166, 0},
     -11.48600330,
     {-1.22140276, 0.5, -0.73575888, -10.02884166, 0}},
    {"ppo",
     {{{0}, 0, false}},
     0,
     {-1.2, 0.5, -0.73575888, -1.8, 0},
     -3.23575888,
     {0, 0.5, -0.73575888, 0, 0}},
    {"cispo",
     {{{0}, 0, false}},
     0,
     {0.61070138, -0.5, 1.47151776, 0.6, 0},
     2.18221914,
     {-1.22140276, 0.5, -0.73575888, -6, 0}},
    {"cispo",
     {{{"clip_low_threshold", 18}, 0.8, false},
      {{"clip_high_threshold", 19}, 1.2, false}},
     2,
     {0.6, -0.5, 3.2, 0.18, 0},
     3.48,
     {-1.2, 0.5, -1.6, -1.8, 0}},
    {"dro",
     {{{"beta", 4}, 0.05, false}},
     1,
     {0.501, -0.5, 4.025, 0.24025, 0.225},
     4.49125,
     {-0.99, 0.5, -2.05, -1.405, -0.15}},
};

static void near_to(double have, double want)
{
    if (!(fabs(have - want) <= 1e-8)) {
        fail_msg("%.12g, golden %.12g", have, want);
    }
}

static void test_loss_goldens(void **unused)
{
    for (size_t g = 0; g < TK_ARRAY_LEN(goldens); g++) {
        const golden *want = &goldens[g];
        const eng_loss *loss = eng_loss_find(tk_str_of(want->loss));
        assert_non_null(loss);
        eng_loss_token token = {0};
        tk_err err = TK_ERR_INIT;
        assert_int_equal(
            eng_loss_configure(loss, want->settings, want->n_settings, &token, &err),
            TINKC_OK);
        double sum = 0;
        for (size_t i = 0; i < N; i++) {
            token.logprob = l[i];
            token.reference = q[i];
            token.advantage = a[i];
            token.weight = w[i];
            eng_loss_value have = loss->value(&token);
            near_to(have.loss, want->value[i]);
            near_to(have.grad, want->grad[i]);
            sum += have.loss;
        }
        near_to(sum, want->sum);
    }
}

/* At ratio 1 (the first on-policy step) the gradient passes, also on the border. */
static void test_ppo_passes_gradient_inside(void **unused)
{
    const eng_loss *loss = eng_loss_find(TK_STR("ppo"));
    eng_loss_token token = {
        .logprob = -1, .reference = -1, .advantage = 3, .low = 0.8, .high = 1.2};
    near_to(loss->value(&token).grad, -3);
    token.low = token.high = 1.0;
    near_to(loss->value(&token).grad, -3);
}

/* A sentinel reference with advantage 0 gives neither infinity nor NaN. */
static void test_zero_advantage_is_skipped(void **unused)
{
    static const char *const names[] = {"importance_sampling", "ppo", "cispo"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        eng_loss_token token = {.logprob = -1, .reference = -99999, .high = 4};
        eng_loss_value have = eng_loss_find(tk_str_of(names[i]))->value(&token);
        near_to(have.loss, 0);
        near_to(have.grad, 0);
    }
}

static void refused(const char *name, const char *key, double value)
{
    eng_setting setting = {tk_str_of(key), value, false};
    eng_loss_token token = {0};
    tk_err err = TK_ERR_INIT;
    const eng_loss *loss = eng_loss_find(tk_str_of(name));
    assert_int_equal(eng_loss_configure(loss, &setting, 1, &token, &err),
                     TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "loss_fn_config"));
}

static void test_settings_refused_by_name(void **unused)
{
    refused("cross_entropy", "beta", 1);
    refused("importance_sampling", "clip_low_threshold", 1);
    refused("ppo", "beta", 1);
    refused("ppo", "clip_low_threshold", NAN);
    refused("ppo", "clip_low_threshold", 2); /* above the default high */
    refused("dro", "clip_high_threshold", 1);
    assert_null(eng_loss_find(TK_STR("CROSS_ENTROPY")));
    const eng_setting twice[] = {{TK_STR("beta"), 1, false}, {TK_STR("beta"), 2, false}};
    eng_loss_token token = {0};
    tk_err err = TK_ERR_INIT;
    const eng_loss *loss = eng_loss_find(TK_STR("dro"));
    assert_int_equal(eng_loss_configure(loss, twice, 2, &token, &err), TINKC_E_INVALID);
    const eng_setting text = {TK_STR("beta"), 0, true}; /* not the number 0 */
    tk_err second = TK_ERR_INIT;
    assert_int_equal(eng_loss_configure(loss, &text, 1, &token, &second),
                     TINKC_E_INVALID);
    assert_non_null(strstr(second.message, "beta"));
    assert_string_equal(err.message, "loss_fn_config.beta is there twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_goldens),
        cmocka_unit_test(test_ppo_passes_gradient_inside),
        cmocka_unit_test(test_zero_advantage_is_skipped),
        cmocka_unit_test(test_settings_refused_by_name),
    };
    return cmocka_run_group_tests_name("eng_loss", tests, NULL, NULL);
}
