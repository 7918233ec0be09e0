/* Parameters of the network: table, initial values, packing, optimizer step. */
#include "net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_optim.h"
#include "engine/eng_rng.h"

#define INIT_STD     0.06
#define INIT_STD_EMB 0.04
#define FILE_MAX     (256 * TK_MIB)
#define CONFIG_MAX   (16 * TK_KIB)
#define PER_LAYER    (ENG_N_LINEAR + 2)
#define LAYER_TENSOR "model.layers.%zu.%s.weight"

void pre_net_put_config(tk_buf *out, const pre_shape *s)
{
    tk_buf_printf(out,
                  "{\n \"architectures\": [\"LlamaForCausalLM\"],\n"
                  " \"attention_bias\": false,\n \"attention_dropout\": 0.0,\n"
                  " \"bos_token_id\": 0,\n \"eos_token_id\": 4,\n"
                  " \"head_dim\": %zu,\n \"hidden_act\": \"silu\",\n"
                  " \"hidden_size\": %zu,\n \"initializer_range\": 0.06,\n"
                  " \"intermediate_size\": %zu,\n"
                  " \"max_position_embeddings\": %zu,\n \"mlp_bias\": false,\n"
                  " \"model_type\": \"llama\",\n \"num_attention_heads\": %zu,\n"
                  " \"num_hidden_layers\": %zu,\n \"num_key_value_heads\": %zu,\n"
                  " \"rms_norm_eps\": 1e-05,\n \"rope_theta\": 10000.0,\n"
                  " \"tie_word_embeddings\": true,\n \"torch_dtype\": \"bfloat16\",\n"
                  " \"vocab_size\": %zu\n}\n",
                  s->hidden / s->heads, s->hidden, s->intermediate, s->context, s->heads,
                  s->layers, s->kv_heads, s->vocabulary);
}

/* ---- the table ---- */

static pre_tensor *add(pre_net *net, size_t rows, size_t columns, size_t layer)
{
    pre_tensor *t = &net->tensors[net->n_tensors++];
    *t = (pre_tensor){.shape = {rows, columns},
                      .n_dims = columns > 0 ? 2 : 1,
                      .at = net->n,
                      .n = rows * (columns > 0 ? columns : 1),
                      .layer = layer,
                      .linear = -1};
    net->n += t->n;
    return t;
}

static void add_norm(pre_net *net, size_t layer, const char *name)
{
    pre_tensor *t = add(net, net->shape.hidden, 0, layer);
    (void)snprintf(t->name, sizeof(t->name), LAYER_TENSOR, layer, name);
}

/* The embedding, the layers' matrices, the layers' norms, the last norm: net_run.c and
 * sync_shard rely on this order. */
static void add_all(pre_net *net)
{
    const pre_shape *s = &net->shape;
    eng_config c = {.hidden = s->hidden,
                    .intermediate = s->intermediate,
                    .heads = s->heads,
                    .kv_heads = s->kv_heads,
                    .head_dim = s->hidden / s->heads};
    pre_tensor *t = add(net, s->vocabulary, s->hidden, s->layers);
    (void)snprintf(t->name, sizeof(t->name), "model.embed_tokens.weight");
    for (size_t i = 0; i < s->layers; i++) {
        for (int w = 0; w < ENG_N_LINEAR; w++) {
            t = add(net, eng_model_outputs(&c, (eng_linear)w),
                    eng_model_inputs(&c, (eng_linear)w), i);
            t->linear = w;
            (void)snprintf(t->name, sizeof(t->name), LAYER_TENSOR, i,
                           eng_linear_name((eng_linear)w));
        }
    }
    net->n_decay = net->n;
    for (size_t i = 0; i < s->layers; i++) {
        add_norm(net, i, "input_layernorm");
        add_norm(net, i, "post_attention_layernorm");
    }
    t = add(net, s->hidden, 0, s->layers);
    (void)snprintf(t->name, sizeof(t->name), "model.norm.weight");
}

static eng_real *vector_of(eng_model *model, const pre_tensor *t)
{
    if (t->layer == model->config.layers) {
        return model->norm;
    }
    const eng_layer *layer = &model->layers[t->layer];
    return strstr(t->name, "input_layernorm") != NULL ? layer->norm_in : layer->norm_post;
}

static void sync_shard(const pre_net *net, eng_model *model)
{
    memcpy(model->own_embed, net->weights, net->tensors[0].n * sizeof(eng_real));
    eng_mat_pack_reals(&model->head, net->weights);
    for (size_t i = 1; i < net->n_tensors; i++) {
        const pre_tensor *t = &net->tensors[i];
        const eng_real *from = net->weights + t->at;
        if (t->linear >= 0) {
            eng_mat_pack_reals(&model->layers[t->layer].w[t->linear], from);
        } else {
            memcpy(vector_of(model, t), from, t->n * sizeof(eng_real));
        }
    }
}

void pre_net_sync(pre_net *net)
{
    for (size_t s = 0; s < PRE_SHARDS; s++) {
        sync_shard(net, net->shards[s].model);
    }
}

/* ---- creation ---- */

/* Returns a nearly normal number from twelve uniform ones, without libm, whose results
 * differ between machines. */
static double normal(eng_rng *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += eng_rng_unit(rng);
    }
    return sum;
}

static void fill(pre_net *net, uint64_t seed)
{
    eng_rng rng;
    eng_rng_init(&rng, seed, 0);
    double residual = INIT_STD / sqrt(2.0 * (double)net->shape.layers);
    for (size_t i = 0; i < net->n_tensors; i++) {
        const pre_tensor *t = &net->tensors[i];
        bool writes_residual =
            strstr(t->name, "o_proj") != NULL || strstr(t->name, "down_proj") != NULL;
        double std = i == 0 ? INIT_STD_EMB : writes_residual ? residual : INIT_STD;
        for (size_t k = 0; k < t->n; k++) {
            net->weights[t->at + k] =
                t->n_dims == 1 ? (eng_real)1 : (eng_real)(std * normal(&rng));
        }
    }
}

