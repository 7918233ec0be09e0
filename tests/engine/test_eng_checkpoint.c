/* Checkpoints: what is written, that training goes on from them as if it had never
 * stopped, and that damaged ones and failed writes change nothing. */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/support/tiny.h"
#include "support/failmem.h"
#include "support/test.h"

#define N 6

static const int32_t tokens[N] = {1, 7, 3, 9, 2, 4};
static const int64_t targets[N] = {7, 3, 9, 2, 4, 0};

typedef struct scene {
    char home[64]; /* a directory of the test's own */
    char at[128];  /* the checkpoint in it */
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
} scene;

static eng_adapter *fresh(scene *s, uint64_t seed)
{
    tk_err err = TK_ERR_INIT;
    eng_adapter *adapter = NULL;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 3;
    config.seed = seed;
    assert_int_equal(eng_adapter_new(&adapter, s->model, &config, &err), TINKC_OK);
    return adapter;
}

static void scene_init(scene *s, const tiny_spec *spec, unsigned threads)
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

static size_t count_entries(const char *directory)
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

static void remove_directory(const char *directory)
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

static void scene_dispose(scene *s)
{
    eng_adapter_free(s->adapter);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
    remove_directory(s->at);
    remove_directory(s->home);
}

static void train(eng_adapter *adapter, int first, int steps)
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
        assert_int_equal(eng_adapter_forward_backward(&result, adapter, &request, NULL),
                         TINKC_OK);
        eng_result_free(result);
        assert_int_equal(eng_adapter_optim_step(adapter, &adam, &norm, NULL), TINKC_OK);
    }
}

static void save(const scene *s, const eng_adapter *adapter, bool optimizer)
{
    tk_err err = TK_ERR_INIT;
    eng_save_options options = {optimizer, "tiny/llama"};
    if (eng_adapter_save(adapter, s->at, &options, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
}

static void assert_same(const eng_adapter *a, const eng_adapter *b)
{
    size_t bytes = a->n * sizeof(eng_real);
    assert_true(a->n == b->n);
    assert_memory_equal(a->weights, b->weights, bytes);
    assert_memory_equal(a->moment1, b->moment1, bytes);
    assert_memory_equal(a->moment2, b->moment2, bytes);
    assert_memory_equal(a->grads, b->grads, bytes);
    assert_true(a->steps == b->steps);
}

/* Saved, loaded elsewhere, continued: the same bits as never stopped. */
static void test_continue(void **unused)
{
    (void)unused;
    static const unsigned threads[] = {1, 2, 7};
    const tiny_spec *specs[] = {&tiny_llama, &tiny_qwen2, &tiny_qwen3};
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        scene s;
        tk_err err = TK_ERR_INIT;
        scene_init(&s, specs[i], threads[i]);
        train(s.adapter, 0, 3);
        save(&s, s.adapter, true);
        train(s.adapter, 3, 3);
        eng_adapter *other = fresh(&s, 99);
        train(other, 1, 1); /* what it had must not show */
        assert_int_equal(eng_adapter_load(other, s.at, true, &err), TINKC_OK);
        assert_int_equal(eng_adapter_steps(other), 3);
        train(other, 3, 3);
        assert_same(other, s.adapter);
        eng_adapter_free(other);
        scene_dispose(&s);
    }
}

static void test_weights_only(void **unused)
{
    (void)unused;
    scene s;
    tk_err err = TK_ERR_INIT;
    scene_init(&s, &tiny_llama, 1);
    train(s.adapter, 0, 2);
    save(&s, s.adapter, false);
    eng_adapter *other = fresh(&s, 99);
    train(other, 0, 1);
    other->grads[0] = 1;
    other->has_grads = true;
    eng_adapter *want = fresh(&s, 5);
    memcpy(want->weights, s.adapter->weights, want->n * sizeof(eng_real));
    assert_int_equal(eng_adapter_load(other, s.at, true, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "no optimizer state"));
    assert_int_equal(eng_adapter_load(other, s.at, false, NULL), TINKC_OK);
    assert_same(other, want);
    assert_false(other->has_grads);
    eng_adapter_free(other);
    eng_adapter_free(want);
    scene_dispose(&s);
}

static void test_open(void **unused)
{
    (void)unused;
    scene s;
    eng_adapter *opened = NULL;
    eng_checkpoint_info info;
    scene_init(&s, &tiny_qwen3, 2);
    train(s.adapter, 0, 2);
    save(&s, s.adapter, true);
    assert_int_equal(eng_checkpoint_read_info(&info, s.at, NULL), TINKC_OK);
    assert_true(info.lora.rank == 3 && info.lora.train_attn && info.lora.train_mlp);
    assert_true(info.lora.train_unembed && info.has_optimizer && info.steps == 2);
    assert_true(info.lora.alpha >= 32 && info.lora.alpha <= 32);
    assert_int_equal(eng_adapter_open(&opened, s.model, s.at, NULL), TINKC_OK);
    assert_true(eng_adapter_is_frozen(opened));
    assert_true(eng_adapter_config(opened)->rank == 3);
    assert_memory_equal(opened->weights, s.adapter->weights,
                        opened->n * sizeof(eng_real));
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_adapter_load(opened, s.at, false, &err), TINKC_E_INVALID);
    eng_save_options all = {true, NULL};
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/two", s.home);
    assert_int_equal(eng_adapter_save(opened, path, &all, NULL), TINKC_E_INVALID);
    all.optimizer = false; /* frozen weights can be saved as such */
    assert_int_equal(eng_adapter_save(opened, path, &all, NULL), TINKC_OK);
    remove_directory(path);
    eng_adapter_free(opened);
    scene_dispose(&s);
}

