/* What the engine says it needs against what it allocates. */
#include "base/limits.h"
#include "base/mem.h"
#include "engine/eng_bytes.h"
#include "engine/eng_pool.h"
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

/* A model whose heads are as wide as those of large ones, on several threads. */
static const tiny_spec wide_heads = {.architecture = "LlamaForCausalLM",
                                     .hidden = 24,
                                     .intermediate = 40,
                                     .layers = 1,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .head_dim = 128,
                                     .vocabulary = 37,
                                     .seed = 7};

typedef struct wide {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
} wide;

enum { LONG = 512, RANK = 4 };

static void wide_init(wide *w)
{
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = RANK;
    failmem_start();
    tiny_files_init(&w->files, &wide_heads);
    assert_int_equal(eng_pool_new(&w->pool, 8, &err), TINKC_OK);
    w->model = tiny_open(w->pool, &w->files);
    assert_int_equal(eng_adapter_new(&w->adapter, w->model, &config, &err), TINKC_OK);
}

static void wide_dispose(wide *w)
{
    eng_adapter_free(w->adapter);
    eng_model_free(w->model);
    eng_pool_free(w->pool);
    tiny_files_dispose(&w->files);
    assert_int_equal(failmem_stop(), 0);
}

/* The gradient of attention needs more scratch in each thread than any product when a
 * datum is long. What of it stays is given back with the working memory. */
static void test_eng_bytes_of_long_datums(void **unused)
{
    static int32_t ids[LONG];
    static int64_t next[LONG];
    static float ones[LONG];
    wide w;
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL;
    wide_init(&w);
    for (size_t i = 0; i < LONG; i++) {
        ids[i] = (int32_t)(i % 30);
        next[i] = (int64_t)(i % 29);
        ones[i] = 1.0F;
    }
    eng_array inputs[] = {ints("target_tokens", next, LONG),
                          floats("weights", ones, LONG)};
    eng_datum datum = {ids, LONG, inputs, 2};
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
    eng_train_size size = eng_bytes_measure(&request);
    size_t work = eng_bytes_train_work(w.model, RANK, &size);
    assert_int_equal(eng_model_reserve_rope(w.model, LONG, &err), TINKC_OK); /* counted */
    size_t said = eng_bytes_train(&size) + work + 256 * TK_KIB;
    size_t before = failmem_begin_peak();
    assert_int_equal(eng_adapter_forward_backward(&result, w.adapter, &request, &err),
                     TINKC_OK);
    check_bound(said, failmem_peak_bytes() - before);
    eng_result_free(result);
    assert_int_equal(
        eng_adapter_forward_backward(&result, w.adapter, &request, &err),
        TINKC_OK); /* from the second time on the work is one block, and kept */
    eng_result_free(result);
    size_t kept = eng_pool_kept(w.pool);
    assert_true(kept > 0 && kept <= work);
    eng_model_trim(w.model, work);
    assert_int_equal(eng_pool_kept(w.pool), kept);
    size_t own = eng_work_kept(&w.model->work);
#ifndef TINKC_SANITIZED /* there it is freed after each request */
    assert_true(own > 0);
#endif
    size_t used = failmem_begin_peak();
    eng_model_trim(w.model, own); /* the scratch of the threads goes first */
    assert_int_equal(eng_pool_kept(w.pool), 0);
    assert_int_equal(eng_work_kept(&w.model->work), own);
    assert_true(failmem_begin_peak() <= used - kept);
    if (own > 0) {
        eng_model_trim(w.model, own - 1);
        assert_int_equal(eng_work_kept(&w.model->work), 0);
    }
    wide_dispose(&w);
}

static void ignore(void *user, const eng_sample_result *result, const tk_err *err)
{
    (void)user;
    (void)err;
    assert_non_null(result);
}

