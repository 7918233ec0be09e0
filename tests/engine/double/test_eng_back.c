/* Every backward kernel alone against finite differences, in double precision: norm,
 * gate, rotation, attention, linear with adapter, head with softmax, losses. The scalar
 * loss is a fixed weighting of the outputs. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/eng_attn.h"
#include "engine/eng_head.h"
#include "engine/eng_lora.h"
#include "engine/eng_loss.h"
#include "engine/eng_rng.h"
#include "engine/eng_rows.h"
#include "engine/support/tiny.h"
#include "support/test.h"

#define STEP 1e-6
#define BAR  1e-6

static void fill(double *out, size_t n, uint64_t stream)
{
    eng_rng rng;
    eng_rng_init(&rng, 17, stream);
    for (size_t i = 0; i < n; i++) {
        out[i] = eng_rng_unit(&rng) * 2 - 1;
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* `value(user)` depends on x[0..n): compares its differences with grad. */
static void check(const char *what, double (*value)(void *user), void *user, double *x,
                  const double *grad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double kept = x[i];
        x[i] = kept + STEP;
        double plus = value(user);
        x[i] = kept - STEP;
        double minus = value(user);
        x[i] = kept;
        double want = (plus - minus) / (2 * STEP);
        double size = fabs(want) > 1e-2 ? fabs(want) : 1e-2;
        if (!(fabs(want - grad[i]) <= BAR * size)) {
            fail_msg("%s %zu: differences say %.10g, backward %.10g", what, i, want,
                     grad[i]);
        }
    }
}

static eng_pool *new_pool(void)
{
    eng_pool *pool = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_pool_new(&pool, 1, &err), TINKC_OK);
    return pool;
}

/* ---- norm ---- */

#define NORM_N 21

typedef struct norm_case {
    eng_pool *pool;
    double x[2 * NORM_N], w[NORM_N], y[2 * NORM_N], inv[2], weight[2 * NORM_N];
    eng_norm norm;
} norm_case;

static double norm_value(void *user)
{
    norm_case *c = user;
    eng_norm_forward(c->pool, &c->norm);
    return dot(c->y, c->weight, 2 * NORM_N);
}

static void test_norm(void **unused)
{
    norm_case c = {.pool = new_pool()};
    fill(c.x, 2 * NORM_N, 1);
    fill(c.w, NORM_N, 2);
    fill(c.weight, 2 * NORM_N, 3);
    c.norm = (eng_norm){
        .x = c.x, .w = c.w, .y = c.y, .inv = c.inv, .rows = 2, .n = NORM_N, .eps = 1e-5};
    (void)norm_value(&c);
    double grad[2 * NORM_N], added[2 * NORM_N];
    fill(added, 2 * NORM_N, 4);
    double first = added[0];
    eng_norm_backward(c.pool, &c.norm, c.weight, grad, false);
    eng_norm_backward(c.pool, &c.norm, c.weight, added, true);
    assert_true(fabs(added[0] - first - grad[0]) < 1e-12);
    check("norm", norm_value, &c, c.x, grad, 2 * NORM_N);
    eng_pool_free(c.pool);
}

/* ---- gate ---- */

#define GATE_N 35

typedef struct gate_case {
    eng_pool *pool;
    double gate[GATE_N], up[GATE_N], out[GATE_N], weight[GATE_N];
} gate_case;

static double gate_value(void *user)
{
    gate_case *c = user;
    eng_rows_gate(c->pool, c->out, c->gate, c->up, GATE_N);
    return dot(c->out, c->weight, GATE_N);
}

static void test_gate(void **unused)
{
    gate_case c = {.pool = new_pool()};
    fill(c.gate, GATE_N, 1);
    fill(c.up, GATE_N, 2);
    fill(c.weight, GATE_N, 3);
    c.gate[3] *= 20; /* both flat ends of the sigmoid */
    c.gate[4] = -15;
    double d[GATE_N], d_up[GATE_N];
    memcpy(d, c.weight, sizeof(d));
    eng_gate_grad grad = {d, d_up, c.gate, c.up, GATE_N};
    eng_rows_gate_backward(c.pool, &grad);
    check("gate", gate_value, &c, c.gate, d, GATE_N);
    check("up", gate_value, &c, c.up, d_up, GATE_N);
    eng_pool_free(c.pool);
}

/* ---- attention ---- */

#define HEADS  4
#define KV     2
#define DIM    6
#define TOKENS 70 /* two key/value blocks */
#define SHORT  5

