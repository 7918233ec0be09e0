/* From logits to tokens: temperature, top-k, top-p and their ties, the draw, and
 * log-probabilities, on rows whose answers are known. */
#include "engine/eng_draw.h"

#include <math.h>

#include "base/mem.h"
#include "engine/eng_rng.h"
#include "support/test.h"

#define MOST 3000

static eng_real weights[MOST];
static uint32_t order[MOST];
static const eng_draw_room room = {weights, order};

/* Probabilities 0.1, 0.2, 0.4, 0.2, 0.1. */
static eng_real five[] = {0, 0.69314718f, 1.38629436f, 0.69314718f, 0};

static eng_draw ready(const eng_real *logits, size_t n, const eng_draw_options *options)
{
    eng_draw draw;
    assert_true(eng_draw_init(&draw, logits, n, options, room));
    return draw;
}

/* The tokens that can come out, in the order of their share of [0, 1). */
static void check_support(const eng_draw_options *options, const int32_t *want, size_t n)
{
    eng_draw draw = ready(five, 5, options);
    size_t seen = 0;
    int32_t last = -1;
    for (int i = 0; i < 1000; i++) {
        int32_t token = eng_draw_token(&draw, i / 1000.0);
        if (token != last) {
            assert_true(seen < n);
            assert_int_equal(token, want[seen]);
            last = token;
            seen++;
        }
    }
    assert_int_equal(seen, n);
}

/* Exactly k stay; equals are ranked by index. */
static void test_top_k(void **unused)
{
    const int32_t ranked[] = {2, 1, 3, 0}, all[] = {0, 1, 2, 3, 4};
    eng_draw_options o = {.temperature = 1, .top_p = 1};
    for (int64_t k = 1; k <= 4; k++) {
        o.top_k = k;
        check_support(&o, ranked, (size_t)k);
    }
    static const int64_t off[] = {-1, 0, 5, 6, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < TK_ARRAY_LEN(off); i++) {
        o.top_k = off[i];
        check_support(&o, all, 5);
    }
}

/* A token stays while the mass before it is below p; the best one always stays. */
static void test_top_p(void **unused)
{
    const int32_t ranked[] = {2, 1, 3, 0, 4}, all[] = {0, 1, 2, 3, 4};
    static const struct {
        double p;
        size_t kept;
    } rows[] = {{0, 1},    {0.39, 1}, {0.41, 2}, {0.59, 2}, {0.61, 3},
                {0.79, 3}, {0.81, 4}, {0.89, 4}, {0.91, 5}};
    eng_draw_options o = {.temperature = 1};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        o.top_p = rows[i].p;
        check_support(&o, ranked, rows[i].kept);
    }
    o.top_p = 1;
    check_support(&o, all, 5);
    o.top_p = 1.5;
    check_support(&o, all, 5);
}

/* top-p sees what top-k left, renormalised: of 0.4, 0.2, 0.2 the first two are 3/4. */
static void test_top_k_before_top_p(void **unused)
{
    const int32_t ranked[] = {2, 1, 3};
    eng_draw_options o = {.temperature = 1, .top_k = 3, .top_p = 0.74};
    check_support(&o, ranked, 2);
    o.top_p = 0.76;
    check_support(&o, ranked, 3);
    o.top_p = 0.49; /* alone 0.49 would keep two: 0.4 < 0.49; of the three it is 0.5 */
    check_support(&o, ranked, 1);
}

/* Greedy takes the lowest id among equals, whatever the filters say. */
static void test_greedy(void **unused)
{
    const eng_real tie[] = {1, 3, 2, 3};
    static const double zero[] = {0.0, 1e-300, 1e-40};
    for (size_t i = 0; i < TK_ARRAY_LEN(zero); i++) {
        eng_draw_options o = {.temperature = zero[i], .top_p = 0.1, .top_k = 2};
        eng_draw draw = ready(tie, 4, &o);
        assert_int_equal(eng_draw_token(&draw, 0.999), 1);
        double sum = exp(-2) + 1 + exp(-1) + 1;
        assert_true(fabs((double)eng_draw_logprob(&draw, 1) + log(sum)) < 1e-6);
    }
}

/* log-softmax(logits / T), over everything whatever the filters; raw is T = 1. */
static void test_logprobs(void **unused)
{
    static const double temperatures[] = {0.01, 0.5, 1, 2, 1e30};
    for (size_t t = 0; t < TK_ARRAY_LEN(temperatures); t++) {
        eng_draw_options o = {.temperature = temperatures[t], .top_p = 0.5, .top_k = 2};
        double sum = 0, raw = 0;
        for (size_t i = 0; i < 5; i++) {
            sum += exp(((double)five[i] - (double)five[2]) / o.temperature);
            raw += exp((double)five[i] - (double)five[2]);
        }
        eng_draw draw = ready(five, 5, &o);
        double want = (double)(five[0] - five[2]) / o.temperature - log(sum);
        assert_true(fabs((double)eng_draw_logprob(&draw, 0) - want) < 1e-5 * (1 - want));
        o.raw_logprobs = true;
        draw = ready(five, 5, &o);
        want = (double)(five[0] - five[2]) - log(raw);
        assert_true(fabs((double)eng_draw_logprob(&draw, 0) - want) < 1e-6);
    }
}

