/* The reverse layer loop; see eng_backward.h. Cheap activations (normed inputs, the gated
 * product) are computed again instead of kept. */
#include "engine/eng_backward.h"

#include <string.h>

#include "engine/eng_rows.h"

typedef struct pass {
    const eng_backward_args *args;
    eng_acts *acts;
    const eng_model *model;
    const eng_config *config;
    eng_real *d_x;                   /* [rows][hidden] of the residual stream */
    eng_real *d_normed;              /* [rows][hidden] */
    eng_real *d_act, *d_up;          /* [rows][intermediate] */
    eng_real *d_o, *d_q, *d_k, *d_v; /* attention */
    eng_real *temp;                  /* [2][rows][rank] */
    tk_err *err;
} pass;

static bool wants_all(const pass *p)
{
    return p->args->hook != NULL;
}

static tinkc_code emit(const pass *p, const eng_grad_event *event)
{
    const eng_grad_hook *hook = p->args->hook;
    return hook != NULL ? hook->fn(hook->user, event, p->err) : TINKC_OK;
}

typedef struct linear_back {
    size_t layer;
    eng_linear which;
    const eng_real *x;
    eng_real *d_y;
    eng_real *d_x; /* NULL = not wanted */
    bool add;
} linear_back;

static tinkc_code adapter_back(const pass *p, const linear_back *l)
{
    const eng_adapter *adapter = p->args->adapter;
    if (adapter == NULL || !eng_adapter_module(adapter, l->layer, l->which)->on) {
        return TINKC_OK;
    }
    const eng_lora *lora = eng_adapter_module(adapter, l->layer, l->which);
    eng_lora_apply apply = {.adapter = adapter,
                            .lora = lora,
                            .x = l->x,
                            .ldx = lora->in,
                            .rows = p->acts->rows,
                            .y = l->d_y,
                            .ldy = lora->out,
                            .u = p->acts->layers[l->layer].u[l->which]};
    return eng_lora_backward(&apply, l->d_x, p->temp, p->err);
}

static tinkc_code linear_grad(const pass *p, const linear_back *l)
{
    const eng_mat *w = &p->model->layers[l->layer].w[l->which];
    eng_grad_event event = {.kind = ENG_GRAD_LINEAR,
                            .name = eng_linear_name(l->which),
                            .layer = l->layer,
                            .x = l->x,
                            .d_y = l->d_y,
                            .rows = p->acts->rows,
                            .k = w->k,
                            .n = w->n};
    tinkc_code code = emit(p, &event);
    if (code == TINKC_OK && l->d_x != NULL) {
        eng_mul m = {.w = w,
                     .x = l->d_y,
                     .ldx = w->n,
                     .rows = p->acts->rows,
                     .y = l->d_x,
                     .ldy = w->k,
                     .scale = 1,
                     .add = l->add};
        code = eng_mul_back_run(p->model->pool, &m, p->err);
    }
    return code == TINKC_OK ? adapter_back(p, l) : code;
}

typedef struct norm_grad {
    const char *name;
    size_t layer;
    eng_norm norm;
    const eng_real *d_y;
    eng_real *d_x;
    bool add;
} norm_grad;

static tinkc_code norm_back(const pass *p, const norm_grad *g)
{
    eng_grad_event event = {.kind = ENG_GRAD_NORM,
                            .name = g->name,
                            .layer = g->layer,
                            .x = g->norm.x,
                            .inv = g->norm.inv,
                            .d_y = g->d_y,
                            .rows = g->norm.rows,
                            .k = g->norm.n,
                            .n = g->norm.n};
    tinkc_code code = emit(p, &event);
    if (code == TINKC_OK) {
        eng_norm_backward(p->model->pool, &g->norm, g->d_y, g->d_x, g->add);
    }
    return code;
}

static eng_norm hidden_norm(const pass *p, const eng_real *x, const eng_real *w,
                            eng_real *inv)
{
    return (eng_norm){.x = x,
                      .w = w,
                      .y = p->acts->normed,
                      .inv = inv,
                      .rows = p->acts->rows,
                      .n = p->config->hidden,
                      .eps = p->config->rms_eps};
}