/* A file of zeros, so that the engine builds a model of the right shape. */
static tinkc_code make_file(pre_net *net, tk_err *err)
{
    eng_st_entry *entries = tk_zarray(net->n_tensors, sizeof(*entries));
    float *zeros = tk_zarray(net->n, sizeof(*zeros));
    if (entries != NULL && zeros != NULL) {
        for (size_t i = 0; i < net->n_tensors; i++) {
            const pre_tensor *t = &net->tensors[i];
            entries[i] =
                (eng_st_entry){t->name, ENG_F32, t->shape, t->n_dims, zeros + t->at};
        }
        eng_st_file file = {entries, net->n_tensors, NULL};
        eng_st_put(&net->file, &file);
        pre_net_put_config(&net->config, &net->shape);
    } else {
        tk_buf_fail(&net->file, TINKC_E_NOMEM);
    }
    tk_free(entries);
    tk_free(zeros);
    tinkc_code code = tk_buf_status(&net->file, err);
    return code == TINKC_OK ? tk_buf_status(&net->config, err) : code;
}

static tinkc_code open_shard(pre_net *net, pre_shard *shard, tk_err *err)
{
    shard->grads = tk_zarray(net->n, sizeof(eng_real));
    if (shard->grads == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = eng_pool_new(&shard->pool, 1, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_model_memory memory = {.config = tk_buf_str(&net->config),
                               .weights = tk_buf_str(&net->file)};
    code = eng_model_open_memory(&shard->model, shard->pool, &memory, err);
    if (code == TINKC_OK) {
        code = eng_model_thaw(shard->model, err);
    }
    return code == TINKC_OK
               ? eng_model_reserve_rope(shard->model, net->shape.context, err)
               : code;
}

static tinkc_code init(pre_net *net, uint64_t seed, tk_err *err)
{
    size_t most = 2 + net->shape.layers * PER_LAYER;
    net->tensors = tk_zarray(most, sizeof(*net->tensors));
    if (net->tensors == NULL) {
        return tk_err_nomem(err);
    }
    add_all(net);
    net->weights = tk_zarray(net->n, sizeof(eng_real));
    net->m = tk_zarray(net->n, sizeof(eng_real));
    net->v = tk_zarray(net->n, sizeof(eng_real));
    if (net->weights == NULL || net->m == NULL || net->v == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = make_file(net, err);
    for (size_t s = 0; s < PRE_SHARDS && code == TINKC_OK; s++) {
        code = open_shard(net, &net->shards[s], err);
    }
    if (code == TINKC_OK) {
        fill(net, seed);
        pre_net_sync(net);
    }
    return code;
}

tinkc_code pre_net_init(pre_net *net, const pre_shape *shape, uint64_t seed, tk_err *err)
{
    *net = (pre_net){.shape = *shape};
    tk_buf_init(&net->config, CONFIG_MAX);
    tk_buf_init(&net->file, FILE_MAX);
    tinkc_code code = init(net, seed, err);
    if (code != TINKC_OK) {
        pre_net_dispose(net);
    }
    return code;
}

void pre_net_dispose(pre_net *net)
{
    for (size_t s = 0; s < PRE_SHARDS; s++) {
        eng_model_free(net->shards[s].model);
        eng_pool_free(net->shards[s].pool);
        tk_free(net->shards[s].grads);
    }
    tk_buf_dispose(&net->config);
    tk_buf_dispose(&net->file);
    tk_free(net->tensors);
    tk_free(net->weights);
    tk_free(net->m);
    tk_free(net->v);
    *net = (pre_net){.n = 0};
}

/* ---- optimizer ---- */

void pre_net_fold(pre_net *net)
{
    eng_real *sum = net->shards[0].grads;
    for (size_t s = 1; s < PRE_SHARDS; s++) {
        eng_real *part = net->shards[s].grads;
        for (size_t i = 0; i < net->n; i++) {
            sum[i] += part[i];
            part[i] = 0;
        }
    }
}

tinkc_code pre_net_step(pre_net *net, const eng_adam *adam, double *norm_out, tk_err *err)
{
    eng_pool *pool = net->shards[0].pool;
    const eng_real *grads = net->shards[0].grads;
    double norm2 = 0;
    pre_net_fold(net);
    tinkc_code code = eng_optim_norm2(pool, grads, net->n, &norm2, err);
    if (code != TINKC_OK) {
        return code;
    }
    double norm = sqrt(norm2);
    if (!isfinite(norm)) {
        return tk_err_set(err, TINKC_E_INVALID, "the gradient is not finite");
    }
    net->step++;
    eng_adam plain = *adam;
    plain.weight_decay = 0;
    eng_adamw part = {.adam = adam,
                      .step = net->step,
                      .grad_scale = eng_optim_clip(norm, adam->grad_clip_norm),
                      .p = net->weights,
                      .m = net->m,
                      .v = net->v,
                      .g = grads,
                      .n = net->n_decay};
    eng_adamw_run(pool, &part);
    size_t at = net->n_decay;
    part.adam = &plain;
    part.p += at;
    part.m += at;
    part.v += at;
    part.g += at;
    part.n = net->n - at;
    eng_adamw_run(pool, &part);
    for (size_t s = 0; s < PRE_SHARDS; s++) {
        memset(net->shards[s].grads, 0, net->n * sizeof(eng_real));
    }
    pre_net_sync(net);
    *norm_out = norm;
    return TINKC_OK;
}
