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

/* On a server that sends no loss: both ways to the loss of a batch. `flags` is what
 * client/config answers. */
static tinkc_code compute_with(double *out, tinkc_datum **data, size_t n,
                               const char *loss, const tinkc_fwdbwd_options *settings,
                               const char *flags)
{
    const tk_num_map none = {NULL, 0};
    const fakeapi_tinker_options options = {.metrics = &none, .config = flags};
    trainfix f = trainfix_open(&options, SERVICEFIX_QUIET);
    tinkc_fwdbwd *result = NULL;
    double own = 0, read = 0;
    assert_int_equal(tinkc_training_forward_backward_wait(&result, f.training, data, n,
                                                          loss, settings, NULL),
                     TINKC_OK);
    assert_null(tinkc_metrics_loss_name(tinkc_fwdbwd_metrics(result)));
    tinkc_code code =
        tinkc_fwdbwd_computed_loss_with(&own, result, data, n, loss, settings, NULL);
    assert_int_equal(tinkc_fwdbwd_loss(&read, result, NULL),
                     code == TINKC_OK ? TINKC_OK : TINKC_E_MISSING);
    if (code == TINKC_OK) {
        assert_true(own == read);
        *out = own;
    }
    tinkc_fwdbwd_free(&result);
    trainfix_close(&f);
    return code;
}

static tinkc_code compute(double *out, tinkc_datum **data, size_t n, const char *loss)
{
    return compute_with(out, data, n, loss, NULL, NULL);
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
    assert_int_equal(compute(&loss, data, 2, "stable_reinforce"), TINKC_E_UNSUPPORTED);
    assert_int_equal(compute(&loss, data, 2, "importance_sampling"), TINKC_E_MISSING);
    free_all(data, 2);
}

/* The same of a batch that was cut, and of one that was compressed; and for every batch. */
static void test_computed_from_what_was_sent(void **unused)
{
    static const char *const flags[] = {
        "{\"fwdbwd_max_chunk_len\":1}", "{\"proto_compress_fwdbwd\":true}",
        "{\"fwdbwd_max_chunk_len\":2,\"proto_compress_fwdbwd\":true}"};
    static const float weights[TOKENS] = {0, 0.5F, 2};
    tinkc_datum *data[] = {make(weights, NULL, NULL), make(NULL, NULL, NULL),
                           make(weights, NULL, NULL)};
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        double loss = 0;
        assert_int_equal(compute_with(&loss, data, 3, "cross_entropy", NULL, flags[i]),
                         TINKC_OK);
        assert_true(fabs(loss - 16.0) < 1e-6);
    }
    free_all(data, 3);
}

/* A step of a server without losses has one, after others too. */
static void test_computed_step(void **unused)
{
    const tk_num_map none = {NULL, 0};
    const fakeapi_tinker_options options = {.metrics = &none};
    trainfix f = trainfix_open(&options, SERVICEFIX_QUIET);
    tinkc_datum *data[] = {make(NULL, NULL, NULL)};
    for (int i = 0; i < 2; i++) {
        tinkc_step *step = NULL;
        double loss = 0;
        assert_int_equal(tinkc_training_step_wait(&step, f.training, data, 1,
                                                  "cross_entropy", NULL, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_step_loss(&loss, step, NULL), TINKC_OK);
        assert_true(fabs(loss - 6.0 / (1 + i)) < 1e-6);
        tinkc_step_free(&step);
    }
    free_all(data, 1);
    trainfix_close(&f);
}

static void test_computed_refusals(void **unused)
{
    trainfix f = trainfix_open(NULL, SERVICEFIX_QUIET);
    tinkc_datum *data[] = {make(NULL, NULL, NULL)};
    tinkc_fwdbwd *result = NULL;
    double loss = 0;
    assert_int_equal(tinkc_training_forward_backward_wait(&result, f.training, data, 1,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(
        tinkc_fwdbwd_computed_loss(&loss, result, data, 2, "cross_entropy", NULL),
        TINKC_E_MISSING);
    assert_int_equal(
        tinkc_fwdbwd_computed_loss(NULL, result, data, 1, "cross_entropy", NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_fwdbwd_computed_loss(&loss, result, data, 1, NULL, NULL),
                     TINKC_E_UNSUPPORTED);
    tinkc_fwdbwd_free(&result);
    free_all(data, 1);
    trainfix_close(&f);
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

/* The numbers of the ratio losses: log-probabilities of -2 against those of the sample. */
static void test_computed_settings(void **unused)
{
    static const float sampled[TOKENS] = {-2, -3, -1};
    static const float advantages[TOKENS] = {1, 2, -3};
    static const tinkc_number bounds[] = {{"clip_high_threshold", 1.5},
                                          {"clip_low_threshold", 0.5}};
    static const tinkc_number beta = {"beta", 0.1};
    const struct {
        const char *loss;
        const tinkc_number *settings;
        size_t n;
        double is; /* NAN: not computed */
    } rows[] = {
        {"ppo", NULL, 0, -1 - 2 * 1.2 + 3 * 0.8},
        {"ppo", bounds, 2, -1 - 2 * 1.5 + 3 * 0.5},
        {"ppo", bounds, 1, -1 - 2 * 1.5 + 3 * 0.8},
        {"cispo", bounds, 2, 2 * (1 + 2 * 1.5 - 3 * 0.5)},
        {"cispo", bounds, 1, (double)NAN},
        {"cispo", NULL, 0, (double)NAN},
        {"dro", &beta, 1, 2 * (1 + 2 - 3) + 0.05 * 2},
        {"dro", NULL, 0, (double)NAN},
        {"gspo", bounds, 2, (double)NAN},
    };
    tinkc_datum *data[] = {make(NULL, sampled, advantages)};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_fwdbwd_options settings = TINKC_FWDBWD_OPTIONS_INIT;
        double loss = 0;
        settings.config = rows[i].settings;
        settings.config_n = rows[i].n;
        tinkc_code code = compute_with(&loss, data, 1, rows[i].loss, &settings, NULL);
        assert_int_equal(code == TINKC_OK, !isnan(rows[i].is));
        assert_true(code != TINKC_OK || fabs(loss - rows[i].is) < 1e-6);
    }
    free_all(data, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computed_cross_entropy),
        cmocka_unit_test(test_computed_importance_sampling),
        cmocka_unit_test(test_computed_from_what_was_sent),
        cmocka_unit_test(test_computed_step),
        cmocka_unit_test(test_computed_settings),
        cmocka_unit_test(test_computed_refusals),
    };
    return cmocka_run_group_tests_name("training_computed", tests, NULL, NULL);
}
