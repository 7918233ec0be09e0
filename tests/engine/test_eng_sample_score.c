/* What a sample request can ask about its prompt and its tokens, against brute force: the
 * logits of the whole text from one forward pass, and softmax over them in double (M-075).
 * What holds whatever the order of computing is in test_eng_sample_bits. */
#include <math.h>

#include "engine/eng_backward.h"
#include "engine/eng_draw.h"
#include "engine/eng_rng.h"
#include "engine/eng_sample_int.h"
#include "engine/support/sampling.h"

#define PROMPT     70
#define VOCABULARY 50
#define LIMIT      12
#define CLOSE      2e-5

typedef struct fixture {
    scene s;
    int32_t prompt[PROMPT];
    int32_t targets[2 * PROMPT];
    size_t starts[PROMPT];
    eng_sample_request request;
} fixture;

static int setup(void **state)
{
    static fixture f;
    eng_sampler_config config = SCENE_CONFIG;
    scene_init(&f.s, &tiny_qwen3, 1, &config);
    fill_prompt(f.prompt, PROMPT, VOCABULARY, 1);
    f.request = (eng_sample_request)ENG_SAMPLE_REQUEST_INIT;
    f.request.prompt = f.prompt;
    f.request.n_prompt = PROMPT;
    f.request.max_tokens = LIMIT;
    f.request.has_seed = true;
    f.request.seed = 11;
    f.request.stop_mode = ENG_STOP_NONE;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    assert_false(eng_sampler_busy(f->s.sampler));
    assert_int_equal(f->s.sampler->pages.held, 0);
    scene_dispose(&f->s);
    return 0;
}

static reply r1, r2;
static eng_real logits[(PROMPT + LIMIT) * VOCABULARY];

/* ---- brute force ---- */

/* Logits after every token of the prompt and of one sample. */
static void compute_logits(fixture *f, const reply *r, size_t index)
{
    int32_t text[PROMPT + LIMIT];
    tk_err err = TK_ERR_INIT;
    eng_model *model = f->s.model;
    eng_acts acts;
    memcpy(text, f->prompt, sizeof(f->prompt));
    memcpy(text + PROMPT, r->tokens[index], r->n[index] * sizeof(int32_t));
    eng_seq seq = {.tokens = text, .n = PROMPT + r->n[index]};
    eng_work_reset(&model->work);
    assert_int_equal(eng_model_reserve_rope(model, seq.n, &err), TINKC_OK);
    assert_int_equal(eng_seq_make_blocks(&seq, model, &model->work), TINKC_OK);
    assert_int_equal(eng_acts_init(&acts, model, &model->work, &seq, 1, ENG_KEEP_NOTHING),
                     TINKC_OK);
    assert_int_equal(eng_forward(&acts, &err), TINKC_OK);
    eng_logits l = {
        .model = model, .x = acts.hidden, .rows = seq.n, .logits = logits, .u = NULL};
    assert_int_equal(eng_head_logits(&l, &err), TINKC_OK);
    eng_work_reset(&model->work);
}

/* log p of a token at a position of the text, at a temperature. */
static double logprob(size_t pos, int32_t token, double temperature)
{
    const eng_real *row = logits + (pos - 1) * VOCABULARY;
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < VOCABULARY; i++) {
        max = fmax(max, (double)row[i]);
    }
    for (size_t i = 0; i < VOCABULARY; i++) {
        sum += exp(((double)row[i] - max) / temperature);
    }
    return ((double)row[token] - max) / temperature - log(sum);
}

static void expect_close(float got, double want)
{
    if (!(fabs((double)got - want) < CLOSE)) {
        fail_msg("%.9g instead of %.9g", (double)got, want);
    }
}

/* No token that is not listed is likelier, and the list falls. */
static void expect_top(const int32_t *ids, const float *top, size_t k, size_t pos,
                       double temperature)
{
    bool listed[VOCABULARY] = {false};
    for (size_t i = 0; i < k; i++) {
        assert_true(ids[i] >= 0 && ids[i] < VOCABULARY && !listed[ids[i]]);
        listed[ids[i]] = true;
        expect_close(top[i], logprob(pos, ids[i], temperature));
        assert_true(i == 0 || top[i] <= top[i - 1]);
    }
    for (int32_t i = 0; i < VOCABULARY; i++) {
        assert_true(listed[i] ||
                    logprob(pos, i, temperature) <= (double)top[k - 1] + CLOSE);
    }
}

/* ---- sampled tokens ---- */

