/* Opening a model: every tensor is looked up by name, checked for shape, type and finite
 * values, and packed. */
#include "engine/eng_model.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/eng_rope.h"

#define CONFIG_MAX (4 * TK_MIB)
#define SCAN_PIECE ((size_t)1 << 16)
#define KEEP_MAX   2147483648.0 /* bytes of activations in a training step */

size_t eng_model_inputs(const eng_config *config, eng_linear which)
{
    switch (which) {
    case ENG_O:
        return config->heads * config->head_dim;
    case ENG_DOWN:
        return config->intermediate;
    case ENG_Q:
    case ENG_K:
    case ENG_V:
    case ENG_GATE:
    case ENG_UP:
    case ENG_N_LINEAR:
        break;
    }
    return config->hidden;
}

size_t eng_model_outputs(const eng_config *config, eng_linear which)
{
    switch (which) {
    case ENG_Q:
        return config->heads * config->head_dim;
    case ENG_K:
    case ENG_V:
        return config->kv_heads * config->head_dim;
    case ENG_GATE:
    case ENG_UP:
        return config->intermediate;
    case ENG_O:
    case ENG_DOWN:
    case ENG_N_LINEAR:
        break;
    }
    return config->hidden;
}

const char *eng_linear_name(eng_linear which)
{
    static const char *const names[ENG_N_LINEAR] = {
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
        "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
    return names[which];
}

static bool has_bias(const eng_config *config, eng_linear which)
{
    if (which <= ENG_V) {
        return config->qkv_bias;
    }
    return which == ENG_O ? config->o_bias : config->mlp_bias;
}

typedef struct scan {
    const eng_st_tensor *tensor;
    bool *bad; /* per piece */
} scan;

static void scan_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    const scan *s = user;
    (void)scratch;
    size_t size = eng_dtype_size(s->tensor->dtype);
    for (size_t piece = begin; piece < end; piece++) {
        size_t first = piece * SCAN_PIECE;
        size_t n = TK_MIN(SCAN_PIECE, s->tensor->count - first);
        const char *data = (const char *)s->tensor->data + first * size;
        s->bad[piece] = eng_dtype_find_bad(data, s->tensor->dtype, n) < n;
    }
}

static tinkc_code check_finite(eng_model *model, const eng_st_tensor *t, tk_err *err)
{
    size_t pieces = (t->count + SCAN_PIECE - 1) / SCAN_PIECE;
    scan s = {t, tk_zarray(pieces, sizeof(bool))};
    if (s.bad == NULL) {
        return tk_err_nomem(err);
    }
    eng_pool_run(model->pool, pieces, scan_pieces, &s);
    bool found = false;
    for (size_t i = 0; i < pieces; i++) {
        found = found || s.bad[i];
    }
    tk_free(s.bad);
    if (!found) {
        return TINKC_OK;
    }
    return tk_err_set(
        err, TINKC_E_INVALID, "tensor " TK_STR_FMT ": value %zu is NaN or infinite",
        TK_STR_ARG(t->name), eng_dtype_find_bad(t->data, t->dtype, t->count));
}

/* A tensor of shape [rows] (columns 0) or [rows, columns]. */
static tinkc_code find(eng_model *model, const char *name, size_t rows, size_t columns,
                       const eng_st_tensor **out, tk_err *err)
{
    const eng_st_tensor *t = eng_st_find(model->st, tk_str_of(name));
    if (t == NULL) {
        return tk_err_set(err, TINKC_E_DECODE, "tensor %s is missing", name);
    }
    size_t dims = columns > 0 ? 2 : 1;
    if (t->n_dims != dims || t->shape[0] != rows ||
        (columns > 0 && t->shape[1] != columns)) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "tensor %s: expected shape [%zu%s%.0zu], found %zu dimensions "
                          "[%zu, %zu]",
                          name, rows, columns > 0 ? ", " : "", columns, t->n_dims,
                          t->n_dims > 0 ? t->shape[0] : 0,
                          t->n_dims > 1 ? t->shape[1] : 0);
    }
    if (!t->known) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "tensor %s: dtype " TK_STR_FMT
                          " is not supported (only F32, BF16, F16)",
                          name, TK_STR_ARG(t->dtype_name));
    }
    *out = t;
    model->parameters += t->count;
    return check_finite(model, t, err);
}

static tinkc_code load_vector(eng_model *model, const char *name, size_t n,
                              eng_real **out, tk_err *err)
{
    const eng_st_tensor *t;
    tinkc_code code = find(model, name, n, 0, &t, err);
    if (code != TINKC_OK) {
        return code;
    }
    *out = eng_work_reals(&model->store, 1, n);
    if (*out == NULL) {
        return tk_err_nomem(err);
    }
    eng_dtype_read(*out, t->data, t->dtype, n);
    return TINKC_OK;
}

typedef struct packing {
    const eng_mat *mat;
    const eng_st_tensor *tensor;
} packing;

static void pack_panels(void *user, size_t begin, size_t end, void *scratch)
{
    const packing *p = user;
    (void)scratch;
    eng_mat_pack_panels(p->mat, p->tensor->data, p->tensor->dtype, begin, end);
}

