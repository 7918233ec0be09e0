/* The pre-training program's network: it learns, a checkpoint continues bit for bit, what
 * it exports opens as a model with the same numbers.
 * Links: pretrain */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "data.h"
#include "engine/eng_rng.h"
#include "files.h"
#include "sample.h"
#include "support/test.h"

#define PEBBLE TEST_DATA_DIR "/../../models/pebble-llama-2m/tokenizer.json"
#define SEQS   3
#define LENGTH 20

static const pre_shape tiny = {.hidden = 32,
                               .intermediate = 48,
                               .layers = 2,
                               .heads = 4,
                               .kv_heads = 2,
                               .vocabulary = 50,
                               .context = 64};

typedef struct scene {
    pre_net net;
    int32_t tokens[SEQS][LENGTH + 1];
    pre_seq seqs[SEQS];
} scene;

static void scene_init(scene *s)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(pre_net_init(&s->net, &tiny, 3, &err), TINKC_OK);
    eng_rng rng;
    eng_rng_init(&rng, 9, 0);
    for (size_t i = 0; i < SEQS; i++) {
        for (size_t k = 0; k <= LENGTH; k++) {
            s->tokens[i][k] = (int32_t)(eng_rng_next(&rng) % tiny.vocabulary);
        }
        s->seqs[i] = (pre_seq){s->tokens[i], LENGTH};
    }
}

static double train(scene *s, size_t steps)
{
    tk_err err = TK_ERR_INIT;
    eng_adam adam = {.learning_rate = 1e-2,
                     .beta1 = 0.9,
                     .beta2 = 0.98,
                     .eps = 1e-8,
                     .weight_decay = 0.01,
                     .grad_clip_norm = 1};
    double loss = 0, norm = 0;
    for (size_t i = 0; i < steps; i++) {
        double scale = 1.0 / (SEQS * LENGTH);
        assert_int_equal(pre_net_run(&s->net, s->seqs, SEQS, scale, &loss, &err),
                         TINKC_OK);
        assert_int_equal(pre_net_step(&s->net, &adam, &norm, &err), TINKC_OK);
        assert_true(norm > 0);
    }
    return loss / (SEQS * LENGTH);
}

static void test_pretrain_learns(void **unused)
{
    scene s;
    scene_init(&s);
    double first = train(&s, 1);
    assert_true(fabs(first - log(50)) < 0.5);
    assert_true(train(&s, 60) < first / 4);
    pre_net_dispose(&s.net);
}

static void make_directory(char *path, size_t n)
{
    const char *base = getenv("TMPDIR");
    assert_true(
        (size_t)snprintf(path, n, "%s/pretrainXXXXXX", base != NULL ? base : "/tmp") < n);
    assert_non_null(mkdtemp(path));
}

static void remove_file(const char *directory, const char *name)
{
    char *path = tk_file_join(directory, name);
    assert_non_null(path);
    assert_int_equal(unlink(path), 0);
    tk_free(path);
}

static void test_pretrain_resumes(void **unused)
{
    char directory[256];
    make_directory(directory, sizeof(directory));
    char *path = tk_file_join(directory, "c");
    assert_non_null(path);
    tk_err err = TK_ERR_INIT;
    scene a, b;
    scene_init(&a);
    scene_init(&b);
    (void)train(&a, 5);
    (void)train(&b, 2);
    assert_int_equal(pre_files_save(&b.net, 77, path, &err), TINKC_OK);
    pre_net_dispose(&b.net);
    scene_init(&b);
    size_t next = 0;
    assert_int_equal(pre_files_load(&b.net, &next, path, &err), TINKC_OK);
    assert_int_equal(next, 77);
    assert_int_equal(b.net.step, 2);
    (void)train(&b, 3);
    assert_memory_equal(a.net.weights, b.net.weights, a.net.n * sizeof(eng_real));
    assert_memory_equal(a.net.v, b.net.v, a.net.n * sizeof(eng_real));
    pre_net_dispose(&a.net);

    pre_shape other = tiny;
    other.layers = 1;
    assert_int_equal(pre_net_init(&a.net, &other, 3, &err), TINKC_OK);
    assert_int_equal(pre_files_load(&a.net, &next, path, &err), TINKC_E_DECODE);
    tk_err_clear(&err);
    remove_file(directory, "c");
    assert_int_equal(pre_files_load(&a.net, &next, path, &err), TINKC_E_MISSING);
    pre_net_dispose(&a.net);
    pre_net_dispose(&b.net);
    tk_free(path);
    assert_int_equal(rmdir(directory), 0);
}