typedef struct attn_case {
    eng_pool *pool;
    eng_config config;
    double q[(TOKENS + SHORT) * HEADS * DIM], out[(TOKENS + SHORT) * HEADS * DIM];
    double k[(TOKENS + SHORT) * KV * DIM], v[(TOKENS + SHORT) * KV * DIM];
    double weight[(TOKENS + SHORT) * HEADS * DIM];
    double stat[(TOKENS + SHORT) * HEADS * 2];
    double *blocks[3];
    eng_attn_seq seqs[2];
    eng_attn attn;
} attn_case;

static double attn_value(void *user)
{
    attn_case *c = user;
    for (size_t i = 0; i < TOKENS + SHORT; i++) {
        size_t pos = i < TOKENS ? i : i - TOKENS;
        double *block = i < TOKENS ? c->blocks[pos / ENG_KV_BLOCK] : c->blocks[2];
        eng_kv_store(block, &c->config, pos % ENG_KV_BLOCK, c->k + i * KV * DIM,
                     c->v + i * KV * DIM);
    }
    assert_int_equal(eng_attn_forward(c->pool, &c->attn, NULL), TINKC_OK);
    return dot(c->out, c->weight, TK_ARRAY_LEN(c->out));
}

static void test_attention(void **unused)
{
    static attn_case c;
    static double d_q[(TOKENS + SHORT) * HEADS * DIM];
    static double d_k[(TOKENS + SHORT) * KV * DIM], d_v[(TOKENS + SHORT) * KV * DIM];
    c.pool = new_pool();
    c.config = (eng_config){.heads = HEADS, .kv_heads = KV, .head_dim = DIM};
    fill(c.q, TK_ARRAY_LEN(c.q), 1);
    fill(c.k, TK_ARRAY_LEN(c.k), 2);
    fill(c.v, TK_ARRAY_LEN(c.v), 3);
    fill(c.weight, TK_ARRAY_LEN(c.weight), 4);
    for (size_t i = 0; i < 3; i++) {
        c.blocks[i] = tk_zarray(eng_kv_block_reals(&c.config), sizeof(double));
        assert_non_null(c.blocks[i]);
    }
    c.seqs[0] = (eng_attn_seq){.row = 0, .n = TOKENS, .blocks = c.blocks};
    c.seqs[1] = (eng_attn_seq){.row = TOKENS, .n = SHORT, .blocks = c.blocks + 2};
    c.attn = (eng_attn){.config = &c.config,
                        .seqs = c.seqs,
                        .n_seqs = 2,
                        .q = c.q,
                        .out = c.out,
                        .stat = c.stat};
    (void)attn_value(&c);
    eng_attn_grad grad = {&c.attn, c.weight, d_q, d_k, d_v};
    assert_int_equal(eng_attn_backward(c.pool, &grad, NULL), TINKC_OK);
    size_t tail =
        (TOKENS - 3) * HEADS * DIM; /* from the second block into the short one */
    check("q", attn_value, &c, c.q + tail, d_q + tail, 5 * HEADS * DIM);
    size_t kv = (TOKENS - 3) * KV * DIM;
    check("k", attn_value, &c, c.k + kv, d_k + kv, 5 * KV * DIM);
    check("v", attn_value, &c, c.v + kv, d_v + kv, 5 * KV * DIM);
    check("k", attn_value, &c, c.k, d_k, 3 * KV * DIM);
    check("v", attn_value, &c, c.v, d_v, 3 * KV * DIM);
    for (size_t i = 0; i < 3; i++) {
        tk_free(c.blocks[i]);
    }
    eng_pool_free(c.pool);
}

/* ---- a linear and its adapter ---- */

#define ROWS 4

typedef struct lora_case {
    eng_model *model;
    eng_adapter *adapter;
    const eng_lora *lora;
    double x[ROWS * 64], y[ROWS * 64], u[ROWS * 8], weight[ROWS * 64];
    eng_mul mul;
    eng_lora_apply apply;
} lora_case;

static double lora_value(void *user)
{
    lora_case *c = user;
    eng_adapter_repack(c->adapter);
    assert_int_equal(eng_mul_run(c->model->pool, &c->mul, NULL), TINKC_OK);
    assert_int_equal(eng_lora_forward(&c->apply, NULL), TINKC_OK);
    return dot(c->y, c->weight, ROWS * c->lora->out);
}

