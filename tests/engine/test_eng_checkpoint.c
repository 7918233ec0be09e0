/* Checkpoints: what is written, that training goes on from them as if it had never
 * stopped, and that failed writes leave nothing behind. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/mem.h"
#include "engine/support/checkpoint.h"
#include "support/failmem.h"

static void assert_same(const eng_adapter *a, const eng_adapter *b)
{
    size_t bytes = a->n * sizeof(eng_real);
    assert_true(a->n == b->n);
    assert_memory_equal(a->weights, b->weights, bytes);
    assert_memory_equal(a->moment1, b->moment1, bytes);
    if (a->config.optimizer == ENG_ADAMW) {
        assert_memory_equal(a->moment2, b->moment2, bytes);
    }
    assert_memory_equal(a->grads, b->grads, bytes);
    assert_true(a->steps == b->steps);
}

/* Saved, loaded elsewhere, continued: the same bits as never stopped. */
static void test_continue(void **unused)
{
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

/* The same with Dimuon, over other numbers of threads on either side; the state of one
 * optimizer is not loaded into a model of the other. */
static void test_continue_dimuon(void **unused)
{
    scene s, two;
    tk_err err = TK_ERR_INIT;
    eng_checkpoint_info info;
    scene_init(&s, &tiny_qwen3, 1);
    scene_init(&two, &tiny_qwen3, 3);
    eng_adapter *first = fresh_with(&s, 5, ENG_DIMUON);
    assert_null(first->moment2);
    train(first, 0, 3);
    save(&s, first, true);
    train(first, 3, 3);
    assert_int_equal(eng_checkpoint_read_info(&info, s.at, &err), TINKC_OK);
    assert_int_equal(info.lora.optimizer, ENG_DIMUON);
    eng_adapter *second = fresh_with(&two, 99, ENG_DIMUON);
    train(second, 1, 1);
    assert_int_equal(eng_adapter_load(second, s.at, true, &err), TINKC_OK);
    assert_int_equal(eng_adapter_steps(second), 3);
    train(second, 3, 3);
    assert_same(second, first);
    assert_int_equal(eng_adapter_load(two.adapter, s.at, true, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "the state of dimuon, the model's optimizer is"));
    assert_int_equal(eng_adapter_load(two.adapter, s.at, false, NULL), TINKC_OK);
    save(&two, two.adapter, true);
    tk_err other = TK_ERR_INIT;
    assert_int_equal(eng_adapter_load(second, two.at, true, &other), TINKC_E_INVALID);
    eng_adapter *open = NULL;
    assert_int_equal(eng_adapter_open(&open, s.model, s.at, NULL), TINKC_OK);
    eng_adapter_free(open);
    eng_adapter_free(first);
    eng_adapter_free(second);
    scene_dispose(&s);
    scene_dispose(&two);
}

static void test_weights_only(void **unused)
{
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
    assert_true(opened->frozen);
    assert_true(opened->config.rank == 3);
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

/* The weights' file of a checkpoint or of an export, as text. */
static bool weights_say(const char *directory, const char *text)
{
    char path[512], *bytes = NULL;
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/adapter_model.safetensors", directory);
    assert_int_equal(tk_file_read(&bytes, &n, path, 1 << 20, NULL), TINKC_OK);
    bool found = memmem(bytes, n, text, strlen(text)) != NULL;
    tk_free(bytes);
    return found;
}

/* A checkpoint says that its base model was rounded; it loads as others do. What is made
 * for PEFT says nothing, and neither does a checkpoint of other weights. */
static void test_int8_is_recorded(void **unused)
{
    for (size_t int8 = 0; int8 < 2; int8++) {
        tiny_spec spec = tiny_llama;
        spec.int8 = int8 == 1;
        scene s;
        eng_save_options options = {true, NULL};
        scene_init(&s, &spec, 1);
        assert_int_equal(eng_adapter_save(s.adapter, s.at, &options, NULL), TINKC_OK);
        assert_int_equal(weights_say(s.at, "\"base_precision\":\"INT8\""), int8);
        eng_checkpoint_info info;
        assert_int_equal(eng_checkpoint_read_info(&info, s.at, NULL), TINKC_OK);
        assert_int_equal(info.int8, int8);
        eng_adapter *again = NULL;
        assert_int_equal(eng_adapter_open(&again, s.model, s.at, NULL), TINKC_OK);
        assert_memory_equal(again->weights, s.adapter->weights,
                            again->n * sizeof(eng_real));
        eng_adapter_free(again);
        remove_directory(s.at);
        assert_int_equal(eng_adapter_export_peft(s.adapter, s.at, &options, NULL),
                         TINKC_OK);
        assert_false(weights_say(s.at, "base_precision"));
        remove_directory(s.at);
        scene_dispose(&s);
    }
}

/* ---- writing that fails ---- */

/* What could not be loaded is not saved, as after steps with an absurd rate. */
static void test_not_finite(void **unused)
{
    scene s;
    eng_save_options options = {true, NULL};
    scene_init(&s, &tiny_llama, 1);
    s.adapter->moment2[1] = INFINITY;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_adapter_save(s.adapter, s.at, &options, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "moments"));
    options.optimizer = false;
    assert_int_equal(eng_adapter_save(s.adapter, s.at, &options, NULL), TINKC_OK);
    remove_directory(s.at);
    s.adapter->weights[s.adapter->n - 1] = NAN;
    tk_err_clear(&err);
    assert_int_equal(eng_adapter_save(s.adapter, s.at, &options, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "the weights are NaN or infinite"));
    assert_int_equal(eng_adapter_export_peft(s.adapter, s.at, &options, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(count_entries(s.home), 0);
    scene_dispose(&s);
}

static void test_write_failures(void **unused)
{
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
        cmocka_unit_test(test_continue_dimuon),
        cmocka_unit_test(test_weights_only),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_int8_is_recorded),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_write_failures),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("eng_checkpoint", tests, NULL, NULL);
}
