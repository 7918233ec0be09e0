/* Options: read, checked against the rules of the API, converted; see params.h. */
#include "client/values/params.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "client/values/error.h"
#include "client/values/types.h"

static tinkc_code bad(tk_err *err, const char *field, const char *why)
{
    tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "%s", why);
    tk_err_under(err, field);
    return code;
}

/* ---- sampling ---- */

static tinkc_code check_sampling(const tinkc_sampling_params *p, tk_err *err)
{
    int forms = (p->stop != NULL) + (p->stop_texts != NULL) + (p->stop_tokens != NULL);
    if (p->max_tokens != TINKC_NO_MAX_TOKENS && p->max_tokens < 1) {
        return bad(err, "max_tokens", "must be at least 1");
    }
    if (!isfinite(p->temperature) || p->temperature < 0.0) {
        return bad(err, "temperature", "must be 0 or more");
    }
    if (!(p->top_p >= 0.0 && p->top_p <= 1.0)) {
        return bad(err, "top_p", "must be within 0..1");
    }
    if (p->top_k < -1) {
        return bad(err, "top_k", "must be -1 (off) or more");
    }
    if (forms > 1 || (p->stop_texts == NULL && p->stop_texts_n > 0) ||
        (p->stop_tokens == NULL && p->stop_tokens_n > 0)) {
        return bad(err, "stop", "give one of stop, stop_texts, stop_tokens");
    }
    return TINKC_OK;
}

static tinkc_code convert_stop(tk_f_stops *out, tk_arena *arena,
                               const tinkc_sampling_params *p, tk_err *err)
{
    if (p->stop != NULL) {
        out->v.form = TK_STOPS_TEXT;
        out->v.text = tk_str_of(p->stop);
    } else if (p->stop_tokens != NULL && p->stop_tokens_n > 0) {
        out->v.form = TK_STOPS_TOKENS;
        out->v.tokens = (tk_i32s){p->stop_tokens, p->stop_tokens_n};
    } else if (p->stop_texts != NULL || p->stop_tokens != NULL) {
        tk_str *texts = tk_arena_array(arena, p->stop_texts_n, sizeof(*texts));
        if (texts == NULL) {
            return tk_err_nomem(err);
        }
        for (size_t i = 0; i < p->stop_texts_n; i++) {
            if (p->stop_texts[i] == NULL) {
                return bad(err, "stop_texts", "holds a NULL");
            }
            texts[i] = tk_str_of(p->stop_texts[i]);
        }
        out->v.form = TK_STOPS_TEXTS; /* an empty list has no other form */
        out->v.texts = (tk_strs){texts, p->stop_texts_n};
    } else {
        return TINKC_OK;
    }
    out->is = TK_SET;
    return TINKC_OK;
}

tinkc_code tk_params_sampling(tk_sampling_params *out, tk_arena *arena,
                              const tinkc_sampling_params *params, tk_err *err)
{
    tinkc_sampling_params p = TINKC_SAMPLING_PARAMS_INIT;
    tk_sampling_params wire = {.max_tokens = {.is = TK_UNSET}};
    tinkc_code code = tk_types_options(&p, sizeof(p), params, err);
    if (code == TINKC_OK) {
        code = check_sampling(&p, err);
    }
    if (code == TINKC_OK) {
        code = convert_stop(&wire.stop, arena, &p, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    if (p.max_tokens != TINKC_NO_MAX_TOKENS) {
        wire.max_tokens = (tk_f_i64)TK_F_VAL(p.max_tokens);
    }
    if (p.has_seed) {
        wire.seed.is = TK_SET;
        wire.seed.v = p.seed;
    }
    wire.temperature = (tk_f_num)TK_F_VAL(p.temperature);
    wire.top_k = (tk_f_i64)TK_F_VAL(p.top_k);
    wire.top_p = (tk_f_num)TK_F_VAL(p.top_p);
    *out = wire;
    return TINKC_OK;
}

tinkc_code tinkc_sampling_params_check(const tinkc_sampling_params *params,
                                       tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tinkc_sampling_params p = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_code code = tk_types_options(&p, sizeof(p), params, &e);
    if (code == TINKC_OK) {
        code = check_sampling(&p, &e);
    }
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

static tinkc_code check_sample_counts(const tinkc_sample_options *o, tk_err *err)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"topk_prompt_logprobs", o->topk_prompt_logprobs},
                  {"topk_sample_logprobs", o->topk_sample_logprobs},
                  {"prompt_alt_tokens_k", o->prompt_alt_tokens_k},
                  {"prompt_logprobs_last_n", o->prompt_logprobs_last_n}};
    for (size_t i = 0; i < TK_ARRAY_LEN(counts); i++) {
        if (counts[i].value < 0) {
            return bad(err, counts[i].name, "must be 0 or more");
        }
    }
    return TINKC_OK;
}

