/* Opening a model: every tensor is looked up by name, checked for shape, type and finite
 * values, and packed. */
#include "engine/eng_model.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/eng_rope.h"

#define CONFIG_MAX  (4 * TK_MIB)
#define SCAN_PIECE  ((size_t)1 << 16)
#define PIECE_BYTES ENG_MODEL_OPEN_BYTES /* of a tensor that is read */
#define KEEP_MAX    2147483648.0         /* bytes of activations in a training step */

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

/* While a model is loaded: its files, and room for a piece of a tensor. */
typedef struct loader {
    eng_model *model;
    const eng_st *st;
    char *piece; /* PIECE_BYTES, or a panel if that is more */
    size_t capacity;
    tk_err *err;
} loader;

typedef struct scan {
    const char *data;
    eng_dtype dtype;
    size_t n;
    bool *bad; /* per piece */
} scan;

static void scan_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    const scan *s = user;
    (void)scratch;
    for (size_t piece = begin; piece < end; piece++) {
        size_t first = piece * SCAN_PIECE, n = TK_MIN(SCAN_PIECE, s->n - first);
        const char *data = s->data + first * eng_dtype_size(s->dtype);
        s->bad[piece] = eng_dtype_find_bad(data, s->dtype, n) < n;
    }
}

/* Elements [first, first + n) of a tensor, which are at `data`. */
static tinkc_code check_finite(const loader *l, const eng_st_tensor *t, size_t first,
                               size_t n, const void *data)
{
    size_t pieces = (n + SCAN_PIECE - 1) / SCAN_PIECE;
    scan s = {data, t->dtype, n, tk_zarray(pieces, sizeof(bool))};
    if (s.bad == NULL) {
        return tk_err_nomem(l->err);
    }
    eng_pool_run(l->model->pool, pieces, scan_pieces, &s);
    bool found = false;
    for (size_t i = 0; i < pieces; i++) {
        found = found || s.bad[i];
    }
    tk_free(s.bad);
    if (!found) {
        return TINKC_OK;
    }
    return tk_err_set(l->err, TINKC_E_INVALID,
                      "tensor " TK_STR_FMT ": value %zu is NaN or infinite",
                      TK_STR_ARG(t->name), first + eng_dtype_find_bad(data, t->dtype, n));
}

/* A tensor of shape [rows] (columns 0) or [rows, columns]. */
static tinkc_code find(const loader *l, const char *name, size_t rows, size_t columns,
                       const eng_st_tensor **out)
{
    tinkc_code code = eng_pool_check(l->model->pool, l->err);
    if (code != TINKC_OK) {
        return code;
    }
    const eng_st_tensor *t = eng_st_find(l->st, tk_str_of(name));
    if (t == NULL) {
        return tk_err_set(l->err, TINKC_E_DECODE, "tensor %s is missing", name);
    }
    size_t dims = columns > 0 ? 2 : 1;
    if (t->n_dims != dims || t->shape[0] != rows ||
        (columns > 0 && t->shape[1] != columns)) {
        return tk_err_set(l->err, TINKC_E_DECODE,
                          "tensor %s: expected shape [%zu%s%.0zu], found %zu dimensions "
                          "[%zu, %zu]",
                          name, rows, columns > 0 ? ", " : "", columns, t->n_dims,
                          t->n_dims > 0 ? t->shape[0] : 0,
                          t->n_dims > 1 ? t->shape[1] : 0);
    }
    if (!t->known) {
        return tk_err_set(l->err, TINKC_E_UNSUPPORTED,
                          "tensor %s: dtype " TK_STR_FMT
                          " is not supported (only F32, BF16, F16)",
                          name, TK_STR_ARG(t->dtype_name));
    }
    *out = t;
    l->model->parameters += t->count;
    return TINKC_OK;
}

/* Reads and checks a part of a tensor. */
static tinkc_code read_part(const loader *l, const eng_st_tensor *t,
                            const eng_st_part *part)
{
    tinkc_code code = eng_st_read(l->st, t, part, l->err);
    return code == TINKC_OK ? check_finite(l, t, part->first, part->n, part->out) : code;
}

/* Makes the room hold at least `bytes`. */
static tinkc_code reserve(loader *l, size_t bytes)
{
    if (bytes > l->capacity) {
        char *piece = tk_realloc(l->piece, bytes);
        if (piece == NULL) {
            return tk_err_nomem(l->err);
        }
        l->piece = piece;
        l->capacity = bytes;
    }
    return TINKC_OK;
}

