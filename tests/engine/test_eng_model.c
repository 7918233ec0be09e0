/* Opening models: from a directory and from memory, number formats, damaged files, and
 * allocation failures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/eng_head.h"
#include "engine/support/tiny.h"
#include "support/failmem.h"
#include "support/matfix.h"
#include "support/test.h"

static eng_pool *pool;

static int set_up(void **unused)
{
    tk_err err = TK_ERR_INIT;
    return eng_pool_new(&pool, 2, &err) == TINKC_OK ? 0 : -1;
}

static int tear_down(void **unused)
{
    eng_pool_free(pool);
    return 0;
}

/* Logits of the last of a few tokens. */
static void logits_of(eng_model *model, float *out)
{
    static const int32_t tokens[] = {1, 5, 2, 30, 7};
    tk_err err = TK_ERR_INIT;
    eng_seq seq = {.tokens = tokens, .n = TK_ARRAY_LEN(tokens)};
    eng_acts acts;
    size_t hidden = model->config.hidden;
    assert_int_equal(eng_seq_make_blocks(&seq, model, &model->work), TINKC_OK);
    assert_int_equal(eng_acts_init(&acts, model, &model->work, &seq, 1, ENG_KEEP_NOTHING),
                     TINKC_OK);
    assert_int_equal(eng_forward(&acts, &err), TINKC_OK);
    eng_logits l = {.model = model,
                    .x = acts.hidden + (seq.n - 1) * hidden,
                    .rows = 1,
                    .logits = out};
    assert_int_equal(eng_head_logits(&l, &err), TINKC_OK);
    eng_work_reset(&model->work);
}

static void test_info(void **unused)
{
    tiny_files files;
    tiny_files_init(&files, &tiny_qwen2);
    eng_model *model = tiny_open(pool, &files);
    eng_model_info info;
    eng_model_get_info(model, &info);
    assert_string_equal(info.architecture, "Qwen2ForCausalLM");
    assert_int_equal(info.layers, 2);
    assert_int_equal(info.context, 512);
    assert_int_equal(info.n_eos, 2);
    /* embedding, final norm, then per layer: norms, q, k, v with bias, o, three of mlp */
    size_t layer = 2 * 16 + 3 * (16 * 16 + 16) + 16 * 16 + 3 * 16 * 20;
    assert_int_equal(info.parameters, 33 * 16 + 16 + 2 * layer);
    eng_model_free(model);
    tiny_files_dispose(&files);
}

static void write_file(const char *directory, const char *name, const tk_buf *bytes)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->p, 1, bytes->n, file), bytes->n);
    assert_int_equal(fclose(file), 0);
}

/* From a directory: the paths and texts that the reading of files allocates, too. */
static bool open_directory(void *user)
{
    tk_err err = TK_ERR_INIT;
    eng_model *model = NULL;
    bool ok = eng_model_open(&model, pool, user, ENG_WEIGHTS_FILE, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_E_NOMEM);
    eng_model_free(model);
    return ok;
}

/* Another program cuts the file while the model is in use: nothing of it is needed any
 * more. One model with a head of its own, one that is tied. */
static void test_file_is_cut_under_the_model(void **unused)
{
    tiny_spec spec = tiny_llama;
    for (int i = 0; i < 4; i++) {
        char directory[] = "/tmp/eng-model-XXXXXX", path[512];
        assert_non_null(mkdtemp(directory));
        tiny_files files;
        tk_err err = TK_ERR_INIT;
        eng_model *model = NULL;
        float before[64], after[64];
        spec.tied = i % 2 == 0;
        spec.bf16 = i < 2;
        tiny_files_init(&files, &spec);
        write_file(directory, "config.json", &files.config);
        write_file(directory, "model.safetensors", &files.weights);
        assert_int_equal(eng_model_open(&model, pool, directory, ENG_WEIGHTS_FILE, &err),
                         TINKC_OK);
        logits_of(model, before);
        (void)snprintf(path, sizeof(path), "%s/model.safetensors", directory);
        assert_int_equal(truncate(path, 0), 0);
        logits_of(model, after);
        assert_memory_equal(before, after, spec.vocabulary * sizeof(float));
        eng_model_free(model);
        tiny_files_dispose(&files);
        (void)unlink(path);
        (void)snprintf(path, sizeof(path), "%s/config.json", directory);
        (void)unlink(path);
        assert_int_equal(rmdir(directory), 0);
    }
}

