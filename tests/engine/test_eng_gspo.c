/* GSPO-token at the engine: values by its published definition, gradients equal to those of
 * cross_entropy with the derivative as weights (which finite differences prove elsewhere),
 * and what it refuses. */
#include <stdio.h>

#include "base/mem.h"
#include "engine/support/training.h"

static const float mask[N] = {0, 1, 1, 1, 0};
static const float near_logprobs[N] = {-4, -4, -4, -4, -4};

static tinkc_code run_gspo(scene *s, const eng_array *inputs, size_t n,
                           const eng_setting *settings, size_t n_settings, bool forward,
                           eng_result **out, tk_err *err)
{
    eng_datum datum = {tokens, N, inputs, n};
    eng_train_request request = {.loss_fn = TK_STR("gspo"),
                                 .settings = settings,
                                 .n_settings = n_settings,
                                 .data = &datum,
                                 .n_data = 1,
                                 .forward_only = forward};
    return eng_adapter_forward_backward(out, s->adapter, &request, err);
}

static double ratio_of(const float *logprobs, const float *q)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < N; i++) {
        sum += mask[i] > 0 ? (double)logprobs[i] - (double)q[i] : 0;
        n += mask[i] > 0 ? 1 : 0;
    }
    return exp(sum / n);
}

/* Bounds wide enough for everything, and such that positive or negative advantages are
 * clipped. */
static void check(double low, double high)
{
    scene s;
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL, *plain = NULL;
    scene_init(&s);
    const eng_array inputs[] = {
        ints("target_tokens", targets, N), floats("logprobs", near_logprobs, N),
        floats("advantages", advantages, N), floats("sequence_ratio_mask", mask, N)};
    const eng_setting settings[] = {{TK_STR("clip_low_threshold"), low, false},
                                    {TK_STR("clip_high_threshold"), high, false}};
    assert_int_equal(run_gspo(&s, inputs, 4, settings, 2, false, &result, &err),
                     TINKC_OK);
    const eng_output *output = &result->outputs[0];
    double ratio = ratio_of(output->logprobs, near_logprobs), sum = 0;
    float slope[N];
    for (size_t i = 0; i < N; i++) {
        double a = (double)advantages[i];
        double clipped = ratio < low ? low : ratio > high ? high : ratio;
        double want = -(ratio * a < clipped * a ? ratio * a : clipped * a);
        bool moves = (ratio >= low && ratio <= high) || ratio * a < clipped * a;
        slope[i] = (float)(moves ? ratio * a : 0);
        assert_true(about((double)output->elementwise_loss[i], want, 1e-5));
        sum += want;
    }
    assert_true(about(metric(result, "loss:sum"), sum, 1e-4));
    eng_real *grads = tk_memdup(s.adapter->grads, s.adapter->n * sizeof(eng_real));
    memset(s.adapter->grads, 0, s.adapter->n * sizeof(eng_real));
    const eng_array ce[] = {ints("target_tokens", targets, N),
                            floats("weights", slope, N)};
    plain = must_run(&s, "cross_entropy", ce, 2);
    double size = 0;
    for (size_t i = 0; i < s.adapter->n; i++) {
        double want = (double)s.adapter->grads[i];
        assert_true(about((double)grads[i], want, 1e-5 + 1e-4 * fabs(want)));
        size += fabs(want);
    }
    assert_true(size > 0.01);
    tk_free(grads);
    eng_result_free(result);
    eng_result_free(plain);
    assert_int_equal(run_gspo(&s, inputs, 4, settings, 2, true, &result, &err), TINKC_OK);
    assert_true(about(metric(result, "loss:sum"), sum, 1e-4)); /* without gradients */
    eng_result_free(result);
    scene_dispose(&s);
}

static void test_gspo_values(void **unused)
{
    (void)unused;
    check(0.01, 100);
    check(0.01, 0.02); /* above the upper bound: only negative advantages move */
    check(50, 100);    /* below the lower bound: only positive ones do */
}

static void refused(const eng_array *inputs, size_t n, const eng_setting *settings,
                    size_t n_settings, const char *says)
{
    scene s;
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL;
    scene_init(&s);
    assert_int_equal(run_gspo(&s, inputs, n, settings, n_settings, false, &result, &err),
                     TINKC_E_INVALID);
    char whole[sizeof(err.path) + sizeof(err.message) + 2];
    (void)snprintf(whole, sizeof(whole), "%s: %s", err.path, err.message);
    if (strstr(whole, says) == NULL) {
        fail_msg("%s", whole);
    }
    scene_dispose(&s);
}

static void test_gspo_refusals(void **unused)
{
    (void)unused;
    eng_array inputs[] = {
        ints("target_tokens", targets, N), floats("logprobs", near_logprobs, N),
        floats("advantages", advantages, N), floats("sequence_ratio_mask", mask, N)};
    const eng_setting both[] = {{TK_STR("clip_low_threshold"), 0.8, false},
                                {TK_STR("clip_high_threshold"), 1.2, false}};
    refused(inputs, 3, both, 2, "sequence_ratio_mask: is missing");
    refused(inputs, 4, both, 1, "clip_high_threshold: is missing");
    refused(inputs, 4, both + 1, 1, "clip_low_threshold: is missing");
    refused(inputs, 4, NULL, 0, "clip_low_threshold: is missing");
    inputs[3] = floats("sequence_ratio_mask", zeros, N);
    refused(inputs, 4, both, 2, "marks no token");
    inputs[3] = floats("sequence_ratio_mask", mask, N - 1);
    refused(inputs, 4, both, 2, "sequence_ratio_mask");
}

/* Another loss does not take the mask, and losses that are not here say why. */
static void test_gspo_and_others(void **unused)
{
    scene s;
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL;
    (void)unused;
    const eng_array inputs[] = {
        ints("target_tokens", targets, N), floats("logprobs", near_logprobs, N),
        floats("advantages", advantages, N), floats("sequence_ratio_mask", mask, N)};
    scene_init(&s);
    assert_int_equal(run(&s, "ppo", inputs, 4, &result, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.path, "loss_fn_inputs.sequence_ratio_mask"));
    static const struct {
        const char *loss, *says;
    } rows[] = {{"stable_reinforce", "not published"},
                {"custom", "does not run losses"},
                {"newer", "newer is not one of"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err why = TK_ERR_INIT;
        assert_int_equal(run(&s, rows[i].loss, inputs, 3, &result, &why),
                         TINKC_E_INVALID);
        assert_non_null(strstr(why.message, rows[i].says));
    }
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gspo_values),
        cmocka_unit_test(test_gspo_refusals),
        cmocka_unit_test(test_gspo_and_others),
    };
    return cmocka_run_group_tests_name("eng_gspo", tests, NULL, NULL);
}
