/* Gradients of all parameters of the pre-training network against finite differences, in
 * double precision: some entries of every tensor.
 * Links: pretrain_double */
#include <math.h>

#include "engine/eng_rng.h"
#include "net.h"
#include "sample.h"
#include "support/test.h"

#define SEQS   3
#define LENGTH 9
#define STEP   1e-5
#define BAR    1e-5

static const pre_shape tiny = {.hidden = 24,
                               .intermediate = 20,
                               .layers = 2,
                               .heads = 4,
                               .kv_heads = 2,
                               .vocabulary = 19,
                               .context = 16};

typedef struct scene {
    pre_net net;
    int32_t tokens[SEQS][LENGTH + 1];
} scene;

/* In double: pre_net_run's loss is summed over floats. */
static double loss(scene *s)
{
    tk_err err = TK_ERR_INIT;
    eng_real logits[19];
    double sum = 0;
    pre_net_sync(&s->net);
    for (size_t i = 0; i < SEQS; i++) {
        for (size_t n = 1; n <= LENGTH; n++) {
            assert_int_equal(pre_logits(s->net.shards[i % PRE_SHARDS].model, s->tokens[i],
                                        n, logits, &err),
                             TINKC_OK);
            double top = 0, total = 0;
            for (size_t k = 0; k < 19; k++) {
                top = logits[k] > top ? logits[k] : top;
            }
            for (size_t k = 0; k < 19; k++) {
                total += exp(logits[k] - top);
            }
            sum += top + log(total) - logits[s->tokens[i][n]];
        }
    }
    return sum;
}

static void check_entry(scene *s, const pre_tensor *t, size_t i)
{
    eng_real *p = &s->net.weights[t->at + i], kept = *p;
    *p = kept + STEP;
    double plus = loss(s);
    *p = kept - STEP;
    double minus = loss(s);
    *p = kept;
    double want = (plus - minus) / (2 * STEP), have = s->net.shards[0].grads[t->at + i];
    double size = fabs(want) > 1e-3 ? fabs(want) : 1e-3;
    if (!(fabs(want - have) <= BAR * size)) {
        fail_msg("%s %zu: differences say %.12g, backward %.12g", t->name, i, want, have);
    }
}

static void test_pretrain_gradients(void **unused)
{
    scene s;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(pre_net_init(&s.net, &tiny, 3, &err), TINKC_OK);
    eng_rng rng;
    eng_rng_init(&rng, 4, 0);
    for (size_t i = 0; i < s.net.n; i++) { /* norms too: 1 would hide mistakes */
        s.net.weights[i] += 0.4 * (eng_rng_unit(&rng) - 0.5);
    }
    pre_seq seqs[SEQS];
    for (size_t i = 0; i < SEQS; i++) {
        for (size_t k = 0; k <= LENGTH; k++) {
            s.tokens[i][k] = (int32_t)(eng_rng_next(&rng) % tiny.vocabulary);
        }
        seqs[i] = (pre_seq){s.tokens[i], LENGTH};
    }
    pre_net_sync(&s.net);
    double sum = 0;
    assert_int_equal(pre_net_run(&s.net, seqs, SEQS, 1.0, &sum, &err), TINKC_OK);
    pre_net_fold(&s.net);
    assert_true(fabs(sum - loss(&s)) < 1e-4);
    for (size_t i = 0; i < s.net.n_tensors; i++) {
        const pre_tensor *t = &s.net.tensors[i];
        for (size_t k = 0; k < t->n; k += (t->n / 11 + 1) * TEST_TSAN_STRIDE(5)) {
            check_entry(&s, t, k);
        }
    }
    pre_net_dispose(&s.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pretrain_gradients)};
    return cmocka_run_group_tests_name("pretrain_grad", tests, NULL, NULL);
}
