/* forward_backward as the server calls it: outputs, metrics, forms of the inputs, and
 * that a failure changes nothing. */
#include "base/mem.h"
#include "engine/support/training.h"
#include "support/failmem.h"

static void test_cross_entropy_outputs(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_result *r = must_run(&s, "cross_entropy", inputs, 2);
    const eng_output *out = &r->outputs[0];
    assert_int_equal(r->n_outputs, 1);
    assert_true(out->rows == N && out->columns == 1 && out->n_dims == 1);
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(out->logprobs[i] < 0);
        double loss = -(double)weights[i] * (double)out->logprobs[i];
        assert_true(about((double)out->elementwise_loss[i], loss, 1e-6));
        sum += loss;
    }
    assert_true(about(metric(r, "loss:sum"), sum, 1e-9));
    assert_int_equal(r->n_metrics, 1);
    for (size_t i = 0; i < r->n_metrics; i++) { /* clients split keys at the colon */
        size_t colons = 0;
        for (size_t k = 0; r->metrics[i].name[k] != '\0'; k++) {
            colons += r->metrics[i].name[k] == ':';
        }
        assert_int_equal(colons, 1);
    }
    eng_result_free(r);
    scene_dispose(&s);
}

/* Without weights each token counts 1; strict mode wants them. */
static void test_missing_weights(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N)};
    eng_result *r = must_run(&s, "cross_entropy", inputs, 1);
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        sum -= (double)r->outputs[0].logprobs[i];
    }
    assert_true(about(metric(r, "loss:sum"), sum, 1e-9));
    eng_result_free(r);
    scene_dispose(&s);
}

/* forward_only gives the same outputs and leaves gradients as they are. */
static void test_forward_only(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_result *with = must_run(&s, "cross_entropy", inputs, 2), *without = NULL;
    size_t bytes = s.adapter->n * sizeof(float);
    float *kept = tk_memdup(s.adapter->grads, bytes);
    eng_datum datum = {tokens, N, inputs, 2};
    eng_train_request request = {.loss_fn = TK_STR("cross_entropy"),
                                 .data = &datum,
                                 .n_data = 1,
                                 .forward_only = true};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_adapter_forward_backward(&without, s.adapter, &request, &err),
                     TINKC_OK);
    assert_memory_equal(with->outputs[0].logprobs, without->outputs[0].logprobs,
                        N * sizeof(float));
    assert_true(about(metric(with, "loss:sum"), metric(without, "loss:sum"), 0));
    assert_memory_equal(kept, s.adapter->grads, bytes);
    tk_free(kept);
    eng_result_free(with);
    eng_result_free(without);
    scene_dispose(&s);
}

/* Weights of zero are an exact no-op for the gradient. */
static void test_zero_weights(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_array nothing[] = {ints("target_tokens", targets, N),
                           floats("weights", zeros, N)};
    eng_result_free(must_run(&s, "cross_entropy", inputs, 2));
    size_t bytes = s.adapter->n * sizeof(float);
    float *kept = tk_memdup(s.adapter->grads, bytes);
    eng_result *r = must_run(&s, "cross_entropy", nothing, 2);
    assert_true(about(metric(r, "loss:sum"), 0, 0));
    assert_memory_equal(kept, s.adapter->grads, bytes);
    tk_free(kept);
    eng_result_free(r);
    scene_dispose(&s);
}

/* Two targets per token: values, and the same from CSR with zero fill. */
static void test_two_dimensional_targets(void **unused)
{
    scene s;
    scene_init(&s);
    static const int64_t wide[N * 2] = {7, 3, 0, 3, 9, 0, 0, 0, 5, 5};
    static const float wide_weights[N * 2] = {1, 0.5f, 0, 1, 2, 0, 0, 0, 0.25f, 0.25f};
    static const int64_t shape[] = {N, 2};
    eng_array dense[] = {ints("target_tokens", wide, N * 2),
                         floats("weights", wide_weights, N * 2)};
    dense[0].shape = dense[1].shape = shape;
    dense[0].n_dims = dense[1].n_dims = 2;
    eng_result *r = must_run(&s, "cross_entropy", dense, 2);
    const eng_output *out = &r->outputs[0];
    assert_true(out->columns == 2 && out->n_dims == 2);
    assert_true(out->logprobs[8] == out->logprobs[9]); /* the same id twice */
    double sum = 0;
    for (size_t i = 0; i < N * 2; i++) {
        sum -= (double)wide_weights[i] * (double)out->logprobs[i];
    }
    assert_true(about(metric(r, "loss:sum"), sum, 1e-8));
    size_t bytes = s.adapter->n * sizeof(float);
    float *kept = tk_memdup(s.adapter->grads, bytes);
    memset(s.adapter->grads, 0, bytes);
    s.adapter->has_grads = false;

    static const int64_t ids[] = {7, 3, 3, 9, 5, 5}, id_columns[] = {0, 1, 1, 0, 0, 1};
    static const int64_t id_rows[] = {0, 2, 3, 4, 4, 6};
    static const float w[] = {1, 0.5f, 1, 2, 0.25f, 0.25f};
    eng_array sparse[] = {ints("target_tokens", ids, 6), floats("weights", w, 6)};
    for (size_t i = 0; i < 2; i++) {
        sparse[i].shape = shape;
        sparse[i].n_dims = 2;
        sparse[i].rows = id_rows;
        sparse[i].n_rows = N + 1;
        sparse[i].columns = id_columns;
        sparse[i].n_columns = 6;
    }
    eng_result *again = must_run(&s, "cross_entropy", sparse, 2);
    assert_memory_equal(again->outputs[0].logprobs, out->logprobs, N * 2 * sizeof(float));
    assert_memory_equal(kept, s.adapter->grads, bytes);
    tk_free(kept);
    eng_result_free(r);
    eng_result_free(again);
    scene_dispose(&s);
}