static tinkc_code check_sample_options(const tinkc_sample_options *o, tk_err *err)
{
    if (o->num_samples < 1) {
        return bad(err, "num_samples", "must be at least 1");
    }
    if (o->deadline_ms < 0 && o->deadline_ms != TINKC_FOREVER) {
        return bad(err, "deadline_ms", "must be 0 or more, or TINKC_FOREVER");
    }
    if (o->prompt_logprobs != TINKC_CHOICE_UNSET &&
        o->prompt_logprobs != TINKC_CHOICE_NO && o->prompt_logprobs != TINKC_CHOICE_YES) {
        return bad(err, "prompt_logprobs", "is none of the choices");
    }
    if (o->prompt_logprobs_last_n > 0 && o->prompt_logprobs != TINKC_CHOICE_YES) {
        return bad(err, "prompt_logprobs_last_n", "needs prompt_logprobs");
    }
    const tk_tensor *target = tk_types_wire_tensor(o->target_prompt_logprobs);
    if (o->target_prompt_logprobs != NULL &&
        (target->dtype != TK_DTYPE_I64 || !target->has_shape || target->shape.n != 2)) {
        return bad(err, "target_prompt_logprobs",
                   "must be int64, with two dimensions: [prompt length - 1, n]");
    }
    return check_sample_counts(o, err);
}

/* What is not set is left out: the level of the client decides about its default. */
static void convert_later_options(tk_sample_request *out, const tinkc_sample_options *o)
{
    if (o->topk_sample_logprobs > 0) {
        out->topk_sample_logprobs = (tk_f_i64)TK_F_VAL(o->topk_sample_logprobs);
    }
    if (o->target_prompt_logprobs != NULL) {
        out->target_prompt_logprobs.is = TK_SET;
        out->target_prompt_logprobs.v = *tk_types_wire_tensor(o->target_prompt_logprobs);
    }
    if (o->prompt_alt_tokens_k > 0) {
        out->prompt_alt_tokens_k = (tk_f_i64)TK_F_VAL(o->prompt_alt_tokens_k);
    }
    if (o->prompt_logprobs_last_n > 0) {
        out->prompt_logprobs_last_n = (tk_f_i64)TK_F_VAL(o->prompt_logprobs_last_n);
    }
    if (o->record_stability_info) {
        out->record_stability_info = (tk_f_bool)TK_F_VAL(true);
    }
}