static void test_linear_with_adapter(void **unused)
{
    lora_case c;
    tiny_files files;
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 5;
    eng_pool *pool = new_pool();
    tiny_files_init(&files, &tiny_llama);
    c.model = tiny_open(pool, &files);
    assert_int_equal(eng_adapter_new(&c.adapter, c.model, &config, &err), TINKC_OK);
    fill(c.adapter->weights, c.adapter->n, 1);
    c.lora = eng_adapter_module(c.adapter, 1, ENG_GATE);
    fill(c.x, ROWS * c.lora->in, 2);
    fill(c.weight, ROWS * c.lora->out, 3);
    c.mul = (eng_mul){.w = &c.model->layers[1].w[ENG_GATE],
                      .x = c.x,
                      .ldx = c.lora->in,
                      .rows = ROWS,
                      .y = c.y,
                      .ldy = c.lora->out};
    c.apply = (eng_lora_apply){.adapter = c.adapter,
                               .lora = c.lora,
                               .x = c.x,
                               .ldx = c.lora->in,
                               .rows = ROWS,
                               .y = c.y,
                               .ldy = c.lora->out,
                               .u = c.u};
    (void)lora_value(&c);
    double d_x[ROWS * 64], temp[2 * ROWS * 8];
    eng_mul back = c.mul;
    back.x = c.weight;
    back.ldx = c.lora->out;
    back.y = d_x;
    back.ldy = c.lora->in;
    assert_int_equal(eng_mul_back_run(pool, &back, &err), TINKC_OK);
    eng_lora_apply grad = c.apply;
    grad.y = c.weight;
    assert_int_equal(eng_lora_backward(&grad, d_x, temp, &err), TINKC_OK);
    check("x", lora_value, &c, c.x, d_x, ROWS * c.lora->in);
    check("A", lora_value, &c, c.adapter->weights + c.lora->a_at,
          c.adapter->grads + c.lora->a_at, 5 * c.lora->in);
    check("B", lora_value, &c, c.adapter->weights + c.lora->b_at,
          c.adapter->grads + c.lora->b_at, 5 * c.lora->out);
    eng_adapter_free(c.adapter);
    eng_model_free(c.model);
    tiny_files_dispose(&files);
    eng_pool_free(pool);
}

/* ---- rotation ---- */

#define TURN_ROWS 3

typedef struct turn_case {
    eng_model *model;
    double x[TURN_ROWS * 64], turned[TURN_ROWS * 64], weight[TURN_ROWS * 64];
    size_t n;
    eng_rotation rotation;
} turn_case;

static double turn_value(void *user)
{
    turn_case *c = user;
    memcpy(c->turned, c->x, c->n * sizeof(double));
    c->rotation.x = c->turned;
    c->rotation.back = false;
    eng_rows_rotate(&c->rotation);
    return dot(c->turned, c->weight, c->n);
}

static void test_rotation(void **unused)
{
    static const size_t positions[TURN_ROWS] = {0, 1, 9};
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = new_pool();
    tiny_files files;
    static turn_case c;
    tiny_files_init(&files, &tiny_llama);
    c.model = tiny_open(pool, &files);
    assert_int_equal(eng_model_reserve_rope(c.model, 10, &err), TINKC_OK);
    size_t heads = c.model->config.kv_heads;
    c.n = TURN_ROWS * heads * c.model->config.head_dim;
    assert_true(c.n <= TK_ARRAY_LEN(c.x));
    c.rotation = (eng_rotation){
        .model = c.model, .rows = TURN_ROWS, .heads = heads, .positions = positions};
    fill(c.x, c.n, 1);
    fill(c.weight, c.n, 2);
    double grad[TK_ARRAY_LEN(c.x)];
    memcpy(grad, c.weight, sizeof(grad));
    c.rotation.x = grad;
    c.rotation.back = true;
    eng_rows_rotate(&c.rotation);
    check("rotation", turn_value, &c, c.x, grad, c.n);
    eng_model_free(c.model);
    eng_pool_free(pool);
    tiny_files_dispose(&files);
}

/* ---- head, softmax and the head's adapter ---- */

#define HEAD_ROWS 3

typedef struct head_case {
    eng_adapter *adapter;
    double x[HEAD_ROWS * 64], logits[HEAD_ROWS * 256], u[HEAD_ROWS * 4];
} head_case;

static const int32_t head_targets[HEAD_ROWS][2] = {{3, 5}, {0, 0}, {7, 7}};
static const size_t head_k[HEAD_ROWS] = {2, 1, 2}; /* one target twice in a row */
static const double head_coef[HEAD_ROWS][2] = {{-0.7, 0.4}, {-1, 0}, {0.3, 0.9}};

