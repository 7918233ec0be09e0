/* The datum of a rollout: each sampled token is the target of the place before it, with
 * the log-probability it was sampled with; the prompt's targets count nothing. */
#include <math.h>
#include <tinkc/types.h>

#include "support/failmem.h"
#include "support/test.h"

static const int32_t asked[] = {11, 12, 13};
static const int32_t answer[] = {21, 22};
static const float sampled[] = {-0.5F, -0.25F};

static tinkc_model_input *prompt_of(const int32_t *tokens, size_t n)
{
    tinkc_model_input *prompt = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&prompt, tokens, n, NULL), TINKC_OK);
    return prompt;
}

static tinkc_rollout usual(const tinkc_model_input *prompt)
{
    tinkc_rollout r = TINKC_ROLLOUT_INIT;
    r.prompt = prompt;
    r.tokens = answer;
    r.logprobs = sampled;
    r.n = 2;
    r.advantage = 1.5;
    return r;
}

/* By hand: read 11 12 13 21, say 12 13 21 22; the last two were sampled. */
static void test_rollout_by_hand(void **unused)
{
    (void)unused;
    static const int32_t read[] = {11, 12, 13, 21};
    static const int64_t say[] = {12, 13, 21, 22};
    static const float logprobs[] = {0, 0, -0.5F, -0.25F};
    static const float advantages[] = {0, 0, 1.5F, 1.5F};
    tinkc_model_input *prompt = prompt_of(asked, 3);
    tinkc_rollout r = usual(prompt);
    tinkc_datum *datum = NULL;
    int32_t tokens[8];
    size_t n = 0;
    assert_int_equal(tinkc_datum_from_rollout(&datum, &r, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_model_input_tokens(tokens, 8, &n, tinkc_datum_input(datum), NULL),
        TINKC_OK);
    assert_int_equal(n, 4);
    assert_memory_equal(tokens, read, sizeof(read));
    const tinkc_tensor *t = tinkc_datum_tensor(datum, "target_tokens");
    assert_int_equal(tinkc_tensor_count(t), 4);
    assert_memory_equal(tinkc_tensor_i64(t), say, sizeof(say));
    t = tinkc_datum_tensor(datum, "logprobs");
    assert_int_equal(tinkc_tensor_count(t), 4);
    assert_memory_equal(tinkc_tensor_f32(t), logprobs, sizeof(logprobs));
    t = tinkc_datum_tensor(datum, "advantages");
    assert_int_equal(tinkc_tensor_count(t), 4);
    assert_memory_equal(tinkc_tensor_f32(t), advantages, sizeof(advantages));
    tinkc_datum_free(&datum);
    tinkc_model_input_free(&prompt);
}

/* Checks the datum by another rule, for every size: place i of the whole predicts place i
 * + 1. */
static void test_rollout_sizes(void **unused)
{
    (void)unused;
    int32_t whole[12];
    float chance[12];
    for (size_t i = 0; i < 12; i++) {
        whole[i] = (int32_t)(100 + i);
        chance[i] = -(float)i;
    }
    for (size_t before = 1; before < 6; before++) {
        for (size_t n = 1; n < 6; n++) {
            tinkc_model_input *prompt = NULL;
            tinkc_datum *datum = NULL;
            assert_int_equal(tinkc_model_input_new(&prompt, NULL), TINKC_OK);
            for (size_t i = 0; i < before; i++) { /* chunk by chunk */
                assert_int_equal(tinkc_model_input_add_tokens(prompt, &whole[i], 1, NULL),
                                 TINKC_OK);
            }
            tinkc_rollout r = {sizeof(r), prompt, whole + before, chance + before, n, -2};
            assert_int_equal(tinkc_datum_from_rollout(&datum, &r, NULL), TINKC_OK);
            const int64_t *say =
                tinkc_tensor_i64(tinkc_datum_tensor(datum, "target_tokens"));
            const float *p = tinkc_tensor_f32(tinkc_datum_tensor(datum, "logprobs"));
            const float *a = tinkc_tensor_f32(tinkc_datum_tensor(datum, "advantages"));
            for (size_t i = 0; i + 1 < before + n; i++) {
                bool is_sampled = i + 1 >= before;
                assert_int_equal(say[i], whole[i + 1]);
                assert_true(p[i] == (is_sampled ? chance[i + 1] : 0.0F));
                assert_true(a[i] == (is_sampled ? -2.0F : 0.0F));
            }
            tinkc_datum_free(&datum);
            tinkc_model_input_free(&prompt);
        }
    }
}

static void refuse(const tinkc_rollout *r)
{
    tinkc_error *error = NULL;
    tinkc_datum *datum = NULL;
    assert_int_equal(tinkc_datum_from_rollout(&datum, r, &error), TINKC_E_INVALID);
    assert_true(tinkc_error_message(error)[0] != '\0');
    assert_null(datum);
    tinkc_error_free(&error);
}

static void test_rollout_refused(void **unused)
{
    (void)unused;
    const float odd[] = {NAN, 0};
    tinkc_model_input *prompt = prompt_of(asked, 3), *empty = NULL;
    assert_int_equal(tinkc_model_input_new(&empty, NULL), TINKC_OK);
    tinkc_rollout r = usual(empty);
    refuse(&r);
    assert_int_equal(tinkc_model_input_add_image(empty, "x", 1, TINKC_IMAGE_PNG, 3, NULL),
                     TINKC_OK);
    refuse(&r);
    r = usual(prompt);
    r.n = 0;
    refuse(&r);
    r = usual(prompt);
    r.logprobs = NULL;
    refuse(&r);
    r.logprobs = odd;
    refuse(&r);
    r = usual(prompt);
    r.advantage = (double)INFINITY;
    refuse(&r);
    r.advantage = 1e300; /* infinite as a float */
    refuse(&r);
    refuse(NULL);
    r = usual(NULL);
    refuse(&r);
    tinkc_model_input_free(&prompt);
    tinkc_model_input_free(&empty);
}

static bool rollout_scenario(void *user)
{
    tinkc_rollout r = usual(user);
    tinkc_datum *datum = NULL;
    bool ok = tinkc_datum_from_rollout(&datum, &r, NULL) == TINKC_OK;
    tinkc_datum_free(&datum);
    return ok;
}

static void test_rollout_allocation_sweep(void **unused)
{
    (void)unused;
    tinkc_model_input *prompt = prompt_of(asked, 3);
    failmem_sweep(rollout_scenario, prompt, 1);
    tinkc_model_input_free(&prompt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rollout_by_hand),
        cmocka_unit_test(test_rollout_sizes),
        cmocka_unit_test(test_rollout_refused),
        cmocka_unit_test(test_rollout_allocation_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