tinkc_code tk_params_sample_options(tk_sample_request *out,
                                    const tinkc_sample_options *options, tk_err *err)
{
    tinkc_sample_options o = TINKC_SAMPLE_OPTIONS_INIT;
    tinkc_code code = tk_types_options(&o, sizeof(o), options, err);
    if (code == TINKC_OK) {
        code = check_sample_options(&o, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    out->num_samples = (tk_f_i64)TK_F_VAL(o.num_samples);
    out->topk_prompt_logprobs = (tk_f_i64)TK_F_VAL(o.topk_prompt_logprobs);
    out->prompt_logprobs.is = o.prompt_logprobs == TINKC_CHOICE_UNSET ? TK_UNSET : TK_SET;
    out->prompt_logprobs.v = o.prompt_logprobs == TINKC_CHOICE_YES;
    convert_later_options(out, &o);
    return TINKC_OK;
}

tinkc_code tinkc_sample_options_check(const tinkc_sample_options *options,
                                      tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_sample_request unused = {.num_samples = {.is = TK_UNSET}};
    tinkc_code code = tk_params_sample_options(&unused, options, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

tinkc_code tk_params_sample_retry(tinkc_sample_retry *out,
                                  const tinkc_sample_retry *retry, tk_err *err)
{
    tinkc_sample_retry r = TINKC_SAMPLE_RETRY_INIT;
    tinkc_code code = tk_types_options(&r, sizeof(r), retry, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (r.progress_timeout_ms < 0) {
        return bad(err, "progress_timeout_ms", "must be 0 or more");
    }
    if (r.delay_base_ms < 0) {
        return bad(err, "delay_base_ms", "must be 0 or more");
    }
    if (r.delay_max_ms < 0) {
        return bad(err, "delay_max_ms", "must be 0 or more");
    }
    if (!(r.jitter >= 0.0 && r.jitter <= 1.0)) {
        return bad(err, "jitter", "must be within 0..1");
    }
    if (r.resubmits < -1) {
        return bad(err, "resubmits", "must be -1 (the option) or more");
    }
    r.size = sizeof(r);
    *out = r;
    return TINKC_OK;
}

tinkc_code tinkc_sample_retry_check(const tinkc_sample_retry *retry, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tinkc_sample_retry unused;
    tinkc_code code = tk_params_sample_retry(&unused, retry, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

int64_t tk_params_most_sampled(const tk_sample_request *request)
{
    int64_t samples = request->num_samples.is == TK_SET ? request->num_samples.v : 1;
    const tk_f_i64 *each = &request->sampling_params.max_tokens;
    if (each->is != TK_SET) {
        return -1;
    }
    return each->v > INT64_MAX / samples ? INT64_MAX : each->v * samples;
}

tinkc_code tk_params_sample_target(tk_sample_request *out,
                                   const tinkc_sample_target *target, tk_err *err)
{
    tinkc_sample_target t = TINKC_SAMPLE_TARGET_INIT;
    tinkc_code code = tk_types_options(&t, sizeof(t), target, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_sample_request probe = {.sampling_session_id = tk_f_str_of(t.sampling_session_id),
                               .model_path = tk_f_str_of(t.model_path),
                               .base_model = tk_f_str_of(t.base_model),
                               .seq_id = TK_F_VAL(0)};
    code = tk_sample_request_check(&probe, NULL, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (t.model_path != NULL && !tk_str_has_prefix(probe.model_path.v, "tinker://")) {
        return bad(err, "model_path", "must start with \"tinker://\"");
    }
    out->sampling_session_id = probe.sampling_session_id;
    out->model_path = probe.model_path;
    out->base_model = probe.base_model;
    return TINKC_OK;
}

tinkc_code tinkc_sample_target_check(const tinkc_sample_target *target, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_sample_request unused = {.num_samples = {.is = TK_UNSET}};
    tinkc_code code = tk_params_sample_target(&unused, target, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

/* ---- training ---- */

tinkc_code tk_params_adam(tk_adam_params *out, const tinkc_adam_params *params,
                          tk_err *err)
{
    tinkc_adam_params p = TINKC_ADAM_PARAMS_INIT;
    tinkc_code code = tk_types_options(&p, sizeof(p), params, err);
    const tk_adam_params wire = {
        .learning_rate = TK_F_VAL(p.learning_rate),
        .beta1 = TK_F_VAL(p.beta1),
        .beta2 = TK_F_VAL(p.beta2),
        .eps = TK_F_VAL(p.eps),
        .weight_decay = TK_F_VAL(p.weight_decay),
        .grad_clip_norm = TK_F_VAL(p.grad_clip_norm),
    };
    if (code == TINKC_OK) {
        code = tk_adam_params_check(&wire, err);
    }
    if (code == TINKC_OK) {
        *out = wire;
    }
    return code;
}

tinkc_code tinkc_adam_params_check(const tinkc_adam_params *params, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_adam_params unused;
    tinkc_code code = tk_params_adam(&unused, params, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

/* ---- optimizers ---- */

static const char *const optimizer_names[] = {
    [TINKC_OPTIMIZER_ADAMW] = "adamw",
    [TINKC_OPTIMIZER_DIMUON] = "dimuon",
};

const char *tinkc_optimizer_name(tinkc_optimizer optimizer)
{
    return (unsigned)optimizer < TK_ARRAY_LEN(optimizer_names)
               ? optimizer_names[optimizer]
               : NULL;
}

tinkc_optimizer tk_params_optimizer_of(const char **name,
                                       const tk_f_optimizer_config *said)
{
    if (said->is == TK_SET && said->v.kind == TK_OPTIMIZER_OTHER) {
        *name = tk_optimizer_word(said->v.raw).p; /* JSON strings end in a NUL */
        return TINKC_OPTIMIZER_OTHER;
    }
    tinkc_optimizer type = said->is == TK_SET && said->v.kind == TK_OPTIMIZER_DIMUON
                               ? TINKC_OPTIMIZER_DIMUON
                               : TINKC_OPTIMIZER_ADAMW;
    *name = optimizer_names[type];
    return type;
}

/* An object with a type that is not one of ours. */
static tinkc_code read_other(const tk_json **out, tk_arena *arena, const char *text,
                             tk_err *err)
{
    const tk_json *value = NULL;
    tinkc_code code = text != NULL
                          ? tk_json_parse(&value, arena, text, strlen(text), NULL, NULL)
                          : TINKC_E_INVALID;
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    if (code != TINKC_OK || value->type != TK_JSON_OBJECT ||
        tk_optimizer_word(value).n == 0) {
        return bad(err, "json", "must be a JSON object with a type");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(optimizer_names); i++) {
        if (tk_str_is(tk_optimizer_word(value), optimizer_names[i])) {
            return bad(err, "json",
                       "is for other optimizers than those of tinkc_optimizer");
        }
    }
    *out = value;
    return TINKC_OK;
}

tinkc_code tk_params_optimizer(tk_f_optimizer_config *out, tk_arena *arena,
                               const tinkc_optimizer_config *config, tk_err *err)
{
    tinkc_optimizer_config c = TINKC_OPTIMIZER_CONFIG_INIT;
    tk_f_optimizer_config wire = {.is = TK_SET};
    tinkc_code code = tk_types_options(&c, sizeof(c), config, err);
    if (config == NULL || code != TINKC_OK) {
        return code;
    }
    if (c.type != TINKC_OPTIMIZER_OTHER && c.json != NULL) {
        return bad(err, "json", "needs TINKC_OPTIMIZER_OTHER");
    }
    switch (c.type) {
    case TINKC_OPTIMIZER_ADAMW:
        break;
    case TINKC_OPTIMIZER_DIMUON:
        wire.v.kind = TK_OPTIMIZER_DIMUON;
        wire.v.version = (tk_f_i64)TK_F_VAL(c.version);
        code = c.version < 1 ? bad(err, "version", "must be at least 1") : TINKC_OK;
        break;
    case TINKC_OPTIMIZER_OTHER:
        wire.v.kind = TK_OPTIMIZER_OTHER;
        code = read_other(&wire.v.raw, arena, c.json, err);
        break;
    default:
        code = bad(err, "type", "is none of the optimizers");
        break;
    }
    if (code == TINKC_OK) {
        *out = wire;
    }
    return code;
}

tinkc_code tinkc_optimizer_config_check(const tinkc_optimizer_config *config,
                                        tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_arena arena;
    tk_f_optimizer_config unused = {.is = TK_UNSET};
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_params_optimizer(&unused, &arena, config, &e);
    tk_arena_dispose(&arena);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

static tinkc_code read_dimuon(tk_optim_params *out, const tinkc_dimuon_params *params,
                              tk_err *err)
{
    tinkc_dimuon_params p = TINKC_DIMUON_PARAMS_INIT;
    tinkc_code code = tk_types_options(&p, sizeof(p), params, err);
    const tk_optim_params wire = {.kind = TK_OPTIMIZER_DIMUON,
                                  .learning_rate = TK_F_VAL(p.learning_rate),
                                  .grad_clip_norm = TK_F_VAL(p.grad_clip_norm),
                                  .beta1 = TK_F_VAL(p.beta1)};
    if (code == TINKC_OK) {
        code = tk_optim_params_check(&wire, err);
    }
    if (code == TINKC_OK) {
        *out = wire;
    }
    return code;
}

tinkc_code tk_params_optim(tk_optim_step_request *out, tk_arena *arena,
                           const tinkc_optim_params *params, tk_err *err)
{
    tinkc_optim_params p = TINKC_OPTIM_PARAMS_INIT;
    tk_optim_step_request wire = {.adam_params = {.is = TK_UNSET}};
    tinkc_code code = tk_types_options(&p, sizeof(p), params, err);
    if (code != TINKC_OK) {
        return code;
    }
    switch (p.type) {
    case TINKC_OPTIMIZER_ADAMW:
        wire.adam_params.is = TK_SET;
        code = tk_params_adam(&wire.adam_params.v, p.adam, err);
        break;
    case TINKC_OPTIMIZER_DIMUON:
        wire.optimizer_params.is = TK_SET;
        code = read_dimuon(&wire.optimizer_params.v, p.dimuon, err);
        break;
    case TINKC_OPTIMIZER_OTHER:
        wire.optimizer_params = (tk_f_optim_params){TK_SET, {.kind = TK_OPTIMIZER_OTHER}};
        code = read_other(&wire.optimizer_params.v.raw, arena, p.json, err);
        break;
    default:
        code = bad(err, "type", "is none of the optimizers");
        break;
    }
    if (code == TINKC_OK) {
        *out = wire;
    }
    return code;
}

tinkc_code tinkc_optim_params_check(const tinkc_optim_params *params, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_arena arena;
    tk_optim_step_request unused;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_params_optim(&unused, &arena, params, &e);
    tk_arena_dispose(&arena);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

/* ---- losses at the server ---- */

tinkc_code tk_params_custom_loss(tk_create_custom_loss_request *out, tk_arena *arena,
                                 const tinkc_custom_loss *loss, tk_err *err)
{
    tinkc_custom_loss l = TINKC_CUSTOM_LOSS_INIT;
    tinkc_code code = tk_types_options(&l, sizeof(l), loss, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (l.name == NULL || l.name[0] == '\0') {
        return bad(err, "name", "must not be empty");
    }
    if (l.inputs == NULL || l.graph == NULL) {
        return bad(err, l.inputs == NULL ? "inputs" : "graph", "must not be NULL");
    }
    tk_custom_loss_input *inputs = tk_arena_array(arena, l.inputs_n, sizeof(*inputs));
    if (inputs == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < l.inputs_n; i++) {
        if (l.inputs[i].name == NULL || l.inputs[i].rank < 0 || l.inputs[i].rank > 2) {
            return bad(err, "inputs",
                       "has one without name, or of another rank than 0..2");
        }
        inputs[i] = (tk_custom_loss_input){{TK_SET, tk_str_of(l.inputs[i].name)},
                                           {TK_SET, l.inputs[i].rank}};
    }
    const tk_json *graph = NULL;
    code = tk_json_parse(&graph, arena, l.graph, strlen(l.graph), NULL, NULL);
    if (code != TINKC_OK) {
        return code == TINKC_E_NOMEM ? tk_err_nomem(err)
                                     : bad(err, "graph", "is not JSON");
    }
    *out = (tk_create_custom_loss_request){.name = {TK_SET, tk_str_of(l.name)},
                                           .inputs = {inputs, l.inputs_n},
                                           .graph = {TK_SET, graph}};
    return tk_create_custom_loss_check(out, err);
}

/* ---- LoRA ---- */

tinkc_code tk_params_lora(tk_lora_config *out, const tinkc_lora_config *config,
                          tk_err *err)
{
    tinkc_lora_config c = TINKC_LORA_CONFIG_INIT;
    tinkc_code code = tk_types_options(&c, sizeof(c), config, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (c.rank < 1 || c.rank > INT32_MAX) {
        return bad(err, "rank", "must be at least 1");
    }
    tk_lora_config wire = {
        .rank = TK_F_VAL(c.rank),
        .train_unembed = TK_F_VAL(c.train_unembed),
        .train_mlp = TK_F_VAL(c.train_mlp),
        .train_attn = TK_F_VAL(c.train_attn),
    };
    if (c.has_seed) {
        wire.seed.is = TK_SET;
        wire.seed.v = c.seed;
    }
    code = tk_lora_config_check(&wire, err);
    if (code == TINKC_OK) {
        *out = wire;
    }
    return code;
}

tinkc_code tinkc_lora_config_check(const tinkc_lora_config *config, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_lora_config unused;
    tinkc_code code = tk_params_lora(&unused, config, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

/* ---- metadata of a run ---- */

static tinkc_code check_metadata(const tinkc_pair *pairs, size_t n, tk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (pairs == NULL || pairs[i].name == NULL) {
            return bad(err, "metadata", "has an entry without name");
        }
        if (!tk_utf8_is_valid(tk_str_of(pairs[i].name)) ||
            (pairs[i].value != NULL && !tk_utf8_is_valid(tk_str_of(pairs[i].value)))) {
            return bad(err, "metadata", "is not UTF-8");
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(pairs[i].name, pairs[j].name) == 0) {
                return bad(err, "metadata", "has a name twice");
            }
        }
    }
    return TINKC_OK;
}

tinkc_code tk_params_metadata(tk_f_raw *out, tk_arena *arena, const tinkc_pair *pairs,
                              size_t n, tk_err *err)
{
    tinkc_code code = check_metadata(pairs, n, err);
    if (code != TINKC_OK || n == 0) {
        return code;
    }
    tk_json_member *members = tk_arena_array(arena, n, sizeof(*members));
    tk_json *object = tk_arena_zalloc(arena, sizeof(*object));
    if (members == NULL || object == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        tk_str name = tk_str_of(pairs[i].name), value = tk_str_of(pairs[i].value);
        bool is_null = pairs[i].value == NULL;
        members[i].value = (tk_json){.type = is_null ? TK_JSON_NULL : TK_JSON_STRING};
        if (!tk_arena_dup(arena, &members[i].key, name.p, name.n) ||
            (!is_null &&
             !tk_arena_dup(arena, &members[i].value.as.string, value.p, value.n))) {
            return tk_err_nomem(err);
        }
    }
    object->type = TK_JSON_OBJECT;
    object->as.object.members = members;
    object->as.object.n = n;
    *out = (tk_f_raw){TK_SET, object};
    return TINKC_OK;
}

/* ---- losses ---- */

static const char *const loss_names[] = {
    [TINKC_LOSS_CROSS_ENTROPY] = "cross_entropy",
    [TINKC_LOSS_IMPORTANCE_SAMPLING] = "importance_sampling",
    [TINKC_LOSS_PPO] = "ppo",
    [TINKC_LOSS_CISPO] = "cispo",
    [TINKC_LOSS_DRO] = "dro",
    [TINKC_LOSS_GSPO] = "gspo",
    [TINKC_LOSS_STABLE_REINFORCE] = "stable_reinforce",
    [TINKC_LOSS_CUSTOM] = "custom",
};

const char *tinkc_loss_name(tinkc_loss loss)
{
    return (unsigned)loss < TK_ARRAY_LEN(loss_names) ? loss_names[loss] : NULL;
}

tinkc_code tinkc_loss_parse(tinkc_loss *out, const char *name, tinkc_error **err)
{
    if (out == NULL || name == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "no name, or no place for its loss");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(loss_names); i++) {
        if (strcmp(loss_names[i], name) == 0) {
            *out = (tinkc_loss)i;
            return TINKC_OK;
        }
    }
    return tk_error_tell(err, TINKC_E_MISSING, "no loss function has this name");
}

static tinkc_code check_name(const tk_loss_settings *s, const char *name, size_t at,
                             tk_err *err)
{
    bool is_new = name != NULL && name[0] != '\0';
    for (size_t i = 0; is_new && i < at; i++) {
        is_new = strcmp(name, i < s->numbers_n ? s->numbers[i].name
                                               : s->texts[i - s->numbers_n].name) != 0;
    }
    return is_new ? TINKC_OK : bad(err, "config", "has a value without name, or twice");
}

static tinkc_code check_loss(const char *loss, const tk_loss_settings *s, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (loss == NULL || loss[0] == '\0') {
        return bad(err, "loss", "must be named");
    }
    if ((s->numbers == NULL && s->numbers_n > 0) ||
        (s->texts == NULL && s->texts_n > 0)) {
        return bad(err, "config", "must not be NULL");
    }
    for (size_t i = 0; code == TINKC_OK && i < s->numbers_n; i++) {
        code = check_name(s, s->numbers[i].name, i, err);
        if (code == TINKC_OK && !isfinite(s->numbers[i].value)) {
            code = bad(err, "config", "has a value that is not finite");
        }
    }
    for (size_t i = 0; code == TINKC_OK && i < s->texts_n; i++) {
        code = check_name(s, s->texts[i].name, s->numbers_n + i, err);
        if (code == TINKC_OK && s->texts[i].value == NULL) {
            code = bad(err, "texts", "has a NULL");
        }
    }
    return code;
}

tinkc_code tk_params_loss(tk_fwdbwd_request *out, tk_arena *arena, const char *loss,
                          const tk_loss_settings *s, tk_err *err)
{
    tinkc_code code = check_loss(loss, s, err);
    if (code != TINKC_OK) {
        return code;
    }
    /* A server that sees the second form reads nothing else. */
    size_t n = s->twice || s->texts_n > 0 ? s->numbers_n + s->texts_n : 0;
    tk_named_num *numbers = tk_arena_array(arena, s->numbers_n, sizeof(*numbers));
    tk_loss_value *values = tk_arena_array(arena, n, sizeof(*values));
    if (numbers == NULL || values == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < s->numbers_n; i++) {
        tk_str name = tk_str_of(s->numbers[i].name);
        numbers[i] = (tk_named_num){name, s->numbers[i].value};
        if (n > 0) {
            values[i] = (tk_loss_value){.name = name, .number = s->numbers[i].value};
        }
    }
    for (size_t i = 0; i < s->texts_n; i++) {
        values[s->numbers_n + i] = (tk_loss_value){.name = tk_str_of(s->texts[i].name),
                                                   .is_text = true,
                                                   .text = tk_str_of(s->texts[i].value)};
    }
    out->loss_fn = tk_str_of(loss);
    out->loss_fn_config = (tk_num_map){numbers, s->numbers_n};
    out->loss_fn_config_v2 = (tk_loss_values){values, n};
    return TINKC_OK;
}