static void test_directory_equals_memory(void **unused)
{
    char directory[] = "/tmp/eng-model-XXXXXX";
    assert_non_null(mkdtemp(directory));
    tiny_files files;
    tiny_files_init(&files, &tiny_llama);
    tk_err err = TK_ERR_INIT;
    eng_model *model = NULL, *other = tiny_open(pool, &files);
    assert_int_equal(eng_model_open(&model, pool, directory, ENG_WEIGHTS_FILE, &err),
                     TINKC_E_MISSING);
    assert_non_null(strstr(err.message, "config.json"));
    write_file(directory, "config.json", &files.config);
    tk_err_clear(&err);
    assert_int_equal(eng_model_open(&model, pool, directory, ENG_WEIGHTS_FILE, &err),
                     TINKC_E_MISSING);
    assert_null(model);
    write_file(directory, "model.safetensors", &files.weights);
    tk_err_clear(&err);
    assert_int_equal(eng_model_open(&model, pool, directory, ENG_WEIGHTS_FILE, &err),
                     TINKC_OK);
    assert_true(failmem_sweep(open_directory, directory, 1) > 10);
    float one[64], two[64];
    logits_of(model, one);
    logits_of(other, two);
    assert_memory_equal(one, two, tiny_llama.vocabulary * sizeof(float));
    eng_model_free(model);
    eng_model_free(other);
    tiny_files_dispose(&files);
    static const char *const names[] = {"config.json", "model.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
}

/* bf16 weights give exactly what the same numbers stored as f32 give. */
static void test_bf16_equals_widened(void **unused)
{
    tiny_spec spec = tiny_qwen3;
    spec.bf16 = true;
    tiny_files files, wide;
    tiny_files_init(&files, &spec);
    spec.bf16 = false;
    tiny_files_init(&wide, &spec);
    uint64_t header, wide_header;
    memcpy(&header, files.weights.p, sizeof(header));
    memcpy(&wide_header, wide.weights.p, sizeof(wide_header));
    const char *from = files.weights.p + 8 + header;
    char *to = wide.weights.p + 8 + wide_header;
    size_t n = (files.weights.n - 8 - (size_t)header) / 2;
    for (size_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, sizeof(half));
        float value = eng_bf16_to_f32(half);
        memcpy(to + 4 * i, &value, sizeof(value));
    }
    eng_model *model = tiny_open(pool, &files), *other = tiny_open(pool, &wide);
    assert_int_equal(model->head.format, ENG_FORMAT_BF16);
    assert_int_equal(other->head.format, ENG_FORMAT_REAL);
    float one[64], two[64];
    logits_of(model, one);
    logits_of(other, two);
    assert_memory_equal(one, two, spec.vocabulary * sizeof(float));
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_model_thaw(model, &err), TINKC_E_UNSUPPORTED);
    eng_model_free(model);
    eng_model_free(other);
    tiny_files_dispose(&files);
    tiny_files_dispose(&wide);
}

/* An int8 model gives the bits of one whose file has the rounded weights as f32: nothing
 * else is rounded. `tied`: the embedding is the head, and rounded like it. */
static void check_int8(bool tied)
{
    tiny_spec spec = tiny_qwen3;
    spec.tied = tied;
    spec.bf16 = spec.int8 = true;
    tiny_files files, wide;
    tiny_files_init(&files, &spec);
    spec.bf16 = spec.int8 = false;
    tiny_files_init(&wide, &spec);
    eng_model *model = tiny_open(pool, &files), *other = tiny_open(pool, &wide);
    eng_model_info info;
    float one[64], two[64];
    eng_model_get_info(model, &info);
    assert_string_equal(info.precision, "INT8");
    assert_int_equal(model->head.format, ENG_FORMAT_INT8);
    assert_true((model->embed == NULL) == tied);
    for (size_t i = 0; i < spec.layers * ENG_N_LINEAR + 1; i++) {
        bool head = i == spec.layers * ENG_N_LINEAR;
        eng_mat *from = head ? &model->head : &model->layers[i / 7].w[i % 7];
        eng_mat *to = head ? &other->head : &other->layers[i / 7].w[i % 7];
        float rows[4096];
        assert_true(from->n * from->k <= TK_ARRAY_LEN(rows));
        matfix_unpack(from, rows);
        eng_mat_pack_reals(to, rows);
    }
    for (size_t i = 0; i < spec.layers; i++) { /* vectors are as in the file of bf16 */
        other->layers[i].norm_in = model->layers[i].norm_in;
        other->layers[i].norm_post = model->layers[i].norm_post;
        other->layers[i].q_norm = model->layers[i].q_norm;
        other->layers[i].k_norm = model->layers[i].k_norm;
    }
    other->norm = model->norm;
    other->embed = model->embed;
    other->embed_dtype = model->embed_dtype;
    logits_of(model, one);
    logits_of(other, two);
    assert_memory_equal(one, two, spec.vocabulary * sizeof(float));
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_model_thaw(model, &err), TINKC_E_UNSUPPORTED);
    eng_model_free(model);
    eng_model_free(other);
    tiny_files_dispose(&files);
    tiny_files_dispose(&wide);
}

static void test_int8_equals_rounded(void **unused)
{
    check_int8(false);
    check_int8(true);
}

