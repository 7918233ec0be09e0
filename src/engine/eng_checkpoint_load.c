/* Reading checkpoints and PEFT directories. Input is hostile: everything is read, checked
 * and converted into separate memory before anything of the adapter changes. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "engine/eng_checkpoint_int.h"

#define JSON_MAX      (4 * TK_MIB)
#define PIECE_NUMBERS ((size_t)1 << 18) /* of a tensor that are read at a time */

/* What is open of one directory. */
typedef struct source {
    const char *directory;
    tk_arena arena;           /* of the two texts */
    char *config_text;        /* adapter_config.json, for its digest */
    size_t config_n;          /* its length */
    const tk_json *checksums; /* NULL = there are none: not written by us */
    eng_st *weights;
    eng_st *optimizer; /* NULL = there is none, or it is not wanted */
    eng_checkpoint_info info;
    tk_err *err;
} source;

static tinkc_code damaged(const source *s, const char *member, const char *what)
{
    return tk_err_set(s->err, TINKC_E_DECODE, "%s/%s %s", s->directory, member, what);
}

/* *data stays NULL when the member is not there and not needed. */
static tinkc_code read_text(source *s, const char *name, bool needed, char **data,
                            size_t *n)
{
    tk_err local = TK_ERR_INIT;
    char *path = tk_file_join(s->directory, name);
    if (path == NULL) {
        return tk_err_nomem(s->err);
    }
    tinkc_code code = tk_file_read(data, n, path, JSON_MAX, &local);
    tk_free(path);
    if (code == TINKC_E_MISSING && !needed) {
        return TINKC_OK;
    }
    return code == TINKC_OK ? code : tk_err_set(s->err, code, "%s", local.message);
}

static tinkc_code parse_object(source *s, const char *name, tk_str text,
                               const tk_json **out)
{
    tk_err local = TK_ERR_INIT;
    tinkc_code code = tk_json_parse(out, &s->arena, text.p, text.n, NULL, &local);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(s->err);
    }
    if (code != TINKC_OK) {
        return damaged(s, name, "is not JSON");
    }
    return (*out)->type == TK_JSON_OBJECT ? TINKC_OK
                                          : damaged(s, name, "is not a JSON object");
}

/* ---- adapter_config.json ---- */

static bool is_set(const tk_json *value)
{
    if (value == NULL || value->type == TK_JSON_NULL) {
        return false;
    }
    if (value->type == TK_JSON_BOOL) {
        return value->as.boolean;
    }
    if (value->type == TK_JSON_OBJECT) {
        return value->as.object.n > 0;
    }
    return !tk_json_is_array(value) || tk_json_len(value) > 0;
}

