/* Reading config.json; see eng_config.h. Both spellings of the rotary parameters are
 * read: rope_theta + rope_scaling, and the newer rope_parameters. */
#include "engine/eng_config.h"

#include <string.h>

#include "base/json.h"

#define CONFIG_MAX_BYTES (4 * TK_MIB)

typedef struct reader {
    const tk_json *root;
    tk_err *err;
} reader;

static tinkc_code bad_field(const reader *r, const char *key, const char *want)
{
    return tk_err_set(r->err, TINKC_E_DECODE, "config.json: %s must be %s", key, want);
}

static const tk_json *present(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type != TK_JSON_NULL ? value : NULL;
}

/* A size in 1..max; `fallback` 0 = required. */
static tinkc_code read_size(const reader *r, const char *key, size_t fallback, size_t max,
                            size_t *out)
{
    const tk_json *value = present(r->root, key);
    int64_t n;
    if (value == NULL && fallback > 0) {
        *out = fallback;
        return TINKC_OK;
    }
    if (value == NULL) {
        return tk_err_set(r->err, TINKC_E_DECODE, "config.json: %s is missing", key);
    }
    if (!tk_json_to_i64(value, &n) || n < 1 || (uint64_t)n > max) {
        return tk_err_set(r->err, TINKC_E_DECODE,
                          "config.json: %s must be an integer from 1 to %zu", key, max);
    }
    *out = (size_t)n;
    return TINKC_OK;
}

static tinkc_code read_real(const reader *r, const tk_json *object, const char *key,
                            double fallback, double *out)
{
    const tk_json *value = present(object, key);
    *out = fallback;
    if (value != NULL && (!tk_json_to_double(value, out) || !(*out > 0))) {
        return bad_field(r, key, "a number above 0");
    }
    return TINKC_OK;
}

static tinkc_code read_bool(const reader *r, const char *key, bool *out)
{
    const tk_json *value = present(r->root, key);
    *out = false;
    if (value != NULL && value->type != TK_JSON_BOOL) {
        return bad_field(r, key, "true or false");
    }
    *out = value != NULL && value->as.boolean;
    return TINKC_OK;
}

static tinkc_code read_architecture(const reader *r, eng_config *c)
{
    static const struct {
        const char *name;
        eng_family family;
    } known[] = {{"LlamaForCausalLM", ENG_LLAMA},
                 {"Qwen2ForCausalLM", ENG_QWEN2},
                 {"Qwen3ForCausalLM", ENG_QWEN3}};
    const tk_json *list = present(r->root, "architectures");
    tk_json first = {.type = TK_JSON_NULL};
    if (tk_json_len(list) == 1) {
        first = tk_json_at(list, 0);
    }
    if (first.type != TK_JSON_STRING) {
        return bad_field(r, "architectures", "a list of one name");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(known); i++) {
        if (tk_str_is(first.as.string, known[i].name)) {
            c->architecture = known[i].name;
            c->family = known[i].family;
            return TINKC_OK;
        }
    }
    return tk_err_set(r->err, TINKC_E_UNSUPPORTED,
                      "config.json: architecture " TK_STR_FMT " is not supported (only "
                      "LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM)",
                      TK_STR_ARG(first.as.string));
}

/* Key/value heads and the size of a head, whose defaults depend on the family. */
static tinkc_code read_head_sizes(const reader *r, eng_config *c)
{
    size_t default_kv = c->family == ENG_LLAMA ? c->heads : 32, default_dim = 128;
    if (c->family != ENG_QWEN3) {
        default_dim = c->hidden / c->heads;
        if (present(r->root, "head_dim") == NULL && c->hidden % c->heads != 0) {
            return bad_field(r, "hidden_size", "a multiple of num_attention_heads");
        }
    }
    tinkc_code code = read_size(r, "num_key_value_heads", default_kv, 1024, &c->kv_heads);
    if (code == TINKC_OK) {
        code = read_size(r, "head_dim", default_dim, 1024, &c->head_dim);
    }
    if (code == TINKC_OK && c->heads % c->kv_heads != 0) {
        return bad_field(r, "num_attention_heads", "a multiple of num_key_value_heads");
    }
    return code == TINKC_OK && c->head_dim % 2 != 0 ? bad_field(r, "head_dim", "even")
                                                    : code;
}