static void test_ppo_metrics(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("logprobs", reference, N),
                          floats("advantages", advantages, N)};
    eng_result *r = must_run(&s, "ppo", inputs, 3);
    double all = 0, active = 0, clipped = 0, kl = 0;
    for (size_t i = 0; i < N; i++) {
        double gap = (double)r->outputs[0].logprobs[i] - (double)reference[i];
        gap = fmin(gap, 20); /* a sentinel must not make the mean infinite */
        double ratio = exp(gap);
        all += ratio;
        clipped += ratio < 0.8 || ratio > 1.2;
        if (i < 4) {
            active += ratio;
            kl -= gap;
        }
    }
    assert_true(about(metric(r, "ppo_mean_ratio:mean"), all / N, 1e-6 * all));
    assert_true(about(metric(r, "ppo_clipped_fraction:mean"), clipped / N, 1e-12));
    assert_true(
        about(metric(r, "ppo_active_mean_ratio:mean"), active / 4, 1e-6 * active));
    assert_true(about(metric(r, "ppo_active_kl_div:mean"), kl / 4, 1e-6));
    assert_true(isfinite(metric(r, "ppo_kl_div:mean")));
    eng_result_free(r);
    scene_dispose(&s);
}

/* Clip bounds per token rule over the settings. */
static void test_clip_per_token(void **unused)
{
    scene s;
    scene_init(&s);
    static const float low[N] = {0}, high[N] = {0};
    eng_array inputs[] = {
        ints("target_tokens", targets, N), floats("logprobs", reference, N),
        floats("advantages", advantages, N), floats("clip_low_threshold", low, N),
        floats("clip_high_threshold", high, N)};
    eng_result *r = must_run(&s, "cispo", inputs, 5); /* ratio clamped to 0: no loss */
    assert_true(about(metric(r, "loss:sum"), 0, 0));
    eng_result_free(r);
    r = must_run(&s, "cispo", inputs, 3);
    assert_true(fabs(metric(r, "loss:sum")) > 0.1);
    eng_result_free(r);
    scene_dispose(&s);
}

/* A request that fails in its last datum leaves the gradients of earlier calls alone. */
static void test_failure_is_undone(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array good[] = {ints("target_tokens", targets, N),
                        floats("logprobs", reference, N),
                        floats("advantages", advantages, N)};
    eng_array bad[] = {good[0], good[1],
                       floats("advantages", (const float[]){1, 1, 1, 1, 1}, N)};
    eng_result_free(must_run(&s, "importance_sampling", good, 3));
    size_t bytes = s.adapter->n * sizeof(float);
    float *kept = tk_memdup(s.adapter->grads, bytes);
    eng_datum data[200];
    for (size_t i = 0; i < TK_ARRAY_LEN(data); i++) { /* more than one group of rows */
        data[i] = (eng_datum){tokens, N, i + 1 == TK_ARRAY_LEN(data) ? bad : good, 3};
    }
    eng_train_request request = {.loss_fn = TK_STR("importance_sampling"),
                                 .data = data,
                                 .n_data = TK_ARRAY_LEN(data)};
    tk_err err = TK_ERR_INIT;
    eng_result *r = NULL;
    assert_int_equal(eng_adapter_forward_backward(&r, s.adapter, &request, &err),
                     TINKC_E_INVALID);
    assert_memory_equal(kept, s.adapter->grads, bytes);
    tk_free(kept);
    scene_dispose(&s);
}

static bool scenario(void *user)
{
    const tiny_files *files = user;
    eng_model_memory memory = tiny_memory(files);
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    eng_model *model = NULL;
    eng_adapter *adapter = NULL;
    eng_result *r = NULL;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_adam adam = ENG_ADAM_INIT;
    double norm;
    config.rank = 2;
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_datum data[] = {{tokens, N, inputs, 2}, {tokens, N, inputs, 2}};
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = data, .n_data = 2};
    bool ok = eng_pool_new(&pool, 1, &err) == TINKC_OK &&
              eng_model_open_memory(&model, pool, &memory, &err) == TINKC_OK &&
              eng_adapter_new(&adapter, model, &config, &err) == TINKC_OK;
    for (int i = 0; i < 2 && ok; i++) {
        bool had = adapter->has_grads;
        ok = eng_adapter_forward_backward(&r, adapter, &request, &err) == TINKC_OK;
        assert_true(ok || adapter->has_grads == had);
        eng_result_free(r);
        r = NULL;
    }
    ok = ok && eng_adapter_optim_step(adapter, &adam, &norm, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_E_NOMEM);
    assert_true(ok || adapter == NULL || eng_adapter_steps(adapter) == 0);
    eng_adapter_free(adapter);
    eng_model_free(model);
    eng_pool_free(pool);
    return ok;
}

static void test_allocation_failures(void **unused)
{
    tiny_files files;
    tiny_files_init(&files, &tiny_qwen3);
    assert_true(failmem_sweep(scenario, &files, 1) > 10);
    tiny_files_dispose(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cross_entropy_outputs),
        cmocka_unit_test(test_missing_weights),
        cmocka_unit_test(test_forward_only),
        cmocka_unit_test(test_zero_weights),
        cmocka_unit_test(test_two_dimensional_targets),
        cmocka_unit_test(test_ppo_metrics),
        cmocka_unit_test(test_clip_per_token),
        cmocka_unit_test(test_failure_is_undone),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("eng_train", tests, NULL, NULL);
}
