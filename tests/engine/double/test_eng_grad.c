/* The whole model against finite differences, in double precision: every A and B of an
 * adapter with random values, on three families, and the base parameters through the
 * hook. Also GSPO, whose ratio belongs to a sequence. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/eng_head.h"
#include "engine/eng_lora.h"
#include "engine/eng_rng.h"
#include "engine/support/tiny.h"
#include "support/matfix.h"
#include "support/test.h"

#define TOKENS 9
#define STEP   1e-5
#define BAR    1e-5

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
    int32_t tokens[2][TOKENS];
    int64_t targets[2][TOKENS * 2]; /* `columns` per token */
    size_t columns[2];
    float weights[2][TOKENS * 2];
    int64_t shape[2];
    eng_array inputs[2][2];
    eng_datum data[2];
    eng_train_request request;
} scene;

static void scene_init(scene *s, const tiny_spec *spec)
{
    tk_err err = TK_ERR_INIT;
    tiny_files_init(&s->files, spec);
    assert_int_equal(eng_pool_new(&s->pool, 1, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 3;
    config.seed = 5;
    assert_int_equal(eng_adapter_new(&s->adapter, s->model, &config, &err), TINKC_OK);
    eng_rng rng;
    eng_rng_init(&rng, 11, 0);
    for (size_t i = 0; i < s->adapter->n; i++) { /* B too: else dA would be zero */
        s->adapter->weights[i] = 0.2 * (eng_rng_unit(&rng) - 0.5);
    }
    eng_adapter_repack(s->adapter);
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < 2 * TOKENS; i++) {
            s->tokens[d][i / 2] = (int32_t)(eng_rng_next(&rng) % spec->vocabulary);
            s->targets[d][i] = (int64_t)(eng_rng_next(&rng) % spec->vocabulary);
            s->weights[d][i] = i == 4 ? 0.0f : (float)eng_rng_unit(&rng) - 0.2f;
        }
        size_t n = TOKENS - 2 * d; /* two lengths */
        size_t columns = s->columns[d] = 1 + d;
        s->inputs[d][0] = (eng_array){.name = TK_STR("target_tokens"),
                                      .type = ENG_ARRAY_I64,
                                      .values = s->targets[d],
                                      .n_values = n * columns};
        s->inputs[d][1] = (eng_array){.name = TK_STR("weights"),
                                      .type = ENG_ARRAY_F32,
                                      .values = s->weights[d],
                                      .n_values = n * columns};
        s->data[d] = (eng_datum){s->tokens[d], n, s->inputs[d], 2};
    }
    s->targets[1][5] = s->targets[1][4]; /* one id twice in a row */
    s->shape[0] = TOKENS - 2;
    s->shape[1] = 2;
    for (size_t i = 0; i < 2; i++) {
        s->inputs[1][i].shape = s->shape;
        s->inputs[1][i].n_dims = 2;
    }
    s->request = (eng_train_request){
        .loss_fn = TK_STR("cross_entropy"), .data = s->data, .n_data = 2};
}

static void scene_dispose(scene *s)
{
    eng_adapter_free(s->adapter);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

/* In double: sums over the float log-probabilities of the outputs would lose the digits
 * that differences need. */
static void find_logprobs(scene *s, double out[2][2 * TOKENS])
{
    eng_model *model = s->model;
    eng_work *work = &model->work;
    const eng_config *c = &model->config;
    tk_err err = TK_ERR_INIT;
    eng_work_reset(work);
    eng_seq seqs[2];
    for (size_t d = 0; d < 2; d++) {
        seqs[d] = (eng_seq){
            .tokens = s->tokens[d], .n = s->data[d].n_tokens, .adapter = s->adapter};
        assert_int_equal(eng_seq_make_blocks(&seqs[d], model, work), TINKC_OK);
    }
    eng_acts acts;
    assert_int_equal(eng_acts_init(&acts, model, work, seqs, 2, ENG_KEEP_NOTHING),
                     TINKC_OK);
    assert_int_equal(eng_forward(&acts, &err), TINKC_OK);
    eng_real *logits = eng_work_reals(work, acts.rows, c->vocabulary);
    eng_real *u = eng_work_reals(work, acts.rows, 3);
    eng_logits l = {.model = model,
                    .adapter = s->adapter,
                    .x = acts.hidden,
                    .rows = acts.rows,
                    .logits = logits,
                    .u = u};
    assert_int_equal(eng_head_logits(&l, &err), TINKC_OK);
    size_t row = 0;
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < s->data[d].n_tokens; i++, row++) {
            eng_real *at = logits + row * c->vocabulary, wanted[2];
            size_t first = i * s->columns[d];
            for (size_t k = 0; k < s->columns[d]; k++) {
                wanted[k] = at[s->targets[d][first + k]];
            }
            eng_softmax soft = eng_head_softmax(at, c->vocabulary);
            for (size_t k = 0; k < s->columns[d]; k++) {
                out[d][first + k] = wanted[k] - soft.max - soft.log_sum;
            }
        }
    }
}