/* The likeliest tokens at each sampled position, at the temperature at which the token's
 * own log-probability is given; filters do not hide any. */
static void test_score_sampled(void **state)
{
    static const double temperatures[] = {1, 0.5, 0};
    fixture *f = *state;
    f->request.num_samples = 3;
    f->request.topk_sample_logprobs = 6;
    f->request.top_k = 3;
    f->request.top_p = 0.9;
    for (size_t t = 0; t < TK_ARRAY_LEN(temperatures); t++) {
        f->request.temperature = temperatures[t];
        double at = temperatures[t] > 0 ? temperatures[t] : 1;
        sample(&f->s, &f->request, &r1);
        assert_int_equal(r1.topk_sampled, 6);
        for (size_t i = 0; i < 3; i++) {
            compute_logits(f, &r1, i);
            for (size_t j = 0; j < r1.n[i]; j++) {
                expect_top(r1.sampled_ids[i] + j * 6, r1.sampled_top[i] + j * 6, 6,
                           PROMPT + j, at);
                size_t rank = 0; /* the drawn one is among the three that passed */
                while (rank < 3 && r1.sampled_ids[i][j * 6 + rank] != r1.tokens[i][j]) {
                    rank++;
                }
                assert_true(rank < 3);
                assert_memory_equal(&r1.sampled_top[i][j * 6 + rank], &r1.logprobs[i][j],
                                    sizeof(float));
            }
        }
    }
}

/* More columns than the vocabulary has: gaps; and the same tokens as without. */
static void test_score_sampled_gaps(void **state)
{
    fixture *f = *state;
    f->request.max_tokens = 4;
    sample(&f->s, &f->request, &r1);
    assert_int_equal(r1.topk_sampled, 0);
    f->request.topk_sample_logprobs = 60;
    sample(&f->s, &f->request, &r2);
    assert_memory_equal(r1.tokens[0], r2.tokens[0], 4 * sizeof(int32_t));
    assert_memory_equal(r1.logprobs[0], r2.logprobs[0], 4 * sizeof(float));
    compute_logits(f, &r2, 0);
    for (size_t j = 0; j < 4; j++) {
        expect_top(r2.sampled_ids[0] + j * 60, r2.sampled_top[0] + j * 60, VOCABULARY,
                   PROMPT + j, 1);
        for (size_t i = VOCABULARY; i < 60; i++) {
            assert_int_equal(r2.sampled_ids[0][j * 60 + i], 0);
            assert_true(r2.sampled_top[0][j * 60 + i] == -99999.0F);
        }
    }
}

/* ---- named tokens ---- */

static void set_targets(fixture *f)
{
    for (size_t i = 0; i < 2 * PROMPT; i++) {
        f->targets[i] = i % 3 == 0 ? -1 : (int32_t)(i * 7 % VOCABULARY);
    }
    for (size_t i = 0; i < PROMPT; i++) {
        f->starts[i] = 2 * i;
    }
    f->request.targets = f->targets;
    f->request.target_starts = f->starts;
}

/* At temperature 1 whatever the request's; the actual token has its prompt
 * log-probability, to the bit; -1 gets 0. */
static void test_score_targets(void **state)
{
    fixture *f = *state;
    set_targets(f);
    for (size_t i = 1; i < PROMPT; i++) {
        f->targets[2 * (i - 1)] = i % 5 == 0 ? -1 : f->prompt[i];
    }
    f->request.temperature = 0.5;
    f->request.prompt_logprobs = true;
    sample(&f->s, &f->request, &r1);
    assert_true(r1.has_targets);
    compute_logits(f, &r1, 0);
    for (size_t i = 0; i < 2 * (PROMPT - 1); i++) {
        size_t pos = i / 2 + 1;
        if (f->targets[i] < 0) {
            assert_true(r1.targets[i] == 0.0F);
            continue;
        }
        expect_close(r1.targets[i], logprob(pos, f->targets[i], 1));
        if (i % 2 == 0) {
            assert_memory_equal(&r1.targets[i], &r1.prompt[pos], sizeof(float));
        }
    }
    f->request.prompt_logprobs = false; /* alone they give the same */
    sample(&f->s, &f->request, &r2);
    assert_false(r2.has_prompt);
    assert_memory_equal(r1.targets, r2.targets, sizeof(r1.targets));
}

