/* forward_backward as the server calls it: outputs, metrics, forms of the inputs, what is
 * refused and how it is named, and that a failure changes nothing. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/support/tiny.h"
#include "support/failmem.h"
#include "support/test.h"

#define N 5

static const int32_t tokens[N] = {1, 7, 3, 9, 2};
static const int64_t targets[N] = {7, 3, 9, 2, 0};
static const float weights[N] = {0, 1, 0.5f, 1, -0.25f};
static const float zeros[N] = {0};
static const float advantages[N] = {1, -0.5f, 2, 1.5f, 0};
static const float reference[N] = {-3.5f, -4, -3.25f, -3, -99999};

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
} scene;

static void scene_init(scene *s)
{
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 2;
    tiny_files_init(&s->files, &tiny_llama);
    assert_int_equal(eng_pool_new(&s->pool, 1, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    assert_int_equal(eng_adapter_new(&s->adapter, s->model, &config, &err), TINKC_OK);
    for (size_t i = 0; i < s->adapter->n; i++) {
        s->adapter->weights[i] += (float)(i % 5) * 0.02f;
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

static eng_array floats(const char *name, const float *values, size_t n)
{
    return (eng_array){
        .name = tk_str_of(name), .type = ENG_ARRAY_F32, .values = values, .n_values = n};
}

static eng_array ints(const char *name, const int64_t *values, size_t n)
{
    return (eng_array){
        .name = tk_str_of(name), .type = ENG_ARRAY_I64, .values = values, .n_values = n};
}

static tinkc_code run(scene *s, const char *loss, const eng_array *inputs,
                      size_t n_inputs, eng_result **out, tk_err *err)
{
    eng_datum datum = {tokens, N, inputs, n_inputs};
    eng_train_request request = {.loss_fn = tk_str_of(loss), .data = &datum, .n_data = 1};
    return eng_adapter_forward_backward(out, s->adapter, &request, err);
}

static eng_result *must_run(scene *s, const char *loss, const eng_array *inputs,
                            size_t n_inputs)
{
    eng_result *result = NULL;
    tk_err err = TK_ERR_INIT;
    if (run(s, loss, inputs, n_inputs, &result, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return result;
}

static double metric(const eng_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_metrics; i++) {
        if (strcmp(result->metrics[i].name, name) == 0) {
            return result->metrics[i].value;
        }
    }
    fail_msg("no metric %s", name);
    return 0;
}

static bool about(double have, double want, double bar)
{
    return fabs(have - want) <= bar;
}

static void test_cross_entropy_outputs(void **unused)
{
    (void)unused;
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
        const char *colon = strchr(r->metrics[i].name, ':');
        assert_non_null(colon);
        assert_null(strchr(colon + 1, ':'));
    }
    eng_result_free(r);
    scene_dispose(&s);
}

/* Without weights each token counts 1; strict mode wants them. */
static void test_missing_weights(void **unused)
{
    (void)unused;
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
    (void)unused;
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
    (void)unused;
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
    (void)unused;
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
    (void)unused;
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
    (void)unused;
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

typedef struct refusal {
    const char *loss;
    eng_array inputs[3];
    size_t n_inputs;
    const char *says, *path;
    bool strict;
} refusal;

static void check_refusal(scene *s, const refusal *want)
{
    eng_array good[] = {ints("target_tokens", targets, N), floats("weights", weights, N),
                        floats("logprobs", reference, N),
                        floats("advantages", advantages, N)};
    eng_datum data[] = {{tokens, N, good, want->strict ? 2 : 4},
                        {tokens, N, want->inputs, want->n_inputs}};
    eng_train_request request = {.loss_fn = tk_str_of(want->loss),
                                 .data = data,
                                 .n_data = 2,
                                 .strict = want->strict};
    tk_err err = TK_ERR_INIT;
    eng_result *r = NULL;
    tinkc_code code = eng_adapter_forward_backward(&r, s->adapter, &request, &err);
    if (code != TINKC_E_INVALID || strstr(err.message, want->says) == NULL ||
        strcmp(err.path, want->path) != 0) {
        fail_msg("%s: %s at %s (%d)", want->says, err.message, err.path, (int)code);
    }
    assert_null(r);
    assert_false(s->adapter->has_grads);
}

static void test_bad_inputs_are_named(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s);
    static const int64_t outside[N] = {1, 2, 37, 0, 0}, negative[N] = {1, 2, -1, 0, 0};
    static const float bad[N] = {0, 1, NAN, 0, 0}, infinite[N] = {INFINITY};
    const refusal table[] = {
        {"cross_entropy",
         {floats("weights", weights, N)},
         1,
         "missing",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N - 1)},
         1,
         "4 x 1",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", outside, N)},
         1,
         "37, outside the vocabulary of 37",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", negative, N)},
         1,
         "-1, outside",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {floats("target_tokens", weights, N)},
         1,
         "int64",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", bad, N)},
         2,
         "value 2 is NaN",
         "data[1].loss_fn_inputs.weights",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", weights, 3)},
         2,
         "3 x 1",
         "data[1].loss_fn_inputs.weights",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N)},
         1,
         "missing",
         "data[1].loss_fn_inputs.weights",
         true},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", weights, N),
          floats("mask", weights, N)},
         3,
         "Could not convert loss function inputs to array record",
         "data[1].loss_fn_inputs.mask",
         true},
        {"ppo",
         {ints("target_tokens", targets, N), floats("logprobs", reference, N)},
         2,
         "missing",
         "data[1].loss_fn_inputs.advantages",
         false},
        {"dro",
         {ints("target_tokens", targets, N), floats("logprobs", infinite, N),
          floats("advantages", advantages, N)},
         3,
         "value 0 is NaN or infinite",
         "data[1].loss_fn_inputs.logprobs",
         false},
        /* exp(l - q) of a sentinel with a real advantage */
        {"importance_sampling",
         {ints("target_tokens", targets, N), floats("logprobs", reference, N),
          floats("advantages", (const float[]){1, 1, 1, 1, 1}, N)},
         3,
         "datum 1, token 4: the loss is not finite",
         "data[1]",
         false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        check_refusal(&s, &table[i]);
    }
    scene_dispose(&s);
}