/* Replaces the first occurrence of `from` in the header by as many bytes. */
static void patch(tk_buf *bytes, const char *from, const char *to)
{
    size_t n = strlen(from);
    assert_int_equal(n, strlen(to));
    for (size_t i = 0; i + n <= bytes->n; i++) {
        if (memcmp(bytes->p + i, from, n) == 0) {
            memcpy(bytes->p + i, to, n);
            return;
        }
    }
    fail_msg("%s is not there", from);
}

static void refused(const tiny_spec *spec, const char *from, const char *to,
                    tinkc_code code, const char *says)
{
    tiny_files files;
    tiny_files_init(&files, spec);
    patch(&files.weights, from, to);
    eng_model_memory memory = tiny_memory(&files);
    eng_model *model = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_model_open_memory(&model, pool, &memory, &err), code);
    assert_null(model);
    if (strstr(err.message, says) == NULL) {
        fail_msg("%s", err.message);
    }
    tiny_files_dispose(&files);
}

static void test_wrong_tensors_are_named(void **unused)
{
    refused(&tiny_llama, "layers.1.mlp.up_proj", "layers.1.mlp.xx_proj", TINKC_E_DECODE,
            "layers.1.mlp.up_proj.weight is missing");
    refused(&tiny_llama, "lm_head.weight", "lm_head.weighs", TINKC_E_DECODE,
            "lm_head.weight is missing");
    refused(&tiny_qwen3, "layers.0.self_attn.k_norm", "layers.0.self_attn.x_norm",
            TINKC_E_DECODE, "k_norm");
    refused(&tiny_qwen2, "v_proj.bias", "v_proj.bios", TINKC_E_DECODE, "v_proj.bias");
    refused(&tiny_llama, "\"shape\":[40,24]", "\"shape\":[24,40]", TINKC_E_DECODE,
            "expected shape [40, 24]");
    refused(&tiny_llama, "\"shape\":[40,24]", "\"shape\":[960]  ", TINKC_E_DECODE,
            "expected shape [40, 24]");
    refused(&tiny_llama, "F32\"", "I32\"", TINKC_E_UNSUPPORTED, "dtype I32");
    tiny_spec int8 = tiny_llama; /* the same when they would be rounded */
    int8.int8 = true;
    refused(&int8, "layers.1.mlp.up_proj", "layers.1.mlp.xx_proj", TINKC_E_DECODE,
            "layers.1.mlp.up_proj.weight is missing");
    refused(&int8, "\"shape\":[40,24]", "\"shape\":[24,40]", TINKC_E_DECODE,
            "expected shape [40, 24]");
    refused(&int8, "F32\"", "I32\"", TINKC_E_UNSUPPORTED, "dtype I32");
}

static void test_bad_numbers_are_named(void **unused)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tiny_files files;
        tiny_files_init(&files, &tiny_llama);
        /* the last tensor is lm_head: its last number */
        memcpy(files.weights.p + files.weights.n - 4, &bad[i], 4);
        for (size_t held = 0; held < 2; held++) {
            files.held = held == 0 ? ENG_WEIGHTS_FILE : ENG_WEIGHTS_INT8;
            eng_model_memory memory = tiny_memory(&files);
            eng_model *model = NULL;
            tk_err err = TK_ERR_INIT;
            assert_int_equal(eng_model_open_memory(&model, pool, &memory, &err),
                             TINKC_E_INVALID);
            assert_non_null(strstr(err.message, "lm_head.weight: value 887"));
        }
        tiny_files_dispose(&files);
    }
}

static bool scenario(void *user)
{
    const tiny_files *files = user;
    eng_model_memory memory = tiny_memory(files);
    tk_err err = TK_ERR_INIT;
    eng_pool *own = NULL;
    eng_model *model = NULL;
    eng_adapter *adapter = NULL;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    bool ok = eng_pool_new(&own, 2, &err) == TINKC_OK &&
              eng_model_open_memory(&model, own, &memory, &err) == TINKC_OK &&
              eng_adapter_new(&adapter, model, &config, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_E_NOMEM);
    eng_adapter_free(adapter);
    eng_model_free(model);
    eng_pool_free(own);
    return ok;
}

static void test_allocation_failures(void **unused)
{
    tiny_files files;
    tiny_files_init(&files, &tiny_qwen3);
    assert_true(failmem_sweep(scenario, &files, 1) > 10);
    files.held = ENG_WEIGHTS_INT8;
    assert_true(failmem_sweep(scenario, &files, 1) > 10);
    tiny_files_dispose(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_directory_equals_memory),
        cmocka_unit_test(test_file_is_cut_under_the_model),
        cmocka_unit_test(test_bf16_equals_widened),
        cmocka_unit_test(test_int8_equals_rounded),
        cmocka_unit_test(test_wrong_tensors_are_named),
        cmocka_unit_test(test_bad_numbers_are_named),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("eng_model", tests, set_up, tear_down);
}