/* Rows of different lengths, as sparse ones are; nothing is computed before the first. */
static void test_score_sparse_targets(void **state)
{
    fixture *f = *state;
    sample(&f->s, &f->request, &r1); /* fills the prefix cache */
    for (size_t i = 0; i < PROMPT; i++) {
        f->starts[i] = i <= 66 ? 0 : i == 67 ? 3 : 4;
    }
    for (size_t i = 0; i < 4; i++) {
        f->targets[i] = (int32_t)i + 5;
    }
    f->request.targets = f->targets;
    f->request.target_starts = f->starts;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 64); /* row 66 is scored at position 67 */
    compute_logits(f, &r2, 0);
    for (size_t i = 0; i < 3; i++) {
        expect_close(r2.targets[i], logprob(67, f->targets[i], 1));
    }
    expect_close(r2.targets[3], logprob(68, f->targets[3], 1));
    for (size_t i = 60; i <= 66; i++) { /* row 60 has to be computed */
        f->starts[i] = i == 60 ? 0 : 3;
    }
    f->starts[67] = 3;
    sample(&f->s, &f->request, &r2);
    assert_int_equal(r2.hits, 60);
    expect_close(r2.targets[0], logprob(61, f->targets[0], 1));
}

/* ---- the end of the prompt ---- */

static void test_score_last_n(void **state)
{
    static const size_t counts[] = {1, 5, 6, 7, 69};
    fixture *f = *state;
    f->request.prompt_logprobs = true;
    f->request.topk_prompt_logprobs = 3;
    sample(&f->s, &f->request, &r1);
    for (size_t c = 0; c < TK_ARRAY_LEN(counts); c++) {
        size_t first = PROMPT - counts[c];
        f->request.prompt_logprobs_last_n = counts[c];
        sample(&f->s, &f->request, &r2);
        size_t rest = (first - 1) % ENG_KV_BLOCK; /* too few are not copied */
        assert_int_equal(r2.hits, first - 1 - (rest < ENG_PAGES_ALIKE ? rest : 0));
        for (size_t i = 0; i < PROMPT; i++) {
            if (i < first) {
                assert_true(isnan(r2.prompt[i]));
                assert_true(r2.top_ids[i * 3] == 0 && r2.top[i * 3] == -99999.0F);
            } else {
                assert_memory_equal(&r2.prompt[i], &r1.prompt[i], sizeof(float));
                assert_memory_equal(&r2.top[i * 3], &r1.top[i * 3], 3 * sizeof(float));
            }
        }
        assert_memory_equal(r1.tokens[0], r2.tokens[0], LIMIT * sizeof(int32_t));
    }
}

/* ---- draws at positions of the prompt ---- */

/* Each draw is the one that its position's stream gives from the distribution at the
 * request's temperature, without filters; its log-probability is that of temperature 1. */
static void test_score_alt(void **state)
{
    static const double temperatures[] = {1, 0.6, 0};
    fixture *f = *state;
    f->request.prompt_alt_tokens = 7;
    f->request.top_k = 1;
    f->request.top_p = 0.1;
    for (size_t t = 0; t < TK_ARRAY_LEN(temperatures); t++) {
        f->request.temperature = temperatures[t];
        sample(&f->s, &f->request, &r1);
        assert_true(r1.has_alt && r1.n_alt == 7);
        compute_logits(f, &r1, 0);
        bool differs = false;
        for (size_t pos = 1; pos < PROMPT; pos++) {
            eng_rng rng;
            eng_rng_init(&rng, 11, pos);
            for (size_t j = 0; j < 7; j++) {
                int32_t token = r1.alt[(pos - 1) * 7 + j];
                double unit = eng_rng_unit(&rng), below = 0, slack = 1e-5;
                expect_close(r1.alt_logprobs[(pos - 1) * 7 + j], logprob(pos, token, 1));
                differs = differs || token != r1.alt[(pos - 1) * 7];
                if (temperatures[t] <= 0) {
                    for (int32_t i = 0; i < VOCABULARY; i++) {
                        assert_true(logprob(pos, i, 1) <= logprob(pos, token, 1));
                    }
                    continue;
                }
                for (int32_t i = 0; i < token; i++) {
                    below += exp(logprob(pos, i, temperatures[t]));
                }
                assert_true(below <= unit + slack);
                below += exp(logprob(pos, token, temperatures[t]));
                assert_true(below >= unit - slack);
            }
        }
        assert_int_equal(differs, temperatures[t] > 0);
    }
    f->request.temperature = 1;
    sample(&f->s, &f->request, &r1);
    f->request.seed = 12;
    sample(&f->s, &f->request, &r2);
    assert_memory_not_equal(r1.alt, r2.alt, (PROMPT - 1) * 7 * sizeof(int32_t));
}

