/* Decoding equals training: hidden states and logits of a token are the same bits when
 * the sequence goes through whole, in pieces over the key/value blocks, one token at a
 * time, or together with other sequences and adapters. */
#include "engine/eng_forward.h"

#include "base/mem.h"
#include "engine/eng_head.h"
#include "engine/eng_rng.h"
#include "engine/support/tiny.h"
#include "support/test.h"

#define TOKENS 70 /* crosses a key/value block */
#define OTHERS 3

static const tiny_spec spec = {.architecture = "Qwen3ForCausalLM",
                               .hidden = 28,
                               .intermediate = 50,
                               .layers = 2,
                               .heads = 6,
                               .kv_heads = 3,
                               .head_dim = 10,
                               .vocabulary = 61,
                               .seed = 4};

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapters[2]; /* of different rank */
    int32_t tokens[TOKENS];
    eng_work blocks, work;
} scene;

static void scene_init(scene *s, unsigned threads)
{
    tk_err err = TK_ERR_INIT;
    eng_rng rng;
    *s = (scene){.pool = NULL};
    tiny_files_init(&s->files, &spec);
    assert_int_equal(eng_pool_new(&s->pool, threads, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    for (size_t i = 0; i < 2; i++) {
        eng_lora_config config = ENG_LORA_CONFIG_INIT;
        config.rank = 3 + 14 * i;
        config.seed = i;
        assert_int_equal(eng_adapter_new(&s->adapters[i], s->model, &config, &err),
                         TINKC_OK);
        for (size_t j = 0; j < s->adapters[i]->n; j++) {
            s->adapters[i]->weights[j] += 0.01f * (float)(j % 11);
        }
        eng_adapter_repack(s->adapters[i]);
    }
    eng_rng_init(&rng, 6, 6);
    for (size_t i = 0; i < TOKENS; i++) {
        s->tokens[i] = (int32_t)(eng_rng_next(&rng) % spec.vocabulary);
    }
}

static void scene_dispose(scene *s)
{
    eng_work_dispose(&s->blocks);
    eng_work_dispose(&s->work);
    eng_adapter_free(s->adapters[0]);
    eng_adapter_free(s->adapters[1]);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

/* Blocks for the whole sequence; nothing computed yet. */
static eng_seq new_seq(scene *s, const eng_adapter *adapter)
{
    eng_seq seq = {.tokens = s->tokens, .n = TOKENS, .adapter = adapter};
    assert_int_equal(eng_seq_make_blocks(&seq, s->model, &s->blocks), TINKC_OK);
    return seq;
}

/* Runs sequences together; the last hidden state and logits of the first one's rows go to
 * the caller. */
static void run(scene *s, const eng_seq *seqs, size_t n, eng_keep keep, float *hidden,
                float *logits)
{
    tk_err err = TK_ERR_INIT;
    eng_acts acts;
    eng_work_reset(&s->work);
    assert_int_equal(eng_acts_init(&acts, s->model, &s->work, seqs, n, keep), TINKC_OK);
    assert_int_equal(eng_forward(&acts, &err), TINKC_OK);
    memcpy(hidden, acts.hidden, seqs[0].n * spec.hidden * sizeof(float));
    eng_logits l = {.model = s->model,
                    .adapter = seqs[0].adapter,
                    .x = acts.hidden,
                    .rows = seqs[0].n,
                    .logits = logits,
                    .u = eng_work_reals(&s->work, seqs[0].n, 32)};
    assert_int_equal(eng_head_logits(&l, &err), TINKC_OK);
}

static float whole[TOKENS * 28], whole_logits[TOKENS * 61];
static float part[TOKENS * 28], part_logits[TOKENS * 61];

static void check_rows(size_t first, size_t n)
{
    assert_memory_equal(part, whole + first * spec.hidden,
                        n * spec.hidden * sizeof(float));
    assert_memory_equal(part_logits, whole_logits + first * spec.vocabulary,
                        n * spec.vocabulary * sizeof(float));
}

/* The sequence in pieces that end at `cuts`, each beside other sequences. */
static void check_pieces(scene *s, const size_t *cuts, size_t n_cuts)
{
    const eng_adapter *mixed[OTHERS] = {s->adapters[1], NULL, s->adapters[0]};
    eng_seq seqs[1 + OTHERS];
    seqs[0] = new_seq(s, s->adapters[0]);
    for (size_t i = 0; i < OTHERS; i++) {
        seqs[1 + i] = new_seq(s, mixed[i]);
        seqs[1 + i].n = 2 + i; /* different prompts */
    }
    size_t done = 0;
    for (size_t i = 0; i < n_cuts; i++) {
        seqs[0].tokens = s->tokens + done;
        seqs[0].pos = done;
        seqs[0].n = cuts[i] - done;
        run(s, seqs, 1 + OTHERS, ENG_KEEP_NOTHING, part, part_logits);
        check_rows(done, seqs[0].n);
        done = cuts[i];
    }
    assert_int_equal(done, TOKENS);
}

static void check_table(const char *name)
{
    static const unsigned threads[] = {1, 2, 7};
    static const size_t few[] = {1, 6, 13, 37, 64, TOKENS};
    size_t each[TOKENS];
    assert_true(eng_kern_select(name));
    for (size_t i = 0; i < TOKENS; i++) {
        each[i] = i + 1;
    }
    for (size_t t = 0; t < TK_ARRAY_LEN(threads); t++) {
        scene s;
        scene_init(&s, threads[t]);
        eng_seq seq = new_seq(&s, s.adapters[0]);
        run(&s, &seq, 1, ENG_KEEP_ALL, whole, whole_logits);
        run(&s, &seq, 1, ENG_KEEP_INPUTS, part, part_logits);
        check_rows(0, TOKENS);
        check_pieces(&s, few, TK_ARRAY_LEN(few));
        check_pieces(&s, each, TOKENS);
        scene_dispose(&s);
    }
}

static void test_decoding_equals_training(void **unused)
{
    const char *name;
    for (size_t i = 0; (name = eng_kern_name(i)) != NULL; i++) {
        check_table(name);
    }
}

/* The log-probability of a token is one number: from a row alone and from a piece. */
static void test_softmax_of_a_row(void **unused)
{
    enum { WIDE = 3000 };
    static float logits[WIDE], kept[WIDE];
    eng_rng rng;
    eng_rng_init(&rng, 2, 2);
    for (size_t i = 0; i < WIDE; i++) {
        kept[i] = (float)eng_rng_unit(&rng) * 30 - 10;
    }
    double sum = 0;
    memcpy(logits, kept, sizeof(logits));
    eng_softmax soft = eng_head_softmax(logits, WIDE);
    for (size_t i = 0; i < WIDE; i++) {
        sum += (double)logits[i];
    }
    assert_true(sum / soft.sum - 1 < 1e-6 && 1 - sum / soft.sum < 1e-6);
    double total = 0; /* the probabilities add up to one */
    for (size_t i = 0; i < WIDE; i++) {
        float logprob = eng_head_logprob(&soft, kept[i]);
        assert_true(logprob <= 0);
        total += (double)logits[i] / soft.sum;
    }
    assert_true(total > 1 - 1e-6 && total < 1 + 1e-6);
    float one = 3;
    soft = eng_head_softmax(&one, 1);
    assert_true(eng_head_logprob(&soft, 3) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoding_equals_training),
        cmocka_unit_test(test_softmax_of_a_row),
    };
    return cmocka_run_group_tests_name("eng_forward", tests, NULL, NULL);
}