static tinkc_code pack(eng_model *model, const eng_st_tensor *t, eng_mat *out,
                       tk_err *err)
{
    eng_mat mat = {.n = t->shape[0], .k = t->shape[1], .bf16 = t->dtype == ENG_BF16};
#ifdef ENG_DOUBLE
    mat.bf16 = false;
#endif
    size_t bytes;
    mat.panels = eng_mat_bytes(&bytes, mat.n, mat.k, mat.bf16)
                     ? eng_work_array(&model->store, bytes, 1)
                     : NULL;
    if (mat.panels == NULL) {
        return tk_err_nomem(err);
    }
    packing p = {&mat, t};
    eng_pool_run(model->pool, ENG_ROUND_UP(mat.n, ENG_LANES) / ENG_LANES, pack_panels,
                 &p);
    *out = mat;
    return TINKC_OK;
}

static tinkc_code load_linear(eng_model *model, size_t index, eng_linear which,
                              tk_err *err)
{
    const eng_config *c = &model->config;
    eng_layer *layer = &model->layers[index];
    char name[96];
    const eng_st_tensor *t;
    size_t outputs = eng_model_outputs(c, which);
    (void)snprintf(name, sizeof(name), "model.layers.%zu.%s.weight", index,
                   eng_linear_name(which));
    tinkc_code code = find(model, name, outputs, eng_model_inputs(c, which), &t, err);
    if (code == TINKC_OK) {
        code = pack(model, t, &layer->w[which], err);
    }
    if (code != TINKC_OK || !has_bias(c, which)) {
        return code;
    }
    (void)snprintf(name, sizeof(name), "model.layers.%zu.%s.bias", index,
                   eng_linear_name(which));
    return load_vector(model, name, outputs, &layer->bias[which], err);
}