static void test_bad_shapes_are_named(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s);
    static const int64_t shapes[][2] = {{N, 2}, {-1, 1}, {N, 0}, {N, INT64_MAX}, {2, N}};
    for (size_t i = 0; i < TK_ARRAY_LEN(shapes); i++) {
        refusal want = {.loss = "cross_entropy",
                        .inputs = {ints("target_tokens", targets, N)},
                        .n_inputs = 1,
                        .says = "target_tokens",
                        .path = "data[1].loss_fn_inputs.target_tokens"};
        want.inputs[0].shape = shapes[i];
        want.inputs[0].n_dims = 2;
        check_refusal(&s, &want);
    }
    static const int64_t good[] = {N, 2}, huge[] = {N, 1 << 30};
    static const int64_t rows[][N + 1] = {
        {0, 1, 2, 3, 4, 4}, {1, 1, 2, 3, 4, 5}, {0, 3, 2, 3, 4, 5}, {0, 9, 2, 3, 4, 5}};
    static const int64_t columns[] = {0, 1, 0, 1, 0}, far[] = {0, 2, 0, 1, 0};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows) + 2; i++) {
        refusal want = {.loss = "cross_entropy",
                        .inputs = {ints("target_tokens", targets, N)},
                        .n_inputs = 1,
                        .says = "CSR",
                        .path = "data[1].loss_fn_inputs.target_tokens"};
        eng_array *a = &want.inputs[0];
        a->shape = good;
        a->n_dims = 2;
        a->rows = i < 4 ? rows[i] : (const int64_t[]){0, 1, 2, 3, 4, 5};
        a->n_rows = i == 5 ? N : N + 1;
        a->columns = i == 4 ? far : columns;
        a->n_columns = N;
        want.says = i == 5 ? "shape" : "CSR";
        check_refusal(&s, &want);
    }
    /* A CSR shape may not be a memory bomb. */
    eng_array bomb = ints("target_tokens", targets, 0);
    bomb.shape = huge;
    bomb.n_dims = 2;
    bomb.rows = (const int64_t[N + 1]){0};
    bomb.n_rows = N + 1;
    bomb.columns = columns;
    eng_result *r = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(run(&s, "cross_entropy", &bomb, 1, &r, &err), TINKC_E_LIMIT);
    scene_dispose(&s);
}

