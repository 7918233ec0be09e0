/* LoRA adapters: layout, initial values, application and gradients; see eng_lora.h. */
#include "engine/eng_lora.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_rng.h"

const char *eng_optimizer_name(eng_optimizer optimizer)
{
    return optimizer == ENG_DIMUON ? "dimuon" : "adamw";
}

const eng_lora *eng_adapter_module(const eng_adapter *adapter, size_t layer,
                                   eng_linear which)
{
    size_t head = adapter->n_modules - 1;
    size_t at = layer * ENG_N_LINEAR + (size_t)which;
    return &adapter->modules[TK_MIN(at, head)];
}

bool eng_adapter_trains_layers(const eng_adapter *adapter)
{
    return adapter->config.train_attn || adapter->config.train_mlp;
}

static void lay_out(eng_adapter *adapter)
{
    const eng_config *c = &adapter->model->config;
    const eng_lora_config *lora = &adapter->config;
    for (size_t i = 0; i < adapter->n_modules; i++) {
        eng_lora *m = &adapter->modules[i];
        if (i + 1 == adapter->n_modules) {
            m->on = lora->train_unembed;
            m->in = c->hidden;
            m->out = c->vocabulary;
        } else {
            eng_linear which = (eng_linear)(i % ENG_N_LINEAR);
            m->on = which <= ENG_O ? lora->train_attn : lora->train_mlp;
            m->in = eng_model_inputs(c, which);
            m->out = eng_model_outputs(c, which);
        }
        if (m->on) {
            m->a_at = adapter->n;
            m->b_at = m->a_at + lora->rank * m->in;
            adapter->n = m->b_at + lora->rank * m->out;
        }
    }
}

static bool allocate_values(eng_adapter *adapter)
{
    size_t n = adapter->n;
    adapter->weights = tk_zarray(n, sizeof(eng_real));
    if (adapter->frozen) {
        return adapter->weights != NULL;
    }
    adapter->grads = tk_zarray(n, sizeof(eng_real));
    adapter->moment1 = tk_zarray(n, sizeof(eng_real));
    bool two = adapter->config.optimizer == ENG_ADAMW;
    adapter->moment2 = two ? tk_zarray(n, sizeof(eng_real)) : NULL;
    return adapter->weights != NULL && adapter->grads != NULL &&
           adapter->moment1 != NULL && (!two || adapter->moment2 != NULL);
}

static bool allocate_panels(eng_adapter *adapter)
{
    size_t rank = adapter->config.rank;
    for (size_t i = 0; i < adapter->n_modules; i++) {
        eng_lora *m = &adapter->modules[i];
        size_t bytes;
        if (!m->on) {
            continue;
        }
        m->a = (eng_mat){.n = rank, .k = m->in};
        m->b = (eng_mat){.n = m->out, .k = rank};
        m->a.panels = eng_mat_bytes(&bytes, rank, m->in, ENG_FORMAT_REAL)
                          ? eng_work_array(&adapter->packed, bytes, 1)
                          : NULL;
        m->b.panels = eng_mat_bytes(&bytes, m->out, rank, ENG_FORMAT_REAL)
                          ? eng_work_array(&adapter->packed, bytes, 1)
                          : NULL;
        if (m->a.panels == NULL || m->b.panels == NULL) {
            return false;
        }
    }
    return true;
}

/* Each module draws from its own stream, so that flags do not change other modules. */
static void initialise(eng_adapter *adapter)
{
    for (size_t i = 0; i < adapter->n_modules; i++) {
        const eng_lora *m = &adapter->modules[i];
        eng_rng rng;
        eng_rng_init(&rng, adapter->config.seed, i);
        double bound = 1.0 / sqrt((double)m->in);
        size_t n = m->on ? adapter->config.rank * m->in : 0;
        for (size_t j = 0; j < n; j++) {
            double value = (2.0 * eng_rng_unit(&rng) - 1.0) * bound;
            adapter->weights[m->a_at + j] = (eng_real)value;
        }
    }
}