/* A whole context; and as many draws from a row of the prompt as there may be. */
static void test_eng_bytes_of_sampling(void **unused)
{
    enum { SEQUENCES = 2, CHUNK = 64 };
    static int32_t ids[LONG];
    static const struct {
        size_t n_prompt, alts;
    } rows[] = {{LONG - 4, 0}, {2, TK_TOPK_MAX_K}};
    const eng_sampler_config config = {
        .max_sequences = SEQUENCES, .max_kv_bytes = 16 * TK_MIB, .prefill_chunk = CHUNK};
    const eng_sample_listener listener = {NULL, ignore, NULL};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        wide w;
        tk_err err = TK_ERR_INIT;
        eng_sampler *sampler = NULL;
        uint64_t id;
        eng_sample_request r = ENG_SAMPLE_REQUEST_INIT;
        wide_init(&w);
        assert_int_equal(eng_sampler_new(&sampler, w.model, &config, &err), TINKC_OK);
        r.prompt = ids;
        r.n_prompt = rows[i].n_prompt;
        r.prompt_alt_tokens = rows[i].alts;
        r.max_tokens = 3;
        assert_int_equal(eng_sampler_add(sampler, &r, &listener, &id, &err), TINKC_OK);
        while (eng_sampler_busy(sampler)) {
            assert_int_equal(eng_sampler_step(sampler, &err), TINKC_OK);
        }
        check_bound(eng_bytes_sample_work(w.model, 0, SEQUENCES, CHUNK),
                    eng_work_kept(&w.model->work) + eng_pool_kept(w.pool));
        eng_sampler_free(sampler);
        wide_dispose(&w);
    }
}

/* What a model of this kind takes when it is open; *said is what is counted for it, *most
 * what opening it took at a time. */
static size_t open_bytes(bool int8, size_t *said, size_t *most)
{
    tiny_spec spec = {.architecture = "Qwen2ForCausalLM",
                      .hidden = 256,
                      .intermediate = 512,
                      .layers = 3,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 64,
                      .vocabulary = 3000,
                      .tied = true,
                      .bf16 = true,
                      .bias = true,
                      .int8 = int8,
                      .seed = 7};
    tiny_files files;
    eng_pool *pool = NULL;
    failmem_start();
    tiny_files_init(&files, &spec);
    assert_int_equal(eng_pool_new(&pool, 1, NULL), TINKC_OK);
    size_t before = failmem_begin_peak();
    eng_model *model = tiny_open(pool, &files);
    *most = failmem_peak_bytes() - before;
    size_t bytes = failmem_begin_peak() - before;
    *said = eng_bytes_model(model);
    eng_model_free(model);
    eng_pool_free(pool);
    tiny_files_dispose(&files);
    assert_int_equal(failmem_stop(), 0);
    return bytes;
}

/* int8 takes a bit more than half of bf16, and no bf16 matrix stays; both are counted. */
static void test_eng_bytes_of_int8_models(void **unused)
{
    const size_t embedding = 3000 * 256 * sizeof(uint16_t); /* the largest piece */
    size_t said[2], most[2], bytes[2];
    for (size_t i = 0; i < 2; i++) {
        bytes[i] = open_bytes(i == 1, &said[i], &most[i]);
        check_bound(said[i], bytes[i] - bytes[i] / 8); /* its blocks round up */
        assert_true(said[i] < bytes[i] + bytes[i] / 4);
        assert_true(most[i] < bytes[i] + embedding + 600 * TK_KIB);
    }
    assert_true(bytes[1] < bytes[0] * 6 / 10);
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
        cmocka_unit_test(test_eng_bytes_of_long_datums),
        cmocka_unit_test(test_eng_bytes_of_sampling),
        cmocka_unit_test(test_eng_bytes_of_int8_models),
        cmocka_unit_test(test_eng_bytes_of_scores),
        cmocka_unit_test(test_eng_bytes_of_nonsense),
    };
    return cmocka_run_group_tests_name("eng_bytes", tests, NULL, NULL);
}