static void test_bad_tokens_are_named(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s);
    static int32_t many[600];
    static const int32_t outside[] = {0, 37}, negative[] = {-1};
    const struct {
        const int32_t *ids;
        size_t n;
        const char *says;
    } table[] = {{many, 0, "no tokens"},
                 {many, 600, "context window of 512"},
                 {outside, 2, "token 1 is 37"},
                 {negative, 1, "token 0 is -1"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        eng_datum datum = {table[i].ids, table[i].n, NULL, 0};
        eng_train_request request = {
            .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
        tk_err err = TK_ERR_INIT;
        eng_result *r = NULL;
        assert_int_equal(eng_adapter_forward_backward(&r, s.adapter, &request, &err),
                         TINKC_E_INVALID);
        assert_non_null(strstr(err.message, table[i].says));
        assert_string_equal(err.path, "data[0].model_input");
    }
    eng_result *r = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(run(&s, "no_such_loss", NULL, 0, &r, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "cross_entropy, importance_sampling"));
    scene_dispose(&s);
}

/* A request that fails in its last datum leaves the gradients of earlier calls alone. */
static void test_failure_is_undone(void **unused)
{
    (void)unused;
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

/* A fresh adapter changes nothing: two seeds, one loss; A differs, B is zero. */
static void test_fresh_adapters(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_adapter *one = NULL, *two = NULL, *same = NULL;
    tk_err err = TK_ERR_INIT;
    config.seed = 1;
    assert_int_equal(eng_adapter_new(&one, s.model, &config, &err), TINKC_OK);
    assert_int_equal(eng_adapter_new(&same, s.model, &config, &err), TINKC_OK);
    config.seed = 2;
    assert_int_equal(eng_adapter_new(&two, s.model, &config, &err), TINKC_OK);
    assert_memory_equal(one->weights, same->weights, one->n * sizeof(float));
    assert_memory_not_equal(one->weights, two->weights, one->n * sizeof(float));
    double bound = 1.0 / sqrt((double)one->modules[0].in);
    for (size_t i = 0; i < config.rank * one->modules[0].in; i++) {
        assert_true(fabs((double)one->weights[i]) <= bound);
    }
    eng_datum datum = {tokens, N, inputs, 2};
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
    eng_result *r1 = NULL, *r2 = NULL;
    assert_int_equal(eng_adapter_forward_backward(&r1, one, &request, &err), TINKC_OK);
    assert_int_equal(eng_adapter_forward_backward(&r2, two, &request, &err), TINKC_OK);
    assert_memory_equal(r1->outputs[0].logprobs, r2->outputs[0].logprobs,
                        N * sizeof(float));
    for (size_t i = 0; i < one->n_modules; i++) { /* B = 0: no gradient for A */
        const eng_lora *m = &one->modules[i];
        for (size_t j = 0; j < config.rank * m->in; j++) {
            assert_true(one->grads[m->a_at + j] == 0);
        }
    }
    eng_result_free(r1);
    eng_result_free(r2);
    eng_adapter_free(one);
    eng_adapter_free(two);
    eng_adapter_free(same);
    scene_dispose(&s);
}

/* Parameters per rank as the table of modules says, and impossible configurations. */
static void test_lora_modules(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s);
    const tiny_spec *t = &tiny_llama;
    size_t h = t->hidden, q = t->heads * t->head_dim, kv = t->kv_heads * t->head_dim;
    size_t attn = t->layers * ((h + q) + 2 * (h + kv) + (q + h));
    size_t mlp = t->layers * 3 * (h + t->intermediate), head = h + t->vocabulary;
    for (unsigned flags = 0; flags < 8; flags++) {
        eng_lora_config config = {.rank = 3,
                                  .alpha = 32,
                                  .train_attn = (flags & 1) != 0,
                                  .train_mlp = (flags & 2) != 0,
                                  .train_unembed = (flags & 4) != 0};
        eng_adapter *a = NULL;
        tk_err err = TK_ERR_INIT;
        tinkc_code code = eng_adapter_new(&a, s.model, &config, &err);
        if (flags == 0) {
            assert_int_equal(code, TINKC_E_INVALID);
            assert_non_null(strstr(err.message, "At least one of train_unembed"));
            continue;
        }
        assert_int_equal(code, TINKC_OK);
        size_t want =
            (flags & 1 ? attn : 0) + (flags & 2 ? mlp : 0) + (flags & 4 ? head : 0);
        assert_int_equal(eng_adapter_parameters(a), 3 * want);
        eng_array inputs[] = {ints("target_tokens", targets, N)};
        eng_datum datum = {tokens, N, inputs, 1};
        eng_train_request request = {
            .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
        eng_result *r = NULL;
        assert_int_equal(eng_adapter_forward_backward(&r, a, &request, &err), TINKC_OK);
        eng_result_free(r);
        eng_adapter_free(a);
    }
    eng_adapter *a = NULL;
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 0;
    assert_int_equal(eng_adapter_new(&a, s.model, &config, &err), TINKC_E_INVALID);
    assert_string_equal(err.message, "lora_config.rank must be positive");
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

/* A snapshot keeps the numbers of its moment while training goes on, and cannot be
 * trained itself. It outlives the adapter; the last owner frees it. */
static void test_snapshot(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_datum datum = {tokens, N, inputs, 2};
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
    eng_adam adam = ENG_ADAM_INIT;
    eng_adapter *frozen = NULL;
    eng_result *r = NULL;
    tk_err err = TK_ERR_INIT;
    double norm;
    assert_int_equal(eng_adapter_snapshot(&frozen, s.adapter, &err), TINKC_OK);
    assert_true(eng_adapter_is_frozen(frozen) && !eng_adapter_is_frozen(s.adapter));
    r = must_run(&s, "cross_entropy", inputs, 2);
    double before = metric(r, "loss:sum");
    eng_result_free(r);
    assert_int_equal(eng_adapter_optim_step(s.adapter, &adam, &norm, &err), TINKC_OK);
    assert_int_equal(eng_adapter_forward_backward(&r, frozen, &request, &err),
                     TINKC_E_INVALID);
    err = (tk_err)TK_ERR_INIT;
    assert_int_equal(eng_adapter_optim_step(frozen, &adam, &norm, &err), TINKC_E_INVALID);
    err = (tk_err)TK_ERR_INIT;
    request.forward_only = true;
    assert_ptr_equal(eng_adapter_retain(frozen), frozen);
    eng_adapter_free(frozen);
    eng_adapter_free(s.adapter);
    s.adapter = NULL;
    assert_int_equal(eng_adapter_forward_backward(&r, frozen, &request, &err), TINKC_OK);
    assert_true(about(metric(r, "loss:sum"), before, 0));
    eng_result_free(r);
    eng_adapter_free(frozen);
    scene_dispose(&s);
}

static void test_allocation_failures(void **unused)
{
    (void)unused;
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
        cmocka_unit_test(test_bad_inputs_are_named),
        cmocka_unit_test(test_bad_shapes_are_named),
        cmocka_unit_test(test_bad_tokens_are_named),
        cmocka_unit_test(test_failure_is_undone),
        cmocka_unit_test(test_fresh_adapters),
        cmocka_unit_test(test_lora_modules),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("eng_train", tests, NULL, NULL);
}