static void assert_names(const char *directory, const char *head, size_t layers)
{
    char path[256], name[160];
    eng_st *st = NULL;
    (void)snprintf(path, sizeof(path), "%s/adapter_model.safetensors", directory);
    assert_int_equal(eng_st_open_file(&st, path, NULL), TINKC_OK);
    assert_true(eng_st_count(st) == 2 * (7 * layers + 1));
    (void)snprintf(name, sizeof(name), "base_model.model.%s.lora_B.weight", head);
    const eng_st_tensor *t = eng_st_find(st, tk_str_of(name));
    assert_non_null(t);
    assert_true(t->dtype == ENG_F32 && t->n_dims == 2 && t->shape[1] == 3);
    t = eng_st_find(
        st, TK_STR("base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight"));
    assert_non_null(t);
    assert_true(t->shape[0] == 3);
    assert_non_null(eng_st_find(
        st, TK_STR("base_model.model.model.layers.0.mlp.down_proj.lora_B.weight")));
    eng_st_close(st);
}

static void assert_text(const char *directory, const char *member, const char *part)
{
    char path[256], *text = NULL;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, member);
    assert_int_equal(tk_file_read(&text, NULL, path, 65536, NULL), TINKC_OK);
    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }
    tk_free(text);
}

/* The archive's names and PEFT's, which differ in the head. */
static void test_names(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s, &tiny_llama, 1);
    save(&s, s.adapter, false);
    size_t layers = s.model->config.layers;
    assert_names(s.at, "model.unembed_tokens", layers);
    assert_text(s.at, "adapter_config.json", "\"target_modules\":\"all-linear\"");
    assert_text(s.at, "adapter_config.json", "\"r\":3,\"lora_alpha\":32,");
    assert_text(s.at, "adapter_config.json",
                "\"base_model_name_or_path\":\"tiny/llama\"");
    assert_text(s.at, "checksums.json", "\"adapter_model.safetensors\":\"");
    assert_true(count_entries(s.at) == 4);
    assert_true(count_entries(s.home) == 1);
    remove_directory(s.at);
    eng_save_options options = {true, NULL};
    assert_int_equal(eng_adapter_export_peft(s.adapter, s.at, &options, NULL), TINKC_OK);
    assert_names(s.at, "lm_head", layers);
    assert_text(s.at, "adapter_config.json",
                "[\"down_proj\",\"gate_proj\",\"k_proj\",\"lm_head\",\"o_proj\","
                "\"q_proj\",\"up_proj\",\"v_proj\"]");
    assert_text(s.at, "adapter_config.json", "\"base_model_name_or_path\":null");
    assert_true(count_entries(s.at) == 2);
    eng_adapter *other = fresh(&s, 7);
    assert_int_equal(eng_adapter_load(other, s.at, false, NULL), TINKC_OK);
    assert_memory_equal(other->weights, s.adapter->weights, other->n * sizeof(eng_real));
    eng_adapter_free(other);
    scene_dispose(&s);
}

