/* A tiny model with an adapter, one datum, and ways to run it through forward_backward.
 * Static functions: include it in test programs only. */
#ifndef ENGINE_SUPPORT_TRAINING_H
#define ENGINE_SUPPORT_TRAINING_H

#include <math.h>

#include "engine/eng_lora.h"
#include "engine/support/tiny.h"
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

static inline void scene_init(scene *s)
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

static inline void scene_dispose(scene *s)
{
    eng_adapter_free(s->adapter);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

static inline eng_array floats(const char *name, const float *values, size_t n)
{
    return (eng_array){
        .name = tk_str_of(name), .type = ENG_ARRAY_F32, .values = values, .n_values = n};
}

static inline eng_array ints(const char *name, const int64_t *values, size_t n)
{
    return (eng_array){
        .name = tk_str_of(name), .type = ENG_ARRAY_I64, .values = values, .n_values = n};
}

static inline tinkc_code run(scene *s, const char *loss, const eng_array *inputs,
                             size_t n_inputs, eng_result **out, tk_err *err)
{
    eng_datum datum = {tokens, N, inputs, n_inputs};
    eng_train_request request = {.loss_fn = tk_str_of(loss), .data = &datum, .n_data = 1};
    return eng_adapter_forward_backward(out, s->adapter, &request, err);
}

static inline eng_result *must_run(scene *s, const char *loss, const eng_array *inputs,
                                   size_t n_inputs)
{
    eng_result *result = NULL;
    tk_err err = TK_ERR_INIT;
    if (run(s, loss, inputs, n_inputs, &result, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return result;
}

static inline double metric(const eng_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_metrics; i++) {
        if (strcmp(result->metrics[i].name, name) == 0) {
            return result->metrics[i].value;
        }
    }
    fail_msg("no metric %s", name);
    return 0;
}

static inline bool about(double have, double want, double bar)
{
    return fabs(have - want) <= bar;
}

#endif