static double loss(scene *s)
{
    double logprobs[2][2 * TOKENS], sum = 0;
    find_logprobs(s, logprobs);
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < s->data[d].n_tokens * s->columns[d]; i++) {
            sum -= (double)s->weights[d][i] * logprobs[d][i];
        }
    }
    return sum;
}

static void compare(const char *what, size_t i, double want, double have)
{
    double size = fabs(want) > 1e-3 ? fabs(want) : 1e-3;
    if (!(fabs(want - have) <= BAR * size)) {
        fail_msg("%s %zu: differences say %.12g, backward %.12g", what, i, want, have);
    }
}

/* Some entries of the gradient of s->request against differences of `value`. */
static void check_grads(scene *s, double (*value)(scene *s, const void *user),
                        const void *user)
{
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL;
    assert_int_equal(eng_adapter_forward_backward(&result, s->adapter, &s->request, &err),
                     TINKC_OK);
    eng_result_free(result);
    for (size_t i = 0; i < s->adapter->n; i += 7 * TEST_TSAN_STRIDE(5)) {
        eng_real *p = &s->adapter->weights[i], kept = *p;
        *p = kept + STEP;
        eng_adapter_repack(s->adapter);
        double plus = value(s, user);
        *p = kept - STEP;
        eng_adapter_repack(s->adapter);
        double minus = value(s, user);
        *p = kept;
        compare("adapter", i, (plus - minus) / (2 * STEP), s->adapter->grads[i]);
    }
    eng_adapter_repack(s->adapter);
}

static double plain_loss(scene *s, const void *unused)
{
    (void)unused;
    return loss(s);
}

static void check_adapter(const tiny_spec *spec)
{
    scene s;
    scene_init(&s, spec);
    check_grads(&s, plain_loss, NULL);
    scene_dispose(&s);
}

static void test_grad_llama(void **unused)
{
    check_adapter(&tiny_llama);
}

static void test_grad_qwen2_tied_with_bias(void **unused)
{
    check_adapter(&tiny_qwen2);
}

static void test_grad_qwen3(void **unused)
{
    check_adapter(&tiny_qwen3);
}

/* ---- GSPO ---- */

typedef struct policy {
    double low, high;
    float mask[2][TOKENS], advantages[2][TOKENS], sampled[2][TOKENS];
    double logprobs[2][2 * TOKENS], ratio[2]; /* where the gradient is taken */
    eng_array inputs[2][4];
    eng_setting settings[2];
} policy;

static double sequence_ratio(const scene *s, const policy *p,
                             double logprobs[2][2 * TOKENS], size_t d)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < s->data[d].n_tokens; i++) {
        if (p->mask[d][i] > 0) {
            sum += logprobs[d][i] - (double)p->sampled[d][i];
            n++;
        }
    }
    return exp(sum / n);
}

/* The engine's ratio is that of its outputs, which are floats in this build too. */
static double output_ratio(const scene *s, policy *p, size_t d)
{
    double rounded[2][2 * TOKENS] = {{0}};
    for (size_t i = 0; i < s->data[d].n_tokens; i++) {
        rounded[d][i] = (double)(float)p->logprobs[d][i];
    }
    return sequence_ratio(s, p, rounded, d);
}

