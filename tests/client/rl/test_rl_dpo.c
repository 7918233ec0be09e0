/* Preferences and distillation of <tinkc/rl.h>. The expected numbers were computed with
 * Python's math module; the gradient is compared with differences of the loss, and with
 * PyTorch in tests/interop/rl_numpy.py. */
#include <math.h>

#include <tinkc/rl.h>

#include "client/training/training_result.h"
#include "support/failmem.h"
#include "support/test.h"

static const double logprobs[] = {-3, -5, -10, -4, -1, -1};
static const double reference[] = {-4, -4, -9, -6, -1, -1};

static tinkc_rl_dpo_pairs three(void)
{
    tinkc_rl_dpo_pairs p = TINKC_RL_DPO_PAIRS_INIT;
    p.beta = 0.5;
    p.logprobs = logprobs;
    p.reference = reference;
    p.pairs = 3;
    return p;
}

static void close_to(double got, double want)
{
    if (!(fabs(got - want) < 1e-12)) {
        fail_msg("%.17g instead of %.17g", got, want);
    }
}

/* Margins 1, -1.5 and 0. */
static void test_rl_dpo(void **state)
{
    static const double want[] = {-0.04482357022833251, 0.04482357022833251,
                                  -0.1362624126989406,  0.1362624126989406,
                                  -0.08333333333333333, 0.08333333333333333};
    const tinkc_rl_dpo_pairs p = three();
    tinkc_rl_dpo_result r = TINKC_RL_DPO_RESULT_INIT;
    double slopes[6];
    (void)state;
    assert_int_equal(tinkc_rl_dpo(&r, slopes, &p, NULL), TINKC_OK);
    close_to(r.loss, 0.902607382020307);
    assert_true(r.accuracy == 0.5); /* also of 3 pairs: no rounding */
    close_to(r.margin, -0.5 / 3);
    close_to(r.chosen_reward, 0);
    close_to(r.rejected_reward, 0.5 / 3);
    for (size_t i = 0; i < 6; i++) {
        close_to(slopes[i], want[i]);
    }
    assert_int_equal(tinkc_rl_dpo(&r, NULL, &p, NULL), TINKC_OK);
}

/* Margins far out: no overflow, and the loss goes on rising. */
static void test_rl_dpo_far(void **state)
{
    static const double zeros[2], near[] = {0, 1e6}, far[] = {1e6, 0};
    tinkc_rl_dpo_pairs p = TINKC_RL_DPO_PAIRS_INIT;
    tinkc_rl_dpo_result r = TINKC_RL_DPO_RESULT_INIT;
    double slopes[2];
    (void)state;
    p.reference = zeros;
    p.pairs = 1;
    p.logprobs = near;
    assert_int_equal(tinkc_rl_dpo(&r, slopes, &p, NULL), TINKC_OK);
    assert_true(r.loss == 1e5 && slopes[0] == -0.1);
    p.logprobs = far;
    assert_int_equal(tinkc_rl_dpo(&r, slopes, &p, NULL), TINKC_OK);
    assert_true(r.loss == 0 && slopes[0] == 0);
}