/* ---- what does not fit ---- */

static void expect_load(const scene *s, eng_adapter *adapter, bool optimizer,
                        const char *part)
{
    tk_err err = TK_ERR_INIT;
    size_t bytes = adapter->n * sizeof(eng_real);
    eng_real *before = tk_memdup(adapter->weights, bytes);
    assert_non_null(before);
    tinkc_code code = eng_adapter_load(adapter, s->at, optimizer, &err);
    assert_int_not_equal(code, TINKC_OK);
    assert_int_equal(code, err.code);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    }
    assert_memory_equal(adapter->weights, before, bytes);
    tk_free(before);
}

static void test_mismatch(void **unused)
{
    (void)unused;
    static const struct {
        eng_lora_config config;
        const char *part;
    } cases[] = {
        {{4, 32, true, true, true, 0}, "rank 3, the model has rank 4"},
        {{3, 16, true, true, true, 0}, "lora_alpha"},
        {{3, 32, false, true, true, 0}, "train_attn is true in the checkpoint and false"},
        {{3, 32, true, false, true, 0}, "train_mlp is true"},
        {{3, 32, true, true, false, 0}, "train_unembed is true"},
    };
    scene s;
    scene_init(&s, &tiny_llama, 1);
    save(&s, s.adapter, true);
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        eng_adapter *other = NULL;
        assert_int_equal(eng_adapter_new(&other, s.model, &cases[i].config, NULL),
                         TINKC_OK);
        expect_load(&s, other, true, cases[i].part);
        eng_adapter_free(other);
    }
    scene wide;
    tiny_spec spec = tiny_llama;
    spec.intermediate += 1;
    scene_init(&wide, &spec, 1);
    expect_load(&s, wide.adapter, true, "the shape of");
    spec = tiny_llama;
    spec.layers -= 1;
    eng_adapter_free(wide.adapter);
    eng_model_free(wide.model);
    tiny_files_dispose(&wide.files);
    tiny_files_init(&wide.files, &spec);
    wide.model = tiny_open(wide.pool, &wide.files);
    wide.adapter = fresh(&wide, 1);
    expect_load(&s, wide.adapter, false, "a layer that the model does not have");
    scene_dispose(&wide);
    scene_dispose(&s);
}

/* ---- damaged members ---- */

static void write_member(const scene *s, const char *name, const char *data, size_t n)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", s->at, name);
    assert_int_equal(tk_file_replace(path, data, n, 0666, NULL), TINKC_OK);
}

static char *read_member(const scene *s, const char *name, size_t *n)
{
    char path[256], *data = NULL;
    (void)snprintf(path, sizeof(path), "%s/%s", s->at, name);
    assert_int_equal(tk_file_read(&data, n, path, TK_MIB * 64, NULL), TINKC_OK);
    return data;
}

static void drop_member(const scene *s, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", s->at, name);
    assert_int_equal(unlink(path), 0);
}

/* Cut short, one bit changed, gone: each member, with and without checksums. */
static void damage(scene *s, const char *name, bool checksums)
{
    size_t n;
    char *data = read_member(s, name, &n);
    for (size_t i = 0; i < 24; i++) {
        write_member(s, name, data, n * i / 24);
        expect_load(s, s->adapter, true, "");
    }
    for (size_t i = 0; checksums && i < 24; i++) {
        data[n * i / 24] ^= 1;
        write_member(s, name, data, n);
        expect_load(s, s->adapter, true, "");
        data[n * i / 24] ^= 1;
    }
    drop_member(s, name);
    expect_load(s, s->adapter, true, "");
    write_member(s, name, data, n);
    tk_free(data);
}

