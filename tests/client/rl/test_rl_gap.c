/* Sampler against trainer, sums, reports, preferences and distillation of <tinkc/rl.h>.
 * Results are read from JSON as a server sends it. The expected numbers were computed with
 * Python (math, statistics); tests/interop/rl_numpy.py compares random batches with numpy. */
#include <math.h>
#include <stdio.h>

#include <tinkc/rl.h>

#include "base/json.h"
#include "client/training/training_result.h"
#include "support/failmem.h"
#include "support/test.h"

#define TARGETS 4

/* A result of two datums. */
static const char answer[] =
    "{\"loss_fn_output_type\": \"ArrayRecord\", \"metrics\": {}, \"loss_fn_outputs\": ["
    "{\"logprobs\": {\"data\": [-9.0, -0.5, -1.25, -2.0], \"dtype\": \"float32\", "
    "\"shape\": [4]}},"
    "{\"logprobs\": {\"data\": [-9.0, -9.0, -0.125, -3.0], \"dtype\": \"float32\", "
    "\"shape\": [4]}}]}";

static tinkc_fwdbwd *read_result(const char *json)
{
    tk_arena arena;
    tk_err err = TK_ERR_INIT;
    const tk_json *root = NULL;
    tk_poll_result said = {.code = TINKC_OK, .body = tk_str_of(json)};
    tk_arena_init(&arena, 0);
    tinkc_fwdbwd *result = NULL;
    if (tk_json_parse(&root, &arena, json, strlen(json), NULL, NULL) == TINKC_OK) {
        said.json = root;
        said.arena = &arena;
        result = tk_fwdbwd_read(&said, &err);
    }
    tk_arena_dispose(&arena);
    return result;
}

static tinkc_datum *make(const char *name, const float *values, const float *advantages)
{
    static const int32_t tokens[TARGETS] = {1, 2, 3, 4};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    if (tinkc_model_input_from_tokens(&input, tokens, TARGETS, NULL) != TINKC_OK ||
        tinkc_datum_new(&datum, &input, NULL) != TINKC_OK ||
        tinkc_datum_set_f32(datum, name, values, TARGETS, NULL) != TINKC_OK ||
        (advantages != NULL && tinkc_datum_set_f32(datum, "advantages", advantages,
                                                   TARGETS, NULL) != TINKC_OK)) {
        tinkc_model_input_free(&input);
        tinkc_datum_free(&datum);
    }
    return datum;
}

static const float sampled[2][TARGETS] = {{0, -0.75F, -1, -2}, {0, 0, 0, -2.5F}};
static const float advantages[2][TARGETS] = {{0, 1, 1, 1}, {0, 0, -1, -1}};

static void close_to(double got, double want)
{
    if (!(fabs(got - want) < 1e-12)) {
        fail_msg("%.17g instead of %.17g", got, want);
    }
}

/* Five tokens: t - s = 0.25, -0.25, 0, -0.125, -0.5. The first target of each datum and
 * the second of the other were not sampled; the one with log-probability 0 was. */
static void test_rl_gap(void **state)
{
    tinkc_fwdbwd *result = read_result(answer);
    tinkc_datum *data[] = {make("logprobs", sampled[0], advantages[0]),
                           make("logprobs", sampled[1], advantages[1])};
    tinkc_rl_gap gap = TINKC_RL_GAP_INIT;
    (void)state;
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 2, NULL), TINKC_OK);
    assert_int_equal(gap.tokens, 5);
    close_to(gap.kl, 0.125);
    close_to(gap.k3, 0.03537075241127503);
    close_to(gap.abs_mean, 0.225);
    close_to(gap.abs_max, 0.5);
    close_to(gap.entropy, 1.25);
    close_to(gap.clipped, 0.6); /* ratios 1.284, 0.779, 1, 0.882, 0.607 */
    gap.clip_low = 0.7;
    gap.clip_high = 2;
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 2, NULL), TINKC_OK);
    close_to(gap.clipped, 0.2);
    tinkc_datum_free(&data[0]);
    tinkc_datum_free(&data[1]);
    tinkc_fwdbwd_free(&result);
}

