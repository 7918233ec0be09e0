/* Bits: on each kernel table, with bf16 and int8 weights and with 1, 2 and 7 threads, a
 * datum's numbers do not depend on its batch, and gradients are a left fold over data
 * however they are cut in calls. */
#include <stdio.h>

#include "base/mem.h"
#include "engine/eng_kern.h"
#include "engine/eng_lora.h"
#include "engine/eng_rng.h"
#include "engine/support/tiny.h"
#include "support/test.h"

#define DATA    (64 / TEST_TSAN_STRIDE(2))
#define LONGEST 90

static const tiny_spec spec = {.architecture = "Qwen3ForCausalLM",
                               .hidden = 40,
                               .intermediate = 72,
                               .layers = 2,
                               .heads = 6,
                               .kv_heads = 2,
                               .head_dim = 12,
                               .vocabulary = 83,
                               .bf16 = true,
                               .seed = 9};

typedef struct batch {
    int32_t tokens[DATA][LONGEST];
    int64_t targets[DATA][LONGEST];
    float weights[DATA][LONGEST];
    eng_array inputs[DATA][2];
    eng_datum data[DATA];
} batch;

/* Lengths 1, 2, 3, ... so that row remainders and key/value blocks are all met. */
static void batch_init(batch *b)
{
    eng_rng rng;
    eng_rng_init(&rng, 3, 3);
    for (size_t d = 0; d < DATA; d++) {
        size_t n = d == 20 ? LONGEST : 1 + d % 23;
        for (size_t i = 0; i < n; i++) {
            b->tokens[d][i] = (int32_t)(eng_rng_next(&rng) % spec.vocabulary);
            b->targets[d][i] = (int64_t)(eng_rng_next(&rng) % spec.vocabulary);
            b->weights[d][i] = i % 3 == 0 ? 0.0f : (float)eng_rng_unit(&rng);
        }
        b->inputs[d][0] = (eng_array){.name = TK_STR("target_tokens"),
                                      .type = ENG_ARRAY_I64,
                                      .values = b->targets[d],
                                      .n_values = n};
        b->inputs[d][1] = (eng_array){.name = TK_STR("weights"),
                                      .type = ENG_ARRAY_F32,
                                      .values = b->weights[d],
                                      .n_values = n};
        b->data[d] = (eng_datum){b->tokens[d], n, b->inputs[d], 2};
    }
}

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
} scene;

static void scene_init(scene *s, unsigned threads, bool int8)
{
    tk_err err = TK_ERR_INIT;
    tiny_spec held = spec;
    held.int8 = int8;
    tiny_files_init(&s->files, &held);
    assert_int_equal(eng_pool_new(&s->pool, threads, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 4;
    config.seed = 8;
    assert_int_equal(eng_adapter_new(&s->adapter, s->model, &config, &err), TINKC_OK);
    for (size_t i = 0; i < s->adapter->n; i++) {
        s->adapter->weights[i] += 0.01f * (float)(i % 7);
    }
    eng_adapter_repack(s->adapter);
}

static void scene_dispose(scene *s)
{
    eng_adapter_free(s->adapter);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

static eng_result *run(scene *s, const batch *b, size_t first, size_t n)
{
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL;
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = b->data + first, .n_data = n};
    if (eng_adapter_forward_backward(&result, s->adapter, &request, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return result;
}

static void clear(scene *s)
{
    memset(s->adapter->grads, 0, s->adapter->n * sizeof(eng_real));
    s->adapter->has_grads = false;
}

static void check_split(scene *s, const batch *b, const float *grads)
{
    static const size_t cuts[] = {0, 1, 8, 30, 31, DATA};
    clear(s);
    for (size_t i = 0; i + 1 < TK_ARRAY_LEN(cuts); i++) {
        eng_result_free(run(s, b, cuts[i], cuts[i + 1] - cuts[i]));
    }
    assert_memory_equal(s->adapter->grads, grads, s->adapter->n * sizeof(*grads));
}

static void check_alone(scene *s, const batch *b, const eng_result *together)
{
    for (size_t d = 0; d < DATA; d += 9) {
        eng_result *alone = run(s, b, d, 1);
        assert_memory_equal(alone->outputs[0].logprobs, together->outputs[d].logprobs,
                            b->data[d].n_tokens * sizeof(float));
        eng_result_free(alone);
    }
}

/* Computing activations again instead of keeping them changes no bit. */
static void check_recompute(scene *s, const batch *b, const float *grads)
{
    clear(s);
    s->model->keep_max_bytes = 0;
    eng_result_free(run(s, b, 0, DATA));
    assert_memory_equal(s->adapter->grads, grads, s->adapter->n * sizeof(*grads));
}

/* gradients of the first table that multiplies and adds in one; with bf16 and int8
 * weights */
static float *fused[2];

static void check_fused(const char *name, bool int8, const float *grads, size_t bytes)
{
    if (strcmp(name, "generic") == 0) {
        return;
    }
    if (fused[int8] == NULL) {
        fused[int8] = tk_memdup(grads, bytes);
        assert_non_null(fused[int8]);
    }
    assert_memory_equal(fused[int8], grads, bytes);
}

static int forget(void **unused)
{
    if (fused[0] != NULL) { /* rounding changes something */
        assert_memory_not_equal(fused[0], fused[1], 1000);
    }
    tk_free(fused[0]);
    tk_free(fused[1]);
    return 0;
}

/* Runs all on one table; the gradients of the first number of threads are the
 * reference of the others. The plain C twin is slow: one number of threads. */
static void check_weights(const char *name, bool int8)
{
    static batch b;
    float *reference = NULL;
    static const unsigned threads[] = {7, 1, 2};
    batch_init(&b);
    size_t stride = strcmp(name, "fma") == 0 ? 3 : TEST_TSAN_STRIDE(3);
    for (size_t t = 0; t < TK_ARRAY_LEN(threads); t += stride) {
        scene s;
        scene_init(&s, threads[t], int8);
        size_t bytes = s.adapter->n * sizeof(float);
        eng_result *together = run(&s, &b, 0, DATA);
        if (reference == NULL) {
            reference = tk_memdup(s.adapter->grads, bytes);
            assert_non_null(reference);
        }
        assert_memory_equal(s.adapter->grads, reference, bytes);
        check_fused(name, int8, reference, bytes);
        check_split(&s, &b, reference);
        check_alone(&s, &b, together);
        check_recompute(&s, &b, reference);
        eng_result_free(together);
        scene_dispose(&s);
    }
    tk_free(reference);
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
    return cmocka_run_group_tests_name("eng_bits", tests, NULL, forget);
}