static tinkc_code feed_forward_back(const pass *p, size_t index)
{
    const eng_layer_acts *l = &p->acts->layers[index];
    size_t n = p->acts->rows * p->config->intermediate;
    eng_norm norm =
        hidden_norm(p, l->x_mid, p->model->layers[index].norm_post, l->inv_mid);
    eng_rows_gate(p->model->pool, p->acts->act, l->gate, l->up, n);
    linear_back down = {index, ENG_DOWN, p->acts->act, p->d_x, p->d_act, false};
    tinkc_code code = linear_grad(p, &down);
    if (code != TINKC_OK) {
        return code;
    }
    eng_gate_grad gate_grad = {p->d_act, p->d_up, l->gate, l->up, n};
    eng_rows_gate_backward(p->model->pool, &gate_grad);
    eng_norm_forward(p->model->pool, &norm);
    linear_back gate = {index, ENG_GATE, p->acts->normed, p->d_act, p->d_normed, false};
    linear_back up = {index, ENG_UP, p->acts->normed, p->d_up, p->d_normed, true};
    code = linear_grad(p, &gate);
    if (code == TINKC_OK) {
        code = linear_grad(p, &up);
    }
    norm_grad g = {"post_attention_layernorm", index, norm, p->d_normed, p->d_x, true};
    return code == TINKC_OK ? norm_back(p, &g) : code;
}

/* From dL/d(rotated q, k) to dL/d(projections), in place. */
static tinkc_code heads_back(const pass *p, size_t index)
{
    const eng_layer *layer = &p->model->layers[index];
    const eng_layer_acts *l = &p->acts->layers[index];
    size_t rows = p->acts->rows, heads = p->config->heads, kv = p->config->kv_heads;
    eng_rotation rotation = {.model = p->model,
                             .x = p->d_q,
                             .rows = rows,
                             .heads = heads,
                             .positions = p->acts->positions,
                             .back = true};
    eng_rows_rotate(&rotation);
    rotation.x = p->d_k;
    rotation.heads = kv;
    eng_rows_rotate(&rotation);
    if (l->q_raw == NULL) {
        return TINKC_OK;
    }
    eng_norm q = {.x = l->q_raw,
                  .w = layer->q_norm,
                  .inv = l->q_inv,
                  .rows = rows * heads,
                  .n = p->config->head_dim};
    eng_norm k = {.x = l->k_raw,
                  .w = layer->k_norm,
                  .inv = l->k_inv,
                  .rows = rows * kv,
                  .n = p->config->head_dim};
    norm_grad q_grad = {"self_attn.q_norm", index, q, p->d_q, p->d_q, false};
    norm_grad k_grad = {"self_attn.k_norm", index, k, p->d_k, p->d_k, false};
    tinkc_code code = norm_back(p, &k_grad);
    return code == TINKC_OK ? norm_back(p, &q_grad) : code;
}

static tinkc_code attention_back(const pass *p, size_t index)
{
    const eng_layer_acts *l = &p->acts->layers[index];
    linear_back o = {index, ENG_O, l->o, p->d_x, p->d_o, false};
    tinkc_code code = linear_grad(p, &o);
    if (code != TINKC_OK) {
        return code;
    }
    for (size_t s = 0; s < p->acts->n_seqs; s++) {
        const eng_seq *seq = &p->acts->seqs[s];
        p->acts->attn[s].blocks = seq->blocks + index * seq->n_blocks;
    }
    eng_attn attn = {.config = p->config,
                     .seqs = p->acts->attn,
                     .n_seqs = p->acts->n_seqs,
                     .q = l->q,
                     .out = l->o,
                     .stat = l->stat};
    eng_attn_grad grad = {&attn, p->d_o, p->d_q, p->d_k, p->d_v};
    code = eng_attn_backward(p->model->pool, &grad, p->err);
    return code == TINKC_OK ? heads_back(p, index) : code;
}