static void test_rl_gap_refused(void **state)
{
    static const float none[TARGETS] = {0, 0, 0, 0};
    tinkc_fwdbwd *result = read_result(answer);
    tinkc_datum *data[] = {make("logprobs", sampled[0], advantages[0]),
                           make("weights", sampled[1], NULL)};
    tinkc_rl_gap gap = TINKC_RL_GAP_INIT;
    tinkc_error *err = NULL;
    (void)state;
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 1, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 2, &err), TINKC_E_MISSING);
    assert_non_null(strstr(tinkc_error_message(err), "data[1]"));
    tinkc_error_free(&err);
    tinkc_datum_free(&data[1]);
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 2, NULL), TINKC_E_MISSING);
    assert_int_equal(tinkc_rl_gap_compute(&gap, NULL, data, 2, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_gap_compute(NULL, result, data, 2, NULL), TINKC_E_INVALID);
    tinkc_datum_free(&data[0]);
    data[0] = make("logprobs", none, none); /* nothing was sampled */
    data[1] = make("logprobs", none, none);
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 2, NULL), TINKC_OK);
    assert_true(gap.tokens == 0 && gap.kl == 0 && gap.entropy == 0);
    gap.clip_low = NAN;
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 2, NULL), TINKC_E_INVALID);
    gap.size = 0;
    assert_int_equal(tinkc_rl_gap_compute(&gap, result, data, 2, NULL), TINKC_E_INVALID);
    tinkc_datum_free(&data[0]);
    tinkc_datum_free(&data[1]);
    tinkc_fwdbwd_free(&result);
}