static eng_array reals(const char *name, const float *values, size_t n)
{
    return (eng_array){
        .name = tk_str_of(name), .type = ENG_ARRAY_F32, .values = values, .n_values = n};
}

/* Ratios of about 1.6 and 0.6; p's mask and advantages are set. */
static void policy_init(policy *p, scene *s, double low, double high)
{
    static const double shift[2] = {0.5, -0.5};
    p->low = low;
    p->high = high;
    p->settings[0] = (eng_setting){TK_STR("clip_low_threshold"), low, false};
    p->settings[1] = (eng_setting){TK_STR("clip_high_threshold"), high, false};
    s->columns[1] = 1;
    find_logprobs(s, p->logprobs);
    for (size_t d = 0; d < 2; d++) {
        size_t n = s->data[d].n_tokens;
        for (size_t i = 0; i < n; i++) {
            double noise = 0.1 * sin((double)(i + 5 * d));
            p->sampled[d][i] = (float)(p->logprobs[d][i] - shift[d] + noise);
        }
        p->ratio[d] = output_ratio(s, p, d);
        p->inputs[d][0] = s->inputs[d][0];
        p->inputs[d][0].n_values = n;
        p->inputs[d][0].n_dims = 0;
        p->inputs[d][1] = reals("logprobs", p->sampled[d], n);
        p->inputs[d][2] = reals("advantages", p->advantages[d], n);
        p->inputs[d][3] = reals("sequence_ratio_mask", p->mask[d], n);
        s->data[d].inputs = p->inputs[d];
        s->data[d].n_inputs = 4;
    }
    s->request.loss_fn = TK_STR("gspo");
    s->request.settings = p->settings;
    s->request.n_settings = 2;
}

/* GSPO-token with what its definition does not differentiate held fixed. */
static double token_loss(scene *s, const void *user)
{
    const policy *p = user;
    double logprobs[2][2 * TOKENS], sum = 0;
    find_logprobs(s, logprobs);
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < s->data[d].n_tokens; i++) {
            double ratio = p->ratio[d] * exp(logprobs[d][i] - p->logprobs[d][i]);
            double a = (double)p->advantages[d][i];
            sum -= fmin(ratio * a, fmin(fmax(ratio, p->low), p->high) * a);
        }
    }
    return sum;
}

/* GSPO itself, each sequence times its length. With one advantage for all tokens and all
 * of them in the ratio, GSPO-token has the same gradient. */
static double sequence_loss(scene *s, const void *user)
{
    const policy *p = user;
    double logprobs[2][2 * TOKENS], sum = 0;
    find_logprobs(s, logprobs);
    for (size_t d = 0; d < 2; d++) {
        double ratio = sequence_ratio(s, p, logprobs, d), a = (double)p->advantages[d][0];
        sum -= (double)s->data[d].n_tokens *
               fmin(ratio * a, fmin(fmax(ratio, p->low), p->high) * a);
    }
    return sum;
}

static void check_gspo(double low, double high, bool whole)
{
    scene s;
    policy p = {0};
    scene_init(&s, &tiny_llama);
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < TOKENS; i++) {
            p.mask[d][i] = whole || i % 3 != 1 ? 1 : 0;
            p.advantages[d][i] = whole ? 0.7f - (float)d : (float)cos((double)i + 1);
        }
    }
    policy_init(&p, &s, low, high);
    check_grads(&s, whole ? sequence_loss : token_loss, &p);
    scene_dispose(&s);
}

/* Groups of more than 64 inputs, with int8 weights: their gradient is that of the weights
 * that the forward pass uses. */
static void test_grad_int8(void **unused)
{
    tiny_spec spec = tiny_qwen2;
    spec.int8 = true;
    spec.intermediate = 70;
    check_adapter(&spec);
    spec = tiny_llama;
    spec.int8 = true;
    spec.hidden = 72;
    check_adapter(&spec);
}