static void test_rl_dpo_refused(void **state)
{
    const double broken[] = {-3, -5, -10, NAN, -1, -1};
    tinkc_rl_dpo_pairs p = three();
    tinkc_rl_dpo_result r = TINKC_RL_DPO_RESULT_INIT;
    tinkc_error *err = NULL;
    (void)state;
    p.reference = broken;
    assert_int_equal(tinkc_rl_dpo(&r, NULL, &p, &err), TINKC_E_INVALID);
    assert_non_null(strstr(tinkc_error_message(err), "log-probability 3"));
    tinkc_error_free(&err);
    p = three();
    p.pairs = 0;
    assert_int_equal(tinkc_rl_dpo(&r, NULL, &p, NULL), TINKC_E_INVALID);
    p = three();
    p.beta = 0;
    assert_int_equal(tinkc_rl_dpo(&r, NULL, &p, NULL), TINKC_E_INVALID);
    p.beta = INFINITY;
    assert_int_equal(tinkc_rl_dpo(&r, NULL, &p, NULL), TINKC_E_INVALID);
    p = three();
    p.logprobs = NULL;
    assert_int_equal(tinkc_rl_dpo(&r, NULL, &p, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_dpo(NULL, NULL, &p, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_dpo(&r, NULL, NULL, NULL), TINKC_E_INVALID);
}

/* ---- as a custom loss ---- */

typedef struct batch {
    float logprobs[2][2], gradient[2][2];
    tinkc_custom_item items[2];
} batch;

static void fill(batch *b)
{
    *b = (batch){.logprobs = {{-1, -2}, {-2.5F, -1.5F}}};
    for (size_t i = 0; i < 2; i++) {
        b->items[i] = (tinkc_custom_item){
            .logprobs = b->logprobs[i], .gradient = b->gradient[i], .n = 2};
    }
}

/* Without weights every token counts: sums -3 and -4, margin 0.1 * (1 - -1) = 0.2. */
static void test_rl_dpo_loss(void **state)
{
    static const double before[] = {-4, -3};
    tinkc_rl_dpo_options o = TINKC_RL_DPO_OPTIONS_INIT;
    tinkc_metrics *metrics = tk_training_metrics(NULL, NULL);
    double loss = 0, value = 0;
    batch b;
    (void)state;
    fill(&b);
    o.reference = before;
    assert_int_equal(tinkc_rl_dpo_loss(&loss, metrics, b.items, 2, &o), 0);
    close_to(loss, 0.5981388693815918);
    for (size_t i = 0; i < 2; i++) {
        assert_true(fabs((double)b.gradient[0][i] + 0.04501660026875221) < 1e-8);
        assert_true(fabs((double)b.gradient[1][i] - 0.04501660026875221) < 1e-8);
    }
    assert_int_equal(tinkc_metrics_get(&value, metrics, "margin", NULL), TINKC_OK);
    close_to(value, 0.2);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "accuracy", NULL), TINKC_OK);
    close_to(value, 1);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "chosen_reward", NULL), TINKC_OK);
    close_to(value, 0.1);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "rejected_reward", NULL),
                     TINKC_OK);
    close_to(value, -0.1);
    assert_int_equal(tinkc_rl_dpo_loss(&loss, metrics, b.items, 1, &o), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_dpo_loss(&loss, metrics, b.items, 2, NULL),
                     TINKC_E_INVALID);
    o.reference = NULL;
    assert_int_equal(tinkc_rl_dpo_loss(&loss, metrics, b.items, 2, &o), TINKC_E_INVALID);
    tinkc_metrics_free(&metrics);
}

static bool scenario(void *user)
{
    static const double before[] = {-4, -3};
    tinkc_rl_dpo_options o = TINKC_RL_DPO_OPTIONS_INIT;
    tinkc_metrics *metrics = tk_training_metrics(NULL, NULL);
    double loss = 0;
    batch b;
    (void)user;
    fill(&b);
    o.reference = before;
    bool ok =
        metrics != NULL && tinkc_rl_dpo_loss(&loss, metrics, b.items, 2, &o) == TINKC_OK;
    tinkc_metrics_free(&metrics);
    return ok;
}

static void test_rl_dpo_without_memory(void **state)
{
    (void)state;
    assert_true(failmem_sweep(scenario, NULL, 1) > 3);
}

/* ---- distillation ---- */

static void test_rl_distill(void **state)
{
    float student[] = {-1, -2, -0.5F};
    float teacher[] = {-3, -1, -0.5F};
    float out[3] = {9, 9, 9};
    (void)state;
    assert_int_equal(tinkc_rl_distill_advantages(out, student, teacher, 3, 0.5, NULL),
                     TINKC_OK);
    assert_true(out[0] == -1 && out[1] == 0.5F && out[2] == 0);
    teacher[2] = NAN;
    assert_int_equal(tinkc_rl_distill_advantages(out, student, teacher, 3, 1, NULL),
                     TINKC_E_INVALID);
    assert_true(out[0] == -1);
    assert_int_equal(tinkc_rl_distill_advantages(out, student, teacher, 2, NAN, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_distill_advantages(out, NULL, teacher, 2, 1, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_distill_advantages(student, student, teacher, 2, 1, NULL),
                     TINKC_OK); /* in place */
    assert_true(student[0] == -2 && student[1] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rl_dpo),
        cmocka_unit_test(test_rl_dpo_far),
        cmocka_unit_test(test_rl_dpo_refused),
        cmocka_unit_test(test_rl_dpo_loss),
        cmocka_unit_test(test_rl_dpo_without_memory),
        cmocka_unit_test(test_rl_distill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