/* Another run can start from what was exported, if that has its shape. */
static void check_import(const scene *s, const char *directory)
{
    tk_err err = TK_ERR_INIT;
    scene t;
    scene_init(&t);
    assert_int_equal(pre_files_import(&t.net, directory, &err), TINKC_OK);
    assert_memory_equal(t.net.weights, s->net.weights, s->net.n * sizeof(eng_real));
    assert_int_equal(t.net.step, 0);
    eng_real a[50], b[50];
    assert_int_equal(pre_logits(t.net.shards[1].model, s->tokens[0], LENGTH, a, &err),
                     TINKC_OK);
    assert_int_equal(pre_logits(s->net.shards[1].model, s->tokens[0], LENGTH, b, &err),
                     TINKC_OK);
    assert_memory_equal(a, b, sizeof(a));
    pre_net_dispose(&t.net);
    pre_shape other = tiny;
    other.layers = 3;
    assert_int_equal(pre_net_init(&t.net, &other, 3, &err), TINKC_OK);
    assert_int_equal(pre_files_import(&t.net, directory, &err), TINKC_E_DECODE);
    pre_net_dispose(&t.net);
}

/* The exported file holds the weights rounded to bf16, nothing else changed. */
static void test_pretrain_exports(void **unused)
{
    char directory[256];
    make_directory(directory, sizeof(directory));
    tk_err err = TK_ERR_INIT;
    scene s;
    scene_init(&s);
    (void)train(&s, 3);
    assert_int_equal(pre_files_export(&s.net, directory, &err), TINKC_OK);
    eng_model *model = NULL;
    assert_int_equal(
        eng_model_open(&model, s.net.shards[0].pool, directory, ENG_WEIGHTS_FILE, &err),
        TINKC_OK);
    for (size_t i = 0; i < s.net.n; i++) {
        s.net.weights[i] = eng_bf16_to_f32(eng_f32_to_bf16(s.net.weights[i]));
    }
    pre_net_sync(&s.net);
    eng_real a[50], b[50];
    assert_int_equal(pre_logits(model, s.tokens[0], LENGTH, a, &err), TINKC_OK);
    assert_int_equal(pre_logits(s.net.shards[1].model, s.tokens[0], LENGTH, b, &err),
                     TINKC_OK);
    assert_memory_equal(a, b, sizeof(a));
    check_import(&s, directory);
    eng_model_free(model);
    pre_net_dispose(&s.net);
    remove_file(directory, "model.safetensors");
    remove_file(directory, "config.json");
    remove_file(directory, "generation_config.json");
    assert_int_equal(rmdir(directory), 0);
}

/* A text that is too short for a sequence is refused; one that just fits begins again. */
static void test_pretrain_text(void **unused)
{
    char directory[256];
    make_directory(directory, sizeof(directory));
    char *path = tk_file_join(directory, "t");
    tk_err err = TK_ERR_INIT;
    tk_tok *tok = NULL;
    pre_data data;
    assert_int_equal(tk_tok_load(&tok, PEBBLE, &err), TINKC_OK);
    assert_int_equal(tk_file_replace(path, "", 0, 0644, &err), TINKC_OK);
    assert_int_equal(pre_data_load(&data, tok, path, 1, &err), TINKC_E_INVALID);
    assert_int_equal(tk_file_replace(path, "1234\n", 5, 0644, &err), TINKC_OK);
    tk_err_clear(&err);
    assert_int_equal(pre_data_load(&data, tok, path, 5, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "5 tokens, 6 are needed"));
    assert_int_equal(pre_data_load(&data, tok, path, 4, NULL), TINKC_OK);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(pre_data_next(&data, 4).tokens, data.ids.ids);
    }
    pre_data_dispose(&data);
    tk_tok_free(tok);
    remove_file(directory, "t");
    tk_free(path);
    assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pretrain_learns),
        cmocka_unit_test(test_pretrain_resumes),
        cmocka_unit_test(test_pretrain_exports),
        cmocka_unit_test(test_pretrain_text),
    };
    return cmocka_run_group_tests_name("pretrain", tests, NULL, NULL);
}
