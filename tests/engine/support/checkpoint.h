/* A tiny model with an adapter and a temporary directory for its checkpoint. Static
 * functions: include it in test programs only. */
#ifndef ENGINE_SUPPORT_CHECKPOINT_H
#define ENGINE_SUPPORT_CHECKPOINT_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/eng_lora.h"
#include "engine/support/tiny.h"
#include "support/test.h"

#define N 6

static const int32_t tokens[N] = {1, 7, 3, 9, 2, 4};
static const int64_t targets[N] = {7, 3, 9, 2, 4, 0};

typedef struct scene {
    char home[64]; /* a temporary directory */
    char at[128];  /* the checkpoint in it */
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
} scene;

static inline eng_adapter *fresh_with(scene *s, uint64_t seed, eng_optimizer optimizer)
{
    tk_err err = TK_ERR_INIT;
    eng_adapter *adapter = NULL;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 3;
    config.seed = seed;
    config.optimizer = optimizer;
    assert_int_equal(eng_adapter_new(&adapter, s->model, &config, &err), TINKC_OK);
    return adapter;
}

static inline eng_adapter *fresh(scene *s, uint64_t seed)
{
    return fresh_with(s, seed, ENG_ADAMW);
}

static inline void scene_init(scene *s, const tiny_spec *spec, unsigned threads)
{
    tk_err err = TK_ERR_INIT;
    (void)snprintf(s->home, sizeof(s->home), "/tmp/tinkc-ckpt-XXXXXX");
    assert_non_null(mkdtemp(s->home));
    (void)snprintf(s->at, sizeof(s->at), "%s/one", s->home);
    tiny_files_init(&s->files, spec);
    assert_int_equal(eng_pool_new(&s->pool, threads, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    s->adapter = fresh(s, 5);
}

static inline size_t count_entries(const char *directory)
{
    size_t n = 0;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    (void)closedir(dir);
    return n;
}

static inline void remove_directory(const char *directory)
{
    char path[512];
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
        (void)unlink(path);
    }
    (void)closedir(dir);
    assert_int_equal(rmdir(directory), 0);
}

static inline void scene_dispose(scene *s)
{
    eng_adapter_free(s->adapter);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
    remove_directory(s->at);
    remove_directory(s->home);
}

static inline void train(eng_adapter *adapter, int first, int steps)
{
    for (int step = first; step < first + steps; step++) {
        float weights[N];
        for (size_t i = 0; i < N; i++) {
            weights[i] = 0.25f * (float)((i + (size_t)step) % 4);
        }
        eng_array inputs[] = {{.name = TK_STR("target_tokens"),
                               .type = ENG_ARRAY_I64,
                               .values = targets,
                               .n_values = N},
                              {.name = TK_STR("weights"),
                               .type = ENG_ARRAY_F32,
                               .values = weights,
                               .n_values = N}};
        eng_datum datum = {tokens, N, inputs, 2};
        eng_train_request request = {
            .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
        eng_result *result = NULL;
        eng_adam adam = ENG_ADAM_INIT;
        double norm;
        adam.learning_rate = 0.01;
        eng_dimuon dimuon = {.learning_rate = 0.02, .beta1 = 0.9};
        assert_int_equal(eng_adapter_forward_backward(&result, adapter, &request, NULL),
                         TINKC_OK);
        eng_result_free(result);
        assert_int_equal(adapter->config.optimizer == ENG_DIMUON
                             ? eng_adapter_dimuon_step(adapter, &dimuon, &norm, NULL)
                             : eng_adapter_optim_step(adapter, &adam, &norm, NULL),
                         TINKC_OK);
    }
}

static inline void save(const scene *s, const eng_adapter *adapter, bool optimizer)
{
    tk_err err = TK_ERR_INIT;
    eng_save_options options = {optimizer, "tiny/llama"};
    if (eng_adapter_save(adapter, s->at, &options, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
}

#endif
