/* The committed model: it opens, its numbers are finite, its greedy text is stable on the
 * generic path, it ends its answers, and text of its kind is likely under it.
 * Links: pretrain */
#include <math.h>

#include "base/mem.h"
#include "engine/eng_kern.h"
#include "sample.h"
#include "support/test.h"

#define PEBBLE TEST_DATA_DIR "/../../models/pebble-llama-2m"

typedef struct scene {
    eng_pool *pool;
    eng_model *model;
    tk_tok *tok;
    const char *kernels; /* of before */
} scene;

static int open_scene(void **state)
{
    scene *s = tk_zalloc(sizeof(*s));
    tk_err err = TK_ERR_INIT;
    assert_non_null(s);
    s->kernels = eng_kern_get()->name;
    assert_true(eng_kern_select("generic"));
    assert_int_equal(tk_tok_load(&s->tok, PEBBLE "/tokenizer.json", &err), TINKC_OK);
    assert_int_equal(eng_pool_new(&s->pool, 1, &err), TINKC_OK);
    assert_int_equal(eng_model_open(&s->model, s->pool, PEBBLE, ENG_WEIGHTS_FILE, &err),
                     TINKC_OK);
    *state = s;
    return 0;
}

static int close_scene(void **state)
{
    scene *s = *state;
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tk_tok_free(s->tok);
    assert_true(eng_kern_select(s->kernels));
    tk_free(s);
    return 0;
}

static tk_tok_ids encode(const scene *s, const char *text)
{
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_tok_encode(s->tok, tk_str_of(text), &ids, &err), TINKC_OK);
    return ids;
}

static void check_greedy(const scene *s, const char *prompt, const char *wanted)
{
    tk_err err = TK_ERR_INIT;
    tk_tok_ids ids = encode(s, prompt);
    size_t given = ids.n;
    pre_sampling how = {.max_tokens = 24};
    assert_int_equal(pre_sample(s->model, &ids, &how, &err), TINKC_OK);
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tk_tok_decode(s->tok, ids.ids + given, ids.n - given, false, &out);
    assert_string_equal(tk_buf_cstr(&out), wanted);
    tk_buf_dispose(&out);
    tk_tok_ids_dispose(&ids);
}

static void test_pebble_opens(void **state)
{
    const scene *s = *state;
    eng_model_info info;
    eng_model_get_info(s->model, &info);
    assert_string_equal(info.architecture, "LlamaForCausalLM");
    assert_true(info.parameters >= 1000000 && info.parameters <= 2000000);
    assert_int_equal(info.vocabulary, tk_tok_size(s->tok));
    assert_int_equal(info.context, 1024);
    assert_int_equal(info.n_eos, 2);
    assert_int_equal(info.eos[0], tk_tok_id(s->tok, TK_STR("<|end|>")));
    assert_int_equal(info.eos[1], tk_tok_id(s->tok, TK_STR("<|endoftext|>")));
}

static void test_pebble_logits_finite(void **state)
{
    const scene *s = *state;
    tk_err err = TK_ERR_INIT;
    eng_real logits[2048];
    int32_t
        tokens[1024]; /* the whole context, each token of the vocabulary once in two */
    for (size_t i = 0; i < 1024; i++) {
        tokens[i] = (int32_t)(2 * i);
    }
    assert_int_equal(pre_logits(s->model, tokens, 1024, logits, &err), TINKC_OK);
    for (size_t i = 0; i < 2048; i++) {
        assert_true(isfinite(logits[i]));
    }
}

static void test_pebble_greedy_is_stable(void **state)
{
    check_greedy(
        *state, "<|endoftext|>Once upon a time",
        ", there was a strong boy named Finn. One afternoon, Finn and Grace wanted to make a muffin. They needed milk");
    check_greedy(*state, "<|endoftext|><|user|>Hello!<|end|><|assistant|>",
                 "Hello! How can I help you?<|end|>");
}

static double score(const scene *s, const char *text)
{
    tk_err err = TK_ERR_INIT;
    tk_tok_ids ids = encode(s, text);
    double loss = 0;
    assert_int_equal(pre_score(s->model, ids.ids, ids.n - 1, &loss, &err), TINKC_OK);
    loss /= (double)(ids.n - 1);
    tk_tok_ids_dispose(&ids);
    return loss;
}

static void test_pebble_prefers_its_language(void **state)
{
    double plain = score(*state, "<|endoftext|>Once upon a time there was a little girl "
                                 "called Anna. She lived near the forest.");
    double mixed = score(*state, "<|endoftext|>forest the near lived. She Anna called "
                                 "girl little a was there time a upon Once");
    assert_true(plain < 2.0);
    assert_true(mixed > plain + 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pebble_opens),
        cmocka_unit_test(test_pebble_logits_finite),
        cmocka_unit_test(test_pebble_greedy_is_stable),
        cmocka_unit_test(test_pebble_prefers_its_language),
    };
    return cmocka_run_group_tests_name("pebble", tests, open_scene, close_scene);
}