static void test_grad_gspo(void **unused)
{
    (void)unused;
    check_gspo(0.1, 10, false);
    check_gspo(0.8, 1.2, false); /* one sign of the advantages is clipped in each datum */
}

static void test_grad_gspo_of_sequences(void **unused)
{
    (void)unused;
    check_gspo(0.1, 10, true);
    check_gspo(0.8, 10, true); /* the negative advantage of a ratio of 0.6 is clipped */
}

/* ---- base parameters through the hook ---- */

typedef struct probe {
    const char *name;
    size_t layer;
    double *grad; /* linear: [n][k]; norm: [n]; embedding: [vocabulary][hidden] */
    size_t seen;
} probe;

static tinkc_code collect(void *user, const eng_grad_event *e, tk_err *err)
{
    probe *p = user;
    if (strcmp(p->name, e->name) != 0 || p->layer != e->layer) {
        return TINKC_OK;
    }
    p->seen++;
    for (size_t r = 0; r < e->rows; r++) {
        for (size_t n = 0; n < e->n; n++) {
            double d = e->d_y[r * e->n + n];
            if (e->kind == ENG_GRAD_NORM) {
                p->grad[n] += d * e->x[r * e->n + n] * e->inv[r];
            } else if (e->kind == ENG_GRAD_EMBED) {
                p->grad[(size_t)e->tokens[r] * e->n + n] += d;
            } else {
                for (size_t k = 0; k < e->k; k++) {
                    p->grad[n * e->k + k] += d * e->x[r * e->k + k];
                }
            }
        }
    }
    return TINKC_OK;
}

typedef struct weighted {
    scene *s;
    size_t rows0;
} weighted;

static bool row_loss(void *user, size_t row, double *coef)
{
    const weighted *w = user;
    size_t d = row >= w->rows0 ? 1 : 0, at = (row - d * w->rows0) * (1 + d);
    for (size_t k = 0; k <= d; k++) {
        coef[k] = -(double)w->s->weights[d][at + k];
    }
    return coef[0] < 0 || coef[0] > 0 || d == 1;
}

/* One forward and backward with a hook and no adapter. */
static void run_hook(scene *s, probe *p)
{
    eng_model *model = s->model;
    eng_work *work = &model->work;
    tk_err err = TK_ERR_INIT;
    eng_work_reset(work);
    eng_seq seqs[2];
    for (size_t d = 0; d < 2; d++) {
        seqs[d] = (eng_seq){.tokens = s->tokens[d], .n = s->data[d].n_tokens};
        assert_int_equal(eng_seq_make_blocks(&seqs[d], model, work), TINKC_OK);
    }
    eng_acts acts;
    assert_int_equal(eng_acts_init(&acts, model, work, seqs, 2, ENG_KEEP_ALL), TINKC_OK);
    assert_int_equal(eng_forward(&acts, &err), TINKC_OK);
    const int32_t *targets[2 * TOKENS];
    int32_t ids[2 * TOKENS][2];
    float values[2 * TOKENS][2];
    float *logprobs[2 * TOKENS];
    size_t k[2 * TOKENS];
    for (size_t row = 0; row < acts.rows; row++) {
        size_t d = row >= seqs[0].n ? 1 : 0;
        k[row] = 1 + d;
        for (size_t i = 0; i < k[row]; i++) {
            ids[row][i] = (int32_t)s->targets[d][(row - d * seqs[0].n) * k[row] + i];
        }
        targets[row] = ids[row];
        logprobs[row] = values[row];
    }
    weighted w = {s, seqs[0].n};
    eng_grad_hook hook = {collect, p};
    bool active = false;
    eng_head_args head = {.acts = &acts,
                          .work = work,
                          .targets = targets,
                          .k = k,
                          .logprobs = logprobs,
                          .loss = row_loss,
                          .user = &w,
                          .max_k = 2,
                          .d_hidden =
                              eng_work_reals(work, acts.rows, model->config.hidden),
                          .hook = &hook};
    assert_int_equal(eng_head_run(&head, &active, &err), TINKC_OK);
    assert_true(active);
    eng_backward_args back = {
        .acts = &acts, .d_hidden = head.d_hidden, .work = work, .hook = &hook};
    assert_int_equal(eng_backward(&back, &err), TINKC_OK);
    assert_true(p->seen > 0);
}

