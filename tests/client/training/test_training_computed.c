/* The loss that is computed from log-probabilities, on the scripted peer: they are -2 before
 * the first optimizer step.
 * Links: peer */
#include <math.h>

#include "support/trainfix.h"

#define TOKENS 3

/* A datum with float32 inputs; each may be NULL. */
static tinkc_datum *make(const float *weights, const float *logprobs,
                         const float *advantages)
{
    static const int32_t tokens[TOKENS] = {1, 2, 3};
    const struct {
        const char *name;
        const float *values;
    } inputs[] = {
        {"weights", weights}, {"logprobs", logprobs}, {"advantages", advantages}};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, TOKENS, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(datum, "target_tokens", tokens, TOKENS, NULL),
                     TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(inputs); i++) {
        if (inputs[i].values != NULL) {
            assert_int_equal(tinkc_datum_set_f32(datum, inputs[i].name, inputs[i].values,
                                                 TOKENS, NULL),
                             TINKC_OK);
        }
    }
    return datum;
}

/* Runs forward_backward and computes the loss of its result. */
static tinkc_code compute(double *out, tinkc_datum **data, size_t n, const char *loss)
{
    const tk_num_map none = {NULL, 0};
    const fakeapi_tinker_options options = {.metrics = &none};
    trainfix f = trainfix_open(&options, SERVICEFIX_QUIET);
    tinkc_fwdbwd *result = NULL;
    double said = 0;
    assert_int_equal(tinkc_training_forward_backward_wait(&result, f.training, data, n,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_loss(&said, result, NULL), TINKC_E_MISSING);
    assert_null(tinkc_metrics_loss_name(tinkc_fwdbwd_metrics(result)));
    tinkc_code code = tinkc_fwdbwd_computed_loss(out, result, data, n, loss, NULL);
    assert_int_equal(
        tinkc_fwdbwd_computed_loss(&said, result, data, n + 1, "cross_entropy", NULL),
        TINKC_E_MISSING);
    assert_int_equal(
        tinkc_fwdbwd_computed_loss(NULL, result, data, n, "cross_entropy", NULL),
        TINKC_E_INVALID);
    tinkc_fwdbwd_free(&result);
    trainfix_close(&f);
    return code;
}

static void free_all(tinkc_datum **data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tinkc_datum_free(&data[i]);
    }
}

/* cross entropy is the sum of -logprob * weight; 1 without weights. */
static void test_computed_cross_entropy(void **unused)
{
    static const float weights[TOKENS] = {0, 0.5F, 2};
    tinkc_datum *data[] = {make(weights, NULL, NULL), make(NULL, NULL, NULL)};
    double loss = 0;
    assert_int_equal(compute(&loss, data, 2, "cross_entropy"), TINKC_OK);
    assert_true(fabs(loss - 11.0) < 1e-6);
    assert_int_equal(compute(&loss, data, 2, "ppo"), TINKC_E_UNSUPPORTED);
    assert_int_equal(compute(&loss, data, 2, NULL), TINKC_E_UNSUPPORTED);
    assert_int_equal(compute(&loss, data, 2, "importance_sampling"), TINKC_E_MISSING);
    free_all(data, 2);
}

/* importance sampling weighs advantages by the ratio of probabilities. */
static void test_computed_importance_sampling(void **unused)
{
    static const float sampled[TOKENS] = {-2, -3, 0};
    static const float advantages[TOKENS] = {1, -0.5F, 0};
    tinkc_datum *data[] = {make(NULL, sampled, advantages)};
    double loss = 0;
    assert_int_equal(compute(&loss, data, 1, "importance_sampling"), TINKC_OK);
    assert_true(fabs(loss - (0.5 * exp(1.0) - 1.0)) < 1e-6);
    free_all(data, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computed_cross_entropy),
        cmocka_unit_test(test_computed_importance_sampling),
    };
    return cmocka_run_group_tests_name("training_computed", tests, NULL, NULL);
}