static tinkc_code load_norms(eng_model *model, size_t index, tk_err *err)
{
    const eng_config *c = &model->config;
    eng_layer *layer = &model->layers[index];
    const struct {
        const char *name;
        size_t n;
        eng_real **out;
    } norms[] = {{"input_layernorm", c->hidden, &layer->norm_in},
                 {"post_attention_layernorm", c->hidden, &layer->norm_post},
                 {"self_attn.q_norm", c->head_dim, &layer->q_norm},
                 {"self_attn.k_norm", c->head_dim, &layer->k_norm}};
    size_t n = c->qk_norm ? 4 : 2;
    for (size_t i = 0; i < n; i++) {
        char name[96];
        (void)snprintf(name, sizeof(name), "model.layers.%zu.%s.weight", index,
                       norms[i].name);
        tinkc_code code = load_vector(model, name, norms[i].n, norms[i].out, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code load_head(eng_model *model, tk_err *err)
{
    const eng_config *c = &model->config;
    const eng_st_tensor *embed;
    tinkc_code code =
        find(model, "model.embed_tokens.weight", c->vocabulary, c->hidden, &embed, err);
    if (code != TINKC_OK) {
        return code;
    }
    model->embed = embed->data;
    model->embed_dtype = embed->dtype;
    const eng_st_tensor *head = embed;
    if (!c->tied) {
        code = find(model, "lm_head.weight", c->vocabulary, c->hidden, &head, err);
    }
    if (code == TINKC_OK) {
        code = pack(model, head, &model->head, err);
    }
    return code == TINKC_OK
               ? load_vector(model, "model.norm.weight", c->hidden, &model->norm, err)
               : code;
}

/* All weights in one block, so that large pages fit; what it is short of by rounding
 * comes from a second one. */
static void plan_store(eng_model *model)
{
    size_t bytes = 0;
    for (size_t i = 0; i < eng_st_count(model->st); i++) {
        const eng_st_tensor *t = eng_st_at(model->st, i);
        size_t each = t->dtype == ENG_BF16 ? sizeof(uint16_t) : sizeof(eng_real);
        bytes += t->known ? t->count * each : 0; /* at most twice the mapped files */
    }
    model->store.want = bytes;
}

static tinkc_code load(eng_model *model, tk_err *err)
{
    plan_store(model);
    model->layers = tk_zarray(model->config.layers, sizeof(*model->layers));
    if (model->layers == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = load_head(model, err);
    for (size_t i = 0; code == TINKC_OK && i < model->config.layers; i++) {
        code = load_norms(model, i, err);
        for (eng_linear w = ENG_Q; code == TINKC_OK && w < ENG_N_LINEAR; w++) {
            code = load_linear(model, i, w, err);
        }
    }
    return code;
}

/* Takes over `st`, also on failure. */
static tinkc_code build(eng_model **out, eng_pool *pool, const eng_config *config,
                        eng_st *st, tk_err *err)
{
    eng_model *model = tk_zalloc(sizeof(*model));
    if (model == NULL) {
        eng_st_close(st);
        return tk_err_nomem(err);
    }
    model->config = *config;
    model->pool = pool;
    model->st = st;
    model->keep_max_bytes = KEEP_MAX;
    tinkc_code code = load(model, err);
    if (code != TINKC_OK) {
        eng_model_free(model);
        return code;
    }
    eng_st_drop_pages(st);
    *out = model;
    return TINKC_OK;
}

tinkc_code eng_model_open_memory(eng_model **out, eng_pool *pool,
                                 const eng_model_memory *memory, tk_err *err)
{
    eng_config config;
    tinkc_code code =
        eng_config_read(&config, memory->config, memory->generation_config, err);
    eng_st *st = NULL;
    if (code == TINKC_OK) {
        code = eng_st_open_memory(&st, memory->weights, "model.safetensors", err);
    }
    return code == TINKC_OK ? build(out, pool, &config, st, err) : code;
}

/* Fills *out, to be freed with tk_free. */
static tinkc_code read_in(char **out, const char *directory, const char *name,
                          tk_err *err)
{
    char *path = tk_file_join(directory, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_file_read(out, NULL, path, CONFIG_MAX, err);
    tk_free(path);
    return code;
}

tinkc_code eng_model_open(eng_model **out, eng_pool *pool, const char *directory,
                          tk_err *err)
{
    char *text = NULL, *generation = NULL;
    eng_config config;
    eng_st *st = NULL;
    tk_err absent = TK_ERR_INIT;
    tinkc_code code = read_in(&text, directory, "config.json", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = read_in(&generation, directory, "generation_config.json", &absent);
    if (code == TINKC_OK || code == TINKC_E_MISSING) {
        code = eng_config_read(&config, tk_str_of(text), tk_str_of(generation), err);
    } else {
        (void)tk_err_set(err, code, "%s", absent.message);
    }
    tk_free(text);
    tk_free(generation);
    if (code == TINKC_OK) {
        code = eng_st_open_directory(&st, directory, err);
    }
    return code == TINKC_OK ? build(out, pool, &config, st, err) : code;
}

void eng_model_free(eng_model *model)
{
    if (model == NULL) {
        return;
    }
    eng_work_dispose(&model->store);
    eng_work_dispose(&model->work);
    eng_st_close(model->st);
    tk_free(model->layers);
    tk_free(model->own_embed);
    tk_free(model->rope_cos);
    tk_free(model->rope_sin);
    tk_free(model);
}

void eng_model_get_info(const eng_model *model, eng_model_info *out)
{
    const eng_config *c = &model->config;
    *out = (eng_model_info){.architecture = c->architecture,
                            .layers = c->layers,
                            .hidden = c->hidden,
                            .vocabulary = c->vocabulary,
                            .context = c->context,
                            .parameters = model->parameters,
                            .eos = c->eos,
                            .n_eos = c->n_eos};
}

void eng_model_embed(const eng_model *model, int32_t token, eng_real *out)
{
    size_t hidden = model->config.hidden, at = (size_t)token * hidden;
    if (model->own_embed != NULL) {
        memcpy(out, model->own_embed + at, hidden * sizeof(*out));
    } else {
        const char *row =
            (const char *)model->embed + at * eng_dtype_size(model->embed_dtype);
        eng_dtype_read(out, row, model->embed_dtype, hidden);
    }
}

tinkc_code eng_model_reserve_rope(eng_model *model, size_t positions, tk_err *err)
{
    if (positions <= model->rope_positions) {
        return TINKC_OK;
    }
    size_t half = model->config.head_dim / 2;
    size_t want = TK_MAX(positions, TK_MIN((size_t)1024, model->config.context));
    want = TK_MAX(want, TK_MIN(2 * model->rope_positions, model->config.context));
    eng_real *freq = tk_array(half, sizeof(*freq));
    eng_real *cosine = tk_array(want, half * sizeof(*cosine));
    eng_real *sine = tk_array(want, half * sizeof(*sine));
    if (freq == NULL || cosine == NULL || sine == NULL) {
        tk_free(freq);
        tk_free(cosine);
        tk_free(sine);
        return tk_err_nomem(err);
    }
    eng_rope_frequencies(&model->config.rope, model->config.head_dim, freq);
    eng_rope_table(cosine, sine, freq, half, want);
    tk_free(freq);
    tk_free(model->rope_cos);
    tk_free(model->rope_sin);
    model->rope_cos = cosine;
    model->rope_sin = sine;
    model->rope_positions = want;
    return TINKC_OK;
}

tinkc_code eng_model_thaw(eng_model *model, tk_err *err)
{
    const eng_config *c = &model->config;
    bool bf16 = model->head.bf16;
    for (size_t i = 0; i < c->layers; i++) {
        for (size_t w = 0; w < ENG_N_LINEAR; w++) {
            bf16 = bf16 || model->layers[i].w[w].bf16;
        }
    }
    if (bf16) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "only a model stored as F32 can be trained in full");
    }
    eng_real *own = tk_array(c->vocabulary, c->hidden * sizeof(*own));
    if (own == NULL) {
        return tk_err_nomem(err);
    }
    eng_dtype_read(own, model->embed, model->embed_dtype, c->vocabulary * c->hidden);
    tk_free(model->own_embed);
    model->own_embed = own;
    return TINKC_OK;
}