static void test_damage(void **unused)
{
    (void)unused;
    static const char *const members[] = {
        "adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors"};
    scene s;
    scene_init(&s, &tiny_llama, 1);
    train(s.adapter, 0, 1);
    save(&s, s.adapter, true);
    train(s.adapter, 1, 1);
    for (size_t i = 0; i < TK_ARRAY_LEN(members); i++) {
        damage(&s, members[i], true);
    }
    drop_member(&s, "checkpoint_complete");
    expect_load(&s, s.adapter, false, "not complete");
    write_member(&s, "checkpoint_complete", "", 0);
    write_member(&s, "checksums.json", "{}", 2);
    expect_load(&s, s.adapter, false, "has no checksum");
    write_member(&s, "checksums.json", "[]", 2);
    expect_load(&s, s.adapter, false, "not a JSON object");
    drop_member(&s, "checksums.json");
    for (size_t i = 0; i < TK_ARRAY_LEN(members); i++) {
        damage(&s, members[i], false);
    }
    assert_int_equal(eng_adapter_load(s.adapter, s.at, true, NULL), TINKC_OK);
    scene_dispose(&s);
}

static void test_bad_config(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "is not JSON"},
        {"3", "not a JSON object"},
        {"{\"lora_alpha\":32}", "rank"},
        {"{\"r\":0,\"lora_alpha\":32}", "rank"},
        {"{\"r\":5000,\"lora_alpha\":32}", "rank"},
        {"{\"r\":\"3\",\"lora_alpha\":32}", "rank"},
        {"{\"r\":3}", "lora_alpha"},
        {"{\"r\":3,\"lora_alpha\":-1}", "lora_alpha"},
        {"{\"r\":3,\"lora_alpha\":32,\"use_dora\":true}", "use_dora is not supported"},
        {"{\"r\":3,\"lora_alpha\":32,\"use_rslora\":true}", "use_rslora"},
        {"{\"r\":3,\"lora_alpha\":32,\"rank_pattern\":{\"q_proj\":8}}", "rank_pattern"},
        {"{\"r\":3,\"lora_alpha\":32,\"modules_to_save\":[\"lm_head\"]}",
         "modules_to_save"},
        {"{\"r\":3,\"lora_alpha\":32,\"bias\":\"all\"}", "bias must be none"},
        {"{\"r\":3,\"lora_alpha\":32,\"peft_type\":\"IA3\"}", "peft_type must be LORA"},
        {"{\"r\":2,\"lora_alpha\":32}", "is not of rank 2"},
    };
    scene s;
    scene_init(&s, &tiny_llama, 1);
    save(&s, s.adapter, false);
    drop_member(&s, "checksums.json");
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        write_member(&s, "adapter_config.json", cases[i].text, strlen(cases[i].text));
        expect_load(&s, s.adapter, false, cases[i].part);
    }
    const char *good = "{\"r\":3,\"lora_alpha\":32.0,\"rank_pattern\":{},\"bias\":null,"
                       "\"modules_to_save\":null,\"use_dora\":false}";
    write_member(&s, "adapter_config.json", good, strlen(good));
    assert_int_equal(eng_adapter_load(s.adapter, s.at, false, NULL), TINKC_OK);
    scene_dispose(&s);
}

/* ---- other people's tensors ---- */

typedef struct foreign {
    const char *name;
    size_t shape[2];
    float value;
} foreign;