static double head_value(void *user)
{
    head_case *c = user;
    const eng_model *model = c->adapter->model;
    size_t vocabulary = model->config.vocabulary;
    eng_logits l = {.model = model,
                    .adapter = c->adapter,
                    .x = c->x,
                    .rows = HEAD_ROWS,
                    .logits = c->logits,
                    .u = c->u};
    double value = 0;
    eng_adapter_repack(c->adapter);
    assert_int_equal(eng_head_logits(&l, NULL), TINKC_OK);
    for (size_t r = 0; r < HEAD_ROWS; r++) {
        const double *row = c->logits + r * vocabulary;
        double sum = 0;
        for (size_t i = 0; i < vocabulary; i++) {
            sum += exp(row[i]);
        }
        for (size_t k = 0; k < head_k[r]; k++) {
            value += head_coef[r][k] * (row[head_targets[r][k]] - log(sum));
        }
    }
    return value;
}

static bool head_loss(void *user, size_t row, double *coef)
{
    memcpy(coef, head_coef[row], head_k[row] * sizeof(double));
    return true;
}

static void check_head(head_case *c)
{
    eng_model *model = c->adapter->model;
    size_t hidden = model->config.hidden;
    float logprobs[HEAD_ROWS][2];
    float *const logprob_rows[] = {logprobs[0], logprobs[1], logprobs[2]};
    const int32_t *const targets[] = {head_targets[0], head_targets[1], head_targets[2]};
    double d_hidden[HEAD_ROWS * 64];
    eng_work work = {NULL, 0, 0};
    eng_acts acts = {.model = model, .rows = HEAD_ROWS, .hidden = c->x};
    eng_head_args args = {.acts = &acts,
                          .adapter = c->adapter,
                          .work = &work,
                          .targets = targets,
                          .k = head_k,
                          .logprobs = logprob_rows,
                          .loss = head_loss,
                          .max_k = 2,
                          .d_hidden = d_hidden};
    bool active = false;
    assert_int_equal(eng_head_run(&args, &active, NULL), TINKC_OK);
    assert_true(active);
    check("hidden", head_value, c, c->x, d_hidden, HEAD_ROWS * hidden);
    const eng_lora *m = eng_adapter_module(c->adapter, model->config.layers, ENG_Q);
    size_t rank = c->adapter->config.rank;
    check("head A", head_value, c, c->adapter->weights + m->a_at,
          c->adapter->grads + m->a_at, rank * m->in);
    check("head B", head_value, c, c->adapter->weights + m->b_at,
          c->adapter->grads + m->b_at, rank * m->out);
    eng_work_dispose(&work);
}

static void test_head(void **unused)
{
    static head_case c;
    eng_pool *pool = new_pool();
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    tiny_files files;
    config.rank = 4;
    config.alpha = 4;
    tiny_files_init(&files, &tiny_qwen2);
    eng_model *model = tiny_open(pool, &files);
    assert_true(model->config.hidden <= 64 && model->config.vocabulary <= 256);
    assert_int_equal(eng_adapter_new(&c.adapter, model, &config, NULL), TINKC_OK);
    fill(c.adapter->weights, c.adapter->n, 5);
    fill(c.x, TK_ARRAY_LEN(c.x), 6);
    eng_adapter_repack(c.adapter);
    check_head(&c);
    eng_adapter_free(c.adapter);
    eng_model_free(model);
    eng_pool_free(pool);
    tiny_files_dispose(&files);
}

/* ---- losses: the derivative that is used is that of the value ---- */

static void test_losses(void **unused)
{
    static const char *const names[] = {"cross_entropy", "importance_sampling", "ppo",
                                        "dro"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names) * 40; i++) {
        const eng_loss *loss = eng_loss_find(tk_str_of(names[i % 4]));
        double r[4];
        fill(r, 4, i);
        eng_loss_token t = {.low = 0.8, .high = 1.2, .beta = 0.05};
        t.logprob = r[0] - 1;
        t.reference = r[1] * 0.3 + t.logprob;
        t.advantage = r[2];
        t.weight = r[3];
        double ratio = exp(t.logprob - t.reference);
        if (fabs(ratio - 0.8) < 1e-3 || fabs(ratio - 1.2) < 1e-3) {
            continue; /* a corner has no derivative */
        }
        double grad = loss->value(&t).grad;
        t.logprob += STEP;
        double plus = loss->value(&t).loss;
        t.logprob -= 2 * STEP;
        double minus = loss->value(&t).loss;
        assert_true(fabs((plus - minus) / (2 * STEP) - grad) < 1e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm),      cmocka_unit_test(test_gate),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_linear_with_adapter),
        cmocka_unit_test(test_rotation),  cmocka_unit_test(test_head),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests_name("eng_back", tests, NULL, NULL);
}