static tinkc_code check_config(const eng_lora_config *config, tk_err *err)
{
    if (config->rank < 1) {
        return tk_err_set(err, TINKC_E_INVALID, "lora_config.rank must be positive");
    }
    if (config->rank > ENG_LORA_RANK_MAX) {
        return tk_err_set(err, TINKC_E_INVALID, "lora_config.rank must be at most %d",
                          ENG_LORA_RANK_MAX);
    }
    if (config->optimizer == ENG_DIMUON && config->rank > ENG_DIMUON_RANK_MAX) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "lora_config.rank must be at most %d with dimuon",
                          ENG_DIMUON_RANK_MAX);
    }
    if (!(config->alpha > 0) || !isfinite(config->alpha)) {
        return tk_err_set(err, TINKC_E_INVALID, "lora alpha must be a number above 0");
    }
    if (!config->train_attn && !config->train_mlp && !config->train_unembed) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "At least one of train_unembed, train_mlp, or train_attn must "
                          "be True");
    }
    return TINKC_OK;
}

tinkc_code eng_adapter_make(eng_adapter **out, eng_model *model,
                            const eng_lora_config *config, bool frozen, tk_err *err)
{
    tinkc_code code = check_config(config, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_adapter *adapter = tk_zalloc(sizeof(*adapter));
    if (adapter == NULL) {
        return tk_err_nomem(err);
    }
    atomic_init(&adapter->owners, 1);
    adapter->model = model;
    adapter->config = *config;
    adapter->frozen = frozen;
    adapter->scale = (eng_real)(config->alpha / (double)config->rank);
    adapter->n_modules = model->config.layers * ENG_N_LINEAR + 1;
    adapter->modules = tk_zarray(adapter->n_modules, sizeof(eng_lora));
    if (adapter->modules != NULL) {
        lay_out(adapter);
    }
    if (adapter->modules == NULL || !allocate_values(adapter) ||
        !allocate_panels(adapter)) {
        eng_adapter_free(adapter);
        return tk_err_nomem(err);
    }
    *out = adapter;
    return TINKC_OK;
}

tinkc_code eng_adapter_new(eng_adapter **out, eng_model *model,
                           const eng_lora_config *config, tk_err *err)
{
    eng_adapter *adapter;
    tinkc_code code = eng_adapter_make(&adapter, model, config, false, err);
    if (code == TINKC_OK) {
        initialise(adapter);
        eng_adapter_repack(adapter);
        *out = adapter;
    }
    return code;
}

tinkc_code eng_adapter_snapshot(eng_adapter **out, const eng_adapter *adapter,
                                tk_err *err)
{
    eng_adapter *copy;
    tinkc_code code = eng_adapter_check_finite(adapter, adapter->weights, "weights", err);
    if (code == TINKC_OK) {
        code = eng_adapter_make(&copy, adapter->model, &adapter->config, true, err);
    }
    if (code == TINKC_OK) {
        memcpy(copy->weights, adapter->weights, copy->n * sizeof(eng_real));
        copy->steps = adapter->steps;
        eng_adapter_repack(copy);
        *out = copy;
    }
    return code;
}

eng_adapter *eng_adapter_retain(eng_adapter *adapter)
{
    (void)atomic_fetch_add_explicit(&adapter->owners, 1, memory_order_relaxed);
    return adapter;
}

void eng_adapter_free(eng_adapter *adapter)
{
    if (adapter == NULL ||
        atomic_fetch_sub_explicit(&adapter->owners, 1, memory_order_acq_rel) != 1) {
        return;
    }
    tk_free(adapter->modules);
    tk_free(adapter->weights);
    tk_free(adapter->grads);
    tk_free(adapter->moment1);
    tk_free(adapter->moment2);
    eng_work_dispose(&adapter->packed);
    tk_free(adapter);
}

tinkc_code eng_adapter_check_trainable(const eng_adapter *adapter, tk_err *err)
{
    return adapter->frozen ? tk_err_set(err, TINKC_E_INVALID,
                                        "these weights are frozen: they can be sampled "
                                        "from, not trained")
                           : TINKC_OK;
}

tinkc_code eng_adapter_check_finite(const eng_adapter *adapter, const eng_real *values,
                                    const char *what, tk_err *err)
{
    for (size_t i = 0; i < adapter->n; i++) {
        if (!isfinite(values[i])) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "the %s are NaN or infinite: training has diverged", what);
        }
    }
    return TINKC_OK;
}