static void write_foreign(const scene *s, const char *member, const foreign *tensors,
                          size_t n)
{
    static float data[8][4096];
    eng_st_entry entries[8];
    const char *const metadata[] = {"steps", "1", NULL};
    tk_buf out;
    assert_true(n <= 8);
    for (size_t i = 0; i < n; i++) {
        size_t count = tensors[i].shape[0] * tensors[i].shape[1];
        assert_true(count <= 4096);
        for (size_t j = 0; j < count; j++) {
            data[i][j] = tensors[i].value;
        }
        entries[i] =
            (eng_st_entry){tensors[i].name, ENG_F32, tensors[i].shape, 2, data[i]};
    }
    tk_buf_init(&out, TK_MIB);
    eng_st_put(&out, &(eng_st_file){entries, n, metadata});
    assert_int_equal(out.failure, TINKC_OK);
    write_member(s, member, out.p, out.n);
    tk_buf_dispose(&out);
}

#define Q_A "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
#define Q_B "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"

static void test_foreign(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s, &tiny_llama, 1);
    save(&s, s.adapter, false);
    drop_member(&s, "checksums.json");
    const eng_lora *q = eng_adapter_module(s.adapter, 0, ENG_Q);
    foreign t[4] = {{Q_A, {3, q->in}, 1}, {Q_B, {q->out, 3}, 2}};
    eng_adapter *opened = NULL;
    /* q alone, as PEFT allows: opened for sampling, refused for training */
    write_foreign(&s, "adapter_model.safetensors", t, 2);
    assert_int_equal(eng_adapter_open(&opened, s.model, s.at, NULL), TINKC_OK);
    assert_true(opened->config.train_attn && !opened->config.train_mlp);
    const eng_lora *k = eng_adapter_module(opened, 0, ENG_K);
    assert_true(opened->weights[eng_adapter_module(opened, 0, ENG_Q)->b_at] > 1);
    assert_true(opened->weights[k->a_at] <= 0 && opened->weights[k->b_at] <= 0);
    eng_lora_config attn = {3, 32, true, false, false, 1};
    eng_adapter *other = NULL;
    assert_int_equal(eng_adapter_new(&other, s.model, &attn, NULL), TINKC_OK);
    expect_load(&s, other, false,
                "lacks base_model.model.model.layers.0.self_attn.k_proj");
    eng_adapter_free(other);
    eng_adapter_free(opened);
    opened = NULL;
    static const foreign bad[] = {
        {"base_model.model.model.norm.weight", {3, 3}, 1},
        {"base_model.model.model.layers.07.self_attn.q_proj.lora_A.weight", {3, 3}, 1},
        {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.bias", {3, 3}, 1},
        {"base_model.model.model.layers.0.self_attn.qq_proj.lora_A.weight", {3, 3}, 1},
        {"base_model.model.model.layers.99999999999999999999.mlp.up_proj.lora_A.weight",
         {3, 3},
         1},
        {"base_model.model.model.layers.900.mlp.up_proj.lora_A.weight", {3, 3}, 1},
        {"base_model.model.model.layers.0.mlp.up_proj.lora_A.weight", {3, 7}, 1},
        {"lora_A", {3, 3}, 1},
        {"", {3, 3}, 1},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_err err = TK_ERR_INIT;
        t[2] = bad[i];
        write_foreign(&s, "adapter_model.safetensors", t, 3);
        if (eng_adapter_open(&opened, s.model, s.at, &err) == TINKC_OK) {
            fail_msg("%s was read", bad[i].name);
        }
        assert_int_not_equal(err.code, TINKC_OK);
    }
    write_foreign(&s, "adapter_model.safetensors", t, 1); /* A without B */
    assert_int_equal(eng_adapter_open(&opened, s.model, s.at, NULL), TINKC_E_INVALID);
    write_foreign(&s, "adapter_model.safetensors", t, 0);
    assert_int_equal(eng_adapter_open(&opened, s.model, s.at, NULL), TINKC_E_DECODE);
    t[1].value = NAN;
    write_foreign(&s, "adapter_model.safetensors", t, 2);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_adapter_open(&opened, s.model, s.at, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "NaN"));
    foreign heads[] = {{"base_model.model.lm_head.lora_A.weight", {3, q->in}, 1},
                       {"base_model.model.model.lm_head.lora_A.weight", {3, q->in}, 1}};
    write_foreign(&s, "adapter_model.safetensors", heads, 2);
    err = (tk_err)TK_ERR_INIT;
    assert_int_equal(eng_adapter_open(&opened, s.model, s.at, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "under two names"));
    scene_dispose(&s);
}