static tinkc_code load_vector(loader *l, const char *name, size_t n, eng_real **out)
{
    const eng_st_tensor *t = NULL;
    tinkc_code code = find(l, name, n, 0, &t);
    if (code == TINKC_OK) {
        code = reserve(l, t->n_bytes);
    }
    if (code == TINKC_OK) {
        const eng_st_part whole = {0, n, l->piece};
        code = read_part(l, t, &whole);
    }
    if (code != TINKC_OK) {
        return code;
    }
    *out = eng_work_reals(&l->model->store, 1, n);
    if (*out == NULL) {
        return tk_err_nomem(l->err);
    }
    eng_dtype_read(*out, l->piece, t->dtype, n);
    return TINKC_OK;
}

typedef struct packing {
    const eng_mat *mat;
    const char *rows; /* from the first row of panel `first` on */
    eng_dtype dtype;
    size_t first;
} packing;

static void pack_panels(void *user, size_t begin, size_t end, void *scratch)
{
    const packing *p = user;
    (void)scratch;
    size_t row = p->mat->k * eng_dtype_size(p->dtype);
    eng_mat_pack_panels(p->mat, p->rows + begin * ENG_LANES * row, p->dtype,
                        p->first + begin, p->first + end);
}

/* Panel after panel, as many as fit into the room at a time. */
static tinkc_code read_panels(loader *l, const eng_st_tensor *t, const eng_mat *mat)
{
    size_t panels = ENG_ROUND_UP(mat->n, ENG_LANES) / ENG_LANES;
    size_t bytes = ENG_LANES * mat->k * eng_dtype_size(t->dtype); /* of a panel's rows */
    size_t each = TK_MAX(PIECE_BYTES / bytes, (size_t)1);
    tinkc_code code = reserve(l, TK_MIN(each, panels) * bytes);
    for (size_t first = 0; code == TINKC_OK && first < panels; first += each) {
        size_t n = TK_MIN(each, panels - first), row = first * ENG_LANES;
        size_t rows = TK_MIN(n * ENG_LANES, mat->n - row);
        const eng_st_part part = {row * mat->k, rows * mat->k, l->piece};
        packing p = {mat, l->piece, t->dtype, first};
        code = read_part(l, t, &part);
        if (code == TINKC_OK) {
            eng_pool_run(l->model->pool, n, pack_panels, &p);
        }
    }
    return code;
}

static void note_precision(eng_model *model, eng_dtype dtype)
{
    bool int8 = model->weights == ENG_WEIGHTS_INT8;
    const char *name = int8 ? "INT8" : eng_dtype_name(dtype);
    if (model->precision == NULL) {
        model->precision = name;
    } else if (strcmp(model->precision, name) != 0) {
        model->precision = "mixed";
    }
}

static eng_format format_of(eng_weights weights, eng_dtype dtype)
{
    eng_format narrow =
        sizeof(eng_real) == sizeof(float) ? ENG_FORMAT_BF16 : ENG_FORMAT_REAL;
    return weights == ENG_WEIGHTS_INT8 ? ENG_FORMAT_INT8
           : dtype == ENG_BF16         ? narrow
                                       : ENG_FORMAT_REAL;
}

static tinkc_code pack(loader *l, const eng_st_tensor *t, eng_mat *out)
{
    eng_mat mat = {.n = t->shape[0],
                   .k = t->shape[1],
                   .format = format_of(l->model->weights, t->dtype)};
    note_precision(l->model, t->dtype);
    size_t bytes;
    mat.panels = eng_mat_bytes(&bytes, mat.n, mat.k, mat.format)
                     ? eng_work_array(&l->model->store, bytes, 1)
                     : NULL;
    if (mat.panels == NULL) {
        return tk_err_nomem(l->err);
    }
    tinkc_code code = read_panels(l, t, &mat);
    if (code == TINKC_OK) {
        *out = mat;
    }
    return code;
}

static tinkc_code load_linear(loader *l, size_t index, eng_linear which)
{
    const eng_config *c = &l->model->config;
    eng_layer *layer = &l->model->layers[index];
    char name[96];
    const eng_st_tensor *t;
    size_t outputs = eng_model_outputs(c, which);
    (void)snprintf(name, sizeof(name), "model.layers.%zu.%s.weight", index,
                   eng_linear_name(which));
    tinkc_code code = find(l, name, outputs, eng_model_inputs(c, which), &t);
    if (code == TINKC_OK) {
        code = pack(l, t, &layer->w[which]);
    }
    if (code != TINKC_OK || !has_bias(c, which)) {
        return code;
    }
    (void)snprintf(name, sizeof(name), "model.layers.%zu.%s.bias", index,
                   eng_linear_name(which));
    return load_vector(l, name, outputs, &layer->bias[which]);
}