static tinkc_code projections_back(const pass *p, size_t index)
{
    const eng_layer_acts *l = &p->acts->layers[index];
    eng_norm norm = hidden_norm(p, l->x_in, p->model->layers[index].norm_in, l->inv_in);
    eng_norm_forward(p->model->pool, &norm);
    /* Nothing below the first layer is trained, unless a tool wants everything. */
    eng_real *d_x = index > 0 || wants_all(p) ? p->d_normed : NULL;
    const linear_back three[] = {{index, ENG_Q, p->acts->normed, p->d_q, d_x, false},
                                 {index, ENG_K, p->acts->normed, p->d_k, d_x, true},
                                 {index, ENG_V, p->acts->normed, p->d_v, d_x, true}};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < 3 && code == TINKC_OK; i++) {
        code = linear_grad(p, &three[i]);
    }
    if (code != TINKC_OK || d_x == NULL) {
        return code;
    }
    norm_grad g = {"input_layernorm", index, norm, p->d_normed, p->d_x, true};
    return norm_back(p, &g);
}

static tinkc_code layer_back(const pass *p, size_t index)
{
    tinkc_code code = eng_pool_check(p->model->pool, p->err);
    if (code == TINKC_OK && p->acts->keep == ENG_KEEP_INPUTS) {
        code = eng_forward_again(p->acts, index, p->err);
    }
    if (code == TINKC_OK) {
        code = feed_forward_back(p, index);
    }
    if (code == TINKC_OK) {
        code = attention_back(p, index);
    }
    return code == TINKC_OK ? projections_back(p, index) : code;
}

static bool allocate(pass *p)
{
    const eng_config *c = p->config;
    eng_work *work = p->args->work;
    size_t rows = p->acts->rows, q = c->heads * c->head_dim;
    size_t kv = c->kv_heads * c->head_dim;
    p->d_x = p->args->d_hidden;
    p->d_normed = eng_work_reals(work, rows, c->hidden);
    p->d_act = eng_work_reals(work, rows, c->intermediate);
    p->d_up = eng_work_reals(work, rows, c->intermediate);
    p->d_o = eng_work_reals(work, rows, q);
    p->d_q = eng_work_reals(work, rows, q);
    p->d_k = eng_work_reals(work, rows, kv);
    p->d_v = eng_work_reals(work, rows, kv);
    p->temp = eng_work_reals(work, rows, 2 * p->acts->rank);
    return p->d_normed != NULL && p->d_act != NULL && p->d_up != NULL && p->d_o != NULL &&
           p->d_q != NULL && p->d_k != NULL && p->d_v != NULL && p->temp != NULL;
}

static tinkc_code emit_embed(const pass *p)
{
    size_t hidden = p->config->hidden;
    for (size_t s = 0; wants_all(p) && s < p->acts->n_seqs; s++) {
        const eng_seq *seq = &p->acts->seqs[s];
        eng_grad_event event = {.kind = ENG_GRAD_EMBED,
                                .name = "embed_tokens",
                                .layer = p->config->layers,
                                .d_y = p->d_x + p->acts->attn[s].row * hidden,
                                .rows = seq->n,
                                .k = hidden,
                                .n = hidden,
                                .tokens = seq->tokens};
        tinkc_code code = emit(p, &event);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

tinkc_code eng_backward(const eng_backward_args *args, tk_err *err)
{
    eng_acts *acts = args->acts;
    pass p = {.args = args,
              .acts = acts,
              .model = acts->model,
              .config = &acts->model->config,
              .err = err};
    bool layers = args->adapter != NULL && eng_adapter_trains_layers(args->adapter);
    if (!layers && !wants_all(&p)) {
        return TINKC_OK;
    }
    if (!allocate(&p)) {
        return tk_err_nomem(err);
    }
    eng_norm norm = hidden_norm(&p, acts->x_out, p.model->norm, acts->inv_out);
    norm_grad g = {"norm", p.config->layers, norm, p.d_x, p.d_x, false};
    tinkc_code code = norm_back(&p, &g);
    for (size_t i = p.config->layers; i-- > 0 && code == TINKC_OK;) {
        code = layer_back(&p, i);
    }
    return code == TINKC_OK ? emit_embed(&p) : code;
}