static tinkc_code read_sizes(const reader *r, eng_config *c)
{
    const struct {
        const char *key;
        size_t fallback, max;
        size_t *out;
    } sizes[] = {
        {"hidden_size", 0, 65536, &c->hidden},
        {"intermediate_size", 0, 1 << 20, &c->intermediate},
        {"num_hidden_layers", 0, 1024, &c->layers},
        {"num_attention_heads", 0, 1024, &c->heads},
        {"vocab_size", 0, 1 << 22, &c->vocabulary},
        {"max_position_embeddings", 2048, 1 << 24, &c->context},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(sizes); i++) {
        tinkc_code code =
            read_size(r, sizes[i].key, sizes[i].fallback, sizes[i].max, sizes[i].out);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return read_head_sizes(r, c);
}

/* True when the value is absent, or the string `want`. */
static bool is_or_absent(const tk_json *object, const char *key, const char *want)
{
    const tk_json *value = present(object, key);
    return value == NULL ||
           (value->type == TK_JSON_STRING && tk_str_is(value->as.string, want));
}

static tinkc_code read_llama3(const reader *r, const tk_json *scaling, eng_rope_config *c)
{
    const struct {
        const char *key;
        double fallback;
        double *out;
    } reals[] = {
        {"factor", 8, &c->factor},
        {"low_freq_factor", 1, &c->low_freq_factor},
        {"high_freq_factor", 4, &c->high_freq_factor},
        {"original_max_position_embeddings", 8192, &c->original_context},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(reals); i++) {
        tinkc_code code =
            read_real(r, scaling, reals[i].key, reals[i].fallback, reals[i].out);
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (c->factor < 1) {
        return bad_field(r, "factor", "at least 1");
    }
    if (c->high_freq_factor <= c->low_freq_factor) {
        return bad_field(r, "high_freq_factor", "above low_freq_factor");
    }
    c->llama3 = true;
    return TINKC_OK;
}

static tinkc_code read_rope(const reader *r, eng_config *c)
{
    const tk_json *new_style = present(r->root, "rope_parameters");
    const tk_json *scaling =
        new_style != NULL ? new_style : present(r->root, "rope_scaling");
    if (scaling != NULL && scaling->type != TK_JSON_OBJECT) {
        return bad_field(r, "rope_scaling", "an object");
    }
    bool theta_inside = present(new_style, "rope_theta") != NULL;
    tinkc_code code = read_real(r, theta_inside ? new_style : r->root, "rope_theta",
                                10000.0, &c->rope.theta);
    if (code == TINKC_OK && c->rope.theta < 1) { /* frequencies without a bound */
        return bad_field(r, "rope_theta", "at least 1");
    }
    if (code != TINKC_OK || scaling == NULL) {
        return code;
    }
    const char *key = present(scaling, "rope_type") != NULL ? "rope_type" : "type";
    if (is_or_absent(scaling, key, "default")) {
        return TINKC_OK;
    }
    if (!is_or_absent(scaling, key, "llama3")) {
        const tk_json *type = present(scaling, key);
        tk_str name = type->type == TK_JSON_STRING ? type->as.string : TK_STR("?");
        return tk_err_set(r->err, TINKC_E_UNSUPPORTED,
                          "config.json: rope scaling " TK_STR_FMT
                          " is not supported (only default and llama3)",
                          TK_STR_ARG(name));
    }
    return read_llama3(r, scaling, &c->rope);
}

static tinkc_code refuse(const reader *r, const char *what)
{
    return tk_err_set(r->err, TINKC_E_UNSUPPORTED, "config.json: %s is not supported",
                      what);
}

/* Features that change the numbers and that we do not compute. */
static tinkc_code check_unsupported(const reader *r)
{
    bool sliding;
    double rotary;
    tinkc_code code = read_bool(r, "use_sliding_window", &sliding);
    if (code == TINKC_OK) {
        code = read_real(r, r->root, "partial_rotary_factor", 1.0, &rotary);
    }
    if (code != TINKC_OK) {
        return code;
    }
    if (!is_or_absent(r->root, "hidden_act", "silu")) {
        return refuse(r, "a hidden_act other than silu");
    }
    if (sliding) {
        return refuse(r, "use_sliding_window");
    }
    if (rotary < 1.0 || rotary > 1.0) {
        return refuse(r, "partial_rotary_factor other than 1");
    }
    if (present(r->root, "quantization_config") != NULL) {
        return refuse(r, "quantization_config");
    }
    const tk_json *types = present(r->root, "layer_types");
    for (size_t i = 0; i < tk_json_len(types); i++) {
        tk_json type = tk_json_at(types, i);
        if (type.type != TK_JSON_STRING || !tk_str_is(type.as.string, "full_attention")) {
            return refuse(r, "a layer_types entry other than full_attention");
        }
    }
    return TINKC_OK;
}

static tinkc_code read_flags(const reader *r, eng_config *c)
{
    bool attention_bias;
    tinkc_code code = read_bool(r, "attention_bias", &attention_bias);
    if (code == TINKC_OK) {
        code = read_bool(r, "mlp_bias", &c->mlp_bias);
    }
    if (code == TINKC_OK) {
        code = read_bool(r, "tie_word_embeddings", &c->tied);
    }
    c->qkv_bias = c->family == ENG_QWEN2 || attention_bias;
    c->o_bias = c->family != ENG_QWEN2 && attention_bias;
    c->mlp_bias = c->family == ENG_LLAMA && c->mlp_bias;
    c->qk_norm = c->family == ENG_QWEN3;
    return code;
}

static void add_eos(eng_config *c, const tk_json *value)
{
    int64_t id;
    if (value == NULL || !tk_json_to_i64(value, &id) || id < 0 ||
        (uint64_t)id >= c->vocabulary || c->n_eos == ENG_EOS_MAX) {
        return;
    }
    for (size_t i = 0; i < c->n_eos; i++) {
        if (c->eos[i] == id) {
            return;
        }
    }
    c->eos[c->n_eos++] = id;
}

/* An id or a list of ids. */
static tinkc_code read_eos(const tk_json *root, eng_config *c)
{
    const tk_json *value = present(root, "eos_token_id");
    if (tk_json_is_array(value)) {
        for (size_t i = 0; i < tk_json_len(value); i++) {
            tk_json item = tk_json_at(value, i);
            add_eos(c, &item);
        }
    } else {
        add_eos(c, value);
    }
    return TINKC_OK;
}

static tinkc_code parse(const tk_json **out, tk_arena *arena, tk_str text,
                        const char *file, tk_err *err)
{
    tk_json_limits limits = {.max_bytes = CONFIG_MAX_BYTES, .max_depth = 32};
    tk_err inner = TK_ERR_INIT;
    tinkc_code code = tk_json_parse(out, arena, text.p, text.n, &limits, &inner);
    if (code != TINKC_OK) {
        return tk_err_at(err, code, inner.offset, "%s: %s", file, inner.message);
    }
    return (*out)->type == TK_JSON_OBJECT
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_DECODE, "%s is not a JSON object", file);
}

static tinkc_code read_all(const reader *r, eng_config *c)
{
    tinkc_code code = read_architecture(r, c);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_sizes(r, c);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_real(r, r->root, "rms_norm_eps", 1e-6, &c->rms_eps);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_flags(r, c);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_rope(r, c);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_unsupported(r);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_eos(r->root, c);
out:
    return code;
}

tinkc_code eng_config_read(eng_config *out, tk_str config, tk_str generation, tk_err *err)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *root = NULL;
    eng_config c = {.n_eos = 0};
    tinkc_code code = parse(&root, &arena, config, "config.json", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_all(&(reader){root, err}, &c);
    if (code != TINKC_OK) {
        goto out;
    }
    if (generation.n > 0) {
        code = parse(&root, &arena, generation, "generation_config.json", err);
        if (code != TINKC_OK) {
            goto out;
        }
        code = read_eos(root, &c);
        if (code != TINKC_OK) {
            goto out;
        }
    }
    *out = c;
out:
    tk_arena_dispose(&arena);
    return code;
}
