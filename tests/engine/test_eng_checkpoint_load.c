/* Reading checkpoints: what does not fit, what is damaged and what others wrote is
 * refused by name, and changes nothing. */
#include <math.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/support/checkpoint.h"

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
    static const struct {
        eng_lora_config config;
        const char *part;
    } cases[] = {
        {{4, 32, true, true, true, 0, ENG_ADAMW}, "rank 3, the model has rank 4"},
        {{3, 16, true, true, true, 0, ENG_ADAMW}, "lora_alpha"},
        {{3, 32, false, true, true, 0, ENG_ADAMW},
         "train_attn is true in the checkpoint and false"},
        {{3, 32, true, false, true, 0, ENG_ADAMW}, "train_mlp is true"},
        {{3, 32, true, true, false, 0, ENG_ADAMW}, "train_unembed is true"},
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

/* ---- tensors of other programs ---- */

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
    eng_lora_config attn = {3, 32, true, false, false, 1, ENG_ADAMW};
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

/* The number of the next step may not wrap around: its bias correction would divide by
 * 0. */
static void test_bad_step_count(void **unused)
{
    scene s;
    scene_init(&s, &tiny_llama, 1);
    s.adapter->steps = UINT64_MAX;
    save(&s, s.adapter, true);
    s.adapter->steps = 0;
    expect_load(&s, s.adapter, true, "no step count");
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mismatch),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_bad_config),  cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_bad_moments), cmocka_unit_test(test_bad_step_count),
    };
    return cmocka_run_group_tests_name("eng_checkpoint_load", tests, NULL, NULL);
}
