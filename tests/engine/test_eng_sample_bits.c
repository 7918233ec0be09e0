/* Bits of sampling, on each kernel table, with bf16 and int8 weights and 1, 2 and 7
 * threads: a sampled token's log-probability is the one that training computes and that
 * a prompt gets; a request brings the same alone, among others, and whatever the size of
 * a prefill chunk. */
#include "engine/support/sampling.h"

#include "engine/eng_kern.h"

#define VOCABULARY 83
#define REQUESTS   9
#define LONGEST    150
#define NEW        (40 / TEST_TSAN_STRIDE(3))

static const tiny_spec spec = {.architecture = "Qwen3ForCausalLM",
                               .hidden = 40,
                               .intermediate = 72,
                               .layers = 2,
                               .heads = 6,
                               .kv_heads = 2,
                               .head_dim = 12,
                               .vocabulary = VOCABULARY,
                               .bf16 = true,
                               .seed = 9};

typedef struct crowd {
    int32_t prompts[REQUESTS][LONGEST];
    eng_sample_request requests[REQUESTS];
    int32_t targets[2 * LONGEST];
    size_t starts[LONGEST];
} crowd;

/* Lengths from 1 to more than two blocks; base model and both adapters; some filtered. */
static void crowd_init(crowd *c, const scene *s)
{
    static const size_t lengths[REQUESTS] = {5, 1, 64, 65, 130, 63, 128, 17, 150};
    for (size_t i = 0; i < REQUESTS; i++) {
        eng_sample_request *r = &c->requests[i];
        *r = (eng_sample_request)ENG_SAMPLE_REQUEST_INIT;
        fill_prompt(c->prompts[i], lengths[i], VOCABULARY, i);
        r->prompt = c->prompts[i];
        r->n_prompt = lengths[i];
        r->adapter = i % 3 == 0 ? NULL : s->adapters[i % 3 - 1];
        r->max_tokens = NEW - i;
        r->num_samples = 1 + i % 3;
        r->has_seed = true;
        r->seed = 100 * i;
        r->stop_mode = ENG_STOP_NONE;
        r->prompt_logprobs = i % 2 == 0;
        r->topk_prompt_logprobs = i == 4 ? 5 : 0;
        r->top_k = i == 5 ? 7 : -1;
        r->top_p = i == 7 ? 0.8 : 1;
        r->temperature = i == 5 ? 0.7 : 1;
        r->raw_logprobs = i == 5;
        r->topk_sample_logprobs = i % 4 == 0 ? 4 : 0;
        r->prompt_alt_tokens = i % 3 == 2 ? 5 : 0;
        r->prompt_logprobs_last_n = i == 6 ? 30 : 0;
        if (i == 3 || i == 4) { /* two in each row, the first rows name nothing */
            for (size_t k = 0; k < 2 * LONGEST; k++) {
                c->targets[k] = k < 40 || k % 7 == 0 ? -1 : (int32_t)(k % VOCABULARY);
            }
            for (size_t k = 0; k < lengths[i]; k++) {
                c->starts[k] = 2 * k;
            }
            r->targets = c->targets;
            r->target_starts = c->starts;
        }
    }
}

static void check_same(const reply *a, const reply *b)
{
    assert_int_equal(a->err.code, TINKC_OK);
    assert_int_equal(a->n_sequences, b->n_sequences);
    for (size_t i = 0; i < a->n_sequences; i++) {
        assert_int_equal(a->n[i], b->n[i]);
        assert_memory_equal(a->tokens[i], b->tokens[i], a->n[i] * sizeof(int32_t));
        assert_memory_equal(a->logprobs[i], b->logprobs[i], a->n[i] * sizeof(float));
    }
    assert_memory_equal(a->prompt, b->prompt, sizeof(a->prompt));
    assert_memory_equal(a->top_ids, b->top_ids, sizeof(a->top_ids));
    assert_memory_equal(a->top, b->top, sizeof(a->top));
    assert_memory_equal(a->sampled_ids, b->sampled_ids, sizeof(a->sampled_ids));
    assert_memory_equal(a->sampled_top, b->sampled_top, sizeof(a->sampled_top));
    assert_memory_equal(a->targets, b->targets, sizeof(a->targets));
    assert_memory_equal(a->alt, b->alt, sizeof(a->alt));
    assert_memory_equal(a->alt_logprobs, b->alt_logprobs, sizeof(a->alt_logprobs));
}