/* A second moment below 0 would give NaN at the next step. */
static void test_bad_moments(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s, &tiny_llama, 1);
    train(s.adapter, 0, 1);
    s.adapter->moment2[4] = -1;
    save(&s, s.adapter, true);
    s.adapter->moment2[4] = 1;
    expect_load(&s, s.adapter, true, "below 0");
    assert_int_equal(eng_adapter_load(s.adapter, s.at, false, NULL), TINKC_OK);
    scene_dispose(&s);
}

/* ---- writing that fails ---- */

static void test_write_failures(void **unused)
{
    (void)unused;
    scene s;
    eng_save_options options = {true, NULL};
    struct rlimit usual, small;
    char path[256];
    scene_init(&s, &tiny_llama, 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 0; bytes < 40000; bytes = bytes * 2 + 64) { /* the disk is full */
        tk_err err = TK_ERR_INIT;
        small = usual;
        small.rlim_cur = bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        tinkc_code code = eng_adapter_save(s.adapter, s.at, &options, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
        if (code == TINKC_OK) {
            remove_directory(s.at);
            break;
        }
        assert_int_equal(code, TINKC_E_IO);
        assert_int_equal(count_entries(s.home), 0);
    }
    (void)signal(SIGXFSZ, handler);
    (void)snprintf(path, sizeof(path), "%s/no/such", s.home);
    assert_int_equal(eng_adapter_save(s.adapter, path, &options, NULL), TINKC_E_IO);
    assert_int_equal(tk_file_replace(s.at, "x", 1, 0666, NULL), TINKC_OK);
    assert_int_equal(eng_adapter_save(s.adapter, s.at, &options, NULL), TINKC_E_CONFLICT);
    (void)snprintf(path, sizeof(path), "%s/x", s.at);
    assert_int_equal(eng_adapter_save(s.adapter, path, &options, NULL), TINKC_E_IO);
    assert_int_equal(unlink(s.at), 0);
    assert_int_equal(count_entries(s.home), 0);
    (void)snprintf(path, sizeof(path), "%s//", s.at);
    assert_int_equal(eng_adapter_save(s.adapter, path, &options, NULL), TINKC_OK);
    assert_int_equal(eng_adapter_save(s.adapter, s.at, &options, NULL), TINKC_E_CONFLICT);
    assert_int_equal(count_entries(s.home), 1);
    scene_dispose(&s);
}

static bool save_and_load(void *user)
{
    scene *s = user;
    eng_save_options options = {true, "x"};
    eng_adapter *opened = NULL, *other = NULL;
    eng_lora_config config = s->adapter->config;
    config.seed = 3;
    if (eng_adapter_new(&other, s->model, &config, NULL) != TINKC_OK) {
        return false;
    }
    eng_real first = other->weights[0];
    size_t n = count_entries(s->home);
    bool saved = eng_adapter_save(s->adapter, s->at, &options, NULL) == TINKC_OK;
    assert_int_equal(count_entries(s->home), saved ? n + 1 : n);
    bool loaded = saved && eng_adapter_load(other, s->at, true, NULL) == TINKC_OK;
    assert_int_equal(memcmp(&other->weights[0], &first, sizeof(first)) == 0, !loaded);
    bool good = loaded && eng_adapter_open(&opened, s->model, s->at, NULL) == TINKC_OK;
    eng_adapter_free(opened);
    eng_adapter_free(other);
    remove_directory(s->at);
    return good;
}

static void test_allocation_failures(void **unused)
{
    (void)unused;
    scene s;
    scene_init(&s, &tiny_llama, 1);
    train(s.adapter, 0, 1);
    failmem_sweep(save_and_load, &s, 1);
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_continue),
        cmocka_unit_test(test_weights_only),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_bad_config),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_bad_moments),
        cmocka_unit_test(test_write_failures),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("eng_checkpoint", tests, NULL, NULL);
}