static tinkc_code refuse_features(const source *s, const tk_json *config)
{
    static const char *const switches[] = {
        "use_rslora", "use_dora",        "fan_in_fan_out",
        "lora_bias",  "rank_pattern",    "alpha_pattern",
        "use_qalora", "modules_to_save", "target_parameters"};
    static const struct {
        const char *key, *value;
    } words[] = {{"peft_type", "LORA"}, {"bias", "none"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(switches); i++) {
        if (is_set(tk_json_get(config, switches[i]))) {
            return tk_err_set(s->err, TINKC_E_UNSUPPORTED,
                              "%s/" ENG_CKPT_CONFIG ": %s is not supported", s->directory,
                              switches[i]);
        }
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        const tk_json *value = tk_json_get(config, words[i].key);
        if (is_set(value) && (value->type != TK_JSON_STRING ||
                              !tk_str_is(value->as.string, words[i].value))) {
            return tk_err_set(s->err, TINKC_E_UNSUPPORTED,
                              "%s/" ENG_CKPT_CONFIG ": %s must be %s", s->directory,
                              words[i].key, words[i].value);
        }
    }
    return TINKC_OK;
}

static tinkc_code read_config(source *s)
{
    const tk_json *config, *r, *alpha;
    eng_lora_config *lora = &s->info.lora;
    int64_t rank;
    tinkc_code code = read_text(s, ENG_CKPT_CONFIG, true, &s->config_text, &s->config_n);
    if (code == TINKC_OK) {
        code = parse_object(s, ENG_CKPT_CONFIG, (tk_str){s->config_text, s->config_n},
                            &config);
    }
    if (code == TINKC_OK) {
        code = refuse_features(s, config);
    }
    if (code != TINKC_OK) {
        return code;
    }
    r = tk_json_get(config, "r");
    alpha = tk_json_get(config, "lora_alpha");
    if (r == NULL || !tk_json_to_i64(r, &rank) || rank < 1 || rank > ENG_LORA_RANK_MAX) {
        return damaged(s, ENG_CKPT_CONFIG, "has no usable rank (r)");
    }
    if (alpha == NULL || !tk_json_to_double(alpha, &lora->alpha) || !(lora->alpha > 0)) {
        return damaged(s, ENG_CKPT_CONFIG, "has no usable lora_alpha");
    }
    lora->rank = (size_t)rank;
    return TINKC_OK;
}

/* ---- safetensors ---- */

static tinkc_code open_tensors(const source *s, const char *name, bool needed,
                               eng_st **out)
{
    tk_err local = TK_ERR_INIT;
    char *path = tk_file_join(s->directory, name);
    if (path == NULL) {
        return tk_err_nomem(s->err);
    }
    tinkc_code code = eng_st_open_file(out, path, &local);
    tk_free(path);
    if (code == TINKC_E_MISSING && !needed) {
        return TINKC_OK;
    }
    return code == TINKC_OK ? code : tk_err_set(s->err, code, "%s", local.message);
}

/* Which groups of linears are adapted: those of which any tensor is there. */
static tinkc_code read_flags(source *s)
{
    eng_lora_config *lora = &s->info.lora;
    for (size_t i = 0; i < eng_st_count(s->weights); i++) {
        const eng_st_tensor *t = eng_st_at(s->weights, i);
        eng_ckpt_key key;
        if (!eng_ckpt_read_name(&key, t->name) || key.suffix.n > 0) {
            return tk_err_set(s->err, TINKC_E_UNSUPPORTED,
                              "%s/" ENG_CKPT_WEIGHTS ": " TK_STR_FMT
                              " is not a tensor that the engine adapts",
                              s->directory, TK_STR_ARG(t->name));
        }
        if (t->n_dims != 2 || t->shape[key.b ? 1 : 0] != lora->rank) {
            return tk_err_set(s->err, TINKC_E_DECODE,
                              "%s/" ENG_CKPT_WEIGHTS ": " TK_STR_FMT
                              " is not of rank %zu",
                              s->directory, TK_STR_ARG(t->name), lora->rank);
        }
        lora->train_unembed = lora->train_unembed || key.head;
        lora->train_attn = lora->train_attn || (!key.head && key.which <= ENG_O);
        lora->train_mlp = lora->train_mlp || (!key.head && key.which > ENG_O);
    }
    return eng_st_count(s->weights) > 0 ? TINKC_OK
                                        : damaged(s, ENG_CKPT_WEIGHTS, "is empty");
}

static tinkc_code read_steps(source *s)
{
    s->info.has_optimizer = s->optimizer != NULL;
    if (s->optimizer == NULL) {
        return TINKC_OK;
    }
    tk_str steps = eng_st_metadata(s->optimizer, "steps");
    tk_str name = eng_st_metadata(s->optimizer, "optimizer");
    s->info.lora.optimizer = tk_str_is(name, "dimuon") ? ENG_DIMUON : ENG_ADAMW;
    if (name.n > 0 && !tk_str_is(name, eng_optimizer_name(s->info.lora.optimizer))) {
        return tk_err_set(s->err, TINKC_E_UNSUPPORTED,
                          "%s/" ENG_CKPT_OPTIMIZER ": the optimizer " TK_STR_FMT
                          " is not supported",
                          s->directory, TK_STR_ARG(name));
    }
    return tk_str_to_u64(steps, &s->info.steps) &&
                   s->info.steps < INT64_MAX /* the next step has a number, too */
               ? TINKC_OK
               : damaged(s, ENG_CKPT_OPTIMIZER, "has no step count");
}

/* ---- checksums ---- */

static tinkc_code read_checksums(source *s)
{
    char *text = NULL, *complete = NULL;
    size_t n = 0;
    tinkc_code code = read_text(s, ENG_CKPT_CHECKSUMS, false, &text, &n);
    if (code == TINKC_OK && text != NULL) {
        code = parse_object(s, ENG_CKPT_CHECKSUMS, (tk_str){text, n}, &s->checksums);
    }
    if (code == TINKC_OK && text != NULL) {
        code = read_text(s, ENG_CKPT_COMPLETE, false, &complete, &n);
    }
    if (code == TINKC_OK && text != NULL && complete == NULL) {
        code =
            tk_err_set(s->err, TINKC_E_DECODE,
                       "%s is not complete: it lacks " ENG_CKPT_COMPLETE, s->directory);
    }
    tk_free(text);
    tk_free(complete);
    return code;
}

/* `st` is the file; NULL: it is the configuration. */
static tinkc_code verify(const source *s, const char *name, const eng_st *st)
{
    char hex[TK_SHA256_HEX_BYTES];
    const tk_json *want = tk_json_get(s->checksums, name);
    if (want == NULL || want->type != TK_JSON_STRING) {
        return damaged(s, name, "has no checksum");
    }
    tinkc_code code = st != NULL
                          ? eng_st_digest(hex, st, s->err)
                          : tk_sha256_hex(hex, s->config_text, s->config_n, s->err);
    if (code == TINKC_OK && !tk_str_is(want->as.string, hex)) {
        code = damaged(s, name, "is damaged: its checksum does not match");
    }
    return code;
}

static tinkc_code verify_all(const source *s, bool optimizer)
{
    if (s->checksums == NULL) {
        return TINKC_OK;
    }
    tinkc_code code = verify(s, ENG_CKPT_CONFIG, NULL);
    if (code == TINKC_OK) {
        code = verify(s, ENG_CKPT_WEIGHTS, s->weights);
    }
    if (code == TINKC_OK && optimizer) {
        code = verify(s, ENG_CKPT_OPTIMIZER, s->optimizer);
    }
    return code;
}

/* ---- the source ---- */

static tinkc_code source_open(source *s)
{
    tk_arena_init(&s->arena, 0);
    tinkc_code code = read_config(s);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_checksums(s);
    if (code != TINKC_OK) {
        goto out;
    }
    code = open_tensors(s, ENG_CKPT_WEIGHTS, true, &s->weights);
    if (code != TINKC_OK) {
        goto out;
    }
    s->info.int8 =
        tk_str_is(eng_st_metadata(s->weights, ENG_CKPT_PRECISION), ENG_CKPT_INT8);
    code = open_tensors(s, ENG_CKPT_OPTIMIZER, false, &s->optimizer);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_flags(s);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_steps(s);
out:
    return code;
}

static void source_close(source *s)
{
    eng_st_close(s->weights);
    eng_st_close(s->optimizer);
    tk_free(s->config_text);
    tk_arena_dispose(&s->arena);
}

/* ---- values ---- */

/* One set of tensors (weights, or one of the moments) on its way into a flat array. */
typedef struct set {
    const source *source;
    const eng_adapter *adapter; /* for its layout */
    const char *member;
    const eng_st *st;
    const char *suffix;
    bool at_least_0;
    bool *seen;  /* [n_modules][2] */
    char *piece; /* PIECE_NUMBERS as they are in the file */
    eng_real *out;
} set;

static tinkc_code bad_tensor(const set *s, const eng_st_tensor *t, const char *what)
{
    return tk_err_set(s->source->err, TINKC_E_INVALID, "%s/%s: " TK_STR_FMT " %s",
                      s->source->directory, s->member, TK_STR_ARG(t->name), what);
}

static tinkc_code read_numbers(const set *s, const eng_st_tensor *t, eng_real *out)
{
    for (size_t first = 0; first < t->count; first += PIECE_NUMBERS) {
        const eng_st_part part = {first, TK_MIN(PIECE_NUMBERS, t->count - first),
                                  s->piece};
        tinkc_code code = eng_st_read(s->st, t, &part, s->source->err);
        if (code != TINKC_OK) {
            return code;
        }
        if (eng_dtype_find_bad(s->piece, t->dtype, part.n) < part.n) {
            return bad_tensor(s, t, "has a value that is NaN or infinite");
        }
        eng_dtype_read(out + first, s->piece, t->dtype, part.n);
        for (size_t i = 0; s->at_least_0 && i < part.n; i++) {
            if (out[first + i] < 0) {
                return bad_tensor(s, t, "has a value below 0");
            }
        }
    }
    return TINKC_OK;
}

static tinkc_code read_tensor(const set *s, const eng_st_tensor *t,
                              const eng_ckpt_key *key)
{
    const eng_adapter *a = s->adapter;
    size_t index =
        key->head ? a->n_modules - 1 : key->layer * ENG_N_LINEAR + (size_t)key->which;
    if (!key->head && key->layer >= a->model->config.layers) {
        return bad_tensor(s, t, "is of a layer that the model does not have");
    }
    const eng_lora *m = &a->modules[index];
    size_t rows = key->b ? m->out : a->config.rank;
    size_t columns = key->b ? a->config.rank : m->in;
    if (!m->on) {
        return bad_tensor(s, t, "is of a linear that this adapter does not train");
    }
    if (t->n_dims != 2 || t->shape[0] != rows || t->shape[1] != columns) {
        return tk_err_set(s->source->err, TINKC_E_INVALID,
                          "%s/%s: the shape of " TK_STR_FMT " is not [%zu, %zu]",
                          s->source->directory, s->member, TK_STR_ARG(t->name), rows,
                          columns);
    }
    if (!t->known) {
        return bad_tensor(s, t, "is not F32, BF16 or F16");
    }
    bool *seen = &s->seen[2 * index + (key->b ? 1 : 0)];
    if (*seen) {
        return bad_tensor(s, t, "is there under two names");
    }
    *seen = true;
    return read_numbers(s, t, s->out + (key->b ? m->b_at : m->a_at));
}

/* With `whole` every tensor of the adapter must have been there, else A and B together or
 * neither. */
static tinkc_code check_seen(const set *s, bool whole)
{
    const eng_adapter *a = s->adapter;
    for (size_t i = 0; i < a->n_modules; i++) {
        bool has_a = s->seen[2 * i], has_b = s->seen[2 * i + 1];
        if (!a->modules[i].on || (has_a && has_b) || (!whole && !has_a && !has_b)) {
            continue;
        }
        eng_ckpt_key key = {.head = i + 1 == a->n_modules,
                            .layer = i / ENG_N_LINEAR,
                            .which = (eng_linear)(i % ENG_N_LINEAR),
                            .b = has_a,
                            .suffix = tk_str_of(s->suffix)};
        char name[ENG_CKPT_NAME_BYTES];
        eng_ckpt_put_name(name, &key, false);
        return tk_err_set(s->source->err, TINKC_E_INVALID, "%s/%s lacks %s",
                          s->source->directory, s->member, name);
    }
    return TINKC_OK;
}

/* Tensors of other suffixes are passed over: the moments share a file. */
static tinkc_code read_set(set *s, bool whole)
{
    s->seen = tk_zarray(2 * s->adapter->n_modules, sizeof(bool));
    s->piece = tk_array(PIECE_NUMBERS, sizeof(float));
    tinkc_code code =
        s->seen != NULL && s->piece != NULL ? TINKC_OK : tk_err_nomem(s->source->err);
    for (size_t i = 0; i < eng_st_count(s->st) && code == TINKC_OK; i++) {
        const eng_st_tensor *t = eng_st_at(s->st, i);
        eng_ckpt_key key;
        if (!eng_ckpt_read_name(&key, t->name)) {
            code = bad_tensor(s, t, "is not a tensor of an adapter");
        } else if (tk_str_is(key.suffix, s->suffix)) {
            code = read_tensor(s, t, &key);
        }
    }
    if (code == TINKC_OK) {
        code = check_seen(s, whole);
    }
    tk_free(s->seen);
    tk_free(s->piece);
    return code;
}

/* ---- load and open ---- */

typedef struct values {
    eng_real *weights, *moment1, *moment2;
} values;

static tinkc_code read_values(const source *s, const eng_adapter *adapter, bool optimizer,
                              values *v)
{
    set w = {.source = s,
             .adapter = adapter,
             .member = ENG_CKPT_WEIGHTS,
             .st = s->weights,
             .suffix = "",
             .out = v->weights};
    tinkc_code code = read_set(&w, true);
    if (code != TINKC_OK || !optimizer) {
        return code;
    }
    set m1 = w, m2;
    m1.member = ENG_CKPT_OPTIMIZER;
    m1.st = s->optimizer;
    m1.suffix = ENG_CKPT_MOMENT1;
    m1.out = v->moment1;
    m2 = m1;
    m2.suffix = ENG_CKPT_MOMENT2;
    m2.at_least_0 = true;
    m2.out = v->moment2;
    code = read_set(&m1, true);
    return code == TINKC_OK && v->moment2 != NULL ? read_set(&m2, true) : code;
}

static tinkc_code check_shape(const source *s, const eng_lora_config *have)
{
    const eng_lora_config *file = &s->info.lora;
    const struct {
        const char *name;
        bool file, have;
    } flags[] = {{"train_attn", file->train_attn, have->train_attn},
                 {"train_mlp", file->train_mlp, have->train_mlp},
                 {"train_unembed", file->train_unembed, have->train_unembed}};
    if (file->rank != have->rank) {
        return tk_err_set(s->err, TINKC_E_INVALID,
                          "the checkpoint has rank %zu, the model has rank %zu",
                          file->rank, have->rank);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        if (flags[i].file != flags[i].have) {
            return tk_err_set(s->err, TINKC_E_INVALID,
                              "%s is %s in the checkpoint and %s in the model",
                              flags[i].name, flags[i].file ? "true" : "false",
                              flags[i].have ? "true" : "false");
        }
    }
    return TINKC_OK;
}

static tinkc_code check_same(const source *s, const eng_lora_config *have)
{
    const eng_lora_config *file = &s->info.lora;
    if (file->alpha < have->alpha || file->alpha > have->alpha) {
        return tk_err_set(s->err, TINKC_E_INVALID,
                          "the checkpoint's lora_alpha is not the model's");
    }
    return check_shape(s, have);
}

/* Moves the values in; what was there goes out with *v. */
static void take_values(eng_adapter *adapter, values *v, uint64_t steps)
{
    values old = {adapter->weights, adapter->moment1, adapter->moment2};
    adapter->weights = v->weights;
    adapter->moment1 = v->moment1;
    adapter->moment2 = v->moment2;
    adapter->steps = steps;
    memset(adapter->grads, 0, adapter->n * sizeof(eng_real));
    adapter->has_grads = false;
    eng_adapter_repack(adapter);
    *v = old;
}

static tinkc_code load(eng_adapter *adapter, source *s, bool optimizer)
{
    if (optimizer && !s->info.has_optimizer) {
        return tk_err_set(s->err, TINKC_E_INVALID, "%s has no optimizer state",
                          s->directory);
    }
    eng_optimizer own = adapter->config.optimizer;
    if (optimizer && s->info.lora.optimizer != own) {
        return tk_err_set(s->err, TINKC_E_INVALID,
                          "the checkpoint has the state of %s, the model's optimizer is "
                          "%s",
                          eng_optimizer_name(s->info.lora.optimizer),
                          eng_optimizer_name(own));
    }
    tinkc_code code = check_same(s, &adapter->config);
    if (code == TINKC_OK) {
        code = verify_all(s, optimizer);
    }
    if (code != TINKC_OK) {
        return code;
    }
    bool two = own == ENG_ADAMW;
    values v = {tk_zarray(adapter->n, sizeof(eng_real)),
                tk_zarray(adapter->n, sizeof(eng_real)),
                two ? tk_zarray(adapter->n, sizeof(eng_real)) : NULL};
    if (v.weights == NULL || v.moment1 == NULL || (two && v.moment2 == NULL)) {
        code = tk_err_nomem(s->err);
    } else {
        code = read_values(s, adapter, optimizer, &v);
    }
    if (code == TINKC_OK) {
        take_values(adapter, &v, optimizer ? s->info.steps : 0);
    }
    tk_free(v.weights);
    tk_free(v.moment1);
    tk_free(v.moment2);
    return code;
}

tinkc_code eng_adapter_load(eng_adapter *adapter, const char *directory, bool optimizer,
                            tk_err *err)
{
    source s = {.directory = directory, .err = err};
    tinkc_code code = eng_adapter_check_trainable(adapter, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = source_open(&s);
    if (code == TINKC_OK) {
        code = load(adapter, &s, optimizer);
    }
    source_close(&s);
    return code;
}

static tinkc_code open_frozen(eng_adapter **out, eng_model *model, source *s)
{
    eng_adapter *adapter;
    tinkc_code code = verify_all(s, false);
    if (code == TINKC_OK) {
        code = eng_adapter_make(&adapter, model, &s->info.lora, true, s->err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    set w = {.source = s,
             .adapter = adapter,
             .member = ENG_CKPT_WEIGHTS,
             .st = s->weights,
             .suffix = "",
             .out = adapter->weights};
    code = read_set(&w, s->checksums != NULL);
    if (code != TINKC_OK) {
        eng_adapter_free(adapter);
        return code;
    }
    adapter->steps = s->info.steps;
    eng_adapter_repack(adapter);
    *out = adapter;
    return TINKC_OK;
}

tinkc_code eng_adapter_open(eng_adapter **out, eng_model *model, const char *directory,
                            tk_err *err)
{
    source s = {.directory = directory, .err = err};
    tinkc_code code = source_open(&s);
    if (code == TINKC_OK) {
        code = open_frozen(out, model, &s);
    }
    source_close(&s);
    return code;
}

tinkc_code eng_checkpoint_read_info(eng_checkpoint_info *out, const char *directory,
                                    tk_err *err)
{
    source s = {.directory = directory, .err = err};
    tinkc_code code = source_open(&s);
    if (code == TINKC_OK) {
        *out = s.info;
    }
    source_close(&s);
    return code;
}

/* ---- import ---- */

/* Returns whether all of B are still numbers. */
static bool scale_b(eng_adapter *adapter, double factor)
{
    bool ok = true;
    for (size_t i = 0; i < adapter->n_modules; i++) {
        const eng_lora *m = &adapter->modules[i];
        size_t n = m->on ? m->out * adapter->config.rank : 0;
        for (size_t k = 0; k < n; k++) {
            eng_real *b = &adapter->weights[m->b_at + k];
            *b = (eng_real)((double)*b * factor);
            ok = ok && isfinite(*b);
        }
    }
    return ok;
}

static tinkc_code import(eng_adapter *adapter, source *s)
{
    tinkc_code code = check_shape(s, &adapter->config);
    if (code == TINKC_OK) {
        code = verify_all(s, false);
    }
    if (code != TINKC_OK) {
        return code;
    }
    set w = {.source = s,
             .adapter = adapter,
             .member = ENG_CKPT_WEIGHTS,
             .st = s->weights,
             .suffix = "",
             .out = adapter->weights};
    code = read_set(&w, true);
    double from = s->info.lora.alpha, to = adapter->config.alpha;
    if (code == TINKC_OK && (from < to || from > to) && !scale_b(adapter, from / to)) {
        return damaged(s, ENG_CKPT_CONFIG, "has a lora_alpha that is too large");
    }
    return code;
}

tinkc_code eng_checkpoint_import(eng_model *model, const eng_lora_config *config,
                                 const char *from, const char *to,
                                 const eng_save_options *options, tk_err *err)
{
    source s = {.directory = from, .err = err};
    eng_adapter *adapter = NULL;
    tinkc_code code = source_open(&s);
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_adapter_make(&adapter, model, config, true, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = import(adapter, &s);
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_adapter_save(adapter, to, options, err);
out:
    eng_adapter_free(adapter);
    source_close(&s);
    return code;
}