/* What training computes for the whole text of a sample: forward only, cross entropy. */
static void check_training(eng_adapter *adapter, const eng_sample_request *request,
                           const reply *r, size_t sample)
{
    int32_t tokens[LONGEST + NEW];
    int64_t targets[LONGEST + NEW];
    size_t n = request->n_prompt + r->n[sample] - 1;
    for (size_t i = 0; i <= n; i++) {
        int32_t token = i < request->n_prompt ? request->prompt[i]
                                              : r->tokens[sample][i - request->n_prompt];
        if (i < n) {
            tokens[i] = token;
        }
        if (i > 0) {
            targets[i - 1] = token;
        }
    }
    eng_array input = {.name = TK_STR("target_tokens"),
                       .type = ENG_ARRAY_I64,
                       .values = targets,
                       .n_values = n};
    eng_datum datum = {tokens, n, &input, 1};
    eng_train_request train = {.loss_fn = TK_STR("cross_entropy"),
                               .data = &datum,
                               .n_data = 1,
                               .forward_only = true};
    eng_result *result = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_adapter_forward_backward(&result, adapter, &train, &err),
                     TINKC_OK);
    const float *logprobs = result->outputs[0].logprobs;
    assert_memory_equal(logprobs + request->n_prompt - 1, r->logprobs[sample],
                        r->n[sample] * sizeof(float));
    if (r->has_prompt) {
        size_t last = request->prompt_logprobs_last_n;
        size_t first = last > 0 ? request->n_prompt - last : 1;
        assert_memory_equal(logprobs + first - 1, r->prompt + first,
                            (request->n_prompt - first) * sizeof(float));
    }
    eng_result_free(result);
}

/* The prompt of a second request is the first one's text: its prompt log-probabilities
 * are those that were sampled. */
static void check_as_prompt(scene *s, const eng_sample_request *request, const reply *r)
{
    static reply again;
    int32_t text[LONGEST + NEW];
    eng_sample_request next = *request;
    memcpy(text, request->prompt, request->n_prompt * sizeof(int32_t));
    memcpy(text + request->n_prompt, r->tokens[0], r->n[0] * sizeof(int32_t));
    next.prompt = text;
    next.n_prompt += r->n[0];
    next.max_tokens = 1;
    next.num_samples = 1;
    next.prompt_logprobs = true;
    next.prompt_logprobs_last_n = 0;
    next.topk_prompt_logprobs = 0;
    next.target_starts = NULL;
    next.temperature = 1;
    sample(s, &next, &again);
    assert_memory_equal(again.prompt + request->n_prompt, r->logprobs[0],
                        r->n[0] * sizeof(float));
}

static void check_alone(scene *s, const crowd *c, reply *replies)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        sample(s, &c->requests[i], &replies[i]);
        for (size_t j = 0; j < replies[i].n_sequences; j++) {
            if (c->requests[i].adapter != NULL) {
                check_training(c->requests[i].adapter, &c->requests[i], &replies[i], j);
            }
        }
        check_as_prompt(s, &c->requests[i], &replies[i]);
    }
}

/* All at once, some of them a few steps later. */
static void check_together(scene *s, const crowd *c, const reply *alone)
{
    static reply replies[REQUESTS];
    tk_err err = TK_ERR_INIT;
    for (size_t i = 0; i < REQUESTS; i++) {
        ask(s->sampler, &c->requests[i], &replies[i]);
        for (size_t k = 0; k < i % 3; k++) {
            assert_int_equal(eng_sampler_step(s->sampler, &err), TINKC_OK);
        }
    }
    finish_all(s->sampler);
    for (size_t i = 0; i < REQUESTS; i++) {
        check_same(&replies[i], &alone[i]);
    }
}

static void check_weights(const char *name, bool int8)
{
    static const unsigned threads[] = {7, 1, 2};
    static const size_t chunks[] = {512, 1, 7, 64, 100};
    static reply reference[REQUESTS], replies[REQUESTS];
    static crowd c;
    tiny_spec held = spec;
    held.int8 = int8;
    /* The plain C twin is slow: fewer cases. */
    size_t stride = strcmp(name, "fma") == 0 ? 3 : TEST_TSAN_STRIDE(3);
    for (size_t t = 0; t < TK_ARRAY_LEN(threads); t += stride) {
        for (size_t k = 0; k < TK_ARRAY_LEN(chunks); k += stride) {
            eng_sampler_config config = SCENE_CONFIG;
            config.prefill_chunk = chunks[k];
            config.max_sequences = k == 3 ? 2 : 64;
            scene s;
            scene_init(&s, &held, threads[t], &config);
            crowd_init(&c, &s);
            if (k == 0) {
                check_alone(&s, &c, t == 0 ? reference : replies);
            }
            for (size_t i = 0; k == 0 && t > 0 && i < REQUESTS; i++) {
                check_same(&replies[i], &reference[i]);
            }
            check_together(&s, &c, reference);
            scene_dispose(&s);
        }
    }
}

static void check_table(const char *name)
{
    if (!eng_kern_select(name)) {
        print_message("no %s on this machine\n", name);
        return;
    }
    check_weights(name, false);
    check_weights(name, true);
}

static void test_bits_generic(void **unused)
{
    check_table("generic");
}

static void test_bits_avx2(void **unused)
{
    check_table("avx2");
}

static void test_bits_avx512(void **unused)
{
    check_table("avx512");
}

static void test_bits_neon(void **unused)
{
    check_table("neon");
}

static void test_bits_fma(void **unused)
{
    check_table("fma");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_generic), cmocka_unit_test(test_bits_avx2),
        cmocka_unit_test(test_bits_avx512),  cmocka_unit_test(test_bits_neon),
        cmocka_unit_test(test_bits_fma),
    };
    return cmocka_run_group_tests_name("eng_sample_bits", tests, NULL, NULL);
}