static tinkc_code load_norms(loader *l, size_t index)
{
    const eng_config *c = &l->model->config;
    eng_layer *layer = &l->model->layers[index];
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
        tinkc_code code = load_vector(l, name, norms[i].n, norms[i].out);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

/* The embedding of a model that is not tied is kept as it is in the file. */
static tinkc_code copy_embed(loader *l, const eng_st_tensor *t)
{
    size_t each = PIECE_BYTES / eng_dtype_size(t->dtype);
    char *to = eng_work_array(&l->model->store, t->n_bytes, 1);
    if (to == NULL) {
        return tk_err_nomem(l->err);
    }
    tinkc_code code = TINKC_OK;
    for (size_t first = 0; code == TINKC_OK && first < t->count; first += each) {
        const eng_st_part part = {first, TK_MIN(each, t->count - first),
                                  to + first * eng_dtype_size(t->dtype)};
        code = read_part(l, t, &part);
    }
    l->model->embed = to;
    l->model->embed_dtype = t->dtype;
    return code;
}

static tinkc_code load_head(loader *l)
{
    eng_model *model = l->model;
    const eng_config *c = &model->config;
    const eng_st_tensor *head;
    tinkc_code code =
        find(l, "model.embed_tokens.weight", c->vocabulary, c->hidden, &head);
    if (code == TINKC_OK && !c->tied) {
        code = copy_embed(l, head);
        if (code == TINKC_OK) {
            code = find(l, "lm_head.weight", c->vocabulary, c->hidden, &head);
        }
    }
    if (code == TINKC_OK) {
        code = pack(l, head, &model->head);
    }
    return code == TINKC_OK ? load_vector(l, "model.norm.weight", c->hidden, &model->norm)
                            : code;
}

/* Whether the tensor becomes a packed matrix: an embedding does where it is the head. */
static bool is_matrix(const eng_st *st, const eng_st_tensor *t)
{
    return t->n_dims == 2 && (!tk_str_is(t->name, "model.embed_tokens.weight") ||
                              eng_st_find(st, TK_STR("lm_head.weight")) == NULL);
}

/* At most twice the files, also when they are full of matrices that padding makes larger. */
static size_t store_bytes(const eng_st *st, eng_weights weights)
{
    size_t bytes = 0, files = 0;
    for (size_t i = 0; i < eng_st_count(st); i++) {
        const eng_st_tensor *t = eng_st_at(st, i);
        size_t each = t->dtype == ENG_BF16 ? sizeof(uint16_t) : sizeof(eng_real);
        size_t all = t->known ? t->count * each : 0;
        if (t->known && weights == ENG_WEIGHTS_INT8 && is_matrix(st, t) &&
            !eng_mat_bytes(&all, t->shape[0], t->shape[1], ENG_FORMAT_INT8)) {
            return SIZE_MAX;
        }
        bytes += all;
        files += t->known ? t->count * eng_dtype_size(t->dtype) : 0;
    }
    return TK_MIN(bytes, 2 * files);
}

static tinkc_code load(eng_model *model, const eng_st *st, tk_err *err)
{
    loader l = {.model = model, .st = st, .err = err};
    /* all weights in one block, so that large pages fit; what it is short of by rounding
     * comes from a second one */
    model->store.want = store_bytes(st, model->weights);
    model->layers = tk_zarray(model->config.layers, sizeof(*model->layers));
    if (model->layers == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = load_head(&l);
    for (size_t i = 0; code == TINKC_OK && i < model->config.layers; i++) {
        code = load_norms(&l, i);
        for (eng_linear w = ENG_Q; code == TINKC_OK && w < ENG_N_LINEAR; w++) {
            code = load_linear(&l, i, w);
        }
    }
    tk_free(l.piece);
    return code;
}

/* Loads what `like` says: its configuration, pool and kind of weights. Closes `st`. */
static tinkc_code build(eng_model **out, const eng_model *like, eng_st *st, tk_err *err)
{
    eng_model *model = tk_memdup(like, sizeof(*like));
    if (model == NULL) {
        eng_st_close(st);
        return tk_err_nomem(err);
    }
    model->keep_max_bytes = KEEP_MAX;
    tinkc_code code = load(model, st, err);
    eng_st_close(st);
    if (code != TINKC_OK) {
        eng_model_free(model);
        return code;
    }
    *out = model;
    return TINKC_OK;
}

tinkc_code eng_model_open_memory(eng_model **out, eng_pool *pool,
                                 const eng_model_memory *memory, tk_err *err)
{
    eng_model like = {.pool = pool, .weights = memory->held};
    tinkc_code code =
        eng_config_read(&like.config, memory->config, memory->generation_config, err);
    eng_st *st = NULL;
    if (code == TINKC_OK) {
        code = eng_st_open_memory(&st, memory->weights, "model.safetensors", err);
    }
    return code == TINKC_OK ? build(out, &like, st, err) : code;
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
                          eng_weights weights, tk_err *err)
{
    char *text = NULL, *generation = NULL;
    eng_model like = {.pool = pool, .weights = weights};
    eng_st *st = NULL;
    tk_err absent = TK_ERR_INIT;
    tinkc_code code = read_in(&text, directory, "config.json", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = read_in(&generation, directory, "generation_config.json", &absent);
    if (code == TINKC_OK || code == TINKC_E_MISSING) {
        code = eng_config_read(&like.config, tk_str_of(text), tk_str_of(generation), err);
    } else {
        (void)tk_err_set(err, code, "%s", absent.message);
    }
    tk_free(text);
    tk_free(generation);
    if (code == TINKC_OK) {
        code = eng_st_open_directory(&st, directory, err);
    }
    return code == TINKC_OK ? build(out, &like, st, err) : code;
}

tinkc_code eng_model_measure(size_t *out, const char *directory, eng_weights weights,
                             tk_err *err)
{
    eng_st *st = NULL;
    tinkc_code code = eng_st_open_directory(&st, directory, err);
    if (code == TINKC_OK) {
        *out = store_bytes(st, weights);
        eng_st_close(st);
    }
    return code;
}

void eng_model_set_pool(eng_model *model, eng_pool *pool)
{
    model->pool = pool;
}

void eng_model_free(eng_model *model)
{
    if (model == NULL) {
        return;
    }
    eng_work_dispose(&model->store);
    eng_work_dispose(&model->work);
    tk_free(model->layers);
    tk_free(model->own_embed);
    tk_free(model->rope_cos);
    tk_free(model->rope_sin);
    tk_free(model);
}

void eng_model_limit_kept(eng_model *model, size_t bytes)
{
    model->keep_max_bytes = TK_MIN((double)bytes, KEEP_MAX);
}

void eng_model_trim(eng_model *model, size_t bytes)
{
    size_t kept = eng_work_kept(&model->work);
    if (kept + eng_pool_kept(model->pool) > bytes) { /* it may be another model's */
        eng_pool_release(model->pool);
    }
    if (kept > bytes) {
        eng_work_dispose(&model->work);
    }
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
                            .precision = model->precision,
                            .eos = c->eos,
                            .n_eos = c->n_eos};
}

void eng_model_embed(const eng_model *model, int32_t token, eng_real *out)
{
    size_t hidden = model->config.hidden, at = (size_t)token * hidden;
    if (model->own_embed != NULL) {
        memcpy(out, model->own_embed + at, hidden * sizeof(*out));
    } else if (model->embed != NULL) {
        const char *row =
            (const char *)model->embed + at * eng_dtype_size(model->embed_dtype);
        eng_dtype_read(out, row, model->embed_dtype, hidden);
    } else {
        eng_mat_unpack_row(&model->head, (size_t)token, out);
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
    bool narrow = model->head.format != ENG_FORMAT_REAL;
    for (size_t i = 0; i < c->layers; i++) {
        for (size_t w = 0; w < ENG_N_LINEAR; w++) {
            narrow = narrow || model->layers[i].w[w].format != ENG_FORMAT_REAL;
        }
    }
    if (narrow) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "only a model stored as F32 can be trained in full");
    }
    eng_real *own = tk_array(c->vocabulary, c->hidden * sizeof(*own));
    if (own == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < c->vocabulary; i++) {
        eng_model_embed(model, (int32_t)i, own + i * c->hidden);
    }
    tk_free(model->own_embed);
    model->own_embed = own;
    return TINKC_OK;
}
