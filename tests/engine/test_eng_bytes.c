/* What the engine says it needs against what it allocates. */
#include "base/mem.h"
#include "engine/eng_bytes.h"
#include "engine/support/training.h"
#include "support/failmem.h"

#define MUCH 4 /* times the truth, for sizes where blocks round up */

/* Never less than the truth, and not far above it. */
static void check_bound(size_t said, size_t allocated)
{
    assert_true(allocated > 0);
    if (said < allocated || said > MUCH * allocated + 600 * TK_KIB) {
        fail_msg("%zu bytes for what takes %zu", said, allocated);
    }
}

static void test_eng_bytes_of_adapters(void **unused)
{
    static const size_t ranks[] = {1, 8, 32, 100, 512};
    scene s;
    failmem_start();
    scene_init(&s);
    for (size_t i = 0; i < TK_ARRAY_LEN(ranks); i++) {
        tk_err err = TK_ERR_INIT;
        eng_lora_config config = ENG_LORA_CONFIG_INIT;
        eng_adapter *adapter = NULL, *copy = NULL;
        config.rank = ranks[i];
        config.train_mlp = i % 2 == 0;
        config.optimizer = i % 2 == 0 ? ENG_ADAMW : ENG_DIMUON;
        size_t before = failmem_begin_peak();
        assert_int_equal(eng_adapter_new(&adapter, s.model, &config, &err), TINKC_OK);
        size_t after = failmem_begin_peak();
        check_bound(eng_bytes_adapter(s.model, &config, false), after - before);
        assert_int_equal(eng_adapter_snapshot(&copy, adapter, &err), TINKC_OK);
        check_bound(eng_bytes_frozen(adapter), failmem_begin_peak() - after);
        eng_adapter_free(adapter);
        eng_adapter_free(copy);
    }
    scene_dispose(&s);
    assert_int_equal(failmem_stop(), 0);
}

/* One long datum, many short ones, several targets per token; all activations kept, or
 * computed again. */
static void check_training(scene *s, size_t n_data, size_t columns, size_t kept)
{
    int64_t wide[N * 8];
    float each[N * 8];
    int64_t shape[] = {N, (int64_t)columns};
    for (size_t i = 0; i < N * columns; i++) {
        wide[i] = 7;
        each[i] = 1.0F;
    }
    eng_array inputs[] = {ints("target_tokens", wide, N * columns),
                          floats("weights", each, N * columns)};
    for (size_t i = 0; i < 2; i++) {
        inputs[i].shape = shape;
        inputs[i].n_dims = 2;
    }
    eng_datum *data = tk_array(n_data, sizeof(*data));
    assert_non_null(data);
    for (size_t i = 0; i < n_data; i++) {
        data[i] = (eng_datum){tokens, N, inputs, 2};
    }
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = data, .n_data = n_data};
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_adapter *adapter = NULL;
    eng_result *result = NULL;
    tk_err err = TK_ERR_INIT;
    eng_model_limit_kept(s->model, kept);
    assert_int_equal(eng_adapter_new(&adapter, s->model, &config, &err), TINKC_OK);
    eng_train_size size = eng_bytes_measure(&request);
    assert_int_equal(size.cells, n_data * N * columns);
    size_t said = eng_bytes_train(&size) +
                  eng_bytes_train_work(s->model, config.rank, &size) +
                  256 * TK_KIB; /* the first block of inputs counts with the adapter */
    size_t before = failmem_begin_peak();
    assert_int_equal(eng_adapter_forward_backward(&result, adapter, &request, &err),
                     TINKC_OK);
    check_bound(said, failmem_peak_bytes() - before);
    eng_result_free(result);
    eng_adapter_free(adapter);
    tk_free(data);
}

static void test_eng_bytes_of_training(void **unused)
{
    static const struct {
        size_t n_data, columns, kept;
    } rows[] = {{1, 1, TK_GIB}, {300, 1, TK_GIB}, {300, 8, TK_GIB}, {200, 1, 1}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        scene s; /* each its own: a model keeps its working memory */
        failmem_start();
        scene_init(&s);
        check_training(&s, rows[i].n_data, rows[i].columns, rows[i].kept);
        scene_dispose(&s);
        assert_int_equal(failmem_stop(), 0);
    }
}

/* M-075: every table that a sample may ask for counts, in the engine and in the answer. */
static void test_eng_bytes_of_scores(void **unused)
{
    enum { PROMPT = 8, K = 50, TOKENS = 5 };
    static const int32_t ids[PROMPT * K];
    static size_t starts[PROMPT];
    scene s;
    scene_init(&s);
    for (size_t i = 0; i < PROMPT; i++) {
        starts[i] = i * K;
    }
    eng_sample_request plain = {
        .prompt = ids, .n_prompt = PROMPT, .num_samples = 3, .max_tokens = TOKENS};
    size_t before = eng_bytes_sample(s.model, &plain);
    eng_sample_request asked = plain;
    asked.topk_sample_logprobs = K; /* arrays that double, and the answer */
    assert_true(eng_bytes_sample(s.model, &asked) >= before + 3 * TOKENS * K * 24);
    asked = plain;
    asked.prompt_alt_tokens = K; /* int32 and float; int64 for the answer; the answer */
    assert_true(eng_bytes_sample(s.model, &asked) >= before + (PROMPT - 1) * K * 28);
    asked = plain;
    asked.targets = ids; /* int32 twice, float, the int64 that were sent; the answer */
    asked.target_starts = starts;
    assert_true(eng_bytes_sample(s.model, &asked) >= before + (PROMPT - 1) * K * 24);
    asked = plain;
    asked.topk_prompt_logprobs = K;
    assert_true(eng_bytes_sample(s.model, &asked) >= before + PROMPT * K * 16);
    asked = plain;
    asked.prompt_alt_tokens = SIZE_MAX / 2;
    assert_int_equal(eng_bytes_sample(s.model, &asked), SIZE_MAX);
    asked = plain;
    asked.topk_sample_logprobs = SIZE_MAX;
    assert_int_equal(eng_bytes_sample(s.model, &asked), SIZE_MAX);
    scene_dispose(&s);
}

/* Sizes that do not exist do not wrap around. */
static void test_eng_bytes_of_nonsense(void **unused)
{
    scene s;
    scene_init(&s);
    int64_t shape[] = {2, INT64_MAX};
    eng_array target = {.name = TK_STR("target_tokens"), .shape = shape, .n_dims = 2};
    eng_datum data[] = {{tokens, 3, &target, 1}, {tokens, 3, &target, 1}};
    const eng_train_request request = {.data = data, .n_data = 2};
    eng_train_size size = eng_bytes_measure(&request);
    assert_int_equal(size.cells, SIZE_MAX);
    assert_int_equal(eng_bytes_train(&size), SIZE_MAX);
    assert_int_equal(eng_bytes_train_work(s.model, 8, &size), SIZE_MAX);
    shape[1] = -1;
    size = eng_bytes_measure(&request);
    assert_int_equal(size.cells, 0);
    const eng_sample_request sample = {.num_samples = SIZE_MAX / 2, .max_tokens = 100};
    assert_int_equal(eng_bytes_sample(s.model, &sample), SIZE_MAX);
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eng_bytes_of_adapters),
        cmocka_unit_test(test_eng_bytes_of_training),
        cmocka_unit_test(test_eng_bytes_of_scores),
        cmocka_unit_test(test_eng_bytes_of_nonsense),
    };
    return cmocka_run_group_tests_name("eng_bytes", tests, NULL, NULL);
}