/* At T = 1 the bits are those of training. */
static void test_logprob_bits(void **unused)
{
    eng_real logits[MOST], copy[MOST];
    eng_rng rng;
    eng_rng_init(&rng, 4, 4);
    for (size_t i = 0; i < MOST; i++) {
        copy[i] = logits[i] = (eng_real)(20 * eng_rng_unit(&rng) - 10);
    }
    eng_softmax s = eng_head_softmax(copy, MOST);
    static const eng_draw_options all[] = {{.temperature = 0},
                                           {.temperature = 1, .top_p = 0.9, .top_k = 9},
                                           {.temperature = 0.3, .raw_logprobs = true}};
    for (size_t o = 0; o < TK_ARRAY_LEN(all); o++) {
        eng_draw draw = ready(logits, MOST, &all[o]);
        for (int32_t i = 0; i < MOST; i++) {
            float want = eng_head_logprob(&s, logits[i]);
            float got = eng_draw_logprob(&draw, i);
            assert_memory_equal(&want, &got, sizeof(want));
        }
    }
}

/* Frequencies of many draws follow the probabilities, sharpened by the temperature. */
static void test_frequencies(void **unused)
{
    eng_draw_options o = {.temperature = 0.5, .top_p = 1};
    eng_draw draw = ready(five, 5, &o);
    static const double want[] = {0.01 / 0.26, 0.04 / 0.26, 0.16 / 0.26, 0.04 / 0.26,
                                  0.01 / 0.26};
    size_t count[5] = {0}, n = 200000;
    eng_rng rng;
    eng_rng_init(&rng, 5, 0);
    for (size_t i = 0; i < n; i++) {
        count[eng_draw_token(&draw, eng_rng_unit(&rng))]++;
    }
    for (size_t i = 0; i < 5; i++) {
        double sigma = sqrt(want[i] * (1 - want[i]) * (double)n);
        assert_true(fabs((double)count[i] - want[i] * (double)n) < 5 * sigma);
    }
}

/* The end of [0, 1) is the last token that has any mass, not one without. */
static void test_last_of_the_mass(void **unused)
{
    const eng_real cliff[] = {0, 0, -200, -200};
    eng_draw_options o = {.temperature = 1, .top_p = 1};
    eng_draw draw = ready(cliff, 4, &o);
    assert_int_equal(eng_draw_token(&draw, 0), 0);
    assert_int_equal(eng_draw_token(&draw, 1 - 0x1p-53), 1);
    assert_int_equal(eng_draw_token(&draw, 1.0), 1);
    o.temperature = 1e-30; /* all other weights are 0 */
    const eng_real two[] = {1, 2};
    draw = ready(two, 2, &o);
    assert_int_equal(eng_draw_token(&draw, 0), 1);
    assert_int_equal(eng_draw_token(&draw, 0.9999), 1);
}

static void test_not_finite(void **unused)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const eng_draw_options o = {.temperature = 1, .top_p = 1};
    for (size_t b = 0; b < TK_ARRAY_LEN(bad); b++) {
        for (size_t at = 0; at < 5; at++) {
            eng_real row[5];
            eng_draw draw;
            memcpy(row, five, sizeof(row));
            row[at] = (eng_real)bad[b];
            assert_false(eng_draw_init(&draw, row, 5, &o, room));
        }
    }
}

/* Ranking against a plain search, ties included. */
static void test_top(void **unused)
{
    eng_real logits[500];
    eng_rng rng;
    eng_rng_init(&rng, 6, 0);
    for (size_t i = 0; i < 500; i++) {
        logits[i] = (eng_real)(eng_rng_next(&rng) % 60);
    }
    assert_int_equal(eng_draw_top(logits, 500, 900, room), 500);
    bool seen[500] = {false};
    for (size_t rank = 0; rank < 500; rank++) {
        size_t best = 500;
        for (size_t i = 0; i < 500; i++) {
            if (!seen[i] && (best == 500 || logits[i] > logits[best])) {
                best = i;
            }
        }
        seen[best] = true;
        assert_int_equal(eng_draw_ranked(room, 500, rank), best);
    }
    assert_int_equal(eng_draw_top(logits, 500, 3, room), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_p),
        cmocka_unit_test(test_top_k_before_top_p),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_logprobs),
        cmocka_unit_test(test_logprob_bits),
        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(test_last_of_the_mass),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_top),
    };
    return cmocka_run_group_tests_name("eng_draw", tests, NULL, NULL);
}
