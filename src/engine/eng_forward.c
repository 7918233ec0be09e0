/* The layer loop; see eng_forward.h. */
#include "engine/eng_forward.h"

#include <string.h>

#include "engine/eng_rows.h"

typedef struct linear {
    size_t layer;
    eng_linear which;
    const eng_real *x;
    eng_real *y; /* NULL: only what the adapters keep of x */
    bool add;    /* onto the residual stream */
} linear;

/* The adapters' part of a linear: runs of rows that share one. */
static tinkc_code apply_adapters(const eng_acts *acts, const linear *l, tk_err *err)
{
    const eng_config *c = &acts->model->config;
    for (size_t s = 0; s < acts->n_seqs;) {
        const eng_adapter *adapter = acts->seqs[s].adapter;
        size_t row = acts->attn[s].row, rows = 0;
        for (; s < acts->n_seqs && acts->seqs[s].adapter == adapter; s++) {
            rows += acts->seqs[s].n;
        }
        if (adapter == NULL || !eng_adapter_module(adapter, l->layer, l->which)->on) {
            continue;
        }
        size_t in = eng_model_inputs(c, l->which), out = eng_model_outputs(c, l->which);
        eng_lora_apply apply = {.adapter = adapter,
                                .lora = eng_adapter_module(adapter, l->layer, l->which),
                                .x = l->x + row * in,
                                .ldx = in,
                                .rows = rows,
                                .y = l->y != NULL ? l->y + row * out : NULL,
                                .ldy = out,
                                .u = acts->layers[l->layer].u[l->which] +
                                     row * adapter->config.rank};
        tinkc_code code = eng_lora_forward(&apply, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code run_linear(const eng_acts *acts, const linear *l, tk_err *err)
{
    const eng_model *model = acts->model;
    const eng_layer *layer = &model->layers[l->layer];
    eng_mul m = {.w = &layer->w[l->which],
                 .x = l->x,
                 .ldx = layer->w[l->which].k,
                 .rows = acts->rows,
                 .y = l->y,
                 .ldy = layer->w[l->which].n,
                 .bias = layer->bias[l->which],
                 .scale = 1,
                 .add = l->add};
    tinkc_code code = eng_mul_run(model->pool, &m, err);
    return code == TINKC_OK ? apply_adapters(acts, l, err) : code;
}

static tinkc_code project(const eng_acts *acts, size_t index, tk_err *err)
{
    const eng_layer_acts *l = &acts->layers[index];
    eng_real *q = l->q_raw != NULL ? l->q_raw : l->q;
    eng_real *k = l->k_raw != NULL ? l->k_raw : acts->k;
    const linear three[] = {{index, ENG_Q, acts->normed, q, false},
                            {index, ENG_K, acts->normed, k, false},
                            {index, ENG_V, acts->normed, acts->v, false}};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < 3 && code == TINKC_OK; i++) {
        code = run_linear(acts, &three[i], err);
    }
    return code;
}

/* q/k norm where the model has one, then positions. */
static void place_heads(const eng_acts *acts, size_t index)
{
    const eng_model *model = acts->model;
    const eng_config *c = &model->config;
    const eng_layer *layer = &model->layers[index];
    const eng_layer_acts *l = &acts->layers[index];
    if (l->q_raw != NULL) {
        eng_norm q = {.x = l->q_raw,
                      .w = layer->q_norm,
                      .y = l->q,
                      .inv = l->q_inv,
                      .rows = acts->rows * c->heads,
                      .n = c->head_dim,
                      .eps = c->rms_eps};
        eng_norm k = {.x = l->k_raw,
                      .w = layer->k_norm,
                      .y = acts->k,
                      .inv = l->k_inv,
                      .rows = acts->rows * c->kv_heads,
                      .n = c->head_dim,
                      .eps = c->rms_eps};
        eng_norm_forward(model->pool, &q);
        eng_norm_forward(model->pool, &k);
    }
    eng_rotation rotation = {.model = model,
                             .x = l->q,
                             .rows = acts->rows,
                             .heads = c->heads,
                             .positions = acts->positions};
    eng_rows_rotate(&rotation);
    rotation.x = acts->k;
    rotation.heads = c->kv_heads;
    eng_rows_rotate(&rotation);
}

static void store_kv(const eng_acts *acts, size_t index)
{
    const eng_config *c = &acts->model->config;
    size_t kv = c->kv_heads * c->head_dim;
    for (size_t s = 0; s < acts->n_seqs; s++) {
        const eng_seq *seq = &acts->seqs[s];
        acts->attn[s].blocks = seq->blocks + index * seq->n_blocks;
        for (size_t i = 0; i < seq->n; i++) {
            size_t pos = seq->pos + i, row = acts->attn[s].row + i;
            eng_kv_store(acts->attn[s].blocks[pos / ENG_KV_BLOCK], c, pos % ENG_KV_BLOCK,
                         acts->k + row * kv, acts->v + row * kv);
        }
    }
}

static tinkc_code attend(const eng_acts *acts, size_t index, tk_err *err)
{
    const eng_layer_acts *l = &acts->layers[index];
    eng_attn attn = {.config = &acts->model->config,
                     .seqs = acts->attn,
                     .n_seqs = acts->n_seqs,
                     .q = l->q,
                     .out = l->o,
                     .stat = acts->keep != ENG_KEEP_NOTHING ? l->stat : NULL};
    tinkc_code code = eng_attn_forward(acts->model->pool, &attn, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = acts->rows * acts->model->config.hidden;
    memcpy(l->x_mid, l->x_in, n * sizeof(*l->x_mid));
    linear o = {index, ENG_O, l->o, l->x_mid, true};
    return run_linear(acts, &o, err);
}

static tinkc_code run_gates(const eng_acts *acts, size_t index, tk_err *err)
{
    const eng_layer_acts *l = &acts->layers[index];
    linear gate = {index, ENG_GATE, acts->normed, l->gate, false};
    linear up = {index, ENG_UP, acts->normed, l->up, false};
    tinkc_code code = run_linear(acts, &gate, err);
    return code == TINKC_OK ? run_linear(acts, &up, err) : code;
}

static tinkc_code run_down(const eng_acts *acts, size_t index, tk_err *err)
{
    const eng_config *c = &acts->model->config;
    const eng_layer_acts *l = &acts->layers[index];
    bool last = index + 1 == c->layers;
    eng_real *out = last ? acts->x_out : acts->layers[index + 1].x_in;
    linear down = {index, ENG_DOWN, acts->act, out, true};
    eng_rows_gate(acts->model->pool, acts->act, l->gate, l->up,
                  acts->rows * c->intermediate);
    memcpy(out, l->x_mid, acts->rows * c->hidden * sizeof(*out));
    return run_linear(acts, &down, err);
}

/* A layer up to what backward needs of it: all but the last projection. */
static tinkc_code run_layer(const eng_acts *acts, size_t index, tk_err *err)
{
    const eng_model *model = acts->model;
    const eng_config *c = &model->config;
    const eng_layer_acts *l = &acts->layers[index];
    eng_norm norm = {.x = l->x_in,
                     .w = model->layers[index].norm_in,
                     .y = acts->normed,
                     .inv = l->inv_in,
                     .rows = acts->rows,
                     .n = c->hidden,
                     .eps = c->rms_eps};
    eng_norm_forward(model->pool, &norm);
    tinkc_code code = project(acts, index, err);
    if (code != TINKC_OK) {
        return code;
    }
    place_heads(acts, index);
    store_kv(acts, index);
    code = attend(acts, index, err);
    if (code != TINKC_OK) {
        return code;
    }
    norm.x = l->x_mid;
    norm.w = model->layers[index].norm_post;
    norm.inv = l->inv_mid;
    eng_norm_forward(model->pool, &norm);
    return run_gates(acts, index, err);
}

tinkc_code eng_forward_again(eng_acts *acts, size_t layer, tk_err *err)
{
    const eng_layer_acts *l = &acts->layers[layer];
    tinkc_code code = run_layer(acts, layer, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_rows_gate(acts->model->pool, acts->act, l->gate, l->up,
                  acts->rows * acts->model->config.intermediate);
    linear down = {layer, ENG_DOWN, acts->act, NULL, false};
    return apply_adapters(acts, &down, err);
}

static void embed(const eng_acts *acts)
{
    size_t hidden = acts->model->config.hidden;
    for (size_t s = 0; s < acts->n_seqs; s++) {
        const eng_seq *seq = &acts->seqs[s];
        for (size_t i = 0; i < seq->n; i++) {
            eng_model_embed(acts->model, seq->tokens[i],
                            acts->layers[0].x_in + (acts->attn[s].row + i) * hidden);
        }
    }
}

tinkc_code eng_forward(eng_acts *acts, tk_err *err)
{
    eng_model *model = acts->model;
    size_t positions = 0;
    for (size_t s = 0; s < acts->n_seqs; s++) {
        positions = TK_MAX(positions, acts->seqs[s].pos + acts->seqs[s].n);
    }
    tinkc_code code = eng_model_reserve_rope(model, positions, err);
    if (code != TINKC_OK) {
        return code;
    }
    embed(acts);
    for (size_t i = 0; i < model->config.layers; i++) {
        code = eng_pool_check(model->pool, err);
        if (code == TINKC_OK) {
            code = run_layer(acts, i, err);
        }
        if (code == TINKC_OK) {
            code = run_down(acts, i, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
    }
    eng_norm norm = {.x = acts->x_out,
                     .w = model->norm,
                     .y = acts->hidden,
                     .inv = acts->inv_out,
                     .rows = acts->rows,
                     .n = model->config.hidden,
                     .eps = model->config.rms_eps};
    eng_norm_forward(model->pool, &norm);
    return TINKC_OK;
}