/* Compares some entries of one parameter; change(user, i, value) sets entry i. */
typedef struct parameter {
    const char *name;
    size_t layer;
    eng_mat *mat;     /* a linear */
    eng_real *vector; /* a norm or the embedding */
    size_t n;
} parameter;

static void check_parameter(scene *s, const parameter *p)
{
    double *grad = tk_zarray(p->n, sizeof(double));
    eng_real *rows = p->mat != NULL ? tk_zarray(p->n, sizeof(eng_real)) : p->vector;
    assert_non_null(grad);
    assert_non_null(rows);
    if (p->mat != NULL) {
        matfix_unpack(p->mat, rows);
    }
    probe pr = {.name = p->name, .layer = p->layer, .grad = grad};
    run_hook(s, &pr);
    size_t stride = (p->n > 60 ? p->n / 30 : 1) * TEST_TSAN_STRIDE(5);
    for (size_t i = 0; i < p->n; i += stride) {
        double value[2];
        eng_real kept = rows[i];
        for (size_t side = 0; side < 2; side++) {
            rows[i] = kept + (side == 0 ? STEP : -STEP);
            if (p->mat != NULL) {
                eng_mat_pack_reals(p->mat, rows);
            }
            value[side] = loss(s);
        }
        rows[i] = kept;
        compare(p->name, i, (value[0] - value[1]) / (2 * STEP), grad[i]);
    }
    if (p->mat != NULL) {
        eng_mat_pack_reals(p->mat, rows);
        tk_free(rows);
    }
    tk_free(grad);
}

static void check_base(const tiny_spec *spec)
{
    scene s;
    scene_init(&s, spec);
    tk_err err = TK_ERR_INIT;
    eng_adapter_free(s.adapter);
    s.adapter = NULL;
    assert_int_equal(eng_model_thaw(s.model, &err), TINKC_OK);
    const eng_config *c = &s.model->config;
    for (size_t w = 0; w < ENG_N_LINEAR; w++) {
        eng_mat *mat = &s.model->layers[1].w[w];
        parameter p = {eng_linear_name((eng_linear)w), 1, mat, NULL, mat->n * mat->k};
        check_parameter(&s, &p);
    }
    eng_layer *first = &s.model->layers[0];
    parameter rest[] = {
        {"input_layernorm", 0, NULL, first->norm_in, c->hidden},
        {"post_attention_layernorm", 0, NULL, first->norm_post, c->hidden},
        {"norm", c->layers, NULL, s.model->norm, c->hidden},
        {"lm_head", c->layers, &s.model->head, NULL, c->vocabulary * c->hidden},
        {"embed_tokens", c->layers, NULL, s.model->own_embed, c->vocabulary * c->hidden},
        {"self_attn.q_norm", 0, NULL, first->q_norm, c->head_dim},
        {"self_attn.k_norm", 0, NULL, first->k_norm, c->head_dim},
    };
    size_t n = TK_ARRAY_LEN(rest) - (c->qk_norm ? 0 : 2);
    for (size_t i = 0; i < n; i++) {
        check_parameter(&s, &rest[i]);
    }
    scene_dispose(&s);
}

static void test_hook_llama(void **unused)
{
    check_base(&tiny_llama);
}

static void test_hook_qwen3(void **unused)
{
    check_base(&tiny_qwen3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grad_llama),
        cmocka_unit_test(test_grad_qwen2_tied_with_bias),
        cmocka_unit_test(test_grad_qwen3),
        cmocka_unit_test(test_grad_int8),
        cmocka_unit_test(test_grad_gspo),
        cmocka_unit_test(test_grad_gspo_of_sequences),
        cmocka_unit_test(test_hook_llama),
        cmocka_unit_test(test_hook_qwen3),
    };
    return cmocka_run_group_tests_name("eng_grad", tests, NULL, NULL);
}