uint64_t eng_adapter_parameters(const eng_adapter *adapter)
{
    return adapter->n;
}

uint64_t eng_adapter_steps(const eng_adapter *adapter)
{
    return adapter->steps;
}

static void repack_modules(void *user, size_t begin, size_t end, void *scratch)
{
    const eng_adapter *adapter = user;
    (void)scratch;
    for (size_t i = begin; i < end; i++) {
        const eng_lora *m = &adapter->modules[i];
        if (m->on) {
            eng_mat_pack_reals(&m->a, adapter->weights + m->a_at);
            eng_mat_pack_reals(&m->b, adapter->weights + m->b_at);
        }
    }
}

void eng_adapter_repack(eng_adapter *adapter)
{
    static atomic_ullong last_identity;
    adapter->identity = atomic_fetch_add(&last_identity, 1) + 1;
    eng_pool_run(adapter->model->pool, adapter->n_modules, repack_modules, adapter);
}

tinkc_code eng_lora_forward(const eng_lora_apply *l, tk_err *err)
{
    eng_pool *pool = l->adapter->model->pool;
    size_t rank = l->adapter->config.rank;
    eng_mul down = {.w = &l->lora->a,
                    .x = l->x,
                    .ldx = l->ldx,
                    .rows = l->rows,
                    .y = l->u,
                    .ldy = rank};
    eng_mul up = {.w = &l->lora->b,
                  .x = l->u,
                  .ldx = rank,
                  .rows = l->rows,
                  .y = l->y,
                  .ldy = l->ldy,
                  .scale = l->adapter->scale,
                  .add = true};
    tinkc_code code = eng_mul_run(pool, &down, err);
    return code == TINKC_OK && l->y != NULL ? eng_mul_run(pool, &up, err) : code;
}

static tinkc_code add_grads(const eng_lora_apply *l, const eng_real *su,
                            const eng_real *sv, tk_err *err)
{
    const eng_adapter *adapter = l->adapter;
    eng_pool *pool = adapter->model->pool;
    size_t rank = adapter->config.rank;
    eng_outer b = {.a = su,
                   .na = rank,
                   .lda = rank,
                   .b = l->y,
                   .nb = l->lora->out,
                   .ldb = l->ldy,
                   .rows = l->rows,
                   .c = adapter->grads + l->lora->b_at,
                   .c_a = 1,
                   .c_b = rank};
    eng_outer a = {.a = sv,
                   .na = rank,
                   .lda = rank,
                   .b = l->x,
                   .nb = l->lora->in,
                   .ldb = l->ldx,
                   .rows = l->rows,
                   .c = adapter->grads + l->lora->a_at,
                   .c_a = l->lora->in,
                   .c_b = 1};
    tinkc_code code = eng_outer_run(pool, &b, err);
    return code == TINKC_OK ? eng_outer_run(pool, &a, err) : code;
}

tinkc_code eng_lora_backward(const eng_lora_apply *l, eng_real *d_x, eng_real *temp,
                             tk_err *err)
{
    eng_pool *pool = l->adapter->model->pool;
    size_t rank = l->adapter->config.rank, n = l->rows * rank;
    eng_real *su = temp, *sv = temp + n;
    eng_mul back = {.w = &l->lora->b,
                    .x = l->y,
                    .ldx = l->ldy,
                    .rows = l->rows,
                    .y = sv,
                    .ldy = rank};
    tinkc_code code = eng_mul_back_run(pool, &back, err);
    if (code != TINKC_OK) {
        return code;
    }
    for (size_t i = 0; i < n; i++) {
        su[i] = l->adapter->scale * l->u[i];
        sv[i] *= l->adapter->scale;
    }
    code = add_grads(l, su, sv, err);
    if (code != TINKC_OK || d_x == NULL) {
        return code;
    }
    eng_mul through = {.w = &l->lora->a,
                       .x = sv,
                       .ldx = rank,
                       .rows = l->rows,
                       .y = d_x,
                       .ldy = l->lora->in,
                       .scale = 1,
                       .add = true};
    return eng_mul_back_run(pool, &through, err);
}