/* Many draws in one pass are the single draws. */
static void test_score_many_draws(void **state)
{
    enum { N = 400 };
    static _Alignas(64) unsigned char memory[4096];
    static eng_real row[VOCABULARY];
    static eng_draw_unit units[N];
    static int32_t tokens[N], single[N];
    eng_draw_options options = {.temperature = 1, .top_p = 1};
    eng_draw draw;
    eng_rng rng;
    eng_rng_init(&rng, 5, 5);
    for (size_t i = 0; i < VOCABULARY; i++) {
        row[i] = i % 9 == 0 ? -200.0F : (eng_real)(3 * eng_rng_unit(&rng));
    }
    assert_true(eng_draw_room_bytes(VOCABULARY) <= sizeof(memory));
    assert_true(eng_draw_init(&draw, row, VOCABULARY, &options,
                              eng_draw_room_at(memory, VOCABULARY)));
    for (size_t i = 0; i < N; i++) {
        double unit = i == 0 ? 0 : i == 1 ? 1 - 1e-16 : eng_rng_unit(&rng);
        units[i] = (eng_draw_unit){unit, (uint32_t)i};
        single[i] = eng_draw_token(&draw, unit);
    }
    eng_draw_tokens(tokens, &draw, units, N);
    assert_memory_equal(tokens, single, sizeof(tokens));
}

/* A prompt of one token has no position to draw at. */
static void test_score_alt_of_one_token(void **state)
{
    fixture *f = *state;
    f->request.n_prompt = 1;
    f->request.prompt_alt_tokens = 3;
    sample(&f->s, &f->request, &r1);
    assert_true(r1.has_alt && r1.n_alt == 3);
}

/* ---- what is refused ---- */

static void refuse(fixture *f, tinkc_code want, const char *text)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(try_ask(f->s.sampler, &f->request, &r1, &err), want);
    if (strstr(err.message, text) == NULL) {
        fail_msg("%s", err.message);
    }
    assert_false(eng_sampler_busy(f->s.sampler));
}

static void test_score_refusals(void **state)
{
    fixture *f = *state;
    const eng_sample_request good = f->request;
    f->request.topk_sample_logprobs = TK_TOPK_MAX_K + 1;
    refuse(f, TINKC_E_LIMIT, "topk_sample_logprobs");
    f->request.topk_sample_logprobs = TK_TOPK_MAX_K;
    f->request.num_samples = 1024; /* 1024 * 12 * 4096 cells */
    refuse(f, TINKC_E_LIMIT, "topk_sample_logprobs");
    f->request.max_tokens = 0; /* as many as fit into the context */
    f->request.num_samples = 16;
    refuse(f, TINKC_E_LIMIT, "topk_sample_logprobs");
    f->request = good;
    f->request.prompt_alt_tokens = TK_TOPK_MAX_K + 1;
    refuse(f, TINKC_E_LIMIT, "prompt_alt_tokens_k");
    f->request.prompt_alt_tokens = SIZE_MAX;
    refuse(f, TINKC_E_LIMIT, "prompt_alt_tokens_k");
    f->request = good;
    f->request.prompt_logprobs_last_n = 1;
    refuse(f, TINKC_E_INVALID, "prompt_logprobs_last_n needs prompt_logprobs");
    f->request.prompt_logprobs = true;
    f->request.prompt_logprobs_last_n = PROMPT;
    refuse(f, TINKC_E_INVALID, "prompt_logprobs_last_n must be 1 to 69");
    f->request = good;
    set_targets(f);
    f->targets[4] = VOCABULARY;
    refuse(f, TINKC_E_INVALID, "target_prompt_logprobs has token 50");
    f->targets[4] = -2;
    refuse(f, TINKC_E_INVALID, "target_prompt_logprobs has token -2");
    for (size_t i = 0; i < 2 * PROMPT; i++) {
        f->targets[i] = -1;
    }
    refuse(f, TINKC_E_INVALID, "target_prompt_logprobs names no token");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_score_sampled),    T(test_score_sampled_gaps),
        T(test_score_targets),    T(test_score_sparse_targets),
        T(test_score_last_n),     T(test_score_alt),
        T(test_score_many_draws), T(test_score_alt_of_one_token),
        T(test_score_refusals),
    };
    return cmocka_run_group_tests_name("eng_sample_score", tests, NULL, NULL);
}