static void test_rl_sums(void **state)
{
    static const float weights[2][TARGETS] = {{0, 1, 1, 0}, {0, 0, 0.5F, 2}};
    tinkc_fwdbwd *result = read_result(answer);
    tinkc_datum *data[] = {make("weights", weights[0], NULL),
                           make("weights", weights[1], NULL)};
    double sums[2] = {7, 7};
    (void)state;
    assert_int_equal(tinkc_rl_sums(sums, result, data, 2, NULL), TINKC_OK);
    assert_true(sums[0] == -1.75 && sums[1] == -6.0625);
    tinkc_datum_free(&data[1]);
    data[1] = make("logprobs", weights[0], NULL); /* no weights: every token counts */
    assert_int_equal(tinkc_rl_sums(sums, result, data, 2, NULL), TINKC_OK);
    assert_true(sums[1] == -21.125);
    assert_int_equal(tinkc_rl_sums(sums, result, data, 1, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_sums(NULL, result, data, 2, NULL), TINKC_E_INVALID);
    tinkc_datum_free(&data[0]);
    assert_int_equal(tinkc_rl_sums(sums, result, data, 2, NULL), TINKC_E_MISSING);
    tinkc_datum_free(&data[1]);
    tinkc_fwdbwd_free(&result);
}

/* ---- reports ---- */

static void test_rl_report(void **state)
{
    static const tinkc_number more[] = {{"agent/tools", 2.5}, {"nothing", (double)NAN}};
    tinkc_rl_report report;
    tinkc_rl_counts c = TINKC_RL_COUNTS_INIT;
    tinkc_rl_gap gap = TINKC_RL_GAP_INIT;
    char *text = NULL;
    size_t n = 0;
    (void)state;
    tinkc_rl_report_init(&report);
    assert_int_equal(tinkc_rl_report_json(&text, &n, &report, NULL), TINKC_OK);
    assert_string_equal(text, "{\"step\":0}");
    assert_int_equal(n, strlen(text));
    tinkc_text_free(&text);
    report.step = 3;
    report.loss = -0.5;
    report.rate = 0.25;
    report.counts = &c;
    report.gap = &gap;
    report.more = more;
    report.more_n = 2;
    c.episodes = 5;
    c.failed = 1;
    c.turns = 6;
    c.tokens_sampled = 10;
    c.reward_max = 1;
    c.reward_std = (double)NAN;
    gap.tokens = 10;
    gap.entropy = 1.5;
    assert_int_equal(tinkc_rl_report_json(&text, NULL, &report, NULL), TINKC_OK);
    assert_string_equal(
        text,
        "{\"step\":3,\"loss\":-0.5,\"lr\":0.25,\"reward/mean\":0.0,\"reward/min\":0.0,"
        "\"reward/max\":1.0,\"episodes\":5,\"episodes/failed\":1,\"episodes/stale\":0,"
        "\"groups\":0,\"groups/kept\":0,\"groups/equal\":0,\"groups/small\":0,"
        "\"datums\":0,\"tokens\":0,\"tokens/sampled\":10,\"tokens/trained\":0,"
        "\"turns/mean\":1.5,\"turns/max\":0,\"length/mean\":2.5,\"length/max\":0,"
        "\"gap/kl\":0.0,\"gap/k3\":0.0,\"gap/abs\":0.0,\"gap/max\":0.0,"
        "\"gap/clipped\":0.0,\"gap/tokens\":10,\"entropy\":1.5,\"agent/tools\":2.5}");
    tinkc_text_free(&text);
}

static void test_rl_report_refused(void **state)
{
    static const tinkc_number unnamed[] = {{NULL, 1}}, odd[] = {{"\xff", 1}};
    tinkc_rl_report report;
    tinkc_rl_counts c = {.size = 0};
    char *text = NULL;
    (void)state;
    tinkc_rl_report_init(&report);
    assert_int_equal(tinkc_rl_report_json(NULL, NULL, &report, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_rl_report_json(&text, NULL, NULL, NULL), TINKC_E_INVALID);
    report.more_n = 1;
    assert_int_equal(tinkc_rl_report_json(&text, NULL, &report, NULL), TINKC_E_INVALID);
    report.more = unnamed;
    assert_int_equal(tinkc_rl_report_json(&text, NULL, &report, NULL), TINKC_E_INVALID);
    report.more = odd;
    assert_int_equal(tinkc_rl_report_json(&text, NULL, &report, NULL), TINKC_E_INVALID);
    report.more_n = 0;
    report.counts = &c;
    assert_int_equal(tinkc_rl_report_json(&text, NULL, &report, NULL), TINKC_E_INVALID);
    assert_null(text);
}

static bool scenario(void *user)
{
    tinkc_rl_report report;
    tinkc_rl_gap gap = TINKC_RL_GAP_INIT;
    double sums[2];
    char *text = NULL;
    tinkc_fwdbwd *result = read_result(answer);
    tinkc_datum *data[] = {make("logprobs", sampled[0], advantages[0]),
                           make("logprobs", sampled[1], advantages[1])};
    (void)user;
    tinkc_rl_report_init(&report);
    report.gap = &gap;
    bool ok = result != NULL && data[0] != NULL && data[1] != NULL &&
              tinkc_rl_gap_compute(&gap, result, data, 2, NULL) == TINKC_OK &&
              tinkc_rl_sums(sums, result, data, 2, NULL) == TINKC_OK &&
              tinkc_rl_report_json(&text, NULL, &report, NULL) == TINKC_OK;
    tinkc_text_free(&text);
    tinkc_datum_free(&data[0]);
    tinkc_datum_free(&data[1]);
    tinkc_fwdbwd_free(&result);
    return ok;
}

static void test_rl_gap_without_memory(void **state)
{
    (void)state;
    assert_true(failmem_sweep(scenario, NULL, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rl_gap),
        cmocka_unit_test(test_rl_gap_refused),
        cmocka_unit_test(test_rl_sums),
        cmocka_unit_test(test_rl_report),
        cmocka_unit_test(test_rl_report_refused),
        cmocka_unit_test(test_rl_gap_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
